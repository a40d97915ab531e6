"""A trial tells a jail that holds from one that does not, and leaves nothing behind."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from sandbox.errors import LevelNotMet
from sandbox.jail import trial
from sandbox.jail.attacks import ATTACKS
from sandbox.jail.limits import Account
from sandbox.jail.process import import_folders
from sandbox.jail.report import LayerState, Level, WorkerKind
from sandbox.jail.spec import JailSpec
from sandbox.jail.targets import Ground
from sandbox.jail.trial import NoPlaceError, Outcome, Trial
from sandbox.records import replace
from tests.mounts import REPOSITORY
from tests.sandbox.jail.conftest import UNLOCKED, need

TRIP_WIRES = {"execute", "ptrace", "setuid", "mount", "unshare", "keyring", "userfaultfd"}
CHANGING = {"fill_disk", "change_note", "mark_note", "lock"}
LEFT = {Level.FULL: CHANGING, Level.CONTAINED: CHANGING | {"stat", "look"}}

HOST_MAY_REFUSE = {"setuid", "mount"}
"""Without any jail, to those who are not root."""
SWITCHED_OFF_SOMEWHERE = {"ptrace", "unshare", "userfaultfd", "leave_device"}
"""By a sysctl of the host, for some; the last one by a file system that does not have it."""


class Place:
    """A workspace with a note, a folder of keys, and temporaries that can be counted."""

    def __init__(self, top: Path, temporaries: Path) -> None:
        self.workspace = top / "Notes"
        self.keys = top / "private"
        self.temporaries = temporaries
        for folder in (self.workspace, self.keys):
            folder.mkdir()
        (self.workspace / "a.md").write_text("a")
        (self.keys / "keys.json").write_text("secret")

    def spec(self, want: Level = Level.FULL, kind: WorkerKind = "rw") -> JailSpec:
        folders = (REPOSITORY, *import_folders("sandbox", "pathvalidate"))
        return JailSpec(str(self.workspace), kind, "none:none", want=want, import_paths=folders)

    def attack(self, spec: JailSpec, *, require: Level = Level.NONE, **how: Any) -> Trial:
        return trial.attack(spec, require=require, keys=str(self.keys / "keys.json"), **how)

    def look(self) -> list[tuple[str, int, int]]:
        """Everything that a trial could leave a trace in, with the times that would tell of it."""
        found = []
        for folder in (self.workspace, self.keys):
            for path in (folder, *sorted(folder.rglob("*"))):
                status = path.lstat()
                found.append((str(path), status.st_mtime_ns, status.st_ctime_ns))
        return found


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A place, of which nothing has changed afterwards, nor is anything left of a trial."""
    # A folder of pytest's has a path too long for a socket in it.
    with tempfile.TemporaryDirectory(prefix="fsnotes-tried-") as temporaries:
        made = Place(tmp_path, Path(temporaries))
        monkeypatch.setattr(tempfile, "tempdir", temporaries)
        before, children = made.look(), psutil.Process().children()
        yield made
        assert made.look() == before
        assert list(made.temporaries.iterdir()) == []
        assert psutil.Process().children() == children


def outcomes(found: Trial) -> dict[str, Outcome]:
    return {each.attack.name: each.outcome for each in found.tried}


def named(found: Trial, outcome: Outcome) -> set[str]:
    return {name for name, seen in outcomes(found).items() if seen is outcome}


def test_without_a_jail_every_attack_works_so_that_a_refusal_says_something(place: Place) -> None:
    found = place.attack(place.spec(), entry=UNLOCKED)
    excused = SWITCHED_OFF_SOMEWHERE if os.geteuid() == 0 else SWITCHED_OFF_SOMEWHERE | HOST_MAY_REFUSE
    refused = {each.attack.name: each.how for each in found.tried if each.outcome is not Outcome.POSSIBLE}
    assert refused.keys() <= excused, refused
    assert {each.how for each in found.tried if each.attack.name in refused} <= {
        "EPERM",
        "ENOSYS",
        "ENOSPC",
        "EINVAL",
    }
    # Its report says so, so nothing of that is a surprise.
    assert found.broken == ()


