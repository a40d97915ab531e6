"""What the upkeep of an index does when something fails: all is looked at again after a pause, nothing is forgotten."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fsnotes import upkeep as module
from fsnotes.errors import Busy, Unavailable
from fsnotes.notes.index_commands import KeepIndex
from fsnotes.notes.replies import IndexKept
from fsnotes.upkeep import Upkeep
from sandbox.root import Root
from sandbox.watcher import Watcher
from tests.disk import Tree
from tests.require import has_openat2, require

SECONDS = 10.0
READY = IndexKept("ready", 1, 0, True, True, (), (), "0" * 16, 1)  # noqa: FBT003


class Index:
    """An index of nobody: it notes what it is asked, and fails when it is told to."""

    def __init__(self) -> None:
        self.asked: list[KeepIndex] = []
        self.failure: Exception | None = None
        self.failures: list[Exception] = []
        self.changed = threading.Condition()

    def keep(self, command: KeepIndex) -> IndexKept:
        with self.changed:
            self.asked.append(command)
            self.changed.notify_all()
            if self.failures:
                raise self.failures.pop()
            if self.failure is not None:
                raise self.failure
        return READY

    def wait(self, fits: Callable[[list[KeepIndex]], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: fits(self.asked), SECONDS), self.asked


@contextmanager
def keeping(root: Root, index: Index) -> Iterator[Upkeep]:
    made = Upkeep("Notes", index.keep, root.watch)
    made.start()
    try:
        yield made
    finally:
        made.close()


def settle(made: Upkeep) -> None:
    end = time.monotonic() + SECONDS
    while not (made.standing().settled and not made.standing().paths):
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.fixture(params=["openat2", "walk"])
def disk(tmp_path: Path, request: pytest.FixtureRequest) -> Tree:
    if request.param == "openat2":
        require("openat2", available=has_openat2())
    return Tree(tmp_path, request.param)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.01)
    monkeypatch.setattr(module, "FAILED_SECONDS", 0.01)


def test_everything_is_surveyed_first_and_a_change_is_taken_in_then(disk: Tree) -> None:
    with disk.open_root() as root:
        index = Index()
        with keeping(root, index) as made:
            settle(made)
            assert index.asked[:2] == [KeepIndex(), KeepIndex((), ("",))]
            disk.build("root/a.md: text", "root/picture.png: x")
            index.wait(lambda asked: any("a.md" in command.paths for command in asked))
            settle(made)
            disk.build("root/f/b.md: text")
            index.wait(
                lambda asked: any("f" in command.folders or "f/b.md" in command.paths for command in asked)
            )
            settle(made)
            assert all("picture.png" not in command.paths for command in index.asked)
        assert index.asked[-1] == KeepIndex(whole=True)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("failure", [Unavailable("the disk is full"), RuntimeError("a mistake")])
def test_after_a_failure_everything_is_surveyed_again(disk: Tree, failure: Exception) -> None:
    with disk.open_root() as root:
        index = Index()
        with keeping(root, index) as made:
            settle(made)
            index.failure = failure
            disk.build("root/a.md: text")
            index.wait(lambda asked: sum("" in command.folders for command in asked) >= 3)
            assert not made.standing().settled
            assert made.progress() is None
            index.failure = None
            settle(made)


@pytest.mark.usefixtures("quick")
def test_while_another_process_keeps_the_index_nothing_is_watched_and_from_then_on_everything(
    disk: Tree,
) -> None:
    with disk.open_root() as root:
        index, watched = Index(), []

        def watch() -> Watcher:
            watched.append(len(index.asked))
            return root.watch()

        index.failure = Busy()
        made = Upkeep("Notes", index.keep, watch)
        made.start()
        try:
            index.wait(lambda asked: len(asked) >= 5)
            assert watched == []
            assert not made.standing().settled
            index.failure = None
            settle(made)
            (before,) = watched
            # What was written until it was watched is found by the survey that comes after.
            assert index.asked[:before] == [KeepIndex()] * before
            assert index.asked[before] == KeepIndex((), ("",))
            disk.build("root/a.md: text")
            index.wait(lambda asked: any("a.md" in command.paths for command in asked))
        finally:
            made.close()


@pytest.mark.usefixtures("quick")
def test_who_was_held_up_once_goes_on_watching_and_who_keeps_the_index_no_more_does_not(disk: Tree) -> None:
    with disk.open_root() as root:
        index = Index()
        with keeping(root, index) as made:
            settle(made)
            first = made._watcher
            index.failures = [Busy()]
            disk.build("root/a.md: text")
            index.wait(lambda asked: sum("" in command.folders for command in asked) >= 2)
            settle(made)
            assert made._watcher is first
            index.failure = Busy()
            disk.build("root/b.md: text")
            index.wait(lambda asked: asked[-3:] == [KeepIndex()] * 3)
            assert made._watcher is None
            assert first is not None
            assert first.has_ended
            assert not made.standing().settled
            index.failure = None
            settle(made)
            assert made._watcher is not None


@pytest.mark.usefixtures("quick")
def test_pauses_grow_while_it_fails(disk: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FAILED_SECONDS", 0.05)
    with disk.open_root() as root:
        index = Index()
        index.failure = Unavailable("the disk is full")
        begun = time.monotonic()
        with keeping(root, index):
            index.wait(lambda asked: len(asked) >= 4)
            assert time.monotonic() - begun >= 0.05 + 0.1 + 0.2


def test_it_ends_whatever_it_waits_for(disk: Tree) -> None:
    with disk.open_root() as root:
        index = Index()
        made = Upkeep("Notes", index.keep, root.watch)
        made.close()
        made = Upkeep("Notes", index.keep, root.watch)
        made.start()
        settle(made)
        begun = time.monotonic()
        made.close()
        assert time.monotonic() - begun < 2
        assert not made.standing().settled


def test_a_watcher_that_ended_is_no_proof_of_anything(disk: Tree, tmp_path: Path) -> None:
    with disk.open_root() as root:
        index = Index()
        with keeping(root, index) as made:
            settle(made)
            assert made._watcher is not None
            made._watcher.close()
            assert not made.standing().settled


@pytest.mark.usefixtures("quick")
def test_a_watcher_that_ends_by_itself_is_replaced_and_nothing_spins(disk: Tree) -> None:
    with disk.open_root() as root:
        index = Index()
        with keeping(root, index) as made:
            settle(made)
            before = len(index.asked)
            assert made._watcher is not None
            made._watcher.close()
            settle(made)
            assert len(index.asked) - before < 20
            disk.build("root/a.md: text")
            index.wait(lambda asked: any("a.md" in command.paths for command in asked))
