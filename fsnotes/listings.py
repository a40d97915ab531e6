"""Decides how a listing is put together from bounded calls: filtered, sorted, cut into pages, then described.

What a note is and what is skipped is decided in `fsnotes.notes`; this module only chains calls to it.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from fsnotes import vocabulary
from fsnotes.access import Grant
from fsnotes.errors import InvalidArgument, LimitReached
from fsnotes.notes.commands import (
    DescribeNotes,
    ListTrash,
    NoteStat,
    NoteSummary,
    Scanned,
    ScanNotes,
    Skipped,
    TrashEntry,
)
from fsnotes.notes.globs import Glob
from fsnotes.notes.scanning import place_of, position_after
from fsnotes.notes.tag_keys import key_of
from fsnotes.outcomes import NotesListed, TrashListed, skipped, summary, trash_entry
from fsnotes.pages import Page, Query, foreign_cursor, path_key
from fsnotes.runners import Runner
from sandbox.names import is_deceptive, is_entry_name
from sandbox.records import record

MAX_SCANS: Final = 500
"""Bounded calls chained for one answer: a million entries. A workspace with more needs a folder or an index."""

PAGE_SCANS: Final = 20
"""Bounded calls chained for one page in path order; a page may be short or empty and still have a successor."""

LOOKS: Final = 10
"""How many times as many calls it may be where each note must be looked into."""

SCAN_BUDGET: Final = 2_000
"""Entries that a bounded call examines."""

MAX_LIMIT: Final = vocabulary.MAX_LIMIT
SORTS: Final = vocabulary.SORTS


@record
class ListQuery:
    """What is to be listed. `modified` and `size` put the newest and the largest first."""

    folder: str = ""
    recursive: bool = False
    glob: str | None = None
    tag: str | None = None
    sort: str = "path"
    limit: int = 100

    def __post_init__(self) -> None:
        if self.sort not in SORTS:
            raise InvalidArgument("sort", f"one of {', '.join(SORTS)}")
        if not 1 <= self.limit <= MAX_LIMIT:
            raise InvalidArgument("limit", f"from 1 to {MAX_LIMIT}")
        if self.tag is not None and self.tag_key is None:
            raise InvalidArgument("tag", "no tag is written so")

    @property
    def tag_key(self) -> str | None:
        """The form in which the tag is compared; None where none is asked for."""
        return None if self.tag is None else key_of(self.tag)


@record
class _Lister:
    """Runs commands for one listing."""

    runner: Runner
    grant: Grant
    query: ListQuery
    abandoned: Callable[[], bool]

    def scan(self, after: str | None, *, budget: int = SCAN_BUDGET) -> Scanned:
        command = ScanNotes(self.query.folder, self.query.recursive, after, budget, self.query.tag_key)
        return self.runner.run(self.grant, command, abandoned=self.abandoned)

    def most(self, scans: int) -> range:
        """Return so many turns as there may be calls where *scans* are enough if nothing is looked into."""
        return range(scans if self.query.tag is None else scans * LOOKS)

    def wanted(self, scanned: Scanned) -> list[NoteStat]:
        """Return the notes that the query's glob lets through."""
        if self.query.glob is None:
            return list(scanned.notes)
        glob = Glob(self.query.glob)
        return [note for note in scanned.notes if glob.matches(note.path)]

    def folders(self, scanned: Scanned) -> tuple[str, ...]:
        """Return the folders to show: none where a glob or a tag asks for notes."""
        return scanned.folders if self.query.glob is None and self.query.tag is None else ()

    def describe(self, paths: tuple[str, ...]) -> dict[str | None, NoteSummary | Skipped]:
        return describe_notes(self.runner, self.grant, paths, abandoned=self.abandoned)


def describe_notes(
    runner: Runner, grant: Grant, paths: tuple[str, ...], *, abandoned: Callable[[], bool]
) -> dict[str | None, NoteSummary | Skipped]:
    """Return what a look into each of *paths* tells, by path. Those that have vanished are left out."""
    found: dict[str | None, NoteSummary | Skipped] = {}
    rest = paths
    while rest:  # bounded: each round leaves fewer
        described = runner.run(grant, DescribeNotes(rest), abandoned=abandoned)
        found |= {note.path: note for note in described.notes}
        found |= {item.path: item for item in described.skipped}
        if len(described.rest) >= len(rest):
            break  # a reply that makes no progress would go on for ever
        rest = described.rest
    return found


