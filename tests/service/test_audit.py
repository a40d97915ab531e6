"""The audit log: room first, one line for each change, whatever happens in between."""

from __future__ import annotations

import json
import multiprocessing
import resource
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fsnotes.audit import AuditLog, Event, History, Wanted
from fsnotes.errors import Unavailable

EVENT = Event(
    principal="local:me", tool="notes_create", workspace="notes", path="a.md", jail="none", request_id="7"
)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_a_change_has_one_line_that_says_begun_until_it_is_settled(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(str(path), clock=lambda: 1_800_000_000.25)
    reservation = log.reserve(EVENT)
    assert [line["outcome"] for line in lines(path)] == ["begun"]
    reservation.settle("created", path="a.md", after="E" * 32)
    assert lines(path) == [
        {
            "time": "2027-01-15T08:00:00.250Z",
            "principal": "local:me",
            "tool": "notes_create",
            "workspace": "notes",
            "path": "a.md",
            "outcome": "created",
            "etagBefore": None,
            "etagAfter": "E" * 32,
            "jail": "none",
            "requestId": "7",
            "traceId": None,
        }
    ]
    assert path.stat().st_mode & 0o777 == 0o600


def test_lines_of_overlapping_changes_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    first, second = AuditLog(str(path)), AuditLog(str(path))
    one, two = first.reserve(EVENT), second.reserve(EVENT)
    first.refuse(Event("local:me", "notes_read", "file:///x", None, "none", outcome="not_allowed"))
    two.settle("second")
    one.settle("first")
    assert [line["outcome"] for line in lines(path)] == ["first", "second", "not_allowed"]


@pytest.mark.parametrize("path", ["x" * 4095, "é" * 2047, "\u0001" * 1000, "😀" * 1000, None])
def test_any_path_fits_its_line(tmp_path: Path, path: str | None) -> None:
    log = AuditLog(str(tmp_path / "audit.jsonl"))
    event = Event("p", "t", "w", path, "none")
    log.reserve(event).settle("deleted", path=path, before="E" * 32, after="E" * 32)
    (line,) = lines(tmp_path / "audit.jsonl")
    assert (line["outcome"], line["path"]) == ("deleted", path)


def test_a_line_break_in_a_name_forges_no_line(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path / "audit.jsonl"))
    log.refuse(Event("p", "t", 'w\n{"outcome":"deleted"}', "a\nb\u2028c", "none", outcome="not_allowed"))
    assert [line["outcome"] for line in lines(tmp_path / "audit.jsonl")] == ["not_allowed"]


@pytest.mark.parametrize("way", ["refused", "reserved", "not made"])
def test_two_long_principals_are_two_and_each_is_found(tmp_path: Path, way: str) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(str(path))
    issuer = "https://login.example/" + "r" * 2026
    both = [f"{issuer}|{'😀' * 254}{last}" for last in "ab"]
    for who in both:
        event = Event(who, "notes_read", "w", "x" * 4000, "none", outcome="not_allowed")
        if way == "refused":
            log.refuse(event)
        elif way == "reserved":
            log.reserve(event).settle("created")
        else:
            log.reserve(event).refuse("not_allowed")
    assert [line["principal"] for line in lines(path)] == both
    with closing(History(str(path))) as history:
        found = [entry["principal"] for _, entry in history.entries(Wanted(principal=both[1]))]
    assert found == [both[1]]
    if way != "reserved":  # and the words of the caller's own choice are cut all the same
        assert {len(line["path"]) < 500 for line in lines(path)} == {True}


def _reserve_at_a_file_size_limit(path: str, answers: Any) -> None:
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    log = AuditLog(path)
    log.reserve(EVENT).settle("created")
    size = Path(path).stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, size + 100))
    try:
        log.reserve(EVENT)
    except Unavailable:
        answers.put("unavailable")
    else:
        answers.put("reserved")


def test_without_room_for_the_whole_line_nothing_is_reserved_and_no_part_of_it_is_left(
    tmp_path: Path,
) -> None:
    path = tmp_path / "audit.jsonl"
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=_reserve_at_a_file_size_limit, args=(str(path), answers))
    process.start()
    assert answers.get(timeout=30) == "unavailable"
    process.join(timeout=30)
    assert [line["outcome"] for line in lines(path)] == ["created"]


def _write_lines(path: str, count: int) -> None:
    log = AuditLog(path)
    for _ in range(count):
        log.reserve(EVENT).settle("created")


def test_processes_share_the_log(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_write_lines, args=(str(path), 50)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=60)
    assert [line["outcome"] for line in lines(path)] == ["created"] * 200


def test_a_link_in_the_place_of_the_log_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("")
    (tmp_path / "audit.jsonl").symlink_to("elsewhere")
    with pytest.raises(Unavailable):
        AuditLog(str(tmp_path / "audit.jsonl")).reserve(EVENT)
    assert (tmp_path / "elsewhere").read_text() == ""


def test_a_change_that_was_not_made_gives_its_room_back_unless_somebody_wrote_behind_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(str(path))
    hostile = Event("p", "t", "w", "😀" * 4000, "none")
    log.reserve(hostile).refuse("invalid_argument")
    assert path.stat().st_size < 1000
    first = log.reserve(hostile)
    log.refuse(Event("p", "t", "w", None, "none", outcome="not_allowed"))
    first.refuse("invalid_argument")
    assert [line["outcome"] for line in lines(path)] == [
        "invalid_argument",
        "invalid_argument",
        "not_allowed",
    ]
