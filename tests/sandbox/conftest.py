"""Fixtures of the room: a tree on both resolvers, and a watch over descriptors."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from tests.disk import Tree
from tests.require import has_openat2, require


@pytest.fixture(params=["openat2", "walk"])
def resolver(request: pytest.FixtureRequest) -> Literal["openat2", "walk"]:
    """Each resolver in turn."""
    if request.param == "openat2":
        require("openat2", available=has_openat2())
        return "openat2"
    return "walk"


@pytest.fixture
def disk(tmp_path: Path, resolver: Literal["openat2", "walk"]) -> Tree:
    """A tree whose roots use each resolver in turn."""
    return Tree(tmp_path, resolver)


@pytest.fixture
def openat2_disk(tmp_path: Path) -> Tree:
    """A tree for what only openat2 can do."""
    require("openat2", available=has_openat2())
    return Tree(tmp_path, "openat2")


def _open_descriptors() -> dict[int, str]:
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue  # the one of this very listing
    return found


@pytest.fixture(autouse=True)
def _no_descriptor_leaks() -> Iterator[None]:
    """Fail a test that leaves a descriptor open."""
    before = _open_descriptors()
    yield
    # What watches a worker that is shared by tests opens and closes files in a thread of its own.
    deadline = time.monotonic() + 2
    while leaked := {
        number: what for number, what in _open_descriptors().items() if before.get(number) != what
    }:
        assert time.monotonic() < deadline, leaked
        time.sleep(0.01)
