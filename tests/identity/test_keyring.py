"""When an issuer's keys are fetched, how long they are good for, and who waits for them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from fsnotes.access import Principal
from fsnotes.identity import Unauthenticated, keyring
from fsnotes.identity.fetching import FetchFailed
from fsnotes.identity.jwts import JwtAuthenticator
from tests.identity.issuing import AUDIENCE, NOW, Clock, Server, Signer, claims, eventually, serving

OLD, NEW, THIRD = Signer("ES256", "old"), Signer("ES256", "new"), Signer("EdDSA", "third")


class World:
    """An issuer whose keys can be exchanged and whose server can be stopped, and one authenticator."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.age = Clock(50_000.0)
        self.time = Clock(NOW)
        self.authenticator = JwtAuthenticator(
            server.url, AUDIENCE, jwks_url=f"{server.url}/keys", clock=self.time, monotonic=self.age
        )
        self.alice = Principal(f"{server.url}|alice")

    def token(self, by: Signer, **changes: Any) -> str:
        return by.token(claims(self.server.url, **changes))

    def fails(self, ask: Callable[[str], object], by: Signer) -> int:
        with pytest.raises(Unauthenticated) as caught:
            ask(self.token(by))
        assert (caught.value.challenge is None) == (caught.value.status == 503)
        return caught.value.status

    @property
    def fetches(self) -> int:
        return len(self.server.asked)

    def settle(self) -> None:
        """Wait for a fetch in the background."""
        eventually(lambda: not self.authenticator._keyring._running)


@pytest.fixture
def world() -> Iterator[World]:
    with serving() as server:
        server.publish(OLD.jwk())
        yield World(server)


def test_a_key_that_is_not_known_is_fetched_at_most_once_in_ten_seconds(world: World) -> None:
    ask = world.authenticator
    assert ask.identify(world.token(OLD)) == world.alice
    world.server.publish(OLD.jwk(), NEW.jwk())
    for after in (0.0, 5.0, 9.9):
        world.age.now = 50_000.0 + after
        assert world.fails(ask.identify, NEW) == world.fails(ask.known, NEW) == 401
        assert ask.known(world.token(OLD)) == world.alice
    assert world.fetches == 1
    world.age.now = 50_010.0
    assert ask.known(world.token(NEW)) is None  # it may be worth waiting
    assert world.fetches == 1
    assert ask.identify(world.token(NEW)) == ask.known(world.token(NEW)) == world.alice
    assert world.fetches == 2
    for after in (10.1, 19.9):
        world.age.now = 50_000.0 + after
        assert world.fails(ask.identify, THIRD) == 401
    assert world.fetches == 2
    world.age.now = 50_020.0
    assert world.fails(ask.identify, THIRD) == 401
    assert world.fetches == 3


def test_many_threads_with_many_unknown_keys_fetch_once(world: World) -> None:
    ask = world.authenticator
    tokens = [world.token(Signer("ES256", f"k{count}", OLD.key)) for count in range(24)]

    def try_(token: str) -> int:
        try:
            ask.identify(token)
        except Unauthenticated as error:
            return error.status
        return 200

    with ThreadPoolExecutor(24) as pool:
        assert set(pool.map(try_, tokens)) == {401}
        assert world.fetches == 1
        world.age.now += 10
        assert set(pool.map(try_, tokens)) == {401}
    assert world.fetches == 2
    assert ask.identify(world.token(OLD)) == world.alice


def test_a_key_that_is_withdrawn_ends_with_the_next_fetch_and_with_it_what_it_verified(world: World) -> None:
    ask = world.authenticator
    old = world.token(OLD)
    assert ask.identify(old) == ask.known(old) == world.alice
    world.server.publish(NEW.jwk())
    world.age.now += 10
    assert ask.identify(world.token(NEW)) == world.alice  # the fetch
    assert world.fails(ask.known, OLD) == world.fails(ask.identify, OLD) == 401
    with pytest.raises(Unauthenticated):
        ask.known(old)
    world.server.publish(OLD.jwk(), NEW.jwk())
    world.age.now += 10
    assert ask.identify(old) == world.alice


def test_a_key_with_the_id_of_another_does_not_take_over_its_tokens(world: World) -> None:
    ask = world.authenticator
    token = world.token(OLD)
    assert ask.identify(token) == world.alice
    usurper = Signer("ES256", "old")
    world.server.publish(usurper.jwk())
    world.age.now += 700
    assert ask.identify(world.token(usurper)) == world.alice
    with pytest.raises(Unauthenticated) as caught:
        ask.known(token)
    assert caught.value.status == 401


