"""What one connection may cost: each byte is looked at once, and a body only once it is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from fsnotes.server.http import connections
from fsnotes.server.http.connections import MOST_UNREAD, Bounds, Connection, connections_within
from fsnotes.server.http.heads import is_stray
from fsnotes.server.http.places import Places, Standing
from fsnotes.server.http.turns import FEW_ENDS, FREE_FRAMING, LONG_SLICE, SLICE, is_absurd, next_slice

GOOD = b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n"
CHUNKED = b"POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

App = Callable[[Any, Any, Any], Awaitable[None]]


class Nowhere(asyncio.Transport):
    """A transport whose bytes go nowhere."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_reading_ = True
        self._is_closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def write_eof(self) -> None:
        pass

    def pause_reading(self) -> None:
        self.is_reading_ = False

    def resume_reading(self) -> None:
        self.is_reading_ = True

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        self._is_closing = True

    abort = close


class Bodies:
    """An application that reads bodies once it may, and keeps what came."""

    def __init__(self) -> None:
        self.may = asyncio.Event()
        self.whole: list[bytes] = []
        self.turns = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.may.wait()
        body, more = b"", True
        while more:
            event = await receive()
            if event["type"] != "http.request":
                return
            self.turns += 1
            body += event["body"]
            more = event["more_body"]
        self.whole.append(body)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


class Bench:
    """Connections without a server."""

    def __init__(self, app: App, *, most: int = 10) -> None:
        self._config = uvicorn.Config(app, ws="none", lifespan="off", log_config=None, access_log=False)
        self._config.load()
        self._state = ServerState()
        self._kind = connections_within(Bounds(most, 10.0, 10.0))

    def connect(self) -> tuple[Any, Nowhere]:
        connection: Connection = self._kind(self._config, self._state, {})
        transport = Nowhere()
        connection.connection_made(transport)
        return connection, transport

    @property
    def count(self) -> int:
        return len(self._state.connections)


async def turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_no_byte_of_a_head_is_looked_at_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def counted(part: bytearray, start: int) -> bool:
        looked.append(len(part) - start)
        return is_stray(part, start)

    monkeypatch.setattr(connections, "is_stray", counted)

    async def run() -> None:
        connection, _ = Bench(Bodies()).connect()
        for _ in range(2_000):
            connection.data_received(b"a")

    asyncio.run(run())
    assert len(looked) == 2_000
    assert max(looked) <= 4


def test_a_stray_line_end_is_seen_wherever_the_head_is_cut() -> None:
    async def run() -> None:
        bench = Bench(Bodies(), most=1_000)
        for stray in (b"\n", b"\r", b"\x00"):
            for cut in range(len(GOOD) + 1):
                bad = GOOD[:30] + stray + GOOD[30:]
                for text, is_refused in ((bad, True), (GOOD, False)):
                    connection, _ = bench.connect()
                    connection.data_received(text[:cut])
                    connection.data_received(text[cut:])
                    assert connection._outgoing.is_closing() is is_refused, (stray, cut)

    asyncio.run(run())


