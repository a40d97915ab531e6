"""Answers one request at a time: the SDK's low-level server behind our own reading of the envelope.

Blocking work runs in threads, never on the event loop. Knows the shape of requests and results and no rule
about notes: what may be done, and what it does, is left to the service; moving messages, to the transports.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

import anyio
import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.runner import ServerRunner, modern_error_data
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext

import fsnotes
from fsnotes.calls import Call, unreported
from fsnotes.errors import Abandoned, FsnotesError, InvalidAnswer, InvalidState, LimitReached
from fsnotes.failures import INTERNAL_ERROR, describe
from fsnotes.outcomes import Deletion, NoteRead
from fsnotes.server import elicitation, results
from fsnotes.server.arguments import fit
from fsnotes.server.envelope import INVALID_PARAMS, PROTOCOL_VERSION, Envelope
from fsnotes.server.frames import Params, Request, RequestId, error_message, result_message
from fsnotes.server.front import NAME, Flight, crash_message, discovery, tool_list
from fsnotes.server.progress import ProgressReport
from fsnotes.server.threads import Threads
from fsnotes.server.tool import Echo, Shown, Tool
from fsnotes.server.tools import offered

if TYPE_CHECKING:
    from mcp.shared.dispatcher import CallOptions

    from fsnotes.service import Service

logger = logging.getLogger(__name__)

_TRANSPORT: Final = TransportContext(kind="stdio", can_send_request=False)


@dataclass
class _Exchange:
    """One request as the SDK sees the transport: nothing can be sent but the one answer."""

    request_id: RequestId
    envelope: Envelope
    echo: Echo
    flight: Flight
    transport: TransportContext = _TRANSPORT
    can_send_request: bool = False
    message_metadata: ServerMessageMetadata = field(init=False)

    def __post_init__(self) -> None:
        # The SDK hands this on to the handler as `ctx.request`.
        self.message_metadata = ServerMessageMetadata(request_context=self)

    @cached_property
    def cancel_requested(self) -> anyio.Event:
        return anyio.Event()

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,  # noqa: ARG002  # the SDK's protocol
        opts: CallOptions | None = None,  # noqa: ARG002  # the SDK's protocol
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        """Drop it: what a call reports goes by its flight."""

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Drop it: what a call reports goes by its flight."""


_Context = ServerRequestContext[dict[str, Any], _Exchange]


