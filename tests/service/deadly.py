"""Handlers for a worker that ends in the middle of a change, as if it had been killed, or never comes back from it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from fsnotes.notes import writer
from tests.notes.journal_steps import tell_of_journals

Handler = Callable[[str, dict[str, Any]], dict[str, Any]]


def build(options: Mapping[str, Any]) -> Handler:
    """Answer as the product does, but end right after the step `kill_at`, or stay in `hang_at` for ever."""

    def observe(step: StrEnum | str) -> None:
        if step == options.get("kill_at"):
            os._exit(9)  # process 1 of its namespace, so no signal of its own would end it
        while step == options.get("hang_at"):
            time.sleep(1)

    tell_of_journals(observe)
    return writer.build(options, observe=observe)


def build_confessing(options: Mapping[str, Any]) -> Handler:
    """Answer as the product does, and tell which modules are loaded."""
    answer = writer.build(options)

    def confess(operation: str, args: dict[str, Any]) -> dict[str, Any]:
        return {"modules": sorted(sys.modules)} if operation == "modules" else answer(operation, args)

    return confess
