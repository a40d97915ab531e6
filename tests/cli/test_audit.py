"""`audit`: who changed what and who was refused, for people and for programs; read-only, and safe to look at."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fsnotes.audit import AuditLog, Event, Rotation
from fsnotes.calls import local_principal
from tests.cli.shell import FSNOTES, ROOT, SECONDS, Done, Shell, refused, serving
from tests.server.wire import call, envelope

ME = local_principal().name
WHEN = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
UTC = {"TZ": "UTC"}


def log(shell: Shell, *, now: float = 1_800_000_000.0, **how: Any) -> AuditLog:
    """Return the log of this person's state folder, on a clock that stands."""
    (shell.state / "private").mkdir(parents=True, exist_ok=True, mode=0o700)
    return AuditLog(str(shell.state / "private/audit.jsonl"), clock=lambda: now, **how)


def refuse(shell: Shell, path: str | None = "a.md", *, now: float = 1_800_000_000.0, **fields: Any) -> None:
    """Write one line."""
    given = {
        "principal": "local:alice",
        "tool": "notes_create",
        "workspace": "notes",
        "jail": "full",
        "outcome": "not_allowed",
        **fields,
    }
    log(shell, now=now).refuse(Event(path=path, **given))


def raw(shell: Shell) -> list[dict[str, Any]]:
    """Return the lines as they stand in the log itself."""
    path = shell.state / "private/audit.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def state(shell: Shell) -> list[tuple[str, int, bytes]]:
    return [
        (str(place), place.stat().st_mtime_ns, place.read_bytes() if place.is_file() else b"")
        for place in sorted(shell.home.rglob("*"))
    ]


def test_people_see_who_did_what_and_what_came_of_it(shell: Shell) -> None:
    shell.there("create", "Projects/Plan", stdin=b"text")
    shell.there("create", "Projects/Plan", stdin=b"text")
    shell.there("move", "Projects/Plan", "Plan", "--keep-links")
    done = shell.run("audit")
    lines = [re.sub(WHEN, "*", line) for line in done.out.splitlines()]
    assert lines == [
        f"*  {ME}  create      created         Notes  Projects/Plan.md",
        f"*  {ME}  create      note_exists     Notes  Projects/Plan",
        f"*  {ME}  move        moved           Notes  Projects/Plan.md  ->  Plan.md",
    ]
    assert (done.code, done.err) == (0, "")
    assert shell.call("audit") == done


def test_times_are_on_the_clock_of_who_looks(shell: Shell) -> None:
    refuse(shell)
    assert shell.run("audit", env=UTC).out.startswith("2027-01-15 08:00:00  ")
    assert shell.run("audit", env={"TZ": "Asia/Kolkata"}).out.startswith("2027-01-15 13:30:00  ")


def test_programs_get_the_lines_as_they_are(shell: Shell) -> None:
    shell.there("create", "a", stdin=b"text")
    shell.there("create", "../b", stdin=b"text")
    done = shell.run("audit", "--json")
    stored = (shell.state / "private/audit.jsonl").read_text().splitlines()
    assert done.out.splitlines() == [line.rstrip(" ") for line in stored]
    assert [json.loads(line)["outcome"] for line in done.out.splitlines()] == ["created", "not_allowed"]


def test_it_needs_no_workspace_and_makes_nothing(shell: Shell) -> None:
    shell.vault.rmdir()
    assert shell.run("audit") == Done(0)
    assert shell.call("audit", "--json", "--state-dir", str(shell.home / "gone")) == Done(0)
    assert list(shell.home.iterdir()) == []
    refuse(shell)
    before = state(shell)
    assert len(shell.run("audit").out.splitlines()) == 1
    assert state(shell) == before


def test_it_reads_where_nothing_can_be_written(shell: Shell) -> None:
    refuse(shell)
    (shell.state / "private").chmod(0o500)
    (shell.state / "private/audit.jsonl").chmod(0o400)
    try:
        assert len(shell.run("audit").out.splitlines()) == 1
    finally:
        (shell.state / "private").chmod(0o700)


