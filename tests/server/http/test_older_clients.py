"""Clients of revisions 2025-11-25 and 2025-06-18 over HTTP, where somebody has switched them on: each POST for itself.

Sources: the pages "Lifecycle" and "Transports" of both revisions.
"""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import ElicitResult

import fsnotes
from fsnotes.calls import local_principal
from tests.server.http.conftest import Served, serve, stop
from tests.server.http.raw import Answer, Fields, Raw, ping, posted
from tests.server.older import FORMS, NEWEST, REVISIONS, accept, ask, call, cancel, note, opening
from tests.server.wire import VERSION, VERSION_KEY, envelope, request
from tests.server.wire import accept as answers
from tests.server.wire import call as modern

SECONDS = 60
NOTES = {"a.md": "# A\n", "b.md": "# B\n"}
NOBODY = "not_allowed: a person must confirm this and cannot be asked here; nothing was done, run it in a terminal: "
UNASKED = {"Mcp-Method": None, "Mcp-Name": None}
URI = "file:///x"

Start = Callable[..., Served]


def carried(version: str | None = NEWEST, **more: str | None) -> Fields:
    """The header fields of an older client: the version, once it knows it, and none that only newer ones send."""
    return {"MCP-Protocol-Version": version, **UNASKED, **more}


def granted(folder: Path, principals: Mapping[str, str]) -> str:
    """A configuration in which each principal has one folder of the two."""
    text = ""
    for name, principal in principals.items():
        (folder / name).mkdir(parents=True)
        text += (
            f'[[workspace]]\nname = "{name}"\npath = "{folder / name}"\n[[grant]]\nprincipal = "{principal}"\n'
            f'workspace = "{name}"\nallow = ["read", "write", "delete"]\n'
        )
    file = folder / "the fsnotes.toml"
    file.write_text(text)
    return str(file)


class Vault:
    """A folder of its own on a server that serves both kinds of clients."""

    def __init__(self, served: Served, folder: Path) -> None:
        self.served, self.folder = served, folder
        for path, text in NOTES.items():
            (folder / path).write_text(text)

    def args(self, **more: Any) -> dict[str, Any]:
        return {"workspaceUri": self.folder.as_uri(), **more}

    def files(self) -> dict[str, str]:
        return {str(path.relative_to(self.folder)): path.read_text() for path in self.folder.rglob("*.md")}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, list[Path]]]:
    home = tmp_path_factory.mktemp("both")
    names = [f"n{number}" for number in range(12)]
    config = granted(home, dict.fromkeys(names, local_principal().name))
    served = serve(home, config=config, legacy=True)
    yield served, [home / name for name in names]
    stop(served)


