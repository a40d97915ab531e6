"""After an end: pauses, quarantine, recycling, callers that wait meanwhile, and stopping."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sandbox.errors import (
    JailBusy,
    JailStopped,
    LevelNotMet,
    Quarantined,
    WorkerBreach,
    WorkerCrashed,
    WorkerFailed,
    WorkerHung,
    WorkerLimit,
)
from sandbox.jail import keeper
from sandbox.jail.conduct import Conduct
from sandbox.jail.endings import Ending
from sandbox.jail.events import Event, Happening
from sandbox.jail.report import Level
from sandbox.jail.supervisor import Jail, Recycling
from tests.sandbox.jail.conftest import Layout, Yard, is_gone, pids, soon, until


class Pauses:
    """A sleep that writes down how long it was to be, and lasts as long as a test wants."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, stopping: threading.Event, seconds: float) -> None:
        self.seconds.append(seconds)
        while not stopping.is_set() and not self.gate.wait(0.005):
            continue


@pytest.fixture
def pauses() -> Iterator[Pauses]:
    """Pauses that are over at once."""
    made = Pauses()
    yield made
    made.gate.set()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Threads for callers."""
    with ThreadPoolExecutor(16) as made:
        yield made


def breach(jail: Jail) -> None:
    with pytest.raises(WorkerBreach):
        jail.call("crash", {"number": signal.SIGSYS}, deadline=soon(), write=True)


def test_a_jail_says_whether_its_worker_is_there(
    yard: Yard, pauses: Pauses, pool: ThreadPoolExecutor
) -> None:
    jail = yard.make(yard.spec(), sleep=pauses)
    assert not jail.is_serving
    jail.start()
    assert jail.is_serving
    busy = pool.submit(jail.call, "sleep", {"seconds": 0.3}, deadline=soon(), write=False)
    until(lambda: not jail._turns.is_free(jail._turns.current()))  # type: ignore[arg-type]  # there is one
    assert jail.is_serving
    busy.result(20)
    pauses.gate.clear()
    breach(jail)
    assert not jail.is_serving
    pauses.gate.set()
    until(lambda: jail.is_serving)
    jail.stop()
    assert not jail.is_serving


def count(jail: Jail, *, seconds: float = 20) -> int:
    calls: int = jail.call("count", {}, deadline=soon(seconds), write=False)["calls"]
    return calls


def happened(jail: Jail) -> list[Happening]:
    return [event.happening for event in jail.events]


def test_pauses_grow_from_failure_to_failure(yard: Yard, pauses: Pauses) -> None:
    jail = yard.started(sleep=pauses, clock=lambda: 0.0)
    for _ in range(5):
        with pytest.raises(WorkerCrashed):
            jail.call("exit", {"status": 1}, deadline=soon(), write=True)
    assert count(jail) == 1
    assert pauses.seconds == [0.1, 0.5, 2.0, 10.0, 10.0]


def test_a_worker_that_runs_out_of_memory_each_time_is_replaced_ever_later(
    yard: Yard, pauses: Pauses
) -> None:
    """It says so itself, so it could say so at every call, and be started anew for each."""
    jail = yard.started(sleep=pauses, clock=lambda: 0.0)
    for _ in range(3):
        with pytest.raises(WorkerLimit):
            jail.call("small_bomb", {}, deadline=soon(), write=False)
    assert count(jail) == 1
    assert pauses.seconds == [0.1, 0.5, 2.0]
    assert Happening.QUARANTINED not in happened(jail)  # it is no breach


def test_calls_that_meet_a_restarting_worker_wait_for_it(
    yard: Yard, pauses: Pauses, pool: ThreadPoolExecutor
) -> None:
    jail = yard.started(sleep=pauses)
    pauses.gate.clear()
    breach(jail)
    calls = [
        pool.submit(jail.call, "echo", {"n": number}, deadline=soon(), write=bool(number % 2))
        for number in range(8)
    ]
    impatient = pool.submit(jail.call, "echo", {}, deadline=soon(0.2), write=False)
    with pytest.raises(JailBusy):
        impatient.result(10)
    assert [call.done() for call in calls] == [False] * 8
    pauses.gate.set()
    assert [call.result(20) for call in calls] == [{"n": number} for number in range(8)]


def test_queued_calls_outlive_the_worker_that_they_waited_for(yard: Yard, pool: ThreadPoolExecutor) -> None:
    jail = yard.started()
    first = pool.submit(jail.call, "sleep", {"seconds": 30}, deadline=soon(0.4), write=True)
    until(lambda: not jail._turns._is_free)
    others = [
        pool.submit(jail.call, "echo", {"n": number}, deadline=soon(), write=True) for number in range(8)
    ]
    with pytest.raises(WorkerHung):
        first.result(10)
    assert [other.result(20) for other in others] == [{"n": number} for number in range(8)]


# -- quarantine --------------------------------------------------------------------------------


def test_three_breaches_are_a_quarantine_until_it_is_cleared(
    yard: Yard, pauses: Pauses, pool: ThreadPoolExecutor
) -> None:
    seen: list[Event] = []
    jail = yard.started(sleep=pauses, observe=seen.append)
    breach(jail)
    breach(jail)
    assert count(jail) == 1
    # Somebody waits while the third one happens, and is told.
    third = pool.submit(breach, jail)
    until(lambda: not jail._turns._is_free)
    waiting = pool.submit(count, jail)
    third.result(10)
    with pytest.raises((Quarantined, WorkerFailed)):
        waiting.result(10)
    until(lambda: Happening.QUARANTINED in happened(jail))
    begun = time.monotonic()
    for _ in range(3):
        with pytest.raises(Quarantined):
            jail.call("echo", {}, deadline=soon(), write=False)
    assert time.monotonic() - begun < 0.5
    before = pids(jail)
    assert [pid for pid in before if not is_gone(pid)] == []
    assert pauses.seconds[:2] == [0.1, 0.5]

    jail.clear()
    until(lambda: Happening.CLEARED in happened(jail))
    assert count(jail) == 1
    breach(jail)
    assert count(jail) == 1
    assert tuple(seen) == jail.events
    # The third may have begun its pause before it was seen that there are three.
    assert [each for each in pauses.seconds if each != 2.0] == [0.1, 0.5, 0.1]


def test_a_quarantine_that_is_cleared_as_it_is_told_is_told_to_be_over(yard: Yard, pauses: Pauses) -> None:
    seen: list[Event] = []

    def observe(event: Event) -> None:
        seen.append(event)
        if event.happening is Happening.QUARANTINED:
            jail.clear()  # before the keeper has come to wait for it

    jail = yard.started(sleep=pauses, observe=observe)
    for _ in range(3):
        breach(jail)
    until(lambda: Happening.CLEARED in happened(jail))
    assert count(jail) == 1
    told = [event.happening for event in seen]
    assert told.count(Happening.QUARANTINED) == told.count(Happening.CLEARED) == 1


def fellows(yard: Yard, pauses: Pauses) -> tuple[Jail, Jail]:
    """Return two jails of one workspace."""
    conduct = Conduct(time.monotonic)
    first = yard.started(sleep=pauses, conduct=conduct)
    return first, yard.started(sleep=pauses, conduct=conduct)


def test_breaches_of_all_workers_count_together_and_end_them_all_at_once(
    yard: Yard, pauses: Pauses, pool: ThreadPoolExecutor
) -> None:
    first, second = fellows(yard, pauses)
    before = pids(second)
    breach(first)
    breach(second)
    assert (count(first), count(second)) == (1, 1)
    before += pids(second)
    # One call is in the other worker, and one waits for it.
    inside = pool.submit(second.call, "sleep", {"seconds": 30}, deadline=soon(), write=True)
    until(lambda: not second._turns._is_free)
    waiting = pool.submit(second.call, "echo", {}, deadline=soon(), write=True)
    until(lambda: len(second._turns._queue) == 1)
    begun = time.monotonic()
    breach(first)
    errors = [inside.exception(10), waiting.exception(10)]
    assert time.monotonic() - begun < 2
    assert [type(error) for error in errors] == [Quarantined, Quarantined]
    assert [error.sent for error in errors if isinstance(error, Quarantined)] == [True, False]
    until(lambda: all(is_gone(pid) for pid in before))
    for jail in (first, second):
        with pytest.raises(Quarantined):
            count(jail)
    # Told once, by the one whose breach it was.
    until(lambda: Happening.QUARANTINED in happened(first))
    until(lambda: [event.ending for event in second.events if event.ending] == ["breach", "quarantined"])
    assert Happening.QUARANTINED not in happened(second)

    for jail in (first, second):
        jail.clear()
    for jail in (first, second):
        until(lambda: happened(jail).count(Happening.CLEARED) == 1)  # noqa: B023 - called at once
        assert count(jail) == 1
    breach(second)
    assert (count(first), count(second)) == (2, 1)


def test_a_worker_that_begins_in_a_quarantine_does_not_and_says_why(yard: Yard, pauses: Pauses) -> None:
    first = yard.started(sleep=pauses, conduct=(conduct := Conduct(time.monotonic)))
    late = yard.make(yard.spec(), sleep=pauses, conduct=conduct)
    first.quarantine()
    with pytest.raises(Quarantined):
        late.start()
    assert late._keeper._worker is None
    with pytest.raises((Quarantined, JailStopped)):
        count(late)
    first.clear()
    assert count(first) == 1
    assert count(yard.started(sleep=pauses, conduct=conduct)) == 1


def test_a_worker_that_is_being_started_when_a_quarantine_begins_is_ended(
    yard: Yard, pauses: Pauses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the moment in which it is there, and nobody who would end it knows it yet."""
    first = yard.started(sleep=pauses, conduct=(conduct := Conduct(time.monotonic)))
    real = keeper.employ

    def employ(*args: Any, **more: Any) -> Any:
        worker = real(*args, **more)
        conduct.quarantine()
        return worker

    monkeypatch.setattr(keeper, "employ", employ)
    late = yard.make(yard.spec(), sleep=pauses, conduct=conduct)
    with pytest.raises(Quarantined):
        late.start()
    worker = late._keeper._worker
    assert worker is not None
    assert is_gone(worker.process.pid)
    with pytest.raises(Quarantined):
        count(first)


