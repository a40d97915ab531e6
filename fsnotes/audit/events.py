"""Decides how a change or a refusal is written as one line, and how long that line may become."""

from __future__ import annotations

import json
import time
from typing import Final

from sandbox.records import record

BEGUN: Final = "begun"
"""The outcome of a change that has none yet, or whose process ended before it had one."""

_SPARE: Final = 256
"""Room in a `begun` line for what is only known afterwards, beside the path: two etags, an outcome."""

_MAX_PATH: Final = 4200
"""Longest path whose other spellings are given room, in characters; a little more than any path has."""

MAX_FIELD: Final = 25_000
"""Longest text of one field, in bytes of JSON: a path is at most 4,095 bytes, and `\\u0001` takes six for one."""

MAX_REFUSED_FIELD: Final = 400
"""The same where nothing was changed: who is refused must not fill the disk with words of their choice."""


@record
class Event:
    """One line of the log. *path* is a note id, never a path of the host; *new_path* is where a move leads."""

    principal: str
    tool: str
    workspace: str
    path: str | None
    jail: str
    request_id: str | None = None
    trace_id: str | None = None
    outcome: str = BEGUN
    etag_before: str | None = None
    etag_after: str | None = None
    new_path: str | None = None


def stamp(now: float) -> str:
    """Return a time, in seconds since 1970, as it stands in a line: in UTC, to the millisecond."""
    seconds, milliseconds = divmod(round(now * 1000), 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{milliseconds:03d}Z"


def encode(event: Event, *, stamp: str, most: int = MAX_FIELD) -> bytes:
    """Return the line of *event*: ASCII, with its line feed, each field but the principal cut to *most* bytes.

    A principal is never cut, else two could look like one. It has been proven, and is bounded where that was done:
    an issuer as it is configured and at most 255 characters of a subject; so nobody fills the disk with one.
    """
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
    clipped = {
        key: value if value is None or key == "principal" else _clip(value, most)
        for key, value in fields.items()
    }
    return json.dumps(clipped, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def slot(event: Event, *, stamp: str) -> bytes:
    """Return the `begun` line of *event*, with spaces for whatever may become of it."""
    line = encode(event, stamp=stamp)
    # Where the path is known already, only its spelling can change: a suffix, another Unicode form.
    spare = _SPARE + (_respelled(event.path) or 3 * _MAX_PATH) + _respelled(event.new_path)
    return line[:-1] + b" " * spare + b"\n"


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