@pytest.fixture
def vault(folders: tuple[Served, list[Path]]) -> Vault:
    """Two notes in a folder that no other test has seen."""
    served, unused = folders
    return Vault(served, unused.pop())


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with scripted tools that serves both kinds of clients."""
    served = serve(tmp_path_factory.mktemp("scripted"), legacy=True)
    yield served
    stop(served)


@pytest.fixture
def older(both: Served) -> Iterator[Raw]:
    with both.connect() as made:
        yield made


def line(answer: Answer) -> str:
    """The one line of a call that failed, in exactly the shape of these revisions."""
    result = answer.message["result"]
    text: str = result["content"][0]["text"]
    assert (answer.status, result) == (200, {"content": [{"type": "text", "text": text}], "isError": True})
    return text


def assert_no_session(answer: Answer) -> None:
    assert answer.field("mcp-session-id") is None
    assert answer.field("set-cookie") is None


# -- the opening -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "spoken"),
    [*zip(REVISIONS, REVISIONS, strict=True), ("2025-03-26", NEWEST), ("2099-01-01", NEWEST)],
)
def test_an_opening_is_answered_and_begins_no_session(older: Raw, asked: str, spoken: str) -> None:
    answer = older.post(opening(asked), carried(None, **{"Mcp-Session-Id": "mine"}))
    assert answer.status == 200
    assert_no_session(answer)
    result = answer.message["result"]
    assert isinstance(result.pop("instructions"), str)
    assert result == {
        "protocolVersion": spoken,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "fsnotes", "title": "fsnotes", "version": fsnotes.__version__},
    }


@pytest.mark.parametrize(
    "params", [None, {}, {"protocolVersion": 5, "capabilities": {}}, {"protocolVersion": NEWEST}]
)
def test_an_opening_that_says_nothing_of_use_is_refused(older: Raw, params: Any) -> None:
    answer = older.post(ask(1, "initialize", params), carried(None))
    assert (answer.status, answer.code) == (200, -32602)


def test_notifications_are_accepted_and_do_nothing(older: Raw) -> None:
    for message in (
        note("notifications/initialized"),
        cancel(1),
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "notes_create", "arguments": {}}},
    ):
        answer = older.post(message, carried())
        assert (answer.status, answer.body) == (202, b"")
        assert_no_session(answer)


def test_an_answer_is_taken_from_nobody(older: Raw) -> None:
    answer = older.post({"jsonrpc": "2.0", "id": "fsnotes-1", "result": accept("a.md")}, carried())
    assert answer.status == 400


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_there_is_no_stream_and_no_session_to_end(older: Raw, method: str) -> None:
    fields = {"MCP-Protocol-Version": NEWEST, "Mcp-Session-Id": "mine", "Accept": "text/event-stream"}
    answer = older.get("/mcp", method=method, **fields)
    assert (answer.status, answer.field("allow")) == (405, "POST")
    assert_no_session(answer)


# -- requests --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [*REVISIONS, None])
def test_each_request_is_served_for_itself(vault: Vault, version: str | None) -> None:
    """Nothing is said before it, and a session's id is not looked at."""
    fields = carried(version, **{"Mcp-Session-Id": "of another server"})
    with vault.served.connect() as raw:
        assert raw.post(ask("p", "ping"), fields).message == {"jsonrpc": "2.0", "id": "p", "result": {}}
        tools = raw.post(ask(1, "tools/list"), fields).message["result"]
        assert tools == {"tools": raw.post(request(1, "tools/list")).message["result"]["tools"]}
        read = raw.post(call(2, "notes_read", vault.args(path="a")), fields)
        assert_no_session(read)
        result = read.message["result"]
        assert (result.keys(), result["isError"]) == ({"content", "isError"}, False)
        assert result["content"][1]["text"] == NOTES["a.md"]
        made = raw.post(call(3, "notes_create", vault.args(path="c", content="# C\n")), fields)
        result = made.message["result"]
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        assert vault.files() == {**NOTES, "c.md": "# C\n"}
        missing = raw.post(call(4, "notes_read", vault.args(path="nowhere")), fields)
        assert line(missing).startswith("not_found: ")


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/list", {}),
        ("resources/subscribe", {"uri": "file:///x/a.md"}),
        ("resources/unsubscribe", {"uri": "file:///x/a.md"}),
        ("logging/setLevel", {"level": "debug"}),
        ("prompts/list", {}),
        ("completion/complete", {}),
        ("tasks/list", {}),
        ("server/discover", {}),
        ("subscriptions/listen", {}),
        ("made/up", None),
    ],
)
def test_what_was_not_declared_is_not_found(older: Raw, method: str, params: Any) -> None:
    """With the status of a message that was taken: 404 would tell such a client that its session has ended."""
    answer = older.post(ask(1, method, params), carried())
    assert (answer.status, answer.code) == (200, -32601)


@pytest.mark.parametrize(
    "params",
    [
        {"name": "made_up"},
        {"name": 5},
        {},
        {"name": "notes_read", "arguments": []},
        {"name": "x", "_meta": 5},
    ],
)
def test_a_call_of_no_tool_is_an_error_of_the_request(older: Raw, params: Any) -> None:
    answer = older.post(ask(1, "tools/call", params), carried())
    assert (answer.status, answer.code) == (200, -32602)


def test_an_error_never_carries_an_exception(older: Raw, both: Served) -> None:
    answer = older.post(call(1, "notes_read", {"workspaceUri": URI, "path": "crash/x"}), carried())
    assert (answer.status, answer.code) == (200, -32603)
    assert b"secret" not in answer.body
    assert str(both.folder).encode() not in answer.body


def test_progress_is_not_told_and_the_answer_is_one_object(older: Raw) -> None:
    arguments = {"workspaceUri": URI, "path": "report/3"}
    answer = older.post(call(1, "notes_read", arguments, _meta={"progressToken": "t"}), carried())
    assert answer.message["result"]["content"][1]["text"] == "3"


# -- deleting --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [*REVISIONS, None])
def test_a_deletion_is_refused_with_the_command_whatever_was_declared(
    vault: Vault, version: str | None
) -> None:
    """What the opening declared was in another request: whose it was, nothing would say."""
    with vault.served.connect() as raw:
        assert raw.post(opening(version or NEWEST, FORMS), carried(None)).status == 200
        assert raw.post(note("notifications/initialized"), carried(version)).status == 202
        said = line(raw.post(call(1, "notes_delete", vault.args(title="A")), carried(version)))
        config = vault.folder.parent / "the fsnotes.toml"
        state = vault.folder.parent / "state"
        assert said == (
            f"{NOBODY}fsnotes delete -w {vault.folder.name} --config '{config}' --state-dir {state} -- A"
        )
        assert vault.files() == NOTES
        none = line(raw.post(call(2, "notes_delete", vault.args(title="nowhere")), carried(version)))
        assert none.startswith("not_found: ")


def test_what_answers_a_form_elsewhere_is_dropped(vault: Vault) -> None:
    """Also with a state that is good: the person's answer belongs to a request of the other kind."""
    delete = {"name": "notes_delete", "arguments": vault.args(title="A")}
    with vault.served.connect() as raw:
        form = raw.call("notes_delete", vault.args(title="A")).message["result"]
        answered = {"requestState": form["requestState"], "inputResponses": answers("a.md")}
        refused = raw.post(ask(1, "tools/call", {**delete, **answered}), carried())
        assert line(refused).startswith(NOBODY)
        assert vault.files() == NOTES
        done = raw.post(modern(2, "notes_delete", vault.args(title="A"), **answered))
        assert done.message["result"]["structuredContent"]["outcome"] == "deleted"
    assert {path: text for path, text in vault.files().items() if path[0] != "."} == {"b.md": "# B\n"}


def test_another_than_who_started_the_server_learns_nothing_of_its_host(
    serving: Start, tmp_path: Path
) -> None:
    """The command has the folder from the caller's own words; and rights are the same for either kind of client."""
    home = tmp_path / "host"
    names = ("alice", "bob")
    config = granted(home, {name: f"token:{name}" for name in names})
    served = serving(config=config, auth="plain", legacy=True)
    uris = {name: (home / name).as_uri() for name in names}
    for name in names:
        (home / name / "a.md").write_text(f"# A\n\nsecret-of-{name}\n")
    with served.connect() as raw:
        for name, other in (names, names[::-1]):

            def told(tool: str, uri: str, bearer: str = f"{name}-token", **more: Any) -> Answer:
                arguments = {"workspaceUri": uri, **more}
                return raw.post(call(1, tool, arguments), carried(), bearer=bearer)

            said = line(told("notes_delete", uris[name], title="A"))
            assert said == f"{NOBODY}fsnotes delete -w {home / name} -- A"
            assert f"secret-of-{name}".encode() in told("notes_read", uris[name], path="a").body
            foreign = told("notes_read", uris[other], path="a")
            assert line(foreign).startswith("not_allowed: ")
            assert line(told("notes_delete", uris[other], title="A")) == line(foreign)
    assert sorted(path.name for path in home.rglob("*.md")) == ["a.md", "a.md"]


