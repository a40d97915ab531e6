"""How the policies of a workspace, and the bounds of its quota, are shown to people and callers."""

from __future__ import annotations

from fsnotes.config import WorkspaceSettings


def policies(workspace: WorkspaceSettings) -> dict[str, str | int]:
    """Return the policies of *workspace* as they are shown, and the bounds of its quota that are set."""
    policy, quota = workspace.policy, workspace.quota
    bounds = {
        "maxBytes": quota.max_bytes,
        "maxEntries": quota.max_entries,
        "minFreeBytes": quota.min_free_bytes,
    }
    return {
        "symlinks": policy.links.value,
        "hardlinks": policy.hard_links.value,
        "mounts": policy.mounts.value,
        "maxNoteBytes": policy.max_file_bytes,
        **{name: bound for name, bound in bounds.items() if bound is not None},
    }
