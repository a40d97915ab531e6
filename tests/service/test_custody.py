"""The part of a workspace goes to the account that has proven to be its workers', whole and empty, or to nobody."""

from __future__ import annotations

import fcntl
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from fsnotes.custody import Withheld, entrust
from fsnotes.errors import ConfigurationError
from fsnotes.runners import InlineRunner
from fsnotes.state import Part, StateFolder
from sandbox import Root
from sandbox.jail.report import Layer, LayerState, Report
from sandbox.place import Place
from sandbox.policy import Quota
from sandbox.records import replace
from tests.mounts import mount, run_in_mount_namespace
from tests.sandbox.jail.test_report import report
from tests.service.estates import ALICE, BOB, PASSABLE, SHUT, Estate, estate


@dataclass
class Desk:
    """A workspace of Alice's that is open, and the part of the state that is for it."""

    here: Estate
    state: StateFolder
    root: Root
    part: Part

    @property
    def owner(self) -> int:
        return os.lstat(self.part.place.path).st_uid

    def entrust(self, proof: Report | None = None) -> Place | Withheld:
        return entrust(self.state, self.part, self.root, proof or running_as(ALICE, ALICE))


@pytest.fixture
def desk() -> Iterator[Desk]:
    with ExitStack() as held:
        here = held.enter_context(estate())
        vault = here.vault()
        state = StateFolder.open(str(here.state))
        root = held.enter_context(Root.open(str(vault)))
        yield Desk(here, state, root, state.workspace(str(vault)))


def running_as(uid: int, gid: int, state: LayerState = LayerState.ENFORCED) -> Report:
    """Return the report of a worker of this account."""
    found = report()
    layers = tuple(
        Layer("capabilities", state, None, ("proof",), {"uid": uid, "gid": gid})
        if layer.name == "capabilities"
        else layer
        for layer in found.layers
    )
    return replace(found, layers=layers)


def expect_withheld(desk: Desk, word: str, proof: Report | None = None, owner: int = 0) -> None:
    found = desk.entrust(proof)
    assert isinstance(found, Withheld), found
    assert word in found.why
    assert desk.owner == owner


def test_it_is_given_once_and_found_given_then(desk: Desk) -> None:
    assert desk.entrust() == desk.part.place
    status = os.stat(desk.part.place.path)
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (ALICE, ALICE, SHUT)
    desk.part = desk.state.workspace(str(desk.here.top / "Notes"))
    assert desk.part.owner == ALICE
    assert desk.entrust() == desk.part.place


@pytest.mark.parametrize(
    "proof",
    [
        running_as(BOB, ALICE),
        running_as(ALICE, BOB),
        running_as(0, 0),
        running_as(ALICE, ALICE, LayerState.FAILED),
        running_as(ALICE, ALICE, LayerState.UNAVAILABLE),
        replace(report(), layers=report("capabilities").layers),
    ],
)
def test_who_has_not_proven_to_be_the_owner_of_the_workspace_gets_nothing(desk: Desk, proof: Report) -> None:
    expect_withheld(desk, "not proven", proof)
    assert isinstance(desk.entrust(), Place)


def test_the_owner_of_the_workspace_is_looked_at_again(desk: Desk) -> None:
    """It may have changed since the worker was started that has proven whom it runs as."""
    desk.here.give("Notes", BOB)
    expect_withheld(desk, "not proven")
    assert desk.entrust(running_as(BOB, BOB)) == desk.part.place
    assert desk.owner == BOB
    desk.here.give("Notes", ALICE)
    expect_withheld(desk, f"belongs to uid {BOB}", owner=BOB)


