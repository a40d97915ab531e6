"""What a method beside the tools' is: how a plain request of it looks, and the operation behind it.

Which methods there are is decided in `methods.py`. Knows nothing of the SDK.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fsnotes.errors import FsnotesError, InvalidArgument, NotAllowed, NoteNotFound
from fsnotes.failures import INTERNAL_ERROR, describe
from fsnotes.server.envelope import INVALID_PARAMS
from fsnotes.server.frames import Params
from fsnotes.server.refusals import RpcRefusal

if TYPE_CHECKING:
    from fsnotes.calls import Call
    from fsnotes.service import Service

_PASSING: Final = frozenset({"limit", "busy", "unavailable"})
"""Slugs of what is no fault of the request."""

MAX_ECHO: Final = 2_000
"""Characters of a URI that a refusal repeats; a longer one is not repeated."""


@dataclass(frozen=True, slots=True)
class Method:
    """One method. *run* is called in a thread, with params that *is_plain*, or the SDK's model of them, has judged."""

    name: str
    is_plain: Callable[[Params], bool]
    run: Callable[[Service, Call, Params], dict[str, Any]]


def refused(error: FsnotesError, params: Params) -> RpcRefusal:
    """Return how *error* is told for a request that is no call of a tool.

    What is not there and what is not allowed are told by the same words, and the URI as it was asked for.
    """
    if isinstance(error, (NotAllowed, NoteNotFound)):
        return not_found(params.get("uri"))
    if isinstance(error, InvalidArgument) and error.argument == "cursor":
        return RpcRefusal(INVALID_PARAMS, "Invalid cursor")
    failure = describe(error)
    if failure.rpc is not None:
        return RpcRefusal(failure.rpc.code, failure.rpc.message, failure.rpc.data)
    return RpcRefusal(INTERNAL_ERROR if failure.slug in _PASSING else INVALID_PARAMS, failure.line)


def not_found(uri: object) -> RpcRefusal:
    """Return the one refusal of what is not there or not allowed."""
    data = {"uri": uri} if isinstance(uri, str) and len(uri) <= MAX_ECHO else None
    return RpcRefusal(INVALID_PARAMS, "Resource not found", data)
