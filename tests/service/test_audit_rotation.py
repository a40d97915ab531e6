"""Files of the log that follow each other: nothing lost, nothing torn, nothing of anybody else's touched."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from fsnotes.audit import AuditLog, Reservation, Rotation, RotationStep
from fsnotes.audit import log as log_module
from fsnotes.audit import rotation as rotation_module
from fsnotes.errors import Unavailable
from tests.mounts import run_in_mount_namespace
from tests.service.logs import KilledAt, event, files, history, lines, run_all, run_killed, write

SMALL = 4096
"""Some six lines of a change."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def fill(log: AuditLog, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        log.reserve(event(f"{number}.md")).settle("created")


def paths(path: Path) -> list[str]:
    return [line["path"] for line in lines(path)]


def test_a_full_file_becomes_an_older_one_and_a_new_one_begins(path: Path) -> None:
    fill(AuditLog(str(path), rotation=Rotation(SMALL)), 30)
    assert paths(path) == [f"{number}.md" for number in range(30)]
    names = [each.name for each in files(path)]
    assert names == [f"audit-{number:06d}.jsonl" for number in range(1, len(names))] + ["audit.jsonl"]
    assert len(names) > 3
    for each in files(path):
        assert stat.S_IMODE(each.stat().st_mode) == 0o600
        assert each.stat().st_size < SMALL + 1000
        # Never in the middle of a line.
        assert each.read_bytes()[-1:] in (b"\n", b"")


def test_by_default_a_file_takes_64_mebibytes_and_all_are_kept(path: Path) -> None:
    assert Rotation() == Rotation(max_bytes=64 * 1024 * 1024, keep=None)
    path.write_bytes(b"")
    os.truncate(path, 64 * 1024 * 1024 - 2000)
    log = AuditLog(str(path))
    log.refuse(event(outcome="not_allowed"))
    assert [each.name for each in files(path)] == ["audit.jsonl"]
    fill(log, 4)
    assert [each.name for each in files(path)] == ["audit-000001.jsonl", "audit.jsonl"]


def test_a_reservation_is_settled_in_the_file_that_it_was_made_in(path: Path) -> None:
    log = AuditLog(str(path), rotation=Rotation(SMALL))
    one, two = log.reserve(event("one.md")), log.reserve(event("two.md"))
    fill(log, 20)
    assert len(files(path)) > 2
    one.settle("created", after="E" * 32)
    two.refuse("note_exists")
    assert [(line["path"], line["outcome"]) for line in lines(path)][:2] == [
        ("one.md", "created"),
        ("two.md", "note_exists"),
    ]
    assert len(lines(path)) == 22
    assert history(path) == lines(path)


def test_the_last_line_of_a_file_that_was_renamed_gives_its_room_back(path: Path) -> None:
    """Its padding is cut off there, and nowhere else."""
    log = AuditLog(str(path), rotation=Rotation(1))
    one = log.reserve(event("one.md"))
    older, current = files(path)
    before = older.stat().st_size
    one.refuse("note_exists")
    assert older.stat().st_size < before - 200
    assert (paths(path), current.stat().st_size) == (["one.md"], 0)


def test_the_time_of_a_line_is_when_the_change_began(path: Path) -> None:
    now = 1_800_000_000.0
    reservation = AuditLog(str(path), clock=lambda: now).reserve(event())
    now += 5
    reservation.settle("created")
    assert [line["time"] for line in lines(path)] == ["2027-01-15T08:00:00.000Z"]


# -- processes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_bytes", [1 << 30, 1 << 16], ids=["one file", "many files"])
def test_many_processes_write_whole_lines_and_settle_each_once(path: Path, max_bytes: int) -> None:
    count, names = 1000, "abcdefgh"
    run_all(write, *((str(path), name, count, max_bytes) for name in names))
    found = lines(path)
    assert len(found) == count * len(names)
    for name in names:
        # In the order in which each has begun them, and each with the outcome that it was given.
        assert [(line["path"], line["outcome"]) for line in found if line["path"][0] == name] == [
            (f"{name}/{number}", {0: "not_allowed", 7: "note_exists"}.get(number % 12, "created"))
            for number in range(count)
        ]
    assert history(path) == found
    assert (len(files(path)) > 20) == (max_bytes == 1 << 16)


