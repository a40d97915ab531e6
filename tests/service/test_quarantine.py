"""A workspace whose workers broke their rules stays closed, in every process and after every restart, until lifted."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fsnotes import wiring
from fsnotes.access import Right
from fsnotes.audit import AuditLog
from fsnotes.config import Settings, WorkspaceSettings
from fsnotes.errors import OutcomeUnknown, Unavailable
from fsnotes.quarantine import DAMAGED, Mark, Marks, Quarantine, lift
from fsnotes.runners import CLOSED, MAX_PENDING
from fsnotes.state import StateFolder
from sandbox.errors import LevelNotMet
from sandbox.jail.report import LAYERS, Layer, LayerState, Level, Report
from sandbox.jail.spec import JailSpec
from sandbox.jail.supervisor import Jail
from tests.mounts import run_in_mount_namespace
from tests.service.conftest import ALICE, Clock, Household, accept, answer, ask

NOW = 1_800_000_000.0
PATH = "/home/alice/Notes"
WHY = "its workers broke their rules too often"


class Desk:
    """A state folder, and processes that share it."""

    def __init__(self, top: Path) -> None:
        self.state = StateFolder.open(str(top / "state"))
        self.folder = Path(self.state.quarantine)
        self.file = self.folder / f"{self.state.identify(PATH)}.json"
        self.log = AuditLog(self.state.audit, clock=Clock())
        self.marks = Marks(self.state)

    def process(self) -> Quarantine:
        return Quarantine(self.state, {"Notes": PATH, "Other": "/other"}, self.log, clock=Clock(NOW))

    def lift(self) -> Mark | None:
        return lift(self.state, PATH, workspace="Notes", principal="local:alice", audit=self.log)

    def audited(self) -> list[tuple[str, str, str, str, str]]:
        path = Path(self.state.audit)
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [
            (line["principal"], line["tool"], line["workspace"], line["outcome"], line["jail"])
            for line in lines
        ]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_without_a_quarantine_nothing_is_closed_and_nothing_is_made(desk: Desk) -> None:
    process = desk.process()
    assert (process.stands("Notes"), process.mark("Notes"), process.look()) == (False, None, ())
    assert (desk.marks.find(PATH), desk.marks.named("Notes"), desk.lift()) == (None, (), None)
    assert not desk.folder.exists()
    assert desk.audited() == []


def test_a_quarantine_holds_in_other_processes_and_later_ones_until_it_is_lifted(desk: Desk) -> None:
    first, second = desk.process(), desk.process()
    first.impose("Notes", WHY, jail="full")
    assert (first.stands("Notes"), first.stands("Other"), second.stands("Notes")) == (True, False, False)
    assert (first.look(), second.look()) == ((), ())
    assert (second.stands("Notes"), desk.process().stands("Notes"), desk.process().stands("Other")) == (
        True,
        True,
        False,
    )
    mark = Mark(WHY, "Notes", PATH, NOW)
    assert (desk.process().mark("Notes"), desk.marks.named("Notes")) == (mark, (mark,))
    assert str(mark) == f"since 2027-01-15T08:00:00Z: {WHY}"
    assert stat.S_IMODE(desk.file.stat().st_mode) == 0o600
    assert desk.lift() == mark
    assert (desk.process().stands("Notes"), first.stands("Notes")) == (False, True)
    assert (first.look(), first.look(), second.look()) == (("Notes",), (), ("Notes",))
    assert (first.stands("Notes"), second.stands("Notes")) == (False, False)
    assert desk.audited() == [
        ("fsnotes", "quarantine", "Notes", "quarantined", "full"),
        ("local:alice", "doctor", "Notes", "quarantine_lifted", "none"),
    ]
    second.impose("Notes", WHY, jail="full")
    assert (first.look(), first.stands("Notes")) == ((), True)


GOOD: dict[str, Any] = {"workspace": "Notes", "path": PATH, "since": NOW, "why": WHY}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        json.dumps({**GOOD, "since": None}).encode(),
        json.dumps({**GOOD, "since": True}).encode(),
        json.dumps({**GOOD, "since": float("nan")}).encode(),
        json.dumps({**GOOD, "since": -1}).encode(),
        json.dumps({**GOOD, "since": 1e300}).encode(),
        json.dumps({**GOOD, "why": 1}).encode(),
        json.dumps({**GOOD, "why": "x" * 5000}).encode(),
        json.dumps({**GOOD, "path": "\ud800"}).encode(),
        json.dumps({**GOOD, "workspace": "\udcff"}).encode(),
        json.dumps({**GOOD, "more": 1}).encode(),
        json.dumps({"why": WHY}).encode(),
        b" " * 70_000,
    ],
)
def test_a_mark_that_cannot_be_read_closes_and_can_be_lifted(desk: Desk, data: bytes) -> None:
    desk.process().impose("Notes", WHY, jail="full")
    desk.file.write_bytes(json.dumps(GOOD).encode())
    assert desk.marks.find(PATH) == Mark(WHY, "Notes", PATH, NOW)
    desk.file.write_bytes(data)
    process = desk.process()
    assert (process.stands("Notes"), process.mark("Notes"), process.look()) == (True, Mark(DAMAGED), ())
    assert (desk.marks.named("Notes"), desk.marks.has_damaged()) == ((), True)
    assert desk.lift() == Mark(DAMAGED)
    assert process.look() == ("Notes",)


def open_to_others(desk: Desk) -> None:
    desk.file.chmod(0o644)


def link(desk: Desk) -> None:
    desk.file.rename(desk.folder.parent / "aside")
    desk.file.symlink_to("../aside")


def folder(desk: Desk) -> None:
    desk.file.unlink()
    desk.file.mkdir()


def pipe(desk: Desk) -> None:
    desk.file.unlink()
    os.mkfifo(desk.file, 0o600)


def file_for_all(desk: Desk) -> None:
    desk.file.unlink()
    desk.folder.rmdir()
    desk.folder.write_text("")


def link_for_all(desk: Desk) -> None:
    desk.folder.rename(desk.folder.parent / "aside")
    desk.folder.symlink_to("aside")


def dangling_link_for_all(desk: Desk) -> None:
    link_for_all(desk)
    (desk.folder.parent / "aside").rename(desk.folder.parent / "gone")


@pytest.mark.parametrize(
    "damage",
    [open_to_others, link, folder, pipe, file_for_all, link_for_all, dangling_link_for_all],
    ids=lambda damage: damage.__name__,
)
def test_a_mark_that_nobody_of_ours_has_written_closes_too(
    desk: Desk, damage: Callable[[Desk], None]
) -> None:
    desk.process().impose("Notes", WHY, jail="full")
    damage(desk)
    process = desk.process()
    assert (process.stands("Notes"), process.mark("Notes"), process.look()) == (True, Mark(DAMAGED), ())
    assert process.stands("Other") is damage.__name__.endswith("for_all")


def said(caplog: pytest.LogCaptureFixture, text: str) -> int:
    return sum(text in record.getMessage() for record in caplog.records)


def test_a_quarantine_that_cannot_be_written_holds_where_it_was_imposed_and_is_written_later(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.folder.write_text("")
    process = Quarantine(desk.state, {}, desk.log, clock=Clock(NOW))
    process._paths["Notes"] = PATH
    process.impose("Notes", WHY, jail="full")
    for _ in range(5):
        assert (process.look(), process.stands("Notes")) == ((), True)
    # Once, and without the way out that there is not.
    assert said(caplog, "is closed in this process alone, and not after a restart") == 1
    assert said(caplog, "--clear opens it") == 0
    desk.folder.unlink()
    assert (process.look(), process.stands("Notes"), desk.process().stands("Notes")) == ((), True, True)
    assert said(caplog, "is written down") == 1
    desk.lift()
    assert process.look() == ("Notes",)


def test_room_for_a_mark_is_taken_once_and_is_no_mark(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    process = desk.process()
    process.reserve()
    spare = desk.file.with_suffix(".free")
    before = spare.stat()
    assert (before.st_size, stat.S_IMODE(before.st_mode)) == (4096, 0o600)
    assert sorted(path.suffix for path in desk.folder.iterdir()) == [".free", ".free"]  # of both workspaces
    desk.process().reserve()
    process.look()
    assert spare.stat() == before
    assert (process.stands("Notes"), desk.process().stands("Notes"), desk.marks.named("Notes")) == (
        False,
        False,
        (),
    )
    assert not desk.marks.has_damaged()
    assert caplog.records == []


def test_a_mark_takes_the_room_that_was_kept_for_it_and_leaves_it_when_it_is_lifted(desk: Desk) -> None:
    process = desk.process()
    process.reserve()
    spare = desk.file.with_suffix(".free")
    number = spare.stat().st_ino
    for _ in range(2):
        process.impose("Notes", WHY, jail="full")
        assert (desk.file.stat().st_ino, desk.file.stat().st_size, spare.exists()) == (number, 4096, False)
        assert desk.process().mark("Notes") == Mark(WHY, "Notes", PATH, NOW)
        assert process.look() == ()
        assert not spare.exists()  # what stands needs no more
        assert desk.lift() == Mark(WHY, "Notes", PATH, NOW)
        assert (spare.stat().st_ino, desk.file.exists()) == (number, False)
        assert process.look() == ("Notes",)


def test_a_second_mark_of_one_workspace_takes_nothing_from_the_first(desk: Desk) -> None:
    first, second = desk.process(), desk.process()
    first.reserve()
    first.impose("Notes", WHY, jail="full")
    second.impose("Notes", "for another reason", jail="full")
    assert second.mark("Notes") == Mark(WHY, "Notes", PATH, NOW)
    desk.lift()
    assert (first.look(), second.look()) == (("Notes",), ("Notes",))


@pytest.mark.parametrize("spare", ["missing", "small", "link", "pipe", "open to others"])
def test_where_the_room_is_not_there_a_mark_is_written_all_the_same(
    desk: Desk, spare: str, tmp_path: Path
) -> None:
    process = desk.process()
    process.reserve()
    place = desk.file.with_suffix(".free")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"x" * 5000)
    if spare == "open to others":
        place.chmod(0o644)
    else:
        place.unlink()
    if spare == "small":
        place.write_bytes(b"x")
        place.chmod(0o600)
    if spare == "link":
        place.symlink_to(elsewhere)
    if spare == "pipe":
        os.mkfifo(place, 0o600)
    process.impose("Notes", WHY, jail="full")
    assert desk.process().mark("Notes") == Mark(WHY, "Notes", PATH, NOW)
    assert elsewhere.read_bytes() == b"x" * 5000
    desk.lift()
    process.look()
    assert (place.lstat().st_size, stat.S_IMODE(place.lstat().st_mode)) == (4096, 0o600)
    assert elsewhere.read_bytes() == b"x" * 5000


def test_a_long_path_has_room_for_all_of_its_escapes(tmp_path: Path) -> None:
    state = StateFolder.open(str(tmp_path / "state"))
    path = "/" + "\U0001f600" * 1000
    process = Quarantine(state, {"Notes": path}, AuditLog(state.audit), clock=Clock(NOW))
    process.reserve()
    (spare,) = Path(state.quarantine).iterdir()
    number = spare.stat().st_ino
    process.impose("Notes", WHY, jail="full")
    assert [file.stat().st_ino for file in Path(state.quarantine).iterdir()] == [number]
    assert process.mark("Notes") == Mark(WHY, "Notes", path, NOW)


def test_that_no_room_can_be_kept_is_said_once_and_again_when_it_can(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    process = Quarantine(desk.state, {}, desk.log, clock=Clock(NOW))
    process._paths["Notes"] = PATH
    desk.folder.write_text("")
    process.reserve()
    for _ in range(5):
        process.look()
    desk.folder.unlink()
    process._standing.clear()  # as what is no folder closed everything
    for _ in range(5):
        process.look()
    assert said(caplog, "no room can be kept for closing it") == 1
    assert said(caplog, "room is kept for closing it") == 1
    assert desk.file.with_suffix(".free").stat().st_size == 4096


@pytest.mark.parametrize("kept", [True, False], ids=["room was kept", "no room was kept"])
def test_a_quarantine_on_a_disk_that_is_full(tmp_path: Path, *, kept: bool) -> None:
    """Really full, in blocks and in files, in a mount namespace of its own; and where no room was kept, the truth."""
    run_in_mount_namespace("tests.service.full_disk", str(tmp_path), "kept" if kept else "none")


def test_a_quarantine_is_imposed_even_where_the_audit_log_is_full(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    Path(desk.state.audit).mkdir()
    desk.process().impose("Notes", WHY, jail="full")
    assert "missing from it" in caplog.text
    assert desk.process().stands("Notes")
    with pytest.raises(Unavailable):
        desk.lift()  # which is not done without its line
    assert desk.process().stands("Notes")


def test_a_mark_is_found_by_its_name_only_in_its_own_file(desk: Desk) -> None:
    desk.process().impose("Notes", WHY, jail="full")
    (desk.folder / "other.json").write_bytes(desk.file.read_bytes())
    (desk.folder / "other.json").chmod(0o600)
    assert [mark.path for mark in desk.marks.named("Notes")] == [PATH]


# -- a product -------------------------------------------------------------------------------------


def other(household: Household) -> str:
    """Serve a second workspace, and return its URI."""
    place = household.top / "Elsewhere"
    place.mkdir(exist_ok=True)
    (place / "b.md").write_text("b")
    canonical = os.path.realpath(place)
    household.others.append(WorkspaceSettings("Elsewhere", canonical, canonical))
    household.grant(ALICE, *Right, workspace="Elsewhere")
    return place.as_uri()


def quarantine(household: Household) -> StateFolder:
    """Close the vault, as another process would."""
    state = StateFolder.open(str(household.top / "state"))
    path = os.path.realpath(household.vault)
    Quarantine(state, {"Notes": path}, AuditLog(state.audit), clock=household.clock).impose(
        "Notes", WHY, jail="full"
    )
    return state


def open_again(household: Household, state: StateFolder) -> None:
    path = os.path.realpath(household.vault)
    lift(state, path, workspace="Notes", principal="local:alice", audit=AuditLog(state.audit))


def test_a_marked_workspace_is_not_served_and_the_others_are(household: Household) -> None:
    household.write("a.md", "text")
    elsewhere = other(household)
    state = quarantine(household)
    product = household.product()
    service, uri = product.service, household.uri
    assert product.notices[0] == (
        f"workspace 'Notes' is closed since 2027-01-15T08:00:00Z: {WHY}; fsnotes doctor --clear opens it"
    )
    for refused in (
        lambda: service.read(ALICE, uri, "a"),
        lambda: service.list(ALICE, uri),
        lambda: service.create(ALICE, uri, "new", "x"),
        lambda: ask(service, ALICE, uri, "a"),
        lambda: service.trash(ALICE, uri),
    ):
        with pytest.raises(Unavailable) as caught:
            refused()
        assert caught.value.why == CLOSED
    assert (household.files(), product.sweep()) == ({"a.md": b"text"}, 0)
    assert service.read(ALICE, elsewhere, "b").text == "b"
    shown = {
        each.name: (each.jail, each.notes, each.complete) for each in service.workspaces(ALICE).workspaces
    }
    assert shown == {"Notes": ("none", 0, False), "Elsewhere": (household.level, 1, True)}
    open_again(household, state)
    with pytest.raises(Unavailable):
        service.read(ALICE, uri, "a")
    product.look()
    assert service.read(ALICE, uri, "a").text == "text"
    assert household.service().read(ALICE, uri, "a").text == "text"
    assert household.product().notices == ()


def test_a_workspace_that_another_process_closes_is_closed_within_a_look(household: Household) -> None:
    household.write("a.md", "text")
    product = household.product()
    service, uri = product.service, household.uri
    asked = ask(service, ALICE, uri, "a.md")
    state = quarantine(household)
    assert service.read(ALICE, uri, "a").text == "text"
    product.look()
    with pytest.raises(Unavailable):
        service.read(ALICE, uri, "a")
    with pytest.raises(Unavailable):
        answer(service, ALICE, uri, "a.md", asked, accept("a.md"))
    assert household.files() == {"a.md": b"text"}
    open_again(household, state)
    product.look()
    answer(service, ALICE, uri, "a.md", asked, accept("a.md"))  # the state was not spent
    assert "a.md" not in household.files()


def test_a_server_looks_by_itself(household: Household, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiring, "LOOK_SECONDS", 0.01)
    household.write("a.md", "text")
    product = household.product()
    product.keep_tidy()
    state = quarantine(household)
    until(lambda: not is_served(product, household))
    open_again(household, state)
    until(lambda: is_served(product, household))


def is_served(product: wiring.Product, household: Household) -> bool:
    try:
        product.service.read(ALICE, household.uri, "a")
    except Unavailable:
        return False
    return True


def until(condition: Callable[[], bool], *, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


@pytest.mark.parametrize("change", [False, True], ids=["reader", "writer"])
def test_three_breaches_close_the_workspace_for_good_and_lifting_brings_the_workers_back(
    jailed: Household, *, change: bool
) -> None:
    """Nothing is shared or faked: real workers, accused of what a taken-over one does."""
    jailed.write("a.md", "text")
    jailed.worker = None
    product = jailed.product()
    service, uri = product.service, jailed.uri
    if change:
        service.create(ALICE, uri, "first", "x")
    workspace = product._runner._runner._workspaces["Notes"]  # type: ignore[attr-defined]
    worker = workspace._writer if change else workspace._begun.worker
    for number in range(3):
        until(lambda: worker._turns.current() is not None)
        if number < 2:
            assert service.read(ALICE, uri, "a").text == "text"
        worker.accuse("for this test")
    until(lambda: product._quarantine.stands("Notes"))
    for refused in (
        lambda: service.read(ALICE, uri, "a"),
        lambda: service.create(ALICE, uri, "second", "x"),
    ):
        with pytest.raises(Unavailable) as caught:
            refused()
        assert caught.value.why == CLOSED
    product.look()  # which does not open what nobody has lifted
    assert not is_served(product, jailed)
    mark = product._quarantine.mark("Notes")
    assert mark is not None
    assert mark.why == "its workers broke their rules too often, at last: for this test"
    until(lambda: ("fsnotes", "quarantine", None, "quarantined") in jailed.audited())
    assert [line["jail"] for line in jailed.audit() if line["tool"] == "quarantine"] == [jailed.level]
    restarted = jailed.product()
    assert not is_served(restarted, jailed)
    open_again(jailed, StateFolder.open(str(jailed.top / "state")))
    for each in (product, restarted):
        each.look()
        until(lambda: is_served(each, jailed))  # noqa: B023 - called at once
    service.create(ALICE, uri, "third", "x")
    assert jailed.files().keys() - {"first.md"} == {"a.md", "third.md"}


def workers_of(product: wiring.Product) -> tuple[Jail, Jail]:
    """Return the worker that looks and the one that changes."""
    workspace = product._runner._runner._workspaces["Notes"]  # type: ignore[attr-defined]
    return workspace._begun.worker, workspace._writer


@contextlib.contextmanager
def change_in_flight(jailed: Household, product: wiring.Product) -> Iterator[Future[Any]]:
    """Have the worker wait for the lock of the workspace, with a change that nobody else keeps from being made."""
    lock = os.open(jailed.vault, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    _, writer = workers_of(product)
    try:
        with ThreadPoolExecutor(1) as pool:
            change = pool.submit(product.service.create, ALICE, jailed.uri, "late", "x")
            until(lambda: writer.is_serving and not writer._turns._is_free)
            yield change
    finally:
        os.close(lock)


def test_breaches_of_both_workers_count_together_and_end_both_and_what_they_are_doing(
    jailed: Household,
) -> None:
    jailed.write("a.md", "text")
    jailed.worker = None
    product = jailed.product()
    service, uri = product.service, jailed.uri
    service.create(ALICE, uri, "first", "x")
    reader, writer = workers_of(product)
    for worker in (writer, reader):
        until(lambda: worker.is_serving)  # noqa: B023 - called at once
        worker.accuse("for this test")
    until(lambda: reader.is_serving and writer.is_serving)
    assert service.read(ALICE, uri, "a").text == "text"
    with change_in_flight(jailed, product) as change:
        begun = time.monotonic()
        reader.accuse("for this test")
        with pytest.raises(OutcomeUnknown):
            change.result(20)
        assert time.monotonic() - begun < 0.9  # at once, and not because the lock was waited for too long
    assert jailed.files().keys() == {"a.md", "first.md"}
    until(lambda: product._quarantine.stands("Notes"))
    assert [worker.is_serving for worker in (reader, writer)] == [False, False]
    until(lambda: ("fsnotes", "quarantine", None, "quarantined") in jailed.audited())
    open_again(jailed, StateFolder.open(str(jailed.top / "state")))
    product.look()
    assert service.read(ALICE, uri, "a").text == "text"
    service.create(ALICE, uri, "second", "x")
    # Once for both.
    assert [line["tool"] for line in jailed.audit()].count("quarantine") == 1


def test_a_workspace_that_another_process_closes_has_no_workers_left_after_a_look(jailed: Household) -> None:
    jailed.write("a.md", "text")
    jailed.worker = None
    product = jailed.product()
    service, uri = product.service, jailed.uri
    service.create(ALICE, uri, "first", "x")
    with change_in_flight(jailed, product) as change:
        state = quarantine(jailed)
        product.look()
        with pytest.raises(OutcomeUnknown):
            change.result(20)
    assert not any(worker.is_serving for worker in workers_of(product))
    open_again(jailed, state)
    product.look()
    assert service.read(ALICE, uri, "a").text == "text"
    service.create(ALICE, uri, "second", "x")
    assert [line["tool"] for line in jailed.audit()].count("quarantine") == 1


# -- a product that is made while a workspace is closed ----------------------------------------------


class Making:
    """Makes workers, and writes down which, and what was said of them."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self.made: list[tuple[str, str]] = []

    def __call__(self, spec: JailSpec, *, require: Level) -> Any:
        self.made.append((os.path.basename(spec.workspace), spec.kind))
        return self._make(spec, require=require)


