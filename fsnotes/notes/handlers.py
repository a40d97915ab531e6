"""The one entry to this package: a command runs in a workspace, within a scope, and is answered or refused.

What comes out is a reply of `commands.py` or an exception of `fsnotes.errors`, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from fsnotes.notes import (
    creating,
    editing,
    finding,
    linking,
    moving,
    reading,
    scanning,
    searching,
    surveying,
    tagging,
    targets,
    trashing,
)
from fsnotes.notes.commands import (
    AppendNote,
    Command,
    CountTags,
    CreateNote,
    DescribeNotes,
    EditNote,
    FindLinks,
    FindNotes,
    FindReceipt,
    FindTargets,
    ListTrash,
    MoveNotes,
    ReadNote,
    Reply,
    ReplyT,
    RestoreNote,
    ScanNotes,
    SearchNotes,
    SetProperties,
    SurveyMove,
    SweepTemporaries,
    TrashNote,
)
from fsnotes.notes.index_commands import MatchPaths, SearchIndex, SearchPaths
from fsnotes.notes.scope import Scope
from fsnotes.notes.translating import translated
from fsnotes.notes.workspace import Workspace
from sandbox.locking import never

_ARGUMENTS: Final[dict[type[Command[Any]], str]] = {
    ScanNotes: "folder",
    SearchNotes: "folder",
    SearchIndex: "folder",
    SearchPaths: "folder",
    RestoreNote: "newPath",
}


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
    with translated(argument=argument, what="folder" if argument == "folder" else "note"):
        # SAFETY: each command's class names its reply, and `_run` answers each with the function for it.
        return cast(ReplyT, _run(workspace, scope, command, abandoned))


def _run(workspace: Workspace, scope: Scope, command: Command[Any], abandoned: Callable[[], bool]) -> Reply:
    root = workspace.root
    match command:
        case ReadNote():
            return reading.read(root, scope, command)
        case ScanNotes(tag=None):
            return scanning.scan(root, scope, command)
        case ScanNotes(tag=str(tag)):
            return tagging.scan(root, scope, command, tag, reader=workspace.index)
        case DescribeNotes():
            return finding.describe(root, scope, command)
        case FindNotes():
            return finding.find(root, scope, command)
        case CountTags():
            return tagging.count(root, scope, command, reader=workspace.index)
        case FindLinks():
            return linking.find(workspace, scope, command)
        case FindTargets():
            return targets.find_targets(workspace, scope, command)
        case SearchNotes():
            reader = None if command.generation is None else workspace.index
            return searching.search(root, scope, command, reader=reader)
        case SearchIndex():
            from fsnotes.notes import asking  # loads SQLite, which no change needs

            return asking.search_index(workspace, scope, command)
        case SearchPaths():
            from fsnotes.notes import asking

            return asking.search_paths(workspace, scope, command)
        case MatchPaths():
            from fsnotes.notes import known_paths

            return known_paths.match_paths(workspace, scope, command)
        case CreateNote():
            return creating.create(workspace, scope, command, abandoned=abandoned)
        case EditNote() | AppendNote() | SetProperties():
            return editing.change(workspace, scope, command, abandoned=abandoned)
        case SurveyMove():
            return surveying.survey(workspace, scope, command)
        case MoveNotes():
            return moving.move(workspace, scope, command, abandoned=abandoned)
        case TrashNote():
            return trashing.trash(workspace, scope, command, abandoned=abandoned)
        case FindReceipt():
            return trashing.find_receipt(root, scope, command)
        case ListTrash():
            return trashing.list_trash(root, scope, command)
        case RestoreNote():
            return trashing.restore(workspace, scope, command, abandoned=abandoned)
        case SweepTemporaries():
            return trashing.sweep(workspace, command, abandoned=abandoned)
        case _:
            raise TypeError(f"no handler for {type(command).__name__}")
