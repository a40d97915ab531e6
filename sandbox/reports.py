"""Which refusal an errno of the operating system becomes.

One table for the whole package, so that a full disk, a vanished file and a link are told apart the same way
in every operation. What a client is told about them is decided far above.
"""

from __future__ import annotations

import errno
from types import TracebackType
from typing import Final

from sandbox.errors import (
    Exists,
    LinkRefused,
    Missing,
    MountRefused,
    NotAFolder,
    NotRegular,
    PathError,
    SandboxError,
    StorageFailed,
)

_REFUSALS: Final[dict[int, type[PathError]]] = {
    errno.ENOENT: Missing,
    errno.ENOTDIR: NotAFolder,
    errno.EEXIST: Exists,
    errno.ELOOP: LinkRefused,
    errno.EXDEV: MountRefused,
    errno.EISDIR: NotRegular,
    errno.ENXIO: NotRegular,  # what opening a socket answers
    errno.ENODEV: NotRegular,
}


def refusal(error: OSError, shown: str) -> SandboxError:
    """Return the exception for *error*, met at the path *shown* (relative, as text).

    What the table does not know keeps its errno in a StorageFailed: ENOSPC, EDQUOT, EROFS, EACCES, EPERM,
    EIO, EMFILE, ENAMETOOLONG, EBUSY and the rest.
    """
    number = error.errno or errno.EIO
    kind = _REFUSALS.get(number)
    return StorageFailed(number, repr(shown)) if kind is None else kind(shown)


class reporting:  # noqa: N801 - used as a statement: `with reporting(path):`
    """Turn an OSError of the block into the refusal for *shown*; everything else passes."""

    __slots__ = ("_shown",)

    def __init__(self, shown: object) -> None:
        self._shown = shown

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OSError):
            raise refusal(error, str(self._shown)) from error
