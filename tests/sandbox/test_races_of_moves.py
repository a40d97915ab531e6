"""Folders that come and go, move about, or make way for a link, while we work: nothing outside is read or changed.

A folder that is moved out of the root while we hold it is followed (see `sandbox/resolve.py`): so what is written into
it may be found outside, in that folder. Nothing else there may change.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

from sandbox.errors import RootUnusable
from sandbox.names import RelPath
from sandbox.policy import Links, Policy
from sandbox.root import Root
from tests.disk import Tree
from tests.require import has_openat2, require
from tests.sandbox.racing import (
    FLIPS_PER_SECOND,
    INSIDE,
    NOTE,
    SECONDS,
    SECRET,
    Race,
    entry,
    flipping,
    in_memory,
    keep,
    report,
    restock,
    unlink,
    write_at,
)
from tests.sandbox.test_races import (
    list_spot,
    move_out_of_spot,
    read_note,
    replace_note,
    stat_note,
    trash_note,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300 + 2 * SECONDS)]

LEAST_FLIPS = FLIPS_PER_SECOND / 4
"""A rename into another folder takes longer than an exchange of two names in one."""


@pytest.fixture
def disk(tmp_path: Path, resolver: Literal["openat2", "walk"]) -> Iterator[Tree]:
    """A tree in memory."""
    with in_memory(tmp_path, resolver) as made:
        yield made


@pytest.fixture
def openat2_disk(tmp_path: Path) -> Iterator[Tree]:
    """A tree in memory for what only openat2 can do."""
    require("openat2", available=has_openat2())
    with in_memory(tmp_path, "openat2") as made:
        yield made


@contextmanager
def held(path: str) -> Iterator[int]:
    """Hold a folder, whatever its name becomes."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield fd
    finally:
        os.close(fd)


# -- a folder that moves out of the root and back --------------------------------------------------


def create_wherever(race: Race) -> str:
    """Create a note; where the folder is not there, another one is made for it."""
    race.root.create(RelPath.parse("spot/new.md"), b"made", durable=False)
    return "created" if _is_in_it(race, "new.md") else "created beside it"


def restore_wherever(race: Race) -> str:
    name = entry(race.number)
    race.disk.build(f"root/.trash/{name}/x.md: {INSIDE.decode()}")
    race.root.restore(name, RelPath.parse("spot/restored.md"))
    return "restored" if _is_in_it(race, "restored.md") else "restored beside it"


def _is_in_it(race: Race, name: str) -> bool:
    if name in os.listdir(race.real):
        return True
    assert os.path.lexists(race.disk.path(f"root/spot/{name}"))
    return False


def make_way(race: Race) -> None:
    """Remove a folder that was made while the real one was outside, so that this can come back."""
    place = race.disk.path("root/spot")
    real = os.fstat(race.real)
    try:
        there = os.lstat(place)
    except FileNotFoundError:
        there = real
    if (there.st_dev, there.st_ino) != (real.st_dev, real.st_ino):
        # By another name first, since the real one may come in between.
        aside = race.disk.path("root/made")
        os.rename(place, aside)
        made = os.lstat(aside)
        if (made.st_dev, made.st_ino) == (real.st_dev, real.st_ino):
            os.rename(aside, place)
        else:
            shutil.rmtree(aside)
    restock(race)


def tidy(race: Race) -> None:
    """Put the note back, and remove what was made."""
    unlink("moved.md", race.disk.path("root"))
    restock(race)


MOVES: dict[str, tuple[Callable[[Race], str], Callable[[Race], None]]] = {
    "read": (read_note, keep),
    "stat": (stat_note, keep),
    "list": (list_spot, keep),
    "create": (create_wherever, make_way),
    "replace": (replace_note, keep),
    "move out": (move_out_of_spot, tidy),
    "trash": (trash_note, tidy),
    "restore": (restore_wherever, make_way),
}


@pytest.mark.parametrize("operation", MOVES)
def test_folder_that_moves_out_and_back_takes_nothing_outside_along(disk: Tree, operation: str) -> None:
    disk.build(f"root/spot/note.md: {INSIDE.decode()}", "root/spot/only-inside.md: x")
    disk.build(f"outside/note.md: {SECRET.decode()}", f"outside/other/note.md: {SECRET.decode()}")
    outside = disk.snapshot("outside")
    attempt, reset = MOVES[operation]
    with held(disk.path("root/spot")) as real, disk.open_root() as root:
        race = Race(disk, root, real)
        with flipping(disk, "root/spot", "outside/spot", "toggle") as flips:
            race.run(attempt, reset)
    report(f"{operation}, a folder moves out", disk, race, flips)
    left = {path: what for path, what in disk.snapshot("outside").items() if path.split("/")[0] != "spot"}
    assert left == outside
    assert race.done > 0
    assert len(race.outcomes) > 1
    assert flips.rate >= LEAST_FLIPS


