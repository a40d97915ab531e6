"""The tools that change something: their descriptors, and the operations behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fsnotes.server.schemas import (
    BOOLEAN,
    DRY_RUN,
    HEADING,
    IF_MATCH,
    INTEGER,
    MAX_PATH,
    MAX_TEXT,
    PATH,
    STRING,
    WORKSPACE,
    Schema,
    arguments,
    flag,
    list_of,
    one_of,
    result,
    several,
    text,
    whole,
)
from fsnotes.server.tool import Echo, Outcome, Tool, optional

if TYPE_CHECKING:
    from fsnotes.calls import Call
    from fsnotes.service import Service


_MAX_PLACES: Final = 10_000
_MAX_KEYS: Final = 100
_MAX_KEY: Final = 256
_MAX_YAML: Final = 65_536


def _create(service: Service, call: Call, given: dict[str, Any], _: Echo) -> Outcome:
    return service.create(call, given["workspaceUri"], given["path"], given["content"])


def _edit(service: Service, call: Call, given: dict[str, Any], _: Echo) -> Outcome:
    return service.edit(call, given["workspaceUri"], given["path"], given["newText"], **optional(given))


def _append(service: Service, call: Call, given: dict[str, Any], _: Echo) -> Outcome:
    return service.append(call, given["workspaceUri"], given["path"], given["text"], **optional(given))


def _properties(service: Service, call: Call, given: dict[str, Any], _: Echo) -> Outcome:
    return service.properties(
        call,
        given["workspaceUri"],
        given["path"],
        assign=[(item["key"], item["value"]) for item in given.get("set", ())],
        remove=given.get("unset", ()),
        **optional(given),
    )


def _move(service: Service, call: Call, given: dict[str, Any], _: Echo) -> Outcome:
    return service.move(call, given["workspaceUri"], given["path"], given["newPath"], **optional(given))


def _delete(service: Service, call: Call, given: dict[str, Any], echo: Echo) -> Outcome:
    return service.delete(
        call, given["workspaceUri"], given["title"], arguments=given, state=echo.state, answers=echo.answers
    )


def _restore(service: Service, call: Call, given: dict[str, Any], _: Echo) -> Outcome:
    return service.restore(call, given["workspaceUri"], given["trashId"], new_path=given.get("newPath"))


def _edited(more: dict[str, Schema]) -> Schema:
    """Return the schema of what became of a note, with what only one tool has to say."""
    return result(
        {
            "outcome": STRING,
            "path": STRING,
            "etag": STRING,
            "size": INTEGER,
        },
        {**more, "notKept": list_of(STRING), "diff": STRING, "diffComplete": BOOLEAN},
    )


CHANGING: Final = (
    Tool(
        name="notes_create",
        title="Create a note",
        description="Writes a new note and makes the folders it needs. It never overwrites: a path that is"
        " taken is an error.",
        changes=True,
        destroys=False,
        repeatable=False,
        asks=False,
        input_schema=arguments(
            {
                **WORKSPACE,
                "path": text("Its path; .md is added", MAX_PATH, least=1),
                "content": text("The whole text, in markdown", MAX_TEXT),
            }
        ),
        output_schema=result({"path": STRING, "etag": STRING, "size": INTEGER}),
        run=_create,
    ),
    Tool(
        name="notes_edit",
        title="Edit a note",
        description="Replaces oldText, taken literally, wherever it stands in the note or section; with heading"
        " alone, all text under that heading. Nothing changes unless it stands there as often as expected.",
        changes=True,
        destroys=True,
        repeatable=False,
        asks=False,
        input_schema=arguments(
            {**WORKSPACE, "path": PATH, "newText": text("What to put there", MAX_TEXT)},
            {
                "oldText": text("Exactly as the note has it", MAX_TEXT, least=1),
                "heading": HEADING,
                "expectedMatches": whole("How often oldText stands there (default 1)", 1, _MAX_PLACES),
                "ifMatch": IF_MATCH,
                "dryRun": DRY_RUN,
            },
        ),
        output_schema=_edited({"matches": INTEGER}),
        run=_edit,
    ),
    Tool(
        name="notes_append",
        title="Add to a note",
        description="Adds text on lines of its own at the end or start of a note or section.",
        changes=True,
        destroys=False,
        repeatable=False,
        asks=False,
        input_schema=arguments(
            {**WORKSPACE, "path": PATH, "text": text("The text to add", MAX_TEXT, least=1)},
            {
                "heading": HEADING,
                "position": one_of("Where in the note or section (default end)", ["start", "end"]),
                "ifMatch": IF_MATCH,
                "dryRun": DRY_RUN,
            },
        ),
        output_schema=_edited({}),
        run=_append,
    ),
    Tool(
        name="notes_properties",
        title="Set properties",
        description="Sets and unsets properties in a note's frontmatter; every other byte stays.",
        changes=True,
        destroys=True,
        repeatable=True,
        asks=False,
        input_schema=arguments(
            {**WORKSPACE, "path": PATH},
            {
                "set": several(
                    "What to set; quote a text that YAML would read as something else",
                    arguments(
                        {"key": text("Its name", _MAX_KEY, least=1), "value": text("YAML text", _MAX_YAML)}
                    ),
                    _MAX_KEYS,
                ),
                "unset": several("What to remove", text("A name", _MAX_KEY, least=1), _MAX_KEYS),
                "ifMatch": IF_MATCH,
                "dryRun": DRY_RUN,
            },
        ),
        output_schema=_edited({"absent": list_of(STRING), "absentMore": INTEGER}),
        run=_properties,
    ),
    Tool(
        name="notes_move",
        title="Move a note or folder",
        description="Renames or moves a note, or a folder with all in it, and rewrites the links that led there.",
        changes=True,
        destroys=True,
        repeatable=False,
        asks=False,
        input_schema=arguments(
            {
                **WORKSPACE,
                "path": text("The note or folder", MAX_PATH, least=1),
                "newPath": text("Its whole new path, which is free", MAX_PATH, least=1),
            },
            {"updateLinks": flag("Rewrite links (default true)"), "ifMatch": IF_MATCH, "dryRun": DRY_RUN},
        ),
        output_schema=result(
            {
                "outcome": STRING,
                "path": STRING,
                "newPath": STRING,
                "updated": list_of(result({"path": STRING, "etag": STRING, "links": INTEGER})),
                "leftAlone": list_of(
                    result(
                        {"reason": STRING},
                        {"path": STRING, "line": INTEGER, "link": STRING, "count": INTEGER},
                    )
                ),
            },
            {
                "etag": STRING,
                "notes": INTEGER,
                "updatedMore": INTEGER,
                "leftAloneMore": INTEGER,
                "notKept": list_of(STRING),
            },
        ),
        run=_move,
    ),
    Tool(
        name="notes_delete",
        title="Delete a note",
        description="Moves a note to the trash, after a person has chosen it in a form and confirmed. Do not ask again"
        " after declined.",
        changes=True,
        destroys=True,
        repeatable=False,
        asks=True,
        input_schema=arguments(
            {**WORKSPACE, "title": text("The note's title, a part of it, or its path", 4096, least=1)}
        ),
        output_schema=result(
            {"outcome": {"type": "string", "enum": ["deleted", "declined", "cancelled"]}},
            {"path": STRING, "trashId": STRING},
        ),
        run=_delete,
    ),
    Tool(
        name="notes_restore",
        title="Restore a note",
        description="Puts a deleted note back where it was, or at newPath. It never overwrites.",
        changes=True,
        destroys=False,
        repeatable=False,
        asks=False,
        input_schema=arguments(
            {**WORKSPACE, "trashId": text("trashId from notes_trash or notes_delete", 128, least=1)},
            {"newPath": text("Another path for it", MAX_PATH, least=1)},
        ),
        output_schema=result({"path": STRING, "etag": STRING}),
        run=_restore,
    ),
)
