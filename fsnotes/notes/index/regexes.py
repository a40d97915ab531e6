"""Regular expressions over notes: RE2's, which take time in proportion to the text whatever the pattern is.

The syntax is RE2's, without look-around and back-references; `^` and `$` stand at lines, `.` is no line end, and
letters count as they are written unless the pattern begins with `(?i)`. The text of a note is searched as it stands,
with a line feed at the end of every line.

RE2's worst time is the length of the text times the size of the pattern's program. So a program has a bound, and what
is given to the engine at once is the shorter, the larger the program is. Stretches overlap by half: a match longer than
that, which is thousands of characters, may be missed in a note that is longer than a stretch.

Loaded only for a search that needs it, and by a worker before it is locked down.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

import re2

from fsnotes.errors import InvalidArgument
from fsnotes.notes.index.bounds import MAX_CHARACTERS, MAX_LINES
from fsnotes.notes.index.snippets import Line, around

MAX_PATTERN: Final = 1_000
"""Longest pattern, in characters."""
MAX_PROGRAM: Final = 4_000
"""Largest program of a pattern, in instructions. A letter is one, `.` is eight, and `\\pL` 1,200."""
_WORK: Final = 10_000_000
"""How many bytes times instructions the engine gets at once, at most; a tenth of a second."""
_LEAST_STRETCH: Final = 4_096
_MEMORY: Final = 8 << 20

NOT_A_PATTERN: Final = "not a pattern of RE2, which has neither look-around nor back-references"
TOO_LARGE: Final = "too large a pattern"
EMPTY: Final = "an empty pattern"


class Unfinished(NamedTuple):
    """A note was looked through up to this offset of its bytes, and nothing was found so far."""

    offset: int


class Pattern:
    """A pattern that is ready. Raises InvalidArgument for the argument `query`."""

    __slots__ = ("_compiled", "_stretch", "begins")

    def __init__(self, text: str) -> None:
        if not text:
            raise InvalidArgument("query", EMPTY)
        if len(text) > MAX_PATTERN:
            raise InvalidArgument("query", f"longer than {MAX_PATTERN} characters")
        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        options.max_mem = _MEMORY
        try:
            compiled = re2.compile(f"(?m){text}", options)
        except (re2.error, UnicodeEncodeError):
            raise InvalidArgument("query", NOT_A_PATTERN) from None
        finally:
            re2.purge()  # it would keep 128 of them, each with as much memory as it may have
        size = max(compiled.programsize, compiled.reverseprogramsize)
        # Below zero: it could not be made within the memory it may have.
        if not 0 <= min(compiled.programsize, compiled.reverseprogramsize) <= size <= MAX_PROGRAM:
            raise InvalidArgument("query", TOO_LARGE)
        self._compiled = compiled
        self._stretch = max(_LEAST_STRETCH, _WORK // max(1, size))
        self.begins: Final = beginning_in(text)
        """The beginning of a word that every match has in it, if one is known."""

    def first(
        self, data: bytes, start: int, *, is_over: Callable[[], bool] = lambda: False
    ) -> tuple[int, int] | Unfinished | None:
        """Return where the first match in *data* from *start* on begins and ends.

        It stops between two stretches once *is_over* says so. *data* is UTF-8.
        """
        while True:
            end = start + self._stretch
            found = self._compiled.search(data, start, min(end, len(data)))
            if found is not None:
                return int(found.start()), int(found.end())
            if end >= len(data):
                return None
            start += self._stretch // 2
            if is_over():
                return Unfinished(start)

    def lines(self, data: bytes, first: tuple[int, int], *, most: int = MAX_LINES) -> tuple[Line, ...]:
        """Return the lines on which matches begin, from the *first* one on, as far as one stretch behind each goes."""
        found: list[Line] = []
        number, counted = 1, 0
        span: tuple[int, int] | None = first
        while span is not None and len(found) < most:
            number += data.count(b"\n", counted, span[0])
            counted = span[0]
            found.append(_line(data, number, span[0]))
            following = data.find(b"\n", span[0]) + 1
            if not following:
                break
            match = self._compiled.search(data, following, min(following + self._stretch, len(data)))
            span = None if match is None else match.span()
        return tuple(found)


def searchable(data: bytes) -> bytes:
    """Return a note's bytes with a line feed at the end of every line."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data


def _line(data: bytes, number: int, at: int) -> Line:
    start = data.rfind(b"\n", 0, at) + 1
    # Around the match, and only as much as can be shown: a line may be as long as the note.
    before = data[start:at].decode("utf-8", "replace")
    cut = max(0, len(before) - MAX_CHARACTERS)
    after = data[at : at + 4 * MAX_CHARACTERS].partition(b"\n")[0].decode("utf-8", "replace")
    return around(before[cut:] + after, len(before) - cut, number, column=cut + 1)


# -- what every match has in it ----------------------------------------------------------------

LEAST_BEGINNING: Final = 3
_PLAIN: Final = re.compile(r"[A-Za-z0-9]")
_QUANTIFIERS: Final = frozenset("*?{+")
_ESCAPED: Final = re.compile(r"\\([!-/:-@\[-`{-~])")  # a mark that stands for itself
_REPETITION: Final = re.compile(r"\{[0-9]*+(?:,[0-9]*+)?\}")
_CLASS: Final = re.compile(r"\[\^?\]?(?:\[:\^?[a-z]+:\]|\\.|[^\]\\])*+\]", re.DOTALL)


def beginning_in(pattern: str) -> str | None:
    """Return the longest beginning of a word that every match of *pattern* has in it, in small letters.

    That is three or more letters and digits of ASCII behind a mark or space that stands in the pattern itself, or
    behind `^`. None if there is none or it is not certain: in alternatives, in groups, and where flags are set.
    """
    if "|" in pattern or "(?" in pattern or "\\Q" in pattern:
        return None
    best, word, parted, depth, at = "", "", False, 0, 0
    starts_word = False  # whether the word that is being read began behind a separator
    while at < len(pattern):
        character = pattern[at]
        literal, size = _literal(pattern, at)
        optional = pattern[at + size : at + size + 1] in _QUANTIFIERS
        if depth == 0 and literal is not None and _PLAIN.fullmatch(literal) and not optional:
            if not word:
                starts_word = parted
            word += literal
            parted = False
        else:
            if starts_word and len(word) > len(best):
                best = word
            word, starts_word = "", False
            depth += (character == "(" and size == 1) - (character == ")" and size == 1)
            # What may be there or not, or stands for several, parts nothing.
            parted = depth == 0 and (
                (character == "^" and size == 1)
                or (literal is not None and not optional and not _PLAIN.fullmatch(literal))
            )
        at += size
    if starts_word and len(word) > len(best):
        best = word
    return best.lower() if len(best) >= LEAST_BEGINNING else None


def _literal(pattern: str, at: int) -> tuple[str | None, int]:
    """Return the ASCII character that stands for itself at *at*, if it is one, and how long what stands there is."""
    character = pattern[at]
    if character == "\\":
        escaped = _ESCAPED.match(pattern, at)
        return (None, 2) if escaped is None else (escaped.group(1), 2)
    if character == "[":
        found = _CLASS.match(pattern, at)
        return None, len(pattern) - at if found is None else found.end() - at
    if character == "{":
        repetition = _REPETITION.match(pattern, at)
        return None, 1 if repetition is None else repetition.end() - at
    if character in "^$.()*+?}|" or character > "\x7f":
        return None, 1
    return character, 1
