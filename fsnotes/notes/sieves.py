"""Which notes of a stretch have to be looked into, where the index can say it of some.

What it says of a note counts only while the note is as it knows it (`index/known.py`); all others are looked into, and
all are where there is no index. So an answer never depends on the index, but for the time that it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fsnotes.errors import IndexUnusable
from fsnotes.notes.stretches import Wanted
from fsnotes.notes.walking import Known, Seen

if TYPE_CHECKING:
    from fsnotes.notes.index.known import Use
    from fsnotes.notes.index.reader import Reader
    from fsnotes.notes.index.rows import Stat


def unknown_to(reader: Reader | None, generation: str, upto: int) -> Wanted:
    """Return what says which notes the index of a *generation* does not know below the id *upto*.

    It raises IndexUnusable where that index is not there any more.
    """
    if reader is None:
        raise IndexUnusable("there is no search index")
    from fsnotes.notes.index.known import unknown  # loads SQLite

    return lambda notes: unknown(reader, _stats(notes), generation=generation, upto=upto)


def known_to(reader: Reader | None, generation: str, upto: int) -> Known:
    """Return what says how notes are known that need not be looked into: most of those that `unknown_to` leaves out.

    It raises what that raises.
    """
    if reader is None:
        raise IndexUnusable("there is no search index")
    from fsnotes.notes.index.known import known_in  # loads SQLite

    return lambda folder, first, last: known_in(
        reader, "/".join(folder.parts), first, last, generation=generation, upto=upto
    )


def with_tag(reader: Reader | None, key: str) -> Wanted | None:
    """Return what says which notes may have the tag of this *key*; None where every note may."""
    return _may_have(reader, "tags", key)


def with_link_to(reader: Reader | None, path: str) -> Wanted | None:
    """Return what says which notes may have a link to the file at *path*; None where every note may."""
    from fsnotes.notes.index.contents import link_stem

    name = link_stem(path)
    return None if name is None else _may_have(reader, "links", name)


class KnownTags:
    """The tags of notes that the index knows, as far as they begin with *prefix*: the others have to be looked into."""

    def __init__(self, reader: Reader, prefix: str) -> None:
        self._reader = reader
        self._prefix = prefix
        self._uses: dict[str, list[Use]] = {}

    def wanted(self, notes: Sequence[Seen]) -> frozenset[str]:
        """Say which notes it does not know."""
        from fsnotes.notes.index.known import tags_known

        stats = _stats(notes)
        try:
            self._uses = tags_known(self._reader, stats, prefix=self._prefix)
        except IndexUnusable:
            self._uses = {}
        return frozenset(path for path, _ in stats if path not in self._uses)

    def of(self, path: str) -> Sequence[Use]:
        """Return the tags of one of the notes that it was asked about last: key, spelling, and uses."""
        return self._uses.get(path, ())


def _may_have(reader: Reader | None, table: str, key: str) -> Wanted | None:
    if reader is None:
        return None
    from fsnotes.notes.index.known import may_have

    def wanted(notes: Sequence[Seen]) -> frozenset[str]:
        stats = _stats(notes)
        try:
            return may_have(reader, stats, table=table, key=key)
        except IndexUnusable:
            return frozenset(path for path, _ in stats)

    return wanted


def _stats(notes: Sequence[Seen]) -> list[tuple[str, Stat]]:
    from fsnotes.notes.index.rows import Stat

    return [(str(note.path), Stat.of(note.identity)) for note in notes]
