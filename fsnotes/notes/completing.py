"""Which note ids somebody may mean who has typed the beginning of one, or some of its letters, and in which order.

Ids that begin with what was typed come first, then those whose last component does, then those that contain it, then
those that have its letters in this order. Among equals, short ones come first. Compared like titles: in NFC and
without regard to case.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Final

from fsnotes.notes.model import fold

MOST_MATCHES: Final = 100
"""How many values one completion may have, by the protocol."""

Rank = tuple[int, int, str]

Entry = tuple[str, str]
"""An id in the form in which ids are compared, and as it is."""


def wanted(typed: str) -> str:
    """Return the form in which what was typed is compared."""
    return fold(typed)


def folded_ids(paths: Iterable[str]) -> list[Entry]:
    """Return an entry for each of *paths*."""
    return [(fold(path), path) for path in paths]


def rank(path: str, folded: str) -> Rank | None:
    """Return where *path* stands among those that *folded* may mean, a lower rank first; None if it is none of them."""
    return _rank(fold(path), path, folded)


def _rank(compared: str, path: str, folded: str) -> Rank | None:
    if compared.startswith(folded):
        place = 0
    elif compared.rpartition("/")[2].startswith(folded):
        place = 1
    elif folded in compared:
        place = 2
    elif _has_letters(compared, folded):
        place = 3
    else:
        return None
    return place, len(path), path


def _has_letters(compared: str, folded: str) -> bool:
    """Say whether the letters of *folded* stand in *compared*, in this order, whatever stands between them."""
    at = 0
    for letter in folded:
        at = compared.find(letter, at) + 1
        if not at:
            return False
    return True


class Best:
    """Collects the best of many ids, and counts all of them."""

    def __init__(self, folded: str, most: int = MOST_MATCHES) -> None:
        self._folded = folded
        self._most = most
        self._ranks: list[Rank] = []
        self.count = 0

    def take(self, paths: Iterable[str]) -> None:
        """Take those of *paths* into account that may be meant. Each is to come once."""
        self.take_folded(folded_ids(paths))

    def take_folded(
        self, entries: Iterable[Entry], *, admits: Callable[[str], bool] = lambda _: True
    ) -> None:
        """The same of *entries*, of those ids that *admits* lets in; it is asked of no others than may be meant."""
        found = [
            each
            for entry in entries
            if (each := _rank(*entry, self._folded)) is not None and admits(entry[1])
        ]
        self.count += len(found)
        self._ranks = heapq.nsmallest(self._most, [*self._ranks, *found])

    @property
    def paths(self) -> tuple[str, ...]:
        """The best of them, the best one first."""
        return tuple(path for *_, path in self._ranks)
