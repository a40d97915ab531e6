"""Servers as a person starts them, several processes each, and what these tests ask of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.server.http.raw import Answer, Raw
from tests.server.wire import ROOT, accept

SECONDS = 40.0
_PORT = re.compile(rb"serving on http://\S+:(\d+)/")


def environ(home: Path) -> dict[str, str]:
    """The environment of everything that is started here."""
    return {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}


def command(home: Path, *words: str) -> str:
    """Run a command to its end, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "fsnotes", *words],
        env=environ(home),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    return done.stdout


def until(seen: Callable[[], bool], seconds: float = SECONDS) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < end
        time.sleep(0.02)


@dataclass
class Instance:
    """A server, with all its processes."""

    process: subprocess.Popen[bytes]
    port: int = 0
    log: list[bytes] = field(default_factory=list)

    def read(self) -> None:
        """Take in what is logged."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)

    def served(self) -> int:
        """How often a process has begun to serve."""
        return sum(_PORT.search(line) is not None for line in self.log)

    @property
    def children(self) -> list[psutil.Process]:
        """The processes that serve, or are about to."""
        return psutil.Process(self.process.pid).children()

    def tree(self) -> list[psutil.Process]:
        """All processes."""
        return [psutil.Process(self.process.pid), *psutil.Process(self.process.pid).children(recursive=True)]

    def connect(self) -> Raw:
        """Open a connection."""
        return Raw(self.port)

    def call(self, tool: str, arguments: Any = None, **how: Any) -> Answer:
        """Call a tool over a connection of its own."""
        with self.connect() as raw:
            return raw.call(tool, arguments, **how)

    @contextmanager
    def only(self, child: psutil.Process) -> Iterator[None]:
        """Have the other processes rest, so that whoever connects finds *child*."""
        others = [each for each in self.children if each.pid != child.pid]
        for each in others:
            each.suspend()
        try:
            yield
        finally:
            for each in others:
                each.resume()


@contextmanager
def instance(home: Path, *words: str, workers: int = 2, serving: int | None = None) -> Iterator[Instance]:
    """Run `fsnotes serve` over HTTP, from when all its processes serve, or *serving* of them; nothing outlives this."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "fsnotes", "serve", "--transport", "http", "--port", "0"),
            *("--log-level", "info", "--workers", str(workers), *words),
        ],
        env=environ(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    made = Instance(process)
    reader = threading.Thread(target=made.read, daemon=True)
    reader.start()
    try:
        until(
            lambda: made.served() >= (workers if serving is None else serving) or process.poll() is not None
        )
        assert process.poll() is None, made.log
        found = next(match for line in made.log if (match := _PORT.search(line)))
        made.port = int(found[1])
        yield made
    finally:
        leftover = made.tree() if process.poll() is None else []
        process.kill()
        process.wait(SECONDS)
        for each in leftover:
            until(lambda each=each: not each.is_running() or each.status() == psutil.STATUS_ZOMBIE)  # type: ignore[misc]
        reader.join(SECONDS)
        assert process.stderr is not None
        process.stderr.close()


def text(answer: Answer) -> str:
    """The text of a tool's result."""
    return str(answer.message["result"]["content"][0]["text"])


def asked(answer: Answer) -> str:
    """The state of a form."""
    result = answer.message["result"]
    assert result["resultType"] == "input_required", result
    return str(result["requestState"])


def confirmed(path: str, state: str) -> dict[str, Any]:
    """What round 2 of a deletion carries beside its arguments."""
    return {"inputResponses": accept(path), "requestState": state}


def together(works: Sequence[Callable[[], Any]], seconds: float = 120) -> list[Any]:
    """Do all at once; return what each returns. What one raises is raised."""
    barrier = threading.Barrier(len(works))
    results: list[Any] = [None] * len(works)
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            barrier.wait(seconds)
            results[number] = works[number]()
        except BaseException as error:  # noqa: BLE001 - raised by who waits
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds)
        assert not thread.is_alive()
    if errors:
        raise errors[0]
    return results
