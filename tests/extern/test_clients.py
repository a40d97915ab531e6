"""Clients that others wrote do with notes what they are for: each SDK, in each era, over each transport.

The folder is looked at after each act, past the server: what a client is told has to be what is there.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import FSNOTES, Shell
from tests.extern.packages import Packages
from tests.extern.peer import FORMS, SCRIPTS, URLS, Peer, Refused
from tests.extern.serving import OLDER_OVER_HTTP, at_home, over_http

pytestmark = [pytest.mark.extern, pytest.mark.timeout(180)]

MODERN = "2026-07-28"
OLDER = "2025-11-25"
TRASHED = re.compile(r"\.trash/\d{8}T\d{6}Z-[0-9a-f]{32}/")


@dataclass(frozen=True)
class Way:
    """Which client comes, how it opens, and over what."""

    sdk: str
    era: str
    transport: str

    @property
    def is_older(self) -> bool:
        """Whether it ends up with a revision that begins with a handshake."""
        return self.era == "legacy"

    @property
    def is_asked(self) -> bool:
        """Whether it is asked before a note is deleted; an older one is over stdio alone."""
        return not (self.is_older and self.transport == "http")

    def __str__(self) -> str:
        return f"{self.sdk}, {self.era}, {self.transport}"


WAYS = [
    *(Way(sdk, era, "stdio") for sdk in ("typescript 2", "python 2") for era in ("modern", "auto", "legacy")),
    *(Way(sdk, era, "http") for sdk in ("typescript 2", "python 2") for era in ("modern", "auto")),
    Way("typescript 1", "legacy", "stdio"),
    *(Way(sdk, "legacy", "http") for sdk in SCRIPTS if OLDER_OVER_HTTP),
]


@contextmanager
def server_of(way: Way, shell: Shell) -> Iterator[Mapping[str, Any]]:
    """Give what a client needs to reach a server of the person's notes."""
    if way.transport == "http":
        with over_http(shell, *(("--legacy", "on") if way.is_older else ())) as url:
            yield {"url": url}
    else:
        command, *words = FSNOTES
        yield {"command": command, "args": [*words, "serve", str(shell.vault)], "env": shell.environ()}


class Meeting:
    """One client and the person's home that it works on, for all tests of a way: starting takes longer than they do."""

    def __init__(self, way: Way, shell: Shell, peer: Peer, server: Mapping[str, Any]) -> None:
        self._way, self._shell, self._peer, self._server = way, shell, peer, server
        self._shown: Any = "not connected"

    def connected(self, elicitation: Any = FORMS) -> Peer:
        """Return the client, on a connection that says that it shows *elicitation*, with nothing in the folder."""
        for place in self._shell.vault.iterdir():
            if place.is_dir():
                shutil.rmtree(place)
            else:
                place.unlink()
        if self._shown != elicitation:
            self.close()
            opened = self._peer.connect(self._way.era, self._server, elicitation=elicitation)
            assert opened["version"] == (OLDER if self._way.is_older else MODERN)
            self._peer.capabilities = opened["capabilities"] or {}
            self._shown = elicitation
        return self._peer

    def close(self) -> None:
        """End the connection, if there is one."""
        if self._shown != "not connected":
            self._peer.act("close")


