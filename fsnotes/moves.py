"""Decides how a move is prepared: which notes it concerns is found in bounded calls that only look.

What a move is and how it is made is decided in `fsnotes.notes`; this module only chains calls to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from fsnotes.access import Grant
from fsnotes.errors import LimitReached, TooManyLinks
from fsnotes.notes.commands import SurveyMove
from fsnotes.runners import Runner

MAX_NOTES: Final = 5_000
"""Most notes whose links one move rewrites: they are written while everybody else's changes wait."""

MAX_SURVEYS: Final = 20_000
"""Bounded calls chained for one survey: at 40 ms each, more than a million notes."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The notes with links that a move concerns, and how many such links are beyond the grant."""

    notes: tuple[str, ...] = ()
    outside: int = 0


def survey(
    runner: Runner, grant: Grant, path: str, new_path: str, *, abandoned: Callable[[], bool]
) -> Survey:
    """Find what the move of *path* to *new_path* concerns. Raises TooManyLinks, and what looking raises."""
    notes: list[str] = []
    outside = 0
    after: str | None = None
    for _ in range(MAX_SURVEYS):
        found = runner.run(grant, SurveyMove(path, new_path, after), abandoned=abandoned)
        notes += found.notes
        outside += found.outside
        if len(notes) > MAX_NOTES:
            raise TooManyLinks(MAX_NOTES)
        after = found.resume
        if after is None:
            return Survey(tuple(dict.fromkeys(notes)), outside)
    raise LimitReached("notes to look through for links")
