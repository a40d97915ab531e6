"""What is written of one note, made from its bytes: the words by column, and what the tables keep."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final, NamedTuple

from fsnotes.errors import NotText
from fsnotes.notes.etags import etag
from fsnotes.notes.index import marks
from fsnotes.notes.index.bounds import WHOLE_BYTES
from fsnotes.notes.index.contents import Contents, contents_of, text_of, title_from
from fsnotes.notes.index.folding import indexed
from fsnotes.notes.model import stem
from fsnotes.notes.tags import TooManyTags
from sandbox.root import FileIdentity

MAX_HEADINGS: Final = 1_000
MAX_HEADING: Final = 200
"""How many headings of a note are kept to be shown, and how many characters of each. All of them are searched."""
NOT_TEXT: Final = "not_text"

_encoder: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

TagRow = tuple[str, str | None, int]
"""A tag's key, its spelling if that is another one, and its uses."""


class Stat(NamedTuple):
    """By what a file is known to be the same and unchanged: as `FileIdentity.key`, in numbers that SQLite has.

    A rename changes none of them. The times of a change of the inode are left out, since a rename changes them too; so
    a write in place that keeps size and time of the file is not seen until its bytes are read again.
    """

    ino: int
    size: int
    mtime: int

    @classmethod
    def of(cls, identity: FileIdentity) -> Stat:
        """Take the numbers out of an identity."""
        return cls(_signed(identity.ino), identity.size, _signed(identity.mtime_ns))


DIRECTLY_IN: Final = "path BETWEEN ?2 AND ?3 AND instr(substr(path, ?1), '/') = 0"
"""What is true of the notes that `within` gives the values for."""


def within(folder: str, first: str, last: str) -> tuple[int, str, str]:
    """Return what `DIRECTLY_IN` compares with, for the notes of a *folder* from the name *first* to *last*.

    The first one is where the names begin in the paths.
    """
    before = f"{folder}/" if folder else ""
    return len(before) + 1, before + first, before + last


class Doc(NamedTuple):
    """What the index knows of a note without reading it."""

    id: int
    path: str
    stat: Stat
    sure: bool
    etag: str
    reason: str | None
    moved: bool


class Row(NamedTuple):
    """All that is written of a note. *words* are None for one that cannot be read as text, which has a *reason*."""

    path: str
    stat: Stat
    sure: bool
    etag: str
    title: str
    reason: str | None
    words: tuple[str, ...] | None
    stems: tuple[str, ...]
    tags: tuple[TagRow, ...]
    held: str


def row_of(path: str, data: bytes, stat: Stat, *, sure: bool) -> Row:
    """Return what is written of the note *path*; *sure* if nobody can have written it since *stat* unnoticed.

    One with more tags than a note may have is never sure, since its tags are not known; nor is a large one, of which
    only the text is.
    """
    try:
        if len(data) > WHOLE_BYTES:
            contents, sure = text_of(data, path=path), False
        else:
            contents = contents_of(data, path=path)
    except TooManyTags:
        contents, sure = contents_of(data, path=path, with_tags=False), False
    except NotText:
        return Row(path, stat, sure, etag(data), "", NOT_TEXT, None, (), (), held((), (), ()))
    tags = tuple(
        sorted((tag.key, None if tag.name == tag.key else tag.name, tag.uses) for tag in contents.tags)
    )
    headings = [(each.level, each.line, each.text[:MAX_HEADING]) for each in contents.headings[:MAX_HEADINGS]]
    kept = held(contents.stems, (key for key, _, _ in tags), headings)
    words = _words(path, contents)
    return Row(path, stat, sure, etag(data), contents.title, None, words, contents.stems, tags, kept)


def held(stems: Iterable[str], tags: Iterable[str], headings: Iterable[tuple[int, int, str]]) -> str:
    """Return what other tables have of a note, and its headings, as JSON."""
    return _encoder.encode([list(stems), list(tags), list(headings)])


def held_of(text: str) -> tuple[list[str], list[str]]:
    """Return the stems and the tags that other tables have of a note."""
    stems, tags, _ = json.loads(text)
    return stems, tags


def _words(path: str, contents: Contents) -> tuple[str, ...]:
    marked = {marks.of_tag(tag.key) for tag in contents.tags}
    for key, values in contents.properties.items():
        if key:
            marked.update(
                (marks.of_property(key, None), *(marks.of_property(key, value) for value in values))
            )
    return (
        indexed(contents.text),
        indexed(contents.title or title_from(path)),
        _apart(each.text for each in contents.headings),
        _apart(tag.name for tag in contents.tags),
        indexed(stem(path)),
        " ".join([*sorted(marked), marks.above(path.rpartition("/")[0])]),
    )


def _apart(texts: Iterable[str]) -> str:
    """Return texts of one line each, folded, so that no phrase is found across two of them."""
    return indexed("\n".join(texts)).replace("\n", f" {marks.SEPARATOR} ")


def _signed(number: int) -> int:
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