def test_keys_that_stay_the_same_verify_nothing_anew(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = world.authenticator
    token = world.token(OLD)
    assert ask.identify(token) == world.alice
    monkeypatch.setattr(ask, "_verifies", lambda *_: pytest.fail("verified again"))
    world.age.now += 700
    assert ask.identify(token) == world.alice
    assert world.fetches == 2


def test_keys_are_fetched_again_in_the_background_while_they_are_used(world: World) -> None:
    ask = world.authenticator
    assert ask.identify(world.token(OLD)) == world.alice
    world.age.now += keyring.EARLY_SECONDS - 1
    assert (ask.known(world.token(OLD)), world.fetches) == (world.alice, 1)
    world.age.now += 1
    assert ask.known(world.token(OLD)) == world.alice
    eventually(lambda: world.fetches == 2)
    world.settle()
    world.age.now += keyring.EARLY_SECONDS - 1
    assert (ask.known(world.token(OLD)), world.fetches) == (world.alice, 2)


def test_keys_that_nobody_used_for_long_are_fetched_before_they_are_used(world: World) -> None:
    ask = world.authenticator
    old = world.token(OLD)
    assert ask.identify(old) == world.alice
    world.server.publish(NEW.jwk())
    world.age.now += keyring.FRESH_SECONDS
    assert ask.known(old) is None
    with pytest.raises(Unauthenticated) as caught:
        ask.identify(old)
    assert (caught.value.status, world.fetches) == (401, 2)


def test_keys_of_that_age_serve_only_once_the_issuer_has_failed_to_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring, "WAIT_SECONDS", 0.2)
    ask = world.authenticator
    assert ask.identify(world.token(OLD)) == world.alice
    released = threading.Event()
    world.server.answers["/keys"] = _slow(released, lambda: b"{}")
    world.age.now += keyring.FRESH_SECONDS
    try:
        assert world.fails(ask.identify, OLD) == 503  # it may be withdrawn, as far as is known yet
    finally:
        released.set()
    world.settle()
    assert ask.identify(world.token(OLD)) == ask.known(world.token(OLD)) == world.alice


