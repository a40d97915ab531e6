"""Decides what becomes of a form that is put to a person in a request of our own: who may answer, how long, how many.

What an answer means is left to `fsnotes.confirm`. While a form is open nothing is held for it but its place here: no
thread, no worker, no lock.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from fsnotes.errors import LimitReached
from fsnotes.server.flights import Flight
from fsnotes.server.frames import RequestId, Response

MOST_OPEN: Final = 8
"""Forms that are open at once on one connection. Far fewer than the calls after which no more is read: the answer to a
form must always be read."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The client has answered; whether that fits the form, nobody has looked at."""

    answer: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """The client has said that it could not show the form, or something that is no answer to any request."""


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Nobody has answered in time, or the call that asks is not wanted any more."""


Reply = Answered | Failed | Withdrawn


class Questions:
    """The open forms of one connection; for its event loop. *send* sends a message, a form is open for *seconds*."""

    def __init__(self, send: Callable[[dict[str, Any]], None], *, seconds: float) -> None:
        self._send = send
        self._seconds = seconds
        self._open: dict[RequestId, asyncio.Future[Reply]] = {}
        self._closed = False

    async def ask(self, params: dict[str, Any], flight: Flight) -> Reply:
        """Send the form that *flight* waits for, and return what came of it. Raises LimitReached."""
        if self._closed or flight.abandoned:
            return Withdrawn()
        if len(self._open) >= MOST_OPEN:
            raise LimitReached("confirmations that wait for a person")
        # Not to be guessed, so that no answer can be there before its question; and a text of our own, which no
        # client counts its own requests with.
        id_ = f"fsnotes-{secrets.token_hex(16)}"
        reply = self._open[id_] = asyncio.get_running_loop().create_future()
        flight.on_abandon = lambda: _settle(reply, Withdrawn())
        self._send({"jsonrpc": "2.0", "id": id_, "method": "elicitation/create", "params": params})
        try:
            await asyncio.wait({reply}, timeout=self._seconds)
        finally:
            flight.on_abandon = None
            del self._open[id_]
        came = reply.result() if reply.done() else Withdrawn()
        if isinstance(came, Withdrawn):
            note = {"requestId": id_, "reason": "nobody waits for the answer any more"}
            self._send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": note})
        return came

    def receive(self, response: Response) -> None:
        """Take an answer: the first to a form that is open. All others are answers to nothing."""
        reply = None if response.id is None else self._open.get(response.id)
        if reply is not None:
            _settle(reply, Failed() if response.failed else Answered(response.result))

    def close(self) -> None:
        """Withdraw every form, and ask nothing more."""
        self._closed = True
        for reply in self._open.values():
            _settle(reply, Withdrawn())


def _settle(reply: asyncio.Future[Reply], came: Reply) -> None:
    if not reply.done():
        reply.set_result(came)
