"""Decide which bytes are the head of a request: what two readers could read in two ways is none.

h11 parses it afterwards, and forgives what RFC 9112 lets a server forgive. Behind a proxy each of these is a way to
smuggle a second request into the first one, and no client of ours sends any: so they are refused before.
Sources: RFC 9112, sections 2.2 (line ends), 5.1, 5.2 (folding), 6.1 and 6.3 (two lengths).
"""

from __future__ import annotations

import re
from typing import Final

MAX_HEAD: Final = 16_384
"""Bytes of a request's line and header fields, all in all."""

MAX_FIELDS: Final = 100

END: Final = b"\r\n\r\n"

_STRAY: Final = re.compile(rb"\r(?!\n)|(?<!\r)\n|\x00")
_REQUEST: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+ [\x21-\x7e]+ HTTP/1\.([01])")
# What surrounds the value is stripped afterwards: a pattern that did it would take quadratic time for spaces within.
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):(.*)", re.DOTALL)
_LENGTH: Final = re.compile(rb"[0-9]{1,15}")


def is_stray(part: bytes | bytearray, start: int = 0) -> bool:
    """Say whether a head that begins with *part* can be none any more: a line end that is none is in it.

    Only what stands from *start* on is looked at; the byte before it counts as what precedes that.
    """
    # Its last byte may be the first half of a line end.
    end = len(part) - part.endswith(b"\r")
    return _STRAY.search(part, start, end) is not None


def fault(head: bytes) -> str | None:
    """Say what is wrong with *head*, which ends in an empty line; None where nothing is."""
    if _STRAY.search(head) is not None:
        return "a line end that is none"
    first, *lines = head.removesuffix(END).split(b"\r\n")
    request = _REQUEST.fullmatch(first)
    if request is None:
        return "no request line"
    if first.startswith(b"CONNECT "):
        return "a tunnel is asked for"  # and what follows would be no request any more
    if len(lines) > MAX_FIELDS:
        return "too many fields"
    lengths: list[bytes] = []
    codings: list[bytes] = []
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is None:
            return "a folded or malformed field"
        name = field[1].lower()
        if name == b"content-length":
            lengths.append(field[2].strip(b" \t"))
        elif name == b"transfer-encoding":
            codings.append(field[2].strip(b" \t"))
    if len(lengths) + len(codings) > 1:
        return "two lengths"
    if lengths and _LENGTH.fullmatch(lengths[0]) is None:
        return "a malformed length"
    if codings and (codings[0].lower() != b"chunked" or request[1] == b"0"):
        return "a transfer coding other than chunked"
    return None
