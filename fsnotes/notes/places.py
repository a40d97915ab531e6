"""Which path of the workspace a caller's words mean: an existing note or folder, or the place of a new one.

Everything that can be refused by the words alone is refused before anything is opened.
"""

from __future__ import annotations

from typing import Final

from fsnotes.errors import AmbiguousNote, NoteExists, NoteNotFound, PathRefused, ReadOnlyNote
from fsnotes.notes.globs import composed
from fsnotes.notes.model import SUFFIXES, is_note, readings, with_suffix
from fsnotes.notes.scope import Scope
from sandbox.errors import Missing, NotAFolder
from sandbox.names import ROOT, RelPath, check_new_name
from sandbox.records import record
from sandbox.root import Content, FileIdentity, Kind, Root
from sandbox.spelling import find

_WRITABLE: Final = 0o222
"""The rights to write in a file's mode: its owner's, its group's, all others'."""


@record
class Vacancy:
    """A path where nothing stands, and how many entries a file there needs: itself and its missing folders."""

    path: RelPath
    missing: int


def check_admitted(scope: Scope, path: RelPath) -> None:
    """Refuse a path that the scope does not cover, that is hidden, or that is ignored: existing or not."""
    if not scope.admits(path):
        raise PathRefused("outside the scope, hidden or ignored")


def is_reading(path: str, asked: str) -> bool:
    """Say whether *path* is what *asked* may mean: spelled alike but for Unicode's forms and the suffix."""
    if path == asked:
        return True
    spelled, wanted = composed((path, asked))
    return spelled in (wanted, *(wanted + suffix for suffix in SUFFIXES))


def asked_paths(scope: Scope, text: str) -> tuple[RelPath, ...]:
    """Return the paths that the note id *text* may mean, each admitted by *scope*. Opens nothing."""
    # All readings lie in one folder and are hidden alike, but a pattern may ignore one of them.
    paths = readings(RelPath.parse(text))
    admitted = tuple(path for path in paths if scope.admits(path))
    if not admitted:
        raise PathRefused("outside the scope, hidden or ignored")
    return admitted


def existing_note(root: Root, scope: Scope, text: str) -> RelPath:
    """Return the existing note that *text* means, in the spelling it has on the disk.

    Raises NoteNotFound, and AmbiguousNote when both suffixes or several Unicode spellings exist.
    """
    asked = asked_paths(scope, text)
    # Nearly every id is ASCII and spelled as on the disk: looking it up costs no listing of its folder.
    existing = [path for path in asked if str(path).isascii() and root.kind(path) is not None]
    if not existing:
        existing = [found for path in asked if (found := _find(root, path)) is not None]
    if not existing:
        raise NoteNotFound("note", text)
    if len(existing) > 1:
        raise AmbiguousNote(text, paths=tuple(str(path) for path in existing))
    return existing[0]


def open_note(root: Root, scope: Scope, text: str) -> tuple[RelPath, Content]:
    """Return the existing note that *text* means, and what is in it. Raises what `existing_note` raises."""
    paths = asked_paths(scope, text)
    if len(paths) == 1 and text.isascii():
        # The name as it was given, which is what nearly everybody gives: one step instead of two.
        try:
            return paths[0], root.read(paths[0])
        except Missing:
            pass
    path = existing_note(root, scope, text)
    return path, root.read(path)


def check_may_change(path: RelPath, identity: FileIdentity) -> None:
    """Raise ReadOnlyNote for a file without any right to write: no editor would save it.

    An exchange of names needs no such right, so nothing else keeps a text that its owner has protected. Whose right
    to write it is, is not asked: what cannot be kept of a file of somebody else's is told instead.
    """
    if not may_change(identity):
        raise ReadOnlyNote(str(path))


def may_change(identity: FileIdentity) -> bool:
    """Say whether anybody has a right to write the file."""
    return bool(identity.mode & _WRITABLE)


def _find(root: Root, path: RelPath) -> RelPath | None:
    try:
        return find(root, path)
    except Missing:
        return None


def existing_folder(root: Root, scope: Scope, text: str) -> RelPath:
    """Return the existing folder that *text* means. Raises NoteNotFound where there is none."""
    asked = RelPath.parse_folder(text)
    check_admitted(scope, asked)
    folder = find(root, asked)
    match root.kind(folder):
        case Kind.FOLDER:
            return folder
        case Kind.LINK:
            raise PathRefused("a link")
        case _:
            raise NoteNotFound("folder", text)


def new_note(root: Root, scope: Scope, text: str) -> Vacancy:
    """Return the place for a new note with the id *text*, `.md` added where it has no note's suffix.

    Folders that exist keep the spelling they have; all other components must be acceptable new names. Raises
    NoteExists when the name is taken, in whatever Unicode spelling.
    """
    asked = RelPath.parse(text)
    if not is_note(asked.name):
        asked = with_suffix(asked, SUFFIXES[0])
    check_admitted(scope, asked)
    place = vacancy(root, asked)
    check_new_names(place)
    check_admitted(scope, place.path)
    return place


def former_place(root: Root, scope: Scope, path: RelPath) -> Vacancy:
    """Return the place to put a note back to that was at *path*, through folders as they are spelled today.

    Its name was good enough for whoever gave it, so new-name rules do not apply. Raises NoteExists.
    """
    place = vacancy(root, path)
    check_admitted(scope, place.path)
    return place


def check_new_names(place: Vacancy) -> None:
    """Refuse a place whose missing components are not acceptable new names."""
    for name in place.path.parts[len(place.path.parts) - place.missing :]:
        check_new_name(name)


def vacancy(root: Root, asked: RelPath) -> Vacancy:
    """Return the place *asked* with its existing folders in their spelling. Raises NoteExists where it is taken."""
    folder = _existing_prefix(root, asked.parent)
    match root.kind(folder):
        case Kind.FOLDER:
            pass
        case Kind.LINK:
            raise PathRefused("a link")
        case _:
            raise NoteExists(str(folder))
    missing = asked.parts[len(folder.parts) :]
    place = RelPath(folder.parts + missing)
    if len(missing) == 1:
        try:
            raise NoteExists(str(find(root, place)))
        except Missing:
            pass
    return Vacancy(place, len(missing))


def _existing_prefix(root: Root, folder: RelPath) -> RelPath:
    """Return the part of *folder* that exists, in the spelling it has on the disk."""
    try:
        return find(root, folder)
    except (Missing, NotAFolder):
        pass
    found = ROOT
    for part in folder.parts:
        try:
            found = find(root, found.child(part))
        except (Missing, NotAFolder):
            break
    return found
