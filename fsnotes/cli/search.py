"""`fsnotes search`: which notes a query finds, and the lines that show why."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, Final

from fsnotes.cli import paging
from fsnotes.cli.columns import Column, Styled
from fsnotes.cli.console import Console, shown
from fsnotes.cli.session import session
from fsnotes.cli.showing import Showing
from fsnotes.hits import NotesFound

_HITS: Final = (Column("Line", "dim", width=6, right=True), Column("Path", "cyan"), Column("Title and text"))


def search(options: argparse.Namespace, console: Console) -> int:
    """Find notes: one page where one is asked for, else all of them."""
    with session(options, console) as here:

        def get(cursor: str | None, limit: int) -> NotesFound:
            return here.service.search(
                here.call,
                here.uri,
                options.query,
                folder=options.folder,
                tag=options.tag,
                regex=options.regex,
                limit=limit,
                cursor=cursor,
            )

        pages = paging.pages(options, get)
        if options.json:
            paging.show_document(options, console, pages)
        else:
            _say_hits(console, pages)
    return 0


def _say_hits(console: Console, pages: Iterator[NotesFound]) -> None:
    skipped: list[dict[str, Any]] = []
    last: NotesFound | None = None
    found = False
    showing = Showing(console, _HITS)
    for page in pages:
        document = page.document()
        if showing.is_table:
            showing.show([cells for hit in document["hits"] for cells in _cells(hit)])
        else:
            for hit in document["hits"]:
                for line in _lines(hit) if console.is_terminal else _rows(hit):
                    console.say(line)
        skipped += document["skipped"]
        last = page
        found = found or bool(page.hits)
    paging.say_skipped(console, skipped)
    if last is not None and last.partial:
        console.complain("not everything was searched yet")
    paging.say_rest(console, None if last is None else last.cursor, found=found, nothing="no such notes")


def _cells(hit: dict[str, Any]) -> Iterator[list[str | Styled]]:
    yield ["", hit["path"], Styled(hit["title"], "bold")]
    for line in hit["lines"]:
        yield [str(line["line"]), "", line["text"]]


def _rows(hit: dict[str, Any]) -> Iterator[str]:
    """Yield path, line and text, the last two empty for a note that is not found by its text."""
    for line in hit["lines"] or [{"line": "", "text": ""}]:
        yield "\t".join([shown(hit["path"]), str(line["line"]), shown(line["text"])])


def _lines(hit: dict[str, Any]) -> Iterator[str]:
    yield f"{shown(hit['path'])}  {shown(hit['title'])}"
    for line in hit["lines"]:
        yield f"{line['line']:>6}  {shown(line['text'])}"
