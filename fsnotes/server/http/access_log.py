"""Decides what the log tells of a request: one line, with nothing in it that a caller wrote but the request's id.

Neither the target nor a header is told, since credentials stand in both by mistake; of methods and tools, those that
there are.
"""

from __future__ import annotations

import logging
import time
import urllib.parse
from typing import Any, Final

from fsnotes.server.flights import Flight
from fsnotes.server.frames import RequestId

logger = logging.getLogger(__name__)

MAX_ID: Final = 128
"""Characters of a request's id that are told, as in the audit log."""

OTHER: Final = "other"
"""What a method is called that is none of ours."""


class Entry:
    """What is told of one request, as it becomes known."""

    __slots__ = ("_begun", "beside", "flight", "method", "outcome", "principal", "request_id")

    def __init__(self) -> None:
        self._begun = time.perf_counter()
        self.beside: str | None = None
        self.flight: Flight | None = None
        self.method: str | None = None
        self.outcome: str | None = None
        self.principal: str | None = None
        self.request_id: str | None = None

    def asked(self, request_id: RequestId, method: str | None, flight: Flight) -> None:
        """Take note of what is asked; *method* None for one that there is not."""
        self.request_id = str(request_id)[:MAX_ID]
        self.method = OTHER if method is None else method
        self.flight = flight

    def answered(self, answer: dict[str, Any]) -> None:
        """Take note of what comes out of the request: a JSON-RPC *answer*."""
        self.outcome = str(answer["error"]["code"]) if "error" in answer else "complete"

    def log(self, status: int | None) -> None:
        """Write the line, at `info` for the endpoint and at `debug` for what is beside it.

        *status* None: not sent. What was sent to somebody who left before the answer is no status of it either.
        """
        level = logging.INFO if self.beside is None else logging.DEBUG
        if not logger.isEnabledFor(level):
            return
        flight = self.flight
        if flight is not None and flight.abandoned:
            status = None
        outcome = self.outcome if flight is None else flight.outcome or self.outcome
        fields = {
            "requestId": self.request_id,
            "principal": self.principal,
            "method": self.method or self.beside,
            "tool": None if flight is None else flight.tool,
            "status": status,
            "outcome": "abandoned" if status is None and outcome is None else outcome,
            "milliseconds": round((time.perf_counter() - self._begun) * 1000, 1),
            "traceId": None if flight is None else flight.trace_id,
        }
        # A line break in an id would forge a line, and a space a field.
        told = " ".join(f"{name}={_plain(value)}" for name, value in fields.items() if value is not None)
        logger.log(level, "request %s", told, extra={"fields": fields})


def _plain(value: object) -> str:
    """Return *value* without spaces, quotes and backslashes, percent-encoded as in a URI."""
    return urllib.parse.quote(str(value), safe="/:|@,+", errors="replace")
