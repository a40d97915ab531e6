"""Decides which URLs identity may rest on: https, or http where it does not leave the host; and what this host is.

What is found behind a URL is left to `identity.fetching`, which of them belong together to `identity.issuers`.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

from fsnotes.errors import ConfigurationError

MAX_URL: Final = 2048
"""Most characters of a URL."""

# What RFC 3986 allows, so that nothing has to be escaped in a header or in a principal's name.
_URL: Final = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")


def check(url: str, what: str) -> SplitResult:
    """Return the parts of *url*; *what* names it in the error.

    Raises ConfigurationError for one that is not absolute, is neither https nor http to this very host, or holds a
    user, a fragment (RFC 8414, section 2; RFC 9728, section 1.2) or characters that a URL cannot hold.
    """
    if len(url) > MAX_URL or _URL.fullmatch(url) is None:
        raise ConfigurationError(f"{what}: a URL is expected")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ConfigurationError(f"{what}: a URL is expected") from None
    if not host or port == 0:
        raise ConfigurationError(f"{what}: a URL with a host is expected")
    if parts.username is not None or "#" in url:
        raise ConfigurationError(f"{what}: a URL without user and fragment is expected")
    # Compared as it is written: `HTTPS://` is the same place, and another issuer or audience.
    if not (url.startswith("https://") or (url.startswith("http://") and is_loopback(host))):
        raise ConfigurationError(
            f"{what}: a URL in https:// is expected (in http:// only for this host itself)"
        )
    return parts


def check_issuer(url: str, what: str) -> SplitResult:
    """As `check`, for the identifier of an issuer, which has no query either (RFC 8414, section 2)."""
    parts = check(url, what)
    if "?" in url:
        raise ConfigurationError(f"{what}: a URL without query is expected")
    return parts


def is_loopback(host: str) -> bool:
    """Say whether *host* is this host by any network: `localhost` (RFC 6761, section 6.3), or a loopback address.

    One of IPv4 may be written as one of IPv6: it is the same.
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host.lower() == "localhost"
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_loopback if mapped is None else mapped.is_loopback
