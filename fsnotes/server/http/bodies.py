"""Decides how much of a request's body is read, and for how long it is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from fsnotes.server.http.headers import Headers

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class TooLong(Exception):
    """The body is, or is said to be, longer than a message may be."""


class TooSlow(Exception):
    """The body did not come in the time that it may take."""


class Gone(Exception):
    """Nobody waits for the answer any more."""


def declared(headers: Headers) -> int | None:
    """Return how long the body is said to be, in bytes; None where it comes in chunks."""
    if headers.all(b"transfer-encoding"):
        return None
    length = headers.one(b"content-length")
    return 0 if length is None else int(length)  # digits alone: `heads` has seen to it


async def read_body(receive: Receive, headers: Headers, *, limit: int, seconds: float) -> bytes:
    """Return the whole body, at most *limit* bytes of it and within *seconds*.

    Raises TooLong before more than that is held, at once where the length is declared; TooSlow; Gone.
    """
    length = declared(headers)
    if length is not None and length > limit:
        raise TooLong
    parts: list[bytes] = []
    held = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                event = await receive()
                if event["type"] != "http.request":
                    raise Gone
                part = event.get("body", b"")
                held += len(part)
                if held > limit:
                    raise TooLong
                parts.append(part)
                if not event.get("more_body", False):
                    return parts[0] if len(parts) == 1 else b"".join(parts)
    except TimeoutError:
        raise TooSlow from None
