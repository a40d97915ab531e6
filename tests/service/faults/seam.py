"""Stands between the product and the system: every call that it makes is counted, and one of them fails on demand.

In each module of the product, `os`, `fcntl` and `sqlite3` are replaced by something that looks like them, and so are
`open` and, in the one module of ctypes, what makes the calls. Which calls there are is not written down anywhere: they
are recorded from a real run, so that one that the product makes tomorrow is made to fail tomorrow. The libraries that
the product and the tests use are left alone.
"""

from __future__ import annotations

import builtins
import ctypes
import errno
import fcntl
import importlib
import os
import pkgutil
import sqlite3
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Self

import fsnotes
import sandbox
from sandbox import _linux

NOT_IN_THEM: Final = ("fsnotes.server", "fsnotes.cli", "fsnotes.__main__", "sandbox.jail")
"""What takes a call in, shows an answer, or locks a process down: no call of theirs touches a note or the state."""

NO_CALLS: Final = frozenset(
    {
        "cpu_count", "fsdecode", "fsencode", "fspath", "get_terminal_size", "getegid", "geteuid", "getgid", "getpid",
        "getppid", "getuid", "kill", "makedev", "major", "minor", "set_inheritable", "strerror", "uname", "urandom",
        "_exit", "fork", "pipe",
    }
)  # fmt: skip
"""Functions of `os` that work on no file, or fail only where nothing works any more. All others are calls."""

_AFTERWARDS: Final = frozenset({"os.close", "fcntl.flock LOCK_UN"})
"""Calls that have done what they are for, whatever they answer: close(2)."""


NEVER: Final = -1
"""The number of no call."""


@dataclass(frozen=True, slots=True)
class Made:
    """A call, and where in the product it was made: the places in it that led there, the nearest first."""

    call: str
    way: tuple[str, ...]

    @property
    def where(self) -> str:
        """The nearest two places: who made the call, and for whom."""
        return " for ".join(self.way[:2])

    def __str__(self) -> str:
        return f"{self.call} in {self.where}"


@dataclass(frozen=True, slots=True)
class Fault:
    """What a call does instead: it fails with *number*, before it has done anything or after; or it does a part."""

    kind: str
    number: int = 0

    def __str__(self) -> str:
        return " ".join(filter(None, (self.kind, errno.errorcode.get(self.number, ""))))


