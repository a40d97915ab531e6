"""Decides what the audit log says of a change or a refusal, and that no change happens without room for its line.

A change is announced by a line with the outcome `begun`, which is then overwritten in place, once, by what
became of it: so the room is there before anything is changed, there is exactly one line for each change, and a
process that is killed in between leaves `begun` as its trace. Never holds a note's text or a secret.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from fsnotes.errors import Unavailable

LOCK_SECONDS: Final = 2.0
"""How long a line waits for another process that is writing one."""

_SPARE: Final = 256
"""Room in a `begun` line for what is only known afterwards, beside the path: two etags, an outcome."""

_MAX_PATH: Final = 4200
"""Longest path whose other spellings are given room, in characters; a little more than any path has."""

_MAX_FIELD: Final = 25_000
"""Longest text of one field, in bytes of JSON: a path is at most 4,095 bytes, and `\\u0001` takes six for one."""


_MAX_REFUSED_FIELD: Final = 400
"""The same where nothing was changed: who is refused must not fill the disk with words of their choice."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the log. *path* is a note id, never a path of the host; *new_path* is where a move leads."""

    principal: str
    tool: str
    workspace: str
    path: str | None
    jail: str
    request_id: str | None = None
    trace_id: str | None = None
    outcome: str = "begun"
    etag_before: str | None = None
    etag_after: str | None = None
    new_path: str | None = None


class AuditLog:
    """An append-only file of JSON lines, shared by processes; `flock` orders the appends."""

    def __init__(self, path: str, *, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._mutex = threading.Lock()

    def reserve(self, event: Event) -> Reservation:
        """Write the `begun` line of a change. Raises Unavailable when there is no room: nothing may be changed."""
        line = self._encode(event)
        # Where the path is known already, only its spelling can change: a suffix, another Unicode form.
        spare = _SPARE + (_respelled(event.path) or 3 * _MAX_PATH) + _respelled(event.new_path)
        slot = line[:-1] + b" " * spare + b"\n"
        try:
            with self._appending() as (descriptor, end):
                self._append(descriptor, end, slot)
                return Reservation(self, event, os.dup(descriptor), end, len(slot))
        except OSError as error:
            raise Unavailable("the audit log cannot be written") from error

    def refuse(self, event: Event) -> None:
        """Append the line of a refusal. Raises Unavailable when it cannot be written."""
        try:
            with self._appending() as (descriptor, end):
                self._append(descriptor, end, self._encode(event, most=_MAX_REFUSED_FIELD))
        except OSError as error:
            raise Unavailable("the audit log cannot be written") from error

    @contextmanager
    def _appending(self) -> Iterator[tuple[int, int]]:
        with self._mutex:
            descriptor = os.open(
                self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600
            )
            try:
                self._lock(descriptor)
                yield descriptor, os.lseek(descriptor, 0, os.SEEK_END)
            finally:
                # A reservation keeps a duplicate, and closing ours would not free what both share.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
                os.close(descriptor)

    @staticmethod
    def _lock(descriptor: int) -> None:
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(0.002)
            else:
                return

    def _give_back(self, descriptor: int, offset: int, line: bytes, length: int) -> None:
        """Cut a line's padding off the end of the file, if nobody has written behind it."""
        with self._mutex:
            self._lock(descriptor)
            try:
                if os.fstat(descriptor).st_size == offset + length:
                    _write_all(descriptor, line, offset)
                    os.ftruncate(descriptor, offset + len(line))
            finally:
                fcntl.flock(descriptor, fcntl.LOCK_UN)

    @staticmethod
    def _append(descriptor: int, end: int, line: bytes) -> None:
        try:
            _write_all(descriptor, line, end)
        except OSError:
            # A half-written line would swallow the next one.
            os.ftruncate(descriptor, end)
            raise

    def _encode(self, event: Event, *, most: int = _MAX_FIELD) -> bytes:
        now = self._clock()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"
        fields = {
            "time": stamp,
            "principal": event.principal,
            "tool": event.tool,
            "workspace": event.workspace,
            "path": event.path,
            "outcome": event.outcome,
            "etagBefore": event.etag_before,
            "etagAfter": event.etag_after,
            "jail": event.jail,
            "requestId": event.request_id,
            "traceId": event.trace_id,
        }
        if event.new_path is not None:
            fields["newPath"] = event.new_path
        clipped = {key: _clip(value, most) if value is not None else None for key, value in fields.items()}
        return json.dumps(clipped, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


class Reservation:
    """The place of a change's line. `settle` is called once, with what became of the change."""

    def __init__(self, log: AuditLog, event: Event, descriptor: int, offset: int, length: int) -> None:
        self._log = log
        self._event = event
        self._descriptor = descriptor
        self._offset = offset
        self._length = length

    def refuse(self, outcome: str) -> None:
        """Overwrite the `begun` line of a change that was not made, and give its room back where it is the last."""
        event = replace(self._event, outcome=outcome)
        line = self._log._encode(event, most=_MAX_REFUSED_FIELD)  # noqa: SLF001 - one idea in two classes
        self._end(line, shrink=True)

    def settle(
        self,
        outcome: str,
        *,
        path: str | None = None,
        before: str | None = None,
        after: str | None = None,
        new_path: str | None = None,
    ) -> None:
        """Overwrite the `begun` line. The descriptor is that of the file it was written to, renamed or not."""
        event = replace(
            self._event,
            outcome=outcome,
            path=path or self._event.path,
            etag_before=before,
            etag_after=after,
            new_path=new_path or self._event.new_path,
        )
        line = self._log._encode(event)  # noqa: SLF001 - one idea in two classes
        if len(line) > self._length:
            asked = replace(event, path=self._event.path, new_path=self._event.new_path)
            line = self._log._encode(asked)  # noqa: SLF001
        self._end(line, shrink=False)

    def _end(self, line: bytes, *, shrink: bool) -> None:
        try:
            _write_all(self._descriptor, line[:-1].ljust(self._length - 1) + b"\n", self._offset)
            if shrink:
                self._log._give_back(self._descriptor, self._offset, line, self._length)  # noqa: SLF001
        except OSError:
            # The room was taken beforehand, so this is a broken disk; the `begun` line stays and says so.
            pass
        finally:
            os.close(self._descriptor)


def _respelled(path: str | None) -> int:
    """Return how many bytes another spelling of *path* may take besides; 0 where none is known."""
    return 2 * len((path or "")[:_MAX_PATH].encode("utf-8", "replace"))


def _clip(value: str, most: int) -> str:
    """Cut *value* so that its JSON takes at most *most* bytes."""
    if 12 * len(value) <= most:  # no character takes more: two escapes of six
        return value
    value = value[:most]
    while (excess := len(json.dumps(value)) - 2 - most) > 0:
        value = value[: -max(1, excess // 12)]
    return value


def _write_all(descriptor: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view = view[written:]
        offset += written
