"""The runner that puts commands to workers: what it asks, what it believes, and what it says when they fail."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from fsnotes import runners, starting, wiring, workers
from fsnotes.access import Access, Grant, Principal, Right, Rule, Workspace
from fsnotes.config import Settings, WorkspaceSettings
from fsnotes.errors import (
    Abandoned,
    Busy,
    FsnotesError,
    InvalidArgument,
    JailRequired,
    LimitReached,
    NotAllowed,
    NotCounted,
    NoteNotFound,
    NoteTooLarge,
    NotItsTurn,
    OutcomeUnknown,
    PathRefused,
    Unavailable,
)
from fsnotes.failures import describe
from fsnotes.jailed import WORK_SECONDS, JailedRunner
from fsnotes.notes.commands import (
    Command,
    CreateNote,
    FindReceipt,
    MoveNotes,
    NoteText,
    ReadNote,
    Receipt,
    TrashNote,
)
from fsnotes.notes.messages import COMMANDS, decode_command, encode_answer
from fsnotes.notes.opening import READER, WRITER, WorkerOptions
from fsnotes.notes.refusals import encode_error
from fsnotes.notes.scope import Scope
from fsnotes.state import Part, StateFolder
from fsnotes.workers import Begun, JailedWorkspace, Worker, WorkerMaker, begin, begin_at_best
from sandbox import errors as found
from sandbox import records
from sandbox.jail.events import Event, Happening
from sandbox.jail.report import LAYERS, Layer, LayerState, Level, Report
from sandbox.jail.spec import JailSpec
from sandbox.jail.supervisor import Jail
from sandbox.names import ROOT, RelPath
from sandbox.policy import Links, Policy
from sandbox.records import replace
from sandbox.root import Place
from sandbox.uris import FileUri
from tests.disk import Tree
from tests.service.conftest import ALICE, Clock, Household
from tests.service.test_jailed_kills import SOURCES
from tests.workers import folders, require_jail

ETAG = "abcdefghijklmnopqrstuvwxyz-_0123"
ENTRY = "20260131T235959Z-" + "0123456789abcdef" * 2
READ, CREATE, TRASH = ReadNote("a"), CreateNote("a", "x"), TrashNote("a.md", ETAG, ENTRY)
NOTE = NoteText("a.md", ETAG, 1, "x", 1, 1, 1, None, None)
REPLY = encode_answer(NOTE)

SPEC = JailSpec(workspace="/nowhere", kind="ro", handler=READER)


def report(level: Level, kind: str = "ro") -> Report:
    """Return the report of a worker that has reached *level*."""
    enforced = {
        Level.FULL: set(LAYERS),
        Level.CONTAINED: set(LAYERS) - {"namespaces"},
        Level.PARTIAL: {"seccomp"},
        Level.NONE: set(),
    }[level]
    layers = tuple(
        Layer(name, LayerState.ENFORCED, facts={"abi": 7})
        if name in enforced
        else Layer(name, LayerState.UNAVAILABLE, "not here")
        for name in LAYERS
    )
    return Report("ro" if kind == "ro" else "rw", layers, "/ws", None, "openat2")


HERE = Place("/", (os.stat("/").st_dev, os.stat("/").st_ino))
"""A place that stays: what a fake worker pretends to serve is nowhere."""


@dataclass
class Asked:
    op: str
    args: dict[str, Any]
    seconds: float
    write: bool
    abandoned: Callable[[], bool]


@dataclass
class Fake:
    """A worker that says what a test wants."""

    spec: JailSpec
    require: Level
    level: Level = Level.FULL
    answer: Callable[[Asked], dict[str, Any]] = lambda _: REPLY
    failure: found.WorkerFailed | None = None
    asked: list[Asked] = field(default_factory=list)
    accused: list[str] = field(default_factory=list)
    happened: tuple[Event, ...] = ()
    started: int = 0
    stopped: int = 0
    cleared: int = 0
    quarantined: int = 0
    is_serving: bool = True

    @property
    def report(self) -> Report | None:
        return report(self.level, self.spec.kind) if self.started else None

    @property
    def events(self) -> tuple[Event, ...]:
        return self.happened

    def start(self) -> Report:
        if self.failure is not None:
            raise self.failure
        if self.level.rank < self.require.rank:
            missing = (("namespaces", "not here"),)
            raise found.LevelNotMet(required=self.require.value, reached=self.level.value, missing=missing)
        self.started += 1
        return report(self.level, self.spec.kind)

    def call(
        self, op: str, args: dict[str, Any], *, deadline: float, write: bool, abandoned: Callable[[], bool]
    ) -> dict[str, Any]:
        asked = Asked(op, args, deadline - time.monotonic(), write, abandoned)
        self.asked.append(asked)
        return self.answer(asked)

    def accuse(self, why: str) -> None:
        self.accused.append(why)

    def clear(self) -> None:
        self.cleared += 1

    def quarantine(self) -> None:
        self.quarantined += 1

    def stop(self) -> None:
        self.stopped += 1


@dataclass
class Bench:
    """A runner over fake workers."""

    change: Callable[[Fake], None] = lambda _: None
    deadline: float = 20.0
    made: list[Fake] = field(default_factory=list)

    def __post_init__(self) -> None:
        uri = FileUri.from_path("/nowhere")
        workspace = Workspace("Notes", (uri,))
        self.access = Access([workspace], [Rule("local:alice", "Notes", ROOT, frozenset(Right))])
        self.uri = workspace.uri
        begun = begin(SPEC, require=Level.CONTAINED, make=self.make)
        self.workspace = JailedWorkspace(
            begun, self.make, place=HERE, ignore=("Ignored/**",), max_note_bytes=10
        )
        self.runner = JailedRunner({"Notes": self.workspace}, call_deadline=self.deadline)

    def make(self, spec: JailSpec, *, require: Level) -> Fake:
        self.made.append(Fake(spec, require))
        self.change(self.made[-1])
        return self.made[-1]

    def grant(self, right: Right = Right.READ) -> Grant:
        return self.access.authorize(Principal("local:alice"), self.uri, right)

    def run(self, command: Command[Any], *, abandoned: Callable[[], bool] = runners.never) -> Any:
        rights = {CreateNote: Right.WRITE, MoveNotes: Right.WRITE, TrashNote: Right.DELETE}
        return self.runner.run(
            self.grant(rights.get(type(command), Right.READ)), command, abandoned=abandoned
        )


def answering(answer: Callable[[Asked], dict[str, Any]]) -> Bench:
    def change(fake: Fake) -> None:
        fake.answer = answer

    return Bench(change)


def failing(error: Exception) -> Bench:
    def fail(asked: Asked) -> dict[str, Any]:
        raise error

    return answering(fail)


# -- which worker ----------------------------------------------------------------------------------


def test_looking_with_the_right_to_look_never_starts_the_worker_that_can_change() -> None:
    bench = Bench()
    for _ in range(3):
        bench.run(READ)
    assert [(fake.spec.kind, fake.spec.handler, len(fake.asked)) for fake in bench.made] == [
        ("ro", READER, 3)
    ]
    assert not any(asked.write for asked in bench.made[0].asked)


@pytest.mark.parametrize("right", [Right.WRITE, Right.DELETE])
def test_who_looks_with_a_right_to_change_is_served_by_the_one_and_has_the_other_started(
    right: Right,
) -> None:
    bench = Bench()
    bench.runner.run(bench.grant(right), READ)
    deadline = time.monotonic() + 30
    while bench.workspace._writer is None and time.monotonic() < deadline:
        time.sleep(0.01)
    looking, changing = bench.made
    assert (looking.spec.kind, len(looking.asked)) == ("ro", 1)
    assert (changing.spec.kind, changing.started, changing.asked) == ("rw", 1, [])


def test_a_change_waits_for_its_worker_to_start_while_there_is_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin_now = threading.Event()

    def change(fake: Fake) -> None:
        if fake.spec.kind == "rw":
            begin_now.wait(30)
            fake.answer = lambda _: {"reply": ["a.md", ENTRY]}

    bench = Bench(change)
    with monkeypatch.context() as patch:
        patch.setattr("fsnotes.runners.TRANSACTION_SECONDS", 0.2)
        with pytest.raises(Busy):
            bench.run(TRASH)
    begin_now.set()
    assert bench.run(TRASH).path == "a.md"
    assert len(bench.made) == 2


def test_the_first_change_starts_one_worker_for_all_changes() -> None:
    bench = answering(lambda _: {"refused": encode_error(PathRefused())})
    for _ in range(2):
        with pytest.raises(PathRefused):
            bench.run(CREATE)
    reading, changing = bench.made
    assert reading.asked == []
    assert changing.spec == records.replace(SPEC, kind="rw", handler=WRITER)
    assert (changing.require, changing.started, len(changing.asked)) == (Level.CONTAINED, 1, 2)
    assert all(asked.write for asked in changing.asked)


@pytest.mark.parametrize("right", [Right.READ, Right.DELETE])
def test_a_grant_of_another_right_reaches_no_worker_that_can_change(right: Right) -> None:
    bench = Bench()
    with pytest.raises(NotAllowed):
        bench.runner.run(bench.grant(right), CREATE)
    assert [(fake.spec.kind, fake.asked) for fake in bench.made] == [("ro", [])]


def test_many_threads_start_one_worker_for_their_changes() -> None:
    bench = answering(lambda _: {"refused": encode_error(PathRefused())})
    refused = []

    def change() -> None:
        with pytest.raises(PathRefused):
            bench.run(CREATE)
        refused.append(1)

    threads = [threading.Thread(target=change) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(refused) == 8
    assert [fake.spec.kind for fake in bench.made] == ["ro", "rw"]


def test_a_worker_for_changes_that_does_not_start_is_unavailable_and_not_tried_again_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def change(fake: Fake) -> None:
        if fake.spec.kind == "rw":
            fake.failure = found.LevelNotMet(required="contained", reached="partial", missing=())

    bench = Bench(change)
    for _ in range(3):
        with pytest.raises(Unavailable) as caught:
            bench.run(CREATE)
        assert caught.value.why == "the jail of this workspace is weaker than it has to be"
    assert [fake.spec.kind for fake in bench.made] == ["ro", "rw"]
    assert bench.run(READ).path == "a.md"
    later = time.monotonic() + starting.RETRY_SECONDS
    monkeypatch.setattr(starting, "time", SimpleNamespace(monotonic=lambda: later))
    with pytest.raises(Unavailable):
        bench.run(CREATE)
    assert [fake.spec.kind for fake in bench.made] == ["ro", "rw", "rw"]


def test_a_quarantine_and_its_end_reach_both_workers_and_another_start_is_tried_at_once() -> None:
    def change(fake: Fake) -> None:
        if fake.spec.kind == "rw":
            fake.failure = found.Quarantined("closed") if len(bench_made) == 1 else None
            fake.answer = lambda _: {"refused": encode_error(PathRefused())}
        bench_made.append(fake)

    bench_made: list[Fake] = []
    bench = Bench(change)
    bench.workspace.quarantine()
    with pytest.raises(Unavailable) as caught:
        bench.run(CREATE)
    assert caught.value.why == runners.CLOSED
    bench.workspace.clear()
    with pytest.raises(PathRefused):
        bench.run(CREATE)
    bench.workspace.quarantine()
    bench.workspace.clear()
    assert [(fake.quarantined, fake.cleared) for fake in bench.made] == [(2, 2), (0, 0), (1, 1)]


def test_closing_stops_both_workers_and_starts_none() -> None:
    bench = answering(lambda _: {"refused": encode_error(PathRefused())})
    with pytest.raises(PathRefused):
        bench.run(CREATE)
    bench.runner.close()
    assert [fake.stopped for fake in bench.made] == [1, 1]
    with pytest.raises(Unavailable):
        bench.run(CREATE)
    assert len(bench.made) == 2


def test_what_is_asked_after_closing_reaches_no_worker() -> None:
    bench = Bench()
    bench.run(READ)
    bench.runner.close()
    for command in (READ, FindReceipt("a.md", ETAG, ENTRY)):
        with pytest.raises(Unavailable) as caught:
            bench.run(command)
        assert caught.value.why == "this workspace is not being served any more"
    assert len(bench.made[0].asked) == 1


def test_what_is_asked_after_closing_is_unavailable_wherever_it_would_have_run(household: Household) -> None:
    household.write("a.md")
    product = household.product()
    assert product.service.read(ALICE, household.uri, "a").text == "x\n"
    product.close()
    with pytest.raises(Unavailable):
        product.service.read(ALICE, household.uri, "a")
    with pytest.raises(Unavailable):
        product.service.create(ALICE, household.uri, "new", "x")
    assert household.files() == {"a.md": b"x\n"}


def no_thread_left() -> None:
    raise RuntimeError("can't start new thread")


def test_whatever_keeps_a_worker_from_starting_is_a_worker_that_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def change(fake: Fake) -> None:
        if fake.spec.kind == "rw":
            monkeypatch.setattr(fake, "start", no_thread_left)

    unhandled: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", unhandled.append)
    bench = Bench(change)
    with pytest.raises(Unavailable) as caught:
        bench.run(CREATE)
    assert caught.value.why == "the workspace's worker failed"
    for thread in threading.enumerate():
        if thread.name == "jail starter":
            thread.join(30)
    assert unhandled == []
    assert bench.run(READ).path == "a.md"


def test_where_no_thread_can_be_started_changes_are_unavailable_and_looking_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = answering(
        lambda asked: (
            REPLY if asked.args["command"] == "ReadNote" else {"refused": encode_error(PathRefused())}
        )
    )
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", lambda _: no_thread_left())
        assert bench.runner.run(bench.grant(Right.DELETE), READ).path == "a.md"
        with pytest.raises(Unavailable) as caught:
            bench.run(CREATE)
    assert caught.value.why == "the workspace's worker failed"
    later = time.monotonic() + starting.RETRY_SECONDS
    monkeypatch.setattr(starting, "time", SimpleNamespace(monotonic=lambda: later))
    with pytest.raises(PathRefused):
        bench.run(CREATE)


def test_a_workspace_that_is_not_served_is_unavailable() -> None:
    runner = JailedRunner({}, call_deadline=1)
    with pytest.raises(Unavailable):
        runner.run(Bench().grant(), READ)
    with pytest.raises(Unavailable):
        runner.sweep("Notes", now=0)


def test_the_level_is_that_of_the_weakest_worker() -> None:
    def change(fake: Fake) -> None:
        fake.level = Level.CONTAINED if fake.spec.kind == "rw" else Level.FULL
        fake.answer = lambda _: {"refused": encode_error(PathRefused())}

    bench = Bench(change)
    assert bench.runner.jail("Notes") == "full"
    with pytest.raises(PathRefused):
        bench.run(CREATE)
    assert bench.runner.jail("Notes") == "contained"


# -- deadlines and patience ------------------------------------------------------------------------


def test_a_call_has_the_configured_time_and_one_in_a_transaction_two_seconds() -> None:
    bench = answering(
        lambda asked: REPLY if asked.args["command"] == "ReadNote" else encode_answer(Receipt(found=True))
    )
    bench.run(READ)
    bench.run(FindReceipt("a.md", ETAG, ENTRY))
    long, short = bench.made[0].asked
    assert 19 < long.seconds <= 20
    assert 1 < short.seconds <= runners.TRANSACTION_SECONDS
    bench = failing(found.JailBusy("x"))
    with pytest.raises(Busy):
        bench.run(TRASH)
    assert 1 < bench.made[1].asked[0].seconds <= runners.TRANSACTION_SECONDS


@pytest.mark.parametrize(
    ("command", "seconds"),
    [
        (MoveNotes("a", "b"), 20),
        (MoveNotes("a", "b", ("c.md",) * 100), 25),
        (MoveNotes("a", "b", work=3_000_000), 32),
        (MoveNotes("a", "b", work=3_000_000, dry_run=True), 32),
        (MoveNotes("a", "b", work=2**62), 100),
    ],
)
def test_a_move_has_time_for_the_links_that_it_rewrites_and_begins_no_later(
    monkeypatch: pytest.MonkeyPatch, command: MoveNotes, seconds: int
) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    bench = failing(found.JailBusy("x"))
    with pytest.raises(Busy):
        bench.run(records.replace(command, lock_timeout=1_000.0))
    asked = bench.made[1].asked[0]
    assert asked.seconds == pytest.approx(seconds)
    now[0] = 1000 + 20 - WORK_SECONDS - 0.1
    assert not asked.abandoned()
    now[0] += 0.2
    assert asked.abandoned()


def test_a_change_is_given_up_while_there_is_time_left_to_finish_one_that_has_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    bench = failing(found.JailBusy("x"))
    with pytest.raises(Busy):
        bench.run(TRASH)
    asked = bench.made[1].asked[0]
    assert not asked.abandoned()
    now[0] = 1000 + runners.TRANSACTION_SECONDS - WORK_SECONDS
    assert asked.abandoned()


def giving_up(monkeypatch: pytest.MonkeyPatch, wait: Callable[[Fake, Asked, Clock], None]) -> Bench:
    """Return a bench whose worker for changes lets each call *wait*, and then tells that it was given up."""
    clock = Clock(1000.0)
    monkeypatch.setattr(time, "monotonic", clock)

    def change(fake: Fake) -> None:
        def answer(asked: Asked) -> dict[str, Any]:
            wait(fake, asked, clock)
            raise found.Abandoned("x")

        fake.answer = answer

    return Bench(change)


def test_waiting_for_a_turn_and_for_the_lock_together_count_as_the_locks_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Inline, other threads of the process are waited for as part of waiting for the lock."""
    seen: list[bool] = []

    def wait(fake: Fake, asked: Asked, clock: Clock) -> None:
        for seconds in (0.0, 0.6, 0.3, 0.2):
            clock.now += seconds
            seen.append(asked.abandoned())

    bench = giving_up(monkeypatch, wait)
    with pytest.raises(Busy):
        bench.run(CREATE)
    assert seen == [False, False, False, True]
    seen.clear()
    with pytest.raises(Busy):
        bench.run(CreateNote("a", "x", lock_timeout=0.5))
    assert seen == [False, True, True, True]


