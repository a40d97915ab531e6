"""What a locked-down process can still do, and how it begins and ends."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest

from sandbox.jail.outside import confirm, look
from sandbox.jail.rehearsing import BROKEN
from sandbox.jail.report import LayerState, Level
from sandbox.jail.spec import Limits
from tests.sandbox.jail.launching import (
    IDENTITIES,
    KILLED,
    REPOSITORY,
    USER,
    Identity,
    Outcome,
    launch,
    need_level,
)

CASES = "tests.sandbox.jail.cases:"
LEVELS = (Level.CONTAINED, Level.FULL)
WAIT_SECONDS = 10


def run(case: str, identity: Identity, level: Level, **how: Any) -> Outcome:
    """Run one honest case; it must be at its level."""
    need_level(identity, level)
    outcome = launch([CASES + case], identity=identity, level=level, **how)[CASES + case]
    if outcome.report is not None:
        assert outcome.report.level is level, outcome.report.to_json()
    return outcome


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("level", LEVELS)
def test_the_working_root_is_the_workspace(level: Level, identity: Identity) -> None:
    outcome = run("who", identity, level)
    assert outcome.report is not None
    found, report = outcome.result, outcome.report
    account = {"root": 0, "user": USER if os.geteuid() == 0 else os.geteuid(), "root for a user": USER}[
        identity
    ]
    assert found["uids"] == [account] * 2
    assert found["gids"][0] == found["gids"][1]
    assert found["here"] == [".git", "link-to-file", "link-to-folder", "mine.md", "sub"]
    assert len(found["descriptors"]) == 4
    assert found["descriptors"][:3] == [0, 1, 2]
    assert report.cwd == found["cwd"]
    assert report.layer("capabilities").facts["uid"] == account
    if level is Level.FULL:
        assert (found["cwd"], found["pid"]) == ("/ws", 1)
        assert report.root_entries == ("index", "ws")
    else:
        assert found["cwd"].endswith("/ws")
        assert report.root_entries is None
        assert report.layer("namespaces").state is LayerState.OFF


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("level", LEVELS)
def test_the_whole_life_of_a_root_fits_into_the_jail(level: Level, identity: Identity) -> None:
    need_level(identity, level)
    cases = [CASES + "life_of_a_root", CASES + "life_of_a_root_by_walking"]
    found = list(launch(cases, identity=identity, level=level).values())
    assert [each.error for each in found] == [None, None], [each.said for each in found]
    # Who changes has no openat2, unless links are to be followed.
    assert [each.result for each in found] == [[["b.md"], 0, True, True, "walk"]] * 2


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("level", LEVELS)
def test_the_whole_life_of_an_index_fits_into_the_jail(level: Level, identity: Identity) -> None:
    outcome = run("life_of_an_index", identity, level, kind="index")
    assert outcome.error is None, outcome.said
    assert outcome.result == [2000] * 4


@pytest.mark.parametrize("level", LEVELS)
def test_an_index_past_the_limit_of_a_file_is_an_error_and_no_death(level: Level) -> None:
    outcome = run("index_past_the_limit", "user", level, kind="index", limits={"file_size": 10 << 20})
    assert (outcome.status, outcome.result) == (0, "disk I/O error")


RIGHTS: dict[str, set[str]] = {
    "ro": set(),
    "rw": {
        "make a note",
        "change a note",
        "empty a note",
        "make a folder",
        "move a note",
        "remove a note",
        "read the attributes of a note",
        "mark a note",
        "mark the workspace",
        "lock the workspace",
        "change the index",
        "make a file of the index",
        "mark the index",
    },
    "index": {"change the index", "make a file of the index"},
}


@pytest.mark.parametrize("identity", ["root", "user"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", RIGHTS)
def test_each_kind_writes_what_it_is_for_and_nothing_else(
    kind: str, level: Level, identity: Identity
) -> None:
    outcome = run("rights", identity, level, kind=kind)
    assert outcome.error is None, outcome.said
    worked = {what for what, answer in outcome.result.items() if answer == "it worked"}
    assert worked == RIGHTS[kind] | {"read a note", "read the index"}
    assert set(outcome.result.values()) <= {"it worked", "EACCES", "EROFS", "EPERM", "EXDEV"}


@pytest.mark.parametrize("identity", ["root", "user"])
def test_where_links_are_followed_in_the_tree_of_the_host_nothing_is_marked(identity: Identity) -> None:
    """By openat2, which that needs, files outside could be opened that the filter does not see."""
    outcome = run("rights", identity, Level.CONTAINED, follows_links=True)
    assert outcome.report is not None
    worked = {what for what, answer in outcome.result.items() if answer == "it worked"}
    marks = {"read the attributes of a note", "mark a note", "mark the workspace", "mark the index"}
    assert worked == (RIGHTS["rw"] - marks) | {"read a note", "read the index"}
    assert outcome.report.resolver == "openat2"


@pytest.mark.parametrize("kind", ["ro", "rw", "index"])
def test_mounts_of_the_tree_allow_no_programs_devices_or_set_id(kind: str) -> None:
    flags = run("flags_of_mounts", "user", Level.FULL, kind=kind).result
    strict, read_only = ["NODEV", "NOEXEC", "NOSUID"], ["NODEV", "NOEXEC", "NOSUID", "RDONLY"]
    assert {path: sorted(found) for path, found in flags.items()} == {
        "/": read_only,
        "/ws": strict if kind == "rw" else read_only,
        "/index": read_only if kind == "ro" else strict,
    }


@pytest.mark.parametrize("level", LEVELS)
def test_the_end_of_a_worker_is_passed_on(level: Level) -> None:
    need_level("user", level)
    ends = {
        CASES + "end_with_seven": 7,
        CASES + "touch_bad_memory": 128 + signal.SIGSEGV,
        CASES + "nothing": 0,
    }
    outcomes = launch([*ends, "ptrace"], identity="user", level=level)
    assert {name: outcome.status for name, outcome in outcomes.items()} == {**ends, "ptrace": KILLED}
    assert KILLED == 159


@pytest.mark.parametrize("level", LEVELS)
def test_processor_time_ends_with_the_limit(level: Level) -> None:
    outcome = run("use_up_the_processor", "user", level, limits={"cpu_seconds": 1})
    # Process 1 of a namespace is not ended by the first signal, but by the second, which cannot be ignored.
    assert outcome.status in (128 + signal.SIGXCPU, 128 + signal.SIGKILL)


@pytest.mark.parametrize("level", LEVELS)
def test_memory_past_the_limit_is_an_error_and_life_goes_on(level: Level) -> None:
    outcome = run("use_up_the_memory_and_go_on", "user", level)
    assert (outcome.status, outcome.result) == (0, 10 << 20)


@pytest.mark.parametrize("level", LEVELS)
def test_a_file_past_the_limit_is_an_error_and_no_death(level: Level) -> None:
    assert run("write_past_the_limit", "user", level).result == "EFBIG"


# -- seen from outside -------------------------------------------------------------------------


@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("level", LEVELS)
def test_the_parent_sees_what_it_can_see_of_a_jail(level: Level, identity: Identity) -> None:
    outcome = run("be_looked_at", identity, level)
    assert outcome.seen is not None
    assert outcome.report is not None
    assert confirm(outcome.report, outcome.seen, Limits(), ours=0) == outcome.report


def test_a_report_that_claims_more_than_is_seen_is_failed() -> None:
    outcome = run("be_looked_at", "user", Level.FULL)
    free = look(os.getpid())
    assert free is not None
    assert outcome.report is not None
    judged = confirm(outcome.report, free, Limits(), ours=0)
    assert {layer.name for layer in judged.layers if layer.state is LayerState.FAILED} == {
        "seccomp",
        "capabilities",
        "namespaces",
        "limits",
    }
    assert judged.failed
    weaker = confirm(outcome.report, outcome.seen or free, Limits(memory=100 << 20), ours=0)
    assert [layer.name for layer in weaker.layers if layer.state is LayerState.FAILED] == ["limits"]


def test_a_process_that_is_gone_is_not_seen() -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    assert look(done.pid) is None


# -- what must be so before --------------------------------------------------------------------

BEGIN = """
import json, os, sys, threading, time
sys.path.insert(0, {repository!r})
from sandbox.errors import LockdownFailed
from sandbox.jail.lockdown import lock_down
from sandbox.jail.report import Level
from sandbox.jail.spec import JailSpec, Plan
want, folder, parent, keep, identity, kind = json.loads(sys.argv[1])
{before}
spec = JailSpec(folder, kind, "x:y", want=Level(want), identity=identity and tuple(identity))
try:
    report = lock_down(Plan(spec, parent or os.getppid(), tuple(keep)))
