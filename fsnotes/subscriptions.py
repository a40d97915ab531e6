"""Decides what a principal hears of: changes of single notes and of the list, as far as they may read, then and now.

What changes is told by `changes`; how it is told to a client, and how often, is left to the server. The rights are
asked for again each time something is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from fsnotes.access import Access, Grant, Principal, Right
from fsnotes.changes import Hubs, Listener
from fsnotes.errors import NotAllowed
from fsnotes.notes.scope import Scope
from fsnotes.resources import Ignored, Named, named_by
from sandbox.names import RelPath
from sandbox.records import record


@record
class Told:
    """What has changed: the notes of these *uris*, as they were asked for, and whether the list has."""

    uris: tuple[str, ...]
    is_list_changed: bool

    def __bool__(self) -> bool:
        return bool(self.uris) or self.is_list_changed


class Subscription:
    """What one caller listens to: the *uris* and, with *lists*, the list of resources. Thread-safe; close it."""

    def __init__(self, access: Access, hubs: Hubs, principal: Principal) -> None:
        self._access = access
        self._hubs = hubs
        self._principal = principal
        self._listeners: list[tuple[str, Listener]] = []
        self._uris: dict[str, Named] = {}
        self.lists = False

    @classmethod
    def open(
        cls,
        access: Access,
        hubs: Hubs,
        ignored: Ignored,
        principal: Principal,
        uris: Iterable[str],
        *,
        lists: bool,
        wake: Callable[[], None],
    ) -> tuple[Subscription, tuple[str, ...]]:
        """Listen to those of *uris* that *principal* may read; return with it those that they may not.

        A note need not be there. What its workspace has *ignored* may not be read. What is in a folder that cannot be
        watched is left out, and so is the list if there is such a folder.
        """
        made, refused = cls(access, hubs, principal), []
        named: dict[str, Named] = {}
        for uri in uris:
            try:
                named[uri] = named_by(access, ignored, principal, uri)
            except NotAllowed:
                refused.append(uri)
        grants = {grant.workspace.name: grant for grant in access.held(principal, Right.READ)}
        made.lists = lists and bool(grants)
        try:
            for name, grant in grants.items():
                own = {uri: each for uri, each in named.items() if each.grant.workspace.name == name}
                if own or made.lists:
                    made._listen(name, grant, own, lists=made.lists, wake=wake)
            if lists and not made.lists:
                made._leave_unnamed()
        except BaseException:
            made.close()
            raise
        return made, tuple(refused)

    def _listen(
        self,
        name: str,
        grant: Grant,
        named: Mapping[str, Named],
        *,
        lists: bool,
        wake: Callable[[], None],
    ) -> None:
        scope = Scope(grant.folders) if lists else None
        listener = Listener((each.path for each in named.values()), scope, wake)
        deaf = self._hubs.add(name, listener)
        if deaf is None:
            self.lists = False
            return
        self._listeners.append((name, listener))
        self.lists = self.lists and not deaf
        self._uris |= {
            uri: each
            for uri, each in named.items()
            if not any(each.path.starts_with(folder) for folder in deaf)
        }

    def _leave_unnamed(self) -> None:
        """Leave the workspaces of which only the list was wanted: it is not told, and others may want their places."""
        named = {each.grant.workspace.name for each in self._uris.values()}
        for name, listener in self._listeners:
            if name not in named:
                self._hubs.remove(name, listener)
        self._listeners = [each for each in self._listeners if each[0] in named]

    @property
    def uris(self) -> tuple[str, ...]:
        """The notes that are listened to."""
        return tuple(self._uris)

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left that the caller may hear of."""
        return not (self._uris or self.lists)

    def take(self) -> Told:
        """Return what has changed since the last time, as far as the caller may read it now."""
        held = {
            grant.workspace.name: Scope(grant.folders)
            for grant in self._access.held(self._principal, Right.READ)
        }
        self._uris = {uri: each for uri, each in self._uris.items() if _is_within(held, each)}
        self.lists = self.lists and bool(held)
        changed: set[tuple[str, RelPath]] = set()
        is_list_changed = False
        for name, listener in self._listeners:
            paths, listed = listener.take()
            changed |= {(name, path) for path in paths}
            is_list_changed = is_list_changed or (listed and name in held)
        return Told(
            tuple(
                uri for uri, each in self._uris.items() if (each.grant.workspace.name, each.path) in changed
            ),
            is_list_changed and self.lists,
        )

    def close(self) -> None:
        """Hear nothing more."""
        for name, listener in self._listeners:
            self._hubs.remove(name, listener)
        self._listeners = []


def _is_within(held: Mapping[str, Scope], named: Named) -> bool:
    scope = held.get(named.grant.workspace.name)
    return scope is not None and scope.covers(named.path)
