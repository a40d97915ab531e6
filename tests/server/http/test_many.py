"""Several processes on one socket, and several servers on one state folder: nothing is shared by accident."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import psutil
import pytest

from fsnotes.errors import ConfigurationError
from fsnotes.server.http.listening import inherit
from tests.server.http.many import (
    SECONDS,
    Instance,
    asked,
    confirmed,
    environ,
    instance,
    text,
    together,
    until,
)
from tests.server.http.raw import ping

OFF = ("--jail", "off")
CLIENTS = 8
LINES = 200


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A folder of notes; the home folder is the one above."""
    folder = tmp_path / "Notes"
    folder.mkdir()
    (folder / "one.md").write_text("# One\n")
    return folder


def audited(home: Path) -> list[dict[str, Any]]:
    """What the audit log says."""
    file = home / ".local/state/fsnotes/private/audit.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()]


def outcomes(home: Path, tool: str) -> Counter[str]:
    """How calls of *tool* ended, as the audit log has it."""
    return Counter(entry["outcome"] for entry in audited(home) if entry["tool"] == tool)


# -- any process finishes what another began ----------------------------------------------------------


def test_either_process_finishes_what_the_other_began_and_sees_what_it_wrote(
    vault: Path, tmp_path: Path
) -> None:
    here = vault.as_uri()
    with instance(tmp_path, str(vault), *OFF) as server:
        first, second = server.children
        with server.only(first):
            form = server.call("notes_delete", {"workspaceUri": here, "title": "One"})
            arguments = {"workspaceUri": here, "path": "two", "content": "# Two\n\nquince\n"}
            assert server.call("notes_create", arguments).message["result"]["isError"] is False
        with server.only(second):
            answer = confirmed("one.md", asked(form))
            done = server.call("notes_delete", {"workspaceUri": here, "title": "One"}, **answer)
            assert done.message["result"]["structuredContent"]["outcome"] == "deleted"
            found = server.call("notes_search", {"workspaceUri": here, "query": "quince"})
            assert [hit["path"] for hit in found.message["result"]["structuredContent"]["hits"]] == ["two.md"]
        # With nobody at rest: one that rests while it notes that it has answered would keep the ledger from all.
        for _ in range(4):
            assert (
                server.call("notes_delete", {"workspaceUri": here, "title": "One"}, **answer).code == -32602
            )
    assert sorted(path.name for path in vault.iterdir()) == [".trash", "two.md"]
    assert outcomes(tmp_path, "notes_delete")["deleted"] == 1


def test_of_eight_clients_of_two_servers_one_deletes_and_the_rest_are_told_that_it_is_spent(
    vault: Path, tmp_path: Path
) -> None:
    arguments = {"workspaceUri": vault.as_uri(), "title": "One"}
    with (
        instance(tmp_path, str(vault), *OFF) as here,
        instance(tmp_path, str(vault), *OFF) as there,
        ExitStack() as connections,
    ):
        answer = confirmed("one.md", asked(here.call("notes_delete", arguments)))
        raws = [connections.enter_context((here, there)[number % 2].connect()) for number in range(CLIENTS)]
        answers = together([lambda raw=raw: raw.call("notes_delete", arguments, **answer) for raw in raws])
    told = [each.message for each in answers]
    deleted = [each for each in told if "result" in each and not each["result"]["isError"]]
    spent = [each for each in told if each.get("error", {}).get("code") == -32602]
    busy = [each for each in told if "result" in each and each["result"]["isError"]]
    assert len(deleted) + len(spent) + len(busy) == CLIENTS
    assert all(each["result"]["content"][0]["text"].startswith("busy: ") for each in busy)
    assert [each["result"]["structuredContent"]["outcome"] for each in deleted] == ["deleted"]
    assert not (vault / "one.md").exists()
    assert len(list((vault / ".trash").rglob("one.md"))) == 1
    assert outcomes(tmp_path, "notes_delete")["deleted"] == 1


@pytest.mark.slow
def test_two_servers_that_append_to_one_note_lose_no_line(vault: Path, tmp_path: Path) -> None:
    with instance(tmp_path, str(vault), *OFF) as here, instance(tmp_path, str(vault), *OFF) as there:

        def append(server: Instance, name: str) -> None:
            with server.connect() as raw:
                for number in range(LINES):
                    arguments = {"workspaceUri": vault.as_uri(), "path": "one", "text": f"{name} {number}"}
                    answer = raw.call("notes_append", arguments)
                    while text(answer).startswith("busy: "):
                        answer = raw.call("notes_append", arguments)
                    assert answer.message["result"]["isError"] is False, text(answer)

        together([lambda: append(here, "here"), lambda: append(there, "there")])
    lines = (vault / "one.md").read_text().splitlines()
    assert Counter(lines) == Counter(
        ["# One", *(f"{name} {number}" for name in ("here", "there") for number in range(LINES))]
    )
    assert sum(entry["etagAfter"] is not None for entry in audited(tmp_path)) == 2 * LINES


