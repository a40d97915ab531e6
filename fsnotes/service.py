"""The story of every operation: authorize, (ask the person,) run, and the one seam that every change passes.

Knows no protocol, no terminal and no jail. Synchronous and thread-safe; raises `fsnotes.errors` only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from fsnotes.access import Access, Right
from fsnotes.audit import AuditLog
from fsnotes.calls import Call
from fsnotes.changes import Hubs
from fsnotes.confirm import (
    Asked,
    Confirmations,
)
from fsnotes.deletions import DELETE_TOOL, Deletions
from fsnotes.errors import NoteNotFound
from fsnotes.freshness import Freshness
from fsnotes.hits import NotesFound
from fsnotes.library import Library
from fsnotes.link_pages import list_links
from fsnotes.listings import ListQuery, list_notes, list_trash, trashed_path
from fsnotes.moves import move
from fsnotes.notes.arguments import Change, check_arguments
from fsnotes.notes.commands import (
    AppendNote,
    Assignment,
    CreateNote,
    EditNote,
    ReadNote,
    RestoreNote,
    SetProperties,
)
from fsnotes.orphans import OrphansListed, list_orphans
from fsnotes.outcomes import (
    Deletion,
    LinksListed,
    NoteCreated,
    NoteEdited,
    NoteRead,
    NoteRestored,
    NotesListed,
    NotesMoved,
    TagsListed,
    TrashListed,
    WorkspacesShown,
)
from fsnotes.overviews import show
from fsnotes.runners import MAX_PENDING, Runner
from fsnotes.search_pages import search_notes
from fsnotes.sight import Sight
from fsnotes.tag_pages import list_tags

READ_CHARACTERS: Final = 38_000
"""A note's text in one answer; with its escapes in the frame it may be longer, in the client it is not."""

MAX_WAITING: Final = 2 * MAX_PENDING
"""Calls that one workspace may keep waiting: changes, and so many others."""


