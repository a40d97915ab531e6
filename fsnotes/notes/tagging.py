"""How often the tags of a workspace are used, a bounded stretch of its notes a call.

What a tag is and when two are the same is decided in `tags.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing

from fsnotes.errors import NotText
from fsnotes.notes.commands import CountTags, TagCount, TagsCounted
from fsnotes.notes.scope import Scope
from fsnotes.notes.stretches import Stretch
from fsnotes.notes.tags import TooManyTags, tags_of
from sandbox.root import Root


def count(
    root: Root, scope: Scope, command: CountTags, *, clock: Callable[[], float] = time.monotonic
) -> TagsCounted:
    """Count the tags in a stretch of the workspace's notes; see `CountTags`."""
    stretch = Stretch(root, scope, "", after=command.after, clock=clock)
    found: dict[str, tuple[str, int]] = {}
    with closing(stretch.notes()) as notes:
        for path, data in notes:
            try:
                uses = tags_of(data, path=str(path))
            except NotText:
                stretch.skip("not_text")
                continue
            except TooManyTags:
                stretch.skip("too_many")
                continue
            for use in uses:
                if use.key.startswith(command.prefix):
                    shown, before = found.get(use.key) or (use.name, 0)
                    if not before:
                        stretch.tell(len(shown))
                    found[use.key] = shown, before + use.uses
    tags = tuple(TagCount(shown, uses) for shown, uses in found.values())
    return TagsCounted(tags, stretch.skipped, stretch.resume)
