"""A supervisor that dies leaves no worker behind, whatever the worker is doing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mounts import REPOSITORY
from tests.sandbox.jail.conftest import Layout, is_gone, until


def start(folder: Path, level: str, state: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.sandbox.jail.orphans", str(folder), level, state],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
    )


@pytest.mark.parametrize("state", ["idle", "busy", "hung"])
def test_killed_parent_leaves_no_orphan(tmp_path: Path, locked: Layout, state: str) -> None:
    with start(tmp_path, locked, state) as parent:
        assert parent.stdout is not None
        workers = json.loads(parent.stdout.readline())
        assert len(workers) == (2 if locked == "full" else 1)
        assert [pid for pid in workers if is_gone(pid)] == []
        parent.kill()
    until(lambda: all(is_gone(pid) for pid in workers), seconds=5)


def test_parent_that_ends_without_stopping_leaves_no_orphan(tmp_path: Path, locked: Layout) -> None:
    with start(tmp_path, locked, "ends") as parent:
        assert parent.stdout is not None
        workers = json.loads(parent.stdout.readline())
        assert parent.wait(20) == 0
    until(lambda: all(is_gone(pid) for pid in workers), seconds=5)
