"""What two readers could take for two different requests is none; its nearest neighbour is one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from fsnotes.server.http.headers import Headers, accepts, bearer, decode_value, is_json
from fsnotes.server.http.heads import fault, is_stray
from tests.server.http.raw import Raw, ping, posted

GOOD = b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n"


@pytest.mark.parametrize(
    "head",
    [
        GOOD,
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET /a?b HTTP/1.1\r\nA:\r\nB: \t x \r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nX: \xe9\r\n\r\n",
    ],
)
def test_a_sound_head_is_one(head: bytes) -> None:
    assert fault(head) is None
    assert [end for end in range(len(head)) if is_stray(head[:end])] == []


@pytest.mark.parametrize(
    "head",
    [
        b"\r\nPOST /mcp HTTP/1.1\r\n\r\n",
        b"POST /mcp\r\n\r\n",
        b"POST  /mcp HTTP/1.1\r\n\r\n",
        b"POST /m cp HTTP/1.1\r\n\r\n",
        b"POST /mcp HTTP/1.1 \r\n\r\n",
        b"POST /mcp HTTP/2.0\r\n\r\n",
        b"POST /mcp http/1.1\r\n\r\n",
        b"POST /m\xe9 HTTP/1.1\r\n\r\n",
        GOOD.replace(b"Content-Length: 3", b"Content-Length: 3\r\nContent-Length: 3"),
        GOOD.replace(b"Content-Length: 3", b"Content-Length: 3\r\ncontent-length: 4"),
        GOOD.replace(b"Content-Length: 3", b"Content-Length: 3, 3"),
        GOOD.replace(b"Content-Length: 3", b"Content-Length: +3"),
        GOOD.replace(b"Content-Length: 3", b"Content-Length: 0x3"),
        GOOD.replace(b"Content-Length: 3", b"Content-Length: -1"),
        GOOD.replace(b"Content-Length: 3", b"Content-Length:"),
        GOOD.replace(b"Content-Length: 3", b"Content-Length: " + b"1" * 16),
        GOOD.replace(b"Content-Length: 3", b"Content-Length : 3"),
        GOOD.replace(b"Content-Length: 3", b"Content-Length: 3\r\nTransfer-Encoding: chunked"),
        GOOD.replace(b"Content-Length: 3", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        GOOD.replace(b"Content-Length: 3", b"Transfer-Encoding: gzip, chunked"),
        GOOD.replace(b"Content-Length: 3", b"Transfer-Encoding: xchunked"),
        GOOD.replace(b"Content-Length: 3", b"Transfer-Encoding:"),
        GOOD.replace(b"Content-Length: 3", b"Transfer-Encoding: \x0bchunked"),
        GOOD.replace(b"Content-Length: 3", b"Transfer-Encoding: identity"),
        b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        GOOD.replace(b"Content-Length: 3", b"Content-Length: 3\r\n folded"),
        GOOD.replace(b"Content-Length: 3", b"\tContent-Length: 3"),
        GOOD.replace(b"\r\nContent", b"\nContent"),
        GOOD.replace(b"\r\nContent", b"\rContent"),
        GOOD.replace(b"Host: a", b"Host: a\x00"),
        GOOD.replace(b"Host: a", b": a"),
        GOOD.replace(b"Host: a", b"Host"),
        GOOD.replace(b"Host: a", b"H\xe9: a"),
        GOOD.replace(b"Host: a", b"\r\n".join([b"A: b"] * 101)),
    ],
)
def test_what_can_be_read_in_two_ways_is_no_head(raw: Raw, head: bytes) -> None:
    """Nothing behind it is read as a request, either: the connection ends."""
    assert fault(head) is not None
    raw.send(head + posted(ping(), port=raw.port))
    answer = raw.read()
    assert (answer.status, answer.field("connection")) == (400, "close")
    assert raw.is_closed()


def test_a_bare_line_end_is_seen_before_the_head_is_whole(raw: Raw) -> None:
    assert is_stray(b"POST /mcp HTTP/1.1\n")
    assert not is_stray(b"POST /mcp HTTP/1.1\r")
    raw.send(b"POST /mcp HTTP/1.1\nHost: a\n\n")
    assert raw.read().status == 400


def test_a_head_may_come_byte_by_byte(raw: Raw) -> None:
    for byte in posted(ping(), port=raw.port):
        raw.send(bytes([byte]))
    assert raw.read().status == 200
    assert raw.post(ping()).status == 200


@pytest.mark.parametrize(
    "chunks",
    [
        b"+3\r\nabc\r\n0\r\n\r\n",
        b"0x3\r\nabc\r\n0\r\n\r\n",
        b"-1\r\nabc\r\n0\r\n\r\n",
        b"3 \t;\nabc\r\n0\r\n\r\n",
        b"g\r\nabc\r\n0\r\n\r\n",
        b"\r\nabc\r\n0\r\n\r\n",
        b"3\nabc\r\n0\r\n\r\n",
        b"3\r\nabcd\r\n0\r\n\r\n",
        b"3\r\nabcXX0\r\n\r\n",
        b"f" * 40 + b"\r\nabc",
        b"3\r\nabc\r\n0\r\nX: y\r\n z\r\n: \r\n\r\n",
    ],
)
def test_a_bad_chunk_ends_the_connection(raw: Raw, chunks: bytes) -> None:
    head = posted(b"", {"Content-Length": None, "Transfer-Encoding": "chunked"}, port=raw.port)
    raw.send(head + chunks + posted(ping(), port=raw.port))
    assert raw.read().status == 400
    assert raw.is_closed()


def test_a_trailer_changes_nothing(raw: Raw) -> None:
    """Fields behind a chunked body are no header fields: a host or a token there is not looked at."""
    body = json.dumps(ping()).encode()
    head = posted(ping(), {"Content-Length": None, "Transfer-Encoding": "chunked"}, port=raw.port)
    head = head.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    raw.send(head + b"%x\r\n%s\r\n0\r\nHost: evil.example\r\n\r\n" % (len(body), body))
    assert raw.read().status == 200
    assert raw.post(ping()).status == 200


@pytest.mark.parametrize("size", [16_385, 200_000])
def test_a_head_that_is_too_long_is_refused(raw: Raw, size: int) -> None:
    raw.send(b"GET /healthz HTTP/1.1\r\nX: " + b"y" * size)
    answer = raw.read()
    assert (answer.status, answer.field("connection")) == (431, "close")


def test_a_head_as_long_as_one_may_be_is_taken(raw: Raw) -> None:
    rest = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX: \r\n\r\n" % raw.port
    raw.send(rest.replace(b"X: ", b"X: " + b"y" * (16_384 - len(rest))))
    assert raw.read().status == 200


@pytest.mark.parametrize("upgrade", ["websocket", "h2c"])
@pytest.mark.parametrize("connection", ["Upgrade", "keep-alive"])
@pytest.mark.parametrize(
    "second",
    [
        b"POST /mcp HTTP/1.1\nHost: a\n\n",
        b"GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: {host}\r\nX: a\r\n b\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"",
    ],
)
def test_no_other_protocol_is_spoken_and_nothing_behind_the_wish_for_one_is_read(
    raw: Raw, upgrade: str, connection: str, second: bytes
) -> None:
    """Neither sent together with the first request, nor once that is answered."""
    second = second.replace(b"{host}", b"127.0.0.1:%d" % raw.port)
    first = posted(ping(), {"Connection": connection, "Upgrade": upgrade}, port=raw.port)
    raw.send(first + second)
    answer = raw.read()
    assert (answer.message["id"], answer.field("connection")) == (1, "close")
    assert raw.is_closed()


def test_a_tunnel_is_refused_with_all_that_follows(raw: Raw) -> None:
    host = b"Host: 127.0.0.1:%d\r\n\r\n" % raw.port
    raw.send(b"CONNECT /healthz HTTP/1.1\r\n" + host + b"GET /healthz HTTP/1.1\r\n" + host)
    assert raw.read().status == 400
    assert raw.is_closed()


def quickest(work: Callable[[], object], times: int = 5) -> float:
    """Seconds of processor time of the quickest of several runs."""
    spent = []
    for _ in range(times):
        begun = time.process_time()
        work()
        spent.append(time.process_time() - begun)
    return min(spent)


HOSTILE = [
    (b"a", b" ", b"b"),
    (b"a", b"\t ", b"\x01"),
    (b"", b" ", b"b"),
    (b"", b"a ", b"\x01"),
    (b"=?base64?", b"?=", b""),
    (b"bearer ", b" ", b"!"),
    (b"bearer ", b"=", b"!"),
    (b"application/json", b" ", b"!"),
    (b"application/json;", b" ", b"!"),
    (b"", b"q=0.0;", b""),
    (b"", b",", b""),
]


@pytest.mark.parametrize("parts", HOSTILE, ids=repr)
def test_reading_fields_takes_time_in_proportion_to_their_length(parts: tuple[bytes, bytes, bytes]) -> None:
    """Eight times the length in at most some twenty times the time; what is quadratic takes sixty-four times."""

    def read(size: int) -> None:
        value = parts[0] + parts[1] * (size // len(parts[1])) + parts[2]
        fault(b"GET / HTTP/1.1\r\nX: " + value + b"\r\n\r\n")
        fields = Headers([(b"accept", value), (b"authorization", value), (b"content-type", value)])
        accepts(fields, b"application/json")
        bearer(fields)
        is_json(fields)
        decode_value(value)

    assert quickest(lambda: read(16_000)) < 20 * quickest(lambda: read(2_000)) + 0.002


def test_spaces_around_a_value_are_none_of_it_and_those_within_are() -> None:
    assert fault(GOOD.replace(b"Content-Length: 3", b"Content-Length:\t 3 \t")) is None
    assert fault(GOOD.replace(b"Content-Length: 3", b"Content-Length: 3 3")) == "a malformed length"
    assert fault(GOOD.replace(b"Content-Length: 3", b"Transfer-Encoding:  chunked ")) is None
