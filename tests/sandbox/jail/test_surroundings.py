"""What is mounted and unmounted while a worker serves: with real mounts, and where the table of mounts says nothing."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.jail.events import Happening
from sandbox.jail.supervisor import Jail
from sandbox.mounts import Mount
from tests.accounts import interpreter, reachable
from tests.mounts import REPOSITORY, run_in_mount_namespace
from tests.sandbox.jail.conftest import Layout, Yard, is_gone, need, pids, soon, until
from tests.sandbox.jail.mounted import CASES


@pytest.mark.parametrize("case", CASES)
def test_mounts_that_come_and_go(case: str) -> None:
    need("contained" if "without_namespaces" in case else "full")
    if case == "for_an_account_without_rights":
        if os.geteuid() != 0:
            pytest.skip("needs root")
        if interpreter() is None or not reachable(Path(REPOSITORY, "sandbox")):
            pytest.skip("no interpreter, or no sources, that an ordinary account may use")
    # Where every account gets to.
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="fsnotes-mounts-") as folder:
        os.chmod(folder, 0o755)  # noqa: S103 - as said
        run_in_mount_namespace("tests.sandbox.jail.mounted", case, folder)


# -- what is told of them, by a table of a test's own --------------------------------------------------


class Told:
    """The mounts around some folders, as a test tells of them."""

    bell = None
    why = "a test says so"

    def __init__(self, looks: Callable[[], frozenset[Mount] | None]) -> None:
        self.look = looks
        self.closed = False

    def close(self) -> None:
        self.closed = True


def mounts(*numbers: int) -> frozenset[Mount]:
    return frozenset(Mount(number, 1, b"0:1", b"/", b"/ws", b"rw") for number in numbers)


@pytest.fixture
def tell(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Told]:
    """Have what is said of mounts be what a test says."""

    def told(looks: Callable[[], frozenset[Mount] | None]) -> Told:
        made = Told(looks)
        monkeypatch.setattr("sandbox.jail.surroundings.MountWatch", lambda *_: made)
        return made

    return told


def count(jail: Jail) -> int:
    calls: int = jail.call("count", {}, deadline=soon(), write=False)["calls"]
    return calls


def test_a_call_that_comes_after_a_change_is_answered_by_the_next_worker(
    yard: Yard, full: Layout, tell: Callable[..., Told]
) -> None:
    seen = [mounts(1)]
    told = tell(lambda: seen[-1])
    jail = yard.started(full)
    assert [count(jail), count(jail)] == [1, 2]
    seen.append(mounts(1, 2))
    assert [count(jail), count(jail)] == [1, 2]
    seen.append(mounts(1))
    assert count(jail) == 1
    assert [event.ending for event in jail.events if event.ending] == ["recycled", "recycled"]
    jail.stop()
    assert told.closed


def test_an_idle_worker_is_replaced_when_it_is_next_looked_at(
    yard: Yard, full: Layout, tell: Callable[..., Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox.jail.keeper.WATCH_SECONDS", 0.05)
    seen = [mounts(1)]
    tell(lambda: seen[-1])
    jail = yard.started(full)
    before = pids(jail)
    seen.append(mounts())
    until(lambda: all(is_gone(pid) for pid in before))
    assert count(jail) == 1


def test_a_worker_that_began_while_something_was_mounted_is_never_offered(
    yard: Yard, full: Layout, tell: Callable[..., Told]
) -> None:
    answers = iter([mounts(1), mounts(1, 2), mounts(1, 2), mounts(1), *[mounts(1)] * 10_000])
    tell(lambda: next(answers))
    pauses: list[float] = []
    jail = yard.started(full, sleep=lambda _, seconds: pauses.append(seconds))
    assert count(jail) == 1
    happened = [event.happening for event in jail.events]
    assert happened == [Happening.ENDED, Happening.ENDED, Happening.STARTED]
    assert pauses == [
        0.1,
        0.1,
    ]  # who mounts and unmounts without end does not have us start workers without end


def test_where_the_table_says_nothing_that_is_said_once_and_workers_serve(
    yard: Yard, full: Layout, tell: Callable[..., Told], caplog: pytest.LogCaptureFixture
) -> None:
    tell(lambda: None)
    jail = yard.started(full)
    assert [count(jail), count(jail)] == [1, 2]
    jail.accuse("for this test")
    assert count(jail) == 1
    said = [record.getMessage() for record in caplog.records if "will not be noticed" in record.getMessage()]
    assert said == [
        "what is mounted or unmounted in the folders of a worker will not be noticed: a test says so"
    ]


def test_who_began_while_the_table_said_nothing_is_replaced_once_it_says_something(
    yard: Yard, full: Layout, tell: Callable[..., Told]
) -> None:
    """It may have been a want of descriptors: then it is over, and the worker would see former mounts for ever."""
    seen: list[frozenset[Mount] | None] = [None]
    tell(lambda: seen[-1])
    jail = yard.started(full)
    assert [count(jail), count(jail)] == [1, 2]
    seen.append(mounts(1))
    assert [count(jail), count(jail)] == [1, 2]
    seen.append(mounts(1, 2))
    assert count(jail) == 1


def test_a_table_that_says_nothing_any_more_is_taken_for_a_change(
    yard: Yard, full: Layout, tell: Callable[..., Told], caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[frozenset[Mount] | None] = [mounts(1)]
    tell(lambda: seen[-1])
    jail = yard.started(full)
    assert [count(jail), count(jail)] == [1, 2]
    seen.append(None)
    assert [count(jail), count(jail)] == [1, 2]
    assert "will not be noticed" in caplog.text


def test_without_namespaces_nobody_is_replaced(yard: Yard, tell: Callable[..., Told]) -> None:
    need("contained")
    seen = [mounts(1)]
    tell(lambda: seen[-1])
    jail = yard.started("contained")
    assert count(jail) == 1
    seen.append(mounts())
    assert count(jail) == 2


def test_a_jail_holds_the_table_no_longer_than_it_lives(yard: Yard, full: Layout) -> None:
    def held() -> list[str]:
        found = []
        for number in os.listdir("/proc/self/fd"):
            try:
                found.append(os.readlink(f"/proc/self/fd/{number}"))
            except FileNotFoundError:
                pass
        return [path for path in found if path.endswith("/mountinfo")]

    before = held()
    jail = yard.started(full)
    assert len(held()) == len(before) + 2
    jail.stop()
    assert held() == before
