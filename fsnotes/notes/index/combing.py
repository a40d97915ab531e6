"""A search by a regular expression: the notes are read one by one, newest first, in short calls.

Where every match has the beginning of a certain word in it, only the notes with such a word are read. A call ends
after a while, within a large note if need be, and says where the next one goes on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from fsnotes.errors import InvalidArgument, NotText
from fsnotes.notes.index import marks
from fsnotes.notes.index.answering import MOST_HITS, Hit, read_as_known, read_note
from fsnotes.notes.index.bounds import CALL_BYTES, CALL_SECONDS
from fsnotes.notes.index.known import Known
from fsnotes.notes.index.reader import Reader, Standing, View, standing
from fsnotes.notes.index.regexes import Pattern, Unfinished, searchable
from fsnotes.notes.index.rows import Stat
from fsnotes.notes.index.searching import ALL, Asked
from fsnotes.notes.index.snippets import shown_title
from fsnotes.notes.tags import has_tag
from fsnotes.notes.titles import title_of
from sandbox.root import Root

_BATCH: Final = 500
_HIGHEST: Final = 1 << 62
_MARK: Final = re.compile(r"([0-9]{1,15}):([0-9]{1,10})")

_DOCS: Final = """
    SELECT id, path, sure, ino, size, mtime FROM docs WHERE id < ? AND reason IS NULL ORDER BY id DESC LIMIT ?
"""
_TAGGED: Final = """
    SELECT id, path, sure, ino, size, mtime FROM docs
    WHERE id < ? AND id IN (SELECT doc FROM tags WHERE tag = ?) ORDER BY id DESC LIMIT ?
"""
_WORDS: Final = """
    SELECT id, path, sure, ino, size, mtime FROM docs WHERE id IN (
        SELECT rowid FROM notes
        WHERE notes MATCH ? AND rowid < ? AND rowid NOT IN (SELECT id FROM masked WHERE NOT moved)
        ORDER BY rowid DESC LIMIT ?
    ) ORDER BY id DESC
"""


class Mark(NamedTuple):
    """Where a search goes on: behind the note with this *id*, or within it, at this *offset* of its bytes."""

    id: int
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.id}:{self.offset}"

    @classmethod
    def parse(cls, text: str) -> Mark:
        """Return the mark that `str` wrote. Raises InvalidArgument."""
        found = _MARK.fullmatch(text)
        if found is None:
            raise InvalidArgument("cursor", "not one of this query")
        return cls(int(found[1]), int(found[2]))


class Combed(NamedTuple):
    """Hits from the newest on. *after* is where the next call goes on, None at the end.

    *standing* is that of the index.
    """

    hits: tuple[Hit, ...]
    after: Mark | None
    standing: Standing


def comb(
    reader: Reader,
    root: Root,
    pattern: Pattern,
    asked: Asked,
    *,
    limit: int,
    clock: Callable[[], float],
    after: Mark | None = None,
    known: Known = ALL,
) -> Combed:
    """Return at most *limit* notes of the index in which *pattern* matches, behind *after*, of those that are *known*.

    For about CALL_SECONDS; it may be none, and not the end. Of *asked*, everything counts but the query. Raises
    IndexUnusable and RootUnusable.
    """
    key = asked.tag_key()
    limit = max(1, min(limit, MOST_HITS))
    below = _HIGHEST if after is None else after.id + (after.offset > 0)
    offset = 0 if after is None else after.offset
    with reader.view() as view:
        rows = _rows(view, pattern, asked, below, known)
        state = standing(view)
    # From here on: what it took to find out which to read is no reason to read fewer.
    end = clock() + CALL_SECONDS
    hits: list[Hit] = []
    size = 0
    for number, path, stat in rows:
        start, offset = (offset if after is not None and number == after.id else 0), 0
        if known.has(number, path) and asked.admits(path):
            data = read_as_known(root, path, stat, known)
            if data is not None and (key is None or _is_tagged(data, key)):
                size += len(data)
                found = _match(pattern, path, data, start, is_over=lambda: clock() >= end)
                if isinstance(found, Unfinished):
                    return Combed(tuple(hits), Mark(number, found.offset), state)
                if found is not None:
                    hits.append(found)
        if len(hits) == limit or size >= CALL_BYTES or clock() >= end:
            return Combed(tuple(hits), Mark(number), state)
    if len(rows) < _BATCH:
        return Combed(tuple(hits), None, state)
    return Combed(tuple(hits), Mark(rows[-1][0]), state)


class CombedThrough(NamedTuple):
    """Hits among notes that were read, and what is left: paths, and an offset within the first of them."""

    hits: tuple[Hit, ...]
    left: tuple[str, ...]
    offset: int


def comb_through(
    root: Root,
    pattern: Pattern,
    asked: Asked,
    paths: Sequence[str],
    *,
    clock: Callable[[], float],
    offset: int = 0,
    most: int = MOST_HITS,
) -> CombedThrough:
    """Read the notes at *paths* in order, the first from *offset* on, and return those in which *pattern* matches.

    As `answering.look_through`. Raises RootUnusable.
    """
    end = clock() + CALL_SECONDS
    key = asked.tag_key()
    hits: list[Hit] = []
    size = 0
    for place, path in enumerate(paths):
        if place and (len(hits) >= most or size >= CALL_BYTES or clock() >= end):
            return CombedThrough(tuple(hits), tuple(paths[place:]), 0)
        data = read_note(root, path) if asked.admits(path) else None
        if data is None or (key is not None and not _is_tagged(data, key)):
            continue
        size += len(data)
        found = _match(pattern, path, data, 0 if place else offset, is_over=lambda: clock() >= end)
        if isinstance(found, Unfinished):
            return CombedThrough(tuple(hits), tuple(paths[place:]), found.offset)
        if found is not None:
            hits.append(found)
    return CombedThrough(tuple(hits), (), 0)


def _rows(
    view: View, pattern: Pattern, asked: Asked, below: int, known: Known
) -> list[tuple[int, str, Stat | None]]:
    """Return the next notes that may match: id, path, and by what the file is known."""
    return [
        (number, path, known.stat(sure, stat))
        for number, path, sure, *stat in _chosen(view, pattern, asked, below)
    ]


def _chosen(view: View, pattern: Pattern, asked: Asked, below: int) -> list[tuple[Any, ...]]:
    key = asked.tag_key()
    if pattern.begins is not None:
        # SAFETY: it has nothing but small letters and digits of ASCII.
        words = f'body : "{pattern.begins}" *'
        if key is not None:
            words += f' AND marks : "{marks.of_tag(key)}"'
        return view.rows(_WORDS, words, below, _BATCH)
    if key is not None:
        return view.rows(_TAGGED, below, key, _BATCH)
    return view.rows(_DOCS, below, _BATCH)


def _match(
    pattern: Pattern, path: str, data: bytes, start: int, *, is_over: Callable[[], bool]
) -> Hit | Unfinished | None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    text = searchable(data)
    found = pattern.first(text, start, is_over=is_over)
    if found is None or isinstance(found, Unfinished):
        return found
    return Hit(path, shown_title(title_of(data, path.rpartition("/")[2])), pattern.lines(text, found))


def _is_tagged(data: bytes, key: str) -> bool:
    try:
        return has_tag(data, key, path="")
    except NotText:
        return False
