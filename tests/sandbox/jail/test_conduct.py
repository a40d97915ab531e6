"""Conduct: breaches of all workers of a workspace counted in a window, and the end of all of them."""

from __future__ import annotations

import threading

import pytest

from sandbox.jail.conduct import BREACH_WINDOW_SECONDS, Conduct
from tests.sandbox.jail.test_history import Clock, clock

__all__ = ["clock"]


@pytest.mark.parametrize(
    ("gap", "quarantined"),
    [(BREACH_WINDOW_SECONDS / 2, True), (BREACH_WINDOW_SECONDS / 2 + 1, False), (float("nan"), True)],
    ids=["within", "beyond", "a clock gone mad"],
)
def test_three_breaches_in_the_window_are_a_quarantine(
    clock: Clock, gap: float, *, quarantined: bool
) -> None:
    conduct = Conduct(clock)
    told, seen = [], []
    for _ in range(3):
        told.append(conduct.breached())
        seen.append(conduct.is_quarantined)
        clock.now += gap
    assert told == seen == [False, False, quarantined]


def test_window_slides(clock: Clock) -> None:
    conduct = Conduct(clock)
    seen = []
    for gap in (0, BREACH_WINDOW_SECONDS, BREACH_WINDOW_SECONDS / 2, BREACH_WINDOW_SECONDS / 2 + 1, 1):
        clock.now += gap
        conduct.breached()
        seen.append(conduct.is_quarantined)
    assert seen == [False, False, False, False, True]


def test_everybody_is_ended_once_and_sees_the_quarantine_by_then(clock: Clock) -> None:
    conduct, ended = Conduct(clock), []

    def first() -> None:
        ended.append(("first", conduct.is_quarantined))

    def second() -> None:
        ended.append(("second", conduct.is_quarantined))

    conduct.join(first)
    conduct.join(second)
    for _ in range(5):
        conduct.breached()
    assert not conduct.quarantine()
    assert ended == [("first", True), ("second", True)]
    conduct.leave(first)
    conduct.leave(first)
    conduct.clear()
    assert conduct.quarantine()
    assert ended[2:] == [("second", True)]


def test_clearing_forgets_the_breaches_of_the_past(clock: Clock) -> None:
    conduct = Conduct(clock)
    for _ in range(3):
        conduct.breached()
    conduct.clear()
    assert not conduct.is_quarantined
    assert [conduct.breached() for _ in range(3)] == [False, False, True]


def test_of_many_at_once_one_is_told_that_it_was_the_one_too_many(clock: Clock) -> None:
    conduct, told, start = Conduct(clock), [], threading.Barrier(8)

    def breach() -> None:
        start.wait(10)
        told.append(conduct.breached())

    threads = [threading.Thread(target=breach) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(told) == [False] * 7 + [True]
