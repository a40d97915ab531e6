"""Looking at many files of one folder at once: each is judged as if it had been looked at by itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import pytest

from sandbox.errors import Missing, NotAFolder, RootUnusable, SandboxError
from sandbox.names import ROOT, RelPath
from sandbox.objects import Entry, FileIdentity, Numbers
from sandbox.policy import HardLinks, Links, Policy
from sandbox.root import Root
from tests.disk import Tree

P = RelPath.parse


def numbers(disk: Tree, path: str) -> Numbers:
    status = os.stat(disk.path(path))
    return status.st_ino, status.st_size, status.st_mtime_ns


def one_by_one(root: Root, folder: RelPath, entries: Sequence[Entry]) -> list[object]:
    found: list[object] = []
    for entry in entries:
        try:
            found.append(root.stat(folder.child(entry.name)))
        except SandboxError as error:
            found.append((type(error), str(error)))
    return found


def together(root: Root, folder: RelPath, entries: Sequence[Entry]) -> list[object]:
    return [
        (type(each), str(each)) if isinstance(each, SandboxError) else each
        for each in root.identities(folder, entries)
    ]


def become_a_link(disk: Tree) -> None:
    os.remove(disk.path("root/sub/b.md"))
    disk.build("root/sub/b.md => ../secret.md")


def become_a_folder(disk: Tree) -> None:
    os.remove(disk.path("root/sub/b.md"))
    disk.build("root/sub/b.md/")


def become_a_fifo(disk: Tree) -> None:
    os.remove(disk.path("root/sub/b.md"))
    os.mkfifo(disk.path("root/sub/b.md"))


def go(disk: Tree) -> None:
    os.remove(disk.path("root/sub/b.md"))


def get_another_name(disk: Tree) -> None:
    os.link(disk.path("root/sub/b.md"), disk.path("elsewhere.md"))


def grow(disk: Tree) -> None:
    disk.write("root/sub/b.md", b"x" * 2_000)


def be_saved_anew(disk: Tree) -> None:
    disk.save("root/sub/b.md", b"new")


CHANGES = [
    become_a_link, become_a_folder, become_a_fifo, go, get_another_name, grow, be_saved_anew,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("hard_links", HardLinks)
def test_what_a_file_has_become_since_the_listing_is_told_as_by_a_look_at_it_alone(
    disk: Tree, change: Callable[[Tree], None], hard_links: HardLinks
) -> None:
    disk.build("secret.md: s", "root/sub/a.md: a", "root/sub/b.md: b", "root/sub/c.md: c")
    folder = P("sub")
    before = numbers(disk, "root/sub/b.md")
    with disk.open_root(policy=Policy(hard_links=hard_links, max_file_bytes=1_000)) as root:
        entries = root.list(folder, with_identity=False).entries
        change(disk)
        assert together(root, folder, entries) == one_by_one(root, folder, entries)
        # What was known of it makes no difference, and the others are known.
        known = {name: numbers(disk, f"root/sub/{name}") for name in ("a.md", "c.md")} | {"b.md": before}
        found = root.identities(folder, entries, known=known)
        assert (found[0], found[2]) == (None, None)
        if change is get_another_name and hard_links is HardLinks.ALLOW:
            assert found[1] is None  # it is still the same, and accepted
        else:
            assert found[1] is not None


def test_a_file_is_known_only_by_all_of_its_numbers(disk: Tree) -> None:
    disk.build("root/a.md: a")
    inode, size, time = numbers(disk, "root/a.md")
    with disk.open_root() as root:
        entries = root.list(with_identity=False).entries
        assert root.identities(ROOT, entries, known={"a.md": (inode, size, time)}) == [None]
        for wrong in ((inode + 1, size, time), (inode, size + 1, time), (inode, size, time + 1)):
            assert root.identities(ROOT, entries, known={"a.md": wrong}) == [root.stat(P("a.md"))]
        assert root.identities(ROOT, entries, known={"b.md": (inode, size, time)}) == [root.stat(P("a.md"))]


def test_files_of_a_folder_that_is_gone_or_of_a_closed_root_are_refused_like_it(disk: Tree) -> None:
    disk.build("root/sub/a.md: a", "root/sub/b.md: b")
    known = {name: numbers(disk, f"root/sub/{name}") for name in ("a.md", "b.md")}
    with disk.open_root() as root:
        entries = root.list(P("sub"), with_identity=False).entries
        os.rename(disk.path("root/sub"), disk.path("moved"))
        assert [type(each) for each in root.identities(P("sub"), entries, known=known)] == [Missing, Missing]
        disk.build("root/sub: a file")
        assert [type(each) for each in root.identities(P("sub"), entries, known=known)] == [NotAFolder] * 2
        os.remove(disk.path("root/sub"))
        disk.build("root/sub => ../moved")
        for each in root.identities(P("sub"), entries, known=known):
            assert isinstance(each, SandboxError)
    assert [type(each) for each in root.identities(P("sub"), entries, known=known)] == [RootUnusable] * 2


def test_where_links_are_followed_a_link_is_what_it_leads_to_and_known_by_nothing(openat2_disk: Tree) -> None:
    disk = openat2_disk
    disk.build("secret.md: s", "root/a.md: a", "root/in.md => a.md", "root/out.md => ../secret.md")
    with disk.open_root(policy=Policy(links=Links.WITHIN)) as root:
        entries = root.list(with_identity=True).entries
        assert together(root, ROOT, entries) == one_by_one(root, ROOT, entries)
        known = {name: numbers(disk, f"root/{name}") for name in ("a.md", "in.md", "out.md")}
        found = root.identities(ROOT, entries, known=known)
        assert isinstance(found[0], FileIdentity)
        assert found[0] == found[1]
        assert isinstance(found[2], SandboxError)


def test_a_file_of_another_device_is_known_by_nothing_that_was_known_of_this_one(
    disk: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is mounted over a file may have its number."""
    disk.build("root/a.md: a")
    known = {"a.md": numbers(disk, "root/a.md")}
    real = os.stat
    with disk.open_root() as root:
        entries = root.list(with_identity=False).entries
        assert root.identities(ROOT, entries, known=known) == [None]

        def elsewhere(path: object, **more: object) -> os.stat_result:
            status = list(real(path, **more))  # type: ignore[call-overload]
            return os.stat_result([*status[:2], status[2] + 1, *status[3:]])

        monkeypatch.setattr("sandbox.reading.os.stat", elsewhere)
        (found,) = root.identities(ROOT, entries, known=known)
    assert isinstance(found, FileIdentity)
