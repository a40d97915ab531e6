"""Proof by trying: what each layer of the jail must refuse, attempted from inside.

An attempt counts as proof when it worked right before its layer was put in force, with all that came earlier in
force, and is refused right after, with the answer that this layer gives: so nothing else can have refused it. What
did not work before proves nothing (the host or another layer may refuse it) and is not listed. An attempt that still
works after is a failure of the layer, and so is a layer that nothing proves. Where trying before would leave a trace,
or could not be undone, the kernel is asked instead whether it would work. For limits and rights, which a process may
not have had to begin with, it is asked as well. Nothing here changes a file of anybody: the one file that is made
when a layer fails is removed again.

Calls that are trip-wires of the filter cannot be tried after it; what they guard is tried before.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import socket
from collections.abc import Callable, Iterable
from typing import Final

from sandbox import _linux
from sandbox.beneath import Descriptor
from sandbox.jail.limits import Account
from sandbox.jail.seccomp import Permit
from sandbox.jail.spec import Limits
from sandbox.names import OWN_PREFIX
from sandbox.records import record
from sandbox.resolve import LOOK_FOLDER, READ_FOLDER

_BY_LANDLOCK: Final = frozenset({errno.EACCES})
_BY_THE_SCOPE: Final = frozenset({errno.EPERM})
_BY_THE_FILTER: Final = frozenset({errno.EPERM})
_AS_IF_UNKNOWN: Final = frozenset({errno.ENOSYS})
_BY_THE_MOUNT: Final = frozenset({errno.EROFS})
_FOR_LACK_OF_RIGHTS: Final = frozenset({errno.EPERM})
_ABSENT: Final = frozenset({errno.ENOENT})
_SPENT: Final = frozenset({errno.ENOMEM, errno.EMFILE})

_HERE: Final = -100  # AT_FDCWD
_CAP_SETGID: Final = 1 << 6
_CAP_SETUID: Final = 1 << 7
_CAP_SYS_CHROOT: Final = 1 << 18

Outcome = tuple[bool, str]
"""Whether it was refused as it should be, and what to say."""


@record
class Attempt:
    """Something that a layer must refuse with one of *refusals*; answers that are *void* say nothing about it."""

    what: str
    act: Callable[[], object]
    refusals: frozenset[int]
    void: frozenset[int] = frozenset()

    def works(self) -> bool:
        """Whether it can be done at all, which is asked before the layer is in force."""
        try:
            self.act()
        except OSError:
            return False
        return True

    def refused(self) -> Outcome | None:
        """Try it, and say what answered; None where that says nothing."""
        try:
            self.act()
        except OSError as error:
            if error.errno in self.void:
                return None
            name = errno.errorcode.get(error.errno or 0, str(error.errno))
            return error.errno in self.refusals, f"{self.what}: {name}"
        return False, f"{self.what}: it worked"


class Proofs:
    """What a layer has refused so far, and where it failed to."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.failures: list[str] = []

    def demand(self, holds: bool, what: str) -> None:  # noqa: FBT001 - reads as a sentence
        """Note a fact that must hold."""
        (self.refused if holds else self.failures).append(what)

    def attempt(self, attempts: Iterable[Attempt]) -> None:
        """Try each and note how it went."""
        for each in attempts:
            outcome = each.refused()
            if outcome is not None:
                self.demand(*outcome)


