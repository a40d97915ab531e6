"""Which notes the index gives for a query, best first: a page at a time, in an order that holds still.

The first MOST_BEST are chosen when the search begins, and every position names them: ranks are made of what all notes
say, so they change with any of them, and an order by rank would lose notes and repeat others. Up to FULL_RANKING
matches are all ranked by bm25. A word that more notes have is ranked where it says most, in titles, headings and tags,
among the newest notes that have it there. Behind these come the others, newest first. Of equal notes the newer one
comes first, and a note's id says how new it is.

Notes that were renamed since they were read are asked for apart: their words are known, and where they are is compared
with the query here.

What comes out are candidates: where the index alone cannot tell (`Query.exact`), and for whoever wants to be sure, the
note decides. The folders of the scope are part of every query, and each path is compared with the scope once more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from fsnotes.errors import IndexUnusable, InvalidArgument
from fsnotes.notes.index import schema
from fsnotes.notes.index.contents import title_from
from fsnotes.notes.index.expressions import CONTENT, HEADERS, TITLES, expression, term_expression
from fsnotes.notes.index.known import NEXT_ID, Known
from fsnotes.notes.index.marks import of_tag
from fsnotes.notes.index.matching import Matcher, Place
from fsnotes.notes.index.queries import Either, Term, Where, Words, is_exact
from fsnotes.notes.index.reader import View
from fsnotes.notes.index.rows import Stat
from fsnotes.notes.model import fold, stem
from fsnotes.notes.scope import Scope
from sandbox.errors import InvalidPath
from sandbox.names import ROOT, RelPath

FULL_RANKING: Final = 5_000
"""How many matches are all ranked."""
MOST_RANKED: Final = 10_000
"""How many are ranked of those that have the words in titles, headings or tags."""
MOST_BEST: Final = 100
"""How many matches come best first."""
_BATCH: Final = 100
_HIGHEST: Final = 1 << 62
_NOWHERE: Final = "\0"

ALL: Final = Known()
"""Every note of the index."""

_POSITION: Final = re.compile(r"([0-9]{1,4}):([0-9]{1,19}):((?:[0-9a-z]{1,12}(?:\.[0-9a-z]{1,12}){0,199})?)")

_BM25: Final = f"bm25(notes, {', '.join(map(str, schema.WEIGHTS))})"
# What is asked for is always bound; these are put together of our own words.
_LIVE: Final = "notes MATCH ? AND rowid NOT IN (SELECT id FROM masked)"
_FIRST: Final = f"SELECT count(*), max(rowid) FROM (SELECT rowid FROM notes WHERE {_LIVE} LIMIT ?)"  # noqa: S608 - ours
_COUNT_UPTO: Final = "SELECT count(*) FROM notes WHERE notes MATCH ? AND rowid <= ?"
_RANKS: Final = f"SELECT rowid AS id, {_BM25} AS rank FROM notes WHERE {_LIVE}"  # noqa: S608 - our words
_NEWEST_RANKS: Final = f"SELECT * FROM ({_RANKS} ORDER BY rowid DESC LIMIT {MOST_RANKED})"  # noqa: S608 - our words
_NEWEST: Final = f"SELECT rowid FROM notes WHERE {_LIVE} AND rowid < ? ORDER BY rowid DESC LIMIT ?"  # noqa: S608 - ours
_BEST: Final = f"{{}} ORDER BY rank, id DESC LIMIT {MOST_BEST}"
# The plus keeps SQLite from asking FTS5 anew for each id.
_MOVED: Final = "notes MATCH ? AND +rowid IN (SELECT id FROM masked WHERE moved)"
_MOVED_IDS: Final = f"SELECT rowid FROM notes WHERE {_MOVED}"  # noqa: S608 - our words
_MOVED_RANKS: Final = f"SELECT rowid, {_BM25} FROM notes WHERE {_MOVED}"  # noqa: S608 - our words
_MOVED_DOCS: Final = "SELECT id, path, title FROM docs WHERE id IN (SELECT id FROM masked WHERE moved)"


class Position(NamedTuple):
    """A place in the order of matches: behind *done* of the *best* ones and, once these are passed, *below* an id."""

    best: tuple[int, ...]
    done: int
    below: int

    def __str__(self) -> str:
        return f"{self.done}:{self.below}:{'.'.join(map(_short, self.best))}"

    @classmethod
    def parse(cls, text: str) -> Position:
        """Return the position that `str` wrote. Raises InvalidArgument."""
        found = _POSITION.fullmatch(text)
        if found is None:
            raise InvalidArgument("cursor", "not one of this query")
        done, below, best = found.groups()
        ids = tuple(int(each, 36) for each in best.split(".")) if best else ()
        # SAFETY: a note that is named twice would be told of twice, which no honest worker does.
        if len(set(ids)) < len(ids) or len(ids) > MOST_BEST or int(done) > len(ids) or int(below) > _HIGHEST:
            raise InvalidArgument("cursor", "not one of this query")
        return cls(ids, int(done), int(below))


_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def _short(number: int) -> str:
    """Return *number* as `int(text, 36)` reads it."""
    text = ""
    while True:
        number, digit = divmod(number, 36)
        text = _DIGITS[digit] + text
        if not number:
            return text


class Candidate(NamedTuple):
    """A note that the index gives, and its place in the order."""

    position: Position
    path: str
    title: str
    stat: Stat | None
    """By what its file is known, None if it may have been written since within the same tick."""


class Asked(NamedTuple):
    """What is searched: a query, in a folder ("" for all of the scope), among the notes with a tag if one is given."""

    matcher: Matcher
    scope: Scope
    folder: str = ""
    tag: str | None = None

    def tag_key(self) -> str | None:
        """Return the key of the tag."""
        return None if self.tag is None else fold(self.tag.removeprefix("#").rstrip("/"))

    def folders(self) -> tuple[str, ...]:
        """Return the folders that every match lies in one of; none where that is everything."""
        if self.folder:
            return (self.folder,)
        if self.scope.covers(ROOT):
            return ()
        # A scope without folders has nothing in it, so what is counted has to be in one that no note can be in.
        return tuple(str(folder) for folder in self.scope.tops()) or (_NOWHERE,)

    def admits(self, path: str) -> bool:
        """Say whether the note at *path* may be told of."""
        try:
            place = RelPath.parse(path)
            inside = not self.folder or Scope((RelPath.parse(self.folder),)).covers(place)
        except InvalidPath:
            return False
        return inside and self.scope.admits(place)


class Found(NamedTuple):
    """Some candidates in order. *more* says whether some come behind these."""

    candidates: tuple[Candidate, ...]
    more: bool


def candidates(view: View, asked: Asked, *, after: Position | None, most: int, known: Known = ALL) -> Found:
    """Return at most *most* candidates behind *after*, of those notes of the index that are *known*.

    Raises what `Reader.view` raises.
    """
    try:
        return _Search(view, asked).found(after, most, known)
    except (TypeError, ValueError) as error:
        raise IndexUnusable("the search index holds what was never written") from error


@lru_cache(maxsize=32_768)
def _place(text: str) -> Place:
    """Return a title or a name, folded once for all searches: after a folder is renamed there may be thousands."""
    return Place(text)


def _id_at(position: Position) -> int:
    """Return the id of the match at a position that `_behind` gave."""
    return position.below if position.below < _HIGHEST else position.best[position.done - 1]


def _among(after: Position) -> Iterator[Position]:
    """Yield the positions behind *after* of the best matches."""
    for place in range(after.done, len(after.best)):
        yield Position(after.best, place + 1, _HIGHEST)


class _Search:
    def __init__(self, view: View, asked: Asked) -> None:
        self._view = view
        self._asked = asked
        self._query = asked.matcher.query
        self._moved = self._moved_matches()

    def found(self, after: Position | None, most: int, known: Known) -> Found:
        is_all = False
        if after is None:
            best, is_all = self._best()
            after = Position(best, 0, _HIGHEST)
        chosen: list[Candidate] = []
        batch: list[Position] = []
        more = False
        at_once = min(_BATCH, most + 1)  # as a rule, all that are asked about are told of
        for position in _among(after) if is_all else self._behind(after, known):
            batch.append(position)
            if len(batch) == at_once:
                chosen += self._told(batch, known)
                batch = []
                if len(chosen) > most:
                    more = True
                    break
        chosen += self._told(batch, known)
        return Found(tuple(chosen[:most]), more or len(chosen) > most)

    def _told(self, positions: list[Position], known: Known) -> Iterator[Candidate]:
        numbers = [_id_at(position) for position in positions]
        marks = ", ".join("?" * len(numbers))
        sql = f"SELECT id, path, title, sure, ino, size, mtime FROM docs WHERE id IN ({marks})"  # noqa: S608 - question marks
        docs = {number: doc for number, *doc in self._view.rows(sql, *numbers)}
        for number, position in zip(numbers, positions, strict=True):
            if number not in docs:
                continue
            path, title, sure, *stat = docs[number]
            if known.has(number, path) and self._asked.admits(path):
                yield Candidate(position, path, title or title_from(path), known.stat(sure, stat))

    def _expression(self, columns: str = "") -> str:
        asked = self._asked
        return expression(self._query, columns=columns, folders=asked.folders(), tag=asked.tag_key())

    # -- the order -----------------------------------------------------------------------------

    def _best(self) -> tuple[tuple[int, ...], bool]:
        """Return the ids of the matches that come first, and whether these are all."""
        count, upto = self._view.rows(_FIRST, self._expression(), FULL_RANKING + 1)[0]
        if count > FULL_RANKING:
            rows = self._best_headed(upto)
        elif count + len(self._moved) <= 1:
            # What FTS5 does for a rank takes twice as long as finding the matches does.
            rows = [*([(upto, 0.0)] if count else []), *self._moved]
        else:
            rows = [*self._view.rows(_BEST.format(_RANKS), self._expression()), *self._moved]
        ranked = sorted(rows, key=lambda row: (row[1], -row[0]))[:MOST_BEST]
        return tuple(number for number, _ in ranked), count + len(self._moved) == len(ranked)

    def _best_headed(self, upto: int) -> list[tuple[Any, ...]]:
        """Return the ids and ranks of those that have the query in their headers, or in fewer of them if it is common.

        As common as it is there in the notes up to the id *upto*, it is taken to be in all.
        """
        headers = self._expression(HEADERS)
        share = self._view.number(_COUNT_UPTO, headers, upto) / upto
        if share * self._view.number(NEXT_ID) <= MOST_RANKED:
            return self._view.rows(_BEST.format(_RANKS), headers)
        return self._view.rows(_BEST.format(_NEWEST_RANKS), self._expression(TITLES))

    def _behind(self, after: Position, known: Known) -> Iterator[Position]:
        """Yield the positions of the matches behind *after*, as they are asked for: each is that of one match."""
        yield from _among(after)
        best, _, below = after
        if known.upto is not None:
            below = min(below, known.upto)
        passed = frozenset(best)
        moved = sorted((number for number, _ in self._moved), reverse=True)
        while True:
            rows = self._view.rows(_NEWEST, self._expression(), below, 5 * _BATCH)
            numbers = [number for (number,) in rows]
            last = numbers[-1] if len(numbers) == 5 * _BATCH else 0
            between = [number for number in moved if last <= number < below]
            for number in sorted({*numbers, *between} - passed, reverse=True):
                yield Position(best, len(best), number)
            if not last:
                return
            below = last

    # -- notes that were renamed ---------------------------------------------------------------

    def _moved_matches(self) -> list[tuple[int, float]]:
        """Return the ids of renamed notes that match, and their ranks by their words alone."""
        rows = self._view.rows(_MOVED_DOCS)
        if not rows:
            return []
        asked = self._asked
        tagged = None
        if asked.tag is not None:
            tagged = self._ids(f'marks : "{of_tag(asked.tag_key() or "")}"')
        has: dict[Term, Callable[[int, str, str], bool]] = {}
        for clause in self._query.clauses:
            for term in (*clause.must, *clause.never):
                if term not in has:
                    has[term] = self._test_of(term)
        found = []
        for number, path, title in rows:
            subject = (number, path, title or title_from(path))
            if not asked.admits(path) or (tagged is not None and number not in tagged):
                continue
            if any(
                all(has[term](*subject) for term in clause.must)
                and not any(is_exact(term) and has[term](*subject) for term in clause.never)
                for clause in self._query.clauses
            ):
                found.append(number)
        ranks = self._moved_ranks() if found else {}
        return [(number, ranks.get(number, 0.0)) for number in found]

    def _test_of(self, term: Term) -> Callable[[int, str, str], bool]:
        """Return what says whether a renamed note, by id, path and title, may have *term*."""
        match term:
            case Words(where=Where.ANYWHERE):
                ids = self._ids(term_expression(term, CONTENT))
                return lambda number, path, title: (
                    number in ids or any(self._stands_in(term, text) for text in (title, stem(path)))
                )
            case Words(where=where):
                return lambda _, path, title: self._stands_in(
                    term, title if where is Where.TITLE else stem(path)
                )
            case Either(first, second):
                tests = self._test_of(first), self._test_of(second)
                return lambda *subject: any(test(*subject) for test in tests)
            case _:
                marked = self._ids(term_expression(term))
                return lambda number, _path, _title: number in marked

    def _stands_in(self, words: Words, text: str) -> bool:
        return self._asked.matcher.stands_in(words, _place(text))

    def _ids(self, found_by: str) -> set[int]:
        return {number for (number,) in self._view.rows(_MOVED_IDS, found_by)}

    def _moved_ranks(self) -> dict[int, float]:
        terms = dict.fromkeys(term for clause in self._query.clauses for term in clause.must)
        parts = [term_expression(term, CONTENT) for term in terms if not _is_about_path(term)]
        if not parts:
            return {}
        ranks = dict(self._view.rows(_MOVED_RANKS, " OR ".join(f"({part})" for part in parts)))
        return {number: rank for number, rank in ranks.items() if math.isfinite(rank)}


def _is_about_path(term: Term) -> bool:
    return isinstance(term, Words) and term.where is not Where.ANYWHERE
