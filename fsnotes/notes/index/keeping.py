"""The keeper of a workspace's index: what is done next, one bounded call after the other.

It opens the index, or makes it; surveys and builds; looks at single notes when told to; and in idle time merges, reads
notes again whose words say a former path, and makes the file anew beside itself when too much in it is masked. A file
that turns out to be damaged is thrown away and built again. One process keeps the index of a workspace; for others
the folder is Busy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeVar

from fsnotes.errors import Busy, IndexUnusable, Unavailable
from fsnotes.notes.commands import Skipped
from fsnotes.notes.index.bounds import CALL_SECONDS
from fsnotes.notes.index.building import MOST_NAMED, Builder, LeftOut, Survey, Vault, refresh
from fsnotes.notes.index.files import CURRENT, NEXT, Folder
from fsnotes.notes.index.store import MERGE_PAGES, Store
from fsnotes.notes.model import is_note

T = TypeVar("T")

DEAD_NOTES: Final = 10_000
DEAD_SHARE: Final = 0.2
LEAST_DEAD: Final = 500
"""The file is made anew once so many of its ids are dead, or this share and at least that many."""
MOST_BYTES: Final = 2
SPARE_BYTES: Final = 32 << 20
"""It is too once it has so many times the bytes of all notes, and these more, and anything in it is dead.

A few large notes that are saved again and again leave much behind.
"""
LOOK_BYTES: Final = 4 << 20
"""How many bytes the file has to grow or shrink until the notes' bytes are summed up again: 10 ms for 100,000."""
MOST_MOVED: Final = 200
"""Notes that were renamed are read again, in idle time, once there are more of them."""
HARD_LINK: Final = "hard_link"
"""Why a file of several names is left out, under each of them."""
COMMITS_BETWEEN_MERGES: Final = 16
MAX_RENEWALS: Final = 5
"""How often one keeper throws a damaged file away before it gives up."""


class Progress(NamedTuple):
    """How far the index is: *indexed* notes, *remaining* ones that are known to be read, and what was *left_out*.

    Notes that are not text are in the index, and not among these: *notes* are all. *phase* is `surveying`, `building`
    or `ready`. *complete* says that all notes were in the index once, so that what it lacks is only what has changed
    since. *idle* says that there is nothing to do.
    """

    phase: str
    indexed: int
    remaining: int
    left_out: tuple[Skipped, ...]
    complete: bool
    idle: bool
    notes: int


class _Filling:
    """An index file and what is done to make it equal to the notes."""

    def __init__(self, vault: Vault, store: Store) -> None:
        self.vault = vault
        self.store = store
        self.builder = Builder(vault, store)
        self.folders: deque[str] = deque([""])
        """What is to be surveyed, "" for all."""
        self.survey: Survey | None = None
        self.left_out: tuple[Skipped, ...] = ()
        self.changed: dict[str, str | None] = {}
        """What has changed in that since: why a file is left out now, None if it is not."""
        self.ready = False

    def step(self, end: float) -> None:
        """Go on with the survey, or with what it has found."""
        if self.survey is None and self.folders:
            # What is there comes before what is gone: so a folder that was renamed is seen as that.
            folder = next((each for each in self.folders if self.vault.is_folder(each)), self.folders[0])
            self.folders.remove(folder)
            self.survey = Survey(self.vault, self.store, folder)
        if self.survey is not None:
            self.ready = False
            if not self.survey.step(end):
                return
            self.builder.add(self.survey.pending)
            if not self.survey.folder:
                self.left_out = self.survey.left_out.told()
                self.changed = {}
                self.builder.left_out = LeftOut()
            self.survey = None
        if self.folders:
            return
        if self.vault.clock() < end and self.builder.step(end):
            self.store.finish()
            self.ready = self.store.commit()

    def told(self) -> tuple[Skipped, ...]:
        """Return what is left out by now."""
        former = (item for item in self.left_out if item.path not in self.changed)
        since = (Skipped(path, 1, reason) for path, reason in self.changed.items() if reason is not None)
        return LeftOut((*former, *since, *self.builder.left_out.told())).told()

    def judge(self, path: str) -> bool:
        """Note why the file at *path* is left out, if it is; say whether everything has to be surveyed for it."""
        reason = None if self.store.doc(path) is not None else self.vault.refused(path)
        former = self.changed.get(
            path, next((each.reason for each in self.left_out if each.path == path), None)
        )
        if reason is None and former == HARD_LINK:
            # The file has another name still, under which it becomes a note, and nobody says so.
            return True
        if reason != former:
            self.changed[path] = reason
        return len(self.changed) > MOST_NAMED

    @property
    def surveying(self) -> bool:
        """Whether it is not yet known what has to be read."""
        return self.survey is not None or bool(self.folders)


