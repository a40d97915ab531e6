"""What commands are answered with: records whose fields are those of commands, or tuples of other replies."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from fsnotes import vocabulary
from fsnotes.notes.move_replies import Moved, Surveyed
from fsnotes.notes.trash_replies import Receipt, Restored, Swept, Trashed, TrashPage
from sandbox.records import record

MAX_TITLE: Final = 1000
"""Longest title, in characters; what is longer is cut."""

MAX_POSITION: Final = 8_192
"""Longest position in a walk, in characters."""


@record
class NoteStat:
    """A note as its folder shows it, without a look into it."""

    path: str
    size: int
    mtime_ns: int


SKIP_REASONS: Final = frozenset(
    {
        "link",
        "hard_link",
        "special_file",
        "mount",
        "too_large",
        "unnameable",
        "not_downloaded",
        "too_deep",
        "too_many",
        "unreadable",
        "not_text",
    }
)
"""Why a listing, a count or a search leaves something out."""


@record
class Skipped:
    """Something a listing leaves out, with its path where that can be shown, else only counted.

    *reason* is one of SKIP_REASONS.
    """

    path: str | None
    count: int
    reason: str


def by_reason(skipped: Iterable[Skipped]) -> tuple[Skipped, ...]:
    """Add up what was left out: one count for each reason, in the order in which they first come, and no paths."""
    counts: dict[str, int] = {}
    for item in skipped:
        counts[item.reason] = counts.get(item.reason, 0) + item.count
    return tuple(Skipped(None, count, reason) for reason, count in counts.items())


@record
class Scanned:
    """A stretch of a listing, in path order. With *resume*, the next `ScanNotes` goes on from there."""

    notes: tuple[NoteStat, ...]
    folders: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    resume: str | None


@record
class NoteSummary:
    """A note with what only its bytes tell."""

    path: str
    title: str
    size: int
    mtime_ns: int
    etag: str


@record
class Described:
    """The summaries in the order asked for, and what could not be read; *rest* was not looked at yet."""

    notes: tuple[NoteSummary, ...]
    skipped: tuple[Skipped, ...]
    rest: tuple[str, ...]


@record
class Match:
    """A note that answers to a title. *exact* says that title or path are equal to what was asked."""

    path: str
    title: str
    size: int
    mtime_ns: int
    etag: str
    exact: bool


@record
class Found:
    """The matches of one stretch of the workspace, in path order."""

    matches: tuple[Match, ...]
    resume: str | None


@record
class TagCount:
    """A tag, or a level of nested tags, as it first stands, without its `#`, and how often it is used."""

    tag: str
    count: int


@record
class TagsCounted:
    """The tags of one stretch of the workspace, and what was left out, counted by reason."""

    tags: tuple[TagCount, ...]
    skipped: tuple[Skipped, ...]
    resume: str | None


DIRECTIONS: Final = vocabulary.DIRECTIONS


@record
class LinkFound:
    """A link in the note *source*, the one of this *number* there, on *line*, as it is *written*.

    *targets* are files that it leads to, the one first that Obsidian would open; there are so many *more*. *fragment*
    is what stands behind its `#`; whether that is *reached* is None where nobody looked.
    """

    source: str
    number: int
    line: int
    written: str
    targets: tuple[str, ...]
    more: int
    fragment: str | None
    reached: bool | None


@record
class LinksFound:
    """The links of one stretch, by note and place, and what was left out of it, counted by reason.

    With *resume*, the next `FindLinks` goes on behind that position, or if there is a number *within*, with the link of
    that number in the note at that position.
    """

    links: tuple[LinkFound, ...]
    skipped: tuple[Skipped, ...]
    resume: str | None
    within: int | None


@record
class TargetsFound:
    """The notes that the links of one stretch lead to, each once, with what is left out and a position as above."""

    targets: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    resume: str | None
    within: int | None


@record
class HitLine:
    """A line of a note, by its number from 1, and at most 200 characters of it."""

    line: int
    excerpt: str


@record
class Hit:
    """A note that was found, and at most three lines that show why, in order; none if it was not by its text."""

    path: str
    title: str
    lines: tuple[HitLine, ...]


@record
class Searched:
    """The hits of one stretch, in path order, and what was left out of it, counted by reason.

    With *resume*, the next `SearchNotes` goes on behind that position, or if there is a byte *within*, from it on in
    the note at that position.
    """

    hits: tuple[Hit, ...]
    skipped: tuple[Skipped, ...]
    resume: str | None
    within: int | None


PHASES: Final = ("surveying", "building", "ready")
"""What an index is at: finding out what has to be read, reading it, or equal to the notes."""


MAX_MARK: Final = 2_000
"""Longest mark in an index, in characters."""

is_generation: Final = re.compile(r"[0-9a-f]{16}").fullmatch
"""Whether a text can be the generation of an index."""


@record
class IndexKept:
    """How far the index is, see `index.keeping.Progress`.

    *rest* are those of the paths that are still to be taken in. *skipped* are files that are left out, MOST_NAMED of
    them with their paths and the others counted; None where that is as it was told before. *generation* says which file
    it is. *total* counts all notes that it knows, those too that are not text.
    """

    phase: str
    indexed: int
    remaining: int
    complete: bool
    idle: bool
    rest: tuple[str, ...]
    skipped: tuple[Skipped, ...] | None
    generation: str
    total: int


@record
class IndexSearched:
    """Hits that the index knows, in order, and what it knows to be no text, counted, if this is the first call.

    With a *mark*, the next `SearchIndex` goes on behind it. *generation* says which file it is, and *upto* is the
    lowest id that nothing in it had yet. It is *complete* if every note was in it once.
    """

    hits: tuple[Hit, ...]
    skipped: tuple[Skipped, ...]
    mark: str | None
    generation: str
    upto: int
    complete: bool


@record
class PathsSearched:
    """Hits among the first *done* of the paths, in their order, and what could not be read, counted by reason.

    The next call begins with the next path or, if there is a byte *within*, with it in that note.
    """

    hits: tuple[Hit, ...]
    skipped: tuple[Skipped, ...]
    done: int
    within: int


@record
class PathsMatched:
    """The best of the ids of one stretch, or of all, the best one first, and how many were found there.

    With a number *behind*, the next `MatchPaths` goes on behind it. Unless it is *whole*, there may be more than were
    counted.
    """

    notes: tuple[str, ...]
    count: int
    behind: int | None
    whole: bool = True


@record
class NoteText:
    """A note's text or a part of it, exactly as in the file.

    Lines count from 1 in the whole note. *next_line* and *next_column* say where to go on; both are None when
    everything that was asked for is here. *size* is that of the file in bytes.
    """

    path: str
    etag: str
    size: int
    text: str
    first_line: int
    last_line: int
    total_lines: int
    next_line: int | None
    next_column: int | None


@record
class Created:
    """The note that was made."""

    path: str
    etag: str
    size: int


@record
class Edited:
    """What became of a note that was to be changed: *etag* and *size* are those it has, or would have.

    Where nothing was to be done, *etag* is *former*. *diff* is a unified diff, cut unless it is *complete*. *places*
    is in how many text was replaced, None where none was looked for. *absent* are properties that were to be unset
    and were not there. *not_kept* names what of the former file could not be kept.
    """

    path: str
    former: str
    etag: str
    size: int
    diff: str
    complete: bool
    places: int | None
    absent: tuple[str, ...]
    not_kept: tuple[str, ...]


Reply = (
    Scanned
    | Described
    | Found
    | TagsCounted
    | TargetsFound
    | LinksFound
    | Searched
    | IndexKept
    | IndexSearched
    | PathsSearched
    | PathsMatched
    | NoteText
    | Created
    | Edited
    | Trashed
    | Receipt
    | TrashPage
    | Restored
    | Surveyed
    | Moved
    | Swept
)
