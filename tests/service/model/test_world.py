"""The whole service against a model: two principals, two servers, an outsider, kills and restarts, in any order.

The machine runs on both resolvers, and with workers of both layouts. By default the two servers are products in this
process, whose changes are made and killed in processes of their own or in workers; the slow ones, and those of the long
profile, are processes that serve over HTTP.
"""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.examples import examples
from tests.service.model.acting import Acting
from tests.service.model.machine import WorldMachine
from tests.service.model.servers import Kind

CHECKS = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
KINDS: tuple[Kind, ...] = ("openat2", "walk", "full", "contained")
FEW = {"openat2": (4, 25), "walk": (4, 25), "full": (2, 10), "contained": (2, 10)}
"""How many courses of how many steps: workers take longer to start than everything else takes."""


def machine(of: Kind, *, is_apart: bool) -> type[WorldMachine]:
    """Return the machine of a kind."""

    class Made(WorldMachine):
        kind = of
        apart = is_apart

    Made.__name__ = Made.__qualname__ = f"World_{of}_{'apart' if is_apart else 'within'}"
    return Made


def run(of: Kind, *, is_apart: bool, count: int, steps: int) -> None:
    how = settings(
        max_examples=count,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=CHECKS,
        print_blob=True,
        # What explains a failure traces every line of all runs, and to find the least one takes minutes.
        phases=[Phase.reuse, Phase.generate, *([Phase.shrink] if examples(0, long=1) else [])],
    )
    Acting.seen.clear()
    begun = time.monotonic()
    try:
        run_state_machine_as_test(machine(of, is_apart=is_apart), settings=how)
    finally:
        place = "apart" if is_apart else "within"
        print(f"{of}, {place}, {time.monotonic() - begun:.0f} s: {json.dumps(Acting.seen, sort_keys=True)}")
    assert Acting.seen["answers"] > 0


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS)
def test_two_products_and_an_outsider_leave_nothing_unexplained(kind: Kind) -> None:
    count, steps = FEW[kind]
    run(kind, is_apart=False, count=examples(count, long=30), steps=examples(steps, long=25))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS if examples(0, long=1) else ("walk", "full"))
def test_two_servers_and_an_outsider_leave_nothing_unexplained(kind: Kind) -> None:
    run(kind, is_apart=True, count=examples(2, long=20), steps=examples(10, long=25))
