"""What `[http]` may say: each setting by its key, each address and URL exactly, and what belongs together together."""

from __future__ import annotations

from typing import Any

import pytest

from fsnotes.errors import ConfigurationError
from fsnotes.http_settings import (
    HttpSettings,
    is_authority,
    is_host,
    is_origin,
    is_path,
    read_http,
)
from fsnotes.tables import Table

JWT = {
    "auth": "jwt",
    "issuer": "https://login.example.org",
    "audience": "https://notes.example.org/mcp",
    "jwks_url": "https://login.example.org/keys",
}


def settings(**table: Any) -> HttpSettings:
    return read_http(Table(table, "http"))


def test_nothing_said_is_loopback_without_authentication() -> None:
    assert settings() == HttpSettings()
    assert (HttpSettings().host, HttpSettings().port, HttpSettings().path) == ("127.0.0.1", 8931, "/mcp")
    assert (HttpSettings().auth, HttpSettings().allowed_hosts, HttpSettings().allowed_origins) == (
        None,
        None,
        (),
    )


def test_an_empty_list_of_hosts_is_not_the_default() -> None:
    assert settings(allowed_hosts=[]).allowed_hosts == ()


@pytest.mark.parametrize(
    "table",
    [
        {"allowed_hosts": ["notes.example.org", "[::1]:8931"]},
        {"allowed_origins": ["https://app.example.org", "null"]},
        {"auth": "token"},
        JWT,
        {**JWT, "issuer": "http://127.0.0.1:9000/realm", "jwks_url": "http://localhost:9000/keys"},
        {**JWT, "jwks_url": "https://login.example.org/keys?kind=all"},
        {key: value for key, value in JWT.items() if key != "jwks_url"},
        {**JWT, "scopes": ["notes", "a:b/c"]},
        {**JWT, "scopes": []},
        {"scopes": []},
        {"calls_per_second": 0.5},
        {"drain_seconds": 0},
        {"host": "0.0.0.0"},  # noqa: S104
        {"port": 0},
    ],
)
def test_what_can_be_meant_is_taken(table: dict[str, Any]) -> None:
    made = settings(**table)
    for key, value in table.items():
        assert getattr(made, key) == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"allowed_hosts": ["https://notes.example.org"]}, "allowed_hosts"),
        ({"allowed_hosts": ["*"]}, "allowed_hosts"),
        ({"allowed_hosts": ["127.0.0.1:*"]}, "allowed_hosts"),
        ({"allowed_hosts": "localhost"}, "allowed_hosts"),
        ({"allowed_origins": ["*"]}, "allowed_origins"),
        ({"allowed_origins": ["https://app.example.org/"]}, "allowed_origins"),
        ({"auth": "basic"}, "auth"),
        ({"auth": "none"}, "auth"),
        ({**JWT, "issuer": "http://login.example.org"}, "issuer"),
        ({**JWT, "issuer": "https://login.example.org?x"}, "issuer"),
        ({**JWT, "audience": "notes"}, "audience"),
        ({**JWT, "jwks_url": "file:///etc/keys"}, "jwks_url"),
        ({**JWT, "jwks_url": "https://user:secret@login.example.org"}, "jwks_url"),
        ({key: value for key, value in JWT.items() if key != "issuer"}, "issuer"),
        ({key: value for key, value in JWT.items() if key != "audience"}, "audience"),
        ({**JWT, "auth": "token"}, "issuer"),
        ({"audience": "https://notes.example.org/mcp"}, "audience"),
        ({**JWT, "scopes": ["a b"]}, "scopes"),
        ({**JWT, "scopes": [""]}, "scopes"),
        ({**JWT, "scopes": ['"']}, "scopes"),
        ({**JWT, "scopes": "notes"}, "scopes"),
        ({**JWT, "scopes": [str(number) for number in range(33)]}, "scopes"),
        ({"auth": "token", "scopes": ["notes"]}, "scopes"),
        ({"scopes": ["notes"]}, "scopes"),
        ({"max_connections": 0}, "max_connections"),
        ({"max_requests": True}, "max_requests"),
        ({"calls_per_second": 0}, "calls_per_second"),
        ({"call_burst": 0}, "call_burst"),
        ({"head_seconds": 0}, "head_seconds"),
        ({"body_seconds": float("nan")}, "body_seconds"),
        ({"drain_seconds": -1}, "drain_seconds"),
        ({"port": 65_536}, "port"),
        ({"path": "/"}, "path"),
        ({"hosts": []}, "hosts"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_key(table: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"\[http\].*{key}"):
        settings(**table)


def sort_out(fits: Any, good: list[str], bad: list[str]) -> tuple[list[str], list[str]]:
    """What is taken of *bad*, and what is refused of *good*."""
    return [text for text in bad if fits(text)], [text for text in good if not fits(text)]


def test_a_host_to_bind_to_is_an_address_or_a_name() -> None:
    good = ["127.0.0.1", "::1", "::", "localhost", "notes.example.org"]
    bad = ["", "[::1]", "a:1", "a b", "-a", "a/b", "a\n", "\u00e4.example"]
    assert sort_out(is_host, good, bad) == ([], [])


def test_a_path_is_plain_segments_and_none_of_ours() -> None:
    good = ["/mcp", "/a/b", "/~me/notes-1_2.x", "/healthzz"]
    bad = [
        "",
        "/",
        "mcp",
        "/a/",
        "//a",
        "/a//b",
        "/.",
        "/a/..",
        "/a/.b",
        "/a?b",
        "/a#b",
        "/a b",
        "/a%20",
        "/\u00e4",
    ]
    bad += ["/healthz", "/readyz", "/.well-known", "/.well-known/x", "/healthz/x", "/a\n", "/" + "a" * 200]
    assert sort_out(is_path, good, bad) == ([], [])


def test_an_authority_is_a_name_or_an_address_and_a_port_in_one_spelling() -> None:
    good = ["localhost", "localhost:8931", "127.0.0.1:0", "a.example.org", "[::1]", "[::1]:65535", "a"]
    bad = [
        "",
        ":80",
        "a:",
        "a:080",
        "a:65536",
        "A.example",
        "a:b",
        "::1",
        "[::1",
        "a@b",
        "a/b",
        "-a",
        "a.",
        "a\n",
    ]
    bad += ["[::1]:", "[::1]80", "[zz]", "*", "a:*"]
    assert sort_out(is_authority, good, bad) == ([], [])


def test_an_origin_is_a_scheme_and_an_authority_or_null() -> None:
    good = ["https://a.example", "http://localhost:3000", "null", "app+x://a"]
    bad = [
        "",
        "a.example",
        "https://",
        "https://a/",
        "https://A",
        "HTTPS://a",
        "https://a?b",
        "//a",
        "Null",
        "https:a",
    ]
    assert sort_out(is_origin, good, bad) == ([], [])


@pytest.mark.parametrize("key", ["issuer", "audience", "jwks_url"])
@pytest.mark.parametrize(
    "url", ["", "a", "http://a.example", "HTTPS://a.example", "https://a@b", "https://a/#", 'https://a/"']
)
def test_a_url_that_identity_may_not_rest_on_is_refused_by_its_key_and_not_later(key: str, url: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^\[http\] {key}: "):
        settings(**{**JWT, key: url})
