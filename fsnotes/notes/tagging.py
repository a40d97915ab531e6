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
from fsnotes.notes.sieves import with_tag
from fsnotes.notes.stretches import Clock, Stretch
from fsnotes.notes.tags import TooManyTags, has_tag, tags_of
from sandbox.root import Root

if TYPE_CHECKING:
    from fsnotes.notes.index.reader import Reader


def count(root: Root, scope: Scope, command: CountTags, *, clock: Clock = time.monotonic) -> TagsCounted:
    """Count the tags in a stretch of the workspace's notes; see `CountTags`."""
    stretch = Stretch(root, scope, after=command.after, clock=clock)
    found: dict[str, tuple[str, int]] = {}
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
                    shown, before = found.get(use.key) or (use.name, 0)
                    if not before:
                        stretch.tell(len(shown))
                    found[use.key] = shown, before + use.uses
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
