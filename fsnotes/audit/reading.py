"""Decides in which order the files of the log are read, and which of them are read at all.

Takes no lock, so it keeps no writer waiting; a line that is being overwritten at that moment is looked at again.
What follows is left to `following.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from fsnotes.audit.entries import Entry, Wanted, parse
from fsnotes.audit.lines import Line, backwards, forwards, line_at, whole_lines
from fsnotes.audit.rotation import numbers, older_name
from fsnotes.errors import Unavailable
from sandbox.errors import RootUnusable
from sandbox.own_files import open_own_file, open_own_folder
from sandbox.records import record
from sandbox.releasing import release

_READ: Final = os.O_RDONLY
_ATTEMPTS: Final = 100

_Read = Callable[[int, Line | None], Iterator[Line]]
"""Reads the lines of a descriptor up to its last one: of what comes later, none may slip in."""


@record
class Resume:
    """Where reading goes on: the offset of a line, and whether the line that begins there is known already."""

    at: int
    is_taken: bool


START: Final = Resume(0, is_taken=False)


def resume(last: Line) -> Resume:
    """Return where to go on after the *last* line of a file.

    It may become shorter as long as there are spaces at its end, and then the next one begins earlier.
    """
    start, after, line = last
    return Resume(start, is_taken=True) if line.endswith(b" ") else Resume(after, is_taken=False)


class Files:
    """The names of the log at *path*, and what is found there. Nothing is made, and no link is followed.

    *refused* are the names of what is no readable file of this account's, in the order in which it was met.
    """

    def __init__(self, path: str) -> None:
        self._where, self._name = os.path.split(path)
        self.refused: list[str] = []

    def numbers(self) -> list[int]:
        """Return the numbers of the older files, the oldest first. Raises Unavailable."""
        folder = self._folder()
        if folder is None:
            return []
        try:
            return numbers(folder, self._name)
        except OSError as error:
            raise Unavailable("the audit log cannot be read") from error
        finally:
            release(folder)

    def open(self, number: int | None = None) -> int | None:
        """Return a descriptor of an older file, or of the log itself; None where there is none. Raises Unavailable."""
        name = self._name if number is None else older_name(self._name, number)
        folder = self._folder()
        if folder is None:
            return None
        try:
            return open_own_file(name, _READ, folder=folder)
        except FileNotFoundError:
            return None
        except (OSError, RootUnusable):
            if name not in self.refused:
                self.refused.append(name)
            return None
        finally:
            release(folder)

    def number_of(self, inode: tuple[int, int]) -> int | None:
        """Return the number of the older file that is this one, None where it has none. Raises Unavailable."""
        for number in reversed(self.numbers()):
            if self.identity(number) == inode:
                return number
        return None

    def identity(self, number: int | None = None) -> tuple[int, int] | None:
        """Return the device and inode of what has a name, None where nothing has."""
        name = self._name if number is None else older_name(self._name, number)
        try:
            status = os.stat(os.path.join(self._where, name), follow_symlinks=False)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _folder(self) -> int | None:
        try:
            return open_own_folder(self._where)
        except RootUnusable as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise Unavailable("the folder of the audit log cannot be read") from error


class History:
    """The lines that the log at *path* has now, over all its files. Close it.

    *broken* is how many lines were torn or none of the log's, and *files* names what was none of ours. *current* is a
    descriptor of the log itself, None where there is none, *resume* is where its lines go on, and *known* the number of
    the newest older file before it, 0 where there is none.
    """

    def __init__(self, path: str) -> None:
        self.files = Files(path)
        self.broken = 0
        # First the log itself: a file that is renamed meanwhile is met twice rather than not at all.
        self.current = self.files.open()
        try:
            self._older = self.files.numbers()
            self._last: Line | None = None
            if self.current is not None:
                inode = identity(self.current)
                number = self.files.number_of(inode)
                if number is not None:
                    self._older = [each for each in self._older if each < number]
                self._last = self._find_last(self.current)
        except BaseException:
            self.close()
            raise
        self.known = self._older[-1] if self._older else 0
        self.resume = START if self._last is None else resume(self._last)

    def close(self) -> None:
        """Let go of the file."""
        if self.current is not None:
            release(self.current)
            self.current = None

    def entries(self, wanted: Wanted) -> Iterator[tuple[int | None, Entry]]:
        """Yield what is wanted, the oldest first, each with its offset if it stands in *current*.

        Raises Unavailable, as all that reads does.
        """
        for number in self._older:
            yield from self._of_older(number, wanted, _oldest_first)
        if self.current is not None:
            yield from self._wanted(self.current, _oldest_first(self.current, self._last), wanted)

    def last(self, wanted: Wanted, count: int) -> list[tuple[int | None, Entry]]:
        """Return the last *count* of what is wanted, the oldest first."""
        return list(islice(self._newest_first(wanted), count))[::-1]

    def _newest_first(self, wanted: Wanted) -> Iterator[tuple[int | None, Entry]]:
        if self.current is not None:
            yield from self._wanted(self.current, _newest_first(self.current, self._last), wanted)
        for number in reversed(self._older):
            yield from self._of_older(number, wanted, _newest_first)

    def _of_older(self, number: int, wanted: Wanted, read: _Read) -> Iterator[tuple[None, Entry]]:
        descriptor = self.files.open(number)
        if descriptor is None:
            return  # removed meanwhile, or none of ours
        try:
            last = self._find_last(descriptor)
            for _, entry in self._wanted(descriptor, read(descriptor, last), wanted):
                yield None, entry
        finally:
            release(descriptor)

    def _find_last(self, descriptor: int) -> Line | None:
        """Return the last whole line, None where there is none. What stands before it stays where it is."""
        before = self.broken
        for _ in range(_ATTEMPTS):
            self.broken = before
            last = next(backwards(descriptor, self._whole(descriptor)), None)
            # Else it was cut shorter in this moment, and the next one was read in its place.
            if last is None or line_at(descriptor, last[0]) == last[2]:
                return last
        raise Unavailable("the audit log cannot be read while it changes so fast")

    def _wanted(self, descriptor: int, lines: Iterator[Line], wanted: Wanted) -> Iterator[tuple[int, Entry]]:
        try:
            for start, _, line in lines:
                if not line.strip(b" "):
                    continue
                entry = parse(line) or parse(line_at(descriptor, start) or b"")
                if entry is None:
                    self.broken += 1
                elif wanted.has(entry):
                    yield start, entry
        except OSError as error:
            raise Unavailable("the audit log cannot be read") from error

    def _whole(self, descriptor: int) -> int:
        try:
            size = os.fstat(descriptor).st_size
            end = whole_lines(descriptor, size)
            # An append that was met half-way is whole by now; what was torn by a failing disk is not.
            then = os.fstat(descriptor).st_size
            if end < size <= then and whole_lines(descriptor, then) == end:
                self.broken += 1
        except OSError as error:
            raise Unavailable("the audit log cannot be read") from error
        return end


def _oldest_first(descriptor: int, last: Line | None) -> Iterator[Line]:
    if last is not None:
        yield from forwards(descriptor, last[0])
        yield last


def _newest_first(descriptor: int, last: Line | None) -> Iterator[Line]:
    if last is not None:
        yield last
        yield from backwards(descriptor, last[0])


def identity(descriptor: int) -> tuple[int, int]:
    """Return the device and inode of an opened file."""
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino
