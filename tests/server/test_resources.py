"""Resources over the wire: whole results of the real service, and what is answered where there is none."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fsnotes
from tests.server.conftest import Vault
from tests.server.http.conftest import Served, plain, serving  # noqa: F401 - fixtures
from tests.server.http.raw import posted
from tests.server.wire import SERVER_KEY, Frame, Wire, call, envelope, error, request

SIGNED = {SERVER_KEY: {"name": "fsnotes", "title": "fsnotes", "version": fsnotes.__version__}}


def result(wire: Wire, method: str, params: Any = None) -> Frame:
    answer = wire.ask(request(1, method, params))
    assert "result" in answer, answer
    found: Frame = answer["result"]
    assert found.pop("_meta") == SIGNED
    return found


def test_a_server_says_what_it_serves_and_nothing_more(running: Vault) -> None:
    discovered = result(running.wire, "server/discover")
    assert discovered["capabilities"] == {
        "completions": {},
        "prompts": {},
        "resources": {"listChanged": True, "subscribe": True},
        "tools": {},
    }
    assert running.uri not in json.dumps(discovered)


def test_notes_are_listed_read_and_completed(vault: Vault) -> None:
    """Once with a worker of each kind, as a server has them."""
    vault.write("sub/caf\u00e9 1.md", "# Caf\u00e9\r\n\u2028\U0001f600")
    wire = vault.serve()
    uri = f"{vault.uri}/sub/caf%C3%A9%201.md"
    listed = result(wire, "resources/list")
    assert listed["resources"][0].pop("annotations").keys() == {"lastModified"}
    assert listed == {
        "cacheScope": "private",
        "resources": [
            {"mimeType": "text/markdown", "name": "sub/caf\u00e9 1.md", "size": 16, "title": "Caf\u00e9", "uri": uri}
        ],
        "resultType": "complete",
        "ttlMs": 5_000,
    }  # fmt: skip
    template = f"{vault.uri}/{{+path}}"
    assert result(wire, "resources/templates/list") == {
        "cacheScope": "private",
        "resourceTemplates": [
            {
                "description": "A note by its path in the workspace, with its suffix.",
                "mimeType": "text/markdown",
                "name": "Notes",
                "uriTemplate": template,
            }
        ],
        "resultType": "complete",
        "ttlMs": 3_600_000,
    }
    assert result(wire, "resources/read", {"uri": uri}) == {
        "cacheScope": "private",
        "contents": [{"mimeType": "text/markdown", "text": "# Caf\u00e9\r\n\u2028\U0001f600", "uri": uri}],
        "resultType": "complete",
        "ttlMs": 0,
    }
    typed = {
        "ref": {"type": "ref/resource", "uri": template},
        "argument": {"name": "path", "value": "CAF%C3%A"},
    }
    assert result(wire, "completion/complete", typed) == {
        "completion": {"hasMore": False, "total": 1, "values": ["sub/caf%C3%A9%201.md"]},
        "resultType": "complete",
    }


def test_pages_follow_each_other_and_a_foreign_cursor_is_refused(vault: Vault) -> None:
    names = [f"{number:03}.md" for number in range(230)]
    for name in names:
        vault.write(name, "x")
    wire = vault.serve("--jail", "off")
    found: list[str] = []
    params: dict[str, str] = {}
    for _ in range(3):
        page = result(wire, "resources/list", params)
        assert (page["cacheScope"], page["ttlMs"]) == ("private", 5_000)
        found += [each["name"] for each in page["resources"]]
        params = {"cursor": page["nextCursor"]} if "nextCursor" in page else {}
    assert (found, params) == (names, {})
    for method in ("resources/list", "resources/templates/list", "prompts/list"):
        assert wire.ask(request(1, method, {"cursor": "x"})) == error(1, -32602, "Invalid cursor")
    foreign = wire.call("notes_list", vault.args(limit=1))["result"]["structuredContent"]["nextCursor"]
    assert wire.ask(request(1, "resources/list", {"cursor": foreign})) == error(1, -32602, "Invalid cursor")


def test_what_is_not_there_and_what_is_not_allowed_are_told_by_the_same_words(running: Vault) -> None:
    vault = running
    vault.write("a.md", "text")
    vault.write(".hidden.md", "text")
    outside = Path(vault.folder.parent, "outside.md")
    outside.write_text("secret")
    (vault.folder / "link.md").symlink_to(outside)
    wire = vault.wire
    for uri in (
        f"{vault.uri}/none.md", f"{vault.uri}/.hidden.md", f"{vault.uri}/link.md", f"{vault.uri}/a", outside.as_uri(),
        f"{vault.uri}/../outside.md", f"{vault.uri}/%2e%2e/outside.md", vault.uri, "", "file:///", "\u0000",
    ):  # fmt: skip
        answer = wire.ask(request(1, "resources/read", {"uri": uri}))
        assert answer == error(1, -32602, "Resource not found", {"uri": uri})
    long = "file:///" + "x" * 3_000
    assert wire.ask(request(1, "resources/read", {"uri": long})) == error(1, -32602, "Resource not found")
    assert result(wire, "resources/read", {"uri": f"{vault.uri}/a.md"})["contents"][0]["text"] == "text"


def test_a_note_that_cannot_be_read_whole_is_refused_with_what_it_is(running: Vault) -> None:
    vault = running
    (vault.folder / "bad.md").write_bytes(b"\xff")
    wire = vault.wire
    refusal = wire.ask(request(1, "resources/read", {"uri": f"{vault.uri}/bad.md"}))["error"]
    assert (refusal["code"], refusal["message"].partition(":")[0]) == (-32602, "not_text")


def test_a_state_that_nobody_asked_for_is_refused(running: Vault) -> None:
    vault = running
    vault.write("a.md", "text")
    wire = vault.wire
    asked = {"uri": f"{vault.uri}/a.md", "requestState": "x"}
    answer = wire.ask(request(1, "resources/read", asked))
    assert answer == error(1, -32602, "Invalid or expired requestState")


@pytest.mark.parametrize("odd", [{}, {"org.example/odd": 1}], ids=["plainly", "by the SDK"])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/list", {}),
        ("tools/list", {}),
        ("server/discover", {}),
        ("subscriptions/listen", {"notifications": {"resourcesListChanged": True}}),
    ],
    ids=["work", "fixed", "discovery", "a stream"],
)
def test_a_state_that_nobody_asked_for_is_refused_over_http_too(
    plain: Served,  # noqa: F811 - a fixture
    method: str,
    params: dict[str, Any],
    odd: dict[str, Any],
) -> None:
    asked = request(1, method, {**params, "requestState": "x"}, meta={**envelope(), **odd})
    with plain.connect() as connection:
        answer = connection.post(asked)
    assert (answer.status, answer.message) == (400, error(1, -32602, "Invalid or expired requestState"))


CONFIG = """
[[workspace]]
name = "notes"
path = "{folder}"
[[grant]]
principal = "token:alice"
workspace = "notes"
allow = ["read", "write"]
[[grant]]
principal = "token:bob"
workspace = "notes"
folder = "shared"
allow = ["read"]
"""


def ask(served: Served, caller: str, method: str, uri: str | None = None) -> Any:
    """Ask as the principal *caller*; return the result, or the error."""
    body = request(1, method, {} if uri is None else {"uri": uri})
    named = None if uri is None else "=?base64?" + base64.b64encode(uri.encode()).decode() + "?="
    with served.connect() as raw:
        raw.send(posted(body, {"Mcp-Name": named}, port=served.port, bearer=f"{caller}-token"))
        message = raw.read().message
    return message.get("result") or message["error"]


def test_two_principals_over_http_see_what_each_was_granted(
    serving: Callable[..., Served],  # noqa: F811 - a fixture
    tmp_path: Path,
) -> None:
    folder = tmp_path / "Notes"
    for path in ("private.md", "shared/a.md"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)
    config = tmp_path / "config.toml"
    config.write_text(CONFIG.format(folder=folder))
    served = serving(config=str(config), auth="issued")
    uris = {name: f"{folder.as_uri()}/{path}" for name, path in (("a", "shared/a.md"), ("p", "private.md"))}
    for _ in range(2):
        seen = {
            name: [each["uri"] for each in ask(served, name, "resources/list")["resources"]]
            for name in ("alice", "bob", "carol")
        }
        assert seen == {"alice": [uris["p"], uris["a"]], "bob": [uris["a"]], "carol": []}
        for name, allowed in (("alice", "pa"), ("bob", "a"), ("carol", "")):
            for key, uri in uris.items():
                read = ask(served, name, "resources/read", uri)
                if key in allowed:
                    assert read["contents"][0]["uri"] == uri
                else:
                    assert read == {"code": -32602, "message": "Resource not found", "data": {"uri": uri}}


def test_what_reads_counts_as_a_request_over_http(
    serving: Callable[..., Served],  # noqa: F811 - a fixture
    tmp_path: Path,
) -> None:
    folder = tmp_path / "Notes"
    folder.mkdir()
    (folder / "a.md").write_text("text")
    config = tmp_path / "config.toml"
    config.write_text(CONFIG.format(folder=folder))
    served = serving(config=str(config), auth="issued", http={"calls_per_second": 0.001, "call_burst": 1})
    assert "resources" in ask(served, "alice", "resources/list")
    with served.connect() as raw:
        raw.send(posted(request(1, "resources/list"), port=served.port, bearer="alice-token"))
        assert raw.read().status == 429
    assert "resources" in ask(served, "bob", "resources/list")
    with served.connect() as raw:
        raw.send(posted(call(1, "notes_workspaces"), port=served.port, bearer="alice-token"))
        assert raw.read().message["result"]["isError"] is True
