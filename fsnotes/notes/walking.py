"""How the notes of a workspace are walked, in path order, and what is met on the way.

Files and folders of one folder are sorted together by name, so a folder's notes come right after its place
among its siblings. A position in the walk is a path: the walk goes on behind it, whatever has vanished since.

Limits: a folder is listed anew by each call that goes on in it, so a call costs at least one listing of it.
Where the policy follows links, a link to a folder is walked like the folder, unless it leads back to
one that the walk is in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Final

from fsnotes.errors import InvalidArgument
from fsnotes.notes.commands import MAX_POSITION, Skipped
from fsnotes.notes.model import is_note, placeholder_of
from fsnotes.notes.places import existing_folder
from fsnotes.notes.scope import Scope
from sandbox.errors import (
    Escape,
    HardLinkRefused,
    InvalidPath,
    Missing,
    MountRefused,
    NotAFolder,
    ObjectRefused,
    SandboxError,
    TooLarge,
)
from sandbox.names import MAX_NAME_BYTES, ROOT, RelPath, is_deceptive
from sandbox.policy import Links
from sandbox.records import record
from sandbox.root import Entry, FileIdentity, Kind, Numbers, Root
from sandbox.spelling import find

AT_ONCE: Final = 64
"""How many files of a folder are looked at together."""

MANY_AT_ONCE: Final = 256
"""The same where most of them are known."""

LEAST_KNOWN: Final = 16
"""Of fewer files it is not asked how they are known."""

_NO_NAME: Final = "\U0010ffff" * (MAX_NAME_BYTES // len("\U0010ffff".encode()) + 1)
# Longer than a name may be in bytes, and of the last character there is: so it sorts behind all names, also those that
# begin with that character. What a name that cannot be shown is escaped to holds none of it.

REST: Final = _NO_NAME + "0"
"""In a position, behind a folder: all that is in the folder. No name can be this, and it sorts behind all names."""

PLACEHOLDER: Final = _NO_NAME + "1"
"""The same behind the name of a note: the placeholder of the note, which comes behind a folder of that name."""

Position = tuple[str, ...]


@record
class Seen:
    """A note that was met."""

    path: RelPath
    identity: FileIdentity


@record
class Folder:
    """A folder that was met and is not walked into."""

    path: RelPath


@record
class Passed:
    """Notes of a folder, by their names, that are as they are known."""

    folder: RelPath
    names: tuple[str, ...]


Finding = Seen | Folder | Skipped | Passed | None
"""What an examined entry turned out to be; None for what is none of a listing's business.

