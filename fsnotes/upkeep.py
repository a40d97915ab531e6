"""Keeps the index of one workspace equal to its notes while a server runs, and says what it lacks meanwhile.

A thread asks for one bounded call after another, and sleeps once there is nothing to do. What changed is told by the
watcher of the workspace; it stays marked until the index has taken it in, so that a search knows what to look into
itself. While another process keeps the index nothing is watched: no search could rely on it, and watchers are few. How
an index is kept is decided in `notes/index`, and where, by the runner.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from fsnotes.errors import Busy, FsnotesError, Unavailable
from fsnotes.freshness import Progress, Standing
from fsnotes.notes.index_commands import KeepIndex
from fsnotes.notes.model import is_note
from fsnotes.notes.replies import IndexKept, Skipped
from sandbox.errors import SandboxError
from sandbox.marks import Reason
from sandbox.names import ROOT, RelPath

if TYPE_CHECKING:
    from sandbox.watcher import Dirty, Watcher

MOST_PATHS: Final = 100
"""A search looks into no more notes than this itself, before it waits for the index or goes through all."""

BATCH: Final = 64
"""How many changed notes one call takes in."""

SETTLE_SECONDS: Final = 0.25
"""How long a search waits for the watcher to have read what the kernel told it."""

PATIENCE_SECONDS: Final = 0.1
"""How long a search waits for the index to take in what is too much to look into."""

SURVEY_SECONDS: Final = 600.0
"""How often everything is surveyed though nothing was told: network file systems and mapped writes tell nothing."""

UNWATCHED_SECONDS: Final = 30.0
"""The same while something cannot be watched."""

WHOLE_SECONDS: Final = 30.0
"""How long after the last change the file is made whole on the disk: else it is built anew after a power cut."""

CLOSE_SECONDS: Final = 3.0
"""How long `close` waits."""

BUSY_SECONDS: Final = 1.0
"""How long until it is seen again whether another process still keeps the index."""

FAILED_SECONDS: Final = 2.0
"""How long nothing is done after a failure; after each further one twice as long, MOST_SECONDS at the most."""

MOST_SECONDS: Final = 300.0

LOST_SECONDS: Final = 5.0
"""How often a search that has not found the index has everything be looked at."""

_log = logging.getLogger("fsnotes.upkeep")


class Upkeep:
    """Keeps one index. Thread-safe; close it.

    *keep* does what is next, and *watch* begins to watch the notes, or raises what `Root.watch` raises. Where the
    policy lets one file have several names (*has_aliases*), nobody tells of a write under the others, so the index is
    never taken to be settled. Nothing is done before `start`.
    """

    def __init__(
        self,
        name: str,
        keep: Callable[[KeepIndex], IndexKept],
        watch: Callable[[], Watcher],
        *,
        has_aliases: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._has_aliases = has_aliases
        self._name = name
        self._keep = keep
        self._watch = watch
        self._clock = clock
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._watcher: Watcher | None = None
        self._handed: Dirty | None = None
        """What was marked when the survey was asked for that is not done yet."""
        self._seen = 0
        self._whole = True
        """Whether the file is whole on the disk, whatever happens to the power."""
        self._surveyed = -SURVEY_SECONDS
        self._kept: IndexKept | None = None
        self._refused = 0
        """How often in a row another process was found to keep the index."""
        self._skipped: tuple[Skipped, ...] = ()
        self._hears = clock()
        self._yields = False
        """Whether this turn is not for what changed."""
        self._has_links = False
        """Whether there are files of several names among the skipped."""

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="index upkeep", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, once the call that it waits for has ended, or after CLOSE_SECONDS."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        watcher = self._watcher
        if watcher is not None:
            watcher.close()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)

    # -- for searches ------------------------------------------------------------------------------

    def standing(self) -> Standing:
        """Return how the index stands. Waits at most for SETTLE_SECONDS and PATIENCE_SECONDS."""
        watcher = self._watcher
        if watcher is None or self._has_aliases or not watcher.settle(SETTLE_SECONDS):
            return Standing(settled=False)
        if self._has_links:
            # When one of its names goes, the other becomes a note, and nobody says so.
            return Standing(settled=False)
        dirty = watcher.look()
        if not dirty.everything and not _is_blind(dirty) and not _is_little(dirty):
            dirty = self._waited(watcher)
        kept = self._kept
        if kept is None or not kept.complete or not _is_little(dirty):
            return Standing(settled=False)
        return Standing(
            settled=True,
            paths=tuple(sorted(map(str, dirty.files))),
            skipped=self._skipped,
            generation=kept.generation,
            notes=kept.total,
        )

    def lost(self) -> None:
        """Have everything be looked at again, the file of the index first; not more often than LOST_SECONDS."""
        watcher, kept, now = self._watcher, self._kept, self._clock()
        if watcher is not None and kept is not None and kept.phase == "ready" and now >= self._hears:
            self._hears = now + LOST_SECONDS
            watcher.mark_folder(ROOT)

    def _waited(self, watcher: Watcher) -> Dirty:
        """Wait a moment for the index to take in what is dirty; return what is left of it."""
        end = time.monotonic() + PATIENCE_SECONDS
        with self._changed:
            while not _is_little(dirty := watcher.look()):
                left = end - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    break
        return dirty

    def progress(self) -> Progress | None:
        """Return how far the index is, without waiting; None where nobody keeps it."""
        kept = self._kept
        return None if kept is None else Progress(kept.phase, kept.indexed, kept.remaining)

    # -- the thread --------------------------------------------------------------------------------

    def _run(self) -> None:
        failed = FAILED_SECONDS
        while not self._stopping:
            try:
                pause = self._turn()
                failed = FAILED_SECONDS
                if pause > 0 and not self._whole and not self._rest(min(pause, WHOLE_SECONDS)):
                    self._make_whole()
                    continue
            except Busy:
                self._refused += 1
                if self._refused > 1:  # once may be a reader that held the keeper up for long
                    self._unwatch()
                pause = self._begin_again(BUSY_SECONDS)
            except FsnotesError as error:
                _log.info("workspace %r: its index is not kept: %s", self._name, error)
                pause = self._begin_again(failed)
                failed = min(2 * failed, MOST_SECONDS)
            except Exception:  # noqa: BLE001 - the next turn may do better, and nobody waits for this one
                _log.exception("the upkeep of an index failed")
                pause = self._begin_again(failed)
                failed = min(2 * failed, MOST_SECONDS)
            if pause > 0 and self._whole:
                self._rest(pause)
        if not self._whole:
            try:
                self._make_whole()
            except FsnotesError as error:
                _log.info("workspace %r: its index is not whole: %s", self._name, error)

    def _make_whole(self) -> None:
        self._whole = True
        self._keep(KeepIndex(whole=True))

    def _begin_again(self, pause: float) -> float:
        """After a failure: what was handed over may not have been taken in, so everything is looked at again."""
        self._kept = self._handed = None
        self._whole = True
        if self._watcher is not None:
            self._watcher.mark_folder(ROOT)
        self._surveyed = -SURVEY_SECONDS
        return pause

    def _rest(self, pause: float) -> bool:
        """Sleep for *pause* seconds, or until something is marked if nothing else is to be done; say whether it was."""
        if self._watcher is not None and self._kept is not None:
            return self._watcher.wait(self._seen, pause)
        with self._changed:
            return self._changed.wait_for(lambda: self._stopping, pause)

    def _turn(self) -> float:
        """Make one call, and return how long nothing is to be done after it."""
        if self._watcher is not None and self._watcher.has_ended:
            self._watcher = None
            raise Unavailable("the watcher of the workspace has ended")
        if self._watcher is None:
            # Raises Busy while another process keeps the index. What it finds is looked at again once that is watched.
            self._hear(self._keep(KeepIndex()))
            self._watcher = self._begun_watching()
        watcher = self._watcher
        dirty = None if watcher is None else watcher.look()
        # A note that is always being written must not keep all others from being read for the first time.
        self._yields = self._kept is not None and self._kept.phase != "ready" and not self._yields
        paths = () if dirty is None or self._yields else _changed(dirty)
        kept = self._keep(KeepIndex(paths, self._due(dirty)))
        self._kept, self._refused = kept, 0
        self._hear(kept)
        if watcher is not None and dirty is not None:
            self._clear(watcher, dirty, kept, paths)
            self._seen = dirty.generation
        with self._changed:
            self._changed.notify_all()
        self._whole = self._whole and kept.idle and not paths
        if not kept.idle or kept.rest or (watcher is not None and _is_waiting(watcher.look())):
            return 0.0
        return max(0.001, self._surveyed + self._period(dirty) - self._clock())

    def _hear(self, kept: IndexKept) -> None:
        """Take note of what is told once only."""
        if kept.skipped is not None:
            self._skipped = kept.skipped
            self._has_links = any(item.reason == "hard_link" for item in kept.skipped)

    def _clear(self, watcher: Watcher, dirty: Dirty, kept: IndexKept, paths: tuple[str, ...]) -> None:
        """Forget what was marked and has been taken in."""
        done = frozenset(map(RelPath.parse, frozenset(paths).difference(kept.rest)))
        watcher.clear(dirty, only=done | {path for path in dirty.files if not is_note(path.name)})
        if kept.phase == "ready" and self._handed is not None:
            watcher.clear(self._handed)
            self._handed = None

    def _begun_watching(self) -> Watcher | None:
        try:
            watcher = self._watch()
            if self._stopping:
                watcher.close()
            return watcher
        except SandboxError as error:
            _log.info("workspace %r is not watched: %s", self._name, error)
            return None

    def _unwatch(self) -> None:
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.close()

    def _due(self, dirty: Dirty | None) -> tuple[str, ...]:
        """Return the folders that are to be surveyed now, "" for all; what is marked stays so until they are."""
        now = self._clock()
        if not now - self._surveyed < self._period(dirty):
            if self._watcher is not None and dirty is not None and dirty.unwatched:
                self._watcher.retry()
            self._surveyed = now
            self._handed = dirty
            return ("",)
        if dirty is None or self._handed is not None:
            return ()
        if dirty.everything:
            self._handed = dirty
            return ("",)
        if dirty.folders:
            self._handed = dirty
            return tuple(sorted(map(str, dirty.folders)))
        return ()

    def _period(self, dirty: Dirty | None) -> float:
        return UNWATCHED_SECONDS if dirty is None or _is_blind(dirty) else SURVEY_SECONDS


def _changed(dirty: Dirty) -> tuple[str, ...]:
    """Return some of the notes that changed."""
    return tuple(sorted(str(path) for path in dirty.files if is_note(path.name)))[:BATCH]


def _is_waiting(dirty: Dirty) -> bool:
    """Say whether there is something to take in. What is not watched counts as dirty for ever, and has its own time."""
    return not _is_blind(dirty) and (dirty.everything or bool(dirty.files or dirty.folders))


def _is_blind(dirty: Dirty) -> bool:
    """Say whether there are notes of which no change is told. In a folder that may not be read there are none."""
    return any(each.reason is not Reason.DENIED for each in dirty.unwatched)


def _is_little(dirty: Dirty) -> bool:
    """Say whether a search can look into all that is dirty."""
    few = len(dirty.files) <= MOST_PATHS
    return few and not (dirty.everything or dirty.folders or _is_blind(dirty))
