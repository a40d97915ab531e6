"""The steps of a move's journal, of which the product tells nobody, for tests that end a process at one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fsnotes.notes.journal import Journal

JOURNAL_STEPS: Final = (
    "journal: about to be written",
    "journal: written",
    "journal: about to be cleared",
    "journal: cleared",
)


def tell_of_journals(observe: Callable[[str], None]) -> None:
    """Have *observe* told of them, in this process, for good."""
    write, clear = Journal.write, Journal.clear

    def writing(self: Journal, entry: Any) -> None:
        observe(JOURNAL_STEPS[0])
        write(self, entry)
        observe(JOURNAL_STEPS[1])

    def clearing(self: Journal) -> None:
        observe(JOURNAL_STEPS[2])
        clear(self)
        observe(JOURNAL_STEPS[3])

    Journal.write = writing  # type: ignore[method-assign]
    Journal.clear = clearing  # type: ignore[method-assign]
