"""Decides how an answer becomes an HTTP response: its status, its fields, its bytes.

Sources: the specification's page on Streamable HTTP; RFC 9110, section 15.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Final

from fsnotes.server.envelope import INVALID_PARAMS, METHOD_NOT_FOUND, UNSUPPORTED_VERSION
from fsnotes.server.frames import INVALID_REQUEST, PARSE_ERROR, encode
from fsnotes.server.front import crash_message
from fsnotes.server.http.headers import HEADER_MISMATCH

logger = logging.getLogger(__name__)

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Field = tuple[bytes, bytes]

MISSING_CAPABILITY: Final = -32021

STATUSES: Final[Mapping[int, int]] = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}
"""The status of each JSON-RPC error. Any other is an answer like a result: 200."""

ALWAYS: Final[tuple[Field, ...]] = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
"""What every response carries: notes are in them, and nobody may take one for something else."""

CLOSE: Final[Field] = (b"connection", b"close")
JSON: Final = b"application/json"
TEXT: Final = b"text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Reply:
    """One whole response. *kind* is the media type of *body*, which may be empty."""

    status: int
    body: bytes = b""
    kind: bytes = TEXT
    fields: tuple[Field, ...] = ()


def line(status: int, text: str, *fields: Field) -> Reply:
    """Return a response of one line, for people who look for what is wrong."""
    return Reply(status, text.encode("ascii") + b"\n", TEXT, fields)


def later(status: int, text: str) -> Reply:
    """Return a refusal that may be over in a moment."""
    return line(status, text, (b"retry-after", b"1"))


def encoded(answer: dict[str, Any]) -> bytes:
    """Return *answer* as it is sent, without the line's end that other transports need."""
    try:
        frame = encode(answer)
    except (ValueError, TypeError):
        logger.exception("a result has no JSON form")
        frame = encode(crash_message(answer["id"]))
    return frame[:-1]


def message(answer: dict[str, Any], *, status: int | None = None) -> Reply:
    """Return the response that carries a JSON-RPC *answer*, with the status that its error has."""
    if status is None:
        status = STATUSES.get(answer["error"]["code"], 200) if "error" in answer else 200
    return Reply(status, encoded(answer), JSON)


async def send_reply(send: Send, reply: Reply, *, close: bool) -> None:
    """Send *reply* whole; with *close*, say that nothing more is answered on this connection."""
    fields = [*ALWAYS, (b"content-length", b"%d" % len(reply.body)), *reply.fields]
    if reply.body:
        fields.append((b"content-type", reply.kind))
    if close:
        fields.append(CLOSE)
    await send({"type": "http.response.start", "status": reply.status, "headers": fields})
    await send({"type": "http.response.body", "body": reply.body})
