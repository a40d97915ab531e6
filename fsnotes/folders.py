"""Decides which folder a spelling means, and keeps that for others: a link may lead elsewhere by the next time.

Of several processes that serve the same, one finds the folders, and the others are told what it has found.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from fsnotes.errors import ConfigurationError
from sandbox.names import display
from sandbox.records import record


@record
class Found:
    """Where a *spelling* led to: the canonical *path*, and device and inode of the folder there."""

    spelling: str
    path: str
    identity: tuple[int, int]


@record
class Seen:
    """What one process has found: its state folder, which need not be there yet, and the folders by their spellings."""

    state_dir: str = ""
    folders: tuple[Found, ...] = ()


class Folders:
    """Finds folders: where another process has *seen* them, or, without that, as they are at the first time."""

    def __init__(self, seen: Seen | None) -> None:
        self._seen = seen
        self._found = {} if seen is None else {found.spelling: found for found in seen.folders}

    def find(self, spelling: str) -> Found:
        """Return what *spelling* leads to. Raises ConfigurationError where that is missing or no folder."""
        if spelling not in self._found:
            if self._seen is not None:
                raise ConfigurationError(
                    f"folder {display(spelling)}: not known to the process that started this"
                )
            self._found[spelling] = _found(spelling)
        return self._found[spelling]

    def path(self, spelling: str) -> str:
        """Return the canonical path that *spelling* leads to. Raises ConfigurationError."""
        return self.find(spelling).path

    def identity(self, spelling: str) -> tuple[int, int] | None:
        """Return which folder must be there since another process serves it; None where any will do."""
        return None if self._seen is None else self.find(spelling).identity

    def state_dir(self, path: str) -> str:
        """Return the state folder at *path* as all processes are to have it."""
        return path if self._seen is None else self._seen.state_dir

    def seen(self, state_dir: str) -> Seen:
        """Return what another process has to be told to find the same, with *state_dir* the state folder."""
        real = os.path.realpath(state_dir)
        # Nobody makes a folder where a link leads to nothing, and so it is to be refused there, too.
        is_nowhere = os.path.islink(state_dir) and not os.path.exists(real)
        return Seen(state_dir if is_nowhere else real, tuple(self._found.values()))


def from_home(path: str | None, home: str) -> str | None:
    """Expand a leading `~/`: clients hand on what their configuration says, and no shell has seen it."""
    if path is not None and (path == "~" or path.startswith("~/")):
        return home + path[1:]
    return path


def another_folder(name: str, path: str) -> ConfigurationError:
    """Return what is said where the folder of the workspace *name* is not the one that other processes serve."""
    return ConfigurationError(
        f"workspace {name!r} ({display(path)}): another folder is there than when the server was started;"
        " start it again to serve this one"
    )


def encoded(seen: Seen) -> list[object]:
    """Return *seen* as JSON can hold it."""
    return [seen.state_dir, [[each.spelling, each.path, *each.identity] for each in seen.folders]]


def decoded(value: object) -> Seen:
    """Return what `encoded` has made. Raises ValueError for anything else."""
    match value:
        case [str() as state_dir, list() as folders]:
            return Seen(state_dir, tuple(_decoded(folders)))
    raise ValueError("no folders")


def _decoded(folders: list[object]) -> Iterable[Found]:
    for each in folders:
        match each:
            case [str() as spelling, str() as path, int() as device, int() as inode]:
                yield Found(spelling, path, (device, inode))
            case _:
                raise ValueError("no folder")


def _found(spelling: str) -> Found:
    try:
        real = os.path.realpath(spelling, strict=True)
        status = os.stat(real)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        raise ConfigurationError(f"folder {display(spelling)}: {reason}") from error
    if not stat.S_ISDIR(status.st_mode):
        raise ConfigurationError(f"folder {display(spelling)}: not a folder")
    try:
        real.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ConfigurationError(
            f"folder {display(spelling)}: its path is not UTF-8, so no URI can name it"
        ) from error
    return Found(spelling, real, (status.st_dev, status.st_ino))
