"""`serve --transport http` as a person starts it: where it serves, what it refuses before it does, how it ends."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fsnotes.calls import local_principal
from tests.cli.shell import SECONDS, Done, Shell, refused, serving
from tests.server.http.raw import Raw, ping
from tests.server.older import NEWEST, opening
from tests.server.older import call as older_call
from tests.server.wire import call

HTTP = ("--transport", "http")
LISTENING = re.compile(rb"serving on http://\S+:(\d+)(/\S+)\n")


@contextmanager
def served(
    shell: Shell, *arguments: str, folder: str | None = "Notes"
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Serve on a port that the system chooses; it is in the log."""
    options = (*HTTP, "--port", "0", "--log-level", "info", "--jail", "off", *arguments)
    with serving(shell, *([] if folder is None else [folder]), *options) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        match = LISTENING.search(line)
        assert match is not None, line
        rest = threading.Thread(target=process.stderr.read, daemon=True)
        rest.start()
        yield process, int(match[1])
        process.kill()
        rest.join(SECONDS)


@pytest.mark.parametrize("signalled", ["SIGTERM", "SIGINT"])
def test_a_folder_is_served_to_whoever_is_on_this_machine_until_a_signal(
    shell: Shell, signalled: str
) -> None:
    shell.write("a.md", "# A\n")
    with served(shell) as (process, port):
        with Raw(port) as raw:
            shown = raw.call("notes_workspaces").message["result"]["structuredContent"]["workspaces"]
            assert [workspace["uri"] for workspace in shown] == [shell.vault.as_uri()]
            arguments = {"workspaceUri": shell.vault.as_uri(), "path": "b", "content": "# B\n"}
            assert raw.call("notes_create", arguments).message["result"]["isError"] is False
            read = raw.call("notes_read", {"workspaceUri": shell.vault.as_uri(), "path": "b"})
            assert read.message["result"]["content"][1]["text"] == "# B\n"
        process.send_signal(signal.Signals[signalled])
        assert process.wait(SECONDS) == (0 if signalled == "SIGTERM" else 130)
        assert process.stdout is not None
        assert process.stdout.read() == b""
    audit = shell.home / ".local/state/fsnotes/private/audit.jsonl"
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [(line["principal"], line["tool"]) for line in lines] == [(local_principal().name, "notes_create")]


def test_the_path_and_the_limits_of_the_file_hold_and_flags_win(shell: Shell) -> None:
    shell.configure(
        '[http]\npath = "/a"\nport = 1\nallowed_hosts = ["notes.example.org"]\n[server]\nmax_message_bytes = 4096\n'
    )
    with served(shell, "--path", "/b/c", "--read-only") as (_, port):
        host = {"Host": "notes.example.org"}
        with Raw(port) as raw:
            assert raw.get("/a", **host).status == 404
        with Raw(port) as raw:
            assert raw.post(ping(), host, path="/b/c").status == 200
            assert raw.post(call(1, "notes_create"), host, path="/b/c").code == -32602
            assert raw.post(b"x" * 4097, host, path="/b/c").status == 413
    with served(shell) as (_, port), Raw(port) as raw:
        assert raw.get("/healthz").status == 421


@pytest.mark.parametrize(
    ("flags", "file", "is_served"),
    [
        ((), "", False),
        (("--legacy", "on"), "", True),
        (("--workers", "2"), "[server]\nlegacy = true\n", True),
        (("--legacy", "off"), "[server]\nlegacy = true\n", False),
    ],
)
def test_older_clients_are_served_where_somebody_has_switched_them_on(
    shell: Shell, flags: tuple[str, ...], file: str, is_served: bool
) -> None:
    shell.configure(file)
    shell.write("a.md", "# A\n")
    fields = {"MCP-Protocol-Version": NEWEST, "Mcp-Method": None, "Mcp-Name": None}
    delete = older_call(2, "notes_delete", {"workspaceUri": shell.vault.as_uri(), "title": "A"})
    with served(shell, *flags) as (_, port), Raw(port) as raw:
        opened = raw.post(opening(), {**fields, "MCP-Protocol-Version": None})
        assert (opened.status, opened.field("mcp-session-id")) == (200 if is_served else 400, None)
        answer = raw.post(delete, fields)
        if is_served:
            text = answer.message["result"]["content"][0]["text"]
            assert text.endswith(f": fsnotes delete -w {shell.vault} -- A")
        else:
            assert (opened.code, answer.code) == (-32022, -32602)
        assert raw.call("notes_workspaces").status == 200
    assert (shell.vault / "a.md").read_text() == "# A\n"


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
def test_the_loopback_of_ipv6_is_served_by_its_name_in_brackets(shell: Shell) -> None:
    with served(shell, "--host", "::1") as (_, port):
        for host, status in ((f"[::1]:{port}", b"200"), (f"[0:0:0:0:0:0:0:1]:{port}", b"421")):
            with socket.create_connection(("::1", port)) as connection:
                connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                assert connection.recv(4096).split(b" ")[1] == status


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "::ffff:0.0.0.0"])  # noqa: S104  # it is refused
def test_without_authentication_nothing_but_loopback_is_served(shell: Shell, host: str) -> None:
    done = shell.call("serve", "Notes", *HTTP, "--host", host, "--port", "0")
    assert refused(done, 2, "invalid_argument")
    assert "can be reached from elsewhere" in done.err
    assert not (shell.home / ".local").exists()


def test_a_port_that_is_taken_and_a_host_that_is_not_here_are_refused(shell: Shell) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = shell.call("serve", "Notes", *HTTP, "--port", port)
        assert done == Done(
            2, "", f"fsnotes: invalid_argument: [http] 127.0.0.1:{port}: Address already in use\n"
        )
    assert refused(shell.call("serve", "Notes", *HTTP, "--host", "host.invalid"), 2, "invalid_argument")


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--host", ""),
        ("--host", "[::1]"),
        ("--host", "127.0.0.1:80"),
        ("--port", "65536"),
        ("--port", "-1"),
        ("--path", "/"),
        ("--path", "mcp"),
        ("--path", "/mcp/"),
        ("--path", "/a/../b"),
        ("--path", "/healthz"),
        ("--path", "/.well-known/x"),
        ("--path", "/a?b"),
        ("--path", "/a%20b"),
    ],
)
def test_flags_that_cannot_be_meant_are_refused(shell: Shell, flag: str, value: str) -> None:
    assert refused(shell.call("serve", "Notes", *HTTP, f"{flag}={value}"), 2, "invalid_argument")
