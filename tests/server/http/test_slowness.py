"""Whoever is slow, silent or too many has a bounded time and a bounded place, and others are served meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.server.http.conftest import Served, serve, stop
from tests.server.http.raw import Raw, ping, posted
from tests.server.wire import call

Start = Callable[..., Served]
SOON = 0.4
LATE = 5.0
ALICE, BOB, CAROL = "alice-token", "bob-token", "carol-token"


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that waits for nothing for long."""
    seconds = dict.fromkeys(("head_seconds", "body_seconds", "idle_seconds", "send_seconds"), SOON)
    served = serve(tmp_path_factory.mktemp("hasty"), http=seconds)
    yield served
    stop(served)


def elapsed(since: float) -> float:
    return time.monotonic() - since


@pytest.mark.parametrize("part", [b"P", b"POST /mcp HTTP/1.1\r\nHost: a\r\n", b"POST /mcp HTTP/1.1\r\nX: y"])
def test_a_head_that_does_not_come_to_its_end_is_waited_for_no_longer(serving: Start, part: bytes) -> None:
    served = serving(http={"head_seconds": SOON})
    with served.connect() as slow, served.connect() as other:
        begun = time.monotonic()
        slow.send(part)
        assert other.post(ping()).status == 200
        assert slow.read().status == 408
        assert slow.is_closed()
        assert SOON * 0.9 <= elapsed(begun) < LATE


def test_a_byte_now_and_then_earns_a_head_no_time(hasty: Served) -> None:
    with hasty.connect() as slow:
        begun = time.monotonic()
        slow.send(b"POST /mcp HTTP/1.1\r\n")
        slow.socket.settimeout(0.05)
        while elapsed(begun) < LATE:
            try:
                slow.send(b"X: y\r\n")
                answer = slow.read()
                break
            except TimeoutError:
                continue
        assert answer.status == 408
        assert elapsed(begun) < LATE


def test_a_connection_on_which_nothing_is_asked_is_closed_without_a_word(hasty: Served) -> None:
    with hasty.connect() as silent, hasty.connect() as idle:
        begun = time.monotonic()
        assert idle.post(ping()).status == 200
        assert silent.is_closed()
        assert idle.is_closed()
        assert elapsed(begun) < LATE


@pytest.mark.parametrize("how", ["declared", "chunked"])
def test_a_body_that_does_not_come_to_its_end_is_waited_for_no_longer(hasty: Served, how: str) -> None:
    with hasty.connect() as slow, hasty.connect() as other:
        begun = time.monotonic()
        fields = {"Content-Length": "100"}
        if how == "chunked":
            fields = {"Content-Length": None, "Transfer-Encoding": "chunked"}  # type: ignore[dict-item]
        slow.send(posted(b"", fields, port=slow.port) + (b"3\r\nabc\r\n" if how == "chunked" else b"abc"))
        assert other.post(ping()).status == 200
        answer = slow.read()
        assert (answer.status, answer.field("connection")) == (408, "close")
        assert SOON * 0.9 <= elapsed(begun) < LATE


def test_slow_bodies_take_half_of_the_places_that_are_left_and_leave_the_others(serving: Start) -> None:
    served = serving(auth="issued", http={"max_requests": 4, "body_seconds": LATE})
    connections = [served.connect() for _ in range(3)]
    try:
        for raw, bearer in zip(connections, (ALICE, ALICE, BOB), strict=True):
            raw.send(posted(b"", {"Content-Length": "10"}, port=raw.port, bearer=bearer))
        time.sleep(0.1)
        for bearer in (ALICE, BOB):
            with served.connect() as raw:
                answer = raw.post(ping(), bearer=bearer)
                assert (answer.status, answer.field("retry-after")) == (503, "1")
        with served.connect() as raw:
            assert raw.post(ping(), bearer=CAROL).status == 200
        connections[0].socket.close()
        time.sleep(0.1)
        for bearer in (ALICE, BOB):
            with served.connect() as raw:
                assert raw.post(ping(), bearer=bearer).status == 200
    finally:
        for raw in connections:
            raw.socket.close()


def test_one_connection_too_many_is_refused_where_something_is_asked_on_all_of_them(serving: Start) -> None:
    served = serving(http={"max_connections": 2, "body_seconds": LATE})
    with served.connect() as first, served.connect() as second:
        for raw in (first, second):
            raw.send(posted(b"", {"Content-Length": "10"}, port=raw.port))
        time.sleep(0.1)
        with served.connect() as third:
            answer = third.read()
            assert (answer.status, answer.field("retry-after"), answer.field("connection")) == (
                503,
                "1",
                "close",
            )
            assert third.is_closed()
        second.socket.close()
        time.sleep(0.1)
        with served.connect() as third:
            assert third.post(ping()).status == 200
        first.send(b" " * 10)
        assert first.read().status == 400


def test_connections_that_nothing_is_asked_on_are_no_place_that_is_taken(serving: Start) -> None:
    """Strangers hold none: neither silent, nor with half a head, nor by asking what everybody may."""
    served = serving(auth="issued", http={"max_connections": 4})
    with served.connect() as known:
        assert known.post(ping(), bearer=ALICE).status == 200
        strangers = [served.connect() for _ in range(12)]
        try:
            for number, raw in enumerate(strangers):
                raw.send((b"", b"GET /healthz HTTP/1.1\r\n", b"no request\r\n\r\n")[number % 3])
                with served.connect() as other:
                    assert other.post(ping(), bearer=BOB).status == 200
            assert known.post(ping(), bearer=ALICE).status == 200
        finally:
            for raw in strangers:
                raw.socket.close()


def test_answers_that_nobody_reads_are_kept_for_a_bounded_time(hasty: Served) -> None:
    deaf = Raw(hasty.port, window=4096)
    body = call(1, "notes_read", {"workspaceUri": "file:///x", "path": "long/39000"})
    with deaf:
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            ask_on_and_on(deaf, body)
        with pytest.raises((EOFError, ConnectionResetError)):
            read_on_and_on(deaf)
    with hasty.connect() as other:
        assert len(other.post(body).body) > 39_000


def ask_on_and_on(deaf: Raw, body: dict[str, Any]) -> None:
    """Ask, each time once the last answer must be there, until the kernel holds no more of them."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        deaf.send(posted(body, port=deaf.port))
        time.sleep(0.01)


def read_on_and_on(deaf: Raw) -> None:
    while deaf.read():
        pass


def test_a_refusal_reaches_a_client_that_is_still_sending(raw: Raw) -> None:
    """What is sent behind it is read and thrown away, since a reset would take the answer with it."""
    size = 2_000_000
    raw.send(posted(b"x" * size, port=raw.port))
    assert raw.read().status == 413
    assert raw.is_closed()


def test_who_sends_on_and_on_after_a_refusal_is_cut_off(raw: Raw) -> None:
    raw.send(posted(b"", {"Content-Length": str(10**12)}, port=raw.port))
    assert raw.read().status == 413
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        raw.send(b"x" * 100_000_000)
