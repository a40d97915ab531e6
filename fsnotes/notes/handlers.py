"""The one entry to this package: a command runs in a workspace, within a scope, and is answered or refused.

What comes out is a reply of `commands.py` or an exception of `fsnotes.errors`, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from fsnotes.notes import creating, editing, finding, reading, scanning, trashing
from fsnotes.notes.atlas import Atlas
from fsnotes.notes.commands import (
    AppendNote,
    Command,
    CreateNote,
    DescribeNotes,
    EditNote,
    FindNotes,
    FindReceipt,
    ListTrash,
    ReadNote,
    Reply,
    ReplyT,
    RestoreNote,
    ScanNotes,
    SetProperties,
    SweepTemporaries,
    TrashNote,
)
from fsnotes.notes.room import Room
from fsnotes.notes.scope import Scope
from fsnotes.notes.translating import translated
from sandbox.locking import never
from sandbox.policy import Quota
from sandbox.root import Root

_USUAL: Final = Quota()
_ARGUMENTS: Final[dict[type[Command[Any]], str]] = {ScanNotes: "folder", RestoreNote: "newPath"}


class Workspace:
    """A folder of notes that is open for work, the room in it and the files in it. Thread-safe, as its root is."""

    __slots__ = ("atlas", "room", "root")

    def __init__(self, root: Root, quota: Quota = _USUAL) -> None:
        self.root: Final = root
        self.room: Final = Room(root, quota)
        self.atlas: Final = Atlas(root)

    def close(self) -> None:
        """Close the root too."""
        self.room.close()
        self.root.close()


def handle(
    workspace: Workspace,
    scope: Scope,
    command: Command[ReplyT],
    *,
    abandoned: Callable[[], bool] = never,
) -> ReplyT:
    """Run *command* in *workspace* and return its reply.

    Paths outside *scope*, hidden or ignored ones are NotAllowed before anything is opened. A change takes the
    workspace's lock; one whose caller has gone by then (*abandoned*) is not begun and raises Abandoned. One that
    raises NotCounted was not begun, and is to be run again: it counts on, and is made once that is done.
    """
    argument = _ARGUMENTS.get(type(command), "path")
    with translated(argument=argument, what="folder" if isinstance(command, ScanNotes) else "note"):
        # SAFETY: each command's class names its reply, and `_run` answers each with the function for it.
        return cast(ReplyT, _run(workspace, scope, command, abandoned))


def _run(workspace: Workspace, scope: Scope, command: Command[Any], abandoned: Callable[[], bool]) -> Reply:
    root, room = workspace.root, workspace.room
    match command:
        case ReadNote():
            return reading.read(root, scope, command)
        case ScanNotes():
            return scanning.scan(root, scope, command)
        case DescribeNotes():
            return finding.describe(root, scope, command)
        case FindNotes():
            return finding.find(root, scope, command)
        case CreateNote():
            return creating.create(root, room, scope, command, abandoned=abandoned)
        case EditNote() | AppendNote() | SetProperties():
            return editing.change(root, room, scope, command, abandoned=abandoned)
        case TrashNote():
            return trashing.trash(root, room, scope, command, abandoned=abandoned)
        case FindReceipt():
            return trashing.find_receipt(root, scope, command)
        case ListTrash():
            return trashing.list_trash(root, scope, command)
        case RestoreNote():
            return trashing.restore(root, room, scope, command, abandoned=abandoned)
        case SweepTemporaries():
            return trashing.sweep(root, command, abandoned=abandoned)
        case _:
            raise TypeError(f"no handler for {type(command).__name__}")
