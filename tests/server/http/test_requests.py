"""How a message is carried: its type, its size, its form, the headers that repeat it, and the status of its answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fsnotes.server.frames import encode
from tests.server.http.conftest import Served
from tests.server.http.raw import BOTH, Answer, Fields, Raw, ping, posted
from tests.server.wire import ROOT, VERSION, VERSION_KEY, call, envelope, request

LIMIT = 65_536


def versioned(version: Any) -> dict[str, Any]:
    return request(1, "server/discover", meta=envelope(version=version))


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "APPLICATION/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json ; charset=utf-8",
    ],
)
def test_json_in_utf_8_is_taken(raw: Raw, kind: str) -> None:
    assert raw.post(ping(), {"Content-Type": kind}).status == 200


@pytest.mark.parametrize(
    "fields",
    [
        {"Content-Type": None},
        {"Content-Type": "application/jsonpzzz"},
        {"Content-Type": "application/json-rpc"},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json; charset=utf-16"},
        {"Content-Type": "application/json; charset=utf-8; charset=utf-16"},
        {"Content-Type": "application/json, text/plain"},
        {"Content-Type": "application/json\r\nContent-Type: application/json"},
        {"Content-Encoding": "gzip"},
        {"Content-Encoding": "identity"},
        {"Content-Encoding": ""},
    ],
)
def test_another_media_type_and_any_coding_are_refused(raw: Raw, fields: Fields) -> None:
    assert raw.post(ping(), fields).status == 415


@pytest.mark.parametrize(
    "accept", [BOTH, "application/json", "*/*", "application/*;q=0.1", None, "text/html, */*"]
)
def test_whoever_takes_json_is_answered(raw: Raw, accept: str | None) -> None:
    assert raw.post(ping(), {"Accept": accept}).status == 200


@pytest.mark.parametrize(
    "accept",
    [
        "text/html",
        "text/event-stream",
        "application/json;q=0",
        "*/*, application/json;q=0.000",
        "",
        "application/jsonx",
    ],
)
def test_whoever_takes_no_json_is_told_so(raw: Raw, accept: str) -> None:
    assert raw.post(ping(), {"Accept": accept}).status == 406


def padded(size: int) -> bytes:
    """A good request of *size* bytes."""
    bare = json.dumps(ping()).encode()
    return bare + b" " * (size - len(bare))


def chunked(data: bytes, size: int) -> bytes:
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def post_chunked(raw: Raw, data: bytes, size: int) -> Answer:
    head = posted(ping(), {"Content-Length": None, "Transfer-Encoding": "chunked"}, port=raw.port)
    raw.send(head.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" + chunked(data, size))
    return raw.read()


def named(data: bytes) -> dict[str, str | None]:
    return {"MCP-Protocol-Version": VERSION, "Mcp-Method": "server/discover"}


@pytest.mark.parametrize("size", [1, 7, 65_536])
def test_a_chunked_body_is_read(raw: Raw, size: int) -> None:
    data = json.dumps(ping()).encode()
    assert post_chunked(raw, data, size).message["id"] == 1
    assert raw.post(ping(2)).message["id"] == 2


def test_a_message_may_be_as_long_as_the_limit(raw: Raw) -> None:
    data = padded(LIMIT)
    assert raw.post(data, named(data)).status == 200
    assert post_chunked(raw, data, 4096).status == 200


@pytest.mark.parametrize("way", ["declared", "chunked"])
def test_one_byte_more_is_too_large(raw: Raw, way: str) -> None:
    data = padded(LIMIT + 1)
    answer = raw.post(data, named(data)) if way == "declared" else post_chunked(raw, data, 4096)
    assert (answer.status, answer.field("connection")) == (413, "close")
    assert answer.message == {"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}}


def test_a_declared_length_is_refused_before_anything_of_it_is_read(raw: Raw) -> None:
    raw.send(posted(b"", {"Content-Length": str(10**12)}, port=raw.port))
    assert raw.read().status == 413


def test_a_client_that_waits_with_its_body_is_told_to_go_on_only_where_it_will_be_read(raw: Raw) -> None:
    data = json.dumps(ping()).encode()
    head, _, body = posted(ping(), {"Expect": "100-continue"}, port=raw.port).partition(b"\r\n\r\n")
    raw.send(head + b"\r\n\r\n")
    assert raw.head() == (100, [])
    raw.send(body)
    assert raw.read().status == 200
    head = posted(b"", {"Expect": "100-continue", "Content-Length": str(LIMIT + 1)}, port=raw.port)
    raw.send(head)
    assert raw.read().status == 413
    assert data == body


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}',
        b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}',
        b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
        b'{"jsonrpc":"2.0","id":1,"method":"a","params":NaN}',
        json.dumps(ping()).encode("utf-16"),
        b"\xef\xbb\xbf" + json.dumps(ping()).encode(),
        b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":' + b"[" * 64 + b"]" * 64 + b"}}",
        b'{"jsonrpc":"2.0","id":1,"method":"a"}{}',
    ],
)
def test_what_is_not_strict_json_is_answered_without_an_id(raw: Raw, body: bytes) -> None:
    answer = raw.post(body)
    assert (answer.status, answer.message) == (
        400,
        {"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}},
    )
    assert raw.post(ping()).status == 200


@pytest.mark.parametrize(
    ("body", "id_"),
    [
        (b"[]", None),
        (json.dumps([ping()]).encode(), None),
        (b"3", None),
        (b'{"jsonrpc":"1.0","id":7,"method":"a"}', 7),
        (b'{"jsonrpc":"2.0","id":"x","method":5}', "x"),
        (b'{"jsonrpc":"2.0","id":7,"method":"a","params":[]}', 7),
        (b'{"jsonrpc":"2.0","id":null,"method":"a"}', None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"a"}', None),
    ],
)
def test_json_that_is_no_request_is_answered_with_the_id_that_it_has(raw: Raw, body: bytes, id_: Any) -> None:
    answer = raw.post(body)
    assert (answer.status, answer.code, answer.message.get("id")) == (400, -32600, id_)


@pytest.mark.parametrize("more", [{"result": {}}, {"error": {"code": 1, "message": "x"}}])
def test_an_answer_to_nothing_gets_no_message(raw: Raw, more: dict[str, Any]) -> None:
    answer = raw.post({"jsonrpc": "2.0", "id": 1, **more})
    assert (answer.status, answer.field("content-type")) == (400, "text/plain; charset=utf-8")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"MCP-Protocol-Version": None, "Mcp-Method": None, "Mcp-Name": None},
        {"MCP-Protocol-Version": "2025-11-25", "Mcp-Method": "other", "Mcp-Name": "=?base64?!?="},
        {"Accept": None},
        {"Accept": "text/html"},
    ],
)
def test_a_message_without_an_id_is_accepted_and_does_nothing(
    plain: Served, raw: Raw, fields: Fields
) -> None:
    arguments = {"workspaceUri": "file:///x", "path": "unborn.md", "content": "x"}
    body = call(None, "notes_create", arguments)
    del body["id"]
    answer = raw.post(body, fields)
    assert (answer.status, answer.body, answer.field("content-length")) == (202, b"", "0")
    assert answer.field("content-type") is None
    done = raw.call("notes_create", {**arguments, "path": "born.md"})
    assert (done.status, "error" in done.message) == (200, False)
    assert [(plain.folder / name).exists() for name in ("unborn.md", "born.md")] == [False, True]


@pytest.mark.parametrize("method", ["notifications/cancelled", "notifications/foo", "server/discover"])
def test_any_notification_is_accepted(raw: Raw, method: str) -> None:
    assert raw.post({"jsonrpc": "2.0", "method": method}).status == 202


@pytest.mark.parametrize(
    "body",
    [
        {"jsonrpc": "2.0", "id": 1, "method": "server/discover"},
        {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}},
        versioned(5),
        versioned(None),
    ],
)
@pytest.mark.parametrize("header", [None, VERSION, "2025-11-25"])
def test_a_body_without_a_version_is_judged_before_the_header(
    raw: Raw, body: dict[str, Any], header: str | None
) -> None:
    answer = raw.post(body, {"MCP-Protocol-Version": header})
    assert (answer.status, answer.code) == (400, -32602)


@pytest.mark.parametrize(
    "header",
    [None, "", "2025-11-25", "2025-06-18", "2026-07-28 x", "2026-07-2\u00b2", f"{VERSION}, {VERSION}"],
)
@pytest.mark.parametrize("version", [VERSION, "2099-01-01"])
def test_a_version_header_that_is_missing_or_different_is_a_mismatch(
    raw: Raw, header: str | None, version: str
) -> None:
    answer = raw.post(versioned(version), {"MCP-Protocol-Version": header})
    assert (answer.status, answer.code, answer.message["id"]) == (400, -32020, 1)


@pytest.mark.parametrize("version", ["2099-01-01", "2025-11-25", "2025-06-18", "x"])
def test_a_version_that_both_name_and_nobody_speaks_is_unsupported(raw: Raw, version: str) -> None:
    answer = raw.post(versioned(version), {"MCP-Protocol-Version": version, "Mcp-Method": None})
    assert (answer.status, answer.message["error"]) == (
        400,
        {
            "code": -32022,
            "message": "Unsupported protocol version",
            "data": {"supported": [VERSION], "requested": version},
        },
    )


def test_an_older_client_that_opens_is_told_which_revisions_there_are(raw: Raw) -> None:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    for fields in ({"MCP-Protocol-Version": None}, {"MCP-Protocol-Version": "2025-11-25"}):
        answer = raw.post(body, {**fields, "Mcp-Method": None})
        assert (answer.status, answer.code) == (400, -32022)
        assert answer.message["error"]["data"] == {"supported": [VERSION], "requested": "2025-11-25"}
        assert answer.field("mcp-session-id") is None


def test_no_session_is_read_made_or_returned(raw: Raw) -> None:
    answers = [raw.post(ping(), {"Mcp-Session-Id": session}) for session in (None, "", "one", "two")]
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == 1
    assert [answer.field("mcp-session-id") for answer in answers] == [None] * 4


@pytest.mark.parametrize(
    "fields",
    [
        {"Mcp-Method": None},
        {"Mcp-Method": ""},
        {"Mcp-Method": "TOOLS/CALL"},
        {"Mcp-Method": "tools/list"},
        {"Mcp-Method": "=?base64?dG9vbHMvY2FsbA==?="},
        {"Mcp-Method": "tools/call\r\nMcp-Method: tools/call"},
        {"Mcp-Name": None},
        {"Mcp-Name": ""},
        {"Mcp-Name": "notes_delete"},
        {"Mcp-Name": "notes_read\r\nMcp-Name: notes_read"},
        {"Mcp-Name": "=?base64?bm90ZXNfcmVhZA?="},
        {"Mcp-Name": "=?base64?bm90ZXNfcmVhZB==?="},
        {"Mcp-Name": "=?base64?/////w==?="},
        {"Mcp-Name": "=?BASE64?bm90ZXNfcmVhZA==?="},
        {"MCP-Protocol-Version": f"{VERSION}\r\nMCP-Protocol-Version: {VERSION}"},
    ],
)
def test_a_header_that_does_not_repeat_the_body_is_a_mismatch_and_nothing_is_called(
    plain: Served, raw: Raw, fields: Fields
) -> None:
    arguments = {"workspaceUri": "file:///x", "path": "mismatched.md", "content": "x"}
    body = call(1, "notes_read", {"workspaceUri": "file:///x", "path": "a"})
    answer = raw.post(body, fields)
    assert (answer.status, answer.code) == (400, -32020)
    answer = raw.post(call(1, "notes_create", arguments), {"Mcp-Name": "notes_read"})
    assert (answer.status, answer.code) == (400, -32020)
    assert not (plain.folder / "mismatched.md").exists()


@pytest.mark.parametrize("name", ["notes_read", "=?base64?bm90ZXNfcmVhZA==?="])
def test_a_name_may_be_encoded(raw: Raw, name: str) -> None:
    body = call(1, "notes_read", {"workspaceUri": "file:///x", "path": "a"})
    answer = raw.post(body, {"Mcp-Name": name, "Mcp-Param-Region": "ignored"})
    assert (answer.status, answer.message["result"]["isError"]) == (200, False)


def test_a_call_that_names_no_tool_is_told_so_where_the_header_names_none_either(raw: Raw) -> None:
    body = request(1, "tools/call", {"arguments": {}})
    head = {"MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/call"}
    data = json.dumps(body).encode()
    assert raw.post(data, head).code == -32602
    assert raw.post(data, {**head, "Mcp-Name": "notes_read"}).code == -32020


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (ping(), 200, None),
        (request(1, "tools/list"), 200, None),
        (request(1, "no/method"), 404, -32601),
        (request(1, "initialize"), 404, -32601),
        (request(1, "roots/list"), 404, -32601),
        (call(1, "no_tool"), 400, -32602),
        (request(1, "tools/list", {"cursor": "x"}), 400, -32602),
        (request(1, "server/discover", meta={VERSION_KEY: VERSION}), 400, -32602),
        (
            call(1, "notes_delete", {"workspaceUri": "file:///x", "title": "a"}, meta=envelope({})),
            400,
            -32021,
        ),
        (call(1, "notes_read", {"workspaceUri": "file:///x", "path": "crash"}), 200, -32603),
        (call(1, "notes_read", {"workspaceUri": "file:///x", "path": "surrogate"}), 200, None),
        (call(1, "notes_list", {"workspaceUri": 5}), 200, None),
    ],
)
def test_each_answer_has_the_status_that_its_code_says(
    raw: Raw, body: dict[str, Any], status: int, code: int | None
) -> None:
    answer = raw.post(body)
    assert (answer.status, answer.code, answer.message["id"]) == (status, code, 1)


def test_the_answer_has_the_bytes_that_it_has_on_stdio(raw: Raw, scripted_line: dict[str, bytes]) -> None:
    for name, body in SAME.items():
        assert raw.post(body).body + b"\n" == scripted_line[name], name


SAME: dict[str, dict[str, Any]] = {
    "discover": ping("a"),
    "tools": request("b", "tools/list"),
    "unknown": request("c", "no/method"),
    "result": call("d", "notes_read", {"workspaceUri": "file:///x", "path": "é"}),
    "form": call("e", "notes_delete", {"workspaceUri": "file:///x", "title": "a"}),
    "crash": call("f", "notes_read", {"workspaceUri": "file:///x", "path": "crash"}),
    "arguments": call("g", "notes_read", {"path": 5}),
}


@pytest.fixture
def scripted_line(tmp_path: Path) -> dict[str, bytes]:
    """What the same service answers on stdio, by the names of SAME."""
    lines = b"".join(encode(body) for body in SAME.values())
    done = subprocess.run(
        [sys.executable, "-m", "tests.server.scripted", str(tmp_path), "8"],
        input=lines,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        timeout=30,
        check=True,
    )
    answered = {json.loads(line)["id"]: line + b"\n" for line in done.stdout.splitlines()}
    return {name: answered[body["id"]] for name, body in SAME.items()}
