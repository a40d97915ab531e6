"""The commands a runner can run on a workspace, and their replies: data that can cross a process boundary.

Every field is a string, a number, a boolean, None, or a tuple of such or of other replies. Paths are note ids:
relative, `/` between components. What a command does is written in `handlers.py` and the modules it calls.
"""

from __future__ import annotations

from typing import ClassVar, Final, Generic, TypeVar

from fsnotes.notes.scope import Scope
from sandbox.records import record

__all__ = [
    "MAX_POSITION",
    "MAX_TITLE",
    "SKIP_REASONS",
    "AppendNote",
    "Command",
    "CreateNote",
    "Created",
    "DescribeNotes",
    "Described",
    "EditNote",
    "Edited",
    "FindNotes",
    "FindReceipt",
    "Found",
    "ListTrash",
    "Match",
    "NoteStat",
    "NoteSummary",
    "NoteText",
    "ReadNote",
    "Receipt",
    "Reply",
    "RestoreNote",
    "Restored",
    "ScanNotes",
    "Scanned",
    "Scope",
    "Skipped",
    "SweepTemporaries",
    "Swept",
    "TrashEntry",
    "TrashNote",
    "TrashPage",
    "Trashed",
]

MAX_TITLE: Final = 1000
"""Longest title, in characters; what is longer is cut."""

MAX_POSITION: Final = 8_192
"""Longest position in a walk, in characters."""

# -- replies -----------------------------------------------------------------------------------


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
    }
)
"""Why a listing leaves something out."""


@record
class Skipped:
    """Something a listing leaves out, with its path where that can be shown, else only counted.

    *reason* is one of SKIP_REASONS.
    """

    path: str | None
    count: int
    reason: str


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
    is in how many text was replaced, None where none was looked for. *not_kept* names what of the former
    file could not be kept.
    """

    path: str
    former: str
    etag: str
    size: int
    diff: str
    complete: bool
    places: int | None
    not_kept: tuple[str, ...]


@record
class Trashed:
    """The note that is in the trash."""

    path: str
    entry: str


@record
class Receipt:
    """Whether the entry holds the note that was to be deleted."""

    found: bool


@record
class TrashEntry:
    """A deleted note. *deleted_at* is the time in the entry's name, ISO 8601 with `Z`."""

    trash_id: str
    path: str
    deleted_at: str
    size: int


@record
class TrashPage:
    """Deleted notes, newest first."""

    entries: tuple[TrashEntry, ...]
    resume: str | None


@record
class Restored:
    """The note that is back."""

    path: str
    etag: str


@record
class Swept:
    """How many temporaries of killed writes went to the trash."""

    moved: int


Reply = (
    Scanned
    | Described
    | Found
    | NoteText
    | Created
    | Edited
    | Trashed
    | Receipt
    | TrashPage
    | Restored
    | Swept
)
ReplyT = TypeVar("ReplyT", bound=Reply, covariant=True)

# -- commands ----------------------------------------------------------------------------------


class Command(Generic[ReplyT]):
    """One bounded piece of work in a workspace, answered with a *ReplyT*."""

    __slots__ = ()
    changes: ClassVar[bool] = False


@record
class ScanNotes(Command[Scanned]):
    """List the notes of *folder* (empty: all folders of the scope), about *budget* entries a call."""

    folder: str = ""
    recursive: bool = False
    after: str | None = None
    budget: int = 2000


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
