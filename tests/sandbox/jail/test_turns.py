"""Turns: one at a time, in order, within a bound and a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from sandbox.errors import Abandoned, JailBusy, JailStopped, Quarantined
from sandbox.jail.turns import Turns
from sandbox.locking import never
from tests.sandbox.jail.conftest import soon, until


@pytest.fixture
def turns() -> Turns[str]:
    """Turns that allow callers, for two of whom there is room to wait."""
    made = Turns[str](most=2)
    made.allow()
    return made


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Threads for callers."""
    with ThreadPoolExecutor(8) as made:
        yield made


def come(pool: ThreadPoolExecutor, turns: Turns[str], *, seconds: float = 20) -> Future[str]:
    """Let a caller wait, and return once it is in the queue or done."""
    waiting = len(turns._queue)
    future = pool.submit(turns.take, until=soon(seconds), abandoned=never)
    until(lambda: len(turns._queue) > waiting or future.done())
    return future


def test_nobody_comes_before_it_is_allowed() -> None:
    turns = Turns[str]()
    turns.offer("worker")
    with pytest.raises(JailStopped):
        turns.take(until=soon(), abandoned=never)


def test_callers_are_served_in_the_order_they_came(turns: Turns[str], pool: ThreadPoolExecutor) -> None:
    turns.offer("worker")
    assert turns.take(until=soon(), abandoned=never) == "worker"
    first, second = come(pool, turns), come(pool, turns)
    assert not first.done()
    turns.give_back("worker")
    assert first.result(5) == "worker"
    assert not second.done()
    turns.give_back("worker")
    assert second.result(5) == "worker"
    turns.give_back("worker")
    assert turns.take(until=soon(), abandoned=never) == "worker"


def test_one_more_than_may_wait_is_refused_at_once(turns: Turns[str], pool: ThreadPoolExecutor) -> None:
    waiting = [come(pool, turns), come(pool, turns)]
    with pytest.raises(JailBusy):
        turns.take(until=soon(), abandoned=never)
    turns.offer("worker")
    assert waiting[0].result(5) == "worker"
    turns.give_back("worker")
    assert waiting[1].result(5) == "worker"


def test_caller_leaves_at_its_deadline_and_the_next_one_is_served(
    turns: Turns[str], pool: ThreadPoolExecutor
) -> None:
    short, long = come(pool, turns, seconds=0.05), come(pool, turns)
    with pytest.raises(JailBusy):
        short.result(5)
    turns.offer("worker")
    assert long.result(5) == "worker"


def test_caller_that_has_gone_leaves_the_queue(turns: Turns[str], pool: ThreadPoolExecutor) -> None:
    gone = threading.Event()
    future = pool.submit(turns.take, until=soon(), abandoned=gone.is_set)
    until(lambda: len(turns._queue) == 1)
    gone.set()
    with pytest.raises(Abandoned):
        future.result(5)
    assert len(turns._queue) == 0


@pytest.mark.parametrize("handed", [False, True], ids=["before", "after it was handed over"])
def test_caller_that_is_interrupted_while_it_waits_takes_nothing_along(
    turns: Turns[str], *, handed: bool
) -> None:
    def interrupted() -> bool:
        if handed:
            turns.offer("worker")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        turns.take(until=soon(), abandoned=interrupted)
    if not handed:
        turns.offer("worker")
    assert turns.take(until=soon(5), abandoned=never) == "worker"


def test_everybody_is_told_when_nothing_is_served(turns: Turns[str], pool: ThreadPoolExecutor) -> None:
    waiting = [come(pool, turns), come(pool, turns)]
    turns.refuse(lambda: Quarantined("cleared by hand"))
    errors = [future.exception(5) for future in waiting]
    assert [type(error) for error in errors] == [Quarantined, Quarantined]
    assert errors[0] is not errors[1]
    with pytest.raises(Quarantined):
        turns.take(until=soon(), abandoned=never)
    turns.allow()
    turns.offer("worker")
    assert turns.take(until=soon(), abandoned=never) == "worker"


def test_what_was_withdrawn_does_not_come_back(turns: Turns[str], pool: ThreadPoolExecutor) -> None:
    turns.offer("old")
    assert turns.take(until=soon(), abandoned=never) == "old"
    turns.withdraw("old")
    turns.give_back("old")
    waiting = come(pool, turns)
    assert not waiting.done()
    turns.offer("new")
    assert waiting.result(5) == "new"
    turns.give_back("old")
    with pytest.raises(JailBusy):
        turns.take(until=soon(0.05), abandoned=never)


def test_only_what_nobody_has_is_withdrawn_as_free(turns: Turns[str]) -> None:
    turns.offer("worker")
    assert turns.take(until=soon(), abandoned=never) == "worker"
    assert not turns.withdraw_free("worker")
    turns.give_back("worker")
    assert turns.withdraw_free("worker")
    assert turns.current() is None


def test_turn_that_comes_at_the_moment_of_leaving_is_not_lost() -> None:
    """Callers with deadlines of about the time that a turn takes: the thing always comes back."""
    turns = Turns[str](most=64)
    turns.allow()
    turns.offer("worker")
    served, left = [], []

    def live() -> None:
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            try:
                taken = turns.take(until=time.monotonic() + 0.0003, abandoned=never)
            except JailBusy:
                left.append(1)
                continue
            served.append(1)
            time.sleep(0.0002)
            turns.give_back(taken)

    threads = [threading.Thread(target=live) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert served != []
    assert left != []
    assert turns.take(until=soon(5), abandoned=never) == "worker"
