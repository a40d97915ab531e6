"""Decides how a document is fetched from an issuer: one GET, bounded in time and size, that leads nowhere else.

Not followed: redirects, proxies of the environment, cookies, credentials. Which URLs may be asked is left to
`addresses`, what the documents mean to `issuers` and `keys`.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from typing import Final

from fsnotes import addresses

MAX_BYTES: Final = 262_144
"""Most bytes of a document: some hundred keys."""


class FetchFailed(Exception):
    """No usable document came. The reason is for the log; it says nothing of what was received."""


def fetch(url: str, *, seconds: float) -> bytes:
    """Return what stands at *url*, within *seconds* from when its host is connected.

    The certificate is verified by the host's own authorities, or those of `SSL_CERT_FILE`. Looking up the name has the
    resolver's bounds, and connecting to each address, and TLS, *seconds* each. Raises FetchFailed for any status but
    200, for more than MAX_BYTES, and where it does not end in time, and ConfigurationError as `addresses.check`.
    """
    parts = addresses.check(url, "the issuer's document")
    host = parts.hostname or ""
    if parts.scheme == "https":
        secured = ssl.create_default_context()
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, parts.port, timeout=seconds, context=secured
        )
    else:
        connection = http.client.HTTPConnection(host, parts.port, timeout=seconds)
    late = threading.Event()
    try:
        connection.connect()
        # Held from here on: where the answer ends with the connection, that one forgets it.
        timer = threading.Timer(seconds, _cut, (connection.sock, late))
        timer.daemon = True
        timer.start()
        try:
            return _ask(connection, f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}", late)
        finally:
            timer.cancel()
    except TimeoutError:
        failure = "it took too long"
    except (OSError, http.client.HTTPException, ValueError, RuntimeError) as error:
        # By its class alone: texts of these errors quote what was received.
        failure = "it took too long" if late.is_set() else f"it failed ({type(error).__name__})"
    finally:
        connection.close()
    raise FetchFailed(failure)


def _ask(connection: http.client.HTTPConnection, target: str, late: threading.Event) -> bytes:
    headers = {"Accept": "application/json", "User-Agent": "fsnotes", "Connection": "close"}
    connection.request("GET", target, headers=headers)
    with connection.getresponse() as response:
        if response.status != 200:
            raise FetchFailed(f"the answer is {response.status}, not 200")
        data = response.read(MAX_BYTES + 1)
        if late.is_set():
            raise FetchFailed("it took too long")
        if len(data) > MAX_BYTES:
            raise FetchFailed(f"it is larger than {MAX_BYTES} bytes")
        if response.length:
            raise FetchFailed("it ends too early")
    return data


def _cut(connected: socket.socket, late: threading.Event) -> None:
    """End a connection whose other side sends just enough for no single wait to be too long."""
    late.set()
    try:
        # The plain socket's own: that of TLS takes TLS off as well, and what comes then would be read without it.
        socket.socket.shutdown(connected, socket.SHUT_RDWR)
    except OSError:
        pass
