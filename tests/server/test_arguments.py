"""Arguments against the schemas they are declared by."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fsnotes.errors import InvalidArgument
from fsnotes.failures import describe
from fsnotes.server.arguments import fit
from fsnotes.server.tools import TOOLS
from tests.examples import examples

SCHEMAS = {tool.name: tool.input_schema for tool in TOOLS}
LIST = SCHEMAS["notes_list"]
READ = SCHEMAS["notes_read"]
SET = SCHEMAS["notes_properties"]
W = {"workspaceUri": "file:///w"}
S = {**W, "path": "a"}


@pytest.mark.parametrize(
    ("schema", "arguments", "line"),
    [
        (LIST, {}, "invalid_argument: workspaceUri: required; correct it and call again"),
        (
            LIST,
            {**W, "Folder": ""},
            (
                "invalid_argument: Folder: no such argument, this tool takes workspaceUri, folder, recursive,"
                " glob, tag, sort, limit, cursor; correct it and call again"
            ),
        ),
        (
            SCHEMAS["notes_workspaces"],
            {"a\nb\u202e\0": 1},
            "invalid_argument: a\\nb\\u202e\\x00: no such argument, this tool takes none; correct it and call again",
        ),
        (
            LIST,
            {"workspaceUri": 5},
            "invalid_argument: workspaceUri: must be a string; correct it and call again",
        ),
        (
            SET,
            {**S, "ifMatch": ""},
            "invalid_argument: ifMatch: must not be empty; correct it and call again",
        ),
        (
            LIST,
            {**W, "folder": None},
            "invalid_argument: folder: must be a string; correct it and call again",
        ),
        (
            LIST,
            {**W, "recursive": 1},
            "invalid_argument: recursive: must be true or false; correct it and call again",
        ),
        (
            LIST,
            {**W, "limit": True},
            "invalid_argument: limit: must be a whole number; correct it and call again",
        ),
        (
            LIST,
            {**W, "limit": 1.5},
            "invalid_argument: limit: must be a whole number; correct it and call again",
        ),
        (
            LIST,
            {**W, "limit": "10"},
            "invalid_argument: limit: must be a whole number; correct it and call again",
        ),
        (
            LIST,
            {**W, "limit": 0},
            "invalid_argument: limit: must be from 1 to 200; correct it and call again",
        ),
        (
            LIST,
            {**W, "limit": 10**400},
            "invalid_argument: limit: must be from 1 to 200; correct it and call again",
        ),
        (
            LIST,
            {**W, "sort": "title"},
            "invalid_argument: sort: must be one of path, modified, size; correct it and call again",
        ),
        (SET, {**S, "set": {}}, "invalid_argument: set: must be a list; correct it and call again"),
        (SET, {**S, "unset": "a"}, "invalid_argument: unset: must be a list; correct it and call again"),
        (
            SET,
            {**S, "set": [{"key": "a", "value": "1"}, ["a", "1"]]},
            "invalid_argument: set: item 2: must be an object; correct it and call again",
        ),
        (
            SET,
            {**S, "set": [{"key": "a", "value": 1}]},
            "invalid_argument: set: item 1: value must be a string; correct it and call again",
        ),
        (
            SET,
            {**S, "set": [{"key": "k" * 257, "value": "1"}]},
            "invalid_argument: set: item 1: key must have at most 256 characters; correct it and call again",
        ),
        (
            SET,
            {**S, "set": [{"key": "a"}]},
            "invalid_argument: set: item 1: value is required; correct it and call again",
        ),
        (
            SET,
            {**S, "set": [{"key": "a", "value": "1", "x\n": 1}]},
            "invalid_argument: set: item 1: takes key and value, and not x\\n; correct it and call again",
        ),
        (
            SET,
            {**S, "unset": ["a", None]},
            "invalid_argument: unset: item 2: must be a string; correct it and call again",
        ),
        (
            SET,
            {**S, "unset": ["a"] * 101},
            "invalid_argument: unset: must have at most 100 items; correct it and call again",
        ),
        (
            READ,
            {**W, "path": "a" * 4097},
            "invalid_argument: path: must have at most 4096 characters; correct it and call again",
        ),
    ],
    ids=repr,
)
def test_what_does_not_fit_is_one_line_that_names_the_argument(
    schema: Any, arguments: Any, line: str
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        fit(arguments, schema)
    assert describe(caught.value).line == line


def test_what_fits_is_taken_as_it_is_and_whole_numbers_as_int() -> None:
    arguments = {**W, "folder": "", "recursive": False, "limit": 3.0, "sort": "size"}
    taken = fit(arguments, LIST)
    assert taken == {**W, "folder": "", "recursive": False, "limit": 3, "sort": "size"}
    assert type(taken["limit"]) is int


VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 600)
    | st.sampled_from([1.0, 1.5, 1e300, "", "path", "size", "x" * 9000])
    | st.text(max_size=3)
    | st.lists(st.integers(), max_size=1)
    | st.just({})
    | st.lists(st.text(max_size=2) | st.integers(), min_size=95, max_size=105)
    | st.lists(
        st.dictionaries(
            st.sampled_from(["key", "value", "other"]), st.text(max_size=3) | st.none() | st.integers()
        )
        | st.just({"key": "k", "value": "v"})
        | st.just({"key": "k" * 257, "value": "v"}),
        max_size=3,
    )
)


@pytest.mark.parametrize("name", SCHEMAS)
@settings(max_examples=examples(40, long=150), deadline=None)
@given(data=st.data())
def test_the_small_validator_agrees_with_a_full_one(name: str, data: st.DataObject) -> None:
    schema = SCHEMAS[name]
    known = st.dictionaries(st.sampled_from([*schema["properties"], "other"]), VALUES)
    good = dict.fromkeys(schema.get("required", ()), "x")
    arguments = data.draw(known | known.map(lambda drawn: {**good, **drawn}))
    try:
        fit(arguments, schema)
        fits = True
    except InvalidArgument:
        fits = False
    assert fits == Draft202012Validator(schema).is_valid(arguments)
