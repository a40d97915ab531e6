"""Whose request a JWT makes it. Every token is made here, by keys of a server that runs on loopback."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fsnotes.access import Principal
from fsnotes.errors import ConfigurationError
from fsnotes.identity import Authenticator, Unauthenticated, jwts
from fsnotes.identity.authenticator import MAX_TOKEN
from fsnotes.identity.claims import LEEWAY_SECONDS, MAX_SUBJECT
from fsnotes.identity.jwts import JwtAuthenticator
from fsnotes.identity.keys import ALGORITHMS
from tests.identity.issuing import (
    AUDIENCE,
    NOW,
    Clock,
    Server,
    Signer,
    b64,
    claims,
    eventually,
    number,
    packed,
    serving,
)

ROOT = Path(__file__).resolve().parents[2]
METADATA = "https://notes.example/.well-known/oauth-protected-resource/mcp"
BARE = f'Bearer realm="fsnotes", resource_metadata="{METADATA}"'
INVALID = (
    'Bearer realm="fsnotes", error="invalid_token", error_description="the access token is not accepted",'
    f' resource_metadata="{METADATA}"'
)
EXPIRED = INVALID.replace("is not accepted", "has expired")


@cache
def signer(algorithm: str = "ES256", kid: str = "one") -> Signer:
    """Return a key pair of a kind, the same each time."""
    return Signer(algorithm, kid)


@dataclass
class World:
    """An issuer, and what trusts it."""

    server: Server
    time: Clock = field(default_factory=lambda: Clock(NOW))
    age: Clock = field(default_factory=lambda: Clock(50_000.0))

    @property
    def issuer(self) -> str:
        return self.server.url

    def trust(self, **options: Any) -> JwtAuthenticator:
        """Return an authenticator for tokens of the issuer."""
        chosen = {"jwks_url": f"{self.server.url}/keys", **options}
        return JwtAuthenticator(self.issuer, AUDIENCE, clock=self.time, monotonic=self.age, **chosen)

    def token(self, by: Signer | None = None, header: Any = None, **changes: Any) -> str:
        """Return a good token, or one with *changes*."""
        return (by or signer()).token(claims(self.issuer, **changes), header)


@pytest.fixture
def world() -> Iterator[World]:
    with serving() as server:
        server.publish(signer().jwk())
        yield World(server)


def refusal(ask: Callable[[str], object], token: str) -> tuple[int, str | None]:
    """Return how *token* is refused; nothing that is told holds any part of it."""
    with pytest.raises(Unauthenticated) as caught:
        ask(token)
    error: BaseException | None = caught.value
    told = ""
    while error is not None:
        told += repr(error) + repr(error.args) + "".join(traceback.format_exception_only(error))
        error = error.__context__
    told += f"{caught.value.challenge}{caught.value.reason}"
    assert [part for part in token.split(".") if len(part) > 8 and part in told] == []
    assert len(caught.value.reason.splitlines()) == 1
    return caught.value.status, caught.value.challenge


def test_a_good_token_proves_issuer_and_subject_and_never_the_client(world: World) -> None:
    authenticator: Authenticator = world.trust()
    token = world.token()
    assert authenticator.known(token) is None  # nothing has been fetched yet
    assert authenticator.identify(token) == Principal(f"{world.issuer}|alice")
    assert authenticator.known(token) == Principal(f"{world.issuer}|alice")
    assert world.server.asked == ["/keys"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("named", ["named", "unnamed"])
def test_each_algorithm_verifies_by_its_own_keys(world: World, algorithm: str, named: str) -> None:
    by = signer(algorithm)
    world.server.publish(by.jwk() if named == "named" else by.jwk(alg=None, use=None))
    authenticator = world.trust()
    assert authenticator.identify(world.token(by)).name == f"{world.issuer}|alice"
    other = Signer(algorithm, "one")
    assert refusal(authenticator.identify, world.token(other)) == (401, INVALID)


def test_what_is_told_to_who_bears_nothing(world: World) -> None:
    authenticator = world.trust()
    assert (authenticator.challenge, authenticator.metadata_url) == (BARE, METADATA)
    assert authenticator.metadata == {
        "resource": AUDIENCE,
        "authorization_servers": [world.issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "fsnotes",
    }
    assert world.server.asked == []


# -- algorithms and keys ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "algorithm", ["none", "None", "NONE", "nOnE", "", None, 0, ["ES256"], "HS256", "es256", "ES256K"]
)
@pytest.mark.parametrize("signed", ["signed", "unsigned"])
def test_no_other_algorithm_is_taken_whatever_stands_behind_it(
    world: World, algorithm: Any, signed: str
) -> None:
    header = {"alg": algorithm, "kid": "one", "typ": "at+jwt"}
    token = world.token(header=header)
    token = token if signed == "signed" else token.rpartition(".")[0] + "."
    assert refusal(world.trust().identify, token) == (401, INVALID)
    assert world.server.asked == []


def _forms(by: Signer) -> list[bytes]:
    public = by.key.public_key()
    formats = serialization.PublicFormat
    pem = public.public_bytes(serialization.Encoding.PEM, formats.SubjectPublicKeyInfo)
    der = public.public_bytes(serialization.Encoding.DER, formats.SubjectPublicKeyInfo)
    return [pem, pem.strip(), der, json.dumps(by.jwk()).encode()]


@pytest.mark.parametrize("kind", ["RS256", "ES256", "EdDSA"])
def test_a_public_key_is_no_secret_of_an_hmac(world: World, kind: str) -> None:
    by = signer(kind)
    world.server.publish(by.jwk(), by.jwk(kid="bare", alg=None))
    authenticator = world.trust()
    for algorithm in ("HS256", kind):
        for kid in ("one", "bare"):
            signed = f"{packed({'alg': algorithm, 'kid': kid})}.{packed(claims(world.issuer))}"
            for secret in _forms(by):
                mac = hmac.digest(secret, signed.encode(), hashlib.sha256)
                assert refusal(authenticator.identify, f"{signed}.{b64(mac)}") == (401, INVALID)
    assert authenticator.identify(world.token(by)).name.endswith("|alice")


def test_a_secret_among_the_keys_is_used_by_no_algorithm(world: World) -> None:
    secret = bytes(32)
    world.server.publish({"kty": "oct", "kid": "mac", "k": b64(secret), "alg": "HS256"}, signer().jwk())
    signed = f"{packed({'alg': 'HS256', 'kid': 'mac'})}.{packed(claims(world.issuer))}"
    token = f"{signed}.{b64(hmac.digest(secret, signed.encode(), hashlib.sha256))}"
    assert refusal(world.trust().identify, token) == (401, INVALID)
    assert world.trust().identify(world.token()).name.endswith("|alice")


@pytest.mark.parametrize(
    "changes",
    [
        {"alg": "ES384"}, {"alg": "ECDH-ES"}, {"alg": 1}, {"use": "enc"}, {"use": None, "key_ops": ["sign"]},
        {"key_ops": []}, {"key_ops": "verify"}, {"kty": "RSA"}, {"kty": "OKP"}, {"crv": "P-384"}, {"crv": None},
        {"d": "AA"}, {"x": None}, {"x": "AA"}, {"y": 1}, {"kid": "two"}, {"kid": None},
    ],
    ids=str,
)  # fmt: skip
def test_a_key_that_is_for_something_else_verifies_nothing(world: World, changes: dict[str, Any]) -> None:
    world.server.publish(signer().jwk(**changes), signer("EdDSA", "other").jwk())
    authenticator = world.trust()
    assert refusal(authenticator.identify, world.token()) == (401, INVALID)
    assert authenticator.identify(world.token(signer("EdDSA", "other"))).name.endswith("|alice")


@pytest.mark.parametrize(
    "changes",
    [{}, {"alg": None}, {"use": None}, {"key_ops": ["verify"]}, {"x5c": ["AA"]}, {"more": 1}],
    ids=str,
)
def test_the_nearest_key_verifies(world: World, changes: dict[str, Any]) -> None:
    world.server.publish(signer().jwk(**changes))
    assert world.trust().identify(world.token()).name.endswith("|alice")


def test_a_key_that_is_published_with_its_secret_verifies_nothing(world: World) -> None:
    """Everybody who has read the set can sign with it."""
    secret = b64(signer().key.private_numbers().private_value.to_bytes(32, "big"))
    world.server.publish(signer().jwk(d=secret), signer("EdDSA", "two").jwk())
    assert refusal(world.trust().identify, world.token()) == (401, INVALID)
    world.server.publish(signer().jwk(), signer("EdDSA", "two").jwk())
    assert world.trust().identify(world.token()).name.endswith("|alice")


def test_a_small_or_enormous_rsa_key_is_not_used(world: World) -> None:
    small = Signer("RS256", "small", rsa.generate_private_key(65537, 1024))  # noqa: S505 - the one to be refused
    large = signer("RS256").jwk(kid="large", n=number((1 << 8200) + 1))
    world.server.publish(small.jwk(), large, signer("RS256").jwk())
    authenticator = world.trust()
    assert refusal(authenticator.identify, world.token(small)) == (401, INVALID)
    header = {"alg": "RS256", "kid": "large"}
    assert refusal(authenticator.identify, world.token(signer("RS256"), header)) == (401, INVALID)
    assert authenticator.identify(world.token(signer("RS256"))).name.endswith("|alice")


def test_an_algorithm_that_is_not_allowed_here_is_refused_though_its_key_is_published(world: World) -> None:
    world.server.publish(signer("RS256").jwk(), signer("PS256", "two").jwk())
    authenticator = world.trust(algorithms=["PS256"])
    assert refusal(authenticator.identify, world.token(signer("RS256"))) == (401, INVALID)
    assert authenticator.identify(world.token(signer("PS256", "two"))).name.endswith("|alice")


def test_a_key_of_the_token_itself_is_not_looked_at(world: World) -> None:
    mine = Signer("ES256", "one")
    world.server.publish(signer().jwk())
    world.server.answers["/mine"] = {"keys": [mine.jwk()]}
    where = f"{world.server.url}/mine"
    authenticator = world.trust()
    for more in ({"jwk": mine.jwk()}, {"jku": where}, {"x5u": where}, {"x5c": ["AA"]}):
        header = {"alg": "ES256", "kid": "one", **more}
        assert refusal(authenticator.identify, world.token(mine, header)) == (401, INVALID)
        # They are ignored, and spoil no good token.
        assert authenticator.identify(world.token(header=header)).name.endswith("|alice")
    assert set(world.server.asked) == {"/keys"}


def test_without_a_key_id_the_only_key_that_fits_is_meant_and_of_two_none(world: World) -> None:
    header = {"alg": "ES256"}
    world.server.publish(signer().jwk(), signer("EdDSA", "two").jwk())
    assert world.trust().identify(world.token(header=header)).name.endswith("|alice")
    # Keys of other types are not meant, though nothing in them says what they are for.
    world.server.publish(*(signer(each).jwk(alg=None) for each in ("RS256", "ES256", "ES384", "EdDSA")))
    for each in ("RS256", "ES256", "ES384", "EdDSA"):
        assert world.trust().identify(world.token(signer(each), {"alg": each})).name.endswith("|alice")
    world.server.publish(signer().jwk(), signer("ES256", "two").jwk())
    assert refusal(world.trust().identify, world.token(header=header)) == (401, INVALID)
    world.server.publish(signer().jwk(), signer("ES256", "two").jwk(kid="one"))
    assert refusal(world.trust().identify, world.token()) == (401, INVALID)


# -- form ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        '{"alg":"none","alg":"ES256","kid":"one"}', '{"alg":"ES256","kid":"two","kid":"one"}',
        '{"alg":"ES256","kid":"one","crit":["exp"],"exp":1}', '{"alg":"ES256","kid":"one","crit":[]}',
        '{"alg":"ES256","kid":"one","crit":["b64"],"b64":true}', '{"alg":"ES256","kid":"one","b64":false}',
        '{"alg":"ES256","kid":"one","b64":true}', '{"alg":"ES256","kid":1}', '{"alg":"ES256","kid":["one"]}',
        '{"alg":"ES256","kid":"one","typ":"logout+jwt"}', '{"alg":"ES256","kid":"one","typ":"dpop+jwt"}',
        '{"alg":"ES256","kid":"one","typ":"secevent+jwt"}', '{"alg":"ES256","kid":"one","typ":null}',
        '{"alg":"ES256","kid":"one","typ":["JWT"]}', '{"alg":"ES256","kid":"one","typ":""}',
        '{"kid":"one"}', '["ES256"]', '"ES256"', "null", "{}", "", '{"alg":"ES256","kid":"one"', "\ufeff{}",
        '{"alg":"ES256","kid":"one","more":NaN}', '{"alg":"ES256","kid":"one","more":1e999}', "[" * 3000,
        b"\xff", '{"alg":"ES256","kid":"' + "k" * 257 + '"}',
    ],
)  # fmt: skip
def test_a_header_that_is_read_in_two_ways_or_asks_for_more_is_refused(world: World, header: Any) -> None:
    assert refusal(world.trust().identify, world.token(header=header)) == (401, INVALID)
    assert world.server.asked == []


@pytest.mark.parametrize(
    "header",
    [
        {"typ": "at+jwt"}, {"typ": "application/at+jwt"}, {"typ": "AT+JWT"}, {"typ": "JWT"}, {"typ": "jwt"}, {},
        {"more": {"a": [1]}}, {"cty": "x"},
    ],
    ids=str,
)  # fmt: skip
def test_the_nearest_header_is_taken(world: World, header: dict[str, Any]) -> None:
    token = world.token(header={"alg": "ES256", "kid": "one", **header})
    assert world.trust().identify(token).name.endswith("|alice")


def test_claims_that_are_read_in_two_ways_are_refused(world: World) -> None:
    good = json.dumps(claims(world.issuer))
    authenticator = world.trust()
    for text in (
        good[:-1] + ', "sub": "mallory"}',
        good[:-1] + ', "more": {"a": 1, "a": 2}}',
        good[:-1] + ', "more": NaN}',
        "[" + good + "]",
        "null",
        good + " x",
    ):
        assert refusal(authenticator.identify, signer().token(text)) == (401, INVALID)
    assert authenticator.identify(signer().token(good[:-1] + ', "more": {"a": 1, "b": 1}}')).name.endswith(
        "|alice"
    )


def test_what_is_no_compact_jws_is_refused_before_anything_is_fetched(world: World) -> None:
    good = world.token()
    header, body, signature = good.split(".")
    encrypted = f"{good}.AA.AA"
    # 64 bytes are 86 characters, of which the last has four bits too many.
    last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".index(signature[-1])
    twin = signature[:-1] + "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[last ^ 1]
    authenticator = world.trust()
    for wrong in (
        "", ".", "..", "a.b.c", "fsnotes_00", header, f"{header}.{body}", f"{header}.{body}.", f".{body}.{signature}",
        f"{header}..{signature}", encrypted, good + "=", good + "\n", " " + good, good.replace(".", "=."),
        f"{header}.{body}.{twin}", good + "é", "\x00", "🔑",
    ):  # fmt: skip
        assert refusal(authenticator.identify, wrong) == (401, INVALID)
        assert refusal(authenticator.known, wrong) == (401, INVALID)
    assert world.server.asked == []
    assert authenticator.identify(good).name.endswith("|alice")


def test_a_token_of_the_greatest_size_is_taken_and_a_larger_one_is_not_read(world: World) -> None:
    authenticator = world.trust()
    sizes = {len(world.token(pad="x" * size)): world.token(pad="x" * size) for size in range(5_600, 6_100)}
    largest = max(size for size in sizes if size <= MAX_TOKEN)
    over = min(size for size in sizes if size > MAX_TOKEN)
    assert largest > MAX_TOKEN - 3
    assert authenticator.identify(sizes[largest]).name.endswith("|alice")
    assert refusal(authenticator.identify, sizes[over]) == (401, INVALID)
    assert refusal(authenticator.identify, "x" * 10_000_000) == (401, INVALID)


# -- claims ----------------------------------------------------------------------------------------------

_SOON = NOW + LEEWAY_SECONDS


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://other.example"}, {"iss": None}, {"iss": ["x"]}, {"iss": ""},
        {"aud": None}, {"aud": ""}, {"aud": []}, {"aud": "https://notes.example"}, {"aud": AUDIENCE + "/"},
        {"aud": AUDIENCE.upper()}, {"aud": AUDIENCE[:-1]}, {"aud": ["https://other.example"]}, {"aud": {AUDIENCE: 1}},
        {"aud": [AUDIENCE, 1]}, {"aud": [[AUDIENCE]]}, {"aud": 1}, {"aud": "app"}, {"aud": f"x {AUDIENCE}"},
        {"exp": None}, {"exp": "9999999999"}, {"exp": True}, {"exp": [NOW + 300]}, {"exp": NOW * 1000},
        {"nbf": _SOON + 1}, {"nbf": "0"}, {"nbf": True}, {"iat": _SOON + 1}, {"iat": {}}, {"iat": -1e13},
        {"sub": None}, {"sub": ""}, {"sub": 1}, {"sub": ["alice"]}, {"sub": "a\n"}, {"sub": "\x00"},
        {"sub": "\u202eecila"}, {"sub": "\ud800"}, {"sub": "x" * (MAX_SUBJECT + 1)},
        {"at_hash": "x"}, {"c_hash": "x"}, {"events": {}}, {"cnf": {"jkt": "x"}},
    ],
    ids=str,
)  # fmt: skip
def test_a_claim_that_is_missing_or_wrong_is_refused(world: World, changes: dict[str, Any]) -> None:
    authenticator = world.trust()
    assert authenticator.identify(world.token()).name.endswith("|alice")
    for ask in (authenticator.identify, authenticator.known):
        assert refusal(ask, world.token(**changes)) == (401, INVALID)


@pytest.mark.parametrize("claim", ["exp", "nbf", "iat", "iss", "aud", "sub"])
def test_a_claim_that_is_null_is_refused(world: World, claim: str) -> None:
    token = signer().token({**claims(world.issuer), claim: None})
    assert refusal(world.trust().identify, token) == (401, INVALID)


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": [AUDIENCE]}, {"aud": ["https://other.example", AUDIENCE]}, {"exp": NOW + 1}, {"exp": NOW + 0.5},
        {"nbf": _SOON}, {"iat": _SOON}, {"iat": None}, {"nbf": 0}, {"sub": "x" * MAX_SUBJECT}, {"sub": "auth0|1"},
        {"sub": "ålice b"}, {"client_id": None}, {"nonce": "n"}, {"scope": "a b"}, {"jti": 5},
    ],
    ids=str,
)  # fmt: skip
def test_the_nearest_claims_are_taken(world: World, changes: dict[str, Any]) -> None:
    subject = changes.get("sub", "alice")
    assert world.trust().identify(world.token(**changes)) == Principal(f"{world.issuer}|{subject}")


def test_a_token_ends_when_it_says_also_where_it_was_verified_before(world: World) -> None:
    authenticator = world.trust()
    token = world.token()
    assert authenticator.identify(token).name.endswith("|alice")
    world.time.now = NOW + 299.9
    assert authenticator.known(token) == Principal(f"{world.issuer}|alice")
    for later in (300.0, 300.1, float("nan")):
        world.time.now = NOW + later
        assert refusal(authenticator.known, token) == (401, EXPIRED)
        assert refusal(authenticator.identify, token) == (401, EXPIRED)


def test_two_subjects_of_one_client_are_two_principals(world: World) -> None:
    authenticator = world.trust()
    names = [
        authenticator.identify(world.token(sub=sub, client_id="app", azp="app")).name for sub in ("a", "b")
    ]
    assert names == [f"{world.issuer}|a", f"{world.issuer}|b"]


def test_one_subject_of_two_clients_is_one_principal(world: World) -> None:
    authenticator = world.trust()
    assert (
        len({authenticator.identify(world.token(client_id=client)).name for client in ("app", "alice")}) == 1
    )


def test_one_subject_of_two_issuers_is_two_principals_and_neither_takes_the_tokens_of_the_other(
    world: World,
) -> None:
    with serving() as server:
        server.publish(signer().jwk())  # the same key even
        other = World(server)
        here, there = world.trust(), other.trust()
        assert here.identify(world.token()) != there.identify(other.token())
        assert refusal(here.identify, other.token()) == (401, INVALID)
        assert refusal(there.identify, world.token()) == (401, INVALID)


def test_scopes_that_are_needed_are_asked_for_by_name(world: World) -> None:
    authenticator = world.trust(scopes=["notes", "more"])
    metadata = authenticator.metadata
    assert metadata is not None
    assert metadata["scopes_supported"] == ["notes", "more"]
    tail = f'scope="notes more", resource_metadata="{METADATA}"'
    assert authenticator.challenge == f'Bearer realm="fsnotes", {tail}'
    lacking = (
        'Bearer realm="fsnotes", error="insufficient_scope", error_description="the access token lacks a scope", '
        + tail
    )
    for scope in (
        "notes",
        "",
        None,
        "notes.more",
        "NOTES MORE",
        ["notes", "more"],
        "notesmore",
        "notes,more",
    ):
        for ask in (authenticator.identify, authenticator.known):
            assert refusal(ask, world.token(scope=scope)) == (403, lacking)
    forged = Signer("ES256", "one")
    status, _ = refusal(authenticator.identify, world.token(forged, scope="notes more"))
    assert status == 401  # what is not proven lacks more than a scope
    assert authenticator.identify(world.token(scope="x more notes")).name.endswith("|alice")


# -- at large --------------------------------------------------------------------------------------------


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
@given(st.data())
def test_any_mutated_token_is_refused(world: World, data: st.DataObject) -> None:
    authenticator = _shared(world)
    token = _good(world)
    changed = list(token)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(changed)))
        changed[place : place + data.draw(st.integers(0, 2))] = data.draw(
            st.text(alphabet=st.sampled_from("ABCabc019-_.=é "), max_size=2)
        )
    mutated = "".join(changed)
    assume(mutated != token)
    status, challenge = refusal(authenticator.identify, mutated)
    # A claim that was hit may be what is wrong with it first, such as its time.
    assert (status, 'error="invalid_token"' in str(challenge)) == (401, True)
    assert authenticator.identify(token) == Principal(f"{world.issuer}|alice")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
@given(
    st.dictionaries(
        st.sampled_from(["alg", "kid", "typ", "crit", "jku"]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.text(max_size=8)
        | st.lists(st.text(max_size=3), max_size=2),
    ),
    st.dictionaries(
        st.sampled_from(["iss", "aud", "sub", "exp", "nbf", "iat", "cnf", "scope"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.lists(st.text()),
    ),
)
def test_whatever_a_token_says_a_key_that_is_not_the_issuers_proves_nothing(
    world: World, header: dict[str, Any], body: dict[str, Any]
) -> None:
    forged = _forger().token(
        {**claims(world.issuer), **body}, {"alg": "ES256", "kid": "one", "typ": "at+jwt", **header}
    )
    status, challenge = refusal(_shared(world).identify, forged[:MAX_TOKEN])
    assert (status, challenge in (INVALID, EXPIRED)) == (401, True)


@cache
def _forger() -> Signer:
    return Signer("ES256", "one")


_MADE: dict[str, tuple[JwtAuthenticator, str]] = {}


def _shared(world: World) -> JwtAuthenticator:
    if world.issuer not in _MADE:
        _MADE[world.issuer] = world.trust(), world.token()
    return _MADE[world.issuer][0]


def _good(world: World) -> str:
    _shared(world)
    return _MADE[world.issuer][1]


def test_ten_thousand_bad_tokens_ask_the_issuer_once_and_leave_the_good_one_good(world: World) -> None:
    authenticator = world.trust()
    good = world.token()
    assert authenticator.identify(good).name.endswith("|alice")
    header, body, _ = good.split(".")
    forged = _forger().token(claims(world.issuer)).rpartition(".")[2]
    for count in range(10_000):
        kid = packed({"alg": "ES256", "kid": f"k{count}", "typ": "at+jwt"})
        bad = f"{kid if count % 2 else header}.{body}.{forged}"
        with pytest.raises(Unauthenticated) as caught:
            authenticator.known(bad)
        assert caught.value.status == 401
    assert world.server.asked == ["/keys"]
    assert authenticator.known(good) == Principal(f"{world.issuer}|alice")
    assert len(authenticator._verified) == 1


def test_what_was_verified_is_not_verified_again_and_takes_bounded_room(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jwts, "MAX_VERIFIED", 3)
    authenticator = world.trust()
    verified: list[str] = []
    verifies = authenticator._verifies
    monkeypatch.setattr(
        authenticator, "_verifies", lambda token, key: verified.append(token) or verifies(token, key)
    )
    tokens = [world.token(jti=str(count)) for count in range(5)]
    for token in tokens:
        assert authenticator.identify(token) == authenticator.known(token)
    assert (verified, len(authenticator._verified)) == (tokens, 3)
    authenticator.known(tokens[0])
    assert verified == [*tokens, tokens[0]]


def test_a_token_is_in_no_log_record(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    authenticator = world.trust()
    good = world.token()
    assert authenticator.identify(good).name.endswith("|alice")
    world.server.answers["/keys"] = b"{"
    world.age.now += 4_000
    assert refusal(authenticator.identify, good) == (503, None)
    eventually(lambda: "the issuer's keys could not be fetched" in caplog.text)
    parts = good.split(".")
    assert [record for record in caplog.records if any(part in repr(record.__dict__) for part in parts)] == []
    assert [part for part in parts if part in repr(vars(authenticator))] == []


# -- configuration ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"algorithms": []}, {"algorithms": ["HS256"]}, {"algorithms": ["RS256", "none"]}, {"algorithms": ["ES256K"]},
        {"jwks_url": "http://keys.example/"}, {"jwks_url": "keys"}, {"jwks_url": "file:///etc/passwd"},
        {"jwks_url": "https://u:p@keys.example/"}, {"jwks_url": "https://keys.example/#x"}, {"jwks_url": ""},
        {"scopes": ["a b"]}, {"scopes": ['"']}, {"scopes": [""]}, {"scopes": ["\n"]},
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_trusted_cannot_be_configured(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        JwtAuthenticator("https://as.example", AUDIENCE, **options)
    assert JwtAuthenticator(
        "https://as.example", AUDIENCE, jwks_url="https://keys.example/?a=b", scopes=["a:b/c"]
    )


BAD_URLS = [
    "", "as.example", "http://as.example", "http://localhost.example", "http://127.0.0.1.example", "ftp://127.0.0.1",
    "https://", "https:///x", "https://as.example/#", "https://a@as.example", "https://as.example:0",
    "https://as.example:99999", "https://as example", "https://as.example/\n", "https://as.example/|", 'https://a"b',
    "HTTPS://as.example", "https://as.example/é", "https://[::1", "https://" + "a" * 2048, "http://10.0.0.1",
]  # fmt: skip


@pytest.mark.parametrize("url", [*BAD_URLS, "https://as.example?x"])
def test_an_issuer_is_https_or_this_host(url: str) -> None:
    with pytest.raises(ConfigurationError):
        JwtAuthenticator(url, AUDIENCE)


@pytest.mark.parametrize("url", BAD_URLS)
def test_an_audience_is_https_or_this_host(url: str) -> None:
    with pytest.raises(ConfigurationError):
        JwtAuthenticator("https://as.example", url)


@pytest.mark.parametrize(
    ("endpoint", "metadata"),
    [
        ("https://notes.example/mcp", "https://notes.example/.well-known/oauth-protected-resource/mcp"),
        (
            "https://notes.example:8443/a/mcp",
            "https://notes.example:8443/.well-known/oauth-protected-resource/a/mcp",
        ),
        ("https://notes.example", "https://notes.example/.well-known/oauth-protected-resource"),
        ("https://notes.example/", "https://notes.example/.well-known/oauth-protected-resource"),
        ("https://notes.example/mcp/", "https://notes.example/.well-known/oauth-protected-resource/mcp/"),
        (
            "https://notes.example/mcp?a=b",
            "https://notes.example/.well-known/oauth-protected-resource/mcp?a=b",
        ),
        ("http://localhost:8931/mcp", "http://localhost:8931/.well-known/oauth-protected-resource/mcp"),
        ("http://127.0.0.9/mcp", "http://127.0.0.9/.well-known/oauth-protected-resource/mcp"),
        ("http://[::1]:1/mcp", "http://[::1]:1/.well-known/oauth-protected-resource/mcp"),
    ],
)
def test_the_metadata_stands_between_the_host_and_the_path(endpoint: str, metadata: str) -> None:
    made = JwtAuthenticator("https://as.example", endpoint)
    assert (made.metadata_url, (made.metadata or {})["resource"]) == (metadata, endpoint)


def test_only_jwts_load_what_jwts_need() -> None:
    code = (
        "import sys, fsnotes.cli, fsnotes.identity.tokens\n"
        "print('jwt' in sys.modules, 'ssl' in sys.modules)\n"
        "import fsnotes.identity.jwts\nprint('jwt' in sys.modules, 'ssl' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "False False\nTrue True\n"