@pytest.mark.parametrize("when", ["pause", "level lost"])
def test_a_worker_that_is_not_there_when_a_quarantine_begins_is_not_started_in_it(
    yard: Yard, pauses: Pauses, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    monkeypatch.setattr("sandbox.jail.hiring._contradict", lambda report, *_: report)
    monkeypatch.setattr("sandbox.jail.keeper.LEVEL_SECONDS", 0.05)
    waits = threading.Event()
    real = keeper.Keeper._wait_until_lifted

    def wait(self: keeper.Keeper) -> None:
        waits.set()
        real(self)

    monkeypatch.setattr(keeper.Keeper, "_wait_until_lifted", wait)
    conduct = Conduct(time.monotonic)
    jail = yard.make(
        yard.spec(lie="weakening"),
        entry="tests.sandbox.jail.lying",
        require=Level.CONTAINED,
        sleep=pauses,
        conduct=conduct,
    )
    jail.start()
    if when == "pause":
        pauses.gate.clear()
    else:
        (yard.folder / "weak").write_text("now")
    with pytest.raises(WorkerCrashed):
        jail.call("exit", {"status": 1}, deadline=soon(), write=True)
    until(lambda: bool(pauses.seconds) if when == "pause" else Happening.LEVEL_LOST in happened(jail))
    conduct.quarantine()
    with pytest.raises(Quarantined):
        count(jail)
    pauses.gate.set()
    (yard.folder / "weak").unlink(missing_ok=True)
    assert waits.wait(10)
    assert happened(jail).count(Happening.STARTED) == 1
    with pytest.raises(Quarantined):
        count(jail)
    jail.clear()
    until(lambda: happened(jail)[-1] is Happening.STARTED)
    assert count(jail) == 1


def test_a_clear_that_comes_before_the_keeper_waits_for_it_is_not_missed(
    yard: Yard, pauses: Pauses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the worker of a fellow takes long to be gone, and the quarantine is lifted meanwhile."""
    gate, met = threading.Event(), threading.Event()
    real = keeper.Keeper._judge

    def judge(self: keeper.Keeper, outcome: Any) -> float:
        met.set()
        gate.wait(10)
        return real(self, outcome)

    monkeypatch.setattr(keeper.Keeper, "_judge", judge)
    jail = yard.started(sleep=pauses)
    jail.quarantine()
    assert met.wait(10)
    jail.clear()
    gate.set()
    assert count(jail) == 1


def test_a_quarantine_of_a_jail_that_is_stopped_changes_nothing(yard: Yard, pauses: Pauses) -> None:
    first, second = fellows(yard, pauses)
    first.stop()
    second.quarantine()
    with pytest.raises(JailStopped):
        count(first)
    assert first._conduct._members == [second._keeper._quarantine]
    second.stop()
    second.clear()
    with pytest.raises(JailStopped):
        count(second)
    assert second._conduct._members == []


@pytest.mark.parametrize("rounds", [30])
def test_quarantine_clear_and_stop_at_any_moment_of_a_crowd_leave_nothing(
    yard: Yard, pool: ThreadPoolExecutor, rounds: int
) -> None:
    """Callers, breaches, quarantines and clears, and a stop: no call hangs, and a cleared jail serves again."""
    conduct = Conduct(iter(range(0, 10**9, 10**6)).__next__)
    jails = [
        yard.started(sleep=lambda stopping, _: stopping.is_set(), conduct=conduct, clock=lambda: 0.0)
        for _ in range(2)
    ]

    def live(caller: int) -> str:
        for turn in range(100_000):
            breaks = (caller + turn) % 30 == 0
            op, args = (
                ("crash", {"number": int(signal.SIGSYS)}) if breaks else ("echo", {"of": [caller, turn]})
            )
            try:
                answer = jails[caller % 2].call(op, args, deadline=soon(10), write=True)
            except (WorkerBreach, Quarantined):
                continue
            except JailStopped:
                return "stopped"
            if answer != args:
                return "another's answer"
        return "never stopped"

    lives = [pool.submit(live, caller) for caller in range(8)]
    for turn in range(rounds):
        jails[turn % 2].quarantine()
        time.sleep(0.01 * (turn % 3))
        for jail in jails:
            jail.clear()
        time.sleep(0.02 * (turn % 4))
    for jail in jails:
        until(lambda: jail.is_serving)  # noqa: B023 - called at once
    for jail in jails:
        jail.stop()
    assert {life.result(20) for life in lives} == {"stopped"}
    assert [pid for jail in jails for pid in pids(jail) if not is_gone(pid)] == []


def test_an_accusation_of_a_worker_that_is_gone_counts(yard: Yard, pauses: Pauses) -> None:
    """Else who answers what nobody may, and ends at once, could try again for ever."""
    jail = yard.started(sleep=pauses)
    for number in range(3):
        pauses.gate.clear()
        with pytest.raises(WorkerCrashed):
            jail.call("exit", {"status": 1}, deadline=soon(), write=True)
        until(lambda: not jail.is_serving)
        jail.accuse("its reply was none")
        pauses.gate.set()
        if number < 2:
            count(jail)
    until(lambda: Happening.QUARANTINED in happened(jail))
    with pytest.raises(Quarantined):
        count(jail)


def test_each_accusation_of_a_worker_that_is_gone_counts(yard: Yard, pauses: Pauses) -> None:
    """Two callers may have got an answer that is none before the worker ended."""
    jail = yard.started(sleep=pauses)
    pauses.gate.clear()
    with pytest.raises(WorkerCrashed):
        jail.call("exit", {"status": 1}, deadline=soon(), write=True)
    until(lambda: not jail.is_serving)
    for number in range(3):
        jail.accuse(f"reply {number} was none")
    pauses.gate.set()
    until(lambda: Happening.QUARANTINED in happened(jail))
    assert [event.why for event in jail.events if event.ending is Ending.BREACH] == [
        f"reply {number} was none" for number in range(3)
    ]


def test_what_was_owed_before_a_clear_is_forgotten_with_all_else(yard: Yard, pauses: Pauses) -> None:
    jail = yard.started(sleep=pauses)
    pauses.gate.clear()
    with pytest.raises(WorkerCrashed):
        jail.call("exit", {"status": 1}, deadline=soon(), write=True)
    until(lambda: not jail.is_serving)
    jail.accuse("its reply was none")
    jail.quarantine()
    pauses.gate.set()
    jail.clear()
    assert count(jail) == 1
    assert [event.ending for event in jail.events if event.ending] == ["crashed"]


def test_breaches_far_apart_are_no_quarantine(yard: Yard, pauses: Pauses) -> None:
    now = [0.0]
    jail = yard.started(sleep=pauses, clock=lambda: now[0])
    for _ in range(4):
        breach(jail)
        count(jail)
        now[0] += 301
    assert Happening.QUARANTINED not in happened(jail)


def test_quarantine_can_be_stopped(yard: Yard, pauses: Pauses) -> None:
    jail = yard.started(sleep=pauses)
    for _ in range(3):
        breach(jail)
    until(lambda: Happening.QUARANTINED in happened(jail))
    jail.stop()
    assert not jail._keeper._thread.is_alive()
    with pytest.raises(JailStopped):
        count(jail)


def test_level_that_is_lost_at_a_restart_serves_nothing_until_it_is_cleared(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, pauses: Pauses
) -> None:
    """The worker only claims a level, so the look that would find this out is left out."""
    monkeypatch.setattr("sandbox.jail.hiring._contradict", lambda report, *_: report)
    switch = yard.folder / "weak"
    jail = yard.make(
        yard.spec(lie="weakening"), entry="tests.sandbox.jail.lying", require=Level.CONTAINED, sleep=pauses
    )
    assert jail.start().level is Level.CONTAINED
    switch.write_text("now")
    with pytest.raises(WorkerCrashed):
        jail.call("exit", {"status": 1}, deadline=soon(), write=True)
    until(lambda: Happening.LEVEL_LOST in happened(jail))
    errors = []
    for _ in range(2):
        with pytest.raises(LevelNotMet) as caught:
            count(jail)
        errors.append(caught.value)
    assert (errors[0].reached, errors[0].required) == ("none", "contained")
    assert errors[0] is not errors[1]
    switch.unlink()
    jail.clear()
    until(lambda: Happening.CLEARED in happened(jail))
    assert count(jail) == 1


def test_level_that_was_lost_for_a_moment_comes_back_by_itself(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, pauses: Pauses
) -> None:
    monkeypatch.setattr("sandbox.jail.hiring._contradict", lambda report, *_: report)
    monkeypatch.setattr("sandbox.jail.keeper.LEVEL_SECONDS", 0.05)
    switch = yard.folder / "weak"
    jail = yard.make(
        yard.spec(lie="weakening"), entry="tests.sandbox.jail.lying", require=Level.CONTAINED, sleep=pauses
    )
    jail.start()
    switch.write_text("now")
    with pytest.raises(WorkerCrashed):
        jail.call("exit", {"status": 1}, deadline=soon(), write=True)
    # Tried again and again, and refused each time, which is told once.
    until(lambda: happened(jail).count(Happening.NOT_STARTED) >= 3)
    assert happened(jail).count(Happening.LEVEL_LOST) == 1
    with pytest.raises(LevelNotMet):
        count(jail)
    switch.unlink()
    until(lambda: happened(jail)[-1] is Happening.STARTED)
    assert count(jail) == 1


def weakened(yard: Yard, monkeypatch: pytest.MonkeyPatch, pauses: Pauses) -> tuple[Jail, Path]:
    """Return a jail that has lost its level, and what to remove for it to come back."""
    monkeypatch.setattr("sandbox.jail.hiring._contradict", lambda report, *_: report)
    switch = yard.folder / "weak"
    jail = yard.make(
        yard.spec(lie="weakening"), entry="tests.sandbox.jail.lying", require=Level.CONTAINED, sleep=pauses
    )
    jail.start()
    switch.write_text("now")
    with pytest.raises(WorkerCrashed):
        jail.call("exit", {"status": 1}, deadline=soon(), write=True)
    until(lambda: Happening.LEVEL_LOST in happened(jail))
    return jail, switch


def test_a_level_that_is_still_lost_when_it_is_cleared_is_refused_again_and_told_again(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, pauses: Pauses
) -> None:
    jail, switch = weakened(yard, monkeypatch, pauses)
    for number in (2, 3):
        jail.clear()
        with pytest.raises(LevelNotMet):
            count(jail)  # which waits for what is tried, and no longer
        until(lambda: happened(jail).count(Happening.LEVEL_LOST) == number)  # noqa: B023 - called at once
        assert happened(jail).count(Happening.CLEARED) == number - 1
    switch.unlink()
    jail.clear()
    assert count(jail) == 1


def test_a_lost_level_can_be_stopped_and_a_clear_after_that_starts_nothing(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, pauses: Pauses
) -> None:
    jail, switch = weakened(yard, monkeypatch, pauses)
    switch.unlink()
    begun = time.monotonic()
    jail.stop()
    assert time.monotonic() - begun < 1
    assert not jail._keeper._thread.is_alive()
    seen = happened(jail)
    jail.clear()
    with pytest.raises(JailStopped):
        count(jail)
    assert happened(jail) == seen


def test_a_quarantine_of_a_lost_level_stands_when_the_level_comes_back(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, pauses: Pauses
) -> None:
    monkeypatch.setattr("sandbox.jail.keeper.LEVEL_SECONDS", 0.05)
    jail, switch = weakened(yard, monkeypatch, pauses)
    jail.quarantine()
    switch.unlink()
    started = happened(jail).count(Happening.STARTED)
    with pytest.raises(Quarantined):
        count(jail)
    jail.clear()
    assert count(jail) == 1
    assert happened(jail).count(Happening.STARTED) == started + 1


# -- recycling ---------------------------------------------------------------------------------


def test_worker_is_replaced_after_so_many_calls_and_no_call_fails(yard: Yard, pauses: Pauses) -> None:
    jail = yard.started(recycling=Recycling(calls=3), sleep=pauses)
    assert [count(jail) for _ in range(8)] == [1, 2, 3, 1, 2, 3, 1, 2]
    assert pauses.seconds == []
    assert [event.ending for event in jail.events if event.ending] == ["recycled", "recycled"]


@pytest.mark.parametrize("seconds", [0, 0.3], ids=["idle", "busy"])
def test_worker_that_holds_much_memory_is_replaced_between_calls(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr("sandbox.jail.keeper.WATCH_SECONDS", 0.05)
    jail = yard.started(recycling=Recycling(memory=80 << 20))
    before = pids(jail)
    jail.call("keep", {"megabytes": 100, "seconds": seconds}, deadline=soon(), write=False)
    until(lambda: is_gone(before[0]))
    assert count(jail) == 1
    assert jail.sample is not None
    assert [event.ending for event in jail.events if event.ending] == ["recycled"]


# -- stopping ----------------------------------------------------------------------------------


@pytest.mark.parametrize("busy", ["idle", "busy", "hung"])
def test_stop_ends_everything_within_a_second(
    yard: Yard, layout: Layout, busy: str, pool: ThreadPoolExecutor
) -> None:
    jail = yard.started(layout)
    before = pids(jail)
    calls = []
    if busy != "idle":
        op, args = ("spin", {}) if busy == "hung" else ("sleep", {"seconds": 30})
        calls.append(pool.submit(jail.call, op, args, deadline=soon(), write=True))
        until(lambda: not jail._turns._is_free)
        calls += [pool.submit(jail.call, "echo", {}, deadline=soon(), write=False) for _ in range(3)]
        until(lambda: len(jail._turns._queue) == 3)
    begun = time.monotonic()
    jail.stop()
    assert time.monotonic() - begun < 1
    assert [pid for pid in before if not is_gone(pid)] == []
    errors = [call.exception(5) for call in calls]
    assert [type(error) for error in errors] == [JailStopped] * len(calls)
    assert [error.sent for error in errors if isinstance(error, JailStopped)] == [True, False, False, False][
        : len(calls)
    ]
    assert not jail._keeper._thread.is_alive()
    jail.stop()


def test_stop_during_a_beginning_ends_it(yard: Yard) -> None:
    for delay in (0.0, 0.02, 0.05, 0.1, 0.2):
        jail = yard.make(yard.spec())
        stopper = threading.Timer(delay, jail.stop)
        stopper.start()
        try:
            jail.start()
        except JailStopped:
            pass
        stopper.join()
        jail.stop()
        assert not jail._keeper._thread.is_alive()
        worker = jail._keeper._worker
        assert worker is None or is_gone(worker.process.pid)


def test_stop_during_a_pause_ends_it(yard: Yard) -> None:
    jail = yard.started(sleep=lambda stopping, _: stopping.wait(30))
    breach(jail)
    begun = time.monotonic()
    jail.stop()
    assert time.monotonic() - begun < 1
    assert not jail._keeper._thread.is_alive()


def test_stopping_at_any_moment_of_a_crowd_leaves_nothing(yard: Yard, pool: ThreadPoolExecutor) -> None:
    """Sixteen callers, workers that crash, and a stop in the middle: no call hangs and nothing is left."""
    jail = yard.started(
        sleep=lambda stopping, _: stopping.is_set(), clock=iter(range(0, 10**9, 10**6)).__next__
    )

    def live(caller: int) -> str:
        for turn in range(10_000):
            crash = (caller + turn) % 40 == 0
            op, args = ("exit", {"status": 1}) if crash else ("echo", {"of": [caller, turn]})
            try:
                answer = jail.call(op, args, deadline=soon(10), write=True)
            except WorkerCrashed:
                continue
            except JailStopped:
                return "stopped"
            if answer != args:
                return "another's answer"
        return "never stopped"

    lives = [pool.submit(live, caller) for caller in range(16)]
    time.sleep(1.5)
    jail.stop()
    assert {life.result(20) for life in lives} == {"stopped"}
    assert [pid for pid in pids(jail) if not is_gone(pid)] == []


def test_observer_that_fails_stops_the_jail_and_leaves_no_worker(
    yard: Yard, caplog: pytest.LogCaptureFixture
) -> None:
    """A mistake of our own closes the jail rather than leaving it unwatched."""

    def observe(event: Event) -> None:
        raise RuntimeError("a mistake")

    with pytest.raises(JailStopped):
        yard.started(observe=observe)
    assert "a mistake" in caplog.text
