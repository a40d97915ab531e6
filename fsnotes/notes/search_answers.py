"""Whether the notes that a worker says a search found are such as can be, in order, and whether it gets on.

Its word that a query means a note is taken: that all are notes within the folder and the grant is judged in
`answers.py`.
"""

from __future__ import annotations

import itertools
import math

from fsnotes.notes.commands import Hit, Searched, SearchNotes
from fsnotes.notes.index.bounds import MAX_LINES

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
