"""Decides what the `[http]` table of a configuration file may say, and what holds where it says nothing."""

from __future__ import annotations

import re
from typing import Any, Final

from fsnotes.errors import ConfigurationError
from fsnotes.scopes import MOST_SCOPES, is_scope
from fsnotes.tables import Table, one_of, positive, shown
from sandbox.records import record, replace

WAYS: Final = ("token", "jwt")
"""How callers can prove who they are."""

RESERVED: Final = ("/healthz", "/readyz", "/.well-known")
"""Paths that have a meaning of their own."""

_HOUR: Final = 3600
_PATH: Final = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
_AUTHORITY: Final = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::(0|[1-9][0-9]{0,4}))?"
)


@record
class HttpSettings:
    """Where and for whom HTTP is served, and within which bounds.

    *allowed_hosts* None means what is bound to, and localhost, with the port. *calls_per_second* None means
    DEFAULT_RATE where callers are authenticated, and no bound where there is only the person who started the server.
    With several *workers*, every bound is that of each process.
    """

    host: str = "127.0.0.1"
    port: int = 8931
    path: str = "/mcp"
    allowed_hosts: tuple[str, ...] | None = None
    allowed_origins: tuple[str, ...] = ()
    auth: str | None = None
    issuer: str | None = None
    audience: str | None = None
    jwks_url: str | None = None
    scopes: tuple[str, ...] = ()
    max_connections: int = 512
    max_requests: int = 128
    max_calls_per_principal: int = 16
    calls_per_second: float | None = None
    call_burst: int = 200
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    idle_seconds: float = 60.0
    send_seconds: float = 30.0
    drain_seconds: float = 10.0
    workers: int = 1

    def bound_to(
        self, *, host: str | None, port: int | None, path: str | None, workers: int | None = None
    ) -> HttpSettings:
        """Return the same with what the command line says in place of the file. Raises ConfigurationError."""
        settings = self
        if host is not None:
            settings = replace(settings, host=_checked(host, is_host, "--host"))
        if port is not None:
            settings = replace(settings, port=_checked(port, is_port, "--port"))
        if path is not None:
            settings = replace(settings, path=_checked(path, is_path, "--path"))
        if workers is not None:
            settings = replace(settings, workers=_checked(workers, _processes, "--workers"))
        return settings


MOST_WORKERS: Final = 64
"""How many processes may serve one socket."""

DEFAULT_RATE: Final = 100.0
"""Calls per second of one principal, where callers are authenticated and nothing else is set."""


def _checked(value: Any, fits: Any, where: str) -> Any:
    if not fits(value):
        raise ConfigurationError(f"{where}: {shown(value)} does not fit")
    return value


def is_host(host: str) -> bool:
    """Say whether *host* can be an address or a name to bind to, without brackets or a port."""
    import ipaddress  # only who serves HTTP names a host

    try:
        ipaddress.ip_address(host)
    except ValueError:
        return re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252})", host) is not None
    return True


def is_port(port: int) -> bool:
    """Say whether *port* is one; 0 lets the system choose."""
    return 0 <= port <= 65_535


def is_path(path: str) -> bool:
    """Say whether *path* can be the endpoint's: plain segments, none of which begins with a dot, and none of ours."""
    return (
        len(path) <= 200
        and _PATH.fullmatch(path) is not None
        and not any(path == own or path.startswith(own + "/") for own in RESERVED)
    )


def is_authority(text: str) -> bool:
    """Say whether *text* is what a `Host` header can be: a name or address in lower case, maybe with a port."""
    match = _AUTHORITY.fullmatch(text)
    return match is not None and is_port(int(match[1] or 0))


def is_origin(text: str) -> bool:
    """Say whether *text* is what a browser sends as `Origin` (RFC 6454, section 6.2), `null` included."""
    if text == "null":
        return True
    scheme, separator, authority = text.partition("://")
    return (
        bool(separator) and re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme) is not None and is_authority(authority)
    )


def read_http(table: Table) -> HttpSettings:
    """Read the `[http]` table. Raises ConfigurationError with a sentence that names the key."""
    default = HttpSettings()
    hosts = table.strings("allowed_hosts")
    origins = table.strings("allowed_origins") or ()
    for key, values, fits in (
        ("allowed_hosts", hosts or (), is_authority),
        ("allowed_origins", origins, is_origin),
    ):
        for value in values:
            _checked(value, fits, f"[http] {key}")
    scopes = table.strings("scopes") or ()
    for scope in scopes:
        _checked(scope, is_scope, "[http] scopes")
    if len(scopes) > MOST_SCOPES:
        raise ConfigurationError(f"[http] scopes: at most {MOST_SCOPES} are expected")
    way = table.take("auth", str)
    settings = HttpSettings(
        host=table.take("host", str, default.host, check=is_host),
        port=table.take("port", int, default.port, check=is_port),
        path=table.take("path", str, default.path, check=is_path),
        allowed_hosts=hosts,
        allowed_origins=origins,
        auth=None if way is None else one_of(way, WAYS, "[http] auth"),
        issuer=_url(table.take("issuer", str), "issuer"),
        audience=_url(table.take("audience", str), "audience"),
        jwks_url=_url(table.take("jwks_url", str), "jwks_url"),
        scopes=scopes,
        max_connections=table.take("max_connections", int, default.max_connections, check=_count),
        max_requests=table.take("max_requests", int, default.max_requests, check=_count),
        max_calls_per_principal=table.take(
            "max_calls_per_principal", int, default.max_calls_per_principal, check=_count
        ),
        calls_per_second=table.take("calls_per_second", float, check=positive(1_000_000)),
        call_burst=table.take("call_burst", int, default.call_burst, check=positive(1_000_000)),
        head_seconds=float(table.take("head_seconds", float, default.head_seconds, check=positive(_HOUR))),
        body_seconds=float(table.take("body_seconds", float, default.body_seconds, check=positive(_HOUR))),
        idle_seconds=float(table.take("idle_seconds", float, default.idle_seconds, check=positive(_HOUR))),
        send_seconds=float(table.take("send_seconds", float, default.send_seconds, check=positive(_HOUR))),
        drain_seconds=float(
            table.take("drain_seconds", float, default.drain_seconds, check=lambda n: 0 <= n <= _HOUR)
        ),
        workers=table.take("workers", int, default.workers, check=_processes),
    )
    table.end()
    for key in ("issuer", "audience", "jwks_url"):
        is_set = getattr(settings, key) is not None
        if is_set and way != "jwt":
            raise ConfigurationError(f'[http] {key} is only for auth = "jwt"')
        if not is_set and way == "jwt" and key != "jwks_url":
            raise ConfigurationError(f'[http] {key} is missing: auth = "jwt" needs it')
    if scopes and way != "jwt":
        raise ConfigurationError('[http] scopes is only for auth = "jwt"')
    return settings


def _processes(number: int) -> bool:
    return 1 <= number <= MOST_WORKERS


def _url(url: str | None, key: str) -> str | None:
    if url is not None:
        from fsnotes import addresses  # only who takes JWTs names URLs

        check = addresses.check_issuer if key == "issuer" else addresses.check
        check(url, f"[http] {key}")
    return url


def _count(number: int) -> bool:
    return 1 <= number <= 100_000
