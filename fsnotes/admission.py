"""Decides how HTTP callers prove who they are, and what the person who starts a server should know about that.

How a credential is judged is left to `identity`; which principal may do what, to `access`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fsnotes.access import Rule
from fsnotes.errors import ConfigurationError
from fsnotes.http_settings import HttpSettings
from fsnotes.identity import Authenticator
from fsnotes.identity.token_file import TokenFile
from fsnotes.identity.tokens import TokenAuthenticator

_UNASKED: Final = (
    'there are tokens, and nobody is asked for one: without [http] auth = "token" whoever reaches the port'
    " has the rights of who started this server"
)


def authenticator(settings: HttpSettings, *, tokens: str) -> Authenticator | None:
    """Return how callers prove who they are; None where there is only who started the server.

    *tokens* is the file of the static ones. Raises ConfigurationError where nobody could prove anything.
    """
    if settings.auth == "token":
        return TokenAuthenticator(tokens)
    if settings.auth == "jwt":
        from fsnotes.identity.jwts import JwtAuthenticator  # takes 0.15 s to load

        return JwtAuthenticator(
            settings.issuer or "",
            settings.audience or "",
            jwks_url=settings.jwks_url,
            scopes=settings.scopes,
        )
    return None


def doubts(settings: HttpSettings, rules: Iterable[Rule], *, tokens: str) -> tuple[str, ...]:
    """Return what is allowed to be configured so, and hardly meant, each as one line: it lets in all, or nobody."""
    if settings.auth is None:
        if not _are_there(tokens):
            return ()
        return (_UNASKED,)
    prefix = "token:" if settings.auth == "token" else f"{settings.issuer}|"
    if any(rule.principal.startswith(prefix) for rule in rules):
        return ()
    named = "NAME" if settings.auth == "token" else "SUBJECT"
    return (f"no [[grant]] is for a principal {prefix}{named}, so nobody who calls over HTTP has access",)


def _are_there(tokens: str) -> bool:
    try:
        return bool(TokenFile(tokens).read().tokens)
    except ConfigurationError:
        return True  # what cannot be read is no reason to say nothing
