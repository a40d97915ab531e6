"""Decides how the index of each workspace is kept: what watches its notes, and under which boot it is written.

A part of the wiring, apart for its length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from fsnotes.config import Settings, WorkspaceSettings
from fsnotes.notes.index_commands import KeepIndex
from fsnotes.notes.model import is_note
from fsnotes.notes.replies import IndexKept
from fsnotes.notes.scope import Scope
from fsnotes.upkeep import Upkeep
from sandbox import ROOT, Root
from sandbox.errors import RootUnusable
from sandbox.policy import HardLinks, Links
from sandbox.resolve import ResolverChoice

if TYPE_CHECKING:
    from sandbox.watcher import Watcher


def keepers(
    settings: Settings,
    keep: Callable[[str, KeepIndex], IndexKept],
    watches: Mapping[str, Callable[[], Watcher]],
) -> dict[str, Upkeep]:
    """Return what keeps the index of each workspace, not started, by the workspaces' names."""
    return {
        each.name: Upkeep(
            each.name,
            partial(keep, each.name),
            watches[each.name],
            has_aliases=each.policy.links is Links.WITHIN or each.policy.hard_links is HardLinks.ALLOW,
        )
        for each in settings.workspaces
    }


def watching(workspace: WorkspaceSettings, root: Root, *, resolver: ResolverChoice) -> Callable[[], Watcher]:
    """Return what begins to watch the notes of *workspace*, if its folder is still the one of *root*."""
    identity, scope = root.identity, Scope((ROOT,), workspace.ignore)

    def watch() -> Watcher:
        opened = Root.open(workspace.path, workspace.policy, resolver=resolver)
        try:
            if opened.identity != identity:
                raise RootUnusable("another folder is there now")
            return opened.watch(
                folders=scope.admits, files=lambda path: is_note(path.name) and scope.admits(path)
            )
        finally:
            opened.close()

    return watch


def boot_id() -> str | None:
    """Return the id of the running boot, None where nobody knows it."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read(64).strip() or None
    except (OSError, ValueError):
        return None
