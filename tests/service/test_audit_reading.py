"""The log as it is read: what was written comes back, in order, over all files; and nothing else is taken for it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsnotes.audit import AuditLog, Entry, History, Rotation, Wanted
from fsnotes.audit import lines as lines_module
from fsnotes.audit.entries import FIELDS, parse
from fsnotes.audit.rotation import ignore, rotate
from fsnotes.errors import Unavailable
from sandbox.records import replace
from tests.service.logs import event, files, history, lines

TEXT = st.text(max_size=30) | st.sampled_from(["x" * 4095, "é" * 2000, "\u202e\x1b[2J\n", " ", "", "\ud800"])
OPTIONAL = st.none() | TEXT
EVENTS = st.builds(
    event,
    OPTIONAL,
    principal=TEXT,
    tool=TEXT,
    workspace=TEXT,
    request_id=OPTIONAL,
    trace_id=OPTIONAL,
    new_path=OPTIONAL,
)
ETAGS = st.none() | st.text("abc-_", min_size=32, max_size=32)
WORDS = st.text("abc_\u202e", max_size=15)
ENDS = st.tuples(st.sampled_from(["refuse", "settle", "leave", "log"]), WORDS, ETAGS, ETAGS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def expected(made: Any, outcome: str, before: str | None = None, after: str | None = None) -> dict[str, Any]:
    """Return the line of an event, computed apart from the product."""
    line = {
        "time": "2027-01-15T08:00:00.000Z",
        "principal": made.principal,
        "tool": made.tool,
        "workspace": made.workspace,
        "path": made.path,
        "outcome": outcome,
        "etagBefore": before,
        "etagAfter": after,
        "jail": made.jail,
        "requestId": made.request_id,
        "traceId": made.trace_id,
    }
    return line | ({} if made.new_path is None else {"newPath": made.new_path})


def is_short(line: dict[str, Any]) -> bool:
    """Whether no field is cut where nothing was changed."""
    return all(len(json.dumps(value)) < 400 for value in line.values())


@dataclass
class Model:
    """A log, what its lines must say, and what is still to be settled, each with its turn."""

    log: AuditLog
    lines: list[dict[str, Any]] = field(default_factory=list)
    waiting: list[tuple[int, Callable[[], None]]] = field(default_factory=list)

    def write(self, made: Any, ending: tuple[str, str, str | None, str | None], *, turn: int) -> None:
        """Write *made*, as a refusal or as a change that ends so in its turn."""
        how, outcome, before, after = ending
        line = expected(made, outcome)
        if how == "log" and is_short(line):
            self.log.refuse(replace(made, outcome=outcome))
            self.lines.append(line)
            return
        reservation = self.log.reserve(made)
        if how == "refuse" and is_short(line):
            self.waiting.append((turn, partial(reservation.refuse, outcome)))
        elif how == "settle":
            line = expected(made, outcome, before, after)
            self.waiting.append((turn, partial(reservation.settle, outcome, before=before, after=after)))
        else:  # as a kill leaves it
            line = expected(made, "begun")
            os.close(reservation._descriptor)
        self.lines.append(line)

    def settle(self, turn: int) -> None:
        """End what is due."""
        for each in [each for each in self.waiting if each[0] <= turn]:
            self.waiting.remove(each)
            each[1]()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(EVENTS, ENDS, st.integers(0, 4)), max_size=25),
    st.integers(1, 20_000),
    st.integers(0, 30),
)
def test_whatever_is_written_is_read_back_in_order_over_all_files(
    events: list[tuple[Any, tuple[str, str, str | None, str | None], int]], max_bytes: int, last: int
) -> None:
    """Changes that are settled at once, later, or never; refusals; files of any size; any text in any field."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "audit.jsonl"
        model = Model(AuditLog(str(path), rotation=Rotation(max_bytes), clock=lambda: 1_800_000_000.0))
        for number, (made, ending, delay) in enumerate(events):
            model.write(made, ending, turn=number + delay)
            model.settle(number)
        model.settle(len(events) + 5)
        assert history(path) == model.lines
        assert history(path, limit=last) == model.lines[max(0, len(model.lines) - last) :]
        for line in model.lines[:1]:
            same = [each for each in model.lines if each["principal"] == line["principal"]]
            assert history(path, Wanted(principal=line["principal"])) == same


