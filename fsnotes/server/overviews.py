"""The tools that tell of all notes at once how they hang together: by links and by tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fsnotes.link_pages import DIRECTIONS
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
    list_of,
    one_of,
    result,
    text,
)
from fsnotes.server.tool import Echo, Outcome, Tool

if TYPE_CHECKING:
    from fsnotes.calls import Call
    from fsnotes.service import Service


def _links(service: Service, call: Call, given: dict[str, Any], _: Echo) -> Outcome:
    return service.links(call, given.pop("workspaceUri"), given.pop("path"), **given)


def _tags(service: Service, call: Call, given: dict[str, Any], _: Echo) -> Outcome:
    return service.tags(call, given.pop("workspaceUri"), **given)


_COUNTED: Final = list_of(result({"reason": STRING, "count": INTEGER}))

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
