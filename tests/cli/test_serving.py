"""`serve` as a client starts it: what it refuses before it serves, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.hosts import fsnotes_on
from tests.cli.shell import FSNOTES, SECONDS, Done, Shell, refused, serving
from tests.workers import require_jail

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def frame(id_: int, method: str, **params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": {**params, "_meta": META}}
    return json.dumps(message).encode() + b"\n"


def names_of_tools(done: Done) -> list[str]:
    (line,) = done.out.splitlines()
    return [tool["name"] for tool in json.loads(line)["result"]["tools"]]


def test_serve_with_a_folder_simply_works_and_ends_with_its_input(shell: Shell) -> None:
    done = shell.run("serve", "Notes", stdin=frame(1, "tools/list"))
    assert done.code == 0
    assert set(names_of_tools(done)) >= {"notes_list", "notes_read", "notes_create", "notes_delete"}


def test_serve_read_only_offers_nothing_that_changes_a_note(shell: Shell) -> None:
    done = shell.run("serve", "~/Notes", "--read-only", "--jail", "off", stdin=frame(1, "tools/list"))
    assert (done.code, done.err) == (0, "")
    assert names_of_tools(done) == [
        "notes_workspaces",
        "notes_list",
        "notes_read",
        "notes_search",
        "notes_links",
        "notes_tags",
        "notes_trash",
    ]


def test_serve_speaks_for_a_configured_workspace_too(shell: Shell) -> None:
    shell.configure("[[workspace]]\nname = 'n'\npath = '~/Notes'\n[jail]\nmode = 'off'\n")
    assert shell.run("serve") == Done(0)


@pytest.mark.parametrize("command", [("serve",), ("list", "-w"), ("doctor",)])
def test_a_folder_that_no_uri_can_name_is_refused_and_the_nearest_is_not(
    shell: Shell, command: tuple[str, ...]
) -> None:
    for name in ("back\\slash", "per%5Ccent"):
        (shell.home / name).mkdir()
    assert refused(shell.call(*command, "back\\slash", "--jail", "off"), 2, "invalid_argument")
    assert shell.run(*command, "per%5Ccent", "--jail", "off").code == 0


@pytest.mark.parametrize("signalled", ["SIGTERM", "SIGINT"])
def test_serve_ends_with_0_on_sigterm_and_130_on_sigint(shell: Shell, signalled: str) -> None:
    with serving(shell, "Notes", "--jail", "off") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(frame(1, "tools/list"))
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(signal.Signals[signalled])
        assert process.communicate(timeout=SECONDS) == (b"", b"")
        assert process.returncode == (0 if signalled == "SIGTERM" else 130)


@pytest.mark.parametrize("signalled", ["SIGTERM", "SIGINT"])
def test_serve_ends_so_too_before_it_serves(shell: Shell, signalled: str) -> None:
    """It is caught while it reads its configuration, which comes out of a pipe that says nothing."""
    pipe = shell.home / "config.toml"
    os.mkfifo(pipe)
    with serving(shell, "Notes", "--config", str(pipe)) as process:
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                end = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
                break
            except OSError:  # nobody reads yet
                assert time.monotonic() < deadline
                time.sleep(0.01)
        # Python notices a signal between two of its steps. One that comes just before it begins to wait is
        # noticed with the next one, so it is sent until it is.
        while process.poll() is None and time.monotonic() < deadline:
            process.send_signal(signal.Signals[signalled])
            time.sleep(0.2)
        assert process.communicate(timeout=SECONDS) == (b"", b"")
        os.close(end)
        assert process.returncode == (0 if signalled == "SIGTERM" else 130)


def test_serve_refuses_to_start_without_a_folder_it_can_serve(shell: Shell) -> None:
    (shell.home / "file").write_text("")
    assert shell.run("serve") == Done(
        2, "", "fsnotes: invalid_argument: nothing to serve: name a folder, or configure a workspace\n"
    )
    for folder in ("missing", "file", "", "a\x1b[31m", b"\xff"):
        done = shell.call("serve", folder)
        assert (refused(done, 2, "invalid_argument"), "\x1b" in done.err) == (True, False)
    shell.configure("[[workspace]]\nname = 'n'\npath = '~/missing'\n")
    assert refused(shell.call("serve", "Notes"), 2, "invalid_argument")


def test_serve_refuses_a_state_folder_inside_what_it_serves(shell: Shell) -> None:
    assert refused(shell.call("serve", "Notes", "--state-dir", "Notes/.state"), 2, "invalid_argument")
    assert refused(shell.call("serve", "."), 2, "invalid_argument")
    assert list(shell.vault.iterdir()) == []


def test_serve_refuses_flags_of_the_other_transport(shell: Shell) -> None:
    for flag, value in (("--host", "127.0.0.1"), ("--port", "8931"), ("--path", "/mcp")):
        done = shell.call("serve", "Notes", flag, value)
        assert done == Done(2, "", f"fsnotes: invalid_argument: {flag}: only for --transport http\n")


def test_serve_says_nothing_of_a_jail_that_could_be_required(shell: Shell) -> None:
    require_jail()
    for mode in ("best-effort", "require"):
        assert shell.run("serve", "Notes", "--jail", mode) == Done(0)
        assert shell.run("list", "-w", "Notes", "--jail", mode) == Done(0)


@pytest.mark.parametrize(
    ("host", "level"),
    [("nothing", "contained"), ("no Landlock in the kernel", "contained"), ("container", "full")],
)
def test_serve_ends_with_8_where_the_jail_that_is_required_cannot_be_had(
    shell: Shell, host: str, level: str
) -> None:
    require_jail()
    words = ("serve", "Notes", "--jail", "require", "--jail-level", level)
    done = shell.run(*words, command=fsnotes_on(host), stdin=frame(1, "tools/list"))
    assert refused(done, 8, "unavailable")
    missing = {"nothing": "landlock", "container": "namespaces"}.get(host, "landlock")
    assert re.search(
        rf"workspace 'Notes': jail level {level} is required and \w+ is what it has; missing is {missing} \(",
        done.err,
    )


@pytest.mark.parametrize("words", [(), ("--jail", "require")], ids=["best effort", "require"])
def test_serve_ends_with_8_where_a_layer_is_only_claimed_and_calls_it_that(
    shell: Shell, words: tuple[str, ...]
) -> None:
    require_jail()
    done = shell.run("serve", "Notes", *words, command=fsnotes_on("seccomp that does nothing"))
    assert refused(done, 8, "unavailable")
    assert "what its jail claims could not be proven, so it is not served: seccomp (" in done.err
    assert "required" not in done.err


NOTICE = re.compile(r"workspace 'Notes': jail level (\w+); missing is (\w+) \(.+\)")


@pytest.mark.parametrize(("host", "level"), [("nothing", "none"), ("no Landlock in the kernel", "partial")])
def test_serve_says_at_best_effort_what_it_does_not_enforce(shell: Shell, host: str, level: str) -> None:
    require_jail()
    served = shell.run("serve", "Notes", command=fsnotes_on(host), stdin=frame(1, "tools/list"))
    assert (served.code, len(served.err.splitlines())) == (0, 1)
    said = NOTICE.fullmatch(served.err.removeprefix("fsnotes: ").strip())
    assert said is not None, served.err
    assert said.groups() == (level, "landlock")
    assert "notes_read" in names_of_tools(served)
    listed = shell.run("list", "-w", "Notes", "--jail", "best-effort", command=fsnotes_on(host))
    assert listed == Done(0, "", served.err)
    assert shell.call("list", "-w", "Notes") == Done(0)


def test_everything_on_stderr_is_json_where_that_is_asked_for(shell: Shell) -> None:
    require_jail()
    words = ("serve", "Notes", "--log-format", "json", "--log-level", "error")
    done = shell.run(*words, command=fsnotes_on("nothing"))
    said = json.loads(done.err)
    assert (done.code, done.out) == (0, "")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", said.pop("time"))
    assert NOTICE.fullmatch(said.pop("message"))
    assert said == {"level": "warning", "logger": "fsnotes"}
    failed = shell.call("serve", "missing", "--log-format", "json")
    assert json.loads(failed.err)["message"].startswith("invalid_argument: folder missing: ")


# -- closed descriptors ----------------------------------------------------------------------------


def closed(shell: Shell, which: str, *arguments: str) -> Done:
    """Run a command from a shell that closes some of 0, 1 and 2 first."""
    words = [*FSNOTES, *arguments]
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {which}', "sh", *words],
        input=b"text\n",
        capture_output=True,
        cwd=shell.home,
        env=shell.environ(),
        timeout=SECONDS,
        check=False,
    )
    return Done(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))


def logged(shell: Shell) -> list[tuple[str, str]]:
    path = shell.state / "private/audit.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(line["tool"], line["outcome"]) for line in map(json.loads, lines)]


@pytest.mark.parametrize("which", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_serve_with_closed_streams_ends_and_writes_into_nothing(shell: Shell, which: str) -> None:
    shell.write("a.md", "text")
    done = closed(shell, which, "serve", "Notes")
    assert (done.code, done.out) == (0, "") if which != "2>&-" else done.code == 0
    assert (shell.files(), logged(shell)) == ({"a.md": b"text"}, [])


@pytest.mark.parametrize(
    ("which", "code", "said"),
    [
        (
            "<&-",
            2,
            ("", "fsnotes: invalid_argument: content: standard input is closed, and there is no --content"),
        ),
        (
            ">&-",
            1,
            ("", "fsnotes: standard output cannot be written: it is closed; the command itself was carried"),
        ),
        ("2>&-", 0, ("created new.md\n", "")),
        (">&- 2>&-", 1, ("", "")),
    ],
)
def test_a_change_with_closed_streams_is_whole_or_not_at_all(
    shell: Shell, which: str, code: int, said: tuple[str, str]
) -> None:
    done = closed(shell, which, "create", "-w", "Notes", "new")
    assert (done.code, done.out, done.err[: len(said[1])]) == (code, *said)
    if code == 2:
        assert (shell.files(), logged(shell)) == ({}, [])
    else:
        assert (shell.files(), logged(shell)) == ({"new.md": b"text\n"}, [("notes_create", "created")])


def test_a_refusal_with_stderr_closed_goes_into_no_file_and_not_to_stdout(shell: Shell) -> None:
    shell.write("a.md", "text")
    assert closed(shell, "2>&-", "create", "-w", "Notes", "../new") == Done(3)
    assert closed(shell, "2>&-", "--no-such") == Done(2)
    assert closed(shell, "<&- >&- 2>&-", "delete", "-w", "Notes", "a") == Done(7)
    refused = [("notes_create", "not_allowed"), ("notes_delete", "confirmation_unavailable")]
    assert (shell.files(), logged(shell)) == ({"a.md": b"text"}, refused)


def test_no_file_of_ours_takes_the_number_of_a_closed_stream(shell: Shell, tmp_path: Path) -> None:
    report = tmp_path / "report"
    code = (
        "import os, sys\n"
        "from fsnotes.cli import main\n"
        "from fsnotes.service import Service\n"
        "def look(*arguments, **named):\n"
        f"    with open({str(report)!r}, 'w') as file:\n"
        "        print(*(os.readlink(f'/proc/self/fd/{number}') for number in range(3)), file=file)\n"
        "    raise KeyboardInterrupt\n"
        "Service.list = look\n"
        "sys.exit(main(['list', '-w', 'Notes']))\n"
    )
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *FSNOTES[:-2], "-c", code],
        cwd=shell.home,
        env=shell.environ(),
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, report.read_text()) == (130, "/dev/null /dev/null /dev/null\n")


@pytest.mark.parametrize("arguments", [("list",), ("list", "--json"), ("read", "a")])
def test_a_full_disk_behind_stdout_is_said_and_is_no_success(
    shell: Shell, arguments: tuple[str, ...]
) -> None:
    shell.write("a.md", "text" * 10_000)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*FSNOTES, *arguments, "-w", "Notes"],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=shell.home,
            env=shell.environ(),
            timeout=SECONDS,
            check=False,
        )
    assert (done.returncode, done.stderr.decode()) == (
        1,
        "fsnotes: standard output cannot be written: No space left on device; the command itself was carried out\n",
    )
