"""The fixture of all command-line tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A person with an empty vault and nothing configured."""
    made = Shell(tmp_path / "home")
    made.vault.mkdir(parents=True)
    return made
