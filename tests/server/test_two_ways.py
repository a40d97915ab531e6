"""What every client sends is answered without the SDK, by the same bytes as with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsnotes.server.front import fixed_results
from fsnotes.server.listening import LISTEN, is_plain_listen
from fsnotes.server.methods import methods
from fsnotes.server.plain import is_plain, is_plain_call
from tests.server.conftest import Vault
from tests.server.wire import (
    CAPABILITIES_KEY,
    VERSION_KEY,
    Frame,
    Wire,
    accept,
    call,
    envelope,
    error,
    request,
)

ODD: dict[str, Any] = {"org.example/odd": 1}
"""A member of an envelope that is nobody's business: the SDK is asked, and has nothing against it."""

CLIENT = {"io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1", "title": "C"}}


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    home = tmp_path_factory.mktemp("scripted")
    with Wire([sys.executable, "-m", "tests.server.scripted", str(home), "64"], home=home) as wire:
        yield wire


def has_loaded_the_sdk(wire: Wire) -> bool:
    """Whether the server has; its models come with a shared library."""
    return "pydantic_core" in Path(f"/proc/{wire.process.pid}/maps").read_text()


def odd(frame: Frame) -> Frame:
    """The same request with a member in its envelope that is not as every client sends it."""
    params = frame["params"]
    return {**frame, "params": {**params, "_meta": {**params["_meta"], **ODD}}}


ECHO = ("inputResponses", "requestState")
"""What answers a form. It is taken off before a request is judged, whichever way it goes."""

METHODS = methods(read_only=False)


def is_answered_directly(frame: Frame) -> bool:
    params = {name: value for name, value in frame["params"].items() if name not in ECHO}
    method = METHODS.get(frame["method"])
    if method is not None:
        return method.is_plain(params)
    return {"tools/call": is_plain_call, LISTEN: is_plain_listen}.get(frame["method"], is_plain)(params)


def both(wire: Wire, frame: Frame) -> tuple[bytes, bytes]:
    """Send a request each way; return both answers as they came."""
    assert is_answered_directly(frame)
    assert not is_answered_directly(odd(frame))
    wire.send(frame)
    direct = wire.receive_raw()
    wire.send(odd(frame))
    return direct, wire.receive_raw()


def test_a_server_that_is_asked_what_every_client_asks_never_loads_the_sdk(vault: Vault) -> None:
    vault.write("note.md", "# Title\n\ntext")
    wire = vault.serve("--jail", "off")
    wire.ask(request(1, "server/discover"))
    wire.ask(request(2, "tools/list", meta=envelope(**CLIENT)))
    wire.ask(call(3, "notes_read", vault.args(path="note"), meta=envelope(**CLIENT, progressToken="p")))
    asked = wire.ask(call(4, "notes_delete", vault.args(title="Title")))["result"]
    more = {"requestState": asked["requestState"], "inputResponses": accept("note.md")}
    done = wire.ask(call(5, "notes_delete", vault.args(title="Title"), **more))["result"]
    assert done["structuredContent"]["outcome"] == "deleted"
    wire.ask(call(6, "nothing"))
    wire.ask(request(7, "resources/list"))
    wire.ask(request(8, "prompts/list"))
    assert not has_loaded_the_sdk(wire)
    assert wire.ask(odd(call(9, "notes_trash", vault.args())))["result"]["isError"] is False
    assert has_loaded_the_sdk(wire)