class Kernel:
    """Answers requests, each as its flight's principal.

    `answer` is called on the event loop; blocking work is done in threads, and `running` says how much there is.
    """

    def __init__(self, service: Service, *, read_only: bool, max_calls: int) -> None:
        self._service = service
        self._tools = {tool.name: tool for tool in offered(read_only=read_only)}
        self._listed = tool_list(read_only=read_only)
        self._max_calls = max_calls
        self._changing = 0
        self._max_changing = max_calls - max_calls // 4
        self._threads = Threads(max_calls, name="fsnotes-call")
        # One connection for every request, which nothing is read from: what a client can do is judged from
        # each request's own envelope. Made for each, as `serve_one` does, it costs a third of a call.
        connection = Connection.from_envelope(PROTOCOL_VERSION, None, {})
        self._runner = ServerRunner(self._make_server(), connection, lifespan_state={})

    def _make_server(self) -> Server[dict[str, Any]]:
        server: Server[dict[str, Any]] = Server(NAME, title=NAME, version=fsnotes.__version__)
        # Registered by name: the constructor wants results as models, and building those for what is already
        # in the shape of the wire costs as much as the rest of the call.
        server.add_request_handler("server/discover", types.RequestParams, self._discover)
        server.add_request_handler("tools/list", types.PaginatedRequestParams, self._list)
        server.add_request_handler("tools/call", types.CallToolRequestParams, self._call)
        server.middleware.clear()  # the only one is a tracing span, and nothing here exports any
        return server

    async def answer(self, request: Request, envelope: Envelope, flight: Flight) -> dict[str, Any]:
        """Return the JSON-RPC answer to *request*. Never raises: a crash is an answer with a fixed text."""
        try:
            params, echo = _take_echo(request.params or {})
            exchange = _Exchange(request.id, envelope, echo, flight)
            result = await self._runner.on_request(exchange, request.method, params)
        except Exception as error:  # noqa: BLE001  # whatever it is, the request is answered
            return _failed(request.id, error)
        return result_message(request.id, result)

    async def _discover(self, _: _Context, __: types.RequestParams) -> dict[str, Any]:
        return discovery()

    async def _list(self, _: _Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        if params.cursor is not None:
            raise MCPError(INVALID_PARAMS, "Invalid cursor")  # there is one page, so none was ever given out
        return self._listed

    async def _call(self, ctx: _Context, params: types.CallToolRequestParams) -> Any:
        exchange = ctx.request
        tool = self._tools.get(params.name)
        if exchange is None or tool is None:
            raise MCPError(INVALID_PARAMS, "Unknown tool")
        if exchange.echo.state is not None and not tool.asks:
            stray = InvalidState("sent to a tool that never asks")
            await self._run(lambda: self._log_refusal(tool, params.arguments, exchange, "invalid_state"))
            raise _refused(stray)
        try:
            given = fit(params.arguments or {}, tool.input_schema)
            return await self._in_thread(lambda: self._perform(tool, given, exchange), change=tool.changes)
        except FsnotesError as error:
            failure = describe(error)
            if failure.rpc is not None:
                raise _rpc_error(error) from error
            return results.failed(failure)

    def _perform(self, tool: Tool, given: dict[str, Any], exchange: _Exchange) -> Any:
        if exchange.flight.abandoned:
            raise Abandoned
        outcome = tool.run(self._service, self._call_of(exchange), given, exchange.echo)
        if isinstance(outcome, Deletion) and outcome.trash_id is not None:
            exchange.flight.afterwards = partial(self._service.answered, outcome)
        if isinstance(outcome, NoteRead):
            return results.note_text(outcome.header(), outcome.text)
        if isinstance(outcome, Shown):
            return results.structured(outcome.document())
        if not elicitation.supports_forms(exchange.envelope.capabilities):
            self._log_refusal(tool, given, exchange, "confirmation_unavailable")
        return elicitation.ask(outcome, exchange.envelope.capabilities)

    def _call_of(self, exchange: _Exchange) -> Call:
        token, notify = exchange.envelope.progress_token, exchange.flight.notify
        return Call(
            principal=exchange.flight.principal,
            request_id=str(exchange.request_id)[:128],
            trace_id=exchange.envelope.trace_id,
            abandoned=exchange.flight.is_abandoned,
            report=unreported if token is None or notify is None else ProgressReport(token, notify),
        )

    def _log_refusal(
        self, tool: Tool, given: Mapping[str, Any] | None, exchange: _Exchange, outcome: str
    ) -> None:
        workspace = (given or {}).get("workspaceUri")
        named = workspace if isinstance(workspace, str) else ""
        self._service.refused(self._call_of(exchange), tool.name, named, outcome)

    async def finish(self, afterwards: Callable[[], None]) -> None:
        """Do what is due once an answer has left the process; what goes wrong is logged, as nobody waits."""
        try:
            await self._run(afterwards)
        except Exception:
            logger.exception("after an answer")

    @property
    def running(self) -> int:
        """How much blocking work has not ended, also where nobody waits for it any more."""
        return self._threads.running

    async def _in_thread(self, work: Callable[[], Any], *, change: bool) -> Any:
        # Changes may all wait for locks; a quarter of the places is for who only looks.
        if self.running >= self._max_calls or (change and self._changing >= self._max_changing):
            raise LimitReached("calls in flight")
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


class _CrashError(Exception):
    """Something was raised that is no outcome of a call."""


def _contained(work: Callable[[], Any]) -> Any:
    """Do *work*, and let nothing out of the thread but what is an answer: an exit or an interrupt is none."""
    try:
        return work()
    except (FsnotesError, MCPError):
        raise
    except BaseException as error:
        raise _CrashError from error


def _take_echo(params: Params) -> tuple[Params, Echo]:
    """Split off what answers a form, so that the SDK's models neither judge nor convert it.

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


def _refused(error: InvalidState | InvalidAnswer) -> MCPError:
    """Log why an echo is refused before the service has seen it, and return the error for the client."""
    logger.warning("%s: %s", type(error).__name__, error.reason)
    return _rpc_error(error)


def _rpc_error(error: FsnotesError) -> MCPError:
    """Return the JSON-RPC error that *error* is for a client, which tells nothing of its own reason."""
    rpc = describe(error).rpc
    if rpc is None:
        raise _CrashError from error
    return MCPError(rpc.code, rpc.message, rpc.data)


def _failed(id_: RequestId, error: Exception) -> dict[str, Any]:
    data = modern_error_data(error)  # also logs what is a crash
    if data.code == INTERNAL_ERROR:
        return crash_message(id_)
    # The SDK marks its own refusals with an empty `data`; it tells nothing.
    return error_message(id_, data.code, data.message, data.data or None)
