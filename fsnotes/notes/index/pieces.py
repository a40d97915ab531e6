"""Whether a query means a note that is too large to be looked into whole: its text is, one piece after the other.

Words are looked for in the text, the title and the path, and properties are read; that is bounded in time and memory
whatever stands in the note. Headings and tags are words of the text here. Which tags a note has would take the
scanner to find out; so a note that has the letters of a tag is not known to have the tag or not to have it.

Pieces overlap, and begin and end at white space. A phrase is missed if it is longer than the overlap, which is
thousands of characters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from fsnotes.errors import InvalidYaml, NotText
from fsnotes.notes.index.bounds import LOOK_SECONDS, WHOLE_BYTES
from fsnotes.notes.index.contents import values_of
from fsnotes.notes.index.matching import Matcher, Place, Subject, has_value
from fsnotes.notes.index.queries import Either, Having, Query, Tagged, Term, Where, Words
from fsnotes.notes.index.snippets import Line, shown_words, snippets
from fsnotes.notes.markdown.lines import unified
from fsnotes.notes.model import stem
from fsnotes.notes.property_reading import read_properties
from fsnotes.notes.tags import TooManyTags, has_tag, may_have_tag
from fsnotes.notes.texts import decoded
from fsnotes.notes.titles import title_of

PIECE: Final = 1 << 18
"""Characters that are looked through between two looks at the clock."""
OVERLAP: Final = 4_096


Clock = Callable[[], float]


class TooLargeToKnow(Exception):
    """A note is so large that it would take too long to find out what is asked about it."""


UNKNOWN: Final = (NotText, TooManyTags, TooLargeToKnow)
"""Why a note cannot be known to be meant or not."""


def reason_for(error: Exception) -> str:
    """Return the slug of one of UNKNOWN."""
    match error:
        case NotText():
            return "not_text"
        case TooManyTags():
            return "too_many"
        case _:
            return "too_large"


def may_be_tagged(key: str | None, path: str, data: bytes) -> bool:
    """Say whether a note has the tag *key*, None for any note; of a large one whether it may. Raises NotText."""
    if key is None:
        return True
    return may_have_tag(data, key) if len(data) > WHOLE_BYTES else has_tag(data, key, path=path)


def check_known(key: str | None, data: bytes) -> None:
    """Raise TooLargeToKnow if `may_be_tagged` did not find out."""
    if key is not None and len(data) > WHOLE_BYTES:
        raise TooLargeToKnow


def look_into(
    matcher: Matcher, path: str, data: bytes, *, clock: Clock
) -> tuple[str, tuple[Line, ...]] | None:
    """Return the title of a note and the lines that show why the query means it; None if it does not.

    A large one is looked through for LOOK_SECONDS at the most. Raises NotText, TooManyTags and TooLargeToKnow.
    """
    if len(data) > WHOLE_BYTES:
        end = clock() + LOOK_SECONDS
        return look_through(matcher, path, data, is_late=lambda: not clock() < end)
    note = Subject(path, data)
    return (note.title, snippets(matcher, note.body.text)) if matcher.matches(note) else None


def look_through(
    matcher: Matcher, path: str, data: bytes, *, is_late: Callable[[], bool]
) -> tuple[str, tuple[Line, ...]] | None:
    """Return the title of a large note and the lines that show why the query means it; None if it does not.

    Raises NotText, and TooLargeToKnow where tags have to be known, or once it *is_late*.
    """
    note = _Large(matcher, path, data, is_late)
    if not note.is_meant(doubt=False):
        if note.is_meant(doubt=True):
            raise TooLargeToKnow
        return None
    return note.title, note.lines()


class _Large:
    """A large note that was looked through for the words of a query."""

    def __init__(self, matcher: Matcher, path: str, data: bytes, is_late: Callable[[], bool]) -> None:
        self._matcher = matcher
        self._data = data
        self._text = unified(decoded(data, path=path))
        self.title: Final = title_of(data, path.rpartition("/")[2])
        self._names = {Where.TITLE: Place(self.title), Where.PATH: Place(stem(path))}
        self._found, self._shown = self._look(is_late)
        try:
            self._properties = values_of(read_properties(data, path=path))
        except InvalidYaml:
            self._properties = {}

    def _look(self, is_late: Callable[[], bool]) -> tuple[set[Words], tuple[int, int]]:
        """Return the words that stand in the text, and the piece in which most are found that have to be there."""
        query = self._matcher.query
        left, shown = dict.fromkeys(_words(query)), set(shown_words(query))
        found: set[Words] = set()
        best, most = (0, 0), 0
        for start, end in _pieces(self._text):
            if start and is_late():
                raise TooLargeToKnow
            place = Place(self._text[start:end])
            here = [words for words in left if self._matcher.stands_in(words, place)]
            count = sum(words in shown for words in here)
            if count > most:
                best, most = (start, end), count
            found.update(here)
            for words in here:
                del left[words]
            if not left:
                break
        return found, best

    def is_meant(self, *, doubt: bool) -> bool:
        """Say whether the query means the note, or with *doubt* whether it may, for all that is known."""
        return any(
            all(self._has(term, doubt=doubt) for term in clause.must)
            and not any(self._has(term, doubt=not doubt) for term in clause.never)
            for clause in self._matcher.query.clauses
        )

    def _has(self, term: Term, *, doubt: bool) -> bool:
        """Say whether the note has what one term asks for, and *doubt* where that is not known."""
        match term:
            case Words(where=Where.ANYWHERE):
                return term in self._found or any(
                    self._matcher.stands_in(term, place) for place in self._names.values()
                )
            case Words():
                return self._matcher.stands_in(term, self._names[term.where])
            case Tagged(key):
                return doubt and may_have_tag(self._data, key)
            case Having():
                return has_value(self._properties, term)
            case Either(first, second):
                return self._has(first, doubt=doubt) or self._has(second, doubt=doubt)

    def lines(self) -> tuple[Line, ...]:
        """Return the lines that show what was found."""
        start, end = self._shown
        before = self._text.count("\n", 0, start)
        return tuple(
            line._replace(number=line.number + before)
            for line in snippets(self._matcher, self._text[start:end])
        )


def _words(query: Query) -> Iterator[Words]:
    """Yield the words that may be anywhere."""
    for clause in query.clauses:
        for term in (*clause.must, *clause.never):
            for each in (term.first, term.second) if isinstance(term, Either) else (term,):
                if isinstance(each, Words) and each.where is Where.ANYWHERE:
                    yield each


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the pieces of a text begin and end."""
    start = 0
    while start + PIECE < len(text):
        end = _gap(text, start + PIECE - OVERLAP, start + PIECE)
        yield start, end
        start = _gap(text, end - 2 * OVERLAP, end - OVERLAP)
    yield start, len(text)


def _gap(text: str, low: int, high: int) -> int:
    """Return the place behind the last white space from *low* to *high*, or *high* where there is none."""
    found = max(text.rfind("\n", low, high), text.rfind(" ", low, high))
    return high if found < 0 else found + 1
