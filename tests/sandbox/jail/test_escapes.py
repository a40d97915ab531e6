"""The ways out: each works without the jail, and none of them within it but those that a level leaves."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from sandbox.jail.report import Level
from tests.sandbox.jail.attempts import ATTEMPTS, HOST, LEFT_IN_CONTAINED, LEFT_IN_FULL
from tests.sandbox.jail.launching import Identity, Outcome, launch, need_level

pytestmark = pytest.mark.timeout(300)  # the first test waits for all attempts, on machines of any speed

LEFT = {Level.FULL: LEFT_IN_FULL, Level.CONTAINED: LEFT_IN_CONTAINED}
LEVELS = tuple(LEFT)

REFUSALS = ("PermissionError", "FileNotFoundError", "OSError", "MemoryError", "ModuleNotFoundError")
OTHER_REFUSALS = {
    "start_a_thread": "RuntimeError: can't start new thread",
    "raise_a_limit": "ValueError: not allowed to raise maximum limit",
}

Runs = dict[tuple[Identity, Level | None], dict[str, Outcome]]
WANTED: tuple[tuple[Identity, Level | None], ...] = (
    ("root", None),
    ("user", None),
    ("root", Level.CONTAINED),
    ("user", Level.CONTAINED),
    ("root", Level.FULL),
    ("user", Level.FULL),
    ("root for a user", Level.FULL),
)


@pytest.fixture(scope="module")
def runs() -> Runs:
    """All attempts for every account and level that can be had, run once; launchers run beside each other."""
    need_level("user", Level.CONTAINED)
    wanted = [(identity, level) for identity, level in WANTED if identity == "user" or os.geteuid() == 0]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        found = pool.map(lambda each: launch(tuple(ATTEMPTS), identity=each[0], level=each[1]), wanted)
        return dict(zip(wanted, found, strict=True))


def refused_by_the_host(name: str, identity: Identity) -> bool:
    """Whether the host refuses the attempt even without a jail."""
    return name in HOST and (HOST[name][0] == "all" or identity == "user")


def test_there_are_enough_attempts() -> None:
    assert len(ATTEMPTS) >= 60
    assert ATTEMPTS.keys() >= LEFT_IN_CONTAINED | HOST.keys()


@pytest.mark.parametrize("name", ATTEMPTS)
def test_every_attempt_works_without_the_jail(name: str, runs: Runs) -> None:
    for (identity, level), run in runs.items():
        if level is None and not refused_by_the_host(name, identity):
            assert run[name].worked, (identity, run[name].said)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ATTEMPTS)
def test_no_attempt_works_within_the_jail(name: str, level: Level, runs: Runs) -> None:
    need_level("user", level)
    for (identity, stood), run in runs.items():
        if stood is level:
            _judge(name, level, identity, run[name])


def _judge(name: str, level: Level, identity: Identity, outcome: Outcome) -> None:
    if name in LEFT[level]:
        assert outcome.worked, (identity, outcome.said)
        return
    assert not outcome.worked, (identity, outcome.said)
    if refused_by_the_host(name, identity):
        assert outcome.killed, (identity, outcome.said)
    if not outcome.killed:
        assert outcome.status == 0, (identity, outcome.said)
        refusal = outcome.error or ""
        assert refusal.startswith((*REFUSALS, OTHER_REFUSALS.get(name, REFUSALS[0]))), (
            identity,
            outcome.said,
        )


def test_the_jail_of_these_attempts_stood(runs: Runs) -> None:
    for (_, level), run in runs.items():
        if level is not None:
            reports = [outcome.report for outcome in run.values() if outcome.report is not None]
            assert len(reports) > len(ATTEMPTS) / 2  # those that were killed could not tell
            need_level("user", level)
            assert {(report.level, report.failed) for report in reports} == {(level, False)}


def test_what_a_level_leaves_is_what_its_report_says(runs: Runs) -> None:
    """The sentences that people read are the matrix in words."""
    words = {
        "the disk can be filled with small files": LEFT_IN_FULL,
        "the existence and size of files outside can be seen": LEFT_IN_CONTAINED - LEFT_IN_FULL,
    }
    for (_, level), run in runs.items():
        if level is not None:
            need_level("user", level)
            report = run["fill_disk"].report
            assert report is not None
            left = {name for name, outcome in run.items() if outcome.worked}
            assert frozenset().union(*(words[sentence] for sentence in report.leaves)) == left
