"""Fixtures of the room: a vault with an index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notes.index.shelves import Shelf


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    """Set up an empty vault and an empty folder for its index."""
    with Shelf(tmp_path) as made:
        yield made
