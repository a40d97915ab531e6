"""Decides whether a principal holds a right in a workspace, and in which folders of it.

Leaves to others what a path resolves to on disk (`sandbox`) and how a principal was authenticated.
A `Grant` can only be made here, and only a `Grant` opens a workspace: so no operation can forget to ask.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final

from fsnotes.errors import NotAllowed
from sandbox.errors import InvalidUri
from sandbox.names import RelPath
from sandbox.records import record
from sandbox.uris import FileUri


class Right(Enum):
    """A kind of thing that can be done; none includes another."""

    READ = "read"
    WRITE = "write"
    DELETE = "delete"


@record
class Principal:
    """An authenticated caller: `local:<login>`, `token:<name>` or `<issuer>|<subject>`."""

    name: str

    def __post_init__(self) -> None:
        if not self.name or not self.name.isprintable():
            raise ValueError("a principal needs a printable name")


@record
class Workspace:
    """A folder by its name and by every URI that means it: its canonical path first, then other spellings."""

    name: str
    uris: tuple[FileUri, ...]

    def __post_init__(self) -> None:
        if not self.uris:
            raise ValueError("a workspace needs a URI")

    @property
    def uri(self) -> str:
        """The canonical URI, as shown to its principals."""
        return str(self.uris[0])

    def is_named_by(self, uri: FileUri) -> bool:
        """Say whether *uri* equals one of the workspace's URIs, component by component."""
        return any(uri.parts == own.parts for own in self.uris)


@record
class Rule:
    """One line of the configuration: this principal, in this folder of this workspace, may do these things."""

    principal: str
    workspace: str
    folder: RelPath
    allow: frozenset[Right]


@record
class Held:
    """What a principal holds in one folder of one workspace."""

    workspace: Workspace
    folder: RelPath
    rights: frozenset[Right]


_MINT: Final = object()


class Grant:
    """The proof that *principal* holds *right* in *folders* of *workspace*. Made by `Access.authorize` alone."""

    __slots__ = ("folders", "principal", "right", "workspace")

    def __init__(
        self,
        principal: Principal,
        workspace: Workspace,
        right: Right,
        folders: tuple[RelPath, ...],
        *,
        mint: object,
    ) -> None:
        if mint is not _MINT:
            raise TypeError("only Access.authorize makes a Grant")
        self.principal = principal
        self.workspace = workspace
        self.right = right
        self.folders = folders

    def __repr__(self) -> str:
        return f"<Grant {self.right.value} in {self.workspace.name!r} for {self.principal.name!r}>"


def _outermost(folders: Iterable[RelPath]) -> tuple[RelPath, ...]:
    """Leave out every folder that lies inside another one of them; sorted."""
    kept: list[RelPath] = []
    for folder in sorted(set(folders)):
        if not any(folder.starts_with(outer) for outer in kept):
            kept.append(folder)
    return tuple(kept)


class Access:
    """The grants of one configuration. Immutable, thread-safe; knows nothing of files."""

    def __init__(self, workspaces: Iterable[Workspace], rules: Iterable[Rule]) -> None:
        self._workspaces = tuple(workspaces)
        self._rules = tuple(rules)
        names = [workspace.name for workspace in self._workspaces]
        if len(set(names)) != len(names):
            raise ValueError("workspace names must be unique")

    def authorize(self, principal: Principal, workspace_uri: str, right: Right) -> Grant:
        """Return the grant of *right* in the workspace that *workspace_uri* names.

        Raises NotAllowed, always the same, when the URI is malformed, names no workspace, or names one in
        which the principal does not hold the right: the answer tells nothing about what exists.
        """
        try:
            uri = FileUri.parse(workspace_uri)
        except InvalidUri as error:
            raise NotAllowed(f"workspace URI: {error.reason}") from None
        for workspace in self._workspaces:
            if workspace.is_named_by(uri):
                folders = self._folders(principal, workspace, right)
                if folders:
                    return Grant(principal, workspace, right, folders, mint=_MINT)
        raise NotAllowed("no such grant")

    def name_of(self, principal: Principal, workspace_uri: str) -> str | None:
        """Return the name of the workspace that *workspace_uri* means, None unless *principal* holds something there.

        For who tells operators of a call: it proves nothing.
        """
        try:
            uri = FileUri.parse(workspace_uri)
        except InvalidUri:
            return None
        held = (each.workspace for each in self.visible(principal))
        return next((workspace.name for workspace in held if workspace.is_named_by(uri)), None)

    def held(self, principal: Principal, right: Right) -> tuple[Grant, ...]:
        """Return the grants of *right* in every workspace in which *principal* holds it, in configuration order."""
        return tuple(
            Grant(principal, workspace, right, folders, mint=_MINT)
            for workspace in self._workspaces
            if (folders := self._folders(principal, workspace, right))
        )

    def beneath(
        self, principal: Principal, uri: str, right: Right
    ) -> tuple[tuple[Grant, tuple[str, ...]], ...]:
        """Return the grants of *right* in workspaces beneath which *uri* lies, each with the components below it.

        The innermost workspace comes first. There are none for what is malformed, is a workspace itself, or ends with a
        slash. That a grant covers what lies there is not said.
        """
        try:
            asked = FileUri.parse(uri)
        except InvalidUri:
            return ()
        if asked.trailing_slash:
            return ()
        found: list[tuple[Grant, tuple[str, ...]]] = []
        for grant in self.held(principal, right):
            # Several spellings of a workspace may lie within each other, too.
            below = [rest for own in grant.workspace.uris if (rest := asked.relative_to(own))]
            found += [(grant, rest) for rest in below]
        return tuple(sorted(found, key=lambda each: len(each[1])))

    def visible(self, principal: Principal) -> tuple[Held, ...]:
        """List what *principal* holds: each workspace and folder with its rights, in configuration order.

        A folder inside another one is listed only where it has rights of its own.
        """
        shown: list[Held] = []
        for workspace in self._workspaces:
            by_right = {right: self._folders(principal, workspace, right) for right in Right}
            listed: list[Held] = []
            for folder in sorted({folder for folders in by_right.values() for folder in folders}):
                rights = frozenset(
                    right
                    for right, folders in by_right.items()
                    if any(folder.starts_with(outer) for outer in folders)
                )
                if not any(folder.starts_with(held.folder) and held.rights == rights for held in listed):
                    listed.append(Held(workspace, folder, rights))
            shown += listed
        return tuple(shown)

    def _folders(self, principal: Principal, workspace: Workspace, right: Right) -> tuple[RelPath, ...]:
        return _outermost(
            rule.folder
            for rule in self._rules
            if rule.principal == principal.name and rule.workspace == workspace.name and right in rule.allow
        )
