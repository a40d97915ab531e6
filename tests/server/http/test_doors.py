"""What is let in: hosts, origins, paths and methods, each spelled exactly."""

from __future__ import annotations

import pytest

from fsnotes.server.http.hosts import Hosts, Origins, default_hosts
from tests.server.http.conftest import Served
from tests.server.http.raw import Raw, ping, posted

SAFE = [("cache-control", "no-store"), ("x-content-type-options", "nosniff")]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1:{port}.evil.example",
        "127.0.0.1:{port}@evil.example",
        "localhost.:{port}",
        "localhost:0{port}",
        "[::1]:{port}",
        "[::ffff:127.0.0.1]:{port}",
        "127.1:{port}",
        "2130706433:{port}",
        "0.0.0.0:{port}",
        "",
    ],
)
def test_another_host_is_misdirected_and_nothing_is_served(raw: Raw, host: str) -> None:
    """A page that rebinds its name to this address sends its own name, whatever it resolves to."""
    answer = raw.post(ping(), {"Host": host.format(port=raw.port)})
    assert (answer.status, answer.fields[1:3]) == (421, SAFE)
    assert b"result" not in answer.body


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}"])
def test_its_own_hosts_are_served(raw: Raw, host: str) -> None:
    assert raw.post(ping(), {"Host": host.format(port=raw.port)}).status == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/.well-known/oauth-protected-resource", "/"])
def test_another_host_is_misdirected_on_every_path(guarded: Served, path: str) -> None:
    with guarded.connect() as raw:
        assert raw.get(path, Host="evil.example").status == 421


@pytest.mark.parametrize("lines", ["", "Host: 127.0.0.1:{port}\r\nHost: evil.example\r\n"])
def test_no_host_and_two_hosts_are_no_request(raw: Raw, lines: str) -> None:
    raw.send(f"GET /healthz HTTP/1.1\r\n{lines.format(port=raw.port)}\r\n".encode())
    assert raw.read().status == 400
    assert raw.is_closed()


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "", "http://127.0.0.1:{port}", "https://app.example.org.evil.example"],
)
def test_an_origin_that_is_not_listed_is_forbidden(raw: Raw, origin: str) -> None:
    assert raw.post(ping(), {"Origin": origin.format(port=raw.port)}).status == 403


def test_listed_origins_alone_are_let_in() -> None:
    origins = Origins(["https://app.example.org", "http://localhost:3000"])
    good = [b"https://app.example.org", b"http://localhost:3000"]
    assert all(origins.admit([value]) for value in good)
    assert origins.admit([])
    bad = [
        b"http://app.example.org",
        b"https://app.example.org:443",
        b"https://app.example.org/",
        b"HTTPS://app.example.org",
        b"http://localhost:30000",
        b"null",
    ]
    assert [value for value in bad if origins.admit([value])] == []
    assert not origins.admit(good)
    assert Origins(["null"]).admit([b"null"])


def test_a_name_that_is_listed_is_a_host_and_its_neighbours_are_not() -> None:
    hosts = Hosts(["notes.example.org", "[::1]:8931"])
    assert hosts.admit([b"notes.example.org"])
    assert hosts.admit([b"[::1]:8931"])
    bad = [b"notes.example.org:8931", b"notes.example.org.", b"[0:0:0:0:0:0:0:1]:8931", b"::1:8931", b"[::1]"]
    assert [value for value in bad if hosts.admit([value])] == []
    assert not hosts.admit([])
    assert not hosts.admit([b"notes.example.org", b"notes.example.org"])


def test_hosts_are_what_is_bound_to_and_localhost_unless_they_are_listed() -> None:
    assert default_hosts("127.0.0.1", 8931) == {"127.0.0.1:8931", "localhost:8931"}
    assert default_hosts("::1", 8931) == {"[::1]:8931", "localhost:8931"}
    assert default_hosts("Notes.local", 80) == {"notes.local:80", "localhost:80", "notes.local", "localhost"}


