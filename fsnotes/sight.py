"""Decides what a caller who may change a note is shown of its text: nothing, unless they may read it as well.

A right to write is none to read. So without one an edit answers with no diff and a refusal with no line and no
heading of the note. That a text which the caller sent stands there, how often and in which lines, is told all the
same: without it nobody could edit. And nothing is moved or restored to where the caller could read it, unless they
can where it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from fsnotes.access import Access, Principal, Right
from fsnotes.errors import AmbiguousHeading, AnchorNotFound, FsnotesError, NotAllowed, NoteNotFound
from fsnotes.notes.globs import composed
from fsnotes.notes.model import readings
from fsnotes.notes.scope import Scope
from sandbox.errors import InvalidPath
from sandbox.names import RelPath
from sandbox.records import record


@record
class Sight:
    """What one caller sees of one note, or of a folder. *readable* is what they may read.

    *is_named* says that there can be one: what is no path at all is the workspace's to refuse.
    """

    reads: bool
    readable: Scope
    is_named: bool = True

    @classmethod
    def of(cls, access: Access, principal: Principal, workspace_uri: str, path: str) -> Self:
        """Find out what *principal* may read, the note that *path* means among it or not."""
        try:
            readable = Scope(access.authorize(principal, workspace_uri, Right.READ).folders)
        except NotAllowed:
            readable = Scope(())
        places = _meant(path)
        return cls(
            bool(places) and all(readable.covers(each) for each in places), readable, is_named=bool(places)
        )

    def check_move(self, new_path: str) -> None:
        """Raise NotAllowed if the note, or anything in the folder, could be read at *new_path* and cannot be now."""
        if self.reads or not self.is_named:
            return
        try:
            asked = RelPath.parse(new_path.removesuffix("/"))
        except InvalidPath:
            return  # which the workspace refuses
        places = [_folded(asked.parts)]
        try:
            places += [_folded(each.parts) for each in readings(asked)]
        except InvalidPath:
            pass  # no note can have this name, but a folder
        readable = [_folded(folder.parts) for folder in self.readable.folders]
        if any(
            place[: len(folder)] == folder or folder[: len(places[0])] == places[0]
            for folder in readable
            for place in places
        ):
            raise NotAllowed("what may not be read would become readable")

    def sees(self, path: str) -> bool:
        """Say whether the caller could read the note *path*."""
        return self.readable.covers_position(tuple(path.split("/")))

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Leave out of a refusal in the block what the caller may not see."""
        try:
            yield
        except (AmbiguousHeading, AnchorNotFound, NoteNotFound) as refusal:
            if self.reads:
                raise
            raise _veiled(refusal) from None


def _veiled(refusal: AmbiguousHeading | AnchorNotFound | NoteNotFound) -> FsnotesError:
    match refusal:
        case AnchorNotFound(hint=""):
            return AnchorNotFound(refusal.path, hint="unreadable")
        case AnchorNotFound():
            return AnchorNotFound(refusal.path, hint=refusal.hint, line=refusal.line)
        case NoteNotFound():
            return NoteNotFound(refusal.what, refusal.name)
        case _:
            return AmbiguousHeading(refusal.name)


def _meant(path: str) -> tuple[RelPath, ...]:
    """Return what *path* may mean; nothing where it is no path."""
    try:
        return (
            (RelPath.parse(path.removesuffix("/")),) if path.endswith("/") else readings(RelPath.parse(path))
        )
    except InvalidPath:
        return ()


def _folded(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return what all spellings of a path have in common that a file system may take for one.

    To be compared and never opened: a name may become longer than one can be.
    """
    return composed(tuple(part.casefold() for part in composed(parts)))
