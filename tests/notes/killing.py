"""Lets a process be killed in a step of a move, again and again, by forking from one that has loaded everything."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.disk import Tree
from tests.mounts import REPOSITORY

Killer = Callable[[Tree, str, str, str, int], int]
"""In a tree, with a folder for the journal: do what `killed_moves.act` knows, and be killed in a step at its n-th time.

Returns how the process ended."""


@contextmanager
def killing() -> Iterator[Killer]:
    """Start the process that forks; each of its children does one thing."""
    command = [sys.executable, "-m", "tests.notes.killed_moves"]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def kill(disk: Tree, part: str, what: str, step: str, times: int) -> int:
            assert process.stdin is not None
            assert process.stdout is not None
            given = [what, disk.path("root"), part, disk.resolver, str(step), str(times)]
            process.stdin.write(json.dumps(given) + "\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        yield kill
