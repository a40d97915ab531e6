"""What a search takes from the index, and how the notes are looked into that it does not know.

The index gives notes in an order; each is read before it is told of, so that what changed since is found out. Which
calls make a page is decided above.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from fsnotes.errors import IndexUnusable
from fsnotes.notes.commands import Hit, HitLine, Skipped, by_reason
from fsnotes.notes.index import answering
from fsnotes.notes.index.known import NEXT_ID, Known
from fsnotes.notes.index.matching import matcher_of
from fsnotes.notes.index.reader import Reader
from fsnotes.notes.index.searching import Asked, Position
from fsnotes.notes.index_commands import SearchIndex, SearchPaths
from fsnotes.notes.places import existing_folder
from fsnotes.notes.replies import IndexSearched, PathsSearched
from fsnotes.notes.scope import Scope
from fsnotes.notes.stretches import Clock
from fsnotes.notes.workspace import Workspace
from sandbox.root import Root

_UNREAD: Final = "SELECT path FROM docs WHERE reason IS NOT NULL"
_UNUSED: Final = "unused"
"""A query, where it is a pattern that decides."""


def search_index(
    workspace: Workspace, scope: Scope, command: SearchIndex, *, clock: Clock = time.monotonic
) -> IndexSearched:
    """Find notes that the index knows; see `SearchIndex`. Raises IndexUnusable."""
    reader = _reader(workspace)
    asked = _asked(workspace.root, scope, command)
    with reader.view() as view:
        upto = view.number(NEXT_ID) if command.upto is None else command.upto
        unread = view.rows(_UNREAD) if command.after is None else []
    known = Known(upto, frozenset(command.without), command.settled)
    if command.regex:
        from fsnotes.notes.combed import comb_index  # loads RE2

        found = comb_index(reader, workspace.root, asked, command, known, clock)
        hits, mark, standing = found.hits, found.after and str(found.after), found.standing
        left_out: tuple[str, ...] = ()
    else:
        after = None if command.after is None else Position.parse(command.after)
        page = answering.page(
            reader, workspace.root, asked, limit=command.limit, clock=clock, after=after, known=known
        )
        hits, mark, standing = page.hits, page.after and str(page.after), page.standing
        left_out = page.left_out
    not_text = sum(asked.admits(path) for (path,) in unread)
    return IndexSearched(
        tuple(map(told, hits)),
        _counted(("not_text",) * not_text + tuple(why for why in left_out if why != "not_text")),
        mark,
        standing.generation,
        upto,
        standing.complete,
    )


def search_paths(
    workspace: Workspace, scope: Scope, command: SearchPaths, *, clock: Clock = time.monotonic
) -> PathsSearched:
    """Look into the notes at some paths; see `SearchPaths`."""
    asked = _asked(workspace.root, scope, command)
    skipped: tuple[Skipped, ...]
    if command.regex:
        from fsnotes.notes.combed import comb_paths  # loads RE2

        combed = comb_paths(workspace.root, asked, command, clock)
        hits, left, within, skipped = combed.hits, combed.left, combed.offset, ()
    else:
        through = answering.look_through(
            workspace.root, asked, command.paths, clock=clock, most=command.limit
        )
        hits, left, within = through.hits, through.left, 0
        skipped = _counted(through.left_out)
    return PathsSearched(tuple(map(told, hits)), skipped, len(command.paths) - len(left), within)


def _counted(reasons: Iterable[str]) -> tuple[Skipped, ...]:
    return by_reason(Skipped(None, 1, reason) for reason in reasons)


def told(hit: answering.Hit) -> Hit:
    """Return a hit as it crosses."""
    return Hit(hit.path, hit.title, tuple(HitLine(line.number, line.text) for line in hit.lines))


def _reader(workspace: Workspace) -> Reader:
    if workspace.index is None:
        raise IndexUnusable("there is no search index")
    return workspace.index


def _asked(root: Root, scope: Scope, command: SearchIndex | SearchPaths) -> Asked:
    folder = str(existing_folder(root, scope, command.folder)) if command.folder else ""
    return Asked(matcher_of(_UNUSED if command.regex else command.query), scope, folder, command.tag)