class Service(Library):
    """All operations on all workspaces of one configuration."""

    def __init__(
        self,
        access: Access,
        runner: Runner,
        confirmations: Callable[[], Confirmations],
        audit: AuditLog,
        *,
        policies: Mapping[str, Mapping[str, Any]],
        freshness: Mapping[str, Freshness],
        hubs: Hubs,
        ignored: Mapping[str, tuple[str, ...]],
        clock: Callable[[], float],
    ) -> None:
        super().__init__(access, runner, audit, freshness=freshness, hubs=hubs, ignored=ignored)
        self._confirmations = confirmations
        self._policies = policies
        self._clock = clock
        self._deletions = Deletions(access, runner, confirmations, clock=clock)

    # -- reading -----------------------------------------------------------------------------------

    def workspaces(self, call: Call) -> WorkspacesShown:
        """Show the caller's workspaces, with rights, policies and an (incomplete, if large) count of notes."""
        return WorkspacesShown(
            tuple(
                show(
                    self._access,
                    self._runner,
                    held,
                    call=call,
                    policies=self._policies.get(held.workspace.name, {}),
                    freshness=self._freshness[held.workspace.name],
                )
                for held in self._access.visible(call.principal)
            )
        )

    def list(self, call: Call, workspace_uri: str, **query: Any) -> NotesListed:
        """List notes of a folder, page by page. The keyword arguments are those of `ListQuery`."""
        with self._story(call, "notes_list", workspace_uri, query.get("folder")):
            cursor = query.pop("cursor", None)
            asked = ListQuery(**query)
            grant = self._access.authorize(call.principal, workspace_uri, Right.READ)
            return list_notes(self._runner, grant, asked, cursor=cursor, abandoned=call.abandoned)

    def read(
        self,
        call: Call,
        workspace_uri: str,
        path: str,
        *,
        heading: str | None = None,
        start_line: int | None = None,
        end_line: int | None = None,
        start_column: int | None = None,
    ) -> NoteRead:
        """Read a note, a section or a range of lines; as much as one answer holds."""
        with self._story(call, "notes_read", workspace_uri, path):
            grant = self._access.authorize(call.principal, workspace_uri, Right.READ)
            command = ReadNote(path, heading, start_line, end_line, start_column, READ_CHARACTERS)
            return NoteRead(self._runner.run(grant, command, abandoned=call.abandoned))

    def search(self, call: Call, workspace_uri: str, query: str, **more: Any) -> NotesFound:
        """Find notes, page by page. The keyword arguments are those of `search_notes`."""
        with self._story(call, "notes_search", workspace_uri, more.get("folder")):
            grant = self._access.authorize(call.principal, workspace_uri, Right.READ)
            return search_notes(
                self._runner,
                grant,
                query,
                freshness=self._freshness[grant.workspace.name],
                abandoned=call.abandoned,
                report=call.report,
                **more,
            )

    def links(self, call: Call, workspace_uri: str, path: str, **query: Any) -> LinksListed:
        """List links, page by page. The keyword arguments are those of `list_links`."""
        with self._story(call, "notes_links", workspace_uri, path):
            grant = self._access.authorize(call.principal, workspace_uri, Right.READ)
            return list_links(self._runner, grant, path, abandoned=call.abandoned, **query)

    def orphans(self, call: Call, workspace_uri: str, folder: str = "") -> OrphansListed:
        """List the notes of a folder that no other note links to."""
        with self._story(call, "notes_links", workspace_uri, folder):
            grant = self._access.authorize(call.principal, workspace_uri, Right.READ)
            return list_orphans(self._runner, grant, folder, abandoned=call.abandoned)

    def tags(self, call: Call, workspace_uri: str, **query: Any) -> TagsListed:
        """List tags, page by page. The keyword arguments are those of `list_tags`."""
        with self._story(call, "notes_tags", workspace_uri, None):
            grant = self._access.authorize(call.principal, workspace_uri, Right.READ)
            return list_tags(self._runner, grant, abandoned=call.abandoned, **query)

    def trash(
        self, call: Call, workspace_uri: str, *, limit: int = 100, cursor: str | None = None
    ) -> TrashListed:
        """List what was deleted from the folders that the caller may read."""
        with self._story(call, "notes_trash", workspace_uri, None):
            grant = self._access.authorize(call.principal, workspace_uri, Right.READ)
            return list_trash(self._runner, grant, limit=limit, cursor=cursor, abandoned=call.abandoned)

    # -- changing ----------------------------------------------------------------------------------

    def create(self, call: Call, workspace_uri: str, path: str, content: str) -> NoteCreated:
        """Make a note. Never overwrites."""
        with self._story(call, "notes_create", workspace_uri, path) as story:
            grant = self._access.authorize(call.principal, workspace_uri, Right.WRITE)
            story.begin(grant)
            reply = self._runner.run(grant, CreateNote(path, content), abandoned=call.abandoned)
            story.done("created", path=reply.path, after=reply.etag)
            return NoteCreated(reply)

    def edit(
        self,
        call: Call,
        workspace_uri: str,
        path: str,
        new_text: str,
        *,
        old_text: str | None = None,
        heading: str | None = None,
        expected_matches: int = 1,
        if_match: str | None = None,
        dry_run: bool = False,
    ) -> NoteEdited:
        """Put *new_text* in place of *old_text*, or of what stands under *heading*."""
        command = EditNote(path, new_text, old_text, heading, expected_matches, if_match, dry_run)
        return self._change(call, "notes_edit", workspace_uri, command, outcome="edited")

    def append(
        self,
        call: Call,
        workspace_uri: str,
        path: str,
        text: str,
        *,
        heading: str | None = None,
        position: str = "end",
        if_match: str | None = None,
        dry_run: bool = False,
    ) -> NoteEdited:
        """Add *text* at the *position* `start` or `end` of a note, or of what stands under *heading*."""
        command = AppendNote(path, text, heading, position, if_match, dry_run)
        return self._change(call, "notes_append", workspace_uri, command, outcome="appended")

    def properties(
        self,
        call: Call,
        workspace_uri: str,
        path: str,
        *,
        assign: Sequence[tuple[str, str]] = (),
        remove: Sequence[str] = (),
        if_match: str | None = None,
        dry_run: bool = False,
    ) -> NoteEdited:
        """Set properties of a note, each a key and a value that is YAML text, and unset others."""
        wanted = tuple(Assignment(key, value) for key, value in assign)
        command = SetProperties(path, wanted, tuple(remove), if_match, dry_run)
        return self._change(call, "notes_properties", workspace_uri, command, outcome="properties_set")

    def move(
        self,
        call: Call,
        workspace_uri: str,
        path: str,
        new_path: str,
        *,
        update_links: bool = True,
        if_match: str | None = None,
        dry_run: bool = False,
    ) -> NotesMoved:
        """Give a note, or a folder with all in it, the path *new_path*, and rewrite the links that led there.

        Never over anything, and never to where the caller could read what they may not read. Links beyond what they
        may write are counted and stay.
        """
        with self._story(call, "notes_move", workspace_uri, path, new_path=new_path) as story:
            grant = self._access.authorize(call.principal, workspace_uri, Right.WRITE)
            sight = Sight.of(self._access, call.principal, workspace_uri, path)
            if dry_run:
                story.enter(grant)
            else:
                story.begin(grant)
            sight.check_move(new_path)
            reply, found = move(
                self._runner,
                grant,
                path,
                new_path,
                update_links=update_links,
                if_match=if_match,
                dry_run=dry_run,
                abandoned=call.abandoned,
            )
            story.done(
                "moved", path=reply.path, before=reply.former, after=reply.etag, new_path=reply.new_path
            )
            return NotesMoved(
                reply, outside=found.outside, unseen=found.unseen, dry_run=dry_run, sees=sight.sees
            )

    def restore(
        self, call: Call, workspace_uri: str, trash_id: str, *, new_path: str | None = None
    ) -> NoteRestored:
        """Put a deleted note back. Never overwrites.

        The confirmation that deleted it is spent first, for good: whatever happens after that, it can never
        delete the restored note.
        """
        with self._story(call, "notes_restore", workspace_uri, new_path) as story:
            grant = self._access.authorize(call.principal, workspace_uri, Right.WRITE)
            # What the caller cannot see must not take room in the ledger either.
            former = trashed_path(self._runner, grant, trash_id, abandoned=call.abandoned)
            if former is None:
                raise NoteNotFound("trash entry", trash_id)
            story.begin(grant)
            if new_path is not None:
                Sight.of(self._access, call.principal, workspace_uri, former).check_move(new_path)
            self._confirmations().spend_restored(trash_id, now=self._clock())
            reply = self._runner.run(grant, RestoreNote(trash_id, new_path), abandoned=call.abandoned)
            story.done("restored", path=reply.path, after=reply.etag)
            return NoteRestored(reply)

    def delete(
        self,
        call: Call,
        workspace_uri: str,
        title: str,
        *,
        arguments: Mapping[str, object],
        state: object = None,
        answers: object = None,
    ) -> Asked | Deletion:
        """Ask which note is meant and whether to delete it; with a *state* that proves the answer, delete it.

        *arguments* are the caller's own, as they are bound into the state. Without a state nothing is ever
        deleted, whatever *answers* say.
        """
        with self._story(call, DELETE_TOOL, workspace_uri, None) as story:
            return self._deletions.delete(
                call, workspace_uri, title, arguments=arguments, state=state, answers=answers, story=story
            )

    def answered(self, deletion: Deletion) -> None:
        """Note that the answer `deleted` has left this process: a retry is then a replay."""
        if deletion.trash_id is not None:
            self._confirmations().settle(deletion.trash_id)

    def refused(self, call: Call, tool: str, workspace_uri: str, outcome: str) -> None:
        """Log a refusal that was made outside: there was no way to ask, or a state came where none is taken."""
        self._story(call, tool, workspace_uri, None).refused(outcome)

    # -- the parts of a change ---------------------------------------------------------------------

    def _change(
        self, call: Call, tool: str, workspace_uri: str, command: Change, *, outcome: str
    ) -> NoteEdited:
        """Change a note that is there; a dry run needs the same right, and leaves no line."""
        with self._story(call, tool, workspace_uri, command.path) as story:
            check_arguments(command)
            grant = self._access.authorize(call.principal, workspace_uri, Right.WRITE)
            sight = Sight.of(self._access, call.principal, workspace_uri, command.path)
            if command.dry_run:
                story.enter(grant)
            else:
                story.begin(grant)
            with sight.kept():
                reply = self._runner.run(grant, command, abandoned=call.abandoned)
            changed = reply.etag != reply.former
            story.done(
                outcome if changed else "unchanged", path=reply.path, before=reply.former, after=reply.etag
            )
            return NoteEdited(reply, dry_run=command.dry_run, shows_text=sight.reads)

    def name_of(self, call: Call, workspace_uri: str) -> str | None:
        """Return the name of the workspace that is meant, None unless it is one of the caller's."""
        return self._access.name_of(call.principal, workspace_uri)
