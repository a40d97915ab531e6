"""Clients that others wrote, as they come from npm."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.extern.packages import Packages, install, is_there, kept, remove
from tests.require import require


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Packages]:
    """What comes from npm, installed once."""
    require("npm", available=is_there())
    folder = kept() or tmp_path_factory.mktemp("packages")
    yield install(folder)
    if kept() is None:
        remove(folder)
