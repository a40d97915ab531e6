"""Answers the requests of a client that has opened its connection with `initialize`.

A form that a call needs becomes a request to the client, and its answer the second round of the same call: sealed
state, arguments and checks are those of every other client. Which messages there are is decided in `revisions`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final, assert_never

from fsnotes.errors import ConfirmationUnavailable, FsnotesError, InvalidState
from fsnotes.failures import describe
from fsnotes.server import results
from fsnotes.server.calling import Asked, Caller
from fsnotes.server.elicitation import DELETE_CHOICE, MISSING_CAPABILITY
from fsnotes.server.envelope import INVALID_PARAMS, METHOD_NOT_FOUND, Envelope, Refusal, token_of
from fsnotes.server.flights import Flight
from fsnotes.server.frames import Notification, Params, Request, Response, error_message, result_message
from fsnotes.server.front import crash_message
from fsnotes.server.legacy.commands import Commands
from fsnotes.server.legacy.questions import Answered, Failed, Questions, Withdrawn
from fsnotes.server.legacy.revisions import (
    Session,
    form_params,
    greeting,
    is_modern,
    open_session,
    plain,
    tool_list,
)
from fsnotes.server.refusals import RpcRefusal
from fsnotes.server.results import Result
from fsnotes.server.tool import Echo

logger = logging.getLogger(__name__)

_DELETE: Final = "notes_delete"
_ODD: Final = "Invalid request parameters"

Message = dict[str, Any]


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
        self._caller = caller
        self._commands = commands
        self._questions = Questions(send, seconds=answer_seconds)
        self._tools = tool_list(read_only=read_only)
        self._session: Session | None = None

    def take(self, request: Request, flight: Flight) -> Coroutine[Any, Any, Message] | None:
        """Return what makes the JSON-RPC answer to *request*; None where it is no request of an older client.

        Called in the order in which requests come: an `initialize` counts for all that is behind it.
        """
        if is_modern(request.params):
            return None
        if request.method == "initialize":
            opened = open_session(request.params)
            if isinstance(opened, Session):
                self._session = opened
            return self._open(request, opened)
        return None if self._session is None else self._answer(request, flight, self._session)

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

    async def _open(self, request: Request, opened: Session | Refusal) -> Message:
        if isinstance(opened, Refusal):
            return error_message(request.id, opened.code, opened.message)
        return result_message(request.id, greeting(opened.version))

    async def _answer(self, request: Request, flight: Flight, session: Session) -> Message:
        params = request.params or {}
        try:
            if not isinstance(params.get("_meta"), dict | None):
                raise RpcRefusal(INVALID_PARAMS, _ODD)
            match request.method:
                case "ping":
                    result: Result = {}
                case "tools/list":
                    if params.get("cursor") is not None:
                        raise RpcRefusal(INVALID_PARAMS, "Invalid cursor")  # there is one page
                    result = self._tools
                case "tools/call":
                    result = plain(await self._call(request, params, flight, session))
                case _:
                    raise RpcRefusal(METHOD_NOT_FOUND, "Method not found")
        except RpcRefusal as refusal:
            return error_message(request.id, refusal.code, refusal.message, refusal.data)
        except Exception:
            logger.exception("a call of an older client crashed")
            return crash_message(request.id)
        return result_message(request.id, result)

    async def _call(self, request: Request, params: Params, flight: Flight, session: Session) -> Result:
        name, arguments = params.get("name"), params.get("arguments")
        if arguments is None:
            arguments = {}
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise RpcRefusal(INVALID_PARAMS, _ODD)
        # `inputResponses` and `requestState` mean nothing in these revisions, so they are not even looked at.
        envelope = Envelope(session.version, session.capabilities, None, token_of(params))
        asked = Asked(request.id, envelope, Echo(), flight)
        try:
            result = await self._caller.call(name, arguments, asked)
        except RpcRefusal as refusal:
            if refusal.code != MISSING_CAPABILITY:
                raise
            return self._cannot_ask(name, arguments)
        if result["resultType"] != "input_required":
            return result
        try:
            return await self._ask(result, name, arguments, asked)
        except FsnotesError as error:
            return results.failed(describe(error))

    async def _ask(self, question: Result, name: str, arguments: dict[str, Any], asked: Asked) -> Result:
        form = question["inputRequests"][DELETE_CHOICE]["params"]
        match await self._questions.ask(form_params(form, asked.envelope.version), asked.flight):
            case Answered(answer):
                return await self._conclude(question["requestState"], answer, name, arguments, asked)
            case Failed():
                await self._caller.refuse(name, arguments, asked, "confirmation_unavailable")
                return self._cannot_ask(name, arguments)
            case Withdrawn():
                return _outdated()
            case never:
                assert_never(never)

    async def _conclude(
        self, state: str, answer: Any, name: str, arguments: dict[str, Any], asked: Asked
    ) -> Result:
        """Call again with what the person said. The progress of a call only grows, so this round tells of none."""
        envelope = Envelope(asked.envelope.version, asked.envelope.capabilities, None)
        # A null would be no answer yet, to which another form is due; here it is one that fits no form.
        echo = Echo(state, {DELETE_CHOICE: {} if answer is None else answer})
        try:
            result = await self._caller.call(
                name, arguments, Asked(asked.request_id, envelope, echo, asked.flight)
            )
        except RpcRefusal as refusal:
            # The request was good: what is wrong is in another message, or is the time that has passed.
            if refusal.failure is None:
                raise
            return results.failed(refusal.failure)
        return _outdated() if result["resultType"] == "input_required" else result

    def _cannot_ask(self, name: str, arguments: dict[str, Any]) -> Result:
        """Return the refusal for a client that cannot show a form: it tells the person what to run instead."""
        # It has been asked for, so the arguments are those of the tool.
        command = (
            self._commands.delete(arguments["workspaceUri"], arguments["title"]) if name == _DELETE else None
        )
        return results.failed(describe(ConfirmationUnavailable(command)))


def _outdated() -> Result:
    return results.failed(describe(InvalidState("nobody answered")))
