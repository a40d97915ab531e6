"""Decide whether a request names a revision that is spoken here and says what its client can do.

Every request carries this in `params._meta`, and each is judged by its own alone: nothing is remembered.
What the capabilities are needed for is left to the tools.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from fsnotes.server.frames import Params

PROTOCOL_VERSION: Final = "2026-07-28"
SUPPORTED_VERSIONS: Final = (PROTOCOL_VERSION,)

VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY: Final = "io.modelcontextprotocol/clientInfo"

MAX_TOKEN: Final = 256
"""Characters of a progress token; it is repeated in every notification."""

MAX_TRACESTATE: Final = 512
"""Characters of a trace's state (W3C Trace Context, section 3.3.1.5)."""

INVALID_PARAMS: Final = -32602
METHOD_NOT_FOUND: Final = -32601
UNSUPPORTED_VERSION: Final = -32022


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a request says about itself. What its client calls itself is left out: it proves nothing."""

    version: str
    capabilities: dict[str, Any]
    traceparent: str | None
    progress_token: str | int | None = None
    tracestate: str | None = None

    @property
    def trace_id(self) -> str | None:
        """The id of the trace that the request belongs to."""
        return None if self.traceparent is None else self.traceparent[3:35]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A JSON-RPC error for a request that is not served."""

    code: int
    message: str
    data: Any = None


def open_envelope(method: str, params: Params | None) -> Envelope | Refusal:
    """Read the envelope of a request: the version first, then the capabilities."""
    meta = (params or {}).get("_meta")
    if not isinstance(meta, dict):
        meta = {}
    if method == "initialize" and VERSION_KEY not in meta:
        # An older client opens like this. It is told which revisions there are, in words it knows.
        asked = (params or {}).get("protocolVersion")
        return _judge_version(asked, "params.protocolVersion") or _unsupported(asked)
    version = meta.get(VERSION_KEY)
    refusal = _judge_version(version, f"params._meta[{VERSION_KEY!r}]")
    if refusal is not None:
        return refusal
    if version not in SUPPORTED_VERSIONS:
        return _unsupported(version)
    capabilities = meta.get(CAPABILITIES_KEY)
    if not isinstance(capabilities, dict):
        return Refusal(INVALID_PARAMS, f"params._meta[{CAPABILITIES_KEY!r}] must be an object")
    parent = _traceparent(meta.get("traceparent"))
    state = None if parent is None else _tracestate(meta.get("tracestate"))
    return Envelope(version, capabilities, parent, _token(meta.get("progressToken")), state)


def _judge_version(version: object, where: str) -> Refusal | None:
    return None if isinstance(version, str) else Refusal(INVALID_PARAMS, f"{where} must be a string")


def _unsupported(version: object) -> Refusal:
    data = {"supported": list(SUPPORTED_VERSIONS), "requested": version}
    return Refusal(UNSUPPORTED_VERSION, "Unsupported protocol version", data)


def token_of(params: Params | None) -> str | int | None:
    """Return the progress token in *params*; None where there is none, or one that can be none."""
    meta = (params or {}).get("_meta")
    return _token(meta.get("progressToken")) if isinstance(meta, dict) else None


def _token(token: object) -> str | int | None:
    """Return the token under which the client wants to hear of progress; None for what can be none."""
    if isinstance(token, bool) or not isinstance(token, str | int) or len(str(token)) > MAX_TOKEN:
        return None
    return token


_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


def _traceparent(parent: object) -> str | None:
    """Return what the request says it is a part of (W3C Trace Context); None unless it is well-formed."""
    return parent if isinstance(parent, str) and _TRACEPARENT.fullmatch(parent) else None


def _tracestate(state: object) -> str | None:
    """Return what tracing systems hand on beside the parent; None where it is longer than they must hand on."""
    return state if isinstance(state, str) and len(state) <= MAX_TRACESTATE else None
