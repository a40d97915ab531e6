"""Tells listeners what was changed in a workspace, by whomever: one hub for each workspace that somebody listens to.

A hub watches its workspace by itself, whether an index is kept or not, from the first listener to the last. What it
hands out are paths; which of them a listener may hear of is decided by whoever made the listener. A hub never waits for
one: each keeps a bounded set of what it has not been told yet.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from fsnotes.notes.globs import composed
from fsnotes.notes.scope import Scope
from sandbox.errors import SandboxError
from sandbox.marks import Dirty, Reason
from sandbox.names import ROOT, RelPath
from sandbox.records import record

if TYPE_CHECKING:
    from sandbox.watcher import Watcher

MOST_WATCHED: Final = 16
"""How many workspaces are watched for listeners at once: a user may have 128 watchers, and indexes take some."""

SETTLE_SECONDS: Final = 2.0
"""How long a listener waits until all folders are watched. If it takes longer, all counts as changed once they are."""

GATHER_SECONDS: Final = 0.05
"""How long changes are gathered before they are handed out."""

RETRY_SECONDS: Final = 2.0
"""How often it is tried to watch again what could not be watched any more."""

WAIT_SECONDS: Final = 1.0
CLOSE_SECONDS: Final = 3.0

_SEEN: Final = frozenset({Reason.DENIED, Reason.WALKING})
"""Reasons for which a folder is not watched though nothing is missed: no notes are read there, or it will be told."""

_log = logging.getLogger("fsnotes.changes")


@record
class Changes:
    """What may have changed: single *files*, all beneath *folders*, or, with *everything*, all of the workspace."""

    everything: bool
    files: frozenset[RelPath]
    folders: frozenset[RelPath]

    @classmethod
    def of(cls, dirty: Dirty) -> Changes:
        """Return what *dirty* says. Nothing while the folders are being looked through: then everything is marked."""
        if any(each.reason is Reason.WALKING and not each.path.parts for each in dirty.unwatched):
            return cls(everything=False, files=frozenset(), folders=frozenset())
        return cls(dirty.everything, dirty.files, dirty.folders)

    def __bool__(self) -> bool:
        return self.everything or bool(self.files or self.folders)


class Listener:
    """What one subscription wants to know of one workspace, and has not been told yet. Thread-safe.

    *paths* are single notes, and *scope* is where a change is one of the list, None for nowhere. *wake* is called from
    a thread of the hub's once there is something, and must be quick.
    """

    def __init__(self, paths: Iterable[RelPath], scope: Scope | None, wake: Callable[[], None]) -> None:
        self._by_key: dict[tuple[str, ...], set[RelPath]] = {}
        for path in paths:
            self._by_key.setdefault(composed(path.parts), set()).add(path)
        self._scope = scope
        self._wake = wake
        self._mutex = threading.Lock()
        self._paths: set[RelPath] = set()
        self._list = False

    def hear(self, changes: Changes) -> None:
        """Take note of what concerns this one."""
        paths, changed = self._concerned(changes), self._is_list_changed(changes)
        if not (paths or changed):
            return
        with self._mutex:
            self._paths |= paths  # bounded: all are of those that were asked for
            self._list = self._list or changed
        self._wake()

    def _concerned(self, changes: Changes) -> set[RelPath]:
        if changes.everything:
            return {path for paths in self._by_key.values() for path in paths}
        found: set[RelPath] = set()
        if self._by_key:
            for file in changes.files:
                found |= self._by_key.get(composed(file.parts), set())
        for folder in changes.folders:
            above = composed(folder.parts)
            found |= {
                path for key, paths in self._by_key.items() if key[: len(above)] == above for path in paths
            }
        return found

    def _is_list_changed(self, changes: Changes) -> bool:
        scope = self._scope
        if scope is None:
            return False
        if changes.everything:
            return True
        return any(map(scope.covers, changes.files)) or any(
            scope.covers(folder) or scope.leads_to(folder) for folder in changes.folders
        )

    def take(self) -> tuple[set[RelPath], bool]:
        """Return the notes that have changed, and whether the list has, and forget both."""
        with self._mutex:
            paths, changed = self._paths, self._list
            self._paths, self._list = set(), False
        return paths, changed


class Hub:
    """The changes of one workspace. Thread-safe; close it.

    *watch* begins to watch, or raises what `Root.watch` raises.
    """

    def __init__(self, name: str, watch: Callable[[], Watcher]) -> None:
        self._name = name
        self._watch = watch
        self._beginning = threading.Lock()
        self._mutex = threading.Lock()  # held for moments only: a listener is removed where nobody may wait
        self._stop = threading.Event()
        self._listeners: set[Listener] = set()
        self._watcher: Watcher | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_watching(self) -> bool:
        """Whether it has a watcher."""
        return self._watcher is not None

    def add(self, listener: Listener) -> tuple[RelPath, ...] | None:
        """Let *listener* hear what changes from now on; return the folders of which it hears nothing.

        None where that is all of the workspace; then the listener is not added. Takes SETTLE_SECONDS at the most, as
        far as the file system answers.
        """
        with self._beginning:
            while not self._stop.is_set():
                watcher = self._watcher
                if watcher is None or watcher.has_ended:
                    watcher = self._begun(watcher)
                    if watcher is None:
                        return None
                deaf = tuple(each.path for each in watcher.look().unwatched if each.reason not in _SEEN)
                is_deaf = ROOT in deaf
                with self._mutex:
                    if self._watcher is not watcher:
                        continue  # the last listener has gone meanwhile, and the watcher with it
                    if not is_deaf:
                        self._listeners.add(listener)
                    if self._thread is None:
                        self._thread = threading.Thread(target=self._run, name="fsnotes-changes", daemon=True)
                        self._thread.start()
                return None if is_deaf else deaf
        return None

    def _begun(self, former: Watcher | None) -> Watcher | None:
        """Return a new watcher in the place of *former*; None where there cannot be one."""
        try:
            watcher = self._watch()
        except SandboxError as error:
            _log.info("workspace %r is not watched: %s", self._name, error)
            return None
        is_settled = watcher.settle(SETTLE_SECONDS)
        with self._mutex:
            if self._watcher is former and not self._stop.is_set():
                if is_settled and not self._listeners:
                    watcher.take()  # all of it is new to a watcher, and not to a listener that comes now
                self._watcher = watcher
                return watcher
        watcher.close()
        return self._watcher

    def remove(self, listener: Listener) -> None:
        """Let *listener* hear nothing more. Waits for nothing."""
        with self._mutex:
            self._listeners.discard(listener)

    def close(self) -> None:
        """Hand out nothing more."""
        self._stop.set()
        with self._mutex:
            self._listeners.clear()
            thread, watcher = self._thread, self._watcher
        if watcher is not None:
            watcher.close()
        if thread is not None:
            thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        generation = 0
        current: Watcher | None = None
        while True:
            with self._mutex:
                watcher = self._watcher
                if not self._listeners:
                    self._thread = self._watcher = None
                    break
            if watcher is not current:
                current, generation = watcher, 0
            if watcher is None or watcher.has_ended:
                self._stop.wait(RETRY_SECONDS)
                # Until there is another one nothing is heard; from then on, all counts as changed.
                with self._beginning:
                    if self._watcher is watcher:
                        self._begun(watcher)
            elif watcher.wait(generation, WAIT_SECONDS):
                self._stop.wait(GATHER_SECONDS)
                dirty = watcher.take()
                generation = dirty.generation
                self._hand_out(Changes.of(dirty))
        if watcher is not None:
            watcher.close()

    def _hand_out(self, changes: Changes) -> None:
        if not changes:
            return
        with self._mutex:
            listeners = tuple(self._listeners)
        for listener in listeners:
            try:
                listener.hear(changes)
            except Exception:  # noqa: BLE001 - one listener's trouble is not the others'
                _log.exception("a listener could not be told of a change")


class Hubs:
    """The hubs of all workspaces, of which MOST_WATCHED watch at once. Thread-safe; close it."""

    def __init__(self, watches: Mapping[str, Callable[[], Watcher]]) -> None:
        self._hubs = {name: Hub(name, watch) for name, watch in watches.items()}
        self._mutex = threading.Lock()
        self._beginning: Counter[str] = Counter()

    def add(self, workspace: str, listener: Listener) -> tuple[RelPath, ...] | None:
        """Let *listener* hear of *workspace*; see `Hub.add`. None too where too many are watched."""
        with self._mutex:
            watched = {name for name, hub in self._hubs.items() if hub.is_watching or self._beginning[name]}
            if workspace not in watched and len(watched) >= MOST_WATCHED:
                return None
            self._beginning[workspace] += 1
        try:
            # Not with the mutex: a file system that does not answer holds up nobody else.
            return self._hubs[workspace].add(listener)
        finally:
            with self._mutex:
                self._beginning[workspace] -= 1

    def remove(self, workspace: str, listener: Listener) -> None:
        """Let *listener* hear nothing more of *workspace*."""
        self._hubs[workspace].remove(listener)

    def close(self) -> None:
        """Close all of them."""
        for hub in self._hubs.values():
            hub.close()
