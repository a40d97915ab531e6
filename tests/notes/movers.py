"""Moving as the product does it: a survey in as many calls as it takes, then the move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fsnotes.notes.commands import Command, Moved, MoveNotes, Surveyed, SurveyMove


def surveyed(run: Callable[[Command[Any]], Any], path: str, new_path: str) -> tuple[list[str], int]:
    """Return the notes that a move concerns, and how many links are outside of the grant."""
    notes: list[str] = []
    outside = 0
    after: str | None = None
    for _ in range(10_000):
        found: Surveyed = run(SurveyMove(path, new_path, after))
        notes += found.notes
        outside += found.outside
        after = found.resume
        if after is None:
            return notes, outside
    raise AssertionError("a survey that never ends")


def move(run: Callable[[Command[Any]], Any], path: str, new_path: str, **more: Any) -> Moved:
    """Move *path* to *new_path*."""
    notes: list[str] = []
    if more.get("update_links", True):
        notes, _ = surveyed(run, path, new_path)
    found: Moved = run(MoveNotes(path, new_path, tuple(notes), **more))
    return found
