"""The commands a runner can run on a workspace, with their replies: data that can cross a process boundary.

Every field is a string, a number, a boolean, None, or a tuple of such or of other records. Paths are note ids:
relative, `/` between components. What a command does is written in `handlers.py` and the modules it calls.
"""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from fsnotes.notes.assignments import Assignment
from fsnotes.notes.move_replies import LeftAlone, Moved, Relinked, Surveyed
from fsnotes.notes.replies import (
    DIRECTIONS,
    MAX_POSITION,
    MAX_TITLE,
    SKIP_REASONS,
    Created,
    Described,
    Edited,
    Found,
    Hit,
    HitLine,
    LinkFound,
    LinksFound,
    Match,
    NoteStat,
    NoteSummary,
    NoteText,
    Reply,
    Scanned,
    Searched,
    Skipped,
    TagCount,
    TagsCounted,
    TargetsFound,
    by_reason,
)
from fsnotes.notes.scope import Scope
from fsnotes.notes.trash_replies import Receipt, Restored, Swept, Trashed, TrashEntry, TrashPage
from sandbox.records import record

__all__ = [
    "DIRECTIONS",
    "MAX_POSITION",
    "MAX_TITLE",
    "SKIP_REASONS",
    "AppendNote",
    "Assignment",
    "Command",
    "CountTags",
    "CreateNote",
    "Created",
    "DescribeNotes",
    "Described",
    "EditNote",
    "Edited",
    "FindLinks",
    "FindNotes",
    "FindReceipt",
    "FindTargets",
    "Found",
    "Hit",
    "HitLine",
    "LeftAlone",
    "LinkFound",
    "LinksFound",
    "ListTrash",
    "Match",
    "MoveNotes",
    "Moved",
    "NoteStat",
    "NoteSummary",
    "NoteText",
    "ReadNote",
    "Receipt",
    "Relinked",
    "Reply",
    "RestoreNote",
    "Restored",
    "ScanNotes",
    "Scanned",
    "Scope",
    "SearchNotes",
    "Searched",
    "SetProperties",
    "Skipped",
    "SurveyMove",
    "Surveyed",
    "SweepTemporaries",
    "Swept",
    "TagCount",
    "TagsCounted",
    "TargetsFound",
    "TrashEntry",
    "TrashNote",
    "TrashPage",
    "Trashed",
    "by_reason",
]

ReplyT = TypeVar("ReplyT", bound=Reply, covariant=True)

# -- commands ----------------------------------------------------------------------------------


class Command(Generic[ReplyT]):
    """One bounded piece of work in a workspace, answered with a *ReplyT*."""

    __slots__ = ()
    changes: ClassVar[bool] = False
    counts: ClassVar[bool] = False
    """Whether it needs to know all that the workspace holds, and may raise NotCounted for that."""


@record
class ScanNotes(Command[Scanned]):
    """List the notes of *folder* (empty: all folders of the scope), about *budget* entries a call.

    With *tag*, in the form in which tags are compared, only the notes that have it or one nested in it, and no folders.
    """

    folder: str = ""
    recursive: bool = False
    after: str | None = None
    budget: int = 2000
    tag: str | None = None


@record
class DescribeNotes(Command[Described]):
    """Look into the notes at *paths*, as many as one call allows. Those that vanished are left out."""

    paths: tuple[str, ...]


@record
class FindNotes(Command[Found]):
    """Find the notes whose title or path is *title* (NFC, case-folded), or whose title contains it."""

    title: str
    after: str | None = None


@record
class CountTags(Command[TagsCounted]):
    """Count the tags whose compared form begins with *prefix*, in a stretch of the workspace."""

    prefix: str = ""
    after: str | None = None


@record
class FindLinks(Command[LinksFound]):
    """Find links: one of DIRECTIONS, of the note *path*, or in the folder *path* (empty: all) where they lead astray.

    At most *limit* in a call, which goes on behind the position *after* or, with *within*, in the note that is there.
    Unless *anew*, the files of the workspace are taken to be those that the last call has seen.
    """

    counts: ClassVar[bool] = True
    path: str = ""
    direction: str = "out"
    after: str | None = None
    within: int | None = None
    limit: int = 100
    anew: bool = True


@record
class FindTargets(Command[TargetsFound]):
    """Find the notes that links of other notes lead to, in a stretch of the workspace.

    *after*, *within* and *anew* are those of `FindLinks`.
    """

    counts: ClassVar[bool] = True
    after: str | None = None
    within: int | None = None
    anew: bool = True