def test_a_worker_that_is_being_restarted_is_waited_for_beside_the_lock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[bool] = []

    def wait(fake: Fake, asked: Asked, clock: Clock) -> None:
        for serving, seconds in ((True, 0.5), (False, 10.0), (True, 0.4), (True, 0.2)):
            fake.is_serving = serving
            clock.now += seconds
            seen.append(asked.abandoned())

    with pytest.raises(Busy):
        giving_up(monkeypatch, wait).run(CREATE)
    assert seen == [False, False, False, True]


def test_the_start_of_a_worker_is_waited_for_beside_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    clock = Clock(1000.0)
    monkeypatch.setattr(time, "monotonic", clock)

    def change(fake: Fake) -> None:
        clock.now += 3.0

        def answer(asked: Asked) -> dict[str, Any]:
            for seconds in (0.9, 0.2):
                clock.now += seconds
                seen.append(asked.abandoned())
            raise found.Abandoned("x")

        fake.answer = answer

    with pytest.raises(Busy):
        Bench(change).run(CREATE)
    assert seen == [False, True]


def test_no_patience_for_the_lock_outlasts_a_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def wait(fake: Fake, asked: Asked, clock: Clock) -> None:
        for seconds in (0.9, 0.2):
            clock.now += seconds
            seen.append(asked.abandoned())

    with pytest.raises(Busy):
        giving_up(monkeypatch, wait).run(TrashNote("a.md", ETAG, ENTRY, lock_timeout=60.0))
    assert seen == [False, True]


