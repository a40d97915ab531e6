"""How a note is made. Never over anything."""

from __future__ import annotations

from collections.abc import Callable

from fsnotes.notes.arguments import content_of
from fsnotes.notes.commands import Created, CreateNote
from fsnotes.notes.etags import etag
from fsnotes.notes.places import new_note
from fsnotes.notes.room import Growth
from fsnotes.notes.scope import Scope
from fsnotes.notes.workspace import Workspace


def create(
    workspace: Workspace, scope: Scope, command: CreateNote, *, abandoned: Callable[[], bool]
) -> Created:
    """Make a note with the text as it is given, and the folders that are missing; durable when this returns.

    Raises NoteExists, NoteTooLarge, NoRoom, InvalidArgument for names that are not acceptable and for text that is
    no Unicode, NotAllowed, Busy (NotCounted too), Unavailable.
    """
    root, room = workspace.root, workspace.room
    data = content_of(command, most=root.policy.max_file_bytes)
    room.prepare()
    with workspace.changing(timeout=command.lock_timeout, abandoned=abandoned):
        vacancy = new_note(root, scope, command.path)
        with room.taking(vacancy.path, Growth(len(data), vacancy.missing, written=len(data))):
            root.create(vacancy.path, data)
    return Created(str(vacancy.path), etag(data), len(data))
