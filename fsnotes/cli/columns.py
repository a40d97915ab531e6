"""How a person reads sizes, times and titles: short, and of one width so that columns line up.

Also what the columns of a table are, and whether a terminal is wide enough for them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from fsnotes.cli.console import terminal_width
from sandbox.records import record

SIZE_WIDTH: Final = 6
MOMENT_WIDTH: Final = 16

_STEP: Final = 1000
_UNITS: Final = ("kB", "MB", "GB", "TB", "PB", "EB")


ROOM: Final = 24
"""Fewest characters that are left for what may be folded; in a narrower terminal there is no table."""

GAP: Final = 2


@record
class Column:
    """One column. What has a *width* is never folded, and may be copied as it stands."""

    title: str
    style: str = ""
    width: int | None = None
    right: bool = False


@record
class Styled:
    """A cell that looks other than its column."""

    text: str
    style: str


def fits(columns: Sequence[Column]) -> bool:
    """Say whether the terminal is wide enough for these columns."""
    taken = sum(column.width or 0 for column in columns) + GAP * (len(columns) - 1)
    return terminal_width() - taken >= ROOM


def size(count: int) -> str:
    """Return a number of bytes as file managers show it: `999 B`, `1.2 kB`, `30 kB`."""
    if count < _STEP:
        return f"{count} B"
    value = float(count)
    for unit in _UNITS:
        value /= _STEP
        if value < 9.95:
            return f"{value:.1f} {unit}"
        if value < 999.5:
            return f"{value:.0f} {unit}"
    return "huge"


def moment(seconds: float) -> str:
    """Return a time as `2026-01-31 23:59`, on the person's own clock; `-` for one that no calendar has."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return "-"


def differs(title: str, path: str) -> bool:
    """Say whether a title tells more than the name of the note's file."""
    name = path.rpartition("/")[2].casefold()
    return title.casefold() not in (name, name.rpartition(".")[0])
