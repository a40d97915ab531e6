"""Proof by trying: what each layer of the jail must refuse, attempted from inside.

An attempt counts as proof when it worked before its layer was put in force and is refused after. What did not
work before proves nothing (the host may refuse it by itself) and is not listed. An attempt that still works
after is a failure of the layer, and so is a layer that nothing proves. For limits and rights, which a process may
not have had to begin with, the kernel is asked as well. Nothing here changes a file of anybody:
the one file that is made when a layer fails is removed again.

Calls that are trip-wires of the filter cannot be tried after it; what they guard is tried before.
"""

from __future__ import annotations

import errno
import mmap
import os
import socket
from collections.abc import Callable, Iterable
from typing import Final

from sandbox import _linux
from sandbox.jail import limits
from sandbox.jail.limits import Account
from sandbox.jail.report import WorkerKind
from sandbox.jail.spec import Limits
from sandbox.names import OWN_PREFIX
from sandbox.records import record

_DENIED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_ABSENT: Final = frozenset({errno.ENOENT})
_SPENT: Final = frozenset({errno.ENOMEM, errno.EMFILE})

Outcome = tuple[bool, str]
"""Whether it was refused as it should be, and what to say."""


@record
class Attempt:
    """Something that a layer must refuse with one of *refusals*."""

    what: str
    act: Callable[[], object]
    refusals: frozenset[int] = _DENIED

    def works(self) -> bool:
        """Whether it can be done at all, which is asked before the layer is in force."""
        try:
            self.act()
        except OSError:
            return False
        return True

    def refused(self) -> Outcome:
        """Try it, and say what answered."""
        try:
            self.act()
        except OSError as error:
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
            self.demand(*each.refused())


def that_work(attempts: Iterable[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts that succeed without the layer, and so can prove it."""
    return tuple(each for each in attempts if each.works())


def outside_files() -> tuple[Attempt, ...]:
    """Opening what lies outside the workspace, which is where the process stands."""
    return (
        Attempt("open /", lambda: os.close(os.open("/", os.O_RDONLY))),
        Attempt("open the folder above", lambda: os.close(os.open("..", os.O_RDONLY))),
        Attempt("open /etc/passwd", lambda: os.close(os.open("/etc/passwd", os.O_RDONLY))),
    )


def new_file(kind: WorkerKind) -> tuple[Attempt, ...]:
    """Making a file in the workspace, for workers that may not. Not to be tried before the layer."""
    return () if kind == "rw" else (Attempt("make a file in the workspace", _make_file),)


def network() -> tuple[Attempt, ...]:
    """Listening to TCP, which Landlock guards from ABI 4 on; to be tried before the filter."""
    return (Attempt("bind a TCP port", _bind),)


def strangers() -> tuple[Attempt, ...]:
    """Reaching a process outside, which Landlock guards from ABI 6 on; to be tried before the filter."""
    parent = os.getppid()
    if parent == 0:  # outside of the process namespace; and 0 would mean ourselves
        return ()
    return (Attempt("signal the parent", lambda: os.kill(parent, 0)),)


def calls() -> tuple[Attempt, ...]:
    """Calls that are not on the filter's list, one of each sort."""
    return (
        Attempt("make a socket", lambda: socket.socket().close()),
        Attempt("signal a process", lambda: os.kill(os.getpid(), 0)),
        Attempt("map executable memory", _map_executable),
        Attempt("make a pipe", _pipe),
    )


def fork() -> Attempt:
    """Starting a process; without a control, since that would cost one."""
    return Attempt("fork", _fork)


def hidden_paths() -> tuple[Attempt, ...]:
    """Looking at what every host has and a tree of our own has not."""
    return tuple(
        Attempt(f"look at {path}", lambda path=path: os.stat(path), _ABSENT)  # type: ignore[misc]  # a default
        for path in ("/proc", "/etc", "/usr", "/dev")
    )


def prove_limits(proofs: Proofs, wanted: Limits, descriptor: int) -> None:
    """Use up memory and descriptors, and ask the kernel for the rest."""
    proofs.demand(limits.standing(wanted), "the kernel holds all limits")
    too_much = Attempt(
        f"map {wanted.memory} bytes", lambda: mmap.mmap(-1, wanted.memory, mmap.MAP_PRIVATE).close(), _SPENT
    )
    too_many = Attempt(
        f"open {wanted.open_files} more descriptors", lambda: _use_up(descriptor, wanted.open_files), _SPENT
    )
    proofs.attempt((too_much, too_many))


def prove_account(proofs: Proofs, account: Account) -> None:
    """Look for rights that are left and try to use them; to be done before the filter."""
    proofs.demand(_linux.capabilities() == (0, 0, 0), "no capability")
    proofs.demand(_linux.prctl(_linux.PR_GET_NO_NEW_PRIVS) == 1, "no new privileges")
    proofs.demand(_linux.prctl(_linux.PR_GET_DUMPABLE) == 0, "not dumpable")
    proofs.demand(
        os.getresuid() == (account.uid,) * 3 and os.getresgid() == (account.gid,) * 3, "one account only"
    )
    other = account.uid + 1
    proofs.attempt(
        (
            Attempt(
                "become another account", lambda: os.setresuid(other, other, other), _DENIED | {errno.EINVAL}
            ),
            Attempt("set the groups", lambda: os.setgroups([])),
            Attempt("change the root", lambda: os.chroot(".")),
        )
    )


def _make_file() -> None:
    name = f"{OWN_PREFIX}{os.urandom(8).hex()}"
    os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    os.unlink(name)


def _bind() -> None:
    with socket.socket() as tried:
        tried.bind(("0.0.0.0", 0))  # noqa: S104 - nothing listens, and the port is free again at once


def _pipe() -> None:
    for end in os.pipe():
        os.close(end)


def _map_executable() -> None:
    mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC).close()


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