@pytest.fixture(scope="module", params=WAYS, ids=str)
def way(request: pytest.FixtureRequest) -> Way:
    """Every way that there is."""
    made = request.param
    assert isinstance(made, Way)
    return made


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory, way: Way) -> Shell:
    """A person with a home of their own, and a vault in it."""
    return at_home(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def meeting(way: Way, shell: Shell, packages: Packages) -> Iterator[Meeting]:
    """The client, at the door of a server."""
    with server_of(way, shell) as server, Peer(way.sdk, packages) as peer:
        made = Meeting(way, shell, peer, server)
        yield made
        made.close()


@pytest.fixture
def client(meeting: Meeting) -> Peer:
    """The client, which shows forms, before an empty folder."""
    return meeting.connected()


def of(shell: Shell, **arguments: Any) -> dict[str, Any]:
    """Arguments of a tool, with the workspace."""
    return {"workspaceUri": shell.vault.as_uri(), **arguments}


def notes(shell: Shell) -> dict[str, str]:
    """Every file of the folder, with its text; the name of a trash entry, which tells a time, is left out."""
    return {TRASHED.sub(".trash/", path): data.decode() for path, data in shell.files().items()}


def accept(note_id: str, *, confirm: bool = True) -> dict[str, Any]:
    return {"action": "accept", "content": {"note_id": note_id, "confirm": confirm}}


def offered(forms: Any) -> list[list[str]]:
    """Return which notes each of the forms offered, all of which must be forms."""
    assert all(form.get("mode", "form") == "form" for form in forms)
    return [form["requestedSchema"]["properties"]["note_id"]["enum"] for form in forms]


def test_a_client_lists_reads_creates_edits_searches_and_moves(way: Way, client: Peer, shell: Shell) -> None:
    shell.write("a.md", "# A\r\n\r\nsee [[b]] and caf\u00e9\r\n")
    before = notes(shell)
    if way.is_older:  # later revisions have no ping
        client.act("ping")
    names = [tool["name"] for tool in client.act("tools")["tools"]]
    assert (names[:2], len(names)) == (["notes_workspaces", "notes_list"], 14)
    (workspace,) = client.document("notes_workspaces", {})["workspaces"]
    assert workspace["uri"] == shell.vault.as_uri()
    listed = client.document("notes_list", of(shell))
    assert [note["path"] for note in listed["notes"]] == ["a.md"]
    result, _ = client.call("notes_read", of(shell, path="a"))
    assert result.get("structuredContent") is None
    assert result["content"][1]["text"] == before["a.md"]
    assert notes(shell) == before

    client.document("notes_create", of(shell, path="new/b", content="# B\n\nrare\n"))
    assert notes(shell) == before | {"new/b.md": "# B\n\nrare\n"}
    result, _ = client.call("notes_create", of(shell, path="new/b", content="again"))
    assert (result["isError"], result["content"][0]["text"][:8]) == (True, "exists: ")
    assert notes(shell) == before | {"new/b.md": "# B\n\nrare\n"}

    client.document("notes_edit", of(shell, path="new/b", oldText="rare", newText="rarest"))
    assert notes(shell) == before | {"new/b.md": "# B\n\nrarest\n"}
    found = client.document("notes_search", of(shell, query="rarest"))
    assert [hit["path"] for hit in found["hits"]] == ["new/b.md"]
    assert client.document("notes_search", of(shell, query="rare"))["hits"] == []

    moved = client.document("notes_move", of(shell, path="new/b", newPath="c"))
    assert len(moved["updated"]) == 1
    assert notes(shell) == {"a.md": before["a.md"].replace("[[b]]", "[[c]]"), "c.md": "# B\n\nrarest\n"}


def test_what_is_refused_is_told_in_one_line_and_changes_nothing(client: Peer, shell: Shell) -> None:
    shell.write("a.md", "# A\n")
    shell.home.joinpath("secret.md").write_text("secret")
    before = notes(shell)
    for tool, arguments, slug in (
        ("notes_read", of(shell, path="../secret"), "not_allowed"),
        ("notes_read", {"workspaceUri": shell.home.as_uri(), "path": "secret"}, "not_allowed"),
        ("notes_read", of(shell, path="nowhere"), "not_found"),
        ("notes_create", of(shell, path="../b", content="x"), "not_allowed"),
        ("notes_edit", of(shell, path="a", oldText="nowhere", newText="x"), "not_found"),
        ("notes_list", of(shell, nonsense=1), "invalid_argument"),
    ):
        result, forms = client.call(tool, arguments)
        (block,) = result["content"]
        assert (result["isError"], forms, block["text"].split(":")[0]) == (True, [], slug)
        assert str(shell.home) not in block["text"]
    with pytest.raises(Refused) as caught:
        client.call("no_such_tool", {})
    assert caught.value.code == -32602
    assert "secret" not in str(client.document("notes_list", of(shell)))
    assert notes(shell) == before


def is_refused_with_the_command(came: Any, shell: Shell, title: str) -> bool:
    """Say whether a call was refused without a form, with what to run in a terminal instead."""
    result, forms = came
    line = result["content"][0]["text"]
    ending = f"run it in a terminal: fsnotes delete -w {shell.vault} -- {title}"
    return (result["isError"], forms, line[:13], line[-len(ending) :]) == (True, [], "not_allowed: ", ending)


def test_only_a_person_who_accepts_has_a_note_deleted(way: Way, client: Peer, shell: Shell) -> None:
    for name in ("a", "b", "c", "d"):
        shell.write(f"sub/{name}.md", f"# {name.upper()}\n")
    before = notes(shell)
    if not way.is_asked:
        came = client.call("notes_delete", of(shell, title="C"), accept("sub/c.md"))
        assert is_refused_with_the_command(came, shell, "C")
        assert notes(shell) == before
        return
    # The same call is asked again after a cancel, and not after a decline.
    for title, answer, outcome in (
        ("A", {"action": "cancel"}, "cancelled"),
        ("A", {"action": "decline"}, "declined"),
        ("B", accept("sub/b.md", confirm=False), "declined"),
    ):
        result, forms = client.call("notes_delete", of(shell, title=title), answer)
        assert result["structuredContent"] == {"outcome": outcome}
        assert not result.get("isError")
        assert offered(forms) == [[f"sub/{title.lower()}.md"]]
        assert notes(shell) == before
    result, forms = client.call("notes_delete", of(shell, title="A"))
    assert (result["structuredContent"], forms) == ({"outcome": "declined"}, [])
    assert notes(shell) == before

    result, forms = client.call("notes_delete", of(shell, title="C"), accept("sub/c.md"))
    assert offered(forms) == [["sub/c.md"]]
    assert result["structuredContent"]["outcome"] == "deleted"
    gone = {path: text for path, text in before.items() if path != "sub/c.md"}
    assert notes(shell) == gone | {".trash/sub/c.md": before["sub/c.md"]}

    (entry,) = client.document("notes_trash", of(shell))["entries"]
    client.document("notes_restore", of(shell, trashId=entry["trashId"]))
    assert notes(shell) == before


@pytest.mark.parametrize("elicitation", [None, URLS], ids=["nothing", "urls alone"])
def test_a_client_that_shows_no_forms_deletes_nothing(
    way: Way, meeting: Meeting, shell: Shell, elicitation: Any
) -> None:
    client = meeting.connected(elicitation)
    shell.write("z.md", "# Z\n")
    assert [note["path"] for note in client.document("notes_list", of(shell))["notes"]] == ["z.md"]
    if way.is_older:
        assert is_refused_with_the_command(client.call("notes_delete", of(shell, title="Z")), shell, "Z")
    else:
        with pytest.raises(Refused) as caught:
            client.call("notes_delete", of(shell, title="Z"))
        assert caught.value.code == -32021
        assert caught.value.data == {"requiredCapabilities": {"elicitation": {"form": {}}}}
    # It goes on, and what needs no form is done.
    client.document("notes_append", of(shell, path="z", text="more"))
    assert notes(shell) == {"z.md": "# Z\nmore\n"}


def test_a_client_finds_reads_completes_and_hears_of_notes(way: Way, client: Peer, shell: Shell) -> None:
    file = shell.write("sub/a b.md", "# A\r\n")
    uri = f"{shell.vault.as_uri()}/sub/a%20b.md"
    strange = (shell.home / "secret.md").as_uri()
    if way.is_older and "resources" not in client.capabilities:
        with pytest.raises(Refused):
            client.act("read", uri=uri)
        return
    assert [resource["uri"] for resource in client.act("resources")["resources"]] == [uri]
    (template,) = client.act("templates")["resourceTemplates"]
    (content,) = client.act("read", uri=uri)["contents"]
    assert (content["uri"], content["mimeType"], content["text"]) == (uri, "text/markdown", "# A\r\n")
    for unknown in (strange, f"{shell.vault.as_uri()}/nowhere.md"):
        with pytest.raises(Refused) as caught:
            client.act("read", uri=unknown)
        assert (caught.value.code, caught.value.data) == (-32602, {"uri": unknown})
    done = client.act("complete", uri=template["uriTemplate"], value="a b")["completion"]["values"]
    assert [template["uriTemplate"].replace("{+path}", value) for value in done] == [uri]

    if way.is_older:
        if not client.capabilities["resources"].get("subscribe"):
            return
        client.act("subscribe", uri=uri)
    else:
        heard_of = client.act("listen", uris=[uri, strange])
        assert heard_of == {"resourcesListChanged": True, "resourceSubscriptions": [uri]}
    file.write_text("changed by another program\n")
    told = client.act("hear")
    assert (told["method"], told["params"]["uri"]) == ("notifications/resources/updated", uri)
    (content,) = client.act("read", uri=uri)["contents"]
    assert content["text"] == "changed by another program\n"
    if not way.is_older:
        shell.write("new.md")
        assert client.act("hear")["method"] == "notifications/resources/list_changed"
        assert client.act("unlisten") == "local"


def test_a_client_gets_prompts_and_the_wording_says_what_notes_are(
    way: Way, client: Peer, shell: Shell
) -> None:
    shell.write("a.md", "# A\n")
    if way.is_older and "prompts" not in client.capabilities:
        with pytest.raises(Refused):
            client.act("prompt", name="find_related", arguments=of(shell, path="a.md"))
        return
    assert [prompt["name"] for prompt in client.act("prompts")["prompts"]][:1] == ["daily_note"]
    got = client.act("prompt", name="find_related", arguments=of(shell, path="a.md"))
    assert shell.vault.as_uri() in got["messages"][0]["content"]["text"]


def test_a_client_that_opens_with_a_handshake_is_told_over_http_which_revision_there_is(
    packages: Packages, tmp_path: Path
) -> None:
    with over_http(at_home(tmp_path)) as url:
        for sdk in SCRIPTS:
            with Peer(sdk, packages) as peer, pytest.raises(Refused) as caught:
                peer.connect("legacy", {"url": url})
            assert "-32022" in str(caught.value.code) + caught.value.message
