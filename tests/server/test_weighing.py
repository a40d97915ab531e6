"""What a request says beside its arguments is bounded before anybody's models look into it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fsnotes.access import Principal
from fsnotes.server.flights import Flight
from fsnotes.server.frames import Request
from fsnotes.server.front import Front
from fsnotes.server.weighing import MOST_TEXT, MOST_VALUES, is_overweight
from tests.server.wire import call, envelope

CLIENT = "io.modelcontextprotocol/clientInfo"


def client(**more: Any) -> dict[str, Any]:
    return {"_meta": envelope(**{CLIENT: {"name": "a", "version": "1", **more}})}


def wide(count: int) -> dict[str, Any]:
    return {"_meta": {"x": [1] * count}}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", wide(MOST_VALUES - 1)),
        ("tools/list", client(icons=[{"src": "x"}] * 500)),
        ("tools/list", client(icons=[{"src": "x", "sizes": [1] * MOST_VALUES}])),
        ("tools/list", client(name="x" * MOST_TEXT)),
        ("tools/list", client(**{"x" * MOST_TEXT: 1})),
        ("tools/list", {"_meta": envelope(), "cursor": "x" * (MOST_TEXT + 1)}),
        ("tools/list", {"_meta": envelope(), "arguments": {"x": [1] * MOST_VALUES}}),
        ("tools/call", {"name": "notes_list", "arguments": [1] * MOST_VALUES}),
        ("tools/call", {"name": "x" * (MOST_TEXT + 1), "arguments": {}}),
        ("tools/call", {"name": "x", **{str(number): 1 for number in range(MOST_VALUES)}}),
    ],
    ids=range(10),
)
def test_more_than_anybody_needs_to_say_is_refused_and_no_model_sees_it(
    method: str, params: dict[str, Any]
) -> None:
    assert is_overweight(method, params)

    def loaded() -> Any:
        raise AssertionError

    front = Front(cast("Any", SimpleNamespace()), loaded, read_only=False)
    whole = {**params, "_meta": {**envelope(), **params.get("_meta", {})}}
    answer = asyncio.run(front.answer(Request(1, method, whole), Flight(Principal("local:x"))))
    assert answer["error"]["code"] == -32602
    assert not front.is_loading


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", wide(MOST_VALUES - 2)),
        ("tools/list", client(icons=[{"src": "x"}] * 300)),
        ("tools/list", client(title="x" * (MOST_TEXT - 1_000))),
        ("tools/call", call(1, "notes_create", {"content": "x" * 1_000_000})["params"]),
        ("tools/call", call(1, "notes_create", {"content": [1] * 1_000_000})["params"]),
        ("tools/call", call(1, "x", {}, requestState="x" * 1_000_000, inputResponses={"a": [1] * 9_999})["params"]),
        ("tools/list", {}),
    ],
    ids=range(7),
)  # fmt: skip
def test_what_holds_notes_or_answers_a_form_may_be_as_long_as_a_frame(
    method: str, params: dict[str, Any]
) -> None:
    assert not is_overweight(method, params)


def test_no_more_is_looked_at_than_is_needed_to_say_so() -> None:
    looked = 0

    class Counted(list[Any]):
        def __iter__(self) -> Any:
            nonlocal looked
            for value in super().__iter__():
                looked += 1
                yield value

    for size in (10 * MOST_VALUES, 1_000 * MOST_VALUES):
        assert is_overweight("tools/list", {"_meta": {"x": Counted([1] * size)}})
    assert looked == 0
    assert is_overweight("tools/list", {"_meta": {"x": Counted([[1] * 100] * 900)}})
    assert looked <= MOST_VALUES