class Keeper:
    """Keeps the index of one workspace. Not thread-safe; close it."""

    def __init__(self, folder: str, vault: Vault, *, boot: str) -> None:
        """Open the index in *folder*. *boot* is the id of the running boot.

        Raises Busy while another process keeps it, and Unavailable when nothing can be written there.
        """
        self._vault = vault
        self._boot = boot
        self._folder = Folder(folder)
        try:
            self._folder.lock()
            self._folder.discard(NEXT)
            self._filling = _Filling(vault, Store(self._folder, CURRENT, boot=boot))
        except BaseException:
            self._folder.close()
            raise
        self._next: _Filling | None = None
        self._may_compact = True
        self._swollen = (0, False)
        """How large the file was when it was looked at for that, and whether it had too many bytes."""
        self._renewals = 0
        self._merged_at = 0
        self._merging = -MERGE_PAGES

    def close(self) -> None:
        """Commit and close."""
        self._drop_next()
        self._filling.store.close()
        self._folder.close()

    @property
    def generation(self) -> str:
        """Which file it is: another one after it was made anew."""
        return self._filling.store.generation

    def progress(self) -> Progress:
        """Return how far the index is. Raises what `step` raises."""
        filling = self._filling
        docs, moved, dead = filling.store.counts()
        phase = "ready" if filling.ready else "surveying" if filling.surveying else "building"
        unread = filling.store.unread()
        remaining = filling.builder.remaining + (
            len(filling.survey.pending) if filling.survey is not None else 0
        )
        return Progress(
            phase,
            docs - unread,
            remaining,
            filling.told(),
            filling.store.complete,
            filling.ready and not self._has_chores(moved, dead),
            docs,
        )

    def look_again(self, folder: str = "") -> None:
        """Survey a folder, "" for all: what is in it may have changed in any way."""
        for filling in self._fillings():
            if folder not in filling.folders:
                filling.folders.append(folder)
                filling.ready = False

    def refresh(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Take what happened to single notes into the index, visible at once; return those that are still to be done.

        For about CALL_SECONDS, or one large note. What is no path of a note is surveyed as a folder later. Raises Busy,
        Unavailable.
        """
        asked = list(paths)
        for path in asked:
            if not is_note(path.rpartition("/")[2]):
                self.look_again(path)
        notes = [path for path in asked if is_note(path.rpartition("/")[2])]
        return self._mended(lambda: self._refreshed(notes), lambda: tuple(notes))

    def _refreshed(self, notes: list[str]) -> tuple[str, ...]:
        end = self._vault.clock() + CALL_SECONDS
        left = refresh(self._vault, self._filling.store, notes, end)
        if True in [self._filling.judge(path) for path in notes if path not in left]:
            self.look_again()
        if not self._filling.store.commit():
            return tuple(notes)
        if self._next is not None:
            # It is compared with the notes for as long as it is made, and so it never falls behind.
            done = [path for path in notes if path not in left]
            refresh(self._vault, self._next.store, done, float("inf"))
        return tuple(left)

    def step(self) -> Progress:
        """Do what is next for about CALL_SECONDS, and return how far the index is.

        Raises Busy, when another process reads for long, and Unavailable, when the disk is full or gone: what was not
        committed is done again later.
        """
        return self._mended(self._stepped, self.progress)

    def _stepped(self) -> Progress:
        end = self._vault.clock() + CALL_SECONDS
        if self._filling.ready:
            self._tend(end)
        else:
            self._filling.step(end)
        progress = self.progress()
        if progress.phase == "ready":
            self._renewals = 0
        return progress

    def settle(self) -> Progress:
        """Have what was committed on the disk, and marked as whole. Raises what `step` raises."""
        return self._mended(self._settled, self.progress)

    def _settled(self) -> Progress:
        if self._filling.ready:
            self._filling.store.settle()
        return self.progress()

    def _mended(self, do: Callable[[], T], anew: Callable[[], T]) -> T:
        """Return what *do* does; or, where the file turns out to be damaged, what *anew* says of the new one."""
        try:
            self._filling.store.check_place()
            return do()
        except IndexUnusable:
            self.renew()
            return anew()
        except (Busy, Unavailable) as failure:
            self._begin_again(failure)
            raise

    def _fillings(self) -> list[_Filling]:
        return [self._filling, *([] if self._next is None else [self._next])]

    def _begin_again(self, failure: Exception) -> None:
        """After a failure: what was not committed is gone, so everything is compared again."""
        self._drop_next()
        # A reader that takes long is soon gone; a disk that is full is not.
        self._may_compact = self._may_compact and isinstance(failure, Busy)
        self._filling.store.undo()
        self._filling = _Filling(self._vault, self._filling.store)

    def renew(self) -> None:
        """Throw the file away and begin with an empty one."""
        self._drop_next()
        self._renewals += 1
        self._filling.store.abandon()
        if self._renewals > MAX_RENEWALS:
            raise Unavailable("the search index is damaged again and again")
        self._folder.relock()
        self._folder.discard(CURRENT)
        self._filling = _Filling(self._vault, Store(self._folder, CURRENT, boot=self._boot))
        self._merging = -MERGE_PAGES

    # -- in idle time --------------------------------------------------------------------------

    def _has_chores(self, moved: int, dead: int) -> bool:
        return (
            self._is_split()
            or moved > MOST_MOVED
            or self._next is not None
            or (self._may_compact and self._is_worn(dead))
        )

    def _is_split(self) -> bool:
        return self._merging != 0 or self._filling.store.commits - self._merged_at >= COMMITS_BETWEEN_MERGES

    def _merge(self, end: float) -> None:
        store = self._filling.store
        while self._vault.clock() < end:
            more = store.merge(pages=self._merging or MERGE_PAGES)
            self._merging = MERGE_PAGES
            if not more:
                self._merging, self._merged_at = 0, store.commits
                return

    def _is_worn(self, dead: int) -> bool:
        if dead >= DEAD_NOTES:
            return True
        docs = self._filling.store.counts()[0]
        if dead >= LEAST_DEAD and dead >= DEAD_SHARE * (docs + dead):
            return True
        return dead > 0 and self._is_swollen()

    def _is_swollen(self) -> bool:
        size = self._folder.size(CURRENT)
        if abs(size - self._swollen[0]) >= LOOK_BYTES:
            spare = size - SPARE_BYTES
            self._swollen = size, spare > 0 and spare > MOST_BYTES * self._filling.store.text_bytes()
        return self._swollen[1]

    def _tend(self, end: float) -> None:
        store = self._filling.store
        if self._is_split():
            self._merge(end)
            return
        if self._next is not None:
            self._compact(self._next, end)
            return
        _, moved, dead = store.counts()
        if moved > MOST_MOVED:
            for doc in store.moved(limit=16):
                row = self._vault.row(doc.path)
                if row is None or isinstance(row, str):
                    store.remove([doc.path])
                else:
                    store.put([row])
            store.renew_generation()
            store.commit()
        elif self._may_compact and self._is_worn(dead):
            self._next = _Filling(self._vault, Store(self._folder, NEXT, boot=self._boot))

    def _compact(self, filling: _Filling, end: float) -> None:
        """Go on with the file that is made anew; give it its name when it is as good as the other one."""
        try:
            filling.step(end)
            if not filling.ready:
                return
            filling.store.settle()
        except (IndexUnusable, Busy, Unavailable):
            # The file in use is not concerned. Until the next start it stays as it is.
            self._drop_next()
            self._may_compact = False
            return
        self._next = None
        left_out, changed = filling.left_out, self._filling.changed
        filling.store.abandon()
        self._filling.store.close()
        self._folder.promote(NEXT, CURRENT)
        self._filling = _Filling(self._vault, Store(self._folder, CURRENT, boot=self._boot))
        self._filling.folders.clear()
        self._filling.left_out, self._filling.changed = left_out, changed
        self._filling.ready = True
        self._merging, self._merged_at = -MERGE_PAGES, 0

    def _drop_next(self) -> None:
        filling, self._next = self._next, None
        if filling is not None:
            filling.store.abandon()
            self._folder.discard(NEXT)