@pytest.mark.parametrize(
    "frame",
    [
        call(1, "notes_read", {"workspaceUri": "file:///w", "path": "text/a\u00e9\u2028"}),
        call("x", "notes_read", {"workspaceUri": "file:///w", "path": "forbidden/a"}),
        call(1, "notes_read", {"workspaceUri": "file:///w", "path": "crash/a"}),
        call(1, "notes_read", {"workspaceUri": "file:///w", "path": "exit/a"}),
        call(1, "notes_read", {"workspaceUri": "file:///w", "path": "recursion/a"}),
        call(1, "notes_read", {"workspaceUri": "file:///w", "path": "surrogate/a"}),
        call(1, "notes_read", {"workspaceUri": "file:///w", "path": "long/50000"}),
        call(1, "notes_read", {"workspaceUri": "file:///w", "path": "call/me"}),
        call(1, "notes_read", {"workspaceUri": 5}),
        call(1, "notes_read", {"more": 5}),
        call(1, "notes_read"),
        call(1, "nothing"),
        call(1, ""),
        call(1, "notes_delete", {"workspaceUri": "file:///w", "title": "t"}),
        call(1, "notes_delete", {"workspaceUri": "file:///w", "title": "t"}, meta=envelope({})),
        call(1, "notes_delete", {"workspaceUri": "file:///w", "title": "t"}, meta=envelope({"sampling": {}})),
        call(1, "notes_delete", {"workspaceUri": "file:///w", "title": "t"}, requestState="s", inputResponses={}),
        call(1, "notes_delete", {"workspaceUri": "file:///w", "title": "t"}, requestState="s", inputResponses=[]),
        call(1, "notes_delete", {"workspaceUri": "file:///w", "title": "t"}, requestState=None, inputResponses=None),
        call(1, "notes_read", {"workspaceUri": "file:///w", "path": "text/a"}, requestState="s"),
    ],
    ids=lambda frame: json.dumps(frame["params"])[:60],
)  # fmt: skip
def test_a_call_is_answered_by_the_same_bytes_both_ways(scripted: Wire, frame: Frame) -> None:
    direct, judged = both(scripted, frame)
    assert direct == judged


def test_a_form_is_the_same_both_ways(vault: Vault) -> None:
    for name in ("one", "two", "three"):
        vault.write(f"{name}.md", "# Same title")
    wire = vault.serve("--jail", "off")
    direct, judged = (
        answer.replace(json.loads(answer)["result"]["requestState"].encode(), b"sealed")
        for answer in both(wire, call(1, "notes_delete", vault.args(title="Same title")))
    )
    assert direct == judged


def completion(ref: dict[str, str], name: str, value: str, **more: Any) -> tuple[str, dict[str, Any]]:
    kind = "ref/resource" if "uri" in ref else "ref/prompt"
    argument = {"name": name, "value": value}
    return "completion/complete", {"ref": {"type": kind, **ref}, "argument": argument, **more}


LIBRARY = [
    ("server/discover", {}),
    ("tools/list", {}),
    ("prompts/list", {}),
    ("resources/list", {}),
    ("resources/list", {"cursor": "forged"}),
    ("resources/list", {"cursor": ""}),
    ("resources/templates/list", {}),
    ("resources/templates/list", {"cursor": "forged"}),
    ("resources/read", {"uri": "$/b%C3%A9.md"}),
    ("resources/read", {"uri": "$/bad.md"}),
    ("resources/read", {"uri": "$/none.md"}),
    ("resources/read", {"uri": ""}),
    ("resources/read", {"uri": "file:///" + "x" * 3_000}),
    completion({"uri": "$/{+path}"}, "path", "b"),
    completion({"uri": "$/{+path}"}, "p", "b"),
    completion({"uri": "x"}, "path", "b"),
    completion({"name": "daily_note"}, "timeZone", "Berl"),
    completion({"name": "none"}, "x", ""),
    completion({"name": "find_related"}, "path", "b", context={"arguments": {"workspaceUri": "$"}}),
    ("prompts/get", {"name": "find_related", "arguments": {"workspaceUri": "$", "path": "b\u00e9\u2028.md"}}),
    ("prompts/get", {"name": "find_related", "arguments": {"workspaceUri": "file:///x", "path": "a"}}),
    ("prompts/get", {"name": "find_related"}),
    ("prompts/get", {"name": "none", "arguments": {}}),
]  # fmt: skip


def filled(value: Any, uri: str) -> Any:
    """The same with *uri* for each `$`."""
    return json.loads(json.dumps(value).replace("$", uri))


