"""Decides how a state is hidden and signed on its way through the client.

A token is `v1.` and the base64url of: key id (4 bytes), salt (16), AES-256-GCM ciphertext and tag. HKDF with
SHA-256 makes the key and the nonce of each token from the ring's secret and the salt. So no AES key ever sees
two messages unless two random 128-bit salts meet, and there is no counter for two processes to share.
Version and key id are authenticated data; the salt is authenticated by being part of the key.

What a state says is left to `state`, single use to `ledger`: a token proves that we made it, and no more.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable
from typing import Final

from fsnotes.confirm.keys import ID_BYTES, Key, KeyRing
from fsnotes.errors import InvalidState

MAX_TOKEN: Final = 16_384
"""Longest token, in characters. A form of 25 candidates makes one of about 4,500."""

_PREFIX: Final = "v1."
_SALT_BYTES: Final = 16
_TAG_BYTES: Final = 16
_LEAST: Final = ID_BYTES + _SALT_BYTES + _TAG_BYTES
_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]+")
_MAX_PLAINTEXT: Final = (MAX_TOKEN - len(_PREFIX)) // 4 * 3 - _LEAST


def seal(ring: KeyRing, plaintext: bytes, *, random: Callable[[int], bytes] = os.urandom) -> str:
    """Return a token that only a ring with the same key opens. Raises Unavailable when there are no keys."""
    if len(plaintext) > _MAX_PLAINTEXT:
        raise ValueError("too long for a token")
    key = ring.sealing
    salt = random(_SALT_BYTES)
    head = key.id + salt
    return _PREFIX + _encode(head + _encrypt(key, salt, plaintext))


def unseal(ring: KeyRing, token: object) -> bytes:
    """Return what *token* seals. Raises InvalidState, always after the same checks in the same order."""
    if type(token) is not str or not token:
        raise InvalidState("no text")
    if len(token) > MAX_TOKEN:
        raise InvalidState("too long")
    if not token.startswith(_PREFIX):
        raise InvalidState("another version")
    data = _decode(token[len(_PREFIX) :])
    if len(data) < _LEAST:
        raise InvalidState("too short")
    key = ring.find(data[:ID_BYTES])
    if key is None:
        raise InvalidState("sealed by an unknown key")
    return _decrypt(key, data[ID_BYTES : ID_BYTES + _SALT_BYTES], data[ID_BYTES + _SALT_BYTES :])


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _decode(text: str) -> bytes:
    # Python's decoder skips what it does not know and ignores spare bits, so one token would have many
    # spellings; only the one that `_encode` makes is taken.
    if _BASE64URL.fullmatch(text) is None or len(text) % 4 == 1:
        raise InvalidState("not base64url")
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if _encode(data) != text:
        raise InvalidState("not the only spelling")
    return data


def _derive(key: Key, salt: bytes) -> tuple[bytes, bytes, bytes]:
    """Return the AES key, the nonce and the authenticated data of the token with this *salt*."""
    # cryptography costs 20 ms to load, and most processes never ask a question.
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    associated = b"fsnotes confirmation state " + _PREFIX.encode("ascii") + key.id
    okm = HKDF(algorithm=SHA256(), length=44, salt=salt, info=associated).derive(key.secret)
    return okm[:32], okm[32:], associated


def _encrypt(key: Key, salt: bytes, plaintext: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    token_key, nonce, associated = _derive(key, salt)
    return AESGCM(token_key).encrypt(nonce, plaintext, associated)


def _decrypt(key: Key, salt: bytes, ciphertext: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    token_key, nonce, associated = _derive(key, salt)
    try:
        return AESGCM(token_key).decrypt(nonce, ciphertext, associated)
    except InvalidTag:
        raise InvalidState("not authentic") from None
