"""Whether a note could link to files that are moved, by a look at its bytes that costs a fraction of a scan.

The answer is never a wrong no. A wrong yes costs a scan: names in aliases, in code and in longer names count too.

A link names a file by the last component of its path, whatever else it says; so what is looked for is the names
before and after the move, behind what opens a link (`[[`, `](` or `]:`) on its line, or on the next one where a
Markdown destination may stand. Links to what is in a folder name the folder, but for those by a name that others have
too, and for those in notes of a folder that has the same name in other letters: their own folder is taken for the
moved one. Everything is compared as links are, once as
written and once for every way in which it may be escaped: percent signs, entities, backslashes, YAML's quotes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final

from fsnotes.notes.catalogue import Catalogue, folded
from fsnotes.notes.markdown.decoding import decoded
from fsnotes.notes.markdown.property_links import unescaped
from fsnotes.notes.model import is_note, stem
from sandbox.names import MAX_NAME_BYTES

_LINE: Final = re.compile(rb"[^\r\n]*+")
_NEXT_LINE: Final = re.compile(rb"(?:\r\n?|\n)[^\r\n]*+")
# Normalizing a long run of accents takes time that grows as its square, and no name is as long.
_LONG_RUN: Final = re.compile(rf"[^\x00-\x7f]{{{MAX_NAME_BYTES + 1}}}")
MAX_NAMES: Final = 64
"""More names than this are not looked for: every note with a link may have one."""


class Mentions:
    """What stands in every link that a move of files concerns."""

    __slots__ = ("_bytes", "_folders", "_names")

    def __init__(self, names: Iterable[str], *, folders: Iterable[str] = ()) -> None:
        """Look for *names*, or components of paths, which are texts as they are meant, and into notes of *folders*."""
        self._folders = tuple({f"{folded(folder)}/" for folder in folders})
        found = sorted({folded(name) for name in names}, key=len)
        # What has another name in it is found with it.
        shortest: list[str] = []
        for name in found[: 4 * MAX_NAMES]:
            if not any(each in name for each in shortest):
                shortest.append(name)
        # An accent at the beginning of a name would melt into what stands before it.
        lost = len(found) > 4 * MAX_NAMES or len(shortest) > MAX_NAMES
        lost = lost or any(unicodedata.combining(name[:1] or "\u0301") for name in shortest)
        self._names = None if lost else tuple(shortest)
        self._bytes = tuple(name.encode() for name in shortest)

    @classmethod
    def of_files(cls, moves: Mapping[str, str]) -> Mentions:
        """Return what to look for when single files are moved, in notes that are not moved themselves."""
        names = {path.rpartition("/")[2] for pair in moves.items() for path in pair}
        return cls(stem(name) if is_note(name) else name for name in names)

    @classmethod
    def of_folder(cls, old: str, new: str, *, moves: Mapping[str, str], before: Catalogue) -> Mentions:
        """Return what to look for when all in the folder *old* becomes all of *new*, where nothing was before.

        *moves* are the ids that become others, of the catalogue *before*.
        """
        names = {path.rpartition("/")[2] for path in (old, new)}
        for path in moves:
            if before.shares_name(path):
                name = path.rpartition("/")[2]
                names.add(stem(name) if is_note(name) else name)
        return cls(names, folders=(old, new))

    def may_be_of(self, path: str, data: bytes) -> bool:
        """Say whether the note *path*, which is not moved, with these bytes may have a link that the move concerns."""
        if self.may_be_in(data):
            return True
        return bool(self._folders) and folded(path).startswith(self._folders)

    def may_be_in(self, data: bytes) -> bool:
        """Say whether a note with these bytes may have a link that the move concerns."""
        names = self._names
        if names is not None and data.isascii() and not _has_escapes(data):
            lowered = data.lower()
            for name in self._bytes:
                if name in lowered:
                    break
            else:
                return False
        found = [*_behind(data, b"[", b"["), *_behind(data, b"]", b"(:")]
        if not found or names is None:
            return bool(found)
        for text in _readings(b"\n".join(found).decode("utf-8", "replace")):
            if not text.isascii() and _LONG_RUN.search(text):
                return True
            compared = folded(text)
            if any(name in compared for name in names):
                return True
        return False


def _has_escapes(data: bytes) -> bool:
    # Written out: this is asked of every note there is.
    return b"%" in data or b"&" in data or b"\\" in data or b"''" in data


def _behind(data: bytes, first: bytes, seconds: bytes) -> Iterable[bytes]:
    """Yield the rest of each line behind *first* and one of *seconds*, with the next line where it may go on there."""
    at = data.find(first)
    while at >= 0:
        start = at = at + 1
        if start < len(data) and data[start] in seconds:
            line = _LINE.match(data, start)
            while line is not None:
                at = line.end()
                # A destination may stand on the line behind its parenthesis or colon.
                line = (
                    _NEXT_LINE.match(data, at) if line.group().rstrip(b" \t").endswith((b"(", b":")) else None
                )
            yield data[start:at]
        at = data.find(first, at)


def _readings(text: str) -> Iterable[str]:
    """Yield *text* in every way in which something in it may be meant."""
    yield text
    if "%" in text or "&" in text or "\\" in text:
        yield decoded(text)
    if "\\" in text:
        yield unescaped(text)
    if "''" in text:
        yield text.replace("''", "'")