def test_who_waits_for_a_file_that_is_renamed_writes_into_the_next_one(path: Path) -> None:
    """The interleaving by force: a writer has opened the file, and it is renamed before it has the lock."""
    log = AuditLog(str(path))
    fill(log, 1)
    lock = log_module.lock
    opened: list[int] = []

    def lock_late(descriptor: int, *, until: float) -> None:
        if not opened:
            opened.append(descriptor)
            assert rotation_module.rotate(str(path), observe=rotation_module.ignore)
        lock(descriptor, until=until)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_module, "lock", lock_late)
        log.refuse(event("late.md", outcome="not_allowed"))
    older, current = files(path)
    assert (b"late.md" in older.read_bytes(), b"late.md" in current.read_bytes()) == (False, True)
    assert paths(path) == ["0.md", "late.md"]


def test_a_log_that_another_program_renames_is_begun_anew(path: Path) -> None:
    log = AuditLog(str(path), rotation=Rotation(SMALL))
    reservation = log.reserve(event("one.md"))
    path.rename(path.with_name("elsewhere"))
    fill(log, 1)
    reservation.settle("created")
    assert b'"created"' in path.with_name("elsewhere").read_bytes()
    assert paths(path) == ["0.md"]


# -- kills -------------------------------------------------------------------------------------------


def _write_until(path: str, step: str, nth: int, keep: int | None) -> None:
    log = AuditLog(path, rotation=Rotation(SMALL, keep), observe=KilledAt(step, nth))
    for number in range(1000):
        log.reserve(event(f"{number}.md")).settle("created")


@pytest.mark.parametrize("step", RotationStep)
@pytest.mark.parametrize("nth", [1, 3])
def test_a_kill_in_a_rotation_loses_no_line_and_the_next_process_goes_on(
    path: Path, step: RotationStep, nth: int
) -> None:
    keep = 1000 if step is RotationStep.REMOVED else None
    run_killed(_write_until, str(path), step.value, nth, keep)
    killed = lines(path)
    # The one that led to the rotation was reserved, and that is its trace.
    assert [(line["path"], line["outcome"]) for line in killed] == [
        *((f"{number}.md", "created") for number in range(len(killed) - 1)),
        (f"{len(killed) - 1}.md", "begun"),
    ]
    assert len(killed) > 3 * nth
    assert path.exists() == (step is not RotationStep.RENAMED)
    fill(AuditLog(str(path), rotation=Rotation(SMALL)), 20, first=len(killed))
    assert paths(path) == [f"{number}.md" for number in range(len(killed) + 20)]
    assert history(path) == lines(path)


def test_every_step_of_a_rotation_is_killed_at(path: Path) -> None:
    """What a rotation does is not trusted to the table: a real one is recorded."""
    steps: list[RotationStep] = []
    log = AuditLog(str(path), rotation=Rotation(1, keep=1000), observe=steps.append)
    log.refuse(event(outcome="not_allowed"))
    assert steps == list(RotationStep)


def _reserve_and_die(path: str) -> None:
    import signal

    log = AuditLog(path)
    log.reserve(event("settled.md")).settle("created")
    log.reserve(event("killed.md"))
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_kill_between_reserve_and_settle_leaves_begun(path: Path) -> None:
    run_killed(_reserve_and_die, str(path))
    fill(AuditLog(str(path)), 1)
    assert [(line["path"], line["outcome"]) for line in lines(path)] == [
        ("settled.md", "created"),
        ("killed.md", "begun"),
        ("0.md", "created"),
    ]


def _write_at_random(path: str, name: str) -> None:
    write(path, name, 100_000, 1 << 14)


