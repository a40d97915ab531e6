"""Notes on disk: a synchronous library over one `sandbox.Root`.

It knows no callers, no protocol and no sockets. What is exported here is what programs need that use it as a library;
each name is loaded when it is first used, since every process of fsnotes loads this module, and most need little of it.
What a note says is read and changed without a workspace by modules that work on its bytes and text: `markdown`,
`sections`, `titles`, `tags`, `property_reading`, `properties`, `replacements`, `additions`, `splices`, `diffs`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fsnotes.notes.commands import (
        AppendNote,
        Assignment,
        Command,
        CountTags,
        Created,
        CreateNote,
        Described,
        DescribeNotes,
        Edited,
        EditNote,
        FindLinks,
        FindNotes,
        Found,
        Hit,
        HitLine,
        LeftAlone,
        LinkFound,
        LinksFound,
        ListTrash,
        Match,
        Moved,
        MoveNotes,
        NoteStat,
        NoteSummary,
        NoteText,
        ReadNote,
        Relinked,
        Restored,
        RestoreNote,
        Scanned,
        ScanNotes,
        Searched,
        SearchNotes,
        SetProperties,
        Skipped,
        Surveyed,
        SurveyMove,
        SweepTemporaries,
        Swept,
        TagCount,
        TagsCounted,
        Trashed,
        TrashEntry,
        TrashNote,
        TrashPage,
    )
    from fsnotes.notes.etags import etag
    from fsnotes.notes.handlers import handle
    from fsnotes.notes.running import run, run_through
    from fsnotes.notes.scope import EVERYWHERE, Scope
    from fsnotes.notes.workspace import Workspace

__all__ = [
    "EVERYWHERE",
    "AppendNote",
    "Assignment",
    "Command",
    "CountTags",
    "CreateNote",
    "Created",
    "DescribeNotes",
    "Described",
    "EditNote",
    "Edited",
    "FindLinks",
    "FindNotes",
    "Found",
    "Hit",
    "HitLine",
    "LeftAlone",
    "LinkFound",
    "LinksFound",
    "ListTrash",
    "Match",
    "MoveNotes",
    "Moved",
    "NoteStat",
    "NoteSummary",
    "NoteText",
    "ReadNote",
    "Relinked",
    "RestoreNote",
    "Restored",
    "ScanNotes",
    "Scanned",
    "Scope",
    "SearchNotes",
    "Searched",
    "SetProperties",
    "Skipped",
    "SurveyMove",
    "Surveyed",
    "SweepTemporaries",
    "Swept",
    "TagCount",
    "TagsCounted",
    "TrashEntry",
    "TrashNote",
    "TrashPage",
    "Trashed",
    "Workspace",
    "etag",
    "handle",
    "run",
    "run_through",
]

_ELSEWHERE: Final = {
    "etag": "etags",
    "handle": "handlers",
    "run": "running",
    "run_through": "running",
    "EVERYWHERE": "scope",
    "Scope": "scope",
    "Workspace": "workspace",
}
"""The modules of those names that are not in `commands`."""


def __getattr__(name: str) -> object:
    """Load an exported name from its module (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_ELSEWHERE.get(name, 'commands')}")
    value: object = getattr(module, name)
    return value


def __dir__() -> list[str]:
    """Return what is exported, with what is loaded."""
    return sorted({*globals(), *__all__})
