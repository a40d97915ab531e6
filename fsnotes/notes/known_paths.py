"""The ids of the notes that the index knows, matched with what somebody has typed.

Nothing is read but the index. Which notes changed since is known above: their paths are left out, and looked at there.
A call goes through a stretch of the ids; once all have been read, one call answers for all of them.
"""

from __future__ import annotations

import itertools

from fsnotes.errors import IndexUnusable
from fsnotes.notes.completing import MOST_MATCHES, Best
from fsnotes.notes.index.reader import standing
from fsnotes.notes.index_commands import MatchPaths
from fsnotes.notes.replies import PathsMatched
from fsnotes.notes.scope import Scope
from fsnotes.notes.workspace import Workspace
from sandbox.errors import InvalidPath
from sandbox.names import RelPath


def match_paths(workspace: Workspace, scope: Scope, command: MatchPaths) -> PathsMatched:
    """Match the ids that are known; see `MatchPaths`. Raises IndexUnusable."""
    if workspace.index is None:
        raise IndexUnusable("there is no search index")
    without = frozenset(command.without)
    with workspace.index.view() as view:
        if standing(view).generation != command.generation:
            raise IndexUnusable("the search index was made anew")
        version = view.version()
        # One that goes on with stretches has no use for all of them.
        chart = workspace.ids.chart(version) if command.after == 0 else None
        if chart is None:
            entries, behind = workspace.ids.stretch(view, version, command.after)

    def admits(path: str) -> bool:
        return path not in without and _admits(scope, path)

    if chart is not None:
        matching = filter(admits, chart.matching(command.wanted))
        notes = tuple(itertools.islice(matching, MOST_MATCHES + 1))
        return PathsMatched(notes[:MOST_MATCHES], len(notes), None, whole=len(notes) <= MOST_MATCHES)
    best = Best(command.wanted)
    best.take_folded(entries, admits=admits)
    return PathsMatched(best.paths, best.count, behind)


def _admits(scope: Scope, path: str) -> bool:
    try:
        return scope.admits(RelPath.parse(path))
    except InvalidPath:
        return False
