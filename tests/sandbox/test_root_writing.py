"""Create, replace, move: what appears, what stays, what strangers keep."""

from __future__ import annotations

import errno
import os
import stat
import struct
import subprocess
import sys
from collections.abc import Callable
from enum import StrEnum

import pytest

from sandbox import _linux, renaming
from sandbox.beneath import sync_folder
from sandbox.errors import (
    Displaced,
    Exists,
    IdentityChanged,
    InvalidPath,
    Missing,
    NotAFolder,
    StorageFailed,
    UnacceptableName,
    Unsettled,
)
from sandbox.names import ROOT, RelPath
from sandbox.objects import FileIdentity
from sandbox.steps import Step
from tests.disk import Interruption, Tree
from tests.mounts import REPOSITORY
from tests.require import require

P = RelPath.parse


class Boom(Exception):
    """What an observer raises to stand for any failure."""


def raising(step: Step) -> Interruption:
    def boom() -> None:
        raise Boom

    return Interruption(step, boom)


def make_acl(named_uid: int) -> bytes:
    """A POSIX ACL that gives one more user read and write."""
    entries = [
        (1, 6, 2**32 - 1),
        (2, 6, named_uid),
        (4, 4, 2**32 - 1),
        (16, 6, 2**32 - 1),
        (32, 0, 2**32 - 1),
    ]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def set_attribute(path: str, name: str, value: bytes) -> None:
    try:
        os.setxattr(path, name, value)
    except OSError as error:
        require("extended attributes", available=False, why=f"{name}: errno {error.errno}")


# -- create ------------------------------------------------------------------------------------


def test_created_file_has_exactly_the_bytes_and_the_identity_that_was_answered(disk: Tree) -> None:
    data = bytes(range(256)) * 300
    with disk.open_root() as root:
        identity = root.create(P("a/b/c.md"), data)
        assert root.stat(P("a/b/c.md")) == identity
        assert root.read(P("a/b/c.md")).data == data
    assert disk.snapshot("root") == {"a": "folder", "a/b": "folder", "a/b/c.md": data}


@pytest.mark.parametrize("durable", [True, False])
def test_create_never_overwrites(disk: Tree, *, durable: bool) -> None:
    disk.build("root/a.md: mine", "root/folder/", "root/pipe | fifo")
    before = disk.snapshot()
    with disk.open_root() as root:
        for name in ("a.md", "folder", "pipe"):
            with pytest.raises(Exists):
                root.create(P(name), b"theirs", durable=durable)
    assert disk.snapshot() == before


def test_file_that_appears_during_a_create_stays(disk: Tree) -> None:
    disk.build("root/")
    late = Interruption(Step.CREATE_SYNCED, lambda: disk.write("root/a.md", b"stranger"))
    with disk.open_root(observe=late) as root, pytest.raises(Exists):
        root.create(P("a.md"), b"ours")
    assert late.happened
    assert disk.snapshot("root") == {"a.md": b"stranger"}


def test_mode_of_a_created_file_and_folder_comes_from_the_umask(disk: Tree) -> None:
    modes = {}
    former = os.umask(0o027)
    try:
        with disk.open_root() as root:
            root.create(P("sub/a.md"), b"x")
            os.umask(0o077)
            root.create(P("b.md"), b"x")
    finally:
        os.umask(former)
    for name in ("sub", "sub/a.md", "b.md"):
        modes[name] = oct(stat.S_IMODE(os.stat(disk.path(f"root/{name}")).st_mode))
    assert modes == {"sub": "0o750", "sub/a.md": "0o640", "b.md": "0o600"}


def test_default_acl_of_the_folder_applies_to_a_created_file(disk: Tree) -> None:
    disk.build("root/")
    set_attribute(disk.path("root"), "system.posix_acl_default", make_acl(12345))
    with disk.open_root() as root:
        root.create(P("a.md"), b"x")
    assert "system.posix_acl_access" in os.listxattr(disk.path("root/a.md"))


