"""Cases that need mounts; each runs in a process and a mount namespace of its own (`test_mounts.py`)."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import cast

import pytest

from sandbox.errors import MountRefused, StorageFailed, TooLarge, TrashUnusable
from sandbox.names import ROOT, RelPath
from sandbox.objects import FileIdentity, Kind
from sandbox.policy import Links, Mounts, Policy
from sandbox.resolve import ResolverChoice
from sandbox.root import Root
from tests.disk import Tree
from tests.mounts import mount

ENTRY = "20260728T101112Z-" + "0" * 32
P = RelPath.parse


def refuse_everything(disk: Tree, policy: Policy, path: str, target: str) -> None:
    """Every operation on *path*, which lies behind a mount, is refused and *target* is untouched."""
    expect = FileIdentity.of(os.stat(disk.path(target)))
    before = disk.snapshot()
    with disk.open_root(policy=policy) as root:
        attempts: tuple[Callable[[Root], object], ...] = (
            lambda each: each.read(P(path)),
            lambda each: each.stat(P(path)),
            lambda each: each.kind(P(path)),
            lambda each: each.replace(P(path), b"x", expect=expect),
            lambda each: each.move(P(path), P("moved.md"), expect=expect),
            lambda each: each.move(
                P("mine.md"), P(path).parent.child("m.md"), expect=each.stat(P("mine.md"))
            ),
            lambda each: each.trash(P(path), entry=ENTRY, expect=lambda _: True),
            lambda each: each.create(P(path).parent.child("new.md"), b"x"),
            lambda each: each.create(P(path).parent.child("sub").child("new.md"), b"x"),
            lambda each: each.list(P(path).parent, with_identity=False),
        )
        in_the_way = P(path).parent != ROOT
        for number, attempt in enumerate(attempts):
            if not in_the_way and number in (5, 7, 8, 9):
                continue  # the folder itself is no mount
            with pytest.raises(MountRefused):
                attempt(root)
    assert disk.snapshot() == before


def bind_mount_of_a_folder(disk: Tree) -> None:
    """A bind mount of the same file system: neither ismount nor the device number can see it."""
    disk.build("outside/a.md: secret", "root/mnt/", "root/mine.md: m", "root/plain/a.md: a")
    mount("--bind", disk.path("outside"), disk.path("root/mnt"))
    assert not os.path.ismount(disk.path("root/mnt"))
    for policy in (Policy(), Policy(links=Links.WITHIN)):
        if policy.links is Links.WITHIN and disk.resolver == "walk":
            continue
        refuse_everything(disk, policy, "mnt/a.md", "outside/a.md")
    with disk.open_root() as root:
        kinds = {entry.name: entry.kind for entry in root.list(with_identity=True).entries}
        assert kinds == {"mine.md": Kind.FILE, "mnt": Kind.OTHER, "plain": Kind.FOLDER}
        assert root.read(P("plain/a.md")).data == b"a"
    with disk.open_root(policy=Policy(mounts=Mounts.ALLOW)) as root:
        assert root.read(P("mnt/a.md")).data == b"secret"
        seen = root.stat(P("mnt/a.md"))
        root.replace(P("mnt/a.md"), b"changed", expect=seen)
        root.create(P("mnt/new.md"), b"new")
        with pytest.raises(MountRefused):  # the trash lies on the root's own mount
            root.trash(P("mnt/a.md"), entry=ENTRY, expect=lambda _: True)
        assert root.list(with_identity=True).entries[1].kind is Kind.FOLDER
    assert disk.snapshot("outside") == {"a.md": b"changed", "new.md": b"new"}


def bind_mount_of_a_file(disk: Tree) -> None:
    disk.build("secret.md: secret", "root/a.md: covered", "root/mine.md: m")
    mount("--bind", disk.path("secret.md"), disk.path("root/a.md"))
    refuse_everything(disk, Policy(), "a.md", "root/a.md")
    with disk.open_root() as root:
        kinds = {entry.name: entry.kind for entry in root.list(with_identity=True).entries}
        assert kinds == {"a.md": Kind.OTHER, "mine.md": Kind.FILE}
        listed = root.list(with_identity=False).entries
        status = os.stat(disk.path("secret.md"))
        known = {"a.md": (status.st_ino, status.st_size, status.st_mtime_ns)}
        refused, mine = root.identities(ROOT, listed, known=known)
        assert (type(refused), mine) == (MountRefused, root.stat(P("mine.md")))
    with disk.open_root(policy=Policy(mounts=Mounts.ALLOW)) as root:
        assert root.read(P("a.md")).data == b"secret"
        with pytest.raises(StorageFailed) as caught:  # a mount point cannot be exchanged
            root.replace(P("a.md"), b"x", expect=root.stat(P("a.md")))
        assert caught.value.errno == errno.EBUSY
    assert disk.read("secret.md") == b"secret"
    assert sorted(os.listdir(disk.path("root"))) == ["a.md", "mine.md"]


def other_file_system(disk: Tree) -> None:
    disk.build("root/mnt/", "root/mine.md: m")
    mount("-t", "tmpfs", "none", disk.path("root/mnt"))
    disk.build("root/mnt/a.md: secret", "root/mnt/.~fsn-old: t")
    refuse_everything(disk, Policy(), "mnt/a.md", "root/mnt/a.md")
    with disk.open_root() as root:
        tally = root.tally()
        while not tally.step(60.0):
            continue
        assert (tally.entries, tally.bytes) == (2, 1)
        assert root.sweep(now=time.time() + 3600).moved == 0
    assert disk.exists("root/mnt/.~fsn-old")


def link_to_a_mount(disk: Tree) -> None:
    """A link that stays within the root may still lead across a mount."""
    disk.build("outside/a.md: secret", "root/mnt/", "root/link => mnt")
    mount("--bind", disk.path("outside"), disk.path("root/mnt"))
    if disk.resolver == "walk":
        return
    with disk.open_root(policy=Policy(links=Links.WITHIN)) as root, pytest.raises(MountRefused):
        root.read(P("link/a.md"))
    with disk.open_root(policy=Policy(links=Links.WITHIN, mounts=Mounts.ALLOW)) as root:
        assert root.read(P("link/a.md")).data == b"secret"


def trash_that_is_a_mount(disk: Tree) -> None:
    disk.build("outside/", "root/.trash/", "root/a.md: a", "root/.~fsn-old: t")
    mount("--bind", disk.path("outside"), disk.path("root/.trash"))
    for mounts in Mounts:
        with disk.open_root(policy=Policy(mounts=mounts)) as root:
            attempts: tuple[Callable[[Root], object], ...] = (
                lambda each: each.trash(P("a.md"), entry=ENTRY, expect=lambda _: True),
                lambda each: each.receipt(P("a.md"), entry=ENTRY),
                lambda each: each.trash_entries(),
                lambda each: each.restore(ENTRY),
                lambda each: each.sweep(now=time.time() + 3600),
            )
            for attempt in attempts:
                with pytest.raises(TrashUnusable):
                    attempt(root)
    assert disk.snapshot("root") == {".trash": "folder", "a.md": b"a", ".~fsn-old": b"t"}
    assert disk.snapshot("outside") == {}


def full_disk(disk: Tree) -> None:
    """On a full disk the old bytes stand and nothing of ours is left."""
    disk.build("root/")
    mount("-t", "tmpfs", "-o", "size=256k", "none", disk.path("root"))
    with disk.open_root() as root:
        first = root.create(P("a.md"), b"old")
        before = disk.snapshot("root")
        big = b"x" * 400_000
        for attempt in (
            lambda: root.create(P("new/b.md"), big),
            lambda: root.replace(P("a.md"), big, expect=first),
        ):
            with pytest.raises(StorageFailed) as caught:
                attempt()
            assert caught.value.errno == errno.ENOSPC
            assert disk.snapshot("root") == before
        root.replace(P("a.md"), b"fits", expect=first)
        assert disk.read("root/a.md") == b"fits"
        with pytest.raises(TooLarge):
            root.create(P("c.md"), b"x" * 2_000_000)


def space_of_a_mount(disk: Tree) -> None:
    """Where mounts may be entered, the space is that of the file system which a path lies on."""
    disk.build("root/mnt/", "root/mine.md: m")
    mount("-t", "tmpfs", "-o", "size=1m", "none", disk.path("root/mnt"))
    disk.build("root/mnt/sub/")
    with disk.open_root(policy=Policy(mounts=Mounts.ALLOW)) as root:
        for path in ("mnt/new.md", "mnt/sub/new.md", "mnt/not/there/new.md", "mnt"):
            assert root.space(P(path)).total == 1 << 20
        for path in ("new.md", "not/there/new.md", "mine.md"):
            assert root.space(P(path)).total > 1 << 20
    with disk.open_root() as root:
        assert root.space(P("mnt/new.md")).total > 1 << 20


def no_inode_left(disk: Tree) -> None:
    """A folder made for a create goes again when the file in it cannot be made."""
    disk.build("root/")
    mount("-t", "tmpfs", "-o", "nr_inodes=5", "none", disk.path("root"))
    with disk.open_root() as root:
        root.create(P("a.md"), b"a")
        with pytest.raises(StorageFailed) as caught:
            root.create(P("one/two/three/b.md"), b"b")
        assert caught.value.errno == errno.ENOSPC
    assert disk.snapshot("root") == {"a.md": b"a"}


def read_only(disk: Tree) -> None:
    disk.build("root/")
    mount("-t", "tmpfs", "none", disk.path("root"))
    disk.build("root/a.md: a")
    mount("-o", "remount,bind,ro", disk.path("root"))
    with disk.open_root() as root:
        assert root.read(P("a.md")).data == b"a"
        seen = root.stat(P("a.md"))
        attempts: tuple[Callable[[Root], object], ...] = (
            lambda each: each.create(P("b.md"), b"b"),
            lambda each: each.create(P("sub/b.md"), b"b"),
            lambda each: each.replace(P("a.md"), b"b", expect=seen),
            lambda each: each.move(P("a.md"), P("b.md"), expect=seen),
            lambda each: each.trash(P("a.md"), entry=ENTRY, expect=lambda _: True),
            lambda each: each.check_folder(ROOT),
        )
        for attempt in attempts:
            with pytest.raises(StorageFailed) as caught:
                attempt(root)
            assert caught.value.errno == errno.EROFS
        with root.lock(timeout=1):
            found = root.features()
        assert (found.rename_flags, found.lock, found.folder_sync) == (None, "directory", True)
    assert disk.snapshot("root") == {"a.md": b"a"}


def watching(disk: Tree) -> None:
    """A mount is watched where mounts may be entered, and nowhere else; a second way to a folder is known as such."""
    disk.build("outside/deep/a.md: a", "root/mnt/covered.md: c", "root/plain/a.md: a", "root/twin/")
    mount("--bind", disk.path("outside"), disk.path("root/mnt"))
    mount("--bind", disk.path("root/plain"), disk.path("root/twin"))
    with disk.open_root() as root, root.watch() as watcher:
        assert watcher.settle(60)
        assert watcher.take().unwatched == ()
        assert watcher.status().folders == 2
        disk.write("outside/deep/a.md", b"b")
        assert watcher.settle(60)
        assert not watcher.take()
        disk.write("root/twin/a.md", b"b")  # it is the same folder
        assert watcher.settle(60)
        assert watcher.take().files == {P("plain/a.md")}
    with disk.open_root(policy=Policy(mounts=Mounts.ALLOW)) as root, root.watch() as watcher:
        assert watcher.settle(60)
        watcher.take()
        assert watcher.status().folders == 4
        disk.write("outside/deep/a.md", b"c")
        assert watcher.settle(60)
        assert watcher.take().files == {P("mnt/deep/a.md")}
        disk.write("root/plain/a.md", b"c")
        assert watcher.settle(60)
        dirty = watcher.take()
        assert all(dirty.covers(P(path)) for path in ("plain/a.md", "twin/a.md"))
        assert dirty.everything is False


def watching_what_is_unmounted(disk: Tree) -> None:
    """When its file system goes, a folder is looked at again, and then it is what was covered."""
    disk.build("root/mnt/covered.md: c", "root/a.md: a")
    mount("-t", "tmpfs", "none", disk.path("root/mnt"))
    disk.build("root/mnt/deep/b.md: b")
    with disk.open_root(policy=Policy(mounts=Mounts.ALLOW)) as root, root.watch() as watcher:
        assert watcher.settle(60)
        watcher.take()
        assert watcher.status().folders == 3
        subprocess.run(["umount", disk.path("root/mnt")], check=True)
        assert watcher.settle(60)
        assert watcher.take().covers(P("mnt/deep/b.md"))
        assert watcher.status().folders == 2
        disk.write("root/mnt/covered.md", b"d")
        assert watcher.settle(60)
        assert watcher.take().files == {P("mnt/covered.md")}


CASES: dict[str, Callable[[Tree], None]] = {
    case.__name__: case
    for case in (
        bind_mount_of_a_folder,
        bind_mount_of_a_file,
        other_file_system,
        link_to_a_mount,
        trash_that_is_a_mount,
        full_disk,
        space_of_a_mount,
        no_inode_left,
        read_only,
        watching,
        watching_what_is_unmounted,
    )
}

if __name__ == "__main__":
    _, name, base, chosen = sys.argv
    CASES[name](Tree(base, cast(ResolverChoice, chosen)))