class Seam:
    """All calls of the product in this process, for one thread at a time."""

    def __init__(self) -> None:
        self.made: list[Made] = []
        self.happened: Made | None = None
        self._thread: int | None = None
        self._at = NEVER
        self._call = ""
        self._fault = Fault("none")

    @contextmanager
    def recording(self) -> Iterator[list[Made]]:
        """Record the calls that are made in the block."""
        with self.failing(NEVER, "", Fault("none")):
            yield self.made

    @contextmanager
    def failing(self, at: int, call: str, fault: Fault) -> Iterator[None]:
        """Have the call number *at* of the block fail, or the next one after it that is a *call* like this."""
        self.begin(at, call, fault)
        try:
            yield
        finally:
            self.end()

    def begin(self, at: int, call: str, fault: Fault) -> None:
        """Count this thread's calls from here on, and have one fail; see `failing`."""
        self.made, self.happened, self._at, self._call, self._fault = [], None, at, call, fault
        self._thread = threading.get_ident()

    def end(self) -> None:
        """Count no more."""
        self._thread = None

    def call(self, name: str, work: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Make a call, which is one of the product's if its caller's caller is."""
        if self._thread != threading.get_ident():
            return work(*arguments, **named)
        made = Made(name, _way(sys._getframe(2)))
        self.made.append(made)
        is_late_enough = len(self.made) > self._at and self._call in ("", name)
        if self._at == NEVER or self.happened is not None or not is_late_enough:
            return work(*arguments, **named)
        self.happened = made
        return self._fail(name, work, arguments, named)

    def _fail(
        self, name: str, work: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        match self._fault.kind:
            case "short" if name.startswith(("os.write", "os.pwrite")):
                descriptor, data, *rest = arguments
                return work(descriptor, data[: max(1, len(data) // 2)], *rest)
            case "short":
                descriptor, size, *rest = arguments
                return work(descriptor, min(size, 3), *rest)
            case "late":
                work(*arguments, **named)
            case _ if name in _AFTERWARDS:
                work(*arguments, **named)
        raise _failure(name, self._fault.number)


def _way(frame: types.FrameType | None) -> tuple[str, ...]:
    """Return the places that led to a call, but for the module of ctypes."""
    found: list[str] = []
    while frame is not None:
        name = frame.f_globals["__name__"]
        if name.startswith(("sandbox.", "fsnotes.")) and name != _linux.__name__:
            found.append(f"{name}.{frame.f_code.co_qualname}:{frame.f_lineno}")
        frame = frame.f_back
    return tuple(found)


SEAM: Final = Seam()
"""The one of this process."""


def _failure(name: str, number: int) -> Exception:
    if name.startswith("sqlite3"):
        code, text = _SQLITE.get(number, _SQLITE[errno.EIO])
        error = sqlite3.OperationalError(text)
        error.sqlite_errorcode = code
        return error
    return OSError(number, os.strerror(number))


_SQLITE: Final = {
    errno.EIO: (sqlite3.SQLITE_IOERR, "disk I/O error"),
    errno.ENOSPC: (sqlite3.SQLITE_FULL, "database or disk is full"),
    errno.EDQUOT: (sqlite3.SQLITE_FULL, "database or disk is full"),
    errno.EMFILE: (sqlite3.SQLITE_CANTOPEN, "unable to open database file"),
    errno.EROFS: (sqlite3.SQLITE_READONLY, "attempt to write a readonly database"),
}


class _Lookalike(types.ModuleType):
    """A module whose functions are called through the seam."""

    def __init__(self, real: types.ModuleType, wrapped: dict[str, Any]) -> None:
        super().__init__(real.__name__, real.__doc__)
        self._real = real
        self.__dict__.update(wrapped)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _through(name: str, real: Callable[..., Any], refine: Callable[..., str] = lambda *_, **__: "") -> Any:
    def call(*arguments: Any, **named: Any) -> Any:
        return SEAM.call(name + refine(*arguments, **named), real, *arguments, **named)

    return call


# -- os and fcntl ------------------------------------------------------------------------------


def _how(_path: Any, flags: int, *_: Any, **__: Any) -> str:
    return " O_CREAT" if flags & os.O_CREAT else ""


def _which(_descriptor: int, operation: int) -> str:
    return " LOCK_UN" if operation == fcntl.LOCK_UN else ""


class _Entry:
    """What `os.scandir` found; to look at it is a call."""

    def __init__(self, real: os.DirEntry[Any]) -> None:
        self._real = real
        self.stat = _through("DirEntry.stat", real.stat)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class _Entries:
    """What `os.scandir` returns; to go on to the next entry is a call."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._real.close()

    def __iter__(self) -> _Entries:
        return self

    def __next__(self) -> _Entry:
        return _Entry(SEAM.call("scandir.next", self._real.__next__))

    def close(self) -> None:
        self._real.close()


def _scandir(folder: Any) -> _Entries:
    return _Entries(SEAM.call("os.scandir", os.scandir, folder))


def _is_call(name: str, value: object) -> bool:
    is_function = isinstance(value, types.BuiltinFunctionType | types.FunctionType)
    return is_function and not name.startswith(("W", "__", "sched_", "posix_")) and name not in NO_CALLS


def _lookalike_of_os() -> types.ModuleType:
    wrapped = {name: _through(f"os.{name}", real) for name, real in vars(os).items() if _is_call(name, real)}
    wrapped["open"] = _through("os.open", os.open, _how)
    wrapped["fsync"] = _through(
        "os.fsync", os.fstat
    )  # nothing here survives a power cut, and waiting is all it does
    wrapped["scandir"] = _scandir
    return _Lookalike(os, wrapped)


# -- SQLite ------------------------------------------------------------------------------------


class _Connection(sqlite3.Connection):
    """Its statements are calls: what SQLite does for one is its own affair, and it fails as a whole."""

    def execute(self, *arguments: Any) -> Any:
        return SEAM.call("sqlite3.execute", super().execute, *arguments)

    def executemany(self, *arguments: Any) -> Any:
        return SEAM.call("sqlite3.executemany", super().executemany, *arguments)


def _connect(*arguments: Any, **named: Any) -> Any:
    return SEAM.call("sqlite3.connect", sqlite3.connect, *arguments, factory=_Connection, **named)


# -- ctypes ------------------------------------------------------------------------------------


def _raw(name: str, real: Any) -> Any:
    """Return a function of ctypes that answers as the system call would: -1, and errno is set."""

    def call(*arguments: Any) -> Any:
        try:
            return SEAM.call(f"{name}(2)", real, *arguments)
        except OSError as error:
            ctypes.set_errno(error.errno or errno.EIO)
            return -1

    return call


# -- where they are put ------------------------------------------------------------------------


def load() -> None:
    """Load all modules of the product, those too that are loaded late."""
    for package in (sandbox, fsnotes):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.startswith(NOT_IN_THEM):
                importlib.import_module(found.name)


def modules() -> list[types.ModuleType]:
    """Return the modules of the product whose calls are counted, as far as they are loaded."""
    return [
        module
        for name, module in sorted(sys.modules.items())
        if name.startswith(("sandbox.", "fsnotes.")) and not name.startswith(NOT_IN_THEM)
    ]


@contextmanager
def built() -> Iterator[Seam]:
    """Put the seam into what is loaded of the product for the block."""
    likes = {
        os: _lookalike_of_os(),
        fcntl: _Lookalike(
            fcntl,
            {
                "flock": _through("fcntl.flock", fcntl.flock, _which),
                "fcntl": _through("fcntl.fcntl", fcntl.fcntl),
            },
        ),
        sqlite3: _Lookalike(sqlite3, {"connect": _connect}),
    }
    opening = _through("open", builtins.open)
    former: list[tuple[types.ModuleType, str, Any]] = []
    for module in modules():
        for name, value in list(vars(module).items()):
            if isinstance(value, types.ModuleType) and value in likes:
                former.append((module, name, value))
                setattr(module, name, likes[value])
        if "open" not in vars(module):
            module.open = opening  # type: ignore[attr-defined]
        if module is _linux:
            for name, value in list(vars(module).items()):
                if isinstance(value, ctypes._CFuncPtr):  # type: ignore[attr-defined]
                    former.append((module, name, value))
                    setattr(module, name, _raw(name.strip("_"), value))
    try:
        yield SEAM
    finally:
        for module, name, value in former:
            setattr(module, name, value)
        for module in modules():
            if "open" in vars(module) and vars(module)["open"] is opening:
                del module.open  # type: ignore[attr-defined]