def test_nothing_is_started_in_a_closed_workspace_before_it_is_opened(jailed: Household) -> None:
    jailed.write("a.md", "text")
    elsewhere = other(jailed)
    state = quarantine(jailed)
    jailed.worker = making = Making(Jail)
    product = jailed.product()
    product.look()
    assert not is_served(product, jailed)
    assert product.service.read(ALICE, elsewhere, "b").text == "b"
    product.sweep()
    shown = {each.name: each.jail for each in product.service.workspaces(ALICE).workspaces}
    assert shown == {"Notes": "none", "Elsewhere": jailed.level}
    assert {folder for folder, _ in making.made} == {"Elsewhere"}
    making.made.clear()
    open_again(jailed, state)
    product.look()
    assert product.service.read(ALICE, jailed.uri, "a").text == "text"
    product.service.create(ALICE, jailed.uri, "new", "x")
    assert making.made[0] == ("Notes", "ro")
    assert set(making.made) == {("Notes", "ro"), ("Notes", "rw")}
    shown = {each.name: each.jail for each in product.service.workspaces(ALICE).workspaces}
    assert shown == {"Notes": jailed.level, "Elsewhere": jailed.level}


def test_it_begins_by_itself_once_it_is_opened_and_calls_that_come_meanwhile_wait(jailed: Household) -> None:
    jailed.write("a.md", "text")
    state = quarantine(jailed)
    gate = threading.Event()

    def make(spec: JailSpec, *, require: Level) -> Any:
        assert gate.wait(20)
        return Jail(spec, require=require)

    jailed.worker = making = Making(make)
    product = jailed.product()
    open_again(jailed, state)
    product.look()
    until(lambda: making.made == [("Notes", "ro")])
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(product.service.read, ALICE, jailed.uri, "a") for _ in range(4)]
        gate.set()
        assert [call.result(20).text for call in calls] == ["text"] * 4
    assert making.made == [("Notes", "ro")]


