"""Where the stretches of text end in which nothing is markup: code, math, comments, tags and other raw HTML.

What each of them is, `inlines.py` says.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Final

from fsnotes.notes.markdown.angles import SPANS, TAG

_TICKS: Final = re.compile(r"`++")
_MATH: Final = re.compile(r"\$(?=[^ \t\n$])(?:[^$\\\n]|\\.)*+(?<![ \t])\$(?![0-9])")


class Spans:
    """What is known of the text that is being looked through. Each method returns where to go on."""

    __slots__ = ("_missing", "_runs")

    def __init__(self) -> None:
        # What the rest of the text does not contain, so that nobody looks for it again.
        self._missing: set[str] = set()
        # Where the runs of backticks in the text begin, by their length; None before anybody asked.
        self._runs: dict[int, list[int]] | None = None

    def forget(self) -> None:
        """Begin with another text."""
        self._missing.clear()
        self._runs = None

    def code_end(self, text: str, at: int, end: int) -> int:
        """Go past the code whose backticks begin at *at*, or past the backticks if nothing closes it."""
        opening = _TICKS.match(text, at, end)
        start = at + 1 if opening is None else opening.end()
        length = start - at
        following = text.find("`", start, end)
        if following < 0:
            return start
        if self._runs is None:
            closing = _TICKS.match(text, following, end)
            if closing is not None and closing.end() - following == length:
                return closing.end()
            self._runs = {}
            for run in _TICKS.finditer(text, following, end):
                self._runs.setdefault(run.end() - run.start(), []).append(run.start())
        starts = self._runs.get(length, [])
        place = bisect_left(starts, start)
        return starts[place] + length if place < len(starts) else start

    def html_end(self, text: str, at: int, end: int) -> int:
        """Go past the raw HTML that begins at *at*, or past the `<`."""
        if text.startswith(("!", "?"), at + 1, end):
            for opening, closing, behind in SPANS:
                if opening.match(text, at, end):
                    found = self.closed(text, closing, at + behind, end)
                    return at + 1 if found == at + behind else found
            return at + 1
        tag = TAG.match(text, at, end)
        return at + 1 if tag is None else tag.end()

    def math_end(self, text: str, at: int, end: int) -> int:
        """Go past the math that begins at *at*, or past its mark if nothing closes it."""
        if text.startswith("$", at + 1, end):
            return self.closed(text, "$$", at + 2, end)
        math = _MATH.match(text, at, end)
        return at + 1 if math is None else math.end()

    def closed(self, text: str, mark: str, start: int, end: int) -> int:
        """Go past the next *mark*; stay at *start* where there is none."""
        if mark in self._missing:
            return start
        found = text.find(mark, start, end)
        if found < 0:
            self._missing.add(mark)
            return start
        return found + len(mark)
