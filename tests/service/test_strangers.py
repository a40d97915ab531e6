"""Programs beside us: editors that save at the worst instant, and others that hold what we need."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum

import pytest

from fsnotes.access import Principal
from fsnotes.calls import Call
from fsnotes.confirm import LedgerStep
from fsnotes.errors import Abandoned, Busy, NoteChanged, NoteExists, OutcomeUnknown
from fsnotes.outcomes import Asked, Deletion
from sandbox.steps import Step
from tests.disk import Interruption
from tests.service.conftest import ALICE, Household, accept, answer, ask

NOTE = "folder/n.md"
OLD = b"what was confirmed\n"
NEW = b"what an editor saved\n"


def save(household: Household, path: str, data: bytes) -> None:
    """Save as editors do: a file of their own, renamed over the old one."""
    household.write("editor.tmp", data).rename(household.vault / path)


def write_in_place(household: Household, path: str, data: bytes) -> None:
    (household.vault / path).write_bytes(data)


def confirm(household: Household, asked: Asked, observe: Callable[[StrEnum], None]) -> Asked | Deletion:
    return answer(household.service(observe=observe), ALICE, household.uri, NOTE, asked, accept(NOTE))


BEFORE_THE_MOVE = (LedgerStep.BEGUN, LedgerStep.CLAIMED, Step.TRASH_ENTRY_MADE)
AFTER_THE_MOVE = (Step.TRASH_MOVED, Step.TRASH_VERIFIED, Step.TRASH_DURABLE, LedgerStep.COMMITTED)


@pytest.mark.parametrize("how", [save, write_in_place])
@pytest.mark.parametrize("step", BEFORE_THE_MOVE)
def test_what_is_saved_before_the_move_is_not_deleted(
    household: Household, step: StrEnum, how: Callable[[Household, str, bytes], None]
) -> None:
    household.write(NOTE, OLD)
    asked = ask(household.service(), ALICE, household.uri, NOTE)
    stranger = Interruption(step, lambda: how(household, NOTE, NEW))
    with pytest.raises(NoteChanged):
        confirm(household, asked, stranger)
    assert stranger.happened
    assert household.files() == {NOTE: NEW}
    assert household.audited() == [("local:alice", "notes_delete", NOTE, "note_changed")]
    household.write(NOTE, OLD)
    assert isinstance(confirm(household, asked, lambda _: None), Deletion)


@pytest.mark.parametrize("step", AFTER_THE_MOVE)
def test_what_is_saved_after_the_move_is_another_note(household: Household, step: StrEnum) -> None:
    household.write(NOTE, OLD)
    asked = ask(household.service(), ALICE, household.uri, NOTE)
    stranger = Interruption(step, lambda: save(household, NOTE, NEW))
    deletion = confirm(household, asked, stranger)
    assert stranger.happened
    assert isinstance(deletion, Deletion)
    assert household.files() == {NOTE: NEW, f".trash/{deletion.trash_id}/{NOTE}": OLD}


@contextmanager
def held_open(household: Household) -> Iterator[int]:
    descriptor = os.open(household.vault / NOTE, os.O_RDWR)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def test_a_program_that_writes_into_the_file_while_it_moves_gets_it_back(household: Household) -> None:
    household.write(NOTE, OLD)
    asked = ask(household.service(), ALICE, household.uri, NOTE)
    with held_open(household) as descriptor:
        stranger = Interruption(Step.TRASH_MOVED, lambda: os.pwrite(descriptor, b"WHAT", 0))
        with pytest.raises(NoteChanged):
            confirm(household, asked, stranger)
    assert stranger.happened
    assert household.files() == {NOTE: b"WHAT" + OLD[4:]}


def test_two_programs_at_once_lose_neither_text(household: Household) -> None:
    """One writes into what is moving, another takes its name: both are kept, and it is said where."""
    household.write(NOTE, OLD)
    asked = ask(household.service(), ALICE, household.uri, NOTE)
    with held_open(household) as descriptor:

        def meddle() -> None:
            os.pwrite(descriptor, b"WHAT", 0)
            save(household, NOTE, NEW)

        with pytest.raises(OutcomeUnknown, match="lies in the trash"):
            confirm(household, asked, Interruption(Step.TRASH_MOVED, meddle))
    files = household.files()
    assert files.pop(NOTE) == NEW
    ((place, kept),) = files.items()
    assert (place.startswith(".trash/"), kept) == (True, b"WHAT" + OLD[4:])


def test_a_name_that_is_taken_while_a_note_is_restored_keeps_both(household: Household) -> None:
    household.write(NOTE, OLD)
    asked = ask(household.service(), ALICE, household.uri, NOTE)
    deletion = confirm(household, asked, lambda _: None)
    assert isinstance(deletion, Deletion)
    stranger = Interruption(Step.RESTORE_FOLDERS_MADE, lambda: save(household, NOTE, NEW))
    with pytest.raises(NoteExists):
        household.service(observe=stranger).restore(ALICE, household.uri, str(deletion.trash_id))
    assert stranger.happened
    assert household.files() == {NOTE: NEW, f".trash/{deletion.trash_id}/{NOTE}": OLD}


@pytest.mark.parametrize(
    "step", [Step.CREATE_FOLDERS_MADE, Step.CREATE_TEMPORARY, Step.CREATE_WRITTEN, Step.CREATE_SYNCED]
)
def test_a_name_that_is_taken_while_a_note_is_made_stays_the_strangers(
    household: Household, step: StrEnum
) -> None:
    stranger = Interruption(step, lambda: save(household, NOTE, NEW))
    with pytest.raises(NoteExists):
        household.service(observe=stranger).create(ALICE, household.uri, NOTE, "ours")
    assert stranger.happened
    assert household.files() == {NOTE: NEW}


# -- others who hold the locks ---------------------------------------------------------------------


@contextmanager
def vault_locked(household: Household) -> Iterator[None]:
    descriptor = os.open(household.vault, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def ledger_locked(household: Household) -> Iterator[None]:
    connection = sqlite3.connect(household.top / "state/private/ledger.sqlite3", isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
    finally:
        connection.close()


@pytest.mark.parametrize("lock", [vault_locked, ledger_locked])
def test_a_deletion_that_waits_too_long_is_busy_and_spends_nothing(
    household: Household, lock: Callable[[Household], AbstractContextManager[None]]
) -> None:
    household.write(NOTE, OLD)
    asked = ask(household.service(), ALICE, household.uri, NOTE)
    with lock(household):
        began = time.monotonic()
        with pytest.raises(Busy):
            confirm(household, asked, lambda _: None)
        assert time.monotonic() - began < 5
        assert household.files() == {NOTE: OLD}
    assert isinstance(confirm(household, asked, lambda _: None), Deletion)


def test_changes_that_wait_too_long_are_busy_and_do_nothing(household: Household) -> None:
    household.write(NOTE, OLD)
    asked = ask(household.service(), ALICE, household.uri, NOTE)
    deletion = confirm(household, asked, lambda _: None)
    assert isinstance(deletion, Deletion)
    service, before = household.service(), household.tree()
    with vault_locked(household):
        for attempt in (
            lambda: service.create(ALICE, household.uri, "deep/new", "x"),
            lambda: service.restore(ALICE, household.uri, str(deletion.trash_id)),
        ):
            with pytest.raises(Busy):
                attempt()
            assert household.tree() == before
        # Reading waits for nobody.
        assert service.trash(ALICE, household.uri).entries
        assert service.list(ALICE, household.uri, recursive=True).notes == ()
    assert [line["outcome"] for line in household.audit()] == ["deleted", "busy", "busy"]
    service.restore(ALICE, household.uri, str(deletion.trash_id))


def test_a_change_whose_caller_leaves_while_it_waits_is_dropped(household: Household) -> None:
    gone = threading.Event()
    call = Call(Principal("local:alice"), abandoned=gone.is_set)
    service = household.service()
    with vault_locked(household):
        timer = threading.Timer(0.1, gone.set)
        timer.start()
        began = time.monotonic()
        with pytest.raises(Abandoned):
            service.create(call, household.uri, "n", "x")
        assert time.monotonic() - began < 0.9
        timer.join()
    assert household.files() == {}


def test_a_deletion_whose_caller_leaves_after_it_began_is_finished(household: Household) -> None:
    """From the claim to its commit nothing stops half way: it is done, and in the log."""
    household.write(NOTE, OLD)
    asked = ask(household.service(), ALICE, household.uri, NOTE)
    gone = threading.Event()
    call = Call(Principal("local:alice"), abandoned=gone.is_set)

    def leave(step: StrEnum) -> None:
        if step is LedgerStep.CLAIMED:
            gone.set()

    deletion = answer(household.service(observe=leave), call, household.uri, NOTE, asked, accept(NOTE))
    assert isinstance(deletion, Deletion)
    assert household.files() == {f".trash/{deletion.trash_id}/{NOTE}": OLD}
    assert household.audited() == [("local:alice", "notes_delete", NOTE, "deleted")]