def test_every_change_says_how_long_it_waits_for_the_lock() -> None:
    changes = [kind for kind in COMMANDS if kind.changes]
    assert [kind for kind in COMMANDS if "lock_timeout" in kind.__annotations__] == changes
    assert len(changes) >= 4


def test_looking_is_given_up_by_the_caller_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    bench.run(READ)
    monkeypatch.setattr(time, "monotonic", lambda: 1e12)
    assert not bench.made[0].asked[0].abandoned()


@pytest.mark.parametrize("by", ["the jail", "the handler"])
@pytest.mark.parametrize("gone", [True, False])
def test_a_change_that_was_given_up_is_abandoned_or_busy(by: str, gone: bool) -> None:
    """As the caller has gone, or as it was only too late to begin."""
    calls = iter([False])

    def answer(asked: Asked) -> dict[str, Any]:
        if by == "the jail":
            raise found.Abandoned("x")
        return {"refused": encode_error(Abandoned())}

    bench = answering(answer)
    with pytest.raises(Abandoned if gone else Busy):
        bench.run(CREATE, abandoned=lambda: next(calls, gone))


def test_a_change_that_only_counted_is_sent_again_until_it_is_made_or_its_caller_goes() -> None:
    answers = iter([NotCounted(), NotCounted(), PathRefused(), NotCounted(), NotCounted(), NotCounted()])
    bench = answering(lambda _: {"refused": encode_error(next(answers))})
    with pytest.raises(PathRefused):
        bench.run(CREATE)
    assert len({str(asked.args) for asked in bench.made[1].asked}) == 1
    assert len(bench.made[1].asked) == 3
    gone = iter([False, False, True])
    with pytest.raises(Abandoned):
        bench.run(CREATE, abandoned=lambda: next(gone, True))
    assert len(bench.made[1].asked) == 5


