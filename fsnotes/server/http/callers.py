"""Decides whose a request is: the local principal where nobody is to be told apart, else who its credentials prove.

What proves somebody is left to `fsnotes.identity`; only the `Authorization` header is looked at, never the target.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from fsnotes.access import Principal
from fsnotes.identity import MAX_WAITING, Authenticator, Unauthenticated
from fsnotes.server.http.headers import Headers, bearer
from fsnotes.server.http.replies import Reply, later, line

logger = logging.getLogger(__name__)

WAIT_SECONDS: Final = 10.0
"""How long a request waits to be somebody's, in any case; no authenticator should take so long."""


class Refused(Exception):
    """The request is nobody's: what is answered, and the reason for the log."""

    def __init__(self, reply: Reply, reason: str) -> None:
        super().__init__(reply.status)
        self.reply = reply
        self.reason = reason


class Callers:
    """Tells callers apart by *authenticator*; without one, each of them is *local*. For the event loop alone."""

    def __init__(self, authenticator: Authenticator | None, local: Principal) -> None:
        self._authenticator = authenticator
        self._local = local
        self._threads = ThreadPoolExecutor(MAX_WAITING, thread_name_prefix="fsnotes-identify")
        self._waiting = 0

    async def principal(self, headers: Headers) -> Principal:
        """Return whose a request with these *headers* is. Raises Refused."""
        authenticator = self._authenticator
        if authenticator is None:
            return self._local
        token = bearer(headers)
        if token is None:
            raise Refused(_challenge(401, authenticator.challenge), "no bearer token")
        try:
            return authenticator.known(token) or await self._identify(authenticator, token)
        except Unauthenticated as error:
            if error.status == 503:
                raise Refused(later(503, "Who calls cannot be found out now"), error.reason) from None
            raise Refused(_challenge(error.status, error.challenge), error.reason) from None
        except Exception as error:
            if isinstance(error, Refused):
                raise
            # Whatever it is, it proves nobody. The token may be part of its text, so that is not logged.
            logger.error("a credential could not be looked into: %s", type(error).__name__)
            raise Refused(later(503, "Who calls cannot be found out now"), "a fault") from None

    async def _identify(self, authenticator: Authenticator, token: str) -> Principal:
        if self._waiting >= MAX_WAITING:
            raise Refused(later(503, "Too many callers are being identified"), "too many at once")
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._threads, authenticator.identify, token)
        self._waiting += 1
        # Counted until the thread is done: who gives up waiting leaves it at work.
        work.add_done_callback(self._identified)
        async with asyncio.timeout(WAIT_SECONDS):
            return await asyncio.shield(work)

    def _identified(self, work: asyncio.Future[Principal]) -> None:
        self._waiting -= 1
        if not work.cancelled():
            work.exception()  # whoever waits has it too; where nobody does, it is no news

    def close(self) -> None:
        """Look into nothing more, and wait for nothing."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _challenge(status: int, challenge: str | None) -> Reply:
    text = "Credentials are needed" if status == 401 else "These credentials are not enough"
    fields = () if challenge is None else ((b"www-authenticate", challenge.encode("latin-1")),)
    return line(status, text, *fields)
