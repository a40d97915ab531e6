"""How a listing scans notes: a bounded stretch of the walk a call, saying what was skipped."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final

from fsnotes.notes.commands import NoteStat, Scanned, ScanNotes, Skipped
from fsnotes.notes.scope import Scope
from fsnotes.notes.walking import PLACEHOLDER, REST, Folder, Position, Seen, position_text, walk
from sandbox.root import Root

MAX_BUDGET: Final = 10_000
"""Most entries that one call examines, whatever it is asked for."""

SCAN_CHARACTERS: Final = 512 * 1024
"""A call examines no further entry once its reply holds paths of this length: a reply has a bound in bytes."""

CALL_SECONDS: Final = 0.1
"""A call examines no further entry once it has taken this long since the first one."""

LEAST_ENTRIES: Final = 500
"""A call examines this many entries, for CALL_SECONDS more if need be: each call lists its folder anew."""


def scan(
    root: Root, scope: Scope, command: ScanNotes, *, clock: Callable[[], float] = time.monotonic
) -> Scanned:
    """List a stretch of the notes in a folder; see `ScanNotes`. It ends early once it has taken long."""
    end = math.inf
    steps = walk(root, scope, command.folder, recursive=command.recursive, after=command.after)
    budget = max(1, min(command.budget, MAX_BUDGET))
    notes: list[NoteStat] = []
    folders: list[str] = []
    skipped: list[Skipped] = []
    length = 0
    for examined, (position, finding) in enumerate(steps, start=1):
        match finding:
            case Seen(path, identity):
                notes.append(NoteStat(str(path), identity.size, identity.mtime_ns))
                length += len(notes[-1].path)
            case Folder(path):
                folders.append(str(path))
                length += len(folders[-1])
            case Skipped():
                skipped.append(finding)
                length += len(finding.path or "")
            case None:
                pass
        if examined == 1:
            # From here on: what it took to list the folder is no reason to look at less of it.
            end = clock() + CALL_SECONDS
        if examined >= budget or length >= SCAN_CHARACTERS or _is_over(examined, clock() - end):
            return Scanned(tuple(notes), tuple(folders), tuple(skipped), position_text(position))
    return Scanned(tuple(notes), tuple(folders), tuple(skipped), None)


def _is_over(examined: int, late: float) -> bool:
    """Say whether a call has done enough, being *late* by so many seconds: folders without notes take time as well."""
    return late >= (0 if examined >= LEAST_ENTRIES else CALL_SECONDS)


def position_after(item: Skipped) -> str:
    """Return the position right behind *item*, a skipped entry of a reply that has a path, and all beneath it.

    That of a note or folder of a reply is its path itself.
    """
    return position_text(place_of(item))


def place_of(item: Skipped) -> Position:
    """Return where a skipped entry with a path comes among the paths of a listing.

    A placeholder comes behind what is in a folder of the name that it stands for, and behind what is said of the
    folder.
    """
    rank = PLACEHOLDER if item.reason == "not_downloaded" else REST
    return (*(item.path or "").split("/"), rank)
