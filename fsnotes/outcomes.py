"""What the service's operations return, and the one JSON shape of each: shared by MCP results and `--json`.

A `document()` holds strings, numbers, booleans, lists and objects only, in camelCase, and nothing that
depends on how it will be sent.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from fsnotes.confirm import Asked as Asked
from fsnotes.notes.commands import (
    Created,
    Edited,
    LeftAlone,
    LinkFound,
    Moved,
    NoteSummary,
    NoteText,
    Relinked,
    Restored,
    Skipped,
    TagCount,
    TrashEntry,
)
from fsnotes.pages import Page
from sandbox.records import record

Document = dict[str, Any]

MAX_MOVED: Final = 200
"""Most notes and links that the answer of a move tells of, all together; it counts all."""

UNSEEN: Final = "not looked into: "
"""What stands before the reason for which so many notes were not looked into for links to rewrite."""

BEYOND: Final = "it stands in a note, or leads to a file, beyond what you may change"
"""Why links are left alone that are only counted."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_SECOND: Final = -30_610_224_000  # the year 1000: %Y writes earlier ones with fewer digits
_LAST_SECOND: Final = 253_402_300_799  # the end of the year 9999


def timestamp(mtime_ns: int) -> str:
    """Return a time as ISO 8601 in UTC, to the second; the nearest that a calendar has for one far outside."""
    seconds = min(max(mtime_ns // 1_000_000_000, _FIRST_SECOND), _LAST_SECOND)
    return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def summary(note: NoteSummary) -> Document:
    """Return a note as a listing shows it."""
    return {
        "path": note.path,
        "title": note.title,
        "size": note.size,
        "modified": timestamp(note.mtime_ns),
        "etag": note.etag,
    }


def skipped(item: Skipped) -> Document:
    """Return what a listing leaves out: a path, or a count where there is none to show."""
    if item.path is not None:
        return {"path": item.path, "reason": item.reason}
    return {"count": item.count, "reason": item.reason}


@record
class WorkspaceShown:
    """One folder that the caller may use."""

    uri: str
    name: str
    folder: str
    rights: tuple[str, ...]
    policies: Mapping[str, Any]
    jail: str
    notes: int
    complete: bool
    index: str
    """`none`, `building` or `ready`."""

    def document(self) -> Document:
        """Return the JSON shape."""
        return {
            "uri": self.uri,
            "name": self.name,
            "folder": self.folder,
            "rights": list(self.rights),
            "policies": dict(self.policies),
            "jail": self.jail,
            "noteCount": self.notes,
            "noteCountComplete": self.complete,
            "index": self.index,
        }


@record
class WorkspacesShown:
    """The caller's workspaces."""

    workspaces: tuple[WorkspaceShown, ...]

    def document(self) -> Document:
        """Return the JSON shape."""
        return {"workspaces": [workspace.document() for workspace in self.workspaces]}


@record
class NotesListed:
    """One page of a listing."""

    notes: tuple[NoteSummary, ...]
    folders: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    cursor: str | None

    def document(self) -> Document:
        """Return the JSON shape."""
        shape: Document = {
            "notes": [summary(note) for note in self.notes],
            "folders": list(self.folders),
            "skipped": [skipped(item) for item in self.skipped],
        }
        if self.cursor is not None:
            shape["nextCursor"] = self.cursor
        return shape


@record
class TagsListed:
    """One page of the tags of a workspace, the most used first."""

    tags: tuple[TagCount, ...]
    skipped: tuple[Skipped, ...]
    cursor: str | None

    def document(self) -> Document:
        """Return the JSON shape."""
        shape: Document = {
            "tags": [tag_count(tag) for tag in self.tags],
            "skipped": [skipped(item) for item in self.skipped],
        }
        if self.cursor is not None:
            shape["nextCursor"] = self.cursor
        return shape


def tag_count(tag: TagCount) -> Document:
    """Return a tag as a listing shows it, without its number sign, as in frontmatter."""
    return {"tag": tag.tag, "count": tag.count}


MAX_TARGETS_JSON: Final = 5_000
"""Characters of JSON that the files take which a link leads to."""


def link(found: LinkFound) -> Document:
    """Return a link as a listing shows it. One that leads nowhere has no target and no more of them."""
    shape: Document = {"source": found.source, "line": found.line, "link": found.written}
    shape["targets"], more = _some(found.targets, MAX_TARGETS_JSON)
    if found.more + more:
        shape["targetsMore"] = found.more + more
    if found.fragment is not None:
        shape["fragment"] = found.fragment
    if found.reached is not None:
        shape["fragmentFound"] = found.reached
    return shape


@record
class LinksListed:
    """One page of the links of a note or a folder."""

    links: tuple[LinkFound, ...]
    skipped: tuple[Skipped, ...]
    cursor: str | None

    def document(self) -> Document:
        """Return the JSON shape."""
        shape: Document = {
            "links": [link(found) for found in self.links],
            "skipped": [skipped(item) for item in self.skipped],
        }
        if self.cursor is not None:
            shape["nextCursor"] = self.cursor
        return shape


@record
class NoteRead:
    """A note's text, or a part of it."""

    reply: NoteText

    @property
    def text(self) -> str:
        """Exactly the file's text."""
        return self.reply.text

    def header(self) -> Document:
        """Return what stands beside the text: where it is from, and what to call for the rest."""
        reply = self.reply
        shape: Document = {
            "path": reply.path,
            "etag": reply.etag,
            "startLine": reply.first_line,
            "endLine": reply.last_line,
            "totalLines": reply.total_lines,
        }
        if reply.next_line is not None:
            following: Document = {"startLine": reply.next_line}
            if reply.next_column is not None:
                following["startColumn"] = reply.next_column
            shape["next"] = following
        return shape


@record
class NoteCreated:
    """The note that was made."""

    reply: Created

    def document(self) -> Document:
        """Return the JSON shape."""
        return {"path": self.reply.path, "etag": self.reply.etag, "size": self.reply.size}


MAX_ABSENT_JSON: Final = 2_500
"""Characters of JSON that the names of properties take which were not there to be unset."""


def _some(names: Sequence[str], room: int) -> tuple[list[str], int]:
    """Return the first of *names*, as many as *room* characters of JSON hold, and how many more there are."""
    taken: list[str] = []
    for name in names:
        room -= len(json.dumps(name, ensure_ascii=False)) + 1
        if room < 0:
            break
        taken.append(name)
    return taken, len(names) - len(taken)


@record
class NoteEdited:
    """What became of a note that was to be changed; *shows_text* says that the caller may see some of its text."""

    reply: Edited
    dry_run: bool
    shows_text: bool

    @property
    def outcome(self) -> str:
        """`changed`, `unchanged` (it had the text already), or of a dry run `would_change`."""
        if self.reply.etag == self.reply.former:
            return "unchanged"
        return "would_change" if self.dry_run else "changed"

    def document(self) -> Document:
        """Return the JSON shape."""
        reply = self.reply
        shape: Document = {
            "outcome": self.outcome,
            "path": reply.path,
            "etag": reply.etag,
            "size": reply.size,
        }
        if reply.places is not None:
            shape["matches"] = reply.places
        if reply.absent:
            shape["absent"], more = _some(reply.absent, MAX_ABSENT_JSON)
            if more:
                shape["absentMore"] = more
        if reply.not_kept:
            shape["notKept"] = list(reply.not_kept)
        if self.shows_text:
            shape["diff"] = reply.diff
            if not reply.complete:
                shape["diffComplete"] = False
        return shape


@record
class NotesMoved:
    """What became of a note or folder that was to be moved, with what *sees* says yes to of the notes it concerned.

    *outside* counts links beyond what the caller may write, and *unseen* notes that were not looked into, by reason.
    """

    reply: Moved
    outside: int
    unseen: tuple[tuple[str, int], ...]
    dry_run: bool
    sees: Callable[[str], bool]

    @property
    def outcome(self) -> str:
        """`moved`, or of a dry run `would_move`."""
        return "would_move" if self.dry_run else "moved"

    def document(self) -> Document:
        """Return the JSON shape; what has no room in it is counted."""
        reply, page = self.reply, Page(MAX_MOVED)
        shape: Document = {"outcome": self.outcome, "path": reply.path, "newPath": reply.new_path}
        if reply.etag is not None:
            shape["etag"] = reply.etag
        else:
            shape["notes"] = reply.moved
        # What is left to the user comes first, however many notes there are that need nothing more.
        left = _admitted(page, (_left_alone(each) for each in reply.left_alone if self.sees(each.path)))
        updated = _admitted(page, (_relinked(each) for each in reply.relinked if self.sees(each.path)))
        shape["updated"] = updated
        if reply.relinked_count > len(updated):
            shape["updatedMore"] = reply.relinked_count - len(updated)
        counted = (
            (BEYOND, self.outside),
            *((UNSEEN + reason.replace("_", " "), n) for reason, n in self.unseen),
        )
        shape["leftAlone"] = [
            *left,
            *({"reason": reason, "count": count} for reason, count in counted if count),
        ]
        if reply.left_count > len(left):
            shape["leftAloneMore"] = reply.left_count - len(left)
        if reply.not_kept:
            shape["notKept"] = list(reply.not_kept)
        return shape


def _admitted(page: Page, documents: Iterable[Document]) -> list[Document]:
    return list(itertools.takewhile(page.admits, documents))


def _relinked(note: Relinked) -> Document:
    return {"path": note.path, "etag": note.etag, "links": note.rewritten}


def _left_alone(link: LeftAlone) -> Document:
    where: Document = {"path": link.path}
    if link.line:
        where |= {"line": link.line, "link": link.link}
    return where | {"reason": link.why}


@record
class Deletion:
    """What became of a deletion: `deleted`, `declined` or `cancelled`."""

    outcome: str
    path: str | None = None
    trash_id: str | None = None

    def document(self) -> Document:
        """Return the JSON shape."""
        shape: Document = {"outcome": self.outcome}
        if self.path is not None and self.trash_id is not None:
            shape |= {"path": self.path, "trashId": self.trash_id}
        return shape


@record
class TrashListed:
    """One page of what was deleted, newest first."""

    entries: tuple[TrashEntry, ...]
    cursor: str | None

    def document(self) -> Document:
        """Return the JSON shape."""
        shape: Document = {"entries": [trash_entry(entry) for entry in self.entries]}
        if self.cursor is not None:
            shape["nextCursor"] = self.cursor
        return shape


def trash_entry(entry: TrashEntry) -> Document:
    """Return a deleted note as a listing shows it."""
    return {"trashId": entry.trash_id, "path": entry.path, "deletedAt": entry.deleted_at, "size": entry.size}


@record
class NoteRestored:
    """The note that is back."""

    reply: Restored

    def document(self) -> Document:
        """Return the JSON shape."""
        return {"path": self.reply.path, "etag": self.reply.etag}
