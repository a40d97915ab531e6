"""What the watcher tells of each thing that can happen to a folder, and of what it cannot see.

Nothing here sleeps: `settle` waits until all that was done before it is marked.
"""

from __future__ import annotations

import errno
import itertools
import mmap
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sandbox import _linux, inotify
from sandbox.errors import RootUnusable, WatchUnavailable
from sandbox.marks import MAX_PATHS, Dirty, Marks, Reason, Unwatched
from sandbox.names import MAX_DEPTH, ROOT, RelPath
from sandbox.policy import Links, Policy
from sandbox.root import Root, always
from sandbox.watcher import Watcher
from sandbox.watches import Watches
from tests.disk import Tree
from tests.mounts import REPOSITORY
from tests.require import require
from tests.sandbox.test_races import flipping

WAIT = 30.0
P = RelPath.parse
NOBODY = 1000


def paths(*texts: str) -> frozenset[RelPath]:
    return frozenset(map(P, texts))


def taken(watcher: Watcher) -> Dirty:
    """Return what is dirty of all that has happened."""
    assert watcher.settle(WAIT)
    return watcher.take()


def told(watcher: Watcher) -> tuple[frozenset[RelPath], frozenset[RelPath], frozenset[RelPath]]:
    """Return the files, folders and listings, where that is all there is to say."""
    dirty = taken(watcher)
    assert (dirty.everything, dirty.unwatched) == (False, ())
    return dirty.files, dirty.folders, dirty.listings


@contextmanager
def watching(disk: Tree, policy: Policy = Policy()) -> Iterator[Watcher]:  # noqa: B008 - frozen
    """Watch the root; what was there before has been taken."""
    with disk.open_root(policy=policy) as root, root.watch() as watcher:
        assert taken(watcher).everything
        yield watcher


def watched_by_the_kernel(watcher: Watcher) -> set[int]:
    """Return the inodes that the kernel says are watched."""
    with open(f"/proc/self/fdinfo/{watcher._watches.fileno()}") as lines:
        return {
            int(word.removeprefix("ino:"), 16)
            for line in lines
            if line.startswith("inotify")
            for word in line.split()
            if word.startswith("ino:")
        }


def folders(disk: Tree, relative: str = "root") -> set[int]:
    """Return the inodes of the folders beneath, itself included."""
    return {os.stat(folder).st_ino for folder, _, _ in os.walk(disk.path(relative))}


# -- what is told of one change ----------------------------------------------------------------


def rename(one: str, other: str) -> Callable[[Tree], object]:
    return lambda disk: os.rename(disk.path(one), disk.path(other))


def make(*lines: str) -> Callable[[Tree], object]:
    return lambda disk: disk.build(*lines)