except LockdownFailed as error:
    print(error.reason)
    sys.exit(3)
{after}
"""


@contextmanager
def workspace() -> Iterator[str]:
    """An empty folder."""
    with tempfile.TemporaryDirectory(prefix="fsnotes-jail-") as base:
        os.mkdir(f"{base}/ws")
        yield f"{base}/ws"


def begin(
    folder: str, *, before: str = "", after: str = "print(report.level)", **how: Any
) -> subprocess.CompletedProcess[str]:
    """Lock down a fresh process of the tests' own account."""
    order = [
        how.get("want", "contained"),
        folder,
        how.get("parent", 0),
        how.get("keep", []),
        how.get("identity"),
        how.get("kind", "rw"),
    ]
    code = BEGIN.format(repository=REPOSITORY, before=before, after=after)
    return subprocess.run(
        [sys.executable, "-I", "-B", "-c", code, json.dumps(order)],
        input="",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("before", "how", "reason"),
    [
        ("threading.Thread(target=time.sleep, args=(60,), daemon=True).start()", {}, "one thread"),
        ("", {"parent": 1}, "is gone"),
        ("keep = [os.open('/', os.O_RDONLY)]", {}, "keeps no file, folder or device"),
        ("keep = [os.open('/', os.O_PATH)]", {}, "keeps no file, folder or device"),
        ("keep = [os.open('/etc/passwd', os.O_RDONLY)]", {}, "keeps no file, folder or device"),
        ("os.dup2(os.open('/dev/null', os.O_RDONLY), 0)", {}, "keeps no file, folder or device"),
        ("", {"keep": [77]}, "not open"),
        ("os.close(0)", {}, "not open"),
        ("", {"identity": [1, 1]}, "moved or replaced"),
        ("folder = folder + '/none'", {}, "not there"),
        ("os.symlink(folder, folder + '/../link'); folder = folder[:-2] + 'link'", {}, "no folder"),
        ("open(folder + '/../file', 'w').close(); folder = folder[:-2] + 'file'", {}, "no folder"),
    ],
)
@pytest.mark.parametrize("want", ["contained", "full"])
def test_a_lock_down_that_cannot_hold_is_not_begun(
    before: str, how: dict[str, Any], reason: str, want: str
) -> None:
    with workspace() as folder:
        done = begin(folder, before=before, want=want, **how)
    assert done.returncode == 3, done.stderr
    assert reason in done.stdout


