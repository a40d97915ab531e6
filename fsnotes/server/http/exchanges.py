"""One request and its response: what was read of the one, and in which form the other is sent.

A response is one JSON object, or a stream of events once something is to be told before the answer. What is answered
is left to `app`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from typing import Any, Final, Self

from fsnotes.server.flights import Flight
from fsnotes.server.http.access_log import Entry
from fsnotes.server.http.bodies import Place, Receive, declared, read_body
from fsnotes.server.http.connections import ABORT
from fsnotes.server.http.headers import Headers
from fsnotes.server.http.presence import COMMENT, COMMENT_SECONDS
from fsnotes.server.http.replies import ALWAYS, Reply, Send, encoded, send_reply

WATCH_AFTER: Final = 0.02
"""Seconds after which it is watched whether somebody still waits: most calls are answered by then."""

MAX_UNSENT: Final = 64
"""Notifications that wait to be sent; who does not read what there is needs no more."""


class Exchange:
    """What goes to and fro for one request."""

    def __init__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        self.headers = Headers(scope["headers"])
        self.method: str = scope["method"]
        self.path: bytes = scope["raw_path"]
        self._receive = receive
        self._send = send
        self._abort: Callable[[], None] = scope[ABORT]
        self._is_read = declared(self.headers) == 0
        self.status: int | None = None
        self.is_proven = False
        self.entry = Entry()

    @property
    def is_begun(self) -> bool:
        """Say whether the response has begun."""
        return self.status is not None

    def is_short_call(self, limit: int) -> bool:
        """Say whether this is said to be a call of a tool, with *limit* bytes of a body at most."""
        length = declared(self.headers)
        return self.headers.one(b"mcp-method") == b"tools/call" and length is not None and length <= limit

    async def body(self, place: Place, *, limit: int, seconds: float) -> bytes:
        """Return the body of the request. Raises what `read_body` raises."""
        read = await read_body(self._receive, self.headers, place, limit=limit, seconds=seconds)
        self._is_read = True
        return read

    async def reply(self, reply: Reply) -> None:
        """Send a whole response.

        The connection ends with it where the request was not read to its end, or proved nobody: those who prove
        nobody could else hold all connections that there may be.
        """
        self.status = reply.status
        await send_reply(self._send, reply, close=not (self._is_read and self.is_proven))

    async def is_gone(self) -> bool:
        """Say whether it is known by now that nobody waits for the response."""
        asked = asyncio.ensure_future(self._receive())
        await asyncio.sleep(0)
        if not asked.done():
            asked.cancel()
            return False
        return bool(asked.result()["type"] == "http.disconnect")

    async def watch(self, flight: Flight) -> None:
        """Tell *flight* when nobody waits for its answer any more."""
        while (await self._receive())["type"] == "http.request":
            pass
        flight.abandoned = True

    async def begin_events(self) -> None:
        """Begin a response that is a stream of events."""
        self.status = 200
        fields = [*ALWAYS, (b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no")]
        await self._send({"type": "http.response.start", "status": 200, "headers": fields})

    async def event(self, message: dict[str, Any], *, last: bool) -> None:
        """Send a message as an event, whose end is the stream's where it is the *last*."""
        data = b"event: message\ndata: " + encoded(message) + b"\n\n"
        await self._send({"type": "http.response.body", "body": data, "more_body": not last})

    async def comment(self) -> None:
        """Send what readers of events pass over, so that whoever has gone is found out."""
        await self._send({"type": "http.response.body", "body": COMMENT, "more_body": True})

    def abort(self) -> None:
        """End the connection: what has not been sent yet is not."""
        self._abort()


class Watch:
    """Watches, while it is entered, whether the caller of *exchange* still waits for the answer of *flight*."""

    def __init__(self, exchange: Exchange, flight: Flight) -> None:
        self._exchange = exchange
        self._flight = flight
        self._task: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        self._timer = asyncio.get_running_loop().call_later(WATCH_AFTER, self._begin)
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        self._task = asyncio.ensure_future(self._exchange.watch(self._flight))


class Notices:
    """What a call tells before its answer, from any thread, in order."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._unsent: deque[dict[str, Any]] = deque()
        self._came = asyncio.Event()

    def tell(self, message: dict[str, Any]) -> bool:
        """Have *message* sent if there is room, and say whether there was; for the event loop alone."""
        has_room = len(self._unsent) < MAX_UNSENT
        self._add(message)
        return has_room

    def notify(self, message: dict[str, Any]) -> None:
        """Have *message* sent while there is room; for any thread."""
        with suppress(RuntimeError):  # the loop is closed: nobody reads any more
            self._loop.call_soon_threadsafe(self._add, message)

    def _add(self, message: dict[str, Any]) -> None:
        if len(self._unsent) < MAX_UNSENT:
            self._unsent.append(message)
            self._came.set()

    async def relay(self, exchange: Exchange, answer: asyncio.Task[dict[str, Any]]) -> bool:
        """Send what is told until *answer* is there, and say whether anything was."""
        answer.add_done_callback(lambda _: self._came.set())
        begun = False
        while True:
            try:
                async with asyncio.timeout(COMMENT_SECONDS if begun else None):
                    await self._came.wait()
            except TimeoutError:
                await exchange.comment()
                continue
            self._came.clear()
            is_answered = answer.done()
            # What was told before the answer is sent before it, too.
            while self._unsent:
                if not begun:
                    begun = True
                    await exchange.begin_events()
                await exchange.event(self._unsent.popleft(), last=False)
            if is_answered:
                return begun
