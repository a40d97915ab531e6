"""Decides in which thread blocking work is done, and how its outcome gets back to the event loop.

The standard pool wakes a thread for each piece of work and the loop for each outcome. With many short calls in
flight, handing Python's one lock to and fro then costs more than the calls do. Here two threads do them one after
the other while that goes well, and outcomes that are there together come back together.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Final

from fsnotes.errors import LimitReached

EAGER: Final = 2
"""Threads that work at once as long as work gets done."""

PATIENCE: Final = 0.005
"""Seconds without any outcome after which all work that waits gets threads of its own."""

IDLE_SECONDS: Final = 10.0
"""How long a thread stays that has nothing to do."""


class NoThread(LimitReached):
    """The host has no thread to give, and none is at work that could come for what waits."""

    def __init__(self) -> None:
        super().__init__("threads of this host")


Work = Callable[[], Any]
_Item = tuple[asyncio.Future[Any], Work]
_Inbox = SimpleQueue[_Item | None]


class Threads:
    """Up to *most* threads that work for one event loop; `run`, `prepare` and `close` are called on it.

    *kept* of them stay though there is nothing to do, for work that must be done where the host has no more to give.
    `running` counts what has been asked for and has not ended, also where nobody waits for it any more.
    """

    def __init__(self, most: int, *, name: str, kept: int = 0) -> None:
        self._most = most
        self._kept = kept
        self._name = name
        self._mutex = threading.Lock()
        self._waiting: deque[_Item] = deque()
        self._idle: list[_Inbox] = []
        self._working = 0
        self._outcomes: deque[tuple[asyncio.Future[Any], Any, BaseException | None]] = deque()
        self._delivered = 0
        self._called = False
        self._watched = False
        self._closed = False
        self.running = 0

    async def run(self, work: Work) -> Any:
        """Return what *work* returns in a thread, or raise what it raises, and NoThread where it cannot be begun.

        Work that has begun is finished, whether anybody waits for it or not.
        """
        if self._closed:
            raise RuntimeError("no work is taken any more")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        with self._mutex:
            self.running += 1
            self._waiting.append((future, work))
        self._engage(loop, EAGER)
        if self._waiting and not self._watched:
            self._watched = True
            loop.call_later(PATIENCE, self._watch, loop, self._delivered)
        return await future

    def prepare(self) -> None:
        """Have a thread wait for work, if there is none and the host has one to give."""
        with self._mutex:
            if self._idle or self._working or self._closed:
                return
            inbox: _Inbox = SimpleQueue()
            self._idle.append(inbox)
        if not self._start(asyncio.get_running_loop(), inbox):
            with self._mutex:
                self._idle.remove(inbox)

    def _start(self, loop: asyncio.AbstractEventLoop, inbox: _Inbox) -> bool:
        """Start a thread that serves *inbox*; say no where there can be none."""
        thread = threading.Thread(target=self._serve, args=(loop, inbox), name=self._name, daemon=True)
        try:
            thread.start()
        except Exception:  # noqa: BLE001 - the host has no more threads, or no memory for one
            return False
        return True

    def _engage(self, loop: asyncio.AbstractEventLoop, most: int) -> None:
        """Hand out what waits, until *most* threads are at work."""
        while True:
            with self._mutex:
                if not self._waiting or self._working >= most:
                    return
                # The one that stopped last: its stack is warm, and the others may end.
                inbox = self._idle.pop() if self._idle else None
                self._working += 1
            if inbox is None:
                inbox = SimpleQueue()
                if not self._start(loop, inbox):
                    self._do_without()
                    return
            # Only now, as a thread may have been impossible to start, or another may have come for it meanwhile.
            item = self._another(inbox)
            if item is None:
                return
            inbox.put(item)

    def _do_without(self) -> None:
        """Leave what waits to the threads that are there. Where there is none, nobody would ever come for it."""
        with self._mutex:
            self._working -= 1
            if self._working:
                return
            left, self._waiting = self._waiting, deque()
            self.running -= len(left)
        for future, _ in left:
            if not future.done():
                future.set_exception(NoThread())

    def _watch(self, loop: asyncio.AbstractEventLoop, delivered: int) -> None:
        """Engage more threads if those that are at work have got stuck."""
        self._watched = bool(self._waiting)
        if self._watched:
            if self._delivered == delivered and not self._outcomes:
                self._engage(loop, self._most)
            loop.call_later(PATIENCE, self._watch, loop, self._delivered)

    def _serve(self, loop: asyncio.AbstractEventLoop, inbox: _Inbox) -> None:
        while (item := self._next(inbox)) is not None:
            while item is not None:
                self._do(loop, *item)
                item = self._another(inbox)

    def _another(self, inbox: _Inbox) -> _Item | None:
        """Take what waits longest for the thread of *inbox*; it is idle from here on if that is nothing."""
        with self._mutex:
            if self._waiting:
                return self._waiting.popleft()
            self._working -= 1
            if self._closed:
                inbox.put(None)
            else:
                self._idle.append(inbox)
            return None

    def _next(self, inbox: _Inbox) -> _Item | None:
        while True:
            try:
                return inbox.get(timeout=IDLE_SECONDS)
            except Empty:
                with self._mutex:
                    if inbox in self._idle:
                        if len(self._idle) <= self._kept:
                            continue
                        self._idle.remove(inbox)
                        return None
                # It has been engaged at that very moment: what it is to do is on its way.

    def _do(self, loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], work: Work) -> None:
        result: Any = None
        raised: BaseException | None = None
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - it is raised where the outcome is awaited
            raised = error
        with self._mutex:
            self.running -= 1
        # Appended first: whoever finds that the loop has been called finds, too, that it has yet to look.
        self._outcomes.append((future, result, raised))
        if not self._called:
            self._called = True
            try:
                loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:
                pass  # the loop is closed: nobody waits

    def _deliver(self) -> None:
        self._called = False
        while self._outcomes:
            future, result, raised = self._outcomes.popleft()
            self._delivered += 1
            if future.done():
                continue  # nobody waits any more
            if raised is None:
                future.set_result(result)
            else:
                future.set_exception(raised)

    def close(self) -> None:
        """Begin nothing more, and wait for nothing: what is at work is left to the caller."""
        with self._mutex:
            self._closed = True
            self._waiting.clear()
            idle, self._idle = self._idle, []
        for inbox in idle:
            inbox.put(None)
