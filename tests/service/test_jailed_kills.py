"""A worker that ends after each step of a change, or hangs in it, while the process that asked lives on.

The promises are those of `test_kills.py`: never both, never neither, nothing torn, one line in the log. What is
more here is that somebody is there to be told: what became of a deletion is looked up, of other changes it is
said that nobody knows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fsnotes import jailed as product
from fsnotes import runners
from fsnotes.errors import MovePending, NoteChanged, NoteExists, NoteNotFound, OutcomeUnknown, Unavailable
from fsnotes.failures import describe
from fsnotes.notes.etags import etag
from fsnotes.notes.journal import NAME
from fsnotes.notes.shapes import BadMessage
from fsnotes.outcomes import Asked, Deletion
from fsnotes.service import Service
from fsnotes.state import StateFolder
from fsnotes.workers import Worker, WorkerMaker
from sandbox.jail.report import Level
from sandbox.jail.spec import JailSpec
from sandbox.jail.supervisor import Jail
from sandbox.records import replace
from sandbox.steps import Step
from tests.notes.journal_steps import JOURNAL_STEPS
from tests.notes.test_move_kills import AFTER_THE_MOVE, NOT_IN_MOVES, NOTES, STEPS
from tests.service.conftest import ALICE, Household, accept, answer
from tests.service.test_kills import (
    BEFORE_THE_EXCHANGE,
    BEFORE_THE_MOVE,
    BYTES,
    CHANGES,
    CREATE,
    DELETE,
    NOTE,
    REPLACE,
    RESTORE,
    asked_about,
    changes,
    entry_of,
    household_temporaries,
    kill_at_random_instants,
    refuse_for_good,
    retry,
    sweep,
)

SOURCES = str(Path(__file__).resolve().parents[2])


@dataclass
class Deadly:
    """Makes workers like another maker does, but those that change something meet their end in a step."""

    make: WorkerMaker
    options: dict[str, str]
    made: list[Jail] = field(default_factory=list)

    def __call__(self, spec: JailSpec, *, require: Level) -> Worker:
        if spec.kind == "ro":
            return self.make(spec, require=require)
        deadly = replace(
            spec,
            handler="tests.service.deadly:build",
            options={**spec.options, **self.options},
            import_paths=(*spec.import_paths, SOURCES),
        )
        self.made.append(Jail(deadly, require=require))
        return self.made[-1]


@pytest.fixture
def household(jailed: Household) -> Household:
    """Take the jailed one, at the system's time, which temporaries have too."""
    jailed.clock.now = time.time()
    return jailed


def meeting(household: Household, **options: str) -> Service:
    """Return a service whose changes meet their end, with the worker for them started."""
    safe = household.worker
    household.worker = Deadly(safe or Jail, options)
    made = household.product()
    household.worker = safe
    assert made.sweep() == 0
    return made.service


def confirm(service: Service, household: Household, asked: Asked) -> Deletion:
    deletion = answer(service, ALICE, household.uri, NOTE, asked, accept(NOTE))
    assert isinstance(deletion, Deletion)
    return deletion


def expect_unknown(change: Callable[[], object]) -> None:
    with pytest.raises(OutcomeUnknown) as caught:
        change()
    line = describe(caught.value).line
    assert line.startswith("unavailable: ")
    assert line.endswith("; outcome unknown: read before retrying")


def test_each_step_that_is_taken_in_a_worker_has_a_kill() -> None:
    in_workers = {step for step in (*CREATE, *REPLACE, *DELETE, *RESTORE) if isinstance(step, Step)}
    assert in_workers == {
        step for step in Step if step.value.startswith(("create", "replace", "trash", "restore"))
    }


@pytest.mark.parametrize("step", [step for step in DELETE if isinstance(step, Step)])
def test_a_worker_killed_in_a_deletion_leaves_an_answer_or_a_usable_state(
    household: Household, step: Step
) -> None:
    asked = asked_about(household)
    service = meeting(household, kill_at=step)
    if step in BEFORE_THE_MOVE:
        expect_unknown(lambda: confirm(service, household, asked))
        assert household.files() == {NOTE: BYTES}
        assert [line["outcome"] for line in household.audit()] == ["outcome_unknown"]
        assert retry(household, asked).outcome == "deleted"
    else:
        # The receipt tells, so it is answered as if nothing had happened.
        assert confirm(service, household, asked).outcome == "deleted"
        assert changes(household) == [("notes_delete", NOTE, "deleted")]
    entry = entry_of(household)
    assert household.files() == {f".trash/{entry}/{NOTE}": BYTES}
    refuse_for_good(household, asked)
    assert household.service().restore(ALICE, household.uri, entry).reply.path == NOTE
    assert household.files() == {NOTE: BYTES}
    refuse_for_good(household, asked)


