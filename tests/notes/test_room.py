"""Quotas and the floor of the disk: what is over them is refused and changes nothing, what is not is made."""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fsnotes.errors import Busy, NoRoom, NotCounted, NoteExists
from fsnotes.failures import describe
from fsnotes.notes import room
from fsnotes.notes.commands import (
    Command,
    CreateNote,
    FindReceipt,
    ListTrash,
    ReadNote,
    RestoreNote,
    ScanNotes,
    SweepTemporaries,
    TrashNote,
)
from fsnotes.notes.etags import etag
from fsnotes.notes.room import COUNT_SECONDS, REFUSAL_SECONDS, Growth, Room
from fsnotes.notes.scope import Scope
from fsnotes.notes.workspace import Workspace
from sandbox.errors import Exists, StorageFailed
from sandbox.names import ROOT, RelPath
from sandbox.policy import Policy, Quota
from sandbox.root import Root, Space, Tally
from tests.disk import Tree
from tests.notes.conftest import Vault

ENTRY = "20260131T235959Z-" + "0123456789abcdef" * 2
OTHER = "20260131T235959Z-" + "f" * 32
PEBIBYTE = 1 << 50


def refused(vault: Vault, command: Command[Any], bound: str, limit: int) -> None:
    """Expect that there is no room for *command*, by that bound, and that nothing changes."""
    before = vault.snapshot()
    with pytest.raises(NoRoom) as caught:
        vault.run(command)
    assert (caught.value.bound, caught.value.limit) == (bound, limit)
    assert vault.snapshot() == before


# -- what is refused, and what is nearest to it ------------------------------------------------------


def test_a_note_that_just_fits_into_the_bytes_is_made_and_one_byte_more_is_not(vault: Vault) -> None:
    vault.reopen(quota=Quota(max_bytes=20))
    vault.build("a.md: 12345678", ".obsidian/x.json: hidden")
    refused(vault, CreateNote("b", "1234567"), "max_bytes", 20)
    assert vault.run(CreateNote("b", "123456")).size == 6
    refused(vault, CreateNote("c", "x"), "max_bytes", 20)
    assert vault.run(CreateNote("c", "")).size == 0


def test_bytes_are_counted_as_they_are_written(vault: Vault) -> None:
    vault.reopen(quota=Quota(max_bytes=5))
    refused(vault, CreateNote("a", "éé€"), "max_bytes", 5)
    assert vault.run(CreateNote("a", "éx")).size == 3


def test_folders_are_entries_too_and_so_is_what_is_hidden(vault: Vault) -> None:
    vault.reopen(quota=Quota(max_entries=7))
    vault.build("sub/a.md: x", ".git/config: x", "link => nowhere")
    refused(vault, CreateNote("new/er/b", "x"), "max_entries", 7)
    assert vault.run(CreateNote("new/b", "x")).path == "new/b.md"
    refused(vault, CreateNote("new/c", "x"), "max_entries", 7)
    assert vault.run(ReadNote("sub/a")).text == "x"


def test_what_is_in_the_way_is_said_before_what_there_is_no_room_for(vault: Vault) -> None:
    vault.reopen(quota=Quota(max_bytes=1, max_entries=3))
    vault.build("a.md: long")
    refused(vault, CreateNote("b", "x"), "max_bytes", 1)
    with pytest.raises(NoteExists):
        vault.run(CreateNote("a", "x"))


def test_the_trash_counts_and_whoever_is_at_the_limit_can_delete_and_restore(vault: Vault) -> None:
    vault.reopen(quota=Quota(max_bytes=8, max_entries=3))
    vault.build("sub/a.md: four", "b.md: four")
    vault.run(TrashNote("sub/a.md", etag(b"four"), ENTRY))
    refused(vault, CreateNote("c", "x"), "max_bytes", 8)
    refused(vault, CreateNote("c", ""), "max_entries", 3)
    assert vault.run(RestoreNote(ENTRY)).path == "sub/a.md"
    assert vault.run(TrashNote("b.md", etag(b"four"), OTHER)).path == "b.md"
    assert [entry.path for entry in vault.run(ListTrash()).entries] == ["b.md"]
    assert vault.run(RestoreNote(OTHER, "sub/b")).path == "sub/b.md"


def test_the_folders_of_a_trash_entry_count_at_once(vault: Vault) -> None:
    vault.reopen(quota=Quota(max_entries=6))
    vault.build(".trash/", "sub/a.md: x")
    vault.run(CreateNote("b", "x"))
    vault.run(TrashNote("sub/a.md", etag(b"x"), ENTRY))
    refused(vault, CreateNote("c", "x"), "max_entries", 6)
    vault.run(RestoreNote(ENTRY))
    vault.reopen(quota=Quota(max_entries=5))
    assert vault.run(CreateNote("c", "x")).path == "c.md"


