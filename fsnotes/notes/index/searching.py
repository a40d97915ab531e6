"""Which notes the index gives for a query, best first: a page at a time, in an order that holds still.

Up to FULL_RANKING matches are all ranked by bm25. A word that more notes have is ranked where it says most, in titles,
headings and tags, among the newest notes that have it there; behind these come the others, newest first. Of equal
notes the newer one comes first, and a note's id says how new it is. A page ends at a position, which is all that the
next one needs.

Notes that were renamed since they were read are asked for apart: their words are known, and where they are is compared
with the query here.

What comes out are candidates: where the index alone cannot tell (`Query.exact`), and for whoever wants to be sure, the
note decides. The folders of the scope are part of every query, and each path is compared with the scope once more.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from fsnotes.errors import IndexUnusable, InvalidArgument
from fsnotes.notes.index import schema
from fsnotes.notes.index.contents import title_from
from fsnotes.notes.index.expressions import CONTENT, HEADERS, TITLES, expression, term_expression
from fsnotes.notes.index.marks import of_tag
from fsnotes.notes.index.matching import Matcher, Place
from fsnotes.notes.index.queries import Either, Term, Where, Words, is_exact
from fsnotes.notes.index.reader import View
from fsnotes.notes.model import fold, stem
from fsnotes.notes.scope import Scope
from sandbox.errors import InvalidPath
from sandbox.names import ROOT, RelPath

FULL_RANKING: Final = 5_000
"""How many matches are all ranked."""
MOST_RANKED: Final = 10_000
"""How many are ranked of those that have the words in titles, headings or tags."""
_BATCH: Final = 100
_HIGHEST: Final = 1 << 62
_NOWHERE: Final = "\0"

_RANKED, _HEADERS, _OTHERS = range(3)
_POSITION: Final = re.compile(r"([012]):(-?[0-9]{1,7}(?:\.[0-9]{1,20})?(?:e-?[0-9]{1,3})?):([0-9]{1,15})")

_BM25: Final = f"bm25(notes, {', '.join(map(str, schema.WEIGHTS))})"
# What is asked for is always bound; these are put together of our own words.
_COUNT: Final = "SELECT count(*) FROM notes WHERE notes MATCH ?"
_LIVE: Final = "notes MATCH ? AND rowid NOT IN (SELECT id FROM masked)"
_RANKS: Final = f"SELECT rowid AS id, {_BM25} AS rank FROM notes WHERE {_LIVE}"  # noqa: S608 - our words
_NEWEST_RANKS: Final = f"SELECT * FROM ({_RANKS} ORDER BY rowid DESC LIMIT {MOST_RANKED})"  # noqa: S608 - our words
_NEWEST: Final = f"SELECT rowid FROM notes WHERE {_LIVE} AND rowid < ? ORDER BY rowid DESC LIMIT ?"  # noqa: S608 - ours
_BEST: Final = "{} ORDER BY rank, id DESC LIMIT ?"
_BEST_BEHIND: Final = (
    "WITH ranked AS MATERIALIZED ({}) SELECT id, rank FROM ranked WHERE rank > ? OR (rank = ? AND id < ?)"
    " ORDER BY rank, id DESC LIMIT ?"
)
# The plus keeps SQLite from asking FTS5 anew for each id.
_MOVED: Final = "notes MATCH ? AND +rowid IN (SELECT id FROM masked WHERE moved)"
_MOVED_IDS: Final = f"SELECT rowid FROM notes WHERE {_MOVED}"  # noqa: S608 - our words
_MOVED_RANKS: Final = f"SELECT rowid, {_BM25} FROM notes WHERE {_MOVED}"  # noqa: S608 - our words
_MOVED_DOCS: Final = "SELECT id, path, title FROM docs WHERE id IN (SELECT id FROM masked WHERE moved)"


class Position(NamedTuple):
    """A place in the order of matches: which part of it, the rank there (lower is better), and the id."""

    part: int
    rank: float
    id: int

    def order(self) -> tuple[int, float, int]:
        """Return what positions are sorted by."""
        return self.part, self.rank, -self.id

    def __str__(self) -> str:
        return f"{self.part}:{self.rank!r}:{self.id}"

    @classmethod
    def parse(cls, text: str) -> Position:
        """Return the position that `str` wrote. Raises InvalidArgument."""
        found = _POSITION.fullmatch(text)
        if found is None:
            raise InvalidArgument("cursor", "not one of this query")
        part, rank, number = found.groups()
        return cls(int(part), float(rank), int(number))


class Candidate(NamedTuple):
    """A note that the index gives, and its place in the order."""

    position: Position
    path: str
    title: str


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
    """Some candidates in order. *total* is about how many there are in all; *more*, whether some come behind these."""

    candidates: tuple[Candidate, ...]
    total: int
    more: bool


def candidates(
    view: View, asked: Asked, *, after: Position | None, most: int, without: Iterable[str] = ()
) -> Found:
    """Return at most *most* candidates behind *after*, none of them at the paths *without*.

    Raises what `Reader.view` raises.
    """
    try:
        return _Search(view, asked).found(after, most, frozenset(without))
    except (TypeError, ValueError) as error:
        raise IndexUnusable("the search index holds what was never written") from error


class _Search:
    def __init__(self, view: View, asked: Asked) -> None:
        self._view = view
        self._asked = asked
        self._query = asked.matcher.query
        self._moved = self._moved_matches()

    def found(self, after: Position | None, most: int, without: frozenset[str]) -> Found:
        count = self._view.number(_COUNT, self._expression())
        ranked = count <= FULL_RANKING if after is None else after.part == _RANKED
        if ranked and count > 4 * FULL_RANKING:
            ranked, after = False, None  # so many have come since the first page that it is another search
        positions = self._all_ranked(after) if ranked else self._in_parts(after)
        chosen: list[Candidate] = []
        batch: list[Position] = []
        more = False
        for position in positions:
            if after is not None and position.order() <= after.order():
                continue
            batch.append(position)
            if len(batch) == _BATCH:
                chosen += self._told(batch, without)
                batch = []
                if len(chosen) > most:
                    more = True
                    break
        chosen += self._told(batch, without)
        return Found(tuple(chosen[:most]), count + len(self._moved), more or len(chosen) > most)

    def _told(self, positions: list[Position], without: frozenset[str]) -> Iterator[Candidate]:
        numbers = [position.id for position in positions]
        marks = ", ".join("?" * len(numbers))
        sql = f"SELECT id, path, title FROM docs WHERE id IN ({marks})"  # noqa: S608 - question marks
        known = {number: (path, title) for number, path, title in self._view.rows(sql, *numbers)}
        for position in positions:
            path, title = known.get(position.id, ("", ""))
            if path and path not in without and self._asked.admits(path):
                yield Candidate(position, path, title or title_from(path))

    def _expression(self, columns: str = "") -> str:
        asked = self._asked
        return expression(self._query, columns=columns, folders=asked.folders(), tag=asked.tag_key())

    # -- orders --------------------------------------------------------------------------------

    def _all_ranked(self, after: Position | None) -> Iterator[Position]:
        moved = sorted((Position(_RANKED, rank, number) for number, rank in self._moved), key=Position.order)
        found = self._by_rank(_RANKED, _RANKS, self._expression(), after)
        return heapq.merge(found, moved, key=Position.order)

    def _in_parts(self, after: Position | None) -> Iterator[Position]:
        """Yield the matches in headers by rank, then the others, newest first, as they are asked for."""
        headers = self._headers()
        if after is None or after.part < _OTHERS:
            yield from self._by_rank(_HEADERS, _NEWEST_RANKS, headers, after)
        first = {number for (number,) in self._view.rows(_NEWEST, headers, _HIGHEST, MOST_RANKED)}
        moved = sorted((number for number, _ in self._moved), reverse=True)
        below = after.id if after is not None and after.part == _OTHERS else _HIGHEST
        while True:
            rows = self._view.rows(_NEWEST, self._expression(), below, 5 * _BATCH)
            numbers = [number for (number,) in rows]
            last = numbers[-1] if len(numbers) == 5 * _BATCH else 0
            between = [number for number in moved if last <= number < below]
            for number in sorted({*numbers, *between} - first, reverse=True):
                yield Position(_OTHERS, 0.0, number)
            if not last:
                return
            below = last

    def _headers(self) -> str:
        """Return what finds the query in the headers, or in fewer of them if that is still very much."""
        found = self._expression(HEADERS)
        return found if self._view.number(_COUNT, found) <= MOST_RANKED else self._expression(TITLES)

    def _by_rank(self, part: int, ranks: str, found: str, after: Position | None) -> Iterator[Position]:
        """Yield the rows of the statement *ranks* from the best on, a batch at a time."""
        bound = None if after is None or after.part != part else (after.rank, after.id)
        while True:
            if bound is None:
                rows = self._view.rows(_BEST.format(ranks), found, _BATCH)
            else:
                rank, number = bound
                rows = self._view.rows(_BEST_BEHIND.format(ranks), found, rank, rank, number, _BATCH)
            for number, rank in rows:
                yield Position(part, rank, number)
            if len(rows) < _BATCH:
                return
            bound = rows[-1][1], rows[-1][0]

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
        return self._asked.matcher.stands_in(words, Place(text))

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
