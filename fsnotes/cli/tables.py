"""How results look on a terminal that can show them well: columns with titles, in colour.

Everything in a cell is shown as `console.shown` shows it and is never read as markup, whoever wrote it. What a terminal
can do is decided in `console`. Loaded with the first table: half of what a short command costs.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Final

from rich.console import Console as Renderer
from rich.table import Table
from rich.text import Text

from fsnotes.cli.columns import GAP, Column, Styled
from fsnotes.cli.console import shown, terminal_width

_PADDING: Final = re.compile(r" +(?=(?:\x1b\[[0-9;]*m| )*$)")
"""Blanks at the end of a line, with changes of colour between them: they would wrap in a terminal made narrower."""


def rendered(
    columns: Sequence[Column], rows: Sequence[Sequence[str | Styled]], *, titles: bool, colours: bool
) -> str:
    """Return the rows as lines for this terminal, without the last line feed."""
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=titles, header_style="bold")
    for column in columns:
        table.add_column(
            Text(column.title),
            style=column.style,
            width=column.width,
            justify="right" if column.right else "left",
            no_wrap=column.width is not None,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(_cell(cell) for cell in row))
    out = io.StringIO()
    Renderer(
        file=out,
        force_terminal=True,
        color_system="standard" if colours else None,
        width=terminal_width(),
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
        _environ={},
    ).print(table)
    return "\n".join(_PADDING.sub("", line) for line in out.getvalue().splitlines())


def _cell(cell: str | Styled) -> Text:
    return Text(shown(cell)) if isinstance(cell, str) else Text(shown(cell.text), style=cell.style)
