"""What a tree holds and what is free: counted as the system counts, in steps that end, and without a trace."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.errors import RootUnusable
from sandbox.names import RelPath
from sandbox.policy import MOST_ENTRIES, USUAL_FREE_BYTES, Links, Mounts, Policy, Quota
from sandbox.root import Root
from tests.disk import Tree

MIB = 1 << 20
GIB = 1 << 30


def ticking() -> Callable[[], float]:
    """Return a clock that goes on by a second whenever it is looked at."""
    now = [0.0]

    def clock() -> float:
        now[0] += 1
        return now[0]

    return clock


def counted(root: Root) -> tuple[int, int]:
    """Return all entries and bytes, counted in one step."""
    tally = root.tally(clock=lambda: 0.0)
    assert tally.step(1.0)
    return tally.entries, tally.bytes


def by_the_system(base: str) -> tuple[int, int]:
    """Return entries and bytes as the standard library's walk finds them."""
    entries = size = 0
    for folder, folders, files in os.walk(os.fsencode(base)):
        entries += len(folders) + len(files)
        for name in files:
            status = os.lstat(os.path.join(folder, name))
            size += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return entries, size


def test_everything_is_counted_whatever_it_is_and_links_lead_nowhere(disk: Tree) -> None:
    disk.build(
        "outside/large.md: not of this tree",
        "root/a.md: four",
        "root/.git/objects/x: hidden",
        "root/.trash/e/gone.md: deleted",
        "root/.~fsn-x: temporary",
        "root/empty/",
        "root/link => ../outside",
        "root/dangling => nowhere",
        "root/pipe | fifo",
        "root/twin.md == root/a.md",
    )
    with open(os.path.join(os.fsencode(disk.path("root")), b"\xff.bin"), "wb") as file:
        file.write(b"123")
    os.makedirs(os.path.join(os.fsencode(disk.path("root")), b"\xfe/deeper"))
    with disk.open_root() as root:
        assert counted(root) == (16, 4 + 6 + 7 + 9 + 4 + 3)
        assert counted(root) == by_the_system(disk.path("root"))


def test_links_that_may_be_read_are_counted_as_links(openat2_disk: Tree) -> None:
    openat2_disk.build("root/sub/a.md: four", "root/link => sub", "root/b.md => sub/a.md")
    with openat2_disk.open_root(policy=Policy(links=Links.WITHIN)) as root:
        assert counted(root) == (4, 4)


def test_an_empty_tree_holds_nothing(disk: Tree) -> None:
    with disk.open_root() as root:
        assert counted(root) == (0, 0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(
    paths=st.lists(st.lists(st.sampled_from(["a", "b", ".c", "d.md"]), min_size=1, max_size=4), max_size=12),
    seconds=st.integers(1, 4),
)
def test_a_count_in_steps_is_the_same_count(disk: Tree, paths: list[list[str]], seconds: int) -> None:
    shutil.rmtree(disk.path("root"), ignore_errors=True)
    for parts in paths:
        path = disk.path("root/" + "/".join(parts))
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "xb") as file:
                file.write(b"x" * len(parts))
        except OSError:
            continue
    with disk.open_root() as root:
        tally, steps = root.tally(clock=ticking()), 1
        while not tally.step(seconds):
            steps += 1
        expected = by_the_system(disk.path("root"))
        assert (tally.entries, tally.bytes) == expected
        assert steps >= expected[0] // seconds


def test_a_step_ends_when_its_time_is_up_and_the_next_goes_on(disk: Tree) -> None:
    disk.build(*(f"root/{folder}/{name}.md: x" for folder in "abc" for name in range(10)))
    with disk.open_root() as root:
        tally = root.tally(clock=ticking())
        seen = []
        for _ in range(100):
            done = tally.step(5.0)
            seen.append(tally.entries)
            if done:
                break
        assert seen == [5, 10, 15, 20, 25, 30, 33]


def test_a_step_without_any_time_makes_progress(disk: Tree) -> None:
    disk.build("root/a.md: x", "root/b.md: x")
    with disk.open_root() as root:
        tally = root.tally(clock=ticking())
        assert [tally.step(0.0) for _ in range(3)] == [False, False, True]
        assert tally.entries == 2


