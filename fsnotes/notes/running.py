"""How a command is run to its end where nobody stands between: what has to be counted first, and stretch after stretch.

For programs that use this package as a library. Who serves callers bounds and interrupts all that (`runners.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from fsnotes.errors import Abandoned, NotCounted
from fsnotes.notes.commands import Command, ReplyT
from fsnotes.notes.handlers import handle
from fsnotes.notes.scope import EVERYWHERE, Scope
from fsnotes.notes.workspace import Workspace
from sandbox.locking import never
from sandbox.records import replace

MAX_COUNTING: Final = 5_000
"""Calls in which a command may do what has to be done first; the next one goes on with it."""


def until_counted(
    work: Callable[[], ReplyT], *, abandoned: Callable[[], bool] = never, is_late: Callable[[], bool] = never
) -> ReplyT:
    """Do *work*, again and again while it only does what has to be done first, a short while each time.

    Raises NotCounted once *is_late*: what has been done by then is not lost to the next call.
    """
    for _ in range(MAX_COUNTING):
        try:
            return work()
        except NotCounted:
            if abandoned():
                raise Abandoned from None
            if is_late():
                raise
    raise NotCounted


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
