"""What the file system of a root offers, found out by trying it on a temporary of our own.

Nothing here decides anything: operations meet what is missing by themselves. It is for the reports of a
doctor, so that nothing which is weaker here stays silent.
"""

from __future__ import annotations

import os
import unicodedata
from typing import Final, Literal

from sandbox.beneath import UNSUPPORTED, Beneath, Descriptor
from sandbox.errors import Unsettled
from sandbox.locking import Lock, LockKind
from sandbox.objects import FileIdentity
from sandbox.records import record
from sandbox.renaming import exchange, lstat, temporary_name
from sandbox.resolve import READ_FOLDER, WalkResolver

_LETTERS: Final = "-k\u00e9"


@record
class Features:
    """What was found. None where it was not tried, or could not be, because nothing can be written here."""

    rename_flags: bool | None
    """Whether a replace is verified by exchanging, and a move cannot overwrite, in one step."""

    folder_sync: bool
    """Whether names can be made durable."""

    lock: LockKind
    normalises: bool | None
    """Whether a name is found under its other Unicode form."""

    folds_case: bool | None
    """Whether a name is found in other letters' case."""

    sees_bind_mounts: bool
    """Whether `Mounts.REFUSE` sees a mount of the same file system."""

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """Say what is weaker here than elsewhere, a sentence each; nothing where all is as it should be."""
        found = []
        if self.rename_flags is False:
            found.append(
                "names are not exchanged in one step: a kill can leave a restored note with two names"
            )
        if not self.folder_sync:
            found.append("folders cannot be synced: a new name may not survive a power cut")
        if self.lock == "file":
            found.append("folders cannot be locked: a lock file in the state folder stands in")
        if not self.sees_bind_mounts:
            found.append("bind mounts of the same file system are not told from folders")
        return tuple(found)


def probe(tree: Beneath, lock: Lock, *, names: Literal["skip", "try"] = "try") -> Features:
    """Try everything once and remove what was made for it. With *names* `skip`, nothing is made."""
    resolver = tree.plain
    sees = resolver.sees_bind_mounts if isinstance(resolver, WalkResolver) else True
    with Descriptor(resolver.open(tree.fd, (), READ_FOLDER)) as root:
        tried = _try_names(root) if names == "try" else None
        flags, normalises, folds = (None, None, None) if tried is None else tried
        return Features(
            rename_flags=flags,
            folder_sync=_can_sync(root),
            lock=lock.kind(),
            normalises=normalises,
            folds_case=folds,
            sees_bind_mounts=sees,
        )


def _try_names(root: int) -> tuple[bool, bool, bool] | None:
    first = temporary_name() + _LETTERS.encode()
    second = temporary_name() + _LETTERS.encode()
    made: list[tuple[bytes, FileIdentity]] = []
    try:
        for name in (first, second):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with Descriptor(os.open(name, flags, 0o600, dir_fd=root)) as fd:
                made.append((name, FileIdentity.of(os.fstat(fd))))
        text = first.decode()
        return (
            exchange(root, first, root, second),
            _is_there(root, unicodedata.normalize("NFD", text)),
            _is_there(root, text.upper()),
        )
    except (OSError, Unsettled):
        return None
    finally:
        ours = {identity.ino for _, identity in made}
        for name, _ in made:
            _remove(root, name, ours)


def _is_there(root: int, name: str) -> bool:
    try:
        lstat(root, name.encode())
    except OSError:
        return False
    return True


def _remove(root: int, name: bytes, ours: set[int]) -> None:
    try:
        if lstat(root, name).ino in ours:
            os.unlink(name, dir_fd=root)
    except OSError:
        pass  # the sweeper finds it


def _can_sync(root: int) -> bool:
    try:
        os.fsync(root)
    except OSError as error:
        return error.errno not in UNSUPPORTED
    return True
