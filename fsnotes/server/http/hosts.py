"""Decide which `Host` and which `Origin` a request may name: exact lists, against pages that rebind a DNS name.

A browser sends a page's requests to whatever address the page's name resolves to, and cannot lie in either header.
Sources: RFC 9110, sections 7.2 and 15.5.20 (421); RFC 6454, section 7; the specification's page on Streamable HTTP.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from typing import Final

HTTP_PORT: Final = 80


class Hosts:
    """The authorities that this server answers to, each with its port as it is sent."""

    def __init__(self, allowed: Iterable[str]) -> None:
        self._allowed = frozenset(host.lower().encode("ascii") for host in allowed)

    def admit(self, values: Sequence[bytes]) -> bool:
        """Say whether the request's `Host` headers are one, and one of these; letters of either case are the same."""
        return len(values) == 1 and values[0].lower() in self._allowed


class Origins:
    """The origins whose pages may send requests."""

    def __init__(self, allowed: Iterable[str]) -> None:
        self._allowed = frozenset(origin.encode("ascii") for origin in allowed)

    def admit(self, values: Sequence[bytes]) -> bool:
        """Say whether the request comes from no page, or from one of these origins, byte by byte."""
        return not values or (len(values) == 1 and values[0] in self._allowed)


def default_hosts(host: str, port: int) -> frozenset[str]:
    """Return how a server bound to *host* and *port* is called: that, and localhost, with the port.

    The port of the scheme is left out by clients (RFC 9110, section 4.2.3), so both spellings mean port 80.
    """
    try:
        bracketed = f"[{host}]" if ipaddress.ip_address(host).version == 6 else host
    except ValueError:
        bracketed = host.lower()
    names = {bracketed, "localhost"}
    return frozenset(f"{name}:{port}" for name in names) | (names if port == HTTP_PORT else frozenset())
