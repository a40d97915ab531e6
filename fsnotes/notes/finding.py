"""What is said of a note by a look into it, and which notes answer to a title.

A call is bounded by notes, by bytes and by time: a note can take long to look into that is small.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final

from fsnotes.errors import InvalidArgument, NotAllowed
from fsnotes.notes.bounds import DESCRIBE_NOTES, FIND_NOTES
from fsnotes.notes.commands import Described, DescribeNotes, FindNotes, Found, Match, NoteSummary, Skipped
from fsnotes.notes.etags import etag
from fsnotes.notes.model import fold, is_note, stem
from fsnotes.notes.places import check_admitted
from fsnotes.notes.scope import Scope
from fsnotes.notes.titles import title_of
from fsnotes.notes.walking import Seen, position_text, reason_of, walk
from sandbox.errors import InvalidPath, Missing, NotAFolder, SandboxError
from sandbox.names import RelPath
from sandbox.root import Root

FIND_ENTRIES: Final = 2_000
READ_BYTES: Final = 1_048_576
"""A call begins no further note once it has read this much."""
CALL_SECONDS: Final = 0.05
"""A call begins no further note once it has taken this long."""

LEAST_ENTRIES: Final = 16
"""A call examines this many entries whatever time it takes, so that a chain of calls comes to its end."""

Clock = Callable[[], float]


def describe(root: Root, scope: Scope, command: DescribeNotes, *, clock: Clock = time.monotonic) -> Described:
    """Look into the notes at the given paths, as they are spelled on the disk; see `DescribeNotes`."""
    notes: list[NoteSummary] = []
    skipped: list[Skipped] = []
    size = 0
    end = clock() + CALL_SECONDS
    for place, text in enumerate(command.paths):
        if place and (place >= DESCRIBE_NOTES or size >= READ_BYTES or not clock() < end):
            return Described(tuple(notes), tuple(skipped), command.paths[place:])
        match _look(root, scope, text):
            case NoteSummary() as summary:
                notes.append(summary)
                size += summary.size
            case Skipped() as left_out:
                skipped.append(left_out)
    return Described(tuple(notes), tuple(skipped), ())


def _look(root: Root, scope: Scope, text: str) -> NoteSummary | Skipped | None:
    try:
        path = RelPath.parse(text)
        check_admitted(scope, path)
        return summarize(root, path) if is_note(path.name) else None
    except (NotAllowed, InvalidPath, Missing, NotAFolder):
        # Vanished since it was listed: for a listing it is not there.
        return None
    except SandboxError as error:
        return Skipped(text, 1, reason_of(error))


def summarize(root: Root, path: RelPath) -> NoteSummary:
    """Read the note at *path* and tell what a listing shows of it. Raises the errors of `sandbox`."""
    content = root.read(path)
    data = content.data
    return NoteSummary(str(path), title_of(data, path.name), len(data), content.identity.mtime_ns, etag(data))


def find(root: Root, scope: Scope, command: FindNotes, *, clock: Clock = time.monotonic) -> Found:
    """Find notes by title or path in a stretch of the workspace; see `FindNotes`."""
    wanted = fold(command.title)
    if not wanted:
        raise InvalidArgument("title", "it is empty")
    matches: list[Match] = []
    read = size = 0
    end = math.inf
    for examined, (position, finding) in enumerate(
        walk(root, scope, "", recursive=True, after=command.after), start=1
    ):
        if isinstance(finding, Seen):
            read += 1
            size += finding.identity.size
            match = _match(root, finding.path, wanted)
            if match is not None:
                matches.append(match)
        if examined == 1:
            # From here on: what it took to list the folder is no reason to look at less of it.
            end = clock() + CALL_SECONDS
        enough = examined >= FIND_ENTRIES or read >= FIND_NOTES or size >= READ_BYTES
        if enough or (examined >= LEAST_ENTRIES and not clock() < end):
            return Found(tuple(matches), position_text(position))
    return Found(tuple(matches), None)


def _match(root: Root, path: RelPath, wanted: str) -> Match | None:
    try:
        note = summarize(root, path)
    except SandboxError as error:
        if not isinstance(error, (Missing, NotAFolder)) and wanted in (
            fold(str(path)),
            fold(stem(str(path))),
        ):
            raise  # it is there, and no other is meant
        # Gone or not readable: it cannot be acted upon either.
        return None
    title = fold(note.title)
    exact = wanted in (title, fold(note.path), fold(stem(note.path)))
    if not (exact or wanted in title):
        return None
    return Match(note.path, note.title, note.size, note.mtime_ns, note.etag, exact)