@record
class SearchNotes(Command[Searched]):
    """Find the notes in *folder* (empty: all) that *query* means or, with *regex*, in whose text it matches.

    With *tag*, in the form in which tags are compared, only those that have it or one nested in it. At most *limit* in
    a call, which goes on behind the position *after* or, with *within*, from that byte on in the note that is there.
    With *generation*, notes are left out that are as the index of that generation knows them, under an id below *upto*.
    """

    query: str
    folder: str = ""
    tag: str | None = None
    regex: bool = False
    after: str | None = None
    within: int | None = None
    limit: int = 20
    generation: str | None = None
    upto: int = 0


@record
class ReadNote(Command[NoteText]):
    """Read a note, one section of it or a range of lines, at most *limit* characters."""

    path: str
    heading: str | None = None
    start_line: int | None = None
    end_line: int | None = None
    start_column: int | None = None
    limit: int = 40_000


@record
class CreateNote(Command[Created]):
    """Make a note. Never overwrites."""

    changes: ClassVar[bool] = True
    path: str
    content: str
    lock_timeout: float = 1.0


@record
class EditNote(Command[Edited]):
    """Put *new_text* where *old_text* stands, *expected* times, in the note or in the section of *heading*.

    Without *old_text*, in place of the section's text. With *if_match*, only in the note of that etag. With
    *dry_run* nothing is written.
    """

    changes: ClassVar[bool] = True
    path: str
    new_text: str
    old_text: str | None = None
    heading: str | None = None
    expected: int = 1
    if_match: str | None = None
    dry_run: bool = False
    lock_timeout: float = 1.0


@record
class AppendNote(Command[Edited]):
    """Add *text* at the *position* `start` or `end` of the note or of the section of *heading*.

    *if_match* and *dry_run* are those of `EditNote`.
    """

    changes: ClassVar[bool] = True
    path: str
    text: str
    heading: str | None = None
    position: str = "end"
    if_match: str | None = None
    dry_run: bool = False
    lock_timeout: float = 1.0


@record
class SetProperties(Command[Edited]):
    """Set the properties *assign* of a note and unset the keys *remove*.

    *if_match* and *dry_run* are those of `EditNote`.
    """

    changes: ClassVar[bool] = True
    path: str
    assign: tuple[Assignment, ...] = ()
    remove: tuple[str, ...] = ()
    if_match: str | None = None
    dry_run: bool = False
    lock_timeout: float = 1.0


@record
class SurveyMove(Command[Surveyed]):
    """Find the notes with links that the move of *path* to *new_path* concerns, some of them in each call."""

    counts: ClassVar[bool] = True
    path: str
    new_path: str
    after: str | None = None


@record
class MoveNotes(Command[Moved]):
    """Move the note or folder *path* to *new_path*, and rewrite the links of *notes*, as a survey has found them.

    Without *update_links* no link is rewritten, nor one in what is moved. *if_match* and *dry_run* are those of
    `EditNote`; the first is for a note. With *known*, the digest that the survey began with, nothing is done if there
    are other files by now: SurveyOutdated. With *update_links* neither unless *last_move* is still the mark of the last
    move that rewrote links, as the survey was told when it began; None is what no move has, where there was none. A
    move that was interrupted is finished before that; by a dry run it is not, which raises MovePending. *work* is what
    the survey said that the notes are to rewrite.
    """

    changes: ClassVar[bool] = True
    counts: ClassVar[bool] = True
    path: str
    new_path: str
    notes: tuple[str, ...] = ()
    update_links: bool = True
    if_match: str | None = None
    dry_run: bool = False
    known: str | None = None
    last_move: str | None = ""
    work: int = 0
    lock_timeout: float = 1.0


@record
class TrashNote(Command[Trashed]):
    """Move the note to the trash entry *entry* if its bytes are still those of *etag*.

    Done once whatever happens: when the entry already holds the note with that etag, nothing is moved.
    """

    changes: ClassVar[bool] = True
    path: str
    etag: str
    entry: str
    lock_timeout: float = 1.0


@record
class FindReceipt(Command[Receipt]):
    """Say whether the entry holds the note with that etag."""

    path: str
    etag: str
    entry: str


@record
class ListTrash(Command[TrashPage]):
    """List deleted notes, newest first."""

    after: str | None = None
    limit: int = 100


@record
class RestoreNote(Command[Restored]):
    """Put a deleted note back where it was, or at *new_path*. Never overwrites."""

    changes: ClassVar[bool] = True
    entry: str
    new_path: str | None = None
    lock_timeout: float = 1.0


@record
class SweepTemporaries(Command[Swept]):
    """Move temporaries of killed writes, older than a minute at *now* (epoch seconds), to the trash."""

    changes: ClassVar[bool] = True
    now: float
    lock_timeout: float = 1.0
