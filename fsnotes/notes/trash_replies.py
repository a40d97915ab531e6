"""What the commands of the trash answer."""

from __future__ import annotations

from sandbox.records import record


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