def test_restoring_into_many_new_folders_needs_room_for_them(vault: Vault) -> None:
    vault.reopen(quota=Quota(max_entries=4))
    vault.build(f".trash/{ENTRY}/sub/a.md: x")
    refused(vault, RestoreNote(ENTRY, "one/two/three/a"), "max_entries", 4)
    assert vault.run(RestoreNote(ENTRY, "one/two/a")).path == "one/two/a.md"


def test_a_floor_above_all_that_is_free_refuses_what_writes_and_nothing_else(vault: Vault) -> None:
    vault.reopen(quota=Quota(min_free_bytes=PEBIBYTE))
    vault.build("sub/a.md: x")
    refused(vault, CreateNote("new/b", "x"), "min_free_bytes", PEBIBYTE)
    refused(vault, CreateNote("b", ""), "min_free_bytes", PEBIBYTE)
    assert vault.run(ReadNote("sub/a")).text == "x"
    vault.run(TrashNote("sub/a.md", etag(b"x"), ENTRY))
    assert vault.run(RestoreNote(ENTRY, "one/two/three/a")).path == "one/two/three/a.md"


def test_without_a_floor_any_space_will_do(vault: Vault) -> None:
    vault.reopen(quota=Quota(min_free_bytes=0))
    assert vault.run(CreateNote("a", "x")).path == "a.md"


def test_with_the_usual_quota_a_note_is_made(vault: Vault) -> None:
    vault.reopen(quota=Quota())
    assert vault.run(CreateNote("new/a", "x")).path == "new/a.md"


def test_what_needs_no_room_is_never_kept_waiting_by_a_count(vault: Vault) -> None:
    vault.reopen(quota=Quota(max_bytes=1, max_entries=1))
    vault.build(*(f"{number}/a.md: x" for number in range(30)))
    scope = Scope((ROOT,))
    for command in (
        ReadNote("1/a"),
        ScanNotes(recursive=True),
        TrashNote("2/a.md", etag(b"x"), ENTRY),
        FindReceipt("2/a.md", etag(b"x"), ENTRY),
        ListTrash(),
        RestoreNote(ENTRY),
        SweepTemporaries(0.0),
    ):
        vault.once(scope, command)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            NoRoom("max_bytes", 20),
            (
                "limit: this workspace may hold 20 bytes with its trash (max_bytes), and this would be more;"
                " nothing was done, its owner can empty .trash or raise the limit"
            ),
        ),
        (
            NoRoom("max_entries", 4),
            (
                "limit: this workspace may hold 4 files and folders with its trash (max_entries), and this would be"
                " more; nothing was done, its owner can empty .trash or raise the limit"
            ),
        ),
        (
            NoRoom("min_free_bytes", 9),
            (
                "limit: 9 bytes must stay free on the workspace's disk (min_free_bytes), and this would leave less;"
                " nothing was done, its owner can make room there or set min_free_bytes"
            ),
        ),
    ],
)
def test_a_refusal_says_which_setting_and_what_to_do(error: NoRoom, line: str) -> None:
    failure = describe(error)
    assert (failure.slug, failure.exit_code, failure.line) == ("limit", 6, line)
    assert describe(Busy()).slug == "busy"
    assert describe(NotCounted()).line == (
        "busy: what this workspace holds is still being counted, or a move that was interrupted is being finished;"
        " what you asked for was not done, call again"
    )


# -- how it is counted ------------------------------------------------------------------------------


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Counter:
    """A room with a clock of the test's, in which notes are made by hand."""

    root: Root
    quota: Quota
    clock: Clock

    def __post_init__(self) -> None:
        self.room = Room(self.root, self.quota, clock=self.clock)

    def make(self, path: str, data: bytes = b"x") -> None:
        """Make a note as the handler does."""
        self.room.prepare()
        place = RelPath.parse(path)
        with self.room.taking(place, Growth(len(data), len(place.parts), written=len(data))):
            self.root.create(place, data)


