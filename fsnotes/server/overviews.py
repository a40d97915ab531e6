"""The tools that tell of all notes at once how they hang together: by tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fsnotes.server.schemas import (
    CURSOR,
    INTEGER,
    LIMIT,
    MAX_TAG,
    STRING,
    WORKSPACE,
    arguments,
    list_of,
    result,
    text,
)
from fsnotes.server.tool import Echo, Outcome, Tool

if TYPE_CHECKING:
    from fsnotes.calls import Call
    from fsnotes.service import Service


def _tags(service: Service, call: Call, given: dict[str, Any], _: Echo) -> Outcome:
    return service.tags(call, given.pop("workspaceUri"), **given)


_COUNTED: Final = list_of(result({"reason": STRING, "count": INTEGER}))

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
