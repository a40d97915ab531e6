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
from fsnotes.server.calling import Asked, Caller
from fsnotes.server.envelope import INVALID_PARAMS, PROTOCOL_VERSION
from fsnotes.server.frames import Params, RequestId, error_message, result_message
from fsnotes.server.front import NAME, crash_message
from fsnotes.server.listening import LISTEN, Listening
from fsnotes.server.method import Method
from fsnotes.server.refusals import RpcRefusal
from fsnotes.server.results import Result

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
    "server/discover": types.RequestParams,
    "tools/list": types.PaginatedRequestParams,
    "prompts/list": types.PaginatedRequestParams,
    "resources/list": types.PaginatedRequestParams,
    "resources/templates/list": types.PaginatedRequestParams,
    "resources/read": types.ReadResourceRequestParams,
    "completion/complete": types.CompleteRequestParams,
    "prompts/get": types.GetPromptRequestParams,
}
"""The model that judges the params of each method."""

_Context = ServerRequestContext[dict[str, Any], _Exchange]


class Kernel:
    """Answers requests; `answer` is called on the event loop.

    *fixed* are the results that are the same for every caller, and *methods* those beside the tools', each by the name
    of its method: they are the front's, so that both ways have the same.
    """

    def __init__(
        self,
        caller: Caller,
        listening: Listening,
        *,
        fixed: Mapping[str, Result],
        methods: Mapping[str, Method],
    ) -> None:
        self._caller = caller
        self._listening = listening
        self._fixed = fixed
        self._methods = methods
        # One connection for every request, which nothing is read from: what a client can do is judged from
        # each request's own envelope. Made for each, as `serve_one` does, it costs a third of a call.
        connection = Connection.from_envelope(PROTOCOL_VERSION, None, {})
        self._runner = ServerRunner(self._make_server(), connection, lifespan_state={})

    def _make_server(self) -> Server[dict[str, Any]]:
        server: Server[dict[str, Any]] = Server(NAME, title=NAME, version=fsnotes.__version__)
        # Registered by name: the constructor wants results as models, and building those for what is already
        # in the shape of the wire costs as much as the rest of the call.
        for name, result in self._fixed.items():
            server.add_request_handler(name, _MODELS[name], partial(self._known, result))
        server.add_request_handler("tools/call", types.CallToolRequestParams, self._call)
        for method in self._methods.values():
            server.add_request_handler(method.name, _MODELS[method.name], partial(self._ask, method))
        server.add_request_handler(LISTEN, types.SubscriptionsListenRequestParams, self._listen)
        server.middleware.clear()  # the only one is a tracing span, and nothing here exports any
        return server

    async def answer(self, method: str, params: Params, asked: Asked) -> dict[str, Any]:
        """Return the JSON-RPC answer to a request. Never raises: a crash is an answer with a fixed text."""
        try:
            result = await self._runner.on_request(_Exchange(asked, params), method, params)
        except Exception as error:  # noqa: BLE001  # whatever it is, the request is answered
            return _failed(asked.request_id, error)
        return result_message(asked.request_id, result)

    async def _known(self, result: Result, _: _Context, params: types.RequestParams) -> Result:
        if isinstance(params, types.PaginatedRequestParams) and params.cursor is not None:
            raise MCPError(INVALID_PARAMS, "Invalid cursor")  # there is one page, so none was ever given out
        return result

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
