"""Links that come and go while we work: a second process flips them, and nothing ever escapes.

Each race counts both outcomes, success and refusal, and fails if one of them never happened: then nothing
was raced. The controls at the end show what the same harness does to a check of the path's text.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest

from sandbox.errors import (
    LinkRefused,
    SandboxError,
)
from sandbox.names import RelPath
from sandbox.objects import Kind
from sandbox.policy import Links, Policy
from tests.disk import Tree
from tests.require import has_openat2, require
from tests.sandbox.racing import (
    FLIPS_PER_SECOND,
    INSIDE,
    LONE,
    NOTE,
    SECONDS,
    SECRET,
    Race,
    entry,
    flipping,
    in_memory,
    keep,
    rename_if_free,
    report,
    restock,
    unlink,
    write_at,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300 + 2 * SECONDS)]

ELSEWHERE = RelPath.parse("elsewhere")


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


# -- (a) a folder and a link to a folder outside -----------------------------------------------


def read_note(race: Race) -> str:
    assert race.root.read(NOTE).data == INSIDE
    return "read"


def stat_note(race: Race) -> str:
    assert race.root.stat(NOTE).size == len(INSIDE)
    return "stat"


def list_spot(race: Race) -> str:
    names = [each.name for each in race.root.list(NOTE.parent, with_identity=True).entries]
    assert names == ["note.md", "only-inside.md"]
    return "listed"


def create_note(race: Race) -> str:
    race.root.create(RelPath.parse("spot/new.md"), b"made", durable=False)
    assert "new.md" in os.listdir(race.real)
    return "created"


def replace_note(race: Race) -> str:
    race.root.replace(NOTE, INSIDE, expect=race.root.stat(NOTE))
    return "replaced"


def move_out_of_spot(race: Race) -> str:
    race.root.move(NOTE, RelPath.parse("moved.md"), expect=race.root.stat(NOTE))
    assert race.disk.read("root/moved.md") == INSIDE
    return "moved"


def move_into_spot(race: Race) -> str:
    write_at(race.real, "note.md", INSIDE)
    os.rename("note.md", race.disk.path("root/source.md"), src_dir_fd=race.real)
    source = RelPath.parse("source.md")
    try:
        race.root.move(source, RelPath.parse("spot/new.md"), expect=race.root.stat(source))
        assert "new.md" in os.listdir(race.real)
    finally:
        unlink("source.md", race.disk.path("root"))
    return "moved"


def trash_note(race: Race) -> str:
    name = entry(race.number)
    race.root.trash(NOTE, entry=name, expect=lambda data: data == INSIDE)
    assert race.disk.read(f"root/.trash/{name}/spot/note.md") == INSIDE
    return "trashed"


def restore_note(race: Race) -> str:
    name = entry(race.number)
    race.disk.build(f"root/.trash/{name}/x.md: {INSIDE.decode()}")
    race.root.restore(name, RelPath.parse("spot/restored.md"))
    assert "restored.md" in os.listdir(race.real)
    return "restored"


def move_spot(race: Race) -> str:
    race.root.move_folder(NOTE.parent, ELSEWHERE, expect=race.root.stamp(NOTE.parent))
    moved = os.lstat(race.disk.path("root/elsewhere"))
    assert (moved.st_dev, moved.st_ino) == (os.fstat(race.real).st_dev, os.fstat(race.real).st_ino)
    return "moved"


def move_spot_back(race: Race) -> None:
    rename_if_free(race.disk.path("root/elsewhere"), race.disk.path("root/spot"))


FOLDER_RACES: dict[str, tuple[Callable[[Race], str], Callable[[Race], None]]] = {
    "read": (read_note, keep),
    "stat": (stat_note, keep),
    "list": (list_spot, keep),
    "create": (create_note, restock),
    "replace": (replace_note, keep),
    "move out": (move_out_of_spot, restock),
    "move into": (move_into_spot, restock),
    "trash": (trash_note, restock),
    "restore": (restore_note, restock),
    "move folder": (move_spot, move_spot_back),
}


@pytest.mark.parametrize("operation", FOLDER_RACES)
def test_folder_that_is_flipped_with_a_link_never_leads_outside(disk: Tree, operation: str) -> None:
    _race_with_a_link(disk, operation, Policy())


@pytest.mark.parametrize("operation", FOLDER_RACES)
def test_folder_that_is_flipped_never_leads_outside_where_links_within_are_followed(
    openat2_disk: Tree, operation: str
) -> None:
    """Nothing but the kernel's own look at where each step leads keeps the link from being followed here."""
    _race_with_a_link(openat2_disk, operation, Policy(links=Links.WITHIN))