# -- which revision a request is of ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "meta", "code"),
    [
        (carried(VERSION), None, -32602),
        (carried("2025-03-26"), None, -32602),
        (carried("2024-11-05"), None, -32602),
        (carried("2099-01-01"), None, -32602),
        (carried(""), None, -32602),
        (carried(f"{NEWEST}\r\nMCP-Protocol-Version: {NEWEST}"), None, -32602),
        (carried(f"{NEWEST}, {NEWEST}"), None, -32602),
        (carried(NEWEST, **{"Mcp-Method": "ping"}), None, -32602),
        (carried(NEWEST, **{"Mcp-Name": "x"}), None, -32602),
        (carried(None, **{"Mcp-Method": "ping"}), None, -32602),
        (carried(NEWEST), {VERSION_KEY: 5}, -32602),
        (carried(NEWEST), envelope(version=None), -32602),
        (carried(NEWEST), envelope(), -32020),
        (carried(None), envelope(), -32020),
        (carried(NEWEST), envelope(version=NEWEST), -32022),
    ],
)
def test_whatever_has_a_mark_of_today_s_revision_or_of_none_is_judged_by_today_s(
    older: Raw, plain: Served, fields: Fields, meta: Any, code: int
) -> None:
    """By the same bytes as where no older client is served."""
    for method in ("ping", "initialize"):
        params = {"protocolVersion": NEWEST, "capabilities": {}} | ({"_meta": meta} if meta else {})
        body = ask(1, method, params)
        answer = older.post(body, fields)
        # An opening without an envelope is told which revision there is.
        expected = -32022 if method == "initialize" and meta is None else code
        assert (answer.status, answer.code) == (400, expected)
        with plain.connect() as raw:
            elsewhere = raw.post(body, fields)
        assert (elsewhere.status, elsewhere.body) == (answer.status, answer.body)


def test_off_unless_it_is_switched_on(raw: Raw) -> None:
    opened = raw.post(opening(), carried(None))
    assert (opened.status, opened.code) == (400, -32022)
    assert opened.message["error"]["data"] == {"supported": [VERSION], "requested": NEWEST}
    assert_no_session(opened)
    for version in (*REVISIONS, None):
        assert raw.post(ask(1, "ping"), carried(version)).code == -32602


MODERN = [
    ping(),
    request(1, "tools/list"),
    request(1, "ping"),
    request(1, "initialize", {"protocolVersion": NEWEST, "capabilities": {}}),
    modern(1, "notes_read", {"workspaceUri": URI, "path": "x/y"}),
    modern(1, "notes_read", {"workspaceUri": URI, "path": "crash/y"}),
    modern(1, "notes_read", {"workspaceUri": URI, "path": "forbidden/y"}),
    modern(1, "notes_read", {"workspaceUri": URI}),
    modern(1, "notes_delete", {"workspaceUri": URI, "title": "x"}),
    modern(1, "notes_delete", {"workspaceUri": URI, "title": "x"}, meta=envelope({})),
    modern(1, "made_up"),
    {"jsonrpc": "2.0", "method": "tools/list"},
    {"jsonrpc": "1.0", "id": 1, "method": "tools/list"},
]


def test_requests_of_today_are_answered_with_the_same_bytes_on_a_connection_with_both(
    older: Raw, raw: Raw
) -> None:
    for body in MODERN:
        between = older.post(call(1, "notes_read", {"workspaceUri": URI, "path": "x/y"}), carried())
        assert between.message["result"].keys() == {"content", "isError"}
        here, there = older.post(body), raw.post(body)
        assert (here.status, here.body) == (there.status, there.body), body
        assert sorted(name for name, _ in here.fields) == sorted(name for name, _ in there.fields)


# -- the same front --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"Host": "notes.example.org"}, 421),
        ({"Origin": "http://127.0.0.1"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Encoding": "gzip"}, 415),
        ({"Accept": "text/event-stream"}, 406),
        ({"Accept": "application/json"}, 200),
        ({"Accept": None}, 200),
    ],
)
def test_the_front_is_as_strict_with_them(older: Raw, fields: Fields, status: int) -> None:
    assert older.post(ask(1, "ping"), {**carried(), **fields}).status == status


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "method": "ping"}', 400, -32700),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', 400, -32600),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', 400, -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": NaN}}', 400, -32700),
        (b" " * 65_537, 413, -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}', 200, None),
    ],
)
def test_a_message_is_judged_as_strictly(older: Raw, body: bytes, status: int, code: int | None) -> None:
    answer = older.post(body, carried())
    assert (answer.status, answer.code) == (status, code)


