"""Decides how a long answer is cut into pages: cursors that belong to one query, and bounds in items and characters.

A cursor is a position, not a right: it says where to go on and is worth nothing for another principal or query.
"""

from __future__ import annotations

import base64
import binascii
import copy
import hashlib
import json
from collections.abc import Iterable
from typing import Any, Final

from fsnotes.errors import InvalidArgument

MAX_CURSOR: Final = 8_000
"""Longest cursor taken back, in characters: the longest position, which is a path with one escaped name more and what
stands for no name, encoded."""

PAGE_CHARACTERS: Final = 28_000
"""Compact JSON of a page's items; with the envelope and a cursor it stays below the contract's 40,000."""

_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_SEPARATOR: Final = "\0"  # in no path, and one byte where JSON would need six for some letters


class Query:
    """One listing with its arguments, as far as they decide what its pages hold."""

    def __init__(self, *parts: Any) -> None:
        text = json.dumps(parts, ensure_ascii=True, sort_keys=True)
        self._mark = hashlib.sha256(text.encode("ascii")).hexdigest()[:16]

    def cursor(self, position: tuple[str, ...]) -> str:
        """Return the cursor of *position*: texts without a NUL."""
        text = _SEPARATOR.join((self._mark, *position))
        return base64.urlsafe_b64encode(text.encode("utf-8")).decode("ascii").rstrip("=")

    def position(self, cursor: str | None) -> tuple[str, ...] | None:
        """Return the position that *cursor* was made of, None for none. Raises InvalidArgument for another's."""
        if cursor is None:
            return None
        try:
            if len(cursor) > MAX_CURSOR:
                raise ValueError("too long")
            data = base64.b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4), b"-_", validate=True)
            mark, *position = data.decode("utf-8").split(_SEPARATOR)
            if mark != self._mark:
                raise ValueError("of another query")
        except (ValueError, binascii.Error):
            raise foreign_cursor() from None
        return tuple(position)


def foreign_cursor() -> InvalidArgument:
    """Return the refusal of a cursor that was not made for this query."""
    return InvalidArgument("cursor", "it does not belong to this query; start without one")


class Page:
    """Collects items until one of the bounds is met."""

    def __init__(self, limit: int) -> None:
        self._items = limit
        self._characters = PAGE_CHARACTERS

    def admits(self, document: Any) -> bool:
        """Take *document* into account and say whether it still fits. The first item always fits."""
        cost = len(_json(document)) + 1
        if self._items <= 0 or (self._characters < cost and self._characters != PAGE_CHARACTERS):
            self._items = 0
            return False
        self._items -= 1
        self._characters -= cost
        return True

    def fitting(self, documents: Iterable[Any]) -> int:
        """Return how many of *documents* would be admitted, one after the other; none is taken into account."""
        trial, count = copy.copy(self), 0
        for document in documents:
            if not trial.admits(document):
                break
            count += 1
        return count

    @property
    def left(self) -> int:
        """How many more items may come."""
        return self._items


def path_key(path: str) -> tuple[str, ...]:
    """Return the key that puts paths in the order of a listing: component by component."""
    return tuple(path.split("/"))
