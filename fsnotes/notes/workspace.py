"""A folder of notes that is open for work, with what is known of it beside its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from fsnotes.notes.atlas import Atlas
from fsnotes.notes.room import Room
from sandbox.policy import Quota
from sandbox.root import Root

_USUAL: Final = Quota()


class Workspace:
    """The root, the room in it and the files in it. Thread-safe, as its root is."""

    __slots__ = ("atlas", "room", "root")

    def __init__(self, root: Root, quota: Quota = _USUAL) -> None:
        self.root: Final = root
        self.room: Final = Room(root, quota)
        self.atlas: Final = Atlas(root)

    def close(self) -> None:
        """Close the root too."""
        self.room.close()
        self.root.close()

    @contextmanager
    def changing(self, *, timeout: float, abandoned: Callable[[], bool]) -> Iterator[None]:
        """Hold the workspace's lock for the block, which changes something; every change does.

        Raises what `Root.lock` raises.
        """
        with self.root.lock(timeout=timeout, abandoned=abandoned):
            yield
