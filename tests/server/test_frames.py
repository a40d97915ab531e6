"""What is a message, and what is not, byte by byte."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def nested(depth: int, *, brackets: str = "[]") -> bytes:
    inside = brackets[0] * (depth - 2) + brackets[1] * (depth - 2)
    return b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":' + inside.encode() + b"}}"


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"m"}', Request(1, "m", None)),
        (b'{"jsonrpc":"2.0","id":"","method":"m","params":{}}', Request("", "m", {})),
        (b'{"jsonrpc":"2.0","id":-7,"method":"m","more":[]}', Request(-7, "m", None)),
        (b' {"jsonrpc" :"2.0",\t"id":1,"method":"m"}\r', Request(1, "m", None)),
        (b'{"jsonrpc":"2.0","id":"\\ud83d\\ude00","method":"m"}', Request("\U0001f600", "m", None)),
        ('{"jsonrpc":"2.0","id":"\u00e9","method":"m"}'.encode(), Request("\u00e9", "m", None)),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 40 + b',"method":"m"}', Request(int("9" * 40), "m", None)),
        (b'{"jsonrpc":"2.0","method":"m"}', Notification("m", None)),
        (b'{"jsonrpc":"2.0","method":"m","params":{"a":1.5}}', Notification("m", {"a": 1.5})),
        (b'{"jsonrpc":"2.0","method":"m","params":[1]}', Notification("m", None)),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', Response(1, {})),
        (b'{"jsonrpc":"2.0","id":"x","result":null}', Response("x")),
        (b'{"jsonrpc":"2.0","id":true,"result":5}', Response(None, 5)),
        (b'{"jsonrpc":"2.0","error":{"code":1,"message":""}}', Response(failed=True)),
        (b'{"jsonrpc":"2.0","id":1,"error":null,"result":5}', Response(1, failed=True)),
        (b'{"id":1,"result":5}', Response(1, failed=True)),
    ],
)
def test_a_message_is_read_as_what_it_is(line: bytes, frame: Any) -> None:
    assert parse_frame(line) == frame


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"nonsense",
        b"{'a':1}",
        b'{"a":1,}',
        b'{"a":1} {"b":2}',
        b'{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":{"b":1,"\\u0062":2}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[{"b":1,"b":1}]}}',
        b'{"jsonrpc":"2.0","id":1,"method":"caf\xe9"}',
        b'{"jsonrpc":"2.0","id":1,"method":"\xed\xb3\xbf"}',
        b'{"jsonrpc":"2.0","id":1,"method":"\\udcff"}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"\\uD83D":1}}',
        b'{"jsonrpc":"2.0","id":1,"method":"\\ude00\\ud83d"}',
        b'{"jsonrpc":"2.0","id":NaN,"method":"m"}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":Infinity}}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":-Infinity}}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1e400}}',
        b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"m"}',
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"m"}',
        b'{"jsonrpc":"2.0","id":1,"method":"a\rb"}',
        b'{"jsonrpc":"2.0","id":1,"method":"a\0b"}',
        b'\0{"jsonrpc":"2.0","id":1,"method":"m"}',
        nested(MAX_DEPTH + 1),
        nested(MAX_DEPTH + 1, brackets="[]").replace(b'"m"', b'"\\"[[["'),
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'["' + b"[" * 100_000,
        "{}".encode("utf-16"),
    ],
    ids=lambda line: repr(line[:60]),
)
def test_what_is_not_strict_json_is_a_parse_error_without_an_id(line: bytes) -> None:
    assert parse_frame(line) == NOT_JSON
    assert (NOT_JSON.code, NOT_JSON.message, NOT_JSON.id) == (-32700, "Parse error", None)


@pytest.mark.parametrize(
    ("line", "id_"),
    [
        (b"[]", None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"m"}]', None),
        (b"1", None),
        (b'"text"', None),
        (b"null", None),
        (b"{}", None),
        (b'{"jsonrpc":"2.0","id":1}', 1),
        (b'{"jsonrpc":"1.0","id":1,"method":"m"}', 1),
        (b'{"id":"a","method":"m"}', "a"),
        (b'{"jsonrpc":2.0,"id":"a","method":"m"}', "a"),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":[]}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":null}', 1),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', None),
        (b'{"jsonrpc":"2.0","id":true,"method":"m"}', None),
        (b'{"jsonrpc":"2.0","id":1.0,"method":"m"}', None),
        (b'{"jsonrpc":"2.0","id":{},"method":"m"}', None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"m"}', None),
    ],
)
def test_json_that_is_no_request_is_refused_with_the_id_where_it_can_be_read(line: bytes, id_: Any) -> None:
    assert parse_frame(line) == Broken(-32600, "Invalid Request", id_)


def test_the_deepest_message_is_read() -> None:
    assert isinstance(parse_frame(nested(MAX_DEPTH)), Request)


def test_brackets_in_strings_are_no_levels() -> None:
    text = '["\\' * 200
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"a": text}}).encode()
    assert parse_frame(line) == Request(1, "m", {"a": text})


@pytest.mark.parametrize(
    "line",
    [
        b"[]," * 300_000,
        b'"[' * 500_000,
        b'"\\' * 500_000,
        b"[" * 1_000_000,
        b'{"a":"' + b'\\"' * 500_000,
        b"[" * (MAX_DEPTH + 1) + b'"' + b'\\"' * 500_000,
    ],
    ids=["siblings", "quotes", "escapes", "opened", "unended", "unended and deep"],
)
def test_hostile_lines_take_no_longer_than_honest_ones(line: bytes) -> None:
    start = time.perf_counter()
    assert parse_frame(line) == NOT_JSON
    assert time.perf_counter() - start < 2.0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), JSON), st.booleans())
def test_every_message_survives_the_way_out_and_in(params: dict[str, Any], escaped: bool) -> None:
    message = {"jsonrpc": "2.0", "id": "i", "method": "m", "params": params}
    line = encode(message)
    assert line.isascii()
    assert line.index(b"\n") == len(line) - 1
    sent = line[:-1] if escaped else json.dumps(message, ensure_ascii=False).encode()
    assert parse_frame(sent) == Request("i", "m", params)


@given(st.binary(max_size=60))
def test_any_bytes_are_some_frame(line: bytes) -> None:
    assert isinstance(parse_frame(line), (Request, Notification, Response, Broken))


def test_an_error_without_an_id_has_no_id() -> None:
    assert encode(error_message(None, -32700, "Parse error")) == (
        b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}\n'
    )


def test_a_surrogate_is_written_as_an_escape() -> None:
    assert encode({"a": "\udce9"}) == b'{"a":"\\udce9"}\n'


@given(st.lists(st.binary(max_size=12).filter(lambda line: b"\n" not in line)), st.integers(1, 7))
def test_lines_are_the_same_however_they_arrive(lines: list[bytes], size: int) -> None:
    stream = b"\n".join(lines)
    splitter = LineSplitter(8)
    found: list[bytes | None] = []
    for start in range(0, len(stream), size):
        found += splitter.feed(stream[start : start + size])
    found += splitter.end()
    expected = [line if len(line) <= 8 else None for line in lines]
    if expected and lines[-1] == b"":
        expected.pop()  # an LF ends a line, it does not begin one
    assert found == expected


def test_an_endless_line_is_reported_once_and_not_kept() -> None:
    splitter = LineSplitter(1000)
    assert splitter.feed(b"x" * 1001) == [None]
    for _ in range(1000):
        assert splitter.feed(b"x" * 1000) == []
    assert splitter.feed(b"x\nnext\nbegun") == [b"next"]
    assert splitter.end() == [b"begun"]


def test_a_line_of_just_the_limit_is_a_line() -> None:
    splitter = LineSplitter(4)
    assert splitter.feed(b"1234\n12345\n1234") == [b"1234", None]
    assert splitter.end() == [b"1234"]


def test_a_frame_of_too_many_values_is_refused_before_they_are_made() -> None:
    most = MAX_COMMAS - 3  # what stands around the values has three
    for count, answer in ((most, Request(1, "m", {"a": [0] * (most + 1)})), (most + 1, NOT_JSON)):
        line = b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[' + b"0," * count + b"0]}}"
        assert parse_frame(line) == answer