def test_a_change_without_an_outcome_is_shown_as_such(shell: Shell) -> None:
    log(shell).reserve(Event("local:alice", "notes_delete", "notes", "a.md", "full"))
    assert shell.call("audit").out[21:] == "local:alice  delete      begun           notes  a.md\n"


# -- which lines -------------------------------------------------------------------------------------


@pytest.fixture
def told(shell: Shell) -> Shell:
    """Six lines of one day, in three files."""
    for number, fields in enumerate(
        [
            {"outcome": "created"},
            {"principal": "local:bob"},
            {"tool": "notes_delete", "outcome": "deleted"},
            {"workspace": "work", "outcome": "created"},
            {"principal": "fsnotes", "tool": "sweep", "workspace": "work", "outcome": "swept_3"},
            {"principal": "local:bob", "tool": "notes_delete", "workspace": "work"},
        ]
    ):
        refuse(shell, str(number), now=1_800_000_000.0 + 3600 * number, **fields)
        if number in (1, 3):
            (shell.state / "private/audit.jsonl").rename(shell.state / f"private/audit-{number:06d}.jsonl")
    return shell


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ((), "012345"),
        (("--principal", "local:bob"), "15"),
        (("--principal", "bob"), ""),
        (("-w", "work"), "345"),
        (("--workspace", "work", "--outcome", "created"), "3"),
        (("--tool", "delete"), "25"),
        (("--tool", "notes_delete"), "25"),
        (("--outcome", "not_allowed"), "15"),
        (("--limit", "2"), "45"),
        (("--limit", "0"), ""),
        (("--limit", "2", "--tool", "create"), "13"),
        (("--limit", "100000"), "012345"),
        (("--since", "2027-01-15T12:00:00Z"), "45"),
        (("--since", "2027-01-15T12:00:00.001Z"), "5"),
        (("--since", "2027-01-15T13:00:00+01:00"), "45"),
        (("--since", "2027-01-15"), "012345"),
        (("--since", "2027-01-16"), ""),
        (("--since", "2027-01-15T12:00"), "45"),
        (("--since", "90000d"), "012345"),
        (("--since", "1s"), "012345"),
        (("--since", "1970-01-01"), "012345"),
    ],
)
def test_the_lines_that_are_asked_for_are_shown_the_oldest_first(
    told: Shell, options: tuple[str, ...], numbers: str
) -> None:
    done = told.run("audit", "--json", *options, env=UTC)
    assert [json.loads(line)["path"] for line in done.out.splitlines()] == list(numbers)
    assert (done.code, done.err) == (0, "")


def test_a_time_ago_is_counted_from_now(shell: Shell) -> None:
    for ago in (7200, 1800, 60):
        refuse(shell, str(ago), now=time.time() - ago)
    shown = {
        since: [
            json.loads(line)["path"]
            for line in shell.call("audit", "--json", "--since", since).out.splitlines()
        ]
        for since in ("3h", "1d", "90m", "120s", "1s")
    }
    assert shown == {
        "3h": ["7200", "1800", "60"],
        "1d": ["7200", "1800", "60"],
        "90m": ["1800", "60"],
        "120s": ["60"],
        "1s": [],
    }


@pytest.mark.parametrize(
    "options",
    [
        ("--limit", "-1"),
        ("--limit", "100001"),
        ("--limit", "x"),
        ("--since", ""),
        ("--since", "yesterday"),
        ("--since", "7w"),
        ("--since", "12:00"),
        ("--since", "2027-13-01"),
        ("--since", "\u202e\x1b[2J"),
        ("--since", "9" * 400 + "d"),
        ("--wat",),
        ("x",),
    ],
)
def test_what_cannot_be_meant_is_refused(told: Shell, options: tuple[str, ...]) -> None:
    done = told.call("audit", *options)
    assert refused(done, 2, "invalid_argument")
    assert done.err.removesuffix("\n").isprintable()