@pytest.fixture
def told(path: Path) -> Path:
    """Write six lines into three files."""
    log = AuditLog(
        str(path), rotation=Rotation(1 << 20), clock=iter(range(1_800_000_000, 1_800_000_100)).__next__
    )
    for number, (principal, tool, workspace, outcome) in enumerate(
        [
            ("local:alice", "notes_create", "notes", "created"),
            ("local:bob", "notes_create", "notes", "not_allowed"),
            ("local:alice", "notes_delete", "notes", "deleted"),
            ("local:alice", "notes_create", "work", "created"),
            ("fsnotes", "sweep", "work", "swept_3"),
            ("local:bob", "notes_delete", "work", "begun"),
        ]
    ):
        log.refuse(event(f"{number}", principal=principal, tool=tool, workspace=workspace, outcome=outcome))
        if number % 2:
            assert rotate(str(path), observe=ignore)
    return path


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        (Wanted(), "012345"),
        (Wanted(principal="local:alice"), "023"),
        (Wanted(principal="local:ali"), ""),
        (Wanted(principal="LOCAL:ALICE"), ""),
        (Wanted(workspace="work"), "345"),
        (Wanted(tool="notes_delete"), "25"),
        (Wanted(tool="delete"), "25"),
        (Wanted(tool="sweep"), "4"),
        (Wanted(outcome="created"), "03"),
        (Wanted(outcome="begun"), "5"),
        (Wanted(since="2027-01-15T08:00:04.000Z"), "45"),
        (Wanted(since="2027-01-15T08:00:04.001Z"), "5"),
        (Wanted("2027-01-15T08:00:01.000Z", "local:alice", "work", "create", "created"), "3"),
    ],
)
def test_what_is_wanted_is_all_that_is_shown(told: Path, wanted: Wanted, numbers: str) -> None:
    assert len(files(told)) == 4
    assert [line["path"] for line in history(told, wanted)] == list(numbers)
    for limit in (0, 1, 2, 100):
        assert [line["path"] for line in history(told, wanted, limit)] == list(numbers)[
            max(0, len(numbers) - limit) :
        ]


def test_there_is_nothing_to_read_where_there_is_no_folder_and_none_is_made(tmp_path: Path) -> None:
    assert history(tmp_path / "gone/private/audit.jsonl") == []
    assert list(tmp_path.iterdir()) == []


def test_reading_changes_nothing(told: Path) -> None:
    def state() -> list[tuple[str, int, bytes]]:
        return [(each.name, each.stat().st_mtime_ns, each.read_bytes()) for each in files(told)]

    before = state()
    history(told)
    assert state() == before


def test_reading_waits_for_no_lock(told: Path) -> None:
    import fcntl

    with told.open("rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert len(history(told)) == 6


# -- what is no line ---------------------------------------------------------------------------------

GOOD = dict.fromkeys(FIELDS, "x") | {"time": "2027-01-15T08:00:00.000Z"}


def test_what_has_the_form_of_a_line_is_one() -> None:
    for extra in ({}, {"newPath": "b"}, {"later": None}, {"path": None, "traceId": None}):
        text = json.dumps(GOOD | extra)
        assert parse(text.encode() + b"   ") == Entry(text, GOOD | extra)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"x",
        b"{}",
        b"[]",
        b"null",
        b"\0" * 100,
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"1" * 100_000,
        json.dumps(GOOD).encode()[:-1],
        json.dumps(GOOD).encode() * 2,
        *(json.dumps({key: GOOD[key] for key in GOOD if key != name}).encode() for name in FIELDS),
        *(json.dumps(GOOD | {"path": value}).encode() for value in (1, True, [], {}, 1.5)),
        *(json.dumps(GOOD | {name: None}).encode() for name in ("time", "principal", "tool", "outcome")),
        *(
            json.dumps(GOOD | {"time": value}).encode()
            for value in ("", "x", "2027-01-15", "2027-01-15T08:00:00Z", "2027-01-15T08:00:00.000Z\n")
        ),
        json.dumps(GOOD | {"later": 7}).encode(),
    ],
    ids=range(38),
)
def test_what_has_not_is_counted_and_stops_nothing(path: Path, line: bytes) -> None:
    log = AuditLog(str(path))
    log.refuse(event("one", outcome="not_allowed"))
    with path.open("ab") as file:
        file.write(line + b"\n")
    log.refuse(event("two", outcome="not_allowed"))
    for limit in (None, 100):
        with closing(History(str(path))) as found:
            read = found.entries(Wanted()) if limit is None else found.last(Wanted(), limit)
            assert [entry["path"] for _, entry in read] == ["one", "two"]
            assert found.broken == (1 if line else 0)


def test_a_last_line_without_an_end_is_torn(path: Path) -> None:
    AuditLog(str(path)).refuse(event("one", outcome="not_allowed"))
    with path.open("ab") as file:
        file.write(json.dumps(GOOD).encode())
    with closing(History(str(path))) as found:
        assert [entry["path"] for _, entry in found.entries(Wanted())] == ["one"]
        assert found.broken == 1


def test_a_line_that_is_met_while_it_is_overwritten_is_read_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = AuditLog(str(path))
    log.reserve(event("one")).settle("created")
    log.refuse(event("two", outcome="not_allowed"))
    whole = path.read_bytes()
    path.write_bytes(whole[:80] + b"#" + whole[81:])
    real = lines_module.forwards

    def settled_meanwhile(descriptor: int, end: int, **more: Any) -> Any:
        for line in real(descriptor, end, **more):
            path.write_bytes(whole)
            yield line

    monkeypatch.setattr("fsnotes.audit.reading.forwards", settled_meanwhile)
    assert [line["path"] for line in history(path)] == ["one", "two"]