def test_nobody_is_served_without_proof(serving: Start) -> None:
    served = serving(auth="plain", legacy=True)
    for body in (opening(), ask(1, "ping"), ask(1, "tools/list")):
        with served.connect() as raw:
            refused = raw.post(body, carried())
            assert (refused.status, refused.field("connection")) == (401, "close")
            assert refused.field("www-authenticate") is not None
        with served.connect() as raw:
            assert raw.post(body, carried(), bearer="alice-banned").status == 403
        with served.connect() as raw:
            assert raw.post(body, carried(), bearer="alice-token").status == 200


def waiting(name: str) -> dict[str, Any]:
    return call(1, "notes_read", {"workspaceUri": URI, "path": f"wait/{name}"})


def test_calls_under_way_and_requests_per_second_are_bounded_for_them(serving: Start) -> None:
    served = serving(
        legacy=True,
        auth="plain",
        http={"max_calls_per_principal": 1, "calls_per_second": 0.001, "call_burst": 4},
    )
    with served.connect() as first, served.connect() as second:
        first.send(posted(waiting("one"), carried(), port=served.port, bearer="alice-token"))
        served.await_file("one.begun")
        full = second.post(waiting("two"), carried(), bearer="alice-token")
        assert line(full).startswith("limit: ")
        assert second.post(ask(1, "ping"), carried(), bearer="alice-token").status == 200
        (served.folder / "one.go").touch()
        assert first.read().message["result"]["isError"] is False
        other = call(1, "notes_read", {"workspaceUri": URI, "path": "x/y"})
        assert second.post(other, carried(), bearer="alice-token").message["result"]["isError"] is False
        assert second.post(other, carried(), bearer="alice-token").status == 429
        assert not (served.folder / "two.begun").exists()
    with served.connect() as third:
        assert third.post(other, carried(), bearer="bob-token").status == 200


def test_whoever_hangs_up_has_given_up(serving: Start) -> None:
    served = serving(legacy=True)
    with served.connect() as raw:
        raw.send(posted(waiting("one"), carried(), port=served.port))
        served.await_file("one.begun")
    with served.connect() as raw:
        assert raw.post(cancel(1), carried()).status == 202
        raw.send(posted(waiting("two"), carried(), port=served.port))
        served.await_file("two.begun")
        (served.folder / "two.go").touch()
        assert raw.read().status == 200
        time.sleep(0.1)  # as long as it takes to see that nobody waits
        (served.folder / "one.go").touch()
        served.await_file("one.abandoned")
        assert not (served.folder / "two.abandoned").exists()


def test_what_is_under_way_is_answered_when_the_server_ends(serving: Start) -> None:
    served = serving(legacy=True)
    with served.connect() as raw:
        raw.send(posted(waiting("one"), carried(), port=served.port))
        served.await_file("one.begun")
        served.process.send_signal(signal.SIGTERM)
        (served.folder / "one.go").touch()
        assert raw.read().message["result"]["isError"] is False
    assert served.end() == (0, b"")


# -- a client that others wrote --------------------------------------------------------------------


def test_the_official_client_in_its_older_era_is_served(vault: Vault) -> None:
    async def person(_: Any, __: Any) -> ElicitResult:
        raise AssertionError("nobody can be asked")

    async def story() -> list[Any]:
        url = f"http://127.0.0.1:{vault.served.port}/mcp"
        async with Client(url, mode="legacy", elicitation_callback=person) as mcp:
            assert mcp.protocol_version == NEWEST
            assert len((await mcp.list_tools()).tools) > 10
            made = await mcp.call_tool("notes_create", vault.args(path="c", content="# C\n"))
            read = await mcp.call_tool("notes_read", vault.args(path="c"))
            deleted = await mcp.call_tool("notes_delete", vault.args(title="C"))
            return [made, read, deleted]

    made, read, deleted = asyncio.run(asyncio.wait_for(story(), SECONDS))
    assert (made.is_error, read.content[1].text) == (False, "# C\n")
    assert (deleted.is_error, deleted.content[0].text[: len(NOBODY)]) == (True, NOBODY)
    assert vault.files() == {**NOTES, "c.md": "# C\n"}