def test_a_count_that_is_given_up_leaves_no_descriptor(disk: Tree) -> None:
    """The fixture of the room looks."""
    disk.build("root/deep/er/a.md: x", "root/b.md: x")
    with disk.open_root() as root:
        tally = root.tally(clock=ticking())
        assert not tally.step(0.0)
        tally.close()
        assert tally.step(0.0)


def test_what_vanishes_between_two_steps_ends_no_count(disk: Tree) -> None:
    disk.build(*(f"root/{folder}/{name}.md: x" for folder in "abc" for name in range(4)))
    with disk.open_root() as root:
        tally = root.tally(clock=ticking())
        assert not tally.step(4.0)
        for folder in "abc":
            shutil.rmtree(disk.path(f"root/{folder}"))
        assert tally.step(60.0)
        assert 3 <= tally.entries <= 15
        assert counted(root) == (0, 0)


def test_a_folder_that_becomes_a_link_is_not_counted_through(disk: Tree) -> None:
    disk.build("outside/a.md: secret", "outside/b.md: secret", "root/sub/c.md: x")
    with disk.open_root() as root:
        tally = root.tally(clock=ticking())
        assert not tally.step(0.0)  # the folder is known, and not opened yet
        shutil.rmtree(disk.path("root/sub"))
        os.symlink(disk.path("outside"), disk.path("root/sub"))
        assert tally.step(60.0)
        assert (tally.entries, tally.bytes) == (1, 0)


def test_a_closed_root_is_not_counted(disk: Tree) -> None:
    disk.build("root/a/b.md: x")
    root = disk.open_root()
    tally = root.tally(clock=ticking())
    root.close()
    with pytest.raises(RootUnusable):
        tally.step(60.0)
    with pytest.raises(RootUnusable):
        root.space()


def test_the_space_is_what_the_system_says(disk: Tree) -> None:
    disk.build("root/sub/a.md: x")
    for policy in (Policy(), Policy(mounts=Mounts.ALLOW)):
        with disk.open_root(policy=policy) as root:
            for path in ("sub", "sub/a.md", "sub/new/er/note.md", "new.md"):
                found, said = root.space(RelPath.parse(path)), os.statvfs(disk.path("root"))
                assert found.total == said.f_blocks * said.f_frsize
                assert abs(found.free - said.f_bavail * said.f_frsize) < 256 * MIB  # others write meanwhile
                assert found.free > 0


# -- what is kept free ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("total", "floor"),
    [
        (0, 0),  # a file system that does not tell its size
        (64 * MIB, 64 * MIB // 20),
        (GIB, GIB // 20),
        (20 * USUAL_FREE_BYTES, USUAL_FREE_BYTES),
        (500 * GIB, USUAL_FREE_BYTES),
    ],
)
def test_the_usual_floor_leaves_a_small_disk_usable(total: int, floor: int) -> None:
    assert Quota().floor(total) == floor


@pytest.mark.parametrize("wanted", [0, 1, 500 * MIB, GIB])
def test_a_floor_that_was_set_holds_on_every_disk(wanted: int) -> None:
    assert {Quota(min_free_bytes=wanted).floor(total) for total in (0, 64 * MIB, 500 * GIB)} == {wanted}


@pytest.mark.parametrize(
    "bounds",
    [
        {"max_bytes": 0},
        {"max_bytes": -1},
        {"max_entries": 0},
        {"max_entries": MOST_ENTRIES + 1},
        {"min_free_bytes": -1},
    ],
)
def test_a_quota_that_cannot_be_meant_is_refused(bounds: dict[str, int]) -> None:
    Quota(**{name: max(1, min(number, MOST_ENTRIES)) for name, number in bounds.items()})
    with pytest.raises(ValueError):
        Quota(**bounds)


def test_only_a_bound_on_what_is_held_needs_a_count() -> None:
    assert not Quota(min_free_bytes=5).counts
    assert Quota(max_bytes=5).counts
    assert Quota(max_entries=5).counts