def list_notes(
    runner: Runner, grant: Grant, query: ListQuery, *, cursor: str | None, abandoned: Callable[[], bool]
) -> NotesListed:
    """Return one page of *query*. Raises InvalidArgument for a cursor of another query."""
    pages = Query(
        "list",
        grant.principal.name,
        grant.workspace.name,
        query.folder,
        query.recursive,
        query.glob,
        query.tag_key,
        query.sort,
    )
    lister = _Lister(runner, grant, query, abandoned)
    position = pages.position(cursor)
    collected = _Collected(query)
    if query.sort == "path":
        rest = _collect_in_path_order(lister, collected, _text_position(position))
    else:
        rest = _collect_sorted(lister, collected, _rank_position(position))
    return collected.listed(pages.cursor(rest) if rest is not None else None)


_Shown = NoteSummary | Skipped | str
"""What a page is made of: a note, something that was left out, or a folder."""


def _document(item: _Shown) -> Any:
    match item:
        case NoteSummary():
            return summary(item)
        case Skipped():
            return skipped(item)
        case _:
            return item


class _Collected:
    """The notes, folders and skipped entries of one page, as far as the page has room."""

    def __init__(self, query: ListQuery) -> None:
        self._page = Page(query.limit)
        self._notes: list[NoteSummary] = []
        self._folders: list[str] = []
        self._skipped: list[Skipped] = []

    @property
    def left(self) -> int:
        return self._page.left

    def take(self, item: _Shown) -> bool:
        """Take *item*, or say that the page is full."""
        if isinstance(item, Skipped) and item.path is not None and is_deceptive(item.path):
            self.mention([item])
            return True
        if not self._page.admits(_document(item)):
            return False
        match item:
            case NoteSummary():
                self._notes.append(item)
            case Skipped():
                self._skipped.append(item)
            case _:
                self._folders.append(item)
        return True

    def has_room_for(self, items: Iterable[_Shown]) -> bool:
        """Say whether all of *items* fit; takes none of them."""
        page = copy.copy(self._page)
        return all(page.admits(_document(item)) for item in items)

    def mention(self, items: Iterable[Skipped]) -> None:
        """Add counts, which take no room worth counting: one for each reason."""
        for item in items:
            for place, known in enumerate(self._skipped):
                if known.path is None and known.reason == item.reason:
                    self._skipped[place] = Skipped(None, known.count + item.count, item.reason)
                    break
            else:
                self._skipped.append(Skipped(None, item.count, item.reason))

    def listed(self, cursor: str | None) -> NotesListed:
        return NotesListed(tuple(self._notes), tuple(self._folders), tuple(self._skipped), cursor)


_RANK: Final = re.compile(r"-?[0-9]{1,30}")


def _text_position(position: tuple[str, ...] | None) -> str | None:
    match position:
        case None:
            return None
        case (text,):
            return text
        case _:
            raise foreign_cursor()


def _rank_position(position: tuple[str, ...] | None) -> tuple[int, tuple[str, ...]] | None:
    match position:
        case None:
            return None
        case (rank, path) if _RANK.fullmatch(rank):
            return int(rank), path_key(path)
        case _:
            raise foreign_cursor()