# -- what others may have put there ------------------------------------------------------------------

HOSTILE = "\x1b]0;x\x07\x1b[2J\u202ecod\u2066\r\n\t\x9b\u200bend"


def test_no_text_in_the_log_moves_a_terminal(shell: Shell) -> None:
    refuse(
        shell, HOSTILE, principal=HOSTILE, workspace=HOSTILE, tool=HOSTILE, outcome=HOSTILE, new_path=HOSTILE
    )
    (line,) = shell.run("audit").out.splitlines()
    assert line.isprintable()
    assert (
        line.count("\\u001b]0;x\\u0007\\u001b[2J\\u202ecod\\u2066\\u000d\\u000a\\u0009\\u009b\\u200bend") == 6
    )
    (line,) = shell.run("audit", "--json").out.splitlines()
    assert (line.isascii(), line.isprintable()) == (True, True)
    assert json.loads(line)["path"] == HOSTILE


def test_what_another_program_wrote_is_made_harmless_too(shell: Shell) -> None:
    refuse(shell, "one")
    path = shell.state / "private/audit.jsonl"
    path.write_text(path.read_text().replace("one", "\u202ex\x7f"))
    (line,) = shell.run("audit", "--json").out.splitlines()
    assert (line.isascii(), line.isprintable()) == (True, True)
    assert json.loads(line)["path"] == "\u202ex\x7f"


def test_no_field_looks_like_several(shell: Shell) -> None:
    refuse(shell, "a  ->  b", principal="local:alice  delete", workspace="", outcome='x"', tool="-")
    refuse(shell, "plain text.md", principal="https://issuer|some body", workspace="my notes", new_path=" b")
    refuse(shell, None)
    lines = [line[21:] for line in shell.call("audit").out.splitlines()]
    assert lines == [
        '"local:alice  delete"  "-"         "x\\""           ""  "a  ->  b"',
        'https://issuer|some body  create      not_allowed     my notes  plain text.md  ->  " b"',
        "local:alice  create      not_allowed     notes",
    ]


def test_what_is_torn_or_no_line_is_counted_on_stderr(shell: Shell) -> None:
    refuse(shell, "one")
    path = shell.state / "private/audit.jsonl"
    with path.open("ab") as file:
        file.write(b'{"time":"2027-01\n\xff\xfe\x1b[2J\n\n{}\n')
    refuse(shell, "two")
    for options in ((), ("--limit", "9")):
        done = shell.run("audit", *options)
        assert [line.split()[-1] for line in done.out.splitlines()] == ["one", "two"]
        assert (done.code, done.err) == (
            0,
            "fsnotes: 3 lines are torn, or not the audit log's, and left out\n",
        )


@pytest.mark.parametrize("name", ["audit.jsonl", "audit-000001.jsonl"])
def test_a_file_that_is_none_is_named_and_the_rest_is_shown(told: Shell, name: str) -> None:
    place = told.state / "private" / name
    place.rename(told.home / "secret")
    place.symlink_to(told.home / "secret")
    done = told.run("audit", "--json")
    left, slug = done.err.splitlines()
    assert [json.loads(line)["path"] for line in done.out.splitlines()] == list(
        "2345" if name != "audit.jsonl" else "0123"
    )
    assert left == f"fsnotes: {name} is no readable file of this user's, and left out"
    assert (done.code, slug.startswith("fsnotes: unavailable: "), str(told.home) in done.err) == (
        1,
        True,
        False,
    )


# -- following ---------------------------------------------------------------------------------------


