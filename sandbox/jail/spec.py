"""What a jailed worker is started with: its folders, its kind, its limits, and the code that answers.

A `JailSpec` is what the parent decides once; a `Plan` is what one worker locks itself down by. Both come
from our own side of the channel. Nothing here asks the host for anything.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from sandbox.jail.report import KINDS, Level, Report, WorkerKind
from sandbox.records import record

INSIDE_WORKSPACE: Final = "/ws"
INSIDE_INDEX: Final = "/index"
"""Where the two folders are in a worker that has namespaces."""

MIB: Final = 1 << 20


@record
class Limits:
    """What the kernel holds one worker to, for its whole life."""

    memory: int = 512 * MIB
    """Address space in bytes. Past it an allocation fails (MemoryError)."""
    open_files: int = 64
    file_size: int = 64 * MIB
    """Bytes per file, the index included: past it a write fails (EFBIG; in SQLite an I/O error)."""
    cpu_seconds: int | None = None
    """Processor time of the whole life, then SIGKILL. None: the supervisor watches each call alone."""

    def __post_init__(self) -> None:
        if self.memory < 64 * MIB or self.open_files < 16 or self.file_size < 1:
            raise ValueError("limits too small for a worker to start")
        if self.cpu_seconds is not None and self.cpu_seconds < 1:
            raise ValueError("a worker needs at least a second")


@record
class JailSpec:
    """One workspace and one kind of worker for it.

    *workspace* and *index* (the folder of the index and the move journal) are absolute, without links and
    without `..`; in a worker without namespaces SQLite opens the index by its path, so the folders above it
    must be traversable by the account the worker runs as. *want* is the most that is tried, FULL or
    CONTAINED; what is *required* is the supervisor's to compare. *handler* names a factory as
    `package.module:function`; it is called after the lock-down with *options* (plain JSON values) and
    returns the function that answers. *import_paths* are the folders that the worker imports from.
    *identity* is device and inode of the workspace, *index_identity* those of the index folder: another folder at the
    path is refused. So is, always, an index folder of another account than the one the worker runs as.
    *follows_links* says that the handler follows links within the workspace, which costs a worker without namespaces
    something else (`seccomp.permit`).
    """

    workspace: str
    kind: WorkerKind
    handler: str
    index: str | None = None
    want: Level = Level.FULL
    limits: Limits = Limits()
    options: Mapping[str, Any] = MappingProxyType({})
    import_paths: tuple[str, ...] = ()
    identity: tuple[int, int] | None = None
    index_identity: tuple[int, int] | None = None
    follows_links: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError("unknown kind of worker")
        if self.want not in (Level.FULL, Level.CONTAINED):
            raise ValueError("a jail is wanted full or contained")
        if self.kind == "index" and self.index is None:
            raise ValueError("a worker for the index needs its folder")
        for path in (self.workspace, *(() if self.index is None else (self.index,))):
            if not _is_plain(path):
                raise ValueError("a folder of a jail is an absolute path without `..`")
        if self.index is not None and _overlap(self.workspace, self.index):
            raise ValueError("workspace and index folder lie apart")
        if self.index is None and self.index_identity is not None:
            raise ValueError("an identity of no folder")


@record
class Plan:
    """How one worker locks itself down.

    *parent* is the process that started it: the worker dies with it, and does not start under another.
    *keep* are the descriptors that stay open beside 0, 1 and 2, usually the one channel; all others are
    closed, so nothing else may be held when the lock-down begins, not even a `Root`.
    """

    spec: JailSpec
    parent: int
    keep: tuple[int, ...]


def workspace_path(spec: JailSpec, report: Report) -> str:
    """Return the absolute path of the workspace as the worker of *report* sees it (also its cwd)."""
    return INSIDE_WORKSPACE if report.has("namespaces") else spec.workspace


def index_path(spec: JailSpec, report: Report) -> str | None:
    """Return the absolute path of the index folder as the worker of *report* sees it."""
    if spec.index is None:
        return None
    return INSIDE_INDEX if report.has("namespaces") else spec.index


def _is_plain(path: str) -> bool:
    # normpath keeps two leading slashes, which POSIX leaves undefined.
    return (
        path.startswith("/")
        and not path.startswith("//")
        and "\0" not in path
        and os.path.normpath(path) == path
    )


def _overlap(first: str, second: str) -> bool:
    return (first + "/").startswith(second.rstrip("/") + "/") or (second + "/").startswith(
        first.rstrip("/") + "/"
    )
