"""The descriptor of a root with its rules: what every operation on a root is given.

Opening, closing and owning belong here; what is done with an opened object does not.
"""

from __future__ import annotations

import errno
import os
from types import TracebackType
from typing import Final

from sandbox.errors import RootUnusable, StorageFailed, UnacceptableName, Unsettled
from sandbox.names import OWN_PREFIX, TRASH_FOLDER, RelPath
from sandbox.policy import Links, Mounts, Policy
from sandbox.records import replace
from sandbox.releasing import release
from sandbox.reports import refusal
from sandbox.resolve import Resolver, ResolverChoice, choose_resolver
from sandbox.steps import Observer

CLOSED: Final = -1

UNSUPPORTED: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
"""How a file system says that it does not offer an operation at all."""

UNCERTAIN: Final = frozenset({errno.EIO, errno.EINTR, errno.ETIMEDOUT})
"""How a file system that lies elsewhere says that it got no answer: what was asked may have been done all the same."""


class Descriptor:
    """An owned descriptor: closed at the end of the `with` block."""

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> int:
        return self._number

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        release(self._number)


class Beneath:
    """One root directory: its O_PATH descriptor, its policy and three ways to resolve.

    `resolver` follows the policy. `steady` follows no link whatever the policy says: changes look with it at
    the last component, since renaming acts on a link and not on what it points to. `plain` refuses links and
    mounts: for the trash and for sweeping.
    """

    def __init__(self, fd: int, policy: Policy, *, resolver: ResolverChoice, observe: Observer) -> None:
        self._fd = fd
        self.policy = policy
        self.observe = observe
        self.resolver: Resolver = choose_resolver(fd, policy, want=resolver)
        chosen = self.resolver.name
        steady = replace(policy, links=Links.REFUSE)
        plain = replace(steady, mounts=Mounts.REFUSE)
        self.steady: Resolver = choose_resolver(fd, steady, want=chosen)
        self.plain: Resolver = choose_resolver(fd, plain, want=chosen)

    @property
    def fd(self) -> int:
        """The descriptor of the root. Raises RootUnusable once it is closed."""
        if self._fd == CLOSED:
            raise RootUnusable("the root is closed")
        return self._fd

    def close(self) -> None:
        """Close the root; a second time does nothing."""
        fd, self._fd = self._fd, CLOSED
        if fd != CLOSED:
            release(fd)

    def open(self, path: RelPath, flags: int) -> Descriptor:
        """Open *path* by the policy's resolver."""
        return Descriptor(self.resolver.open(self.fd, encoded_parts(path), flags))

    def open_last(self, folder: int, path: RelPath, flags: int) -> Descriptor:
        """Open the last component of *path* in its opened *folder*, following no link."""
        name = path.name.encode()
        return Descriptor(self.steady.open(folder, (name,), flags, shown=str(path)))


def encoded_parts(path: RelPath) -> tuple[bytes, ...]:
    """Return the components as system calls take them."""
    return tuple([part.encode() for part in path.parts])  # a list is faster here, and this is every call


def check_not_own(path: RelPath) -> None:
    """Refuse to make or change something under a name that the sandbox uses itself.

    Raises UnacceptableName for the trash folder, what lies in it, and temporaries, in any case of letters
    (the file system may fold it). Every other rule for names is the caller's (`names.check_new_name`).
    """
    for position, part in enumerate(path.parts):
        folded = part.casefold()
        if folded.startswith(OWN_PREFIX) or (position == 0 and folded == TRASH_FOLDER):
            raise UnacceptableName(part, "reserved for the server itself")


def sync_folder(folder: int, shown: object) -> None:
    """Make the names in an opened (not O_PATH) folder durable.

    File systems that cannot do this for folders say so with an errno of their own, which is no failure.
    Raises StorageFailed otherwise; an fsync that failed once is final and is not tried again.
    """
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise refusal(error, str(shown)) from error


def settle_folder(folder: int, shown: object) -> None:
    """Make the names in a folder durable after a change that has been made there. Raises Unsettled."""
    try:
        sync_folder(folder, shown)
    except StorageFailed as error:
        raise Unsettled(error.errno, repr(str(shown))) from error
