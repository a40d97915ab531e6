"""`doctor`: what it shows, when it is not content, that it leaves nothing behind, and how it lifts a quarantine."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from fsnotes import diagnosis
from fsnotes.audit import AuditLog
from fsnotes.calls import local_principal
from fsnotes.cli.doctor import _UNWRITTEN
from fsnotes.quarantine import Quarantine
from fsnotes.state import StateFolder
from sandbox import Root, records
from sandbox.errors import WorkerUnable
from sandbox.jail.attacks import ATTACKS
from sandbox.jail.report import (
    CHANGE_INDEX,
    CHANGE_NOTES,
    FILL_DISK,
    HOLD_INDEX,
    HOLD_LOCK,
    LAYERS,
    Level,
    Report,
)
from sandbox.jail.trial import Outcome
from tests.accounts import interpreter, reachable
from tests.cli.hosts import fsnotes_on, fsnotes_untold
from tests.cli.shell import FSNOTES, ROOT, SECONDS, Done, Shell, refused, serving
from tests.cli.test_places import workspaces
from tests.cli.test_serving import META
from tests.workers import jail_level, require_jail

WHY = "its workers broke their rules too often, at last: for a test"
USER = 1000
SHUT = 0o700


@pytest.fixture(autouse=True)
def temporaries(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The temporary folder of these commands, of which nothing is left; of a short path, as most have it."""
    real = Shell.environ
    with tempfile.TemporaryDirectory(prefix="fsnotes-cli-") as folder:
        os.chmod(folder, 0o1777)  # noqa: S103 - as such folders are
        monkeypatch.setattr(Shell, "environ", lambda shell, **more: real(shell, TMPDIR=folder, **more))
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)
        assert os.listdir(folder) == []


CHANGING = {"fill_disk", "change_note", "mark_note", "lock"}
"""What a worker that changes notes can do at every level."""


