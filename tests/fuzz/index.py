"""The file of a search index that somebody has written into."""

from __future__ import annotations

import contextlib
import os
from functools import cache

from fsnotes.errors import Busy, IndexUnusable, InvalidArgument, Unavailable
from fsnotes.notes.index.answering import page
from fsnotes.notes.index.combing import comb
from fsnotes.notes.index.files import CURRENT
from fsnotes.notes.index.regexes import Pattern
from tests.fuzz.scratch import scratch
from tests.fuzz.supply import Supply
from tests.notes.index.shelves import Shelf

_STEPS = 6


@cache
def _shelf() -> tuple[Shelf, bytes]:
    shelf = Shelf(scratch("shelf"))
    for path in ("a/1.md", "a/2.md", "b/3.md", "4.md"):
        shelf.write(path, f"---\nk: v\n---\n# Note {path}\n\nword [[link]] #t/u {path}\n")
    shelf.settle()
    shelf.shut()
    return shelf, shelf.file.read_bytes()


def index(data: bytes) -> None:
    """Whatever the file holds, a search is answered with notes of the grant alone, or refused; keeping goes on."""
    supply = Supply(data)
    shelf, whole = _shelf()
    content = bytearray(whole)
    for _ in range(1 + supply.below(4)):
        # Pages are mostly empty at their front, so places are counted from headers and ends of pages as well.
        at = supply.below(len(content) // 512) * 512 + (
            supply.below(512) if supply.flag() else supply.below(16)
        )
        new = supply.take(1 + supply.below(8))
        content[at : at + len(new)] = new
    if supply.below(16) == 15:
        del content[supply.below(len(content)) :]
    place = shelf.index_path / "new"
    place.write_bytes(content)
    os.replace(place, shelf.file)
    for name in (f"{CURRENT}-journal", f"{CURRENT}-wal", f"{CURRENT}-shm"):
        (shelf.index_path / name).unlink(missing_ok=True)
    for query in ("word", "tag:t", "title:note", "wor*"):
        with contextlib.suppress(IndexUnusable, InvalidArgument):
            asked = shelf.asked(query, folders=("a",))
            hits = page(shelf.reader, shelf.root, asked, limit=5, clock=lambda: 0.0).hits
            assert all(hit.path.startswith("a/") for hit in hits), hits
    with contextlib.suppress(IndexUnusable, InvalidArgument):
        combed = comb(
            shelf.reader,
            shelf.root,
            Pattern("w.rd"),
            shelf.asked("x", folders=("a",)),
            limit=5,
            clock=lambda: 0.0,
        )
        assert all(hit.path.startswith("a/") for hit in combed.hits)
    if supply.flag():
        with contextlib.suppress(Busy, Unavailable, IndexUnusable):
            for _ in range(_STEPS):
                shelf.keep().step()
        shelf.shut()
