"""Reading beneath a root: files, identities, kinds and single folders.

A file is looked at before it is opened, and again once it is open. What its bytes mean, and which entries
of a folder a caller may see, is left to others.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final

from sandbox.beneath import Beneath, Descriptor, encoded_parts
from sandbox.errors import Escape, Missing, MountRefused, SandboxError, TooLarge
from sandbox.names import RelPath, component_fault, display
from sandbox.objects import MAX_UNNAMEABLE, Content, Entry, FileIdentity, Kind, Listing, Numbers, Stamp
from sandbox.policy import Links, Policy
from sandbox.releasing import release
from sandbox.reports import reporting
from sandbox.resolve import LOOK, LOOK_FOLDER, READ_FOLDER

READ_FILE: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
READ_STEP: Final = 1 << 18
READ_ATTEMPTS: Final = 3
"""How often a file that is written while it is read is read again before it is taken as it is."""


def read(tree: Beneath, path: RelPath) -> Content:
    """Return the bytes of the file at *path*; see `Root.read`."""
    return read_judged(path, tree.policy, lambda flags: tree.open(path, flags))


def read_judged(path: RelPath, policy: Policy, opener: Callable[[int], Descriptor]) -> Content:
    """Look, judge, open, judge again, read. *opener* opens the object with the flags it is given."""
    with opener(LOOK) as seen, reporting(path):
        policy.judge(path, os.fstat(seen))
    # SAFETY: between the look and this opening another object may take the name. Then the second judgement
    # refuses it; O_NONBLOCK keeps a FIFO from blocking, O_NOCTTY a terminal from becoming ours.
    with opener(READ_FILE) as fd, reporting(path):
        for _ in range(READ_ATTEMPTS):
            before = os.fstat(fd)
            policy.judge(path, before)
            data = _read_bounded(fd, path, before.st_size, policy.max_file_bytes)
            identity = FileIdentity.of(before)
            if FileIdentity.of(os.fstat(fd)).key == identity.key:
                break
            os.lseek(fd, 0, os.SEEK_SET)
        # The identity from before the reading: if somebody wrote meanwhile, a change that expects it fails.
        return Content(data, identity)


def _read_bounded(fd: int, path: RelPath, expected: int, limit: int) -> bytes:
    """Read to the end, counting: the size that was told may be wrong, or the file may grow."""
    pieces: list[bytes] = []
    room = limit + 1
    while room > 0:
        piece = os.read(fd, min(room, max(expected + 1, READ_STEP)))
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        room -= len(piece)
    raise TooLarge(str(path), limit=limit)


def stat(tree: Beneath, path: RelPath) -> FileIdentity:
    """Return the identity of the file at *path* without opening it; see `Root.stat`."""
    with tree.open(path, LOOK) as seen, reporting(path):
        status = os.fstat(seen)
        tree.policy.judge(path, status)
        return FileIdentity.of(status)


def identities(
    tree: Beneath, path: RelPath, entries: Sequence[Entry], known: Mapping[str, Numbers]
) -> list[FileIdentity | SandboxError | None]:
    """Return what `stat` gives or raises for these files of the folder at *path*; see `Root.identities`."""
    if tree.policy.links is Links.WITHIN:
        return [_stat_or_error(tree, path, entry) for entry in entries]
    fault = tree.policy.fault
    found: list[FileIdentity | SandboxError | None] = []
    try:
        with tree.open(path, LOOK_FOLDER) as folder, reporting(path):
            device = os.fstat(folder).st_dev
            for entry in entries:
                try:
                    status = os.stat(entry.name.encode(), dir_fd=folder, follow_symlinks=False)
                except OSError:
                    found.append(_stat_or_error(tree, path, entry))
                    continue
                # What was mounted over it has another number than the folder says, and so has what took its place.
                if status.st_ino != entry.inode or status.st_dev != device or fault(status) is not None:
                    found.append(_stat_or_error(tree, path, entry))
                elif known.get(entry.name) == (status.st_ino, status.st_size, status.st_mtime_ns):
                    found.append(None)
                else:
                    found.append(FileIdentity.of(status))
            return found
    except SandboxError as error:
        return [error] * len(entries)


def _stat_or_error(tree: Beneath, path: RelPath, entry: Entry) -> FileIdentity | SandboxError:
    try:
        return stat(tree, path.child(entry.name))
    except SandboxError as error:
        return error


def stamp(tree: Beneath, path: RelPath) -> Stamp:
    """Return the stamp of the folder at *path* without listing it; see `Root.stamp`."""
    with tree.open(path, LOOK_FOLDER) as seen, reporting(path):
        return Stamp.of(os.fstat(seen))


def kind(tree: Beneath, path: RelPath) -> Kind | None:
    """Say what stands at *path*; see `Root.kind`."""
    try:
        with tree.open(path, LOOK) as seen, reporting(path):
            return Kind.of(os.fstat(seen).st_mode)
    except Missing:
        # With links followed, a link that dangles is missing too, and yet the name is taken.
        if tree.policy.links is Links.WITHIN and path.parts and _is_link(tree, path):
            return Kind.LINK
        return None
    except Escape:
        if path.parts and _is_link(tree, path):
            return Kind.LINK
        raise


def _is_link(tree: Beneath, path: RelPath) -> bool:
    try:
        with tree.open(path.parent, LOOK_FOLDER) as folder, reporting(path):
            status = os.stat(path.name.encode(), dir_fd=folder, follow_symlinks=False)
    except Missing:
        return False
    return Kind.of(status.st_mode) is Kind.LINK


def list_folder(
    tree: Beneath, path: RelPath, *, with_identity: bool, wanted: Callable[[str], bool] | None
) -> Listing:
    """Return the entries of one folder, sorted; see `Root.list`."""
    found: list[Entry] = []
    hostile: list[str] = []  # the first by name, and others until they are sorted out
    hostile_count = 0
    with tree.open(path, READ_FOLDER) as folder, reporting(path):
        stamp = Stamp.of(os.fstat(folder))
        for entry in bounded_entries(folder, path, tree.policy.max_entries):
            name = entry.name
            if component_fault(name) is not None:
                if name[0] == ".":
                    continue  # nothing is said of hidden ones, so they take no places
                hostile_count += 1
                hostile.append(name)
                if len(hostile) >= 2 * MAX_UNNAMEABLE:
                    hostile = sorted(hostile)[:MAX_UNNAMEABLE]
                continue
            if wanted is not None and not wanted(name):
                continue
            if not with_identity and entry.is_file(follow_symlinks=False):
                # Most are such, and folders may be long.
                found.append(Entry(name, Kind.FILE, None, entry.inode()))
                continue
            described = _describe(tree, path, entry, device=stamp.dev, with_identity=with_identity)
            if described is not None:
                found.append(described)
    found.sort(key=_NAME)
    # Always the same ones, in whatever order the folder is read: who lists it anew goes on where they ended.
    shown = sorted(display(os.fsencode(name)) for name in sorted(hostile)[:MAX_UNNAMEABLE])
    return Listing(tuple(found), stamp, tuple(shown), hostile_count)


_NAME: Final = itemgetter(0)


def bounded_entries(folder: int, shown: object, limit: int) -> Iterator[os.DirEntry[str]]:
    """Yield the entries of an opened (not O_PATH) folder; raises TooLarge past *limit* of them."""
    with os.scandir(folder) as entries:
        yield from itertools.islice(entries, limit)
        if next(entries, None) is not None:
            raise TooLarge(str(shown), limit=limit)


def _describe(
    tree: Beneath, folder: RelPath, entry: os.DirEntry[str], *, device: int, with_identity: bool
) -> Entry | None:
    try:
        if entry.is_symlink():
            return _describe_link(tree, folder, entry.name, with_identity=with_identity)
        if not with_identity:
            return Entry(entry.name, _kind_of(entry), None, entry.inode())
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None  # gone between the listing and the look: it is not there any more
    what = Kind.of(status.st_mode)
    # A mount point's stat tells of the mounted folder, the directory entry of the covered one. Some file
    # systems always differ so; the resolver decides.
    if (status.st_dev, status.st_ino) != (device, entry.inode()) and _is_refused_mount(tree, folder, entry):
        what = Kind.OTHER
    if what in (Kind.FILE, Kind.FOLDER):
        return Entry(entry.name, what, FileIdentity.of(status), entry.inode())
    return Entry(entry.name, what, None, entry.inode())


def _kind_of(entry: os.DirEntry[str]) -> Kind:
    return Kind.FOLDER if entry.is_dir(follow_symlinks=False) else Kind.OTHER


def _is_refused_mount(tree: Beneath, folder: RelPath, entry: os.DirEntry[str]) -> bool:
    parts = (*encoded_parts(folder), entry.name.encode())
    try:
        release(tree.resolver.open(tree.fd, parts, LOOK))
    except MountRefused:
        return True
    except SandboxError:
        return False
    return False


def _describe_link(tree: Beneath, folder: RelPath, name: str, *, with_identity: bool) -> Entry:
    """A link is a link, unless the policy follows it and it stays within."""
    if tree.policy.links is not Links.WITHIN:
        return Entry(name, Kind.LINK)
    try:
        with tree.open(folder.child(name), LOOK) as seen:
            status = os.fstat(seen)
    except SandboxError:
        return Entry(name, Kind.LINK)
    what = Kind.of(status.st_mode)
    identity = FileIdentity.of(status) if with_identity and what is not Kind.OTHER else None
    return Entry(name, what, identity)
