"""Moves messages between stdin, stdout and the kernel: one line each way, nothing lost, nothing unbounded.

Takes the two descriptors for itself, so that nothing else in the process can read a message or write into
one. Decides what happens at the edges: broken frames, ids in flight, cancelling, readers that do not read,
the end. Leaves what a message means to `frames` and what a request does to `kernel`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fsnotes.server.ending import end_at_once, run
from fsnotes.server.flights import Flight
from fsnotes.server.frames import (
    DUPLICATE,
    NOT_JSON,
    Broken,
    Frame,
    Notification,
    Request,
    RequestId,
    Response,
    encode,
    error_message,
    parse_frame,
)
from fsnotes.server.front import Front, crash_message
from fsnotes.server.legacy import Commands, Peer
from fsnotes.server.loading import LARGE_FRAME, ServerSettings, front_of, most_calls
from fsnotes.server.streams import FrameWriter, LineReader, own_descriptor

if TYPE_CHECKING:
    from fsnotes.access import Principal
    from fsnotes.wiring import Product

logger = logging.getLogger(__name__)

FLUSH_SECONDS: Final = 0.1
"""How long the last answers may take to be read, at the least."""

LOAD_SECONDS: Final = 10.0
"""How long calls that came before the end of input may wait for the kernel to be loaded."""

STEP_SECONDS: Final = 0.05
"""How often it is seen meanwhile whether the kernel is being loaded."""

INTERRUPTED: Final = 130


def serve_stdio(product: Product, settings: ServerSettings | None = None) -> int:
    """Serve *product* on stdin and stdout until the input ends, and return the exit code.

    0 at end of input, on SIGTERM and when nobody reads the output any more; 130 on SIGINT. Calls in flight
    are finished and answered first, for as long as the settings allow (at end of input that time begins once
    the kernel is loaded). What is still running then is left behind by ending the process at once: every
    change survives that, as it survives a kill.

    Must run in the main thread. From here on, fd 0 is the null device and fd 1 is stderr.
    """
    settings = settings or ServerSettings()
    if sys.stdin is None or sys.stdout is None:
        return 0  # they were closed at start: the numbers may belong to other files by now
    front = front_of(product, settings)
    source, sink = _take_wire()
    connection = _Connection(
        front, settings, source, sink, principal=product.principal, max_calls=most_calls(product, settings)
    )
    if settings.legacy:
        connection.welcome(
            Peer(
                front.caller,
                Commands(product.settings, product.workspaces, product.principal),
                connection.send,
                read_only=settings.read_only,
                answer_seconds=product.settings.confirm_ttl_seconds,
            )
        )
    return run(front, connection.run(), is_working=lambda: connection.is_parsing)


def _take_wire() -> tuple[int, int]:
    """Return descriptors of our own for stdin and stdout, and turn 0 and 1 to where they can do no harm."""
    source = own_descriptor(0, os.O_RDONLY)
    sink = own_descriptor(1, os.O_WRONLY)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # stderr is closed
        os.dup2(null, 1)
    os.close(null)
    return source, sink


class _Connection:
    """One client, from the first byte to the exit code."""

    def __init__(
        self,
        front: Front,
        settings: ServerSettings,
        source: int,
        sink: int,
        *,
        principal: Principal,
        max_calls: int,
    ) -> None:
        self._front = front
        self._settings = settings
        self._source = source
        self._sink = sink
        self._principal = principal
        self._peer: Peer | None = None
        self._flights: dict[RequestId, Flight] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._max_tasks = 2 * max_calls
        self._input_ended = False
        self._parser = ThreadPoolExecutor(1, thread_name_prefix="fsnotes-parse")
        self._parsing = False

    @property
    def is_parsing(self) -> bool:
        """Say whether a large frame is being parsed."""
        return self._parsing

    def welcome(self, peer: Peer) -> None:
        """Serve what *peer* takes as well: the requests of an older client."""
        self._peer = peer

    def send(self, message: dict[str, Any]) -> None:
        """Send a message of our own; on the event loop."""
        self._output.send(encode(message))

    async def run(self) -> int:
        """Serve until the end, and return the exit code."""
        loop = asyncio.get_running_loop()
        self._end: asyncio.Future[int] = loop.create_future()
        self._output = FrameWriter(self._sink, on_relief=self._relieved, on_broken=lambda: self._stop(0))
        self._input = LineReader(
            self._source, self._settings.max_message_bytes, on_line=self._take, on_end=self._ended
        )
        loop.add_signal_handler(signal.SIGTERM, self._signalled, 0)
        loop.add_signal_handler(signal.SIGINT, self._signalled, INTERRUPTED)
        self._input.resume()
        code = await self._end
        await self._drain()
        return code

    def _ended(self) -> None:
        self._input_ended = True
        self._stop(0)

    def _stop(self, code: int) -> None:
        if not self._end.done():
            self._end.set_result(code)

    def _signalled(self, code: int) -> None:
        if self._end.done():
            end_at_once(self._front, code)  # asked twice: whoever asks does not want to wait
        self._stop(code)

    async def _drain(self) -> None:
        self._input.close()
        if self._peer is not None:
            self._peer.close()  # no answer to a form can be read any more
        self._front.end_streams()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._settings.drain_seconds
        # Again and again: a large frame that has been parsed by then is one more call, which may need the kernel.
        while self._tasks and (left := deadline - loop.time()) > 0:
            if self._input_ended and self._front.is_loading:
                await self._front.loaded(LOAD_SECONDS)
                deadline = loop.time() + self._settings.drain_seconds
            await asyncio.wait(self._tasks, timeout=min(left, STEP_SECONDS))
        await self._output.flush(max(deadline - loop.time(), FLUSH_SECONDS))
        for flight in self._flights.values():
            flight.abandoned = True

    def _take(self, line: bytes | None) -> None:
        if line is None:
            self._refuse(NOT_JSON)
        elif len(line) > LARGE_FRAME:
            self._take_large(line)
        elif line.strip(b" \t\r"):
            self._act(parse_frame(line))
        if self._is_congested:
            self._input.pause()

    def _take_large(self, line: bytes) -> None:
        """Parse *line* beside the loop: it may take seconds. What comes behind it waits, so the order is kept."""
        try:
            parsed = asyncio.get_running_loop().run_in_executor(self._parser, parse_frame, line)
        except RuntimeError:  # the host has no thread to give
            self._act(parse_frame(line))
            return
        self._parsing = True
        task = asyncio.ensure_future(self._take_parsed(parsed))
        self._tasks.add(task)
        task.add_done_callback(self._served)

    async def _take_parsed(self, parsed: Awaitable[Frame]) -> None:
        try:
            self._act(await parsed)
        finally:
            self._parsing = False

    def _act(self, frame: Frame) -> None:
        match frame:
            case Request() as request:
                self._start(request)
            case Notification() as notification:
                self._note(notification)
            case Broken() as broken:
                self._refuse(broken)
            case Response() as response:
                if self._peer is not None:
                    self._peer.receive(response)

    @property
    def _is_congested(self) -> bool:
        # Streams have a bound of their own, and leave the places of calls to calls.
        calls = len(self._tasks) - self._front.streams
        return self._parsing or self._output.is_congested or calls >= self._max_tasks

    def _relieved(self) -> None:
        if not self._end.done() and not self._is_congested:
            self._input.resume()

    def _refuse(self, broken: Broken) -> None:
        self._output.send(encode(error_message(broken.id, broken.code, broken.message)))

    def _start(self, request: Request) -> None:
        if request.id in self._flights:
            self._refuse(DUPLICATE)
            return
        flight = self._flights[request.id] = Flight(self._principal)
        loop = asyncio.get_running_loop()
        flight.tell = partial(self._tell, request.id, flight)
        flight.notify = partial(self._notify, loop, request.id, flight)
        older = None if self._peer is None else self._peer.take(request, flight)
        task = loop.create_task(self._serve(request, flight, older or self._front.answer(request, flight)))
        self._tasks.add(task)
        task.add_done_callback(self._served)

    def _notify(
        self, loop: asyncio.AbstractEventLoop, id_: RequestId, flight: Flight, message: dict[str, Any]
    ) -> None:
        """Send a notification that belongs to a request; for any thread."""
        with suppress(RuntimeError):  # the end has come, and nobody reads any more
            loop.call_soon_threadsafe(self._send_for, id_, flight, message)

    def _tell(self, id_: RequestId, flight: Flight, message: dict[str, Any]) -> bool:
        """Send a notification that must not be lost, if there is room for it; say whether there was."""
        if self._output.is_congested:
            return False
        self._send_for(id_, flight, message)
        return True

    def _send_for(self, id_: RequestId, flight: Flight, message: dict[str, Any]) -> None:
        # Nothing comes behind the answer; and who does not read what there is needs no more.
        if self._flights.get(id_) is flight and not flight.abandoned and not self._output.is_congested:
            self._output.send(encode(message))

    def _served(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._relieved()

    async def _serve(
        self, request: Request, flight: Flight, answering: Coroutine[Any, Any, dict[str, Any]]
    ) -> None:
        answer = await answering
        if flight.abandoned:
            return
        del self._flights[request.id]
        try:
            frame = encode(answer)
        except (ValueError, TypeError):
            logger.exception("a result has no JSON form")
            frame = encode(crash_message(request.id))
        position = self._output.send(frame)
        if flight.afterwards is not None and await self._output.has_left(position):
            await self._front.finish(flight)

    def _note(self, notification: Notification) -> None:
        """Act on a notification; only the one that cancels means anything here, and one more to an older client."""
        if self._peer is not None:
            self._peer.note(notification)
        if notification.method != "notifications/cancelled":
            return
        id_ = (notification.params or {}).get("requestId")
        if not isinstance(id_, (int, str)) or isinstance(id_, bool):
            return
        flight = self._flights.pop(id_, None)
        if flight is not None:
            # It goes unanswered; a change that has begun is finished all the same.
            flight.abandoned = True
