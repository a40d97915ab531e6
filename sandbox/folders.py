"""Opening the folder that a change happens in, and making the folders that are missing.

A folder is made by its last name in a parent that is held, and then opened again from the base by the
resolver: what was made is never trusted to be what is found. Folders that were made for a change that then
fails are removed again, as far as they are empty.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import Final

from sandbox.beneath import UNCERTAIN, sync_folder
from sandbox.errors import Missing, SandboxError
from sandbox.releasing import release
from sandbox.reports import refusal
from sandbox.resolve import READ_FOLDER, Resolver

USER_FOLDER: Final = 0o777
"""Mode of folders that are made for people's files, before the umask and default ACLs apply."""

OWN_FOLDER: Final = 0o700
"""Mode of the trash folder and of what is made in it."""


class FolderForChange:
    """An opened folder in which something is about to change; made with its parents where it is missing.

    The descriptor can be synced. When the block fails, the folders that were made for it and are still
    empty go. With `make=None` nothing is made and a missing folder is Missing.
    """

    def __init__(
        self,
        base: int,
        parts: tuple[bytes, ...],
        *,
        resolver: Resolver,
        make: int | None,
        durable: bool = True,
        shown: str,
    ) -> None:
        self._base = base
        self._parts = parts
        self._resolver = resolver
        self._mode = make
        self._durable = durable
        self._shown = shown
        self._made: list[int] = []
        self._fd = -1

    def __enter__(self) -> int:
        try:
            self._fd = self._open(len(self._parts))
        except Missing:
            if self._mode is None:
                raise
            self._fd = self._make(self._mode)
        return self._fd

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        release(self._fd)
        if error is not None:
            self.remove_made()

    def remove_made(self) -> None:
        """Remove what was made, deepest first, as far as it is empty."""
        while self._made:
            depth = self._made.pop()
            remove_empty(self._base, self._parts[:depth], resolver=self._resolver)

    def _open(self, depth: int) -> int:
        return self._resolver.open(self._base, self._parts[:depth], READ_FOLDER, shown=self._shown)

    def _make(self, mode: int) -> int:
        parent = self._open(0)
        try:
            for depth in range(1, len(self._parts) + 1):
                parent, former = self._step(parent, depth, mode), parent
                release(former)
        except BaseException:
            release(parent)
            self.remove_made()
            raise
        return parent

    def _step(self, parent: int, depth: int, mode: int) -> int:
        try:
            return self._open(depth)
        except Missing:
            pass
        try:
            # SAFETY: one component, in a parent that is held and was opened beneath the base. Whatever
            # happens to the parent's name meanwhile, this makes a folder in it or nothing.
            os.mkdir(self._parts[depth - 1], mode, dir_fd=parent)
            self._made.append(depth)
        except FileExistsError:
            pass  # made by somebody else in between, or a link that dangles: opening it tells
        except OSError as error:
            if error.errno in UNCERTAIN:
                self._made.append(depth)  # perhaps; it is removed if it is there, and empty
            raise refusal(error, self._shown) from error
        folder = self._open(depth)
        try:
            if self._durable:
                sync_folder(parent, self._shown)
        except BaseException:
            release(folder)
            raise
        return folder


def remove_empty(base: int, parts: tuple[bytes, ...], *, resolver: Resolver) -> bool:
    """Remove the folder at *parts* if it is empty; say whether it went. Never removes anything else."""
    if not parts:
        return False
    try:
        parent = resolver.open(base, parts[:-1], READ_FOLDER)
    except SandboxError:
        return False
    try:
        os.rmdir(parts[-1], dir_fd=parent)
    except OSError:
        return False
    finally:
        release(parent)
    return True
