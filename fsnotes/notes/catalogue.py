"""Which files of a workspace a link may lead to, and which one it does lead to: Obsidian's rules.

A wikilink's path is, in this order: one with `./` or `../` before it, from the folder of its own note; one behind a
`/`, from the top of the workspace; any other the whole path of a file, or else the end of one, which a name alone is
too. So `[[plan]]` is `plan.md` at the top if there is one, else the only `plan.md` there is. Where several answer,
the link is ambiguous. Obsidian opens one of them nevertheless: the shortest path in or below the folder of the
link's own note, else the shortest of all (`in_order`). When it writes a link itself, it avoids this by giving the
whole path.

A Markdown link's path is tried from the folder of its own note first, as everybody but Obsidian reads it, and then
as a wikilink's, which is what Obsidian writes if told to. Its dot segments may stand anywhere.

The suffix of a note may be left out. A name with a dot in it is tried as it is first, since `[[a.png]]` is no note.
Letters of either case and both Unicode spellings are the same, but what is written exactly so comes first. What leaves
the workspace by dot segments, ends in one, has an empty component or ends in `/` leads nowhere. The aliases in
frontmatter are no targets: Obsidian offers them while one types, and then writes `[[note|alias]]`.

The order of the rules is that of Obsidian's `getLinkpathDest`; its documentation has the suffixes and the aliases.
Differences: Obsidian stops at the top where `..` would leave the vault, knows no `.markdown`, compares the ends of
paths by letters rather than by components, and reads a Markdown link from the top before it looks in the folder.
"""

from __future__ import annotations

import hashlib
import itertools
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from fsnotes.notes.markdown.links import Form, Link
from fsnotes.notes.model import SUFFIXES
from sandbox.names import MAX_DEPTH, MAX_NAME_BYTES


class Style(Enum):
    """Whose rules hold for a path."""

    WIKI = "[[path]]"
    MARKDOWN = "[text](path)"


class Manner(Enum):
    """How a path leads to a file."""

    OWN = "no path: the note itself"
    DOTTED = "with dot segments, from the note's folder"
    FOLDER = "without dot segments, from the note's folder"
    ROOTED = "behind a slash, from the top"
    WHOLE = "a whole path, from the top"
    END = "the end of a path"


class Resolution(NamedTuple):
    """The *ids* that a path answers to: none if it is broken, several if it is ambiguous, the shortest first.

    *exact*: it is spelled as they are, Unicode forms aside. *twins*: others differ from them in nothing but spelling.
    *suffixed*: nothing was added to its last component.
    """

    ids: tuple[str, ...] = ()
    manner: Manner | None = None
    exact: bool = False
    twins: bool = False
    suffixed: bool = False

    @property
    def id(self) -> str | None:
        """The file that it leads to, if it is exactly one."""
        return self.ids[0] if len(self.ids) == 1 else None


BROKEN: Final = Resolution()

_DOTS: Final = frozenset({".", ".."})
_PLAIN: Final = (*SUFFIXES, "")
_WITH_DOT: Final = ("", *SUFFIXES)

Spellings = dict[str, tuple[str, ...]]


def style_of(form: Form) -> Style:
    """Return whose rules hold for links of this form."""
    return Style.WIKI if form in (Form.WIKI, Form.PROPERTY) else Style.MARKDOWN


def folded(path: str) -> str:
    """Return the form in which paths of links are compared: NFC, case folded, white space as it is."""
    if path.isascii():
        return path.lower()
    return composed(composed(path).casefold())


def composed(path: str) -> str:
    """Return *path* in NFC."""
    return path if path.isascii() else unicodedata.normalize("NFC", path)


def folder_of(path: str) -> str:
    """Return the folder of an id, "" for the top."""
    return path.rpartition("/")[0]


def seen_from(folder: str, target: str) -> str | None:
    """Return what a link's path says from *folder*, whether anything is there; None where it leaves the workspace."""
    parts = _walked(folder, target.split("/"))
    return None if parts is None else "/".join(parts)


