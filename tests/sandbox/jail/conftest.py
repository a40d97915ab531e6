"""Jails for tests: started on a folder of the test, in each layout, and stopped whatever happens."""

from __future__ import annotations

import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

import psutil
import pytest

from sandbox.jail.process import import_folders
from sandbox.jail.report import Level, Report, WorkerKind
from sandbox.jail.spec import JailSpec, Limits
from sandbox.jail.supervisor import Jail
from tests.mounts import REPOSITORY
from tests.require import require

Layout = Literal["unlocked", "contained", "full"]

UNLOCKED = "tests.sandbox.jail.unlocked"


class Yard:
    """Makes jails; `started` ones begin at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.jails: list[Jail] = []

    def spec(
        self,
        layout: Layout = "unlocked",
        *,
        handler: str = "build",
        kind: WorkerKind = "rw",
        limits: Limits | None = None,
        **options: Any,
    ) -> JailSpec:
        """Return a spec for a worker on the test's folder."""
        return JailSpec(
            workspace=str(self.folder),
            kind=kind,
            handler=f"tests.sandbox.jail.handlers:{handler}",
            want=Level.FULL if layout == "full" else Level.CONTAINED,
            limits=limits or Limits(),
            options=options,
            import_paths=(REPOSITORY, *import_folders("sandbox", "pathvalidate")),
        )

    def make(
        self, spec: JailSpec, *, entry: str = UNLOCKED, require: Level = Level.NONE, **more: Any
    ) -> Jail:
        """Return a jail that is not started."""
        jail = Jail(spec, require=require, entry=entry, **more)
        self.jails.append(jail)
        return jail

    def started(
        self, layout: Layout = "unlocked", *, spec: JailSpec | None = None, entry: str = UNLOCKED, **more: Any
    ) -> Jail:
        """Return a jail that serves, at the level of *layout*."""
        required = Level.NONE
        if layout != "unlocked":
            entry, required = "sandbox.jail.entry", Level(layout)
        jail = self.make(spec or self.spec(layout), entry=entry, require=required, **more)
        jail.start()
        return jail


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    """Jails on a folder; those that are left are stopped."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    made = Yard(folder)
    yield made
    for jail in made.jails:
        jail.stop()


class Lasting:
    """Jails that many tests share: what a test breaks is replaced at once, and nothing is ever quarantined."""

    def __init__(self, yard: Yard) -> None:
        self._yard = yard
        self._jails: dict[Layout, Jail] = {}

    def __call__(self, layout: Layout = "unlocked") -> Jail:
        """Return the jail of *layout*."""
        if layout not in self._jails:
            clock = itertools.count(0, 100_000).__next__
            limits = Limits(memory=192 << 20)
            self._jails[layout] = self._yard.started(
                layout,
                spec=self._yard.spec(layout, limits=limits),
                clock=clock,
                sleep=lambda event, _: event.is_set(),
            )
        return self._jails[layout]


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lasting]:
    """Jails for all tests of a module, which together leave no descriptor."""
    before = len(os.listdir("/proc/self/fd"))
    yard = Yard(tmp_path_factory.mktemp("lasting"))
    yield Lasting(yard)
    for jail in yard.jails:
        jail.stop()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.fixture(params=["unlocked", "contained", "full"])
def layout(request: pytest.FixtureRequest) -> Layout:
    """One process without a lock-down, one with it, and two, of which the inner one serves."""
    wanted: Layout = request.param
    if wanted != "unlocked":
        need(wanted)
    return wanted


@pytest.fixture(params=["contained", "full"])
def locked(request: pytest.FixtureRequest) -> Layout:
    """The layouts in which something is enforced."""
    wanted: Layout = request.param
    need(wanted)
    return wanted


@pytest.fixture
def full() -> Layout:
    """The layout of two processes."""
    need("full")
    return "full"


@pytest.fixture
def jail(yard: Yard) -> Jail:
    """A jail that serves, with nothing enforced."""
    return yard.started()


def need(layout: Layout) -> None:
    """Skip, or fail where it is required, unless this host gives the level."""
    report = _probe()
    require("landlock", available=report.has("landlock"))
    require("seccomp", available=report.has("seccomp"))
    if layout == "full":
        require("userns", available=report.has("namespaces"))


@cache
def _probe() -> Report:
    with tempfile.TemporaryDirectory() as folder:
        jail = Jail(Yard(Path(folder)).spec("full"), require=Level.NONE)
        try:
            return jail.start()
        finally:
            jail.stop()


def soon(seconds: float = 20.0) -> float:
    """Return a deadline that is far enough for a busy machine."""
    return time.monotonic() + seconds


def until(condition: Callable[[], bool], *, seconds: float = 10.0) -> None:
    """Wait until *condition* holds; fail when it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.002)


def is_gone(pid: int) -> bool:
    """Whether there is no process of that number, nor a zombie that we should have reaped."""
    try:
        process = psutil.Process(pid)
        return process.status() == psutil.STATUS_ZOMBIE and process.ppid() != os.getpid()
    except psutil.NoSuchProcess:
        return True


def pids(jail: Jail) -> list[int]:
    """Return the processes of the worker: the one that was started, and the one that serves."""
    worker = jail._keeper._worker
    assert worker is not None
    return sorted({worker.process.pid, worker.process.serving.pid})


SLOW = frozenset({"test_beginnings", "test_degraded", "test_escapes", "test_failures"})
"""Modules whose tests start a process each, hundreds in all: they run with the slow ones."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent and item.path.stem in SLOW:
            item.add_marker(pytest.mark.slow)