def test_a_last_line_that_becomes_shorter_while_it_is_read_takes_none_with_it(path: Path) -> None:
    log = AuditLog(str(path))
    log.refuse(event("one", outcome="not_allowed"))
    for limit in (None, 9):
        reservation = log.reserve(event("x" * 1000))
        with closing(History(str(path))) as found:
            reservation.refuse("note_exists")
            if limit is None:
                log.refuse(event("two", outcome="not_allowed"))
            read = found.entries(Wanted()) if limit is None else found.last(Wanted(), limit)
            names = [entry["path"][:3] for _, entry in read]
            assert names == (["one", "xxx"] if limit is None else ["one", "xxx", "two", "xxx"])
            assert found.broken == 0


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 16])
@pytest.mark.parametrize("longest", [1 << 20, 22, 9])
@settings(max_examples=40, deadline=None)
@given(data=st.lists(st.sampled_from([b"\n", b"a", b"bc", b"d" * 20, b" "]), max_size=30).map(b"".join))
def test_lines_are_the_same_from_either_side(block: int, longest: int, data: bytes) -> None:
    with tempfile.TemporaryFile() as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "BLOCK_BYTES", block)
        patch.setattr(lines_module, "MAX_LINE", longest)
        file.write(data)
        file.flush()
        descriptor, end = file.fileno(), data.rfind(b"\n") + 1
        ends = [at + 1 for at, byte in enumerate(data) if byte == 10]
        starts = [0, *ends][:-1]
        lines = data[:end].split(b"\n")[:-1]
        want = [
            (*place, line if len(line) < longest else b"\0")
            for *place, line in zip(starts, ends, lines, strict=True)
        ]
        assert lines_module.whole_lines(descriptor, len(data)) == end
        assert list(lines_module.forwards(descriptor, end)) == want
        assert list(lines_module.backwards(descriptor, end))[::-1] == want
        for start, _, line in want:
            assert lines_module.line_at(descriptor, start) == line
            assert list(lines_module.forwards(descriptor, end, start=start)) == want[starts.index(start) :]
        assert lines_module.line_at(descriptor, end) == (None if len(data) - end <= longest else b"\0")


@pytest.mark.parametrize("is_last", [True, False])
def test_a_line_without_measure_is_none_and_takes_no_memory(path: Path, *, is_last: bool) -> None:
    log = AuditLog(str(path))
    log.refuse(event("one", outcome="not_allowed"))
    log.refuse(event("two", outcome="not_allowed"))
    with path.open("ab") as file:
        for _ in range(40):
            file.write(b"x" * (1 << 20))
        file.write(b"\n")
    if not is_last:
        log.refuse(event("three", outcome="not_allowed"))
    import tracemalloc

    for limit in (None, 100):
        tracemalloc.start()
        with closing(History(str(path))) as found:
            read = list(found.entries(Wanted()) if limit is None else found.last(Wanted(), limit))
            names = ["one", "two", "three"][: 3 - is_last]
            assert ([entry["path"] for _, entry in read], found.broken) == (names, 1)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
        tracemalloc.stop()


# -- what is no file ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["audit.jsonl", "audit-000002.jsonl"])
@pytest.mark.parametrize("kind", ["link", "folder", "fifo"])
def test_what_is_no_file_of_the_log_is_named_and_not_followed(told: Path, name: str, kind: str) -> None:
    place = told.with_name(name)
    place.rename(told.with_name("moved"))
    match kind:
        case "link":
            place.symlink_to("moved")
        case "folder":
            place.mkdir()
        case "fifo":
            os.mkfifo(place)
    with closing(History(str(told))) as found:
        numbers = [entry["path"] for _, entry in found.entries(Wanted())]
        assert numbers == (["0", "1", "4", "5"] if name != "audit.jsonl" else list("012345"))
        assert (found.files.refused, found.broken) == ([name], 0)


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_folder_that_is_none_is_not_read(tmp_path: Path, kind: str) -> None:
    (tmp_path / "real").mkdir()
    AuditLog(str(tmp_path / "real/audit.jsonl")).refuse(event(outcome="not_allowed"))
    if kind == "link":
        (tmp_path / "private").symlink_to("real")
    else:
        (tmp_path / "private").write_bytes(b"")
    with pytest.raises(Unavailable):
        History(str(tmp_path / "private/audit.jsonl"))
    assert len(history(tmp_path / "real/audit.jsonl")) == 1


def test_a_file_that_is_renamed_while_reading_begins_is_read_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = AuditLog(str(path))
    for number in range(4):
        log.refuse(event(f"{number}", outcome="not_allowed"))
        if number % 2:
            assert rotate(str(path), observe=ignore)
    log.refuse(event("4", outcome="not_allowed"))
    from fsnotes.audit import reading

    real = reading.numbers

    def renamed_before(folder: int, name: str) -> list[int]:
        monkeypatch.setattr(reading, "numbers", real)
        assert rotate(str(path), observe=ignore)
        log.refuse(event("5", outcome="not_allowed"))
        return real(folder, name)

    monkeypatch.setattr(reading, "numbers", renamed_before)
    assert [line["path"] for line in history(path)] == list("01234")
    assert [line["path"] for line in history(path)] == list("012345")
    assert lines(path) == history(path)
