"""A page of hits: what the index gives, and notes that are looked through because it does not know them, each read.

Every note is read before it is told of, since its lines are shown; so what has changed since it was indexed is found
out, and what is typed with punctuation is looked up. A call ends after some time; it says where the next one goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from fsnotes.notes.index.bounds import CALL_BYTES, CALL_SECONDS
from fsnotes.notes.index.known import Known
from fsnotes.notes.index.pieces import UNKNOWN, check_known, look_into, may_be_tagged, reason_for
from fsnotes.notes.index.reader import Reader, Standing, standing
from fsnotes.notes.index.rows import Stat
from fsnotes.notes.index.searching import ALL, Asked, Position, candidates
from fsnotes.notes.index.snippets import Line, shown_title
from sandbox.errors import InvalidPath, RootUnusable, SandboxError
from sandbox.names import RelPath
from sandbox.root import Content, Root

MOST_HITS: Final = 50
"""Most hits of a page."""
_SPARE: Final = 20
_MORE_TO_SPARE: Final = 200
"""How many candidates more a call fetches than it needs: some may not be what they seem, and many where it is looked up
how a word is typed."""


class Hit(NamedTuple):
    """A note that was found, and the lines that show it."""

    path: str
    title: str
    lines: tuple[Line, ...]


class Page(NamedTuple):
    """Hits in order. *after* is where the next page goes on, None at the end.

    *standing* is that of the index. *left_out* are the reasons for which notes could not be looked into, one for each.
    """

    hits: tuple[Hit, ...]
    after: Position | None
    standing: Standing
    left_out: tuple[str, ...] = ()


class LookedThrough(NamedTuple):
    """Hits among notes that were read, and those paths that are left for another call.

    *left_out* as for a `Page`.
    """

    hits: tuple[Hit, ...]
    left: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def page(
    reader: Reader,
    root: Root,
    asked: Asked,
    *,
    limit: int,
    clock: Callable[[], float],
    after: Position | None = None,
    known: Known = ALL,
) -> Page:
    """Return at most *limit* hits behind *after* that the index gives, among those of its notes that are *known*.

    For about CALL_SECONDS: a page may be shorter than *limit*, even empty, and not the last. Raises IndexUnusable and
    RootUnusable.
    """
    limit = max(1, min(limit, MOST_HITS))
    spare = _SPARE if asked.matcher.query.exact else _MORE_TO_SPARE
    with reader.view() as view:
        state = standing(view)
        found = candidates(view, asked, after=after, most=limit + spare, known=known)
    # From here on: what it took to find out which to read is no reason to read fewer.
    end = clock() + CALL_SECONDS
    hits: list[Hit] = []
    left_out: list[str] = []
    size = 0
    for place, candidate in enumerate(found.candidates, start=1):
        data = read_as_known(root, candidate.path, candidate.stat, known)
        if data is not None:
            size += len(data)
            _look(candidate.path, data, asked, hits, left_out, clock)
        if len(hits) == limit or size >= CALL_BYTES or clock() >= end:
            last = place == len(found.candidates) and not found.more
            return Page(tuple(hits), None if last else candidate.position, state, tuple(left_out))
    rest = found.candidates[-1].position if found.more and found.candidates else None
    return Page(tuple(hits), rest, state, tuple(left_out))


def look_through(
    root: Root, asked: Asked, paths: Sequence[str], *, clock: Callable[[], float], most: int = MOST_HITS
) -> LookedThrough:
    """Read the notes at *paths* in order, and return those that the query means, at most *most*.

    For about CALL_SECONDS. A path where no note is, or that may not be told of, is passed over. Raises RootUnusable.
    """
    end = clock() + CALL_SECONDS
    hits: list[Hit] = []
    left_out: list[str] = []
    size = 0
    for place, path in enumerate(paths):
        if place and (len(hits) >= most or size >= CALL_BYTES or clock() >= end):
            return LookedThrough(tuple(hits), tuple(paths[place:]), tuple(left_out))
        data = read_note(root, path) if asked.admits(path) else None
        if data is None:
            continue
        size += len(data)
        _look(path, data, asked, hits, left_out, clock)
    return LookedThrough(tuple(hits), (), tuple(left_out))


def read_note(root: Root, path: str) -> bytes | None:
    """Return a note's bytes, None where there is none that is served. Raises RootUnusable."""
    content = _content(root, path)
    return None if content is None else content.data


def read_as_known(root: Root, path: str, stat: Stat | None, known: Known) -> bytes | None:
    """Return a note's bytes; None where there is none, or where it has to be as the index knows it and is not.

    Raises RootUnusable.
    """
    content = _content(root, path)
    if content is None or not (known.settled or stat == Stat.of(content.identity)):
        return None
    return content.data


def _content(root: Root, path: str) -> Content | None:
    try:
        return root.read(RelPath.parse(path))
    except RootUnusable:
        raise
    except (SandboxError, InvalidPath):
        return None


def _look(
    path: str, data: bytes, asked: Asked, hits: list[Hit], left_out: list[str], clock: Callable[[], float]
) -> None:
    """Look into a note, and note what became of it."""
    try:
        hit = _meant(path, data, asked, clock)
    except UNKNOWN as error:
        left_out.append(reason_for(error))
    else:
        if hit is not None:
            hits.append(hit)


def _meant(path: str, data: bytes, asked: Asked, clock: Callable[[], float]) -> Hit | None:
    key = asked.tag_key()
    if not may_be_tagged(key, path, data):
        return None
    found = look_into(asked.matcher, path, data, clock=clock)
    if found is None:
        return None
    check_known(key, data)
    return Hit(path, shown_title(found[0]), found[1])