EVERY = [*((method, params) for method, params in LIBRARY if "none" not in str(params)),
         ("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["$/a.md"]}}),
         ("tools/call", {"name": "notes_workspaces", "arguments": {}}),
         ("tools/call", {"name": "notes_read", "arguments": {"path": 5}})]  # fmt: skip


def test_a_state_that_nobody_asked_for_is_refused_alike_everywhere_and_logged(vault: Vault) -> None:
    vault.write("b\u00e9.md", "text")
    wire = vault.serve("--jail", "off")
    log = vault.state / "private" / "audit.jsonl"
    asked: list[str] = []
    for method, params in EVERY:
        for state in ("forged", 5, [], {}, ""):
            frame = request(1, method, {**filled(params, vault.uri), "requestState": state})
            direct, judged = both(wire, frame)
            assert direct == judged
            assert json.loads(direct) == error(1, -32602, "Invalid or expired requestState"), (method, state)
            asked += [params.get("name", method) if method == "tools/call" else method] * 2
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["tool"], line["outcome"]) for line in lines] == [(tool, "invalid_state") for tool in asked]
    assert {method for method, _ in EVERY} == {
        *METHODS,
        *fixed_results(read_only=False),
        LISTEN,
        "tools/call",
    }


def test_answers_that_are_none_are_refused_alike_everywhere(running: Vault) -> None:
    for method, params in EVERY:
        frame = request(1, method, {**filled(params, running.uri), "inputResponses": ["forged"]})
        direct, judged = both(running.wire, frame)
        assert direct == judged
        assert json.loads(direct) == error(1, -32602, "Invalid inputResponses"), method


def test_answers_alone_and_nulls_make_no_difference(running: Vault) -> None:
    """What a client sends of its own accord answers nothing, so the request is the one without it."""
    for method, params in LIBRARY:
        frame = request(1, method, filled(params, running.uri))
        running.wire.send(frame)
        expected = running.wire.receive_raw()
        for more in ({"inputResponses": accept("a.md")}, {"inputResponses": None, "requestState": None}):
            told = {**frame, "params": {**frame["params"], **more}}
            assert both(running.wire, told) == (expected, expected), method


def test_what_is_no_call_is_answered_by_the_same_bytes_both_ways(running: Vault) -> None:
    vault = running
    vault.write("b\u00e9.md", "# Title\n\ntext \u2028 \U0001f600\n")
    (vault.folder / "bad.md").write_bytes(b"\xff")
    wire = vault.wire
    for method, params in LIBRARY:
        direct, judged = both(wire, request(1, method, filled(params, vault.uri)))
        assert direct == judged, method
        assert b'"code":-32603' not in direct


CACHED = {
    "server/discover": ("public", 3_600_000),
    "tools/list": ("public", 3_600_000),
    "prompts/list": ("public", 3_600_000),
    "resources/list": ("private", 5_000),
    "resources/templates/list": ("private", 3_600_000),
    "resources/read": ("private", 0),
}


