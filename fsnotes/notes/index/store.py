"""The one writer of an index file: notes in, notes out, in transactions that span many calls.

A rollback journal that is emptied and not removed, and nothing is synchronized: the index is a cache, and a kill leaves
it as it was at the last commit. (`files.py` says how a power cut is noticed.) Nothing is spilled before a commit, so
readers are kept out for that long only. A reader in a call can make a commit fail; then it stays open and is tried
again by the next one.

A note that is written anew gets a new id, the highest, and the words under its former id are masked.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from operator import itemgetter
from typing import Any, Final

from fsnotes.errors import Busy, IndexUnusable, Unavailable
from fsnotes.notes.index import schema
from fsnotes.notes.index.files import BUSY as BUSY_CODES
from fsnotes.notes.index.files import ERRORS, Folder, code_of, is_damage, translated
from fsnotes.notes.index.rows import DIRECTLY_IN, Doc, Row, Stat, held_of, within
from sandbox.root import Numbers

TIMEOUT: Final = 0.25
"""How long a commit waits for readers, in seconds; they end within their call."""
MERGE_PAGES: Final = 200
_PRAGMAS: Final = (
    "cache_spill = 0",
    "temp_store = MEMORY",
    "mmap_size = 0",
    "cache_size = -16384",
    "journal_mode = TRUNCATE",
    "synchronous = OFF",
    "trusted_schema = 0",
)
_DOCS: Final = """
    SELECT id, path, ino, size, mtime, sure, etag, reason, EXISTS (SELECT 1 FROM masked WHERE masked.id = docs.id)
    FROM docs
