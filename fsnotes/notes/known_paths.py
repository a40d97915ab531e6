"""The ids of the notes that the index knows, matched with what somebody has typed.

Nothing is read but the index. Which notes changed since is known above: their paths are left out, and looked at there.
A call goes through a stretch of the ids; once all have been read, one call answers for all of them.
"""

from __future__ import annotations

import itertools

from fsnotes.errors import IndexUnusable
from fsnotes.notes.completing import MOST_MATCHES, Best
from fsnotes.notes.id_chart import IdChart
from fsnotes.notes.index.reader import standing
from fsnotes.notes.index_commands import MatchPaths
from fsnotes.notes.known_ids import ids_in
from fsnotes.notes.replies import PathsMatched
from fsnotes.notes.scope import Scope
from fsnotes.notes.workspace import Workspace
from sandbox.errors import InvalidPath
from sandbox.names import ROOT, RelPath


def match_paths(workspace: Workspace, scope: Scope, command: MatchPaths) -> PathsMatched:
    """Match the ids that are known; see `MatchPaths`. Raises IndexUnusable.

    Whoever sees a part of the workspace has that part looked through and nothing else: how long a call takes must not
    tell what there is beside it. All others share what has been read of all ids.
    """
    if workspace.index is None:
        raise IndexUnusable("there is no search index")
    without = frozenset(command.without)
    chart = None
    with workspace.index.view() as view:
        if standing(view).generation != command.generation:
            raise IndexUnusable("the search index was made anew")
        if not scope.covers(ROOT):
            entries, behind = ids_in(view, scope.tops(), command.after)
        else:
            version = view.version()
            # One that goes on with stretches has no use for all of them.
            chart = workspace.ids.chart(version) if command.after == 0 else None
            if chart is None:
                entries, behind = workspace.ids.stretch(view, version, command.after, draw=IdChart)

    def admits(path: str) -> bool:
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