# -- one process ends --------------------------------------------------------------------------------


class Load:
    """Clients that create notes until told to stop; what was acknowledged, and what went wrong, is kept."""

    def __init__(self, server: Instance, vault: Path, clients: int, *, prefix: str = "c") -> None:
        self._server = server
        self._prefix = prefix
        self._uri = vault.as_uri()
        self._stop = threading.Event()
        self.acknowledged: list[str] = []
        self.refused: list[tuple[int, str | None]] = []
        self.broken: list[BaseException] = []
        self.wrong: list[Any] = []
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(clients)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(SECONDS)
            assert not thread.is_alive()

    def _run(self, client: int) -> None:
        number = 0
        while not self._stop.is_set():
            try:
                with self._server.connect() as raw:
                    while not self._stop.is_set():
                        number += 1
                        name = f"n-{self._prefix}-{client}-{number}.md"
                        arguments = {"workspaceUri": self._uri, "path": name, "content": f"# {name}\n"}
                        answer = raw.call("notes_create", arguments)
                        if answer.status == 503:
                            self.refused.append((answer.status, answer.field("retry-after")))
                            break
                        if answer.status != 200 or answer.message["result"]["isError"]:
                            self.wrong.append(answer)
                        else:
                            self.acknowledged.append(name)
            except (OSError, EOFError) as error:
                self.broken.append(error)
                time.sleep(0.02)


def test_a_process_that_is_killed_under_load_is_replaced_and_no_acknowledged_write_is_lost(
    vault: Path, tmp_path: Path
) -> None:
    with instance(tmp_path, str(vault), *OFF) as server:
        with Load(server, vault, 4) as load:
            until(lambda: len(load.acknowledged) >= 20)
            victim = server.children[0]
            victim.kill()
            before = len(load.acknowledged)
            until(lambda: len(load.acknowledged) >= before + 20)
            until(lambda: server.served() == 3)
            until(lambda: len(server.children) == 2)
        assert victim.pid not in {child.pid for child in server.children}
        assert load.wrong == load.refused == []
        # Those whose request was under way at it, and nobody else: not one for each of the four even.
        assert len(load.broken) <= 4
        for child in server.children:
            with server.only(child):
                assert server.call("notes_workspaces").status == 200
    for name in load.acknowledged:
        assert (vault / name).read_text() == f"# {name}\n"
    assert server.process.poll() is not None


def test_on_sigterm_under_load_what_is_under_way_is_answered_and_every_process_ends(
    vault: Path, tmp_path: Path
) -> None:
    with instance(tmp_path, str(vault), *OFF) as server:
        processes = server.tree()
        with Load(server, vault, 4) as load:
            until(lambda: len(load.acknowledged) >= 20)
            server.process.terminate()
            assert server.process.wait(SECONDS) == 0
            assert not any(each.is_running() for each in processes)
            with pytest.raises(OSError):
                server.connect()
    # A kept connection on which nothing is asked may be closed as the next request leaves; no answer is cut.
    assert all(isinstance(error, OSError) or error.args == (b"",) for error in load.broken)
    assert load.wrong == []
    assert all(each == (503, "1") for each in load.refused)
    made = {path.name for path in vault.glob("n-*.md")}
    assert set(load.acknowledged) <= made
    assert outcomes(tmp_path, "notes_create") == Counter({"created": len(made)})


@pytest.mark.slow
def test_on_sigint_it_ends_with_130_and_a_process_that_is_signalled_too_drains_all_the_same(
    vault: Path, tmp_path: Path
) -> None:
    with instance(tmp_path, str(vault), *OFF) as server, server.connect() as kept:
        assert kept.post(ping()).status == 200
        for process in (*server.children, server.process):
            process.send_signal(signal.SIGINT if process is server.process else signal.SIGTERM)
        assert server.process.wait(SECONDS) == 130
        assert kept.is_closed()


@pytest.mark.slow
def test_a_signal_while_processes_are_being_started_ends_them_too(vault: Path, tmp_path: Path) -> None:
    with instance(tmp_path, str(vault), *OFF, workers=3, serving=1) as server:
        until(lambda: len(server.children) == 3)
        children = server.children
        begun = time.monotonic()
        server.process.terminate()
        assert server.process.wait(SECONDS) == 0
        assert time.monotonic() - begun < 8  # less than a child has to drain
        assert not any(each.is_running() for each in children)
    assert not any(b"killed" in line for line in server.log)


def test_when_the_parent_is_killed_all_other_processes_end(vault: Path, tmp_path: Path) -> None:
    with instance(tmp_path, str(vault)) as server:
        assert server.call("notes_workspaces").status == 200
        others = server.tree()[1:]
        assert len(others) >= 2
        server.process.kill()
        server.process.wait(SECONDS)
        until(lambda: not any(_is_alive(each) for each in others), 5)
        with pytest.raises(ConnectionRefusedError):
            server.connect()


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


# -- what it is started with -------------------------------------------------------------------------


