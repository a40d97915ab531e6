"""History: pauses that grow while failures follow each other, and breaches counted in a window."""

from __future__ import annotations

import pytest

from sandbox.jail.history import BREACH_WINDOW_SECONDS, SETTLED_SECONDS, History


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A clock."""
    return Clock()


def test_pauses_grow_and_stay_at_the_longest(clock: Clock) -> None:
    history = History(clock)
    assert [history.failed(breach=False) for _ in range(6)] == [0.1, 0.5, 2.0, 10.0, 10.0, 10.0]


@pytest.mark.parametrize(
    ("lived", "pause"), [(SETTLED_SECONDS, 0.1), (SETTLED_SECONDS - 1, 2.0)], ids=["settled", "too short"]
)
def test_worker_that_lived_long_has_not_failed_in_a_row(clock: Clock, lived: float, pause: float) -> None:
    history = History(clock)
    for _ in range(2):
        history.failed(breach=False)
    history.started()
    clock.now += lived
    assert history.failed(breach=False) == pause


@pytest.mark.parametrize(
    ("gap", "quarantined"),
    [(BREACH_WINDOW_SECONDS / 2, True), (BREACH_WINDOW_SECONDS / 2 + 1, False), (float("nan"), True)],
    ids=["within", "beyond", "a clock gone mad"],
)
def test_three_breaches_in_the_window_are_a_quarantine(
    clock: Clock, gap: float, *, quarantined: bool
) -> None:
    history = History(clock)
    seen = []
    for _ in range(3):
        history.failed(breach=True)
        seen.append(history.is_quarantined)
        clock.now += gap
    assert seen == [False, False, quarantined]


def test_other_failures_are_no_breaches(clock: Clock) -> None:
    history = History(clock)
    for _ in range(10):
        history.failed(breach=False)
    assert not history.is_quarantined


def test_window_slides(clock: Clock) -> None:
    history = History(clock)
    seen = []
    for gap in (0, BREACH_WINDOW_SECONDS, BREACH_WINDOW_SECONDS / 2, BREACH_WINDOW_SECONDS / 2 + 1, 1):
        clock.now += gap
        history.failed(breach=True)
        seen.append(history.is_quarantined)
    assert seen == [False, False, False, False, True]


def test_clearing_forgets_everything(clock: Clock) -> None:
    history = History(clock)
    for _ in range(3):
        history.failed(breach=True)
    history.clear()
    assert not history.is_quarantined
    assert history.failed(breach=True) == 0.1