def test_a_worker_that_hangs_in_a_deletion_is_killed_before_the_receipt_is_looked_for(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runners, "TRANSACTION_SECONDS", 0.5)
    asked = asked_about(household)
    service = meeting(household, hang_at=Step.TRASH_MOVED)
    assert confirm(service, household, asked).outcome == "deleted"
    assert household.files() == {f".trash/{entry_of(household)}/{NOTE}": BYTES}
    refuse_for_good(household, asked)


def test_a_worker_that_hangs_before_the_move_has_done_nothing(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runners, "TRANSACTION_SECONDS", 0.5)
    asked = asked_about(household)
    expect_unknown(lambda: confirm(meeting(household, hang_at=Step.TRASH_ENTRY_MADE), household, asked))
    assert household.files() == {NOTE: BYTES}
    assert retry(household, asked).outcome == "deleted"


@pytest.mark.parametrize("step", CREATE)
def test_a_worker_killed_in_a_creation_leaves_the_whole_note_or_none(
    household: Household, step: Step
) -> None:
    household.write("other.md", "untouched")
    service = meeting(household, kill_at=step)
    expect_unknown(lambda: service.create(ALICE, household.uri, NOTE, BYTES.decode()))
    named = step in (Step.CREATE_NAMED, Step.CREATE_DURABLE)
    left = household_temporaries(household)
    notes = {path: data for path, data in household.files().items() if path not in left}
    assert notes == {"other.md": b"untouched"} | ({NOTE: BYTES} if named else {})
    assert household.audited() == [("local:alice", "notes_create", NOTE, "outcome_unknown")]
    sweep(household)
    if named:
        with pytest.raises(NoteExists):
            household.service().create(ALICE, household.uri, NOTE, "another text")
    else:
        household.service().create(ALICE, household.uri, NOTE, BYTES.decode())
    assert household.vault.joinpath(NOTE).read_bytes() == BYTES


@pytest.mark.parametrize("step", REPLACE)
def test_a_worker_killed_in_an_edit_leaves_the_former_text_or_the_new_one(
    household: Household, step: Step
) -> None:
    _, made = CHANGES["notes_edit"]
    household.write(NOTE, BYTES)
    service = meeting(household, kill_at=step)
    expect_unknown(
        lambda: service.edit(
            ALICE, household.uri, NOTE, "# Another plan", old_text="# Plan", if_match=etag(BYTES)
        )
    )
    now = BYTES if step in BEFORE_THE_EXCHANGE else made
    left = household_temporaries(household)
    assert {path: data for path, data in household.files().items() if path not in left} == {NOTE: now}
    assert household.audited() == [("local:alice", "notes_edit", NOTE, "outcome_unknown")]
    sweep(household)
    # Reading says what became of it, and who repeats the call is told or has it done.
    service = household.service()
    assert service.read(ALICE, household.uri, NOTE).reply.etag == etag(now)
    if now == BYTES:
        service.edit(ALICE, household.uri, NOTE, "# Another plan", old_text="# Plan", if_match=etag(BYTES))
    else:
        with pytest.raises(NoteChanged):
            service.edit(
                ALICE, household.uri, NOTE, "# Another plan", old_text="# Plan", if_match=etag(BYTES)
            )
    assert household.vault.joinpath(NOTE).read_bytes() == made


