"""How the pages of a long answer are asked for and shown: one where a limit or a cursor asks for it, else all of them.

Also decides how that is said which an answer leaves out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Protocol, TypeVar

from fsnotes.cli.console import Console, shown
from fsnotes.vocabulary import MAX_LIMIT

_DEFAULT_PAGE: Final = 100


class _HasCursor(Protocol):
    @property
    def cursor(self) -> str | None: ...


_Page = TypeVar("_Page", bound=_HasCursor)


def _is_one_page(options: argparse.Namespace) -> bool:
    return options.limit is not None or options.cursor is not None


def pages(options: argparse.Namespace, get: Callable[[str | None, int], _Page]) -> Iterator[_Page]:
    """Give one page where a limit or a cursor is asked for, else all pages."""
    one, cursor = _is_one_page(options), options.cursor
    limit = options.limit if options.limit is not None else _DEFAULT_PAGE if one else MAX_LIMIT
    while True:
        page = get(cursor, limit)
        yield page
        cursor = page.cursor
        if one or cursor is None:
            return


def show_document(options: argparse.Namespace, console: Console, found: Iterator[Any]) -> None:
    """Show the pages as one document; the cursor is part of it where one page was asked for."""
    whole: dict[str, Any] = {}
    for page in found:
        for key, value in page.document().items():
            if isinstance(value, list):
                whole.setdefault(key, []).extend(value)
            elif key != "nextCursor" or _is_one_page(options):
                whole[key] = value
    if "skipped" in whole:
        whole["skipped"] = _added_up(whole["skipped"])
    console.show_json(whole)


def _added_up(skipped: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what was skipped on all pages: paths as they came, then one count for each reason."""
    counts: dict[str, int] = {}
    for item in skipped:
        if "count" in item:
            counts[item["reason"]] = counts.get(item["reason"], 0) + item["count"]
    paths = [item for item in skipped if "count" not in item]
    return paths + [{"count": count, "reason": reason} for reason, count in counts.items()]


def say_skipped(console: Console, skipped: Iterable[dict[str, Any]]) -> None:
    """Say what the pages left out, and why."""
    for item in _added_up(skipped):
        what = _left_out(item)
        console.complain(f"skipped {what}: {item['reason'].replace('_', ' ')}")


def _left_out(item: dict[str, Any]) -> str:
    if "path" not in item:
        return f"{item['count']} more"
    # A name that is no text comes escaped already.
    path: str = item["path"]
    return path if item["reason"] == "unnameable" else shown(path)


def say_rest(console: Console, cursor: str | None, *, found: bool, nothing: str) -> None:
    """Say how to go on where there is more, and to a person that there is *nothing* where nothing was *found*."""
    if cursor is not None:
        console.complain(f"there is more: --cursor {cursor}")
    elif not found and console.is_terminal:
        console.complain(nothing)
