"""Decides whether the rows of an answer come as a table, and shows it page by page: nobody waits for the last one.

Where there is none, each command has lines of its own: columns for a person, tabs for a program.
"""

from __future__ import annotations

from collections.abc import Sequence

from fsnotes.cli.columns import Column, Styled, fits
from fsnotes.cli.console import Console


class Showing:
    """The table of one answer, with the titles above its first page."""

    def __init__(self, console: Console, columns: Sequence[Column]) -> None:
        self._console = console
        self._columns = columns
        self._is_begun = False
        self.is_table = console.has_style and fits(columns)

    def show(self, rows: Sequence[Sequence[str | Styled]]) -> None:
        """Show some rows. Their cells are as they come from notes and names, which may be hostile."""
        if not rows:
            return
        from fsnotes.cli.tables import rendered

        self._console.say(
            rendered(self._columns, rows, titles=not self._is_begun, colours=self._console.has_colours)
        )
        self._is_begun = True