def in_order(ids: Sequence[str], source: str) -> list[str]:
    """Return candidates for a link in the note *source* in the order in which Obsidian would open them."""
    folder = folded(folder_of(source))
    near = f"{folder}/" if folder else ""
    return sorted(sorted(ids, key=_shortest), key=lambda each: not folded(each).startswith(near))


class Catalogue:
    """The ids of a workspace's notes and of its other files, by path and by name.

    Changing it costs what the names concerned cost, copying it a few milliseconds for 10,000 files.
    """

    __slots__ = ("_ends", "_names", "_paths", "_spelled")

    def __init__(self, ids: Iterable[str] = ()) -> None:
        # Ids by folded path and by folded name; values are never changed, so that copies may share them.
        self._paths: dict[str, tuple[str, ...]] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        # Made when asked for, by folded name: ids by the last so many components, and by how these are spelled.
        self._ends: dict[str, dict[int, Spellings]] = {}
        self._spelled: dict[str, dict[tuple[str, str, int], Spellings]] = {}
        self._change((), ids)

    def __iter__(self) -> Iterator[str]:
        """Yield every id, in no order."""
        return itertools.chain.from_iterable(self._paths.values())

    def __contains__(self, path: str) -> bool:
        return path in self._paths.get(folded(path), ())

    def shares_name(self, path: str) -> bool:
        """Say whether another file than *path* has its name, in whatever spelling."""
        return any(each != path for each in self._names.get(folded(path.rpartition("/")[2]), ())[:2])

    def digest(self) -> str:
        """Return a digest of all ids: 32 hexadecimal digits, other ones for other ids."""
        # SAFETY: no id has a NUL, so that no two sets of ids are one text.
        return hashlib.blake2b("\0".join(sorted(self)).encode(), digest_size=16).hexdigest()

    def add(self, path: str) -> None:
        """Take one more file; nothing happens if it is there."""
        self._change((), (path,))

    def remove(self, path: str) -> None:
        """Forget a file; nothing happens if it is not there."""
        self._change((path,), ())

    def moved(self, moves: Mapping[str, str]) -> Catalogue:
        """Return a catalogue in which every id that is a key of *moves*, and is here, has become its value."""
        known = [old for old in moves if old in self]
        return self.changed(known, [moves[old] for old in known])

    def changed(self, gone: Iterable[str], come: Iterable[str]) -> Catalogue:
        """Return a catalogue without the ids *gone* and with the ids *come*."""
        other = Catalogue()
        other._paths, other._names = self._paths.copy(), self._names.copy()
        other._change(gone, come)
        return other

    def resolve(self, link: Link, source: str) -> Resolution:
        """Return what *link* leads to that stands in the note *source*; external ones lead nowhere here."""
        if link.external:
            return BROKEN
        if not link.target:
            return Resolution((source,), Manner.OWN, exact=True)
        return self.find(link.target, source, style_of(link.form))

    def find(self, target: str, source: str, style: Style) -> Resolution:
        """Return what the path *target* of a link leads to that stands in the note *source*."""
        folder = folder_of(source)
        parts = target.split("/")
        rooted = not parts[0]
        if rooted:
            del parts[0]
        dotted = not _DOTS.isdisjoint(parts)
        if dotted:
            if parts[-1] in _DOTS:  # that is a folder, whatever note has its name
                return BROKEN
            if style is Style.WIKI and (rooted or not _DOTS.isdisjoint(_behind_dots(parts))):
                return BROKEN
            walked = _walked(folder if not rooted else "", parts)
            if walked is None:
                return BROKEN
            parts = walked
        # What is too long for a name is not worth a comparison, which can cost its square.
        if not all(0 < len(part) <= MAX_NAME_BYTES for part in parts) or not 0 < len(parts) <= MAX_DEPTH:
            return BROKEN
        path = "/".join(parts)
        for suffix in _WITH_DOT if "." in parts[-1] else _PLAIN:
            if rooted:
                found = self._at(path, suffix, Manner.ROOTED)
            elif dotted:
                found = self._at(path, suffix, Manner.DOTTED)
            else:
                found = BROKEN
                if style is Style.MARKDOWN:
                    found = self._at(f"{folder}/{path}" if folder else path, suffix, Manner.FOLDER)
                if not found.ids:
                    found = self._at(path, suffix, Manner.WHOLE)
                if not found.ids:
                    found = self._ending(path, suffix, len(parts))
            if found.ids:
                return found
        return BROKEN

    def _at(self, path: str, suffix: str, manner: Manner) -> Resolution:
        key = folded(path) + suffix
        ids = self._paths.get(key)
        if ids is None:
            return BROKEN
        return self._best(ids, path, suffix, key, 0, manner)

    def _ending(self, path: str, suffix: str, size: int) -> Resolution:
        """Return the files whose last *size* components are *path* and *suffix*."""
        key = folded(path) + suffix
        name = key.rpartition("/")[2]
        ids = self._names.get(name, ())
        if size > 1 and ids:
            ends = self._ends.setdefault(name, {})
            if size not in ends:
                ends[size] = _grouped((folded(_last(each, size)), each) for each in ids)
            ids = ends[size].get(key, ())
        return self._best(ids, path, suffix, key, size, Manner.END) if ids else BROKEN

    def _best(
        self, ids: tuple[str, ...], path: str, suffix: str, key: str, size: int, manner: Manner
    ) -> Resolution:
        """Return those of *ids* that are spelled as *path* is, or all. *size* components of them are to be compared."""
        suffixed = not suffix
        if len(ids) == 1:
            written = _without(_last(ids[0], size), suffix)
            exact = written == path or composed(written) == composed(path)
            return Resolution(ids, manner, exact=exact, suffixed=suffixed)
        spelled = self._spelled.setdefault(key.rpartition("/")[2], {})
        if (key, suffix, size) not in spelled:
            pairs = [(_without(_last(each, size), suffix), each) for each in ids]
            spelled[key, suffix, size] = _grouped(
                (composed(written), each) for written, each in pairs
            ) | _grouped(pairs)
        groups = spelled[key, suffix, size]
        found = groups.get(path) or groups.get(composed(path))
        if found is None:
            return Resolution(ids, manner, suffixed=suffixed)
        return Resolution(found, manner, exact=True, twins=len(found) < len(ids), suffixed=suffixed)

    def _change(self, gone: Iterable[str], come: Iterable[str]) -> None:
        paths: dict[str, tuple[set[str], set[str]]] = {}
        names: dict[str, tuple[set[str], set[str]]] = {}
        for side, ids in enumerate((gone, come)):
            for each in ids:
                key = folded(each)
                paths.setdefault(key, (set(), set()))[side].add(each)
                names.setdefault(key.rpartition("/")[2], (set(), set()))[side].add(each)
        for table, changes in ((self._paths, paths), (self._names, names)):
            for key, (out, into) in changes.items():
                left = {*table.get(key, ())} - out | into
                if left:
                    table[key] = tuple(sorted(left, key=_shortest)) if len(left) > 1 else tuple(left)
                else:
                    table.pop(key, None)
        for name in names:
            self._ends.pop(name, None)
            self._spelled.pop(name, None)


def _shortest(path: str) -> tuple[int, str]:
    return len(path), path


def _behind_dots(parts: Sequence[str]) -> Sequence[str]:
    """Return the components behind the dot segments that a path begins with."""
    return parts[next((place for place, part in enumerate(parts) if part not in _DOTS), len(parts)) :]


def _walked(folder: str, parts: Iterable[str]) -> list[str] | None:
    """Return the components that *parts* lead to from *folder*; None where they leave the workspace."""
    found = folder.split("/") if folder else []
    for part in parts:
        if part == "..":
            if not found:
                return None
            found.pop()
        elif part != ".":
            found.append(part)
    return found


def _last(path: str, size: int) -> str:
    """Return the last *size* components, or all for 0."""
    return "/".join(path.split("/")[-size:]) if size else path


def _without(path: str, suffix: str) -> str:
    # Case folding changes the length of no ASCII character, nor that of the one that folds to a `k`.
    return path[: len(path) - len(suffix)]


def _grouped(pairs: Iterable[tuple[str, str]]) -> Spellings:
    found: dict[str, list[str]] = {}
    for key, each in pairs:
        found.setdefault(key, []).append(each)
    return {key: tuple(ids) for key, ids in found.items()}
