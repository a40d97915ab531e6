"""The other side of a connection that is opened with `initialize`, and lasts.

A form that a call needs becomes a request to the client. What its requests are answered with is left to `answers`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fsnotes.server.calling import Caller
from fsnotes.server.envelope import Refusal
from fsnotes.server.flights import Flight
from fsnotes.server.frames import Notification, Request, Response
from fsnotes.server.legacy.answers import Answers, Message, opened
from fsnotes.server.legacy.commands import Commands
from fsnotes.server.legacy.questions import Questions
from fsnotes.server.legacy.revisions import Session, is_modern, open_session


class Peer:
    """The other side of one connection, as far as it is an older client; for the event loop.

    Nothing is remembered but what it has opened the connection with. Each request is judged by its own envelope, so a
    connection can carry both kinds.
    """

    def __init__(
        self,
        caller: Caller,
        commands: Commands,
        send: Callable[[Message], None],
        *,
        read_only: bool,
        answer_seconds: float,
    ) -> None:
        self._questions = Questions(send, seconds=answer_seconds)
        self._answers = Answers(caller, commands, ask=self._questions.ask, read_only=read_only)
        self._session: Session | None = None

    def take(self, request: Request, flight: Flight) -> Coroutine[Any, Any, Message] | None:
        """Return what makes the JSON-RPC answer to *request*; None where it is no request of an older client.

        Called in the order in which requests come: an `initialize` counts for all that is behind it.
        """
        if is_modern(request.params):
            return None
        if request.method == "initialize":
            session = open_session(request.params)
            if isinstance(session, Session):
                self._session = session
            return self._open(request, session)
        return None if self._session is None else self._answers.answer(request, flight, self._session)

    def note(self, notification: Notification) -> None:
        """Act on a notification; one that cancels a request is left to the transport."""
        if notification.method == "notifications/initialized" and self._session is not None:
            self._session.ready = True

    def receive(self, response: Response) -> None:
        """Take the answer to a request of ours; what answers none is ignored."""
        self._questions.receive(response)

    def close(self) -> None:
        """Withdraw what is asked, and ask nothing more: the end has come."""
        self._questions.close()

    async def _open(self, request: Request, session: Session | Refusal) -> Message:
        return opened(request, session)
