"""Namespaces: a worker for which nothing exists but its folders.

The worker gets a tree of its own: an empty, read-only root with the workspace at `/ws` and the index folder at
`/index`, no /proc, no network but an unconfigured loopback, no other process. Root with CAP_SYS_ADMIN needs no
user namespace; everybody else gets one in which their own account is the only one, under its own number, so
that owners of files stay right.

The process splits: the outer half only waits and passes on how the worker ended; the inner half is process 1
of its namespace and returns from `enter`. Whether all this works is tried in a child first (`obstacle`), since
a host may allow the namespaces and then refuse the mounts, and there is no way back from half of it.

A descriptor of a directory from outside would lead out again, whatever is mounted: the caller closes them all.
Mounts inside the workspace come along (a workspace without them would be another one), under the same
restrictions. What is mounted or unmounted afterwards does not: `surroundings.py` has the worker replaced then.
"""

from __future__ import annotations

import contextlib
import os
import select
import stat
from collections.abc import Iterator
from typing import Final

from sandbox import _linux
from sandbox.errors import LockdownFailed
from sandbox.jail import limits
from sandbox.jail.landlock import Right
from sandbox.jail.limits import Account
from sandbox.jail.rehearsing import ask, end_with
from sandbox.jail.report import is_shortage, reason
from sandbox.records import record

_CAP_SYS_ADMIN: Final = 1 << 21
_SPACES: Final = (
    _linux.CLONE_NEWNS
    | _linux.CLONE_NEWPID
    | _linux.CLONE_NEWNET
    | _linux.CLONE_NEWIPC
    | _linux.CLONE_NEWUTS
    | _linux.CLONE_NEWCGROUP
)
_PROVEN_BY_INODE: Final = ("mnt", "net", "ipc", "uts", "cgroup")
_PLACES: Final = ("/mnt", "/media", "/srv", "/opt", "/tmp", "/var", "/run", "/usr")  # noqa: S108 - mounted over
_RESTRICTED: Final = _linux.MOUNT_ATTR_NOSUID | _linux.MOUNT_ATTR_NODEV | _linux.MOUNT_ATTR_NOEXEC
_TMPFS_OPTIONS: Final = b"size=64k,nr_inodes=16,mode=755"
_OK: Final = "ok"


@record
class Folder:
    """A folder of the host, where the worker sees it, and what it may do beneath."""

    path: str
    inside: str
    identity: tuple[int, int]
    rights: Right

    @property
    def writable(self) -> bool:
        """Whether a worker may change something in it."""
        return bool(self.rights & Right.WRITE_FILE)


@record
class Entered:
    """What the inner half found: everything at its root, and what the kernel said about the namespaces."""

    root_entries: tuple[str, ...]
    own_account_only: bool
    proof: tuple[str, ...]
    outer_half: int
    """A descriptor that tells whether the outer half lives; for `die_with_outer_half`, and then to be closed."""


def obstacle(folders: tuple[Folder, ...], account: Account) -> str | None:
    """Try everything in a child that ends at once; return what stood in the way, or None.

    Raises NoAnswer where that cannot be found out.
    """
    answer = ask(lambda: _rehearse(folders, account))
    return None if answer == _OK else answer


def _rehearse(folders: tuple[Folder, ...], account: Account) -> str:
    try:
        _leave_the_host(folders, account)
    except LockdownFailed as error:
        return error.reason
    except OSError as error:
        if is_shortage(error):
            raise
        return reason(error)
    return _OK


def enter(folders: tuple[Folder, ...], account: Account, *, parent: int) -> Entered:
    """Move into namespaces of our own; returns in the inner half only, standing in `/`.

    On return a user namespace grants capabilities over itself, and root's are untouched: the caller drops
    them, and then asks to die with the outer half. SIGCHLD must not be ignored. Raises OSError or
    LockdownFailed, after which this process must end.
    """
    proof, own_account_only = _leave_the_host(folders, account)
    root_entries = tuple(sorted(os.listdir("/")))
    # The outer half holds the writing end for as long as it lives, and does nothing else with it.
    held, holds = os.pipe()
    inner = os.fork()
    if inner:
        end_with(lambda: _wait_for(inner, holds, account, parent=parent))
    os.close(holds)
    die_with_outer_half(held)
    if os.getpid() != 1:
        raise LockdownFailed("no process namespace")
    return Entered(root_entries, own_account_only, proof, held)


def die_with_outer_half(held: int) -> None:
    """Ask to be killed with the outer half; raise LockdownFailed if it is gone already."""
    limits.die_with_parent(0)  # the parent is outside of the namespace, which reads as 0
    if select.select([held], [], [], 0)[0]:
        raise LockdownFailed("the outer half of the worker is gone")


