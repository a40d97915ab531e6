"""How notes go to the trash and come back, and what the trash says.

The file inside a trash entry is the receipt of a deletion: before anything moves, and whenever it is in
doubt, it is looked for and its bytes are compared with the note that was to go.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from fsnotes.errors import (
    FsnotesError,
    InvalidArgument,
    NotCounted,
    NoteChanged,
    NoteNotFound,
    OutcomeUnknown,
    PathRefused,
    Unavailable,
)
from fsnotes.notes.commands import (
    FindReceipt,
    ListTrash,
    Receipt,
    Restored,
    RestoreNote,
    SweepTemporaries,
    Swept,
    Trashed,
    TrashEntry,
    TrashNote,
    TrashPage,
)
from fsnotes.notes.etags import etag
from fsnotes.notes.model import is_note
from fsnotes.notes.places import check_admitted, former_place, new_note
from fsnotes.notes.room import Growth
from fsnotes.notes.scope import Scope
from fsnotes.notes.workspace import Interrupted, Workspace
from sandbox.errors import (
    Ambiguous,
    Displaced,
    LinkRefused,
    Missing,
    MountRefused,
    ObjectRefused,
    PathError,
    SandboxError,
    StorageFailed,
)
from sandbox.names import RelPath, is_entry_name
from sandbox.policy import Links, Mounts, Policy
from sandbox.root import Root
from sandbox.spelling import find

MAX_PAGE: Final = 300
"""Most entries of the trash that one call looks at."""


def trash(
    workspace: Workspace, scope: Scope, command: TrashNote, *, abandoned: Callable[[], bool]
) -> Trashed:
    """Move a note to its entry if its bytes are still the expected ones; see `TrashNote`.

    The path is taken as it is spelled. Raises NoteChanged when the note changed, moved, vanished or became
    something else: then it is where it was. Raises Busy, Unavailable, OutcomeUnknown. It needs no room: an owner at
    the limit must be able to delete.
    """
    root = workspace.root
    path = _note(scope, command.path)
    _check_entry(command.entry)
    # An owner whose disk is full must be able to delete, and within two seconds. A journal can stand it: what it would
    # still do to this note is done first, which makes it another text than the one that was to go.
    with workspace.changing(timeout=command.lock_timeout, abandoned=abandoned, interrupted=Interrupted.LEAVE):
        if not _has_receipt(root, path, command.entry, command.etag):
            if workspace.journal is not None:
                workspace.journal.settle(root, path)
            if root.trashed(command.entry) is not None:
                # One entry, one note: another candidate of the same form is in it already.
                raise NoteChanged(command.path)
            try:
                root.trash(path, entry=command.entry, expect=lambda data: etag(data) == command.etag)
            except PathError as error:
                raise _why(error, root.policy, command.path) from error
            workspace.room.note(Growth(entries=_entry_folders(path)))
    return Trashed(command.path, command.entry)


def _entry_folders(path: RelPath) -> int:
    """Return how many folders hold the note that was at *path* in the trash: its entry's, and its own."""
    return len(path.parts)


def _why(error: PathError, policy: Policy, path: str) -> FsnotesError:
    """Return why a note that a form offered could not be moved.

    It changed, unless the workspace allows what stands there to be read and it cannot be moved for what it is.
    """
    if isinstance(error, Displaced):
        return OutcomeUnknown("another text had the note's name and lies in the trash")
    if isinstance(error, MountRefused) and policy.mounts is Mounts.ALLOW:
        return Unavailable("the note lies on another file system than the workspace's trash")
    if isinstance(error, LinkRefused) and policy.links is Links.WITHIN:
        return PathRefused("a link can be read here and not be deleted")
    return NoteChanged(path)


def find_receipt(root: Root, scope: Scope, command: FindReceipt) -> Receipt:
    """Say whether the note is in its entry. Takes no lock: who asks knows that nobody is at it."""
    path = _note(scope, command.path)
    _check_entry(command.entry)
    return Receipt(_has_receipt(root, path, command.entry, command.etag))


def _has_receipt(root: Root, path: RelPath, entry: str, expected: str) -> bool:
    try:
        data = root.receipt(path, entry=entry)
    except ObjectRefused:
        # Something else has been put there; it proves nothing.
        return False
    return data is not None and etag(data) == expected


def _note(scope: Scope, text: str) -> RelPath:
    path = RelPath.parse(text)
    check_admitted(scope, path)
    if not is_note(path.name):
        raise InvalidArgument("path", "it is not the full name of a note")
    return path


