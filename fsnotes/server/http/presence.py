"""Decides how it is found out that a client has gone without a word: its host is off, or a middlebox forgot it.

The kernel probes a connection on which nothing is sent, and gives up one on which nothing is acknowledged. A stream of
events carries a comment now and then, so that what stands between keeps it, and tells when the client behind has gone.
Sources: Linux's tcp(7) and socket(7); the HTML standard's section on server-sent events, for comments.
"""

from __future__ import annotations

import socket
from typing import Final, Protocol

PROBE_AFTER: Final = 60
"""Seconds without a byte from the client after which it is probed."""

PROBE_EVERY: Final = 15
"""Seconds from one probe to the next."""

PROBES: Final = 4
"""Probes without an answer after which the connection ends."""

COMMENT_SECONDS: Final = 15.0
"""How long nothing is sent on a stream of events before a comment is: what stands between waits for 60 s, mostly."""

COMMENT: Final = b":\n\n"
"""What every reader of events passes over."""

_IDLE: Final = (
    "TCP_KEEPIDLE" if hasattr(socket, "TCP_KEEPIDLE") else "TCP_KEEPALIVE"
)  # the name that macOS has


class Options(Protocol):
    """What options are set on: a socket, or the one of a transport."""

    def setsockopt(self, level: int, option: int, value: int, /) -> None:
        """Set one."""


def probe(connection: Options, *, patience: float) -> None:
    """Have the kernel end *connection* once its client has gone; who is there has *patience* seconds to read.

    Takes PROBE_AFTER + PROBES * PROBE_EVERY seconds, or *patience* if that is more. Where the host has no such option,
    or refuses it, the connection is as it was.
    """
    gone = max(PROBE_AFTER + PROBES * PROBE_EVERY, patience)
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (
            (_IDLE, PROBE_AFTER),
            ("TCP_KEEPINTVL", PROBE_EVERY),
            ("TCP_KEEPCNT", PROBES),
            # Probes are for a connection on which nothing waits to be acknowledged; what does is sent for a quarter of
            # an hour otherwise.
            ("TCP_USER_TIMEOUT", int(1000 * gone)),
        ):
            if (option := getattr(socket, name, None)) is not None:
                connection.setsockopt(socket.IPPROTO_TCP, option, value)
    except OSError:
        pass