def test_kills_at_any_instant_among_many_writers_tear_nothing(path: Path) -> None:
    from tests.service.logs import SPAWN

    for turn in range(3):
        processes = [SPAWN.Process(target=_write_at_random, args=(str(path), f"{turn}{n}")) for n in "abcd"]
        for process in processes:
            process.start()
        deadline = time.monotonic() + 30
        while len(files(path)) < 3 * (turn + 1) and time.monotonic() < deadline:
            time.sleep(0.01)
        for process in processes:
            process.kill()
        for process in processes:
            process.join(30)
    found = history(path)
    # Each has left a beginning of what it would have written, in order.
    for writer in {line["path"].split("/")[0] for line in found}:
        numbers = [int(line["path"].split("/")[1]) for line in found if line["path"].startswith(f"{writer}/")]
        assert numbers == list(range(len(numbers)))
        assert len(numbers) > 0
    assert len(files(path)) > 6
    assert sum(line["outcome"] == "begun" for line in found) <= 3 * 4 * 5


# -- what is torn, foreign or in the way -------------------------------------------------------------


def test_a_line_without_an_end_swallows_no_other(path: Path) -> None:
    """As a full disk leaves it, if the process is killed before it has taken the part back."""
    path.write_bytes(b'{"time":"2027-01-15T08:0')
    log = AuditLog(str(path))
    log.reserve(event("one.md")).settle("created")
    log.refuse(event("two.md", outcome="not_allowed"))
    with path.open("ab") as file:
        file.write(b'{"ti')  # and once more, behind a line that this process has written
    reservation = log.reserve(event("three.md"))
    reservation.refuse("note_exists")
    torn, one, two, again, three = path.read_bytes().splitlines()
    assert (torn, again) == (b'{"time":"2027-01-15T08:0', b'{"ti')
    assert (b"one.md" in one, b"two.md" in two, b"three.md" in three) == (True, True, True)


@pytest.mark.parametrize("kind", ["link", "dangling link", "folder", "fifo", "file"])
def test_whatever_has_the_name_of_an_older_file_is_left_alone_and_the_next_number_taken(
    path: Path, kind: str
) -> None:
    other = path.with_name("other")
    other.write_bytes(b"other")
    taken = path.with_name("audit-000004.jsonl")
    match kind:
        case "link":
            taken.symlink_to(other)
        case "dangling link":
            taken.symlink_to(path.with_name("gone"))
        case "folder":
            taken.mkdir()
        case "fifo":
            os.mkfifo(taken)
        case "file":
            taken.write_bytes(b"somebody's")
    before = taken.lstat()
    log = AuditLog(str(path), rotation=Rotation(1, keep=1))
    log.refuse(event(outcome="not_allowed"))
    assert path.with_name("audit-000005.jsonl").exists()
    if kind != "file":  # which is one of the log's as far as anybody can see
        assert taken.lstat() == before
    assert other.read_bytes() == b"other"
    assert not path.with_name("gone").exists()