"""
_IN_FOLDER: Final = f"SELECT substr(path, ?1), id, ino, size, mtime FROM docs WHERE {DIRECTLY_IN} AND sure"  # noqa: S608 - ours
_COLUMNS: Final = ", ".join(schema.COLUMNS)
_PLACES: Final = ", ".join("?" * len(schema.COLUMNS))


class Store:
    """An index file that is open for writing. *folder* is locked by who opens it. Not thread-safe; close it."""

    def __init__(self, folder: Folder, name: str, *, boot: str) -> None:
        """Open the file *name*, or make it anew if there is none that can be trusted: *made* says which.

        *boot* is the id of the running boot. Raises Busy, when a reader holds a file that is not ours, and Unavailable.
        """
        self._folder = folder
        self._name = name
        self._boot = boot
        self.made = False
        found = self._open_trusted()
        if found is None:
            found = self._make()
        self._connection = found
        self._identity = folder.identity(name)
        try:
            row = found.execute("SELECT generation, clean, next, complete FROM meta").fetchone()
        except sqlite3.Error as error:
            found.close()
            raise translated(error) from error
        self.generation: str = row[0]
        self._clean = bool(row[1])
        self._next: int = row[2]
        self._complete = bool(row[3])
        self.written = 0
        """How many notes were written since the last commit."""
        self.commits = 0

    # -- opening and closing -------------------------------------------------------------------

    def _open_trusted(self) -> sqlite3.Connection | None:
        """Open the file that is there, if it can be trusted."""
        connection: sqlite3.Connection | None = None
        try:
            connection = self._folder.connect(self._name, "rw", timeout=TIMEOUT, pragmas=_PRAGMAS)
            if schema.is_sound(connection, boot=self._boot, size=lambda: self._folder.size(self._name)):
                return connection
        except IndexUnusable:
            pass
        except ERRORS as error:
            if not is_damage(error):
                if connection is not None:
                    connection.close()
                raise translated(error) from error
        if connection is not None:
            connection.close()
        return None

    def _make(self) -> sqlite3.Connection:
        self._folder.discard(self._name)
        self.made = True
        try:
            connection = self._folder.connect(self._name, "rwc", timeout=TIMEOUT, pragmas=_PRAGMAS)
            try:
                schema.create(connection, generation=os.urandom(8).hex(), boot=self._boot)
            except BaseException:
                connection.close()
                raise
        except ERRORS as error:
            raise translated(error) from error
        return connection

    def close(self) -> None:
        """Commit, say that all is on the disk, and close. What cannot be committed is undone."""
        try:
            self.settle()
        except (Busy, IndexUnusable, Unavailable, *ERRORS):
            pass  # then it is not marked, and the next one decides by the boot
        self.abandon()

    def abandon(self) -> None:
        """Close without a commit."""
        try:
            self._connection.close()
        except ERRORS:
            pass  # it is damaged or gone; the descriptor is closed

    def settle(self) -> None:
        """Commit, synchronize the file and mark it as whole, whatever happens to the power. Costs two syncs.

        Raises Busy, Unavailable, IndexUnusable.
        """
        if not self.commit():
            raise Busy("the search index is in use")
        if not self._clean:
            self._mark(clean=True)

    def _mark(self, *, clean: bool) -> None:
        with self._translating():
            # Synchronized before anything else is written, and after everything was.
            self._connection.execute("PRAGMA synchronous = FULL")
            try:
                self._connection.execute("UPDATE meta SET clean = ?, boot = ?", (int(clean), self._boot))
            finally:
                self._connection.execute("PRAGMA synchronous = OFF")
        self._clean = clean

    # -- transactions --------------------------------------------------------------------------

    @contextmanager
    def _translating(self) -> Iterator[None]:
        """Raise Unavailable or Busy for what the disk refuses, IndexUnusable for damage; the transaction is undone."""
        try:
            yield
        except ERRORS as error:
            self.undo()
            if is_damage(error):
                raise IndexUnusable("the search index is damaged") from error
            raise translated(error) from error
        except (TypeError, ValueError) as error:
            self.undo()
            raise IndexUnusable("the search index holds what was never written") from error

    def undo(self) -> None:
        """Forget what was written since the last commit."""
        self.written = 0
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._next = self._connection.execute("SELECT next FROM meta").fetchone()[0]
        except (*ERRORS, TypeError):
            pass  # the error that is being handled says more

    def _begin(self) -> None:
        if self._connection.in_transaction:
            return
        self.check_place()
        if self._clean:
            self._mark(clean=False)
        self._connection.execute("BEGIN IMMEDIATE")

    def check_place(self) -> None:
        """Raise IndexUnusable unless the file still has its name."""
        if self._folder.identity(self._name) != self._identity:
            raise IndexUnusable("the search index was removed")

    def commit(self) -> bool:
        """Make what was written visible; False if a reader is in the way, then it stays as it is.

        Raises Unavailable and IndexUnusable; then nothing since the last commit is kept.
        """
        if not self._connection.in_transaction:
            return True
        self.check_place()
        with self._translating():
            self._connection.execute(
                "UPDATE meta SET next = ?, complete = ?", (self._next, int(self._complete))
            )
            try:
                self._connection.execute("COMMIT")
            except ERRORS as error:
                if code_of(error) in BUSY_CODES and self._connection.in_transaction:
                    return False
                raise
        self.written = 0
        self.commits += 1
        return True

    # -- notes ---------------------------------------------------------------------------------

    def put(self, rows: Iterable[Row]) -> None:
        """Write notes, in place of those that have their paths. Raises Busy, Unavailable, IndexUnusable."""
        words: list[tuple[Any, ...]] = []
        docs: list[tuple[Any, ...]] = []
        links: list[tuple[str, int]] = []
        tags: list[tuple[str, int, str | None, int]] = []
        with self._translating():
            self._begin()
            execute = self._connection.execute
            for row in rows:
                former = execute("SELECT id, reason, held FROM docs WHERE path = ?", (row.path,)).fetchone()
                if former is not None:
                    self._remove(*former)
                number = self._next
                self._next += 1
                if row.words is not None:
                    words.append((number, *row.words))
                docs.append(
                    (
                        number,
                        row.path,
                        *row.stat,
                        number if row.sure else 0,
                        row.etag,
                        row.title,
                        row.reason,
                        row.held,
                    )
                )
                links += [(stem, number) for stem in row.stems]
                tags += [(key, number, name, uses) for key, name, uses in row.tags]
            # In order, since neighbours are on one page.
            links.sort()
            tags.sort(key=itemgetter(0, 1))
            many = self._connection.executemany
            many(f"INSERT INTO notes (rowid, {_COLUMNS}) VALUES (?, {_PLACES})", words)  # noqa: S608 - our names
            many("INSERT INTO docs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", docs)
            many("INSERT INTO links VALUES (?, ?)", links)
            many("INSERT INTO tags VALUES (?, ?, ?, ?)", tags)
            self.written += len(docs)

    def remove(self, paths: Iterable[str]) -> int:
        """Forget the notes at these paths; return how many there were. Raises what `put` raises."""
        count = 0
        with self._translating():
            self._begin()
            for path in paths:
                row = self._connection.execute(
                    "SELECT id, reason, held FROM docs WHERE path = ?", (path,)
                ).fetchone()
                if row is not None:
                    self._remove(*row)
                    count += 1
            self.written += count
        return count

    def rename(self, number: int, path: str) -> None:
        """Give a note another path, at which there is none. Its words say the former one until it is written anew.

        Raises what `put` raises.
        """
        with self._translating():
            self._begin()
            self._connection.execute("UPDATE docs SET path = ? WHERE id = ?", (path, number))
            # What has no words says no former path.
            self._connection.execute(
                "INSERT OR IGNORE INTO masked SELECT id, 1 FROM docs WHERE id = ? AND reason IS NULL",
                (number,),
            )
            self.written += 1

    def confirm(self, number: int, stat: Stat, *, sure: bool) -> None:
        """Note that a file has other numbers and the same bytes. Raises what `put` raises."""
        with self._translating():
            self._begin()
            self._connection.execute(
                "UPDATE docs SET ino = ?, size = ?, mtime = ?, sure = ? WHERE id = ?",
                (*stat, self._next if sure else 0, number),
            )
            # An id is passed over, so that a search which began before this can tell.
            self._next += 1
            self.written += 1

    def renew_generation(self) -> None:
        """Have the file be another one for whoever goes on with a search: notes got other ids. Raises as `put` does."""
        with self._translating():
            self._begin()
            self.generation = os.urandom(8).hex()
            self._connection.execute("UPDATE meta SET generation = ?", (self.generation,))

    def _remove(self, number: int, reason: str | None, held: str) -> None:
        execute, many = self._connection.execute, self._connection.executemany
        stems, tags = held_of(held)
        execute("DELETE FROM docs WHERE id = ?", (number,))
        many("DELETE FROM links WHERE stem = ? AND doc = ?", [(stem, number) for stem in stems])
        many("DELETE FROM tags WHERE tag = ? AND doc = ?", [(tag, number) for tag in tags])
        if reason is None:
            execute("INSERT OR REPLACE INTO masked VALUES (?, 0)", (number,))

    @property
    def next_id(self) -> int:
        """The id that the next note gets; all others are lower."""
        return self._next

    # -- what is known -------------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Whether every note has been in the index once; saved with the next commit."""
        return self._complete

    def finish(self) -> None:
        """Note that every note is in the index. Raises what `put` raises."""
        if not self._complete:
            with self._translating():
                self._begin()
            self._complete = True

    def doc(self, path: str) -> Doc | None:
        """Return what is known of the note at *path*. Raises what `put` raises."""
        found = self._docs("path = ?", path)
        return found[0] if found else None

    def docs_in(self, folder: str, first: str, last: str) -> dict[str, tuple[int, Numbers]]:
        """Return the ids and numbers of the notes directly in a folder that were read for sure, by their names.

        From the name *first* to *last*. Raises what `put` raises.
        """
        rows = self._rows(_IN_FOLDER, *within(folder, first, last))
        return {name: (number, (ino, size, mtime)) for name, number, ino, size, mtime in rows}

    def docs_of(self, ino: int) -> list[Doc]:
        """Return the notes that were files of this inode. Raises what `put` raises."""
        return self._docs("ino = ?", ino)

    def docs_after(self, number: int, *, limit: int) -> list[Doc]:
        """Return the notes with ids behind *number*, in order, at most *limit*. Raises what `put` raises."""
        return self._docs("id > ? ORDER BY id LIMIT ?", number, limit)

    def moved(self, *, limit: int) -> list[Doc]:
        """Return some notes whose words say a former path. Raises what `put` raises."""
        return self._docs("id IN (SELECT id FROM masked WHERE moved) LIMIT ?", limit)

    def _docs(self, where: str, *values: object) -> list[Doc]:
        sql = f"{_DOCS} WHERE {where}"  # SAFETY: the condition is one of those above
        rows = self._rows(sql, *values)
        return [
            Doc(number, path, Stat(ino, size, mtime), bool(sure), tag, reason, bool(moved))
            for number, path, ino, size, mtime, sure, tag, reason, moved in rows
        ]

    def counts(self) -> tuple[int, int, int]:
        """Return how many notes there are, how many of them moved, and how many ids are dead. 1 ms for 100,000."""
        rows = self._rows(
            "SELECT (SELECT count(*) FROM docs), (SELECT count(*) FROM masked WHERE moved),"
            " (SELECT count(*) FROM masked WHERE NOT moved)"
        )
        docs, moved, dead = rows[0]
        return docs, moved, dead

    def text_bytes(self) -> int:
        """Return how large all notes are together. Raises what `put` raises."""
        total: int = self._rows("SELECT coalesce(sum(size), 0) FROM docs")[0][0]
        return total

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self._translating():
            return self._connection.execute(sql, values).fetchall()

    def unread(self) -> int:
        """Return how many notes cannot be read as text. Raises what `put` raises."""
        count: int = self._rows("SELECT count(*) FROM docs WHERE reason IS NOT NULL")[0][0]
        return count

    # -- tending -------------------------------------------------------------------------------

    def merge(self, *, pages: int = MERGE_PAGES) -> bool:
        """Merge about so many pages of words, in a transaction of its own; say whether there is more to merge.

        A negative number takes all that there is for one piece, which later calls with a positive one go on with.
        Raises what `put` raises.
        """
        if not self.commit():
            return True
        with self._translating():
            self._begin()
            before = self._connection.total_changes
            self._connection.execute("INSERT INTO notes (notes, rank) VALUES ('merge', ?)", (pages,))
            more = self._connection.total_changes - before >= 2
        return not self.commit() or more
