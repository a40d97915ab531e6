"""What a directory or a process can refuse: the exception family of `sandbox`.

Messages are for logs. What a client is told is written elsewhere, over the typed fields.
"""

from __future__ import annotations


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


# -- the workspace as a whole ------------------------------------------------------------------


class RootUnusable(SandboxError):
    """The directory cannot be opened as a root, or needs a kernel feature that is missing."""


class TrashUnusable(SandboxError):
    """The trash is not a plain folder of the workspace."""


class LockTimeout(SandboxError):
    """The workspace's lock was not free before the deadline."""


class Abandoned(SandboxError):
    """The caller gave up before the change began; nothing was done."""


class StorageFailed(SandboxError):
    """The file system refused for a reason of its own (full, read-only, no permission, I/O error)."""

    def __init__(self, number: int, what: str) -> None:
        super().__init__(f"{what}: errno {number}")
        self.errno = number
