"""Decides what completes the path in the template of a workspace: ids of notes, the likeliest first.

From the index where it is known what it lacks, else from a bounded walk through the workspace. Which ids are meant, and
in which order, is decided in `notes/completing.py`. Source: the specification's page on completion.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from fsnotes.access import Grant
from fsnotes.errors import IndexUnusable, InvalidArgument
from fsnotes.freshness import Freshness
from fsnotes.listings import SCAN_BUDGET, describe_notes
from fsnotes.notes.commands import NoteSummary, ScanNotes
from fsnotes.notes.completing import MOST_MATCHES, Best, rank, wanted
from fsnotes.notes.index_commands import MatchPaths
from fsnotes.notes.scope import Scope
from fsnotes.runners import Runner
from sandbox.records import record

MAX_TYPED: Final = 4_096
"""Characters of what was typed that are looked at; no id is longer."""

SECONDS: Final = 0.5
"""A completion asks for no further stretch once it has taken this long: somebody is typing."""

MOST_CALLS: Final = 200

VALUE_CHARACTERS: Final = 100_000
"""Characters that all values have together; ids of a hundred notes seldom have a tenth of that."""

_HALF_ESCAPE: Final = re.compile(r"%[0-9A-Fa-f]?\Z")


@record
class Completed:
    """The values, best first; *total* is how many there are in all, None where nobody knows."""

    values: tuple[str, ...]
    total: int | None

    @property
    def has_more(self) -> bool:
        """Whether there are, or may be, others."""
        return self.total is None or self.total > len(self.values)

    def document(self) -> dict[str, Any]:
        """Return the JSON shape."""
        shape: dict[str, Any] = {"hasMore": self.has_more}
        if self.total is not None:
            shape["total"] = self.total
        return {"completion": {**shape, "values": list(self.values)}}


def escaped(path: str) -> str:
    """Return *path* as it stands in a URI: everything escaped but unreserved characters and slashes."""
    from urllib.parse import quote  # no command of a person completes a URI

    return quote(path, safe="/")


def typed_path(value: str) -> str:
    """Return what somebody means who has typed *value*, which may be escaped, up to the middle of an escape."""
    from urllib.parse import unquote

    return unquote(_HALF_ESCAPE.sub("", value[:MAX_TYPED]), errors="ignore")


class Completion:
    """Completes what somebody types in one workspace, within *grant*."""

    def __init__(
        self,
        runner: Runner,
        grant: Grant,
        freshness: Freshness,
        *,
        abandoned: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runner = runner
        self._grant = grant
        self._freshness = freshness
        self._abandoned = abandoned
        self._clock = clock
        self._end = clock() + SECONDS

    def uris(self, argument: str, value: str) -> Completed:
        """Complete *value* as the path in a template, whose values are escaped. Any other *argument* has none."""
        if argument != "path":
            raise InvalidArgument("argument", "the template has no other argument than path")
        paths, total = self._notes(typed_path(value))
        return fitting(map(escaped, paths), total)

    def notes(self, typed: str) -> Completed:
        """Complete the id of a note."""
        return fitting(*self._notes(typed))

    def folders(self, typed: str) -> Completed:
        """Complete the path of a folder in which there are notes, at any depth."""
        folders: set[str] = set()
        complete = True
        for paths in self._walk():
            if paths is None:
                complete = False
                break
            for path in paths:
                parts = path.split("/")[:-1]
                folders.update("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
        covered = Scope(self._grant.folders)
        best = Best(wanted(typed[:MAX_TYPED]))
        best.take(folder for folder in folders if covered.covers_position(tuple(folder.split("/"))))
        return fitting(best.paths, best.count if complete else None)

    def _notes(self, typed: str) -> tuple[tuple[str, ...], int | None]:
        """Return the ids that *typed* may mean, MOST_MATCHES at most, and how many there are; None for nobody knows."""
        folded = wanted(typed[:MAX_TYPED])
        return self._in_index(folded) or self._in_notes(folded)

    def _in_index(self, folded: str) -> tuple[tuple[str, ...], int | None] | None:
        """Look in the index; None where it is not known what it lacks."""
        standing = self._freshness.standing()
        if not standing.settled or standing.generation is None:
            return None
        best = Best(folded)
        best.take(self._still_there(standing.paths, folded))
        others, count, after = list(best.paths), best.count, 0
        for _ in range(MOST_CALLS):
            command = MatchPaths(folded, standing.generation, after, standing.paths)
            try:
                found = self._runner.run(self._grant, command, abandoned=self._abandoned)
            except IndexUnusable:
                self._freshness.lost()
                return None
            others += found.notes
            count += found.count
            if not found.whole:
                break
            if found.behind is None:
                return _ordered(others, folded), count
            after = found.behind
            if self._clock() >= self._end:
                break
        return _ordered(others, folded), None

    def _still_there(self, paths: tuple[str, ...], folded: str) -> list[str]:
        """Return those of *paths* that may be meant and where a note stands."""
        meant = tuple(path for path in paths if rank(path, folded) is not None)
        known = describe_notes(self._runner, self._grant, meant, abandoned=self._abandoned)
        return [path for path, note in known.items() if path is not None and isinstance(note, NoteSummary)]

    def _in_notes(self, folded: str) -> tuple[tuple[str, ...], int | None]:
        """Look through the workspace, as far as the time allows."""
        best = Best(folded)
        for paths in self._walk():
            if paths is None:
                return best.paths, None
            best.take(paths)
        return best.paths, best.count

    def _walk(self) -> Iterator[list[str] | None]:
        """Yield the ids of all notes, a stretch at once; None at last if there is no time for all."""
        after: str | None = None
        for _ in range(MOST_CALLS):
            command = ScanNotes("", recursive=True, after=after, budget=SCAN_BUDGET)
            scanned = self._runner.run(self._grant, command, abandoned=self._abandoned)
            yield [note.path for note in scanned.notes]
            after = scanned.resume
            if after is None:
                return
            if self._clock() >= self._end:
                break
        yield None


def _ordered(paths: Iterable[str], folded: str) -> tuple[str, ...]:
    best = Best(folded)
    best.take(paths)
    return best.paths


def fitting(values: Iterable[str], total: int | None) -> Completed:
    """Return as many of *values* as one answer holds; the others are counted."""
    shown: list[str] = []
    room = VALUE_CHARACTERS
    for value in values:
        room -= len(value)
        if len(shown) == MOST_MATCHES or (room < 0 and shown):
            break
        shown.append(value)
    return Completed(tuple(shown), total)
