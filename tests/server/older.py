"""Messages of the revisions that begin with a handshake, as their clients send them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.server.wire import Frame, Wire

NEWEST = "2025-11-25"
REVISIONS = (NEWEST, "2025-06-18")
FORMS: Mapping[str, Any] = {"elicitation": {}}
CLIENT = {"name": "c", "version": "1"}


def ask(id_: Any, method: str, params: Any = None) -> Frame:
    """A request without any envelope."""
    return {"jsonrpc": "2.0", "id": id_, "method": method} | ({} if params is None else {"params": params})


def call(id_: Any, tool: str, arguments: Any = None, **more: Any) -> Frame:
    """A `tools/call`; *more* are members beside name and arguments."""
    return ask(id_, "tools/call", {"name": tool, "arguments": {} if arguments is None else arguments, **more})


def opening(version: Any = NEWEST, capabilities: Any = FORMS, id_: Any = "open") -> Frame:
    """An `initialize`."""
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": CLIENT}
    return ask(id_, "initialize", params)


def note(method: str, params: Any = None) -> Frame:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})


def cancel(id_: Any) -> Frame:
    """The notification that a request is not wanted any more."""
    return note("notifications/cancelled", {"requestId": id_})


def reply(question: Frame, result: Any) -> Frame:
    """The answer to a request of the server's."""
    return {"jsonrpc": "2.0", "id": question["id"], "result": result}


def accept(note_id: Any, *, confirm: Any = True) -> Frame:
    """What a person says who sends the form off."""
    return {"action": "accept", "content": {"note_id": note_id, "confirm": confirm}}


def open_with(wire: Wire, version: Any = NEWEST, capabilities: Any = FORMS) -> Frame:
    """Shake hands; return the server's result."""
    result: Frame = wire.ask(opening(version, capabilities))["result"]
    wire.send(note("notifications/initialized"))
    return result
