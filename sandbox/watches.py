"""Which folders the kernel watches for us, and what its events say about which paths.

A map of the folders is kept as the events tell it, but every folder that appears or moves is opened by the root's
resolver and watched by its descriptor: what stands there decides, not what was told. A folder is watched first, then
listed, then marked, so that what happens in it meanwhile is seen. Nothing is read but names.

What is not seen, and is left to whoever looks again from time to time: changes that another machine makes on a network
file system, a mapped write until its file is closed, a file that is written through a name in a folder which is not
watched (or gets one there), and a mount that comes or goes.

Not for several threads; `watcher.py` owns one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from sandbox import _linux
from sandbox.beneath import Beneath, Descriptor, encoded_parts
from sandbox.errors import (
    Escape,
    InvalidPath,
    LinkRefused,
    Missing,
    NotAFolder,
    SandboxError,
    StorageFailed,
    TooLarge,
    WatchUnavailable,
)
from sandbox.folder_map import NO_WATCH, Folder, FolderMap
from sandbox.inotify import Inotify, events, reason, unavailable
from sandbox.marks import Marks, Reason, Unwatched
from sandbox.names import ROOT, RelPath, component_fault, component_of
from sandbox.policy import Links, Mounts
from sandbox.reading import bounded_entries
from sandbox.releasing import release
from sandbox.resolve import LOOK, LOOK_FOLDER, READ_FOLDER

_APPEARED: Final = _linux.IN_CREATE | _linux.IN_MOVED_TO
_DOT: Final = ord(".")

Wanted = Callable[[RelPath], bool]


class Watches:
    """The watches of one root; what their events say goes to *marks*. Close it.

    *folders* and *files* say which paths matter: what is not wanted is not watched, or not marked; what is hidden never
    is. Until all folders have been looked through, at the beginning and after events were lost, the whole root counts
    as unwatched; then everything is marked. Raises WatchUnavailable where not even the root can be watched.
    """

    def __init__(self, tree: Beneath, marks: Marks, *, folders: Wanted, files: Wanted) -> None:
        self._resolver = tree.steady  # a link is no folder of ours, whatever the policy does with it
        self._policy = tree.policy
        self._marks = marks
        self._wants_folder = folders
        self._wants_file = files
        self._moving: dict[int, Folder] = {}  # by the cookie of the event that took their place
        self._waiting: dict[tuple[Folder, str], bool] = {}  # to be visited, and whether as a whole
        self._round = 0
        self._walking = False
        self._gone = False
        self.overflows = 0
        """How often the kernel had to throw events away."""
        try:
            # Ours: the root may be closed before the thread that works here has ended.
            self._fd = os.dup(tree.fd)
        except OSError as error:
            raise unavailable(error.errno) from error
        try:
            self._inotify = Inotify()
        except BaseException:
            release(self._fd)
            raise
        self._map = FolderMap(self._inotify.release)
        try:
            self._walk()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End all watches."""
        self._inotify.close()
        release(self._fd)

    def fileno(self) -> int:
        """Return the descriptor that can be read when there are events."""
        return self._inotify.fileno()

    @property
    def busy(self) -> bool:
        """Whether folders wait for a visit."""
        return bool(self._waiting)

    @property
    def count(self) -> int:
        """How many folders are watched."""
        return len(self._map.watched)

    # -- events --------------------------------------------------------------------------------

    def read(self) -> bool:
        """Read events once, and mark what they tell; return whether there were any."""
        data = self._inotify.read()
        told: set[tuple[int, bytes]] = set()
        for watch, mask, cookie, name in events(data):
            if mask & _linux.IN_Q_OVERFLOW:
                self.overflows += 1
                self._walk_again()
                continue
            folder = self._map.watched.get(watch)
            if folder is None:
                continue  # dropped, while this was waiting to be read
            if name and not mask & _linux.IN_ISDIR:
                # All in *data* happened before it was read, so the first mark of it stands for the others.
                if (watch, name) not in told or self._policy.links is Links.WITHIN:
                    told.add((watch, name))
                    self._about_file(folder, mask, name)
                continue
            told.clear()
            if name:
                self._about_folder(folder, mask, cookie, name)
            else:
                self._about_itself(folder, mask)
        if not data:
            # Nothing more is told of what has left its place: it may have left before it was watched. What is told of
            # in this very instant is found again as if it were new.
            for folder in [each for each in self._moving.values() if each.parent is None]:
                self._map.drop(folder)
            self._moving.clear()
        self._stand()
        return bool(data)

    def _about_file(self, folder: Folder, mask: int, name: bytes) -> None:
        place, text = self._map.path(folder), component_of(name)
        if place is None or name[0] == _DOT:
            return
        try:
            path = None if text is None else place.child(text)
        except InvalidPath:
            path = None
        if path is None:
            self._marks.listing(place)
            return
        if self._policy.links is Links.WITHIN:
            self._follow_link(folder, path, mask)
        if self._wants_file(path):
            self._marks.file(path)

    def _follow_link(self, folder: Folder, path: RelPath, mask: int) -> None:
        """Keep account of the links, since what is seen through one changes with what it leads to."""
        if path.name in folder.aliases:
            self._marks.folder(path)
        if mask & (_linux.IN_DELETE | _linux.IN_MOVED_FROM):
            folder.aliases.discard(path.name)
        if mask & _APPEARED:
            try:
                with Descriptor(self._resolver.open(self._fd, encoded_parts(path), LOOK)):
                    folder.aliases.discard(path.name)
            except LinkRefused:
                self._map.add_alias(folder, path.name)
                self._marks.folder(path)
            except SandboxError:
                pass  # gone again: an event says so

    def _about_folder(self, parent: Folder, mask: int, cookie: int, name: bytes) -> None:
        if name[0] == _DOT:
            return  # what gets a hidden name is told of as moved, by itself
        place, text = self._map.path(parent), component_of(name)
        if text is None and place is not None:
            self._marks.listing(place)
        if text is None:
            return
        child = parent.children.get(text)
        if mask & _linux.IN_MOVED_FROM and child is not None:
            self._map.detach(child)
            self._moving[cookie] = child
        if mask & _linux.IN_DELETE:
            self._map.forget(parent, text)
        if mask & _linux.IN_MOVED_TO:
            self._arrive(self._moving.pop(cookie, None), parent, text)
        elif mask & (_linux.IN_CREATE | _linux.IN_ATTRIB):
            self._waiting.setdefault((parent, text), False)
        if place is not None:
            self._mark_folder(place, text)

    def _arrive(self, folder: Folder | None, parent: Folder, name: str) -> None:
        """Take what the events tell for true at first; the visit of the whole finds out."""
        if folder is not None and folder.watch != NO_WATCH and not self._map.lies_in(parent, folder):
            self._map.attach(folder, parent, name)
        self._waiting[parent, name] = True

    def _about_itself(self, folder: Folder, mask: int) -> None:
        if folder is self._map.root:
            if mask & _linux.IN_IGNORED:
                self._lose(Reason.GONE)
            elif mask & _linux.IN_ATTRIB:
                self._marks.everything()
        elif mask & _linux.IN_IGNORED:  # removed, or its file system was
            parent, name, path = folder.parent, folder.name, self._map.path(folder)
            self._map.drop(folder)
            if parent is not None:
                self._waiting.setdefault((parent, name), False)
            if path is not None:
                self._marks.folder(path)
        elif mask & _linux.IN_MOVE_SELF and folder.parent is None:
            # It comes right after the two events with names. So nobody told of a place that is watched.
            self._map.drop(folder)

    def _mark_folder(self, place: RelPath, name: str) -> None:
        try:
            path = place.child(name)
        except InvalidPath:
            self._marks.listing(place)
            return
        if self._wants_folder(path):
            self._marks.folder(path)

    # -- visits --------------------------------------------------------------------------------

    def visit(self, most: int) -> None:
        """Visit some of the folders that wait, *most* of them at the most."""
        for _ in range(most):
            if not self._waiting:
                break
            (parent, name), whole = self._waiting.popitem()  # the last one first, so that few wait
            self._visit(parent, name, whole=whole)
        self._end_walk()
        self._stand()

    def retry(self) -> None:
        """Try again what could not be watched."""
        if self._map.root in self._map.unwatched and not self._gone:
            self._walk_again()
        for folder in self._map.unwatched:
            if folder.parent is not None:
                self._waiting[folder.parent, folder.name] = True

    def check_root(self) -> None:
        """Notice that the root was removed: our own descriptor keeps the kernel from saying so."""
        if not self._gone and os.fstat(self._fd).st_nlink == 0:
            self._lose(Reason.GONE)

    def _walk(self) -> None:
        """Begin to look through all folders."""
        self._round += 1
        self._walking = True
        self._waiting.clear()
        self._stand()
        root = self._map.root
        try:
            with Descriptor(self._resolver.open(self._fd, (), READ_FOLDER)) as fd:
                root.watch, root.seen = self._inotify.watch(fd), self._round
                self._map.watched[root.watch] = root
                self._list(root, fd, ROOT, whole=True)
        except (StorageFailed, OSError) as error:
            raise unavailable(error.errno) from error
        except SandboxError as error:
            raise unavailable(None) from error
        self._end_walk()

    def _end_walk(self) -> None:
        if not self._walking or self._waiting:
            return
        for folder in [each for each in self._map.watched.values() if each.seen != self._round]:
            self._map.drop(folder)
        self._walking = False
        self._marks.everything()  # before the root counts as watched, so that nobody misses the time until here
        self._stand()

    def _walk_again(self) -> None:
        try:
            self._walk()
        except WatchUnavailable:
            self._lose(Reason.FAILED)

    def _lose(self, why: Reason) -> None:
        """Stop telling anything."""
        self._waiting.clear()
        for folder in list(self._map.root.children.values()):
            self._map.drop(folder)
        self._walking, self._gone = False, why is Reason.GONE
        self._map.unwatched.clear()
        self._map.unwatched[self._map.root] = why
        self._marks.everything()
        self._stand()

    def _visit(self, parent: Folder, name: str, *, whole: bool) -> None:
        """Watch, list and mark the folder *name* in *parent*, if there is one.

        As a *whole* all folders in it are visited again, else only those that are not known yet.
        """
        place = self._map.path(parent)
        if place is None:
            return  # where it turns up again, all of it is visited
        try:
            path: RelPath | None = place.child(name)
        except InvalidPath:
            path = None  # too deep
        if path is None or not self._wants_folder(path):
            self._map.forget(parent, name)
            return
        try:
            # SAFETY: opened beneath the root without following a link or entering a mount that the policy refuses.
            # If it leaves the root before it is watched, the folder it was in (or one above) tells so: it is dropped.
            with Descriptor(self._resolver.open(self._fd, encoded_parts(path), READ_FOLDER)) as fd:
                watch = self._inotify.watch(fd)
                folder, was_there = self._place(watch, fd, parent, name)
                if folder is not None:
                    self._list(folder, fd, path, whole=whole or not was_there)
        except (Missing, NotAFolder):
            return  # gone again: an event says so
        except Escape:  # a link or a mount by now
            self._map.forget(parent, name)
        except (StorageFailed, OSError) as error:
            self._leave_unwatched(parent, name, error.errno)
        else:
            if was_there:
                return
        self._marks.folder(path)

    def _list(self, folder: Folder, fd: int, path: RelPath, *, whole: bool) -> None:
        self._map.unwatched.pop(folder, None)
        found, links = set[str](), set[str]()
        try:
            for entry in bounded_entries(fd, path, self._policy.max_entries):
                is_folder = entry.is_dir(follow_symlinks=False)
                is_link = not is_folder and self._policy.links is Links.WITHIN and entry.is_symlink()
                if (
                    not (is_folder or is_link)
                    or entry.name[0] == "."
                    or component_fault(entry.name) is not None
                ):
                    continue
                (found if is_folder else links).add(entry.name)
        except (OSError, TooLarge):
            self._map.unwatched[folder] = Reason.FAILED  # what is in it is not known
            return
        for name in folder.aliases - found - links:
            folder.aliases.discard(name)
        for name in links:
            self._map.add_alias(folder, name)
        for name in folder.children.keys() - found:
            self._map.forget(folder, name)
        for name in found:
            child = folder.children.get(name)
            if whole or child is None or child in self._map.unwatched:
                self._waiting[folder, name] = whole

    def _place(self, watch: int, fd: int, parent: Folder, name: str) -> tuple[Folder | None, bool]:
        """Give the folder of that *watch* its place in the map; return it, and whether it was there already.

        There is none where it is a second way to a folder that has its place.
        """
        folder = self._map.watched.get(watch)
        if folder is None:
            folder = self._map.watched[watch] = Folder(watch)
        elif folder.parent is parent and folder.name == name:
            folder.seen = self._round
            return folder, True
        elif folder is self._map.root or self._has_its_place(folder, fd):
            self._map.forget(parent, name)
            self._map.add_alias(parent, name)
            return None, False
        folder.seen = self._round
        if self._map.lies_in(parent, folder):  # the map is of another time than what was found
            self._walk_again()
            return None, False
        self._map.attach(folder, parent, name)
        return folder, False

    def _has_its_place(self, folder: Folder, fd: int) -> bool:
        """Say whether *folder*, which *fd* holds, still is where the map has it: mounts give two places."""
        path = self._map.path(folder) if self._policy.mounts is Mounts.ALLOW else None
        if path is None:
            return False
        try:
            with Descriptor(self._resolver.open(self._fd, encoded_parts(path), LOOK_FOLDER)) as there:
                return os.path.samestat(os.fstat(there), os.fstat(fd))
        except SandboxError:
            return False

    def _leave_unwatched(self, parent: Folder, name: str, number: int | None) -> None:
        self._map.forget(parent, name)
        folder = Folder()
        self._map.attach(folder, parent, name)
        self._map.unwatched[folder] = reason(number)

    def _stand(self) -> None:
        """Tell *marks* what is not watched, and what has second names."""
        unwatched, aliases = self._map.standing()
        self._marks.stand([Unwatched(ROOT, Reason.WALKING)] if self._walking else unwatched, aliases)
