"""A process of several that ends: what replaces it serves what the others serve, or nothing, and they go on."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fsnotes.calls import local_principal
from fsnotes.errors import ConfigurationError
from fsnotes.folders import Folders, Found, Seen, decoded, encoded
from tests.server.http.many import SECONDS, Instance, environ, instance, text, until
from tests.server.http.raw import ping
from tests.server.wire import accept

OFF = ("--jail", "off")
ENDED = b"another one begins in"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A folder of notes; the home folder is the one above."""
    folder = tmp_path / "Notes"
    folder.mkdir()
    (folder / "one.md").write_text("# One\n")
    return folder


def told(server: Instance, part: bytes) -> int:
    """How many lines of the log have *part* in them."""
    return sum(part in line for line in server.log)


def read_by_each(server: Instance, uri: str) -> list[str]:
    """What each process reads as the note `one`."""
    found = []
    for child in server.children:
        with server.only(child):
            answer = server.call("notes_read", {"workspaceUri": uri, "path": "one"})
            found.append(str(answer.message["result"]["content"][-1]["text"]))
    return found


def replace_one(server: Instance, *, seen: Callable[[], bool]) -> None:
    """Kill one process, and wait until something is so."""
    server.children[1].kill()
    until(seen)


@pytest.mark.slow
def test_a_replaced_process_serves_what_the_server_was_started_with(vault: Path, tmp_path: Path) -> None:
    file = tmp_path / "fsnotes.toml"
    file.write_text('[http]\nworkers = 2\npath = "/notes"\n')
    with instance(tmp_path, str(vault), *OFF, "--config", str(file)) as server:
        file.write_text("this is = no configuration [")
        replace_one(server, seen=lambda: server.served() == 3)
        for child in server.children:
            with server.only(child), server.connect() as raw:
                assert raw.post(ping(), path="/notes").status == 200


@pytest.mark.parametrize("where", ["flag", pytest.param("file", marks=pytest.mark.slow)])
def test_where_a_link_leads_elsewhere_since_the_start_all_serve_the_folder_that_it_led_to_then(
    vault: Path, tmp_path: Path, where: str
) -> None:
    other, link = tmp_path / "Other", tmp_path / "Link"
    for folder in (other, tmp_path / "state", tmp_path / "state-2"):
        folder.mkdir()
    (other / "one.md").write_text("# Another\n")
    link.symlink_to(vault)
    (tmp_path / "State").symlink_to(tmp_path / "state")
    words = [str(link)]
    if where == "file":
        file = tmp_path / "fsnotes.toml"
        file.write_text(
            f'[[workspace]]\nname = "n"\npath = "{link}"\n'
            f'[[grant]]\nprincipal = "{local_principal().name}"\nworkspace = "n"\nallow = ["read", "write", "delete"]\n'
        )
        words = ["--config", str(file)]
    with instance(tmp_path, *words, *OFF, "--state-dir", str(tmp_path / "State")) as server:
        form = server.call("notes_delete", {"workspaceUri": link.as_uri(), "title": "One"})
        for name, target in (("Link", other), ("State", tmp_path / "state-2")):
            (tmp_path / "new").symlink_to(target)
            os.rename(tmp_path / "new", tmp_path / name)
        replace_one(server, seen=lambda: server.served() == 3)
        until(lambda: len(server.children) == 2)
        assert read_by_each(server, link.as_uri()) == ["# One\n"] * 2
        assert read_by_each(server, vault.as_uri()) == ["# One\n"] * 2
        with server.only(max(server.children, key=lambda each: each.create_time())):
            state = form.message["result"]["requestState"]
            answer = {"inputResponses": accept("one.md"), "requestState": state}
            done = server.call("notes_delete", {"workspaceUri": link.as_uri(), "title": "One"}, **answer)
        assert done.message["result"]["structuredContent"]["outcome"] == "deleted"
    assert (other / "one.md").read_text() == "# Another\n"
    assert list((tmp_path / "state-2").iterdir()) == []


@pytest.mark.slow
def test_where_another_folder_is_there_or_none_nobody_new_serves_and_the_others_go_on(
    vault: Path, tmp_path: Path
) -> None:
    away = tmp_path / "Elsewhere"
    with instance(tmp_path, str(vault), *OFF) as server:
        (kept, _), port = server.children, server.port
        vault.rename(away)
        replace_one(server, seen=lambda: told(server, ENDED) >= 3)
        assert told(server, b"invalid_argument: ") >= 2
        assert told(server, b"ended (exit code 2)") >= 2
        vault.mkdir()
        (vault / "one.md").write_text("# Another\n")
        until(lambda: told(server, b"another folder is there than when the server was started") >= 2)
        with server.only(kept):
            arguments = {"workspaceUri": vault.as_uri(), "path": "one"}
            assert text(server.call("notes_read", arguments)) != ""
            assert server.call("notes_workspaces").status == 200
        assert (server.process.poll(), server.served(), server.port) == (None, 2, port)
        (vault / "one.md").unlink()
        vault.rmdir()
        away.rename(vault)
        until(lambda: server.served() == 3)
        assert read_by_each(server, vault.as_uri()) == ["# One\n"] * 2
        server.process.terminate()
        assert server.process.wait(SECONDS) == 0
    assert (vault / "one.md").read_text() == "# One\n"


