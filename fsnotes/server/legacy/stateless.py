"""Answers older clients each request for itself: over HTTP, where nothing of a connection or a session is kept.

A server may do without sessions and without a stream of its own to the client ("Transports", in both revisions). Then
there is no way to put a form to a person while a call is open: the answer would come in another request, and nothing
in it but a session would say whose it is.
"""

from __future__ import annotations

from fsnotes.server.calling import Caller
from fsnotes.server.flights import Flight
from fsnotes.server.frames import Request
from fsnotes.server.legacy.answers import METHODS, Answers, Message, nobody, opened
from fsnotes.server.legacy.commands import Commands
from fsnotes.server.legacy.revisions import Fields, Session, open_session, posted_revision


class Stateless:
    """The other side of requests that have nothing to do with each other; for the event loop."""

    def __init__(self, caller: Caller, commands: Commands, *, read_only: bool) -> None:
        self._answers = Answers(caller, commands, ask=nobody, read_only=read_only)

    def revision(self, request: Request, fields: Fields) -> str | None:
        """Return the older revision that *request* with these header *fields* is of; None where it is of none."""
        return posted_revision(request, fields)

    def knows(self, method: str) -> bool:
        """Say whether there is such a method in these revisions."""
        return method in METHODS

    def is_work(self, method: str) -> bool:
        """Say whether what *method* asks for is done by a call, and not known beforehand."""
        return method == "tools/call"

    async def answer(self, request: Request, flight: Flight, revision: str) -> Message:
        """Return the JSON-RPC answer to *request*, which is of *revision*. Never raises."""
        if request.method == "initialize":
            return opened(request, open_session(request.params))
        # What was declared in another request is not known, so nothing can be shown, and the session is never ready.
        return await self._answers.answer(request, flight, Session(revision, {}))
