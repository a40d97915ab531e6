"""Whatever another process does to a tree, what is looked at again is enough to know all of it.

A mirror of the tree is read once and from then on only where the watcher says so, also in the midst of the changes. In
the end it equals what the system finds. It shares no code with the watcher.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.marks import Dirty
from sandbox.names import RelPath
from sandbox.watcher import Watcher
from tests.disk import Tree
from tests.mounts import REPOSITORY
from tests.sandbox import stirrer

WAIT = 30.0


class Stirrer:
    """The other process."""

    def __init__(self, base: str) -> None:
        self.base = base
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.sandbox.stirrer", base],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def tell(self, **told: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(told).encode() + b"\n")
        self._process.stdin.flush()

    def done(self, *, wait: float) -> int | None:
        """Return how many steps were done, or None when it has not ended."""
        output = self._process.stdout
        assert output is not None
        if not select.select([output], [], [], wait)[0]:
            return None
        return int(output.readline())

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def stirring() -> Iterator[Stirrer]:
    with tempfile.TemporaryDirectory(prefix="fsnotes-stir-") as base:
        process = Stirrer(base)
        yield process
        process.close()


class Mirror:
    """What is known of a tree by looking at what is dirty."""

    def __init__(self, base: str) -> None:
        self._base = base
        self.files: dict[str, bytes] = {}
        self.taken = 0

    def update(self, dirty: Dirty) -> None:
        """Look at what is dirty, and nowhere else."""
        self.taken += 1
        if dirty.everything:
            self.files = read(self._base, "")
            return
        for folder in (*dirty.folders, *(each.path for each in dirty.unwatched)):
            for path in [each for each in self.files if RelPath.parse(each).starts_with(folder)]:
                del self.files[path]
            self.files |= read(self._base, str(folder))
        for file in dirty.files:
            self.files.pop(str(file), None)
            self.files |= read(self._base, str(file))


def read(base: str, where: str) -> dict[str, bytes]:
    """Return all files at *where* and beneath whose names count, read through no link."""
    found: dict[str, bytes] = {}
    top = os.path.join(base, where) if where else base
    parts = where.split("/")
    # A link on the way makes it another place.
    if any(os.path.islink(os.path.join(base, *parts[:depth])) for depth in range(1, len(parts) + 1)):
        return found
    if os.path.isfile(top):
        _read_file(top, where, found)
    for folder, folders, names in os.walk(top):
        folders[:] = [each for each in folders if counts(each)]
        for name in filter(counts, names):
            path = os.path.join(folder, name)
            _read_file(path, os.path.relpath(path, base), found)
    return found


def counts(name: str) -> bool:
    return name[0] != "." and "\udcff" not in name


def _read_file(path: str, relative: str, found: dict[str, bytes]) -> None:
    if os.path.islink(path):
        return
    try:
        with open(path, "rb") as file:
            found[relative] = file.read()
    except OSError:
        pass  # gone, or a folder by now: that is another change


def follow(stirring: Stirrer, watcher: Watcher, mirror: Mirror) -> int:
    """Follow the changes while they happen, and to their end."""
    while (done := stirring.done(wait=0)) is None:
        mirror.update(watcher.take())
    assert watcher.settle(WAIT)
    mirror.update(watcher.take())
    return done


def made(stirring: Stirrer, resolver: Literal["openat2", "walk"], name: str) -> Tree:
    tree = Tree(os.path.join(stirring.base, name), resolver)
    tree.build("root/a/b/c/", "root/b/x.md: x", "root/a/y.md: y", "root/.h/x.md: h", "out/a/c/x.md: out")
    return tree


_STEP = st.tuples(
    st.sampled_from(list(stirrer.STEPS)), st.sampled_from(stirrer.PLACES), st.sampled_from(stirrer.PLACES)
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(rounds=st.lists(st.lists(_STEP, max_size=12), min_size=1, max_size=4))
def test_looking_where_it_says_is_enough(
    stirring: Stirrer, resolver: Literal["openat2", "walk"], rounds: list[list[tuple[str, str, str]]]
) -> None:
    with tempfile.TemporaryDirectory(dir=stirring.base) as where:
        disk = made(stirring, resolver, where)
        with disk.open_root() as root, root.watch() as watcher:
            mirror = Mirror(disk.path("root"))
            for steps in rounds:
                stirring.tell(**{"in": where, "steps": steps})
                follow(stirring, watcher, mirror)
                assert mirror.files == read(disk.path("root"), "")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(6))
def test_looking_where_it_says_is_enough_in_a_storm(
    stirring: Stirrer, resolver: Literal["openat2", "walk"], seed: int
) -> None:
    disk = made(stirring, resolver, f"{resolver}-{seed}")
    with disk.open_root() as root, root.watch() as watcher:
        mirror = Mirror(disk.path("root"))
        assert watcher.settle(WAIT)
        for turn in range(10):
            stirring.tell(**{"in": f"{resolver}-{seed}", "seed": seed * 1000 + turn, "count": 500})
            assert follow(stirring, watcher, mirror) > 0
            assert mirror.files == read(disk.path("root"), "")
            assert_watches_exactly_what_is_there(disk, watcher)
        assert mirror.taken > 10


def assert_watches_exactly_what_is_there(disk: Tree, watcher: Watcher) -> None:
    folders = 0
    for folder, names, _ in os.walk(disk.path("root")):
        names[:] = [each for each in names if counts(each) and not os.path.islink(os.path.join(folder, each))]
        folders += 1
    assert watcher.status().unwatched == ()
    assert watcher.status().folders == folders


def test_the_mirror_sees_what_is_not_marked(tmp_path: os.PathLike[str]) -> None:
    """A control: a change that nobody marks makes the mirror differ."""
    disk = Tree(tmp_path)
    disk.build("root/a.md: a")
    with disk.open_root() as root, root.watch() as watcher:
        mirror = Mirror(disk.path("root"))
        assert watcher.settle(WAIT)
        mirror.update(watcher.take())
        disk.write("root/a.md", b"b")
        assert watcher.settle(WAIT)
        assert watcher.take().files == {RelPath.parse("a.md")}  # thrown away
        mirror.update(watcher.take())
        assert mirror.files == {"a.md": b"a"} != read(disk.path("root"), "")
