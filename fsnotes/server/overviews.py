"""The tools that look into all notes at once: for words, and for how they hang together by links and by tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fsnotes.link_pages import DIRECTIONS
from fsnotes.listings import MAX_LIMIT
from fsnotes.search_pages import DEFAULT_LIMIT
from fsnotes.server.schemas import (
    BOOLEAN,
    CURSOR,
    INTEGER,
    LIMIT,
    MAX_PATH,
    MAX_TAG,
    STRING,
    WORKSPACE,
    arguments,
    flag,
    list_of,
    one_of,
    result,
    text,
    whole,
)
from fsnotes.server.tool import Echo, Outcome, Tool

if TYPE_CHECKING:
    from fsnotes.calls import Call
    from fsnotes.service import Service


def _search(service: Service, call: Call, given: dict[str, Any], _: Echo) -> Outcome:
    return service.search(call, given.pop("workspaceUri"), given.pop("query"), **given)


def _links(service: Service, call: Call, given: dict[str, Any], _: Echo) -> Outcome:
    return service.links(call, given.pop("workspaceUri"), given.pop("path"), **given)


def _tags(service: Service, call: Call, given: dict[str, Any], _: Echo) -> Outcome:
    return service.tags(call, given.pop("workspaceUri"), **given)


_COUNTED: Final = list_of(result({"reason": STRING, "count": INTEGER}))

_MAX_QUERY: Final = 1_000

SEARCH: Final = Tool(
    name="notes_search",
    title="Search notes",
    description="Finds notes by words, tags and properties, with the lines that show why. If partial is true, not all"
    " was searched yet: call again with cursor set to nextCursor.",
    changes=False,
    destroys=False,
    repeatable=True,
    asks=False,
    input_schema=arguments(
        {
            **WORKSPACE,
            "query": text(
                'Words, "a phrase", -not, prefix*, OR, title:x path:x tag:x prop:key=value',
                _MAX_QUERY,
                least=1,
            ),
        },
        {
            "folder": text("Only in this folder", MAX_PATH),
            "tag": text("Only with this tag or one nested in it", MAX_TAG, least=1),
            "regex": flag("The query is an RE2 pattern for the text"),
            "limit": whole(f"Default {DEFAULT_LIMIT}", 1, MAX_LIMIT),
            "cursor": CURSOR,
        },
    ),
    output_schema=result(
        {
            "hits": list_of(
                result(
                    {
                        "path": STRING,
                        "title": STRING,
                        "lines": list_of(result({"line": INTEGER, "text": STRING})),
                    }
                )
            ),
            "partial": BOOLEAN,
            "skipped": _COUNTED,
        },
        {"nextCursor": STRING, "index": result({"indexed": INTEGER, "remaining": INTEGER})},
    ),
    run=_search,
)

LINKS: Final = Tool(
    name="notes_links",
    title="List links",
    description="Lists the links from a note or to it, or in a folder those that lead nowhere or to several files.",
    changes=False,
    destroys=False,
    repeatable=True,
    asks=False,
    input_schema=arguments(
        {**WORKSPACE, "path": text("A note; for the last two a folder, or empty for all", MAX_PATH)},
        {
            "direction": one_of("Default out", DIRECTIONS),
            "limit": LIMIT,
            "cursor": CURSOR,
        },
    ),
    output_schema=result(
        {
            "links": list_of(
                result(
                    {"source": STRING, "line": INTEGER, "link": STRING, "targets": list_of(STRING)},
                    {"targetsMore": INTEGER, "fragment": STRING, "fragmentFound": BOOLEAN},
                )
            ),
            "skipped": _COUNTED,
        },
        {"nextCursor": STRING},
    ),
    run=_links,
)

TAGS: Final = Tool(
    name="notes_tags",
    title="List tags",
    description="Lists the tags of all notes, the most used first; a nested one counts for those above it too.",
    changes=False,
    destroys=False,
    repeatable=True,
    asks=False,
    input_schema=arguments(
        WORKSPACE,
        {
            "prefix": text("Such as work/", MAX_TAG),
            "limit": LIMIT,
            "cursor": CURSOR,
        },
    ),
    output_schema=result(
        {
            "tags": list_of(result({"tag": STRING, "count": INTEGER})),
            "skipped": _COUNTED,
        },
        {"nextCursor": STRING},
    ),
    run=_tags,
)
