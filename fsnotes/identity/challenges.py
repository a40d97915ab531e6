"""Decides how a request without sufficient credentials is answered: the values of `WWW-Authenticate`.

RFC 6750, section 3, and RFC 9728, section 5.1. A challenge is made of what is configured and of fixed sentences, never
of what a request brought.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from fsnotes import addresses
from fsnotes.identity.authenticator import Authenticator

REALM: Final = "fsnotes"

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
"""Where a resource's metadata stands, before its own path (RFC 9728, section 3)."""


def metadata_paths(authenticator: Authenticator | None, path: str) -> frozenset[bytes]:
    """Return the paths at which the metadata of the endpoint at *path* is to be served; none where there is none.

    That of the whole host, that of the endpoint as we know it, and that of the endpoint as clients do: behind a proxy
    the two may differ, and the challenge names the latter.
    """
    if authenticator is None or authenticator.metadata_url is None:
        return frozenset()
    named = urlsplit(authenticator.metadata_url).path
    return frozenset(each.encode("ascii") for each in (WELL_KNOWN, WELL_KNOWN + path, named))


def bearer(**parameters: str) -> str:
    """Return a challenge of the scheme Bearer with *parameters*, which must be in ASCII."""
    pairs = {"realm": REALM, **parameters}
    return "Bearer " + ", ".join(f'{name}="{_quoted(value)}"' for name, value in pairs.items())


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def metadata_url(endpoint: str) -> str:
    """Return where the metadata of the resource at *endpoint* stands.

    The well-known path goes between host and path (RFC 9728, section 3.1): for `https://host/mcp` it is
    `https://host/.well-known/oauth-protected-resource/mcp`. Raises ConfigurationError for no usable URL.
    """
    parts = addresses.check(endpoint, "the endpoint")
    path = "" if parts.path == "/" else parts.path
    return parts._replace(path=WELL_KNOWN + path).geturl()
