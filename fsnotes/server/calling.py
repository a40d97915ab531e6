"""Runs a tool for one request: its arguments judged, its work in a thread, its outcome in the shape of the wire.

Both ways to it end here: that of a request in which there is nothing but what every client sends, and that of all
others, by the SDK's models. Knows no rule about notes: what may be done, and what it does, is left to the service.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

from fsnotes.calls import Call, unreported
from fsnotes.errors import Abandoned, FsnotesError, InvalidAnswer, InvalidState, LimitReached
from fsnotes.failures import Failure, describe
from fsnotes.outcomes import Deletion, NoteRead
from fsnotes.server import elicitation, results
from fsnotes.server.arguments import fit
from fsnotes.server.envelope import INVALID_PARAMS, Envelope
from fsnotes.server.frames import Params, RequestId
from fsnotes.server.method import Method, refused
from fsnotes.server.progress import ProgressReport
from fsnotes.server.ration import Ration
from fsnotes.server.refusals import RpcRefusal
from fsnotes.server.results import Result
from fsnotes.server.threads import NoThread, Threads
from fsnotes.server.tool import Echo, Shown, Tool
from fsnotes.server.tools import offered
from fsnotes.server.tracing import CRASHED, Span, Tracing

if TYPE_CHECKING:
    from fsnotes.server.flights import Flight
    from fsnotes.service import Service
    from fsnotes.subscriptions import Subscription

logger = logging.getLogger(__name__)

MOST_STREAMS: Final = 256
"""Streams in all."""

LOGGING_THREADS: Final = 2
MOST_UNLOGGED: Final = 32
"""How many refusals by a limit wait for their line of the audit log; where that hangs, one more goes without."""


class CrashError(Exception):
    """Something was raised that is no outcome of a call."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What there is of a call beside the tool's name and arguments."""

    request_id: RequestId
    envelope: Envelope
    echo: Echo
    flight: Flight