@pytest.mark.slow
def test_a_parent_that_has_no_descriptor_left_starts_another_process_once_it_has(
    vault: Path, tmp_path: Path
) -> None:
    with instance(tmp_path, str(vault), *OFF) as server:
        (kept, gone), pid = server.children, server.process.pid
        numbers = [int(name) for name in os.listdir(f"/proc/{pid}/fd")]
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        # What it has stays; the one link that ends gives back one, and a new one takes two.
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(numbers), limits[1]))
        gone.kill()
        until(lambda: told(server, b"no process can be started: ") >= 2)
        with server.only(kept):
            assert server.call("notes_workspaces").status == 200
        assert server.process.poll() is None
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        until(lambda: server.served() == 3)
        assert read_by_each(server, vault.as_uri()) == ["# One\n"] * 2


def test_a_parent_that_can_start_no_process_at_all_ends_and_says_so(vault: Path, tmp_path: Path) -> None:
    script = (
        "import errno, os, socket, sys\n"
        "make, made = socket.socketpair, []\n"
        "def pair(*how, **more):\n"
        "    made.append(1)\n"
        "    if len(made) > 1:\n"  # the first is the event loop's own
        "        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))\n"
        "    return make(*how, **more)\n"
        "socket.socketpair = pair\n"
        "from fsnotes.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    words = ("serve", str(vault), "--transport", "http", "--port", "0", "--workers", "2", *OFF)
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        env=environ(tmp_path),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    *tries, last = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (1, "")
    assert "nothing is served: the first process could not be started" in last
    assert any("no process can be started: Too many open files" in line for line in tries)


@pytest.mark.slow
def test_all_processes_that_end_at_once_are_replaced(vault: Path, tmp_path: Path) -> None:
    with instance(tmp_path, str(vault), *OFF, workers=3) as server:
        for child in server.children:
            child.send_signal(signal.SIGKILL)
        until(lambda: server.served() == 6)
        assert read_by_each(server, vault.as_uri()) == ["# One\n"] * 3


# -- what is handed on ---------------------------------------------------------------------------------


def test_a_folder_is_found_once_and_by_others_where_it_was_found(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    link = tmp_path / "link"
    link.symlink_to("a")
    ours = Folders(None)
    first = ours.find(str(link))
    status = (tmp_path / "a").stat()
    assert first == Found(str(link), str(tmp_path / "a"), (status.st_dev, status.st_ino))
    assert ours.identity(str(link)) is None
    link.unlink()
    link.symlink_to("b")
    assert ours.find(str(link)) == first
    theirs = Folders(decoded(encoded(ours.seen(str(tmp_path)))))
    assert theirs.path(str(link)) == str(tmp_path / "a")
    assert theirs.identity(str(link)) == first.identity
    assert theirs.state_dir("/elsewhere") == str(tmp_path)
    with pytest.raises(ConfigurationError):
        theirs.find(str(tmp_path / "b"))
    assert Folders(None).path(str(link)) == str(tmp_path / "b")


def test_a_state_folder_is_handed_on_by_its_real_path_unless_it_is_a_link_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name, target in (("link", "a"), ("nowhere", "none")):
        (tmp_path / name).symlink_to(target)
    handed_on = {
        name: Folders(None).seen(str(tmp_path / name)).state_dir
        for name in ("a", "link", "link/later", "nowhere")
    }
    assert handed_on == {
        "a": str(tmp_path / "a"),
        "link": str(tmp_path / "a"),
        "link/later": str(tmp_path / "a/later"),
        "nowhere": str(tmp_path / "nowhere"),
    }


@pytest.mark.parametrize(
    "value", [None, [], ["x"], ["x", {}], [1, []], ["x", [["a", "b", 1]]], ["x", [["a", "b", "1", 2]]]]
)
def test_what_was_not_handed_on_by_a_process_of_ours_is_none(value: object) -> None:
    with pytest.raises(ValueError, match="no folder"):
        decoded(value)
    assert decoded(["x", [["a", "b", 1, 2]]]) == Seen("x", (Found("a", "b", (1, 2)),))
