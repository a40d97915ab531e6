"""One worker as the operating system sees it: started with nothing of ours, waited for, killed, reaped.

It gets a fresh interpreter without site-packages, the folders it imports from, one end of a socket pair, an empty
pipe for its stdin and one pipe for its stdout and stderr; no other descriptor, no environment variable but LANG, a
session of its own. The thread that starts it must live as long as it does: the kernel kills the worker when that
thread ends.

Why a worker ended is not decided here.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Final, cast

from sandbox.jail.endings import LOST

if TYPE_CHECKING:
    import psutil

ENVIRONMENT: Final = {"LANG": "C.UTF-8"}
"""All that a worker has in its environment."""

BOOTSTRAP: Final = (
    "import gc, sys; gc.disable(); sys.path += sys.argv[4:];"
    " from importlib import import_module;"
    " import_module(sys.argv[1]).main(int(sys.argv[2]), int(sys.argv[3]))"
)
"""Where a worker begins. Until it has everything, garbage is not looked for: there is none while modules load."""

REAP_SECONDS: Final = 10.0
"""How long a killed process may take to be gone: one that waits for a broken disk cannot be killed."""

_INNER_SECONDS: Final = 0.25
_STEP_SECONDS: Final = 0.001


def interpreter() -> str:
    """Return the path of the interpreter itself, not of a link in a virtual environment."""
    if not sys.executable:
        raise RuntimeError("this program does not know its Python interpreter")
    return os.path.realpath(sys.executable)


def import_folders(*packages: str) -> tuple[str, ...]:
    """Return the folders from which this process imports *packages*, in the order of its own search.

    A worker appends exactly these to its standard library, so that it runs the same code. Raises ValueError for
    a package that is missing or does not lie in a folder.
    """
    found = set()
    for name in packages:
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.has_location or spec.origin is None:
            raise ValueError(f"{name} is not a package in a folder")
        # One step up for each dot, one from the file, and one more from the folder of a package.
        steps = name.count(".") + (2 if spec.submodule_search_locations else 1)
        folder = spec.origin
        for _ in range(steps):
            folder = os.path.dirname(folder)
        absolute = _absolute(folder)
        if absolute is None or not os.path.isdir(absolute):
            raise ValueError(f"{name} is not a package in a folder")
        found.add(absolute)
    order = {_absolute(path): place for place, path in reversed(list(enumerate(sys.path)))}
    return tuple(sorted(found, key=lambda folder: (order.get(folder, len(order)), folder)))


def _absolute(path: str) -> str | None:
    """Return *path* from the root on; None where it is relative to a current folder that is gone."""
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        return None


class WorkerProcess:
    """A started worker. All but `close` is for any thread."""

    def __init__(self, *, entry: str, import_paths: tuple[str, ...]) -> None:
        self.connection, theirs = socket.socketpair()
        number = theirs.fileno()
        # Compiled modules are kept if this process keeps its own beside the sources: a start without them takes
        # half as long again.
        is_kept = not sys.dont_write_bytecode and sys.pycache_prefix is None
        command = [interpreter(), "-I", "-S", *([] if is_kept else ["-B"]), "-X", "utf8", "-c", BOOTSTRAP]
        try:
            with theirs:
                self._child = subprocess.Popen(  # noqa: S603 - a list, and nothing in it from outside
                    [*command, entry, str(number), str(os.getpid()), *import_paths],
                    # SAFETY: pipes of its own and nothing else. A device that it held, such as the null device, would
                    # be a file outside whose mode and times it could change, by descriptor, as its owner.
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    bufsize=0,
                    close_fds=True,
                    pass_fds=(number,),
                    env=ENVIRONMENT,
                    cwd="/",
                    start_new_session=True,
                )
        except BaseException:
            self.connection.close()
            raise
        cast(io.FileIO, self._child.stdin).close()
        self.pid = self._child.pid
        import psutil  # takes a tenth of a worker's start, and is loaded while it starts

        self.serving = psutil.Process(self.pid)
        self._handle = _open_handle(self.pid)
        self._status: int | None = None
        self._is_lost = False
        self._mutex = threading.Lock()
        os.set_blocking(self.errors.fileno(), False)

    @property
    def errors(self) -> io.FileIO:
        """The end of the pipe at which the worker's stdout and stderr arrive. Reading does not wait."""
        # SAFETY: a pipe with bufsize=0 is a raw file.
        return cast(io.FileIO, self._child.stdout)

    @property
    def handle(self) -> int | None:
        """A descriptor that becomes readable when the worker is over; None where the kernel has no such thing."""
        return self._handle

    def attend(self, inner: psutil.Process) -> None:
        """Take *inner*, a child of this worker, for the half that serves: it is killed first and waited for."""
        self.serving = inner

    def kill(self) -> None:
        """Kill both halves and everything in their process group, unless they are gone."""
        with self._mutex:
            if self._status is not None:
                return
            # The outer half reaps the inner one and ends by itself. Killed first, it would leave a zombie to an
            # init that may not care.
            if self.serving.pid != self.pid:
                _kill(self.serving)
                if self._is_over_within(_INNER_SECONDS):
                    return
            # SAFETY: only `reap` reaps, under this mutex, so the number is still our child's, who leads the group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def reap(self) -> int | None:
        """Return the exit status (negative: a signal) once both halves are gone, and None before; or LOST."""
        with self._mutex:
            if self._status is None and self._is_over_within(0):
                if self.serving.pid != self.pid and not _is_dead(self.serving):
                    _kill(self.serving)
                    return None
                status = self._child.wait()
                self._status = LOST if self._is_lost else status
            return self._status

    def wait_until_gone(self, seconds: float) -> int | None:
        """Reap the worker as soon as it is gone; return its exit status, or None after that many seconds."""
        end = time.monotonic() + seconds
        while (status := self.reap()) is None and time.monotonic() < end:
            time.sleep(_STEP_SECONDS)
        return status

    def close(self) -> None:
        """Let go of pipe and handle, once nobody waits at them. The connection belongs to the channel."""
        self.errors.close()
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _is_over_within(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        try:
            while os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                if time.monotonic() >= end:
                    return False
                time.sleep(_STEP_SECONDS)
        except ChildProcessError:
            # Somebody has SIGCHLD ignored, or reaps what is not his: over, and nobody knows how it ended.
            self._is_lost = True
        return True


def _open_handle(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux; before 5.3, or behind a filter that does not know it
        return None


def _kill(process: psutil.Process) -> None:
    import psutil

    with contextlib.suppress(psutil.Error):
        process.kill()


def _is_dead(process: psutil.Process) -> bool:
    import psutil

    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True