CHANGES: dict[str, tuple[Callable[[Tree], object], tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "written in place": (lambda disk: disk.write("root/a/x.md", b"y"), ("a/x.md",), (), ()),
    "same bytes": (lambda disk: disk.write("root/a/x.md", b"x"), ("a/x.md",), (), ()),
    "saved by rename": (
        lambda disk: disk.save("root/a/x.md", b"y"),
        ("a/x.md", "a/x.md.editor"),
        (),
        (),
    ),
    "made": (make("root/a/y.md: y"), ("a/y.md",), (), ()),
    "removed": (lambda disk: os.unlink(disk.path("root/a/x.md")), ("a/x.md",), (), ()),
    "renamed": (rename("root/a/x.md", "root/b/y.md"), ("a/x.md", "b/y.md"), (), ()),
    "moved out": (rename("root/a/x.md", "out/x.md"), ("a/x.md",), (), ()),
    "moved in": (rename("out/o.md", "root/a/o.md"), ("a/o.md",), (), ()),
    "hidden by its name": (rename("root/a/x.md", "root/a/.x.md"), ("a/x.md",), (), ()),
    "mode": (lambda disk: disk.chmod("root/a/x.md", 0o600), ("a/x.md",), (), ()),
    "time": (lambda disk: os.utime(disk.path("root/a/x.md"), (1, 1)), ("a/x.md",), (), ()),
    "cut off": (lambda disk: os.truncate(disk.path("root/a/x.md"), 0), ("a/x.md",), (), ()),
    "second name": (make("root/b/y.md == root/a/x.md"), ("b/y.md",), (), ()),
    "link": (make("root/a/link => ../.."), ("a/link",), (), ()),
    "pipe": (make("root/a/p.md | fifo"), ("a/p.md",), (), ()),
    "made in a hidden folder": (make("root/.h/y.md: y"), (), (), ()),
    "hidden file": (make("root/a/.y.md: y"), (), (), ()),
    "hidden folder": (make("root/a/.git/y.md: y"), (), (), ()),
    "not UTF-8": (lambda disk: disk.build("root/a/\udcff.md: y"), (), (), ("a",)),
    "backslash": (make("root/a/x\\y.md: y"), (), (), ("a",)),
    "folder not UTF-8": (lambda disk: disk.build("root/a/\udcff/x.md: y"), (), (), ("a",)),
    "folder made": (make("root/a/new/"), (), ("a/new",), ()),
    "folder removed": (lambda disk: os.rmdir(disk.path("root/a/empty")), (), ("a/empty",), ()),
    "tree removed": (lambda disk: shutil.rmtree(disk.path("root/c")), ("c/d/x.md",), ("c", "c/d"), ()),
    "folder renamed": (rename("root/c", "root/e"), (), ("c", "e"), ()),
    "folder moved out": (rename("root/c", "out/c"), (), ("c",), ()),
    "folder moved in": (rename("out/in", "root/in"), (), ("in", "in/deep"), ()),
    "folder hidden": (rename("root/c", "root/.c"), (), ("c",), ()),
    "folder shown": (rename("root/.h", "root/h"), (), ("h",), ()),
    "folder's mode": (lambda disk: disk.chmod("root/c", 0o700), (), ("c",), ()),
}


@pytest.mark.parametrize("what", CHANGES)
def test_change_marks_what_it_changes(disk: Tree, what: str) -> None:
    disk.build(
        "root/a/x.md: x", "root/a/empty/", "root/b/", "root/c/d/x.md: x", "root/.h/x.md: x", "out/o.md: o"
    )
    disk.build("out/in/deep/x.md: x")
    act, files, changed, listings = CHANGES[what]
    with watching(disk) as watcher:
        act(disk)
        dirty = taken(watcher)
        assert dirty.everything is False
        assert (dirty.files, dirty.listings) == (paths(*files), paths(*listings))
        # A folder beneath one that is marked may be marked by itself, if the first was looked at meanwhile.
        assert dirty.folders <= paths(*changed)
        assert {path for path in paths(*changed) if not dirty.covers(path)} == set()
        assert not taken(watcher)


def test_reading_is_no_change(disk: Tree) -> None:
    disk.build("root/a/x.md: x")
    with watching(disk) as watcher:
        before = watcher.generation
        assert disk.read("root/a/x.md") == b"x"
        assert disk.snapshot("root") == {"a": "folder", "a/x.md": b"x"}
        assert not taken(watcher)
        assert watcher.generation == before


def test_each_append_to_a_file_that_stays_open_is_told(disk: Tree) -> None:
    disk.build("root/log.md: x")
    with watching(disk) as watcher, open(disk.path("root/log.md"), "ab", buffering=0) as file:
        for _ in range(3):
            file.write(b"more")
            assert told(watcher) == (paths("log.md"), paths(), paths())


def test_mapped_write_is_told_when_the_file_is_closed(disk: Tree) -> None:
    disk.build("root/map.md: " + "x" * 100)
    with watching(disk) as watcher:
        with open(disk.path("root/map.md"), "r+b") as file, mmap.mmap(file.fileno(), 100) as mapped:
            mapped[0] = ord("y")
            assert not taken(watcher)  # the limit that is documented
        assert told(watcher) == (paths("map.md"), paths(), paths())


def test_what_happens_in_a_folder_after_it_appeared_is_told_by_its_path(disk: Tree) -> None:
    with watching(disk) as watcher:
        disk.build("root/one/two/three/x.md: x")
        assert taken(watcher).covers(P("one/two/three/x.md"))
        disk.write("root/one/two/three/x.md", b"y")
        assert told(watcher) == (paths("one/two/three/x.md"), paths(), paths())


# -- the traps ---------------------------------------------------------------------------------

RACERS = "import os, sys\nfor i in range(400):\n    os.makedirs(f'd{i}/e')\n    open(f'd{i}/e/a.md', 'w').close()\n"


def test_nothing_is_lost_in_four_hundred_folders_that_appear_with_a_file_at_once(disk: Tree) -> None:
    """Of these notes two thirds would be lost if a folder were watched without being looked at afterwards."""
    with watching(disk) as watcher:
        seen: list[Dirty] = []
        with subprocess.Popen([sys.executable, "-c", RACERS], cwd=disk.path("root")) as process:
            while process.poll() is None:
                if dirty := watcher.take():
                    seen.append(dirty)
        assert process.returncode == 0
        seen.append(taken(watcher))
        missed = {P(f"d{number}/e/a.md") for number in range(400)}
        for each in seen:
            missed -= {path for path in missed if each.covers(path)}
        assert missed == set()
        assert watched_by_the_kernel(watcher) == folders(disk)
        for number in (0, 399):
            disk.write(f"root/d{number}/e/a.md", b"x")
        assert told(watcher) == (paths("d0/e/a.md", "d399/e/a.md"), paths(), paths())


def storm(disk: Tree) -> None:
    """Cause 17,000 events, no two alike in a row; the kernel keeps 16,384 by default."""
    files = [os.open(disk.path(f"root/{name}.md"), os.O_WRONLY | os.O_CREAT, 0o644) for name in "ab"]
    try:
        for _ in range(8_500):
            for file in files:
                os.write(file, b"x")
    finally:
        for file in files:
            os.close(file)


def queue_length() -> int:
    with open("/proc/sys/fs/inotify/max_queued_events") as file:
        return int(file.read())


def test_events_that_the_kernel_threw_away_make_everything_dirty(disk: Tree) -> None:
    require("default queue of inotify", available=queue_length() <= 16_384)
    disk.build("root/old/deep/", "root/leaves/deep/", "out/")
    holding, go_on = threading.Event(), threading.Event()

    def hold(path: RelPath) -> bool:  # the thread reads nothing while it asks
        if path == P("hold.md"):
            holding.set()
            assert go_on.wait(WAIT)
        return True

    with disk.open_root() as root, root.watch(files=hold) as watcher:
        assert taken(watcher).everything
        disk.build("root/hold.md: x")
        assert holding.wait(WAIT)
        storm(disk)
        disk.build("root/new/deep/x.md: x")  # the kernel tells of none of these
        os.rename(disk.path("root/old"), disk.path("root/moved"))
        os.rename(disk.path("root/leaves"), disk.path("out/leaves"))
        go_on.set()
        assert taken(watcher).everything
        assert watcher.status().overflows == 1
        assert not taken(watcher)
        assert watched_by_the_kernel(watcher) == folders(disk)
        assert watcher.status().folders == len(folders(disk))
        disk.build("root/new/deep/y.md: y", "root/moved/deep/y.md: y", "out/leaves/deep/y.md: y")
        assert told(watcher) == (paths("new/deep/y.md", "moved/deep/y.md"), paths(), paths())


def test_fewer_events_than_the_kernel_keeps_are_told_one_by_one(disk: Tree) -> None:
    """The nearest thing to an overflow: all that happened is known."""
    require("default queue of inotify", available=queue_length() >= 16_384)
    disk.build("root/")
    with disk.open_root() as root:
        marks = Marks()
        kept = Watches(root._tree, marks, folders=always, files=always)
        try:
            marks.take()
            for number in range(5_000):  # three events each
                disk.write(f"root/{number}.md", b"")
            while kept.read():
                continue
            dirty = marks.take()
            assert (dirty.everything, len(dirty.files), kept.overflows) == (False, 5_000, 0)
        finally:
            kept.close()


def test_folder_that_moves_within_keeps_its_watches_and_gets_its_path(disk: Tree) -> None:
    disk.build("root/a/b/c/x.md: x", "root/other/")
    with watching(disk) as watcher:
        before = watched_by_the_kernel(watcher)
        os.rename(disk.path("root/a/b"), disk.path("root/other/B"))
        assert told(watcher) == (paths(), paths("a/b", "other/B"), paths())
        assert watched_by_the_kernel(watcher) == before == folders(disk)
        disk.write("root/other/B/c/x.md", b"y")
        assert told(watcher) == (paths("other/B/c/x.md"), paths(), paths())


def test_folder_that_moves_out_is_told_once_and_watched_no_more(disk: Tree) -> None:
    disk.build("root/a/b/c/x.md: x", "out/")
    with watching(disk) as watcher:
        os.rename(disk.path("root/a"), disk.path("out/a"))
        assert told(watcher) == (paths(), paths("a"), paths())
        assert watched_by_the_kernel(watcher) == folders(disk)
        disk.write("out/a/b/c/x.md", b"y")
        disk.build("out/a/b/new/x.md: x")
        assert not taken(watcher)
        os.rename(disk.path("out/a"), disk.path("root/back"))
        assert taken(watcher).covers(P("back/b/c/x.md"))
        assert watched_by_the_kernel(watcher) == folders(disk)


def test_folder_that_moves_into_a_hidden_one_is_watched_no_more(disk: Tree) -> None:
    disk.build("root/a/b/x.md: x", "root/.trash/")
    with watching(disk) as watcher:
        os.rename(disk.path("root/a"), disk.path("root/.trash/a"))
        assert told(watcher) == (paths(), paths("a"), paths())
        assert watched_by_the_kernel(watcher) == {os.stat(disk.path("root")).st_ino}


def test_folders_that_are_exchanged_are_both_told_and_known(disk: Tree) -> None:
    disk.build("root/a/in-a/x.md: x", "root/b/in-b/x.md: x")
    with watching(disk) as watcher:
        one, other = (os.fsencode(disk.path(f"root/{name}")) for name in "ab")
        _linux.renameat2(-100, one, -100, other, flags=_linux.RENAME_EXCHANGE)
        dirty = taken(watcher)
        assert (dirty.folders >= paths("a", "b"), dirty.everything) == (True, False)
        assert watched_by_the_kernel(watcher) == folders(disk)
        disk.write("root/b/in-a/x.md", b"y")
        disk.write("root/a/in-b/x.md", b"y")
        assert told(watcher) == (paths("b/in-a/x.md", "a/in-b/x.md"), paths(), paths())


def test_both_halves_of_a_move_are_joined_though_they_are_read_one_by_one(
    disk: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["n" * 200 + str(number) for number in range(5)]
    disk.build(f"root/{names[0]}/deep/x.md: x")
    monkeypatch.setattr(inotify, "READ_BYTES", 300)  # room for one event with such a name
    with watching(disk) as watcher:
        before = watched_by_the_kernel(watcher)
        for one, other in itertools.pairwise(names):
            os.rename(disk.path(f"root/{one}"), disk.path(f"root/{other}"))
        assert told(watcher) == (paths(), paths(*names), paths())
        assert watched_by_the_kernel(watcher) == before
        disk.write(f"root/{names[-1]}/deep/x.md", b"y")
        assert told(watcher) == (paths(f"{names[-1]}/deep/x.md"), paths(), paths())


def test_folder_made_in_one_that_moves_at_once_is_watched_where_it_came(disk: Tree) -> None:
    """By the time its making is read, its path leads to another folder of the same name."""
    disk.build("root/a/")
    with disk.open_root() as root:
        marks = Marks()
        kept = Watches(root._tree, marks, folders=always, files=always)
        try:
            marks.take()
            disk.build("root/a/p/mine.md: x")
            os.rename(disk.path("root/a"), disk.path("root/b"))
            disk.build("root/a/p/other.md: x")
            settle(kept)
            dirty = marks.take()
            assert dirty.covers(P("b/p/mine.md"))
            assert dirty.covers(P("a/p/other.md"))
            disk.write("root/b/p/mine.md", b"y")
            settle(kept)
            assert marks.take().files == paths("b/p/mine.md")
            disk.write("root/a/p/other.md", b"y")
            settle(kept)
            assert marks.take().files == paths("a/p/other.md")
        finally:
            kept.close()


def settle(kept: Watches) -> None:
    while kept.read() or kept.busy:
        kept.visit(16)


def test_look_between_the_event_and_the_watch_does_not_lose_what_comes_in_between(disk: Tree) -> None:
    disk.build("root/")
    with disk.open_root() as root:
        marks = Marks()
        kept = Watches(root._tree, marks, folders=always, files=always)
        try:
            marks.take()
            disk.build("root/new/")
            assert kept.read()
            assert marks.take().folders == paths("new")  # somebody looks into it now, and finds nothing
            disk.build("root/new/x.md: x")  # not watched yet: no event
            settle(kept)
            assert marks.take().covers(P("new/x.md"))
        finally:
            kept.close()


def test_path_that_is_deeper_than_paths_may_be_is_a_name_like_any_that_cannot_be_told(disk: Tree) -> None:
    deepest = "/".join("d" * (MAX_DEPTH - 1))
    disk.build(f"root/{deepest}/")
    with watching(disk) as watcher:
        disk.build(f"root/{deepest}/x.md: x")
        assert told(watcher) == (paths(f"{deepest}/x.md"), paths(), paths())
        disk.build(f"root/{deepest}/e/x.md: x")
        assert told(watcher)[1] == paths(f"{deepest}/e")
        disk.write(f"root/{deepest}/e/x.md", b"y")
        assert told(watcher) == (paths(), paths(), paths(f"{deepest}/e"))
        assert watched_by_the_kernel(watcher) == folders(disk)


def test_root_that_is_removed_makes_everything_dirty_for_good(disk: Tree) -> None:
    disk.build("root/a/x.md: x")
    with watching(disk) as watcher:
        shutil.rmtree(disk.path("root"))
        for _ in range(2):
            dirty = taken(watcher)
            assert (dirty.everything, dirty.unwatched) == (True, (Unwatched(ROOT, Reason.GONE),))
        watcher.retry()
        assert taken(watcher).everything


def test_root_that_is_renamed_stays_watched(disk: Tree) -> None:
    disk.build("root/a/x.md: x")
    with watching(disk) as watcher:
        os.rename(disk.path("root"), disk.path("renamed"))
        disk.write("renamed/a/x.md", b"y")
        assert told(watcher) == (paths("a/x.md"), paths(), paths())


def test_rights_of_the_root_concern_everything(disk: Tree) -> None:
    disk.build("root/a/x.md: x")
    with watching(disk) as watcher:
        disk.chmod("root", 0o700)
        assert taken(watcher).everything
        assert not taken(watcher)


# -- links, rights, limits ---------------------------------------------------------------------


def test_folder_behind_a_link_is_not_watched(disk: Tree) -> None:
    disk.build("root/a/x.md: x", "root/link => ../out", "root/inside => a", "out/deep/x.md: x")
    with watching(disk) as watcher:
        assert watched_by_the_kernel(watcher) == folders(disk)
        disk.write("out/deep/x.md", b"y")
        assert not taken(watcher)


def test_folder_that_became_a_link_before_it_was_looked_at_leads_nowhere(disk: Tree) -> None:
    disk.build("root/", "out/deep/x.md: x")
    with disk.open_root() as root:
        marks = Marks()
        kept = Watches(root._tree, marks, folders=always, files=always)
        try:
            marks.take()
            disk.build("root/spot/")
            os.rmdir(disk.path("root/spot"))
            disk.build("root/spot => ../out")
            settle(kept)
            assert kept.count == 1
            assert marks.take().covers(P("spot"))
            disk.write("out/deep/x.md", b"y")
            settle(kept)
            assert not marks.take()
        finally:
            kept.close()


@pytest.mark.parametrize("to", ["out/left", "root/.left", "root/other"])
def test_folder_that_leaves_between_its_opening_and_its_watch_is_not_kept(
    disk: Tree, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    disk.build("root/", "out/", "aside/spot/deep/")
    add_watch = _linux.inotify_add_watch

    def leave_first(queue: int, folder: int, mask: int) -> int:
        if os.path.lexists(disk.path("root/spot")):
            os.rename(disk.path("root/spot"), disk.path(to))
        return add_watch(queue, folder, mask)

    with watching(disk) as watcher:
        monkeypatch.setattr(_linux, "inotify_add_watch", leave_first)
        os.rename(disk.path("aside/spot"), disk.path("root/spot"))
        assert taken(watcher).covers(P("spot"))
        assert disk.exists(to)
        assert not taken(watcher).everything  # it left after the first of these had begun
        monkeypatch.undo()
        disk.build(f"{to}/deep/x.md: x")
        if to == "root/other":
            assert told(watcher) == (paths("other/deep/x.md"), paths(), paths())
            assert watcher.status().folders == 3
        else:
            assert not taken(watcher)
            assert watched_by_the_kernel(watcher) == {os.stat(disk.path("root")).st_ino}


@pytest.mark.slow
def test_folder_that_is_flipped_with_a_link_never_lets_the_outside_be_watched(disk: Tree) -> None:
    disk.build("root/spot/deep/x.md: x", "root/spare => ../outside", "outside/deep/x.md: x")
    outside = folders(disk, "outside")
    with watching(disk) as watcher:
        with flipping(disk, "root/spot", "root/spare") as flips:
            for _ in range(2_000):
                assert watched_by_the_kernel(watcher).isdisjoint(outside)
                watcher.take()
        assert flips.count > 0
        assert watcher.settle(WAIT)
        watcher.take()
        assert watched_by_the_kernel(watcher) == folders(disk)
        disk.write("outside/deep/x.md", b"y")
        assert not taken(watcher)


def test_link_that_is_followed_is_dirty_as_soon_as_anything_is(openat2_disk: Tree) -> None:
    disk = openat2_disk
    disk.build("root/a/x.md: x", "root/link => a", "root/y.md: y")
    with watching(disk, Policy(links=Links.WITHIN)) as watcher:
        disk.write("root/a/x.md", b"y")
        assert told(watcher) == (paths("a/x.md"), paths("link"), paths())
        disk.build("root/a/note.md => ../y.md")
        assert told(watcher)[1] == paths("link", "a/note.md")
        os.unlink(disk.path("root/link"))
        assert taken(watcher).covers(P("link"))
        disk.write("root/y.md", b"z")
        assert told(watcher) == (paths("y.md"), paths("a/note.md"), paths())
        assert watched_by_the_kernel(watcher) == folders(disk)


def test_link_that_is_replaced_in_one_go_is_followed_still(openat2_disk: Tree) -> None:
    disk = openat2_disk
    disk.build("root/a/x.md: x", "root/b/x.md: x", "root/link => a")
    with disk.open_root(policy=Policy(links=Links.WITHIN)) as root:
        marks = Marks()
        kept = Watches(root._tree, marks, folders=always, files=always)
        try:
            settle(kept)
            marks.take()
            os.unlink(disk.path("root/link"))
            os.symlink("b", disk.path("root/link"))
            settle(kept)
            assert marks.take().covers(P("link"))
            disk.write("root/b/x.md", b"y")
            settle(kept)
            assert marks.take().covers(P("link/x.md"))
        finally:
            kept.close()


@contextmanager
def an_ordinary_user(disk: Tree) -> Iterator[None]:
    """Be nobody special in the block; the tree is theirs."""
    if os.geteuid() != 0:
        yield
        return
    for folder, _, names in os.walk(disk.path()):
        for path in (folder, *(os.path.join(folder, name) for name in names)):
            os.lchown(path, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_ordinary_user_is_told_which_folder_cannot_be_read_until_it_can(disk: Tree) -> None:
    disk.build("root/open/x.md: x", "root/shut/deep/x.md: x")
    disk.chmod("root/shut", 0)
    with disk.open_root() as root, an_ordinary_user(disk), root.watch() as watcher:
        shut = (Unwatched(P("shut"), Reason.DENIED),)
        assert taken(watcher).unwatched == shut
        root_fd = os.open(f"/proc/self/fd/{root._tree.fd}", os.O_RDONLY | os.O_DIRECTORY)
        try:
            for name in ("open/x.md", "open/y.md"):
                os.close(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=root_fd))
            dirty = taken(watcher)
            assert (dirty.files, dirty.folders, dirty.unwatched) == (
                paths("open/x.md", "open/y.md"),
                paths(),
                shut,
            )
            assert dirty.covers(P("shut/deep/x.md"))
            assert not dirty.covers(P("open/z.md"))
            folder = os.open("shut", os.O_PATH, dir_fd=root_fd)
            try:
                os.chmod(f"/proc/self/fd/{folder}", 0o700)
            finally:
                os.close(folder)
            dirty = taken(watcher)
            assert dirty.covers(P("shut/deep/x.md"))
            assert (dirty.everything, dirty.unwatched) == (False, ())
            os.close(os.open("shut/deep/x.md", os.O_WRONLY | os.O_TRUNC, dir_fd=root_fd))
            assert told(watcher) == (paths("shut/deep/x.md"), paths(), paths())
        finally:
            os.close(root_fd)


def test_root_that_can_be_read_no_more_is_unwatched_until_it_is_tried_again(disk: Tree) -> None:
    disk.build("root/a/x.md: x")
    with disk.open_root() as root, an_ordinary_user(disk):
        marks = Marks()
        kept = Watches(root._tree, marks, folders=always, files=always)
        place = f"/proc/self/fd/{root._tree.fd}"
        try:
            settle(kept)
            marks.take()
            os.chmod(place, 0)
            kept._walk_again()  # as after an overflow
            for _ in range(2):
                dirty = marks.take()
                assert (dirty.everything, dirty.unwatched) == (True, (Unwatched(ROOT, Reason.FAILED),))
            os.chmod(place, 0o700)
            kept.retry()
            settle(kept)
            assert marks.take().everything
            assert not marks.take()
            assert kept.count == 2
        finally:
            kept.close()


def in_a_user_namespace(case: str, where: Path) -> None:
    command = ["unshare", "--user", "--map-root-user"]
    try:
        probe = subprocess.run(
            [*command, "sh", "-c", "echo 3 > /proc/sys/user/max_inotify_watches"],
            capture_output=True,
            check=False,
        )
        works = probe.returncode == 0
    except OSError:
        works = False
    require("userns", available=works, why="no user namespace with limits of its own can be made")
    done = subprocess.run(
        [*command, sys.executable, "-m", "tests.sandbox.limited", case, str(where)],
        cwd=REPOSITORY,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")


@pytest.mark.parametrize("case", ["watches", "no_watches", "instances", "too_many"])
def test_limit_of_the_kernel_leaves_what_is_watched_and_says_what_is_not(tmp_path: Path, case: str) -> None:
    in_a_user_namespace(case, tmp_path)


@pytest.mark.parametrize("case", ["descriptors", "crowded"])
def test_limit_of_open_files_is_told_from_no_change(tmp_path: Path, case: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.sandbox.limited", case, str(tmp_path)],
        cwd=REPOSITORY,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")


def test_system_without_inotify_says_so(disk: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    with disk.open_root() as root:
        monkeypatch.setattr(_linux, "_KNOWN", False)
        with pytest.raises(WatchUnavailable) as caught:
            root.watch()
        assert caught.value.reason == "this system has no inotify"


def test_missing_proc_says_so(disk: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: int) -> int:
        raise OSError(errno.ENOENT, "inotify_add_watch")

    with disk.open_root() as root:
        monkeypatch.setattr(_linux, "inotify_add_watch", absent)
        with pytest.raises(WatchUnavailable) as caught:
            root.watch()
        assert caught.value.reason == "/proc is missing"


def test_closed_root_cannot_be_watched(disk: Tree) -> None:
    root = disk.open_root()
    root.close()
    with pytest.raises(RootUnusable):
        root.watch()


# -- the watcher -------------------------------------------------------------------------------


def test_own_write_is_marked_at_once(disk: Tree) -> None:
    with watching(disk) as watcher:
        watcher.mark(P("a.md"))
        watcher.mark_folder(P("sub"))
        watcher.mark(P(".trash/a.md"))
        dirty = watcher.take()
        assert (dirty.files, dirty.folders) == (paths("a.md"), paths("sub"))


def test_change_by_us_and_by_others_is_marked_alike(disk: Tree) -> None:
    disk.build("root/a.md: a")
    with disk.open_root() as root, root.watch() as watcher:
        taken(watcher)
        root.replace(P("a.md"), b"b", expect=root.stat(P("a.md")))
        root.create(P("sub/b.md"), b"b")
        root.move(P("a.md"), P("sub/c.md"), expect=root.stat(P("a.md")))
        dirty = taken(watcher)
        assert dirty.files | dirty.folders >= paths("a.md", "sub")
        assert [path for path in paths("a.md", "sub/b.md", "sub/c.md") if not dirty.covers(path)] == []
        entry = "20260728T101112Z-" + "0" * 32
        root.trash(P("sub/b.md"), entry=entry, expect=lambda data: data == b"b")
        assert told(watcher) == (paths("sub/b.md"), paths(), paths())


def test_only_what_is_wanted_is_watched_and_marked(disk: Tree) -> None:
    disk.build("root/a/x.md: x", "root/node_modules/deep/x.md: x", "root/away/x.md: x")

    def folders_wanted(path: RelPath) -> bool:
        return "node_modules" not in path.parts

    with (
        disk.open_root() as root,
        root.watch(folders=folders_wanted, files=lambda path: path.name.endswith(".md")) as watcher,
    ):
        assert taken(watcher).everything
        assert watcher.status().folders == 3
        disk.build(
            "root/a/y.md: y", "root/a/y.png: y", "root/node_modules/deep/y.md: y", "root/node_modules/new/"
        )
        assert told(watcher) == (paths("a/y.md"), paths(), paths())
        os.rename(disk.path("root/away"), disk.path("root/node_modules/away"))
        assert told(watcher) == (paths(), paths("away"), paths())
        assert watcher.status().folders == 2
        os.rename(disk.path("root/node_modules"), disk.path("root/modules"))
        assert taken(watcher).covers(P("modules/away/x.md"))
        assert watched_by_the_kernel(watcher) == folders(disk)


def test_close_ends_the_thread_and_leaves_the_root_unwatched(disk: Tree) -> None:
    with disk.open_root() as root:
        watcher = root.watch()
        assert taken(watcher).everything
        assert not watcher.look()
        watcher.close()
        assert not watcher._thread.is_alive()
        assert watcher.look().unwatched == (Unwatched(ROOT, Reason.STOPPED),)
        assert watcher.look().everything
        assert watcher.settle(WAIT) is False
        watcher.retry()
        watcher.close()


def test_close_does_not_wait_for_a_storm_to_end(disk: Tree) -> None:
    code = "import itertools, os\nfor i in itertools.count():\n    os.mkdir(f'd{i}')\n    os.utime('.')\n"
    command = [sys.executable, "-c", code]
    with watching(disk) as watcher, subprocess.Popen(command, cwd=disk.path("root")) as process:
        try:
            while watcher.status().folders < 50:
                assert process.poll() is None
            watcher.close()
            assert not watcher._thread.is_alive()
        finally:
            process.kill()


def test_watcher_outlives_its_root(disk: Tree) -> None:
    disk.build("root/a/")
    with disk.open_root() as root:
        watcher = root.watch()
    try:
        taken(watcher)
        disk.build("root/a/b/x.md: x")
        assert taken(watcher).covers(P("a/b/x.md"))
        assert watched_by_the_kernel(watcher) == folders(disk)
    finally:
        watcher.close()


def test_thread_that_fails_leaves_nobody_believing_that_nothing_changes(disk: Tree) -> None:
    def fail(path: RelPath) -> bool:
        raise ValueError(path)

    with disk.open_root() as root, root.watch(files=fail) as watcher:
        taken(watcher)
        disk.build("root/a.md: a")
        assert watcher.settle(WAIT) is False
        dirty = watcher.take()
        assert (dirty.everything, dirty.unwatched) == (True, (Unwatched(ROOT, Reason.FAILED),))


def test_settle_gives_up_when_the_thread_is_held(disk: Tree) -> None:
    holding, go_on = threading.Event(), threading.Event()

    def hold(path: RelPath) -> bool:
        holding.set()
        return go_on.wait(WAIT)

    with disk.open_root() as root, root.watch(files=hold) as watcher:
        taken(watcher)
        disk.build("root/a.md: a")
        assert holding.wait(WAIT)
        assert watcher.settle(0) is False
        go_on.set()
        assert watcher.settle(WAIT) is True
        assert watcher.take().files == paths("a.md")


def test_everything_is_dirty_until_all_folders_are_watched(disk: Tree) -> None:
    disk.build("root/a/b/", "root/c/")
    holding, go_on = threading.Event(), threading.Event()

    def hold(path: RelPath) -> bool:
        holding.set()
        return go_on.wait(WAIT)

    with disk.open_root() as root, root.watch(folders=hold) as watcher:
        assert holding.wait(WAIT)
        for _ in range(2):
            dirty = watcher.take()
            assert (dirty.everything, dirty.unwatched) == (True, (Unwatched(ROOT, Reason.WALKING),))
        go_on.set()
        dirty = taken(watcher)
        assert (dirty.everything, dirty.unwatched) == (True, ())  # what happened meanwhile is known to nobody
        assert not watcher.take()


# -- the marks ---------------------------------------------------------------------------------


def fresh(**bounds: int) -> Marks:
    marks = Marks(**bounds)
    assert marks.take().everything
    return marks


def test_mark_stays_until_it_is_cleared_and_then_only_if_it_is_not_marked_again() -> None:
    marks = fresh()
    marks.file(P("a.md"))
    marks.file(P("b.md"))
    seen = marks.look()
    assert seen == marks.look()
    assert seen.files == paths("a.md", "b.md")
    marks.file(P("a.md"))
    marks.clear(through=seen.generation)
    assert marks.look().files == paths("a.md")


def test_one_path_of_many_can_be_cleared() -> None:
    marks = fresh()
    for name in ("a.md", "b.md", "c.md"):
        marks.file(P(name))
    seen = marks.look()
    marks.file(P("b.md"))
    marks.clear(through=seen.generation, only=[P("a.md"), P("b.md"), P("not-there.md")])
    assert marks.look().files == paths("b.md", "c.md")


def test_folder_covers_what_is_marked_beneath_it_until_somebody_has_looked() -> None:
    marks = fresh()
    marks.folder(P("a"))
    marks.file(P("a/x.md"))
    marks.file(P("ab.md"))
    seen = marks.look()
    assert (seen.files, seen.folders) == (paths("ab.md"), paths("a"))
    marks.file(P("a/x.md"))
    marks.clear(through=seen.generation)
    assert (marks.look().files, marks.look().folders) == (paths("a/x.md"), paths())


def test_what_is_marked_after_everything_was_seen_stays() -> None:
    marks = Marks()
    seen = marks.look()
    marks.file(P("a.md"))
    assert marks.look().everything
    marks.clear(through=seen.generation)
    assert (marks.look().everything, marks.look().files) == (False, paths("a.md"))


def test_more_paths_than_the_bound_are_everything() -> None:
    marks = fresh(bound=3)
    for number in range(3):
        marks.file(P(f"{number}.md"))
    assert (marks.look().everything, len(marks.look().files)) == (False, 3)
    marks.file(P("3.md"))
    assert marks.look() == Dirty(
        marks.generation, everything=True, files=paths(), folders=paths(), listings=paths(), unwatched=()
    )
    marks.clear(through=marks.generation)
    assert not marks.look()


def test_bound_holds_for_the_watcher_too(disk: Tree) -> None:
    with watching(disk) as watcher:
        for number in range(MAX_PATHS + 1):
            watcher.mark(P(f"{number}.md"))
        assert watcher.look().everything
        assert watcher.look().files == paths()


def test_root_as_a_folder_is_everything() -> None:
    marks = fresh()
    marks.folder(ROOT)
    assert marks.take().everything
    assert not marks.take()


def test_generation_grows_with_each_mark_and_with_nothing_else() -> None:
    marks = fresh()
    first = marks.generation
    marks.look()
    marks.take()
    marks.stand([], [])
    assert marks.generation == first
    marks.file(P("a.md"))
    marks.file(P("a.md"))
    assert marks.generation == first + 2


def test_too_many_links_are_everything_once_anything_changes() -> None:
    marks = fresh()
    marks.stand([], [P(f"{number}") for number in range(1_001)])
    assert not marks.look()
    marks.file(P("a.md"))
    assert marks.look().everything


def test_mask_asks_for_folders_only_and_for_no_reading() -> None:
    assert inotify.MASK & _linux.IN_ONLYDIR
    assert inotify.MASK & 0x0000_0001 == 0  # IN_ACCESS
    assert inotify.MASK & 0x0000_0020 == 0  # IN_OPEN


def test_root_opened_by_its_path_is_watched(tmp_path: Path) -> None:
    with Root.open(tmp_path) as root, root.watch() as watcher:
        assert taken(watcher).everything
        (tmp_path / "a.md").write_text("a")
        assert told(watcher) == (paths("a.md"), paths(), paths())


def test_one_who_waits_is_woken_by_the_next_mark_and_not_by_an_earlier_one(disk: Tree) -> None:
    with watching(disk) as watcher:
        assert watcher.settle(WAIT)
        before = watcher.generation
        assert not watcher.wait(before, 0.01)
        disk.build("root/a.md: text")
        assert watcher.wait(before, WAIT)
        assert P("a.md") in watcher.look().files
        assert watcher.wait(before, 0.0)
        after = watcher.generation
        watcher.mark(P("b.md"))
        assert watcher.wait(after, WAIT)


def test_one_who_waits_is_woken_by_the_end_of_the_watcher(disk: Tree) -> None:
    with watching(disk) as watcher:
        assert watcher.settle(WAIT)
        generation = watcher.generation
    assert watcher.wait(generation, WAIT)