def test_a_workspace_of_which_the_identity_is_known_is_accepted() -> None:
    need_level("user", Level.CONTAINED)
    with workspace() as folder:
        status = os.stat(folder)
        done = begin(folder, identity=[status.st_dev, status.st_ino])
    assert done.stdout == "contained\n", done.stderr


INDEX = """
import functools, stat
os.mkdir(folder + '/../index', 0o700)
index = os.path.dirname(folder) + '/index'
known = os.stat(index)
{change}
JailSpec = functools.partial(JailSpec, index=index, index_identity=(known.st_dev, known.st_ino))
"""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("", None),
        ("os.rename(index, index + '-moved'); os.mkdir(index, 0o700)", "moved or replaced"),
        ("os.rename(index, index + '-moved'); os.symlink(index + '-moved', index)", "is no folder"),
        ("os.rename(index, index + '-moved'); os.symlink('/etc', index)", "is no folder"),
        ("os.rmdir(index)", "is not there"),
    ],
)
@pytest.mark.parametrize("want", ["contained", "full"])
def test_another_folder_of_the_index_than_was_meant_is_refused(
    change: str, said: str | None, want: str
) -> None:
    need_level("root" if os.geteuid() == 0 else "user", Level(want))
    with workspace() as folder:
        done = begin(folder, before=INDEX.format(change=change), want=want)
    assert done.stderr == ""
    if said is None:
        assert done.stdout == f"{want}\n"
    else:
        assert (done.returncode, said in done.stdout) == (3, True), done.stdout


