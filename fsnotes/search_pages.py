"""Decides how a search is put together from bounded calls and cut into pages.

Where there is an index, what it knows comes first, best first, and then what it does not know: notes that changed since
are looked into, a few at once, and where it is not known which those are, by going through the workspace. So whoever
goes on to the last page has seen everything, at whatever state the index is. Without an index all notes are gone
through, in path order.

A page begins behind a note or, with a regular expression that takes long, within one: notes that stay as they are come
once, whatever happens to others between two pages. A page that takes long is answered as it is, so that no call hangs
in a large workspace: it says that it is partial.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, Final

from fsnotes.access import Grant
from fsnotes.errors import IndexUnusable, InvalidArgument
from fsnotes.freshness import Freshness, Standing
from fsnotes.hits import NotesFound, hit
from fsnotes.listings import MAX_LIMIT
from fsnotes.notes.commands import Hit, SearchNotes, Skipped, by_reason
from fsnotes.notes.index_commands import SearchIndex, SearchPaths
from fsnotes.notes.replies import PathsSearched
from fsnotes.notes.scope import Scope
from fsnotes.notes.tag_keys import key_of
from fsnotes.pages import Page, Query
from fsnotes.runners import Runner
from fsnotes.search_places import InIndex, InNotes, SearchPlace, read_place
from sandbox.errors import InvalidPath
from sandbox.names import ROOT, RelPath
from sandbox.records import record, replace

PAGE_SECONDS: Final = 1.0
"""A page asks for no further stretch once it has taken this long."""

DEFAULT_LIMIT: Final = 20

MOST_TOLD: Final = 2_000
"""Most bytes of paths that a cursor carries."""


def search_notes(
    runner: Runner,
    grant: Grant,
    query: str,
    *,
    freshness: Freshness,
    folder: str = "",
    tag: str | None = None,
    regex: bool = False,
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
    abandoned: Callable[[], bool],
    report: Callable[[int, int, str], None] = lambda *_: None,
    clock: Callable[[], float] = time.monotonic,
) -> NotesFound:
    """Return one page of the notes in *folder* that *query* means or, with *regex*, in which it matches.

    With *tag*, only those that have it. *freshness* says how the index stands; how far it is while it is being built
    is told by *report* to who may know. Raises InvalidArgument, for a cursor of another query too.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidArgument("limit", f"from 1 to {MAX_LIMIT}")
    key = None if tag is None else key_of(tag)
    if tag is not None and key is None:
        raise InvalidArgument("tag", "no tag is written so")
    pages = Query("search", grant.principal.name, grant.workspace.name, query, folder, key, regex)
    position = pages.position(cursor)
    # Of how many notes there are, those may know who see all of them.
    sees_all = Scope(grant.folders).covers(ROOT)

    def tell() -> None:
        progress = freshness.progress() if sees_all else None
        if progress is not None and not progress.is_ready:
            report(progress.indexed, progress.indexed + progress.remaining, "notes in the search index")

    search = _Search(
        runner, grant, _Asked(query, folder, key, regex), limit, abandoned, tell, freshness.lost, clock
    )
    following = search.begin(freshness.standing()) if position is None else search.go_on(read_place(position))
    return NotesFound(
        tuple(search.hits),
        search.is_over and following is not None,
        by_reason(search.skipped),
        None if following is None else pages.cursor(following.written()),
        freshness.progress() if sees_all else None,
    )


# -- a page ------------------------------------------------------------------------------------------


@record
class _Asked:
    """What is searched."""

    query: str
    folder: str
    tag: str | None
    regex: bool


