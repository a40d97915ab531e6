"""What is asked about tags, a bounded stretch of the workspace a call: how often they are used, and in which notes.

What a tag is and when two are the same is decided in `tags.py`.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

from fsnotes.errors import NotText
from fsnotes.notes.commands import CountTags, NoteStat, Scanned, ScanNotes, TagCount, TagsCounted
from fsnotes.notes.scope import Scope
from fsnotes.notes.sieves import KnownTags, with_tag
from fsnotes.notes.stretches import MANY_ENTRIES, Clock, Stretch
from fsnotes.notes.tags import TooManyTags, has_tag, tags_of
from sandbox.root import Root

if TYPE_CHECKING:
    from fsnotes.notes.index.reader import Reader


def count(
    root: Root,
    scope: Scope,
    command: CountTags,
    *,
    reader: Reader | None = None,
    clock: Clock = time.monotonic,
) -> TagsCounted:
    """Count the tags in a stretch of the workspace's notes; see `CountTags`. *reader* reads the index."""
    found: dict[str, tuple[str, int]] = {}

    def take(key: str, name: str, uses: int) -> None:
        shown, before = found.get(key) or (name, 0)
        if not before:
            stretch.tell(len(shown))
        found[key] = shown, before + uses

    known = None if reader is None else KnownTags(reader, command.prefix)

    def passed(path: str) -> None:
        for use in known.of(path) if known is not None else ():
            take(*use)

    stretch = Stretch(
        root,
        scope,
        after=command.after,
        entries=MANY_ENTRIES,
        wanted=None if known is None else known.wanted,
        passed=passed,
        clock=clock,
    )
    with closing(stretch.notes()) as notes:
        for note, data in notes:
            try:
                uses = tags_of(data, path=str(note.path))
            except NotText:
                stretch.skip(note, "not_text")
                continue
            except TooManyTags:
                stretch.skip(note, "too_many")
                continue
            for use in uses:
                if use.key.startswith(command.prefix):
                    take(use.key, use.name, use.uses)
    tags = tuple(TagCount(shown, uses) for shown, uses in found.values())
    return TagsCounted(tags, stretch.counted, stretch.resume)


def scan(
    root: Root,
    scope: Scope,
    command: ScanNotes,
    tag: str,
    *,
    reader: Reader | None = None,
    clock: Clock = time.monotonic,
) -> Scanned:
    """List the notes with *tag* in a stretch of a folder; see `ScanNotes`. *reader* reads the index.

    One that is not text is skipped: nobody knows its tags.
    """
    stretch = Stretch(
        root,
        scope,
        command.folder,
        recursive=command.recursive,
        after=command.after,
        entries=command.budget,
        wanted=with_tag(reader, tag),
        clock=clock,
    )
    found: list[NoteStat] = []
    with closing(stretch.notes()) as notes:
        for note, data in notes:
            path = str(note.path)
            try:
                if has_tag(data, tag, path=path):
                    found.append(NoteStat(path, note.identity.size, note.identity.mtime_ns))
                    stretch.tell(len(path))
            except NotText:
                stretch.skip(note, "not_text")
    return Scanned(tuple(found), (), stretch.skipped, stretch.resume)
