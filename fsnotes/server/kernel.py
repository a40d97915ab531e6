"""Answers what is not as every client sends it: the SDK's low-level server judges it, behind our own reading.

Tools are run by `calling`; moving messages is left to the transports.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from fsnotes.failures import INTERNAL_ERROR
from fsnotes.server.calling import Asked, Caller, take_echo
from fsnotes.server.envelope import INVALID_PARAMS, PROTOCOL_VERSION, Envelope
from fsnotes.server.flights import Flight
from fsnotes.server.frames import Params, Request, RequestId, error_message, result_message
from fsnotes.server.front import NAME, TTL_MS, crash_message, discovery, tool_list
from fsnotes.server.listening import LISTEN, Listening
from fsnotes.server.method import Method
from fsnotes.server.methods import methods
from fsnotes.server.prompting import prompt_list
from fsnotes.server.refusals import RpcRefusal

if TYPE_CHECKING:
    from mcp.shared.dispatcher import CallOptions

# Over HTTP too: the SDK hands `kind` on to handlers and middleware, asks for it nowhere itself, and ours do not either.
# What it does ask is whether anything can be sent but the answer: by none of our transports.
_TRANSPORT: Final = TransportContext(kind="stdio", can_send_request=False)


@dataclass
class _Exchange:
    """One request as the SDK sees the transport: nothing can be sent but the one answer."""

    asked: Asked
    params: Params
    transport: TransportContext = _TRANSPORT
    can_send_request: bool = False
    message_metadata: ServerMessageMetadata = field(init=False)
    request_id: RequestId = field(init=False)

    def __post_init__(self) -> None:
        self.request_id = self.asked.request_id
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


_MODELS: Final[Mapping[str, type[types.RequestParams]]] = {
    "resources/list": types.PaginatedRequestParams,
    "resources/templates/list": types.PaginatedRequestParams,
    "resources/read": types.ReadResourceRequestParams,
    "completion/complete": types.CompleteRequestParams,
    "prompts/get": types.GetPromptRequestParams,
}
"""The model that judges the params of each method."""

_Context = ServerRequestContext[dict[str, Any], _Exchange]


class Kernel:
    """Answers requests; `answer` is called on the event loop."""

    def __init__(self, caller: Caller, listening: Listening, *, read_only: bool) -> None:
        self._caller = caller
        self._listening = listening
        self._listed = tool_list(read_only=read_only)
        self._prompts = prompt_list(read_only=read_only, ttl_ms=TTL_MS)
        self._methods = methods(read_only=read_only)
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
        server.add_request_handler("prompts/list", types.PaginatedRequestParams, self._list_prompts)
        for method in self._methods.values():
            server.add_request_handler(method.name, _MODELS[method.name], partial(self._ask, method))
        server.add_request_handler(LISTEN, types.SubscriptionsListenRequestParams, self._listen)
        server.middleware.clear()  # the only one is a tracing span, and nothing here exports any
        return server

    async def answer(self, request: Request, envelope: Envelope, flight: Flight) -> dict[str, Any]:
        """Return the JSON-RPC answer to *request*. Never raises: a crash is an answer with a fixed text."""
        try:
            params, echo = take_echo(request.params or {})
            exchange = _Exchange(Asked(request.id, envelope, echo, flight), params)
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

    async def _list_prompts(self, _: _Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        if params.cursor is not None:
            raise MCPError(INVALID_PARAMS, "Invalid cursor")  # there is one page here, too
        return self._prompts

    async def _ask(self, method: Method, ctx: _Context, _: types.RequestParams) -> Any:
        """Answer from the params as they came: the model has judged them, and has no say in what they mean."""
        if ctx.request is None:
            raise MCPError(INVALID_PARAMS, "Invalid request parameters")
        return await self._caller.ask(method, ctx.request.params, ctx.request.asked)

    async def _listen(self, ctx: _Context, _: types.SubscriptionsListenRequestParams) -> Any:
        if ctx.request is None:
            raise MCPError(INVALID_PARAMS, "Invalid request parameters")
        return await self._listening.listen(ctx.request.params, ctx.request.asked)

    async def _call(self, ctx: _Context, params: types.CallToolRequestParams) -> Any:
        if ctx.request is None:
            raise MCPError(INVALID_PARAMS, "Unknown tool")
        return await self._caller.call(params.name, params.arguments or {}, ctx.request.asked)


def _failed(id_: RequestId, error: Exception) -> dict[str, Any]:
    if isinstance(error, RpcRefusal):
        return error_message(id_, error.code, error.message, error.data)
    data = modern_error_data(error)  # also logs what is a crash
    if data.code == INTERNAL_ERROR:
        return crash_message(id_)
    # The SDK marks its own refusals with an empty `data`; it tells nothing.
    return error_message(id_, data.code, data.message, data.data or None)
