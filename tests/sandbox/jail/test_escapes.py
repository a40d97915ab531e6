"""The ways out: each works without the jail, and none of them within it but those that a level leaves to a kind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

from sandbox.jail.report import (
    CHANGE_INDEX,
    CHANGE_NOTES,
    FALSIFY_INDEX,
    FILL_DISK,
    HOLD_INDEX,
    HOLD_LOCK,
    KINDS,
    OPEN_OUTSIDE,
    SEE_OUTSIDE,
    Level,
    WorkerKind,
)
from tests.require import require
from tests.sandbox.jail.attempts import HOST
from tests.sandbox.jail.descriptors import ATTEMPTS, BY_KIND, BY_OPENAT2, WAYS
from tests.sandbox.jail.launching import Identity, Outcome, launch, need_level

pytestmark = pytest.mark.timeout(600)  # the first test waits for all attempts, on machines of any speed


class Run(NamedTuple):
    """Whose worker it is, and how it is jailed; level None is no jail."""

    identity: Identity
    level: Level | None
    kind: WorkerKind = "rw"
    follows_links: bool = False

    @property
    def attempts(self) -> tuple[str, ...]:
        """All, or those that its kind can make a difference to."""
        plain = self.kind == "rw" and not self.follows_links
        return tuple(name for name in ATTEMPTS if plain or name in BY_KIND)


LEVELS = (Level.CONTAINED, Level.FULL)
USERS: tuple[Identity, ...] = ("root", "user")
RUNS = (
    *(Run(identity, None) for identity in USERS),
    *(Run(identity, level, kind) for identity in USERS for level in LEVELS for kind in KINDS),
    Run("root for a user", Level.FULL),
    *(Run(identity, Level.CONTAINED, kind, follows_links=True) for identity in USERS for kind in KINDS),
    *(Run(identity, Level.FULL, "rw", follows_links=True) for identity in USERS),
)

READING = frozenset({"hold_the_index"})
KEEPING = READING | {"falsify_the_index", "fill_the_disk_beside_the_index"}
CHANGING = KEEPING | {
    "fill_disk",
    "change_a_hidden_file",
    "plant_a_hook",
    "remove_a_hidden_file",
    "lock_the_workspace",
    "lock_the_workspace_shared",
}
MARKING = frozenset(
    {
        *(f"{deed}_inside" for deed in ("chmod", "chown", "setxattr", "removexattr", "getxattr")),
        *(f"{deed}_the_{what}" for deed in ("chmod", "setxattr") for what in ("workspace", "index")),
    }
)
PROMOTING = frozenset(name for name in MARKING if name.startswith("setxattr"))
MAKING = frozenset({"set_id_by_openat2"})  # an empty file, which loses the bit when it is written
SEEING = frozenset(
    {
        "stat_outside",
        "access_outside",
        "look_by_path_descriptor",
        "tell_existence_by_the_error",
        "statfs_outside_by_descriptor",
    }
)
OPENING = frozenset(
    f"{what}_by_openat2"
    for what in ("open_outside", "see_locks_outside", "open_a_device", "nameless_file_outside")
)


def left(run: Run) -> frozenset[str]:
    """Return the attempts that the jail of *run* leaves to its kind."""
    found = {"ro": READING, "index": KEEPING, "rw": CHANGING}[run.kind]
    if run.level is Level.CONTAINED:
        found |= SEEING
    if run.follows_links:
        if run.kind == "rw":
            found |= MAKING
        if run.level is Level.CONTAINED:
            return found | OPENING
        return found | (MARKING - PROMOTING)
    return found | MARKING if run.kind == "rw" else found


SENTENCES = {
    HOLD_INDEX: READING,
    CHANGE_INDEX: KEEPING | {"chmod_the_index", "setxattr_the_index"},
    FALSIFY_INDEX: KEEPING | {"chmod_the_index", "setxattr_the_index"},
    FILL_DISK: frozenset({"fill_disk", "fill_the_disk_beside_the_index"}),
    CHANGE_NOTES: MARKING | MAKING | {"change_a_hidden_file", "plant_a_hook", "remove_a_hidden_file"},
    HOLD_LOCK: frozenset({"lock_the_workspace", "lock_the_workspace_shared"}),
    SEE_OUTSIDE: SEEING,
    OPEN_OUTSIDE: OPENING,
}
"""What each sentence of a report is about."""

REFUSALS = ("PermissionError", "FileNotFoundError", "OSError", "MemoryError", "ModuleNotFoundError")
OTHER_REFUSALS = {
    "start_a_thread": "RuntimeError: can't start new thread",
    "raise_a_limit": "ValueError: not allowed to raise maximum limit",
}
FEATURES = {
    "leave_a_device": "renames that leave whiteouts",
    **{f"set_group_id_program_by_{way}": "ACLs" for way in WAYS},
}
"""What some file systems do not have."""

Runs = dict[Run, dict[str, Outcome]]


@pytest.fixture(scope="module")
def runs() -> Runs:
    """The attempts for every account, level and kind that can be had, made once; launchers run beside each other."""
    need_level("user", Level.CONTAINED)
    wanted = [run for run in RUNS if run.identity == "user" or os.geteuid() == 0]
    # Most of the time they wait for the kernel to take namespaces down, so more of them than there are processors.
    with ThreadPoolExecutor(max_workers=3 * (os.cpu_count() or 1)) as pool:
        found = pool.map(
            lambda run: launch(
                run.attempts,
                identity=run.identity,
                level=run.level,
                kind=run.kind,
                follows_links=run.follows_links,
            ),
            wanted,
        )
        return dict(zip(wanted, found, strict=True))


def within(runs: Runs, level: Level) -> Iterator[tuple[Run, dict[str, Outcome]]]:
    """The runs in a jail of *level*."""
    need_level("user", level)
    for run, outcomes in runs.items():
        if run.level is level:
            yield run, outcomes


def refused_by_the_host(name: str, identity: Identity) -> bool:
    """Whether the host refuses the attempt even without a jail."""
    return name in HOST and (HOST[name][0] == "all" or identity == "user")


def test_there_are_enough_attempts() -> None:
    assert len(ATTEMPTS) >= 60
    assert ATTEMPTS.keys() >= HOST.keys() | FEATURES.keys()
    assert ATTEMPTS.keys() >= frozenset().union(*(left(run) for run in RUNS))
    assert OPENING < BY_OPENAT2 < BY_KIND < ATTEMPTS.keys()


@pytest.mark.parametrize("name", ATTEMPTS)
def test_every_attempt_works_without_the_jail(name: str, runs: Runs) -> None:
    for run, outcomes in runs.items():
        if run.level is None and not refused_by_the_host(name, run.identity):
            if name in FEATURES:
                require(FEATURES[name], available=outcomes[name].worked, why=outcomes[name].said)
            assert outcomes[name].worked, (run, outcomes[name].said)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ATTEMPTS)
def test_no_attempt_works_within_the_jail(name: str, level: Level, runs: Runs) -> None:
    for run, outcomes in within(runs, level):
        if name in outcomes:
            _judge(name, run, outcomes[name])


def _judge(name: str, run: Run, outcome: Outcome) -> None:
    if name in left(run):
        assert outcome.worked, (run, outcome.said)
        return
    assert not outcome.worked, (run, outcome.said)
    if refused_by_the_host(name, run.identity):
        assert outcome.killed, (run, outcome.said)
    if not outcome.killed:
        assert outcome.status == 0, (run, outcome.said)
        refusal = outcome.error or ""
        assert refusal.startswith((*REFUSALS, OTHER_REFUSALS.get(name, REFUSALS[0]))), (run, outcome.said)


def test_the_jail_of_these_attempts_stood(runs: Runs) -> None:
    for level in LEVELS:
        for _, outcomes in within(runs, level):
            reports = [outcome.report for outcome in outcomes.values() if outcome.report is not None]
            assert len(reports) > len(outcomes) / 2  # those that were killed could not tell
            assert {(report.level, report.failed) for report in reports} == {(level, False)}


@pytest.mark.parametrize("level", LEVELS)
def test_what_a_level_leaves_is_what_its_report_says(level: Level, runs: Runs) -> None:
    """The sentences that people read are the matrix in words."""
    for run, outcomes in within(runs, level):
        report = outcomes["fill_disk"].report
        assert report is not None
        worked = {name for name, outcome in outcomes.items() if outcome.worked}
        assert worked <= frozenset().union(*(SENTENCES[sentence] for sentence in report.leaves)), run
        assert [sentence for sentence in report.leaves if not SENTENCES[sentence] & worked] == [], run
