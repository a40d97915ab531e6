"""`fsnotes tags`: which tags there are, and how often each is used."""

from __future__ import annotations

import argparse
from typing import Any, Final

from fsnotes.cli import paging
from fsnotes.cli.columns import Column
from fsnotes.cli.console import Console, shown
from fsnotes.cli.session import session
from fsnotes.cli.showing import Showing
from fsnotes.outcomes import TagsListed

_COUNT_WIDTH: Final = 6
_TAGS: Final = (Column("Notes", "dim", width=_COUNT_WIDTH, right=True), Column("Tag", "cyan"))


def tags(options: argparse.Namespace, console: Console) -> int:
    """List tags, the most used first: one page where one is asked for, else all of them."""
    with session(options, console) as here:

        def get(cursor: str | None, limit: int) -> TagsListed:
            return here.service.tags(here.call, here.uri, prefix=options.prefix, limit=limit, cursor=cursor)

        pages = paging.pages(options, get)
        if options.json:
            paging.show_document(options, console, pages)
            return 0
        skipped: list[dict[str, Any]] = []
        cursor, found = None, False
        showing = Showing(console, _TAGS)
        for page in pages:
            if showing.is_table:
                showing.show([[str(tag.count), f"#{tag.tag}"] for tag in page.tags])
            for tag in () if showing.is_table else page.tags:
                name = shown(tag.tag)
                console.say(
                    f"{tag.count:>{_COUNT_WIDTH}}  #{name}" if console.is_terminal else f"{name}\t{tag.count}"
                )
            skipped += page.document()["skipped"]
            cursor = page.cursor
            found = found or bool(page.tags)
        paging.say_skipped(console, skipped)
        paging.say_rest(console, cursor, found=found, nothing="no tags here")
    return 0
