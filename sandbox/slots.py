"""One small file of our own in a folder of our own: whole or not there, and it survives a power cut.

Who writes, reads and clears it holds a lock that keeps the others out. The folder is no workspace, and nobody else has
any business in it: see `own_files.py`. What the bytes mean is decided elsewhere.
"""

from __future__ import annotations

import contextlib
import os
from typing import Final

from sandbox.beneath import sync_folder
from sandbox.errors import Missing, TooLarge
from sandbox.own_files import open_own_file, open_own_folder
from sandbox.place import Place
from sandbox.releasing import release
from sandbox.reports import reporting
from sandbox.temporaries import write_all

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class Slot:
    """The file *name* in *folder*, of *most* bytes. For who holds the lock; close it."""

    def __init__(self, folder: str | Place, name: str, *, most: int) -> None:
        """Open the folder, as `open_own_folder` does. Raises RootUnusable."""
        self._folder = open_own_folder(folder)
        self._name = name
        self._new = f"{name}.new"
        self._most = most

    def close(self) -> None:
        """Close the folder; a second time does nothing."""
        folder, self._folder = self._folder, -1
        if folder >= 0:
            release(folder)

    @property
    def is_empty(self) -> bool:
        """Whether there is no file. One system call."""
        try:
            with reporting(self._name):
                os.stat(self._name, dir_fd=self._folder, follow_symlinks=False)
        except Missing:
            return True
        return False

    def read(self) -> bytes | None:
        """Return what was written last; None when it was cleared since, or nothing was written.

        Raises TooLarge, StorageFailed, and RootUnusable for what is no plain file of ours.
        """
        try:
            with reporting(self._name):
                file = open_own_file(self._name, os.O_RDONLY, folder=self._folder)
        except Missing:
            return None
        try:
            with reporting(self._name):
                pieces: list[bytes] = []
                left = self._most + 1
                while left > 0 and (piece := os.read(file, min(left, 1 << 20))):
                    pieces.append(piece)
                    left -= len(piece)
        finally:
            release(file)
        if left <= 0:
            raise TooLarge(self._name, limit=self._most)
        return b"".join(pieces)

    def write(self, data: bytes, *, durable: bool = True) -> None:
        """Put *data* in the place of what is there; until this returns the former bytes stand.

        Unless *durable*, for what means nothing after a power cut, either may stand then, or nothing that was written.
        Raises TooLarge and StorageFailed.
        """
        if len(data) > self._most:
            raise TooLarge(self._name, limit=self._most)
        with reporting(self._name):
            try:
                self._write_new(data, durable=durable)
                os.rename(self._new, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(self._new, dir_fd=self._folder)
                raise
        if durable:
            sync_folder(self._folder, self._name)

    def _write_new(self, data: bytes, *, durable: bool) -> None:
        file = os.open(self._new, _NEW, 0o600, dir_fd=self._folder)
        try:
            write_all(file, data)
            if durable:
                os.fsync(file)
        finally:
            release(file)

    def clear(self) -> None:
        """Remove the file; durable when this returns. Raises StorageFailed."""
        try:
            with reporting(self._name):
                os.unlink(self._name, dir_fd=self._folder)
        except Missing:
            return
        sync_folder(self._folder, self._name)
