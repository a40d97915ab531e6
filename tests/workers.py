"""Jailed workers that outlive a test: starting one for each would take longer than all the tests.

A worker keeps nothing from one call to the next, so products that want the same one can share it. It holds the
folder that it was started in; so all jailed households live in one folder, which is emptied and never replaced.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fsnotes.notes.opening import PACKAGES, READER, WorkerOptions
from fsnotes.workers import begin_at_best
from sandbox.errors import SandboxError
from sandbox.jail.events import Event
from sandbox.jail.process import import_folders
from sandbox.jail.report import Level, Report
from sandbox.jail.spec import JailSpec
from sandbox.jail.supervisor import Jail
from sandbox.policy import Policy
from tests.require import require

MAX_WORKERS = 8


def folders() -> tuple[str, ...]:
    """Return the folders that a worker of notes imports from."""
    return import_folders(*PACKAGES)


def require_jail() -> None:
    """Skip, or fail if that is required, where the host gives no jail that the product would take."""
    level, why = jail_level()
    require("landlock", available=level.rank >= Level.CONTAINED.rank, why=why)


@functools.cache
def jail_level() -> tuple[Level, str]:
    """Return the level of jail that this host gives, and why it is not a higher one."""
    with tempfile.TemporaryDirectory() as folder:
        spec = JailSpec(
            workspace=os.path.realpath(folder),
            kind="ro",
            handler=READER,
            options=WorkerOptions(Policy()).to_json(),
            import_paths=folders(),
        )
        try:
            begun = begin_at_best(spec, make=Jail)
        except SandboxError as error:
            return Level.NONE, str(error)
        begun.worker.stop()
        return begun.require, str(begun.missing)


class Shared:
    """A product's hold on a worker that others have too: it is not its to stop."""

    def __init__(self, jail: Jail, starting: threading.Lock) -> None:
        self._jail = jail
        self._starting = starting

    @property
    def report(self) -> Report | None:
        return self._jail.report

    @property
    def events(self) -> tuple[Event, ...]:
        return self._jail.events

    @property
    def is_serving(self) -> bool:
        return self._jail.is_serving

    def start(self) -> Report:
        # A product that is gone may still be starting the worker that the next one wants.
        with self._starting:
            report = self._jail.report
            return self._jail.start() if report is None else report

    def call(
        self, op: str, args: dict[str, Any], *, deadline: float, write: bool, abandoned: Callable[[], bool]
    ) -> dict[str, Any]:
        return self._jail.call(op, args, deadline=deadline, write=write, abandoned=abandoned)

    def accuse(self, why: str) -> None:
        self._jail.accuse(why)

    def clear(self) -> None:
        self._jail.clear()

    def quarantine(self) -> None:
        pass

    def stop(self) -> None:
        pass


class SharedWorkers:
    """Makes workers, and gives those that are alike out again."""

    def __init__(self) -> None:
        self._jails: dict[str, Jail] = {}
        self._making = threading.Lock()
        self._starting = threading.Lock()

    def __call__(self, spec: JailSpec, *, require: Level) -> Shared | Jail:
        if spec.kind == "index":
            # It keeps a file, and the next product's would be kept from it.
            return Jail(spec, require=require)
        places = [spec.workspace, spec.identity, spec.index, spec.index_identity]
        key = json.dumps([*places, spec.kind, spec.want, require, dict(spec.options)])
        with self._making:
            if key not in self._jails:
                self._jails[key] = Jail(spec, require=require)
            return Shared(self._jails[key], self._starting)

    def keep(self, fits: Callable[[JailSpec], bool]) -> None:
        """Stop the workers that do not fit or have failed, and the oldest of too many."""
        with self._making, self._starting:
            for number, (key, jail) in enumerate(list(self._jails.items())):
                few = len(self._jails) - number <= MAX_WORKERS
                if not (few and fits(jail.spec) and jail.report is not None):
                    del self._jails[key]
                    jail.stop()


class Home:
    """The folder in which jailed workspaces live, one after the other, each called *name*."""

    def __init__(self, top: Path, name: str) -> None:
        self.top = top
        self.workers = SharedWorkers()
        self._vault = top / name
        self._held = -1

    @property
    def identity(self) -> tuple[int, int]:
        """Device and inode of the workspace's folder."""
        status = os.fstat(self._held)
        return status.st_dev, status.st_ino

    def tidy(self) -> None:
        """Empty everything, and keep the folders in which workers stand."""
        for place in self.top.iterdir():
            if place.name == "state":
                _empty(place / "private")
                for left in (
                    *place.glob("ws/*/index/search*"),
                    *place.glob("ws/*/move*"),
                    *place.glob("part/move*"),
                ):
                    _remove(left)
            elif place != self._vault:
                _remove(place)
        if self._held >= 0 and self._is_held():
            os.fchmod(self._held, 0o755)
            _empty(self._vault)
        else:
            _remove(self._vault)
            self._vault.mkdir()
            if self._held >= 0:
                os.close(self._held)
            # Held, so that no other folder gets its number.
            self._held = os.open(self._vault, os.O_RDONLY | os.O_DIRECTORY)
        identity, state = self.identity, f"{self.top}/state/"
        self.workers.keep(
            lambda spec: spec.identity == identity and (spec.index is None or spec.index.startswith(state))
        )

    def close(self) -> None:
        self.workers.keep(lambda _: False)
        if self._held >= 0:
            os.close(self._held)

    def _is_held(self) -> bool:
        try:
            found = os.lstat(self._vault)
        except FileNotFoundError:
            return False
        return (found.st_dev, found.st_ino) == self.identity


def _empty(folder: Path) -> None:
    if folder.is_dir():
        for place in folder.iterdir():
            _remove(place)


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
