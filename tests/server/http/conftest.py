"""Servers for these tests: one that is shared, with scripted tools, and others that are a test's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.server.http.raw import SECONDS, Raw
from tests.server.wire import ROOT


@dataclass
class Served:
    """A server process, its port, and the folder in which its scripted tools signal."""

    process: subprocess.Popen[bytes]
    port: int
    folder: Path

    def connect(self) -> Raw:
        """Open a connection."""
        return Raw(self.port)

    def await_file(self, name: str) -> None:
        """Wait until the server has made the file *name*."""
        end = time.monotonic() + SECONDS
        while not (self.folder / name).exists():
            assert time.monotonic() < end, name
            time.sleep(0.005)

    def end(self) -> tuple[int, bytes]:
        """Wait for the end; return the exit code and what was logged."""
        assert self.process.stderr is not None
        log = self.process.stderr.read()
        return self.process.wait(SECONDS), log


def serve(folder: Path, *, environ: Mapping[str, str] | None = None, **how: Any) -> Served:
    """Start a server, with an environment that has *environ* besides, and wait until it is ready."""
    folder.mkdir(exist_ok=True)
    environ = {"HOME": str(folder), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **(environ or {})}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.server.http.hosting", json.dumps({"folder": str(folder), **how})],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
        cwd=ROOT,
    )
    assert process.stdout is not None
    served = Served(process, int(process.stdout.readline()), folder)
    end = time.monotonic() + SECONDS
    hosts = how.get("http", {}).get("allowed_hosts")
    named = {"Host": hosts[0]} if hosts else {}
    while True:
        with served.connect() as raw:
            if raw.get("/readyz", **named).status == 200:
                return served
        assert time.monotonic() < end
        time.sleep(0.02)


def stop(served: Served) -> None:
    """End the process at once."""
    served.process.kill()
    served.process.wait(SECONDS)
    for stream in (served.process.stdout, served.process.stderr):
        if stream is not None:
            stream.close()


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server without authentication that is shared."""
    served = serve(tmp_path_factory.mktemp("plain"))
    yield served
    stop(served)


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with authentication that is shared."""
    served = serve(tmp_path_factory.mktemp("guarded"), auth="issued")
    yield served
    stop(served)


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Starts servers of the test's own."""
    with ExitStack() as stack:

        def start(**how: Any) -> Served:
            served = serve(tmp_path, **how)
            stack.callback(stop, served)
            return served

        yield start


@pytest.fixture
def raw(plain: Served) -> Iterator[Raw]:
    """A connection to the shared server without authentication."""
    with plain.connect() as made:
        yield made
