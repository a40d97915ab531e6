"""What a worker writes to its stderr, in our log: escaped, in short lines, and no more than a bound.

A mistake in a handler leaves its traceback here, and so does a worker that cannot begin. A worker that has been
taken over can write what it likes, so nothing it writes may look like another line of the log.
"""

from __future__ import annotations

import io
import logging
from typing import Final

from sandbox.names import display

MAX_BYTES: Final = 64 * 1024
"""Of one worker, in its whole life. Then its pipe is closed, so that it cannot keep us reading."""

MAX_LINE: Final = 500

logger = logging.getLogger(__name__)


class ErrorLog:
    """Reads the pipe of one worker. For one thread."""

    def __init__(self, pipe: io.FileIO, *, pid: int) -> None:
        self._pipe = pipe
        self._pid = pid
        self._left = MAX_BYTES
        self._line = b""

    def read(self) -> bool:
        """Log what has come; return whether more can come."""
        while True:
            try:
                data = self._pipe.read(4_096)
            except OSError:
                data = b""
            if data is None:
                return True
            self._left -= len(data)
            if not data or self._left < 0:
                self._finish(cut=bool(data))
                return False
            *lines, self._line = (self._line + data).split(b"\n")
            for line in lines:
                self._log(line)
            if len(self._line) > MAX_LINE:
                self._log(self._line)
                self._line = b""

    def close(self) -> None:
        """Log what is left and close the pipe."""
        if not self._pipe.closed:
            self.read()
            self._finish(cut=False)

    def _finish(self, *, cut: bool) -> None:
        if self._line:
            self._log(self._line)
        self._line = b""
        if cut:
            logger.warning("worker %d wrote too much; the rest is not read", self._pid)
        self._pipe.close()

    def _log(self, line: bytes) -> None:
        if line.strip():
            shown = display(line[:MAX_LINE]) + ("…" if len(line) > MAX_LINE else "")
            logger.warning("worker %d: %s", self._pid, shown)
