"""History: pauses that grow while failures follow each other."""

from __future__ import annotations

import pytest

from sandbox.jail.history import SETTLED_SECONDS, History


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
    assert [history.failed() for _ in range(6)] == [0.1, 0.5, 2.0, 10.0, 10.0, 10.0]


@pytest.mark.parametrize(
    ("lived", "pause"), [(SETTLED_SECONDS, 0.1), (SETTLED_SECONDS - 1, 2.0)], ids=["settled", "too short"]
)
def test_worker_that_lived_long_has_not_failed_in_a_row(clock: Clock, lived: float, pause: float) -> None:
    history = History(clock)
    for _ in range(2):
        history.failed()
    history.started()
    clock.now += lived
    assert history.failed() == pause


def test_clearing_forgets_everything(clock: Clock) -> None:
    history = History(clock)
    for _ in range(3):
        history.failed()
    history.clear()
    assert history.failed() == 0.1
