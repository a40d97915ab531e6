"""Decides whose request a JWT makes it: `<issuer>|<subject>`, as an authorization server says that we trust.

We are a protected resource (RFC 9728; MCP 2026-07-28, basic/authorization). What a token must say is decided in
`claims`, which keys may verify it in `keys`, and when those are fetched in `keyring`. Loading this module loads PyJWT
and TLS: only a server that takes JWTs does.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final

import jwt

from fsnotes import addresses
from fsnotes.access import Principal
from fsnotes.errors import ConfigurationError
from fsnotes.identity import challenges, claims
from fsnotes.identity.authenticator import Unauthenticated
from fsnotes.identity.fetching import fetch as fetch_over_http
from fsnotes.identity.issuers import Fetch, Issuer
from fsnotes.identity.keyring import Keyring
from fsnotes.identity.keys import ALGORITHMS, Keys
from fsnotes.scopes import is_scope

MAX_VERIFIED: Final = 1024
"""Most tokens whose signatures are not verified again while the keys stay the same: those that were used last."""


class JwtAuthenticator:
    """Tells principals by JWTs of one issuer. Thread-safe; nothing is fetched before the first token comes.

    *issuer* is compared with `iss` as it is written, *audience*, the URL of our endpoint, with `aud`; it is the
    `resource` of the metadata too. *jwks_url* is where the issuer's keys are; None: where its own metadata says.
    *algorithms* are some of `keys.ALGORITHMS`. Each token must have all *scopes*, by their names: none includes
    another. *clock* tells the time of day in seconds of the epoch, *monotonic* the ages of keys.
    """

    def __init__(
        self,
        issuer: str,
        audience: str,
        *,
        jwks_url: str | None = None,
        algorithms: Sequence[str] = ALGORITHMS,
        scopes: Sequence[str] = (),
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        fetch: Fetch = fetch_over_http,
    ) -> None:
        """Raises ConfigurationError for URLs that identity may not rest on, and other algorithms."""
        self._issuer = Issuer(issuer, jwks_url=jwks_url, fetch=fetch)
        addresses.check(audience, "the audience")
        if not algorithms or not set(algorithms) <= set(ALGORITHMS):
            raise ConfigurationError(f"algorithms of JWTs: some of {', '.join(ALGORITHMS)} are expected")
        if not all(is_scope(scope) for scope in scopes):
            raise ConfigurationError(
                "scopes of JWTs: names without spaces, quotes and backslashes are expected"
            )
        self._audience = audience
        self._metadata_url = challenges.metadata_url(audience)
        self._algorithms = tuple(algorithms)
        self._scopes = tuple(dict.fromkeys(scopes))
        self._clock = clock
        self._keyring = Keyring(self._issuer, clock=monotonic)
        self._jws = jwt.PyJWS(self._algorithms)
        self._mutex = threading.Lock()
        self._verified: OrderedDict[bytes, Keys] = OrderedDict()

    @property
    def metadata_url(self) -> str | None:
        """Where clients expect `metadata`: a path of our own host, to be served without authentication."""
        return self._metadata_url

    @property
    def metadata(self) -> dict[str, Any] | None:
        """The protected resource's metadata (RFC 9728, section 2)."""
        shape: dict[str, Any] = {
            "resource": self._audience,
            "authorization_servers": [self._issuer.identifier],
            "bearer_methods_supported": ["header"],
            "resource_name": "fsnotes",
        }
        if self._scopes:
            shape["scopes_supported"] = list(self._scopes)
        return shape

    @property
    def challenge(self) -> str:
        """The value of `WWW-Authenticate` for a request that bears no credentials."""
        return self._challenge()

    def known(self, token: str) -> Principal | None:
        """Return who bears *token*, None where keys have to be waited for.

        Raises Unauthenticated: 401, 403 where the token lacks a scope, 503 where the keys cannot be had now.
        """
        parsed, claimed = self._judge(token)
        if self._is_verified(token, parsed, self._keyring.current()):
            return self._admit(claimed)
        if not self._keyring.may_change():
            raise self._failure()
        return None

    def identify(self, token: str) -> Principal:
        """Return who bears *token*; waits `keyring.WAIT_SECONDS` at most. Raises as `known`."""
        parsed, claimed = self._judge(token)
        if not self._is_verified(token, parsed, self._keyring.current()) and not self._is_verified(
            token, parsed, self._keyring.refreshed()
        ):
            raise self._failure()
        return self._admit(claimed)

    def _judge(self, token: str) -> tuple[claims.Parsed, claims.Claimed]:
        """Return what *token* says, if its signature alone is left to ask for: nothing else is worth a fetch."""
        try:
            parsed = claims.parse(token, self._algorithms)
            return parsed, claims.judge(
                parsed.claims, issuer=self._issuer.identifier, audience=self._audience, now=self._clock()
            )
        except claims.Refused as error:
            refused = error
        raise self._refusal(refused)

    def _is_verified(self, token: str, parsed: claims.Parsed, keys: Keys | None) -> bool:
        """Say whether one of *keys* verifies *token*; False where none of them is meant. Raises Unauthenticated."""
        if keys is None:
            return False
        digest = hashlib.sha256(token.encode("ascii")).digest()
        with self._mutex:
            # Not where they were exchanged since: the key that verified it may be the one that had to go.
            if self._verified.get(digest) is keys:
                self._verified.move_to_end(digest)
                return True
        key = keys.find(parsed.kid, parsed.algorithm)
        if key is None:
            return False
        if not self._verifies(token, key):
            raise self._refusal(claims.Refused("a JWT whose signature is wrong"))
        with self._mutex:
            self._verified[digest] = keys
            self._verified.move_to_end(digest)
            if len(self._verified) > MAX_VERIFIED:
                self._verified.popitem(last=False)
        return True

    def _verifies(self, token: str, key: jwt.PyJWK) -> bool:
        try:
            self._jws.decode_complete(token, key, [key.algorithm_name])
        except (jwt.PyJWTError, ValueError, TypeError):
            return False
        return True

    def _admit(self, claimed: claims.Claimed) -> Principal:
        if not claimed.scopes.issuperset(self._scopes):
            challenge = self._challenge(
                error="insufficient_scope", error_description="the access token lacks a scope"
            )
            raise Unauthenticated(403, challenge, "a JWT without a scope that is needed")
        return claimed.principal

    # -- refusals ----------------------------------------------------------------------------------

    def _challenge(self, **parameters: str) -> str:
        needed = {"scope": " ".join(self._scopes)} if self._scopes else {}
        return challenges.bearer(**parameters, **needed, resource_metadata=self._metadata_url)

    def _refusal(self, refused: claims.Refused) -> Unauthenticated:
        what = "has expired" if refused.expired else "is not accepted"
        challenge = self._challenge(error="invalid_token", error_description=f"the access token {what}")
        return Unauthenticated(401, challenge, refused.reason)

    def _failure(self) -> Unauthenticated:
        if not self._keyring.is_certain:
            return Unauthenticated(503, None, "the issuer's keys cannot be had now")
        return self._refusal(claims.Refused("a JWT with a key that the issuer does not publish"))