def test_each_list_and_text_says_how_long_and_by_whom_it_may_be_kept(running: Vault) -> None:
    """The specification's page on caching; no other result says so. Older revisions have none of it."""
    vault = running
    vault.write("b\u00e9.md", "text")
    seen = set()
    for method, params in LIBRARY:
        for answer in both(vault.wire, request(1, method, filled(params, vault.uri))):
            result = json.loads(answer).get("result")
            if result is not None:
                assert (result.get("cacheScope"), result.get("ttlMs")) == CACHED.get(method, (None, None))
                seen.add(method)
    assert seen >= CACHED.keys()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/list", {"cursor": 5}),
        ("resources/read", {}),
        ("resources/read", {"uri": 5}),
        ("completion/complete", {"ref": {"type": "ref/resource"}, "argument": {"name": "path", "value": ""}}),
        ("completion/complete", {"ref": {"type": "ref/x", "uri": "x"}, "argument": {"name": "p", "value": ""}}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "path"}}),
        ("completion/complete", {"ref": 5, "argument": {"name": "path", "value": ""}}),
        ("prompts/get", {"arguments": {}}),
        ("prompts/get", {"name": "find_related", "arguments": {"path": 5}}),
        ("prompts/get", {"name": "find_related", "arguments": []}),
        ("prompts/list", {"cursor": "x"}),
        ("tools/list", {"cursor": "x"}),
        ("resources/read", {"requestState": None}),
        ("resources/list", {"cursor": 5, "inputResponses": {}}),
    ],
    ids=str,
)  # fmt: skip
def test_malformed_params_are_left_to_the_sdk_which_refuses_them(
    scripted: Wire, method: str, params: dict[str, Any]
) -> None:
    frame = request(1, method, params)
    assert not is_answered_directly(frame)
    assert scripted.ask(frame)["error"]["code"] == -32602


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/list", {"cursor": None}),
        ("completion/complete", {"ref": {"name": "daily_note"}, "argument": {"name": "timeZone", "value": "Utc"}}),
        ("prompts/get", {"name": "find_related", "arguments": None}),
    ],
    ids=str,
)  # fmt: skip
def test_odd_params_that_the_sdk_lets_pass_are_answered(
    running: Vault, method: str, params: dict[str, Any]
) -> None:
    """The SDK's models take a null for what is left out, and a reference without its type."""
    frame = request(1, method, params)
    assert not is_answered_directly(frame)
    answer = running.wire.ask(frame)
    assert answer.get("error", {"code": -32602})["code"] == -32602


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab_$é", max_size=4), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
NAMES = st.sampled_from(["workspaceUri", "path", "title", "content", "ifMatch", "startLine", "limit", "more"])
ECHOES = st.fixed_dictionaries({}, optional={"requestState": VALUES, "inputResponses": VALUES})
METAS = st.fixed_dictionaries(
    {
        VERSION_KEY: st.just(envelope()[VERSION_KEY]),
        CAPABILITIES_KEY: st.sampled_from(
            [{}, {"elicitation": {}}, {"elicitation": {"form": {}}}, {"roots": {}, "sampling": {"tools": {}}}]
        ),
    },
    optional={
        "progressToken": st.integers() | st.text("p", max_size=3),
        "traceparent": st.text("0a-", max_size=3) | st.just(f"00-{'a' * 32}-{'b' * 16}-01"),
        "tracestate": st.text("a=", max_size=3),
        **{name: st.just(client) for name, client in CLIENT.items()},
    },
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    id_=st.integers(0, 2**53) | st.text("i\u00e9", min_size=1, max_size=3),
    tool=st.sampled_from(["notes_read", "notes_delete", "notes_list", "nothing"]),
    arguments=st.dictionaries(NAMES, VALUES | st.just("file:///w") | st.just("text/a"), max_size=5),
    echo=ECHOES,
    meta=METAS,
)
def test_whatever_is_called_both_ways_answer_the_same(
    scripted: Wire, id_: Any, tool: str, arguments: dict[str, Any], echo: dict[str, Any], meta: dict[str, Any]
) -> None:
    direct, judged = both(scripted, call(id_, tool, arguments, meta=meta, **echo))
    assert direct == judged


@pytest.mark.parametrize(
    "change",
    [
        {"name": 5},
        {"name": None},
        {"arguments": []},
        {"arguments": None},
        {"arguments": "x"},
        {"task": {}},
        {"_meta": {**envelope(), "progressToken": {}}},
        {"_meta": {**envelope(), "progressToken": True}},
        {"_meta": {**envelope(), "progressToken": 1.5}},
        {"_meta": {**envelope(), "traceparent": 5}},
        {"_meta": {**envelope(), "io.modelcontextprotocol/clientInfo": {"name": "c"}}},
        {"_meta": {**envelope(), "io.modelcontextprotocol/logLevel": "debug"}},
        {"_meta": envelope({"elicitation": None})},
        {"_meta": envelope({"elicitation": {"form": 5}})},
        {"_meta": envelope({"experimental": {}})},
    ],
    ids=json.dumps,
)
def test_what_may_be_malformed_is_left_to_the_sdk(scripted: Wire, change: dict[str, Any]) -> None:
    """And it refuses what is, or serves the call; either way it is answered."""
    frame = call(1, "notes_read", {"workspaceUri": "file:///w", "path": "text/a"})
    frame = {**frame, "params": {**frame["params"], **change}}
    assert not is_plain_call(frame["params"])
    answer = scripted.ask(frame)
    assert "result" in answer or answer["error"]["code"] == -32602


def test_a_request_with_more_than_an_envelope_is_not_plain() -> None:
    assert is_plain({"_meta": envelope()})
    assert not is_plain({"_meta": envelope(), "cursor": None})
    assert not is_plain({})
