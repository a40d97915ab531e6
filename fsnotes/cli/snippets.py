"""`fsnotes snippet`: configuration for a client, ready to be pasted: this very program, for the folders that are meant.

Everything is absolute and stands in the arguments: a client starts a server in any folder, with next to no environment.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from typing import Final

from fsnotes.cli.clients import CLIENTS, Client, Start
from fsnotes.cli.console import Console, shown, visible
from fsnotes.cli.settings import absolute, home_folder, settings_for
from fsnotes.config import Settings
from fsnotes.errors import ConfigurationError

PLACEHOLDER: Final = "Notes"
"""The folder of the home folder that stands where nobody has named one."""

_CACHE: Final = f"{os.sep}.cache{os.sep}"
"""Where tools lie that were fetched to be run once (`uvx`, `pipx run`)."""

_TRY_SECONDS: Final = 20.0


def snippet(options: argparse.Namespace, console: Console) -> int:
    """Print the configuration; where it goes, and the client's own command for it, go to stderr."""
    client = CLIENTS[options.client]
    settings = settings_for(options)
    program = _program()
    start = Start(
        program[0], (*program[1:], "serve", *_flags(options), *_folders(options, settings, console))
    )
    word = client.replaced(start)
    if word is not None:
        raise ConfigurationError(
            f"{client.title} would replace a part of {shown(word)} by a variable: configure the folder as a workspace,"
            " and leave it out here"
        )
    if _CACHE in program[0]:
        console.complain(
            "this program lies in a cache that may be emptied: install it (pipx install fsnotes)"
        )
    _warn_of_environment(program, console)
    if options.json:
        console.show_json(_for_programs(client, start))
        return 0
    console.complain(f"for {client.place}; merge it with what is there")
    _say_command(client, start, console)
    console.say(client.text(start))
    return 0


def _for_programs(client: Client, start: Start) -> dict[str, object]:
    return {
        "client": client.title,
        "place": client.place,
        "format": client.form,
        "text": client.text(start),
        "command": start.command,
        "args": list(start.args),
        "add": None if client.add is None else client.add(start),
        "source": client.source,
    }


def _program() -> tuple[str, ...]:
    """Return the words that start this program from anywhere.

    Without the entry point, Python is kept from looking for modules in the current folder (`-P`): a client starts us in
    folders that anybody may have written to.
    """
    script = sys.argv[0]
    if os.path.basename(script) == "fsnotes" and os.path.isfile(script) and os.access(script, os.X_OK):
        return (os.path.abspath(script),)
    if not sys.executable:
        raise ConfigurationError("Python does not know its own path: start fsnotes by its script")
    return (sys.executable, "-P", "-m", "fsnotes")


def _flags(options: argparse.Namespace) -> list[str]:
    """Return the shared options as they were given, and what the environment says in their place here."""
    config = options.config or os.environ.get("FSNOTES_CONFIG")
    state = options.state_dir or os.environ.get("FSNOTES_STATE_DIR")
    given = {
        "--config": absolute(config) if config else None,
        "--state-dir": absolute(state) if state else None,
        "--jail": options.jail,
        "--jail-level": options.jail_level,
        "--legacy": options.legacy,
        "--log-level": options.log_level,
        "--log-format": options.log_format,
    }
    flags = [word for flag, value in given.items() if value is not None for word in (flag, value)]
    return [*flags, "--read-only"] if options.read_only else flags


def _folders(options: argparse.Namespace, settings: Settings, console: Console) -> list[str]:
    """Return the folders that are named here; none where the configuration has its own.

    A configured one is not repeated: as an argument it would be granted in full, whatever the file allows.
    """
    if options.folders:
        return [absolute(folder) for folder in options.folders]
    if settings.workspaces:
        names = ", ".join(workspace.name for workspace in settings.workspaces)
        console.complain(f"serves what is configured: {names}")
        return []
    folder = os.path.join(home_folder(), PLACEHOLDER)
    console.complain(
        f"no folder is named: put yours in place of {shown(folder)}, or name it behind the client"
    )
    return [folder]


def _say_command(client: Client, start: Start, console: Console) -> None:
    """Say which command does the same, unless a person could not copy it from a terminal."""
    if client.add is None:
        return
    command = shlex.join(client.add(start))
    if command.isprintable() and visible(command) == command:
        console.complain("or run:")
        console.explain(command)


def _warn_of_environment(program: tuple[str, ...], console: Console) -> None:
    """Find out whether the program starts without what this environment has and a client's does not."""
    if not os.environ.keys() & {"PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH"}:
        return
    try:
        done = subprocess.run(  # noqa: S603 - this very program
            [*program, "--version"],
            cwd="/",
            env={"HOME": home_folder()},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TRY_SECONDS,
            check=False,
        )
        works = done.returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        works = False
    if not works:
        console.complain(
            "this program does not start without your environment, so no client can start it:"
            " install it (pipx install fsnotes)"
        )
