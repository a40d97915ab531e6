"""Trash and restore: one step, verified after the step, given back otherwise, never over anything."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from enum import StrEnum

import pytest

from sandbox import _linux
from sandbox.errors import (
    Displaced,
    Exists,
    HardLinkRefused,
    IdentityChanged,
    InvalidPath,
    LinkRefused,
    Missing,
    NotRegular,
    StorageFailed,
    TooLarge,
    TrashUnusable,
    UnacceptableName,
    Unsettled,
)
from sandbox.names import ROOT, RelPath, is_entry_name
from sandbox.policy import Policy
from sandbox.root import Root
from sandbox.steps import Step
from tests.disk import Interruption, Tree

P = RelPath.parse
ENTRY = "20260728T101112Z-" + "0123456789abcdef" * 2
OLDER = "20250101T000000Z-" + "f" * 32


class Boom(Exception):
    """What an observer raises to stand for any failure."""


def expecting(wanted: bytes) -> Callable[[bytes], bool]:
    return lambda data: data == wanted


@pytest.fixture(params=["rename flags", "no rename flags"])
def flags(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file system with and without renameat2's flags."""
    if request.param == "no rename flags":

        def refuse(*arguments: object, **more: object) -> None:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

        monkeypatch.setattr(_linux, "renameat2", refuse)
    return str(request.param)


@pytest.mark.usefixtures("flags")
def test_trashed_file_lies_in_its_entry_under_its_own_path_and_comes_back(disk: Tree) -> None:
    disk.build("root/a/b.md: text")
    with disk.open_root() as root:
        root.trash(P("a/b.md"), entry=ENTRY, expect=expecting(b"text"))
        assert disk.snapshot("root") == {
            "a": "folder",
            ".trash": "folder",
            f".trash/{ENTRY}": "folder",
            f".trash/{ENTRY}/a": "folder",
            f".trash/{ENTRY}/a/b.md": b"text",
        }
        assert root.receipt(P("a/b.md"), entry=ENTRY) == b"text"
        assert root.trash_entries() == (ENTRY,)
        trashed = root.trashed(ENTRY)
        assert trashed is not None
        assert trashed.path == P("a/b.md")
        assert trashed.identity.ino == os.stat(disk.path(f"root/.trash/{ENTRY}/a/b.md")).st_ino
        assert root.restore(ENTRY) == P("a/b.md")
        assert root.receipt(P("a/b.md"), entry=ENTRY) is None
        assert root.trash_entries() == ()
    assert disk.snapshot("root") == {"a": "folder", "a/b.md": b"text", ".trash": "folder"}


def test_folders_of_the_trash_are_private(disk: Tree) -> None:
    disk.build("root/a/b.md: text")
    with disk.open_root() as root:
        root.trash(P("a/b.md"), entry=ENTRY, expect=expecting(b"text"))
    for folder in (".trash", f".trash/{ENTRY}", f".trash/{ENTRY}/a"):
        assert stat.S_IMODE(os.stat(disk.path(f"root/{folder}")).st_mode) == 0o700


def test_path_as_long_as_a_path_may_be_can_be_trashed_and_restored(disk: Tree) -> None:
    """Entry and path together are longer than the kernel takes in one call."""
    path = RelPath((*("d" * 254 for _ in range(15)), "n" * 254))
    assert len(path.encoded()) == 4079
    with disk.open_root() as root:
        root.create(path, b"deep")
        root.trash(path, entry=ENTRY, expect=expecting(b"deep"))
        assert root.receipt(path, entry=ENTRY) == b"deep"
        assert root.restore(ENTRY) == path
        assert root.read(path).data == b"deep"
        deepest = RelPath(("x",) * 64)
        root.create(deepest, b"deepest")
        root.trash(deepest, entry=ENTRY, expect=expecting(b"deepest"))
        assert root.restore(ENTRY) == deepest


@pytest.mark.usefixtures("flags")
def test_other_bytes_than_expected_stay_in_place(disk: Tree) -> None:
    disk.build("root/a/b.md: other")
    with disk.open_root() as root, pytest.raises(IdentityChanged):
        root.trash(P("a/b.md"), entry=ENTRY, expect=expecting(b"text"))
    assert disk.snapshot("root") == {"a": "folder", "a/b.md": b"other"}


