"""Where an issuer's keys are, as its metadata says, and when that is not believed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from fsnotes.identity import Unauthenticated
from fsnotes.identity.fetching import FetchFailed
from fsnotes.identity.issuers import Issuer
from fsnotes.identity.jwts import JwtAuthenticator
from tests.identity.issuing import AUDIENCE, NOW, Server, Signer, claims, serving

KEY = Signer("ES256", "one")
OAUTH, OPENID = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        made.publish(KEY.jwk())
        yield made


def _never(url: str, *, seconds: float) -> bytes:
    raise AssertionError(url)


@pytest.mark.parametrize(
    ("identifier", "places"),
    [
        ("https://as.example", [OAUTH, OPENID]),
        ("https://as.example/", [OAUTH, OPENID]),
        ("https://as.example/t/1", [f"{OAUTH}/t/1", f"{OPENID}/t/1", f"/t/1{OPENID}"]),
        ("https://as.example/t/1/", [f"{OAUTH}/t/1", f"{OPENID}/t/1", f"/t/1{OPENID}"]),
    ],
)
def test_metadata_is_looked_for_where_clients_look(identifier: str, places: list[str]) -> None:
    issuer = Issuer(identifier, jwks_url=None, fetch=_never)
    assert issuer.places() == tuple("https://as.example" + place for place in places)


@pytest.mark.parametrize("place", range(3))
def test_keys_are_found_by_the_first_metadata_that_is_the_issuers(server: Server, place: int) -> None:
    identifier = f"{server.url}/tenant"
    issuer = Issuer(identifier, jwks_url=None, fetch=_never)
    where = [url.removeprefix(server.url) for url in issuer.places()]
    for other in where[:place]:  # what a front page answers to every path, and what is another tenant's
        server.answers[other] = b"<html>" if other == where[0] else {"issuer": server.url, "jwks_uri": "x"}
    server.answers[where[place]] = {"issuer": identifier, "jwks_uri": f"{server.url}/keys"}
    ask = JwtAuthenticator(identifier, AUDIENCE, clock=lambda: NOW)
    assert ask.identify(KEY.token(claims(identifier))).name == f"{identifier}|alice"
    assert server.asked == [*where[: place + 1], "/keys"]


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": "https://honest.example"}, {"issuer": None}, {"issuer": "/"}, {"issuer": ["x"]},
        {"jwks_uri": None}, {"jwks_uri": 1}, {"jwks_uri": "keys"}, {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": "http://keys.example/"}, {"jwks_uri": "https://u@keys.example/"}, {"jwks_uri": "ftp://127.0.0.1/"},
    ],
    ids=str,
)  # fmt: skip
def test_metadata_of_another_issuer_or_with_keys_at_no_safe_place_is_not_used(
    server: Server, changes: dict[str, Any]
) -> None:
    good = {"issuer": server.url, "jwks_uri": f"{server.url}/keys"}
    bad = {**good, **changes}
    if bad["issuer"] == "/":
        bad["issuer"] = server.url + "/"
    server.answers[OAUTH] = server.answers[OPENID] = {
        key: value for key, value in bad.items() if value is not None
    }
    ask = JwtAuthenticator(server.url, AUDIENCE, clock=lambda: NOW)
    with pytest.raises(Unauthenticated) as caught:
        ask.identify(KEY.token(claims(server.url)))
    assert (caught.value.status, server.asked) == (503, [OAUTH, OPENID])
    server.answers[OPENID] = good
    ask = JwtAuthenticator(server.url, AUDIENCE, clock=lambda: NOW)
    assert ask.identify(KEY.token(claims(server.url))).name == f"{server.url}|alice"


def test_an_issuer_elsewhere_cannot_have_this_host_asked_for_its_keys() -> None:
    asked: list[str] = []

    def fetch(url: str, *, seconds: float) -> bytes:
        asked.append(url)
        return json.dumps({"issuer": "https://as.example", "jwks_uri": keys}).encode()

    issuer = Issuer("https://as.example", jwks_url=None, fetch=fetch)
    keys = "http://127.0.0.1:8500/secrets"
    with pytest.raises(FetchFailed):
        issuer.published(seconds=5, clock=time.monotonic)
    assert keys not in asked
    keys = "https://keys.example/set"
    issuer.published(seconds=5, clock=time.monotonic)
    assert asked[-1] == keys


def test_where_the_keys_are_configured_no_metadata_is_asked_for(server: Server) -> None:
    ask = JwtAuthenticator(server.url, AUDIENCE, jwks_url=f"{server.url}/keys", clock=lambda: NOW)
    assert ask.identify(KEY.token(claims(server.url))).name == f"{server.url}|alice"
    assert server.asked == ["/keys"]


def test_all_steps_together_have_one_deadline() -> None:
    now = [0.0]
    given: list[float] = []

    def fetch(url: str, *, seconds: float) -> bytes:
        given.append(seconds)
        now[0] += 3
        raise FetchFailed("no")

    issuer = Issuer("https://as.example/t", jwks_url=None, fetch=fetch)
    with pytest.raises(FetchFailed):
        issuer.published(seconds=5, clock=lambda: now[0])
    assert given == [5, 2]
