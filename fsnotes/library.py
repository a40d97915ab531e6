"""The story of what is done with notes as resources: authorize, run, and log each refusal.

The part of the service that only reads; knows no protocol and no jail either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fsnotes.access import Access, Grant, Right
from fsnotes.audit import AuditLog
from fsnotes.calls import Call
from fsnotes.changes import Hubs
from fsnotes.completions import Completed, Completion
from fsnotes.errors import NotAllowed
from fsnotes.freshness import Freshness
from fsnotes.pages import foreign_cursor
from fsnotes.resources import (
    Ignored,
    ResourceRead,
    ResourcesListed,
    TemplatesListed,
    list_resources,
    named_by,
    read_resource,
    template_of,
    workspaces_of,
)
from fsnotes.runners import Runner
from fsnotes.story import Story
from fsnotes.subscriptions import Subscription


class Library:
    """The notes of all workspaces of one configuration, as resources."""

    def __init__(
        self,
        access: Access,
        runner: Runner,
        audit: AuditLog,
        *,
        freshness: Mapping[str, Freshness],
        hubs: Hubs,
        ignored: Ignored,
    ) -> None:
        self._access = access
        self._runner = runner
        self._audit = audit
        self._freshness = freshness
        self._hubs = hubs
        self._ignored = ignored

    def resources(self, call: Call, *, cursor: str | None = None) -> ResourcesListed:
        """List the notes of all workspaces that the caller may read, page by page, with their URIs."""
        grants = self._access.held(call.principal, Right.READ)
        return list_resources(self._runner, grants, call.principal, cursor=cursor, abandoned=call.abandoned)

    def templates(self, call: Call, *, cursor: str | None = None) -> TemplatesListed:
        """List a URI template for each workspace that the caller may read in: all of them on one page."""
        if cursor is not None:
            raise foreign_cursor()  # none was ever given out
        return TemplatesListed(workspaces_of(self._access.held(call.principal, Right.READ)))

    def resource(self, call: Call, uri: str) -> ResourceRead:
        """Read the note that *uri* names, whole."""
        with self._story(call, "resources/read", uri, None) as story:
            named = named_by(self._access, self._ignored, call.principal, uri)
            story.enter(named.grant, path=str(named.path))
            return read_resource(self._runner, named, uri, abandoned=call.abandoned)

    def subscribe(
        self, call: Call, uris: Sequence[str], *, lists: bool, wake: Callable[[], None]
    ) -> Subscription:
        """Listen to changes of the notes at *uris* that the caller may read and, with *lists*, of the list of notes.

        *wake* is called, from any thread, when there is something to take. What may not be read is left out, and
        logged once.
        """
        opened, refused = Subscription.open(
            self._access, self._hubs, self._ignored, call.principal, uris, lists=lists, wake=wake
        )
        if refused:
            self._story(call, "subscriptions/listen", refused[0], None).refused("not_allowed")
        return opened

    def complete_uri(self, call: Call, template: str, argument: str, value: str) -> Completed:
        """Complete the path in one of the caller's URI templates; it has no other argument."""
        with self._story(call, "completion/complete", template, None):
            for grant in self._access.held(call.principal, Right.READ):
                if template_of(grant.workspace) == template:
                    return self._completion(grant, call).uris(argument, value)
            raise NotAllowed("no such template")

    def complete_note(self, call: Call, workspace_uri: str, typed: str) -> Completed:
        """Complete the path of a note."""
        return self._completion(self._readable(call, workspace_uri, "completion/complete"), call).notes(typed)

    def complete_folder(self, call: Call, workspace_uri: str, typed: str) -> Completed:
        """Complete the path of a folder that has notes in it."""
        grant = self._readable(call, workspace_uri, "completion/complete")
        return self._completion(grant, call).folders(typed)

    def readable_uris(self, call: Call) -> tuple[str, ...]:
        """Return the URIs of the workspaces that the caller may read in."""
        return tuple(grant.workspace.uri for grant in self._access.held(call.principal, Right.READ))

    def readable_uri(self, call: Call, workspace_uri: str) -> str:
        """Return the canonical URI of a workspace that the caller may read in. Raises NotAllowed."""
        return self._readable(call, workspace_uri, "prompts/get").workspace.uri

    def _readable(self, call: Call, workspace_uri: str, method: str) -> Grant:
        with self._story(call, method, workspace_uri, None):
            return self._access.authorize(call.principal, workspace_uri, Right.READ)

    def _completion(self, grant: Grant, call: Call) -> Completion:
        freshness = self._freshness[grant.workspace.name]
        return Completion(self._runner, grant, freshness, abandoned=call.abandoned)

    def _story(
        self, call: Call, tool: str, workspace_uri: str, path: str | None, *, new_path: str | None = None
    ) -> Story:
        return Story(self._audit, self._runner, call, tool, workspace_uri, path, new_path=new_path)