@pytest.mark.usefixtures("flags")
@pytest.mark.parametrize("swapped_for", ["text", "link", "fifo", "folder", "hard link", "too large"])
def test_object_swapped_in_after_the_look_goes_back(disk: Tree, swapped_for: str) -> None:
    """The rename takes whatever has the name; the look at what arrived is what decides."""
    disk.build("secret.md: text", "root/a.md: text")

    def swap() -> None:
        os.unlink(disk.path("root/a.md"))
        lines = {
            "text": "root/a.md: stranger",
            "link": "root/a.md => ../secret.md",
            "fifo": "root/a.md | fifo",
            "folder": "root/a.md/inner",
            "hard link": "root/a.md == secret.md",
            "too large": "root/a.md: " + "x" * 101,
        }
        disk.build(lines[swapped_for])

    late = Interruption(Step.TRASH_ENTRY_MADE, swap)
    with disk.open_root(policy=Policy(max_file_bytes=100), observe=late) as root:
        with pytest.raises(IdentityChanged):
            root.trash(P("a.md"), entry=ENTRY, expect=expecting(b"text"))
        assert root.trash_entries() == ()
        assert root.trashed(ENTRY) is None
    assert late.happened
    left = disk.snapshot("root")
    expected: dict[str, dict[str, object]] = {
        "text": {"a.md": b"stranger"},
        "link": {"a.md": "=> ../secret.md"},
        "fifo": {"a.md": "fifo"},
        "folder": {"a.md": "folder", "a.md/inner": "folder"},
        "hard link": {"a.md": b"text"},
        "too large": {"a.md": b"x" * 101},
    }
    assert left == expected[swapped_for]
    assert disk.read("secret.md") == b"text"


@pytest.mark.usefixtures("flags")
def test_give_back_never_overwrites_a_file_that_took_the_name(disk: Tree) -> None:
    """Then the swapped text stays in the trash: two texts, none lost."""
    disk.build("root/a.md: text")
    swap = Interruption(Step.TRASH_ENTRY_MADE, lambda: disk.save("root/a.md", b"stranger one"))
    take = Interruption(Step.TRASH_MOVED, lambda: disk.write("root/a.md", b"stranger two"))

    def both(step: StrEnum) -> None:
        swap(step)
        take(step)

    with disk.open_root(observe=both) as root, pytest.raises(Displaced):
        root.trash(P("a.md"), entry=ENTRY, expect=expecting(b"text"))
    assert disk.snapshot("root") == {
        "a.md": b"stranger two",
        ".trash": "folder",
        f".trash/{ENTRY}": "folder",
        f".trash/{ENTRY}/a.md": b"stranger one",
    }


@pytest.mark.parametrize("step", [Step.TRASH_ENTRY_MADE, Step.TRASH_MOVED])
def test_failure_before_the_verdict_leaves_the_file_in_place(disk: Tree, step: Step) -> None:
    disk.build("root/a.md: text")

    def boom() -> None:
        raise Boom

    with disk.open_root(observe=Interruption(step, boom)) as root, pytest.raises(Boom):
        root.trash(P("a.md"), entry=ENTRY, expect=expecting(b"text"))
    assert disk.snapshot("root") == {"a.md": b"text"}


def test_verdict_that_raises_leaves_the_file_in_place(disk: Tree) -> None:
    disk.build("root/a.md: text")

    def expect(data: bytes) -> bool:
        raise Boom

    with disk.open_root() as root, pytest.raises(Boom):
        root.trash(P("a.md"), entry=ENTRY, expect=expect)
    assert disk.snapshot("root") == {"a.md": b"text"}


