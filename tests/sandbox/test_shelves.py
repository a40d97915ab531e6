"""Reading many files of one folder gives what reading each gives, and refuses what that refuses."""

from __future__ import annotations

import os

import pytest

from sandbox.errors import Missing, RootUnusable, SandboxError
from sandbox.names import RelPath
from sandbox.policy import HardLinks, Links, Policy
from tests.disk import Tree

P = RelPath.parse
NAMES = [
    "a.md",
    "empty.md",
    "large.md",
    "link.md",
    "out.md",
    "hard.md",
    "pipe.md",
    "folder.md",
    "gone.md",
    "b.md",
]


def _build(disk: Tree) -> None:
    disk.build(
        "root/sub/a.md: text", "root/sub/empty.md: ", "root/sub/large.md: " + "x" * 101, "root/sub/link.md => a.md",
        "root/sub/out.md => ../../secret.md", "secret.md: secret", "root/sub/hard.md == secret.md",
        "root/sub/pipe.md | fifo", "root/sub/folder.md/", "root/sub/b.md: " + "y" * 100,
    )  # fmt: skip


@pytest.mark.parametrize("hard_links", list(HardLinks))
@pytest.mark.parametrize("links", list(Links))
def test_each_file_is_read_or_refused_as_by_its_path(disk: Tree, links: Links, hard_links: HardLinks) -> None:
    policy = Policy(max_file_bytes=100, links=links, hard_links=hard_links)
    _build(disk)
    if links is Links.WITHIN and disk.resolver == "walk":
        with pytest.raises(RootUnusable):
            disk.open_root("root", policy)
        return
    with disk.open_root("root", policy) as root, root.shelf(P("sub")) as shelf:
        outcomes = set()
        for name in NAMES:
            try:
                wanted: object = root.read(P(f"sub/{name}")).data
            except SandboxError as error:
                wanted = type(error)
            try:
                got: object = shelf.read(name)
            except SandboxError as error:
                got = type(error)
            assert got == wanted, name
            outcomes.add(type(got))
    assert outcomes == {bytes, type}


def test_a_folder_that_is_moved_meanwhile_is_still_the_one_that_was_opened(disk: Tree) -> None:
    _build(disk)
    with disk.open_root() as root, root.shelf(P("sub")) as shelf:
        os.rename(disk.path("root/sub"), disk.path("root/other"))
        disk.build("root/sub/a.md: another")
        assert shelf.read("a.md") == b"text"


@pytest.mark.parametrize("path", ["gone", "sub/a.md"])
def test_what_is_no_folder_is_not_opened(disk: Tree, path: str) -> None:
    _build(disk)
    with disk.open_root() as root, pytest.raises(SandboxError):
        root.shelf(P(path))


def test_shelves_read_what_reading_each_reads_and_hold_one_folder_open(disk: Tree) -> None:
    _build(disk)
    disk.build("root/other/a.md: other", "root/top.md: top")
    with disk.open_root() as root:
        shelves = root.shelves()
        before = len(os.listdir("/proc/self/fd"))
        paths = ["sub/a.md", "sub/b.md", "top.md", "other/a.md", "sub/a.md"]
        assert [shelves.read(path) for path in paths] == [root.read(P(path)).data for path in paths]
        assert len(os.listdir("/proc/self/fd")) == before + 1
        with pytest.raises(Missing):
            shelves.read("gone/a.md")
        assert len(os.listdir("/proc/self/fd")) == before
        assert shelves.read("other/a.md") == b"other"
        shelves.close()
        shelves.close()
        assert len(os.listdir("/proc/self/fd")) == before
