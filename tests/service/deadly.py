"""Handlers for a worker that ends in the middle of a change, as if it had been killed, or never comes back from it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from fsnotes.notes import writer
from fsnotes.notes.journal import Journal

JOURNAL_STEPS = (
    "journal: about to be written",
    "journal: written",
    "journal: about to be cleared",
    "journal: cleared",
)

Handler = Callable[[str, dict[str, Any]], dict[str, Any]]


def build(options: Mapping[str, Any]) -> Handler:
    """Answer as the product does, but end right after the step `kill_at`, or stay in `hang_at` for ever."""

    def observe(step: StrEnum | str) -> None:
        if step == options.get("kill_at"):
            os._exit(9)  # process 1 of its namespace, so no signal of its own would end it
        while step == options.get("hang_at"):
            time.sleep(1)

    _tell_of_journals(observe)
    return writer.build(options, observe=observe)


def _tell_of_journals(observe: Callable[[Any], None]) -> None:
    """Have *observe* told of the steps of a move's journal too, of which the product tells nobody."""
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


def build_confessing(options: Mapping[str, Any]) -> Handler:
    """Answer as the product does, and tell which modules are loaded."""
    answer = writer.build(options)

    def confess(operation: str, args: dict[str, Any]) -> dict[str, Any]:
        return {"modules": sorted(sys.modules)} if operation == "modules" else answer(operation, args)

    return confess