@pytest.mark.parametrize("level", LEFT)
def test_within_a_jail_only_what_its_level_leaves_is_possible(place: Place, level: Level) -> None:
    need(level.value)  # type: ignore[arg-type]  # the layouts have the levels' names
    found = place.attack(place.spec(level), require=level)
    assert found.report.level is level
    assert named(found, Outcome.POSSIBLE) == LEFT[level]
    assert named(found, Outcome.KILLED) == TRIP_WIRES
    assert named(found, Outcome.UNCLEAR) == set()
    assert found.broken == ()


@pytest.mark.parametrize("level", LEFT)
def test_a_worker_that_may_only_look_does_nothing_to_what_it_looks_at(place: Place, level: Level) -> None:
    need(level.value)  # type: ignore[arg-type]  # the layouts have the levels' names
    found = place.attack(place.spec(level, "ro"), require=level)
    assert (named(found, Outcome.POSSIBLE), found.broken) == (LEFT[level] - CHANGING, ())


@pytest.mark.parametrize("kind", ["ro", "rw"])
def test_a_worker_that_follows_links_beneath_the_host_marks_nothing(place: Place, kind: WorkerKind) -> None:
    """It has openat2, by which it can open what lies outside, and then do nothing with it."""
    need("contained")
    spec = replace(place.spec(Level.CONTAINED, kind), follows_links=True)
    found = place.attack(spec, require=Level.CONTAINED)
    opened = {"open_without_access", "keys_without_access", "stat", "look"}
    changed = CHANGING - {"mark_note"} if kind == "rw" else set()
    assert (named(found, Outcome.POSSIBLE), found.broken) == (opened | changed, ())