class _Search:
    """One page that is being filled."""

    def __init__(
        self,
        runner: Runner,
        grant: Grant,
        asked: _Asked,
        limit: int,
        abandoned: Callable[[], bool],
        tell: Callable[[], None],
        lost: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self._runner = runner
        self._grant = grant
        self._asked = asked
        self._limit = limit
        self._abandoned = abandoned
        self._tell = tell
        self._lost = lost
        self._clock = clock
        self._end = clock() + PAGE_SECONDS
        self._page = Page(limit)
        self._is_full = False
        self.hits: list[Hit] = []
        self.skipped: list[Skipped] = []
        self.is_over = False
        """Whether it ends where it does since it took long."""

    def begin(self, standing: Standing) -> SearchPlace | None:
        """Fill the first page; return where the next one begins."""
        try:
            return self._first(standing)
        except IndexUnusable:
            self._lost()
            # There is none, or it is being made: what was found so far is found again.
            self._page, self._is_full, self.hits, self.skipped = Page(self._limit), False, [], []
            return self._through_notes(InNotes())

    def go_on(self, place: SearchPlace) -> SearchPlace | None:
        """Fill another page from *place* on; return where the next one begins."""
        try:
            if isinstance(place, InIndex):
                return self._through_index(place)
            return self._through_notes(place)
        except IndexUnusable as error:
            raise InvalidArgument(
                "cursor", "the search index was made anew meanwhile; start without one"
            ) from error

    def _first(self, standing: Standing) -> SearchPlace | None:
        told = self._looked_into(standing.paths) if standing.settled else None
        if told is None:
            return self._through_index(None)
        place = self._through_index(None, told, settled=True, generation=standing.generation)
        self.skipped += self._seen(standing.skipped)
        return place

    # -- what changed a moment ago -----------------------------------------------------------------

    def _looked_into(self, paths: tuple[str, ...]) -> tuple[str, ...] | None:
        """Look into the notes at *paths*, and return where those are that were found.

        None where they are too many for this page, or for a cursor: then none is on it.
        """
        found: list[Hit] = []
        skipped: list[Skipped] = []
        within = 0
        while paths:
            reply: PathsSearched = self._run(
                SearchPaths(
                    self._asked.query,
                    paths,
                    self._asked.folder,
                    self._asked.tag,
                    self._asked.regex,
                    within,
                    self._limit,
                )
            )
            found += reply.hits
            skipped += reply.skipped
            paths, within = paths[reply.done :], reply.within
            if self._page.fitting(map(hit, found)) < len(found) or (paths and not self._clock() < self._end):
                return None
        told = tuple(each.path for each in found)
        if len(json.dumps(told, ensure_ascii=False).encode()) > MOST_TOLD:
            return None
        self._take(tuple(found))
        self.skipped += skipped
        return told

    # -- what the index gives ----------------------------------------------------------------------

    def _through_index(
        self,
        place: InIndex | None,
        without: tuple[str, ...] = (),
        *,
        settled: bool = False,
        generation: str | None = None,
    ) -> SearchPlace | None:
        """Go through what the index gives behind *place*, None for all of it; return where the next page begins."""
        mark, upto = (None, None) if place is None else (place.mark, place.upto)
        if place is not None:
            without, settled = place.without, place.settled
        while True:

            def ask(most: int, mark: str | None = mark, upto: int | None = upto) -> SearchIndex:
                asked = self._asked
                return SearchIndex(
                    asked.query,
                    asked.folder,
                    asked.tag,
                    asked.regex,
                    mark,
                    upto,
                    without,
                    settled,
                    most,
                )

            reply, taken = self._asked_for(ask)
            if (generation if place is None else place.generation) not in (None, reply.generation):
                raise IndexUnusable("the search index was made anew")
            if settled and not reply.complete:
                raise IndexUnusable("the search index was made anew")  # since it was asked how it stands
            upto = reply.upto
            if reply.hits and not taken:
                return InIndex(mark, reply.generation, upto, settled, without)
            # What does not fit, since a note grew in between, has its place on no other page either.
            self._take(reply.hits[taken:])
            if settled:
                self.skipped += reply.skipped
            if reply.mark is None:
                if settled:
                    return None
                return self._through_notes(InNotes(None, None, reply.generation, upto))
            mark = reply.mark
            place = InIndex(mark, reply.generation, upto, settled, without)
            if self._is_done():
                return place

    # -- all notes, or those that the index does not know --------------------------------------------

    def _through_notes(self, place: InNotes) -> SearchPlace | None:
        """Go through the notes behind *place*; return where the next page begins."""
        while self._page.left:

            def ask(most: int, place: InNotes = place) -> SearchNotes:
                asked = self._asked
                return SearchNotes(
                    asked.query,
                    asked.folder,
                    asked.tag,
                    asked.regex,
                    place.after,
                    place.within,
                    most,
                    place.generation,
                    place.upto,
                )

            reply, taken = self._asked_for(ask)
            if taken < len(reply.hits):
                return replace(place, after=reply.hits[taken - 1].path, within=None) if taken else place
            self.skipped += reply.skipped
            if reply.resume is None:
                return None
            place = replace(place, after=reply.resume, within=reply.within)
            if self._is_done():
                break
        return place

    # -- shared ------------------------------------------------------------------------------------

    def _run(self, command: Any) -> Any:
        self._tell()
        return self._runner.run(self._grant, command, abandoned=self._abandoned)

    def _asked_for(self, ask: Callable[[int], Any]) -> tuple[Any, int]:
        """Ask for as many hits as there is room for, and take in those that fit; return the reply and their number."""
        reply = self._run(ask(self._page.left))
        fitting = self._page.fitting(map(hit, reply.hits))
        if fitting < len(reply.hits):
            # Once more, no further than the page has room: so what was skipped on the way is told once.
            self._is_full = True
            if not fitting:
                return reply, 0
            reply = self._run(ask(fitting))
        taken = 0
        for each in reply.hits:
            if not self._page.admits(hit(each)):
                break
            self.hits.append(each)
            taken += 1
        return reply, taken

    def _take(self, hits: tuple[Hit, ...]) -> None:
        for each in hits:
            self._page.admits(hit(each))
            self.hits.append(each)

    def _is_done(self) -> bool:
        """Say whether the page ends here, full or late."""
        if self._page.left == 0 or self._is_full:
            return True
        self.is_over = not self._clock() < self._end
        return self.is_over

    def _seen(self, items: tuple[Skipped, ...]) -> list[Skipped]:
        """Return those files that lie in the folder that is searched, as far as the grant goes."""
        try:
            asked = RelPath.parse_folder(self._asked.folder)
        except InvalidPath:
            return []
        scopes = (Scope(self._grant.folders), Scope((asked,)))
        is_all = asked == ROOT and scopes[0].covers(ROOT)
        return [
            item
            for item in items
            if (
                is_all
                if item.path is None
                else all(scope.covers_position(tuple(item.path.split("/"))) for scope in scopes)
            )
        ]
