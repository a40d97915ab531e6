"""Decide what the header fields of a request say, and whether those that repeat its body agree with it.

Sources: RFC 9110, sections 8.3 and 12.5.1; RFC 6750, section 2.1; the specification's page on Streamable HTTP,
"Request Metadata". Which versions are spoken is left to `envelope`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from typing import Final

from fsnotes.identity import MAX_TOKEN
from fsnotes.server.envelope import SUPPORTED_VERSIONS, VERSION_KEY, Refusal
from fsnotes.server.frames import Request

HEADER_MISMATCH: Final = -32020

NAMED: Final[Mapping[str, str]] = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods whose `Mcp-Name` header repeats a member of their params."""


class Headers:
    """The fields of one request. Names are in lower case, and nothing is folded together."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Iterable[tuple[bytes, bytes]]) -> None:
        self._fields: dict[bytes, list[bytes]] = {}
        for name, value in fields:
            self._fields.setdefault(name, []).append(value)

    def all(self, name: bytes) -> list[bytes]:
        """Return the values of each field *name*."""
        return self._fields.get(name, [])

    def one(self, name: bytes) -> bytes | None:
        """Return the value of the field *name*; None where there is none, or more than one."""
        values = self._fields.get(name, ())
        return values[0] if len(values) == 1 else None


_JSON: Final = re.compile(
    rb'application/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?', re.IGNORECASE
)


def is_json(headers: Headers) -> bool:
    """Say whether the body is said to be JSON, in UTF-8 and not compressed."""
    kind = headers.one(b"content-type")
    return kind is not None and _JSON.fullmatch(kind) is not None and not headers.all(b"content-encoding")


def accepts(headers: Headers, kind: bytes, *, listed: bool = False) -> bool:
    """Say whether the client takes an answer of media type *kind*, such as `text/event-stream`.

    The most specific range decides; one with a weight of 0 refuses. Without any `Accept` everything is taken, unless
    *listed* asks that it be named.
    """
    values = headers.all(b"accept")
    if not values:
        return not listed
    best, taken = -1, False
    ranges = (kind, kind.partition(b"/")[0] + b"/*", b"*/*")
    for part in b",".join(values).split(b","):
        name, *parameters = (piece.strip().lower() for piece in part.split(b";"))
        if name in ranges and (specific := 2 - ranges.index(name)) > best:
            best, taken = specific, not any(_NOTHING.fullmatch(parameter) for parameter in parameters)
    return taken


_NOTHING: Final = re.compile(rb"q=0(?:\.0{0,3})?")
_BEARER: Final = re.compile(rb"bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE)


def bearer(headers: Headers) -> str | None:
    """Return the bearer token of the one `Authorization` header; None where there is no such thing."""
    value = headers.one(b"authorization")
    match = None if value is None else _BEARER.fullmatch(value)
    if match is None or len(match[1]) > MAX_TOKEN:
        return None
    return match[1].decode("ascii")


def disagreement(request: Request, headers: Headers) -> Refusal | None:
    """Return what is answered where headers do not repeat what the body of *request* says; None where they do.

    A body that names no version, or one that is not spoken, is left to `open_envelope`: in that order, and with the
    version's own header judged between the two.
    """
    meta = (request.params or {}).get("_meta")
    version = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
    if not isinstance(version, str):
        return None
    if not _repeats(headers, b"mcp-protocol-version", version):
        return _mismatch("MCP-Protocol-Version")
    if version not in SUPPORTED_VERSIONS:
        return None
    if not _repeats(headers, b"mcp-method", request.method):
        return _mismatch("Mcp-Method")
    member = NAMED.get(request.method)
    if member is None:
        return None
    named = (request.params or {}).get(member)
    if named is None and not headers.all(b"mcp-name"):
        return None  # what is missing in both is missed by who needs it
    value = headers.one(b"mcp-name")
    return None if value is not None and decode_value(value) == named else _mismatch("Mcp-Name")


def _repeats(headers: Headers, name: bytes, value: str) -> bool:
    found = headers.one(name)
    return found is not None and found.decode("latin-1") == value


def _mismatch(name: str) -> Refusal:
    return Refusal(HEADER_MISMATCH, f"The {name} header must be there once and equal the body")


_PLAIN: Final = re.compile(rb"[\x20-\x7e\t]*")
_ENCODED: Final = re.compile(rb"=\?base64\?(.*)\?=", re.DOTALL)


def decode_value(value: bytes) -> str | None:
    """Return the text that a header carries, plainly or as `=?base64?...?=`; None for what carries none."""
    if _PLAIN.fullmatch(value) is None:
        return None
    encoded = _ENCODED.fullmatch(value)
    if encoded is None:
        return value.decode("ascii")
    try:
        decoded = base64.b64decode(encoded[1], validate=True)
        # One text has one spelling: bits that mean nothing could hide a second one.
        return decoded.decode("utf-8") if base64.b64encode(decoded) == encoded[1] else None
    except (binascii.Error, UnicodeDecodeError):
        return None
