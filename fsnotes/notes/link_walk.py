"""Goes through the links of notes, a bounded stretch of them a call: what each of them means to whoever asks is his.

A call ends within a note if need be, and says with which of its links the next one goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Final, NamedTuple

from fsnotes.errors import NotText
from fsnotes.notes.begun import Scanned
from fsnotes.notes.catalogue import Catalogue, Resolution
from fsnotes.notes.markdown.links import Link
from fsnotes.notes.model import is_note
from fsnotes.notes.replies import Skipped
from fsnotes.notes.scope import Scope
from fsnotes.notes.stretches import TOLD_CHARACTERS, Clock, Stretch
from fsnotes.notes.texts import decoded
from fsnotes.notes.workspace import Workspace
from sandbox.errors import SandboxError
from sandbox.names import RelPath

CALL_SECONDS: Final = 0.05
"""A call judges no further link once it has taken this long."""

LEAST_LINKS: Final = 2_000
"""A call judges this many links whatever time it takes, since it may have to scan their note anew."""

_OPENINGS: Final = (b"[[", b"](", b"]:")


class Walked(NamedTuple):
    """What was left out, and where the next call goes on: behind the note *resume*, or with its link *within*."""

    skipped: tuple[Skipped, ...]
    resume: str | None
    within: int | None


def may_have_links(data: bytes) -> bool:
    """Say whether a note with these bytes may have links: never a wrong no."""
    return any(opening in data for opening in _OPENINGS)


class LinkWalk:
    """One call: whoever has one decides in `judge` what a link means, and adds to *told* what it takes in a reply."""

    def __init__(self, workspace: Workspace, scope: Scope, clock: Clock, *, anew: bool) -> None:
        self.told = 0
        self.clock: Final = clock
        self.root: Final = workspace.root
        self._scope = scope
        self._begun = workspace.begun
        self._files: Catalogue = workspace.views.of(scope, anew=anew)
        self._end = clock() + CALL_SECONDS
        self._judged = 0

    def judge(self, source: str, number: int, link: Link, scanned: Scanned, resolution: Resolution) -> None:
        """Take one link in: that of this *number* in the note *source*."""
        raise NotImplementedError

    def counts(self, link: Link) -> bool:
        """Say whether the link may lead to a file here."""
        return not link.external and link.path is not None

    @property
    def may_end(self) -> bool:
        """Whether enough was done for the time to matter."""
        return self._judged >= LEAST_LINKS

    @property
    def is_full(self) -> bool:
        """Whether the call has done what it may."""
        return self.told >= TOLD_CHARACTERS or (self.may_end and not self.clock() < self._end)

    def take(self, source: str, text: str, *, first: int = 0) -> int | None:
        """Take the links of the note *source* from the one of number *first* on, as far as this call may.

        Returns the number of the one to go on with, None once there are no more.
        """
        scanned = self._begun.take(text)
        if scanned is None:
            start = self.clock()
            scanned = Scanned(text)
            # As long as it took, the call may go on: so a chain that scans a note in each call takes twice its time.
            self._end = max(self._end, 2 * self.clock() - start)
        for number in range(first, len(scanned.links)):
            link = scanned.links[number]
            if not self.counts(link):
                continue
            if self.is_full:
                self._begun.keep(scanned)
                return number
            self._judged += 1
            self.judge(source, number, link, scanned, self._files.resolve(link, source))
        return None

    def through(
        self,
        stretch: Stretch,
        *,
        after: str | None,
        within: int | None,
        may_count: Callable[[bytes], bool] = may_have_links,
    ) -> Walked:
        """Take the links of the notes of a *stretch*; first, from number *within* on, those of the note at *after*.

        *may_count* says of a note's bytes whether it may have one that counts.
        """
        if after is not None and within is not None:
            begun = self._begun_text(after)
            stopped = None if begun is None else self.take(after, begun, first=within)
            if stopped is not None:
                return Walked((), after, stopped)
        with closing(stretch.notes()) as notes:
            for note, data in notes:
                path = str(note.path)
                try:
                    text = decoded(data, path=path)
                except NotText:
                    stretch.skip(note, "not_text")
                    continue
                stopped = self.take(path, text) if may_count(data) else None
                if stopped is not None:
                    return Walked(stretch.counted, path, stopped)
        return Walked(stretch.counted, stretch.resume, None)

    def _begun_text(self, text: str) -> str | None:
        """Return the note at *text*, some of whose links were judged; None where it is gone, or is no text any more."""
        try:
            path = RelPath.parse(text)
            if not (self._scope.admits(path) and is_note(path.name)):
                return None
            return self.root.read(path).data.decode("utf-8")
        except (SandboxError, UnicodeDecodeError):
            return None
