"""Several files change together: all texts are written before the first is put, and a refusal leaves all as it was."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from sandbox.errors import (
    Escape,
    Exists,
    HardLinkRefused,
    IdentityChanged,
    InvalidPath,
    Missing,
    NotAFolder,
    StorageFailed,
    TooLarge,
    UnacceptableName,
)
from sandbox.names import ROOT, RelPath
from sandbox.policy import Links, Policy
from sandbox.root import Change, Root
from sandbox.steps import Step
from tests.disk import Tree
from tests.require import has_openat2, require

P = RelPath.parse


def _changes(root: Root, *paths: str) -> list[Change]:
    return [Change(P(path), b"new", root.stat(P(path))) for path in paths]


def _left(disk: Tree) -> list[str]:
    return [path for path in disk.snapshot("root") if ".~fsn-" in path]


def test_staged_texts_are_put_one_by_one_and_keep_modes(disk: Tree) -> None:
    disk.build("root/a.md: a", "root/sub/b.md: b")
    os.chmod(disk.path("root/a.md"), 0o640)
    with disk.open_root() as root:
        first, second = root.stage(_changes(root, "a.md", "sub/b.md"))
        assert (disk.read("root/a.md"), disk.read("root/sub/b.md")) == (b"a", b"b")
        root.put(first, aside=ROOT, path=P("a.md"))
        assert (disk.read("root/a.md"), disk.read("root/sub/b.md")) == (b"new", b"b")
        root.put(second, aside=P("sub"), path=P("sub/b.md"))
        root.sync([ROOT, P("sub")])
    assert disk.snapshot("root") == {"a.md": b"new", "sub": "folder", "sub/b.md": b"new"}
    assert stat.S_IMODE(os.stat(disk.path("root/a.md")).st_mode) == 0o640


def test_a_staged_text_follows_its_file_to_another_folder(disk: Tree) -> None:
    disk.build("root/a.md: a", "root/other/")
    with disk.open_root() as root:
        expect = root.stat(P("a.md"))
        (staged,) = root.stage([Change(P("a.md"), b"new", expect)])
        root.move(P("a.md"), P("other/b.md"), expect=expect)
        root.put(staged, aside=ROOT, path=P("other/b.md"))
    assert disk.snapshot("root") == {"other": "folder", "other/b.md": b"new"}


def test_a_staged_text_follows_its_folder(disk: Tree) -> None:
    disk.build("root/old/deep/a.md: a")
    with disk.open_root() as root:
        (staged,) = root.stage(_changes(root, "old/deep/a.md"))
        root.move_folder(P("old"), P("made/new"), expect=root.stamp(P("old")))
        root.put(staged, aside=P("made/new/deep"), path=P("made/new/deep/a.md"))
    assert disk.read("root/made/new/deep/a.md") == b"new"
    assert _left(disk) == []


@pytest.mark.parametrize("bad", ["gone", "changed", "too large", "linked", "ours"])
def test_one_text_that_cannot_be_staged_leaves_nothing_of_the_others(disk: Tree, bad: str) -> None:
    disk.build("root/a.md: a", "root/b.md: b")
    with disk.open_root("root", Policy(max_file_bytes=5)) as root:
        good, other = _changes(root, "a.md", "b.md")
        refused: type[Exception] = IdentityChanged
        match bad:
            case "gone":
                os.unlink(disk.path("root/b.md"))
                refused = Missing
            case "changed":
                disk.save("root/b.md", b"bb")
            case "too large":
                other, refused = Change(other.path, b"123456", other.expect), TooLarge
            case "linked":
                os.link(disk.path("root/b.md"), disk.path("b.md"))
                refused = HardLinkRefused
            case "ours":
                other, refused = Change(P(".trash/b.md"), b"x", other.expect), UnacceptableName
        before = disk.snapshot()
        with pytest.raises(refused):
            root.stage([good, other])
    assert disk.snapshot() == before


def test_a_full_disk_leaves_nothing_of_the_others(disk: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    disk.build("root/a.md: a", "root/b.md: b")
    real, calls = os.write, iter(range(10))

    def write(fd: int, data: bytes) -> int:
        if next(calls) == 1:
            raise OSError(28, os.strerror(28))
        return real(fd, data)

    before = disk.snapshot()
    monkeypatch.setattr("os.write", write)
    with disk.open_root() as root, pytest.raises(StorageFailed):
        root.stage(_changes(root, "a.md", "b.md"))
    assert disk.snapshot() == before


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_file_that_may_not_be_replaced_keeps_no_other_from_its_text(
    disk: Tree, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    disk.build("root/a.md: a", "root/b.md: b", "root/c.md: c")
    real, calls = os.write, iter(range(10))

    def write(fd: int, data: bytes) -> int:
        if next(calls) == 1:
            raise OSError(number, os.strerror(number))
        return real(fd, data)

    monkeypatch.setattr("os.write", write)
    with disk.open_root() as root:
        staged = root.stage(_changes(root, "a.md", "b.md", "c.md"))
        assert [None if each is None else str(each.path) for each in staged] == ["a.md", None, "c.md"]
        assert len(_left(disk)) == 2
        root.drop(staged)
    assert disk.snapshot("root") == {"a.md": b"a", "b.md": b"b", "c.md": b"c"}


def test_a_folder_that_is_gone_needs_no_syncing(disk: Tree) -> None:
    disk.build("root/file: ")
    seen = []
    with disk.open_root("root", observe=seen.append) as root:
        root.sync([P("gone"), P("file"), ROOT])
    assert seen == [Step.STAGE_DURABLE]


def test_a_file_that_a_stranger_saved_since_keeps_that_text(disk: Tree) -> None:
    disk.build("root/a.md: a")
    with disk.open_root() as root:
        (staged,) = root.stage(_changes(root, "a.md"))
        disk.save("root/a.md", b"stranger")
        with pytest.raises(IdentityChanged):
            root.put(staged, aside=ROOT, path=P("a.md"))
    assert disk.snapshot("root") == {"a.md": b"stranger"}


def test_dropping_removes_what_waits_and_nothing_else(disk: Tree) -> None:
    disk.build("root/a.md: a", "root/sub/b.md: b")
    with disk.open_root() as root:
        before = disk.snapshot()
        staged = root.stage(_changes(root, "a.md", "sub/b.md"))
        assert len(_left(disk)) == 2
        root.drop(staged)
        root.drop(staged)
    assert disk.snapshot() == before


def test_what_waits_in_a_folder_that_has_moved_is_dropped_there(disk: Tree) -> None:
    disk.build("root/old/deep/a.md: a", "root/b.md: b")
    with disk.open_root() as root:
        staged = root.stage(_changes(root, "old/deep/a.md", "b.md"))
        root.move_folder(P("old"), P("new"), expect=root.stamp(P("old")))
        root.drop(staged, moved=lambda folder: P("new/deep") if folder.parts else folder)
    assert disk.snapshot("root") == {
        "new": "folder", "new/deep": "folder", "new/deep/a.md": b"a", "b.md": b"b",
    }  # fmt: skip


def test_what_a_stranger_has_put_in_the_place_of_a_text_is_not_dropped(disk: Tree) -> None:
    disk.build("root/old/a.md: a")
    with disk.open_root() as root:
        staged = root.stage(_changes(root, "old/a.md"))
        root.move_folder(P("old"), P("new"), expect=root.stamp(P("old")))
        (name,) = _left(disk)
        disk.save(f"root/{name}", b"stranger")
        root.drop(staged, moved=lambda _: P("new"))
    assert disk.read(f"root/{name}") == b"stranger"


@pytest.mark.parametrize("path", ["gone/b.md", "other", "link/b.md"])
def test_a_text_that_finds_no_place_does_not_wait_any_more(disk: Tree, path: str) -> None:
    disk.build("root/a.md: a", "root/other: file", "root/link => .")
    with disk.open_root() as root:
        (staged,) = root.stage(_changes(root, "a.md"))
        with pytest.raises((Missing, NotAFolder, Escape, IdentityChanged)):
            root.put(staged, aside=ROOT, path=P(path))
    assert disk.snapshot("root") == {"a.md": b"a", "other": b"file", "link": "=> ."}


def test_all_is_written_and_synced_before_anything_is_put(disk: Tree) -> None:
    disk.build("root/a.md: a", "root/b.md: b")
    told: list[str] = []
    with disk.open_root(observe=lambda step: told.append(step)) as root:
        for each in root.stage(_changes(root, "a.md", "b.md")):
            root.put(each, aside=ROOT, path=each.path)
        root.sync([ROOT])
    assert told.index(Step.STAGE_SYNCED) < told.index(Step.REPLACE_EXCHANGED)
    assert told.count(Step.STAGE_PUT) == 2
    assert told[-1] == Step.STAGE_DURABLE


# -- folders that move --------------------------------------------------------------------------


def test_a_folder_moves_with_all_in_it(disk: Tree) -> None:
    disk.build("root/a/b/c.md: c", "root/a/.hidden: h", "root/a/link => b")
    with disk.open_root() as root:
        root.move_folder(P("a"), P("x/y"), expect=root.stamp(P("a")))
    assert disk.snapshot("root") == {
        "x": "folder", "x/y": "folder", "x/y/b": "folder", "x/y/b/c.md": b"c", "x/y/.hidden": b"h",
        "x/y/link": "=> b",
    }  # fmt: skip


@pytest.mark.parametrize("target", ["a/b", "a/new", "a/b/c/d"])
def test_no_folder_moves_into_itself(disk: Tree, target: str) -> None:
    disk.build("root/a/b/")
    with disk.open_root() as root:
        before = disk.snapshot()
        with pytest.raises(InvalidPath):
            root.move_folder(P("a"), P(target), expect=root.stamp(P("a")))
    assert disk.snapshot() == before


@pytest.mark.parametrize("taken", ["root/x/", "root/x: file", "root/x/full.md: x", "root/x => a"])
def test_no_folder_moves_over_anything(disk: Tree, taken: str) -> None:
    disk.build("root/a/b.md: b", taken)
    with disk.open_root() as root:
        before = disk.snapshot()
        with pytest.raises(Exists):
            root.move_folder(P("a"), P("x"), expect=root.stamp(P("a")))
    assert disk.snapshot() == before


def test_a_file_or_a_link_is_no_folder_to_move(disk: Tree) -> None:
    disk.build("root/a/", "root/link => a", "root/file: f")
    with disk.open_root() as root:
        before, stamp = disk.snapshot(), root.stamp(P("a"))
        with pytest.raises(NotAFolder):
            root.move_folder(P("file"), P("x"), expect=stamp)
        with pytest.raises((Escape, NotAFolder)):
            root.move_folder(P("link"), P("x"), expect=stamp)
    assert disk.snapshot() == before


def test_another_folder_than_the_expected_one_stays(disk: Tree) -> None:
    disk.build("root/a/x.md: x", "root/b/y.md: y")
    with disk.open_root() as root:
        before = disk.snapshot()
        with pytest.raises(IdentityChanged):
            root.move_folder(P("a"), P("c"), expect=root.stamp(P("b")))
    assert disk.snapshot() == before


def test_no_folder_moves_into_itself_by_a_link_that_is_followed(tmp_path: Path) -> None:
    require("openat2", available=has_openat2())
    disk = Tree(tmp_path, "openat2")
    disk.build("root/old/a.md: a", "root/link => old")
    before = disk.snapshot()
    with disk.open_root("root", Policy(links=Links.WITHIN)) as root:
        expect = root.stamp(P("old"))
        for target in ("link/new", "link/made/new"):
            with pytest.raises(InvalidPath):
                root.move_folder(P("old"), P(target), expect=expect)
    assert disk.snapshot() == before


def test_another_file_system_is_told_apart_from_a_path_that_is_refused(
    disk: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.build("root/a.md: a")

    def move_file(*_: object, **more: object) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr("sandbox.moving.move_file", move_file)
    with disk.open_root() as root, pytest.raises(StorageFailed) as refused:
        root.move(P("a.md"), P("made/b.md"), expect=root.stat(P("a.md")))
    assert refused.value.errno == errno.EXDEV
    assert disk.snapshot("root") == {"a.md": b"a"}
