"""What the file system would say to a move, asked without making it: for dry runs.

Limits: it is asked for the rights to folders, see `sandbox/permits.py`; a file system that fails is not foreseen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fsnotes.notes.courses import Course
from sandbox.errors import SandboxError, StorageFailed
from sandbox.names import RelPath
from sandbox.root import Root


def rehearsed(root: Root, notes: Iterable[RelPath]) -> Iterator[RelPath | None]:
    """Yield each of *notes*, None for one that may not be given another text."""
    known: dict[RelPath, bool] = {}
    for note in notes:
        folder = note.parent
        if folder not in known:
            known[folder] = _may_change(root, folder)
        yield note if known[folder] else None


def _may_change(root: Root, folder: RelPath) -> bool:
    try:
        root.check_folder(folder)
    except StorageFailed:
        return False
    except SandboxError:
        return True  # it has changed since it was looked at; a move would be planned anew
    return True


def check_course(root: Root, made: Course) -> None:
    """Raise StorageFailed where no name may go from the one folder, or come into the other."""
    source, target = made.source.parent, made.target
    root.check_folder(source)
    existing = RelPath(target.parts[: len(target.parts) - 1 - made.missing])
    if existing != source:
        root.check_folder(existing)
    if made.is_folder and target.parent != source:
        root.check_movable_folder(made.source)
