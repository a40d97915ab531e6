"""The note that a chain of calls is in the middle of, so that the next call does not scan it anew.

What is kept is worth nothing unless the note still has the same text. One note is kept for each workspace, and none
whose links would take too much memory.
"""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Final

from fsnotes.notes.markdown.lines import Lines
from fsnotes.notes.markdown.note_links import links_of

MOST_KEPT: Final = 200_000
"""The links of a note that has more of them are not kept: each takes about half a kilobyte."""


class Scanned:
    """A note's *text* with its links and its lines."""

    def __init__(self, text: str) -> None:
        self.text: Final = text
        self.links: Final = links_of(text)

    @cached_property
    def lines(self) -> Lines:
        """Where its lines begin."""
        return Lines(self.text)


class Begun:
    """What is known of the note that was looked into last and not to its end. Thread-safe."""

    __slots__ = ("_kept", "_mutex")

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._kept: Scanned | None = None

    def take(self, text: str) -> Scanned | None:
        """Return what is kept if it is of the note *text*; it is no longer kept then."""
        with self._mutex:
            kept = self._kept
            if kept is None or kept.text != text:
                return None
            self._kept = None
            return kept

    def keep(self, scanned: Scanned) -> None:
        """Keep it for the next call, instead of what was kept before."""
        if len(scanned.links) <= MOST_KEPT:
            with self._mutex:
                self._kept = scanned