class Caller:
    """Runs tools, each as its flight's principal.

    Its coroutines are called on the event loop; blocking work is done in threads, and `running` says how much there is.
    """

    def __init__(
        self, service: Service, *, read_only: bool, max_calls: int, tracing: Tracing | None = None
    ) -> None:
        self._service = service
        self._tracing = tracing
        self._tools = {tool.name: tool for tool in offered(read_only=read_only)}
        self._max_calls = max_calls
        self._changing = 0
        self._max_changing = max_calls - max_calls // 4
        self._threads = Threads(max_calls, name="fsnotes-call")
        # Apart from the calls: a stream takes no place of theirs, not even while it waits for a file system that hangs.
        # There is one for each of all streams that there may be, and how many of whom is decided in `listening`.
        self._opening = Threads(MOST_STREAMS, name="fsnotes-listen")
        # Apart as well: what says that there is no place for one must not take another's.
        self._logging = Threads(LOGGING_THREADS, name="fsnotes-refusal", kept=1)
        self._ration = Ration()

    async def call(self, name: str, arguments: Mapping[str, Any], asked: Asked) -> Result:
        """Return the result of the tool *name*, an expected failure too.

        Raises RpcRefusal, and CrashError for whatever is none of that.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise RpcRefusal(INVALID_PARAMS, "Unknown tool")
        flight = asked.flight
        flight.tool, flight.outcome = tool.name, None
        if tool.changes:
            self._logging.prepare()
        span = None if self._tracing is None else self._begin_span(self._tracing, tool, arguments, asked)
        try:
            result = await self._answer(tool, arguments, asked)
            flight.outcome = flight.outcome or result["resultType"]
        except RpcRefusal as refusal:
            flight.outcome = str(refusal.code)
            raise
        except Exception:
            flight.outcome = CRASHED
            raise
        finally:
            if span is not None:
                span.end(flight.outcome)
        return result

    async def _answer(self, tool: Tool, arguments: Mapping[str, Any], asked: Asked) -> Result:
        if asked.flight.refusal is not None:
            return await self._limited(asked.flight.refusal, tool, arguments, asked)
        if asked.echo.state is not None and not tool.asks:
            await self._log(lambda: self._log_refusal(tool, arguments, asked, "invalid_state"))
            raise _refused(InvalidState("sent to a tool that never asks"))
        try:
            given = fit(arguments, tool.input_schema)
            if (full := self._full(change=tool.changes)) is not None:
                return await self._limited(full, tool, given, asked)
            result: Result = await self._in_thread(
                lambda: self._perform(tool, given, asked), change=tool.changes
            )
        except NoThread as none:
            return await self._limited(none, tool, given, asked)
        except FsnotesError as error:
            failure = describe(error)
            if failure.rpc is not None:
                raise _rpc_error(error) from error
            return self._failed(failure, asked)
        return result

    def _failed(self, failure: Failure, asked: Asked) -> Result:
        asked.flight.outcome = failure.slug
        return results.failed(failure)

    def _begin_span(
        self, tracing: Tracing, tool: Tool, arguments: Mapping[str, Any], asked: Asked
    ) -> Span | None:
        uri = arguments.get("workspaceUri")
        workspace = self._service.name_of(self._call_of(asked), uri) if isinstance(uri, str) else None
        return tracing.begin(tool.name, workspace, asked.envelope)

    async def ask(self, method: Method, params: Params, asked: Asked) -> Result:
        """Return the result of a *method* that is none of tools. Raises RpcRefusal and CrashError."""
        refusal = asked.flight.refusal or self._full(change=False)
        if refusal is not None:
            raise refused(refusal, params)
        try:
            result: Result = await self._in_thread(
                lambda: method.run(self._service, self._call_of(asked), params), change=False
            )
        except FsnotesError as error:
            raise refused(error, params) from error
        return result

    async def refuse_state(self, method: str, asked: Asked) -> NoReturn:
        """Log that a state came with a *method* that never asks for one back, and raise the RpcRefusal for it."""
        await self._log(lambda: self._service.refused(self._call_of(asked), method, "", "invalid_state"))
        raise _refused(InvalidState("sent to a method that never asks"))

    async def subscribe(
        self, uris: Sequence[str], asked: Asked, *, lists: bool, wake: Callable[[], None]
    ) -> Subscription:
        """Return what the caller hears of. Raises RpcRefusal and CrashError."""
        try:
            work = partial(self._service.subscribe, self._call_of(asked), uris, lists=lists, wake=wake)
            opened: Subscription = await self._opening.run(partial(_contained, work))
        except FsnotesError as error:
            raise refused(error, {}) from error
        return opened

    def _perform(self, tool: Tool, given: dict[str, Any], asked: Asked) -> Result:
        if asked.flight.abandoned:
            raise Abandoned
        outcome = tool.run(self._service, self._call_of(asked), given, asked.echo)
        if isinstance(outcome, Deletion) and outcome.trash_id is not None:
            asked.flight.afterwards = partial(self._service.answered, outcome)
        if isinstance(outcome, NoteRead):
            return results.note_text(outcome.header(), outcome.text)
        if isinstance(outcome, Shown):
            return results.structured(outcome.document())
        if not elicitation.supports_forms(asked.envelope.capabilities):
            self._log_refusal(tool, given, asked, "confirmation_unavailable")
        return elicitation.ask(outcome, asked.envelope.capabilities)

    def _call_of(self, asked: Asked) -> Call:
        token, notify = asked.envelope.progress_token, asked.flight.notify
        return Call(
            principal=asked.flight.principal,
            request_id=str(asked.request_id)[:128],
            trace_id=asked.envelope.trace_id,
            abandoned=asked.flight.is_abandoned,
            report=unreported if token is None or notify is None else ProgressReport(token, notify),
        )

    def _log_refusal(self, tool: Tool, given: Mapping[str, Any], asked: Asked, outcome: str) -> None:
        workspace = given.get("workspaceUri")
        named = workspace if isinstance(workspace, str) else ""
        self._service.refused(self._call_of(asked), tool.name, named, outcome)

    async def refuse(self, name: str, arguments: Mapping[str, Any], asked: Asked, outcome: str) -> None:
        """Log that a call of the tool *name* was refused outside of it."""
        tool = self._tools[name]
        await self._log(lambda: self._log_refusal(tool, arguments, asked, outcome))

    async def _limited(
        self, refusal: LimitReached, tool: Tool, given: Mapping[str, Any], asked: Asked
    ) -> Result:
        """Return the failure of a call that a limit keeps from being begun, once it has the line that is due to it.

        As with other refusals, looking has none. Of a flood there is one line a second, see `Ration`.
        """
        if tool.changes and self._ration.take(asked.flight.principal, tool.name):
            await self._log_apart(lambda: self._log_refusal(tool, given, asked, "limit"))
        return self._failed(describe(refusal), asked)

    async def _log(self, log: Callable[[], None]) -> None:
        """Have the line of a refusal written; by the thread that is kept for it where there is no other."""
        try:
            await self._run(log)
        except NoThread:
            await self._log_apart(log)

    async def _log_apart(self, log: Callable[[], None]) -> None:
        """Have the line of a refusal written though there is no place for a call. Where it cannot be, that is said."""
        if self._logging.running < MOST_UNLOGGED:
            try:
                await self._logging.run(partial(_contained, log))
                return
            except (FsnotesError, CrashError, RuntimeError) as error:  # no thread, a fault of ours, the end
                logger.debug("a refusal was not logged", exc_info=error)
        logger.error("a refusal is missing from the audit log")

    async def finish(self, afterwards: Callable[[], None]) -> None:
        """Do what is due once an answer has left the process; what goes wrong is logged, as nobody waits."""
        try:
            await self._run(afterwards)
        except Exception:
            logger.exception("after an answer")

    @property
    def running(self) -> int:
        """How much blocking work has not ended, also where nobody waits for it any more."""
        return self._threads.running + self._opening.running + self._logging.running

    def _full(self, *, change: bool) -> LimitReached | None:
        """Return what refuses a call for which there is no place; None where there is one."""
        # Changes may all wait for locks; a quarter of the places is for who only looks.
        if self._threads.running >= self._max_calls or (change and self._changing >= self._max_changing):
            return LimitReached("calls in flight")
        return None

    async def _in_thread(self, work: Callable[[], Any], *, change: bool) -> Any:
        self._changing += change
        try:
            return await self._run(work)
        finally:
            self._changing -= change

    async def _run(self, work: Callable[[], Any]) -> Any:
        return await self._threads.run(partial(_contained, work))

    def close(self) -> None:
        """Start nothing more, and wait for nothing: a thread that is still at work is left to the caller."""
        self._threads.close()
        self._opening.close()
        self._logging.close()
        if self._tracing is not None:
            self._tracing.close()


def _contained(work: Callable[[], Any]) -> Any:
    """Do *work*, and let nothing out of the thread but what is an answer: an exit or an interrupt is none."""
    try:
        return work()
    except (FsnotesError, RpcRefusal):
        raise
    except BaseException as error:
        raise CrashError from error


def take_echo(params: Params) -> tuple[Params, Echo]:
    """Split off what answers a form, so that the SDK's models neither judge nor convert it. Raises RpcRefusal.

    For every method: answers alone answer nothing, and are dropped.

    They would refuse a whole call for an odd key beside ours, or for a null, and turn values into other
    types.
    """
    if "inputResponses" not in params and "requestState" not in params:
        return params, Echo()
    rest = dict(params)
    answers, state = rest.pop("inputResponses", None), rest.pop("requestState", None)
    if answers is not None and not isinstance(answers, dict):
        raise _refused(InvalidAnswer("not an object"))
    return rest, Echo(state, answers)


def _refused(error: InvalidState | InvalidAnswer) -> RpcRefusal:
    """Log why an echo is refused before the service has seen it, and return the error for the client."""
    logger.warning("%s: %s", type(error).__name__, error.reason)
    return _rpc_error(error)


def _rpc_error(error: FsnotesError) -> RpcRefusal:
    """Return the JSON-RPC error that *error* is for a client, which tells nothing of its own reason."""
    failure = describe(error)
    if failure.rpc is None:
        raise CrashError from error
    return RpcRefusal(failure.rpc.code, failure.rpc.message, failure.rpc.data, failure=failure)
