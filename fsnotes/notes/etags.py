"""What an etag is: a digest of a note's bytes and of nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Final

_ETAG: Final = re.compile(r"[A-Za-z0-9_-]{32}", re.ASCII)


def etag(data: bytes) -> str:
    """Return the etag of a note with these bytes: 32 characters, 192 bits of their SHA-256.

    The same bytes have the same etag, whoever saved them and whenever.
    """
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()[:24]).decode("ascii")


def is_etag(text: str) -> bool:
    """Say whether *text* is one that an etag could be."""
    return _ETAG.fullmatch(text) is not None
