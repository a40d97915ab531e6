"""Which notes a query means, a bounded stretch of the workspace a call: each is read, and decides by itself.

What a query means is decided in `index/queries.py` and `index/matching.py`, what a regular expression is in
`index/regexes.py`. They come in path order: what has read nothing before cannot tell which is the best.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Final, Protocol

from fsnotes.notes.commands import Hit, HitLine, Searched, SearchNotes, Skipped, by_reason
from fsnotes.notes.index.matching import matcher_of
from fsnotes.notes.index.pieces import UNKNOWN, check_known, look_into, may_be_tagged, reason_for
from fsnotes.notes.index.snippets import Line, shown_title
from fsnotes.notes.model import is_note
from fsnotes.notes.places import existing_folder
from fsnotes.notes.scope import Scope
from fsnotes.notes.sieves import known_to, unknown_to
from fsnotes.notes.stretches import MANY_ENTRIES, Clock, Stretch
from sandbox.errors import SandboxError
from sandbox.names import RelPath
from sandbox.root import Root

if TYPE_CHECKING:
    from fsnotes.notes.index.reader import Reader

CALL_SECONDS: Final = 0.05
"""A call looks into no further note once it has taken this long; into one it looks for as long as `bounds.py` says."""

MOST_HITS: Final = 200
"""Most notes that one call finds."""

Shown = tuple[str, tuple[Line, ...]]
"""A note's title, and the lines that show why it was found."""

_TOLD: Final = 100
"""Characters that a hit takes in a reply beside its texts."""


def search(
    root: Root,
    scope: Scope,
    command: SearchNotes,
    *,
    reader: Reader | None = None,
    clock: Clock = time.monotonic,
) -> Searched:
    """Find the notes that a query means in a stretch of a folder; see `SearchNotes`. *reader* reads the index.

    One that is not text is skipped, and so is one with too many tags where the query asks for them, and one that is
    too large for what is asked to be known. Raises IndexUnusable where those are to be left out that an index knows,
    and it is not there any more.
    """
    seeker = _expression(command.query) if command.regex else _Words(command.query, clock)
    wanted = known = None
    if command.generation is not None:
        wanted = unknown_to(reader, command.generation, command.upto)
        known = known_to(reader, command.generation, command.upto)
    stretch = Stretch(
        root,
        scope,
        command.folder,
        after=command.after,
        entries=MANY_ENTRIES,
        wanted=wanted,
        known=known,
        clock=clock,
    )
    most = max(1, min(command.limit, MOST_HITS))
    hits: list[Hit] = []
    left: list[Skipped] = []
    end = math.inf

    def is_over() -> bool:
        return not clock() < end

    def look(path: str, data: bytes, first: int) -> int | None:
        """Look into one note from the byte *first* on; return with which one to go on if it is not done."""
        try:
            return look_inside(path, data, first)
        except UNKNOWN as error:
            left.append(Skipped(None, 1, reason_for(error)))
        return None

    def look_inside(path: str, data: bytes, first: int) -> int | None:
        if not may_be_tagged(command.tag, path, data):
            return None
        found = seeker.look(path, data, first, is_over)
        if isinstance(found, int):
            return found
        if found is not None:
            check_known(command.tag, data)
            title, lines = shown_title(found[0]), found[1]
            hits.append(Hit(path, title, tuple(HitLine(line.number, line.text) for line in lines)))
            stretch.tell(_TOLD + len(path) + len(title) + sum(len(line.text) for line in lines))
        return None

    def searched(resume: str | None, within: int | None) -> Searched:
        return Searched(tuple(hits), by_reason((*stretch.skipped, *left)), resume, within)

    if command.after is not None and command.within is not None and command.regex:
        begun = _begun(root, scope, command.folder, command.after)
        end = clock() + CALL_SECONDS
        stopped = None if begun is None else look(command.after, begun, command.within)
        if stopped is not None or len(hits) >= most or is_over():
            return searched(command.after, stopped)
    with closing(stretch.notes()) as notes:
        for note, data in notes:
            path = str(note.path)
            # From here on: what it took to list the folder is no reason to look at less of it.
            end = min(end, clock() + CALL_SECONDS)
            stopped = look(path, data, 0)
            if stopped is not None or len(hits) >= most or is_over():
                return searched(path, stopped)
    return searched(stretch.resume, None)


def _begun(root: Root, scope: Scope, folder: str, text: str) -> bytes | None:
    """Return the note at *text*, a part of which was looked through; None where it is gone."""
    try:
        path = RelPath.parse(text)
        inside = not folder or path.starts_with(existing_folder(root, scope, folder))
        return root.read(path).data if inside and scope.admits(path) and is_note(path.name) else None
    except SandboxError:
        return None


class _Seeker(Protocol):
    """What is looked for."""

    def look(self, path: str, data: bytes, first: int, is_over: Callable[[], bool]) -> Shown | int | None:
        """Return what shows the note if it is found, else None, or the byte to go on with.

        Raises NotText, TooManyTags and TooLargeToKnow.
        """


class _Words:
    """A query of words and fields. A note is looked into in one call."""

    def __init__(self, query: str, clock: Clock) -> None:
        self._matcher = matcher_of(query)
        self._clock = clock

    def look(self, path: str, data: bytes, first: int, is_over: Callable[[], bool]) -> Shown | int | None:  # noqa: ARG002
        return look_into(self._matcher, path, data, clock=self._clock)


def _expression(query: str) -> _Seeker:
    # Loaded before a worker is locked down, and elsewhere only for a search that needs it.
    from fsnotes.notes.patterns import Expression

    return Expression(query)