@pytest.fixture(params=["openat2", "walk"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Tree:
    """A tree on each resolver."""
    return Tree(tmp_path, request.param)


def counter(disk: Tree, **bounds: int) -> Counter:
    return Counter(disk.open_root(), Quota(**bounds), Clock())


@pytest.fixture
def in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "STEP_SECONDS", 0.0)


@pytest.mark.parametrize("space", [Space(0, PEBIBYTE), Space(0, 0), StorageFailed(errno.ENOSYS, "fstatvfs")])
def test_a_file_system_that_does_not_tell_what_is_free_has_a_floor_only_where_one_is_set(
    disk: Tree, monkeypatch: pytest.MonkeyPatch, space: Space | StorageFailed
) -> None:
    def told(_: Root, __: RelPath) -> Space:
        if isinstance(space, StorageFailed):
            raise space
        return space

    monkeypatch.setattr(Root, "space", told)
    with disk.open_root("root", Policy()) as root:
        with Room(root, Quota()).taking(RelPath(("a.md",)), Growth(1, 1, 1)):
            pass
        with (
            pytest.raises((NoRoom, StorageFailed)),
            Room(root, Quota(min_free_bytes=1)).taking(RelPath(("a.md",)), Growth(1, 1, 1)),
        ):
            pytest.fail("there was room")


def test_a_count_that_failed_is_not_taken_for_a_whole_one(
    disk: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.build(*(f"root/{number}.md: {'x' * 100}" for number in range(20)))
    step, failures = Tally.step, [MemoryError()]

    def fail_once(tally: Tally, seconds: float) -> bool:
        if failures:
            tally._work.throw(failures.pop())
        return step(tally, seconds)

    monkeypatch.setattr(Tally, "step", fail_once)
    with disk.open_root("root", Policy()) as root:
        filled = Room(root, Quota(max_bytes=1_999), clock=lambda: 0.0)
        with pytest.raises(MemoryError):
            filled.prepare()
        filled.prepare()
        with pytest.raises(NoRoom), filled.taking(RelPath(("a.md",)), Growth(1, 1, 1)):
            pytest.fail("there was room")
        with filled.taking(RelPath(("a",)), Growth(0, 1)):
            pass  # what adds no bytes is not refused for bytes


def test_without_a_quota_nothing_is_ever_counted(disk: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    def count(self: Root, **_: Any) -> Tally:
        raise AssertionError("counted")

    monkeypatch.setattr(Root, "tally", count)
    with disk.open_root() as root:
        Counter(root, Quota(min_free_bytes=1), Clock()).make("a.md")
        with pytest.raises(AssertionError):
            Counter(root, Quota(max_bytes=100), Clock()).make("b.md")


@pytest.mark.usefixtures("in_small_steps")
def test_a_count_goes_on_from_call_to_call_and_nothing_is_made_before_it_is_complete(disk: Tree) -> None:
    disk.build(*(f"root/{number}.md: x" for number in range(4)))
    made = counter(disk, max_entries=5)
    for _ in range(4):
        with pytest.raises(NotCounted):
            made.make("new.md")
        assert len(os.listdir(disk.path("root"))) == 4
    made.make("new.md")
    with pytest.raises(NoRoom):
        made.make("one-more.md")
    made.root.close()


def test_own_changes_are_added_without_another_count(disk: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    made = counter(disk, max_bytes=10)
    made.make("a.md", b"123")
    monkeypatch.setattr(Root, "tally", None)
    made.make("b.md", b"1234567")
    with pytest.raises(NoRoom):
        made.make("c.md", b"x")
    made.root.close()


def test_a_change_that_failed_takes_no_room(disk: Tree) -> None:
    made = counter(disk, max_bytes=5)
    disk.build("root/a.md/")
    with pytest.raises(Exists):
        made.make("a.md", b"12345")
    made.make("b.md", b"12345")
    made.root.close()


def test_what_another_program_adds_is_seen_by_the_next_count(disk: Tree) -> None:
    made = counter(disk, max_bytes=10)
    made.make("a.md", b"12")
    disk.build("root/stranger.bin: 12345678")
    made.clock.now += COUNT_SECONDS - 1
    made.make("b.md", b"1")  # the bound of the error: what was added since the last count
    made.clock.now += 1
    with pytest.raises(NoRoom):
        made.make("c.md", b"1")
    assert not disk.exists("root/c.md")
    made.root.close()


def test_what_another_program_removes_is_seen_soon_by_who_was_refused(disk: Tree) -> None:
    made = counter(disk, max_bytes=5)
    disk.build("root/large.bin: 12345")
    with pytest.raises(NoRoom):
        made.make("a.md")
    os.remove(disk.path("root/large.bin"))
    made.clock.now += REFUSAL_SECONDS - 0.5
    with pytest.raises(NoRoom):
        made.make("a.md")
    made.clock.now += 1
    made.make("a.md")
    made.root.close()


@pytest.mark.usefixtures("in_small_steps")
def test_a_count_for_a_refusal_goes_in_steps_too(disk: Tree) -> None:
    disk.build(*(f"root/{number}.md: x" for number in range(3)))
    made = counter(disk, max_entries=3)

    def attempts() -> list[type[Exception]]:
        """Return what comes of trying until there is another answer than that it is counted."""
        said: list[type[Exception]] = []
        while not said or said[-1] is NotCounted:
            with pytest.raises((NotCounted, NoRoom)) as caught:
                made.make("new.md")
            said.append(caught.type)
        return said

    assert attempts() == [NotCounted] * 3 + [NoRoom]
    assert attempts() == [NoRoom]
    made.clock.now += REFUSAL_SECONDS
    assert attempts() == [NotCounted] * 3 + [NoRoom]
    made.root.close()


@pytest.mark.usefixtures("in_small_steps")
def test_what_is_made_while_it_is_counted_is_counted(disk: Tree) -> None:
    """The count may have passed the place by then, so it is added; twice at most, until the next count."""
    disk.build("root/a.md: x", "root/b.md: x")
    made = counter(disk, max_bytes=10)
    with pytest.raises(NotCounted):
        made.room.prepare()
    made.room.note(Growth(bytes=5))
    with pytest.raises(NotCounted):
        made.room.prepare()
    made.room.prepare()
    with pytest.raises(NoRoom):
        made.make("c.md", b"1234")
    made.make("c.md", b"123")
    made.room.close()
    made.root.close()


@pytest.mark.usefixtures("in_small_steps")
def test_a_count_ends_as_soon_as_it_is_over_the_limit(disk: Tree) -> None:
    disk.build(*(f"root/{number}.md: long" for number in range(100)))
    for bounds in ({"max_entries": 2}, {"max_bytes": 9}):
        made = counter(disk, **bounds)
        for _ in range(2):
            with pytest.raises(NotCounted):
                made.make("new.md")
        with pytest.raises(NoRoom):
            made.make("new.md")
        made.root.close()


@pytest.mark.usefixtures("in_small_steps")
def test_a_workspace_that_is_closed_while_it_is_counted_leaves_no_descriptor(disk: Tree) -> None:
    disk.build("root/sub/a.md: x", "root/b.md: x")
    before = os.listdir("/proc/self/fd")
    workspace = Workspace(disk.open_root(), Quota(max_bytes=10))
    with pytest.raises(NotCounted):
        workspace.room.prepare()
    workspace.close()
    assert os.listdir("/proc/self/fd") == before


def test_a_clock_that_was_set_back_makes_a_count_old(disk: Tree) -> None:
    made = counter(disk, max_bytes=5)
    made.make("a.md")
    disk.build("root/large.bin: 12345")
    made.clock.now -= 500
    with pytest.raises(NoRoom):
        made.make("b.md")
    made.root.close()


# -- the floor --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("space", "floor", "size", "fits"),
    [
        (Space(1000, 10_000), 900, 100, True),
        (Space(1000, 10_000), 900, 101, False),
        (Space(1000, 10_000), 1000, 0, True),
        (Space(1000, 10_000), 1001, 0, False),
        (Space(600, 10_000), None, 100, True),
        (Space(599, 10_000), None, 100, False),
        (Space(0, 0), None, 100, True),  # a file system that does not tell
        (Space(0, 0), 1, 100, False),
        (Space(0, 10_000), 0, 100, True),
    ],
)
def test_what_is_left_after_a_note_is_at_least_the_floor(
    disk: Tree, monkeypatch: pytest.MonkeyPatch, space: Space, floor: int | None, size: int, fits: bool
) -> None:
    monkeypatch.setattr(Root, "space", lambda *_: space)
    made = Counter(disk.open_root(), Quota(min_free_bytes=floor), Clock())
    if fits:
        made.make("new/a.md", b"x" * size)
    else:
        with pytest.raises(NoRoom):
            made.make("new/a.md", b"x" * size)
    assert disk.exists("root/new") is fits
    made.root.close()


def test_a_vault_is_counted_as_the_system_counts(vault: Vault) -> None:
    """Exactly what there is fits, and one entry less does not."""
    vault.build("a/b/c.md: 12", "a/.hidden/d: 3", ".trash/x/y.md: 4567", "e => a")
    vault.reopen(quota=Quota(max_entries=10, max_bytes=7))
    assert vault.run(CreateNote("new", "")).size == 0
    os.remove(vault.disk.path("root/new.md"))
    vault.reopen(quota=Quota(max_entries=9))
    refused(vault, CreateNote("new", ""), "max_entries", 9)
    shutil.rmtree(vault.disk.path("root/a/.hidden"))
    vault.reopen(quota=Quota(max_entries=8))
    assert vault.run(CreateNote("new", "")).size == 0
