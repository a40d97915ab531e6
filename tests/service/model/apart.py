"""Servers of the model that are processes of their own, over HTTP on loopback, and how they and their workers end."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psutil

from tests.server.http.raw import Raw, posted
from tests.server.wire import ROOT as REPOSITORY
from tests.server.wire import call
from tests.service.model.servers import SECONDS, Answer, Ask, Kind, is_worker
from tests.service.model.world import World


class GoneError(Exception):
    """The server has ended without an answer."""


@dataclass
class Apart:
    """A server process, over HTTP on loopback."""

    world: World
    kind: Kind
    process: subprocess.Popen[bytes] = field(init=False)
    port: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the server is
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.service.model.host", str(self.world.top), self.kind],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={"HOME": str(self.world.top), "PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY)},
            cwd=REPOSITORY,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log()
        self.port = int(line)

    def call(self, ask: Ask) -> Answer:
        """Ask over a connection of its own."""
        with self.asking(ask) as answer:
            return answer()

    @contextmanager
    def asking(self, ask: Ask) -> Iterator[Callable[[], Answer]]:
        """Send a call, and hand over what waits for its answer."""
        more: dict[str, Any] = {}
        if ask.state is not None:
            more["requestState"] = ask.state
        if ask.answers is not None:
            more["inputResponses"] = ask.answers
        try:
            raw = Raw(self.port)
        except OSError as error:
            raise GoneError from error
        with raw:
            raw.socket.settimeout(SECONDS)
            raw.send(
                posted(
                    call(1, ask.tool, dict(ask.arguments), **more),
                    port=self.port,
                    bearer=f"{ask.principal}-token",
                )
            )
            yield lambda: self._answer(raw)

    @staticmethod
    def _answer(raw: Raw) -> Answer:
        try:
            answer = raw.read()
        except (EOFError, OSError, ValueError) as error:
            raise GoneError from error
        said = answer.body.decode()
        message = json.loads(said)
        result = message.get("result")
        if result is not None:
            result.pop("_meta", None)
        shown = json.dumps(message, ensure_ascii=False)
        return Answer(shown, result, message.get("error", {}).get("code"))

    def workers(self) -> list[psutil.Process]:
        """Return the workers of this server."""
        return [each for each in psutil.Process(self.process.pid).children(recursive=True) if is_worker(each)]

    def descriptors(self) -> int:
        """Return how many descriptors the server has, its workers left out."""
        return psutil.Process(self.process.pid).num_fds()

    def kill(self) -> None:
        """Kill the server, and wait until its workers are gone with it."""
        process = psutil.Process(self.process.pid)
        tree = [process, *process.children(recursive=True)]
        self.process.kill()
        self.process.wait(SECONDS)
        _, alive = psutil.wait_procs(tree[1:], SECONDS)
        assert alive == [], "a worker outlives its server"
        self._close()

    def stop(self) -> None:
        """End it with SIGTERM; nothing of it may stay."""
        process = psutil.Process(self.process.pid)
        children = process.children(recursive=True)
        self.process.terminate()
        assert self.process.wait(SECONDS) == 0, self.log()
        _, alive = psutil.wait_procs(children, SECONDS)
        assert alive == [], "a worker outlives its server"
        assert b"Traceback" not in self.log(), self.log()
        self._close()

    def log(self) -> bytes:
        """Return what it wrote to stderr."""
        self._errors.seek(0)
        return self._errors.read()

    def _close(self) -> None:
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._errors.close()


def later(seconds: float, work: Callable[[], object]) -> threading.Thread:
    """Do *work* after *seconds*, in a thread."""

    def run() -> None:
        time.sleep(seconds)
        work()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def kill_workers(workers: list[psutil.Process]) -> None:
    """Kill them, and wait until nothing of them runs any more, without taking what their keeper waits for."""
    tree = list(workers)
    for each in workers:
        with contextlib.suppress(psutil.NoSuchProcess):
            tree += each.children(recursive=True)
    for each in workers:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()
    end = time.monotonic() + SECONDS
    while any(_runs(each) for each in tree):
        assert time.monotonic() < end, "a worker outlives its end"
        time.sleep(0.002)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
