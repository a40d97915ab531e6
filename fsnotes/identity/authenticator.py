"""What the HTTP transport asks of a way to authenticate, whichever it is."""

from __future__ import annotations

from typing import Any, Final, Protocol

from fsnotes.access import Principal

MAX_TOKEN: Final = 8192
"""Most characters of a bearer token, all of ASCII; servers and proxies take no larger headers."""

MAX_WAITING: Final = 32
"""Most requests that wait in `identify` at once, each in a thread; one more is told to come later."""


class Unauthenticated(Exception):
    """The credentials prove nobody, or not enough: what is answered instead.

    *status* is 401 or 403, or 503 where it cannot be found out now; *challenge* is the value of `WWW-Authenticate`
    (RFC 6750, section 3), None where there is none. *reason* is for the log alone, and holds nothing of a credential.
    """

    def __init__(self, status: int, challenge: str | None, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.challenge = challenge
        self.reason = reason


class Authenticator(Protocol):
    """Tells principals by bearer credentials. Thread-safe."""

    @property
    def challenge(self) -> str:
        """The value of `WWW-Authenticate` for a request that bears no credentials."""

    @property
    def metadata(self) -> dict[str, Any] | None:
        """The protected resource's metadata (RFC 9728, section 2); None where there is no authorization server."""

    @property
    def metadata_url(self) -> str | None:
        """Where the challenge says that `metadata` stands; None where there is none.

        Its path is to be served, without credentials, also where a proxy maps it to another endpoint.
        """

    def known(self, token: str) -> Principal | None:
        """Return who bears *token* where that needs no waiting, else None. Raises Unauthenticated."""

    def identify(self, token: str) -> Principal:
        """Return who bears *token*; may wait for a disk or an issuer. Raises Unauthenticated."""
