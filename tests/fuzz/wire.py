"""Frames, and requests that are answered in two ways."""

from __future__ import annotations

import asyncio
import json
import math
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

from fsnotes.access import Principal
from fsnotes.errors import NotAllowed
from fsnotes.server.calling import Caller
from fsnotes.server.envelope import CAPABILITIES_KEY, VERSION_KEY, Refusal, open_envelope
from fsnotes.server.flights import Flight
from fsnotes.server.frames import (
    MAX_COMMAS,
    MAX_DEPTH,
    NOT_JSON,
    Broken,
    LineSplitter,
    Notification,
    Request,
    Response,
    encode,
    error_message,
    parse_frame,
)
from fsnotes.server.front import Front
from fsnotes.server.method import Method
from fsnotes.server.methods import methods
from fsnotes.server.plain import is_plain, is_plain_call
from fsnotes.server.weighing import is_overweight
from tests.fuzz.supply import Supply
from tests.server.scripted import ScriptedService


def frames(data: bytes) -> None:
    """A line is the frame that a plain reading says, or none; whatever it is, it can be answered and judged."""
    frame = parse_frame(data)
    _check_lines(data)
    try:
        message = _read(data)
    except (ValueError, RecursionError):
        assert frame == NOT_JSON
        return
    assert frame != NOT_JSON
    has_method = isinstance(message, dict) and isinstance(message.get("method"), str)
    if isinstance(frame, Broken | Request) and frame.id is not None:
        assert type(frame.id) in (int, str)
        assert message["id"] == frame.id
    match frame:
        case Broken():
            line = encode(error_message(frame.id, frame.code, frame.message))
            assert line.isascii()
            assert line.count(b"\n") == 1
        case Request():
            assert has_method
            assert message["jsonrpc"] == "2.0"
            assert message.get("params") == frame.params
            again: dict[str, Any] = {"jsonrpc": "2.0", "id": frame.id, "method": frame.method}
            if frame.params is not None:
                again["params"] = frame.params
            assert parse_frame(encode(again)[:-1]) == frame
            _judge(frame)
        case Notification():
            assert has_method
            assert "id" not in message
        case Response():
            assert "method" not in message


def _judge(request: Request) -> None:
    """What is asked of a request before anything is done for it raises nothing, and refuses in what can be sent."""
    envelope = open_envelope(request.method, request.params)
    if isinstance(envelope, Refusal):
        encode(error_message(request.id, envelope.code, envelope.message, envelope.data))
        return
    params = request.params or {}
    is_overweight(request.method, params)
    is_plain(params)
    is_plain_call(params)
    for method in _METHODS.values():
        method.is_plain(params)


_METHODS = methods(read_only=False)


def _read(data: bytes) -> Any:
    """Read strict JSON, with the rules of the contract in the plainest way. Raises ValueError."""
    if data.count(b",") > MAX_COMMAS:
        raise ValueError

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) != len(pairs):
            raise ValueError
        return dict(pairs)

    def never(_: str) -> None:
        raise ValueError

    value = json.loads(data.decode("utf-8"), object_pairs_hook=members, parse_constant=never)
    waiting = [(value, 1)]
    while waiting:
        each, depth = waiting.pop()
        if isinstance(each, str):
            each.encode()  # UnicodeEncodeError is a ValueError
        elif isinstance(each, float) and not math.isfinite(each):
            raise ValueError
        elif isinstance(each, dict | list):
            if depth > MAX_DEPTH:
                raise ValueError
            items = [*each, *each.values()] if isinstance(each, dict) else each
            waiting += [(item, depth + 1) for item in items]
    return value


def _check_lines(data: bytes) -> None:
    """A stream is cut into the same lines however it arrives."""
    limit, size = 24, 1 + len(data) % 7
    expected: list[bytes | None] = [line if len(line) <= limit else None for line in data.split(b"\n")]
    if expected[-1] == b"":
        expected.pop()
    splitter = LineSplitter(limit)
    found: list[bytes | None] = []
    for start in range(0, len(data), size):
        found += splitter.feed(data[start : start + size])
    assert found + splitter.end() == expected


# -- both ways -----------------------------------------------------------------------------------

