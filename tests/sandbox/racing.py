"""The harness of the races: a process that flips names at full speed, and the account of what came of our attempts.

`FSNOTES_RACE_SECONDS` says how long each race lasts: a moment by default, a minute by hand.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Literal

from sandbox import _linux
from sandbox.errors import Escape, Exists, IdentityChanged, Missing, NotAFolder, NotRegular
from sandbox.names import RelPath
from sandbox.root import Root
from tests.disk import Tree
from tests.mounts import REPOSITORY

SECONDS: Final = float(os.environ.get("FSNOTES_RACE_SECONDS", "0.3"))
FLIPS_PER_SECOND = 2_500
"""At the least: more than ten times so many where nobody else uses the processors. That a race landed is seen by what
came of it."""
INSIDE = b"inside"
SECRET = b"outside: secret"
NOTE = RelPath.parse("spot/note.md")
LONE = RelPath.parse("note.md")


MEMORY: Final = "/dev/shm"


@contextmanager
def in_memory(fallback: os.PathLike[str], resolver: Literal["openat2", "walk"]) -> Iterator[Tree]:
    """Yield a tree in memory where there is one, since a busy disk slows the flips more than it slows us."""
    folder = MEMORY if os.access(MEMORY, os.W_OK | os.X_OK) else os.fspath(fallback)
    with tempfile.TemporaryDirectory(dir=folder, prefix="fsnotes-race-") as base:
        yield Tree(base, resolver)


def entry(number: int) -> str:
    return f"20260728T101112Z-{number:032x}"


@dataclass
class Flips:
    """What the other process did."""

    count: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        return self.count / self.seconds


@contextmanager
def flipping(disk: Tree, one: str, other: str, mode: str = "exchange") -> Iterator[Flips]:
    """Another process flips two names as long as the block runs."""
    flips = Flips()
    command = [sys.executable, "-m", "tests.sandbox.flipper", mode, disk.path(one), disk.path(other)]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other_process:
        assert other_process.stdin is not None
        assert other_process.stdout is not None
        try:
            assert other_process.stdout.readline() == b"ready\n"
            yield flips
            other_process.stdin.close()
            count, seconds = other_process.stdout.readline().split()
            flips.count, flips.seconds = int(count), float(seconds)
        finally:
            other_process.kill()


@dataclass
class Race:
    """One race: `attempt` is called again and again and says what came of it; `reset` follows each."""

    disk: Tree
    root: Root
    real: int  # a descriptor of the real folder, whatever its name is
    outcomes: Counter[str] = field(default_factory=Counter)
    number: int = 0

    def run(self, attempt: Callable[[Race], str], reset: Callable[[Race], None]) -> None:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            self.number += 1
            try:
                self.outcomes[attempt(self)] += 1
            except (Escape, IdentityChanged, NotRegular, NotAFolder, Missing, Exists) as refusal:
                self.outcomes[type(refusal).__name__] += 1
            reset(self)

    @property
    def refused(self) -> int:
        return sum(count for outcome, count in self.outcomes.items() if outcome[0].isupper())

    @property
    def done(self) -> int:
        return sum(count for outcome, count in self.outcomes.items() if outcome[0].islower())


def keep(race: Race) -> None:
    """Nothing to reset."""


def write_at(folder: int, name: str, data: bytes) -> None:
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644, dir_fd=folder)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def restock(race: Race) -> None:
    """Put the note back into the real folder and tidy what the operation made of it."""
    for name in ("new.md", "restored.md"):
        unlink(name, race.real)
    unlink("moved.md", race.disk.path("root"))
    shutil.rmtree(race.disk.path("root/.trash"), ignore_errors=True)
    if "note.md" not in os.listdir(race.real):
        write_at(race.real, "note.md", INSIDE)


def unlink(name: str, folder: int | str) -> None:
    try:
        if isinstance(folder, int):
            os.unlink(name, dir_fd=folder)
        else:
            os.unlink(os.path.join(folder, name))
    except FileNotFoundError:
        pass


def rename_if_free(source: str, target: str) -> None:
    try:
        _linux.renameat2(-100, os.fsencode(source), -100, os.fsencode(target), flags=_linux.RENAME_NOREPLACE)
    except OSError:
        pass


def report(operation: str, disk: Tree, race: Race, flips: Flips) -> None:
    """Print what came of a race that nothing escaped from."""
    print(
        f"{operation}, {disk.resolver}: {race.number} attempts, {race.done} done, {race.refused} refused, 0 escapes,"
        f" {flips.rate:.0f} flips a second: {dict(race.outcomes)}"
    )
