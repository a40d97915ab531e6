"""Blocking work is done in threads, bounded, and what waits behind work that is stuck gets a thread of its own."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from fsnotes.server import threads
from fsnotes.server.threads import EAGER, NoThread, Threads

LONG = 30.0


class Gate:
    """Work that has begun and cannot end before it is let go."""

    def __init__(self) -> None:
        self.began = threading.Semaphore(0)
        self.opened = threading.Event()
        self.finished = 0

    def __call__(self) -> str:
        self.began.release()
        if not self.opened.wait(LONG):
            raise TimeoutError
        self.finished += 1
        return "let go"


def names(prefix: str) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == prefix]


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.001)


def test_what_work_returns_and_raises_comes_back_to_whoever_asked_for_it() -> None:
    async def go() -> None:
        pool = Threads(8, name="t-outcomes")

        def fail() -> None:
            raise KeyError("mine")

        answers = await asyncio.gather(
            *(pool.run(lambda n=n: n * n) for n in range(200)), pool.run(fail), return_exceptions=True
        )
        assert answers[:-1] == [n * n for n in range(200)]
        assert isinstance(answers[-1], KeyError)
        assert pool.running == 0
        pool.close()

    asyncio.run(go())


def test_short_work_is_done_by_few_threads() -> None:
    async def go() -> int:
        pool = Threads(64, name="t-few")
        used = set()
        for _ in range(20):
            used |= set(await asyncio.gather(*(pool.run(threading.get_ident) for _ in range(16))))
        pool.close()
        return len(used)

    assert asyncio.run(go()) <= 2 * EAGER  # a busy host may hold the two for longer than the patience


def test_work_behind_work_that_is_stuck_is_done_all_the_same() -> None:
    async def go() -> None:
        pool = Threads(8, name="t-stuck")
        gate = Gate()
        stuck = [asyncio.ensure_future(pool.run(gate)) for _ in range(EAGER)]
        assert await asyncio.wait_for(pool.run(lambda: "passed"), LONG) == "passed"
        assert not any(task.done() for task in stuck)
        gate.opened.set()
        assert await asyncio.gather(*stuck) == ["let go"] * EAGER
        pool.close()

    asyncio.run(go())


def test_no_more_threads_work_than_may_and_the_rest_waits_its_turn() -> None:
    async def go() -> None:
        pool = Threads(5, name="t-bounded")
        gate = Gate()
        tasks = [asyncio.ensure_future(pool.run(gate)) for _ in range(7)]
        for _ in range(5):
            assert await asyncio.to_thread(gate.began.acquire, timeout=LONG)
        await asyncio.sleep(20 * threads.PATIENCE)
        assert not gate.began.acquire(blocking=False)
        assert len(names("t-bounded")) == 5
        assert pool.running == 7
        gate.opened.set()
        assert await asyncio.gather(*tasks) == ["let go"] * 7
        pool.close()

    asyncio.run(go())


def test_work_that_nobody_waits_for_any_more_is_finished_and_counted_until_then() -> None:
    async def go() -> None:
        pool = Threads(4, name="t-left")
        gate = Gate()
        task = asyncio.ensure_future(pool.run(gate))
        assert await asyncio.to_thread(gate.began.acquire, timeout=LONG)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert pool.running == 1
        gate.opened.set()
        assert await asyncio.wait_for(pool.run(lambda: "next"), LONG) == "next"
        until(lambda: pool.running == 0)
        assert gate.finished == 1
        pool.close()

    asyncio.run(go())


def test_a_closed_pool_begins_nothing_more_and_its_threads_end() -> None:
    async def go() -> None:
        pool = Threads(2, name="t-closed")
        gate, begun = Gate(), []
        tasks = [asyncio.ensure_future(pool.run(gate)) for _ in range(2)]
        late = asyncio.ensure_future(pool.run(lambda: begun.append(1)))
        for _ in range(2):
            assert await asyncio.to_thread(gate.began.acquire, timeout=LONG)
        pool.close()
        with pytest.raises(RuntimeError):
            await pool.run(lambda: begun.append(2))
        gate.opened.set()
        assert await asyncio.gather(*tasks) == ["let go"] * 2
        await asyncio.to_thread(until, lambda: not names("t-closed"))
        assert begun == []
        late.cancel()

    asyncio.run(go())


def test_work_that_ends_after_its_loop_harms_nobody() -> None:
    gate = Gate()

    async def go() -> Threads:
        pool = Threads(2, name="t-after")
        asyncio.ensure_future(pool.run(gate))  # noqa: RUF006 - left alone on purpose
        assert await asyncio.to_thread(gate.began.acquire, timeout=LONG)
        pool.close()
        return pool

    pool = asyncio.run(go())
    assert pool.running == 1
    gate.opened.set()
    until(lambda: pool.running == 0 and not names("t-after"))


def test_where_no_thread_can_be_started_work_waits_for_one_that_is_there_or_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start, exhausted = threading.Thread.start, threading.Event()

    def start_if_there_is_one(thread: threading.Thread) -> None:
        if exhausted.is_set() and thread.name == "t-poor":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_if_there_is_one)

    async def go() -> None:
        pool = Threads(8, name="t-poor")
        exhausted.set()
        with pytest.raises(NoThread):
            await pool.run(lambda: 1)
        assert pool.running == 0
        exhausted.clear()
        gate = Gate()
        stuck = asyncio.ensure_future(pool.run(gate))
        assert await asyncio.to_thread(gate.began.acquire, timeout=LONG)
        exhausted.set()
        waiting = [asyncio.ensure_future(pool.run(lambda n=n: n)) for n in range(5)]
        await asyncio.sleep(10 * threads.PATIENCE)
        assert not any(task.done() for task in waiting)
        exhausted.clear()  # and soon a thread comes for them, though the first is stuck
        assert await asyncio.wait_for(asyncio.gather(*waiting), LONG) == [0, 1, 2, 3, 4]
        assert pool.running == 1
        gate.opened.set()
        assert await stuck == "let go"
        pool.close()

    asyncio.run(go())


def test_threads_with_nothing_to_do_end_and_new_ones_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "IDLE_SECONDS", 0.002)

    async def go() -> None:
        pool = Threads(8, name="t-idle")
        seen: list[Any] = []
        for pause in range(200):
            # Around the instant at which they end: an outcome that got lost would be waited for.
            seen += await asyncio.wait_for(asyncio.gather(*(pool.run(lambda: 1) for _ in range(3))), LONG)
            await asyncio.sleep(pause % 5 * 0.001)
        assert len(seen) == 600
        await asyncio.to_thread(until, lambda: not names("t-idle"))
        assert await asyncio.wait_for(pool.run(lambda: "again"), LONG) == "again"
        pool.close()

    asyncio.run(go())


def test_a_thread_that_is_kept_does_what_no_other_can_be_had_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "IDLE_SECONDS", 0.002)
    start, exhausted = threading.Thread.start, threading.Event()

    def start_if_there_is_one(thread: threading.Thread) -> None:
        if exhausted.is_set() and thread.name == "t-kept":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_if_there_is_one)

    async def go() -> None:
        pool = Threads(8, name="t-kept", kept=1)
        exhausted.set()
        pool.prepare()
        with pytest.raises(NoThread):
            await pool.run(lambda: 1)
        exhausted.clear()
        pool.prepare()
        pool.prepare()
        assert len(names("t-kept")) == 1
        exhausted.set()
        await asyncio.sleep(0.05)
        assert await asyncio.wait_for(asyncio.gather(*(pool.run(lambda n=n: n) for n in range(3))), LONG) == [
            0,
            1,
            2,
        ]
        exhausted.clear()
        await asyncio.gather(*(pool.run(lambda: time.sleep(0.02)) for _ in range(4)))
        await asyncio.to_thread(until, lambda: len(names("t-kept")) == 1)
        await asyncio.sleep(0.05)
        assert len(names("t-kept")) == 1
        pool.close()

    asyncio.run(go())
    until(lambda: not names("t-kept"))
