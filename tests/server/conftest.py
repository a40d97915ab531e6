"""Folders of notes, and real servers on them that never outlive their tests.

Starting a server takes longer than most tests, so one that serves many folders is shared: each test gets a
folder that no other has seen. Tests that end a server, or need several, start their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.server.wire import Wire

FOLDERS = 300


@dataclass
class Vault:
    """A workspace on disk, a server on it that is shared, and others that are the test's own."""

    folder: Path
    state: Path
    shared: Wire | None = None
    own: list[Wire] = field(default_factory=list)

    @property
    def uri(self) -> str:
        return self.folder.as_uri()

    @property
    def wire(self) -> Wire:
        assert self.shared is not None
        return self.shared

    def write(self, path: str, text: str) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        return file

    def files(self) -> dict[str, str]:
        """Every file beneath the folder, with its text."""
        return {
            str(file.relative_to(self.folder)): file.read_bytes().decode()
            for file in sorted(self.folder.rglob("*"))
            if file.is_file()
        }

    def serve(self, *options: str) -> Wire:
        """Start a server of the test's own on this folder alone."""
        wire = Wire.serve(self.folder, state=self.state, options=options)
        self.own.append(wire)
        wire.read()
        return wire

    def args(self, **arguments: Any) -> dict[str, Any]:
        return {"workspaceUri": self.uri, **arguments}


@pytest.fixture(scope="session")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Vault]]:
    home = tmp_path_factory.mktemp("pool")
    folders = [home / str(number) / "Notes" for number in range(FOLDERS)]
    for folder in folders:
        folder.mkdir(parents=True)
    # Without a jail: it would have a worker for each of the folders. Servers of a test's own are jailed.
    with Wire.serve(*folders, state=home / "state", options=("--jail", "off")) as wire:
        yield [Vault(folder, home / "state", wire) for folder in folders]


@pytest.fixture
def shared_vault(pool: list[Vault]) -> Iterator[Vault]:
    """A folder of the shared server's. What a test leaves in flight fails it."""
    vault = pool.pop()
    yield vault
    vault.wire.assert_silent()


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    """A folder of the test's own, which nobody serves yet."""
    folder = tmp_path / "Notes"
    folder.mkdir()
    made = Vault(folder, tmp_path / "state")
    yield made
    for wire in made.own:
        wire.__exit__(None, None, None)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    """A folder with a server on it alone, for all tests of a module that leave it as it was."""
    home = tmp_path_factory.mktemp("running")
    folder = home / "Notes"
    folder.mkdir()
    with Wire.serve(folder, state=home / "state", options=("--jail", "off")) as wire:
        yield Vault(folder, home / "state", wire)
