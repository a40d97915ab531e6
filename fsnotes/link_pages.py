"""Decides how the links of a note or a folder are put together from bounded calls and cut into pages.

They come by note, in path order, and by their place in it. A page begins behind a note or at a link of one, told by its
number there: links of notes that stay as they are come once, whatever happens to others between two pages. A page that
takes long is answered as it is, so that no call hangs in a large workspace or in a note of nothing but links.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Final

from fsnotes.access import Grant
from fsnotes.errors import InvalidArgument
from fsnotes.listings import MAX_LIMIT
from fsnotes.notes import commands
from fsnotes.notes.commands import FindLinks, LinkFound, LinksFound, Skipped, by_reason
from fsnotes.outcomes import LinksListed, link
from fsnotes.pages import Page, Query, foreign_cursor
from fsnotes.runners import Runner

DIRECTIONS: Final = commands.DIRECTIONS

PAGE_CALLS: Final = 200
"""Bounded calls chained for one page, which may be short or empty and still have a successor."""

PAGE_SECONDS: Final = 1.0
"""A page asks for no further stretch once it has taken this long."""

_NUMBER: Final = re.compile(r"[0-9]{1,9}")

_Position = tuple[str | None, int | None]
"""A position in the walk and, where its note is not done, the number of the link to go on with."""


def list_links(
    runner: Runner,
    grant: Grant,
    path: str,
    *,
    direction: str = "out",
    limit: int = 100,
    cursor: str | None = None,
    abandoned: Callable[[], bool],
    clock: Callable[[], float] = time.monotonic,
) -> LinksListed:
    """Return one page of links: `out` of the note *path* or `in` to it, or `broken` or `ambiguous` ones in that folder.

    Raises InvalidArgument for a cursor of another query.
    """
    if direction not in DIRECTIONS:
        raise InvalidArgument("direction", f"one of {', '.join(DIRECTIONS)}")
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidArgument("limit", f"from 1 to {MAX_LIMIT}")
    pages = Query("links", grant.principal.name, grant.workspace.name, direction, path)
    position = _position_of(pages.position(cursor))
    page = Page(limit)
    end = clock() + PAGE_SECONDS
    links: list[LinkFound] = []
    skipped: list[Skipped] = []

    def ask(most: int, *, anew: bool) -> LinksFound:
        command = FindLinks(path, direction, *position, most, anew)
        return runner.run(grant, command, abandoned=abandoned)

    def listed() -> LinksListed:
        after, within = position
        following = None if after is None else pages.cursor((after, "" if within is None else str(within)))
        return LinksListed(tuple(links), by_reason(skipped), following)

    for turn in range(PAGE_CALLS):
        reply = ask(page.left, anew=turn == 0)
        fitting = page.fitting(map(link, reply.links))
        is_full = fitting < len(reply.links)
        if is_full:
            if not fitting:
                break
            # Once more, no further than the page has room: so what was skipped on the way is told once.
            reply = ask(fitting, anew=False)
        for each in reply.links:
            if not page.admits(link(each)):
                position = each.source, each.number
                return listed()
            links.append(each)
        skipped += reply.skipped
        position = reply.resume, reply.within
        if is_full or reply.resume is None or page.left == 0 or not clock() < end:
            break
    return listed()


def _position_of(position: tuple[str, ...] | None) -> _Position:
    match position:
        case None:
            return None, None
        case (after, ""):
            return after, None
        case (after, number) if _NUMBER.fullmatch(number):
            return after, int(number)
        case _:
            raise foreign_cursor()
