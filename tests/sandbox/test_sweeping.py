"""Sweeping: what a killed write left goes to the trash once it is old, and nothing else moves."""

from __future__ import annotations

import os
import time

import pytest

from sandbox.errors import TrashUnusable
from sandbox.objects import SweepReport
from sandbox.policy import Policy
from tests.disk import Tree


def swept_folder(disk: Tree) -> str:
    """The one folder that the sweep made."""
    names = [name for name in os.listdir(disk.path("root/.trash")) if name.startswith("swept-")]
    assert len(names) == 1
    return f".trash/{names[0]}"


def test_old_temporaries_go_to_the_trash_with_their_folders(disk: Tree) -> None:
    disk.build("root/.~fsn-one: 1", "root/a/b/.~fsn-two: 2", "root/a/note.md: n", "root/a/.hidden: h")
    with disk.open_root() as root:
        assert root.sweep(now=time.time() + 61) == SweepReport(moved=2, complete=True)
    swept = swept_folder(disk)
    assert disk.snapshot("root") == {
        "a": "folder",
        "a/b": "folder",
        "a/note.md": b"n",
        "a/.hidden": b"h",
        ".trash": "folder",
        swept: "folder",
        f"{swept}/.~fsn-one": b"1",
        f"{swept}/a": "folder",
        f"{swept}/a/b": "folder",
        f"{swept}/a/b/.~fsn-two": b"2",
    }


def test_folder_of_a_sweep_is_named_by_the_time_that_was_passed_in(disk: Tree) -> None:
    disk.build("root/.~fsn-one: 1")
    past = time.time() + 10_000_000_000
    with disk.open_root() as root:
        root.sweep(now=past)
    assert swept_folder(disk) == time.strftime(".trash/swept-%Y%m%dT%H%M%SZ", time.gmtime(past))


def test_young_temporaries_stay(disk: Tree) -> None:
    disk.build("root/.~fsn-one: 1")
    with disk.open_root() as root:
        assert root.sweep(now=time.time() + 30) == SweepReport(moved=0)
        assert root.sweep(now=time.time() + 30, older_than=20).moved == 1


def test_temporary_with_an_old_text_and_a_young_name_stays(disk: Tree) -> None:
    """After an exchange a temporary has the age of the text that came out; its name tells the truth."""
    disk.build("root/.~fsn-one: 1")
    os.utime(disk.path("root/.~fsn-one"), (1, 1))
    with disk.open_root() as root:
        assert root.sweep(now=time.time() + 30).moved == 0


def test_clock_that_is_not_a_number_sweeps_nothing(disk: Tree) -> None:
    disk.build("root/.~fsn-one: 1")
    with disk.open_root() as root:
        assert root.sweep(now=time.time() + 1000, older_than=float("nan")).moved == 0
    assert disk.snapshot("root") == {".~fsn-one": b"1"}


def test_names_and_folders_that_are_not_text_are_swept_too(disk: Tree) -> None:
    folder = os.fsdecode(b"bad-\xff")
    disk.build(f"root/{folder}/")
    disk.write(f"root/{folder}/.~fsn-\udcfe", b"1")
    with disk.open_root() as root:
        assert root.sweep(now=time.time() + 61).moved == 1
    assert disk.read(f"root/{swept_folder(disk)}/{folder}/.~fsn-\udcfe") == b"1"


def test_links_are_never_followed_and_the_trash_is_left_alone(disk: Tree) -> None:
    disk.build("outside/.~fsn-out: o", "root/link => ../outside", "root/.trash/x/.~fsn-kept: k")
    disk.build("root/.~fsn-link => ../outside")
    before = disk.snapshot("outside")
    with disk.open_root() as root:
        assert root.sweep(now=time.time() + 61).moved == 1
    assert disk.snapshot("outside") == before
    left = disk.snapshot("root")
    assert left[".trash/x/.~fsn-kept"] == b"k"
    assert left[f"{swept_folder(disk)}/.~fsn-link"] == "=> ../outside"


def test_name_that_is_taken_in_the_trash_is_left_where_it_is(disk: Tree) -> None:
    now = time.time() + 61
    name = time.strftime("swept-%Y%m%dT%H%M%SZ", time.gmtime(now))
    disk.build("root/.~fsn-one: new", f"root/.trash/{name}/.~fsn-one: first")
    before = disk.snapshot()
    with disk.open_root() as root:
        assert root.sweep(now=now).moved == 0
    assert disk.snapshot() == before


def test_second_name_of_a_file_that_has_its_own_beside_it_is_dropped(disk: Tree) -> None:
    """A create that was killed between two links leaves a note that the hard link rule would refuse."""
    disk.build("root/a.md: text", "root/.~fsn-one == root/a.md")
    with disk.open_root() as root:
        assert root.sweep(now=time.time() + 61).moved == 1
    assert disk.snapshot("root") == {"a.md": b"text"}
    assert os.stat(disk.path("root/a.md")).st_nlink == 1


def test_second_name_whose_other_one_is_elsewhere_is_moved_not_dropped(disk: Tree) -> None:
    disk.build("elsewhere.md: text", "root/.~fsn-one == elsewhere.md")
    with disk.open_root() as root:
        assert root.sweep(now=time.time() + 61).moved == 1
    assert disk.read(f"root/{swept_folder(disk)}/.~fsn-one") == b"text"


def test_walk_is_bounded_and_says_so(disk: Tree) -> None:
    disk.build(*(f"root/{number:02}.md: x" for number in range(20)), "root/z/.~fsn-one: 1")
    with disk.open_root(policy=Policy(max_entries=10)) as root:
        report = root.sweep(now=time.time() + 61)
    assert (report.moved, report.complete) == (0, False)


def test_sweep_of_nothing_makes_no_trash(disk: Tree) -> None:
    disk.build("root/a.md: a")
    with disk.open_root() as root:
        assert root.sweep(now=time.time() + 61) == SweepReport(moved=0, complete=True)
    assert disk.snapshot("root") == {"a.md": b"a"}


def test_trash_that_is_a_link_makes_the_sweep_fail_and_moves_nothing(disk: Tree) -> None:
    disk.build("outside/", "root/.trash => ../outside", "root/.~fsn-one: 1")
    before = disk.snapshot()
    with disk.open_root() as root, pytest.raises(TrashUnusable):
        root.sweep(now=time.time() + 61)
    assert disk.snapshot() == before
