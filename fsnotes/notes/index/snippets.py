"""Which lines of a note show why it was found: a few, with their numbers, each cut around the first hit on it.

A line that has more of the terms comes before one that has fewer; they are shown in the order of the note. A note
that is found by its title, its path, a tag or a property alone has none. What is shown of a note is bounded as it is
written in an answer, so that a page has room for many.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from fsnotes.notes.index.bounds import MAX_CHARACTERS, MAX_LINES, MAX_TITLE, MAX_WRITTEN
from fsnotes.notes.index.folding import folded
from fsnotes.notes.index.matching import Matcher, Place
from fsnotes.notes.index.queries import Either, Query, Term, Words
from fsnotes.notes.markdown.lines import unified

_json: Final = json.JSONEncoder(ensure_ascii=False).encode
_BEFORE: Final = 60
"""How many characters are shown before the hit on a line that is cut."""
_STEP: Final = 4_096
_OVERLAP: Final = 512
MAX_TRIED: Final = 2_000
"""How many lines are looked at closely for one term."""


class Line(NamedTuple):
    """A stretch of a line: its number, counted from 1, the column where it begins, counted from 1, and its text."""

    number: int
    column: int
    text: str


def snippets(matcher: Matcher, text: str, *, most: int = MAX_LINES) -> tuple[Line, ...]:
    """Return the lines of a note's *text* that show what the query found in it."""
    lines = unified(text).split("\n")
    seen = _Seen(lines, matcher)
    shown = list(dict.fromkeys(shown_words(matcher.query)))
    for words in shown:
        # If there is one term alone, no line can have more of them than another.
        seen.look_for(words, most if len(shown) == 1 else MAX_TRIED)
    chosen = sorted(seen.found, key=lambda number: (-len(seen.found[number]), number))[:most]
    return tuple(
        stretch(lines[number], number + 1, _first_of(matcher, seen.found[number]))
        for number in sorted(chosen)
    )


def stretch(line: str, number: int, is_hit: Callable[[str], bool]) -> Line:
    """Return a line, or the stretch of it around the first place where it *is_hit*, if that can be found."""
    if len(line) <= MAX_CHARACTERS and _written(line) <= MAX_WRITTEN:
        return Line(number, 1, line.rstrip())
    return around(line, _place(line, is_hit), number)


def around(line: str, place: int, number: int, *, column: int = 1) -> Line:
    """Return as much of a line, or of what stands in it from *column* on, as may be shown, around its place *place*."""
    start = max(0, min(place - _BEFORE, len(line) - MAX_CHARACTERS))
    if _written(line[start : start + MAX_CHARACTERS]) > MAX_WRITTEN:
        while start < place and _written(line[start:place]) > MAX_WRITTEN // 3:
            start += 1
    return Line(number, column + start, _cut(line[start : start + MAX_CHARACTERS]).rstrip())


def shown_title(title: str) -> str:
    """Return as much of a title as is shown with the lines of its note."""
    return _cut(title[:MAX_TITLE]).rstrip()


def _cut(text: str) -> str:
    """Return the beginning of a text that has no more characters than may be shown."""
    while _written(text) > MAX_WRITTEN:
        text = text[:-1]
    return text


def _written(text: str) -> int:
    """Return how many characters *text* takes in an answer."""
    return len(_json(text)) - 2


def shown_words(query: Query) -> Iterable[Words]:
    """Yield the words that lines are shown for: those that have to be there."""
    for clause in query.clauses:
        for term in clause.must:
            yield from _words(term)


def _words(term: Term) -> tuple[Words, ...]:
    match term:
        case Words():
            return (term,)
        case Either(first, second):
            return first, second
        case _:
            return ()


class _Seen:
    """The lines of a text, and which words were found on which of them."""

    def __init__(self, lines: list[str], matcher: Matcher) -> None:
        self._lines = lines
        self._matcher = matcher
        self._folded = folded("\n".join(lines)).split("\n")
        self._places: dict[int, Place] = {}
        self.found: dict[int, list[Words]] = {}

    def look_for(self, words: Words, most: int) -> None:
        """Note the lines that have *words*, *most* of them, or their first one where they are on no line together."""
        if not self._note(words, words, most):
            beginning = len(words.row) == 1 and words.beginning
            self._note(words, Words(words.where, words.row[:1], beginning), most)

    def _note(self, words: Words, sought: Words, most: int) -> bool:
        first, tried, noted = sought.row[0], 0, 0
        for number, line in enumerate(self._folded):
            if first in line:
                tried += 1
                place = self._places.get(number)
                if place is None:
                    place = self._places[number] = Place(self._lines[number])
                if self._matcher.stands_in(sought, place):
                    self.found.setdefault(number, []).append(words)
                    noted += 1
                if tried == MAX_TRIED or noted == most:
                    break
        return noted > 0


def _first_of(matcher: Matcher, found: list[Words]) -> Callable[[str], bool]:
    def is_hit(text: str) -> bool:
        place = Place(text)
        return any(matcher.stands_in(words, place) for words in found)

    return is_hit


def _place(line: str, is_hit: Callable[[str], bool]) -> int:
    """Return about where on a long line the first hit is, 0 if it is nowhere."""
    for start in range(0, len(line), _STEP):
        piece = line[start : start + _STEP + _OVERLAP]
        if not is_hit(piece):
            continue
        # The hit begins behind what can be cut off before it; the cut may split a word, so it only gets closer.
        low, high = 0, len(piece)
        while high - low > _BEFORE // 2:
            middle = (low + high) // 2
            if is_hit(piece[middle:]):
                low = middle
            else:
                high = middle
        return start + low
    return 0
