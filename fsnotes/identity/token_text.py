"""Decides what a static token looks like, so that a typo and a leak can be told without knowing any token.

`fsnotes_`, 256 random bits in hexadecimal digits, and the CRC-32 of all that: one spelling of each, 80 characters. The
prefix is for scanners that look for secrets in files, the checksum tells them, and us, what cannot be one.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from typing import Final

PREFIX: Final = "fsnotes_"
SECRET_BYTES: Final = 32

_FORM: Final = re.compile(rf"({PREFIX}[0-9a-f]{{64}})([0-9a-f]{{8}})")


def make(secret: bytes) -> str:
    """Return the token of a secret of SECRET_BYTES random bytes."""
    if type(secret) is not bytes or len(secret) != SECRET_BYTES:
        raise ValueError(f"a token needs {SECRET_BYTES} bytes")
    body = PREFIX + secret.hex()
    return body + _checksum(body)


def fault(text: str) -> str | None:
    """Return why *text* is no token, in words without any of it; None where it may be one."""
    found = _FORM.fullmatch(text)
    if found is None:
        return "a token of another kind"
    return None if found[2] == _checksum(found[1]) else "a mistyped token"


def digest(text: str) -> bytes:
    """Return what is kept of a token.

    Plain SHA-256: a slow, salted hash makes guessing dear, and 256 random bits cannot be guessed at any price.
    """
    return hashlib.sha256(text.encode("ascii")).digest()


def _checksum(body: str) -> str:
    return f"{zlib.crc32(body.encode('ascii')):08x}"