def that_work(attempts: Iterable[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts that succeed without the layer, and so can prove it."""
    return tuple(each for each in attempts if each.works())


def outside_files() -> tuple[Attempt, ...]:
    """Opening what lies outside the workspace, which is where the process stands."""
    return tuple(
        Attempt(what, lambda path=path: os.close(os.open(path, os.O_RDONLY)), _BY_LANDLOCK)  # type: ignore[misc]  # a default
        for what, path in (
            ("open /", "/"),
            ("open the folder above", ".."),
            ("open /etc/passwd", "/etc/passwd"),
        )
    )


def new_files(folders: Iterable[tuple[str, int]]) -> tuple[Attempt, ...]:
    """Making a file in each of the *folders* (what it is called, a descriptor), where only Landlock would refuse it.

    Not in a folder that the account may not write to, or that is mounted read-only. Not to be tried before the layer.
    """
    return tuple(
        Attempt(f"make a file in the {what}", lambda folder=folder: _make_file(folder), _BY_LANDLOCK)  # type: ignore[misc]  # a default
        for what, folder in folders
        if os.access(".", os.W_OK | os.X_OK, dir_fd=folder)
    )


def new_files_on_mounts(folders: Iterable[tuple[str, int]]) -> tuple[Attempt, ...]:
    """Making a file in each of the *folders*, which are mounted read-only; to be tried before Landlock."""
    return tuple(
        Attempt(f"make a file in the {what}", lambda folder=folder: _make_file(folder), _BY_THE_MOUNT)  # type: ignore[misc]  # a default
        for what, folder in folders
    )


def network() -> tuple[Attempt, ...]:
    """Listening to TCP, which Landlock guards from ABI 4 on; to be tried before the filter."""
    return (Attempt("bind a TCP port", _bind, _BY_LANDLOCK),)


def strangers() -> tuple[Attempt, ...]:
    """Reaching a process outside, which Landlock guards from ABI 6 on; to be tried before the filter."""
    parent = os.getppid()
    if parent == 0:  # outside of the process namespace; and 0 would mean ourselves
        return ()
    return (Attempt("signal the parent", lambda: os.kill(parent, 0), _BY_THE_SCOPE),)


def calls(permitted: Permit) -> tuple[Attempt, ...]:
    """Calls that are not on the filter's list, one of each sort, and those that are not for such a worker."""
    found = [
        Attempt("make a socket", lambda: socket.socket().close(), _BY_THE_FILTER),
        Attempt("signal a process", lambda: os.kill(os.getpid(), 0), _BY_THE_FILTER),
        Attempt("map executable memory", _map_executable, _BY_THE_FILTER),
        Attempt("make a pipe", _pipe, _BY_THE_FILTER),
        # Of what lies outside, where that is; it need not exist.
        Attempt("open a device without access", _open_without_access, _BY_THE_FILTER),
    ]
    if permitted.kind != "rw":
        found.append(Attempt("unlock the workspace", _unlock, _BY_THE_FILTER))
    if not permitted.marks:
        found.append(Attempt("read the attributes of the workspace", _list_attributes, _BY_THE_FILTER))
    if not permitted.resolves:
        found.append(Attempt("call openat2", _call_openat2, _AS_IF_UNKNOWN))
    return tuple(found)


def fork() -> Attempt:
    """Starting a process; without a control, since that would cost one. Want of processes is another answer."""
    return Attempt("fork", _fork, _BY_THE_FILTER)


def hidden_paths() -> tuple[Attempt, ...]:
    """Looking at what every host has and a tree of our own has not."""
    return tuple(
        Attempt(f"look at {path}", lambda path=path: os.stat(path), _ABSENT)  # type: ignore[misc]  # a default
        for path in ("/proc", "/etc", "/usr", "/dev")
    )


def excesses(wanted: Limits, descriptor: int) -> tuple[Attempt, ...]:
    """Using up memory and descriptors."""
    return (
        Attempt(
            f"map {wanted.memory} bytes",
            lambda: mmap.mmap(-1, wanted.memory, mmap.MAP_PRIVATE).close(),
            _SPENT,
        ),
        Attempt(
            f"open {wanted.open_files} more descriptors",
            lambda: _use_up(descriptor, wanted.open_files),
            _SPENT,
        ),
    )


def uses_of_rights(account: Account, *, own_account_only: bool) -> tuple[Attempt, ...]:
    """Using the capabilities that this process has, which cannot be undone; to be tried once it is *account* alone.

    Where no other account exists than its own, changing it is refused for that.
    """
    had, other = _linux.capabilities()[0], account.uid + 1
    found = [(_CAP_SYS_CHROOT, Attempt("change the root", lambda: os.chroot("."), _FOR_LACK_OF_RIGHTS))]
    if not own_account_only:
        # The account last: with it goes what a failed layer has left.
        found += [
            (_CAP_SETGID, Attempt("set the groups", lambda: os.setgroups([]), _FOR_LACK_OF_RIGHTS)),
            (
                _CAP_SETUID,
                Attempt(
                    "become another account",
                    lambda: os.setresuid(other, other, other),
                    _FOR_LACK_OF_RIGHTS,
                    void=frozenset({errno.EINVAL}),  # there is none of that number in this user namespace
                ),
            ),
        ]
    return tuple(attempt for right, attempt in found if had & right)


def prove_account(proofs: Proofs, account: Account, uses: Iterable[Attempt]) -> None:
    """Look for rights that are left and try the *uses*; to be done before the filter."""
    proofs.demand(_linux.capabilities() == (0, 0, 0), "no capability")
    proofs.demand(_linux.prctl(_linux.PR_GET_NO_NEW_PRIVS) == 1, "no new privileges")
    proofs.demand(_linux.prctl(_linux.PR_GET_DUMPABLE) == 0, "not dumpable")
    proofs.demand(
        os.getresuid() == (account.uid,) * 3 and os.getresgid() == (account.gid,) * 3, "one account only"
    )
    proofs.attempt(uses)


def _make_file(folder: int) -> None:
    name = f"{OWN_PREFIX}{os.urandom(8).hex()}"
    os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder))
    os.unlink(name, dir_fd=folder)


def _bind() -> None:
    with socket.socket() as tried:
        tried.bind(("0.0.0.0", 0))  # noqa: S104 - nothing listens, and the port is free again at once


def _pipe() -> None:
    for end in os.pipe():
        os.close(end)


def _map_executable() -> None:
    mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC).close()


def _open_without_access() -> None:
    os.close(os.open("/dev/null", os.O_WRONLY | os.O_RDWR))


def _unlock() -> None:
    # Which nobody holds by this descriptor, and nobody who waits for it notices.
    with Descriptor(os.open(".", READ_FOLDER)) as here:
        fcntl.flock(here, fcntl.LOCK_UN)


def _list_attributes() -> None:
    with Descriptor(os.open(".", READ_FOLDER)) as here:
        os.listxattr(here)


def _call_openat2() -> None:
    os.close(_linux.openat2(_HERE, b".", flags=LOOK_FOLDER, resolve=_linux.RESOLVE_BENEATH))


def _fork() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _use_up(descriptor: int, most: int) -> None:
    copies: list[int] = []
    try:
        for _ in range(most):
            copies.append(os.dup(descriptor))  # noqa: PERF401 - a comprehension would lose them on failure
    finally:
        for copy in copies:
            os.close(copy)