# -- a folder that moves up and down ---------------------------------------------------------------


def test_folder_that_moves_up_has_no_link_lead_outside_where_links_within_are_followed(
    openat2_disk: Tree,
) -> None:
    """From where it is first, the link leads to a note; from where it is next, to a file outside."""
    disk = openat2_disk
    disk.build(f"root/note.md: {INSIDE.decode()}", "root/one/spot/up.md => ../../note.md")
    disk.build(f"note.md: {SECRET.decode()}")

    def follow(race: Race) -> str:
        path = "one/spot/up.md" if race.number % 2 else "spot/up.md"
        assert race.root.read(RelPath.parse(path)).data == INSIDE
        return "read"

    with (
        held(disk.path("root/one/spot")) as real,
        disk.open_root(policy=Policy(links=Links.WITHIN)) as root,
    ):
        race = Race(disk, root, real)
        with flipping(disk, "root/one/spot", "root/spot", "toggle") as flips:
            race.run(follow, keep)
    report("read, a folder moves up", disk, race, flips)
    assert disk.read("note.md") == SECRET
    assert race.done > 0
    assert race.refused > 0
    assert flips.rate >= LEAST_FLIPS


# -- the root itself -------------------------------------------------------------------------------


def test_root_that_makes_way_for_a_link_stays_the_folder_that_was_opened(disk: Tree) -> None:
    """Its path leads outside half of the time: who holds the folder is not concerned, whatever is done."""
    disk.build(f"root/spot/note.md: {INSIDE.decode()}", "root/spot/only-inside.md: x", "spare => outside")
    disk.build(f"outside/spot/note.md: {SECRET.decode()}", "outside/.trash/")
    outside = disk.snapshot("outside")

    def restock_held(race: Race) -> None:
        for name in ("new.md", "restored.md"):
            unlink(name, race.real)
        if "note.md" not in os.listdir(race.real):
            write_at(race.real, "note.md", INSIDE)

    def everything(race: Race) -> str:
        """Do all that there is, in turn; what was trashed or moved is put back by the operations themselves."""
        root, moved, name = race.root, RelPath.parse("moved.md"), entry(race.number)
        match race.number % 5:
            case 0:
                assert root.read(NOTE).data == INSIDE
                return "read"
            case 1:
                root.create(RelPath.parse("spot/new.md"), b"made", durable=False)
                return "created"
            case 2:
                root.replace(NOTE, INSIDE, expect=root.stat(NOTE))
                return "replaced"
            case 3:
                root.move(NOTE, moved, expect=root.stat(NOTE))
                root.move(moved, NOTE, expect=root.stat(moved))
                return "moved"
            case _:
                root.trash(NOTE, entry=name, expect=lambda data: data == INSIDE)
                root.restore(name, NOTE)
                return "trashed and restored"

    with held(disk.path("root/spot")) as real, disk.open_root() as root:
        race = Race(disk, root, real)
        with flipping(disk, "root", "spare") as flips:
            race.run(everything, restock_held)
        assert root.read(NOTE).data == INSIDE
    report("everything, the root flips", disk, race, flips)
    assert disk.snapshot("outside") == outside
    assert len(race.outcomes) == 5
    assert race.refused == 0
    assert flips.rate >= FLIPS_PER_SECOND


def test_place_that_makes_way_for_a_link_is_never_taken_for_the_folder_that_was_opened(disk: Tree) -> None:
    """What is opened anew by its path is the folder of before, or told from it."""
    disk.build(f"root/note.md: {INSIDE.decode()}", "spare => outside", f"outside/note.md: {SECRET.decode()}")
    lone = RelPath.parse("note.md")

    def open_again(race: Race) -> str:
        try:
            again = Root.open(disk.path("root"), resolver=disk.resolver)
        except RootUnusable:
            return "Unusable"
        try:
            if again.identity != race.root.identity:
                return "Another"
            assert again.read(lone).data == INSIDE
            return "the same"
        finally:
            again.close()

    with held(disk.path("root")) as real, disk.open_root() as root:
        race = Race(disk, root, real)
        with flipping(disk, "root", "spare") as flips:
            race.run(open_again, keep)
    report("opened anew, the root flips", disk, race, flips)
    assert race.done > 0
    assert race.refused > 0
    assert flips.rate >= FLIPS_PER_SECOND
