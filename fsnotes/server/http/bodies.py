"""Decides how much of a request's body is read, and for how long it is waited for."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Self

from fsnotes.access import Principal
from fsnotes.server.http.headers import Headers

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class TooLong(Exception):
    """The body is, or is said to be, longer than a message may be."""


class TooSlow(Exception):
    """The body did not come in the time that it may take."""


class NoRoom(Exception):
    """Bodies of other requests take up all that may be held at once."""


class Gone(Exception):
    """Nobody waits for the answer any more."""


class Room:
    """How many bytes of bodies are held at once, of which one principal has no more than it leaves free.

    But for a body that it begins while it has no other: that may take up all that is left, so that everybody has one
    message of the greatest length read for as long as there is room for it. By principals and not by connections,
    of which one can have as many as it likes. For the event loop alone.
    """

    def __init__(self, size: int) -> None:
        self._left = size
        self._held: Counter[str] = Counter()

    def place(self, principal: Principal) -> Place:
        """Return a place for one body of *principal*, with nothing in it yet."""
        return Place(self, principal.name)

    def holds(self, owner: str) -> bool:
        """Say whether anything of *owner* is held."""
        return self._held.get(owner, 0) > 0

    def take(self, owner: str, size: int, *, is_first: bool) -> None:
        """Hold *size* bytes more for *owner*, of a body that *is_first* or one beside another. Raises NoRoom."""
        left = self._left - size
        if left < 0 or (not is_first and self._held.get(owner, 0) + size > left):
            raise NoRoom
        self._left = left
        self._held[owner] += size

    def give_back(self, owner: str, size: int) -> None:
        """Hold *size* bytes of *owner* no longer."""
        self._left += size
        self._held[owner] -= size
        if not self._held[owner]:
            del self._held[owner]


class Place:
    """What the body of one request takes up, until this is left."""

    def __init__(self, room: Room, owner: str) -> None:
        self._room = room
        self._owner = owner
        self._size = 0
        self._is_first = False

    def take(self, size: int) -> None:
        """Take up *size* bytes more. Raises NoRoom."""
        if not self._size:
            self._is_first = not self._room.holds(self._owner)
        self._room.take(self._owner, size, is_first=self._is_first)
        self._size += size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._room.give_back(self._owner, self._size)
        self._size = 0


def declared(headers: Headers) -> int | None:
    """Return how long the body is said to be, in bytes; None where it comes in chunks."""
    if headers.all(b"transfer-encoding"):
        return None
    length = headers.one(b"content-length")
    return 0 if length is None else int(length)  # digits alone: `heads` has seen to it


async def read_body(receive: Receive, headers: Headers, place: Place, *, limit: int, seconds: float) -> bytes:
    """Return the whole body, at most *limit* bytes of it and within *seconds*.

    Raises TooLong before more than that is held, at once where the length is declared; NoRoom; TooSlow; Gone.
    """
    length = declared(headers)
    if length is not None and length > limit:
        raise TooLong
    held = bytearray()
    try:
        async with asyncio.timeout(seconds):
            while True:
                event = await receive()
                if event["type"] != "http.request":
                    raise Gone
                part = event.get("body", b"")
                if len(held) + len(part) > limit:
                    raise TooLong
                place.take(len(part))
                if not held and not event.get("more_body", False):
                    return bytes(part)
                held += part
                if not event.get("more_body", False):
                    return bytes(held)
    except TimeoutError:
        raise TooSlow from None
