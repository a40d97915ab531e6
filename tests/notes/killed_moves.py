"""Moves that kill themselves right after one step, each in a child of a process that has loaded everything.

`killing.py` starts that process and tells it what to do.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from enum import StrEnum
from typing import Any, cast

from fsnotes.notes.commands import AppendNote, Command
from fsnotes.notes.counting import until_counted
from fsnotes.notes.handlers import handle
from fsnotes.notes.scope import Scope
from fsnotes.notes.workspace import Workspace
from sandbox.names import ROOT
from sandbox.resolve import ResolverChoice
from sandbox.root import Root
from tests.notes.journal_steps import tell_of_journals
from tests.notes.movers import move

MOVES = {"note": ("sub/a", "other/b"), "folder": ("sub", "other/new"), "respelled": ("sub/a", "sub/A")}


def runner(workspace: Workspace) -> Callable[[Command[Any]], Any]:
    """Return what runs commands in *workspace*."""
    return lambda command: until_counted(
        lambda: handle(workspace, Scope((ROOT,)), command), abandoned=lambda: False
    )


def act(run: Callable[[Command[Any]], Any], what: str) -> None:
    """Make a move, one of MOVES or `FROM -> TO`, or the next change after one."""
    if " -> " in what:
        move(run, *what.split(" -> "))
    elif what in MOVES:
        move(run, *MOVES[what])
    else:
        run(AppendNote("log.md", "next"))


def main() -> None:
    """Read WHAT, FOLDER, PART, RESOLVER, STEP and TIME, a line of JSON for each move; write how each process ended."""
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _be_killed(*json.loads(line))
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _be_killed(what: str, folder: str, part: str, resolver: str, deadly: str, time: str) -> None:
    left = int(time)

    def observe(step: StrEnum | str) -> None:
        nonlocal left
        if str(step) == deadly:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    tell_of_journals(observe)
    root = Root.open(folder, resolver=cast(ResolverChoice, resolver), observe=observe)
    act(runner(Workspace(root, part=part)), what)


if __name__ == "__main__":
    main()
