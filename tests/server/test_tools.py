"""The descriptors: what every client is shown, and what makes some clients refuse a tool."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fsnotes.config import WorkspaceSettings
from fsnotes.policies import policies
from fsnotes.server.front import tool_list
from fsnotes.server.tool import Tool
from fsnotes.server.tools import TOOLS, offered
from sandbox.policy import Quota

NAMES = [
    "notes_workspaces",
    "notes_list",
    "notes_read",
    "notes_search",
    "notes_create",
    "notes_edit",
    "notes_append",
    "notes_properties",
    "notes_move",
    "notes_links",
    "notes_tags",
    "notes_delete",
    "notes_trash",
    "notes_restore",
]
MAX_BYTES = 15_000

each_tool = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)


def schemas_within(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from schemas_within(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from schemas_within(value)


def test_the_order_is_fixed_and_read_only_leaves_out_what_changes_things() -> None:
    assert [tool.name for tool in offered(read_only=False)] == NAMES
    assert [tool.name for tool in offered(read_only=True)] == [
        "notes_workspaces",
        "notes_list",
        "notes_read",
        "notes_search",
        "notes_links",
        "notes_tags",
        "notes_trash",
    ]


def test_the_whole_list_is_small() -> None:
    result = json.dumps(tool_list(read_only=False), ensure_ascii=False, separators=(",", ":"))
    assert len(result.encode()) < MAX_BYTES


@each_tool
def test_a_tool_is_described_in_one_to_three_sentences(tool: Tool) -> None:
    shape = tool.descriptor()
    assert shape["title"]
    sentences = re.findall(r"[.:?!](?:\s|$)", shape["description"].replace("file://", ""))
    assert 1 <= len([mark for mark in sentences if not mark.startswith(":")]) <= 3
    assert shape["annotations"].keys() == {
        "readOnlyHint",
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
    }
    assert all(isinstance(hint, bool) for hint in shape["annotations"].values())


@pytest.mark.kind("schemas")
@each_tool
def test_arguments_are_described_so_that_every_client_takes_them(tool: Tool) -> None:
    schema = tool.input_schema
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert set(schema.get("required", ())) <= set(schema["properties"])
    assert list(schema["properties"])[: len(schema.get("required", ()))] == list(schema.get("required", ()))
    forbidden = {"$ref", "$defs", "anyOf", "oneOf", "allOf", "not", "if", "patternProperties"}
    assert all(not (part.keys() & forbidden) for part in schemas_within(schema))
    for rule in schema["properties"].values():
        assert rule["description"]
        match rule["type"]:
            case "string":
                assert isinstance(rule["maxLength"], int)
            case "integer":
                assert {"minimum", "maximum"} <= rule.keys()
            case "array":
                assert isinstance(rule["maxItems"], int)
                assert rule["items"]["type"] in ("string", "object")
                if rule["items"]["type"] == "object":
                    assert rule["items"]["additionalProperties"] is False
                    assert {each["type"] for each in rule["items"]["properties"].values()} == {"string"}
            case kind:
                assert kind == "boolean"


@each_tool
def test_what_a_client_is_told_of_arguments_is_what_is_checked_but_for_lengths(tool: Tool) -> None:
    shown = tool.descriptor()["inputSchema"]
    Draft202012Validator.check_schema(shown)
    bounds = {"minLength", "maxLength"}
    assert all(not (part.keys() & bounds) for part in schemas_within(shown))
    for told, checked in zip(schemas_within(shown), schemas_within(tool.input_schema), strict=True):
        assert told.keys() == checked.keys() - bounds


@each_tool
def test_what_a_client_is_told_of_results_says_what_is_always_there(tool: Tool) -> None:
    shown = tool.descriptor().get("outputSchema")
    if tool.output_schema is None:
        assert shown is None
        return
    Draft202012Validator.check_schema(shown)
    assert shown["required"] == tool.output_schema["required"]
    assert shown["properties"].keys() == tool.output_schema["properties"].keys()
    assert [part for part in schemas_within(shown) if "required" in part] == [shown]
    for name, part in shown["properties"].items():
        if part["type"] == "array":
            assert part["items"] == {"type": tool.output_schema["properties"][name]["items"]["type"]}


@pytest.mark.kind("schemas")
@each_tool
def test_results_are_described_tersely_and_a_notes_text_not_at_all(tool: Tool) -> None:
    schema = tool.output_schema
    assert (schema is None) == (tool.name == "notes_read")
    if schema is not None:
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert all("description" not in part and "$ref" not in part for part in schemas_within(schema))


@each_tool
def test_a_tool_takes_a_workspace_except_the_first(tool: Tool) -> None:
    named = tool.input_schema.get("required", [])[:1] == ["workspaceUri"]
    assert named == (tool.name != "notes_workspaces")


def test_policies_with_and_without_bounds_fit_their_schema() -> None:
    schema = next(tool.output_schema for tool in TOOLS if tool.name == "notes_workspaces")
    assert schema is not None
    shape = schema["properties"]["workspaces"]["items"]["properties"]["policies"]
    for quota in (Quota(), Quota(1, 2, 3)):
        shown = policies(WorkspaceSettings("Notes", "/notes", "/notes", quota=quota))
        assert Draft202012Validator(shape).is_valid(shown)
        assert shown.keys() <= shape["properties"].keys()
        assert not Draft202012Validator(shape).is_valid({**shown, "maxEntries": "many"})


def test_every_outcome_of_a_deletion_fits_its_schema() -> None:
    schema = next(tool.output_schema for tool in TOOLS if tool.name == "notes_delete")
    assert schema is not None
    check = Draft202012Validator(schema)
    for document in (
        {"outcome": "deleted", "path": "a.md", "trashId": "t"},
        {"outcome": "declined"},
        {"outcome": "cancelled"},
    ):
        assert check.is_valid(document)
    assert not check.is_valid({"outcome": "kept"})
    assert not check.is_valid({})
