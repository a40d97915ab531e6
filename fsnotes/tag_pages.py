"""Decides how the tags of a workspace are put together from bounded calls: added up, in order, cut into pages.

The most used tag comes first, as in Obsidian's list of tags unless it is told otherwise, and equally used ones in the
order of their names. So a page begins behind a count and a name: what is used as often as before comes once, whatever
else has changed between two pages. Each page counts the whole workspace anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from fsnotes.access import Grant
from fsnotes.errors import InvalidArgument, LimitReached
from fsnotes.listings import MAX_LIMIT
from fsnotes.notes.commands import CountTags, Skipped, TagCount, by_reason
from fsnotes.notes.model import fold
from fsnotes.notes.tag_keys import prefix_of
from fsnotes.outcomes import TagsListed, tag_count
from fsnotes.pages import Page, Query, foreign_cursor
from fsnotes.runners import Runner

MAX_CALLS: Final = 2_000
"""Bounded calls chained for one answer: half a million notes."""

MAX_TAGS: Final = 50_000
"""Different tags that are held for one answer."""

_RANK: Final = re.compile(r"-[0-9]{1,30}")

_Rank = tuple[int, str]


def list_tags(
    runner: Runner,
    grant: Grant,
    *,
    prefix: str = "",
    limit: int = 100,
    cursor: str | None = None,
    abandoned: Callable[[], bool],
) -> TagsListed:
    """Return one page of the tags that begin with *prefix*, the most used first.

    What could not be looked at is told on the first page. Raises InvalidArgument for a cursor of another query, and
    LimitReached.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidArgument("limit", f"from 1 to {MAX_LIMIT}")
    key = prefix_of(prefix)
    pages = Query("tags", grant.principal.name, grant.workspace.name, key)
    start = _rank_of(pages.position(cursor))
    counts: dict[str, TagCount] = {}
    skipped: tuple[Skipped, ...] = ()
    after: str | None = None
    for _ in range(MAX_CALLS):
        reply = runner.run(grant, CountTags(key, after), abandoned=abandoned)
        for each in reply.tags:
            known = counts.get(fold(each.tag))
            counts[fold(each.tag)] = each if known is None else TagCount(known.tag, known.count + each.count)
        if len(counts) > MAX_TAGS:
            raise LimitReached("different tags")
        skipped = by_reason((*skipped, *reply.skipped))
        after = reply.resume
        if after is None:
            break
    else:
        raise LimitReached("notes to look into for tags")
    ranked = sorted((-tag.count, key) for key, tag in counts.items())
    page = Page(limit)
    shown: list[TagCount] = []
    last: _Rank | None = None
    for rank in ranked:
        if start is not None and rank <= start:
            continue
        tag = counts[rank[1]]
        if not page.admits(tag_count(tag)):
            break
        shown.append(tag)
        last = rank
    return TagsListed(
        tuple(shown),
        () if start is not None else skipped,
        _cursor(pages, last) if last is not None and last != ranked[-1] else None,
    )


def _cursor(pages: Query, rank: _Rank) -> str:
    # Obsidian takes a NUL for a letter of a tag.
    return pages.cursor((str(rank[0]), *rank[1].split("\0")))


def _rank_of(position: tuple[str, ...] | None) -> _Rank | None:
    match position:
        case None:
            return None
        case (count, *key) if key and _RANK.fullmatch(count):
            return int(count), "\0".join(key)
        case _:
            raise foreign_cursor()
