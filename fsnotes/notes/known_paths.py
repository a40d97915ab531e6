"""The ids of the notes that the index knows, a stretch of them a call, matched with what somebody has typed.

Nothing is read but the index. Which notes changed since is known above: their paths are left out, and looked at there.
"""

from __future__ import annotations

from typing import Final

from fsnotes.errors import IndexUnusable
from fsnotes.notes.completing import Best
from fsnotes.notes.index.reader import standing
from fsnotes.notes.index_commands import MatchPaths
from fsnotes.notes.replies import PathsMatched
from fsnotes.notes.scope import Scope
from fsnotes.notes.workspace import Workspace
from sandbox.errors import InvalidPath
from sandbox.names import RelPath

STRETCH: Final = 5_000
"""How many ids one call goes through: some 20 ms."""

_PATHS: Final = "SELECT id, path FROM docs WHERE id > ? ORDER BY id LIMIT ?"


def match_paths(workspace: Workspace, scope: Scope, command: MatchPaths) -> PathsMatched:
    """Match the ids of a stretch of the index; see `MatchPaths`. Raises IndexUnusable."""
    if workspace.index is None:
        raise IndexUnusable("there is no search index")
    with workspace.index.view() as view:
        if standing(view).generation != command.generation:
            raise IndexUnusable("the search index was made anew")
        rows = view.rows(_PATHS, command.after, STRETCH)
    best = Best(command.wanted)
    best.take(path for _, path in rows if path not in command.without and _admits(scope, path))
    return PathsMatched(best.paths, best.count, rows[-1][0] if len(rows) == STRETCH else None)


def _admits(scope: Scope, path: str) -> bool:
    try:
        return scope.admits(RelPath.parse(path))
    except InvalidPath:
        return False
