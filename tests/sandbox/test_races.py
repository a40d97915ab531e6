"""Links that come and go while we work: a second process flips them, and nothing ever escapes.

Each race counts both outcomes, success and refusal, and fails if one of them never happened: then nothing
was raced. The controls at the end show what the same harness does to a check of the path's text.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from sandbox import _linux
from sandbox.errors import (
    Escape,
    Exists,
    IdentityChanged,
    LinkRefused,
    Missing,
    NotAFolder,
    NotRegular,
    SandboxError,
)
from sandbox.names import RelPath
from sandbox.objects import Kind
from sandbox.policy import Links, Policy
from sandbox.root import Root
from tests.disk import Tree
from tests.mounts import REPOSITORY

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SECONDS = 2.0
FLIPS_PER_SECOND = 10_000
MEMORY = "/dev/shm"
INSIDE = b"inside"
SECRET = b"outside: secret"
NOTE = RelPath.parse("spot/note.md")
LONE = RelPath.parse("note.md")


@pytest.fixture
def disk(tmp_path: Path, resolver: Literal["openat2", "walk"]) -> Iterator[Tree]:
    """A tree in memory where there is one, since a busy disk slows the flips more than it slows us."""
    if not os.access(MEMORY, os.W_OK | os.X_OK):
        yield Tree(tmp_path, resolver)
        return
    with tempfile.TemporaryDirectory(dir=MEMORY, prefix="fsnotes-race-") as base:
        yield Tree(base, resolver)


def entry(number: int) -> str:
    return f"20260728T101112Z-{number:032x}"


@dataclass
class Flips:
    """What the other process did."""

    count: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        return self.count / self.seconds


@contextmanager
def flipping(disk: Tree, one: str, other: str, mode: str = "exchange") -> Iterator[Flips]:
    """Another process flips two names as long as the block runs."""
    flips = Flips()
    command = [sys.executable, "-m", "tests.sandbox.flipper", mode, disk.path(one), disk.path(other)]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other_process:
        assert other_process.stdin is not None
        assert other_process.stdout is not None
        try:
            assert other_process.stdout.readline() == b"ready\n"
            yield flips
            other_process.stdin.close()
            count, seconds = other_process.stdout.readline().split()
            flips.count, flips.seconds = int(count), float(seconds)
        finally:
            other_process.kill()


@dataclass
class Race:
    """One race: `attempt` is called again and again and says what came of it; `reset` follows each."""

    disk: Tree
    root: Root
    real: int  # a descriptor of the real folder, whatever its name is
    outcomes: Counter[str] = field(default_factory=Counter)
    number: int = 0

    def run(self, attempt: Callable[[Race], str], reset: Callable[[Race], None]) -> None:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            self.number += 1
            try:
                self.outcomes[attempt(self)] += 1
            except (Escape, IdentityChanged, NotRegular, NotAFolder, Missing, Exists) as refusal:
                self.outcomes[type(refusal).__name__] += 1
            reset(self)

    @property
    def refused(self) -> int:
        return sum(count for outcome, count in self.outcomes.items() if outcome[0].isupper())

    @property
    def done(self) -> int:
        return sum(count for outcome, count in self.outcomes.items() if outcome[0].islower())


def keep(race: Race) -> None:
    """Nothing to reset."""


def write_at(folder: int, name: str, data: bytes) -> None:
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644, dir_fd=folder)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def restock(race: Race) -> None:
    """Put the note back into the real folder and tidy what the operation made of it."""
    for name in ("new.md", "restored.md"):
        _unlink(name, race.real)
    _unlink("moved.md", race.disk.path("root"))
    shutil.rmtree(race.disk.path("root/.trash"), ignore_errors=True)
    if "note.md" not in os.listdir(race.real):
        write_at(race.real, "note.md", INSIDE)


def _unlink(name: str, folder: int | str) -> None:
    try:
        if isinstance(folder, int):
            os.unlink(name, dir_fd=folder)
        else:
            os.unlink(os.path.join(folder, name))
    except FileNotFoundError:
        pass


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
        _unlink("source.md", race.disk.path("root"))
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
    _rename_if_free(race.disk.path("root/moved.md"), race.disk.path("root/note.md"))


def trash_lone(race: Race) -> str:
    race.root.trash(LONE, entry=entry(race.number), expect=lambda data: data == INSIDE)
    return "trashed"


def take_back(race: Race) -> None:
    trashed = race.disk.path(f"root/.trash/{entry(race.number)}/note.md")
    if os.path.lexists(trashed):
        _rename_if_free(trashed, race.disk.path("root/note.md"))


def _rename_if_free(source: str, target: str) -> None:
    try:
        _linux.renameat2(-100, os.fsencode(source), -100, os.fsencode(target), flags=_linux.RENAME_NOREPLACE)
    except OSError:
        pass


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
            _rename_if_free(race.disk.path("root/moved.md"), race.disk.path(f"{place}/note.md"))

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
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and not seen[SECRET] > 10:
            try:
                seen[naive_read(disk.path("root"), path)] += 1
            except (SandboxError, OSError):
                seen[b"refused"] += 1
    print(f"control, {what}: {dict(seen)}, {flips.rate:.0f} flips a second")
    assert seen[SECRET] > 0
    assert seen[INSIDE] > 0
    assert seen[b"refused"] > 0


def report(operation: str, disk: Tree, race: Race, flips: Flips) -> None:
    print(f"{operation}, {disk.resolver}: {dict(race.outcomes)}, {flips.rate:.0f} flips a second")
