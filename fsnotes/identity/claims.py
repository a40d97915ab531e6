"""Decides what a JWT must say of itself to be an access token for us: the rules beside its signature.

RFC 7519, RFC 8725 (best practices), RFC 9068 (access tokens), and MCP 2026-07-28, basic/authorization. Pure functions
over the parsed token; verifying is left to `jwts`.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final

from fsnotes.access import Principal
from fsnotes.identity import documents
from fsnotes.identity.authenticator import MAX_TOKEN

MAX_SUBJECT: Final = 255
"""Most characters of a subject (OpenID Connect Core 1.0, section 2)."""

MAX_KID: Final = 256

LEEWAY_SECONDS: Final = 30.0
"""How far an issuer's clock may be ahead of ours. There is none for the end of a token."""

_FORM: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")

# Access tokens (RFC 9068, section 2.1), and what issuers write that know no type for them.
_TYPES: Final = frozenset({"at+jwt", "application/at+jwt", "jwt", "application/jwt"})

# Those of ID tokens (OpenID Connect Core 1.0, sections 3.1.3.6 and 3.3.2.11) and of events, logging out among them
# (RFC 8417): tokens of other kinds, which are to be told apart (RFC 8725, section 3.12).
_OF_OTHER_KINDS: Final = ("at_hash", "c_hash", "events")


class Refused(Exception):
    """The token is not accepted. *reason* is for the log, and holds nothing of it."""

    def __init__(self, reason: str, *, expired: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.expired = expired


@dataclass(frozen=True, slots=True)
class Parsed:
    """A token as it reads, of which nothing is proven."""

    algorithm: str
    kid: str | None
    claims: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a token says that has all it must have: who, until when (seconds of the epoch), and with which scopes."""

    principal: Principal
    expires: float
    scopes: frozenset[str]


def parse(token: str, algorithms: Collection[str]) -> Parsed:
    """Read a token in compact form (RFC 7515, section 3.1). Raises Refused.

    `crit` is refused, since we understand no extension; `jku`, `x5u`, `jwk` and `x5c` are not looked at, since a token
    has no say in which key verifies it.
    """
    if len(token) > MAX_TOKEN:
        raise Refused("a token that is too long")
    if _FORM.fullmatch(token) is None:
        raise Refused("no JWT")
    first, second, third = token.split(".")
    header, claims = (_read(part) for part in (first, second))
    _decode(third)
    algorithm, kid, kind = header.get("alg"), header.get("kid"), header.get("typ", "JWT")
    if not isinstance(algorithm, str) or algorithm not in algorithms:
        raise Refused("a JWT with an algorithm that is not allowed")
    if "crit" in header or "b64" in header:
        raise Refused("a JWT with extensions that must be understood")
    if not isinstance(kind, str) or kind.lower() not in _TYPES:
        raise Refused("a JWT of another type than an access token")
    if kid is not None and not (isinstance(kid, str) and len(kid) <= MAX_KID):
        raise Refused("a JWT with a key id that is none")
    return Parsed(algorithm, kid, claims)


def _read(part: str) -> dict[str, Any]:
    try:
        return documents.parse(_decode(part))
    except documents.NotAnObject:
        raise Refused("a JWT that is no strict JSON") from None


def _decode(part: str) -> bytes:
    """Decode base64url without padding, each value in its one spelling: else a token could be written in several."""
    data = None
    try:
        data = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except (binascii.Error, ValueError):
        pass
    if data is None or base64.urlsafe_b64encode(data).rstrip(b"=") != part.encode("ascii"):
        raise Refused("a JWT that is no base64url")
    return data


def judge(claims: dict[str, Any], *, issuer: str, audience: str, now: float) -> Claimed:
    """Return what *claims* say, if they are those of an access token of *issuer* for *audience* at *now*.

    Raises Refused. Whoever else is named in them (`client_id`, `azp`, `act`, `email`) is not looked at.
    """
    if claims.get("iss") != issuer:
        raise Refused("a JWT of another issuer")
    if not _names(claims.get("aud"), audience):
        raise Refused("a JWT for another audience")
    expires = _moment(claims, "exp")
    if expires is None:
        raise Refused("a JWT without an end")
    if not now < expires:
        raise Refused("a JWT that has expired", expired=True)
    for name in ("nbf", "iat"):
        begins = _moment(claims, name)
        if begins is not None and not begins <= now + LEEWAY_SECONDS:
            raise Refused("a JWT of the future")
    subject = claims.get("sub")
    if not (isinstance(subject, str) and 0 < len(subject) <= MAX_SUBJECT and subject.isprintable()):
        raise Refused("a JWT without a usable subject")
    if any(name in claims for name in _OF_OTHER_KINDS):
        raise Refused("a JWT of another kind than an access token")
    if "cnf" in claims:
        # Whoever presents it has to prove a key (RFC 7800, section 3; RFC 9449), and by a bearer token nobody does.
        raise Refused("a JWT that is bound to a key of its sender")
    return Claimed(Principal(f"{issuer}|{subject}"), expires, _scopes(claims.get("scope", "")))


def _names(claim: object, audience: str) -> bool:
    """Whether an `aud`, one string or a list of them (RFC 7519, section 4.1.3), names us."""
    if isinstance(claim, str):
        return claim == audience
    return isinstance(claim, list) and all(isinstance(each, str) for each in claim) and audience in claim


def _moment(claims: dict[str, Any], name: str) -> float | None:
    """Return a NumericDate, None where there is none. Raises Refused for anything else, `null` too."""
    if name not in claims:
        return None
    value = claims[name]
    if type(value) not in (int, float) or not abs(value) < 1e12 or not math.isfinite(value):
        raise Refused("a JWT with a time that is none")
    return float(value)


def _scopes(claim: object) -> frozenset[str]:
    """Return the values of a `scope` (RFC 8693, section 4.2); none for anything that is no such string."""
    return frozenset(claim.split(" ")) - {""} if isinstance(claim, str) else frozenset()