def failed(home: Path, *words: str) -> tuple[int, list[str]]:
    """The exit code of a server that cannot be started, and the lines that it says."""
    done = subprocess.run(
        [sys.executable, "-m", "fsnotes", "serve", *words],
        env=environ(home),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.stdout == ""
    return done.returncode, done.stderr.splitlines()


def test_what_no_process_could_be_started_with_is_said_once(vault: Path, tmp_path: Path) -> None:
    http = ("--transport", "http", "--port", "0", "--workers", "3")
    state = tmp_path / "state"
    state.mkdir()
    (state / "private").write_text("no folder")
    for words in (
        (str(vault / "none"), *http),
        (str(vault), *http, "--host", "0.0.0.0"),  # noqa: S104 - it is refused
        (str(vault), *http, "--state-dir", str(state)),
    ):
        code, lines = failed(tmp_path, *words)
        assert code == 2
        assert len(lines) == 1
        assert lines[0].startswith("fsnotes: invalid_argument: ")
    assert (state / "private").read_text() == "no folder"


@pytest.mark.parametrize("words", [("--workers", "2"), ("--transport", "http", "--workers", "0")])
def test_numbers_of_processes_that_cannot_be_meant_are_refused(
    vault: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    code, lines = failed(tmp_path, str(vault), *words)
    assert (code, len(lines)) == (2, 1)
    assert "--workers" in lines[0]


def test_a_process_cannot_be_made_a_child_by_hand(tmp_path: Path, vault: Path) -> None:
    with socket.socket() as mine:
        mine.bind(("127.0.0.1", 0))
        mine.listen()
        for link in ("0", str(mine.fileno())):
            words = [str(mine.fileno()), link, "first", "serve", str(vault), "--transport", "http"]
            done = subprocess.run(
                [
                    sys.executable,
                    "-c",
                    "import sys; from fsnotes.cli.child import main; sys.exit(main(sys.argv[1:]))",
                    *words,
                ],
                env=environ(tmp_path),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                pass_fds=(mine.fileno(),),
                timeout=SECONDS,
                check=False,
            )
            assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert not (tmp_path / ".local").exists()


def test_a_socket_that_others_can_reach_is_not_inherited_without_authentication() -> None:
    for host, authenticated, fits in (
        ("127.0.0.1", False, True),
        ("0.0.0.0", False, False),  # noqa: S104 - it is refused
        ("0.0.0.0", True, True),  # noqa: S104 - nobody is served there
    ):
        with socket.socket() as listening:
            listening.bind((host, 0))
            listening.listen()
            number = os.dup(listening.fileno())
            if not fits:
                with pytest.raises(ConfigurationError):
                    inherit(number, authenticated=authenticated)
                with pytest.raises(OSError):
                    os.fstat(number)
            else:
                with inherit(number, authenticated=authenticated) as taken:
                    assert taken.getsockname() == listening.getsockname()
                    assert not taken.get_inheritable()


def test_what_is_no_listening_socket_is_not_inherited() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        with pytest.raises(ConfigurationError):
            inherit(os.dup(deaf.fileno()), authenticated=True)
    with pytest.raises(ConfigurationError):
        inherit(999, authenticated=True)


# -- who watches -------------------------------------------------------------------------------------


def watchers(process: psutil.Process) -> int:
    """How many inotify instances a process has."""
    count = 0
    for name in os.listdir(f"/proc/{process.pid}/fd"):
        try:
            count += os.readlink(f"/proc/{process.pid}/fd/{name}") == "anon_inode:inotify"
        except FileNotFoundError:
            pass  # it was the folder's own
    return count


@pytest.mark.slow
def test_one_process_of_all_watches_and_each_finds_at_once_what_anybody_writes(
    vault: Path, tmp_path: Path
) -> None:
    here = vault.as_uri()

    def found(server: Instance, word: str) -> list[str]:
        answer = server.call("notes_search", {"workspaceUri": here, "query": word})
        return [hit["path"] for hit in answer.message["result"]["structuredContent"]["hits"]]

    with instance(tmp_path, str(vault), *OFF) as server:
        until(lambda: sum(map(watchers, server.children)) == 1)
        for turn in range(2):
            for number, child in enumerate(server.children):
                with server.only(child):
                    name, word = f"by-{turn}-{number}", f"quince{turn}{number}"
                    (vault / f"{name}.md").write_text(f"{word}\n")
                    assert found(server, word) == [f"{name}.md"]
                    (vault / f"{name}.md").unlink()
                    assert found(server, word) == []
                    arguments = {"workspaceUri": here, "path": name, "content": f"own{word}\n"}
                    assert server.call("notes_create", arguments).message["result"]["isError"] is False
                    assert found(server, f"own{word}") == [f"{name}.md"]
            assert sum(map(watchers, server.children)) == 1
            (keeper,) = [child for child in server.children if watchers(child)]
            if turn == 0:
                keeper.kill()
                until(lambda: server.served() == 3)
                until(lambda: len(server.children) == 2 and sum(map(watchers, server.children)) == 1)