def test_a_worker_that_fails_in_a_dry_run_has_changed_nothing(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    household.write(NOTE, BYTES)
    service = meeting(household)
    monkeypatch.setattr(product, "check_reply", refuse_every_reply)
    with pytest.raises(Unavailable):
        service.append(ALICE, household.uri, NOTE, "x", dry_run=True)
    with pytest.raises(OutcomeUnknown):
        service.append(ALICE, household.uri, NOTE, "x")
    assert [line["outcome"] for line in household.audit()] == ["unavailable", "outcome_unknown"]


def refuse_every_reply(*_: object) -> None:
    raise BadMessage("a reply of somebody else's")


@pytest.mark.parametrize("step", [step for step in RESTORE if isinstance(step, Step)])
def test_a_worker_killed_in_a_restore_leaves_the_note_in_the_trash_or_in_its_place(
    household: Household, step: Step
) -> None:
    asked = asked_about(household)
    entry = str(retry(household, asked).trash_id)
    household.vault.joinpath("Projects").rmdir()
    service = meeting(household, kill_at=step)
    expect_unknown(lambda: service.restore(ALICE, household.uri, entry))
    moved = step is not Step.RESTORE_FOLDERS_MADE
    assert household.files() == {NOTE if moved else f".trash/{entry}/{NOTE}": BYTES}
    refuse_for_good(household, asked)
    service = household.service()
    if moved:
        assert service.trash(ALICE, household.uri).entries == ()
        with pytest.raises(NoteNotFound):
            service.restore(ALICE, household.uri, entry)
    else:
        assert service.restore(ALICE, household.uri, entry).reply.path == NOTE
    assert household.files() == {NOTE: BYTES}
    refuse_for_good(household, asked)


@pytest.mark.parametrize("step", [Step.MOVE_MOVED, Step.MOVE_DURABLE, Step.STAGE_PUT])
def test_a_move_after_a_worker_was_killed_in_one_keeps_every_link(household: Household, step: Step) -> None:
    household.write("a.md", "# A\n[x](c.md)\n")
    household.write("c.md", "see [[a]]\n")
    household.write("d.md", "and [x](a.md)\n")
    service = meeting(household, kill_at=step)
    expect_unknown(lambda: service.move(ALICE, household.uri, "a", "x/b"))
    before = household.files()
    with pytest.raises(MovePending):
        service.move(ALICE, household.uri, "x/b", "z", dry_run=True)
    assert household.files() == before
    told = household.service().move(ALICE, household.uri, "x/b", "z").document()
    assert {note["path"] for note in told["updated"]} == {"z.md", "c.md", "d.md"}
    left = household_temporaries(household)
    assert {path: data for path, data in household.files().items() if path not in left} == {
        "z.md": b"# A\n[x](c.md)\n",
        "c.md": b"see [[z]]\n",
        "d.md": b"and [x](z.md)\n",
    }


VAULT = {path: text for path, text in NOTES.items() if isinstance(text, bytes)}
MOVED = {
    "folder": ("sub", "other/new"),
    "note": ("sub/a", "other/b"),
}


def moved(household: Household, what: str, service: Service) -> None:
    assert service.move(ALICE, household.uri, *MOVED[what]).outcome == "moved"


def notes(household: Household) -> dict[str, bytes]:
    left = household_temporaries(household)
    return {
        path: data
        for path, data in household.files().items()
        if path not in left and not path.startswith(".trash/")
    }


def test_each_step_of_a_journal_has_a_kill() -> None:
    assert set(JOURNAL_STEPS) <= set(STEPS)


@pytest.mark.parametrize("what", MOVED)
@pytest.mark.parametrize("step", [step for step in STEPS if step not in NOT_IN_MOVES])
def test_a_worker_killed_in_a_move_leaves_it_to_be_finished_or_undone_by_the_next_change(
    household: Household, what: str, step: str
) -> None:
    """The next worker finds the journal, in the one folder beside the workspace that both of them have."""
    for path, text in VAULT.items():
        household.write(path, text)
    service = meeting(household, kill_at=step)
    expect_unknown(lambda: moved(household, what, service))
    assert [line["outcome"] for line in household.audit()] == ["outcome_unknown"]
    household.service().append(ALICE, household.uri, "log", "next")
    after = notes(household)
    if step in AFTER_THE_MOVE:
        # Who repeats the call is told that it has been made.
        with pytest.raises(NoteNotFound):
            moved(household, what, household.service())
        assert after.keys() == {_new_path(what, path) for path in VAULT}
        old, new = (after[_new_path(what, path)] for path in ("top.md", "deep/er/d.md"))
        assert (b"other" in old, b"other" in new) == (True, True)
    else:
        assert after == VAULT | {"log.md": b"log\nnext\n"}
        # As if it had never been asked for, so it can be made.
        moved(household, what, household.service())
        assert notes(household).keys() == {_new_path(what, path) for path in VAULT}
    part = household.top / "state" / "ws" / StateFolder.identify(str(household.vault))
    assert part.is_dir()
    assert not (part / NAME).exists()
    # What was staged for each note is nobody's after a minute, and goes to the trash.
    household.clock.now += 120
    left = household.temporaries()
    assert household.product().sweep() == len(left)
    assert household.temporaries() == []


def _new_path(what: str, path: str) -> str:
    old, new = MOVED[what]
    suffix = ".md" if what == "note" else "/"
    return new + path.removeprefix(old) if path.startswith(old + suffix) else path


def test_the_next_change_finds_a_fresh_worker(household: Household) -> None:
    """The step that kills is one that the second change does not take."""
    service = meeting(household, kill_at=Step.CREATE_FOLDERS_MADE)
    household.write("folder/here.md")
    expect_unknown(lambda: service.create(ALICE, household.uri, "elsewhere/new", "x"))
    with pytest.raises(NoteExists):
        service.create(ALICE, household.uri, "folder/here", "x")


def test_kills_of_the_process_that_asked_keep_every_promise(household: Household) -> None:
    """Its workers die with it, wherever they are."""
    kill_at_random_instants(household, seed=0, rounds=5)
