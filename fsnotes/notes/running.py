"""How a command is run to its end where nobody stands between: what has to be counted first, and stretch after stretch.

For programs that use this package as a library. Who serves callers bounds and interrupts all that (`runners.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fsnotes.notes.commands import Command, ReplyT
from fsnotes.notes.counting import until_counted
from fsnotes.notes.handlers import handle
from fsnotes.notes.scope import EVERYWHERE, Scope
from fsnotes.notes.workspace import Workspace
from sandbox.records import replace


def run(workspace: Workspace, command: Command[ReplyT], *, scope: Scope = EVERYWHERE) -> ReplyT:
    """Run *command* in *workspace*, within *scope*, and return its reply: one stretch, where it goes in stretches.

    Raises the exceptions of `fsnotes.errors`, and no others.
    """
    return until_counted(lambda: handle(workspace, scope, command))


def run_through(
    workspace: Workspace, command: Command[ReplyT], *, scope: Scope = EVERYWHERE
) -> Iterator[ReplyT]:
    """Yield the replies to a *command* that goes in stretches, to the last one.

    Such a command has a field `after`, and its reply a `resume`. A stretch takes some 50 ms, and may be empty. Raises
    TypeError for any other command, and what `run` raises.
    """
    # Which fields there are beside these two is seen here, and not by the type of a command.
    going: Any = command
    if not hasattr(going, "after"):
        raise TypeError(f"{type(command).__name__} is answered at once")
    while True:
        reply: Any = run(workspace, going, scope=scope)
        yield reply
        if reply.resume is None:
            return
        more: dict[str, Any] = {"after": reply.resume}
        if hasattr(going, "within"):
            more["within"] = reply.within
        if hasattr(going, "anew"):
            more["anew"] = False
        going = replace(going, **more)
