"""Which paths of a workspace a call may name at all: the granted folders and the workspace's ignore patterns.

Who gets which scope is decided above; what stands at a path, below.
"""

from __future__ import annotations

import functools
from typing import Final

from fsnotes.notes.globs import Pattern, composed
from sandbox.names import ROOT, RelPath, is_hidden
from sandbox.records import record


@record
class Scope:
    """The folders that a grant covers, and the globs that the workspace ignores.

    An ignore pattern is matched by component against the path and each folder above it: `*`, `?` and
    `[...]` stay within one component, `**` stands for any number of components, none included. So
    `Archive/**` leaves out `Archive` and all in it, `*.draft.md` matches at the top only, and
    `**/*.draft.md` anywhere. Folders and patterns are compared in NFC, with regard to case.
    """

    folders: tuple[RelPath, ...]
    ignore: tuple[str, ...] = ()

    def covers(self, path: RelPath) -> bool:
        """Say whether *path* is one of the folders or lies beneath one."""
        return self.covers_position(path.parts)

    def covers_position(self, parts: tuple[str, ...]) -> bool:
        """Say the same of components that need not be a path that could be opened."""
        if any(parts[: len(folder.parts)] == folder.parts for folder in self.folders):
            return True
        # A folder may be stored in another Unicode spelling than the one that was granted. Two folders that
        # differ only so are ambiguous wherever a path is resolved, so this opens no second folder.
        spelled = composed(parts)
        return any(
            spelled[: len(folder.parts)] == composed(folder.parts) for folder in self.folders if folder.parts
        )

    def leads_to(self, path: RelPath) -> bool:
        """Say whether one of the folders lies beneath *path*: its name is in every id of that folder."""
        parts = composed(path.parts)
        return any(composed(folder.parts)[: len(parts)] == parts for folder in self.folders)

    def ignores(self, path: RelPath) -> bool:
        """Say whether an ignore pattern matches *path* or a folder above it."""
        return bool(self.ignore) and _compiled(self.ignore).matches(path.parts)

    def admits(self, path: RelPath) -> bool:
        """Say whether *path* is covered, not hidden and not ignored."""
        return self.covers(path) and not is_hidden(path) and not self.ignores(path)

    def tops(self) -> tuple[RelPath, ...]:
        """Return the folders in path order, without those that lie beneath another one."""
        tops: list[RelPath] = []
        for folder in sorted(self.folders):
            if not (tops and folder.starts_with(tops[-1])):
                tops.append(folder)
        return tuple(tops)


EVERYWHERE: Final = Scope((ROOT,))
"""All of a workspace but what is hidden."""


class _Patterns:
    def __init__(self, patterns: tuple[str, ...]) -> None:
        self._patterns = [Pattern(pattern) for pattern in patterns]

    def matches(self, parts: tuple[str, ...]) -> bool:
        spelled = composed(parts)
        return any(pattern.matches(spelled, above=True) for pattern in self._patterns)


@functools.lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> _Patterns:
    return _Patterns(patterns)
