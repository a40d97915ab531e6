"""What an operator does to a server in use: starts it again, changes keys and tokens, keeps and loses its state."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Shell
from tests.cli.shell import SECONDS
from tests.cli.test_serving_http import served
from tests.server.http.raw import Answer, Raw
from tests.server.wire import accept

STATE_REFUSED = (-32602, "Invalid or expired requestState")


@dataclass
class Person(Shell):
    """A shell with more in its environment."""

    more: dict[str, str] = field(default_factory=dict)

    def environ(self, **more: str) -> dict[str, str]:
        return super().environ(**{**self.more, **more})


@dataclass
class Server:
    """A server that runs."""

    port: int
    uri: str
    bearer: str | None = None

    def call(self, tool: str, **arguments: Any) -> Answer:
        """Call a tool over a connection of its own. An echo stands beside the arguments."""
        echo = {name: arguments.pop(name) for name in ("requestState", "inputResponses") if name in arguments}
        with Raw(self.port) as raw:
            return raw.call(tool, {"workspaceUri": self.uri, **arguments}, bearer=self.bearer, **echo)

    def form(self, title: str) -> str:
        """Ask to delete a note, and return the state of the form."""
        result = self.call("notes_delete", title=title).message["result"]
        assert result["resultType"] == "input_required", result
        state = result["requestState"]
        assert isinstance(state, str)
        return state

    def answer(self, title: str, state: str) -> Any:
        """Confirm: return the outcome, or the code and the text of the refusal, or the line of the failure."""
        answers = accept(f"{title}.md")
        message = self.call("notes_delete", title=title, requestState=state, inputResponses=answers).message
        if "error" in message:
            return message["error"]["code"], message["error"]["message"]
        result = message["result"]
        return result["content"][0]["text"] if result["isError"] else result["structuredContent"]["outcome"]

    def line(self, tool: str, **arguments: Any) -> str:
        """The first text of a result."""
        text = self.call(tool, **arguments).message["result"]["content"][0]["text"]
        assert isinstance(text, str)
        return text


@contextmanager
def running(
    shell: Shell, *options: str, bearer: str | None = None, folder: str | None = "Notes"
) -> Iterator[Server]:
    """Serve the vault, and end with SIGTERM as a service manager does it."""
    with served(shell, *options, folder=folder) as (process, port):
        yield Server(port, shell.vault.as_uri(), bearer)
        process.terminate()
        assert process.wait(SECONDS) == 0


def test_a_form_that_was_shown_before_a_restart_is_answered_after_it(shell: Shell) -> None:
    shell.write("a.md")
    with running(shell) as server:
        state = server.form("a")
    with running(shell) as server:
        assert server.answer("a", state) == "deleted"
        assert server.answer("a", state) == STATE_REFUSED
    assert [name.startswith(".trash/") for name in shell.files()] == [True]


def test_keys_are_rotated_while_forms_are_in_flight_between_two_servers(shell: Shell) -> None:
    for name in ("a", "b", "c"):
        shell.write(f"{name}.md")
    with running(shell) as first, running(shell) as second:
        before = first.form("a")
        assert shell.call("keys", "rotate").code == 0
        after = first.form("b")
        assert second.answer("a", before) == "deleted"
        assert second.answer("b", after) == "deleted"
        late = second.form("c")
        assert shell.call("keys", "rotate").code == 0
        assert first.answer("c", late) == "deleted"


@pytest.mark.slow
def test_keys_of_the_environment_are_rotated_one_server_after_the_other(tmp_path: Path) -> None:
    """First everybody opens the fresh key, then each seals with it: at no time is there a form that one cannot open."""
    former, fresh = (base64.b64encode(bytes(range(at, at + 32))).decode() for at in (0, 100))
    person = Person(tmp_path / "home")
    person.vault.mkdir(parents=True)
    for name in ("a", "b", "c"):
        person.write(f"{name}.md")
    person.more["FSNOTES_STATE_KEYS"] = f"{former},{fresh}"
    with running(person) as first:
        person.more["FSNOTES_STATE_KEYS"] = f"{fresh},{former}"
        with running(person) as second:
            by_former, by_fresh, last = first.form("a"), second.form("b"), first.form("c")
            assert second.answer("a", by_former) == "deleted"
            assert first.answer("b", by_fresh) == "deleted"
    person.more["FSNOTES_STATE_KEYS"] = fresh
    with running(person) as third:
        assert third.answer("c", last) == STATE_REFUSED
        assert (person.vault / "c.md").exists()
        assert third.answer("c", third.form("c")) == "deleted"
    assert not (person.state / "private/keys.json").exists()


@pytest.mark.slow
def test_a_token_is_replaced_without_a_moment_in_which_none_works(shell: Shell) -> None:
    shell.write("a.md", "# A\n")
    configure(shell)
    former = shell.call("token", "new", "ci").out.strip()
    (listed,) = shell.call("token", "list").out.splitlines()
    with running(shell, folder=None, bearer=former) as server:
        assert server.call("notes_read", path="a").status == 200
        server.bearer = shell.call("token", "new", "ci").out.strip()
        assert server.call("notes_read", path="a").status == 200
        server.bearer, fresh = former, server.bearer
        assert server.call("notes_read", path="a").status == 200
        assert shell.call("token", "revoke", listed.split("\t")[0]).code == 0
        assert server.call("notes_read", path="a").status == 401
        server.bearer = fresh
        assert server.call("notes_read", path="a").status == 200


def configure(shell: Shell) -> None:
    shell.configure(
        '[http]\nauth = "token"\n'
        f'[[workspace]]\nname = "notes"\npath = "{shell.vault}"\n'
        '[[grant]]\nprincipal = "token:ci"\nworkspace = "notes"\nallow = ["read", "write", "delete"]\n'
    )


def outcomes(state: Path) -> list[str]:
    lines = (state / "private/audit.jsonl").read_text().splitlines()
    return [json.loads(line)["outcome"] for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize(
    "elsewhere", [True, False], ids=["all of it elsewhere", "what the page says in its place"]
)
def test_a_copy_that_was_made_while_a_server_ran_is_restored(shell: Shell, elsewhere: bool) -> None:
    """Tokens and history are back; forms in flight are not, so that what was answered since is not answered again."""
    for name in ("a", "b", "c"):
        shell.write(f"{name}.md")
    configure(shell)
    bearer = shell.call("token", "new", "ci").out.strip()
    copy = shell.home / "copy"
    with running(shell, folder=None, bearer=bearer) as server:
        server.call("notes_create", path="kept", content="x\n")
        in_flight, answered = server.form("a"), server.form("b")
        shutil.copytree(shell.state, copy)
        assert server.answer("b", answered) == "deleted"
        assert server.answer("a", in_flight) == "deleted"
        restored = server.line("notes_restore", trashId=trash_ids(server)["a.md"])
        assert '"path":"a.md"' in restored
        again = server.form("a")
    if elsewhere:
        state = copy
    else:
        shutil.rmtree(copy / "ws")
        for file in (copy / "private").glob("ledger.sqlite3*"):
            file.unlink()
        state = shell.state
        shutil.rmtree(state)
        shutil.copytree(copy, state)
    with running(shell, "--state-dir", str(state), folder=None, bearer=bearer) as server:
        before = shell.files()
        for title, form in (("a", in_flight), ("b", answered), ("a", again)):
            assert server.answer(title, form) == STATE_REFUSED
        assert shell.files() == before
        assert '"path":"b.md"' in server.line("notes_restore", trashId=trash_ids(server)["b.md"])
        assert server.answer("b", server.form("b")) == "deleted"
    assert outcomes(state)[:1] == ["created"]
    assert outcomes(state)[-2:] == ["restored", "deleted"]


def trash_ids(server: Server) -> dict[str, str]:
    """The ids of the trash, by path."""
    entries = server.call("notes_trash").message["result"]["structuredContent"]["entries"]
    return {entry["path"]: entry["trashId"] for entry in entries}


def test_a_state_folder_that_is_lost_takes_no_note_and_deletes_none(shell: Shell) -> None:
    for name in ("a", "b", "c"):
        shell.write(f"{name}.md", f"# {name}\n")
    with running(shell) as server:
        assert server.answer("b", server.form("b")) == "deleted"
        in_flight = server.form("a")
        declined = {"delete_choice": {"action": "decline"}}
        state = server.form("c")
        server.call("notes_delete", title="c", requestState=state, inputResponses=declined)
        assert '"declined"' in server.line("notes_delete", title="c")
        before = shell.files()
        shutil.rmtree(shell.state)
        assert '"path":"a.md"' in server.line("notes_read", path="a")
        refused = server.line("notes_create", path="new", content="x\n")
        assert refused.startswith("unavailable: the audit log cannot be written; nothing was done")
        refused = server.answer("a", in_flight)
        assert refused.startswith("unavailable: the confirmation keys cannot be used; nothing was done")
        assert (trash_ids(server).keys(), shell.files()) == ({"b.md"}, before)
        assert not shell.state.exists()
    with running(shell) as server:
        assert server.answer("a", in_flight) == STATE_REFUSED
        assert shell.files() == before
        assert server.form("c")  # that it was declined is forgotten
        assert '"path":"b.md"' in server.line("notes_restore", trashId=trash_ids(server)["b.md"])
        assert server.answer("a", server.form("a")) == "deleted"
    assert outcomes(shell.state) == ["invalid_state", "restored", "deleted"]


@pytest.mark.slow
def test_tokens_go_with_the_state_folder_and_nobody_is_let_in(shell: Shell) -> None:
    shell.write("a.md", "# A\n")
    configure(shell)
    former = shell.call("token", "new", "ci").out.strip()
    with running(shell, folder=None, bearer=former) as server:
        assert server.call("notes_read", path="a").status == 200
        shutil.rmtree(shell.state)
        assert server.call("notes_read", path="a").status in (401, 503)
    with running(shell, folder=None, bearer=former) as server:
        assert server.call("notes_read", path="a").status == 401
        server.bearer = shell.call("token", "new", "ci").out.strip()
        assert server.call("notes_read", path="a").status == 200
