"""Which paths a pattern means: `*`, `?` and `[...]` within one component, `**` for any number of them.

Linear in the length of pattern and path, so that a pattern may come from anybody.
"""

from __future__ import annotations

import fnmatch
import functools
import re
import unicodedata
from typing import Final

from fsnotes.errors import InvalidArgument

MAX_GLOB: Final = 200
"""Longest pattern that a caller may give, in characters."""

_ANY_DEPTH: Final = None


def composed(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return *parts* in NFC, the spelling in which patterns and folders are compared."""
    return tuple(part if part.isascii() else unicodedata.normalize("NFC", part) for part in parts)


class Pattern:
    """One pattern: a small automaton whose states are positions among the pattern's components."""

    def __init__(self, pattern: str) -> None:
        text = unicodedata.normalize("NFC", pattern).strip("/")
        self._steps: list[re.Pattern[str] | None] = [
            _ANY_DEPTH if step == "**" else re.compile(fnmatch.translate(step))
            for step in text.split("/")
            if step
        ]

    def matches(self, parts: tuple[str, ...], *, above: bool) -> bool:
        """Match *parts*, in NFC; with *above*, a match of a folder above them counts as well."""
        end = len(self._steps)
        if not end:
            return False
        states = self._closed({0})
        for place, part in enumerate(parts, start=1):
            reached: set[int] = set()
            for state in states:
                if state == end:
                    continue
                step = self._steps[state]
                if step is _ANY_DEPTH:
                    reached.add(state)
                elif step.match(part):
                    reached.add(state + 1)
            states = self._closed(reached)
            if end in states and (above or place == len(parts)):
                return True
        return False

    def _closed(self, states: set[int]) -> set[int]:
        """Add the states that are reached without a component, through `**`."""
        for state in sorted(states):
            following = state
            while following < len(self._steps) and self._steps[following] is _ANY_DEPTH:
                following += 1
                states.add(following)
        return states


class Glob:
    """A caller's pattern for notes. Without a `/` it is meant for the file name, in any folder."""

    def __init__(self, text: str) -> None:
        if not text.strip("/") or len(text) > MAX_GLOB:
            raise InvalidArgument("glob", f"a pattern of 1 to {MAX_GLOB} characters is expected")
        self._pattern = _compiled(text if "/" in text else f"**/{text}")

    def matches(self, path: str) -> bool:
        """Say whether the whole *path* matches."""
        return self._pattern.matches(composed(tuple(path.split("/"))), above=False)


@functools.lru_cache(maxsize=64)
def _compiled(text: str) -> Pattern:
    return Pattern(text)
