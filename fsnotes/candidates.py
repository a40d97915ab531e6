"""Decides which notes a person is asked about when one is to be deleted: found in bounded calls, few, and honest.

What matches a title is decided in `fsnotes.notes`; what the form looks like, in `fsnotes.confirm`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from fsnotes.access import Grant
from fsnotes.confirm import MAX_CANDIDATES, Candidate
from fsnotes.errors import DeceptiveName, LimitReached, NoteNotFound, TooManyMatches
from fsnotes.notes.commands import DescribeNotes, FindNotes, Match, NoteSummary
from fsnotes.runners import Runner
from sandbox.names import is_deceptive

FIND_SCANS: Final = 5000
"""Bounded calls spent on looking for a title: up to a million notes."""


def find_candidates(
    runner: Runner, grant: Grant, title: str, *, abandoned: Callable[[], bool]
) -> Sequence[Candidate]:
    """Return the notes whose title or path is *title*; where there are none, those whose title contains it.

    The full path of a note, in ASCII and as it is spelled on the disk, means that note alone, without a search.
    Raises NoteNotFound, TooManyMatches, LimitReached, and DeceptiveName when no candidate has an honest name.
    """
    named: Sequence[NoteSummary] = ()
    if title.isascii():
        # Any other path may have a twin in another Unicode spelling, which only a walk of the granted folders tells.
        named = runner.run(grant, DescribeNotes((title,)), abandoned=abandoned).notes
    matches: Sequence[NoteSummary | Match] = named or _search(runner, grant, title, abandoned)
    if not matches:
        raise NoteNotFound("note", title)
    if len(matches) > MAX_CANDIDATES:
        raise TooManyMatches(MAX_CANDIDATES)
    honest = [match for match in matches if not is_deceptive(match.path)]
    if not honest:
        raise DeceptiveName(tuple(match.path for match in matches))
    return [
        Candidate(match.path, match.etag, match.title, match.size, match.mtime_ns / 1e9) for match in honest
    ]


def _search(runner: Runner, grant: Grant, title: str, abandoned: Callable[[], bool]) -> Sequence[Match]:
    exact: list[Match] = []
    containing: list[Match] = []
    after: str | None = None
    for _ in range(FIND_SCANS):
        found = runner.run(grant, FindNotes(title, after), abandoned=abandoned)
        for match in found.matches:
            (exact if match.exact else containing).append(match)
        del containing[MAX_CANDIDATES + 1 :]
        if len(exact) > MAX_CANDIDATES or found.resume is None:
            return exact or containing
        after = found.resume
    raise LimitReached("notes to look through for a title")
