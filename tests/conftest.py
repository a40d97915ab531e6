"""What holds for all tests: how many examples properties are given, which combinations there are, what an interrupt
is, and what the collector of garbage leaves alone.
"""

from __future__ import annotations

import gc
import signal

import pytest
from hypothesis import HealthCheck, settings

from tests.examples import LONG, USUAL

# How long an example takes depends on who else uses the machine, so it fails nothing.
for name in (USUAL, LONG):
    settings.register_profile(
        name, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
    )
settings.load_profile(USUAL)

# What is started in the background may ignore both, and so would all that is started here and is to end by them.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

FIRST = {"openat2": 0, "walk": 1, "jailed": 0, "jailed-contained": 1, "contained": 1}
"""The kinds of a vault or a household: which is the first, inline and in a jail, and which the second."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out every second kind where a test says that they take turns: see `turns` in pyproject.toml."""
    left_out = [item for item in items if not _has_its_turn(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if _has_its_turn(item)]


def _has_its_turn(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("turns")
    if mark is None:
        return True
    assert isinstance(item, pytest.Function)
    given = item.callspec.params
    kind = FIRST[given["vault"] if "vault" in given else given["household"]]
    return (kind + sum(_number(item, name) for name in mark.args)) % 2 == 0


def _number(item: pytest.Function, parameter: str) -> int:
    """Return which of the values of *parameter* that a test is parametrized with it has."""
    for mark in item.iter_markers("parametrize"):
        names, values = mark.args
        if isinstance(names, str):
            names, values = [names], [[value] for value in values]
        if parameter in names:
            column = names.index(parameter)
            return [value[column] for value in values].index(item.callspec.params[parameter])
    raise ValueError(parameter)


def pytest_collection_finish() -> None:
    """Take the tests themselves, of which there are some millions of objects, for what they are: there to the end."""
    gc.freeze()
