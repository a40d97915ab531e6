"""Whether what a worker says of the trash answers what it was asked.

That all notes are within the grant is judged in `answers.py`.
"""

from __future__ import annotations

from fsnotes.notes.commands import ListTrash, Restored, RestoreNote, Trashed, TrashNote, TrashPage
from fsnotes.notes.places import is_reading
from sandbox.names import is_entry_name


def answers_trash(command: TrashNote, reply: Trashed) -> bool:
    """Say whether it is the note and the entry that were named."""
    return (reply.path, reply.entry) == (command.path, command.entry)


def answers_list_trash(command: ListTrash, reply: TrashPage) -> bool:
    """Say whether the entries go from newer to older, and on from where the last page ended."""
    names = [entry.trash_id for entry in reply.entries]
    if reply.resume is not None:
        if not is_entry_name(reply.resume) or (names and reply.resume > names[-1]):
            return False
        names.append(reply.resume)
    if command.after is not None:
        names.insert(0, command.after)
    return len(reply.entries) <= max(1, command.limit) and names == sorted(names, reverse=True)


def answers_restore(command: RestoreNote, reply: Restored) -> bool:
    """Say whether it is where it was to be; where it was before, the worker alone knows."""
    return command.new_path is None or is_reading(reply.path, command.new_path)