def test_a_worker_that_counts_for_ever_is_told_so_while_it_has_time_to_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(1000.0)
    monkeypatch.setattr(time, "monotonic", clock)

    def answer(asked: Asked) -> dict[str, Any]:
        assert asked.seconds > WORK_SECONDS
        clock.now += 0.5
        return {"refused": encode_error(NotCounted())}

    bench = answering(answer)
    with pytest.raises(NotCounted):
        bench.run(CREATE)
    assert len(bench.made[1].asked) == 2 * (bench.deadline - WORK_SECONDS)


def test_a_worker_that_says_it_counts_for_who_only_looks_is_no_honest_one() -> None:
    bench = answering(lambda _: {"refused": encode_error(NotCounted())})
    with pytest.raises(Unavailable):
        bench.run(READ)
    assert len(bench.made[0].accused) == 1


def test_a_caller_that_has_gone_asks_for_nothing() -> None:
    bench = Bench()
    with pytest.raises(Abandoned):
        bench.run(READ, abandoned=lambda: True)
    assert bench.made[0].asked == []


def test_one_command_too_many_is_told_of_the_bound_and_the_next_one_is_not() -> None:
    entered, leave = threading.Semaphore(0), threading.Event()

    def wait(asked: Asked) -> dict[str, Any]:
        entered.release()
        leave.wait(30)
        return REPLY

    bench = answering(wait)
    threads = [threading.Thread(target=bench.run, args=(READ,)) for _ in range(runners.MAX_PENDING)]
    for thread in threads:
        thread.start()
        assert entered.acquire(timeout=30)
    with pytest.raises(LimitReached):
        bench.run(READ)
    leave.set()
    for thread in threads:
        thread.join(30)
    assert bench.run(READ).path == "a.md"


# -- failures --------------------------------------------------------------------------------------

FAILURES = [
    found.WorkerBreach("x", sent=True),
    found.WorkerCrashed("x", sent=True),
    found.WorkerHung("x", sent=True),
    found.WorkerLimit("x", sent=True),
    found.JailStopped("x", sent=True),
    found.Quarantined("x", sent=True),
    found.HandlerFailed("builtins.KeyError", {"secret": "x"}),
]
UNSENT = [
    found.WorkerCrashed("x"),
    found.JailStopped("x"),
    found.Quarantined("x"),
    found.LevelNotMet(required="full", reached="none", missing=()),
    found.WorkerFailed("x"),
]


@pytest.mark.parametrize("failure", [*FAILURES, *UNSENT], ids=lambda failure: type(failure).__name__)
def test_looking_at_a_worker_that_fails_is_unavailable(failure: Exception) -> None:
    with pytest.raises(Unavailable) as caught:
        failing(failure).run(READ)
    line = describe(caught.value).line
    assert line.startswith("unavailable: ")
    assert line.endswith("; nothing was done, ask the operator to look at it")


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
def test_a_change_that_had_been_sent_has_an_unknown_outcome(failure: Exception) -> None:
    with pytest.raises(OutcomeUnknown) as caught:
        failing(failure).run(CREATE)
    failed = describe(caught.value)
    assert (failed.slug, failed.exit_code) == ("unavailable", 1)
    assert failed.line.endswith("; outcome unknown: read before retrying")
    assert "KeyError" not in failed.line


@pytest.mark.parametrize("failure", UNSENT, ids=lambda failure: type(failure).__name__)
def test_a_change_that_had_not_been_sent_was_not_made(failure: Exception) -> None:
    with pytest.raises(Unavailable):
        failing(failure).run(CREATE)


def test_every_failure_of_a_worker_has_words_of_its_own() -> None:
    kinds = {
        kind
        for kind in vars(found).values()
        if isinstance(kind, type) and issubclass(kind, found.WorkerFailed)
    }
    spoken = kinds - {found.WorkerFailed, found.JailBusy}
    assert set(workers._WHY) == spoken
    assert len(set(workers._WHY.values())) == len(spoken)


@pytest.mark.parametrize("command", [READ, CREATE], ids=["looks", "changes"])
def test_who_waits_in_vain_for_a_worker_is_not_told_that_somebody_changes_the_workspace(
    command: Command[Any],
) -> None:
    """It may be a read that hangs, or nobody at all while the worker is being started."""
    with pytest.raises(NotItsTurn) as caught:
        failing(found.JailBusy("the worker was not free in time")).run(command)
    failure = describe(caught.value)
    assert (failure.slug, failure.exit_code) == ("busy", 6)
    assert "changing" not in failure.line