class Following:
    """A command that follows, whose lines are awaited."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._rest = b""

    def line(self) -> str:
        """Return the next line of its output."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + SECONDS
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"nothing more came after {self._rest!r}"
            data = os.read(self.process.stdout.fileno(), 65_536)
            assert data, f"it ended after {self._rest!r}"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()

    def name(self) -> str:
        """Return the last word of the next line."""
        return self.line().split()[-1]

    def end(self, number: int) -> tuple[int, bytes, bytes]:
        """Send a signal; return the exit code and all that was left to be read."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, self._rest + out, err


@contextlib.contextmanager
def following(shell: Shell, *options: str) -> Iterator[Following]:
    with subprocess.Popen(
        [*FSNOTES, "audit", "--follow", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=shell.environ(),
        cwd=shell.home,
    ) as process:
        try:
            yield Following(process)
        finally:
            if process.poll() is None:
                process.kill()


def test_following_begins_with_the_last_lines_and_goes_on_until_interrupted(shell: Shell) -> None:
    for number in range(12):
        refuse(shell, f"before-{number}")
    with following(shell) as follow:
        assert [follow.name() for _ in range(10)] == [f"before-{number}" for number in range(2, 12)]
        for number in range(3):
            refuse(shell, f"after-{number}")
            assert follow.name() == f"after-{number}"
        assert follow.end(signal.SIGINT) == (130, b"", b"")


def test_following_goes_over_rotations_and_waits_for_a_log_that_is_not_there(shell: Shell) -> None:
    with following(shell, "--since", "1970-01-01", "--outcome", "created", "--json") as follow:
        time.sleep(0.3)  # so that it is there first, which nothing below depends on
        small = log(shell, rotation=Rotation(2000))
        for number in range(30):
            reservation = small.reserve(Event("local:alice", "notes_create", "notes", f"{number}", "full"))
            reservation.settle("created")
        assert [json.loads(follow.line())["path"] for _ in range(30)] == [str(n) for n in range(30)]
        assert len(list((shell.state / "private").iterdir())) > 4
        assert follow.end(signal.SIGINT) == (130, b"", b"")


def test_following_shows_a_change_that_another_process_makes(shell: Shell) -> None:
    refuse(shell, "begun")
    with following(shell, "--tool", "create") as follow:
        assert follow.name() == "begun"
        shell.there("create", "new", stdin=b"text")
        assert follow.line()[21:] == f"{ME}  create      created         Notes  new.md"
        assert follow.end(signal.SIGINT)[0] == 130


def test_following_ends_when_nobody_reads_any_more(shell: Shell) -> None:
    """Before another line comes, and without a word."""
    refuse(shell)
    with following(shell) as follow:
        follow.line()
        assert follow.process.stdout is not None
        follow.process.stdout.close()
        assert follow.process.wait(timeout=SECONDS) == 0
        assert follow.process.stderr is not None
        assert follow.process.stderr.read() == b""


def test_a_reader_that_has_enough_ends_it(shell: Shell) -> None:
    for number in range(3000):
        refuse(shell, f"{number}" + "x" * 100)
    done = subprocess.run(
        ["/bin/sh", "-c", '"$@" | head -n 1; true', "sh", *FSNOTES, "audit"],
        capture_output=True,
        env=shell.environ(),
        timeout=SECONDS,
        check=False,
    )
    assert (len(done.stdout.splitlines()), done.stderr) == (1, b"")


def test_torn_lines_are_counted_while_following(shell: Shell) -> None:
    refuse(shell, "one")
    path = shell.state / "private/audit.jsonl"
    with path.open("ab") as file:
        file.write(b"torn\n")
    with following(shell) as follow:
        assert follow.name() == "one"
        refuse(shell, "two")
        assert follow.name() == "two"
        assert follow.end(signal.SIGINT) == (
            130, b"", b"fsnotes: 1 line is torn, or not the audit log's, and left out\n"
        )  # fmt: skip


def test_a_terminal_is_shown_the_same(shell: Shell) -> None:
    refuse(shell, "a\u202eb")
    with shell.on_terminal("audit", results_too=True) as terminal:
        done = terminal.end()
    assert re.fullmatch(rf"{WHEN}  local:alice  create      not_allowed     notes  a\\u202eb\n", done.err)


def test_it_starts_without_what_it_does_not_need(shell: Shell) -> None:
    refuse(shell)
    code = (
        "import sys\n"
        "from fsnotes.cli import main\n"
        "code = main(sys.argv[1:])\n"
        "heavy = ('mcp', 'mcp_types', 'pydantic', 'anyio', 'asyncio', 'jsonschema', 'fsnotes.server', 'cryptography',"
        " 'sqlite3')\n"
        "print([name for name in sys.modules if name in heavy or name.startswith('mcp.')])\n"
        "sys.exit(code)\n"
    )
    done = shell.run("audit", command=[sys.executable, "-c", code])
    assert (done.code, done.err, done.out.splitlines()[1:]) == (0, "", ["[]"])


def test_the_page_shows_what_is_printed(shell: Shell) -> None:
    page = (ROOT / "docs/audit.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (shown,) = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    path = shell.state / "private/audit.jsonl"
    log(shell)
    path.write_text(json.dumps(json.loads(line)) + "\n")
    assert shell.run("audit", env={"TZ": "CET-1"}) == Done(0, shown)
    assert shell.run("audit", "--tool", "delete", "--outcome", "deleted", env={"TZ": "CET-1"}).out == shown


# -- what a client says of itself ---------------------------------------------------------------------

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENTS: list[tuple[Any, str | None]] = [
    (f"00-{TRACE}-00f067aa0ba902b7-01", TRACE),
    (None, None),
    ("", None),
    (7, None),
    (f"00-{TRACE.upper()}-00f067aa0ba902b7-01", None),
    (f"00-{TRACE}-00f067aa0ba902b7", None),
    (f"00-{TRACE}-00f067aa0ba902b7-01\n", None),
    (f"00-{TRACE[1:]}-00f067aa0ba902b7-01", None),
    ({"traceparent": TRACE}, None),
]


def test_the_trace_of_a_call_is_in_the_line_of_its_change_and_of_its_refusal(shell: Shell) -> None:
    uri = shell.vault.as_uri()
    with serving(shell, "Notes") as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for number, (parent, _) in enumerate(PARENTS):
            meta = envelope(traceparent=parent)
            for turn, path in enumerate((f"{number}.md", f"{number}.md", f"../{number}.md")):
                arguments = {"workspaceUri": uri, "path": path, "content": "x"}
                asked = call(f"{number}-{turn}", "notes_create", arguments, meta=meta)
                server.stdin.write(json.dumps(asked).encode() + b"\n")
                server.stdin.flush()
                assert json.loads(server.stdout.readline())["id"] == f"{number}-{turn}"
        server.stdin.close()
        assert server.wait(SECONDS) == 0
    outcomes = ("created", "note_exists", "not_allowed")
    assert [(line["requestId"], line["outcome"], line["traceId"]) for line in raw(shell)] == [
        (f"{number}-{turn}", outcome, trace)
        for number, (_, trace) in enumerate(PARENTS)
        for turn, outcome in enumerate(outcomes)
    ]
    assert sorted(shell.files()) == [f"{number}.md" for number in range(len(PARENTS))]


def test_a_small_bound_in_the_configuration_is_kept_to(shell: Shell, tmp_path: Path) -> None:
    file = shell.configure("[audit]\nmax_bytes = 65536\nkeep = 1\n")
    padding = "x" * 300
    for number in range(160):
        refuse(shell, f"{number}{padding}")
    place = shell.state / "private/audit.jsonl"
    assert 65_536 < place.stat().st_size < 100_000
    shell.there("create", "a", stdin=b"text")
    assert [each.name for each in sorted(place.parent.glob("audit*"))] == [
        "audit-000001.jsonl",
        "audit.jsonl",
    ]
    assert len(shell.call("audit", "--json").out.splitlines()) == 161
    file.write_text("[audit]\nmax_bytes = 65535\n")
    assert refused(shell.call("audit"), 2, "invalid_argument")
