"""A log that goes on: each line is shown when it has its outcome, from one file to the next, and none twice."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fsnotes.audit import AuditLog, Follower, History, Rotation, Wanted
from fsnotes.audit import following as following_module
from fsnotes.audit.following import BEGUN_SECONDS
from fsnotes.audit.rotation import ignore, rotate
from tests.service.logs import SPAWN, event, lines, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def log(path: Path) -> AuditLog:
    return AuditLog(str(path), rotation=Rotation(1 << 20))


class Reader:
    """Somebody who follows the log from what it has, on a clock that is set."""

    def __init__(self, path: Path, wanted: Wanted | None = None) -> None:
        self.now = 0.0
        with closing(History(str(path))) as history:
            shown = list(history.entries(wanted or Wanted()))
            self.before = [(entry["path"], entry["outcome"]) for _, entry in shown]
            begun = [start for start, entry in shown if start is not None and entry.is_begun]
            self.follower = Follower(str(path), history, wanted or Wanted(), begun=begun)

    def look(self, later: float = 0.2) -> list[tuple[str, str]]:
        """Return what is shown after a moment."""
        self.now += later
        return [(entry["path"], entry["outcome"]) for entry in self.follower.poll(self.now)]


@pytest.fixture
def reader(path: Path) -> Iterator[Reader]:
    made = Reader(path)
    yield made
    made.follower.close()


def refuse(log: AuditLog, name: str) -> None:
    log.refuse(event(name, outcome="not_allowed"))


def test_what_comes_is_shown_once(log: AuditLog, reader: Reader) -> None:
    assert reader.look() == []
    refuse(log, "one")
    log.reserve(event("two")).settle("created")
    assert reader.look() == [("one", "not_allowed"), ("two", "created")]
    assert reader.look() == []
    refuse(log, "three")
    assert reader.look() == [("three", "not_allowed")]


def test_what_was_there_is_not_shown_again(log: AuditLog, path: Path) -> None:
    refuse(log, "one")
    log.reserve(event("two")).settle("created")
    made = Reader(path)
    with closing(made.follower):
        assert made.before == [("one", "not_allowed"), ("two", "created")]
        assert made.look() == []
        refuse(log, "three")
        assert made.look() == [("three", "not_allowed")]


def test_a_change_is_shown_once_it_is_settled(log: AuditLog, reader: Reader) -> None:
    one = log.reserve(event("one"))
    refuse(log, "two")
    assert reader.look() == [("two", "not_allowed")]
    assert reader.look(BEGUN_SECONDS - 1) == []
    one.settle("created")
    assert reader.look() == [("one", "created")]
    assert reader.look(10 * BEGUN_SECONDS) == []


def test_a_change_that_takes_long_is_shown_as_begun_and_once_more_when_it_is_settled(
    log: AuditLog, reader: Reader
) -> None:
    one = log.reserve(event("one"))
    assert reader.look() == []
    assert reader.look(BEGUN_SECONDS) == [("one", "begun")]
    assert reader.look(BEGUN_SECONDS) == []
    one.settle("created")
    assert reader.look() == [("one", "created")]
    assert reader.look(BEGUN_SECONDS) == []


def test_a_change_that_was_under_way_before_is_shown_when_it_is_settled(log: AuditLog, path: Path) -> None:
    one, two = log.reserve(event("one")), log.reserve(event("two"))
    made = Reader(path)
    with closing(made.follower):
        assert made.before == [("one", "begun"), ("two", "begun")]
        assert made.look(2 * BEGUN_SECONDS) == []
        two.refuse("note_exists")
        one.settle("created")
        assert made.look() == [("one", "created"), ("two", "note_exists")]


@pytest.mark.parametrize("looked", [True, False])
def test_a_line_that_becomes_shorter_takes_none_with_it(
    log: AuditLog, reader: Reader, *, looked: bool
) -> None:
    """The last line gives its room back, and the next one begins where its spaces were."""
    for number in range(3):
        one = log.reserve(event(f"{number}" + "x" * 1000))
        if looked:
            assert reader.look() == []
        one.refuse("note_exists")
        refuse(log, "next")
        log.reserve(event("last")).settle("created")
        found = [(name[:4].rstrip("x"), outcome) for name, outcome in reader.look()]
        assert found == [(f"{number}", "note_exists"), ("next", "not_allowed"), ("last", "created")]
        assert reader.look() == []


def test_lines_are_followed_from_one_file_to_the_next(log: AuditLog, path: Path, reader: Reader) -> None:
    refuse(log, "0")
    assert reader.look() == [("0", "not_allowed")]
    for turn in range(1, 4):  # several files between two looks
        for number in range(turn):
            refuse(log, f"{turn}.{number}")
            assert rotate(str(path), observe=ignore)
        refuse(log, f"{turn} at last")
        names = [name for name, _ in reader.look()]
        assert names == [*(f"{turn}.{number}" for number in range(turn)), f"{turn} at last"]
        assert reader.look() == []


def test_a_change_is_shown_though_its_file_has_become_an_older_one(
    log: AuditLog, path: Path, reader: Reader
) -> None:
    one = log.reserve(event("one"))
    assert reader.look() == []
    assert rotate(str(path), observe=ignore)
    two = log.reserve(event("two"))
    assert rotate(str(path), observe=ignore)
    refuse(log, "three")
    assert reader.look() == [("three", "not_allowed")]
    two.settle("created")
    assert reader.look() == [("two", "created")]
    one.settle("created")
    assert reader.look() == [("one", "created")]
    assert reader.follower._former == [] or reader.look() == []


def test_a_log_that_is_not_there_yet_is_followed_from_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "state/private/audit.jsonl"
    made = Reader(path)
    with closing(made.follower):
        assert (made.before, made.look()) == ([], [])
        path.parent.mkdir(parents=True)
        assert made.look() == []
        log = AuditLog(str(path))
        refuse(log, "one")
        assert rotate(str(path), observe=ignore)
        refuse(log, "two")
        assert made.look() == [("one", "not_allowed"), ("two", "not_allowed")]


def test_a_log_that_another_program_has_taken_away_is_followed_in_the_next_file(
    log: AuditLog, path: Path, reader: Reader
) -> None:
    refuse(log, "one")
    path.rename(path.with_name("elsewhere"))
    assert reader.look() == []  # it was never looked at, and has no name that tells
    refuse(log, "two")
    assert reader.look() == [("two", "not_allowed")]
    three = log.reserve(event("three"))
    assert reader.look() == []
    path.rename(path.with_name("elsewhere too"))
    refuse(log, "four")
    three.settle("created")
    assert reader.look() == [("three", "created"), ("four", "not_allowed")]


def test_a_log_that_another_program_has_cut_is_read_from_its_beginning(
    log: AuditLog, path: Path, reader: Reader
) -> None:
    for number in range(5):
        refuse(log, f"{number}")
    assert len(reader.look()) == 5
    os.truncate(path, 0)
    refuse(log, "anew")
    assert reader.look() == [("anew", "not_allowed")]


def test_only_what_is_wanted_is_shown_when_it_is_so(log: AuditLog, path: Path) -> None:
    made = Reader(path, Wanted(outcome="created"))
    with closing(made.follower):
        one, two = log.reserve(event("one")), log.reserve(event("two"))
        refuse(log, "three")
        assert made.look() == []
        assert made.look(BEGUN_SECONDS) == []
        one.settle("created")
        two.refuse("note_exists")
        assert made.look() == [("one", "created")]


def test_what_is_no_line_is_counted_once_it_cannot_become_one(
    log: AuditLog, path: Path, reader: Reader
) -> None:
    refuse(log, "one")
    whole = path.read_bytes()
    with path.open("ab") as file:
        file.write(b"torn\n")
        file.write(whole.replace(b"one", b"two")[:50])
    assert reader.look() == [("one", "not_allowed")]
    assert reader.follower.broken == 0
    with path.open("ab") as file:
        file.write(whole.replace(b"one", b"two")[50:])
    assert reader.look() == [("two", "not_allowed")]
    assert reader.look(BEGUN_SECONDS) == []
    assert reader.follower.broken == 1


def test_a_link_in_the_place_of_the_log_is_not_followed_and_named(
    log: AuditLog, path: Path, reader: Reader
) -> None:
    refuse(log, "one")
    other = path.with_name("other")
    other.write_bytes(path.read_bytes().replace(b"one", b"two"))
    assert reader.look() == [("one", "not_allowed")]
    assert rotate(str(path), observe=ignore)
    path.unlink()
    path.symlink_to(other)
    assert reader.look() == []
    assert reader.follower.files.refused == ["audit.jsonl"]
    path.unlink()
    refuse(log, "three")
    assert reader.look() == [("three", "not_allowed")]


def test_of_many_changes_without_an_outcome_the_latest_are_watched(
    log: AuditLog, path: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following_module, "MOST_OPEN", 2)
    waiting = [log.reserve(event(f"{number}")) for number in range(4)]
    assert reader.look() == [("0", "begun"), ("1", "begun")]
    for reservation in waiting:
        reservation.settle("created")
    assert reader.look() == [("2", "created"), ("3", "created")]


def test_no_descriptor_is_left(log: AuditLog, path: Path, reader: Reader) -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    refuse(log, "one")
    reader.look()
    before = count()
    for _ in range(5):
        refuse(log, "x")
        assert rotate(str(path), observe=ignore)
        reader.look()
        reader.look()
    assert count() == before
    reader.follower.close()
    assert count() == before - 1


def test_following_shows_all_that_was_written_whenever_it_looks(log: AuditLog, path: Path) -> None:
    """Changes that overlap, files of a few lines, and looks at every point in between."""
    log = AuditLog(str(path), rotation=Rotation(2500))
    made, seen, waiting = Reader(path), [], []
    with closing(made.follower):
        for number in range(120):
            waiting.append((number, log.reserve(event(f"{number}"))))
            if number % 5 == 4:
                for which, each in waiting[::-1]:
                    each.refuse("note_exists") if which % 3 else each.settle("created")
                    if which % 2:
                        seen += made.look()
                waiting.clear()
            if number % 7 == 0:
                refuse(log, f"between {number}")
            if number % 4 == 0:
                seen += made.look()
        seen += made.look()
    told = [(line["path"], line["outcome"]) for line in lines(path)]
    assert sorted(seen) == sorted(told)
    assert json.dumps(told).count("begun") == 0


@pytest.mark.parametrize("turn", range(2))
def test_following_many_processes_shows_every_line_once(path: Path, turn: int) -> None:
    """Whatever they overwrite, cut off and rename while it is read; and one who comes later misses nothing either."""
    names, count = "abcd", 400
    processes = [SPAWN.Process(target=write, args=(str(path), name, count, 1 << 14)) for name in names]
    for process in processes:
        process.start()
    readers: list[tuple[Reader, list[tuple[str, str]]]] = []
    deadline = time.monotonic() + 60
    while any(process.is_alive() for process in processes) and time.monotonic() < deadline:
        if len(readers) < 20:
            made = Reader(path)
            readers.append((made, list(made.before)))
        for made, seen in readers:
            seen += made.look(0.001)
    for process in processes:
        process.join(60)
    told = sorted((line["path"], line["outcome"]) for line in lines(path))
    assert len(told) == count * len(names)
    for made, seen in readers:
        seen += made.look(0.001)
        made.follower.close()
        # Shown as begun by the history, and then once more with its outcome.
        assert sorted(each for each in seen if each[1] != "begun") == told
        assert made.follower.broken == 0


def test_a_line_that_comes_right_before_its_file_is_renamed_is_shown_in_its_place(
    log: AuditLog, path: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interleaving by force: between the look at the lines and the look at the name."""
    refuse(log, "one")
    real = reader.follower.files.identity

    def renamed_before(*number: int) -> tuple[int, int] | None:
        monkeypatch.setattr(reader.follower.files, "identity", real)
        refuse(log, "two")
        assert rotate(str(path), observe=ignore)
        refuse(log, "three")
        return real(*number)

    assert reader.look() == [("one", "not_allowed")]
    monkeypatch.setattr(reader.follower.files, "identity", renamed_before)
    assert [name for name, _ in reader.look()] == ["two", "three"]


def test_files_are_followed_though_numbers_begin_again(log: AuditLog, path: Path, reader: Reader) -> None:
    """As they do when older files were moved away."""
    for name in "abc":
        refuse(log, name)
        assert rotate(str(path), observe=ignore)
    assert [name for name, _ in reader.look()] == ["a", "b", "c"]
    for older in path.parent.glob("audit-*"):
        older.unlink()
    for name in "def":
        refuse(log, name)
        assert rotate(str(path), observe=ignore)
    refuse(log, "g")
    assert [name for name, _ in reader.look()] == ["d", "e", "f", "g"]
