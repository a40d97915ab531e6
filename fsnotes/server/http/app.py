"""Answers HTTP requests: an ASGI application that admits, reads and judges each before the front answers it.

The order is fixed: host and origin; the path and the method; who calls; the size and the form of the body; the
headers that repeat it. What a request does is left to `front` and `kernel`, which know nothing of HTTP.
Source: the specification's page on Streamable HTTP, revision 2026-07-28.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from fsnotes.access import Principal
from fsnotes.errors import LimitReached
from fsnotes.identity import Authenticator, metadata_paths
from fsnotes.server.envelope import token_of
from fsnotes.server.flights import Flight
from fsnotes.server.frames import (
    NOT_JSON,
    Broken,
    Frame,
    Notification,
    Request,
    Response,
    error_message,
    parse_frame,
)
from fsnotes.server.front import Front
from fsnotes.server.http.bodies import Gone, NoRoom, Place, Receive, Room, TooLong, TooSlow
from fsnotes.server.http.callers import Callers, Refused
from fsnotes.server.http.exchanges import Exchange, Notices, Watch
from fsnotes.server.http.headers import accepts, disagreement, is_json
from fsnotes.server.http.hosts import Hosts, Origins
from fsnotes.server.http.limits import Limits
from fsnotes.server.http.replies import JSON, Reply, Send, later, line, message
from fsnotes.server.legacy import Stateless
from fsnotes.server.listening import LISTEN
from fsnotes.server.loading import LARGE_FRAME

logger = logging.getLogger(__name__)

EVENTS: Final = b"text/event-stream"
ACCEPTED: Final = Reply(202)

LONGEST_AT_ONCE: Final = 8
"""How many messages of the greatest length are held at once; of the usual length, some ten thousand."""

STREAM_SECONDS: Final = 2.0
"""How long the end waits for those who listen to read that it has come; their connections end then."""


class HttpApp:
    """One endpoint at *path*, and beside it what says whether the server is well and who issues its tokens."""

    def __init__(
        self,
        front: Front,
        *,
        path: str,
        hosts: Hosts,
        origins: Origins,
        callers: Callers,
        authenticator: Authenticator | None,
        limits: Limits,
        max_message_bytes: int,
        body_seconds: float,
        older: Stateless | None = None,
    ) -> None:
        self._front = front
        self._older = older
        self._path = path.encode("ascii")
        self._hosts = hosts
        self._origins = origins
        self._callers = callers
        self._limits = limits
        self._max_bytes = max_message_bytes
        self._body_seconds = body_seconds
        self._room = Room(LONGEST_AT_ONCE * max_message_bytes)
        self._parser = ThreadPoolExecutor(1, thread_name_prefix="fsnotes-parse")
        self._flights: set[Flight] = set()
        self._streams: set[Exchange] = set()
        self._idle: asyncio.Future[None] | None = None
        self.is_draining = False
        self._metadata_paths = metadata_paths(authenticator, path)
        metadata = None if authenticator is None else authenticator.metadata
        self._metadata = None if metadata is None else json.dumps(metadata).encode("ascii")

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, and tell the log of it."""
        exchange = Exchange(scope, receive, send)
        try:
            await self._answer_somehow(exchange)
        finally:
            exchange.entry.log(exchange.status)

    async def _answer_somehow(self, exchange: Exchange) -> None:
        try:
            reply = await self._answer(exchange)
        except Exception:
            if exchange.is_begun:
                raise  # it cannot be answered otherwise any more; the server ends the connection
            logger.exception("a request was not answered")
            reply = line(500, "Internal error")
        if reply is not None:
            await exchange.reply(reply)

    async def _answer(self, exchange: Exchange) -> Reply | None:
        if not self._hosts.admit(exchange.headers.all(b"host")):
            return line(421, "This host is not served here")
        if not self._origins.admit(exchange.headers.all(b"origin")):
            return line(403, "This origin is not allowed")
        if exchange.path != self._path:
            return self._beside(exchange)
        if exchange.method != "POST":
            return line(405, "Only POST is served here", (b"allow", b"POST"))
        if self.is_draining:
            return later(503, "The server is ending")
        try:
            principal = await self._callers.principal(exchange.headers)
        except Refused as refused:
            exchange.entry.outcome = refused.reason
            return refused.reply
        exchange.entry.principal = principal.name
        exchange.is_proven = True
        if not self._limits.enter(principal):
            return later(503, "Too many requests are under way")
        try:
            # A call of a tool too many is answered like any other that fails, where that can be had for little.
            wait = self._limits.spend(principal)
            if wait and not exchange.is_short_call(LARGE_FRAME):
                return _too_often(wait)
            with self._room.place(principal) as place:
                found = await self._admitted(exchange, principal, place, wait)
        finally:
            self._limits.leave(principal)
            self._look_whether_idle()
        return await self._stream(exchange, found) if isinstance(found, _Opened) else found

    def _look_whether_idle(self) -> None:
        if not self._is_busy and self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    @property
    def _is_busy(self) -> bool:
        return bool(self._limits.requests or self._flights)

    def _beside(self, exchange: Exchange) -> Reply:
        """Answer what is not for the endpoint. It is the same for everybody, and proves nobody."""
        found: Reply | None = None
        if exchange.path == b"/healthz":
            found = line(200, "ok")
        elif exchange.path == b"/readyz":
            ready = not self.is_draining
            found = line(200, "ready") if ready else later(503, "not ready")
        elif self._metadata is not None and exchange.path in self._metadata_paths:
            found = Reply(200, self._metadata, JSON)
        if found is None:
            exchange.entry.beside = "elsewhere"
            return line(404, "There is nothing here")
        exchange.entry.beside = exchange.path.decode("ascii")
        if exchange.method not in ("GET", "HEAD"):
            return line(405, "Only GET is served here", (b"allow", b"GET, HEAD"))
        return found

    async def _admitted(
        self, exchange: Exchange, principal: Principal, place: Place, wait: int
    ) -> Reply | _Opened | None:
        if not is_json(exchange.headers):
            return line(415, "The body must be application/json in UTF-8, not compressed")
        try:
            body = await exchange.body(place, limit=self._max_bytes, seconds=self._body_seconds)
        except TooLong:
            return message(error_message(None, NOT_JSON.code, NOT_JSON.message), status=413)
        except TooSlow:
            return line(408, "The body did not come in time")
        except NoRoom:
            return later(503, "Too many messages are being read")
        except Gone:
            return None
        frame = await self._parse(body)
        if wait and not (isinstance(frame, Request) and frame.method == "tools/call"):
            return _too_often(wait)
        match frame:
            case Request() as request:
                return await self._request(exchange, principal, request, wait)
            case Notification():
                return ACCEPTED  # nothing is done: this revision has none for this transport, and a call needs an id
            case Response():
                return line(400, "Nothing was asked, so nothing can be answered")
            case Broken() as broken:
                return _answered(exchange, error_message(broken.id, broken.code, broken.message))

    async def _parse(self, body: bytes) -> Frame:
        if len(body) <= LARGE_FRAME:
            return parse_frame(body)
        try:
            parsed = asyncio.get_running_loop().run_in_executor(self._parser, parse_frame, body)
        except RuntimeError:  # the host has no thread to give
            return parse_frame(body)
        return await parsed

    async def _older_request(
        self,
        older: Stateless,
        revision: str,
        exchange: Exchange,
        request: Request,
        flight: Flight,
    ) -> Reply | None:
        """Answer a request of an older *revision*: by one JSON object, errors too, as a message that was taken."""
        exchange.entry.asked(request.id, request.method if older.knows(request.method) else None, flight)
        if not accepts(exchange.headers, JSON):
            return line(406, "Answers are application/json")
        if not older.is_work(request.method):
            return replace(_answered(exchange, await older.answer(request, flight, revision)), status=200)
        flight.refusal = self._limits.begin(flight.principal)
        self._flights.add(flight)
        try:
            with Watch(exchange, flight):
                answer = await older.answer(request, flight, revision)
            if not flight.abandoned:
                await exchange.reply(replace(_answered(exchange, answer), status=200))
        finally:
            self._flights.discard(flight)
            if flight.refusal is None:
                self._limits.end(flight.principal)
        return None

    async def _request(
        self, exchange: Exchange, principal: Principal, request: Request, wait: int
    ) -> Reply | _Opened | None:
        flight = Flight(principal)
        older = self._older
        if older is not None and (revision := older.revision(request, exchange.headers)) is not None:
            if wait:  # only who says beforehand that it is a call gets here, and these say nothing
                return _too_often(wait)
            return await self._older_request(older, revision, exchange, request, flight)
        exchange.entry.asked(
            request.id, request.method if self._front.knows(request.method) else None, flight
        )
        if not accepts(exchange.headers, JSON):
            return line(406, "Answers are application/json or text/event-stream")
        refusal = disagreement(request, exchange.headers)
        if refusal is not None:
            refused = error_message(request.id, refusal.code, refusal.message, refusal.data)
            return _answered(exchange, refused)
        is_stream = request.method == LISTEN
        if is_stream and not accepts(exchange.headers, EVENTS):
            return line(406, "A subscription is answered by text/event-stream")
        if not self._front.is_work(request.method):
            return _answered(exchange, await self._front.answer(request, flight))
        if is_stream:
            self._flights.add(flight)
            return _Opened(request, flight)
        flight.refusal = LimitReached("requests per second") if wait else self._limits.begin(principal)
        self._flights.add(flight)
        try:
            return await self._call(exchange, request, flight)
        finally:
            self._flights.discard(flight)
            if flight.refusal is None:
                self._limits.end(principal)

    async def _stream(self, exchange: Exchange, opened: _Opened) -> Reply | None:
        self._streams.add(exchange)
        try:
            return await self._call(exchange, opened.request, opened.flight)
        finally:
            self._streams.discard(exchange)
            self._flights.discard(opened.flight)
            self._look_whether_idle()

    async def _call(self, exchange: Exchange, request: Request, flight: Flight) -> Reply | None:
        streamed, is_stream = False, request.method == LISTEN
        if is_stream:
            flight.vouch = partial(self._is_still, exchange, flight.principal)
        with Watch(exchange, flight):
            wants = token_of(request.params) is not None and accepts(exchange.headers, EVENTS, listed=True)
            if wants or is_stream:
                notices = Notices()
                flight.tell = notices.tell
                flight.notify = notices.notify
                task = asyncio.ensure_future(self._front.answer(request, flight))
                try:
                    streamed = await notices.relay(exchange, task)
                except BaseException:
                    flight.abandoned = True  # nothing can be sent any more
                    raise
                answer = await task
            else:
                answer = await self._front.answer(request, flight)
        if flight.afterwards is not None and not flight.abandoned:
            flight.abandoned = await exchange.is_gone()
        if flight.abandoned:
            return None
        if streamed:
            exchange.entry.answered(answer)
            await exchange.event(answer, last=True)
        else:
            await exchange.reply(_answered(exchange, answer))
        if flight.afterwards is not None:
            await self._front.finish(flight)
        return None

    async def _is_still(self, exchange: Exchange, principal: Principal) -> bool:
        """Say whether the credentials of a request that stays under way prove the same caller as they did."""
        try:
            return await self._callers.principal(exchange.headers) == principal
        except Refused:
            return False

    async def drain(self, seconds: float) -> bool:
        """Begin nothing more, and wait for what is under way, for *seconds* at most. Say whether it has ended.

        Who listens is told at once, and has STREAM_SECONDS to read it.
        """
        self.is_draining = True
        self._front.end_streams()
        if self._is_busy:
            loop = asyncio.get_running_loop()
            self._idle = loop.create_future()
            leaving = loop.call_later(STREAM_SECONDS, self._leave_streams)
            await asyncio.wait({self._idle}, timeout=seconds)
            leaving.cancel()
        for flight in self._flights:
            flight.abandoned = True
        return not self._is_busy

    def _leave_streams(self) -> None:
        for exchange in tuple(self._streams):
            exchange.abort()


@dataclass(frozen=True, slots=True)
class _Opened:
    """A subscription that was admitted. It waits for as long as it likes, so it takes up no place of a request, nor of
    a call: how many there may be is `listening`'s to say.
    """

    request: Request
    flight: Flight


def _answered(exchange: Exchange, answer: dict[str, Any]) -> Reply:
    """Return the response that carries *answer*, and note what comes out of the request."""
    exchange.entry.answered(answer)
    return message(answer)


def _too_often(wait: int) -> Reply:
    return line(429, "Too many requests per second", (b"retry-after", b"%d" % wait))