Only of `Passed` there are several: they come with the position of the last one.
"""

Known = Callable[[RelPath, str, str], Mapping[str, Numbers]]
"""Says by which numbers files of a folder are known, from one name to another."""


def position_text(position: Position) -> str:
    """Return *position* as the text that `walk` takes back."""
    return "/".join(position)


def walk(
    root: Root, scope: Scope, folder: str, *, recursive: bool, after: str | None, known: Known | None = None
) -> Iterator[tuple[Position, Finding]]:
    """Examine one entry after the other behind *after*, each with its position.

    Notes that are *known* by the numbers that they have are passed by, many at once; not all have to be, where it costs
    more to ask.

    *folder* "" means every folder of the scope; any other must exist and be covered, else this raises at
    once. Folders that vanish, or cannot be listed, end no walk. Nothing outside the scope is opened.
    """
    start = _parse_position(after)
    if RelPath.parse_folder(folder) != ROOT or scope.covers(ROOT):
        tops: tuple[RelPath, ...] = (existing_folder(root, scope, folder),)
    else:
        tops = tuple(_existing_tops(root, scope))
    return _Walk(root, scope, recursive=recursive, known=known).through(tops, start)


def _parse_position(after: str | None) -> Position:
    if after is None:
        return ()
    if len(after) > MAX_POSITION:
        raise InvalidArgument("cursor", "too long")
    # It is only compared with names, never opened, so it needs no other proof.
    return tuple(after.split("/"))


def _existing_tops(root: Root, scope: Scope) -> Iterable[RelPath]:
    found: list[RelPath] = []
    for top in scope.tops():
        try:
            folder = find(root, top)
            if scope.admits(folder) and root.kind(folder) is Kind.FOLDER:
                found.append(folder)
        except SandboxError:
            # Granted, but not there (any more), or not to be told from its twin: there is nothing to list.
            continue
    return sorted(found)


_Chain = tuple[tuple[int, int], ...]
_Item = tuple[str, int, Entry | None]
_ENTRY, _PLACEHOLDER, _UNNAMEABLE = range(3)  # what an item's name is


class _Walk:
    def __init__(self, root: Root, scope: Scope, *, recursive: bool, known: Known | None) -> None:
        self._known = known
        self._at_once = AT_ONCE if known is None else MANY_AT_ONCE
        self._root = root
        self._scope = scope
        self._recursive = recursive
        self._follows_links = root.policy.links is Links.WITHIN

    def through(self, tops: Iterable[RelPath], start: Position) -> Iterator[tuple[Position, Finding]]:
        for top in tops:
            depth = len(top.parts)
            if start[:depth] == top.parts:
                yield from self._beneath(top, start[depth:], (self._root.identity,))
            elif start < top.parts:
                yield from self._beneath(top, (), (self._root.identity,))

    def _beneath(self, folder: RelPath, start: Position, chain: _Chain) -> Iterator[tuple[Position, Finding]]:
        """Walk *folder* behind *start*, which is relative to it. *chain* are the folders that lead to it."""
        if start[:1] >= (REST,):
            return  # earlier calls have told all of it
        try:
            items, uncounted = self._items(folder, start[0] if start else "")
        except (Missing, NotAFolder):
            return
        except SandboxError as error:
            # What was told of it by an earlier call, if anything was, was not all.
            reason = "too_many" if isinstance(error, TooLarge) else reason_of(error)
            yield (*folder.parts, REST), left_out(folder.parts, reason)
            return
        number = 0
        while number < len(items):
            run = _files_in(items[number : number + self._at_once])
            number += max(1, len(run))
            if run:
                yield from self._files(folder, run, start)
                continue
            item = items[number - 1]
            finding, into = self._examine(folder, item, chain)
            # A placeholder comes behind all that is in a folder of the name it stands for.
            place = (item[0], PLACEHOLDER) if item[1] == _PLACEHOLDER else (item[0],)
            rest = start[1:] if start[:1] == place[:1] else ()
            if start[:1] != place[:1] or start < place:
                yield (*folder.parts, *place), finding
            # Else it was told of by an earlier call, and perhaps partly walked.
            if into is not None:
                yield from self._beneath(into, rest, _longer(chain, item[2]))
        if uncounted:
            yield (*folder.parts, REST), Skipped(None, uncounted, "unnameable")

    def _files(
        self, folder: RelPath, run: list[_Item], start: Position
    ) -> Iterator[tuple[Position, Finding]]:
        """Look at files of *folder* that follow each other, all at once, just before the first of them is examined."""
        entries = [entry for _, _, entry in run if entry is not None]
        if self._known is None or len(run) < LEAST_KNOWN:
            identities = self._root.identities(folder, entries)
        else:
            known = self._known(folder, run[0][0], run[-1][0])
            identities = self._root.identities(folder, entries, known=known)
        passed: list[str] = []
        told = start[0] if start else None
        ignores = bool(self._scope.ignore)
        for (name, _, _), identity in zip(run, identities, strict=True):
            if name == told:
                continue  # it was told of by an earlier call
            if identity is None and not (ignores and self._is_ignored(folder, name)):
                passed.append(name)
                continue
            if passed:
                yield (*folder.parts, passed[-1]), Passed(folder, tuple(passed))
                passed = []
            yield (*folder.parts, name), self._file(folder, name, identity)
        if passed:
            yield (*folder.parts, passed[-1]), Passed(folder, tuple(passed))

    def _file(
        self, folder: RelPath, name: str, identity: FileIdentity | SandboxError | None
    ) -> Seen | Skipped | None:
        """Say what a file is that turned out to have this *identity*, or to be refused."""
        try:
            path = folder.child(name)
        except InvalidPath:
            return left_out((*folder.parts, name), "too_deep")
        match identity:
            case Missing() | NotAFolder() | None:
                return None
            case _ if self._scope.ignores(path):
                return None
            case SandboxError():
                return left_out(path.parts, reason_of(identity))
            case _:
                return Seen(path, identity)

    def _is_ignored(self, folder: RelPath, name: str) -> bool:
        try:
            return self._scope.ignores(folder.child(name))
        except InvalidPath:
            return True

    def _items(self, folder: RelPath, first: str) -> tuple[list[_Item], int]:
        """Return what there is to examine in *folder* from *first* on, and how many more names cannot be shown.

        Hidden entries and files that are no notes are left out: nothing is ever said about them.
        """

        def is_wanted(name: str) -> bool:
            return name >= first or name[0] == "."

        # Where a walk goes on, what comes before is only counted: a folder of many is listed by many calls.
        wanted = is_wanted if first else None
        listing = self._root.list(folder, with_identity=self._follows_links, wanted=wanted)
        items: list[_Item] = []
        for entry in listing.entries:
            name = entry[0]
            if name[0] == ".":
                # It is placed where the note would be that it stands for.
                original = placeholder_of(name)
                if original is not None and entry.kind is Kind.FILE:
                    items.append((original, _PLACEHOLDER, entry))
            elif entry.kind is not Kind.FILE or is_note(name):
                items.append((name, _ENTRY, entry))
        items += [(form, _UNNAMEABLE, None) for form in listing.unnameable]
        items = [item for item in items if item[0] >= first] if first else items
        items.sort(key=itemgetter(0, 1))
        return items, listing.unnameable_count - len(listing.unnameable)

    def _examine(self, folder: RelPath, item: _Item, chain: _Chain) -> tuple[Finding, RelPath | None]:
        """Say what an item is that is no file, and which folder to walk into."""
        name, kind, entry = item
        parts = (*folder.parts, name)
        if kind == _UNNAMEABLE or entry is None:
            return left_out(parts, "unnameable"), None
        try:
            path = folder.child(name)
        except InvalidPath:
            # Whoever reads a reply knows the place of a placeholder by its reason alone.
            return left_out(parts, "not_downloaded" if kind == _PLACEHOLDER else "too_deep"), None
        if self._scope.ignores(path):
            return None, None
        if kind == _PLACEHOLDER:
            return left_out(parts, "not_downloaded"), None
        try:
            return self._judge(path, entry, chain)
        except (Missing, NotAFolder):
            return None, None
        except SandboxError as error:
            return left_out(parts, reason_of(error)), None

    def _judge(self, path: RelPath, entry: Entry, chain: _Chain) -> tuple[Finding, RelPath | None]:
        match entry.kind:
            case Kind.FOLDER if self._recursive:
                if _place(entry) in chain:
                    return left_out(path.parts, "link"), None
                return None, path
            case Kind.FOLDER:
                # A look tells a mount that the policy refuses; in a recursive walk the listing of it does.
                return (Folder(path) if self._root.kind(path) is Kind.FOLDER else None), None
            case Kind.LINK:
                return left_out(path.parts, "link"), None
            case _:
                return left_out(path.parts, "special_file"), None


def _files_in(items: list[_Item]) -> list[_Item]:
    """Return those of *items* that are files, up to the first one that is not."""
    for number, (_, kind, entry) in enumerate(items):
        if kind != _ENTRY or entry is None or entry.kind is not Kind.FILE:
            return items[:number]
    return items


def _place(entry: Entry | None) -> tuple[int, int] | None:
    identity = entry.identity if entry is not None else None
    return None if identity is None else (identity.dev, identity.ino)


def _longer(chain: _Chain, entry: Entry | None) -> _Chain:
    place = _place(entry)
    return chain if place is None else (*chain, place)


def left_out(parts: Position, reason: str) -> Skipped:
    """Return what a listing says of an entry that it leaves out; one whose name could deceive is only counted."""
    path = "/".join(parts)
    return Skipped(path if path and not is_deceptive(path) else None, 1, reason)


def reason_of(error: SandboxError) -> str:
    """Return why a listing leaves out what could not be looked at for *error*: one of SKIP_REASONS."""
    match error:
        case MountRefused():
            return "mount"
        case Escape():
            return "link"
        case HardLinkRefused():
            return "hard_link"
        case TooLarge():
            return "too_large"
        case ObjectRefused():
            return "special_file"
        case _:
            return "unreadable"
