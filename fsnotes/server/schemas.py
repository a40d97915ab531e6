"""How the arguments and results of tools are described, within what every client takes: the pieces of all schemas.

Arguments have one `type` each, a description and bounds; results are terse. Which tool takes what is decided in
`tools.py`; whether a call's arguments fit, in `arguments.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fsnotes.listings import MAX_LIMIT

Schema = dict[str, Any]


def text(description: str, most: int, *, least: int = 0) -> Schema:
    """Return the schema of a text of at most *most* characters."""
    schema: Schema = {"type": "string", "description": description, "maxLength": most}
    return schema | {"minLength": least} if least else schema


def whole(description: str, least: int, most: int) -> Schema:
    """Return the schema of a whole number within bounds, both included."""
    return {"type": "integer", "description": description, "minimum": least, "maximum": most}


def arguments(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of a tool's arguments: these, the required ones first, and no others."""
    schema: Schema = {"type": "object", "properties": {**required, **(optional or {})}}
    if required:
        schema["required"] = list(required)
    return schema | {"additionalProperties": False}


def result(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of a result, terse: it is read by programs, and counts in every model's context."""
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}


_UNTOLD: Final = frozenset({"minLength", "maxLength"})


def told(schema: Schema) -> Schema:
    """Return the schema of arguments as clients are told it, which every model reads before it says a word.

    Without the bounds of texts: no model counts to them, and a text that is too long is refused with the bound.
    """
    return _without(schema, _UNTOLD)


def told_result(schema: Schema) -> Schema:
    """Return the schema of a result as clients are told it: what is always there is said of the whole alone.

    What the objects in a list have is seen in the first answer: told for every tool, it would be a tenth of the list.
    """
    return schema | {"properties": {name: _told_part(part) for name, part in schema["properties"].items()}}


def _told_part(part: Schema) -> Schema:
    if part["type"] == "array":
        return part | {"items": {"type": part["items"]["type"]}}
    return _without(part, frozenset({"required"}))


def _without(schema: Schema, names: frozenset[str]) -> Schema:
    """Return *schema* without the keywords *names*, as deep as it goes; properties of these names stay."""
    found: Schema = {}
    for name, value in schema.items():
        if name in names:
            continue
        if name == "properties":
            value = {each: _without(part, names) for each, part in value.items()}
        elif name == "items":
            value = _without(value, names)
        found[name] = value
    return found


def flag(description: str) -> Schema:
    """Return the schema of a truth value."""
    return {"type": "boolean", "description": description}


def one_of(description: str, values: Sequence[str]) -> Schema:
    """Return the schema of a text out of a closed set."""
    most = max(map(len, values))
    return {"type": "string", "description": description, "enum": list(values), "maxLength": most}


def several(description: str, items: Schema, most: int) -> Schema:
    """Return the schema of a list of at most *most* arguments of one kind."""
    return {"type": "array", "description": description, "maxItems": most, "items": items}


def list_of(items: Schema) -> Schema:
    """Return the schema of a list in a result."""
    return {"type": "array", "items": items}


# -- parts of results ----------------------------------------------------------------------------

STRING: Final[Schema] = {"type": "string"}
INTEGER: Final[Schema] = {"type": "integer"}
BOOLEAN: Final[Schema] = {"type": "boolean"}

# -- arguments of several tools -------------------------------------------------------------------

MAX_PATH: Final = 4096
MAX_TEXT: Final = 16_777_216
MAX_TAG: Final = 256

WORKSPACE: Final = {"workspaceUri": text("From notes_workspaces", 16_384, least=1)}
PATH: Final = text("Its path; .md may be left out", MAX_PATH, least=1)
CURSOR: Final = text("nextCursor of the page before", 8192, least=1)
HEADING: Final = text("Only this section; Parent/Child for twins", 1024, least=1)
IF_MATCH: Final = text("Only if this is its etag", 128, least=1)
DRY_RUN: Final = flag("Only tell what would be done")
LIMIT: Final = whole("Default 100", 1, MAX_LIMIT)