def test_a_jail_that_is_only_claimed_is_found_out(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's view of the process would tell, so it is left out: the attacks alone must."""
    monkeypatch.setattr("sandbox.jail.hiring._contradict", lambda report, *_: report)
    spec = replace(place.spec(Level.CONTAINED), options={"lie": "all"})
    found = place.attack(spec, require=Level.CONTAINED, entry="tests.sandbox.jail.lying")
    assert (found.report.level, found.report.failed) == (Level.CONTAINED, False)
    broken = {each.attack.name for each in found.broken}
    excused = SWITCHED_OFF_SOMEWHERE if os.geteuid() == 0 else SWITCHED_OFF_SOMEWHERE | HOST_MAY_REFUSE
    assert broken | excused | LEFT[Level.CONTAINED] == {each.name for each in ATTACKS}
    assert not broken & LEFT[Level.CONTAINED]


def test_an_attack_that_says_it_was_refused_and_left_a_trace_has_worked(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "HANDLER", "tests.sandbox.jail.attackers:liar")
    found = place.attack(place.spec(), entry=UNLOCKED)
    seen = {each.attack.name: each.how for each in found.tried if each.how == "seen from outside"}
    assert seen.keys() == {each.name for each in ATTACKS if each.trace is not None}
    assert {each.outcome for each in found.tried if each.attack.name in seen} == {Outcome.POSSIBLE}


def test_answers_that_prove_nothing_are_unclear_and_no_success(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("contained")
    monkeypatch.setattr(trial, "HANDLER", "tests.sandbox.jail.attackers:mute")
    monkeypatch.setattr(trial, "ATTACK_SECONDS", 2.0)
    found = place.attack(place.spec(Level.CONTAINED))
    said = {each.attack.name: each.how for each in found.tried if each.outcome is Outcome.UNCLEAR}
    assert said == {
        "read_by_path": "an answer that is none",
        "read_above": "an answer that is none",
        "list_above": "builtins.ZeroDivisionError",
        "read_keys": "the worker ended with status 0",
        "read_environment": "the worker ended with status 1",
        "run_late_code": "the worker did not answer in time and was killed",
    }
    assert {each.attack.name for each in found.broken} == said.keys()
    (hostile,) = (each.how for each in found.tried if each.attack.name == "append")
    assert ("\x1b" in hostile, len(hostile) < 100) == (False, True)


def test_a_level_that_is_not_reached_is_not_attacked(place: Place) -> None:
    with pytest.raises(LevelNotMet):
        place.attack(place.spec(), require=Level.FULL, entry=UNLOCKED)


@pytest.mark.parametrize("ground", Ground)
def test_an_interruption_leaves_nothing(
    place: Place, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = trial._Squad.attempt

    def interrupted(squad: Any, one: Any) -> Any:
        if one.ground is ground:
            raise KeyboardInterrupt
        return real(squad, one)

    monkeypatch.setattr(trial._Squad, "attempt", interrupted)
    with pytest.raises(KeyboardInterrupt):
        place.attack(place.spec(), entry=UNLOCKED)


@pytest.mark.parametrize("step", ["open", "chown", "listen"])
def test_a_world_that_cannot_be_made_leaves_nothing(
    place: Place, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "full")

    if step == "chown" and os.geteuid() != 0:
        pytest.skip("needs root")
    names = {"open": "os.fchmod", "chown": "os.lchown", "listen": "socket.socket.listen"}
    monkeypatch.setattr(names[step], fail)
    with pytest.raises(OSError, match="full"):
        place.attack(place.spec(), entry=UNLOCKED)


def test_there_must_be_a_place_outside_of_the_workspace(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = place.workspace / "tmp"
    long = place.workspace.parent / ("long" * 15)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(inside))
    monkeypatch.setattr(trial, "PLACES", (str(inside), str(place.workspace), str(long)))
    with pytest.raises(NoPlaceError):
        place.attack(place.spec(), entry=UNLOCKED)
    monkeypatch.setattr(trial, "PLACES", (str(inside), str(place.temporaries)))
    assert named(place.attack(place.spec(), entry=UNLOCKED), Outcome.UNCLEAR) == set()


def test_what_there_is_to_reach_belongs_to_the_account_that_tries(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the file system's own rights would refuse what only the jail should."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    account = Account(1000, 1001)
    monkeypatch.setattr(trial, "PLACES", ("/tmp",))
    with trial.World(account, beside=()) as world:
        # Folders of a test are closed to others, so it is not in one of those.
        assert world.workspace.startswith("/tmp/" + trial.PREFIX)
        top = Path(world.workspace).parent
        owners = {(path.lstat().st_uid, path.lstat().st_gid) for path in (top, *top.rglob("*"))}
        assert (owners, top.stat().st_mode & 0o777) == ({(1000, 1001)}, 0o700)
    assert not top.exists()


def test_the_host_is_tried_without_a_workspace(place: Place) -> None:
    need("full")
    report = trial.try_host(import_folders("sandbox", "pathvalidate"))
    assert (report.level, report.kind) == (Level.FULL, "rw")


def test_a_layer_that_failed_is_in_the_report_that_proving_returns(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = replace(place.spec(), handler="tests.sandbox.jail.handlers:build", options={"lie": "failed"})
    report = trial.prove(spec, entry="tests.sandbox.jail.lying")
    assert (report.failed, report.layer("landlock").state) == (True, LayerState.FAILED)


def test_only_a_trial_names_the_attacker_and_no_serving_worker_loads_it() -> None:
    naming = []
    for path in sorted(Path(REPOSITORY).glob("sandbox/**/*.py")) + sorted(
        Path(REPOSITORY).glob("fsnotes/**/*.py")
    ):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        if {
            "sandbox.jail.attacker",
            "sandbox.jail.attacks",
        } & modules or "sandbox.jail.attacker:build" in texts:
            naming.append(str(path.relative_to(REPOSITORY)))
    assert naming == ["sandbox/jail/attacker.py", "sandbox/jail/trial.py"]
    code = (
        "import sys, sandbox.jail.entry, fsnotes.notes.worker, fsnotes.notes.writer\n"
        "print([name for name in sys.modules if name in ('sandbox.jail.attacker', 'sandbox.jail.attacks')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")