def _wait_for(inner: int, holds: int, account: Account, *, parent: int) -> int:
    """Give up all rights and descriptors, wait, and return the worker's own exit status (128 + signal)."""
    for low, high in ((0, holds), (holds + 1, os.sysconf("SC_OPEN_MAX"))):
        os.closerange(low, high)
    with contextlib.suppress(OSError):  # the worker reports whether it could
        limits.become(account)
    limits.drop_capabilities()
    limits.forbid_new_privileges()
    limits.die_with_parent(parent)
    limits.hide_memory()
    _, status = os.waitpid(inner, 0)
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


def _leave_the_host(folders: tuple[Folder, ...], account: Account) -> tuple[tuple[str, ...], bool]:
    """Change namespaces and tree; return the proof, and whether it took a user namespace."""
    before = _spaces()
    needs_user_namespace = not (os.geteuid() == 0 and _linux.capabilities()[0] & _CAP_SYS_ADMIN)
    if needs_user_namespace:
        # One account is mapped, and it cannot be changed any more inside.
        with _named("become the owner of the workspace"):
            limits.become(account)
        _unshare_as(account)
    else:
        _linux.unshare(_SPACES)
    after = _spaces()
    shared = [name for name in _PROVEN_BY_INODE if before[name] == after[name]]
    if shared:
        raise LockdownFailed(f"namespaces that did not change: {', '.join(shared)}")
    _build_tree(folders)
    return (f"{' '.join(_PROVEN_BY_INODE)}: not the host's",), needs_user_namespace


def _spaces() -> dict[str, int]:
    with _named("look at /proc/self/ns"):
        return {name: os.stat(f"/proc/self/ns/{name}").st_ino for name in _PROVEN_BY_INODE}


def _unshare_as(account: Account) -> None:
    # SAFETY: only a dumpable process owns its /proc entries, so the maps can only be written while it is;
    # a change of the account has just cleared that. The lock-down clears it for good afterwards.
    limits.show_memory()
    _linux.unshare(_SPACES | _linux.CLONE_NEWUSER)
    with _named("write the maps of the user namespace"):
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{account.uid} {account.uid} 1")
        _write("/proc/self/gid_map", f"{account.gid} {account.gid} 1")


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _build_tree(folders: tuple[Folder, ...]) -> None:
    _linux.mount(None, b"/", kind=None, flags=_linux.MS_REC | _linux.MS_PRIVATE, data=None)
    place = _place(folders)
    # Found again by path: a descriptor from before belongs to the host's mounts and cannot be bound.
    sources = [_open_same(folder) for folder in folders]
    flags = _linux.MS_NOSUID | _linux.MS_NODEV | _linux.MS_NOEXEC
    _linux.mount(b"tmpfs", place.encode(), kind=b"tmpfs", flags=flags, data=_TMPFS_OPTIONS)
    for folder, source in zip(folders, sources, strict=True):
        target = (place + folder.inside).encode()
        with _named("make the folders of the tree"):
            os.mkdir(target, 0o755)
            os.fchdir(source)
        os.close(source)
        _linux.mount(b".", target, kind=None, flags=_linux.MS_BIND | _linux.MS_REC, data=None)
        read_only = 0 if folder.writable else _linux.MOUNT_ATTR_RDONLY
        _linux.add_mount_attributes(target, _RESTRICTED | read_only, recursive=True)
    with _named("enter the tree"):
        os.mkdir(place + "/old", 0o700)
        os.chdir(place)
    _linux.pivot_root(b".", b"old")
    with _named("enter the root"):
        os.chdir("/")
    _linux.unmount_detached(b"/old")
    with _named("tidy the root"):
        os.rmdir("/old")
    _linux.add_mount_attributes(b"/", _RESTRICTED | _linux.MOUNT_ATTR_RDONLY, recursive=False)


def _place(folders: tuple[Folder, ...]) -> str:
    """Return a folder to build the tree over. Inside one of the folders it would become a part of it."""
    for place in _PLACES:
        inside = any((place + "/").startswith(folder.path.rstrip("/") + "/") for folder in folders)
        if not inside and _is_plain_folder(place):
            return place
    raise LockdownFailed("no folder of the host to build the tree over")


def _is_plain_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _open_same(folder: Folder) -> int:
    with _named("open a folder of the jail"):
        flags = _linux.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(folder.path, flags)
        status = os.fstat(descriptor)
    if (status.st_dev, status.st_ino) != folder.identity:
        os.close(descriptor)
        raise LockdownFailed("a folder of the jail was moved or replaced")
    return descriptor


@contextlib.contextmanager
def _named(what: str) -> Iterator[None]:
    """Give an OSError of `os` the name of what was tried, without the host's path."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, what) from error
