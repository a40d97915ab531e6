"""Decides how a search is put together from bounded calls and cut into pages.

Hits come in path order. A page begins behind a note or, with a regular expression that takes long, within one: notes
that stay as they are come once, whatever happens to others between two pages. A page that takes long is answered as it
is, so that no call hangs in a large workspace: it says that it is partial.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Final

from fsnotes.access import Grant
from fsnotes.errors import InvalidArgument
from fsnotes.hits import NotesFound, hit
from fsnotes.listings import MAX_LIMIT
from fsnotes.notes.commands import Hit, Searched, SearchNotes, Skipped
from fsnotes.notes.tags import key_of
from fsnotes.pages import Page, Query, foreign_cursor
from fsnotes.runners import Runner

PAGE_SECONDS: Final = 1.0
"""A page asks for no further stretch once it has taken this long."""

DEFAULT_LIMIT: Final = 20

_OFFSET: Final = re.compile(r"[0-9]{1,10}")

_Position = tuple[str | None, int | None]
"""A position in the walk and, where its note is not done, the byte to go on with."""


def search_notes(
    runner: Runner,
    grant: Grant,
    query: str,
    *,
    folder: str = "",
    tag: str | None = None,
    regex: bool = False,
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
    abandoned: Callable[[], bool],
    clock: Callable[[], float] = time.monotonic,
) -> NotesFound:
    """Return one page of the notes in *folder* that *query* means or, with *regex*, in which it matches.

    With *tag*, only those that have it. Raises InvalidArgument, for a cursor of another query too.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidArgument("limit", f"from 1 to {MAX_LIMIT}")
    key = None if tag is None else key_of(tag)
    if tag is not None and key is None:
        raise InvalidArgument("tag", "no tag is written so")
    pages = Query("search", grant.principal.name, grant.workspace.name, query, folder, key, regex)
    position = _position_of(pages.position(cursor))
    page = Page(limit)
    hits: list[Hit] = []
    skipped: dict[str, int] = {}
    end = clock() + PAGE_SECONDS

    def ask(most: int) -> Searched:
        command = SearchNotes(query, folder, key, regex, *position, most)
        return runner.run(grant, command, abandoned=abandoned)

    def found(*, partial: bool) -> NotesFound:
        after, within = position
        following = None if after is None else pages.cursor((after, "" if within is None else str(within)))
        counts = tuple(Skipped(None, count, reason) for reason, count in skipped.items())
        return NotesFound(tuple(hits), partial and following is not None, counts, following)

    while True:  # each reply goes further than the one before, or is refused
        reply = ask(page.left)
        fitting = page.fitting(map(hit, reply.hits))
        is_full = fitting < len(reply.hits)
        if is_full:
            if not fitting:
                break
            # Once more, no further than the page has room: so what was skipped on the way is told once.
            reply = ask(fitting)
        for each in reply.hits:
            if not page.admits(hit(each)):
                return found(partial=False)
            hits.append(each)
            position = each.path, None
        for item in reply.skipped:
            skipped[item.reason] = skipped.get(item.reason, 0) + item.count
        position = reply.resume, reply.within
        if is_full or reply.resume is None or page.left == 0:
            break
        if not clock() < end:
            return found(partial=True)
    return found(partial=False)


def _position_of(position: tuple[str, ...] | None) -> _Position:
    match position:
        case None:
            return None, None
        case (after, ""):
            return after, None
        case (after, offset) if _OFFSET.fullmatch(offset):
            return after, int(offset)
        case _:
            raise foreign_cursor()
