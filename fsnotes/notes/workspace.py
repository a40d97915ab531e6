"""A folder of notes that is open for work, with what is known of it beside its files."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from fsnotes.errors import MovePending, MoveStuck
from fsnotes.notes.atlas import Atlas
from fsnotes.notes.begun import Begun
from fsnotes.notes.charts import Charts
from fsnotes.notes.journal import Journal
from fsnotes.notes.known_ids import KnownIds
from fsnotes.notes.opening import INDEX_FOLDER
from fsnotes.notes.room import Room
from fsnotes.notes.views import Views
from sandbox.place import Place
from sandbox.policy import Quota
from sandbox.root import Root

if TYPE_CHECKING:
    from fsnotes.notes.index.reader import Reader

_USUAL: Final = Quota()


class Interrupted(Enum):
    """What a change does about a move that was interrupted."""

    FINISH = "finish it, or refuse"
    FINISH_IF_SEEN = "finish it, unless it cannot be seen whether it had happened"
    LEAVE = "leave it to the next change, since there is no time"


class Workspace:
    """The root, the room in it, the files in it and what callers see of them. Thread-safe, as its root is; close it."""

    __slots__ = (
        "_boot", "_index", "_mutex", "_part", "atlas", "begun", "charts", "ids", "journal", "room", "root", "views",
    )  # fmt: skip

    def __init__(
        self, root: Root, quota: Quota = _USUAL, *, part: str | Place | None = None, boot: str | None = None
    ) -> None:
        """Take over *root*. *part* is the folder that the state has for this workspace, None where it is out of reach.

        *boot* is the id of the running boot; where nobody knows it, no index can be trusted. Raises RootUnusable for a
        part that cannot be opened, see `sandbox.own_files`; then the root stays open.
        """
        self.root: Final = root
        self.room: Final = Room(root, quota)
        self.atlas: Final = Atlas(root)
        self.charts: Final = Charts()
        self.begun: Final = Begun()
        self.ids: Final = KnownIds()
        self.journal: Final = None if part is None else Journal(part)
        self._part = part.path if isinstance(part, Place) else part
        self._boot = boot
        self._index: Reader | None = None
        self._mutex = threading.Lock()
        self.views: Final = Views(self.atlas)

    def close(self) -> None:
        """Close the root too."""
        if self._index is not None:
            self._index.close()
        if self.journal is not None:
            self.journal.close()
        self.room.close()
        self.root.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def index(self) -> Reader | None:
        """The search index, for reading; None where there can be none."""
        if self._part is None or self._boot is None:
            return None
        with self._mutex:
            if self._index is None:
                from fsnotes.notes.index.reader import Reader  # loads SQLite, which no change needs

                self._index = Reader(os.path.join(self._part, INDEX_FOLDER), boot=self._boot)
            return self._index

    @contextmanager
    def changing(
        self,
        *,
        timeout: float,
        abandoned: Callable[[], bool],
        interrupted: Interrupted = Interrupted.FINISH_IF_SEEN,
    ) -> Iterator[None]:
        """Hold the workspace's lock for the block, which changes something; every change does.

        What a killed move has left is finished first. One that goes on without must be a change that the journal can
        stand: no move. Raises what `Root.lock` and `Journal.finish` raise.
        """
        with self.root.lock(timeout=timeout, abandoned=abandoned):
            if interrupted is not Interrupted.LEAVE and self.journal is not None:
                with suppress(*([MoveStuck] if interrupted is Interrupted.FINISH_IF_SEEN else [])):
                    self.journal.finish(self.root)
            yield

    def last_move(self) -> str:
        """Return the mark of the last move that rewrote links; see `Journal.last_move`. For who only looks.

        Raises MovePending while one is not finished, and Unavailable for a journal that cannot be read.
        """
        if self.journal is None:
            return ""
        mark = self.journal.last_move()
        if self.journal.is_pending:
            self.journal.check()
            raise MovePending
        return mark
