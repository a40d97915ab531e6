"""A person's shell: commands as real processes with HOME alone in the environment, and a terminal to answer on."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import io
import json
import logging
import os
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from unittest import mock

from fsnotes.cli import main

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 30.0
_PACKAGES = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
PYTHON = (sys.executable, "-W", "error")  # a descriptor that leaks says so on stderr
FSNOTES = (*PYTHON, "-m", "fsnotes")


@dataclass(frozen=True)
class Done:
    """How a command ended. Bytes that are not UTF-8 are surrogates, so nothing is lost."""

    code: int
    out: str = ""
    err: str = ""

    def document(self) -> Any:
        """Return the JSON on stdout of a command that succeeded in silence."""
        assert (self.code, self.err) == (0, "")
        return json.loads(self.out)


def refused(done: Done, code: int, slug: str) -> bool:
    """Say whether *done* is a refusal as promised: nothing on stdout, one line that begins with the slug."""
    lines = done.err.splitlines()
    return (done.code, done.out, len(lines)) == (code, "", 1) and lines[0].startswith(f"fsnotes: {slug}: ")


def etag(data: bytes) -> str:
    """Return the etag of a note with these bytes, computed apart from the product."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()[:24]).decode()


@dataclass
class Shell:
    """One person: a home with a vault at `Notes`, which `write` fills."""

    home: Path

    @property
    def vault(self) -> Path:
        """The folder of notes."""
        return self.home / "Notes"

    @property
    def state(self) -> Path:
        """Where the state lies when nothing says otherwise."""
        return self.home / ".local/state/fsnotes"

    def write(self, path: str, data: bytes | str = "x\n", *, modified: int = 1_700_000_000) -> Path:
        """Write a note into the vault, with a known time."""
        place = self.vault / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data if isinstance(data, bytes) else data.encode())
        os.utime(place, (modified, modified))
        return place

    def configure(self, text: str, path: str = ".config/fsnotes/config.toml") -> Path:
        """Write a configuration file, by default where it is found without being named."""
        place = self.home / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        return place

    def files(self) -> dict[str, bytes]:
        """Return every file of the vault, the trash too."""
        return {
            str(place.relative_to(self.vault)): place.read_bytes()
            for place in sorted(self.vault.rglob("*"))
            if place.is_file() and not place.is_symlink()
        }

    def environ(self, **more: str) -> dict[str, str]:
        """Return the environment of a command: HOME, and where what is tested is found."""
        return {"HOME": str(self.home), "PYTHONPATH": _PACKAGES, **more}

    def run(
        self,
        *arguments: str | bytes,
        stdin: bytes = b"",
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        command: Sequence[str] = FSNOTES,
    ) -> Done:
        """Run a command to its end without a terminal."""
        done = subprocess.run(
            [*command, *arguments],
            input=stdin,
            capture_output=True,
            cwd=cwd or self.home,
            env=self.environ(**(env or {})),
            timeout=SECONDS,
            check=False,
        )
        return Done(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))

    def here(self, command: str, *arguments: str | bytes, **how: Any) -> Done:
        """Run *command* on the vault."""
        return self.run(command, "-w", str(self.vault), *arguments, **how)

    def call(
        self,
        *arguments: str | bytes,
        stdin: bytes = b"",
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Done:
        """As `run`, within this process: for what a process of its own would show no better, only later."""
        streams = [io.TextIOWrapper(io.BytesIO(data), encoding="utf-8") for data in (stdin, b"", b"")]
        log = logging.getLogger()
        handlers, level = log.handlers[:], log.level
        try:
            with (
                mock.patch.dict(os.environ, self.environ(**(env or {})), clear=True),
                mock.patch.multiple(sys, stdin=streams[0], stdout=streams[1], stderr=streams[2]),
                contextlib.chdir(cwd or self.home),
            ):
                code = main([os.fsdecode(argument) for argument in arguments])
                streams[1].flush()
                streams[2].flush()
        finally:
            log.handlers[:], log.level = handlers, level
        out, err = (stream.buffer.getvalue() for stream in streams[1:])
        return Done(code, os.fsdecode(out), os.fsdecode(err))

    def there(self, command: str, *arguments: str | bytes, **how: Any) -> Done:
        """Call *command* on the vault, within this process, and without a jail: to start a worker takes ten times as
        long as all the rest, and what a person types and reads is the same. `here` has workers."""
        return self.call(command, "-w", str(self.vault), "--jail", "off", *arguments, **how)

    def on_terminal(self, *arguments: str, results_too: bool = False, **env: str) -> Terminal:
        """Start a command on a terminal of its own; with *results_too* its stdout is the terminal as well."""
        return Terminal([*FSNOTES, *arguments], self.environ(**env), self.home, results_too=results_too)


class Terminal:
    """A pseudo-terminal with a command on it. Its own echo is off, so that it holds what the command wrote."""

    def __init__(
        self, command: Sequence[str], environ: Mapping[str, str], cwd: Path, *, results_too: bool
    ) -> None:
        self._ours, theirs = os.openpty()
        modes = termios.tcgetattr(theirs)
        modes[1] &= ~termios.OPOST
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(theirs, termios.TCSANOW, modes)
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs if results_too else subprocess.PIPE,
            stderr=theirs,
            env=dict(environ),
            cwd=cwd,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self._shown = b""
        self._looked = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        os.close(self._ours)

    def expect(self, text: str) -> None:
        """Wait until *text* is shown, after what an earlier call has found."""
        wanted = text.encode()
        deadline = time.monotonic() + SECONDS
        while (at := self._shown.find(wanted, self._looked)) < 0:
            assert self._more(deadline), f"{text!r} is not in {self._shown[self._looked :]!r}"
        self._looked = at + len(wanted)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._ours, keys.encode())

    def answer(self, question: str, keys: str) -> None:
        """Press keys once the question is there."""
        self.expect(question)
        self.type(keys)

    def end(self) -> Done:
        """Wait for the end; *err* is all that the terminal showed, *out* is stdout where it is a pipe."""
        deadline = time.monotonic() + SECONDS
        while self._more(deadline):
            pass
        out = b"" if self.process.stdout is None else self.process.stdout.read()
        return Done(self.process.wait(timeout=SECONDS), os.fsdecode(out), os.fsdecode(self._shown))

    def _more(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], max(deadline - time.monotonic(), 0))
        assert ready, f"nothing more came after {self._shown!r}"
        try:
            chunk = os.read(self._ours, 65_536)
        except OSError:  # the other end is closed
            return False
        self._shown += chunk
        return chunk != b""


@contextlib.contextmanager
def serving(shell: Shell, *arguments: str, **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Start `serve` with pipes, and see to it that it does not outlive the test."""
    with subprocess.Popen(
        [sys.executable, "-m", "fsnotes", "serve", *arguments],
        **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how},
        env=shell.environ(),
        cwd=shell.home,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
