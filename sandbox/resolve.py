"""How a path is walked beneath a root: by openat2 in the kernel, or component by component.

A path text proves nothing about where the kernel ends up: any component may be a link, and may become one
between a check and its use. So nothing here looks first and opens later by the same path. openat2 applies
the rules while it walks; the component walk holds a descriptor of each folder, looks at what it holds, and
goes on from there, never following a link.

Limits, for both: a folder that somebody moves out of the root while its descriptor is held is followed to
where it is, since a descriptor names the folder and not its place. The walk knows mounts by their id; where
neither statx nor /proc tells it, by device, which cannot see a bind mount of the same file system
(`WalkResolver.sees_bind_mounts`). The walk follows no link at all, so `Links.WITHIN` needs openat2.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Final, Literal, Protocol

from sandbox import _linux
from sandbox.errors import Escape, LinkRefused, MountRefused, NotAFolder, RootUnusable
from sandbox.policy import Links, Mounts, Policy
from sandbox.releasing import release
from sandbox.reports import refusal

MOVED_ATTEMPTS: Final = 8
"""How often a path is resolved again because what it named was moved out of the root meanwhile."""

ResolverChoice = Literal["auto", "openat2", "walk"]

LOOK: Final = _linux.O_PATH
"""Flags to look at an object without opening it: no FIFO is joined, no device driver is called."""

LOOK_FOLDER: Final = _linux.O_PATH | os.O_DIRECTORY
READ_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY


class Resolver(Protocol):
    """Opens what a path names beneath a descriptor, or refuses."""

    @property
    def name(self) -> Literal["openat2", "walk"]:
        """Which mechanism this is."""

    def open(self, root_fd: int, parts: tuple[bytes, ...], flags: int, *, shown: str | None = None) -> int:
        """Open the object at *parts* beneath *root_fd* and return its descriptor (close-on-exec).

        Never creates. No parts: the folder *root_fd* itself. *shown* is the path that errors name, where it
        differs from *parts*. Raises Missing, NotAFolder, LinkRefused, MountRefused, Escape, StorageFailed.
        """


def _text(parts: tuple[bytes, ...], shown: str | None) -> str:
    return b"/".join(parts).decode("utf-8", "backslashreplace") if shown is None else shown


def _check_parts(parts: tuple[bytes, ...], shown: str | None) -> None:
    # SAFETY: a RelPath cannot hold these; names that come from listing a folder cannot either. This is the
    # last line, so that no future caller can hand a `..` to a walk that relies on there being none.
    for part in parts:
        if part in (b"", b".", b"..") or b"/" in part or b"\0" in part:
            raise Escape(_text(parts, shown), "not a component")


class Openat2Resolver:
    """Resolution by the kernel: one call, no window between the check and the use."""

    name: Final = "openat2"

    def __init__(self, policy: Policy) -> None:
        rules = _linux.RESOLVE_BENEATH | _linux.RESOLVE_NO_MAGICLINKS
        if policy.links is not Links.WITHIN:
            rules |= _linux.RESOLVE_NO_SYMLINKS
        if policy.mounts is not Mounts.ALLOW:
            rules |= _linux.RESOLVE_NO_XDEV
        self._rules = rules

    def open(self, root_fd: int, parts: tuple[bytes, ...], flags: int, *, shown: str | None = None) -> int:
        """Open the object; see `Resolver.open`."""
        _check_parts(parts, shown)
        path = b"/".join(parts) or b"."
        text = _text(parts, shown)
        for _ in range(MOVED_ATTEMPTS):
            try:
                return _linux.openat2(root_fd, path, flags=flags, resolve=self._rules)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise refusal(error, text) from error
                self._refuse_unless_it_moved(root_fd, path, text, error)
        # Nothing left the root, and it never resolved: a mount stands before something that is missing.
        raise MountRefused(text) if self._rules & _linux.RESOLVE_NO_XDEV else Escape(text)

    def _refuse_unless_it_moved(self, root_fd: int, path: bytes, text: str, error: OSError) -> None:
        """Tell apart what openat2 calls EXDEV: it leaves the root, it crosses a mount, or it moved.

        The last one is no property of the path: the kernel looks again at the end of a walk, and what
        somebody moved out of the root meanwhile is refused. Then the path means something else by now, and
        is resolved again. This only names a refusal that stands; nothing that is opened here is given away.
        """
        try:
            found = _linux.openat2(root_fd, path, flags=LOOK, resolve=self._rules & ~_linux.RESOLVE_NO_XDEV)
        except OSError as second:
            if second.errno == errno.EXDEV:
                raise Escape(text) from error
            return
        try:
            if _linux.glance(found).mount != _linux.glance(root_fd).mount:
                raise MountRefused(text) from error
        finally:
            release(found)


class WalkResolver:
    """Resolution component by component, for kernels and systems without openat2. Follows no link."""

    name: Final = "walk"

    def __init__(self, root_fd: int, policy: Policy) -> None:
        if policy.links is Links.WITHIN:
            raise RootUnusable("links within the root can only be followed by openat2")
        here = _linux.glance(root_fd)
        self.sees_bind_mounts = not here.by_device
        self._mount = here.mount if policy.mounts is not Mounts.ALLOW else None

    def open(self, root_fd: int, parts: tuple[bytes, ...], flags: int, *, shown: str | None = None) -> int:
        """Open the object; see `Resolver.open`."""
        _check_parts(parts, shown)
        text = _text(parts, shown)
        try:
            return self._walk(root_fd, parts, flags, text)
        except OSError as error:
            raise refusal(error, text) from error

    def _walk(self, root_fd: int, parts: tuple[bytes, ...], flags: int, text: str) -> int:
        # One folder is held at a time: who may open few files can walk as deep as a path may be.
        folder = root_fd
        wants_folder = bool(flags & os.O_DIRECTORY) or not parts
        try:
            for part in parts if wants_folder else parts[:-1]:
                above, folder = folder, self._look(folder, part, text, must_be_folder=True)
                if above != root_fd:
                    release(above)
            if wants_folder:
                # SAFETY: "." of a folder that is held and was looked at: no name is resolved again.
                return os.open(".", flags | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=folder)
            if flags & _linux.O_PATH == _linux.O_PATH:
                return self._look(folder, parts[-1], text, flags=flags, must_be_folder=False)
            return self._open_last(folder, parts[-1], flags, text)
        finally:
            if folder != root_fd:
                release(folder)

    def _look(self, folder: int, part: bytes, text: str, *, must_be_folder: bool, flags: int = LOOK) -> int:
        # O_PATH with O_NOFOLLOW opens a link itself, so that the type is read from what is held.
        descriptor = os.open(part, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            seen = _linux.glance(descriptor)
            if stat.S_ISLNK(seen.mode):
                raise LinkRefused(text)
            self._check_mount(seen, text)
            if must_be_folder and not stat.S_ISDIR(seen.mode):
                raise NotAFolder(text)
        except BaseException:
            release(descriptor)
            raise
        return descriptor

    def _open_last(self, folder: int, part: bytes, flags: int, text: str) -> int:
        descriptor = os.open(part, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            self._check_mount(_linux.glance(descriptor), text)
        except BaseException:
            release(descriptor)
            raise
        return descriptor

    def _check_mount(self, seen: _linux.Glance, text: str) -> None:
        if self._mount is not None and seen.mount != self._mount:
            raise MountRefused(text)


def choose_resolver(root_fd: int, policy: Policy, *, want: ResolverChoice = "auto") -> Resolver:
    """Return the strongest resolver that this host proves to have, or the one that is wanted.

    Raises RootUnusable when openat2 is wanted, or needed by the policy, and does not work here.
    """
    if want == "walk":
        return WalkResolver(root_fd, policy)
    if openat2_obstacle(root_fd) is None:
        return Openat2Resolver(policy)
    if want == "openat2" or policy.links is Links.WITHIN:
        raise RootUnusable("openat2 is not available here")
    return WalkResolver(root_fd, policy)


def openat2_obstacle(root_fd: int) -> str | None:
    """Prove openat2 by two real calls: it opens the root, and it refuses the folder above the root.

    Returns what stands in its way, None where it holds.
    """
    try:
        release(_linux.openat2(root_fd, b".", flags=LOOK_FOLDER, resolve=_linux.RESOLVE_BENEATH))
    except OSError as error:
        return f"openat2: {errno.errorcode.get(error.errno or 0, str(error.errno))}"
    try:
        release(_linux.openat2(root_fd, b"..", flags=LOOK_FOLDER, resolve=_linux.RESOLVE_BENEATH))
    except OSError as error:
        if error.errno == errno.EXDEV:
            return None
    return "openat2 does not keep beneath the folder"