def test_missing_file_makes_no_entry(disk: Tree) -> None:
    disk.build("root/sub/")
    with disk.open_root() as root:
        for path in ("a.md", "sub/a.md", "none/a.md"):
            with pytest.raises(Missing):
                root.trash(P(path), entry=ENTRY, expect=expecting(b""))
        late = Interruption(Step.TRASH_ENTRY_MADE, lambda: os.unlink(disk.path("root/b.md")))
    disk.build("root/b.md: b")
    with disk.open_root(observe=late) as root, pytest.raises(Missing):
        root.trash(P("b.md"), entry=ENTRY, expect=expecting(b"b"))
    assert disk.snapshot("root") == {"sub": "folder"}


def test_empty_or_half_made_entry_of_a_killed_call_is_used_again(disk: Tree) -> None:
    disk.build("root/a/b.md: text", f"root/.trash/{ENTRY}/a/")
    with disk.open_root() as root:
        assert root.receipt(P("a/b.md"), entry=ENTRY) is None
        root.trash(P("a/b.md"), entry=ENTRY, expect=expecting(b"text"))
        assert root.receipt(P("a/b.md"), entry=ENTRY) == b"text"


@pytest.mark.usefixtures("flags")
def test_entry_that_holds_the_file_already_is_never_overwritten(disk: Tree) -> None:
    disk.build("root/a.md: text", f"root/.trash/{ENTRY}/a.md: first")
    before = disk.snapshot()
    with disk.open_root() as root, pytest.raises(Exists):
        root.trash(P("a.md"), entry=ENTRY, expect=expecting(b"text"))
    assert disk.snapshot() == before


