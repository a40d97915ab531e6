"""All ids of a workspace, laid out so that those which somebody may mean are found in order, without looking at each.

Which are meant, and in which order, is decided in `completing.py`; here only how they are found.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

from fsnotes.notes.completing import Entry


class IdChart:
    """Ids, short ones first, in one text of a line for each: what is looked for is found by one search in it.

    Folded ids have no line ends, see `fold`.
    """

    __slots__ = ("_ids", "_starts", "_text")

    def __init__(self, entries: Iterable[Entry]) -> None:
        ordered = sorted(entries, key=lambda entry: (len(entry[1]), entry[1]))
        self._ids = [path for _, path in ordered]
        self._text = "\n".join(["", *(folded for folded, _ in ordered), ""])
        # Where the line end before each of them stands.
        self._starts = list(accumulate((len(folded) + 1 for folded, _ in ordered), initial=0))

    def matching(self, folded: str) -> Iterator[str]:
        """Yield the ids that *folded* may mean, the best first: in the order of `rank`."""
        seen: set[int] = set()
        for line in (number for place in self._places(folded) for number in place):
            if line not in seen:
                seen.add(line)
                yield self._ids[line]

    def _places(self, folded: str) -> Iterator[Iterator[int]]:
        yield self._lines(f"\n{folded}")
        if "/" not in folded:
            yield self._last_components(folded)
        if folded:
            yield self._lines(folded)
            yield self._with_letters(folded)

    def _lines(self, text: str) -> Iterator[int]:
        """Yield the lines in which *text* is, or before whose beginning it begins."""
        at = self._text.find(text)
        while at >= 0:
            line = self._line(at)
            if line == len(self._ids):
                return
            yield line
            at = self._text.find(text, self._starts[line + 1])

    def _last_components(self, folded: str) -> Iterator[int]:
        wanted, at = f"/{folded}", -1
        while (at := self._text.find(wanted, at + 1)) >= 0:
            line = self._line(at)
            if self._text.find("/", at + 1, self._starts[line + 1]) < 0:
                yield line

    def _with_letters(self, folded: str) -> Iterator[int]:
        # SAFETY: nothing is given back and each piece ends with the first of its letter, so a line is gone through
        # once, whatever is looked for.
        pieces = (f"[^{re.escape(letter)}\\n]*+{re.escape(letter)}" for letter in folded)
        for found in re.finditer("\n" + "".join(pieces), self._text):
            yield self._line(found.start())

    def _line(self, at: int) -> int:
        return bisect_right(self._starts, at) - 1
