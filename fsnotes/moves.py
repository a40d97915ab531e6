"""Decides how a move is prepared: which notes it concerns is found in bounded calls that only look.

Calls at the same time may move notes behind a survey's back. Then it is made anew. Where a move is not finished, by a
kill or since it is being made, there is no survey until it is: a move finishes it first.

What a move is and how it is made is decided in `fsnotes.notes`; this module only chains calls to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fsnotes.access import Grant
from fsnotes.errors import Busy, LimitReached, MovePending, SurveyOutdated, TooManyLinks, TooMuchToRelink
from fsnotes.notes.commands import Moved, MoveNotes, SurveyMove
from fsnotes.notes.move_work import MAX_WORK
from fsnotes.runners import Runner
from sandbox.records import record

MAX_NOTES: Final = 5_000
"""Most notes whose links one move rewrites: they are written while everybody else's changes wait."""

MAX_SURVEYS: Final = 20_000
"""Bounded calls chained for one survey: at 40 ms each, more than a million notes."""

SURVEYS: Final = 3
"""How often the notes are looked through anew while files come, go or move; then what is known is taken."""


@record
class Survey:
    """The notes with links that a move concerns, and how many such links are beyond the grant.

    *work* is how much they are to rewrite, *known* the digest of all files that there were when it began, and
    *last_move* the mark of the last move that had rewritten links by then, None if there was one that was not finished.
    *unseen* are the reasons for which notes were not looked into, and how many these are.
    """

    notes: tuple[str, ...] = ()
    outside: int = 0
    known: str | None = None
    last_move: str | None = ""
    work: int = 0
    unseen: tuple[tuple[str, int], ...] = ()


def move(
    runner: Runner,
    grant: Grant,
    path: str,
    new_path: str,
    *,
    update_links: bool,
    if_match: str | None,
    dry_run: bool,
    abandoned: Callable[[], bool],
) -> tuple[Moved, Survey]:
    """Move, or tell what a move would do; return that, and what was found out for it.

    Raises TooManyLinks, TooMuchToRelink, and what looking and moving raise.
    """
    found = Survey()
    for left in reversed(range(SURVEYS)):
        if update_links:
            try:
                found = survey(runner, grant, path, new_path, abandoned=abandoned)
            except MovePending:
                if dry_run:
                    raise
                found = Survey(last_move=None)  # which only finishes that one
        known = found.known if left else None
        command = MoveNotes(
            path,
            new_path,
            found.notes,
            update_links,
            if_match,
            dry_run,
            known,
            found.last_move,
            work=found.work,
        )
        try:
            return runner.run(grant, command, abandoned=abandoned), found
        except SurveyOutdated:
            continue
    raise Busy


def survey(
    runner: Runner, grant: Grant, path: str, new_path: str, *, abandoned: Callable[[], bool]
) -> Survey:
    """Find what the move of *path* to *new_path* concerns.

    Raises TooManyLinks, TooMuchToRelink, and what looking raises.
    """
    notes: list[str] = []
    work = outside = 0
    unseen: dict[str, int] = {}
    after: str | None = None
    known: str | None = None
    last_move = ""
    for _ in range(MAX_SURVEYS):
        found = runner.run(grant, SurveyMove(path, new_path, after), abandoned=abandoned)
        notes += found.notes
        work += found.work
        outside += found.outside
        for each in found.unseen:
            unseen[each.reason] = unseen.get(each.reason, 0) + each.count
        if known is None:
            known, last_move = found.known, found.last_move
        if len(notes) > MAX_NOTES:
            raise TooManyLinks(MAX_NOTES)
        if work > MAX_WORK:
            raise TooMuchToRelink
        after = found.resume
        if after is None:
            return Survey(
                tuple(dict.fromkeys(notes)), outside, known, last_move, work, unseen=tuple(unseen.items())
            )
    raise LimitReached("notes to look through for links")
