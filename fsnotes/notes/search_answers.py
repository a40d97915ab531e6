"""Whether the notes that a worker says a search found are such as can be, in order, and whether it gets on.

Its word that a query means a note is taken: that all are notes within the folder and the grant is judged in
`answers.py`.
"""

from __future__ import annotations

import itertools
import math

from fsnotes.notes.commands import Hit, Searched, SearchNotes
from fsnotes.notes.completing import MOST_MATCHES, rank
from fsnotes.notes.index.bounds import MAX_LINES
from fsnotes.notes.index_commands import KeepIndex, MatchPaths, SearchIndex, SearchPaths
from fsnotes.notes.replies import IndexKept, IndexSearched, PathsMatched, PathsSearched

_Place = tuple[tuple[str, ...], float]
"""A position, and the byte within the note there; infinite behind it."""


def answers_search(command: SearchNotes, reply: Searched) -> bool:
    """Say whether the hits come in order, behind where the last call ended, and the next one begins behind them."""
    before = (
        [] if command.after is None else [_place(command.after, command.within if command.regex else None)]
    )
    places = before + [_place(hit.path, None) for hit in reply.hits]
    last = None if reply.resume is None else _place(reply.resume, reply.within)
    return (
        len(reply.hits) <= max(1, command.limit)
        and all(place < following for place, following in itertools.pairwise(places))
        and all(_is_shown_well(hit) for hit in reply.hits)
        and all(item.path is None for item in reply.skipped)
        and (reply.within is None or (command.regex and reply.resume is not None))
        and (last is None or not before or before[0] < last)
        and (last is None or not reply.hits or places[-1] <= last)
    )


def answers_index(command: SearchIndex, reply: IndexSearched) -> bool:
    """Say whether the hits are as many different notes as were asked for, and the next call begins elsewhere."""
    paths = {hit.path for hit in reply.hits}
    return (
        len(reply.hits) <= max(1, command.limit)
        and len(paths) == len(reply.hits)
        and paths.isdisjoint(command.without)
        and all(_is_shown_well(hit) for hit in reply.hits)
        and all(item.path is None for item in reply.skipped)
        and (command.upto is None or reply.upto == command.upto)
        and (reply.mark is None or reply.mark != command.after)
    )


def answers_paths(command: SearchPaths, reply: PathsSearched) -> bool:
    """Say whether the hits are among the paths, in their order, and the call got on."""
    asked = iter(command.paths[: reply.done + 1])
    return (
        len(reply.hits) <= max(1, command.limit)
        and all(hit.path in asked for hit in reply.hits)
        and all(_is_shown_well(hit) for hit in reply.hits)
        and all(item.path is None for item in reply.skipped)
        and reply.done <= len(command.paths)
        and (reply.within == 0 or (command.regex and reply.done < len(command.paths)))
        and (reply.done > 0 or not command.paths or reply.within > command.within)
    )


def answers_matching(command: MatchPaths, reply: PathsMatched) -> bool:
    """Say whether the ids are different ones that may be meant, none of them left out, and the call got on."""
    return (
        len(set(reply.notes)) == len(reply.notes) <= min(MOST_MATCHES, reply.count)
        and all(rank(path, command.wanted) is not None for path in reply.notes)
        and frozenset(reply.notes).isdisjoint(command.without)
        and (reply.whole or (len(reply.notes) == MOST_MATCHES and reply.behind is None))
        and (reply.behind is None or reply.behind > command.after)
    )


def answers_keeping(command: KeepIndex, reply: IndexKept) -> bool:
    """Say whether what is left is of what was asked for, and no more is indexed than there is."""
    return frozenset(reply.rest) <= frozenset(command.paths) and 0 <= reply.indexed <= reply.total


def _place(position: str, within: int | None) -> _Place:
    return tuple(position.split("/")), math.inf if within is None else within


def _is_shown_well(hit: Hit) -> bool:
    """Say whether the lines are a few different ones in order, and each is one."""
    numbers = [each.line for each in hit.lines]
    return (
        len(numbers) <= MAX_LINES
        and all(before < number for before, number in itertools.pairwise([0, *numbers]))
        and all("\n" not in each.excerpt for each in hit.lines)
    )
