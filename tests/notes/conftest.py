"""Fixtures of the room: a vault on both resolvers and in a jail, and commands run in it.

In a jail each command goes to a locked worker of its kind and its answer through all checks: so a late import, a call
that the filter forbids and an honest reply that is not accepted are found by every test there is. That is done at each
level, since a worker has other calls without namespaces; not with the tests that replace parts of the product, which
would replace them on the wrong side.
"""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fsnotes import jailed
from fsnotes.notes import finding, link_walk, scanning, stretches, surveying
from fsnotes.notes.commands import Command, ReplyT
from fsnotes.notes.counting import until_counted
from fsnotes.notes.handlers import handle
from fsnotes.notes.messages import encode_command
from fsnotes.notes.opening import RUN, WorkerOptions
from fsnotes.notes.scope import Scope
from fsnotes.notes.workspace import Workspace
from sandbox.jail.report import Level
from sandbox.jail.spec import JailSpec
from sandbox.names import RelPath
from sandbox.policy import Links, Policy, Quota
from tests.disk import Tree
from tests.require import has_openat2, require
from tests.workers import Home, folders, jail_level, require_jail

SOURCES = Path(__file__).resolve().parents[2]
JAILED = ["jailed", "jailed-contained"]
"""At the highest level that the host gives, and without namespaces."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test that takes a vault on each of them."""
    if "vault" in metafunc.fixturenames:
        replaces = "monkeypatch" in inspect.signature(metafunc.function).parameters
        kinds = ["openat2", "walk", *([] if replaces else JAILED)]
        metafunc.parametrize("vault", kinds, indirect=True)


@pytest.fixture(autouse=True)
def _calls_have_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no slow machine end a call early; the bound in time is tested with a clock of its own."""
    monkeypatch.setattr(finding, "CALL_SECONDS", 60.0)
    monkeypatch.setattr(scanning, "CALL_SECONDS", 60.0)
    monkeypatch.setattr(stretches, "CALL_SECONDS", 60.0)
    monkeypatch.setattr(surveying, "CALL_SECONDS", 60.0)
    monkeypatch.setattr(link_walk, "CALL_SECONDS", 60.0)


class Vault:
    """A workspace in a temporary tree: `root/` is its folder, everything beside it is outside."""

    def __init__(self, disk: Tree, home: Home | None = None, want: Level = Level.FULL) -> None:
        self.disk = disk
        self._want = want
        disk.build("state/part/")
        self.part = disk.path("state/part")
        """The folder that the state has for this workspace."""
        self.workspace = Workspace(disk.open_root("root", Policy()), part=self.part)
        self.is_jailed = home is not None
        """Whether its commands run in a jail."""
        self.is_contained = home is not None and (
            want is Level.CONTAINED or jail_level()[0] is Level.CONTAINED
        )
        """Whether its commands run in a jail without namespaces."""
        self._home = home
        self._quota = Quota()

    def build(self, *lines: str) -> None:
        """Make what the lines say inside the workspace; `disk.build` makes things outside."""
        self.disk.build(*(f"root/{line}" for line in lines))

    def write(self, path: str, data: bytes) -> None:
        """Write a note's bytes, as another program does."""
        self.disk.build(f"root/{path}: ")
        self.disk.write(f"root/{path}", data)

    def reopen(self, policy: Policy = Policy(), *, quota: Quota = Quota()) -> None:  # noqa: B008 - frozen
        """Open the workspace again under another policy or quota."""
        self.workspace.close()
        self.workspace = Workspace(self.disk.open_root("root", policy), quota, part=self.part)
        self._quota = quota

    def run(
        self, command: Command[ReplyT], *, folders: tuple[str, ...] = ("",), ignore: tuple[str, ...] = ()
    ) -> ReplyT:
        """Run *command* within a grant of *folders*."""
        scope = Scope(tuple(RelPath.parse_folder(folder) for folder in folders), ignore)
        return until_counted(lambda: self.once(scope, command), abandoned=lambda: False)

    def once(self, scope: Scope, command: Command[ReplyT]) -> ReplyT:
        """Run *command* in one call."""
        if self._home is None:
            return handle(self.workspace, scope, command)
        return jailed._read(scope, command, self._ask(self._home, scope, command))

    def _ask(self, home: Home, scope: Scope, command: Command[Any]) -> dict[str, Any]:
        policy = self.workspace.root.policy
        spec = JailSpec(
            workspace=self.disk.path("root"),
            kind="rw" if command.changes else "ro",
            handler="tests.notes.patient:build",
            want=self._want,
            options=WorkerOptions(policy, quota=self._quota).to_json(),
            import_paths=(*folders(), str(SOURCES)),
            index=self.part,
            identity=home.identity,
            follows_links=policy.links is Links.WITHIN,
        )
        worker = home.workers(spec, require=Level.CONTAINED)
        worker.start()
        message, deadline = encode_command(scope, command), time.monotonic() + 60
        return worker.call(RUN, message, deadline=deadline, write=command.changes, abandoned=lambda: False)

    def snapshot(self) -> dict[str, object]:
        """Return everything in the workspace."""
        return self.disk.snapshot("root")


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """The place of all vaults in a jail."""
    made = Home(Path(os.path.realpath(tmp_path_factory.mktemp("jailed"))), "root")
    yield made
    made.close()


@pytest.fixture
def vault(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Vault]:
    """Set up an empty workspace."""
    match request.param:
        case "jailed" | "jailed-contained":
            require_jail()
            home: Home = request.getfixturevalue("home")
            home.tidy()
            want = Level.FULL if request.param == "jailed" else Level.CONTAINED
            made = Vault(Tree(home.top, "openat2"), home, want)
        case "openat2":
            require("openat2", available=has_openat2())
            made = Vault(Tree(tmp_path, "openat2"))
        case _:
            made = Vault(Tree(tmp_path, "walk"))
    yield made
    made.workspace.close()


@pytest.fixture
def openat2_vault(tmp_path: Path) -> Iterator[Vault]:
    """A workspace for what only openat2 can do."""
    require("openat2", available=has_openat2())
    made = Vault(Tree(tmp_path, "openat2"))
    yield made
    made.workspace.close()
