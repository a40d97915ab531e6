"""What a search has to know of the index: what changed since it was brought up to date, and how far it is.

Who finds that out is decided in `upkeep.py`; what a search does with it, in `search_pages.py`.
"""

from __future__ import annotations

from typing import Protocol

from fsnotes.notes.replies import Skipped
from sandbox.records import record


@record
class Progress:
    """How far an index is: its *phase*, how many notes are *indexed*, and how many *remaining* are known to be read."""

    phase: str
    indexed: int
    remaining: int

    @property
    def is_ready(self) -> bool:
        """Whether it was equal to the notes when it was looked at last."""
        return self.phase == "ready"


@record
class Standing:
    """How an index stands at a moment.

    If it is *settled*, all notes are as it knows them, but for those at the *paths*, which may be others than it knows,
    or gone; *skipped* are then the files that it leaves out. Else any note may be another one.
    """

    settled: bool
    paths: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    generation: str | None = None
    """Which file it is, where that is known: what another one says is not settled."""
    notes: int | None = None
    """How many notes it knows."""


class Freshness(Protocol):
    """Says how the index of a workspace stands. Thread-safe."""

    def standing(self) -> Standing:
        """Return how it stands now: what was changed before this call, by anybody, is taken into account."""

    def lost(self) -> None:
        """Hear that a search has not found the index that was thought to be there."""

    def progress(self) -> Progress | None:
        """Return how far it is, without waiting; None where nobody keeps it."""
