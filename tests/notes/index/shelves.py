"""A vault on the disk with an index beside it, and what tests do with both."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from fsnotes.notes.index.answering import Hit, page
from fsnotes.notes.index.building import Vault
from fsnotes.notes.index.keeping import Keeper, Progress
from fsnotes.notes.index.known import Known
from fsnotes.notes.index.matching import Matcher
from fsnotes.notes.index.queries import parse
from fsnotes.notes.index.reader import Reader
from fsnotes.notes.index.searching import Asked, Position
from fsnotes.notes.scope import Scope
from sandbox.names import ROOT, RelPath
from sandbox.policy import Policy
from sandbox.root import Root

BOOT = "this boot"
OLD = 1_600_000_000_000_000_000
"""A time that no clock's tick reaches."""


class Shelf:
    """A workspace, its index, who keeps it and who reads it. No clock ends a call before its work is done."""

    def __init__(self, top: Path, *, boot: str = BOOT) -> None:
        self.vault_path = top / "vault"
        self.index_path = top / "index"
        self.vault_path.mkdir(parents=True, exist_ok=True)
        self.index_path.mkdir(parents=True, exist_ok=True)
        self.file = self.index_path / "search.sqlite3"
        self.root = Root.open(str(self.vault_path), Policy())
        self.boot = boot
        self.vault = Vault(self.root, Scope((ROOT,)), clock=lambda: 0.0)
        self.keeper: Keeper | None = None
        self.reader = Reader(str(self.index_path), boot=boot)
        self._time = OLD

    def close(self) -> None:
        self.shut()
        self.reader.close()
        self.root.close()

    def shut(self) -> None:
        """Let the index be, as at the end of a server."""
        if self.keeper is not None:
            self.keeper.close()
            self.keeper = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- the notes, as other programs change them --

    def write(self, path: str, text: str | bytes, *, mtime: int | None = None) -> None:
        """Save a note, each a second later than the one before."""
        place = self.vault_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        self._time += 1_000_000_000
        os.utime(place, ns=(mtime or self._time, mtime or self._time))

    def remove(self, path: str) -> None:
        (self.vault_path / path).unlink()

    def rename(self, path: str, other: str) -> None:
        place = self.vault_path / other
        place.parent.mkdir(parents=True, exist_ok=True)
        (self.vault_path / path).rename(place)

    def paths(self) -> list[str]:
        return sorted(str(path.relative_to(self.vault_path)) for path in self.vault_path.rglob("*.md"))

    def empty(self) -> None:
        """Begin anew, with neither notes nor index."""
        self.shut()
        for folder in (self.vault_path, self.index_path):
            for each in folder.iterdir():
                shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()

    # -- the index --

    def keep(self) -> Keeper:
        if self.keeper is None:
            self.keeper = Keeper(str(self.index_path), self.vault, boot=self.boot)
        return self.keeper

    def settle(self, *, idle: bool = False) -> Progress:
        """Let the index become equal to the notes, and with *idle* let it do its chores too."""
        keeper = self.keep()
        for _ in range(100_000):
            progress = keeper.step()
            if progress.idle if idle else progress.phase == "ready":
                return progress
        raise AssertionError(progress)

    def look_again(self, folder: str = "") -> Progress:
        """Survey again and settle, as after changes that nobody told of."""
        self.keep().look_again(folder)
        return self.settle()

    def refresh(self, *paths: str) -> None:
        left: Iterable[str] = paths
        while left:
            left = self.keep().refresh(left)

    def asked(
        self, query: str, *, folder: str = "", tag: str | None = None, folders: tuple[str, ...] = ("",)
    ) -> Asked:
        scope = Scope(tuple(RelPath.parse_folder(each) for each in folders))
        return Asked(Matcher(parse(query)), scope, folder, tag)

    def hits(
        self,
        query: str,
        *,
        folder: str = "",
        tag: str | None = None,
        folders: tuple[str, ...] = ("",),
        limit: int = 50,
        without: tuple[str, ...] = (),
    ) -> list[Hit]:
        """All hits of a query, page by page."""
        asked = self.asked(query, folder=folder, tag=tag, folders=folders)
        found: list[Hit] = []
        after: Position | None = None
        while True:
            known = Known(without=frozenset(without))
            part = page(
                self.reader, self.root, asked, limit=limit, clock=lambda: 0.0, after=after, known=known
            )
            found += part.hits
            if part.after is None:
                return found
            after = Position.parse(str(part.after))

    def finds(self, query: str, **how: object) -> list[str]:
        """The paths of all hits, in order."""
        return [hit.path for hit in self.hits(query, **how)]  # type: ignore[arg-type]


def is_whole_file(shelf: Shelf) -> bool:
    """Say whether SQLite and FTS5 find the file of an index sound."""
    connection = shelf.keep()._filling.store._connection
    try:
        if connection.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
            return False
        connection.execute("INSERT INTO notes (notes) VALUES ('integrity-check')")
    except sqlite3.Error:
        return False
    return True