UNUSABLE = {
    "trash is a link out": ("outside/", "root/.trash => ../outside"),
    "trash is a link inside": ("root/sub/", "root/.trash => sub"),
    "trash is a dangling link": ("root/.trash => gone",),
    "trash is a file": ("root/.trash: file",),
    "trash is a fifo": ("root/.trash | fifo",),
    "entry is a link out": ("outside/", "root/.trash/", f"root/.trash/{ENTRY} => ../../outside"),
    "entry is a file": (f"root/.trash/{ENTRY}: file",),
    "folder in the entry is a link out": ("outside/", f"root/.trash/{ENTRY}/a => ../../../outside"),
    "folder in the entry is a file": (f"root/.trash/{ENTRY}/a: file",),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_trash_that_is_no_plain_folder_is_unusable_and_nothing_moves(disk: Tree, case: str) -> None:
    disk.build("root/a/b.md: text", *UNUSABLE[case])
    before = disk.snapshot()
    with disk.open_root() as root:
        with pytest.raises(TrashUnusable):
            root.trash(P("a/b.md"), entry=ENTRY, expect=expecting(b"text"))
        with pytest.raises(TrashUnusable):
            root.receipt(P("a/b.md"), entry=ENTRY)
        if case.startswith("trash"):
            for attempt in (root.trash_entries, lambda: root.trashed(ENTRY), lambda: root.restore(ENTRY)):
                with pytest.raises(TrashUnusable):
                    attempt()
        elif case != "folder in the entry is a file":
            assert root.trashed(ENTRY) is None
            with pytest.raises(Missing):
                root.restore(ENTRY)
    assert disk.snapshot() == before


def test_receipt_is_judged_like_any_file(disk: Tree) -> None:
    disk.build("secret.md: s", f"root/.trash/{ENTRY}/hard.md == secret.md")
    disk.build(f"root/.trash/{ENTRY}/link.md => ../../../secret.md", f"root/.trash/{ENTRY}/pipe.md | fifo")
    disk.build(f"root/.trash/{ENTRY}/large.md: " + "x" * 11)
    with disk.open_root(policy=Policy(max_file_bytes=10)) as root:
        for name, refusal in (
            ("hard.md", HardLinkRefused),
            ("link.md", LinkRefused),
            ("pipe.md", NotRegular),
            ("large.md", TooLarge),
        ):
            with pytest.raises(refusal):
                root.receipt(P(name), entry=ENTRY)
        assert root.receipt(P("none.md"), entry=ENTRY) is None
        assert root.receipt(P("none/none.md"), entry=ENTRY) is None
        with pytest.raises(InvalidPath):
            root.receipt(ROOT, entry=ENTRY)


@pytest.mark.parametrize(
    "entry", ["", ".", "..", "../x", "x", ENTRY + "/a", ENTRY.upper(), ENTRY + "\n", "swept-1"]
)
def test_entry_of_another_name_is_refused(disk: Tree, entry: str) -> None:
    disk.build("root/a.md: a", "root/.trash/")
    assert not is_entry_name(entry)
    with disk.open_root() as root:
        attempts: tuple[Callable[[], object], ...] = (
            lambda: root.trash(P("a.md"), entry=entry, expect=expecting(b"a")),
            lambda: root.receipt(P("a.md"), entry=entry),
            lambda: root.trashed(entry),
            lambda: root.restore(entry),
        )
        for attempt in attempts:
            with pytest.raises(InvalidPath):
                attempt()
    assert disk.snapshot("root") == {"a.md": b"a", ".trash": "folder"}


def test_entries_are_listed_newest_first_without_what_is_not_ours(disk: Tree) -> None:
    disk.build(f"root/.trash/{OLDER}/a.md: a", f"root/.trash/{ENTRY}/b.md: b")
    disk.build(
        "root/.trash/foreign.md: f", "root/.trash/folder/x.md: x", "root/.trash/swept-20260101T000000Z/"
    )
    disk.build(
        f"root/.trash/20240101T000000Z-{'a' * 32}: a file",
        f"root/.trash/20230101T000000Z-{'a' * 32} => folder",
    )
    with disk.open_root() as root:
        assert root.trash_entries() == (ENTRY, OLDER)


def test_empty_folders_that_a_killed_call_left_in_an_entry_do_not_matter(disk: Tree) -> None:
    disk.build(f"root/.trash/{ENTRY}/x/a.md: a", f"root/.trash/{ENTRY}/x/y/", f"root/.trash/{ENTRY}/b/c/")
    with disk.open_root() as root:
        assert root.restore(ENTRY) == RelPath.parse("x/a.md")
    assert disk.read("root/x/a.md") == b"a"


FOREIGN = {
    "empty": (f"root/.trash/{ENTRY}/",),
    "empty folders": (f"root/.trash/{ENTRY}/a/b/",),
    "two files": (f"root/.trash/{ENTRY}/a.md: a", f"root/.trash/{ENTRY}/b.md: b"),
    "file and a folder with one": (f"root/.trash/{ENTRY}/a.md: a", f"root/.trash/{ENTRY}/b/c.md: c"),
    "file and a folder with a link": (f"root/.trash/{ENTRY}/a.md: a", f"root/.trash/{ENTRY}/b/c => ../a.md"),
    "two files below": (f"root/.trash/{ENTRY}/x/a.md: a", f"root/.trash/{ENTRY}/x/b.md: b"),
    "link": ("root/a.md: a", f"root/.trash/{ENTRY}/a.md => ../../a.md"),
    "folder link": ("root/x/a.md: a", f"root/.trash/{ENTRY}/x => ../../x"),
    "fifo": (f"root/.trash/{ENTRY}/a.md | fifo",),
    "backslash": (f"root/.trash/{ENTRY}/a\\b.md: a",),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_entry_that_is_not_one_file_is_nothing_to_restore(disk: Tree, case: str) -> None:
    disk.build(*FOREIGN[case])
    before = disk.snapshot()
    with disk.open_root() as root:
        assert root.trashed(ENTRY) is None
        with pytest.raises(Missing):
            root.restore(ENTRY)
    assert disk.snapshot() == before


def test_entry_deeper_than_a_path_may_be_is_not_ours(disk: Tree) -> None:
    disk.build(f"root/.trash/{ENTRY}/" + "/".join(["d"] * 64) + "/a.md: a")
    with disk.open_root() as root:
        assert root.trashed(ENTRY) is None


@pytest.mark.usefixtures("flags")
def test_restore_never_overwrites_and_leaves_the_entry(disk: Tree) -> None:
    disk.build(f"root/.trash/{ENTRY}/a.md: trashed", "root/a.md: mine", "root/link.md => a.md")
    before = disk.snapshot()
    with disk.open_root() as root:
        for target in (None, P("a.md"), P("link.md")):
            with pytest.raises(Exists):
                root.restore(ENTRY, target)
        assert disk.snapshot() == before
        assert root.restore(ENTRY, P("new/place.md")) == P("new/place.md")
    assert disk.snapshot("root") == {
        "a.md": b"mine",
        "link.md": "=> a.md",
        "new": "folder",
        "new/place.md": b"trashed",
        ".trash": "folder",
    }


def test_file_that_appears_during_a_restore_stays(disk: Tree) -> None:
    disk.build(f"root/.trash/{ENTRY}/x/a.md: trashed")
    late = Interruption(Step.RESTORE_FOLDERS_MADE, lambda: disk.write("root/x/a.md", b"stranger"))
    with disk.open_root(observe=late) as root, pytest.raises(Exists):
        root.restore(ENTRY)
    assert disk.read("root/x/a.md") == b"stranger"
    assert disk.read(f"root/.trash/{ENTRY}/x/a.md") == b"trashed"


def test_restore_of_an_entry_swapped_after_the_look_goes_back(disk: Tree) -> None:
    disk.build(f"root/.trash/{ENTRY}/a.md: trashed", "secret.md: s")

    def swap() -> None:
        os.unlink(disk.path(f"root/.trash/{ENTRY}/a.md"))
        disk.build(f"root/.trash/{ENTRY}/a.md => ../../../secret.md")

    late = Interruption(Step.RESTORE_FOLDERS_MADE, swap)
    with disk.open_root(observe=late) as root, pytest.raises(IdentityChanged):
        root.restore(ENTRY, P("new/b.md"))
    assert disk.snapshot("root") == {
        ".trash": "folder",
        f".trash/{ENTRY}": "folder",
        f".trash/{ENTRY}/a.md": "=> ../../../secret.md",
    }


def test_hard_link_in_the_trash_is_not_restored(disk: Tree) -> None:
    disk.build("secret.md: s", f"root/.trash/{ENTRY}/a.md == secret.md")
    with disk.open_root() as root, pytest.raises(HardLinkRefused):
        root.restore(ENTRY)
    assert not disk.exists("root/a.md")


def test_restore_to_a_link_folder_or_a_reserved_name_is_refused(disk: Tree) -> None:
    disk.build(f"root/.trash/{ENTRY}/a.md: trashed", "outside/", "root/out => ../outside")
    before = disk.snapshot()
    with disk.open_root() as root:
        with pytest.raises(LinkRefused):
            root.restore(ENTRY, P("out/a.md"))
        with pytest.raises(UnacceptableName):
            root.restore(ENTRY, P(".trash/a.md"))
        with pytest.raises(InvalidPath):
            root.restore(ENTRY, ROOT)
    assert disk.snapshot() == before


def test_restore_tidies_only_what_is_empty(disk: Tree) -> None:
    """What somebody put beside the file while it moved stays."""
    disk.build(f"root/.trash/{ENTRY}/x/y/a.md: trashed")
    late = Interruption(
        Step.RESTORE_DURABLE, lambda: disk.write(f"root/.trash/{ENTRY}/x/theirs.md", b"theirs")
    )
    with disk.open_root(observe=late) as root:
        root.restore(ENTRY)
    assert disk.snapshot("root") == {
        "x": "folder",
        "x/y": "folder",
        "x/y/a.md": b"trashed",
        ".trash": "folder",
        f".trash/{ENTRY}": "folder",
        f".trash/{ENTRY}/x": "folder",
        f".trash/{ENTRY}/x/theirs.md": b"theirs",
    }


def test_read_error_at_the_verdict_is_told_as_one_and_the_file_goes_back(
    disk: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.build("root/a.md: text")

    def fail(fd: int, count: int) -> bytes:
        raise OSError(errno.EIO, "bad sector")

    with disk.open_root() as root:
        monkeypatch.setattr(os, "read", fail)
        with pytest.raises(StorageFailed) as caught:
            root.trash(P("a.md"), entry=ENTRY, expect=expecting(b"text"))
        monkeypatch.undo()
    assert caught.value.errno == errno.EIO
    assert not isinstance(caught.value, Unsettled)
    assert disk.snapshot("root") == {"a.md": b"text"}


def fail(*arguments: object, **more: object) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_file_that_can_neither_be_verified_nor_go_back_is_unsettled_in_its_entry(
    disk: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.build("root/a.md: text")

    def die() -> None:
        monkeypatch.setattr(os, "read", fail)
        monkeypatch.setattr("sandbox.moving.move_file", fail)

    with disk.open_root(observe=Interruption(Step.TRASH_MOVED, die)) as root:
        with pytest.raises(Unsettled) as caught:
            root.trash(P("a.md"), entry=ENTRY, expect=expecting(b"text"))
        monkeypatch.undo()
        assert root.receipt(P("a.md"), entry=ENTRY) == b"text"
    assert caught.value.errno == errno.EIO


@pytest.mark.usefixtures("flags")
def test_restored_file_that_is_written_at_once_stays_where_it_is(disk: Tree) -> None:
    disk.build(f"root/.trash/{ENTRY}/a.md: trashed")
    edit = Interruption(Step.RESTORE_MOVED, lambda: disk.write("root/a.md", b"an edit after arrival"))
    with disk.open_root(observe=edit) as root:
        assert root.restore(ENTRY) == P("a.md")
    assert edit.happened
    assert disk.snapshot("root") == {"a.md": b"an edit after arrival", ".trash": "folder"}


def test_swapped_entry_whose_own_name_is_taken_is_told_as_displaced(disk: Tree) -> None:
    disk.build(f"root/.trash/{ENTRY}/a.md: trashed")
    entry = f"root/.trash/{ENTRY}/a.md"
    swap = Interruption(Step.RESTORE_FOLDERS_MADE, lambda: disk.save(entry, b"stranger one"))
    take = Interruption(Step.RESTORE_MOVED, lambda: disk.write(entry, b"stranger two"))

    def both(step: StrEnum) -> None:
        swap(step)
        take(step)

    with disk.open_root(observe=both) as root, pytest.raises(Displaced):
        root.restore(ENTRY)
    assert disk.read("root/a.md") == b"stranger one"
    assert disk.read(entry) == b"stranger two"


@pytest.mark.parametrize("lasts", [False, True])
@pytest.mark.parametrize("flags", ["no rename flags"], indirect=True)
@pytest.mark.usefixtures("flags")
def test_restore_by_links_whose_second_step_fails_is_undone_or_unsettled(
    disk: Tree, monkeypatch: pytest.MonkeyPatch, *, lasts: bool
) -> None:
    disk.build(f"root/.trash/{ENTRY}/a.md: trashed")
    before, rename = disk.snapshot(), os.rename

    def once(*arguments: object, **more: object) -> None:
        if not lasts:
            monkeypatch.setattr(os, "rename", rename)
        fail()

    with disk.open_root() as root:
        monkeypatch.setattr(os, "rename", once)
        with pytest.raises(StorageFailed) as caught:
            root.restore(ENTRY)
        monkeypatch.setattr(os, "rename", rename)
        assert isinstance(caught.value, Unsettled) is lasts
        assert disk.exists("root/a.md") is lasts
        assert disk.read(f"root/.trash/{ENTRY}/a.md") == b"trashed"
        if not lasts:
            assert disk.snapshot() == before
            assert root.restore(ENTRY) == P("a.md")


def test_trash_is_not_reached_by_ordinary_changes(disk: Tree) -> None:
    disk.build(f"root/.trash/{ENTRY}/a.md: trashed")
    with disk.open_root() as root:
        path = P(f".trash/{ENTRY}/a.md")
        seen = root.stat(path)
        attempts: tuple[Callable[[Root], object], ...] = (
            lambda each: each.replace(path, b"x", expect=seen),
            lambda each: each.move(path, P("b.md"), expect=seen),
            lambda each: each.trash(path, entry=OLDER, expect=expecting(b"trashed")),
        )
        for attempt in attempts:
            with pytest.raises(UnacceptableName):
                attempt(root)
    assert disk.read(f"root/.trash/{ENTRY}/a.md") == b"trashed"
