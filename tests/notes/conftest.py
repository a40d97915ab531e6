"""Fixtures of the room: a vault on both resolvers, and commands run in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from fsnotes.notes import finding, scanning
from fsnotes.notes.commands import Command, ReplyT
from fsnotes.notes.handlers import Workspace, handle
from fsnotes.notes.scope import Scope
from sandbox.names import RelPath
from sandbox.policy import Policy
from tests.disk import Tree
from tests.require import has_openat2, require


@pytest.fixture(params=["openat2", "walk"])
def resolver(request: pytest.FixtureRequest) -> Literal["openat2", "walk"]:
    """Each resolver in turn."""
    if request.param == "openat2":
        require("openat2", available=has_openat2())
        return "openat2"
    return "walk"


@pytest.fixture(autouse=True)
def _calls_have_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no slow machine end a call early; the bound in time is tested with a clock of its own."""
    monkeypatch.setattr(finding, "CALL_SECONDS", 60.0)
    monkeypatch.setattr(scanning, "CALL_SECONDS", 60.0)


class Vault:
    """A workspace in a temporary tree: `root/` is its folder, everything beside it is outside."""

    def __init__(self, disk: Tree) -> None:
        self.disk = disk
        self.workspace = Workspace(disk.open_root("root", Policy()))

    def build(self, *lines: str) -> None:
        """Make what the lines say inside the workspace; `disk.build` makes things outside."""
        self.disk.build(*(f"root/{line}" for line in lines))

    def write(self, path: str, data: bytes) -> None:
        """Write a note's bytes, as another program does."""
        self.disk.build(f"root/{path}: ")
        self.disk.write(f"root/{path}", data)

    def reopen(self, policy: Policy) -> None:
        """Open the workspace again under another policy."""
        self.workspace.root.close()
        self.workspace = Workspace(self.disk.open_root("root", policy))

    def run(
        self, command: Command[ReplyT], *, folders: tuple[str, ...] = ("",), ignore: tuple[str, ...] = ()
    ) -> ReplyT:
        """Run *command* within a grant of *folders*."""
        scope = Scope(tuple(RelPath.parse_folder(folder) for folder in folders), ignore)
        return handle(self.workspace, scope, command)

    def snapshot(self) -> dict[str, object]:
        """Return everything in the workspace."""
        return self.disk.snapshot("root")


@pytest.fixture
def vault(tmp_path: Path, resolver: Literal["openat2", "walk"]) -> Iterator[Vault]:
    """An empty workspace, on each resolver in turn."""
    made = Vault(Tree(tmp_path, resolver))
    yield made
    made.workspace.root.close()


@pytest.fixture
def openat2_vault(tmp_path: Path) -> Iterator[Vault]:
    """A workspace for what only openat2 can do."""
    require("openat2", available=has_openat2())
    made = Vault(Tree(tmp_path, "openat2"))
    yield made
    made.workspace.root.close()
