"""Decides how a request without sufficient credentials is answered: the values of `WWW-Authenticate`.

RFC 6750, section 3, and RFC 9728, section 5.1. A challenge is made of what is configured and of fixed sentences, never
of what a request brought.
"""

from __future__ import annotations

from typing import Final

from fsnotes.identity import addresses

REALM: Final = "fsnotes"

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
"""Where a resource's metadata stands, before its own path (RFC 9728, section 3)."""


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
