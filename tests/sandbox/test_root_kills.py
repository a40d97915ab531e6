"""SIGKILL after every step of every change: one state or the other, nothing torn, and the sweep tidies."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from sandbox.errors import Exists, Missing
from sandbox.names import RelPath
from sandbox.steps import Step
from tests.disk import Tree
from tests.mounts import REPOSITORY
from tests.sandbox.killed import ENTRY, MOVED, NEW, OLD, PATH, STAGED, change

CHANGES = ("create", "replace", "move", "trash", "restore")
WRITING = {Step.REPLACE_TEMPORARY, Step.REPLACE_WRITTEN, Step.REPLACE_LIKENED}
"""Steps at which the first of several texts is being written."""
TRASHED = f"root/.trash/{ENTRY}/{PATH}"


def start(disk: Tree, what: str, deadly: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.sandbox.killed", what, disk.path("root"), disk.resolver, deadly],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
    )


def run(disk: Tree, what: str, deadly: str) -> int:
    with start(disk, what, deadly) as child:
        return child.wait(timeout=60)


def build(disk: Tree, what: str) -> None:
    disk.build("root/")
    if what in ("replace", "move", "trash"):
        disk.build(f"root/{PATH}: {OLD.decode()}")
    if what == "restore":
        disk.build(f"{TRASHED}: {OLD.decode()}")


def texts(disk: Tree) -> dict[str, bytes]:
    """Every file beneath the root, without our temporaries."""
    return {
        path: text
        for path, text in disk.snapshot("root").items()
        if isinstance(text, bytes) and not os.path.basename(path).startswith(".~fsn-")
    }


def temporaries(disk: Tree) -> list[str]:
    return [path for path in disk.snapshot("root") if os.path.basename(path).startswith(".~fsn-")]


def _change_of(step: Step) -> str:
    return step.value.partition(":")[0]


def test_every_step_belongs_to_a_change_that_is_killed_here() -> None:
    assert {_change_of(step) for step in Step} == {*CHANGES, "stage"}


@pytest.mark.parametrize("step", [step for step in Step if _change_of(step) != "stage"])
def test_kill_after_a_step_leaves_one_whole_state(disk: Tree, step: Step) -> None:
    what = _change_of(step)
    build(disk, what)
    before = texts(disk)
    done = {
        "create": {str(PATH): NEW},
        "replace": {str(PATH): NEW},
        "move": {str(MOVED): OLD},
        "trash": {TRASHED.removeprefix("root/"): OLD},
        "restore": {str(PATH): OLD},
    }[what]
    finished = {
        Step.CREATE_NAMED,
        Step.CREATE_DURABLE,
        Step.REPLACE_EXCHANGED,
        Step.REPLACE_VERIFIED,
        Step.REPLACE_TIDIED,
        Step.REPLACE_DURABLE,
        Step.MOVE_MOVED,
        Step.MOVE_VERIFIED,
        Step.MOVE_DURABLE,
        Step.TRASH_MOVED,
        Step.TRASH_VERIFIED,
        Step.TRASH_DURABLE,
        Step.RESTORE_MOVED,
        Step.RESTORE_VERIFIED,
        Step.RESTORE_DURABLE,
        Step.RESTORE_TIDIED,
    }
    assert run(disk, what, step.value) == -signal.SIGKILL
    assert texts(disk) == (done if step in finished else before)

    with disk.open_root() as root, root.lock(timeout=5):
        if what == "trash":
            assert root.receipt(PATH, entry=ENTRY) == (OLD if step in finished else None)
        left = temporaries(disk)
        report = root.sweep(now=time.time() + 61)
        assert report.moved == len(left) <= 1
    swept = [path for path in temporaries(disk) if not path.startswith(".trash/swept-")]
    assert swept == []

    # The same change again ends where it should have ended, or says that there is nothing left to do.
    with disk.open_root() as root:
        if step in finished and what != "replace":
            with pytest.raises((Exists, Missing)):
                change(root, what)
        else:
            change(root, what)
    kept = {path: text for path, text in texts(disk).items() if "/swept-" not in path}
    assert kept == done


STAGE_STEPS = [
    step
    for step in Step
    if _change_of(step) in ("stage", "replace") and step not in (Step.REPLACE_SYNCED, Step.REPLACE_DURABLE)
]


@pytest.mark.parametrize("step", STAGE_STEPS)
def test_kill_while_texts_are_staged_and_put_leaves_each_file_whole(disk: Tree, step: Step) -> None:
    disk.build(*(f"root/{path}: {OLD.decode()}" for path in STAGED))
    assert run(disk, "stage", step.value) == -signal.SIGKILL
    after = texts(disk)
    assert after.keys() == {str(path) for path in STAGED}
    put = [text for text in after.values() if text == NEW]
    assert set(after.values()) <= {OLD, NEW}
    # Nothing is put before all is written; then one after the other.
    assert bool(put) == (step in {Step.STAGE_PUT, Step.STAGE_DURABLE, Step.REPLACE_EXCHANGED,
                                  Step.REPLACE_VERIFIED, Step.REPLACE_TIDIED})  # fmt: skip
    with disk.open_root() as root, root.lock(timeout=5):
        assert root.sweep(now=time.time() + 61).moved == len(STAGED) - len(put) + (
            step in {Step.REPLACE_EXCHANGED, Step.REPLACE_VERIFIED}
        ) - (len(STAGED) - 1 if step in WRITING else 0)
        assert [path for path in temporaries(disk) if not path.startswith(".trash/")] == []
        for path in STAGED:
            assert root.read(path).data in (OLD, NEW)


def test_kills_at_random_instants_tear_nothing(disk: Tree) -> None:
    """Whatever instant: each file is one whole text, and there are no more temporaries than kills."""
    chance = random.Random(20260728)  # noqa: S311 - instants, not secrets
    disk.build(f"root/{PATH}: " + "00000000\n" * 2_000)
    kills = 15
    for _ in range(kills):
        with start(disk, "write for ever", "") as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0.001, 0.05))
            child.kill()
    for path, text in texts(disk).items():
        lines = text.splitlines()
        assert (len(lines), len(set(lines))) == (2_000, 1), path
    left = temporaries(disk)
    assert len(left) <= kills
    with disk.open_root() as root, root.lock(timeout=5):
        assert root.sweep(now=time.time() + 61).moved == len(left)
        root.create(RelPath.parse("after.md"), b"works")
    assert disk.read("root/after.md") == b"works"
