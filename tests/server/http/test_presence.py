"""A client that has gone is found out, however it went, and one that does not read holds up nobody."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from fsnotes.server.http import exchanges, presence
from fsnotes.server.http.connections import ABORT, MOST_UNREAD
from fsnotes.server.http.exchanges import Exchange, Notices
from fsnotes.server.listening import MOST_OF_ONE, MOST_URIS, PAUSE_SECONDS
from tests.server.http.conftest import Served
from tests.server.http.raw import Raw, ping, posted
from tests.server.http.test_connections import GOOD, Bench, Bodies, turns
from tests.server.test_subscriptions import (
    acknowledged,
    begin,
    completed,
    configured,
    event,
    listen,
    notification,
    updated,
)
from tests.server.wire import call

Start = Callable[..., Served]
SOON = 8.0
JUNK = b"x" * 4 * MOST_UNREAD


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "Notes"


def reading(port: int) -> Iterator[tuple[str, int]]:
    """The timers of the connections that are open at *port*: their kinds, and seconds until they come to an end."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, _, state, _, timer, *_ = line.split()
        if local.endswith(f":{port:04X}") and state == "01":
            kind, _, left = timer.partition(":")
            yield kind, int(left, 16) // 100


# -- who sends on and does not read --------------------------------------------------------------------


def test_who_listens_and_sends_on_and_on_is_cut_off_and_gets_its_places_back(
    serving: Start, folder: Path, tmp_path: Path
) -> None:
    """What is not read any more tells of no end either, so its stream would be there for good."""
    served = serving(**configured(folder, tmp_path / "config.toml"))
    shared = f"{folder.as_uri()}/shared/a.md"
    with ExitStack() as kept:
        for turn in range(MOST_OF_ONE + 2):
            raw = kept.enter_context(served.connect())
            begin(raw, listen(turn, shared), "bob")
            assert event(raw) == acknowledged(turn, shared)
            with suppress(ConnectionResetError, BrokenPipeError):
                raw.send(JUNK)
            # By the server: this side has hung up on none of them.
            with pytest.raises((EOFError, ConnectionResetError)):
                raw.chunk()


def test_who_listens_and_sends_a_little_is_told_all_the_same_and_seen_to_leave(
    serving: Start, folder: Path, tmp_path: Path
) -> None:
    served = serving(**configured(folder, tmp_path / "config.toml"))
    shared = f"{folder.as_uri()}/shared/a.md"
    for turn in range(MOST_OF_ONE + 2):
        with served.connect() as raw:
            begin(raw, listen(turn, shared), "bob")
            raw.send(posted(ping(2), port=raw.port, bearer="bob-token"))
            assert event(raw) == acknowledged(turn, shared)
            if turn == 0:
                (folder / "shared/a.md").write_text("changed")
                assert event(raw) == updated(turn, shared)
        time.sleep(0.1)  # until a server that has much to do sees it


def test_a_call_is_cancelled_whose_caller_sends_on_and_on(plain: Served) -> None:
    body = call(1, "notes_read", {"workspaceUri": "file:///x", "path": "wait/flooding"})
    with plain.connect() as raw:
        raw.send(posted(body, port=plain.port))
        plain.await_file("flooding.begun")
        with suppress(ConnectionResetError, BrokenPipeError):
            raw.send(JUNK)
        with pytest.raises((EOFError, ConnectionResetError)):
            raw.read()
        time.sleep(0.1)
        (plain.folder / "flooding.go").touch()
        plain.await_file("flooding.abandoned")


class Waiting:
    """An application that answers once it may."""

    def __init__(self, app: Bodies, go: asyncio.Event) -> None:
        self._app = app
        self._go = go

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def sent(message: Any) -> None:
            await self._go.wait()
            await send(message)

        await self._app(scope, receive, sent)


@pytest.mark.parametrize(("more", "is_cut"), [(MOST_UNREAD, False), (MOST_UNREAD + 1, True)])
def test_behind_a_request_there_may_be_so_much_before_its_answer_and_reading_goes_on(
    more: int, *, is_cut: bool
) -> None:
    async def run() -> None:
        app = Bodies()
        go = asyncio.Event()
        connection, transport = Bench(Waiting(app, go)).connect()
        app.may.set()
        connection.data_received(GOOD + b"abc")
        await turns()
        assert app.whole == [b"abc"]
        connection.data_received(b"x" * (more - 1))
        assert (transport.is_closing(), transport.is_reading_) == (False, True)
        connection.data_received(b"x")
        assert transport.is_reading_
        assert transport.is_closing() == is_cut
        go.set()
        await turns()
        # As ever where there is more, the answer is the last on this connection.
        assert (b"connection: close" in transport.written) == (not is_cut)

    asyncio.run(run())


