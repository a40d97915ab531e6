"""All ids of a workspace, laid out so that those which somebody may mean are found in order, without looking at each.

Which are meant, and in which order, is decided in `completing.py`; here only how they are found.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, islice, pairwise
from typing import Final

import re2

from fsnotes.notes.completing import Entry

MOST_LETTERS: Final = 64
"""Up to so many letters are looked for by RE2, which is five times as fast; more are hardly ever typed."""

FEW: Final = 128
"""So many ids with what was typed are put in order one by one; of more, the best are found first."""

_OPTIONS: Final = re2.Options()
_OPTIONS.never_capture = True
_OPTIONS.log_errors = False


class IdChart:
    """Ids, short ones first, in one text of a line for each: what is looked for is found by one search in it.

    Folded ids have no line ends, see `fold`. The text is UTF-8, in which no character begins within another.
    """

    __slots__ = ("_ids", "_starts", "_text")

    def __init__(self, entries: Iterable[Entry]) -> None:
        ordered = sorted(entries, key=lambda entry: (len(entry[1]), entry[1]))
        self._ids = [path for _, path in ordered]
        lines = [folded.encode() for folded, _ in ordered]
        self._text = b"\n".join([b"", *lines, b""])
        # Where the line end before each of them stands.
        self._starts = list(accumulate((len(line) + 1 for line in lines), initial=0))

    def matching(self, folded: str) -> Iterator[str]:
        """Yield the ids that *folded* may mean, the best first: in the order of `rank`."""
        seen: set[int] = set()
        for line in (number for place in self._places(folded) for number in place):
            if line not in seen:
                seen.add(line)
                yield self._ids[line]

    def _places(self, folded: str) -> Iterator[Iterable[int]]:
        wanted = folded.encode(errors="surrogatepass")  # half a character is in no id
        if not all(letter.encode(errors="surrogatepass") in self._text for letter in set(folded)):
            return
        few = list(islice(self._lines(wanted), FEW + 1)) if wanted else []
        if 0 < len(few) <= FEW:
            yield sorted(few, key=lambda line: (self._place(line, wanted), line))
        elif few or not wanted:
            yield self._lines(b"\n" + wanted)
            if b"/" not in wanted:
                yield self._last_components(b"/" + wanted)
            if wanted:
                yield self._lines(wanted)
        if wanted:
            yield self._with_letters(folded)

    def _place(self, line: int, wanted: bytes) -> int:
        """Return the place of a line in which *wanted* is, as in `rank`."""
        found = self._text[self._starts[line] + 1 : self._starts[line + 1]]
        if found.startswith(wanted):
            return 0
        return 1 if found.rpartition(b"/")[2].startswith(wanted) else 2

    def _lines(self, text: bytes) -> Iterator[int]:
        """Yield the lines in which *text* is, or before whose beginning it begins."""
        at = self._text.find(text)
        while at >= 0:
            line = self._line(at)
            if line == len(self._ids):
                return
            yield line
            at = self._text.find(text, self._starts[line + 1])

    def _last_components(self, wanted: bytes) -> Iterator[int]:
        at = -1
        while (at := self._text.find(wanted, at + 1)) >= 0:
            line = self._line(at)
            if self._text.find(b"/", at + 1, self._starts[line + 1]) < 0:
                yield line

    def _with_letters(self, folded: str) -> Iterator[int]:
        # SAFETY: each piece ends with the first of its letter, and none gives anything back, which RE2 never does: so a
        # line is gone through once, whatever is looked for.
        is_short = len(folded) <= MOST_LETTERS
        repeated = "*" if is_short else "*+"
        letters = map(re.escape, folded)
        pattern = "\\n" + "".join(f"[^{letter}\\n]{repeated}{letter}" for letter in letters)
        if is_short:
            compiled = re2.compile(pattern.encode(), _OPTIONS)
            re2.purge()  # it would keep 128 of them, each with as much memory as it may have
            for found in compiled.finditer(self._text):
                yield self._line(found.start())
        else:
            yield from self._with_many_letters(pattern)

    def _with_many_letters(self, pattern: str) -> Iterator[int]:
        for line, (start, end) in enumerate(pairwise(self._starts)):
            if re.match(pattern, self._text[start:end].decode()):
                yield line

    def _line(self, at: int) -> int:
        return bisect_right(self._starts, at) - 1