def _check_entry(entry: str) -> None:
    if not is_entry_name(entry):
        raise InvalidArgument("trashId", "it is not the name of a trash entry")


def list_trash(root: Root, scope: Scope, command: ListTrash) -> TrashPage:
    """List what was deleted in the scope, newest first. Entries that are not ours or hold no note are left out."""
    if command.after is not None:
        _check_entry(command.after)
    visible = _Visible(root, scope)
    names = [name for name in root.trash_entries() if command.after is None or name < command.after]
    found: list[TrashEntry] = []
    for examined, name in enumerate(names, start=1):
        entry = _entry(root, visible, name)
        if entry is not None:
            found.append(entry)
        if (len(found) >= max(1, command.limit) or examined >= MAX_PAGE) and examined < len(names):
            return TrashPage(tuple(found), name)
    return TrashPage(tuple(found), None)


class _Visible:
    """Which deleted notes a scope shows: those of its folders as they are spelled on the disk.

    A granted folder has a twin when another one differs from it in Unicode spelling only; what was deleted from the
    twin is the twin's.
    """

    def __init__(self, root: Root, scope: Scope) -> None:
        self._scope = scope
        self._folders = tuple(_spelled(root, folder) for folder in scope.folders)

    def shows(self, path: RelPath) -> bool:
        if not is_note(path.name) or not self._scope.admits(path):
            return False
        return any(folder is None or path.starts_with(folder) for folder in self._folders)


def _spelled(root: Root, folder: RelPath) -> RelPath | None:
    """Return *folder* as the disk spells it; as it was granted where there are twins; None where there is none."""
    if not folder.parts:
        return folder
    try:
        return find(root, folder)
    except Ambiguous:
        return folder
    except SandboxError:
        return None


def _entry(root: Root, visible: _Visible, name: str) -> TrashEntry | None:
    deleted_at = _time(name)
    if deleted_at is None:
        return None
    try:
        held = root.trashed(name)
    except StorageFailed as error:
        if not error.is_for_rights:
            raise  # it is perhaps a note that somebody looks for, and would be told that it is not there
        return None
    except SandboxError:
        # Not readable by us: not ours, and no reason to hide the others.
        return None
    if held is None or not visible.shows(held.path):
        return None
    return TrashEntry(name, str(held.path), deleted_at, held.identity.size)


def _time(name: str) -> str | None:
    """Return the time in an entry's name (`20260131T235959Z-...`) as ISO 8601; None for one that never was."""
    try:
        time = datetime(  # noqa: DTZ001 - the name says UTC, and no clock time is computed from it
            int(name[0:4]),
            int(name[4:6]),
            int(name[6:8]),
            int(name[9:11]),
            int(name[11:13]),
            int(name[13:15]),
        )
    except ValueError:
        return None
    return f"{time.isoformat()}Z"


def restore(
    workspace: Workspace, scope: Scope, command: RestoreNote, *, abandoned: Callable[[], bool]
) -> Restored:
    """Put a note back where it was or at a new path, making folders that are missing. Never over anything.

    Raises NoteNotFound when the entry holds no note of the scope, NoteExists, Busy, Unavailable, and what
    making a note raises for a new path. It adds no bytes, and fewer folders than go with the entry unless the new
    path needs more: then there must be room for them.
    """
    _check_entry(command.entry)
    root, room = workspace.root, workspace.room
    try:
        with workspace.changing(timeout=command.lock_timeout, abandoned=abandoned):
            held = root.trashed(command.entry)
            if held is None or not _Visible(root, scope).shows(held.path):
                raise NoteNotFound("trash entry", command.entry)
            data = root.receipt(held.path, entry=command.entry)
            if data is None:
                raise NoteNotFound("trash entry", command.entry)
            if command.new_path is None:
                vacancy = former_place(root, scope, held.path)
            else:
                vacancy = new_note(root, scope, command.new_path)
            more = vacancy.missing - 1 - _entry_folders(held.path)
            try:
                with room.taking(vacancy.path, Growth(entries=max(0, more))):
                    restored = root.restore(command.entry, vacancy.path)
            except Missing:
                raise NoteNotFound("trash entry", command.entry) from None
    except NotCounted:
        # Not while the lock is held. Most restores add nothing, and need no count.
        room.prepare()
        raise
    return Restored(str(restored), etag(data))


def sweep(workspace: Workspace, command: SweepTemporaries, *, abandoned: Callable[[], bool]) -> Swept:
    """Move what killed writes left behind to the trash."""
    with workspace.changing(timeout=command.lock_timeout, abandoned=abandoned):
        return Swept(workspace.root.sweep(now=command.now).moved)
