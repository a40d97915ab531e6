"""Decide which bytes are a JSON-RPC message: strict JSON, one object a line, nothing repaired.

Pure functions over bytes. What a request means is left to `envelope` and `kernel`, moving bytes to `stdio`.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600

MAX_DEPTH: Final = 64
"""How deep objects and lists may nest."""

MAX_INTEGER_DIGITS: Final = 4300
"""Longer integers are refused: turning them into numbers takes quadratic time."""

RequestId = int | str
Params = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """A message that must be answered. *params* is None when the message has none."""

    id: RequestId
    method: str
    params: Params | None


@dataclass(frozen=True, slots=True)
class Notification:
    """A message without an id: it is never answered, whatever it asks. *params* is None unless an object."""

    method: str
    params: Params | None


@dataclass(frozen=True, slots=True)
class Response:
    """A message shaped like an answer to a request of ours; *id* is None where it can be the answer to none.

    *failed* says that it is an error, or both that and a result, or no JSON-RPC 2.0: then *result* is None.
    """

    id: RequestId | None = None
    result: Any = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Broken:
    """Bytes that are no message. *id* is that of the request it was meant to be, where it can be read."""

    code: int
    message: str
    id: RequestId | None = None


MAX_COMMAS: Final = 500_000
"""No frame has more: it bounds the values that are made of one, and the time in which nothing else is done."""

Frame = Request | Notification | Response | Broken

NOT_JSON: Final = Broken(PARSE_ERROR, "Parse error")

DUPLICATE: Final = Broken(INVALID_REQUEST, "Invalid Request")
"""A request whose id is in flight. Without the id: an answer that carries it would end the first request."""


def parse_frame(line: bytes) -> Frame:
    """Read one line as a message.

    Strict: UTF-8 without a byte order mark, no name twice in one object, no NaN and no number beyond a
    double, no lone surrogate, at most MAX_DEPTH levels and MAX_COMMAS commas. Takes time linear in the length
    of the line.
    """
    try:
        message = _strict_json(line)
    except (ValueError, RecursionError):
        return NOT_JSON
    if not isinstance(message, dict):
        return _not_a_request(None)
    id_ = message.get("id")
    readable = id_ if type(id_) in (int, str) else None  # not isinstance: true and false are no ids
    if "method" not in message and ("result" in message or "error" in message):
        if message.get("jsonrpc") != "2.0" or "error" in message:
            return Response(readable, failed=True)
        return Response(readable, message["result"])
    method = message.get("method")
    if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
        return _not_a_request(readable)
    params = message.get("params")
    if "id" not in message:
        return Notification(method, params if isinstance(params, dict) else None)
    if readable is None or ("params" in message and not isinstance(params, dict)):
        return _not_a_request(readable)
    return Request(readable, method, params)


def _not_a_request(id_: RequestId | None) -> Broken:
    return Broken(INVALID_REQUEST, "Invalid Request", id_)


# An open string goes to the end: looked for again at each quote in it, its end would take quadratic time to miss.
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NOT_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_ESCAPED_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


def _strict_json(line: bytes) -> Any:
    if line.count(b",") > MAX_COMMAS:
        raise ValueError("too many values")
    text = line.decode("utf-8")
    # Counting is cheap and settles nearly every message; only then are the levels themselves measured.
    if line.count(b"[") + line.count(b"{") > MAX_DEPTH and _depth(line) > MAX_DEPTH:
        raise ValueError("nested too deep")
    value = _DECODER.decode(text)
    if _ESCAPED_SURROGATE.search(line) is not None:
        # Pairs have become characters by now; whatever is left of them cannot be encoded.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def _depth(line: bytes) -> int:
    brackets = _STRING.sub(b"", line).translate(None, _NOT_BRACKETS)
    return max(accumulate(array("b", brackets.translate(_STEPS))), default=0)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name occurs twice")
    return members


def _integer(digits: str) -> int:
    if len(digits) > MAX_INTEGER_DIGITS:
        raise ValueError("an integer of absurd length")
    return int(digits)


def _real(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number beyond a double")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_members, parse_int=_integer, parse_float=_real, parse_constant=_no_constant
)
_ENCODER: Final = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def encode(message: dict[str, Any]) -> bytes:
    """Return *message* as one line of ASCII: no character can be impossible to encode, none can end the line.

    Raises ValueError or TypeError when a value has no JSON form.
    """
    return _ENCODER.encode(message).encode("ascii") + b"\n"


def result_message(id_: RequestId, result: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request that was served."""
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def error_message(id_: RequestId | None, code: int, message: str, data: Any = None) -> dict[str, Any]:
    """Return the answer to a request that was refused; without `id` where there is none (never a null)."""
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return (
        {"jsonrpc": "2.0", "error": error} if id_ is None else {"jsonrpc": "2.0", "id": id_, "error": error}
    )


class LineSplitter:
    """Cut a stream of bytes into lines, holding at most one line of *limit* bytes and what is fed at once.

    Only LF ends a line. A line longer than *limit* is dropped as it comes, and reported once, as None.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._begun = bytearray()
        self._dropping = False

    def feed(self, chunk: bytes) -> list[bytes | None]:
        """Return the lines that *chunk* completes, without their ends; None for one that is too long."""
        lines: list[bytes | None] = []
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            piece = chunk[start:end]
            start = end + 1
            if self._dropping:
                self._dropping = False
                continue
            if self._begun:
                piece = bytes(self._begun) + piece
                self._begun = bytearray()
            lines.append(piece if len(piece) <= self._limit else None)
        if not self._dropping and start < len(chunk):
            self._begun += chunk[start:]
            if len(self._begun) > self._limit:
                self._begun = bytearray()
                self._dropping = True
                lines.append(None)
        return lines

    def end(self) -> list[bytes | None]:
        """Return the last line, where the stream ended without an LF after it."""
        last, self._begun = bytes(self._begun), bytearray()
        return [last] if last and not self._dropping else []
