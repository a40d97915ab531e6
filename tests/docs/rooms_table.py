"""Writes the table of rooms in `docs/architecture.md`: what each decides, and what it may import.

`python -m tests.docs.rooms_table` writes it anew, from the table that `tests/architecture/test_layers.py` holds and the
first sentence of each room.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from typing import Final

from tests.architecture.test_layers import LEXICAL, ROOMS, modules
from tests.docs.pages import page

PAGE: Final = page("docs/architecture.md")
HEAD: Final = ("room", "decides", "may import of ours", "and of others")


def rows() -> list[tuple[str, ...]]:
    """Return the rows of the table, from the lowest room to the highest."""
    found = modules()
    return [
        (f"`{name}`", _decides(name), _ours(room.below), _listed(room.packages))
        for name, room in ROOMS.items()
        if name in found
    ]


def table() -> str:
    """Return the table as it is written."""
    lines = [HEAD, ("---",) * len(HEAD), *(tuple(cell.replace("|", "\\|") for cell in row) for row in rows())]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).replace(
        "| --- | --- | --- | --- |", "|---|---|---|---|"
    )


def _decides(name: str) -> str:
    doc = ast.get_docstring(ast.parse(modules()[name].read_text(encoding="utf-8"))) or ""
    return " ".join(doc.split("\n\n")[0].split())


def _ours(below: tuple[str, ...]) -> str:
    named = [name for name in below if name not in LEXICAL]
    if set(LEXICAL) <= set(below):
        named.append("names of sandbox")
    return _listed(name.removeprefix("fsnotes.") for name in named)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "-"


def main() -> None:
    """Write the table into the page."""
    before, _, rest = PAGE.text.partition(f"| {' | '.join(HEAD)} |\n")
    _, _, after = rest.partition("\n\n")
    PAGE.path.write_text(f"{before}{table()}\n{after}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