# -- who has gone without a word -----------------------------------------------------------------------


def test_the_kernel_probes_every_connection(plain: Served) -> None:
    with plain.connect() as raw:
        assert raw.post(ping()).status == 200
        time.sleep(0.1)  # an acknowledgement may be due, which has its timer first
        timers = list(reading(plain.port))
    assert any(
        kind == "02" and presence.PROBE_AFTER - 10 <= left <= presence.PROBE_AFTER for kind, left in timers
    )


@pytest.mark.parametrize(("patience", "gone"), [(30.0, 120_000), (3600.0, 3_600_000)])
def test_who_is_gone_is_given_up_in_time_and_who_is_there_has_all_the_time_it_may_take(
    patience: float, gone: int
) -> None:
    with socket.socket() as one:
        presence.probe(one, patience=patience)
        assert one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        told = [
            one.getsockopt(socket.IPPROTO_TCP, getattr(socket, name))
            for name in ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT")
        ]
    assert told == [60, 15, 4, gone]


def test_what_has_no_such_options_is_left_as_it_is() -> None:
    one, other = socket.socketpair()
    with one, other:
        presence.probe(one, patience=30.0)
        one.send(b"x")
        assert other.recv(1) == b"x"


def test_a_stream_on_which_nothing_is_told_carries_a_comment_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exchanges, "COMMENT_SECONDS", 0.02)
    sent: list[Any] = []

    async def run() -> bool:
        enough = asyncio.Event()

        async def send(message: Any) -> None:
            sent.append(message)
            if sum(each.get("body") == presence.COMMENT for each in sent) == 3:
                enough.set()

        scope = {"headers": [], "method": "POST", "raw_path": b"/mcp", ABORT: None}
        exchange = Exchange(scope, asyncio.Event().wait, send)  # type: ignore[arg-type]
        notices = Notices()
        go = asyncio.Event()

        async def work() -> dict[str, Any]:
            await asyncio.sleep(0.1)
            assert sent == []  # what has not begun may yet be one object
            notices.tell({"a": 1})
            await go.wait()
            notices.tell({"a": 2})
            return {}

        relaying = asyncio.ensure_future(notices.relay(exchange, asyncio.ensure_future(work())))
        await asyncio.wait_for(enough.wait(), SOON)
        go.set()
        return await asyncio.wait_for(relaying, SOON)

    assert asyncio.run(run())
    start, *bodies = sent
    assert start["type"] == "http.response.start"
    assert all(each["more_body"] for each in bodies)
    whole = b"".join(each["body"] for each in bodies)
    assert re.fullmatch(
        rb'event: message\ndata: \{"a":1\}\n\n(:\n\n){3,}event: message\ndata: \{"a":2\}\n\n', whole
    )


# -- who does not read, at the end ---------------------------------------------------------------------


def test_a_listener_that_never_reads_does_not_hold_up_the_end_and_the_others_are_told_of_it(
    serving: Start, folder: Path, tmp_path: Path
) -> None:
    served = serving(
        **configured(folder, tmp_path / "config.toml"),
        http={"drain_seconds": 60, "send_seconds": 60},
        max_message_bytes=1_000_000,
        send_buffer=4096,
    )
    names = ["\u65e5" * 80 + f"{number}.md" for number in range(MOST_URIS)]
    uris = [(folder / name).as_uri() for name in names]
    with Raw(served.port, window=4096) as deaf, served.connect() as other:
        deaf.send(posted(listen(1, *uris), port=served.port, bearer="alice-token"))
        begin(other, listen(2, lists=True), "alice")
        assert event(other) == acknowledged(2, lists=True)
        time.sleep(0.2)
        for name in names:
            (folder / name).write_text("changed")
        assert event(other) == notification(2, "resources/list_changed")
        time.sleep(2 * PAUSE_SECONDS)
        begun = time.monotonic()
        served.process.terminate()
        while (told := event(other)) == notification(2, "resources/list_changed"):
            pass
        assert told == completed(2)
        assert served.end() == (0, b"")
        assert time.monotonic() - begun < SOON
        # It was behind: not all of what it asked for had been told, let alone the end.
        told_to_it = b""
        with suppress(ConnectionResetError):
            while data := deaf.socket.recv(1 << 16):
                told_to_it += data
        assert 0 < told_to_it.count(b"data: ") < MOST_URIS
