"""Decides where an issuer's keys are: where the configuration says, else where the issuer's own metadata does.

Fetching is left to `fetching`, what the keys are good for to `keys`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from fsnotes import addresses
from fsnotes.errors import ConfigurationError
from fsnotes.identity import documents
from fsnotes.identity.fetching import FetchFailed

OAUTH: Final = "/.well-known/oauth-authorization-server"
OPENID: Final = "/.well-known/openid-configuration"


class Fetch(Protocol):
    """Fetches one document: `fetching.fetch`."""

    def __call__(self, url: str, *, seconds: float) -> bytes:
        """Return what stands at *url*. Raises FetchFailed."""


class Issuer:
    """An issuer by its identifier, which is compared as it is written, and never put into another form."""

    def __init__(self, identifier: str, *, jwks_url: str | None, fetch: Fetch) -> None:
        """Raises ConfigurationError for URLs that identity may not rest on (`addresses`)."""
        parts = addresses.check_issuer(identifier, "the issuer")
        if jwks_url is not None:
            addresses.check(jwks_url, "the URL of the keys")
        self.identifier = identifier
        self._is_local = parts.scheme == "http"
        self._jwks_url = jwks_url
        self._fetch = fetch

    def published(self, *, seconds: float, clock: Callable[[], float]) -> bytes:
        """Return the issuer's key set as it stands, within about *seconds* of *clock*. Raises FetchFailed."""
        deadline = clock() + seconds
        url = self._jwks_url or self._find(deadline, clock)
        return self._fetch(url, seconds=_left(deadline, clock))

    def _find(self, deadline: float, clock: Callable[[], float]) -> str:
        failure = FetchFailed("the issuer has no metadata")
        for place in self.places():
            try:
                return self._judge(self._fetch(place, seconds=_left(deadline, clock)))
            except FetchFailed as error:
                failure = error
        raise FetchFailed(f"metadata of the issuer: {failure}")

    def places(self) -> tuple[str, ...]:
        """Return where its metadata may stand, in the order in which MCP clients look.

        MCP 2026-07-28, basic/authorization, "Authorization Server Metadata Discovery"; RFC 8414, sections 3.1 and 5.
        """
        parts = addresses.check(self.identifier, "the issuer")
        path = parts.path.removesuffix("/")
        inserted = [parts._replace(path=known + path).geturl() for known in (OAUTH, OPENID)]
        appended = [parts._replace(path=path + OPENID).geturl()] if path else []
        return (*inserted, *appended)

    def _judge(self, data: bytes) -> str:
        """Return where the metadata *data* says that the keys are. Raises FetchFailed."""
        try:
            document = documents.parse(data)
        except documents.NotAnObject:
            raise FetchFailed("it is no JSON object") from None
        # RFC 8414, section 3.3: else anybody who can put a document there speaks for the issuer.
        if document.get("issuer") != self.identifier:
            raise FetchFailed("it is of another issuer")
        url = document.get("jwks_uri")
        if not isinstance(url, str):
            raise FetchFailed("it names no keys")
        try:
            parts = addresses.check(url, "jwks_uri")
        except ConfigurationError:
            raise FetchFailed("it names keys at no usable URL") from None
        if parts.scheme == "http" and not self._is_local:
            # An issuer elsewhere has no say in what this host is asked for.
            raise FetchFailed("it names keys at no https URL")
        return url


def _left(deadline: float, clock: Callable[[], float]) -> float:
    left = deadline - clock()
    if not left > 0:
        raise FetchFailed("it took too long")
    return left
