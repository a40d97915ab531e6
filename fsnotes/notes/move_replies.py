"""What the commands of a move are answered with, and the bounds of it."""

from __future__ import annotations

import re
from typing import Final

from sandbox.records import record

MAX_LINK: Final = 120
"""Most characters of a link that is shown; one more says that it was cut."""

MOST_SURVEYED: Final = 1_000
"""Most notes that one call of a survey finds."""

MOST_TOLD: Final = 200
"""Most notes, and most links left alone, that the reply of a move tells of; it counts all."""

_SURVEY_POSITION: Final = re.compile(r"[0-9a-f]{48}", re.ASCII)


def is_survey_position(text: str) -> bool:
    """Say whether *text* looks like a position in a survey: two digests of 12 bytes, of a folder and a name."""
    return _SURVEY_POSITION.fullmatch(text) is not None


_DIGEST: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)


def is_catalogue_digest(text: str) -> bool:
    """Say whether *text* looks like what `Catalogue.digest` returns."""
    return _DIGEST.fullmatch(text) is not None


def is_move_mark(text: str) -> bool:
    """Say whether *text* looks like what `Journal.last_move` returns: the mark of a move, or nothing."""
    return not text or _DIGEST.fullmatch(text) is not None


@record
class Unseen:
    """So many notes that the policy keeps out, for one *reason* that a listing has for it."""

    reason: str
    count: int


@record
class Surveyed:
    """Which *notes* have links that a move concerns, of one stretch of the workspace, by their names before it.

    *work* estimates how much they are to rewrite, see `move_work.py`. *outside* counts the links that it concerns and
    that the scope does not cover. With *resume*, which is no path and tells nothing of one, the next `SurveyMove` goes
    on from there. *known* is the digest of all files that there were, *last_move* the mark of the last move that had
    rewritten links. *unseen* are notes within the scope that could not be looked into.
    """

    notes: tuple[str, ...]
    work: int
    outside: int
    resume: str | None
    known: str
    last_move: str
    unseen: tuple[Unseen, ...] = ()


@record
class Relinked:
    """A note, by its name after the move, with so many links *rewritten*, or to be."""

    path: str
    etag: str
    rewritten: int


LEFT_REASONS: Final = frozenset(
    {
        "several files answer to it",
        "such a link cannot hold the new path",
        "with the new path, the text around it would be read as something else",
        "it leads to nothing that is known, from another folder than before",
        "the note is not UTF-8 text",
        "the note cannot be read",
        "the note is protected from writing",
        "the note would be too large",
        "another program keeps saving the note",
        "the note could not be written",
    }
)
"""Why a link, or all links of a note, stay as they are."""


@record
class LeftAlone:
    """A *link* that stays as it is, cut to one line, with its note by the name after the move, and its *line* from 1.

    Line 0 is the whole note. *why* is one of LEFT_REASONS.
    """

    path: str
    line: int
    link: str
    why: str


@record
class Moved:
    """What became, or would become, of a note or folder that was to be moved from *path* to *new_path*.

    *former* and *etag* are a note's before and after; None for a folder. So many notes have *moved*. *relinked*
    are the first of *relinked_count* notes with links *rewritten*, so many in all, and *left_alone* the first of
    *left_count*. *not_kept* names what of the rewritten files could not be kept.
    """

    path: str
    new_path: str
    former: str | None
    etag: str | None
    moved: int
    relinked: tuple[Relinked, ...]
    relinked_count: int
    rewritten: int
    left_alone: tuple[LeftAlone, ...]
    left_count: int
    not_kept: tuple[str, ...]
