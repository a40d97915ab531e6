"""Decides which of an issuer's published keys may verify a signature, and by which algorithm.

When they are fetched is left to `keyring`; whether a token is good, apart from its signature, to `claims`.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field
from typing import Any, Final

import jwt

from fsnotes.identity import documents

MAX_KEYS: Final = 100

MIN_RSA_BITS: Final = 2048
MAX_RSA_BYTES: Final = 1024
"""Largest modulus, 8192 bits: verifying takes time that grows with its square."""

MAX_EXPONENT_BYTES: Final = 8

_KEY_OF: Final[dict[str, tuple[str, str | None]]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), ("RSA", None)),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""Type and curve of the key that an algorithm needs (RFC 7518, section 3.1; RFC 8037, section 3.1)."""

ALGORITHMS: Final = tuple(_KEY_OF)
"""All that can be allowed: asymmetric ones. With `HS256` a public key would be a secret, with `none` nothing is one."""

_SECRET_PARTS: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})


class NoKeys(Exception):
    """The bytes are no set of keys that can be used."""


@dataclass(frozen=True, eq=False)
class Keys:
    """The usable keys of one set (RFC 7517), as they were published together. Two are equal if *digest* is."""

    digest: bytes
    _keys: tuple[dict[str, Any], ...] = field(repr=False)
    _ready: dict[tuple[str | None, str], jwt.PyJWK | None] = field(default_factory=dict, repr=False)
    _mutex: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @classmethod
    def parse(cls, data: bytes) -> Keys:
        """Read a key set. Keys that are not understood, are secret, or are for something else are left out.

        Raises NoKeys where none is left, or there are more than MAX_KEYS.
        """
        try:
            listed = documents.parse(data).get("keys")
        except documents.NotAnObject:
            raise NoKeys("it is no JSON object") from None
        if not isinstance(listed, list) or len(listed) > MAX_KEYS:
            raise NoKeys("it is no list of keys, or too long a one")
        usable = tuple(key for key in listed if isinstance(key, dict) and _is_usable(key))
        if not usable:
            raise NoKeys("none of its keys can be used")
        return cls(hashlib.sha256(data).digest(), usable)

    def find(self, kid: str | None, algorithm: str) -> jwt.PyJWK | None:
        """Return the one key with the id *kid* that fits *algorithm*; None where there is none, or more than one.

        Without *kid*, the one that fits at all: a signature is not tried with one key after the other.
        """
        with self._mutex:
            if (kid, algorithm) not in self._ready:
                fitting = [
                    key
                    for key in self._keys
                    if _fits(key, algorithm) and (kid is None or key.get("kid") == kid)
                ]
                if len(fitting) != 1:
                    return None
                # So only what is published takes room here.
                self._ready[kid, algorithm] = _made(fitting[0], algorithm)
            return self._ready[kid, algorithm]


def _is_usable(key: dict[str, Any]) -> bool:
    """Whether a key is public, for signatures (RFC 7517, sections 4.2 and 4.3), and of a size to be worked with."""
    if key.keys() & _SECRET_PARTS:  # whoever read the set can sign with it
        return False
    if key.get("use", "sig") != "sig":
        return False
    operations = key.get("key_ops", ["verify"])
    if not isinstance(operations, list) or "verify" not in operations:
        return False
    if key.get("kty") == "RSA":
        sizes = [(key.get("n"), MAX_RSA_BYTES), (key.get("e"), MAX_EXPONENT_BYTES)]
        if not all(isinstance(part, str) and len(part) <= -(-size * 4 // 3) for part, size in sizes):
            return False
    return any(_fits(key, algorithm) for algorithm in ALGORITHMS)


def _fits(key: dict[str, Any], algorithm: str) -> bool:
    kty, curve = _KEY_OF[algorithm]
    return (
        key.get("kty") == kty
        and (curve is None or key.get("crv") == curve)
        and key.get("alg", algorithm) == algorithm
    )


def _made(key: dict[str, Any], algorithm: str) -> jwt.PyJWK | None:
    try:
        made = jwt.PyJWK(key, algorithm)
    except (jwt.PyJWTError, ValueError, TypeError, AttributeError):
        return None
    # RFC 7518, sections 3.3 and 3.5; the other algorithms have curves, and with them a size.
    return (
        None if getattr(made.key, "key_size", MIN_RSA_BITS) < MIN_RSA_BITS and key["kty"] == "RSA" else made
    )
