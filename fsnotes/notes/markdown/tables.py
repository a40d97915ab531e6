"""Which lines make a table, and what its cells are (GitHub's extension to CommonMark).

Inline markup never reaches from one cell into the next, so cells are what links and code spans must be looked for
in. A vertical bar behind a backslash separates nothing, in code and wikilinks too. What stands beyond the last
column of the header is dropped, as GitHub drops it.
"""

from __future__ import annotations

import re
from typing import Final

_DELIMITER: Final = re.compile(
    r"[ \t]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+|(?!))*+\|?[ \t]*+\Z"
)
_BAR: Final = re.compile(r"(?<!\\)\|")
_SPACES: Final = " \t"

Cell = tuple[int, int]


def columns(text: str, header: tuple[int, int], delimiter: tuple[int, int]) -> int:
    """Return how many columns the table has that these two lines begin; 0 where they begin none."""
    start, end = delimiter
    # A single word over a lone `-` is a heading, and `- ` begins a list.
    if text[start] == "-" and text[start + 1 : start + 2] in _SPACES:
        return 0
    row = text[header[0] : header[1]]
    if "|" not in row or _DELIMITER.match(text, start, end) is None:
        return 0
    wanted = _count(text[start:end])
    return wanted if _count(row) == wanted else 0


def _count(row: str) -> int:
    """Return the number of cells in a row; a bar alone has none."""
    row = row.strip(_SPACES)
    if row == "|":
        return 0
    number = row.count("|") + 1 - (row[:1] == "|") - (row[-1:] == "|" and len(row) > 1)
    if "\\" in row:
        number += row.endswith("\\|") - row.count("\\|")
    return number


def cells(text: str, start: int, end: int) -> list[Cell]:
    """Return where the cells of a row begin and end, with the white space around what is in them."""
    row = text[start:end].rstrip(_SPACES)
    start += len(row) - len(row.lstrip(_SPACES))
    row = row.lstrip(_SPACES)
    found = []
    for piece in row.split("|") if "\\|" not in row else _BAR.split(row):
        end = start + len(piece)
        found.append((start, end))
        start = end + 1
    if row.endswith("|") and len(found) > 1 and found[-1][0] == found[-1][1]:
        del found[-1]
    if row.startswith("|"):
        del found[0]
    return found