def _race_with_a_link(disk: Tree, operation: str, policy: Policy) -> None:
    disk.build(
        f"root/spot/note.md: {INSIDE.decode()}", "root/spot/only-inside.md: x", "root/spare => ../outside"
    )
    disk.build(f"outside/note.md: {SECRET.decode()}", "outside/only-outside.md: y")
    outside = disk.snapshot("outside")
    real = os.open(disk.path("root/spot"), os.O_RDONLY | os.O_DIRECTORY)
    attempt, reset = FOLDER_RACES[operation]
    try:
        with disk.open_root(policy=policy) as root:
            race = Race(disk, root, real)
            with flipping(disk, "root/spot", "root/spare") as flips:
                race.run(attempt, reset)
    finally:
        os.close(real)
    report(operation, disk, race, flips)
    assert disk.snapshot("outside") == outside
    assert race.done > 0
    assert race.refused > 0
    assert flips.rate >= FLIPS_PER_SECOND


# -- (b) a file and a link to a file outside ---------------------------------------------------


def read_lone(race: Race) -> str:
    assert race.root.read(LONE).data == INSIDE
    return "read"


def stat_lone(race: Race) -> str:
    assert race.root.stat(LONE).size == len(INSIDE)
    return "stat"


def list_around(race: Race) -> str:
    listing = race.root.list(with_identity=True)
    for each in listing.entries:
        if each.name != "note.md":
            continue
        if each.kind is Kind.LINK:
            raise LinkRefused(each.name)  # counted as the refusing outcome
        assert each.kind is Kind.FILE
        assert each.identity is not None
        assert each.identity.size == len(INSIDE)
    return "listed"


def replace_lone(race: Race) -> str:
    race.root.replace(LONE, INSIDE, expect=race.root.stat(LONE))
    return "replaced"


def move_lone(race: Race) -> str:
    race.root.move(LONE, RelPath.parse("moved.md"), expect=race.root.stat(LONE))
    assert os.lstat(race.disk.path("root/moved.md")).st_size == len(INSIDE)
    return "moved"


def move_back(race: Race) -> None:
    rename_if_free(race.disk.path("root/moved.md"), race.disk.path("root/note.md"))


def trash_lone(race: Race) -> str:
    race.root.trash(LONE, entry=entry(race.number), expect=lambda data: data == INSIDE)
    return "trashed"


def take_back(race: Race) -> None:
    trashed = race.disk.path(f"root/.trash/{entry(race.number)}/note.md")
    if os.path.lexists(trashed):
        rename_if_free(trashed, race.disk.path("root/note.md"))


LONE_RACES: dict[str, tuple[Callable[[Race], str], Callable[[Race], None]]] = {
    "read": (read_lone, keep),
    "stat": (stat_lone, keep),
    "list": (list_around, keep),
    "replace": (replace_lone, keep),
    "move": (move_lone, move_back),
    "trash": (trash_lone, take_back),
}


@pytest.mark.parametrize("operation", LONE_RACES)
def test_file_that_is_flipped_with_a_link_never_leads_outside(disk: Tree, operation: str) -> None:
    disk.build(
        f"root/note.md: {INSIDE.decode()}", "root/spare => ../secret.md", f"secret.md: {SECRET.decode()}"
    )
    real = os.open(disk.path("root"), os.O_RDONLY | os.O_DIRECTORY)
    attempt, reset = LONE_RACES[operation]
    try:
        with disk.open_root() as root:
            race = Race(disk, root, real)
            with flipping(disk, "root/note.md", "root/spare") as flips:
                race.run(attempt, reset)
    finally:
        os.close(real)
    report(operation, disk, race, flips)
    assert disk.read("secret.md") == SECRET
    assert os.stat(disk.path("secret.md")).st_nlink == 1
    everything = disk.snapshot("root")
    assert [text for text in everything.values() if isinstance(text, bytes) and text != INSIDE] == []
    assert INSIDE in everything.values()
    assert "=> ../secret.md" in everything.values()
    assert race.done > 0
    assert race.refused > 0
    assert flips.rate >= FLIPS_PER_SECOND


