"""Serves a product over HTTP until it is told to end: takes signals, drains.

Where is decided in `listening`; what several processes owe each other, in `parent` and `child`.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn, cast

import uvicorn

from fsnotes.http_settings import DEFAULT_RATE, HttpSettings
from fsnotes.server.ending import end_at_once, run
from fsnotes.server.http.app import HttpApp
from fsnotes.server.http.callers import Callers
from fsnotes.server.http.connections import Bounds, Connection, connections_within
from fsnotes.server.http.hosts import Hosts, Origins, default_hosts
from fsnotes.server.http.limits import Limits
from fsnotes.server.http.listening import BACKLOG
from fsnotes.server.legacy import Commands, Stateless
from fsnotes.server.loading import ServerSettings, front_of

if TYPE_CHECKING:
    from fsnotes.identity import Authenticator
    from fsnotes.server.http.child import Child
    from fsnotes.wiring import Product

logger = logging.getLogger(__name__)

INTERRUPTED: Final = 130
FEW: Final = 1
"""How many connections one of several processes takes in a turn: all that wait would be too many for one of them."""

CLOSE_SECONDS: Final = 1
"""How long connections may take to end once nothing is under way any more."""

READ_SECONDS: Final = 0.9
"""How long clients have of that to read what they were answered."""


class _Server(uvicorn.Server):
    """The server as it runs here: its signals are ours, and *begun* is called once it takes connections."""

    def __init__(self, config: uvicorn.Config, begun: Callable[[], None]) -> None:
        super().__init__(config)
        self._begun = begun

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._begun()

    def leave_connections(self) -> None:
        """End the connections that are left."""
        for connection in tuple(self.server_state.connections):
            cast("Connection", connection).abort()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve_http(
    product: Product,
    settings: ServerSettings,
    http: HttpSettings,
    *,
    listening: socket.socket,
    authenticator: Authenticator | None,
    child: Child | None = None,
) -> int:
    """Serve *product* on the socket *listening* until a signal ends it, and return the exit code.

    0 on SIGTERM, 130 on SIGINT. From the signal on, new requests are refused and those under way are answered, for as
    long as the settings allow; a second signal ends the process at once. What is still running then is left behind by
    ending the process: every change survives that, as it survives a kill. Must run in the main thread.

    A *child* tells its parent when it serves, and takes a second signal for the first once more: whoever ends a whole
    group of processes signals it beside its parent, which kills it when it is not to be waited for.
    """
    front = front_of(product, settings)
    callers = Callers(authenticator, product.principal)
    port = listening.getsockname()[1]
    rate = http.calls_per_second
    if rate is None and authenticator is not None:
        rate = DEFAULT_RATE
    older = None
    if settings.legacy:
        commands = Commands(product.settings, product.workspaces, product.principal)
        older = Stateless(front.caller, commands, read_only=settings.read_only)
    app = HttpApp(
        front,
        path=http.path,
        hosts=Hosts(default_hosts(http.host, port) if http.allowed_hosts is None else http.allowed_hosts),
        origins=Origins(http.allowed_origins),
        callers=callers,
        authenticator=authenticator,
        limits=Limits(
            requests=http.max_requests,
            calls=http.max_calls_per_principal,
            rate=rate,
            burst=http.call_burst,
        ),
        max_message_bytes=settings.max_message_bytes,
        body_seconds=http.body_seconds,
        older=older,
    )
    shown = f"[{http.host}]" if ":" in http.host else http.host
    logger.info("serving on http://%s:%d%s", shown, port, http.path)
    config = _config(app, http, turn=BACKLOG if child is None else FEW)
    leave = partial(end_at_once, front)
    code = run(
        front, _run(app, config, listening, drain_seconds=http.drain_seconds, child=child, leave=leave)
    )
    callers.close()
    return code


def _config(app: HttpApp, http: HttpSettings, *, turn: int) -> uvicorn.Config:
    # What it warns of is what strangers send; `connections` logs that, where anybody wants to know.
    logging.getLogger("uvicorn").setLevel(max(logging.ERROR, logging.getLogger().level))
    bounds = Bounds(http.max_connections, http.head_seconds, http.send_seconds)
    return uvicorn.Config(
        app,
        http=connections_within(bounds),
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=turn,
        timeout_keep_alive=http.idle_seconds,  # type: ignore[arg-type]  # a float does for the timer it becomes
        timeout_graceful_shutdown=CLOSE_SECONDS,
    )


async def _run(
    app: HttpApp,
    config: uvicorn.Config,
    listening: socket.socket,
    *,
    drain_seconds: float,
    child: Child | None,
    leave: Callable[[int], NoReturn],
) -> int:
    """Serve until a signal; return the exit code, or *leave* with it where something is not to be waited for."""
    loop = asyncio.get_running_loop()
    server = _Server(config, (lambda: None) if child is None else child.tell_serving)
    codes: list[int] = []
    ended = asyncio.Event()

    def end(code: int) -> None:
        if codes and child is not None:
            return
        if codes:
            leave(code)  # asked twice: whoever asks does not want to wait
        codes.append(code)
        ended.set()

    loop.add_signal_handler(signal.SIGTERM, end, 0)
    loop.add_signal_handler(signal.SIGINT, end, INTERRUPTED)
    serving = asyncio.ensure_future(server.serve(sockets=[listening]))
    waiting = asyncio.ensure_future(ended.wait())
    await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
    if not serving.done():
        if not await app.drain(drain_seconds):
            logger.warning("ended with requests under way")
            leave(codes[0])
        loop.call_later(READ_SECONDS, server.leave_connections)
        server.should_exit = True
    await serving
    return codes[0] if codes else 1
