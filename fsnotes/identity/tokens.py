"""Decides whose request a static token makes it: `token:NAME`, for as long as its hash stands in the file.

The file is looked at for each request, so what another process revokes is refused at once. How a token is made and
kept is left to `token_text` and `token_file`.
"""

from __future__ import annotations

import hmac
import os
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from fsnotes.access import Principal
from fsnotes.errors import ConfigurationError
from fsnotes.identity import challenges, token_text
from fsnotes.identity.authenticator import Unauthenticated
from fsnotes.identity.token_file import TokenFile, Tokens
from sandbox.records import record

CHALLENGE: Final = challenges.bearer()
"""The answer to every request that proves nobody: whether it bore no token, a wrong or a revoked one is not told."""

_SETTLED: Final = 1_000_000_000
"""Nanoseconds after which a file's change has a time of its own.

File systems count in steps: one that was changed, read and changed again within a step may look the same.
"""


@record
class _Seen:
    """What was read, and whether the file's version tells every later change of it."""

    tokens: Tokens
    settled: bool


class TokenAuthenticator:
    """Tells principals by the static tokens in the file at *path*, usually `StateFolder.tokens`. Thread-safe.

    `known` makes two system calls and compares hashes; only where the file has changed within the last second, or since
    it was read, is it left to `identify` to read it. There is no metadata: these tokens come from no server.
    """

    def __init__(self, path: str | os.PathLike[str], *, clock: Callable[[], float] = time.time) -> None:
        """Read the file, which need not be there. Raises ConfigurationError where it, or its folder, is not private."""
        self._file = TokenFile(path)
        self._clock = clock
        self._mutex = threading.Lock()
        self._seen = self._read()

    @property
    def challenge(self) -> str:
        """The value of `WWW-Authenticate` for a request that bears no credentials."""
        return CHALLENGE

    @property
    def metadata(self) -> dict[str, Any] | None:
        """None: there is no authorization server."""
        return None

    @property
    def metadata_url(self) -> str | None:
        """None: there is no metadata."""
        return None

    def known(self, token: str) -> Principal | None:
        """Return who bears *token*, None where the file has to be read first. Raises Unauthenticated (401)."""
        digest = _digest(token)
        seen = self._seen
        try:
            if not self._stands(seen):
                return None
        except OSError:
            return None
        return _bearer(seen.tokens, digest)

    def identify(self, token: str) -> Principal:
        """Return who bears *token*. Raises Unauthenticated: 401, or 503 where the file cannot be used."""
        digest = _digest(token)
        why = None
        with self._mutex:
            try:
                if not self._stands(self._seen):
                    self._seen = self._read()
            except OSError as error:
                why = f"the tokens file cannot be looked at: {error.strerror}"
            except ConfigurationError as error:
                why = str(error)
            seen = self._seen
        if why is not None:
            raise Unauthenticated(503, None, why)
        return _bearer(seen.tokens, digest)

    def _stands(self, seen: _Seen) -> bool:
        return seen.settled and self._file.version() == seen.tokens.version

    def _read(self) -> _Seen:
        tokens = self._file.read()
        # A change in the future, by a clock that was set back, never settles: then the file is read for each request.
        return _Seen(tokens, self._clock() * 1e9 - tokens.changed >= _SETTLED)


def _digest(token: str) -> bytes:
    fault = token_text.fault(token)
    if fault is not None:
        raise Unauthenticated(401, CHALLENGE, fault)
    return token_text.digest(token)


def _bearer(tokens: Tokens, digest: bytes) -> Principal:
    found = None
    for token in tokens.tokens:
        # All of them, each in constant time: how long it takes tells neither which one it is nor how near another is.
        if hmac.compare_digest(token.digest, digest):
            found = token
    if found is None:
        raise Unauthenticated(401, CHALLENGE, "an unknown or revoked token")
    return found.principal
