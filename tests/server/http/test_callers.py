"""Who calls: one bearer token in one header, and nothing of a request is read for whoever bears none."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from fsnotes.server.http.callers import MAX_WAITING
from tests.server.http.conftest import Served
from tests.server.http.hosting import CHALLENGE, METADATA
from tests.server.http.raw import Fields, ping, posted
from tests.server.wire import call

WHO = call(1, "notes_read", {"workspaceUri": "file:///x", "path": "call"})


def who(message: dict[str, object]) -> str:
    result = message["result"]
    assert isinstance(result, dict)
    return str(result["content"][1]["text"]).split(" ")[0]


@pytest.mark.parametrize(
    "value",
    ["Bearer alice-token", "bearer alice-token", "BEARER  alice-token", "Bearer alice-slow"],
)
def test_whoever_bears_a_token_is_its_principal(guarded: Served, value: str) -> None:
    with guarded.connect() as raw:
        assert who(raw.post(WHO, {"Authorization": value}).message) == "token:alice"


def test_each_request_is_its_own_bearer_s_on_one_connection(guarded: Served) -> None:
    with guarded.connect() as raw:
        names = [who(raw.post(WHO, bearer=f"{name}-token").message) for name in ("alice", "bob", "alice")]
        assert names == ["token:alice", "token:bob", "token:alice"]
        assert raw.post(WHO).status == 401


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "alice-token"},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer alice-token x"},
        {"Authorization": "Bearer alice-token, Bearer alice-token"},
        {"Authorization": "Bearer alice-token;x"},
        {"Authorization": "Basic YWxpY2U6eA=="},
        {"Authorization": "Bearer\talice-token"},
        {"Authorization": "Bearer al\u00eece-token"},
        {"Authorization": "Bearer alice-token\r\nAuthorization: Bearer alice-token"},
        {"Authorization": "Bearer " + "a" * 8200 + "-token"},
        {"Proxy-Authorization": "Bearer alice-token"},
        {"X-Authorization": "Bearer alice-token"},
        {"Cookie": "access_token=alice-token"},
    ],
)
def test_whoever_bears_no_token_is_challenged_and_nothing_is_done(guarded: Served, fields: Fields) -> None:
    body = call(1, "notes_create", {"workspaceUri": "file:///x", "path": "nobody.md", "content": "x"})
    with guarded.connect() as raw:
        answer = raw.post(body, fields)
        assert (answer.status, answer.field("www-authenticate")) == (401, CHALLENGE)
        assert answer.field("connection") == "close"
    assert not (guarded.folder / "nobody.md").exists()


def test_a_token_in_the_query_is_never_looked_at(guarded: Served) -> None:
    with guarded.connect() as raw:
        assert raw.post(ping(), path="/mcp?access_token=alice-token").status == 401
    with guarded.connect() as raw:
        assert raw.post(ping(), path="/mcp?access_token=bob-banned", bearer="alice-token").status == 200


@pytest.mark.parametrize(
    ("token", "status", "more"),
    [("eve-unknown", 401, 'error="invalid_token"'), ("eve-banned", 403, 'error="insufficient_scope"')],
)
def test_credentials_that_prove_nobody_or_too_little_are_refused(
    guarded: Served, token: str, status: int, more: str
) -> None:
    with guarded.connect() as raw:
        answer = raw.post(ping(), bearer=token)
        assert (answer.status, answer.field("www-authenticate")) == (status, f"{CHALLENGE}, {more}")
        assert token.encode() not in answer.body


@pytest.mark.parametrize("token", ["eve-down", "eve-crash"])
def test_where_it_cannot_be_found_out_nobody_is_let_in(guarded: Served, token: str) -> None:
    with guarded.connect() as raw:
        answer = raw.post(ping(), bearer=token)
        assert (answer.status, answer.field("retry-after")) == (503, "1")
        assert answer.field("www-authenticate") is None


def test_who_calls_is_asked_after_the_host_and_before_anything_of_the_body(guarded: Served) -> None:
    large = {"Content-Length": str(10**12)}
    with guarded.connect() as raw:
        assert raw.post(b"", {**large, "Host": "evil.example"}).status == 421
    with guarded.connect() as raw:
        assert raw.post(b"", {**large, "Origin": "http://evil.example"}).status == 403
    for fields in (large, {"Content-Type": "text/plain"}, {"Accept": "text/html"}):
        with guarded.connect() as raw:
            assert raw.post(b"{", fields).status == 401
    with guarded.connect() as raw:
        assert raw.post(b"", large, bearer="alice-token").status == 413


def test_an_id_less_message_needs_credentials_too(guarded: Served) -> None:
    with guarded.connect() as raw:
        assert raw.post({"jsonrpc": "2.0", "method": "x"}, bearer="alice-token").status == 202
        assert raw.post({"jsonrpc": "2.0", "method": "x"}).status == 401


def test_who_takes_long_to_identify_holds_up_nobody_who_is_known(serving: Callable[..., Served]) -> None:
    served = serving(auth="issued")
    stuck = [served.connect() for _ in range(MAX_WAITING)]
    try:
        for number, raw in enumerate(stuck):
            raw.send(posted(ping(number), port=served.port, bearer=f"n{number}-stuck"))
        for number in range(4):
            served.await_file(f"n{number}.begun")
        with served.connect() as raw:
            # One more waits for nothing: there is a bound on how many wait.
            assert raw.post(ping(), bearer="eve-stuck").status == 503
        with served.connect() as raw:
            assert raw.post(ping(), bearer="alice-token").status == 200
        for number in range(MAX_WAITING):
            (served.folder / f"n{number}.go").touch()
        assert [raw.read().message["id"] for raw in stuck] == list(range(MAX_WAITING))
        with served.connect() as raw:
            assert raw.post(ping(), bearer="eve-slow").status == 200
    finally:
        for raw in stuck:
            raw.socket.close()


@pytest.mark.parametrize("path", ["", "/mcp"])
def test_the_resource_s_metadata_is_told_to_everybody(guarded: Served, path: str) -> None:
    with guarded.connect() as raw:
        answer = raw.get(f"/.well-known/oauth-protected-resource{path}")
        assert (answer.status, json.loads(answer.body), answer.field("content-type")) == (
            200,
            METADATA,
            "application/json",
        )
    with guarded.connect() as raw:
        assert raw.get(f"/.well-known/oauth-protected-resource{path}", method="POST").status == 405


@pytest.mark.parametrize("path", ["/", "/mcp/", "/other", "x"])
def test_there_is_no_metadata_of_another_resource(guarded: Served, path: str) -> None:
    with guarded.connect() as raw:
        assert raw.get(f"/.well-known/oauth-protected-resource{path}").status == 404


def test_without_an_authorization_server_there_is_no_metadata(plain: Served) -> None:
    with plain.connect() as raw:
        assert raw.get("/.well-known/oauth-protected-resource").status == 404


def test_without_authentication_credentials_change_nothing(plain: Served) -> None:
    with plain.connect() as raw:
        assert who(raw.post(WHO, bearer="alice-token").message) == "local:scripted"


def test_nothing_of_a_token_is_logged(serving: Callable[..., Served]) -> None:
    served = serving(auth="issued")
    for kind in ("unknown", "crash", "down", "banned"):
        with served.connect() as raw:
            assert raw.post(ping(), bearer=f"secret-{kind}").status in (401, 403, 503)
    served.process.terminate()
    code, log = served.end()
    assert (code, b"secret" in log, b"RuntimeError" in log) == (0, False, True)
