"""How a note is changed: read, computed, checked and written under one lock, and never over what somebody else saved.

What a change is, is computed in `replacements.py`, `additions.py` and `properties.py`. A save by another program
between reading and writing is found by whoever writes; the change is then computed anew from what was saved, unless the
caller named an etag that it no longer has.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Final

from fsnotes.errors import NoteChanged
from fsnotes.notes.additions import add
from fsnotes.notes.arguments import Change, Position, check_arguments
from fsnotes.notes.bounds import MAX_DIFF_JSON, MAX_NAME, MAX_NOT_KEPT
from fsnotes.notes.commands import AppendNote, Edited, EditNote, SetProperties
from fsnotes.notes.diffs import MAX_CHARACTERS, Diff, diff
from fsnotes.notes.etags import etag
from fsnotes.notes.fitting import bounded
from fsnotes.notes.places import check_may_change, open_note
from fsnotes.notes.properties import edit
from fsnotes.notes.replacements import replace, replace_body
from fsnotes.notes.room import Growth
from fsnotes.notes.scope import Scope
from fsnotes.notes.sections import stretch
from fsnotes.notes.splices import Splice, apply
from fsnotes.notes.workspace import Workspace
from sandbox.errors import IdentityChanged
from sandbox.names import RelPath, display
from sandbox.records import record

ATTEMPTS: Final = 3
"""How often a change is computed anew for a note that another program keeps saving."""


@record
class _Plan:
    """What is to become of a note: the text it has, the one it gets, and how the second is made of the first."""

    path: RelPath
    former: bytes
    data: bytes
    splices: tuple[Splice, ...]
    places: int | None
    absent: tuple[str, ...]

    def reply(self, not_kept: Sequence[str] = ()) -> Edited:
        """Return what the caller is told."""
        shown = _diff(self.former, self.splices)
        return Edited(
            path=str(self.path),
            former=etag(self.former),
            etag=etag(self.data),
            size=len(self.data),
            diff=shown.text,
            complete=shown.complete,
            places=self.places,
            absent=self.absent,
            not_kept=names_of(not_kept),
        )


def change(workspace: Workspace, scope: Scope, command: Change, *, abandoned: Callable[[], bool]) -> Edited:
    """Change a note; durable when this returns. One that has the text already is not written, nor is a dry run.

    Raises NoteChanged, with the current etag, where the note does not have the one that was named, and where others
    saved it as often as it was tried; NoteNotFound, AmbiguousNote, AmbiguousHeading, AnchorNotFound, AnchorCount,
    NotText, NoteTooLarge, NoRoom, InvalidArgument, NotAllowed (ReadOnlyNote too), Busy (NotCounted too), Unavailable.
    """
    check_arguments(command)
    root, room = workspace.root, workspace.room
    most = root.policy.max_file_bytes
    if command.dry_run:
        path, content = open_note(root, scope, command.path)
        check_may_change(path, content.identity)
        plan = _plan(path, content.data, command, most=most)
        if plan.data != plan.former:
            root.check_folder(path.parent)
        return plan.reply()
    room.prepare()
    with workspace.changing(timeout=command.lock_timeout, abandoned=abandoned):
        path, content = open_note(root, scope, command.path)
        for _ in range(ATTEMPTS):
            check_may_change(path, content.identity)
            plan = _plan(path, content.data, command, most=most)
            size = len(plan.data)
            if plan.data == plan.former:
                return plan.reply()
            try:
                with room.taking(path, Growth(size - len(plan.former), written=size)):
                    replaced = root.replace(path, plan.data, expect=content.identity)
            except IdentityChanged:
                content = root.read(path)
                continue
            return plan.reply(replaced.not_kept)
        raise NoteChanged(str(path), etag=etag(content.data))


def _plan(path: RelPath, data: bytes, command: Change, *, most: int) -> _Plan:
    """Compute the change of the note with the text *data*. Raises NoteChanged for an etag that is not its own.

    That a note is text, and never rewritten where it is not, is seen to by whoever computes the splices.
    """
    name = str(path)
    if command.if_match is not None and (current := etag(data)) != command.if_match:
        raise NoteChanged(name, etag=current)
    places: int | None = None
    absent: tuple[str, ...] = ()
    heading = None if isinstance(command, SetProperties) else command.heading
    found = None if heading is None else stretch(data, heading, path=name)
    match command:
        case SetProperties():
            made = edit(data, assign=command.assign, remove=command.remove, path=name)
            splices, absent = bounded(data, made.splices, path=name, most=most), made.absent
        case AppendNote():
            splices = add(
                data,
                command.text,
                position=Position(command.position),
                path=name,
                most=most,
                section=None if found is None else (found.body, found.end),
            )
        case EditNote(old_text=str(old)):
            places = command.expected
            splices = replace(
                data,
                old,
                command.new_text,
                path=name,
                most=most,
                expected=places,
                within=None if found is None else (found.start, found.end),
            )
        case _:
            if found is None:
                raise TypeError("neither a text to replace nor a section")
            splices = replace_body(
                data, command.new_text, body=found.body, end=found.end, path=name, most=most
            )
    return _Plan(path, data, apply(data, splices), splices, places, absent)


def _diff(data: bytes, splices: tuple[Splice, ...]) -> Diff:
    """Return the diff, shorter than usual where its characters take much room as JSON."""
    most = MAX_CHARACTERS
    while True:
        shown = diff(data, splices, most=most)
        if len(json.dumps(shown.text, ensure_ascii=False)) <= MAX_DIFF_JSON or most <= 1_000:
            return shown
        most //= 2


def names_of(not_kept: Sequence[str]) -> tuple[str, ...]:
    """Return what could not be kept as it can be shown: names of attributes are any bytes, and any number."""
    shown = tuple(display(name)[:MAX_NAME] for name in not_kept[:MAX_NOT_KEPT])
    more = len(not_kept) - len(shown)
    return (*shown, f"{more} more") if more else shown
