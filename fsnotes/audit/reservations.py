"""The room of a change's line: taken before the change, overwritten in place once, by what became of it.

A process that is killed in between leaves `begun` as its trace.
"""

from __future__ import annotations

import os
import time

from fsnotes.audit.events import MAX_REFUSED_FIELD, Event, encode
from fsnotes.audit.locking import LOCK_SECONDS, lock, write_all
from sandbox.records import replace
from sandbox.releasing import release, unlock


class Reservation:
    """The place of a change's line. Ended once, by `settle` or `refuse`, with what became of the change.

    The descriptor is its own, and is that of the file that the line stands in, whatever that is called by then.
    """

    def __init__(self, event: Event, descriptor: int, *, stamp: str, offset: int, length: int) -> None:
        self._event = event
        self._descriptor = descriptor
        self._stamp = stamp
        self._offset = offset
        self._length = length

    def refuse(self, outcome: str) -> None:
        """Overwrite the `begun` line of a change that was not made, and give its room back where it is the last."""
        line = encode(replace(self._event, outcome=outcome), stamp=self._stamp, most=MAX_REFUSED_FIELD)
        try:
            self._overwrite(line)
            self._give_back(line)
        except OSError:
            # The room was taken beforehand, so this is a broken disk; the line that stands there says what it can.
            pass
        finally:
            release(self._descriptor)

    def settle(
        self,
        outcome: str,
        *,
        path: str | None = None,
        before: str | None = None,
        after: str | None = None,
        new_path: str | None = None,
    ) -> None:
        """Overwrite the `begun` line."""
        event = replace(
            self._event,
            outcome=outcome,
            path=path or self._event.path,
            etag_before=before,
            etag_after=after,
            new_path=new_path or self._event.new_path,
        )
        line = encode(event, stamp=self._stamp)
        if len(line) > self._length:
            asked = replace(event, path=self._event.path, new_path=self._event.new_path)
            line = encode(asked, stamp=self._stamp)
        try:
            self._overwrite(line)
        except OSError:
            # The room was taken beforehand, so this is a broken disk; the `begun` line stays and says so.
            pass
        finally:
            release(self._descriptor)

    def _overwrite(self, line: bytes) -> None:
        write_all(self._descriptor, line[:-1].ljust(self._length - 1) + b"\n", self._offset)

    def _give_back(self, line: bytes) -> None:
        """Cut the line's padding off the end of the file, if nobody has written behind it."""
        lock(self._descriptor, until=time.monotonic() + LOCK_SECONDS)
        try:
            if os.fstat(self._descriptor).st_size == self._offset + self._length:
                # A kill between the two leaves a line of spaces, which is none.
                write_all(self._descriptor, line, self._offset)
                os.ftruncate(self._descriptor, self._offset + len(line))
        finally:
            unlock(self._descriptor)
