"""What the workers of these tests serve: what an honest handler does, and what a taken-over one might."""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import resource
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

CHANNEL = int(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[2].isdigit() else -1
LIBC = ctypes.CDLL(None, use_errno=True)
PTRACE = {"x86_64": 101, "aarch64": 117}.get(os.uname().machine, 117)
OWN_SESSION = os.getsid(0) == os.getpid()
MIB = 1 << 20

Result = dict[str, Any]


class Odd(Exception):
    """An exception of a handler's own, with fields of every kind."""

    def __init__(self, secret: str) -> None:
        super().__init__(secret)
        self.path = "a.md"
        self.size = 3
        self.share = 0.5
        self.done = False
        self.reason = None
        self.names = ("a", "b")
        self.long = "x" * 10_000
        self.inner = {"not": "plain"}
        self.raw = b"bytes"
        self.origin = ValueError(secret)


class Broken(Exception):
    """An exception whose field cannot be sent."""

    def __init__(self) -> None:
        super().__init__()
        self.half = "\ud800"


class Served:
    """A handler with a memory, so that a test can tell one worker from the next."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.calls = 0
        self.kept: list[bytearray] = []

    def __call__(self, op: str, args: Result) -> Result:
        self.calls += 1
        run: Callable[..., Result] = getattr(self, "do_" + op)
        return run(**args)

    # -- honest --------------------------------------------------------------------------------

    def do_echo(self, **args: Any) -> Result:
        return args

    def do_count(self) -> Result:
        return {"calls": self.calls, "pid": os.getpid()}

    def do_options(self) -> Result:
        return {name: value for name, value in self.options.items() if not callable(value)}

    def do_sleep(self, seconds: float) -> Result:
        time.sleep(seconds)
        return {"slept": seconds}

    def do_fill(self, megabytes: int) -> Result:
        return {"text": "é" * (megabytes * MIB // 2)}

    def do_keep(self, megabytes: int, seconds: float) -> Result:
        self.kept.append(bytearray(os.urandom(MIB)) * megabytes)
        time.sleep(seconds)
        return {}

    def do_wait_until_abandoned(self, seconds: float) -> Result:
        end = time.monotonic() + seconds
        while not self.options["abandoned"]():
            if time.monotonic() > end:
                return {"abandoned": False}
            time.sleep(0.002)
        return {"abandoned": True}

    def do_append(self, path: str, line: str, number: int = 0) -> Result:
        with open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")
        if number:
            os.kill(os.getpid(), number)
        return {}

    def do_look(self) -> Result:
        descriptors, files = [], []
        for number in range(256):
            try:
                mode = os.fstat(number).st_mode
            except OSError:
                continue
            descriptors.append(number)
            if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
                files.append(number)
        return {
            "environment": dict(os.environ),
            "files": files,
            "descriptors": descriptors,
            "channel": CHANNEL,
            "session": OWN_SESSION,
            "folder": os.getcwd(),
            "garbage": [gc.isenabled(), gc.get_freeze_count() > 1_000],
            "flags": [
                sys.flags.isolated,
                sys.flags.no_site,
                sys.flags.dont_write_bytecode,
                sys.flags.utf8_mode,
            ],
        }

    def do_space(self) -> Result:
        folder = os.open(".", os.O_PATH | os.O_DIRECTORY)
        status = os.fstatvfs(folder)
        os.close(folder)
        return {"total": status.f_blocks * status.f_frsize, "free": status.f_bavail * status.f_frsize}

    def do_modules(self) -> Result:
        return {
            name: module.__file__
            for name, module in sys.modules.items()
            if getattr(module, "__file__", None) is not None
        }

    def do_import(self, name: str) -> Result:
        importlib.import_module(name)
        return {}

    # -- mistakes ------------------------------------------------------------------------------

    def do_raise_odd(self, secret: str) -> Result:
        raise Odd(secret)

    def do_raise_broken(self) -> Result:
        raise Broken

    def do_raise_own(self, secret: str) -> Result:
        raise KeyError(secret)

    def do_not_json(self) -> Result:
        return {"set": {1}}

    def do_nan(self) -> Result:
        return {"number": float("nan")}

    def do_half_character(self) -> Result:
        return {"text": "\ud800"}

    def do_complain(self, text: str, times: int = 1) -> Result:
        for _ in range(times):
            os.write(2, text.encode())
        return {}

    def do_deaf(self) -> Result:
        os.close(2)
        return {}

    # -- ends ----------------------------------------------------------------------------------

    def do_crash(self, number: int = signal.SIGSEGV) -> Result:
        if number == signal.SIGSEGV:  # a real one, which no filter forbids and process 1 does not survive
            ctypes.string_at(0)
        os.kill(os.getpid(), number)
        time.sleep(60)
        return {}

    def do_crash_once(self, path: str) -> Result:
        if os.path.exists(path):
            return self.do_count()
        with open(path, "x", encoding="utf-8"):
            return self.do_exit(3)

    def do_exit(self, status: int) -> Result:
        os._exit(status)

    def do_trip(self) -> Result:
        """Call what only a taken-over worker calls; without a filter nothing happens."""
        LIBC.syscall(ctypes.c_long(PTRACE), 0, 0, 0, 0)
        return {}

    def do_spin(self) -> Result:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        while True:
            pass

    def do_spin_later(self) -> Result:
        """Answer, and use the processor afterwards."""

        def spin(*_: object) -> None:
            end = time.monotonic() + 60
            while time.monotonic() < end:
                pass

        signal.signal(signal.SIGALRM, spin)
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        return {}

    def do_bomb(self) -> Result:
        while True:
            self.kept.append(bytearray(16 * MIB))

    def do_small_bomb(self) -> Result:
        resource.setrlimit(resource.RLIMIT_AS, (256 * MIB, 256 * MIB))
        return {"kept": len(bytearray(1024 * MIB))}

    def do_thread(self) -> Result:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        return {}

    def do_fork(self) -> Result:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        return {}

    # -- a hostile end of the channel ----------------------------------------------------------

    def do_raw(self, text: str, times: int = 1, seconds: float = 60, pause: float = 0) -> Result:
        """Write bytes (a character is a byte) to the channel instead of a reply."""
        for _ in range(times):
            data = text.encode("latin-1")
            while data:
                data = data[os.write(CHANNEL, data) :]
            time.sleep(pause)
        time.sleep(seconds)
        return {}

    def do_hang_up(self, seconds: float = 60) -> Result:
        socket.socket(fileno=os.dup(CHANNEL)).shutdown(socket.SHUT_RDWR)
        time.sleep(seconds)
        return {}

    def do_send_descriptors(self, number: int) -> Result:
        """Answer honestly, with descriptors of the workspace attached to every byte."""
        body = b'{"id":%d,"ok":{"sent":true}}' % number
        frame = len(body).to_bytes(4, "big") + body
        folder = os.open(".", os.O_RDONLY)
        with socket.socket(fileno=os.dup(CHANNEL)) as channel:
            for at in range(len(frame)):
                socket.send_fds(channel, [frame[at : at + 1]], [folder] * 8)
        time.sleep(60)
        return {}


def build(options: dict[str, Any]) -> Callable[[str, Result], Result]:
    """Return the handler."""
    if options.get("fail"):
        raise Odd("no")
    return Served(options)


def build_late(options: dict[str, Any]) -> Callable[[str, Result], Result]:
    """Import something after the lock-down."""
    importlib.import_module("xml.dom.minidom")
    return Served(options)
