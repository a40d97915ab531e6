"""Reading many files of one folder: the folder is resolved once and held open meanwhile.

Each file is judged as by `Root.read`: looked at before it is opened, opened without following a link or crossing into
a mount that the policy refuses, judged again, and counted while it is read. What is written into it meanwhile may be
read in part; who is to change it reads it anew.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self

from sandbox.beneath import Beneath, encoded_parts
from sandbox.errors import TooLarge
from sandbox.names import RelPath
from sandbox.objects import Kind
from sandbox.policy import Links
from sandbox.reading import READ_FILE, read
from sandbox.releasing import release
from sandbox.reports import refusal
from sandbox.resolve import READ_FOLDER


class Shelf:
    """The folder at *path*, open for reading; close it. Raises what opening a folder raises.

    Where links are followed each file is read by its whole path, since links may lead anywhere in the root.
    """

    def __init__(self, tree: Beneath, path: RelPath) -> None:
        self._tree = tree
        self._path = path
        self._by_path = tree.policy.links is Links.WITHIN
        self._folder = tree.resolver.open(tree.fd, encoded_parts(path), READ_FOLDER)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the folder; a second time does nothing."""
        folder, self._folder = self._folder, -1
        if folder >= 0:
            release(folder)

    def read(self, name: str) -> bytes:
        """Return the bytes of the file *name*. Raises Missing, Escape, ObjectRefused, StorageFailed."""
        path, policy = self._path.child(name), self._tree.policy
        if self._by_path:
            return read(self._tree, path).data
        try:
            encoded = name.encode()
            seen = os.stat(encoded, dir_fd=self._folder, follow_symlinks=False)
            if Kind.of(seen.st_mode) is not Kind.LINK:  # which opening it refuses
                policy.judge(path, seen)
            file = self._tree.steady.open(self._folder, (encoded,), READ_FILE, shown=str(path))
            try:
                status = os.fstat(file)
                policy.judge(path, status)
                data, most = os.read(file, status.st_size + 1), policy.max_file_bytes
                # One that was read to the size it told is whole, and so is one that says that it has ended. Others
                # grow, or come in pieces: read(2) may give less than there is.
                while len(data) != status.st_size and len(data) <= most:
                    more = os.read(file, most + 1 - len(data))
                    if not more:
                        break
                    data += more
            finally:
                release(file)
        except OSError as error:
            raise refusal(error, str(path)) from error
        if len(data) > most:
            raise TooLarge(str(path), limit=most)
        return data


class Shelves:
    """Reads files, holding the folder of the last one open: those of a folder come one after the other. Close it."""

    def __init__(self, tree: Beneath) -> None:
        self._tree = tree
        self._folder = ""
        self._shelf: Shelf | None = None

    def close(self) -> None:
        """Close what is open; a second time does nothing."""
        shelf, self._shelf = self._shelf, None
        if shelf is not None:
            shelf.close()

    def read(self, path: str) -> bytes:
        """Return the bytes of the file that *path* spells. Raises what opening its folder and `Shelf.read` raise."""
        # A folder is parsed once for all of its files.
        folder, _, name = path.rpartition("/")
        if self._shelf is None or folder != self._folder:
            self.close()
            self._shelf, self._folder = Shelf(self._tree, RelPath.parse_folder(folder)), folder
        return self._shelf.read(name)
