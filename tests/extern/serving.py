"""A person with a vault, and the real server of it over HTTP, as they start it, on a port that the system chooses."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tests.cli.shell import SECONDS, Shell, serving

OLDER_OVER_HTTP: Final = find_spec("fsnotes.server.legacy.stateless") is not None
"""Whether `--legacy on` serves a client over HTTP that opens with a handshake."""

_LISTENING: Final = re.compile(rb"serving on (http://\S+)\n")


def at_home(folder: Path) -> Shell:
    """Return a person who has a home in *folder*, and an empty vault in it."""
    made = Shell(folder / "home")
    made.vault.mkdir(parents=True)
    return made


@contextmanager
def over_http(shell: Shell, *options: str) -> Iterator[str]:
    """Serve the person's notes, and give the URL."""
    words = ("--transport", "http", "--port", "0", "--log-level", "info", *options)
    with serving(shell, str(shell.vault), *words) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        while line and _LISTENING.search(line) is None:
            line = process.stderr.readline()
        match = _LISTENING.search(line)
        assert match is not None, "the server ended"
        rest = threading.Thread(target=process.stderr.read, daemon=True)
        rest.start()
        yield match[1].decode()
        process.terminate()
        process.wait(SECONDS)
        rest.join(SECONDS)
