"""Decides on what is listened, and who may be served there: without authentication, nobody but loopback."""

from __future__ import annotations

import socket
from typing import Final

from fsnotes.addresses import is_loopback
from fsnotes.errors import ConfigurationError
from fsnotes.http_settings import HttpSettings

BACKLOG: Final = 512


class _Inherited(socket.socket):
    """A listening socket that several processes share: how many may wait on it is decided once, by who bound it."""

    def listen(self, backlog: int = BACKLOG, /) -> None:  # noqa: ARG002  # the library's signature
        super().listen(BACKLOG)


def bind(settings: HttpSettings, *, authenticated: bool) -> socket.socket:
    """Return a listening socket on the address that *settings* name.

    Raises ConfigurationError where that cannot be had, or is not loopback though callers are not *authenticated*.
    """
    where = f"{settings.host}:{settings.port}"
    try:
        found = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as error:
        raise ConfigurationError(f"[http] host: {settings.host!r} is no address of this machine") from error
    family, kind, protocol, _, address = found[0]
    if not authenticated and not is_loopback(str(address[0])):
        raise ConfigurationError(
            f"[http] host: {settings.host!r} can be reached from elsewhere, so callers must be told apart:"
            " set [http] auth, or serve on 127.0.0.1"
        )
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
        listening.settimeout(0)
    except OSError as error:
        listening.close()
        raise ConfigurationError(f"[http] {where}: {error.strerror}") from error
    return listening


def inherit(number: int, *, authenticated: bool) -> socket.socket:
    """Return the listening socket that this process was started with, as descriptor *number*.

    Raises ConfigurationError where it is none, or not on loopback though callers are not *authenticated*.
    """
    try:
        listening = _Inherited(fileno=number)
    except (OSError, ValueError) as error:
        raise ConfigurationError("there is no socket to serve on") from error
    try:
        is_ours = (
            listening.family in (socket.AF_INET, socket.AF_INET6)
            and listening.type == socket.SOCK_STREAM
            and listening.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
        )
        if not is_ours:
            raise ConfigurationError("what was handed on is no socket that listens")
        if not authenticated and not is_loopback(str(listening.getsockname()[0])):
            raise ConfigurationError(
                "the socket can be reached from elsewhere, and callers are not told apart"
            )
        listening.set_inheritable(False)
        listening.settimeout(0)
    except BaseException:
        listening.close()
        raise
    return listening
