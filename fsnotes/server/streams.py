"""Moves bytes: lines in and frames out, over any kind of file, without ever blocking the event loop.

What a line says is left to `frames`, and when to stop reading to whoever takes the lines.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import stat
from collections import deque
from collections.abc import Callable
from typing import Final

from fsnotes.server.frames import LineSplitter

logger = logging.getLogger(__name__)

CHUNK: Final = 65_536
"""How much is read at once."""

QUEUE_HIGH: Final = 4 * 1_048_576
"""With more bytes than this waiting to be written, nothing more is read."""

MAX_VECTOR: Final = 64
"""Frames that are written at once; the system takes no more than 1,024."""

QUEUE_LOW: Final = 1_048_576
"""Reading goes on once no more than this is waiting."""


def own_descriptor(number: int, access: int) -> int:
    """Return a non-blocking descriptor of what *number* is open on.

    The flag belongs to the open file description, which a terminal shares with the shell and a pipe may share
    with other programs: so it is opened anew where that is possible. A regular file is not, as it would lose
    its position; it never blocks anyway.
    """
    mode = os.fstat(number).st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        try:
            return os.open(f"/proc/self/fd/{number}", access | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            logger.debug("fd %d cannot be opened anew", number)
    own = os.dup(number)
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        os.set_blocking(own, False)
    return own


class FrameWriter:
    """Writes frames in order: at once while the reader keeps up, else from a queue."""

    def __init__(self, fd: int, *, on_relief: Callable[[], None], on_broken: Callable[[], None]) -> None:
        self._fd = fd
        self._queue: deque[memoryview] = deque()
        self._sent = 0
        self._written = 0
        self._broken = False
        self._begun = False
        self._progress: asyncio.Future[None] | None = None
        self._on_relief = on_relief
        self._on_broken = on_broken

    @property
    def _waiting(self) -> int:
        return self._sent - self._written

    @property
    def is_congested(self) -> bool:
        """Say whether the reader is so far behind that nothing more should be begun."""
        return self._waiting > QUEUE_HIGH and not self._broken

    def send(self, frame: bytes) -> int:
        """Queue *frame* to be written in order, at the end of this turn, and return where it ends in the stream.

        Dropped once nobody reads any more.
        """
        if self._broken:
            return self._sent
        self._queue.append(memoryview(frame))
        self._sent += len(frame)
        if not self._begun:
            # At the end of this turn of the loop: answers that are ready together leave together.
            self._begun = True
            asyncio.get_running_loop().call_soon(self._begin)
        return self._sent

    def _begin(self) -> None:
        self._write()
        if not self._queue:
            self._begun = False
            return
        loop = asyncio.get_running_loop()
        try:
            loop.add_writer(self._fd, self._go_on)
        except PermissionError:  # a regular file, which takes everything: more was sent meanwhile
            loop.call_soon(self._begin)

    def _go_on(self) -> None:
        self._write()
        if not self._queue:
            asyncio.get_running_loop().remove_writer(self._fd)
            self._begun = False

    def _write(self) -> None:
        was_congested = self._waiting > QUEUE_LOW
        while self._queue:
            try:
                written = os.writev(self._fd, list(itertools.islice(self._queue, MAX_VECTOR)))
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                self._break()
                return
            self._written += written
            while written:
                frame = self._queue[0]
                if written < len(frame):
                    self._queue[0] = frame[written:]
                    break
                written -= len(frame)
                self._queue.popleft()
        self._tell()
        if was_congested and self._waiting <= QUEUE_LOW:
            self._on_relief()

    def _break(self) -> None:
        self._broken = True
        self._queue.clear()
        self._tell()
        self._on_broken()

    def _tell(self) -> None:
        progress, self._progress = self._progress, None
        if progress is not None and not progress.done():
            progress.set_result(None)

    async def has_left(self, position: int) -> bool:
        """Wait until everything up to *position* is written; say whether it could be."""
        while self._written < position and not self._broken:
            if self._progress is None:
                self._progress = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._progress)
        return self._written >= position

    async def flush(self, seconds: float) -> None:
        """Wait until everything is written, for *seconds* at most."""
        if not self._queue:
            return
        try:
            await asyncio.wait_for(self.has_left(self._sent), seconds)
        except TimeoutError:
            logger.warning("%d bytes were not read by the client", self._waiting)


class LineReader:
    """Reads lines from any kind of file, and stops while it is told to."""

    def __init__(
        self, fd: int, limit: int, *, on_line: Callable[[bytes | None], None], on_end: Callable[[], None]
    ) -> None:
        self._fd = fd
        self._splitter = LineSplitter(limit)
        self._lines: deque[bytes | None] = deque()
        self._on_line = on_line
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._pollable = True
        self._paused = True
        self._closed = False

    def resume(self) -> None:
        """Begin to read, or go on."""
        if self._closed or not self._paused:
            return
        self._paused = False
        self._hand_over()
        if self._paused or self._closed:
            return
        if self._pollable:
            try:
                self._loop.add_reader(self._fd, self._read)
            except PermissionError:  # a regular file, or the null device: always ready
                self._pollable = False
        if not self._pollable:
            self._loop.call_soon(self._read)

    def pause(self) -> None:
        """Read nothing more, and hand over no line that is read already, until `resume`."""
        if not self._paused and self._pollable:
            self._loop.remove_reader(self._fd)
        self._paused = True

    def close(self) -> None:
        """Read nothing more, for good."""
        self.pause()
        self._closed = True
        self._lines.clear()

    def _read(self) -> None:
        if self._paused or self._closed:
            return
        try:
            chunk = os.read(self._fd, CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # a terminal that hung up, a connection that was reset
            chunk = b""
        self._lines.extend(self._splitter.feed(chunk) if chunk else self._splitter.end())
        self._hand_over()
        if not chunk:
            self.pause()
            self._on_end()
        elif not self._pollable and not self._paused:
            self._loop.call_soon(self._read)

    def _hand_over(self) -> None:
        while self._lines and not self._paused:
            self._on_line(self._lines.popleft())
