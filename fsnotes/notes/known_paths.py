"""The ids of the notes that the index knows, matched with what somebody has typed.

Nothing is read but the index. Which notes changed since is known above: their paths are left out, and looked at there.
A call goes through a stretch of the ids; once all have been read, one call answers for all of them.
"""

from __future__ import annotations

import itertools

from fsnotes.errors import IndexUnusable
from fsnotes.notes.completing import MOST_MATCHES, Best
from fsnotes.notes.globs import composed
from fsnotes.notes.id_chart import IdChart
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
            entries, behind = workspace.ids.stretch(view, version, command.after, draw=IdChart)

    within = tuple("/".join([*composed(folder.parts), ""]) for folder in scope.folders if folder.parts)
    is_part = all(folder.parts for folder in scope.folders)

    def admits(path: str) -> bool:
        # Of a caller who sees a small part, most ids are known by their beginning to be elsewhere.
        if is_part and path.isascii() and not path.startswith(within):
            return False
        return path not in without and _admits(scope, path)

    if chart is not None:
        matching = filter(admits, chart.matching(command.wanted))
        # Whether there are more than as many as may be told is not looked for: that can take longer than the rest.
        notes = tuple(itertools.islice(matching, MOST_MATCHES))
        return PathsMatched(notes, len(notes), None, whole=len(notes) < MOST_MATCHES)
    best = Best(command.wanted)
    best.take_folded(entries, admits=admits)
    return PathsMatched(best.paths, best.count, behind)


def _admits(scope: Scope, path: str) -> bool:
    try:
        return scope.admits(RelPath.parse(path))
    except InvalidPath:
        return False
