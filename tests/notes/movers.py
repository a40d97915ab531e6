"""Moving as the product does it: a survey in as many calls as it takes, then the move, by its own loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fsnotes import moves
from fsnotes.notes.commands import Command, Moved, Surveyed, SurveyMove


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
    given = {"update_links": True, "if_match": None, "dry_run": False} | more
    runner: Any = _Running(run)
    grant: Any = None  # of which *run* knows
    return moves.move(runner, grant, path, new_path, abandoned=lambda: False, **given)[0]


class _Running:
    """What the product takes for a runner."""

    def __init__(self, run: Callable[[Command[Any]], Any]) -> None:
        self._run = run

    def run(self, _: object, command: Command[Any], *, abandoned: Callable[[], bool]) -> Any:
        return self._run(command)