@pytest.mark.parametrize("serving", [True, False])
def test_a_change_that_is_given_up_is_told_what_it_has_waited_for(
    monkeypatch: pytest.MonkeyPatch, *, serving: bool
) -> None:
    def wait(fake: Fake, asked: Asked, clock: Clock) -> None:
        fake.is_serving = serving
        clock.now += 60.0
        assert asked.abandoned()

    with pytest.raises(Busy) as caught:
        giving_up(monkeypatch, wait).run(CREATE)
    assert type(caught.value) is (Busy if serving else NotItsTurn)


def test_a_worker_that_cannot_be_started_again_is_unavailable_and_not_busy() -> None:
    bench = failing(found.JailBusy("x"))
    with pytest.raises(Busy):
        bench.run(READ)
    bench.made[0].happened = (Event(0.0, Happening.NOT_STARTED, "the workspace was moved or replaced"),)
    with pytest.raises(Unavailable) as caught:
        bench.run(READ)
    assert caught.value.why == "the workspace's worker cannot be started"


# -- what comes back -------------------------------------------------------------------------------

BAD = [
    {},
    {"reply": None},
    REPLY | {"more": 1},
    {"reply": REPLY["reply"]},
    {"reply": ["a.md", ETAG, 1, "x", 1, 1, 1, None, None], "text": "x"},
    {"refused": {"error": "Busy", "fields": {}}, "text": "x"},
    {"refused": {"error": "Unavailable", "fields": {"why": "call this number"}}},
    {"refused": {"error": "InvalidState", "fields": {"reason": "x"}}},
    encode_answer(records.replace(NOTE, path="../a.md")),
    encode_answer(records.replace(NOTE, path="b.md")),
    encode_answer(records.replace(NOTE, etag="x")),
    REPLY | {"text": 7},
    REPLY | {"text": "\ud800"},
    {"reply": [*REPLY["reply"][:3], {"escaped": '"\\ud800"'}, *REPLY["reply"][4:]]},
    {"refused": {"error": "NoteNotFound", "fields": {"what": "note", "name": "/etc", "candidates": []}}},
]


@pytest.mark.parametrize("answer", BAD, ids=range(len(BAD)))
def test_an_answer_that_no_honest_worker_gives_is_a_breach(answer: dict[str, Any]) -> None:
    bench = answering(lambda _: answer)
    with pytest.raises(Unavailable):
        bench.run(READ)
    assert len(bench.made[0].accused) == 1
    with pytest.raises(OutcomeUnknown):
        bench.run(CREATE)
    assert len(bench.made[1].accused) == 1


def test_an_id_outside_the_granted_folder_is_a_breach() -> None:
    bench = Bench()
    rules = [Rule("local:alice", "Notes", RelPath.parse("Shared"), frozenset(Right))]
    bench.access = Access([Workspace("Notes", (FileUri.from_path("/nowhere"),))], rules)
    bench.made[0].answer = lambda _: encode_answer(records.replace(NOTE, path="Private/a.md"))
    with pytest.raises(Unavailable):
        bench.run(ReadNote("Private/a"))
    assert len(bench.made[0].accused) == 1


def test_an_honest_refusal_accuses_nobody() -> None:
    bench = answering(lambda _: {"refused": encode_error(NoteNotFound("note", "a"))})
    with pytest.raises(NoteNotFound):
        bench.run(READ)
    assert bench.made[0].accused == []


def test_the_scope_is_that_of_grant_and_workspace() -> None:
    bench = Bench()
    bench.run(READ)
    (asked,) = bench.made[0].asked
    assert (asked.op, decode_command(asked.args)) == ("run", (Scope((ROOT,), ("Ignored/**",)), READ))


@pytest.mark.parametrize(
    ("content", "error"), [("x" * 11, NoteTooLarge), ("é" * 6, NoteTooLarge), ("\ud800", InvalidArgument)]
)
def test_a_note_that_cannot_be_made_is_not_sent(content: str, error: type[FsnotesError]) -> None:
    bench = Bench()
    with pytest.raises(error):
        bench.run(CreateNote("a", content))
    assert not any(fake.asked for fake in bench.made)


def test_words_longer_than_a_worker_takes_are_an_invalid_argument(jailed: Household) -> None:
    jailed.write("a.md")
    with pytest.raises(InvalidArgument):
        jailed.service().read(ALICE, jailed.uri, "a", heading="x" * 17_000_000)
    # The channel is still in order.
    assert jailed.service().read(ALICE, jailed.uri, "a").text == "x\n"


# -- how it begins ---------------------------------------------------------------------------------


def reaching(levels: dict[Level, Level | found.WorkerFailed]) -> tuple[WorkerMaker, list[Fake]]:
    """Return what makes workers that reach, or fail with, what *levels* say for the level that is wanted."""
    made: list[Fake] = []

    def make(spec: JailSpec, *, require: Level) -> Fake:
        fake = Fake(spec, require)
        match levels[spec.want]:
            case Level() as level:
                fake.level = level
            case failure:
                fake.failure = failure
        made.append(fake)
        return fake

    return make, made


@pytest.mark.parametrize("level", list(Level))
def test_the_best_level_is_the_one_that_is_reached_and_required_from_then_on(level: Level) -> None:
    make, made = reaching({Level.FULL: level})
    begun = begin_at_best(SPEC, make=make)
    assert begun.require is level
    assert begun.worker is made[-1]
    assert made[-1].require is level
    assert begun.missing == (() if level is Level.FULL else (("namespaces", "not here"),))


def test_where_namespaces_cannot_even_be_tried_the_jail_without_them_is() -> None:
    levels: dict[Level, Level | found.WorkerFailed] = {
        Level.FULL: found.WorkerUnable("the worker could not begin: namespaces: EIO"),
        Level.CONTAINED: Level.CONTAINED,
    }
    for begun in (
        begin_at_best(SPEC, make=reaching(levels)[0]),
        begin(SPEC, require=Level.CONTAINED, make=reaching(levels)[0]),
    ):
        assert (begun.require, begun.spec.want) == (Level.CONTAINED, Level.CONTAINED)
    assert begin_at_best(SPEC, make=reaching(levels)[0]).missing == (
        ("namespaces", "the worker could not begin: namespaces: EIO"),
    )
    with pytest.raises(found.WorkerUnable):
        begin(SPEC, require=Level.FULL, make=reaching(levels)[0])


