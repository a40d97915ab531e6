"""Starting something once, in a thread of its own, for all who wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from fsnotes import runners, starting
from fsnotes.access import Access, Grant, Principal, Right, Rule, Workspace
from fsnotes.deferred import DeferredRunner
from fsnotes.errors import Abandoned, NotItsTurn, Unavailable
from fsnotes.notes.commands import Command, ReadNote, TrashNote
from fsnotes.notes.index_commands import KeepIndex
from fsnotes.runners import GuardedRunner, Runner, never
from fsnotes.starting import Start
from sandbox.names import ROOT
from sandbox.uris import FileUri


class Bench:
    """Begins when a test lets it, and tells what became of it."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.begun = 0
        self.failure: BaseException | None = None
        self.unwanted: list[str | None] = []
        self.start = Start(
            self._begin, refused=lambda failure: f"no: {failure}", unwanted=self.unwanted.append
        )

    def _begin(self) -> str:
        self.begun += 1
        self.gate.wait(20)
        if self.failure is not None:
            raise self.failure
        return f"number {self.begun}"


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.gate.set()


def test_many_who_want_it_at_once_get_the_one_that_is_started(bench: Bench) -> None:
    with ThreadPoolExecutor(20) as pool:
        waiting = [pool.submit(bench.start.get, 20, abandoned=never) for _ in range(20)]
        bench.gate.set()
        assert {each.result(20) for each in waiting} == {("number 1", None)}
    assert bench.begun == 1


@pytest.mark.parametrize("failure", [ValueError("odd"), SystemExit(3)])
def test_all_who_wait_are_told_of_a_failure_and_later_ones_until_it_is_tried_again(
    bench: Bench, failure: BaseException
) -> None:
    bench.failure = failure
    with ThreadPoolExecutor(5) as pool:
        waiting = [pool.submit(bench.start.get, 20, abandoned=never) for _ in range(5)]
        bench.gate.set()
        assert {each.result(20) for each in waiting} == {(None, f"no: {failure}")}
    assert bench.start.get(20, abandoned=never) == (None, f"no: {failure}")
    assert bench.begun == 1
    bench.failure = None
    bench.start.try_again()
    assert bench.start.get(20, abandoned=never) == ("number 2", None)


def test_a_failure_is_forgotten_after_a_while(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.failure = ValueError("odd")
    bench.gate.set()
    assert bench.start.get(20, abandoned=never) == (None, "no: odd")
    bench.failure = None
    monkeypatch.setattr(starting, "RETRY_SECONDS", 0.0)
    late = time.monotonic() + 2.0
    while time.monotonic() < late:
        time.sleep(0.01)
    assert bench.start.get(20, abandoned=never) == ("number 2", None)


def test_nobody_hears_that_nothing_is_served_while_it_is_tried_again_and_again(bench: Bench) -> None:
    """Whoever forgets a failure just then leaves no gap in which there is neither one nor the other."""
    bench.failure = ValueError("odd")
    bench.gate.set()
    stop = threading.Event()

    def forget() -> None:
        while not stop.is_set():
            bench.start.try_again()

    forgetter = threading.Thread(target=forget)
    forgetter.start()
    try:
        told = {bench.start.get(20, abandoned=never) for _ in range(300)}
    finally:
        stop.set()
        forgetter.join()
    assert told == {(None, "no: odd")}


def test_who_waits_too_long_or_gives_up_does_not_wait_for_it(bench: Bench) -> None:
    with pytest.raises(NotItsTurn):
        bench.start.get(0.05, abandoned=never)
    asked = iter([False, False])
    with pytest.raises(Abandoned):
        bench.start.get(20, abandoned=lambda: next(asked, True))
    assert bench.begun == 1
    bench.gate.set()
    assert bench.start.get(20, abandoned=never) == ("number 1", None)


def test_what_is_started_too_late_is_unwanted_and_nothing_is_started_any_more(bench: Bench) -> None:
    ready = bench.start.prepare()
    bench.start.close()
    assert bench.unwanted == []
    bench.gate.set()
    assert ready is not None
    assert ready.wait(20)
    until = time.monotonic() + 20
    while not bench.unwanted and time.monotonic() < until:
        time.sleep(0.001)
    assert bench.unwanted == ["number 1"]
    assert bench.start.get(20, abandoned=never) == (None, None)
    assert (bench.start.prepare(), bench.begun, bench.start.is_closed) == (None, 1, True)
    bench.start.close()
    assert bench.unwanted == ["number 1"]


@pytest.mark.parametrize("started", [True, False])
def test_what_there_is_at_the_end_is_unwanted_once(bench: Bench, started: bool) -> None:
    bench.gate.set()
    if started:
        bench.start.get(20, abandoned=never)
    bench.start.close()
    bench.start.close()
    assert bench.unwanted == ["number 1" if started else None]


def grant_for(right: Right) -> Grant:
    workspace = Workspace("Notes", (FileUri.from_path("/nowhere"),))
    access = Access([workspace], [Rule("local:alice", "Notes", ROOT, frozenset(Right))])
    return access.authorize(Principal("local:alice"), workspace.uri, right)


def waited(begin: Callable[[], Runner], command: Command[Any], right: Right) -> float:
    """Return how long *command* waits for what does not begin."""
    runner = DeferredRunner(begin, lambda: None, seconds=1.0)
    begun = time.monotonic()
    with pytest.raises(NotItsTurn):
        runner.run(grant_for(right), command)
    return time.monotonic() - begun


def test_nobody_who_holds_the_ledger_waits_long_for_a_workspace_to_begin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runners, "TRANSACTION_SECONDS", 0.2)
    gate = threading.Event()

    def begin() -> Runner:
        gate.wait(20)
        raise ValueError

    try:
        assert waited(begin, TrashNote("a.md", "sha256:0", "entry"), Right.DELETE) < 0.9
        assert waited(begin, ReadNote("a.md"), Right.READ) >= 1.0
    finally:
        gate.set()


def test_nothing_is_run_in_a_closed_workspace_in_any_way() -> None:
    asked: list[str] = []

    class Everything:
        """Answers whatever is asked."""

        def __getattr__(self, name: str) -> Callable[..., None]:
            return lambda *_, **__: asked.append(name)

    closed = {"Notes"}
    guarded = GuardedRunner(cast("Runner", Everything()), closed.__contains__)
    acts: list[Callable[[], object]] = [
        lambda: guarded.run(grant_for(Right.READ), ReadNote("a.md")),
        lambda: guarded.sweep("Notes", now=0.0),
        lambda: guarded.keep("Notes", KeepIndex()),
    ]
    for act in acts:
        with pytest.raises(Unavailable):
            act()
    assert asked == []
    closed.clear()
    for act in acts:
        act()
    assert asked == ["run", "sweep", "keep"]
