"""Keeps several processes that serve one socket: starts them, and again where one ends; hands on the order to end.

The parent answers no request and opens no workspace, so there is little that could end it. The first child is started
alone: what keeps it from serving would keep all of them, and is said once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from fsnotes.config import Source
from fsnotes.folders import Seen
from fsnotes.http_settings import HttpSettings
from fsnotes.server.http.child import END, SERVING, told
from fsnotes.server.http.serving import CLOSE_SECONDS, INTERRUPTED

logger = logging.getLogger(__name__)

FIRST_PAUSE: Final = 0.1
"""How many seconds pass before a child that ended is replaced; after each that did not last, twice as many."""

MOST_PAUSE: Final = 10.0

LASTED_SECONDS: Final = 10.0
"""A child that served for so long was well: whatever ended it has not to do with how it began."""

MOST_TRIES: Final = 5
"""How many are begun before any has ever served."""

GRACE_SECONDS: Final = 5.0
"""How much longer than it says a child may take to end, before it is killed."""


class Command(Protocol):
    """Gives the command that starts a child with the descriptors *listening* and *link*."""

    def __call__(self, *, listening: int, link: int, is_first: bool) -> list[str]:
        """Return it."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a child ended: its code, the negative number of the signal that killed it, and how long it had served.

    *code* None: there was none, as no process could be started.
    """

    code: int | None
    served: float | None


def serve_by_many(
    command: Command, settings: HttpSettings, *, listening: socket.socket, source: Source, seen: Seen
) -> int:
    """Have `settings.workers` processes serve the socket *listening* until a signal ends them; return the exit code.

    All serve the configuration in *source*, and the folders that were *seen*. 0 on SIGTERM, 130 on SIGINT, once all
    have answered what was under way; a second signal kills them. Before any has served, the code of one that cannot: it
    has said why. Must run in the main thread.
    """
    return asyncio.run(_Parent(command, settings, listening, told(source, seen)).run())


class _Parent:
    def __init__(
        self, command: Command, settings: HttpSettings, listening: socket.socket, source: bytes
    ) -> None:
        self._command = command
        self._settings = settings
        self._listening = listening
        self._source = source
        self._children: dict[asyncio.subprocess.Process, socket.socket] = {}
        self._told: set[asyncio.subprocess.Process] = set()
        """Those that have been sent the configuration whole, so that more can be said to them."""
        self._has_served = asyncio.Event()
        self._ending = asyncio.Event()
        self._code = 0

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._signalled, 0)
        loop.add_signal_handler(signal.SIGINT, self._signalled, INTERRUPTED)
        keepers = [asyncio.ensure_future(self._keep(is_first=True))]
        await self._first_of(self._has_served, self._ending, keepers=keepers)
        if self._has_served.is_set() and not self._ending.is_set():
            keepers += [
                asyncio.ensure_future(self._keep(is_first=False)) for _ in range(self._settings.workers - 1)
            ]
            await self._first_of(self._ending, keepers=keepers)
        # One that keeps nothing any more has met a fault, and what it kept would be missing without a word.
        self._end(1)
        seconds = self._settings.drain_seconds + CLOSE_SECONDS + GRACE_SECONDS
        _, late = await asyncio.wait(keepers, timeout=seconds)
        if late:
            logger.warning("killed processes that did not end")
            self._kill()
            await asyncio.wait(late, timeout=GRACE_SECONDS)
        for keeper in keepers:
            if keeper.done():
                keeper.result()
        return self._code

    async def _keep(self, *, is_first: bool) -> None:
        """Have one child at a time serve, until the end."""
        pause = FIRST_PAUSE
        tries = 0
        while not self._ending.is_set():
            ended = await self._one(is_first=is_first)
            if self._ending.is_set():
                return
            tries += 1
            # What keeps the first of all from serving would keep each, unless it was killed. Later, others serve: what
            # one lacks is said by it, and may be there again.
            is_hopeless = (ended.code or 0) > 0 or tries >= MOST_TRIES
            if is_hopeless and not self._has_served.is_set():
                if (ended.code or 0) <= 0:  # else it has said why
                    logger.error("nothing is served: the first process %s", _how(ended.code))
                self._end(max(ended.code or 0, 0) or 1)
                return
            pause = FIRST_PAUSE if (ended.served or 0) >= LASTED_SECONDS else pause
            logger.warning("a serving process %s; another one begins in %.1f s", _how(ended.code), pause)
            is_first = is_first and not self._has_served.is_set()
            await self._first_of(self._ending, seconds=pause)
            pause = min(2 * pause, MOST_PAUSE)

    async def _one(self, *, is_first: bool) -> _Ended:
        """Start a child, and wait for its end."""
        loop = asyncio.get_running_loop()
        try:
            child, ours = await self._started(is_first=is_first)
        except (OSError, RuntimeError) as error:
            # Of descriptors, processes, threads or memory this host has none left, or its interpreter is not there.
            logger.warning("no process can be started: %s", getattr(error, "strerror", None) or error)
            return _Ended(None, None)
        with ours:
            self._children[child] = ours
            try:
                served = None
                if await self._is_serving(child, ours):
                    served = loop.time()
                    self._has_served.set()
                code = await child.wait()
                return _Ended(code, None if served is None else loop.time() - served)
            finally:
                del self._children[child]
                self._told.discard(child)

    async def _started(self, *, is_first: bool) -> tuple[asyncio.subprocess.Process, socket.socket]:
        """Start a child, and return it with this end of the link to it. Raises OSError and RuntimeError."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                words = self._command(
                    listening=self._listening.fileno(), link=theirs.fileno(), is_first=is_first
                )
                child = await asyncio.create_subprocess_exec(
                    *words,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.DEVNULL,
                    pass_fds=(self._listening.fileno(), theirs.fileno()),
                    # A terminal signals the whole group of who is in front of it; the order to end is the parent's.
                    process_group=0,
                )
            ours.settimeout(0)
        except BaseException:
            ours.close()
            raise
        return child, ours

    async def _is_serving(self, child: asyncio.subprocess.Process, link: socket.socket) -> bool:
        """Tell the child what it is to serve, and wait until it does; say no where it ends before."""
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(link, self._source)
            self._told.add(child)
            if self._ending.is_set():
                link.send(END)
            return await loop.sock_recv(link, len(SERVING)) == SERVING
        except OSError:
            return False

    def _signalled(self, code: int) -> None:
        if self._ending.is_set():
            # Whoever asks twice does not want to wait.
            self._kill()
            os._exit(self._code)
        self._end(code)

    def _end(self, code: int) -> None:
        """Begin nothing more, and have all children end."""
        if self._ending.is_set():
            return
        self._code = code
        self._ending.set()
        # Once the last child lets go of it, nobody listens: who comes then is refused, and does not wait for nothing.
        self._listening.close()
        for child in self._told:
            try:
                # Not by a signal: its number may be another process's by the time that it is sent.
                self._children[child].send(END)
            except OSError:
                pass  # it has ended

    def _kill(self) -> None:
        for child in self._children:
            try:
                child.kill()
            except ProcessLookupError:
                pass  # it has ended

    @staticmethod
    async def _first_of(
        *events: asyncio.Event, keepers: Sequence[asyncio.Task[None]] = (), seconds: float | None = None
    ) -> None:
        """Wait until one of *events* is set, one of *keepers* is done, or *seconds* have passed."""
        waiting = [asyncio.ensure_future(event.wait()) for event in events]
        await asyncio.wait([*waiting, *keepers], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for each in waiting:
            each.cancel()


def _how(code: int | None) -> str:
    if code is None:
        return "could not be started"
    return f"ended (killed by signal {-code})" if code < 0 else f"ended (exit code {code})"