def test_calls_that_wait_for_a_beginning_have_a_bound_in_number_and_in_time(jailed: Household) -> None:
    jailed.write("a.md", "text")
    state = quarantine(jailed)
    gate = threading.Event()

    def make(spec: JailSpec, *, require: Level) -> Any:
        gate.wait(20)
        return Jail(spec, require=require)

    jailed.worker = Making(make)
    product = jailed.product(call_deadline_seconds=4.0)
    open_again(jailed, state)
    product.look()
    with ThreadPoolExecutor(MAX_PENDING + 1) as pool:
        calls = [pool.submit(product.service.read, ALICE, jailed.uri, "a") for _ in range(MAX_PENDING + 1)]
        errors = sorted(type(call.exception(20)).__name__ for call in calls)
    gate.set()
    assert errors == ["LimitReached", *["NotItsTurn"] * MAX_PENDING]
    until(lambda: is_served(product, jailed))


def test_a_level_that_is_required_and_not_there_when_it_is_opened_serves_nothing(
    jailed: Household, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing is started, nobody can know it before: the server starts, and says so once it does."""
    jailed.write("a.md", "text")
    state = quarantine(jailed)
    weak = True

    def make(spec: JailSpec, *, require: Level) -> Any:
        return Weak() if weak else Jail(spec, require=require)

    jailed.worker = making = Making(make)
    product = jailed.product()
    assert making.made == []
    open_again(jailed, state)
    product.look()
    for _ in range(2):
        with pytest.raises(Unavailable) as caught:
            product.service.read(ALICE, jailed.uri, "a")
        assert caught.value.why == "the jail of this workspace is weaker than it has to be"
    assert making.made == [("Notes", "ro")]  # and is not tried again at once
    assert "jail level contained is required and partial is what it has" in caplog.text
    weak = False
    monkeypatch.setattr("fsnotes.starting.time.monotonic", lambda: time.perf_counter() + 1e9)
    assert product.service.read(ALICE, jailed.uri, "a").text == "text"


def test_a_workspace_that_is_closed_again_while_it_begins_has_no_workers(jailed: Household) -> None:
    jailed.write("a.md", "text")
    state = quarantine(jailed)
    workers: list[Jail] = []

    def make(spec: JailSpec, *, require: Level) -> Any:
        quarantine(jailed)
        product.look()
        workers.append(Jail(spec, require=require))
        return workers[-1]

    jailed.worker = Making(make)
    product = jailed.product()
    open_again(jailed, state)
    product.look()
    until(lambda: bool(workers) and "Notes" in product._end.__self__._jailed)  # type: ignore[attr-defined]
    until(lambda: not workers[0].is_serving)
    with pytest.raises(Unavailable) as caught:
        product.service.read(ALICE, jailed.uri, "a")
    assert caught.value.why == CLOSED
    jailed.worker = None
    open_again(jailed, state)
    product.look()
    assert product.service.read(ALICE, jailed.uri, "a").text == "text"


@pytest.mark.parametrize("when", ["closed", "beginning", "begun"])
def test_a_product_that_is_closed_leaves_nothing_of_a_workspace_that_was_closed(
    jailed: Household, when: str
) -> None:
    jailed.write("a.md", "text")
    state = quarantine(jailed)
    before = len(os.listdir("/proc/self/fd"))
    gate, workers = threading.Event(), []

    def make(spec: JailSpec, *, require: Level) -> Any:
        assert gate.wait(20)
        workers.append(Jail(spec, require=require))
        return workers[-1]

    jailed.worker = making = Making(make)
    product = jailed.product()
    if when != "closed":
        open_again(jailed, state)
        product.look()
        until(lambda: bool(making.made))
    if when == "begun":
        gate.set()
        until(lambda: is_served(product, jailed))
    product.close()
    gate.set()
    until(lambda: len(os.listdir("/proc/self/fd")) <= before)
    assert not any(worker.is_serving for worker in workers)
    with pytest.raises(Unavailable):
        product.service.read(ALICE, jailed.uri, "a")


class Weak:
    """A worker below the level that is required."""

    def start(self) -> Report:
        raise LevelNotMet(required="contained", reached="partial", missing=(("landlock", "not here"),))

    def stop(self) -> None:
        pass


def test_at_best_effort_a_host_without_a_jail_serves_what_was_closed_once_it_is_opened(
    inline: Household, caplog: pytest.LogCaptureFixture
) -> None:
    inline.write("a.md", "text")
    state = quarantine(inline)
    canonical = os.path.realpath(inline.vault)

    class Bare(Weak):
        report: Report | None = None

        def __init__(self, spec: JailSpec, *, require: Level) -> None:
            self.require = require

        def start(self) -> Report:
            if self.require is not Level.NONE:
                raise LevelNotMet(required=self.require, reached="none", missing=(("landlock", "not here"),))
            layers = tuple(Layer(name, LayerState.UNAVAILABLE, "not here") for name in LAYERS)
            self.report = Report("ro", layers, cwd=canonical, root_entries=None, resolver="walk")
            return self.report

    settings = Settings(
        state_dir=str(inline.top / "state"),
        workspaces=(WorkspaceSettings("Notes", canonical, str(inline.vault)),),
        rules=tuple(inline.rules),
    )
    with contextlib.closing(wiring.build(settings, environ={}, worker=Making(Bare))) as product:
        assert not is_served(product, inline)
        assert all("jail level none" not in notice for notice in product.notices)
        open_again(inline, state)
        product.look()
        assert product.service.read(ALICE, inline.uri, "a").text == "text"
    assert "jail level none; missing is landlock (not here)" in caplog.text