def one_by_one(
    *fates: Level | found.WorkerFailed,
) -> tuple[WorkerMaker, list[Fake]]:
    """Return what makes workers that reach, or fail with, one of *fates* after the other."""
    left = list(fates)
    made: list[Fake] = []

    def make(spec: JailSpec, *, require: Level) -> Fake:
        fate = left.pop(0)
        made.append(Fake(spec, require, failure=None if isinstance(fate, Level) else fate))
        if isinstance(fate, Level):
            made[-1].level = fate
        return made[-1]

    return make, made


DIED = found.WorkerCrashed("the worker was ended by signal 9")


@pytest.mark.parametrize("level", [Level.FULL, Level.CONTAINED])
def test_a_first_worker_that_is_killed_says_nothing_about_the_host_and_lowers_nothing(level: Level) -> None:
    fates = (DIED, DIED, level) if level is Level.FULL else (DIED, level, DIED, level)
    make, made = one_by_one(*fates)
    begun = begin_at_best(SPEC, make=make)
    assert (begun.require, begun.spec.want, begun.worker) == (level, Level.FULL, made[-1])
    assert all(fake.spec.want is Level.FULL for fake in made)


def test_workers_that_are_killed_again_and_again_are_no_level() -> None:
    make, made = one_by_one(*[DIED] * workers.MAX_DEATHS, Level.CONTAINED)
    with pytest.raises(found.WorkerCrashed):
        begin_at_best(SPEC, make=make)
    assert len(made) == workers.MAX_DEATHS
    make, made = one_by_one(DIED, Level.CONTAINED)
    with pytest.raises(found.WorkerCrashed):
        begin(SPEC, require=Level.CONTAINED, make=make)


@pytest.mark.parametrize(
    "failure", [found.WorkerHung("hung"), found.WorkerBreach("breach"), found.WorkerLimit("limit")]
)
def test_a_first_worker_that_fails_otherwise_is_no_level_either(failure: found.WorkerFailed) -> None:
    make, made = one_by_one(failure, Level.CONTAINED)
    with pytest.raises(type(failure)):
        begin_at_best(SPEC, make=make)
    assert len(made) == 1


def test_what_was_reached_once_is_required_though_less_was_asked_for_meanwhile() -> None:
    unable = found.WorkerUnable("the worker could not begin")
    make, made = one_by_one(unable, Level.FULL, Level.FULL)
    begun = begin_at_best(SPEC, make=make)
    assert (begun.require, begun.missing, begun.worker) == (Level.FULL, (), made[-1])
    assert [fake.stopped for fake in made] == [0, 1, 0]
    for late in (Level.CONTAINED, unable):
        make, _ = one_by_one(unable, Level.FULL, late)
        with pytest.raises((found.LevelNotMet, found.WorkerUnable)):
            begin_at_best(SPEC, make=make)


def test_a_layer_that_claims_to_be_in_force_and_is_not_is_fatal_however_little_is_required() -> None:
    failed = found.LevelNotMet(required="none", reached="none", missing=(("seccomp", "fork: it worked"),))
    with pytest.raises(found.LevelNotMet):
        begin_at_best(SPEC, make=reaching({Level.FULL: failed, Level.CONTAINED: failed})[0])


def test_a_layer_that_failed_once_is_fatal_though_a_second_try_would_do() -> None:
    """Else one failure would make `none` the level that is required from then on, and the server open the notes."""
    failed = found.LevelNotMet(required="full", reached="none", missing=(), failed=True)
    maker, made = reaching({Level.FULL: failed, Level.CONTAINED: Level.CONTAINED})
    with pytest.raises(found.LevelNotMet):
        begin_at_best(SPEC, make=maker)
    assert len(made) == 1


def test_no_worker_at_all_is_an_error_and_not_a_level() -> None:
    failed = found.WorkerCrashed("the worker could not be started")
    with pytest.raises(found.WorkerCrashed):
        begin_at_best(SPEC, make=reaching({Level.FULL: failed, Level.CONTAINED: failed})[0])


# -- the wiring ------------------------------------------------------------------------------------


