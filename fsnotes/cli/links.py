"""`fsnotes links`: which links a note has, which lead to it or astray, and which notes no link leads to."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, Final

from fsnotes.cli import paging
from fsnotes.cli.columns import Column, Styled
from fsnotes.cli.console import Console, shown
from fsnotes.cli.session import session
from fsnotes.cli.showing import Showing
from fsnotes.errors import InvalidArgument
from fsnotes.outcomes import LinksListed

DEFAULT_DIRECTION: Final = "out"

_LINKS: Final = (
    Column("Line", "dim", width=6, right=True),
    Column("In", "cyan"),
    Column("Link"),
    Column("Leads to"),
)


def links(options: argparse.Namespace, console: Console) -> int:
    """List links: one page where one is asked for, else all of them; or the notes that nobody links to."""
    if options.orphans:
        return _orphans(options, console)
    with session(options, console) as here:

        def get(cursor: str | None, limit: int) -> LinksListed:
            return here.service.links(
                here.call,
                here.uri,
                options.path,
                direction=options.direction or DEFAULT_DIRECTION,
                limit=limit,
                cursor=cursor,
            )

        pages = paging.pages(options, get)
        if options.json:
            paging.show_document(options, console, pages)
        else:
            _say_links(console, pages)
    return 0


def _orphans(options: argparse.Namespace, console: Console) -> int:
    if options.direction is not None or options.limit is not None or options.cursor is not None:
        raise InvalidArgument("orphans", "it goes with a folder and with nothing else, so leave out the rest")
    with session(options, console) as here:
        listed = here.service.orphans(here.call, here.uri, options.path)
    document = listed.document()
    if options.json:
        console.show_json(document)
        return 0
    for path in listed.paths:
        console.say(shown(path))
    paging.say_skipped(console, document["skipped"])
    paging.say_rest(console, None, found=bool(listed.paths), nothing="no orphans")
    return 0


def _say_links(console: Console, pages: Iterator[LinksListed]) -> None:
    skipped: list[dict[str, Any]] = []
    cursor, found = None, False
    showing = Showing(console, _LINKS)
    for page in pages:
        document = page.document()
        if showing.is_table:
            showing.show([_cells(link) for link in document["links"]])
        for link in () if showing.is_table else document["links"]:
            console.say(_line(link) if console.is_terminal else _row(link))
        skipped += document["skipped"]
        cursor = page.cursor
        found = found or bool(page.links)
    paging.say_skipped(console, skipped)
    paging.say_rest(console, cursor, found=found, nothing="no such links")


def _cells(link: dict[str, Any]) -> list[str | Styled]:
    targets = ", ".join(_targets(link))
    to = Styled("nothing", "red") if not targets else targets + _missing(link)
    return [str(link["line"]), link["source"], link["link"], to]


def _row(link: dict[str, Any]) -> str:
    words = [link["source"], str(link["line"]), link["link"], *link["targets"]]
    return "\t".join(shown(word) for word in words)


def _line(link: dict[str, Any]) -> str:
    targets = ", ".join(shown(target) for target in _targets(link))
    where = f"{shown(link['source'])}:{link['line']}"
    return f"{where}  {shown(link['link'])}  -> {targets or 'nothing'}{_missing(link)}"


def _targets(link: dict[str, Any]) -> list[str]:
    more = link.get("targetsMore", 0)
    return [*link["targets"], *([f"{more} more"] if more else [])]


def _missing(link: dict[str, Any]) -> str:
    return "" if link.get("fragmentFound", True) else " (not that part of it)"
