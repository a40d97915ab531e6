"""Which refusal of `sandbox` becomes which of fsnotes: the only place that knows both families."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fsnotes import errors
from sandbox import errors as found

_STORAGE: Final = {
    errno.EACCES: "the file system gives no permission",
    errno.EPERM: "the file system gives no permission",
    errno.EROFS: "the file system is read-only",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EXDEV: "nothing can be moved to another file system",
    errno.EBUSY: "it is in use, perhaps as a mount",
    errno.ENAMETOOLONG: "the file system takes no path this long",
}
_FAILED: Final = "the file system failed"

OF_STORAGE: Final = frozenset({*_STORAGE.values(), _FAILED})
"""What is said of storage that failed: who cannot look either does not know what it holds."""


@contextmanager
def translated(*, argument: str = "path", what: str = "note") -> Iterator[None]:
    """Turn a refusal of `sandbox` in the block into one of fsnotes.

    *argument* is the caller's name for the path, and *what* is what was looked for there.
    """
    try:
        yield
    except found.SandboxError as error:
        raise translate(error, argument=argument, what=what) from error


def translate(error: found.SandboxError, *, argument: str, what: str) -> errors.FsnotesError:
    """Return the refusal of fsnotes for *error*. What nobody thought of is Unavailable."""
    # From the most exact class to the least, since they are looked up by hierarchy.
    match error:
        case found.Traversal():
            return errors.PathRefused(error.reason)
        case found.InvalidPath() | found.InvalidUri():
            return errors.InvalidArgument(argument, error.reason)
        case found.UnacceptableName():
            return errors.InvalidArgument(argument, f"not a name for a new note or folder: {error.reason}")
        case found.TooLarge():
            return errors.NoteTooLarge(error.path, limit=error.limit)
        case found.Missing() | found.NotAFolder():
            return errors.NoteNotFound(what, error.path)
        case found.Exists():
            return errors.NoteExists(error.path)
        case found.Escape() | found.ObjectRefused():
            return errors.PathRefused(error.reason or type(error).__name__)
        case found.Ambiguous():
            return errors.AmbiguousNote(error.path, paths=error.names)
        case found.Displaced():
            return errors.OutcomeUnknown("another file had the name and lies where it was moved to")
        case found.IdentityChanged():
            return errors.NoteChanged(error.path)
        case found.LockTimeout():
            return errors.Busy()
        case found.Abandoned():
            return errors.Abandoned()
        case found.Unsettled():
            return errors.OutcomeUnknown("the file system failed after the change")
        case found.StorageFailed():
            return errors.Unavailable(_STORAGE.get(error.errno, _FAILED))
        case found.TrashUnusable():
            return errors.Unavailable("the workspace's .trash is not a plain folder")
        case found.RootUnusable():
            return errors.Unavailable("the workspace's folder cannot be used")
        case _:
            return errors.Unavailable("the workspace cannot be used")