@pytest.fixture
def two(tmp_path: Path) -> Settings:
    """Two workspaces of Alice's."""
    for name in ("One", "Two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text("# A\n")
    return Settings(
        state_dir=str(tmp_path / "state"),
        workspaces=tuple(
            WorkspaceSettings(name, str(tmp_path / name), str(tmp_path / name)) for name in ("One", "Two")
        ),
        rules=tuple(Rule("local:alice", name, ROOT, frozenset(Right)) for name in ("One", "Two")),
    )


def shown(product: wiring.Product) -> dict[str, str]:
    return {each["name"]: each["jail"] for each in product.service.workspaces(ALICE).document()["workspaces"]}


def by_name(levels: dict[str, Level | found.WorkerFailed]) -> WorkerMaker:
    """Return what makes fakes by the name of the workspace's folder; they find no notes."""
    makers = {name: reaching(dict.fromkeys(Level, level))[0] for name, level in levels.items()}

    def make(spec: JailSpec, *, require: Level) -> Worker:
        return makers[Path(spec.workspace).name](spec, require=require)

    return make


def test_without_a_jail_there_is_no_worker(two: Settings) -> None:
    product = wiring.build(replace(two, jail_mode="off"), environ={}, worker=by_name({}))
    assert shown(product) == {"One": "none", "Two": "none"}
    assert product.notices == ()
    product.close()


def test_at_best_effort_each_workspace_is_served_as_well_as_it_can_be_and_what_is_missing_is_said(
    two: Settings,
) -> None:
    maker = by_name({"One": Level.NONE, "Two": Level.PARTIAL})
    product = wiring.build(two, environ={}, worker=maker)
    assert product.notices == (
        "workspace 'One': jail level none; missing is namespaces (not here)",
        "workspace 'Two': jail level partial; missing is namespaces (not here)",
    )
    assert shown(product) == {"One": "none", "Two": "partial"}
    product.close()
    product = wiring.build(two, environ={}, worker=by_name({"One": Level.NONE, "Two": Level.NONE}))
    for workspace in product.workspaces:
        assert product.service.read(ALICE, workspace.uri, "a").text == "# A\n"
    product.close()


def test_a_worker_that_cannot_be_started_is_no_level_and_nothing_is_served_without_it(two: Settings) -> None:
    """Whoever owns the folder can see to it that no worker gets into it; that must not open it to this process."""
    maker = by_name({"One": Level.NONE, "Two": found.WorkerCrashed("the worker could not be started")})
    with pytest.raises(JailRequired) as caught:
        wiring.build(two, environ={}, worker=maker)
    assert "'Two'" in str(caught.value)
    assert "the worker could not be started" in str(caught.value)


def test_what_a_worker_gets_of_the_state_is_what_was_looked_at_wherever_its_name_leads_by_then(
    two: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    state = StateFolder.open(two.state_dir)
    (tmp_path / "disk").mkdir()
    places = [tmp_path / "state/ws" / state.identify(each.path) for each in two.workspaces]
    for place in places:
        place.symlink_to(tmp_path / "disk")
    real, specs, locks = wiring.open_root, [], []

    def lead_elsewhere(workspace: WorkspaceSettings, part: Part, **more: Any) -> Any:
        locks.append(part.lock_file)
        for place in places:
            place.unlink()
            place.symlink_to(tmp_path / "state/private")
        return real(workspace, part, **more)

    def make(spec: JailSpec, *, require: Level) -> Worker:
        specs.append(spec)
        return Fake(spec, require)

    monkeypatch.setattr(wiring, "open_root", lead_elsewhere)
    one = replace(two, workspaces=two.workspaces[:1], rules=two.rules[:1])
    wiring.build(one, environ={}, worker=make).close()
    disk = os.path.realpath(tmp_path / "disk")
    status = os.stat(disk)
    assert locks == [f"{disk}/lock"]
    assert [(spec.index, spec.index_identity) for spec in specs] == [(disk, (status.st_dev, status.st_ino))]


def test_a_jail_is_told_which_workspace_follows_links(two: Settings) -> None:
    """That costs its workers something else where they have no namespaces, so no other one is told so."""
    told: dict[str, bool] = {}

    def make(spec: JailSpec, *, require: Level) -> Worker:
        told[Path(spec.workspace).name] = spec.follows_links
        return Fake(spec, require)

    first = replace(two.workspaces[0], policy=Policy(links=Links.WITHIN))
    both = replace(two, workspaces=(first, two.workspaces[1]))
    wiring.build(both, environ={}, worker=make).close()
    assert told == {"One": True, "Two": False}


def test_a_workspace_without_a_jail_stands_beside_one_with_it(two: Settings) -> None:
    require_jail()

    def make(spec: JailSpec, *, require: Level) -> Worker:
        if spec.workspace.endswith("One"):
            return Fake(spec, require, level=Level.NONE)
        return Jail(spec, require=require)

    product = wiring.build(two, environ={}, worker=make)
    levels = shown(product)
    assert levels["One"] == "none"
    assert levels["Two"] in ("contained", "full")
    for workspace in product.workspaces:
        assert product.service.read(ALICE, workspace.uri, "a").text == "# A\n"
        assert product.service.create(ALICE, workspace.uri, "new", "x").reply.path == "new.md"
    assert product.sweep() == 0
    assert [line["jail"] for line in Household(Path(two.state_dir).parent, "auto").audit()] == list(
        levels.values()
    )
    product.close()


@pytest.mark.parametrize("level", [Level.NONE, Level.PARTIAL])
def test_a_level_that_is_required_and_not_reached_is_one_line_with_exit_code_8(
    two: Settings, level: Level
) -> None:
    maker = by_name({"One": Level.FULL, "Two": level})
    with pytest.raises(JailRequired) as caught:
        wiring.build(replace(two, jail_mode="require"), environ={}, worker=maker)
    failure = describe(caught.value)
    assert failure.exit_code == 8
    assert failure.line == (
        f"unavailable: workspace 'Two': jail level contained is required and {level.value} is what it has;"
        " missing is namespaces (not here)"
    )


@pytest.mark.parametrize("mode", ["require", "best-effort"])
def test_a_layer_that_is_only_claimed_is_called_that_whatever_is_required(
    two: Settings, mode: Literal["require", "best-effort"]
) -> None:
    def make(spec: JailSpec, *, require: Level) -> Worker:
        failure = found.LevelNotMet(
            required="full", reached="contained", missing=(("seccomp", "socket: it worked"),), failed=True
        )
        return Fake(spec, require, failure=failure)

    with pytest.raises(JailRequired) as caught:
        wiring.build(replace(two, jail_mode=mode), environ={}, worker=make)
    assert describe(caught.value).line == (
        "unavailable: workspace 'One': what its jail claims could not be proven, so it is not served: seccomp (socket:"
        " it worked)"
    )


def test_a_level_that_falls_while_it_is_found_out_is_called_that(two: Settings) -> None:
    levels = iter([Level.PARTIAL, Level.CONTAINED, Level.PARTIAL])

    def make(spec: JailSpec, *, require: Level) -> Worker:
        return Fake(spec, require, level=next(levels))

    with pytest.raises(JailRequired) as caught:
        wiring.build(two, environ={}, worker=make)
    assert describe(caught.value).line == (
        "unavailable: workspace 'One': its jail had level contained and a moment later partial, so what it is worth is"
        " unknown; missing is namespaces (not here)"
    )


def test_full_may_be_required(two: Settings) -> None:
    maker = by_name({"One": Level.CONTAINED, "Two": Level.FULL})
    with pytest.raises(JailRequired):
        wiring.build(replace(two, jail_mode="require", jail_level="full"), environ={}, worker=maker)
    product = wiring.build(replace(two, jail_mode="require"), environ={}, worker=maker)
    assert product.notices == ()
    product.close()


def test_workers_that_were_started_are_stopped_when_another_cannot_be(two: Settings) -> None:
    made: list[Fake] = []

    def make(spec: JailSpec, *, require: Level) -> Worker:
        level = Level.FULL if spec.workspace.endswith("One") else Level.NONE
        made.append(Fake(spec, require, level=level))
        return made[-1]

    with pytest.raises(JailRequired):
        wiring.build(replace(two, jail_mode="require"), environ={}, worker=make)
    assert [fake.stopped for fake in made if fake.started] == [1]


def test_a_failed_layer_is_fatal_at_best_effort_too(two: Settings) -> None:
    failed = found.LevelNotMet(required="none", reached="none", missing=(("seccomp", "fork: it worked"),))
    with pytest.raises(JailRequired):
        wiring.build(two, environ={}, worker=by_name({"One": failed, "Two": failed}))


# -- real workers ----------------------------------------------------------------------------------


def real(household: Household, handler: str, *, kind: str = "rw") -> Jail:
    """Return a started worker of the household's vault with a handler of a test."""
    return Jail(
        JailSpec(
            workspace=str(household.vault),
            kind="rw" if kind == "rw" else "ro",
            handler=handler,
            options=WorkerOptions(Policy()).to_json(),
            import_paths=(*folders(), SOURCES),
        ),
        require=Level.CONTAINED,
    )


@pytest.fixture
def confessing(jailed: Household) -> Iterator[Jail]:
    worker = real(jailed, "tests.service.deadly:build_confessing")
    worker.start()
    yield worker
    worker.stop()


def test_nothing_heavy_is_loaded_in_a_worker(confessing: Jail) -> None:
    answer = confessing.call("modules", {}, deadline=time.monotonic() + 20, write=False)
    loaded = {name.split(".")[0] for name in answer["modules"]}
    heavy = {
        "anyio", "asyncio", "concurrent", "cryptography", "email", "http", "jsonschema", "mcp", "mcp_types",
        "multiprocessing", "psutil", "pydantic", "sqlite3", "ssl", "subprocess", "tomllib",
    }  # fmt: skip
    assert loaded & heavy == set()
    assert {"ruamel", "pathvalidate", "fsnotes", "sandbox"} <= loaded
    of_the_parent = ("access", "confirm", "runners", "jailed", "service", "wiring", "audit", "config")
    assert [name for name in of_the_parent if f"fsnotes.{name}" in answer["modules"]] == []


def test_a_worker_takes_less_than_35_megabytes(confessing: Jail) -> None:
    confessing.call("modules", {}, deadline=time.monotonic() + 20, write=False)
    deadline = time.monotonic() + 30
    while confessing.sample is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert confessing.sample is not None
    assert confessing.sample.memory < 35 * 1024 * 1024


def test_a_breach_costs_one_call_and_the_next_finds_a_fresh_worker(jailed: Household) -> None:
    """The worker is accused by hand, as for a reply that leads out of the grant."""
    jailed.write("a.md")
    workers_made: list[Jail] = []

    def make(spec: JailSpec, *, require: Level) -> Jail:
        workers_made.append(Jail(spec, require=require))
        return workers_made[-1]

    jailed.worker = make
    service = jailed.service()
    assert service.read(ALICE, jailed.uri, "a").text == "x\n"
    workers_made[0].accuse("a reply that leads out of the grant")
    assert service.read(ALICE, jailed.uri, "a").text == "x\n"
    endings = [event.ending for event in workers_made[0].events if event.ending]
    assert endings == ["breach"]


def test_a_workspace_that_was_replaced_is_not_served_by_a_new_worker(jailed: Household) -> None:
    """What was granted is the folder that was there at the start, not whatever stands in its place."""
    jailed.write("a.md")
    made: list[Jail] = []

    def make(spec: JailSpec, *, require: Level) -> Jail:
        made.append(Jail(spec, require=require))
        return made[-1]

    jailed.worker = make
    service = jailed.service(call_deadline_seconds=1.5)
    jailed.vault.rename(jailed.top / "Moved")
    jailed.write("a.md", "of somebody else")
    with pytest.raises(Unavailable):
        service.read(ALICE, jailed.uri, "a")
    made[0].accuse("to have it started again")
    with pytest.raises(Unavailable):
        service.read(ALICE, jailed.uri, "a")
    jailed.vault.rename(jailed.top / "Other")
    (jailed.top / "Moved").rename(jailed.vault)
    assert service.read(ALICE, jailed.uri, "a").text == "x\n"


def test_a_workspace_that_is_replaced_behind_the_back_of_the_server_reaches_no_worker(
    jailed: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the moment between the server's look and the start of a worker, which looks for itself."""
    monkeypatch.setattr(Place, "still_holds", lambda _: True)
    jailed.write("a.md")
    made: list[Jail] = []

    def make(spec: JailSpec, *, require: Level) -> Jail:
        made.append(Jail(spec, require=require, sleep=lambda stopping, _: stopping.is_set()))
        return made[-1]

    jailed.worker = make
    service = jailed.service(call_deadline_seconds=1.5)
    jailed.vault.rename(jailed.top / "Moved")
    jailed.write("a.md", "of somebody else")
    made[0].accuse("to have it started again")
    with pytest.raises((Unavailable, Busy)):
        service.read(ALICE, jailed.uri, "a")
    jailed.vault.rename(jailed.top / "Other")
    (jailed.top / "Moved").rename(jailed.vault)
    deadline = time.monotonic() + 20
    while not made[0].is_serving and time.monotonic() < deadline:
        time.sleep(0.01)
    assert service.read(ALICE, jailed.uri, "a").text == "x\n"


def test_begun_remembers_what_every_other_worker_needs() -> None:
    make, _ = reaching({Level.FULL: Level.CONTAINED})
    begun = begin_at_best(SPEC, make=make)
    assert isinstance(begun, Begun)
    workspace = JailedWorkspace(begun, make, place=HERE, ignore=(), max_note_bytes=10)
    changing = workspace.worker(CREATE, seconds=30)
    assert isinstance(changing, Fake)
    assert changing.require is Level.CONTAINED


def test_many_who_wait_for_a_locked_workspace_are_told_busy_as_soon_as_one_is(jailed: Household) -> None:
    """One worker makes all changes, so each of the others waits for the worker before it waits for the lock."""
    service, start, said = jailed.service(), threading.Barrier(7), [""] * 6
    assert service.create(ALICE, jailed.uri, "first", "x").reply.path == "first.md"
    lock = os.open(jailed.vault, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)

    def create(number: int) -> None:
        start.wait(30)
        try:
            service.create(ALICE, jailed.uri, f"n{number}", "x")
        except FsnotesError as error:
            said[number] = type(error).__name__

    threads = [threading.Thread(target=create, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    start.wait(30)
    begun = time.monotonic()
    for thread in threads:
        thread.join(30)
    took = time.monotonic() - begun
    os.close(lock)
    assert said == ["Busy"] * 6
    # One after the other they would have taken a second each.
    assert 0.9 < took < 3
    assert jailed.files() == {"first.md": b"x"}
    assert service.create(ALICE, jailed.uri, "second", "x").reply.path == "second.md"


def test_a_caller_that_goes_while_the_workspace_is_locked_changes_nothing(jailed: Household) -> None:
    """The worker waits for the lock and is told; it does not begin a change that nobody waits for."""
    service, begun = jailed.service(), time.monotonic()
    with Tree(jailed.vault.parent).open_root("Notes") as other, other.lock(timeout=1):
        gone = replace(ALICE, abandoned=lambda: time.monotonic() > begun + 0.3)
        with pytest.raises(Abandoned):
            service.create(gone, jailed.uri, "new", "x")
        assert time.monotonic() - begun < 5
        with pytest.raises(Busy):
            service.create(ALICE, jailed.uri, "new", "x")
    assert jailed.files() == {}
    assert service.create(ALICE, jailed.uri, "new", "x").reply.path == "new.md"