@pytest.mark.parametrize("step", [step for step in Step if step.value.startswith("create")])
def test_failure_of_a_create_leaves_nothing_or_the_whole_file(disk: Tree, step: Step) -> None:
    """No temporary and no folder made for it is left, whatever fails and where."""
    disk.build("root/kept/")
    with disk.open_root(observe=raising(step)) as root, pytest.raises(Boom):
        root.create(P("kept/new/a.md"), b"text")
    whole: dict[str, object] = {"kept": "folder", "kept/new": "folder", "kept/new/a.md": b"text"}
    named = step in (Step.CREATE_NAMED, Step.CREATE_DURABLE)
    assert disk.snapshot("root") == (whole if named else {"kept": "folder"})


def test_folder_made_for_a_failed_create_stays_if_somebody_uses_it(disk: Tree) -> None:
    def use_then_fail() -> None:
        disk.write("root/new/theirs.md", b"theirs")
        raise Boom

    with (
        disk.open_root(observe=Interruption(Step.CREATE_WRITTEN, use_then_fail)) as root,
        pytest.raises(Boom),
    ):
        root.create(P("new/deep/a.md"), b"ours")
    assert disk.snapshot("root") == {"new": "folder", "new/theirs.md": b"theirs"}


@pytest.mark.parametrize("path", [".trash/a.md", ".Trash/a.md", ".trash", "sub/.~fsn-x", ".~FSN-x/a.md"])
def test_reserved_names_are_never_made(disk: Tree, path: str) -> None:
    disk.build("root/mine.md: m")
    before = disk.snapshot()
    with disk.open_root() as root:
        with pytest.raises(UnacceptableName):
            root.create(P(path), b"x")
        with pytest.raises(UnacceptableName):
            root.move(P("mine.md"), P(path), expect=root.stat(P("mine.md")))
    assert disk.snapshot() == before


def test_the_root_itself_is_no_file_to_any_change(disk: Tree) -> None:
    disk.build("root/a.md: a")
    with disk.open_root() as root:
        seen = root.stat(P("a.md"))
        with pytest.raises(InvalidPath):
            root.create(ROOT, b"x")
        with pytest.raises(InvalidPath):
            root.replace(ROOT, b"x", expect=seen)
        with pytest.raises(InvalidPath):
            root.move(P("a.md"), ROOT, expect=seen)
    assert disk.snapshot("root") == {"a.md": b"a"}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize("call", ["write", "fsync"])
def test_failing_storage_leaves_the_old_bytes_and_no_temporary(
    disk: Tree, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    disk.build("root/a.md: old")

    def fail(*arguments: object) -> int:
        raise OSError(number, os.strerror(number))

    with disk.open_root() as root:
        seen = root.stat(P("a.md"))
        monkeypatch.setattr(os, call, fail)
        for change in (
            lambda: root.create(P("sub/new.md"), b"text"),
            lambda: root.replace(P("a.md"), b"new text", expect=seen),
        ):
            with pytest.raises(StorageFailed) as caught:
                change()
            assert caught.value.errno == number
        monkeypatch.undo()
        assert root.stat(P("a.md")) == seen
    assert disk.snapshot("root") == {"a.md": b"old"}


def test_short_writes_are_continued(disk: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))
    data = bytes(range(100))
    with disk.open_root() as root:
        root.create(P("a.md"), data)
    assert disk.read("root/a.md") == data


