"""Heads, header fields and bodies of HTTP requests."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

import h11

from fsnotes.access import Principal
from fsnotes.identity import MAX_TOKEN
from fsnotes.server.envelope import Refusal
from fsnotes.server.frames import Request
from fsnotes.server.http.bodies import NoRoom, Room, TooLong, declared, read_body
from fsnotes.server.http.headers import Headers, accepts, bearer, decode_value, disagreement, is_json
from fsnotes.server.http.heads import END, MAX_HEAD, fault, is_stray
from fsnotes.server.http.hosts import Hosts, Origins
from tests.fuzz.supply import Supply


def heads(data: bytes) -> None:
    """What is let through is one request to every reader: h11, and one that only knows lines and colons."""
    end = data.find(END)
    head = data[: end + len(END)] if end >= 0 else data[: MAX_HEAD - len(END)] + END
    why = fault(head)
    # As it arrives, a head is given up no later than when it is whole, and none that is sound is given up.
    step = 1 + len(data) % 5
    given_up = any(
        is_stray(head[:size], max(0, size - step - len(END) + 1))
        for size in range(step, len(head), step)
        if END not in head[:size]
    )
    assert why is not None or not given_up
    if why is not None:
        return
    first, *lines = head.removesuffix(END).split(b"\r\n")
    fields = [
        (name.lower(), value.strip(b" \t")) for name, _, value in (line.partition(b":") for line in lines)
    ]
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
    connection.receive_data(head)
    try:
        request = connection.next_event()
    except h11.RemoteProtocolError:
        return  # such as two Hosts: refused by the second of two readers
    assert isinstance(request, h11.Request)
    assert b" ".join((request.method, request.target, b"HTTP/" + request.http_version)) == first
    assert [(name.lower(), value) for name, value in request.headers] == [
        (name, value.lower() if name == b"transfer-encoding" else value) for name, value in fields
    ]
    headers = Headers(fields)
    length = declared(headers)
    if request.headers and any(name == b"transfer-encoding" for name, _ in fields):
        assert length is None
        connection.receive_data(b"0\r\n\r\n")
    else:
        assert length is not None
        connection.receive_data(b"x" * min(length, 100))
        if length > 100:
            return
    taken = 0
    while isinstance(event := connection.next_event(), h11.Data):
        taken += len(event.data)
    assert isinstance(event, h11.EndOfMessage)
    assert taken == (length or 0)


_NAMES = (b"accept", b"authorization", b"content-type", b"content-encoding", b"mcp-method", b"mcp-name",
          b"mcp-protocol-version", b"host", b"origin")  # fmt: skip
_VERSION = "2026-07-28"


def fields(data: bytes) -> None:
    """What a header field says is read in one way or not at all."""
    supply = Supply(data)
    headers = Headers([(supply.pick(_NAMES), supply.take(supply.below(60))) for _ in range(supply.below(5))])
    value = supply.rest()
    is_json(headers)
    for kind in (b"application/json", b"text/event-stream"):
        taken = accepts(headers, kind)
        assert taken or not accepts(headers, kind, listed=True)
    token = bearer(headers)
    assert token is None or (token.isascii() and 0 < len(token) <= MAX_TOKEN and " " not in token)
    text = decode_value(value)
    if text is not None:
        plain, encoded = text.encode(), b"=?base64?" + base64.b64encode(text.encode()) + b"?="
        assert value in (plain, encoded)
        assert decode_value(encoded) == text
    uri, params = (
        "file:///w/a.md",
        {"_meta": {"io.modelcontextprotocol/protocolVersion": _VERSION}, "uri": text or ""},
    )
    repeated = [(b"mcp-protocol-version", _VERSION.encode()), (b"mcp-method", b"resources/read")]
    request = Request(1, "resources/read", params)
    agreed = disagreement(request, Headers([*repeated, (b"mcp-name", value)]))
    assert (agreed is None) == (text is not None)
    assert isinstance(
        disagreement(Request(1, "resources/read", {**params, "uri": uri}), headers), Refusal
    ) or ([decode_value(each) for each in headers.all(b"mcp-name")] == [uri])
    hosts, origins = Hosts({"notes.example:443"}), Origins({"https://notes.example"})
    assert not hosts.admit(headers.all(b"host")) or headers.one(b"host") is not None
    for each in (value, *headers.all(b"origin")):
        assert origins.admit([each]) == (each == b"https://notes.example")
        assert hosts.admit([each]) == (each.lower() == b"notes.example:443")


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


def bodies(data: bytes) -> None:
    """A body is read whole or refused, however it comes, and gives back all the room that it took."""
    supply = Supply(data)
    limit, room = supply.below(40), Room(1 + supply.below(60))
    pieces = [supply.take(supply.below(12)) for _ in range(1 + supply.below(6))]
    whole = b"".join(pieces)
    length = supply.pick((len(whole), 0, limit, limit + 1, 10**14))
    how = (b"transfer-encoding", b"chunked") if supply.flag() else (b"content-length", str(length).encode())
    place = room.place(Principal("token:fuzz"))
    try:
        with place:
            body = _loop().run_until_complete(
                read_body(_arriving(pieces), Headers([how]), place, limit=limit, seconds=60.0)
            )
            assert body == whole
    except TooLong:
        assert len(whole) > limit or (how[0] == b"content-length" and length > limit)
    except NoRoom:
        assert len(whole) > 0
    other = room.place(Principal("token:other"))
    with other:
        other.take(room._left)
        assert room._left == 0
    assert room._held == {}


def _arriving(pieces: list[bytes]) -> Callable[[], Awaitable[dict[str, Any]]]:
    waiting = list(pieces)

    async def receive() -> dict[str, Any]:
        piece = waiting.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(waiting)}

    return receive
