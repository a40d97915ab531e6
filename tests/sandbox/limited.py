"""Cases of the watcher under limits of the kernel; each runs in a process of its own (`test_watcher.py`).

Those of inotify are lowered in a user namespace, where they count for nobody else.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable

import pytest

import sandbox.watcher  # noqa: F401 - before a limit keeps it from being loaded
from sandbox.errors import WatchUnavailable
from sandbox.marks import MAX_STANDING, Reason, Unwatched
from sandbox.names import ROOT, RelPath
from tests.disk import Tree

WAIT = 30.0
P = RelPath.parse


def limit(what: str, number: int) -> None:
    """Lower or raise a limit for this user namespace."""
    with open(f"/proc/sys/user/max_inotify_{what}", "w") as file:
        file.write(str(number))


def watches(disk: Tree) -> None:
    """Three of five folders are watched; the others are named, with what keeps them from it."""
    disk.build("root/a/x.md: x", "root/b/x.md: x", "root/c/x.md: x", "root/d/x.md: x")
    limit("watches", 3)
    with disk.open_root() as root, root.watch() as watcher:
        assert watcher.settle(WAIT)
        dirty = watcher.take()
        assert dirty.everything
        assert [each.reason for each in dirty.unwatched] == [Reason.LIMIT, Reason.LIMIT]
        blind = {str(each.path) for each in dirty.unwatched}
        seen = {"a", "b", "c", "d"} - blind
        assert len(seen) == 2
        assert watcher.status().folders == 3
        for name in "abcd":
            disk.write(f"root/{name}/x.md", b"y")
        assert watcher.settle(WAIT)
        dirty = watcher.take()
        assert dirty.everything is False
        assert dirty.files == {P(f"{name}/x.md") for name in seen}
        assert all(dirty.covers(P(f"{name}/x.md")) for name in blind)
        # A folder that appears is not watched either, and one that goes makes room when it is tried again.
        disk.build("root/e/x.md: x")
        assert watcher.settle(WAIT)
        assert {str(each.path) for each in watcher.take().unwatched} == {*blind, "e"}
        limit("watches", 100)
        watcher.retry()
        assert watcher.settle(WAIT)
        dirty = watcher.take()
        assert (dirty.everything, dirty.unwatched) == (False, ())
        assert all(dirty.covers(P(f"{name}/x.md")) for name in (*blind, "e"))
        disk.write("root/e/x.md", b"y")
        assert watcher.settle(WAIT)
        assert watcher.take().files == {P("e/x.md")}


def no_watches(disk: Tree) -> None:
    """Not even the root can be watched."""
    limit("watches", 0)
    refused(disk, "the limit of inotify watches is reached")


def instances(disk: Tree) -> None:
    """No queue of events can be had."""
    limit("instances", 0)
    refused(disk, "the limit of inotify instances, or of open files, is reached")


def too_many(disk: Tree) -> None:
    """More folders than are named cannot be watched: then it is all of the root."""
    disk.build(*(f"root/{number}/" for number in range(MAX_STANDING + 2)))
    limit("watches", 2)
    with disk.open_root() as root, root.watch() as watcher:
        for _ in range(2):
            assert watcher.settle(WAIT)
            dirty = watcher.take()
            assert (dirty.everything, dirty.unwatched) == (True, (Unwatched(ROOT, Reason.TOO_MANY),))
        os.rmdir(disk.path("root/1"))
        os.rmdir(disk.path("root/2"))
        assert watcher.settle(WAIT)
        watcher.take()
        assert len(watcher.take().unwatched) in (MAX_STANDING - 1, MAX_STANDING)


def descriptors(disk: Tree) -> None:
    """With too few open files there is no watcher; with just enough for itself it can look into no folder."""
    disk.build("root/a/x.md: x")
    with disk.open_root() as root:
        held = os.listdir("/proc/self/fd")
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        refusals = 0
        for most in range(max(map(int, held)), max(map(int, held)) + 10):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, before[1]))
            try:
                watcher = root.watch()
            except WatchUnavailable:
                refusals += 1
            else:
                break
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, before)
            assert os.listdir("/proc/self/fd") == held
        assert (
            refusals == 4
        )  # a descriptor for the root, the queue, the folder while it is watched, and two to wake
        with watcher:
            assert watcher.settle(WAIT)


def crowded(disk: Tree) -> None:
    """When there is no open file to look into a folder with, it is named until it is tried again."""
    disk.build("root/")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with disk.open_root() as root, root.watch() as watcher:
        assert watcher.settle(WAIT)
        watcher.take()
        disk.build("aside/a/x.md: x")
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
        os.rename(disk.path("aside/a"), disk.path("root/a"))
        assert watcher.settle(WAIT)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        dirty = watcher.take()
        assert (dirty.everything, dirty.unwatched) == (False, (Unwatched(P("a"), Reason.LIMIT),))
        watcher.retry()
        assert watcher.settle(WAIT)
        dirty = watcher.take()
        assert (dirty.unwatched, dirty.covers(P("a/x.md"))) == ((), True)


def refused(disk: Tree, reason: str) -> None:
    """Nothing can be watched, for that reason, and no descriptor is left."""
    with disk.open_root() as root:
        before = os.listdir("/proc/self/fd")
        with pytest.raises(WatchUnavailable) as caught:
            root.watch()
        assert caught.value.reason == reason
        assert os.listdir("/proc/self/fd") == before


CASES: dict[str, Callable[[Tree], None]] = {
    case.__name__: case for case in (watches, no_watches, instances, too_many, descriptors, crowded)
}

if __name__ == "__main__":
    _, name, base = sys.argv
    CASES[name](Tree(base))
