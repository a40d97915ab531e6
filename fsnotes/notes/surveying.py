"""Which notes a move concerns: a look at every note of the workspace, some of them in each call.

A note is looked at by its bytes first, and scanned only where it may mention what is moved. All notes of the
workspace are looked at, since a link outside of the grant is to be counted; their names stay here. So the position in
a survey is a digest, by which the notes are ordered: it goes on behind it, whatever has come or gone since.

Limits: what is written to the old name behind the survey's back stays as it is written; files that come, go or move
meanwhile are told by the digest of all that were known when it began, and notes that another move rewrites by the mark
of its journal. Notes that the policy keeps out (links, hard links, too large ones) are not looked into, and counted;
those that are ignored are not even known.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Mapping
from contextlib import closing
from operator import itemgetter
from typing import Final

from fsnotes.errors import InvalidArgument
from fsnotes.notes.charts import Chart
from fsnotes.notes.commands import Surveyed, SurveyMove
from fsnotes.notes.courses import course
from fsnotes.notes.move_replies import MOST_SURVEYED, Unseen, is_survey_position
from fsnotes.notes.scope import Scope
from fsnotes.notes.walking import reason_of
from fsnotes.notes.workspace import Workspace
from sandbox.errors import Missing, NotAFolder, SandboxError, StorageFailed
from sandbox.root import Shelves

CALL_SECONDS: Final = 0.04
"""A call looks at no further note once it has taken this long."""

MOST_CHARACTERS: Final = 512 * 1024
"""A call looks at no further note once the names of those it has found are this long: a reply has a bound in bytes."""


def survey(
    workspace: Workspace, scope: Scope, command: SurveyMove, *, clock: Callable[[], float] = time.monotonic
) -> Surveyed:
    """Look at a stretch of the notes; see `SurveyMove`.

    Raises NotCounted, TooMuchToRelink, MovePending where no survey can begin, and what `course` raises.
    """
    if command.after is not None and not is_survey_position(command.after):
        raise InvalidArgument("cursor", "too long")
    first = command.after is None
    # Before anything else is looked at: what a move changes from here on makes another mark.
    last_move = workspace.last_move() if first or workspace.journal is None else workspace.journal.last_move()
    asked = workspace.root, scope, command.path, command.new_path
    made = course(*asked, checks_name=False, checks_ignored=False)
    known = None if first else workspace.charts.last(scope, made)
    chart, order = known or workspace.charts.get(scope, made, workspace.atlas.catalogue(scope))
    if first:
        # Not before all files are known, which takes several calls, and not in each call of the survey.
        made = course(*asked, checks_name=False)
    found: list[str] = []
    unseen: dict[str, int] = {}
    outside = length = work = 0
    end = clock() + CALL_SECONDS
    start = 0 if command.after is None else bisect_right(order, command.after, key=itemgetter(0))
    with closing(workspace.root.shelves()) as shelves:
        for digest, path in order[start:]:
            needed, beyond, reason = _look(chart, shelves, path)
            outside += beyond
            if reason is not None:
                unseen[reason] = unseen.get(reason, 0) + 1
            if needed:
                work += needed
                found.append(path)
                length += len(path)
            full = len(found) >= MOST_SURVEYED or length >= MOST_CHARACTERS
            if digest != order[-1][0] and (full or not clock() < end):
                return Surveyed(
                    tuple(found), work, outside, digest, chart.known, last_move, unseen=_told(unseen)
                )
    return Surveyed(tuple(found), work, outside, None, chart.known, last_move, unseen=_told(unseen))


def _look(chart: Chart, shelves: Shelves, path: str) -> tuple[int, int, str | None]:
    """Return how much work a note is, how many of its links are beyond the grant, and why it was not looked into."""
    try:
        data = shelves.read(path)
    except StorageFailed:
        return int(chart.covers(path)), 0, None  # whoever moves says so
    except (Missing, NotAFolder):
        return 0, 0, None  # gone
    except SandboxError as error:
        return 0, 0, reason_of(error) if chart.covers(path) else None
    return *chart.concerns(path, data), None


def _told(unseen: Mapping[str, int]) -> tuple[Unseen, ...]:
    return tuple(Unseen(reason, count) for reason, count in unseen.items())