@pytest.mark.parametrize("want", ["contained", "full"])
@pytest.mark.parametrize(("owner", "accepted"), [(USER, True), (0, False), (USER + 1, False)])
def test_a_folder_of_the_index_is_for_the_account_that_it_belongs_to(
    want: str, owner: int, accepted: bool
) -> None:
    """Root's worker becomes the owner of its workspace: what is root's own, or another's, is not for that one."""
    need_level("root", Level(want))
    with workspace() as folder:
        os.chown(folder, USER, USER)
        os.chmod(os.path.dirname(folder), 0o755)  # noqa: S103 - for the other account
        before = INDEX.format(change=f"os.chown(index, {owner}, {owner})")
        done = begin(folder, before=before, want=want, kind="ro")
    assert (done.stderr, done.returncode) == ("", 0 if accepted else 3)
    assert done.stdout == (
        f"{want}\n" if accepted else "the folder of the index belongs to another account\n"
    )


def test_a_workspace_behind_a_folder_that_is_closed_to_its_owner_is_served_by_root() -> None:
    """Its worker, which becomes the owner, never needs to go the way there."""
    need_level("root", Level.FULL)
    for want in ("full", "contained"):
        with workspace() as folder:
            os.chown(folder, USER, USER)
            os.chmod(os.path.dirname(folder), 0o700)
            done = begin(folder, want=want, kind="ro", after="print(report.level, report.layers[0].proof)")
        assert done.stderr == ""
        assert done.stdout.startswith(f"{want} (")
        assert "'make a file in the workspace: EACCES'" in done.stdout


@pytest.mark.parametrize("place", ["/mnt", "/tmp", "/home"])
def test_a_workspace_at_or_above_the_place_of_the_tree_is_served(place: str) -> None:
    """The tree is built over a folder of the host, which may be the workspace itself."""
    need_level("root", Level.FULL)
    if not os.path.isdir(place):
        pytest.skip(f"no {place} here")
    done = begin(place, want="full", after="print(report.level, report.root_entries)")
    assert done.stdout == "full ('ws',)\n", done.stdout + done.stderr


CALLS = {
    "newfstatat": (262, 79),
    "fstat": (5, 80),
    "openat": (257, 56),
    "close": (3, 57),
    "pipe2": (293, 59),
    "clone": (56, 220),
    "wait4": (61, 260),
    "fchdir": (81, 50),
    "getcwd": (79, 17),
    "getdents64": (217, 61),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "capget": (125, 90),
    "capset": (126, 91),
    "rt_sigaction": (13, 134),
    "dup": (32, 23),
    "mmap": (9, 222),
}
"""What a lock-down calls: x86_64, aarch64."""


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.EMFILE])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("want", ["contained", "full"])
def test_whatever_the_system_refuses_is_a_reason_and_no_traceback(want: str, call: str, number: int) -> None:
    column = {"x86_64": 0, "aarch64": 1}.get(os.uname().machine)
    if column is None:
        pytest.skip("the numbers of this machine's calls are not known here")
    before = (
        "from tests.sandbox.jail import hosts\n"
        f"hosts.HOSTS['odd'] = {{{CALLS[call][column]}: {number}}}\n"
        "hosts.imitate('odd')"
    )
    with workspace() as folder:
        done = begin(
            folder, want=want, before=before, after="print('failed' if report.failed else report.level)"
        )
    assert done.stderr == ""
    assert done.returncode in (0, 3, BROKEN)  # the last where the outer half could not give up its rights
    assert done.stdout.strip() != "" or done.returncode == BROKEN