def create_lone(race: Race) -> str:
    race.root.create(LONE, b"made", durable=False)
    return "created"


def remove_made(race: Race) -> None:
    path = race.disk.path("root/note.md")
    try:
        if not os.path.islink(path):
            os.unlink(path)
    except FileNotFoundError:
        pass


def test_dangling_link_that_comes_and_goes_creates_nothing_outside(disk: Tree) -> None:
    disk.build("root/", "root/spare => ../outside/made.md", "outside/")
    with disk.open_root() as root:
        race = Race(disk, root, -1)
        with flipping(disk, "root/spare", "root/note.md", "toggle") as flips:
            race.run(create_lone, remove_made)
    report("create", disk, race, flips)
    assert disk.snapshot("outside") == {}
    assert race.done > 0
    assert race.outcomes["Exists"] > 0
    assert flips.rate >= FLIPS_PER_SECOND


def test_entry_that_is_flipped_with_a_link_restores_only_the_file(disk: Tree) -> None:
    place = f"root/.trash/{entry(1)}"
    disk.build(f"{place}/note.md: {INSIDE.decode()}", "root/.trash/spare => ../../secret.md")
    disk.build(f"secret.md: {SECRET.decode()}")

    def restore(race: Race) -> str:
        race.root.restore(entry(1), RelPath.parse("moved.md"))
        assert os.lstat(race.disk.path("root/moved.md")).st_size == len(INSIDE)
        return "restored"

    def put_again(race: Race) -> None:
        os.makedirs(race.disk.path(place), exist_ok=True)
        if os.path.lexists(race.disk.path("root/moved.md")):
            rename_if_free(race.disk.path("root/moved.md"), race.disk.path(f"{place}/note.md"))

    with disk.open_root() as root:
        race = Race(disk, root, -1)
        with flipping(disk, f"{place}/note.md", "root/.trash/spare") as flips:
            race.run(restore, put_again)
    report("restore", disk, race, flips)
    assert disk.read("secret.md") == SECRET
    assert race.done > 0
    assert race.refused > 0
    assert flips.rate >= FLIPS_PER_SECOND


# -- the controls ------------------------------------------------------------------------------


CONTROL_SECONDS = 5.0
"""It is over with the first escapes."""


def naive_read(base: str, path: str) -> bytes:
    """What a check of the path's text amounts to: resolve it, compare, and then open it."""
    wanted = os.path.join(base, path)
    if os.path.commonpath([os.path.realpath(wanted), os.path.realpath(base)]) != os.path.realpath(base):
        raise LinkRefused(path)
    with open(wanted, "rb") as file:
        return file.read()


@pytest.mark.parametrize("what", ["folder", "file"])
def test_control_that_checks_the_resolved_path_and_then_opens_it_escapes(disk: Tree, what: str) -> None:
    """The same flips make the naive check hand out the secret: the harness can see an escape."""
    path, spare = ("spot/note.md", "spot") if what == "folder" else ("note.md", "note.md")
    disk.build(f"root/{path}: {INSIDE.decode()}", f"outside/note.md: {SECRET.decode()}")
    disk.build("root/spare => ../outside" if what == "folder" else "root/spare => ../outside/note.md")
    seen: Counter[bytes] = Counter()
    with flipping(disk, f"root/{spare}", "root/spare") as flips:
        end = time.monotonic() + max(SECONDS, CONTROL_SECONDS)
        while time.monotonic() < end and not seen[SECRET] > 10:
            try:
                seen[naive_read(disk.path("root"), path)] += 1
            except (SandboxError, OSError):
                seen[b"refused"] += 1
    print(f"control, {what}: {dict(seen)}, {flips.rate:.0f} flips a second")
    assert seen[SECRET] > 0
    assert seen[INSIDE] > 0
    assert seen[b"refused"] > 0
