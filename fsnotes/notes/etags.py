"""What an etag is: a digest of a note's bytes and of nothing else."""

from __future__ import annotations

import base64
import hashlib


def etag(data: bytes) -> str:
    """Return the etag of a note with these bytes: 32 characters, 192 bits of their SHA-256.

    The same bytes have the same etag, whoever saved them and whenever.
    """
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()[:24]).decode("ascii")
