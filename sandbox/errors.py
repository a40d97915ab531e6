"""What a directory or a process can refuse: the exception family of `sandbox`.

Messages are for logs. What a client is told is written elsewhere, over the typed fields.
"""

from __future__ import annotations

import errno


class SandboxError(Exception):
    """Anything that `sandbox` refuses or cannot do."""


# -- names and URIs: refused before anything is opened ----------------------------------------


class InvalidUri(SandboxError):
    """The text is not a `file://` URI that this package accepts."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class InvalidPath(SandboxError):
    """The text is not a relative path: empty, NUL, an empty component, not Unicode, too long or too deep."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Traversal(InvalidPath):
    """The path is absolute, has a dot segment or a backslash: it asks for something outside."""


class UnacceptableName(SandboxError):
    """A new file or folder may not get this name (existing ones may have it)."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name!r}: {reason}")
        self.name = name
        self.reason = reason


# -- what was found at a path ------------------------------------------------------------------


class PathError(SandboxError):
    """Something about the object at *path* (relative to the root, as a caller wrote it)."""

    def __init__(self, path: str, reason: str = "") -> None:
        super().__init__(f"{path!r}: {reason or type(self).__doc__}")
        self.path = path
        self.reason = reason


class Missing(PathError):
    """Nothing is there."""


class NotAFolder(PathError):
    """A component in the middle, or the folder itself, is something else."""


class Exists(PathError):
    """The name is taken; nothing was overwritten."""


class Escape(PathError):
    """The kernel resolves the path to something outside the root, or through what the policy refuses."""


class LinkRefused(Escape):
    """A symbolic link stands in the path and the policy refuses it."""


class MountRefused(Escape):
    """The path crosses into another mount and the policy refuses it."""


class ObjectRefused(PathError):
    """The object is not one that may be opened."""


class NotRegular(ObjectRefused):
    """A FIFO, socket, device or folder stands where a file is expected."""


class HardLinkRefused(ObjectRefused):
    """The file has more than one name and the policy refuses it."""


class TooLarge(ObjectRefused):
    """The file or the text is larger than the policy allows."""

    def __init__(self, path: str, *, limit: int) -> None:
        super().__init__(path, f"larger than {limit} bytes")
        self.limit = limit


class Ambiguous(PathError):
    """Several existing names are the same text in different Unicode spellings."""

    def __init__(self, path: str, *, names: tuple[str, ...]) -> None:
        super().__init__(path, "several spellings")
        self.names = names


class IdentityChanged(PathError):
    """Another file or other bytes have taken the name; they were left alone."""


class Displaced(IdentityChanged):
    """Another file had taken the name, was moved, and could not be given back: it lies where it was moved to."""


# -- the workspace as a whole ------------------------------------------------------------------


class RootUnusable(SandboxError):
    """The directory cannot be opened as a root, or needs a kernel feature that is missing."""


class TrashUnusable(SandboxError):
    """The trash is not a plain folder of the workspace."""


class LockTimeout(SandboxError):
    """The workspace's lock was not free before the deadline."""


class Abandoned(SandboxError):
    """The caller gave up before the change began; nothing was done."""


class WatchUnavailable(SandboxError):
    """Nobody tells here what changes in the directory: look again from time to time instead.

    *reason* is for people: what is missing, or which limit is reached. It names no path.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class StorageFailed(SandboxError):
    """The file system refused for a reason of its own (full, read-only, no permission, I/O error)."""

    def __init__(self, number: int, what: str) -> None:
        super().__init__(f"{what}: errno {number}")
        self.errno = number

    @property
    def is_for_rights(self) -> bool:
        """Whether there is no permission: that stays so, and what is there is somebody else's affair."""
        return self.errno in (errno.EACCES, errno.EPERM)


class Unsettled(StorageFailed):
    """The change was made and the file system failed then: it is there, and whether it will stay nobody can say."""


# -- the jail ----------------------------------------------------------------------------------


class InvalidReport(SandboxError):
    """A report about a jail is not what a worker of ours sends."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class LockdownFailed(SandboxError):
    """A worker cannot lock itself down, and must end without having served anything.

    *passing* says that a shortage of the moment was in the way, which tells nothing about the host.
    """

    def __init__(self, reason: str, *, passing: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.passing = passing


# -- a worker, as its supervisor sees it ---------------------------------------------------------


class WorkerFailed(SandboxError):
    """A worker did not answer a call. Nothing in it names a path.

    *why* is one of a few fixed texts. *sent* says whether the request had reached the worker: if it had and
    was a change, its outcome is unknown, so read before trying again; if not, nothing was done.
    """

    def __init__(self, why: str, *, sent: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.sent = sent


class WorkerBreach(WorkerFailed):
    """The worker did what honest code never does: a forbidden call, a reply that is none, a child."""


class WorkerCrashed(WorkerFailed):
    """The worker ended by itself, or closed its channel."""


class WorkerUnable(WorkerCrashed):
    """The worker said that it cannot begin, and why. One that merely ended has not said what the host gives."""


class WorkerHung(WorkerFailed):
    """The worker did not answer by the deadline; it has been killed and is gone."""


class WorkerLimit(WorkerFailed):
    """The call needed more memory or processor time than a worker may have."""


class LevelNotMet(WorkerFailed):
    """The jail is weaker here than required; this worker has served nothing.

    *missing* names each layer that is not enforced though the required level needs it, with the reason. *failed* says
    that a layer claimed to be in force and was not: then *reached* says nothing about the host.
    """

    def __init__(
        self, *, required: str, reached: str, missing: tuple[tuple[str, str], ...], failed: bool = False
    ) -> None:
        super().__init__(f"jail level {reached}, {required} is required")
        self.required = required
        self.reached = reached
        self.missing = missing
        self.failed = failed

    def again(self) -> LevelNotMet:
        """Return the same error for somebody else to raise."""
        return LevelNotMet(
            required=self.required, reached=self.reached, missing=self.missing, failed=self.failed
        )


class Quarantined(WorkerFailed):
    """Too many breaches, of this worker or its fellows: nothing is served until an operator has looked and cleared it.

    One that was *sent* was in a worker that had to end for it.
    """


class JailBusy(WorkerFailed):
    """Too many callers wait, or the deadline came before this one's turn; nothing was sent."""


class JailStopped(WorkerFailed):
    """The jail has been stopped, or was not started."""


class HandlerFailed(SandboxError):
    """The handler in the worker raised an exception; the worker lives on.

    *kind* is the exception's class as `module.Class`; *fields* are those of its attributes that are JSON.
    Both come from the worker, so they are hostile input.
    """

    def __init__(self, kind: str, fields: dict[str, object]) -> None:
        super().__init__(kind)
        self.kind = kind
        self.fields = fields
