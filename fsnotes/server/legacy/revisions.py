"""Decides which revision a request is of, and what those that begin with a handshake say differently.

Sources: the pages "Lifecycle", "Transports", "Tools" and "Elicitation" and the schema of revisions 2025-11-25 and
2025-06-18.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

import fsnotes
from fsnotes.server import front
from fsnotes.server.envelope import CAPABILITIES_KEY, INVALID_PARAMS, VERSION_KEY, Refusal
from fsnotes.server.frames import Params, Request
from fsnotes.server.front import INSTRUCTIONS, NAME
from fsnotes.server.results import Result

NEWEST: Final = "2025-11-25"
OLDEST: Final = "2025-06-18"
REVISIONS: Final = (NEWEST, OLDEST)

_WITH_MODES: Final = frozenset({NEWEST})
"""The revisions in which a form is one mode of several; before that there was nothing else."""


class Session:
    """What a client has opened a connection with. It says what can be shown, and proves nothing about anybody.

    *ready* turns true when the client has said that it is: before that nothing may be asked of it.
    """

    __slots__ = ("_capabilities", "ready", "version")

    def __init__(self, version: str, capabilities: dict[str, Any]) -> None:
        self.version = version
        self._capabilities = capabilities
        self.ready = False

    @property
    def capabilities(self) -> dict[str, Any]:
        """What the client can do by now."""
        return self._capabilities if self.ready else {}


def is_modern(params: Params | None) -> bool:
    """Say whether a request has, or tries to have, an envelope of the revisions that need no handshake."""
    meta = (params or {}).get("_meta")
    return isinstance(meta, dict) and (VERSION_KEY in meta or CAPABILITIES_KEY in meta)


class Fields(Protocol):
    """The header fields of an HTTP request, as far as they matter here."""

    def all(self, name: bytes) -> Sequence[bytes]:
        """Return the values of each field *name*, which is in lower case."""


_SPOKEN: Final[dict[tuple[bytes, ...], str]] = {(each.encode("ascii"),): each for each in REVISIONS}


def posted_revision(request: Request, fields: Fields) -> str | None:
    """Return the older revision that *request*, which came alone over HTTP, is of; None where it is of none.

    Its envelope decides first, as everywhere. Then the headers: those that only today's revision has, and
    `MCP-Protocol-Version`, once and one of ours. Clients that say no version are taken for the oldest; what is
    answered here has the same shape in 2025-03-26, which those pages have a server assume then.
    """
    if is_modern(request.params) or fields.all(b"mcp-method") or fields.all(b"mcp-name"):
        return None
    said = tuple(fields.all(b"mcp-protocol-version"))
    return _SPOKEN.get(said) if said else OLDEST


def open_session(params: Params | None) -> Session | Refusal:
    """Read the parameters of `initialize`. A revision that is not served is answered with the newest that is."""
    asked = (params or {}).get("protocolVersion")
    if not isinstance(asked, str):
        return Refusal(INVALID_PARAMS, "params.protocolVersion must be a string")
    capabilities = (params or {}).get("capabilities")
    if not isinstance(capabilities, dict):
        return Refusal(INVALID_PARAMS, "params.capabilities must be an object")
    return Session(asked if asked in REVISIONS else NEWEST, capabilities)


def greeting(version: str) -> Result:
    """Return the result of `initialize`. The list of tools never changes while the server runs, so it says no more."""
    return {
        "capabilities": {"tools": {}},
        "instructions": INSTRUCTIONS,
        "protocolVersion": version,
        "serverInfo": {"name": NAME, "title": NAME, "version": fsnotes.__version__},
    }


def tool_list(*, read_only: bool) -> Result:
    """Return the result of `tools/list`: one page, the same tools in the same order."""
    return {"tools": front.tool_list(read_only=read_only)["tools"]}


def plain(result: Result) -> Result:
    """Return a tool's *result* without what these revisions do not have."""
    return {name: value for name, value in result.items() if name != "resultType"}


def form_params(params: dict[str, Any], version: str) -> dict[str, Any]:
    """Return the *params* of `elicitation/create` as *version* has them."""
    return params if version in _WITH_MODES else {k: v for k, v in params.items() if k != "mode"}
