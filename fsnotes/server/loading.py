"""Decides how a server is run, whichever transport it has, and makes the kernel that answers it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fsnotes.server.calling import Caller
from fsnotes.server.front import Front
from fsnotes.server.tracing import tracing_from
from fsnotes.service import MAX_WAITING

if TYPE_CHECKING:
    from fsnotes.server.kernel import Kernel
    from fsnotes.server.listening import Listening
    from fsnotes.server.method import Method
    from fsnotes.server.results import Result
    from fsnotes.wiring import Product

SPARE_CALLS: Final = 16
"""How many calls of tools run at once, beside as many as all workspaces together may keep waiting.

Where a workspace hangs, so does each call that it has admitted. So that it takes no other's places, there are places
for all that can hang; one call more is refused. Each that is stuck has a thread of its own."""

LARGE_FRAME: Final = 65_536
"""A frame with more bytes than this is parsed in a thread: one with as many values as it can hold takes some 10 ms.

Python runs one thread at a time, so this keeps the loop from being held for all of it, not from being slowed;
what bounds the time itself is how many values a frame may hold."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How the server is run.

    *max_calls*: how many calls of tools run at once; None for what the workspaces need. *drain_seconds*: how long
    calls in flight may take once the end has come. *legacy*: whether clients of older revisions are served.
    """

    read_only: bool = False
    max_message_bytes: int = 8 * 1_048_576
    max_calls: int | None = None
    drain_seconds: float = 0.6
    legacy: bool = False


def most_calls(product: Product, settings: ServerSettings) -> int:
    """Return how many calls of tools run at once."""
    return settings.max_calls or MAX_WAITING * len(product.workspaces) + SPARE_CALLS


def front_of(product: Product, settings: ServerSettings) -> Front:
    """Return what answers the requests to *product*; the kernel behind it is made when it is needed."""
    caller = Caller(
        product.service,
        read_only=settings.read_only,
        max_calls=most_calls(product, settings),
        tracing=tracing_from(os.environ),
    )

    def make(listening: Listening, *, fixed: Mapping[str, Result], methods: Mapping[str, Method]) -> Kernel:
        from fsnotes.server.kernel import Kernel  # loads the SDK

        return Kernel(caller, listening, fixed=fixed, methods=methods)

    return Front(caller, make, read_only=settings.read_only)