def _collect_in_path_order(
    lister: _Lister, collected: _Collected, after: str | None
) -> tuple[str, ...] | None:
    """Fill the page from *after* on; return where the next one starts, None at the end."""
    # Most entries of most folders are notes, so more than this would be looked at in vain.
    budget = min(SCAN_BUDGET, 2 * collected.left + 100) if lister.query.tag is None else SCAN_BUDGET
    for _ in lister.most(PAGE_SCANS):
        scanned = lister.scan(after, budget=budget)
        items: list[tuple[str, NoteStat | Skipped | str]] = [
            (note.path, note) for note in lister.wanted(scanned)
        ]
        items += [(folder, folder) for folder in lister.folders(scanned)]
        items += [(item.path, item) for item in scanned.skipped if item.path is not None]
        items.sort(key=lambda item: place_of(item[1]) if isinstance(item[1], Skipped) else path_key(item[0]))
        fitting = items[: collected.left + 1]
        known = lister.describe(tuple(path for path, item in fitting if isinstance(item, NoteStat)))
        shown = [(path, known.get(path) if isinstance(item, NoteStat) else item) for path, item in fitting]
        counted = [item for item in scanned.skipped if item.path is None]
        if counted and budget > 1:
            # What is only counted has no place among the items, so a stretch with some is taken whole.
            whole = len(fitting) == len(items)
            if not whole or not collected.has_room_for(item for _, item in shown if item is not None):
                budget //= 2
                continue
        for (path, listed), (_, item) in zip(fitting, shown, strict=True):
            if item is not None and not collected.take(item):
                return (after,) if after is not None else None
            after = position_after(listed) if isinstance(listed, Skipped) else path
        if len(fitting) == len(items):
            collected.mention(counted)
            after = scanned.resume
        # Else some have vanished since they were listed, and the page may have room for what comes behind them.
        if after is None or collected.left == 0:
            break
        budget = min(SCAN_BUDGET, 2 * budget)
    return (after,) if after is not None else None


def _collect_sorted(
    lister: _Lister, collected: _Collected, start: tuple[int, tuple[str, ...]] | None
) -> tuple[str, ...] | None:
    """Fill the page with the notes that rank after *start*, which needs a look at every one of them.

    Folders and what was skipped stand on the first page; what has no room there is counted.
    """
    rows: list[tuple[int, tuple[str, ...], str]] = []
    after: str | None = None
    for _ in lister.most(MAX_SCANS):
        scanned = lister.scan(after)
        by_time = lister.query.sort == "modified"
        rows += [
            (-(note.mtime_ns if by_time else note.size), path_key(note.path), note.path)
            for note in lister.wanted(scanned)
        ]
        if start is None:
            for folder in lister.folders(scanned):
                if collected.left <= 1 or not collected.take(folder):
                    collected.mention([Skipped(None, 1, "too_many")])
            collected.mention(scanned.skipped)
        after = scanned.resume
        if after is None:
            break
    else:
        raise LimitReached("entries in this folder")
    rows.sort()
    if start is not None:
        rows = [row for row in rows if row[:2] > start]
    if not rows:
        return None
    wanted = rows[: collected.left]
    known = lister.describe(tuple(path for _, _, path in wanted))
    # Right before the first one, should not even that have room beside the folders.
    last = (str(rows[0][0] - 1), "")
    for rank, _, path in wanted:
        note = known.get(path)
        if note is not None and not collected.take(note):
            return last
        last = (str(rank), path)
    return last if len(wanted) < len(rows) else None


def list_trash(
    runner: Runner, grant: Grant, *, limit: int, cursor: str | None, abandoned: Callable[[], bool]
) -> TrashListed:
    """Return one page of the trash, newest first."""
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidArgument("limit", f"from 1 to {MAX_LIMIT}")
    pages = Query("trash", grant.principal.name, grant.workspace.name)
    after = _text_position(pages.position(cursor))
    page = Page(limit)
    entries: list[TrashEntry] = []

    def listed(position: str | None) -> TrashListed:
        return TrashListed(tuple(entries), pages.cursor((position,)) if position is not None else None)

    for _ in range(PAGE_SCANS):
        reply = runner.run(grant, ListTrash(after, max(page.left, 1)), abandoned=abandoned)
        for entry in reply.entries:
            if not page.admits(trash_entry(entry)):
                return listed(after)
            entries.append(entry)
            after = entry.trash_id
        after = reply.resume
        if after is None or page.left == 0:
            break
    return listed(after)


_HASH_LENGTH: Final = 32


def trashed_path(runner: Runner, grant: Grant, trash_id: str, *, abandoned: Callable[[], bool]) -> str | None:
    """Return where the note was that this entry of the trash holds; None where no listing has the entry."""
    if not is_entry_name(trash_id):
        return None
    # The newest come first, so this begins right above the second that the entry's name tells.
    after: str | None = trash_id[:-_HASH_LENGTH] + "f" * _HASH_LENGTH
    for _ in range(MAX_SCANS):
        page = runner.run(grant, ListTrash(after, limit=1), abandoned=abandoned)
        for entry in page.entries:
            if entry.trash_id == trash_id:
                return entry.path
        after = page.resume
        if after is None or after < trash_id:
            break
    return None