def test_while_the_issuer_is_down_known_keys_serve_for_a_bounded_time_and_then_nobody(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ask = world.authenticator
    assert ask.identify(world.token(OLD)) == world.alice
    good = world.server.answers.pop("/keys")
    for after in (keyring.FRESH_SECONDS, 1_000, 2_000, keyring.KEPT_SECONDS - 1):
        world.age.now = 50_000.0 + after
        assert ask.identify(world.token(OLD)) == world.alice
        world.settle()
        assert ask.known(world.token(OLD)) == world.alice
        assert world.fails(ask.identify, NEW) == 503  # whether it is published nobody can say
    asked = world.fetches
    assert world.fails(ask.known, NEW) == 503
    world.age.now = 50_000.0 + keyring.KEPT_SECONDS
    assert world.fails(ask.identify, OLD) == 503
    assert world.fails(ask.known, OLD) == 503
    world.settle()
    assert world.fetches <= asked + 1
    eventually(lambda: "could not be fetched" in caplog.text)
    assert caplog.text.count("could not be fetched") == 1
    world.server.answers["/keys"] = good
    world.age.now += keyring.RETRY_SECONDS
    assert ask.identify(world.token(OLD)) == ask.known(world.token(OLD)) == world.alice
    assert world.fails(ask.identify, NEW) == 401
    eventually(lambda: "could be fetched again" in caplog.text)


def test_an_issuer_that_has_never_answered_is_503_and_asked_once_in_ten_seconds(world: World) -> None:
    good = world.server.answers.pop("/keys")
    ask = world.authenticator
    for _ in range(5):
        assert world.fails(ask.identify, OLD) == 503
    assert world.fails(ask.known, OLD) == 503
    assert world.fetches == 1
    world.server.answers["/keys"] = good
    world.age.now += keyring.RETRY_SECONDS
    assert ask.known(world.token(OLD)) is None
    assert ask.identify(world.token(OLD)) == world.alice


def test_an_issuer_that_is_not_there_at_all_is_503() -> None:
    with serving() as server:
        gone = server.url
    ask = JwtAuthenticator(gone, AUDIENCE, jwks_url=f"{gone}/keys", clock=lambda: NOW)
    with pytest.raises(Unauthenticated) as caught:
        ask.identify(OLD.token(claims(gone)))
    assert (caught.value.status, caught.value.challenge) == (503, None)


@pytest.mark.parametrize(
    "answer",
    [
        b"", b"{", b"[]", b"null", b"<html>", b"\xff", b"{}", b'{"keys": []}', b'{"keys": {}}', b'{"keys": [null]}',
        b'{"keys": [{"kty": "oct", "k": "AA"}]}', b'{"keys": [], "keys": []}', b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_set_without_a_usable_key_leaves_the_former_one(world: World, answer: bytes) -> None:
    ask = world.authenticator
    assert ask.identify(world.token(OLD)) == world.alice
    world.server.answers["/keys"] = answer
    world.age.now += 10
    assert world.fails(ask.identify, NEW) == 503
    assert ask.known(world.token(OLD)) == world.alice


def test_more_keys_than_an_issuer_has_are_refused_and_as_many_are_taken(world: World) -> None:
    others = [OLD.jwk(kid=f"k{count}") for count in range(99)]
    world.server.publish(*others, OLD.jwk())
    assert world.authenticator.identify(world.token(OLD)) == world.alice
    world.server.publish(*others, OLD.jwk(), NEW.jwk())
    world.age.now += 10
    assert world.fails(world.authenticator.identify, NEW) == 503


def _slow(
    released: threading.Event, document: Callable[[], bytes]
) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        released.wait(30)
        data = document()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def test_while_keys_are_fetched_a_known_one_serves_without_waiting(world: World) -> None:
    ask = world.authenticator
    assert ask.identify(world.token(OLD)) == world.alice
    released = threading.Event()
    world.server.answers["/keys"] = _slow(released, lambda: b"{}")
    world.age.now += 10
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(world.fails, ask.identify, NEW)]
        eventually(lambda: world.fetches == 2)
        world.age.now += 10
        waiting.append(pool.submit(world.fails, ask.identify, NEW))
        eventually(lambda: ask._keyring._waiting == 2)
        began = time.perf_counter()
        for _ in range(20):
            assert ask.known(world.token(OLD)) == world.alice
            assert ask.identify(world.token(OLD)) == world.alice
            assert ask.known(world.token(NEW)) is None
        assert time.perf_counter() - began < 2
        assert [each.done() for each in waiting] == [False, False]
        assert world.fetches == 2  # however long it takes, no other one is begun
        released.set()
        assert [each.result(timeout=30) for each in waiting] == [503, 503]
    assert world.fetches == 2


def test_who_waits_for_a_slow_issuer_waits_bounded_and_one_more_does_not_wait(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring, "MAX_WAITING", 2)
    monkeypatch.setattr(keyring, "WAIT_SECONDS", 1.5)
    ask = world.authenticator
    released = threading.Event()
    keys = world.server.answers["/keys"]
    del keys
    world.server.answers["/keys"] = _slow(released, lambda: b"{}")
    try:
        with ThreadPoolExecutor(2) as pool:
            began = time.perf_counter()
            waiting = [pool.submit(world.fails, ask.identify, OLD) for _ in range(2)]
            eventually(lambda: ask._keyring._waiting == 2)
            late = time.perf_counter()
            assert world.fails(ask.identify, OLD) == 503
            assert time.perf_counter() - late < 1.2
            assert [each.result(timeout=30) for each in waiting] == [503, 503]
            assert 1.4 < time.perf_counter() - began < 10
        assert (ask._keyring._waiting, world.fetches) == (0, 1)
    finally:
        released.set()
    world.settle()


def test_no_thread_to_fetch_with_is_503_and_the_next_one_is_tried_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", start)
        assert world.fails(world.authenticator.identify, OLD) == 503
    assert world.fails(world.authenticator.identify, OLD) == 503
    world.age.now += 10
    assert world.authenticator.identify(world.token(OLD)) == world.alice


def test_a_fetch_that_is_given_in_the_place_of_ours_is_asked_as_ours() -> None:
    asked: list[str] = []

    def fetch(url: str, *, seconds: float) -> bytes:
        asked.append(url)
        assert 0 < seconds <= keyring.FETCH_SECONDS
        raise FetchFailed("no")

    ask = JwtAuthenticator("https://as.example", AUDIENCE, clock=lambda: NOW, fetch=fetch)
    with pytest.raises(Unauthenticated) as caught:
        ask.identify(OLD.token(claims("https://as.example")))
    assert (caught.value.status, len(asked)) == (503, 2)