@pytest.mark.parametrize(
    "path", ["/", "/mcp/", "/mcp/x", "/MCP", "/%6dcp", "//mcp", "/./mcp", "/metrics", "/.well-known/x", "*"]
)
def test_there_is_nothing_at_another_path(raw: Raw, path: str) -> None:
    assert raw.post(ping(), path=path).status == 404


def test_the_endpoint_in_a_whole_url_is_another_path(raw: Raw) -> None:
    assert raw.post(ping(), path=f"http://127.0.0.1:{raw.port}/mcp").status == 404


def test_a_query_changes_nothing(raw: Raw) -> None:
    assert raw.post(ping(), path="/mcp?x=1").status == 200


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "OPTIONS", "HEAD", "post", "TRACE"])
def test_only_post_is_served_at_the_endpoint(raw: Raw, method: str) -> None:
    answer = raw.get("/mcp", method=method)
    assert (answer.status, answer.field("allow")) == (405, "POST")


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_whether_it_is_well_is_told_to_everybody_and_nothing_else(guarded: Served, path: str) -> None:
    with guarded.connect() as raw:
        answer = raw.get(path)
        assert raw.is_closed()
        assert (answer.status, answer.body) == (200, {"/healthz": b"ok\n", "/readyz": b"ready\n"}[path])
        assert {name for name, _ in answer.fields} == {
            "date", "cache-control", "x-content-type-options", "content-type", "content-length", "connection",
        }  # fmt: skip
    with guarded.connect() as raw:
        head = raw.get(path, method="HEAD")
        assert (head.status, head.body) == (200, b"")
    with guarded.connect() as raw:
        assert raw.get(path, method="POST").field("allow") == "GET, HEAD"


def test_no_response_names_the_server(plain: Served, raw: Raw) -> None:
    answers = [raw.post(ping())]
    for path in ("/mcp", "/x", "/healthz"):
        with plain.connect() as other:
            answers.append(other.get(path))
    for answer in answers:
        assert (answer.field("server"), answer.fields[1:3]) == (None, SAFE)
    raw.send(b"no request\r\n\r\n")
    answer = raw.read()
    assert (answer.status, answer.field("server"), answer.fields[:2]) == (400, None, SAFE)


def test_a_good_request_after_a_refused_one_is_served_on_the_same_connection(raw: Raw) -> None:
    assert raw.post(b"{").status == 400
    assert raw.post(ping(), {"Content-Type": None}).field("connection") == "close"
    assert raw.is_closed()


def test_who_proved_who_calls_keeps_the_connection_and_nobody_else(guarded: Served) -> None:
    """Else strangers could hold every connection there may be, by asking something of each now and then."""
    with guarded.connect() as raw:
        for _ in range(3):
            answer = raw.post(ping(), bearer="alice-token")
            assert (answer.status, answer.field("connection")) == (200, None)
        assert raw.get("/healthz").field("connection") == "close"
    for path, method, status in (
        ("/healthz", "GET", 200), ("/readyz", "GET", 200), ("/x", "GET", 404), ("/mcp", "GET", 405),
        ("/mcp", "POST", 401),
    ):  # fmt: skip
        with guarded.connect() as raw:
            answer = raw.get(path, method=method)
            assert (answer.status, answer.field("connection")) == (status, "close")
            assert raw.is_closed()


def test_after_a_body_that_nobody_read_the_connection_ends(raw: Raw) -> None:
    answer = raw.post(ping(), {"Host": "evil.example"})
    assert (answer.status, answer.field("connection")) == (421, "close")
    assert raw.is_closed()


def test_what_is_sent_before_the_answer_is_not_taken_for_a_request(raw: Raw) -> None:
    """Requests in a row are not served: the second of them may not be what the proxy in front thinks it is."""
    raw.send(posted(ping(1), port=raw.port) + posted(ping(2), port=raw.port))
    answer = raw.read()
    assert (answer.message["id"], answer.field("connection")) == (1, "close")
    assert raw.is_closed()