@pytest.mark.parametrize("head", [GOOD.replace(b"3", b"1000000"), CHUNKED])
def test_nothing_of_a_body_is_taken_apart_before_it_is_asked_for(head: bytes) -> None:
    """And what is held unread of it is bounded: then the client waits."""

    async def run() -> None:
        app = Bodies()
        connection, transport = Bench(app).connect()
        connection.data_received(head + b"1\r\nx\r\n" * 20)
        await turns()
        assert transport.is_reading_
        connection.data_received(b"1\r\nx\r\n" * (MOST_UNREAD // 6 + 1))
        await turns()
        assert connection.cycle.body == b""
        assert not transport.is_reading_
        app.may.set()
        await turns(200)
        assert transport.is_reading_

    asyncio.run(run())


def chunked(body: bytes, size: int) -> bytes:
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


@pytest.mark.parametrize(
    ("size", "length"), [(1, 2_000), (160, 200_000), (8_192, 300_000), (100_000, 300_000)]
)
def test_a_body_in_chunks_is_read_a_slice_in_a_turn(size: int, length: int) -> None:
    async def run() -> None:
        app = Bodies()
        app.may.set()
        connection, transport = Bench(app).connect()
        body = bytes(number % 251 for number in range(length))
        fed: list[bytes] = []
        receive_data = connection.conn.receive_data
        connection.conn.receive_data = lambda data: (fed.append(data), receive_data(data))[1]
        connection.data_received(CHUNKED + chunked(body, size))
        await turns(2 * len(chunked(body, size)) // SLICE + 20)
        assert app.whole == [body]
        assert [part for part in fed[1:] if len(part) > SLICE and part.count(b"\r\n") > FEW_ENDS] == []
        assert transport.written.startswith(b"HTTP/1.1 200 ")

    asyncio.run(run())


@pytest.mark.parametrize("size", [1, 2, 5, 50, 500, 5_000, 100_000])
def test_no_slice_holds_more_chunks_than_a_turn_may_take_apart(size: int) -> None:
    unread = bytearray(chunked(b"x" * 100_000, size))
    whole, parts = bytes(unread), []
    while unread:
        parts.append(next_slice(unread))
    assert b"".join(parts) == whole
    assert max(part.count(b"\r\n") for part in parts) <= FEW_ENDS + 2
    assert max(map(len, parts)) <= LONG_SLICE


def test_connections_take_turns_and_one_slice_is_read_in_each() -> None:
    async def run() -> None:
        app = Bodies()
        app.may.set()
        bench = Bench(app)
        made = [bench.connect()[0] for _ in range(3)]
        for connection in made:
            connection.data_received(CHUNKED + chunked(b"x" * 3_000, 1))
        await turns(3)
        taken = sum(connection._size for connection in made)
        for _ in range(6):
            await asyncio.sleep(0)
            size = sum(connection._size for connection in made)
            assert size - taken <= SLICE // 6 + 1
            taken = size
        assert min(connection._size for connection in made) > 0
        await turns(80)
        assert app.whole == [b"x" * 3_000] * 3

    asyncio.run(run())


def test_a_body_of_absurdly_many_chunks_is_refused_before_it_is_whole() -> None:
    async def run() -> None:
        app = Bodies()
        app.may.set()
        connection, transport = Bench(app).connect()
        connection.data_received(CHUNKED + b"1\r\nx\r\n" * 20_000)
        await turns(400)
        assert app.whole == []
        assert transport.written.startswith(b"HTTP/1.1 400 ")
        assert connection._size <= FREE_FRAMING // 5 + SLICE

    asyncio.run(run())
    assert is_absurd(FREE_FRAMING + 1, 31)
    assert not is_absurd(FREE_FRAMING + 1, 32)


def test_where_there_are_too_many_the_one_that_has_waited_longest_makes_room() -> None:
    """Those that proved nobody before those that proved somebody, and none that has a request under way."""

    async def run() -> None:
        app = Bodies()
        app.may.set()
        bench = Bench(app, most=4)
        known, known_transport = bench.connect()
        known.data_received(GOOD + b"abc")
        await turns()
        app.may.clear()
        asking, asking_transport = bench.connect()
        asking.data_received(GOOD)
        half, half_transport = bench.connect()
        half.data_received(GOOD[:20])
        silent, silent_transport = bench.connect()
        order = [half_transport, silent_transport, known_transport]
        for number, transport in enumerate(order):
            assert [other.is_closing() for other in order] == [place < number for place in range(3)]
            newer, _ = bench.connect()
            newer.data_received(GOOD)
            assert not newer._outgoing.is_closing()
            assert transport.is_closing()
            {0: half, 1: silent, 2: known}[number].connection_lost(None)
        assert not asking_transport.is_closing()
        _, transport = bench.connect()
        await turns()
        assert transport.written.startswith(b"HTTP/1.1 503 ")
        assert not asking_transport.is_closing()

    asyncio.run(run())


def test_who_has_been_answered_for_good_makes_room_first() -> None:
    closed: list[str] = []

    class Some:
        def __init__(self, name: str) -> None:
            self._name = name

        def make_room(self) -> None:
            closed.append(self._name)

    places = Places()
    gone = Some("gone")
    for connection, standing in (
        (Some("known"), Standing.KNOWN), (Some("strange"), Standing.STRANGE), (gone, Standing.KNOWN),
        (Some("ending"), Standing.ENDING), (Some("stranger"), Standing.STRANGE),
    ):  # fmt: skip
        places.wait(connection, standing)
    places.leave(gone)
    assert [places.make_room() for _ in range(5)] == [True] * 4 + [False]
    assert closed == ["ending", "strange", "stranger", "known"]
