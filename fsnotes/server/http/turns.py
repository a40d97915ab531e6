"""Decides how much of the bodies that come in chunks is taken apart in one turn of the event loop.

A chunk can be as short as a byte, and each costs as much as a long one: a slice of what came, of one connection after
the other, keeps the loop from being held by it. What a body is to be refused for is left to `connections`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, Protocol

SLICE: Final = 1_024
"""Bytes that are taken apart in a turn, whatever is in them: 170 chunks at most, some milliseconds."""

LONG_SLICE: Final = 65_536
"""Bytes that are taken apart in a turn where there are few chunks in them."""

FEW_ENDS: Final = 340
"""Line ends in a slice with few chunks: each chunk has two, and those in the data of JSON are mostly escaped."""

FREE_FRAMING: Final = 16_384
"""Bytes around the chunks of a body that any body may have: three thousand chunks."""

BYTES_FOR_FRAMING: Final = 32
"""Bytes of a body for each byte more around its chunks."""


def is_absurd(framing: int, size: int) -> bool:
    """Say whether *framing* bytes around chunks of *size* bytes in all are more than any client needs."""
    return framing > FREE_FRAMING + size // BYTES_FOR_FRAMING


def next_slice(unread: bytearray) -> bytes:
    """Take off *unread* what is taken apart in a turn."""
    part = bytes(unread[:LONG_SLICE])
    if part.count(b"\r\n") > FEW_ENDS:
        part = part[:SLICE]
    del unread[: len(part)]
    return part


class Sliced(Protocol):
    """A connection with something unread."""

    def take_slice(self) -> None:
        """Take apart the `next_slice` of it."""


class Turns:
    """Connections that take turns. For the event loop alone."""

    def __init__(self) -> None:
        self._waiting: deque[Sliced] = deque()
        self._members: set[Sliced] = set()
        self._is_due = False

    def add(self, connection: Sliced) -> None:
        """Give *connection* one turn, after those who wait for theirs."""
        if connection not in self._members:
            self._members.add(connection)
            self._waiting.append(connection)
            self._await()

    def _await(self) -> None:
        if self._waiting and not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._take)

    def _take(self) -> None:
        self._is_due = False
        connection = self._waiting.popleft()
        self._members.discard(connection)
        try:
            connection.take_slice()
        finally:
            self._await()
