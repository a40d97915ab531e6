"""`serve` and `demo`: the commands that speak the protocol, which is loaded only when they run."""

from __future__ import annotations

import argparse
import logging
import os
import signal
from contextlib import ExitStack
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

from fsnotes import wiring
from fsnotes.cli.children import command
from fsnotes.cli.console import Console
from fsnotes.cli.logs import start_logging
from fsnotes.cli.settings import settings_for, source_for
from fsnotes.errors import ConfigurationError

if TYPE_CHECKING:
    from fsnotes.server.http.child import Child


def serve(options: argparse.Namespace, console: Console) -> int:
    """Serve until end of input or a signal."""
    # The server answers signals once it runs; a client may change its mind before.
    signal.signal(signal.SIGTERM, _leave)
    if options.transport != "http":
        for flag, given in (
            ("host", options.host),
            ("port", options.port),
            ("path", options.endpoint),
            ("workers", options.workers),
        ):
            if given is not None:
                raise ConfigurationError(f"--{flag}: only for --transport http")
    child: Child | None = options.child
    source = source_for(options) if child is None else child.source
    settings = settings_for(options, source=source, seen=None if child is None else child.seen)
    start_logging(settings.log_level, settings.log_format)
    if not settings.workspaces:
        raise ConfigurationError("nothing to serve: name a folder, or configure a workspace")
    with ExitStack() as open_until_refused:
        listening = None
        if options.transport == "http":
            from fsnotes.server.http import bind

            # Before anything is made: where it cannot be served, nothing is begun.
            authenticated = settings.http.auth is not None
            if child is not None:
                listening = child.listening(authenticated=authenticated)
            else:
                listening = open_until_refused.enter_context(bind(settings.http, authenticated=authenticated))
                if settings.http.workers > 1:
                    from fsnotes.server.http.parent import serve_by_many

                    how_to_start = partial(command, options.words)
                    return serve_by_many(
                        how_to_start,
                        settings.http,
                        listening=listening,
                        source=source,
                        seen=settings.seen,
                    )
        # Trying what the file system offers makes and removes files, which nobody asked for who may only read.
        is_first = child is None or child.is_first
        product = wiring.build(settings, inspect="try" if is_first and not settings.read_only else "skip")
        open_until_refused.callback(product.close)
        for notice in product.notices if is_first else ():
            console.complain(notice)
        from fsnotes.server import ServerSettings, serve_stdio

        # Over stdio one user has started both programs; strangers get what somebody has asked for.
        legacy = listening is None if settings.legacy is None else settings.legacy
        how = ServerSettings(
            read_only=settings.read_only, max_message_bytes=settings.max_message_bytes, legacy=legacy
        )
        if listening is None:
            product.keep_tidy()
            product.keep_indexes()
            code = serve_stdio(product, how)
        else:
            authenticator = wiring.authenticator_for(settings.http, product)
            from fsnotes.server.http import serve_http

            product.keep_tidy()
            product.keep_indexes()
            code = serve_http(
                product, how, settings.http, listening=listening, authenticator=authenticator, child=child
            )
        # Nothing is left to be done, and taking the interpreter down takes half of the second that the end may take.
        console.flush()
        logging.shutdown()
        os._exit(code)


def _leave(signum: int, frame: FrameType | None) -> None:
    # Nothing is served yet, and what is being made of the state folder survives a kill.
    os._exit(0)


def demo(options: argparse.Namespace, console: Console) -> int:
    """Play the sample workspace."""
    from fsnotes.cli.demo import play

    return play(console)