@pytest.mark.parametrize("kind", ["link", "folder", "fifo", "device link"])
def test_what_is_no_file_in_the_place_of_the_log_makes_every_change_unavailable(
    path: Path, kind: str
) -> None:
    other = path.with_name("other")
    other.write_bytes(b"other")
    match kind:
        case "link":
            path.symlink_to(other)
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "device link":
            path.symlink_to("/dev/null")
    log = AuditLog(str(path), rotation=Rotation(1))
    for attempt in (
        lambda: log.reserve(event()),
        lambda: log.refuse(event(outcome="not_allowed")),
    ):
        with pytest.raises(Unavailable):
            attempt()
    assert sorted(each.name for each in path.parent.iterdir()) == ["audit.jsonl", "other"]
    assert other.read_bytes() == b"other"
    path.rmdir() if kind == "folder" else path.unlink()
    log.reserve(event()).settle("created")
    assert paths(path) == ["a.md"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_another_accounts_file_in_the_place_of_the_log_is_not_written(path: Path) -> None:
    path.write_bytes(b"theirs\n")
    os.chown(path, 65_534, -1)
    with pytest.raises(Unavailable):
        AuditLog(str(path)).reserve(event())
    assert path.read_bytes() == b"theirs\n"


# -- when there can be no new file -------------------------------------------------------------------


def deny(*arguments: Any, **more: Any) -> None:
    raise OSError(28, "No space left on device")


def test_where_the_file_cannot_be_renamed_the_log_goes_on_in_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = AuditLog(str(path), rotation=Rotation(SMALL))
    with monkeypatch.context() as patch:
        patch.setattr(rotation_module, "move_to_private", deny)
        fill(log, 30)
    assert [each.name for each in files(path)] == ["audit.jsonl"]
    assert paths(path) == [f"{number}.md" for number in range(30)]
    fill(log, 1, first=30)  # it is not tried again at once
    assert [each.name for each in files(path)] == ["audit.jsonl"]
    monkeypatch.setattr(log_module, "AGAIN_SECONDS", 0.0)
    log._rotate_from = 0.0
    fill(log, 1, first=31)
    assert [each.name for each in files(path)] == ["audit-000001.jsonl", "audit.jsonl"]
    assert paths(path) == [f"{number}.md" for number in range(32)]


def test_where_no_new_file_can_be_made_the_log_keeps_its_name(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, real = AuditLog(str(path), rotation=Rotation(SMALL)), os.open

    def open_no_new(name: Any, flags: int, *more: Any, **others: Any) -> int:
        if flags & os.O_CREAT and others.get("dir_fd") is not None:
            deny()
        return real(name, flags, *more, **others)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", open_no_new)
        fill(log, 30)
    assert [each.name for each in files(path)] == ["audit.jsonl"]
    assert paths(path) == [f"{number}.md" for number in range(30)]


def test_on_a_disk_without_room_for_a_new_file_the_log_goes_on(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rotation_module, "ROOM", 1 << 60)
    fill(AuditLog(str(path), rotation=Rotation(SMALL)), 30)
    assert [each.name for each in files(path)] == ["audit.jsonl"]
    assert len(lines(path)) == 30


def test_on_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """A small tmpfs, in a mount namespace of its own."""
    run_in_mount_namespace("tests.service.full_log", str(tmp_path))


# -- how many are kept -------------------------------------------------------------------------------


def age(path: Path, seconds: float) -> None:
    for each in files(path):
        then = time.time() - seconds
        os.utime(each, (then, then))


def test_of_the_older_files_as_many_are_kept_as_are_asked_for(path: Path) -> None:
    now = time.time()
    log = AuditLog(str(path), rotation=Rotation(SMALL, keep=2), clock=lambda: now)
    fill(log, 70)
    many = files(path)
    assert len(many) > 5  # a change may still be settled in them
    now += 3601
    while files(path)[-2] == many[-2]:
        fill(log, 1, first=70)
    assert files(path) == [many[-2], many[-2].with_name(f"audit-{len(many):06d}.jsonl"), path]
    assert history(path) == lines(path)


def test_a_file_in_which_a_line_was_settled_a_moment_ago_is_kept(path: Path) -> None:
    now = time.time()
    log = AuditLog(str(path), rotation=Rotation(1, keep=1), clock=lambda: now)
    waiting: list[Reservation] = [log.reserve(event(f"{number}.md")) for number in range(3)]
    age(path, 7200)
    for number, reservation in enumerate(waiting):
        reservation.settle(f"settled_{number}")
    log.refuse(event(outcome="not_allowed"))
    assert [line["outcome"] for line in lines(path)] == ["settled_0", "settled_1", "settled_2", "not_allowed"]


def test_nothing_but_files_of_the_log_is_ever_removed(path: Path) -> None:
    beside = [
        "audit-1.jsonl", "audit-0000001.jsonl", "audit-000001.jsonl.gz", "audit-00000a.jsonl", "audit-000001.json",
        "xaudit-000001.jsonl", "keys.json", "ledger.sqlite3", "audit-0000000001.jsonl",
    ]  # fmt: skip
    for name in beside:
        path.with_name(name).write_bytes(b"x")
    path.with_name("audit-000001.jsonl").mkdir()
    path.with_name("audit-000002.jsonl").symlink_to("keys.json")
    log = AuditLog(str(path), rotation=Rotation(1, keep=1), clock=lambda: time.time() + 7200)
    for _ in range(4):
        log.refuse(event(outcome="not_allowed"))
    names = {each.name for each in path.parent.iterdir()}
    assert names == {*beside, "audit-000001.jsonl", "audit-000002.jsonl", "audit-000006.jsonl", "audit.jsonl"}
    assert path.with_name("audit-000001.jsonl").is_dir()