@pytest.fixture
def common() -> Iterator[Shell]:
    """A person whose home every account can go through."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="fsnotes-common-") as folder:
        os.chmod(folder, 0o755)  # noqa: S103 - as said
        made = Shell(Path(folder))
        made.vault.mkdir()
        yield made


def report(done: Done) -> dict[str, Any]:
    """Return the JSON of a `doctor` that may not be content."""
    found: dict[str, Any] = json.loads(done.out)
    return found


def possible(workspace: dict[str, Any]) -> set[str]:
    return {each["name"] for each in workspace["attacks"] if each["outcome"] == "possible"}


# -- what it shows -----------------------------------------------------------------------------------


def test_a_workspace_is_shown_with_all_that_is_known_of_it(shell: Shell) -> None:
    require_jail()
    shell.write("a.md", "text")
    before = {path: path.lstat().st_mtime_ns for path in shell.vault.rglob("*")}
    found = shell.run("doctor", "Notes", "--json").document()
    assert {path: path.lstat().st_mtime_ns for path in shell.vault.rglob("*")} == before
    level = jail_level()[0].value
    assert (found["ok"], found["host"]["level"], found["host"]["release"]) == (
        True,
        level,
        os.uname().release,
    )
    (workspace,) = found["workspaces"]
    assert list(workspace["layers"]) == list(LAYERS)
    assert all(layer["proof"] for layer in workspace["layers"].values() if layer["state"] == "enforced")
    described = {key: workspace[key] for key in ("name", "path", "ok", "level", "required", "mode")}
    assert described == {
        "name": "Notes",
        "path": str(shell.vault),
        "ok": True,
        "level": level,
        "required": None,
        "mode": "best-effort",
    }
    assert workspace["policies"] == {
        "symlinks": "refuse",
        "hardlinks": "refuse",
        "mounts": "refuse",
        "maxNoteBytes": 1_048_576,
        "ignore": [],
    }
    assert (workspace["resolver"], workspace["resolverWhy"]) == ("openat2", None)
    assert workspace["fileSystem"] == {
        "kind": workspace["fileSystem"]["kind"],
        "readOnly": False,
        "renameFlags": True,
        "folderSync": True,
        "lock": "directory",
        "foldsCase": False,
        "normalises": False,
        "seesBindMounts": True,
    }
    assert workspace["sameFolder"]
    assert (workspace["quarantine"], workspace["faults"], workspace["weaknesses"]) == (None, [], [])
    assert [attack["name"] for attack in workspace["attacks"]] == [attack.name for attack in ATTACKS]
    if level == "full":
        assert workspace["worker"]["folder"] == "/ws"
        assert workspace["worker"]["root"] in (["ws"], ["index", "ws"])
        assert workspace["leaves"] == [HOLD_INDEX, CHANGE_INDEX, FILL_DISK, CHANGE_NOTES, HOLD_LOCK]
        assert possible(workspace) == CHANGING


def test_people_read_the_same_in_lines(shell: Shell) -> None:
    require_jail()
    shell.write("a.md", "text")
    done = shell.run("doctor", "Notes")
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) < 400
    lines = [line.strip() for line in done.out.splitlines()]
    assert f"Notes  {shell.vault}" in lines
    for attack in ATTACKS:
        (line,) = (line for line in lines if f" {attack.what} (" in line)
        assert line.startswith(("refused ", "killed ", "possible "))
    for label in (
        "level",
        "leaves",
        "working root",
        "state part",
        "paths",
        "folder",
        "policies",
        "weaknesses",
        "verdict",
        *LAYERS,
    ):
        assert [line for line in lines if line.startswith(label + " ")] != [], label
    assert lines[-1].split(maxsplit=1) == ["verdict", "what was asked for is in force"]


def test_the_page_shows_what_is_shown(shell: Shell) -> None:
    require_jail()
    page = (ROOT / "docs/doctor.md").read_text(encoding="utf-8")
    example = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[0]
    example = example.replace("/home/alice/Notes", str(shell.vault))
    done = shell.run("doctor", "Notes", command=fsnotes_on("container"))
    at = 0
    for line in example.splitlines():
        # Left out are whole lines, or their ends; kernel, Landlock's version and file system are this machine's.
        pattern = re.escape(line.strip().removesuffix("...")).replace("ext4", r"\S+")
        pattern = re.sub(r"^Linux.*|version\\ 7", lambda found: found[0].split("\\")[0] + r".*", pattern)
        found = re.compile(pattern).search(done.out, at)
        assert found is not None, line
        at = found.end()
    assert {
        f"`{name}`" for name in ("level", "leaves", "working root", "state part", "paths", "folder", "CLOSED")
    } <= set(re.findall(r"^\| (`.+?`) \|", page, re.MULTILINE))


def test_who_is_told_of_no_child_that_ends_is_served_and_sees_breaches_all_the_same(shell: Shell) -> None:
    """Somebody ignores SIGCHLD, which is inherited; without an exit status no breach would be known."""
    require_jail()
    shell.write("a.md", "text")
    done = shell.run("doctor", "Notes", command=fsnotes_untold())
    assert (done.code, done.err) == (0, "")
    assert " killed\n" in done.out
    assert shell.run("list", "-w", "Notes", "--jail", "require", command=fsnotes_untold()).code == 0


def test_without_a_workspace_the_host_is_shown_and_nothing_is_made(shell: Shell) -> None:
    require_jail()
    done = shell.run("doctor")
    assert (done.code, done.err) == (0, "")
    assert (
        done.out.splitlines()[-1] == "no workspace: name a folder, or configure one, to have it examined too"
    )
    assert f"Linux {os.uname().release}" in done.out
    assert shell.run("doctor", "--json").document()["workspaces"] == []
    assert not shell.state.exists()


def test_every_configured_workspace_is_examined_with_its_own_rights(shell: Shell) -> None:
    require_jail()
    text = workspaces(shell, "read", allow="'read'") + workspaces(shell, "all")
    shell.configure(text.replace("[[grant]]", "ignore = ['Old/**']\n[[grant]]", 1))
    found = shell.run("doctor", "--json").document()
    kinds = {each["name"]: each["worker"]["kind"] for each in found["workspaces"]}
    assert kinds == {"read": "ro", "all": "rw"}
    assert [each["policies"]["ignore"] for each in found["workspaces"]] == [["Old/**"], []]
    assert "fill_disk" not in possible(found["workspaces"][0])
    assert "fill_disk" in possible(found["workspaces"][1])


def test_read_only_makes_nothing_in_the_folder_not_even_for_a_moment(shell: Shell) -> None:
    shell.write("a.md", "text")
    os.utime(shell.vault, (1, 1))
    (workspace,) = shell.run("doctor", "Notes", "--read-only", "--json").document()["workspaces"]
    assert shell.vault.stat().st_mtime == 1
    names = ("renameFlags", "foldsCase", "normalises", "folderSync", "lock")
    assert [workspace["fileSystem"][name] for name in names] == [None, None, None, True, "directory"]
    if workspace["worker"] is not None:
        assert workspace["worker"]["kind"] == "ro"


def test_without_a_jail_it_says_so_plainly(shell: Shell) -> None:
    done = shell.run("doctor", "Notes", "--jail", "off")
    assert (done.code, done.err) == (0, "")
    assert "there is no jail: notes are handled in the server's own process (--jail off)" in done.out
    assert done.out.splitlines()[-1].strip() == "verdict       there is no jail, and none is required"
    (workspace,) = shell.run("doctor", "Notes", "--jail", "off", "--json").document()["workspaces"]
    assert (workspace["level"], workspace["attacks"], workspace["leaves"]) == ("none", None, None)
    assert workspace["fileSystem"]["lock"] == "directory"


def test_names_from_the_disk_cannot_move_the_terminal(shell: Shell) -> None:
    (shell.home / "a\x1b[31m\u202eb").mkdir()
    done = shell.run("doctor", "a\x1b[31m\u202eb", "--jail", "off")
    assert (done.code, "\x1b" in done.out, "\u202e" in done.out) == (0, False, False)
    assert "a\\u001b[31m\\u202eb  /" in done.out


def test_what_the_files_system_lacks_is_a_weakness(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Root.features

    def weaker(root: Root, **how: Any) -> Any:
        return records.replace(real(root, **how), lock="file", rename_flags=False, folds_case=True)

    monkeypatch.setattr(Root, "features", weaker)
    done = shell.call("doctor", "Notes", "--jail", "off")
    assert done.code == 0
    for word in ("locked by a file of the state folder", "no rename flags", "case is ignored"):
        assert word in done.out
    (workspace,) = report(shell.call("doctor", "Notes", "--jail", "off", "--json"))["workspaces"]
    assert len(workspace["weaknesses"]) == 3


@pytest.mark.parametrize("level", ["full", "contained"])
def test_a_table_of_mounts_that_cannot_be_read_is_a_weakness_of_a_tree_of_its_own(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    require_jail()
    if level == "full" and jail_level()[0].value != "full":
        pytest.skip("needs namespaces")
    monkeypatch.setattr("sandbox.mounts.obstacle", lambda: "it is not there")
    if level == "contained":
        real = diagnosis.begin_at_best
        monkeypatch.setattr(
            diagnosis,
            "begin_at_best",
            lambda spec, **how: real(records.replace(spec, want=Level(level)), **how),
        )
    found = report(shell.call("doctor", "Notes", "--json"))
    assert found["host"]["mountTable"] == "it is not there"
    (workspace,) = found["workspaces"]
    assert workspace["ok"]
    said = [weakness for weakness in workspace["weaknesses"] if "mounted or unmounted" in weakness]
    assert (len(said), workspace["level"]) == (1 if level == "full" else 0, level)


# -- when it is not content ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "level", "words"),
    [
        ("container", "contained", ()),
        ("no Landlock in the kernel", "partial", ("landlock",)),
        pytest.param("no seccomp", "partial", ("seccomp",), marks=pytest.mark.slow),
        ("no Landlock, no namespaces", "partial", ("landlock",)),
        pytest.param("Landlock 2", "partial", ("landlock",), marks=pytest.mark.slow),
        ("nothing", "none", ("landlock", "seccomp")),
    ],
)
def test_at_best_effort_a_weaker_host_is_described_and_is_no_failure(
    shell: Shell, host: str, level: str, words: tuple[str, ...]
) -> None:
    require_jail()
    done = shell.run("doctor", "Notes", "--json", command=fsnotes_on(host))
    (workspace,) = done.document()["workspaces"]
    assert (workspace["level"], workspace["ok"]) == (level, True)
    assert (workspace["attacks"] is None) is (level == "none")
    said = " ".join(workspace["weaknesses"])
    assert len(workspace["weaknesses"]) == bool(words)
    for word in words:
        assert word in said
    if workspace["attacks"] is not None:
        assert all(each["left"] for each in workspace["attacks"] if each["outcome"] == "possible")
        assert not [each for each in workspace["attacks"] if each["outcome"] == "unclear"]
        expected = {
            "container": CHANGING | {"stat", "look"},
            "no Landlock in the kernel": CHANGING,
            "Landlock 2": CHANGING,
        }
        if host in expected and jail_level()[0].value == "full":
            assert possible(workspace) == expected[host]
        if host == "no Landlock, no namespaces":
            assert possible(workspace) >= {
                "read_by_path",
                "append",
                "create",
                "remove",
                "follow_link",
                "stat",
            }
        if host == "no seccomp":
            assert possible(workspace) >= {"fork", "map_executable"}


@pytest.mark.parametrize(
    ("host", "asked", "code", "missing"),
    [
        ("container", "contained", 0, None),
        ("container", "full", 8, "namespaces"),
        ("no Landlock in the kernel", "contained", 8, "landlock"),
        ("nothing", "contained", 8, "landlock"),
    ],
)
def test_a_level_that_is_required_and_not_reached_is_8(
    shell: Shell, host: str, asked: str, code: int, missing: str | None
) -> None:
    require_jail()
    words = ("doctor", "Notes", "--json", "--jail", "require", "--jail-level", asked)
    done = shell.run(*words, command=fsnotes_on(host))
    (workspace,) = report(done)["workspaces"]
    assert (done.code, workspace["ok"], workspace["required"]) == (code, code == 0, asked)
    if missing is None:
        assert (done.err, workspace["faults"]) == ("", [])
        return
    (line,) = done.err.splitlines()
    (fault,) = workspace["faults"]
    assert line == f"fsnotes: unavailable: workspace 'Notes': {fault}"
    assert re.match(rf"jail level {asked} is required and \w+ is what it has; missing is {missing} \(", fault)


def test_the_host_alone_is_held_to_a_level_that_is_required(shell: Shell) -> None:
    require_jail()
    assert shell.run("doctor", "--jail", "require").code == 0
    words = ("doctor", "--jail", "require", "--jail-level", "full")
    done = shell.run(*words, command=fsnotes_on("container"))
    assert done.code == 8
    assert "jail level full is required and contained is what this host gives" in done.err


@pytest.mark.parametrize(
    ("host", "words", "code", "said"),
    [
        (
            "container",
            ("--jail", "require", "--jail-level", "full"),
            8,
            "jail level full is required and contained is",
        ),
        ("container", ("--jail", "require"), 0, None),
        ("container", ("--jail-level", "full"), 0, None),
        ("nothing", (), 0, None),
        (
            "nothing",
            ("--jail", "require"),
            8,
            "jail level contained is required and none is what this host gives",
        ),
        ("seccomp that does nothing", (), 8, "seccomp could not be proven"),
        ("seccomp that does nothing", ("--jail", "require"), 8, "seccomp could not be proven"),
        ("seccomp that does nothing", ("--jail", "off"), 0, None),
        ("no openat2", (), 0, None),
    ],
)
def test_without_a_workspace_the_exit_code_the_json_and_the_lines_say_the_same(
    shell: Shell, host: str, words: tuple[str, ...], code: int, said: str | None
) -> None:
    require_jail()
    done = shell.run("doctor", *words, "--json", command=fsnotes_on(host))
    found = report(done)
    faults = found["host"]["faults"]
    assert (done.code, found["ok"], bool(faults), bool(done.err)) == (code, code == 0, code != 0, code != 0)
    lines = shell.run("doctor", *words, command=fsnotes_on(host))
    assert (lines.code, lines.err, "NOT IN FORCE" in lines.out) == (code, done.err, code != 0)
    if said is not None:
        assert any(said in fault for fault in faults)
        assert said in lines.err
        assert said in lines.out


def test_a_host_on_which_no_worker_starts_is_8_unless_there_is_to_be_no_jail(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def try_host(*_: object) -> Report:
        raise WorkerUnable("there is no jail on this system")

    monkeypatch.setattr(diagnosis.trial, "try_host", try_host)
    done = shell.call("doctor", "--json")
    assert (done.code, report(done)["ok"], "no worker can be started on this host" in done.err) == (
        8,
        False,
        True,
    )
    assert report(shell.call("doctor", "--jail", "off", "--json"))["ok"]


def test_the_bounds_that_are_set_are_shown(shell: Shell) -> None:
    folder = str(shell.vault)
    shell.configure(
        f"[[workspace]]\nname = 'kept'\npath = {folder!r}\nmax_bytes = 9\nmax_entries = 8\nmin_free_bytes = 7\n"
    )
    done = shell.run("doctor", "--jail", "off")
    assert (
        "mounts refuse, notes up to 1048576 bytes, at most 9 bytes in all, at most 8 entries, 7 bytes stay free\n"
    ) in done.out


def test_a_level_that_the_configuration_requires_counts_as_well(shell: Shell) -> None:
    require_jail()
    shell.configure("[jail]\nmode = 'require'\nlevel = 'full'\n")
    done = shell.run("doctor", "Notes", command=fsnotes_on("container"))
    assert (done.code, "jail level full is required and contained is what it has" in done.err) == (8, True)


@pytest.mark.parametrize(
    ("host", "layer"),
    [("seccomp that does nothing", "seccomp"), ("Landlock that does nothing", "landlock")],
)
def test_a_layer_that_is_only_claimed_is_8_whatever_is_required(shell: Shell, host: str, layer: str) -> None:
    require_jail()
    done = shell.run("doctor", "Notes", "--json", command=fsnotes_on(host))
    (workspace,) = report(done)["workspaces"]
    assert (done.code, workspace["level"], workspace["layers"][layer]["state"]) == (8, "none", "failed")
    assert f"{layer} could not be proven" in done.err
    assert (workspace["attacks"], workspace["leaves"]) == (None, None)


@pytest.mark.parametrize(
    ("outcome", "word"), [(Outcome.POSSIBLE, "forbids"), (Outcome.UNCLEAR, "proves nothing")]
)
def test_an_attack_that_the_level_forbids_and_that_works_is_8_and_loud(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, outcome: Outcome, word: str
) -> None:
    require_jail()
    real = diagnosis.trial.attack

    def weak(*arguments: Any, **how: Any) -> Any:
        found = real(*arguments, **how)
        tried = [
            replace(each, outcome=outcome, how="it did") if each.attack.name == "read_by_path" else each
            for each in found.tried
        ]
        return replace(found, tried=tuple(tried))

    monkeypatch.setattr(diagnosis.trial, "attack", weak)
    done = shell.call("doctor", "Notes")
    assert done.code == 8
    (line,) = done.err.splitlines()
    assert line.startswith("fsnotes: unavailable: workspace 'Notes': an attack ")
    assert word in line
    assert f"    {outcome.value.upper():<14}read a file outside by its path (it did" in done.out
    assert "NOT IN FORCE" in done.out


def test_a_worker_that_cannot_attack_is_8(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    require_jail()
    monkeypatch.setattr("sandbox.jail.trial.HANDLER", "nowhere:build")
    monkeypatch.setattr(diagnosis, "_examine_host", _host)
    done = shell.call("doctor", "Notes")
    assert (done.code, "the jail could not be attacked: the worker could not begin" in done.err) == (8, True)


def _host() -> Any:
    return diagnosis.Host(diagnosis.kernel.look(), None, "left out")


def test_a_folder_that_is_replaced_meanwhile_is_noticed(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Root.features

    def moved(root: Root, **how: Any) -> Any:
        shell.vault.rename(shell.home / "Moved")
        shell.vault.mkdir()
        return real(root, **how)

    monkeypatch.setattr(Root, "features", moved)
    done = shell.call("doctor", "Notes", "--jail", "off")
    assert (done.code, "NOT THE FOLDER that was opened" in done.out) == (8, True)
    assert "its folder was moved, replaced or removed meanwhile" in done.err


def test_bad_arguments_and_configuration_are_2(shell: Shell) -> None:
    assert refused(shell.call("doctor", "missing"), 2, "invalid_argument")
    assert refused(shell.call("doctor", "Notes", "--colour"), 2, "invalid_argument")
    shell.configure("[doctor]\n")
    assert refused(shell.call("doctor"), 2, "invalid_argument")


def test_a_workspace_that_cannot_be_served_is_2_and_the_others_are_examined(shell: Shell) -> None:
    require_jail()
    shell.configure(
        workspaces(shell, "fine") + "[[workspace]]\nname = 'linked'\npath = '~/Notes'\nsymlinks = 'within'\n"
    )
    done = shell.run("doctor", "--json", command=fsnotes_on("no openat2"))
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert line.startswith("fsnotes: invalid_argument: workspace 'linked' (")
    fine, linked = report(done)["workspaces"]
    assert (fine["ok"], fine["resolver"], fine["resolverWhy"]) == (True, "walk", "openat2: ENOSYS")
    assert fine["weaknesses"] == ["paths are walked component by component: openat2: ENOSYS"]
    assert (linked["ok"], linked["faults"], linked["attacks"]) == (False, [], None)
    assert "openat2" in linked["problem"]
    done = shell.run("doctor", "--jail", "off", command=fsnotes_on("no openat2"))
    assert (done.code, done.out.splitlines()[-1].startswith("  NOT SERVED    workspace 'linked' (")) == (
        2,
        True,
    )


# -- accounts ------------------------------------------------------------------------------------------


def test_a_folder_that_lets_no_worker_in_is_8_as_it_is_for_a_server(common: Shell) -> None:
    require_jail()
    if os.geteuid() != 0:
        pytest.skip("only root opens what its owner has closed")
    os.chown(common.vault, USER, USER)
    common.vault.chmod(0)
    done = common.run("doctor", "Notes")
    assert done.code == 8
    assert "no worker can be started for it" in done.err
    listed = common.run("list", "-w", "Notes")
    assert (listed.code, listed.out) == (8, "")
    assert "no worker can be started for it" in listed.err
    assert common.run("list", "-w", "Notes", "--jail", "off").code == 0


def test_root_examines_the_workspace_of_somebody_else_as_that_account(common: Shell) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    require_jail()
    common.write("a.md", "text")
    for path in (common.vault, common.vault / "a.md"):
        os.chown(path, USER, USER)
    (workspace,) = common.run("doctor", "Notes", "--json", "--jail", "require").document()["workspaces"]
    assert (workspace["ok"], workspace["layers"]["capabilities"]["uid"]) == (True, USER)
    host = "no Landlock, no namespaces"
    (workspace,) = common.run("doctor", "Notes", "--json", command=fsnotes_on(host)).document()["workspaces"]
    # What is refused now is refused by the accounts, and what there is to reach belongs to that one.
    assert possible(workspace) >= {"read_by_path", "append", "remove", "stat"}
    assert "read_keys" not in possible(workspace)


@pytest.mark.parametrize("host", [None, "container"])
def test_both_outputs_say_what_workers_get_of_the_state_that_run_as_somebody_else(
    common: Shell, host: str | None
) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    require_jail()
    common.write("a.md", "text")
    for path in (common.vault, common.vault / "a.md"):
        os.chown(path, USER, USER)
    command = FSNOTES if host is None else fsnotes_on(host)
    (workspace,) = common.run("doctor", "Notes", "--json", command=command).document()["workspaces"]
    part = common.state / "ws" / StateFolder.identify(str(common.vault))
    assert (workspace["statePart"], workspace["statePartWhy"]) == (str(part), None)
    assert [each for each in workspace["weaknesses"] if "state folder" in each] == []
    assert workspace["worker"]["root"] in (["index", "ws"], None)
    assert (part.stat().st_uid, os.listdir(part)) == (USER, ["index"])
    assert (part / "index").stat().st_uid == USER
    if host is None:  # people read the same as programs, whatever the host
        done = common.run("doctor", "Notes", command=command)
        assert f"  state part    {part}\n" in done.out

    common.state.chmod(SHUT)
    (workspace,) = common.run("doctor", "Notes", "--json", command=command).document()["workspaces"]
    assert (workspace["statePart"], workspace["ok"]) == (None, True)
    why = workspace["statePartWhy"]
    assert f"uid {USER}" in why
    assert str(common.state) in why
    said = (
        "moves that rewrite links are refused and there is no search index, since its workers get no part of the state"
        f" folder; {why}"
    )
    assert workspace["weaknesses"] == [said]
    if host is None:
        done = common.run("doctor", "Notes", command=command)
        assert (done.code, f"  state part    none: {why}\n" in done.out) == (0, True)
        assert f"  weaknesses    {workspace['weaknesses'][0]}\n" in done.out


def test_a_part_of_somebody_elses_is_no_part_of_a_process_without_a_jail(common: Shell) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    require_jail()
    common.write("a.md", "text")
    os.chown(common.vault, USER, USER)
    assert common.run("list", "-w", "Notes", "--jail", "require").code == 0
    done = common.run("doctor", "Notes", "--jail", "off")
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert f"belongs to uid {USER}" in line
    assert f"  NOT SERVED    {line.removeprefix('fsnotes: invalid_argument: ')}\n" in done.out
    assert refused(common.run("list", "-w", "Notes", "--jail", "off"), 2, "invalid_argument")
    elsewhere = common.run(
        "doctor", "Notes", "--jail", "off", "--json", "--state-dir", str(common.home / "s")
    )
    (workspace,) = elsewhere.document()["workspaces"]
    assert workspace["statePart"] == str(common.home / "s/ws" / StateFolder.identify(str(common.vault)))


def test_an_ordinary_account_examines_its_own_workspace(common: Shell, temporaries: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else; else all tests are this one")
    require_jail()
    found = interpreter()
    if found is None or not reachable(ROOT / "fsnotes"):
        pytest.skip("needs an interpreter and a checkout that every account may read")
    python, environ = found
    for path in (common.home, common.vault):
        os.chown(path, USER, USER)
    done = subprocess.run(
        [python, "-m", "fsnotes", "doctor", "Notes", "--json", "--jail", "require"],
        cwd=common.home,
        env={"HOME": str(common.home), "TMPDIR": str(temporaries), **environ},
        user=USER,
        group=USER,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    (workspace,) = json.loads(done.stdout)["workspaces"]
    assert (workspace["ok"], workspace["layers"]["capabilities"]["uid"]) == (True, USER)
    assert workspace["level"] == jail_level()[0].value
    assert list(common.vault.iterdir()) == []


# -- interruptions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", pytest.param("SIGHUP", marks=pytest.mark.slow)])
def test_a_signal_ends_it_at_any_moment_and_nothing_is_left(
    shell: Shell, temporaries: Path, name: str
) -> None:
    """Neither a file in the vault, nor the folder of a trial, nor a process."""
    require_jail()
    shell.write("a.md", "text")
    for seconds in (0.0, 0.3, 0.6):
        with subprocess.Popen(
            [*FSNOTES, "doctor", "Notes"],
            cwd=shell.home,
            env=shell.environ(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            deadline = time.monotonic() + SECONDS
            while not os.listdir(temporaries):  # it is under way
                assert time.monotonic() < deadline
                time.sleep(0.005)
            time.sleep(seconds)
            workers = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.Signals[name])
            out, err = process.communicate(timeout=SECONDS)
        # On a fast machine the last signal may come when all is done and said: then it comes too late,
        # or ends an interpreter that is already on its way out.
        is_over = out.startswith(b"Linux ") and process.returncode in (0, -signal.Signals[name])
        assert is_over or (process.returncode, out, err) == (130, b"", b"")
        assert (shell.files(), os.listdir(temporaries)) == ({"a.md": b"text"}, [])
        _, alive = psutil.wait_procs(workers, timeout=SECONDS)
        assert alive == []


# -- quarantine ------------------------------------------------------------------------------------------


def close(shell: Shell, folder: Path | None = None, name: str = "Notes") -> Path:
    """Close a workspace as a server does; return where its mark is."""
    state = StateFolder.open(str(shell.state))
    path = os.path.realpath(folder or shell.vault)
    Quarantine(state, {name: path}, AuditLog(state.audit), clock=lambda: 1_800_000_000.0).impose(
        name, WHY, jail="full"
    )
    return Path(state.quarantine) / f"{state.identify(path)}.json"


def logged(shell: Shell) -> list[tuple[str, str, str, str]]:
    lines = (shell.state / "private/audit.jsonl").read_text().splitlines()
    return [
        (line["principal"], line["tool"], line["workspace"], line["outcome"])
        for line in map(json.loads, lines)
    ]


def test_a_quarantine_is_shown_with_time_and_reason_and_is_8(shell: Shell) -> None:
    mark = close(shell)
    done = shell.run("doctor", "Notes", "--jail", "off")
    assert done.code == 8
    assert f"CLOSED        since 2027-01-15T08:00:00Z: {WHY}" in done.out
    assert done.err == (
        f"fsnotes: unavailable: workspace 'Notes': it is closed since 2027-01-15T08:00:00Z: {WHY};"
        " --clear opens it\n"
    )
    (workspace,) = report(shell.run("doctor", "Notes", "--jail", "off", "--json"))["workspaces"]
    assert workspace["quarantine"] == {"since": "2027-01-15T08:00:00Z", "why": WHY}
    mark.write_bytes(b"{")
    done = shell.call("doctor", "Notes", "--jail", "off")
    assert (done.code, "since an unknown time: its mark cannot be read" in done.out) == (8, True)


def test_clear_lifts_it_once_and_says_what_it_was(shell: Shell) -> None:
    close(shell)
    assert shell.run("doctor", "Notes", "--clear", "Notes") == Done(
        0, f"workspace Notes is open again; it was closed since 2027-01-15T08:00:00Z: {WHY}\n"
    )
    assert logged(shell)[1:] == [(local_principal().name, "doctor", "Notes", "quarantine_lifted")]
    assert shell.call("doctor", "Notes", "--clear", "Notes") == Done(
        0, f"nothing to clear: workspace Notes is not closed. {_UNWRITTEN}\n"
    )
    assert len(logged(shell)) == 2
    assert shell.call("doctor", "Notes", "--clear", "Notes", "--json").document() == {
        "workspace": "Notes",
        "path": str(shell.vault),
        "lifted": False,
        "was": None,
    }
    assert shell.call("list", "-w", "Notes") == Done(0)


def test_clear_finds_what_was_served_from_the_command_line_by_its_name(shell: Shell) -> None:
    close(shell)
    other = shell.home / "other/Notes"
    other.mkdir(parents=True)
    done = shell.call("doctor", "--clear", "Notes", "--json")
    assert (done.document()["lifted"], done.document()["path"]) == (True, str(shell.vault))
    close(shell)
    close(shell, other)
    assert refused(shell.call("doctor", "--clear", "Notes"), 2, "invalid_argument")
    assert shell.call("doctor", str(other), "--clear", "Notes").code == 0
    (left,) = Path(StateFolder.open(str(shell.state)).quarantine).glob("*.json")
    assert json.loads(left.read_text())["path"] == str(shell.vault)


def test_clear_of_what_was_served_from_the_command_line_is_0_again_once_it_is_done(shell: Shell) -> None:
    close(shell)
    other = close(shell, shell.home / "Other", "Other")
    for done in (0, 1, 2):
        assert shell.call("doctor", "--clear", "Notes").code == 0
        assert len(logged(shell)) == 3, done
    assert shell.call("doctor", "--clear", "Notes") == Done(
        0, "nothing to clear: no workspace called Notes is closed\n"
    )
    assert shell.call("doctor", "--clear", "Notes", "--json").document() == {
        "workspace": "Notes",
        "path": None,
        "lifted": False,
        "was": None,
    }
    assert other.exists()


def test_clear_of_a_name_that_nothing_has_changes_nothing(shell: Shell) -> None:
    mark = close(shell)
    before = mark.read_bytes()
    for name in ("Other", "notes", "\x1b[31m"):
        done = shell.call("doctor", "--clear", name)
        assert (done.code, done.out[:27], "\x1b" in done.out) == (0, "nothing to clear: no worksp", False)
        # Who names a folder means that one.
        done = shell.call("doctor", "Notes", "--clear", name)
        assert (refused(done, 2, "invalid_argument"), "\x1b" in done.err) == (True, False)
    assert mark.read_bytes() == before


def test_clear_lifts_a_damaged_mark_of_a_workspace_that_is_named(shell: Shell) -> None:
    mark = close(shell)
    mark.write_bytes(b"{")
    for name in ("Notes", "Other"):  # nobody knows whose it is
        assert refused(shell.call("doctor", "--clear", name), 2, "invalid_argument")
    done = shell.call("doctor", "Notes", "--clear", "Notes")
    assert (done.code, "its mark cannot be read" in done.out) == (0, True)
    assert not mark.exists()


def test_clear_that_cannot_be_done_leaves_the_workspace_closed(shell: Shell) -> None:
    mark = close(shell)
    mark.unlink()
    mark.mkdir()
    assert shell.call("doctor", "Notes", "--clear", "Notes").code == 2
    assert shell.call("list", "-w", "Notes").code == 1
    audit = shell.state / "private/audit.jsonl"
    audit.unlink()
    audit.mkdir()
    mark.rmdir()
    close(shell)
    assert shell.call("doctor", "Notes", "--clear", "Notes").code == 1
    assert shell.call("list", "-w", "Notes").code == 1


def test_commands_for_people_are_closed_too(shell: Shell) -> None:
    """What its notes do to a process is not known, and theirs has no walls."""
    shell.write("a.md", "text")
    close(shell)
    for command, *words in (("read", "a"), ("list",), ("create", "b", "--content", "x")):
        done = shell.call(command, "-w", str(shell.vault), *words)
        assert (done.code, done.out) == (1, "")
        notice, *_, error = done.err.splitlines()
        assert notice == (
            f"fsnotes: workspace 'Notes' is closed since 2027-01-15T08:00:00Z: {WHY};"
            " fsnotes doctor --clear opens it"
        )
        assert error.startswith("fsnotes: unavailable: this workspace is closed, since its workers did")
    assert shell.files() == {"a.md": b"text"}


def test_a_server_serves_the_others_and_notices_when_the_quarantine_is_lifted(shell: Shell) -> None:
    require_jail()
    shell.configure(workspaces(shell, "work", "home"))
    close(shell, shell.home / "work", "work")
    with serving(shell) as process:

        def ask(tool: str, **arguments: Any) -> Any:
            assert process.stdin is not None
            assert process.stdout is not None
            message = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": tool, "arguments": arguments, "_meta": META},
            }
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())["result"]

        def listed(name: str) -> tuple[bool, str]:
            result = ask("notes_list", workspaceUri=(shell.home / name).as_uri())
            return bool(result.get("isError")), result["content"][0]["text"]

        error, text = listed("work")
        assert (error, text.startswith("unavailable: this workspace is closed")) == (True, True)
        assert listed("home")[0] is False
        shown = ask("notes_workspaces")["structuredContent"]["workspaces"]
        # Nothing is started in the one that is closed, so nothing is enforced around it.
        assert [(each["name"], each["jail"]) for each in shown] == [
            ("work", "none"),
            ("home", jail_level()[0].value),
        ]
        assert shell.call("doctor", "--clear", "work").code == 0
        begun = time.monotonic()
        while listed("work")[0]:
            assert time.monotonic() - begun < 5
            time.sleep(0.05)
        close(shell, shell.home / "home", "home")
        while not listed("home")[0]:
            assert time.monotonic() - begun < 10
            time.sleep(0.05)
        assert listed("work")[0] is False
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=SECONDS) == 0
        assert process.stderr is not None
        said = process.stderr.read().decode()
    assert said.splitlines()[0] == (
        f"fsnotes: workspace 'work' is closed since 2027-01-15T08:00:00Z: {WHY};"
        " fsnotes doctor --clear opens it"
    )
    assert "workspace 'work' is open again" in said
