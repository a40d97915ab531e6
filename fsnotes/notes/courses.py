"""What a move moves: which note or folder its words mean, where it goes, and which ids become which.

A name without a note's suffix may mean a note or a folder; where it could be either, nothing is guessed. What is
ignored stays ignored and what is served stays served, so a folder that holds both moves only where both stay so.
"""

from __future__ import annotations

from typing import Final

from fsnotes.errors import AmbiguousNote, InvalidArgument, NoteExists, NoteNotFound, PathRefused
from fsnotes.notes.catalogue import Catalogue
from fsnotes.notes.model import SUFFIXES, is_note, with_suffix
from fsnotes.notes.places import Vacancy, check_admitted, check_new_names, existing_note, vacancy
from fsnotes.notes.scope import Scope
from fsnotes.notes.translating import translated
from sandbox.errors import InvalidPath, Missing, NotAFolder, SandboxError
from sandbox.names import RelPath
from sandbox.records import record
from sandbox.root import Kind, Root
from sandbox.spelling import find

MAX_ENTRIES: Final = 200_000
"""Entries of a moved folder that are looked at for what is ignored: about 3 s."""


@record
class Course:
    """A move of *source* to *target*, for which so many folders are *missing*; a folder's with all in it."""

    source: RelPath
    target: RelPath
    missing: int
    is_folder: bool

    def path(self, path: RelPath) -> RelPath:
        """Return what becomes of *path*. Raises InvalidPath for one that would be too long or too deep."""
        if not path.starts_with(self.source):
            return path
        return RelPath(self.target.parts + path.parts[len(self.source.parts) :])

    def moves(self, catalogue: Catalogue) -> dict[str, str]:
        """Return which ids become which. Raises InvalidArgument where one would be too long or too deep."""
        source, target = str(self.source), str(self.target)
        if not self.is_folder:
            return {source: target}
        prefix = f"{source}/"
        found = {each: target + each[len(source) :] for each in catalogue if each.startswith(prefix)}
        try:
            for each in found.values():
                RelPath.parse(each)
        except InvalidPath as error:
            raise InvalidArgument("newPath", error.reason) from error
        return found


def course(
    root: Root,
    scope: Scope,
    path: str,
    new_path: str,
    *,
    checks_name: bool = True,
    checks_ignored: bool = True,
) -> Course:
    """Return the move that the ids *path* and *new_path* mean: with a `/` at the end, those of a folder.

    New names are judged with *checks_name* only: that needs a library which a worker that only looks does not have.
    What is ignored in a folder is looked for with *checks_ignored* only: that takes a look at all that is in it.

    Raises NoteNotFound, AmbiguousNote, NoteExists, InvalidArgument, PathRefused.
    """
    source = _source(root, scope, path)
    is_folder = root.kind(source) is Kind.FOLDER
    with translated(argument="newPath"):
        if new_path.endswith("/") and not is_folder:
            raise InvalidArgument("newPath", "it ends as that of a folder, and what is moved is a note")
        asked = RelPath.parse(new_path.removesuffix("/"))
        made = _course(root, scope, source, asked, is_folder=is_folder, checks_name=checks_name)
        if is_folder and scope.ignore and checks_ignored:
            _check_ignored(root, scope, made)
    return made


def _course(
    root: Root, scope: Scope, source: RelPath, asked: RelPath, *, is_folder: bool, checks_name: bool
) -> Course:
    if is_folder and is_note(asked.name):
        raise InvalidArgument("newPath", "it has a note's suffix, and what is moved is a folder")
    if not is_folder and not is_note(asked.name):
        asked = with_suffix(asked, SUFFIXES[0])
    check_admitted(scope, asked)
    if is_folder and asked.starts_with(source) and asked != source:
        raise InvalidArgument("newPath", "it lies in the folder that is moved")
    place = _target(root, asked, source, checks_name=checks_name)
    check_admitted(scope, place.path)
    if is_folder and _lies_in(root, place, source):
        raise InvalidArgument("newPath", "it lies in the folder that is moved")
    return Course(source, place.path, place.missing - 1, is_folder)


def _source(root: Root, scope: Scope, text: str) -> RelPath:
    asked = RelPath.parse(text.removesuffix("/"))
    folder: RelPath | None = None
    note: RelPath | None = None
    if scope.admits(asked):
        try:
            found = find(root, asked)
            folder = found if root.kind(found) is Kind.FOLDER else None
        except (Missing, NotAFolder):
            pass
    if text.endswith("/"):
        if folder is None:
            raise NoteNotFound("folder", text)
        return folder
    try:
        note = existing_note(root, scope, text)
    except NoteNotFound:
        pass
    except (PathRefused, InvalidPath):
        # The name may be too long for a note, and not for a folder.
        if folder is None:
            raise
    if folder is None and note is None:
        raise NoteNotFound("note or folder", text)
    if folder is not None and note not in (None, folder):
        raise AmbiguousNote(text, paths=(f"{folder}/", str(note)))
    # SAFETY: one of them is not None.
    return folder or note  # type: ignore[return-value]


def _target(root: Root, asked: RelPath, source: RelPath, *, checks_name: bool) -> Vacancy:
    """Return the place of *asked*: nothing stands there, or *source* itself in another spelling."""
    try:
        place = vacancy(root, asked)
    except NoteExists:
        if not _is_respelling(root, asked, source):
            raise
        place = Vacancy(source.parent.child(asked.name), 1)
    if checks_name:
        check_new_names(place)
    return place


def _lies_in(root: Root, place: Vacancy, source: RelPath) -> bool:
    """Say whether the folders that are there of *place*, in whatever spelling, lead through the folder *source*."""
    existing = place.path.parts[: len(place.path.parts) - place.missing]
    if len(existing) < len(source.parts):
        return False
    there, here = root.stamp(RelPath(existing[: len(source.parts)])), root.stamp(source)
    return (there.dev, there.ino) == (here.dev, here.ino)


def _is_respelling(root: Root, asked: RelPath, source: RelPath) -> bool:
    """Say whether *asked* finds *source* in its folder, by another name that is not taken."""
    if asked == source:
        return False
    try:
        if find(root, asked) == source:
            return True
        folder = find(root, asked.parent) if asked.parent.parts else asked.parent
        names = {entry.name: entry.identity for entry in root.list(folder, with_identity=True).entries}
        # A file system that folds case finds what has another name in its listing.
        return (
            folder == source.parent
            and asked.name not in names
            and root.kind(asked) is not None
            and asked.name.casefold() == source.name.casefold()
            and source.name in names
        )
    except SandboxError:
        return False


def _check_ignored(root: Root, scope: Scope, made: Course) -> None:
    """Refuse a move after which anything in the folder is ignored that is served now, or the other way round."""
    waiting = [made.source]
    looked = 0
    while waiting:
        folder = waiting.pop()
        try:
            entries = root.list(folder, with_identity=False).entries
        except SandboxError:
            continue
        looked += len(entries)
        if looked > MAX_ENTRIES:
            raise InvalidArgument("path", "it holds too much to look for what is ignored")
        for entry in entries:
            try:
                path = folder.child(entry.name)
                then = made.path(path)
            except InvalidPath as error:
                raise InvalidArgument("newPath", error.reason) from error
            if scope.ignores(path) != scope.ignores(then):
                raise InvalidArgument(
                    "newPath",
                    "something in it would be ignored there that is not now, or the other way round",
                )
            if entry.kind is Kind.FOLDER:
                waiting.append(path)