def test_of_two_processes_one_gives_it_and_the_other_finds_it_given(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one is through with it, and a worker has put something in, between this one's look and its lock."""
    lock = fcntl.flock

    def after_another(folder: int, how: int) -> None:
        if how & fcntl.LOCK_EX:
            os.fchown(folder, ALICE, ALICE)
            os.close(os.open("move.json", os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=folder))
        lock(folder, how)

    monkeypatch.setattr(fcntl, "flock", after_another)
    assert desk.entrust() == desk.part.place
    assert os.lstat(f"{desk.part.place.path}/move.json").st_uid == 0


def test_what_another_process_has_given_to_somebody_else_stays_there(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock

    def after_another(folder: int, how: int) -> None:
        os.fchown(folder, BOB, BOB)
        lock(folder, how)

    monkeypatch.setattr(fcntl, "flock", after_another)
    expect_withheld(desk, f"uid {BOB}", owner=BOB)


def by_a_folder(path: str) -> None:
    os.rename(path, path + "-moved")
    os.mkdir(path, SHUT)


def by_a_link(path: str) -> None:
    by_a_folder(path)
    os.rename(path, path + "-bait")
    os.symlink(path + "-bait", path)


def by_nothing(path: str) -> None:
    os.rename(path, path + "-moved")


@pytest.mark.parametrize("exchange", [by_a_folder, by_a_link, by_nothing])
@pytest.mark.parametrize("call", ["open", "listdir", "fchown", "stat"])
def test_a_part_that_is_exchanged_at_any_step_is_not_handed_on_and_nothing_else_is_given(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, exchange: Callable[[str], None], call: str
) -> None:
    """Right before the call. The folder itself may have been given by then, but not what has taken its name."""
    path, done = desk.part.place.path, False
    real = getattr(os, call)

    def exchanged(what: object, *more: object, **how: object) -> object:
        nonlocal done
        is_part = what == desk.part.name if call in ("open", "stat") else type(what) is int
        if is_part and not done:
            done = True
            exchange(path)
        return real(what, *more, **how)

    monkeypatch.setattr(os, call, exchanged)
    found = desk.entrust()
    monkeypatch.undo()
    assert done
    assert isinstance(found, Withheld)
    for name in (path, path + "-bait"):
        if os.path.lexists(name):
            assert os.stat(name).st_uid == 0
    assert os.stat(path + "-moved").st_uid == (0 if call == "open" else ALICE)


def test_no_descriptor_is_left_whatever_happens(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()  # what other tests have left may go meanwhile
    before = len(os.listdir("/proc/self/fd"))
    for refused in ("fchown", "listdir"):
        monkeypatch.setattr(os, refused, _refuse)
        expect_withheld(desk, "cannot be used")
        monkeypatch.undo()
    monkeypatch.setattr(fcntl, "flock", _refuse)
    expect_withheld(desk, "cannot be used")  # what cannot be locked is not given away
    monkeypatch.undo()
    assert isinstance(desk.entrust(), Place)
    assert len(os.listdir("/proc/self/fd")) <= before


def _refuse(*_: object) -> None:
    raise PermissionError(1, os.strerror(1))


def test_one_that_cannot_even_be_looked_at_is_no_reason_not_to_start(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when its owner has mounted a file system of their own there, which nobody else may look at."""
    assert isinstance(desk.entrust(), Place)
    real = os.fstat

    def closed(descriptor: int) -> os.stat_result:
        found = real(descriptor)
        if (found.st_dev, found.st_ino) == desk.part.place.identity:
            raise PermissionError(13, os.strerror(13))
        return found

    with monkeypatch.context() as patched:
        patched.setattr(os, "fstat", closed)
        part = desk.state.workspace(str(desk.here.top / "Notes"))
    assert (part.owner, part.is_own, part.lock_file) == (None, False, None)
    desk.part = part
    expect_withheld(desk, "cannot be looked at", owner=ALICE)
    with pytest.raises(ConfigurationError):
        part.check_own()


def test_on_another_file_system_nothing_is_given(desk: Desk) -> None:
    run_in_mount_namespace("tests.service.test_custody", str(desk.here.top))
    assert isinstance(desk.entrust(), Place)


def on_another_file_system(top: str) -> None:
    """Run in a mount namespace of its own, on the folder of the test above."""
    state = StateFolder.open(f"{top}/state")
    folder = state.workspace(f"{top}/Notes").place.path
    for place in (folder, os.path.dirname(folder)):
        mount("-t", "tmpfs", "-o", f"mode={SHUT if place == folder else PASSABLE:o}", "none", place)
        part = state.workspace(f"{top}/Notes")
        with Root.open(f"{top}/Notes") as root:
            found = entrust(state, part, root, running_as(ALICE, ALICE))
        assert isinstance(found, Withheld), found
        assert "another file system" in found.why
        assert os.stat(part.place.path).st_uid == 0


# -- what a process of root's uses itself ----------------------------------------------------------


def inline(desk: Desk, root: Root) -> InlineRunner:
    return InlineRunner(
        {"Notes": (root, ())}, quotas={"Notes": Quota()}, parts={"Notes": desk.part.check_own()}, boot=None
    )


def test_one_that_is_given_away_after_it_was_looked_at_is_not_used(desk: Desk) -> None:
    assert isinstance(desk.entrust(), Place)
    assert desk.part.is_own  # as it was looked at
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(ConfigurationError):
        inline(desk, Root.open(str(desk.here.top / "Notes")))
    assert len(os.listdir("/proc/self/fd")) <= before


def test_one_that_is_used_is_not_given_away_until_it_is_let_go(desk: Desk) -> None:
    runner = inline(desk, Root.open(str(desk.here.top / "Notes")))
    expect_withheld(desk, "is being used")
    runner.close()
    assert isinstance(desk.entrust(), Place)


def test_a_part_in_another_place_is_not_used_either(desk: Desk) -> None:
    path = desk.part.place.path
    by_a_folder(path)
    with pytest.raises(ConfigurationError):
        inline(desk, Root.open(str(desk.here.top / "Notes")))
    os.rmdir(path)
    os.rename(path + "-moved", path)
    inline(desk, Root.open(str(desk.here.top / "Notes"))).close()


if __name__ == "__main__":
    on_another_file_system(sys.argv[1])