def test_folder_sync_that_is_not_offered_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(number: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", lambda _: refuse(errno.EINVAL))
    sync_folder(0, "a.md")
    monkeypatch.setattr(os, "fsync", lambda _: refuse(errno.EIO))
    with pytest.raises(StorageFailed):
        sync_folder(0, "a.md")


def test_file_and_then_its_folder_are_synced_before_a_change_answers(
    disk: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def noting(fd: int) -> None:
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{fd}")))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", noting)
    with disk.open_root() as root:
        root.create(P("sub/a.md"), b"a")
        assert synced[0] == "root"  # the new folder's own name
        assert synced[1].startswith(".~fsn-")
        assert synced[2:] == ["sub"]
        synced.clear()
        root.create(P("b.md"), b"b", durable=False)
        assert synced == []
        root.move(P("b.md"), P("sub/b.md"), expect=root.stat(P("b.md")))
        assert synced == ["sub", "root"]


# -- replace -----------------------------------------------------------------------------------


def test_replace_answers_the_identity_of_the_text_it_wrote(disk: Tree) -> None:
    disk.build("root/a.md: a long text that shrinks")
    with disk.open_root() as root:
        replaced = root.replace(P("a.md"), b"short", expect=root.stat(P("a.md")))
        assert root.stat(P("a.md")) == replaced.identity
        assert replaced.not_kept == ()
    assert disk.snapshot("root") == {"a.md": b"short"}


def test_replace_of_a_changed_or_missing_file_changes_nothing(disk: Tree) -> None:
    disk.build("root/a.md: first")
    with disk.open_root() as root:
        seen = root.stat(P("a.md"))
        disk.save("root/a.md", b"stranger")
        with pytest.raises(IdentityChanged):
            root.replace(P("a.md"), b"ours", expect=seen)
        assert disk.snapshot("root") == {"a.md": b"stranger"}
        os.unlink(disk.path("root/a.md"))
        with pytest.raises(Missing):
            root.replace(P("a.md"), b"ours", expect=seen)
        with pytest.raises(Missing):
            root.replace(P("none/a.md"), b"ours", expect=seen)
    assert disk.snapshot("root") == {}


@pytest.mark.parametrize("step", [step for step in Step if step.value.startswith("replace")])
def test_failure_of_a_replace_leaves_one_whole_text(disk: Tree, step: Step) -> None:
    """Before the exchange the old bytes and no temporary; after it the new ones, the old at most aside."""
    disk.build("root/a.md: old")
    with disk.open_root(observe=raising(step)) as root, pytest.raises(Boom):
        root.replace(P("a.md"), b"new", expect=root.stat(P("a.md")))
    left = disk.snapshot("root")
    text = left.pop("a.md")
    exchanged = (Step.REPLACE_EXCHANGED, Step.REPLACE_VERIFIED)
    if step in (*exchanged, Step.REPLACE_TIDIED, Step.REPLACE_DURABLE):
        assert text == b"new"
    else:
        assert text == b"old"
    assert list(left.values()) == ([b"old"] if step in exchanged else [])


@pytest.mark.parametrize("save", [Tree.save, Tree.write])
def test_save_before_the_last_look_is_never_taken_from_its_place(
    disk: Tree, save: Callable[[Tree, str, bytes], None]
) -> None:
    """Who reads the file meanwhile and saves it again would otherwise go on from our text, without the save."""
    disk.build("root/a.md: first")
    late = Interruption(Step.REPLACE_SYNCED, lambda: save(disk, "root/a.md", b"stranger"))
    told: list[StrEnum] = []

    def observe(step: StrEnum) -> None:
        told.append(step)
        late(step)

    with disk.open_root(observe=observe) as root, pytest.raises(IdentityChanged):
        root.replace(P("a.md"), b"ours", expect=root.stat(P("a.md")))
    assert told[-1] is Step.REPLACE_SYNCED
    assert disk.snapshot("root") == {"a.md": b"stranger"}


def test_save_between_look_and_exchange_is_given_back(disk: Tree) -> None:
    disk.build("root/a.md: first")
    late = Interruption(Step.REPLACE_LOOKED, lambda: disk.save("root/a.md", b"stranger"))
    with disk.open_root(observe=late) as root, pytest.raises(IdentityChanged):
        root.replace(P("a.md"), b"ours", expect=root.stat(P("a.md")))
    assert late.happened
    assert disk.snapshot("root") == {"a.md": b"stranger"}


def fail(*arguments: object, **more: object) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_save_that_cannot_be_given_back_is_unsettled_and_lies_beside(
    disk: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.build("root/a.md: first")
    save = Interruption(Step.REPLACE_LOOKED, lambda: disk.save("root/a.md", b"stranger"))
    die = Interruption(Step.REPLACE_EXCHANGED, lambda: monkeypatch.setattr("sandbox.writing.exchange", fail))

    def both(step: StrEnum) -> None:
        save(step)
        die(step)

    with disk.open_root(observe=both) as root, pytest.raises(Unsettled):
        root.replace(P("a.md"), b"ours", expect=root.stat(P("a.md")))
    left = disk.snapshot("root")
    assert left.pop("a.md") == b"ours"
    assert list(left.values()) == [b"stranger"]


@pytest.mark.parametrize("seen", [True, False])
def test_rename_without_an_answer_is_unsettled_only_where_nobody_sees_what_came_of_it(
    disk: Tree, monkeypatch: pytest.MonkeyPatch, *, seen: bool
) -> None:
    disk.build("root/a.md: first")
    before, stat_ = disk.snapshot(), os.stat

    def die(*arguments: object, **more: object) -> None:
        if not seen:
            monkeypatch.setattr(os, "stat", fail)
        fail()

    with disk.open_root() as root:
        held = root.stat(P("a.md"))
        changes: tuple[Callable[[], object], ...] = (
            lambda: root.replace(P("a.md"), b"ours", expect=held),
            lambda: root.move(P("a.md"), P("b.md"), expect=held),
            lambda: root.trash(P("a.md"), entry="20260728T101112Z-" + "0" * 32, expect=lambda _: True),
        )
        for change in changes:
            monkeypatch.setattr(_linux, "renameat2", die)
            with pytest.raises(StorageFailed) as caught:
                change()
            monkeypatch.setattr(os, "stat", stat_)
            assert isinstance(caught.value, Unsettled) is not seen
    if seen:
        assert disk.snapshot() == before
    assert disk.read("root/a.md") == b"first"


def test_write_in_place_between_look_and_exchange_is_given_back(disk: Tree) -> None:
    disk.build("root/a.md: first")
    late = Interruption(Step.REPLACE_LOOKED, lambda: disk.write("root/a.md", b"stranger"))
    with disk.open_root(observe=late) as root, pytest.raises(IdentityChanged):
        root.replace(P("a.md"), b"ours", expect=root.stat(P("a.md")))
    assert disk.snapshot("root") == {"a.md": b"stranger"}


@pytest.mark.parametrize("odd", ["link", "folder", "fifo"])
def test_odd_object_that_takes_the_name_is_given_back(disk: Tree, odd: str) -> None:
    disk.build("root/a.md: first", "secret.md: secret")

    def swap() -> None:
        os.unlink(disk.path("root/a.md"))
        line = {"link": "root/a.md => ../secret.md", "folder": "root/a.md/x", "fifo": "root/a.md | fifo"}
        disk.build(line[odd])

    with (
        disk.open_root(observe=Interruption(Step.REPLACE_LOOKED, swap)) as root,
        pytest.raises(IdentityChanged),
    ):
        root.replace(P("a.md"), b"ours", expect=root.stat(P("a.md")))
    expected: dict[str, dict[str, object]] = {
        "link": {"a.md": "=> ../secret.md"},
        "folder": {"a.md": "folder", "a.md/x": "folder"},
        "fifo": {"a.md": "fifo"},
    }
    assert disk.snapshot("root") == expected[odd]
    assert disk.read("secret.md") == b"secret"


@pytest.mark.parametrize("step", [Step.REPLACE_SYNCED, Step.REPLACE_LOOKED])
def test_file_that_vanishes_before_the_exchange_is_not_made_again(disk: Tree, step: Step) -> None:
    disk.build("root/a.md: first")
    late = Interruption(step, lambda: os.unlink(disk.path("root/a.md")))
    with disk.open_root(observe=late) as root, pytest.raises(IdentityChanged):
        root.replace(P("a.md"), b"ours", expect=root.stat(P("a.md")))
    assert disk.snapshot("root") == {}


def test_two_strangers_in_a_row_lose_nothing_and_the_latest_text_stands(
    disk: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first saves before the exchange, the second over our text, before it can be taken back."""
    disk.build("root/a.md: first")
    real = renaming.exchange
    calls = 0

    def exchange(folder: int, one: bytes, other_folder: int, other: bytes) -> bool:
        nonlocal calls
        calls += 1
        if calls == 1:
            disk.save("root/a.md", b"stranger one")
        done = real(folder, one, other_folder, other)
        if calls == 1:
            disk.save("root/a.md", b"stranger two")
        return done

    monkeypatch.setattr("sandbox.writing.exchange", exchange)
    with disk.open_root() as root, pytest.raises(IdentityChanged):
        root.replace(P("a.md"), b"ours", expect=root.stat(P("a.md")))
    left = disk.snapshot("root")
    assert left.pop("a.md") == b"stranger two"
    assert list(left.values()) == [b"stranger one"]
    assert all(name.startswith(".~fsn-") for name in left)
    assert calls == 3


def test_our_text_that_is_deleted_before_the_give_back_leaves_the_strangers(
    disk: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.build("root/a.md: first")
    before = Interruption(Step.REPLACE_LOOKED, lambda: disk.save("root/a.md", b"stranger"))
    after = Interruption(Step.REPLACE_EXCHANGED, lambda: os.unlink(disk.path("root/a.md")))

    def both(step: StrEnum) -> None:
        before(step)
        after(step)

    with disk.open_root(observe=both) as root, pytest.raises(IdentityChanged):
        root.replace(P("a.md"), b"ours", expect=root.stat(P("a.md")))
    assert disk.snapshot("root") == {"a.md": b"stranger"}


def test_mode_and_attributes_survive_and_special_bits_do_not(disk: Tree) -> None:
    disk.build("root/a.md: old")
    path = disk.path("root/a.md")
    set_attribute(path, "user.colour", b"blue")
    disk.chmod("root/a.md", 0o6754)
    with disk.open_root() as root:
        replaced = root.replace(P("a.md"), b"new", expect=root.stat(P("a.md")))
    assert replaced.not_kept == ("special mode bits",)
    assert oct(stat.S_IMODE(os.stat(path).st_mode)) == "0o754"
    assert os.getxattr(path, "user.colour") == b"blue"


def test_acl_survives_and_none_is_inherited_by_a_file_that_had_none(disk: Tree) -> None:
    disk.build("root/with.md: old", "root/without.md: old")
    disk.chmod("root/without.md", 0o640)
    acl = make_acl(12345)
    set_attribute(disk.path("root/with.md"), "system.posix_acl_access", acl)
    set_attribute(disk.path("root"), "system.posix_acl_default", make_acl(54321))
    with disk.open_root() as root:
        for name in ("with.md", "without.md"):
            assert root.replace(P(name), b"new", expect=root.stat(P(name))).not_kept == ()
    assert os.getxattr(disk.path("root/with.md"), "system.posix_acl_access") == acl
    assert os.listxattr(disk.path("root/without.md")) == []
    assert oct(stat.S_IMODE(os.stat(disk.path("root/without.md")).st_mode)) == "0o640"


def test_owner_survives_where_the_process_may_give_files_away(disk: Tree) -> None:
    require("root", available=os.geteuid() == 0, why="chown")
    disk.build("root/a.md: old")
    os.chown(disk.path("root/a.md"), 1234, 5678)
    with disk.open_root() as root:
        assert root.replace(P("a.md"), b"new", expect=root.stat(P("a.md"))).not_kept == ()
    status = os.stat(disk.path("root/a.md"))
    assert (status.st_uid, status.st_gid) == (1234, 5678)


def test_owner_that_cannot_be_kept_is_named(disk: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    require("root", available=os.geteuid() == 0, why="chown")
    disk.build("root/a.md: old")
    os.chown(disk.path("root/a.md"), 1234, 5678)

    def refuse(fd: int, uid: int, gid: int) -> None:
        raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr(os, "fchown", refuse)
    with disk.open_root() as root:
        replaced = root.replace(P("a.md"), b"new", expect=root.stat(P("a.md")))
    assert replaced.not_kept == ("group", "owner")
    assert disk.read("root/a.md") == b"new"


def test_attribute_that_cannot_be_kept_is_named(disk: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    disk.build("root/a.md: old")
    set_attribute(disk.path("root/a.md"), "user.colour", b"blue")

    def refuse(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "no room for attributes")

    monkeypatch.setattr(os, "setxattr", refuse)
    with disk.open_root() as root:
        assert root.replace(P("a.md"), b"new", expect=root.stat(P("a.md"))).not_kept == ("user.colour",)


# -- move --------------------------------------------------------------------------------------


def test_move_keeps_the_file_and_makes_folders(disk: Tree) -> None:
    disk.build("root/a.md: a")
    with disk.open_root() as root:
        seen = root.stat(P("a.md"))
        assert root.move(P("a.md"), P("x/y/b.md"), expect=seen) == seen
    assert disk.snapshot("root") == {"x": "folder", "x/y": "folder", "x/y/b.md": b"a"}


def test_move_never_overwrites(disk: Tree) -> None:
    disk.build("root/a.md: a", "root/b.md: b", "root/folder/")
    before = disk.snapshot()
    with disk.open_root() as root:
        for target in ("b.md", "folder", "a.md"):
            with pytest.raises(Exists):
                root.move(P("a.md"), P(target), expect=root.stat(P("a.md")))
    assert disk.snapshot() == before


def test_file_that_appears_at_the_target_stays(disk: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    disk.build("root/a.md: a")
    real = renaming.move_file

    def late(*arguments: object, **more: object) -> None:
        disk.write("root/new/b.md", b"stranger")
        real(*arguments, **more)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr("sandbox.moving.move_file", late)
    with disk.open_root() as root, pytest.raises(Exists):
        root.move(P("a.md"), P("new/b.md"), expect=root.stat(P("a.md")))
    assert disk.snapshot("root") == {"a.md": b"a", "new": "folder", "new/b.md": b"stranger"}


def test_move_of_a_file_swapped_after_the_look_goes_back(disk: Tree) -> None:
    disk.build("root/a.md: first")
    late = Interruption(Step.MOVE_FOLDERS_MADE, lambda: disk.save("root/a.md", b"stranger"))
    with disk.open_root(observe=late) as root, pytest.raises(IdentityChanged):
        root.move(P("a.md"), P("new/b.md"), expect=root.stat(P("a.md")))
    assert late.happened
    assert disk.snapshot("root") == {"a.md": b"stranger"}


def test_swapped_file_whose_name_is_taken_again_is_told_as_displaced(disk: Tree) -> None:
    disk.build("root/a.md: first")
    swap = Interruption(Step.MOVE_FOLDERS_MADE, lambda: disk.save("root/a.md", b"stranger one"))
    take = Interruption(Step.MOVE_MOVED, lambda: disk.write("root/a.md", b"stranger two"))

    def both(step: StrEnum) -> None:
        swap(step)
        take(step)

    with disk.open_root(observe=both) as root, pytest.raises(Displaced):
        root.move(P("a.md"), P("b.md"), expect=root.stat(P("a.md")))
    assert disk.snapshot("root") == {"a.md": b"stranger two", "b.md": b"stranger one"}


@pytest.mark.parametrize("lasts", [False, True])
def test_move_that_cannot_be_looked_at_is_undone_or_unsettled(
    disk: Tree, monkeypatch: pytest.MonkeyPatch, *, lasts: bool
) -> None:
    disk.build("root/a.md: first")

    def die() -> None:
        monkeypatch.setattr("sandbox.moving.lstat", fail)
        if lasts:
            monkeypatch.setattr("sandbox.moving.move_file", fail)

    with (
        disk.open_root(observe=Interruption(Step.MOVE_MOVED, die)) as root,
        pytest.raises(StorageFailed) as caught,
    ):
        root.move(P("a.md"), P("b.md"), expect=root.stat(P("a.md")))
    assert isinstance(caught.value, Unsettled) is lasts
    assert disk.snapshot("root") == {"b.md" if lasts else "a.md": b"first"}


def test_move_whose_source_vanishes_makes_nothing(disk: Tree) -> None:
    disk.build("root/a.md: first")
    late = Interruption(Step.MOVE_FOLDERS_MADE, lambda: os.unlink(disk.path("root/a.md")))
    with disk.open_root(observe=late) as root, pytest.raises(IdentityChanged):
        root.move(P("a.md"), P("new/b.md"), expect=root.stat(P("a.md")))
    assert disk.snapshot("root") == {}


def test_move_of_a_changed_file_is_refused(disk: Tree) -> None:
    disk.build("root/a.md: first")
    with disk.open_root() as root:
        seen = root.stat(P("a.md"))
        disk.save("root/a.md", b"stranger")
        with pytest.raises(IdentityChanged):
            root.move(P("a.md"), P("b.md"), expect=seen)
        with pytest.raises(Missing):
            root.move(P("none.md"), P("b.md"), expect=seen)
        with pytest.raises(NotAFolder):
            root.move(P("a.md"), P("a.md/b.md"), expect=root.stat(P("a.md")))
    assert disk.snapshot("root") == {"a.md": b"stranger"}


# -- without rename flags ----------------------------------------------------------------------


@pytest.fixture
def no_rename_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that refuses renameat2 with any flag, as NFS does."""

    def refuse(*arguments: object, **more: object) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(_linux, "renameat2", refuse)


@pytest.mark.usefixtures("no_rename_flags")
def test_all_changes_work_without_rename_flags_and_it_is_reported(disk: Tree) -> None:
    with disk.open_root() as root:
        assert root.features().rename_flags is False
        created = root.create(P("sub/a.md"), b"a")
        assert root.stat(P("sub/a.md")).key == created.key
        replaced = root.replace(P("sub/a.md"), b"b", expect=created)
        moved = root.move(P("sub/a.md"), P("c.md"), expect=replaced.identity)
        assert (moved.key, moved.nlink) == (replaced.identity.key, 1)
    assert disk.snapshot("root") == {"sub": "folder", "c.md": b"b"}


@pytest.mark.usefixtures("no_rename_flags")
def test_nothing_is_overwritten_without_rename_flags_either(disk: Tree) -> None:
    disk.build("root/taken.md: taken", "root/a.md: a")
    late = Interruption(Step.CREATE_SYNCED, lambda: disk.write("root/late.md", b"stranger"))
    with disk.open_root(observe=late) as root:
        with pytest.raises(Exists):
            root.create(P("taken.md"), b"x")
        with pytest.raises(Exists):
            root.create(P("late.md"), b"x")
        with pytest.raises(Exists):
            root.move(P("a.md"), P("taken.md"), expect=root.stat(P("a.md")))
    assert disk.snapshot("root") == {"taken.md": b"taken", "a.md": b"a", "late.md": b"stranger"}


@pytest.mark.usefixtures("no_rename_flags")
def test_replace_without_exchange_looks_once_more(disk: Tree) -> None:
    disk.build("root/a.md: first")
    late = Interruption(Step.REPLACE_SYNCED, lambda: disk.save("root/a.md", b"stranger"))
    with disk.open_root(observe=late) as root, pytest.raises(IdentityChanged):
        root.replace(P("a.md"), b"ours", expect=root.stat(P("a.md")))
    assert disk.snapshot("root") == {"a.md": b"stranger"}


@pytest.mark.usefixtures("no_rename_flags")
def test_save_during_a_move_by_links_keeps_both_texts(disk: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old name is moved aside and looked at before it is dropped, so a save in between is found."""
    disk.build("root/a.md: first")
    link = os.link

    def link_then_save(*arguments: object, **more: object) -> None:
        link(*arguments, **more)  # type: ignore[arg-type]  # passed on as they came
        monkeypatch.setattr(os, "link", link)
        disk.save("root/a.md", b"stranger")

    monkeypatch.setattr(os, "link", link_then_save)
    with disk.open_root() as root, pytest.raises(IdentityChanged):
        root.move(P("a.md"), P("b.md"), expect=root.stat(P("a.md")))
    assert disk.snapshot("root") == {"a.md": b"stranger", "b.md": b"first"}


@pytest.mark.usefixtures("no_rename_flags")
@pytest.mark.parametrize("lasts", [False, True])
def test_create_by_links_whose_second_step_fails_is_undone_or_unsettled(
    disk: Tree, monkeypatch: pytest.MonkeyPatch, *, lasts: bool
) -> None:
    unlink = os.unlink

    def once(*arguments: object, **more: object) -> None:
        if not lasts:
            monkeypatch.setattr(os, "unlink", unlink)
        fail()

    with disk.open_root() as root:
        monkeypatch.setattr(os, "unlink", once)
        with pytest.raises(StorageFailed) as caught:
            root.create(P("a.md"), b"ours")
        monkeypatch.setattr(os, "unlink", unlink)
        assert isinstance(caught.value, Unsettled) is lasts
        if not lasts:
            assert disk.snapshot("root") == {}
            root.create(P("a.md"), b"again")
            assert disk.snapshot("root") == {"a.md": b"again"}


@pytest.mark.usefixtures("no_rename_flags")
@pytest.mark.parametrize("stranger", ["saves", "removes the other name"])
def test_undoing_a_link_removes_neither_a_strangers_text_nor_a_last_name(
    disk: Tree, monkeypatch: pytest.MonkeyPatch, stranger: str
) -> None:
    disk.build("root/a.md: first")
    rename = os.rename

    def meddle(*arguments: object, **more: object) -> None:
        monkeypatch.setattr(os, "rename", rename)
        if stranger == "saves":
            disk.save("root/b.md", b"stranger")
        else:
            os.unlink(disk.path("root/a.md"))
        rename(*arguments, **more) if stranger != "saves" else fail()  # type: ignore[arg-type]  # as they came

    with disk.open_root() as root:
        held = root.stat(P("a.md"))
        monkeypatch.setattr(os, "rename", meddle)
        with pytest.raises(Unsettled):
            root.move(P("a.md"), P("b.md"), expect=held)
    assert disk.read("root/b.md") == (b"stranger" if stranger == "saves" else b"first")


def test_case_change_on_a_folding_file_system_is_a_rename(
    disk: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the target is found, and is the file itself: it has one name, and that one changes."""
    disk.build("root/note.md: n")
    real = renaming.lstat

    def folding(folder: int, name: bytes) -> FileIdentity:
        return real(folder, b"note.md" if name == b"Note.md" and not disk.exists("root/Note.md") else name)

    monkeypatch.setattr("sandbox.moving.lstat", folding)
    with disk.open_root() as root:
        root.move(P("note.md"), P("Note.md"), expect=root.stat(P("note.md")))
    assert disk.snapshot("root") == {"Note.md": b"n"}


def test_temporary_names_are_ours_and_differ() -> None:
    names = {renaming.temporary_name() for _ in range(1000)}
    assert len(names) == 1000
    assert all(name.startswith(b".~fsn-") for name in names)


# -- processes ---------------------------------------------------------------------------------

COUNTING = """
import sys
from sandbox import RelPath, Root
path, resolver, rounds, alone = sys.argv[1], sys.argv[2], int(sys.argv[3]), RelPath.parse("count.md")
with Root.open(path, resolver=resolver) as root:
    for _ in range(rounds):
        with root.lock(timeout=60):
            seen = root.read(alone)
            root.replace(alone, str(int(seen.data) + 1).encode(), expect=seen.identity)
"""


def test_four_processes_that_count_under_the_lock_lose_no_update(disk: Tree) -> None:
    disk.build("root/count.md: 0")
    children = [
        subprocess.Popen(
            [sys.executable, "-c", COUNTING, disk.path("root"), disk.resolver, "25"], cwd=REPOSITORY
        )
        for _ in range(4)
    ]
    assert [child.wait(timeout=60) for child in children] == [0, 0, 0, 0]
    assert disk.snapshot("root") == {"count.md": b"100"}
