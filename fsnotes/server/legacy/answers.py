"""Answers the requests of an older client, whatever carries them.

A form that a call needs is put to the person by whom the transport gives for it, and the answer becomes the second
round of the same call: sealed state, arguments and checks are those of every other client. What revision a request is
of is decided in `revisions`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, assert_never

from fsnotes.errors import ConfirmationUnavailable, FsnotesError, InvalidState
from fsnotes.failures import describe
from fsnotes.server import results
from fsnotes.server.calling import Asked, Caller
from fsnotes.server.elicitation import DELETE_CHOICE, MISSING_CAPABILITY
from fsnotes.server.envelope import INVALID_PARAMS, METHOD_NOT_FOUND, Envelope, Refusal, token_of
from fsnotes.server.flights import Flight
from fsnotes.server.frames import Params, Request, error_message, result_message
from fsnotes.server.front import crash_message
from fsnotes.server.legacy.commands import Commands
from fsnotes.server.legacy.questions import Answered, Failed, Reply, Withdrawn
from fsnotes.server.legacy.revisions import Session, form_params, greeting, plain, tool_list
from fsnotes.server.refusals import RpcRefusal
from fsnotes.server.results import Result
from fsnotes.server.tool import Echo

logger = logging.getLogger(__name__)

_DELETE: Final = "notes_delete"
_ODD: Final = "Invalid request parameters"

METHODS: Final = frozenset({"initialize", "ping", "tools/call", "tools/list"})
"""What is answered; all else was not declared. Of these, `tools/call` alone is work."""

Message = dict[str, Any]
Ask = Callable[[dict[str, Any], Flight], Awaitable[Reply]]
"""Puts a form to the person behind a call, and returns what came of it. Raises LimitReached."""


async def nobody(_: dict[str, Any], __: Flight) -> Reply:
    """Ask nobody: there is no way to the person."""
    return Failed()


def opened(request: Request, session: Session | Refusal) -> Message:
    """Return the answer to `initialize`, whose params were read as *session*."""
    if isinstance(session, Refusal):
        return error_message(request.id, session.code, session.message)
    return result_message(request.id, greeting(session.version))


class Answers:
    """Answers older clients; *ask* puts a form to a person, where the session says that it can be shown."""

    def __init__(self, caller: Caller, commands: Commands, *, ask: Ask, read_only: bool) -> None:
        self._caller = caller
        self._commands = commands
        self._ask_person = ask
        self._tools = tool_list(read_only=read_only)

    async def answer(self, request: Request, flight: Flight, session: Session) -> Message:
        """Return the JSON-RPC answer to *request*, any but `initialize`. Never raises."""
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
            return self._cannot_ask(name, arguments, flight)
        if result["resultType"] != "input_required":
            return result
        try:
            return await self._ask(result, name, arguments, asked)
        except FsnotesError as error:
            return results.failed(describe(error))

    async def _ask(self, question: Result, name: str, arguments: dict[str, Any], asked: Asked) -> Result:
        form = question["inputRequests"][DELETE_CHOICE]["params"]
        match await self._ask_person(form_params(form, asked.envelope.version), asked.flight):
            case Answered(answer):
                return await self._conclude(question["requestState"], answer, name, arguments, asked)
            case Failed():
                await self._caller.refuse(name, arguments, asked, "confirmation_unavailable")
                return self._cannot_ask(name, arguments, asked.flight)
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

    def _cannot_ask(self, name: str, arguments: dict[str, Any], flight: Flight) -> Result:
        """Return the refusal for a client that cannot show a form: it tells the person what to run instead."""
        command = None
        if name == _DELETE:
            # It has been asked for, so the arguments are those of the tool.
            uri, title = arguments["workspaceUri"], arguments["title"]
            command = self._commands.delete(uri, title, caller=flight.principal)
        failure = describe(ConfirmationUnavailable(command))
        flight.outcome = failure.slug
        return results.failed(failure)


def _outdated() -> Result:
    return results.failed(describe(InvalidState("nobody answered")))
