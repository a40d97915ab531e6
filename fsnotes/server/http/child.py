"""What one of several serving processes knows of its parent: a socket that is shared, and a link to it alone.

Over the link the child is told the configuration and which folders that means, and later to end; it tells that it
serves. When the parent ends, however it ends, so does the link, and with it the child: a process that nobody keeps
would hold the port and never be replaced.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Callable
from typing import Final, NoReturn, Self

from fsnotes.config import Source
from fsnotes.errors import ConfigurationError
from fsnotes.folders import Seen, decoded, encoded
from fsnotes.server.http.listening import inherit

SERVING: Final = b"s"
"""What a child tells its parent once it takes connections."""

END: Final = b"e"
"""What a parent tells its child when it is to end as on SIGTERM."""

MOST_TOLD: Final = 8 * 1_048_576
"""How long the configuration may be as it is told, in bytes; a file has at most one MiB."""

TOLD_SECONDS: Final = 20.0
"""How long a child waits for it."""


def told(source: Source, seen: Seen) -> bytes:
    """Return *source* and what is *seen* as a child is told it: how long it is, in eight bytes, and as JSON."""
    text = json.dumps([source.path, source.data.decode("utf-8"), encoded(seen)]).encode("ascii")
    return len(text).to_bytes(8, "big") + text


class Child:
    """A child's side: what it is told, and what it tells.

    *source* and *seen* are as the parent has them. *is_first* says whether it is the first of all: what a person should
    know is told once.
    """

    def __init__(
        self, listening: int, link: socket.socket, source: Source, seen: Seen, *, is_first: bool
    ) -> None:
        self._listening = listening
        self._link = link
        self.source = source
        self.seen = seen
        self.is_first = is_first

    @classmethod
    def begun(
        cls, listening: int, link: int, *, is_first: bool, orphaned: Callable[[], NoReturn] | None = None
    ) -> Self:
        """Take the descriptors that this process was started with, and end it when the parent ends.

        Raises ConfigurationError where the link is none, or says nothing that can be understood.
        """
        try:
            ours = socket.socket(fileno=link)
            ours.set_inheritable(False)
            if ours.family != socket.AF_UNIX:
                raise ValueError("no link")
            ours.settimeout(TOLD_SECONDS)
            source, seen = _heard(ours)
            ours.settimeout(None)
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigurationError(
                "nobody has started this process who could tell it what to do"
            ) from error
        made = cls(listening, ours, source, seen, is_first=is_first)
        watch = threading.Thread(
            target=made._watch, args=(orphaned or _end,), name="fsnotes-parent", daemon=True
        )
        watch.start()
        return made

    def listening(self, *, authenticated: bool) -> socket.socket:
        """Return the socket to serve on. Raises ConfigurationError."""
        return inherit(self._listening, authenticated=authenticated)

    def tell_serving(self) -> None:
        """Tell the parent that connections are taken."""
        try:
            self._link.send(SERVING)
        except OSError:
            pass  # it has ended; the thread that watches sees it too

    def _watch(self, orphaned: Callable[[], NoReturn]) -> None:
        try:
            main = threading.main_thread().ident
            while self._link.recv(1) == END and main is not None:
                # To the main thread, so that whatever it waits for is interrupted.
                signal.pthread_kill(main, signal.SIGTERM)
        except OSError:
            pass
        orphaned()


def _end() -> NoReturn:
    # Every change survives this, as it survives a kill.
    os._exit(1)


def _heard(link: socket.socket) -> tuple[Source, Seen]:
    size = int.from_bytes(_exactly(link, 8), "big")
    if size > MOST_TOLD:
        raise ValueError("too long")
    path, text, folders = json.loads(_exactly(link, size))
    if not (path is None or type(path) is str) or type(text) is not str:
        raise ValueError("no source")
    return Source(path, text.encode("utf-8")), decoded(folders)


def _exactly(link: socket.socket, size: int) -> bytes:
    """Read so many bytes and no more: what follows may be the order to end."""
    data = bytearray()
    while len(data) < size:
        chunk = link.recv(min(1 << 16, size - len(data)))
        if not chunk:
            raise ValueError("the link ended")
        data += chunk
    return bytes(data)