def test_a_workspace_that_cannot_be_entered_is_said_to_be_so() -> None:
    need_level("user", Level.CONTAINED)
    with workspace() as folder:
        os.chmod(folder, 0o600)
        if os.geteuid() == 0:
            os.chown(folder, USER, USER)
            os.chmod(os.path.dirname(folder), 0o755)  # noqa: S103 - for the other account
        become = f"os.setgroups([]); os.setresgid(*[{USER}] * 3); os.setresuid(*[{USER}] * 3)"
        done = begin(folder, before=become if os.geteuid() == 0 else "")
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout == "the workspace cannot be entered: Permission denied: EACCES\n"


DIE = """
from sandbox.jail import namespaces
leave, deaths = namespaces._leave_the_host, folder + '/../deaths'
def leave_or_die(*what):
    with open(deaths, 'a+') as file:
        file.write('x')
        file.seek(0)
        count = len(file.read())
    if count <= {times}:
        os.kill(os.getpid(), 9)
    return leave(*what)
namespaces._leave_the_host = leave_or_die
"""


@pytest.mark.parametrize(("times", "said"), [(1, "full 3"), (2, "full 4"), (3, "none 3")])
def test_a_rehearsal_that_is_killed_is_held_again_and_never_taken_for_the_answer_of_the_host(
    times: int, said: str
) -> None:
    """As when the host is short of memory in this very moment."""
    need_level("root" if os.geteuid() == 0 else "user", Level.FULL)
    with workspace() as folder:
        done = begin(folder, want="full", before=DIE.format(times=times))
        with open(f"{folder}/../deaths") as file:
            tries = len(file.read())
    # The last try is the one of the worker itself, where there was an answer before.
    assert f"{done.stdout.strip()} {tries}" == said, done.stderr


# -- the death of others -----------------------------------------------------------------------

SPAWN = (
    "import os, sys, subprocess, time\n"
    "child = subprocess.Popen([sys.executable, '-I', '-B', '-c', sys.argv[1], sys.argv[2]],"
    " stdout=subprocess.PIPE, stdin=subprocess.PIPE, stderr=subprocess.STDOUT)\n"
    "print(child.pid, child.stdout.readline().decode().strip(), flush=True)\n"
    "time.sleep(60)\n"
)


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize(
    ("want", "victim"), [("contained", "parent"), ("full", "parent"), ("full", "outer half")]
)
def test_no_worker_outlives_its_parent(want: str, busy: bool, victim: str) -> None:
    need_level("root" if os.geteuid() == 0 else "user", Level(want))
    after = "print(report.level, flush=True)\n" + ("while True: pass" if busy else "time.sleep(60)")
    code = BEGIN.format(repository=REPOSITORY, before="", after=after)
    with workspace() as folder:
        order = json.dumps([want, folder, 0, [], None, "rw"])
        parent = subprocess.Popen(
            [sys.executable, "-c", SPAWN, code, order], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
        )
        try:
            assert parent.stdout is not None
            pid, level = parent.stdout.readline().split()
            assert level.decode() == want
            outer = psutil.Process(int(pid))
            workers = [outer, *outer.children(recursive=True)]
            assert len(workers) == (2 if want == "full" else 1)
            (parent if victim == "parent" else outer).kill()
            end = time.monotonic() + WAIT_SECONDS
            while any(_runs(each) for each in workers) and time.monotonic() < end:
                time.sleep(0.01)
            assert [each for each in workers if _runs(each)] == []
        finally:
            parent.kill()
            parent.wait()
            assert parent.stdout is not None
            parent.stdout.close()


def _runs(process: psutil.Process) -> bool:
    """Whether it is there, and not only waiting to be reaped by somebody."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