_TOOLS = (
    "notes_read",
    "notes_delete",
    "notes_list",
    "notes_create",
    "notes_edit",
    "notes_properties",
    "none",
    "",
)
_ASKED = ("server/discover", "tools/list", "prompts/list", "resources/list", "resources/read", "prompts/get",
          "completion/complete", "resources/templates/list", "none")  # fmt: skip
_WORDS = (
    "workspaceUri", "path", "title", "content", "file:///w", "text/a", "crash/a", "call/me", "surrogate/a", "uri",
    "ref", "type", "ref/prompt", "ref/resource", "name", "argument", "arguments", "value", "cursor", "find_related",
    "daily_note", "timeZone", "context", "requestState", "inputResponses", "startLine", "ifMatch", "set", "unset",
    "é\u2028",
)  # fmt: skip
_VERSION = "2026-07-28"
_CAPABILITIES: tuple[dict[str, Any], ...] = (
    {"elicitation": {"form": {}}}, {}, {"elicitation": {}}, {"elicitation": {"url": {}}}, {"roots": {}},
    {"sampling": {"tools": {}}},
)  # fmt: skip


class _Scripted(ScriptedService):
    """The service of the tests of servers, of which nothing waits, writes or ends."""

    def read(self, call: Any, workspace_uri: str, path: str, **part: Any) -> Any:
        kind = path.partition("/")[0]
        return super().read(
            call, workspace_uri, path if kind in ("call", "surrogate", "forbidden") else "text", **part
        )

    def create(self, call: Any, workspace_uri: str, path: str, content: str) -> Any:
        raise NotAllowed

    def __getattr__(self, name: str) -> Any:
        def refuse(*_: Any, **__: Any) -> Any:
            raise NotAllowed

        return refuse


@cache
def _front() -> tuple[Front, asyncio.AbstractEventLoop]:
    from fsnotes.server.kernel import Kernel  # loads the SDK

    service = cast("Any", _Scripted(Path(tempfile.gettempdir())))
    caller = Caller(service, read_only=False, max_calls=4)
    front = Front(caller, partial(Kernel, caller), read_only=False)
    return front, asyncio.new_event_loop()


def ways(data: bytes) -> None:
    """A request is answered by the same bytes with and without the SDK, and never by a crash of ours."""
    supply = Supply(data)
    called = supply.flag()
    method = "tools/call" if called else supply.pick(_ASKED)
    params: dict[str, Any] = {}
    if called:
        params["name"] = supply.pick(_TOOLS)
        if not supply.flag():
            params["arguments"] = {supply.pick(_WORDS): supply.json(_WORDS) for _ in range(supply.below(5))}
    for _ in range(supply.below(4)):
        params[supply.pick(_WORDS)] = supply.json(_WORDS)
    meta: dict[str, Any] = {VERSION_KEY: _VERSION, CAPABILITIES_KEY: supply.pick(_CAPABILITIES)}
    if supply.flag():
        meta[supply.pick(("progressToken", "traceparent", "tracestate"))] = supply.json(_WORDS, depth=0)
    id_ = supply.pick((1, "x", -5, 2**70, ""))
    frame = parse_frame(_line(id_, method, {**params, "_meta": meta}))
    if not isinstance(frame, Request):
        return  # a half of a character, a name twice: no frame at all
    direct = _answer(frame)
    if _is_direct(frame):
        odd = _line(id_, method, {**params, "_meta": {**meta, "org.example/odd": 1}})
        asked = parse_frame(odd)
        assert isinstance(asked, Request)
        assert _answer(asked) == direct
    answer = json.loads(direct)
    assert answer["id"] == id_
    assert ("result" in answer) != ("error" in answer)
    assert "error" not in answer or answer["error"]["code"] in (-32601, -32602, -32021), direct


def _is_direct(request: Request) -> bool:
    method: Method | None = _METHODS.get(request.method)
    params = request.params or {}
    if method is not None:
        return method.is_plain(params)
    return (is_plain_call if request.method == "tools/call" else is_plain)(params)


def _line(id_: Any, method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode()


def _answer(request: Request) -> bytes:
    front, loop = _front()
    flight = Flight(Principal("local:fuzz"))
    return encode(loop.run_until_complete(front.answer(request, flight)))
