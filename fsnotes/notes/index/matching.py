"""Whether a query means a note, decided by the note itself: for those that the index does not know, or not for sure.

What is asked for is looked up in the order of what it costs: the words of the text first, its structure only for
terms that need it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Final

from fsnotes.notes.index.contents import Contents, contents_of
from fsnotes.notes.index.folding import LETTER, TOKEN, indexed, plain, tokens, unspaced_runs
from fsnotes.notes.index.queries import Either, Having, Query, Tagged, Term, Where, Words, parse
from fsnotes.notes.model import stem
from fsnotes.notes.texts import decoded
from fsnotes.notes.titles import title_of

_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_SEPARATORS: Final = rf"(?:(?!{LETTER})[\x00-\x7f])+"


class Matcher:
    """A query, ready to be compared with notes."""

    __slots__ = ("_patterns", "query")

    def __init__(self, query: Query) -> None:
        self.query = query
        self._patterns: dict[Words, re.Pattern[str]] = {}

    def matches(self, note: Subject) -> bool:
        """Say whether the query means *note*. Raises NotText."""
        return any(
            all(self.has(note, term) for term in clause.must)
            and not any(self.has(note, term) for term in clause.never)
            for clause in self.query.clauses
        )

    def has(self, note: Subject, term: Term) -> bool:
        """Say whether *note* has what one term asks for. Raises NotText."""
        match term:
            case Words(where=Where.ANYWHERE):
                # Its names as one text first: there may be very many, and most words stand in none.
                return self.stands_in(term, note.body) or (
                    self.stands_in(term, note.names)
                    and any(self.stands_in(term, place) for place in note.each_name)
                )
            case Words():
                return self.stands_in(term, note.named(term.where))
            case Tagged(key, beginning):
                keys = (tag.key for tag in note.contents.tags)
                return any(each.startswith(key) if beginning else each == key for each in keys)
            case Having():
                return has_value(note.contents.properties, term)
            case Either(first, second):
                return self.has(note, first) or self.has(note, second)

    def stands_in(self, words: Words, place: Place) -> bool:
        """Say whether *words* stand in one text."""
        if words.token is not None:
            return _has_token(place.folded, words.token)
        row = words.row
        if len(row) == 1:
            found = _has_token(place.folded, row[0], beginning=words.beginning)
        else:
            # Looking for each part first costs little, and most texts do not have them all.
            found = all(token in place.folded for token in row) and (
                f" {' '.join(row)}{'' if words.beginning else ' '}" in place.row
            )
        return found and (not words.typed or self._typed(words).search(place.plain) is not None)

    def _typed(self, words: Words) -> re.Pattern[str]:
        found = self._patterns.get(words)
        if found is None:
            found = self._patterns[words] = re.compile(_SEPARATORS.join(_pieces(words)))
        return found


@functools.lru_cache(maxsize=16)
def matcher_of(query: str) -> Matcher:
    """Return what finds *query*, which is asked for again and again. Raises InvalidArgument."""
    return Matcher(parse(query))


def has_value(properties: Mapping[str, tuple[str, ...]], asked: Having) -> bool:
    """Say whether these properties, in compared forms, have what is *asked*."""
    values, value = properties.get(asked.key), asked.value
    if values is None or value is None:
        return values is not None
    return any(each.startswith(value) if asked.beginning else each == value for each in values)


def _pieces(words: Words) -> Iterator[str]:
    """Yield what finds each part of *words* as it is typed."""
    last = len(words.typed) - 1
    for place, piece in enumerate(words.typed):
        before = after = ""
        if piece.startswith("."):
            before = rf"(?<!{LETTER})(?<!\.)"
        elif place or not unspaced_runs().match(piece):
            before = rf"(?<!{LETTER})"
        if piece[-1] in "+#":
            signs = piece[len(piece.rstrip("+#")) :]
            after = r"(?![+#])" if signs.startswith("++") else rf"(?![+#])(?!{LETTER})"
        elif place < last or not (words.beginning or unspaced_runs().match(piece[-1])):
            after = rf"(?!{LETTER})"
        yield before + re.escape(piece) + after


def _has_token(text: str, token: str, *, beginning: bool = False) -> bool:
    """Say whether a folded text has *token*, or one that begins so."""
    at = text.find(token)
    while at >= 0:
        end = at + len(token)
        if (at == 0 or not _is_letter(text[at - 1])) and (
            beginning or end == len(text) or not _is_letter(text[end])
        ):
            return True
        # What else begins within this run of letters is not preceded by a gap either.
        run = TOKEN.match(text, at)
        at = text.find(token, at + 1 if run is None else run.end())
    return False


def _is_letter(character: str) -> bool:
    """Say whether a character of a folded text belongs to a token."""
    return character in _LETTERS or character > "\x7f"


class Place:
    """One text in which words may stand, compared when it is asked for."""

    __slots__ = ("_folded", "_plain", "_row", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._folded: str | None = None
        self._row: str | None = None
        self._plain: str | None = None

    @property
    def folded(self) -> str:
        """What the index has of it."""
        if self._folded is None:
            self._folded = indexed(self.text)
        return self._folded

    @property
    def row(self) -> str:
        """Its tokens, each between spaces."""
        if self._row is None:
            self._row = f" {' '.join(tokens(self.folded))} "
        return self._row

    @property
    def plain(self) -> str:
        """Its plain form."""
        if self._plain is None:
            self._plain = plain(self.text)
        return self._plain


class Subject:
    """A note that is compared with a query: its path and its bytes."""

    __slots__ = ("_body", "_contents", "_data", "_each_name", "_names", "_title", "path")

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self._data = data
        self._body: Place | None = None
        self._contents: Contents | None = None
        self._title: str | None = None
        self._each_name: tuple[Place, ...] | None = None
        self._names: Place | None = None

    @property
    def body(self) -> Place:
        """All of its text. Raises NotText."""
        if self._body is None:
            self._body = Place(decoded(self._data, path=self.path))
        return self._body

    @property
    def contents(self) -> Contents:
        """What is in it. Raises NotText."""
        if self._contents is None:
            self._contents = contents_of(self._data, path=self.path)
        return self._contents

    @property
    def title(self) -> str:
        """Its title, from its text or else from its path."""
        if self._title is None:
            self._title = title_of(self._data, self.path.rpartition("/")[2])
        return self._title

    @property
    def names(self) -> Place:
        """All of `each_name` as one text: what stands in one of them stands in it. Raises NotText."""
        if self._names is None:
            self._names = Place("\n".join(self._beside()))
        return self._names

    @property
    def each_name(self) -> tuple[Place, ...]:
        """What is looked at beside the text, most of which stands in it too. Raises NotText."""
        if self._each_name is None:
            self._each_name = tuple(map(Place, self._beside()))
        return self._each_name

    def _beside(self) -> Iterator[str]:
        contents = self.contents
        yield self.title
        yield stem(self.path)
        yield from (tag.name for tag in contents.tags)
        yield from (heading.text for heading in contents.headings)

    def named(self, where: Where) -> Place:
        """Return the title, or else the path."""
        return Place(self.title if where is Where.TITLE else stem(self.path))
