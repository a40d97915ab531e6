"""SIGKILL after every step of every operation: never both, never neither, nothing torn, one line in the log.

Which steps an operation takes is not trusted to this file: a real run of each is recorded and compared with
the table, and every step that the product enumerates must be in it.
"""

from __future__ import annotations

import random
import signal
import time
from dataclasses import dataclass
from typing import Any

import pytest

from fsnotes.confirm import LedgerStep
from fsnotes.errors import InvalidState, NoteChanged, NoteExists, NoteNotFound
from fsnotes.notes.etags import etag
from fsnotes.outcomes import Asked, Deletion
from sandbox.steps import Step
from tests.service import actors
from tests.service.actors import ANSWERED, UNANSWERED, Ended, Job
from tests.service.conftest import ALICE, Household, accept, answer, ask, decline

NOTE = "Projects/Plan.md"
BYTES = b"# Plan\r\n" + bytes(range(32, 127)) * 500
OTHER = b"# Plan\r\nsomebody else's text"

CREATE = (
    Step.CREATE_FOLDERS_MADE,
    Step.CREATE_TEMPORARY,
    Step.CREATE_WRITTEN,
    Step.CREATE_SYNCED,
    Step.CREATE_NAMED,
    Step.CREATE_DURABLE,
)
REPLACE = (
    Step.REPLACE_TEMPORARY,
    Step.REPLACE_WRITTEN,
    Step.REPLACE_LIKENED,
    Step.REPLACE_SYNCED,
    Step.REPLACE_LOOKED,
    Step.REPLACE_EXCHANGED,
    Step.REPLACE_VERIFIED,
    Step.REPLACE_TIDIED,
    Step.REPLACE_DURABLE,
)
MOVE = (
    Step.REPLACE_TEMPORARY,
    Step.REPLACE_WRITTEN,
    Step.REPLACE_LIKENED,
    Step.STAGE_WRITTEN,
    Step.STAGE_SYNCED,
    Step.MOVE_FOLDERS_MADE,
    Step.MOVE_MOVED,
    Step.MOVE_VERIFIED,
    Step.MOVE_DURABLE,
    Step.REPLACE_LOOKED,
    Step.REPLACE_EXCHANGED,
    Step.REPLACE_VERIFIED,
    Step.REPLACE_TIDIED,
    Step.STAGE_PUT,
    Step.STAGE_DURABLE,
)
"""With links in one other note."""
DELETE = (
    LedgerStep.BEGUN,
    LedgerStep.CLAIMED,
    Step.TRASH_ENTRY_MADE,
    Step.TRASH_MOVED,
    Step.TRASH_VERIFIED,
    Step.TRASH_DURABLE,
    LedgerStep.COMMITTED,
    UNANSWERED,
    LedgerStep.SETTLED,
    ANSWERED,
)
RETRY = (LedgerStep.BEGUN, LedgerStep.RECLAIMED, UNANSWERED, LedgerStep.SETTLED, ANSWERED)
RESTORE = (
    LedgerStep.SPENT,
    Step.RESTORE_FOLDERS_MADE,
    Step.RESTORE_MOVED,
    Step.RESTORE_VERIFIED,
    Step.RESTORE_DURABLE,
    Step.RESTORE_TIDIED,
)
DECLINE = (LedgerStep.DECLINED,)
RENEW = (LedgerStep.RENEWED,)

BEFORE_THE_CHANGE = frozenset({LedgerStep.BEGUN, LedgerStep.CLAIMED})
"""A change that has not begun has no line in the log."""
BEFORE_THE_MOVE = BEFORE_THE_CHANGE | {Step.TRASH_ENTRY_MADE}
AFTER_THE_ANSWER = frozenset({LedgerStep.SETTLED, ANSWERED})
BEFORE_THE_EXCHANGE = frozenset(REPLACE[:5])
WITH_A_TEMPORARY = frozenset(REPLACE[:7])
"""Of the new text, and once that is in place, of the former one."""


@pytest.fixture
def household(inline: Household) -> Household:
    """Take the inline one: the process that kills itself is the one that does it all.

    What a killed worker leaves is the subject of `test_jailed_kills.py`.
    """
    return inline


@pytest.fixture(autouse=True)
def _real_time(household: Household) -> None:
    """Temporaries have the system's time, so the household's clock starts there."""
    household.clock.now = time.time()


def asked_about(household: Household, data: bytes = BYTES) -> Asked:
    household.write(NOTE, data)
    return ask(household.service(), ALICE, household.uri, NOTE)


def confirm(asked: Asked) -> Job:
    return actors.reply(ALICE, NOTE, asked.state, accept(NOTE))


EDIT = actors.edit(ALICE, NOTE, "# Plan", "# Another plan")
APPEND = actors.append(ALICE, NOTE, "- one more")
PROPERTIES = actors.properties(ALICE, NOTE, "status", "done")
MOVED = "Done/Plan 2.md"
MOVING = actors.move(ALICE, NOTE, MOVED)
LINKS = b"[[Plan]] and [x](Projects/Plan.md)\r\n"
REWRITTEN = b"[[Plan 2]] and [x](Done/Plan%202.md)\r\n"
CHANGES = {
    "notes_edit": (EDIT, BYTES.replace(b"# Plan", b"# Another plan")),
    "notes_append": (APPEND, BYTES + b"\r\n- one more\r\n"),
    "notes_properties": (PROPERTIES, b"---\r\nstatus: done\r\n---\r\n" + BYTES),
}


def entry_of(household: Household) -> str:
    (entry,) = (household.vault / ".trash").iterdir()
    return entry.name


def kill(household: Household, job: Job, step: str) -> None:
    assert actors.run(household, job, kill_after=step) == Ended(-signal.SIGKILL)


def retry(household: Household, asked: Asked) -> Deletion:
    """Answer once more, in a product of its own, and take the answer."""
    service = household.service()
    deletion = answer(service, ALICE, household.uri, NOTE, asked, accept(NOTE))
    assert isinstance(deletion, Deletion)
    service.answered(deletion)
    return deletion


def refuse_for_good(household: Household, asked: Asked) -> None:
    """The confirmation is spent: no answer to it does anything any more."""
    before = household.files()
    for reply in (accept(NOTE), decline(), {"action": "cancel"}, accept(NOTE)):
        with pytest.raises(InvalidState):
            answer(household.service(), ALICE, household.uri, NOTE, asked, reply)
    assert household.files() == before


def sweep(household: Household) -> None:
    """Within a minute a temporary may be somebody's; after two it is nobody's."""
    product = household.product()
    left = household.temporaries()
    assert product.sweep() == 0
    assert household.temporaries() == left
    household.clock.now += 120
    assert product.sweep() == len(left) <= 1
    assert household.temporaries() == []


def changes(household: Household) -> list[tuple[str, str | None, str]]:
    """What the log says of changes: begun or done."""
    done = (
        "begun",
        "created",
        "edited",
        "appended",
        "properties_set",
        "moved",
        "deleted",
        "restored",
        "already_deleted",
    )
    return [
        (line["tool"], line["path"], line["outcome"]) for line in household.audit() if line["outcome"] in done
    ]


# -- which steps there are -------------------------------------------------------------------------


@dataclass(frozen=True)
class Recorded:
    steps: tuple[str, ...]
    said: Any


def record(household: Household) -> dict[str, Recorded]:
    """Do every operation for real, once."""
    found: dict[str, Recorded] = {}

    def note(name: str, job: Job) -> Any:
        ended = actors.run(household, job)
        assert ended.exit_code == 0
        found[name] = Recorded(ended.steps, ended.said)
        return ended.said

    note("create", actors.create(ALICE, NOTE, BYTES.decode()))
    note("edit", EDIT)
    note("append", APPEND)
    note("properties", PROPERTIES)
    household.write("log.md", LINKS)
    note("move", MOVING)
    household.service().move(ALICE, household.uri, MOVED, NOTE, update_links=False)
    household.write(NOTE, BYTES)
    deleted = note("delete", confirm(ask(household.service(), ALICE, household.uri, NOTE)))
    note("restore", actors.restore(ALICE, deleted["trashId"]))
    asked = ask(household.service(), ALICE, household.uri, NOTE)
    kill(household, confirm(asked), LedgerStep.COMMITTED)
    note("retry", confirm(asked))
    household.write(NOTE, BYTES)
    asked = ask(household.service(), ALICE, household.uri, NOTE)
    note("decline", actors.reply(ALICE, NOTE, asked.state, decline()))
    household.clock.now += 4000
    asked = ask(household.service(), ALICE, household.uri, NOTE)
    note("decline later", actors.reply(ALICE, NOTE, asked.state, decline()))  # prunes what has expired
    household.clock.now -= 8000
    note("renew", actors.ask(ALICE, NOTE))
    return found


def test_the_table_of_steps_is_what_the_operations_really_do(household: Household) -> None:
    recorded = {name: each.steps for name, each in record(household).items()}
    assert recorded == {
        "create": CREATE,
        "edit": REPLACE,
        "append": REPLACE,
        "properties": REPLACE,
        "move": MOVE,
        "delete": DELETE,
        "restore": RESTORE,
        "retry": RETRY,
        "decline": DECLINE,
        "decline later": DECLINE,
        "renew": RENEW,
    }


def test_every_step_that_the_product_enumerates_has_a_kill() -> None:
    enumerated: set[str] = {*Step, *LedgerStep}
    killed = {*CREATE, *REPLACE, *MOVE, *DELETE, *RETRY, *RESTORE, *DECLINE, *RENEW}
    assert enumerated - killed == set()
    assert killed - enumerated == {UNANSWERED, ANSWERED}


# -- move ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", MOVE)
def test_a_kill_in_a_move_leaves_it_to_the_next_change_to_finish_or_forget_it(
    household: Household, step: str
) -> None:
    household.write(NOTE, BYTES)
    household.write("log.md", LINKS)
    household.write("other.md", "other\n")
    kill(household, MOVING, step)
    assert changes(household) == [("notes_move", NOTE, "begun")]
    household.service().append(ALICE, household.uri, "other", "more")
    files = household.files() | {"other.md": b"other\nmore\n"}
    rest = {path: text for path, text in files.items() if ".~fsn-" not in path}
    has_moved = step in MOVE[MOVE.index(Step.MOVE_MOVED) :]
    where, links = (MOVED, REWRITTEN) if has_moved else (NOTE, LINKS)
    assert rest == {where: BYTES, "log.md": links, "other.md": b"other\nmore\n"}
    assert list(household.top.rglob("move.json*")) == []
    sweep(household)
    if not has_moved:
        household.service().move(ALICE, household.uri, NOTE, MOVED)
    kept = {path: text for path, text in household.files().items() if "/swept-" not in path}
    assert kept == {MOVED: BYTES, "log.md": REWRITTEN, "other.md": b"other\nmore\n"}


# -- delete ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", DELETE)
def test_a_kill_in_a_deletion_leaves_the_note_and_a_usable_state_or_the_trash_and_a_spent_one(
    household: Household, step: str
) -> None:
    asked = asked_about(household)
    kill(household, confirm(asked), step)

    files = household.files()
    if step in BEFORE_THE_MOVE:
        assert files == {NOTE: BYTES}
    else:
        assert files == {f".trash/{entry_of(household)}/{NOTE}": BYTES}
    begun = [] if step in BEFORE_THE_CHANGE else [("notes_delete", NOTE, "begun")]
    if step in AFTER_THE_ANSWER | {UNANSWERED}:
        begun = [("notes_delete", NOTE, "deleted")]
    assert changes(household) == begun

    if step not in AFTER_THE_ANSWER:
        deletion = retry(household, asked)
        entry = entry_of(household)
        assert deletion.document() == {"outcome": "deleted", "path": NOTE, "trashId": entry}
        assert len(changes(household)) == len(begun) + 1
    entry = entry_of(household)
    assert household.files() == {f".trash/{entry}/{NOTE}": BYTES}
    refuse_for_good(household, asked)

    sweep(household)
    service = household.service()
    assert [(each.trash_id, each.path) for each in service.trash(ALICE, household.uri).entries] == [
        (entry, NOTE)
    ]
    service.restore(ALICE, household.uri, entry)
    assert household.files() == {NOTE: BYTES}
    refuse_for_good(household, asked)
    assert household.files() == {NOTE: BYTES}


@pytest.mark.parametrize("step", DELETE)
def test_a_restore_after_a_kill_spends_the_confirmation_before_anybody_retries(
    household: Household, step: str
) -> None:
    asked = asked_about(household)
    kill(household, confirm(asked), step)
    if step in BEFORE_THE_MOVE:
        retry(household, asked)
    household.service().restore(ALICE, household.uri, entry_of(household))
    assert household.files() == {NOTE: BYTES}
    refuse_for_good(household, asked)
    # Consent is asked for again, and works once.
    again = ask(household.service(), ALICE, household.uri, NOTE)
    assert retry(household, again).outcome == "deleted"
    refuse_for_good(household, again)


@pytest.mark.parametrize("step", [step for step in DELETE if step not in BEFORE_THE_MOVE | AFTER_THE_ANSWER])
@pytest.mark.parametrize("text", [BYTES, OTHER], ids=["same bytes", "other bytes"])
def test_a_note_made_anew_after_the_kill_is_not_what_the_retry_answers_for(
    household: Household, step: str, text: bytes
) -> None:
    """The receipt in the trash answers: what somebody saved since was never confirmed."""
    asked = asked_about(household)
    kill(household, confirm(asked), step)
    household.write(NOTE, text)
    assert retry(household, asked).outcome == "deleted"
    assert household.files() == {NOTE: text, f".trash/{entry_of(household)}/{NOTE}": BYTES}
    refuse_for_good(household, asked)


@pytest.mark.parametrize("step", [step for step in DELETE if step not in AFTER_THE_ANSWER])
def test_a_kill_in_the_deletion_of_a_note_that_changed_leaves_it_in_its_place(
    household: Household, step: str
) -> None:
    """What was changed since the form was never confirmed, so no kill may leave it in the trash."""
    asked = asked_about(household)
    household.write(NOTE, OTHER)
    ended = actors.run(household, confirm(asked), kill_after=step)
    assert household.files() == {NOTE: OTHER}
    assert ended.said in (None, "NoteChanged")
    with pytest.raises(NoteChanged):
        retry(household, asked)
    assert household.files() == {NOTE: OTHER}
    household.write(NOTE, BYTES)  # undone in the editor: what was confirmed stands there again
    assert retry(household, asked).outcome == "deleted"


@pytest.mark.parametrize("step", RETRY)
def test_a_kill_in_the_retry_leaves_the_answer_to_the_next_one(household: Household, step: str) -> None:
    asked = asked_about(household)
    kill(household, confirm(asked), LedgerStep.COMMITTED)
    kill(household, confirm(asked), step)
    entry = entry_of(household)
    assert household.files() == {f".trash/{entry}/{NOTE}": BYTES}
    if step not in AFTER_THE_ANSWER:
        assert retry(household, asked).document() == {"outcome": "deleted", "path": NOTE, "trashId": entry}
    refuse_for_good(household, asked)
    assert household.files() == {f".trash/{entry}/{NOTE}": BYTES}


def test_only_the_note_that_was_deleted_is_answered_for_after_a_kill(household: Household) -> None:
    """With two candidates, a retry that names the other one proves nothing and deletes nothing."""
    household.write("a/twin.md", BYTES)
    household.write("b/twin.md", BYTES)
    asked = ask(household.service(), ALICE, household.uri, "Plan")
    assert asked.form.note_ids == ("a/twin.md", "b/twin.md")
    kill(
        household,
        actors.reply(ALICE, "Plan", asked.state, accept("a/twin.md")),
        LedgerStep.COMMITTED,
    )
    service = household.service()
    with pytest.raises(InvalidState):
        answer(service, ALICE, household.uri, "Plan", asked, accept("b/twin.md"))
    entry = entry_of(household)
    assert household.files() == {"b/twin.md": BYTES, f".trash/{entry}/a/twin.md": BYTES}
    deletion = answer(service, ALICE, household.uri, "Plan", asked, accept("a/twin.md"))
    assert deletion == Deletion("deleted", "a/twin.md", entry)


@pytest.mark.parametrize("step", [Step.TRASH_MOVED, Step.TRASH_VERIFIED, Step.TRASH_DURABLE])
def test_a_retry_that_names_another_candidate_after_a_kill_cannot_delete_a_second_note(
    household: Household, step: str
) -> None:
    """One confirmation, one note: the entry has its receipt already, though the ledger knows nothing of it."""
    household.write("a/twin.md", BYTES)
    household.write("b/twin.md", BYTES)
    asked = ask(household.service(), ALICE, household.uri, "Plan")
    kill(household, actors.reply(ALICE, "Plan", asked.state, accept("a/twin.md")), step)
    entry = entry_of(household)
    try:
        answer(household.service(), ALICE, household.uri, "Plan", asked, accept("b/twin.md"))
    except (InvalidState, NoteChanged):
        pass
    assert household.files() == {"b/twin.md": BYTES, f".trash/{entry}/a/twin.md": BYTES}
    trashed = household.service().trash(ALICE, household.uri).entries
    assert [(each.trash_id, each.path) for each in trashed] == [(entry, "a/twin.md")]


def test_a_folder_that_a_kill_left_in_the_entry_hides_no_note_that_comes_after_it(
    household: Household,
) -> None:
    """Killed before the move, and then the person chooses the other candidate: it can be found and restored."""
    household.write("a/twin.md", BYTES)
    household.write("b/twin.md", BYTES)
    asked = ask(household.service(), ALICE, household.uri, "Plan")
    kill(household, actors.reply(ALICE, "Plan", asked.state, accept("a/twin.md")), Step.TRASH_ENTRY_MADE)
    service = household.service()
    deletion = answer(service, ALICE, household.uri, "Plan", asked, accept("b/twin.md"))
    entry = entry_of(household)
    assert deletion == Deletion("deleted", "b/twin.md", entry)
    assert household.files() == {"a/twin.md": BYTES, f".trash/{entry}/b/twin.md": BYTES}
    trashed = service.trash(ALICE, household.uri).entries
    assert [(each.trash_id, each.path) for each in trashed] == [(entry, "b/twin.md")]
    assert service.restore(ALICE, household.uri, entry).reply.path == "b/twin.md"
    assert household.files() == {"a/twin.md": BYTES, "b/twin.md": BYTES}


# -- decline, and the ledger's own ---------------------------------------------------------------


@pytest.mark.parametrize("step", DECLINE)
def test_a_decline_that_was_killed_before_its_answer_is_a_decline(household: Household, step: str) -> None:
    asked = asked_about(household)
    kill(household, actors.reply(ALICE, NOTE, asked.state, decline()), step)
    refuse_for_good(household, asked)
    service = household.service()
    again = service.delete(
        ALICE, household.uri, NOTE, arguments={"workspaceUri": household.uri, "title": NOTE}
    )
    assert again == Deletion("declined")
    assert household.files() == {NOTE: BYTES}


@pytest.mark.parametrize("step", RENEW)
def test_a_kill_after_everything_was_forgotten_revives_no_confirmation(
    household: Household, step: str
) -> None:
    first = asked_about(household)
    trash_id = str(retry(household, first).trash_id)
    household.service().restore(ALICE, household.uri, trash_id)
    issued = household.clock.now
    household.clock.now += 4000
    later = ask(household.service(), ALICE, household.uri, NOTE)
    answer(household.service(), ALICE, household.uri, NOTE, later, decline())  # prunes the first one's row
    household.clock.now = issued - 4000
    kill(household, actors.ask(ALICE, NOTE), step)
    household.clock.now = issued
    refuse_for_good(household, first)
    household.clock.now = issued + 4000
    refuse_for_good(household, later)
    assert household.files() == {NOTE: BYTES}


# -- create ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", CREATE)
def test_a_kill_in_a_creation_leaves_the_whole_note_or_none(household: Household, step: str) -> None:
    household.write("other.md", "untouched")
    kill(household, actors.create(ALICE, NOTE, BYTES.decode()), step)
    named = step in (Step.CREATE_NAMED, Step.CREATE_DURABLE)
    notes = {
        path: data for path, data in household.files().items() if path not in household_temporaries(household)
    }
    assert notes == {"other.md": b"untouched"} | ({NOTE: BYTES} if named else {})
    assert changes(household) == [("notes_create", NOTE, "begun")]
    # What is left over is never seen as a note.
    listed = household.service().list(ALICE, household.uri, recursive=True).document()
    assert [note["path"] for note in listed["notes"]] == sorted(notes)
    assert listed["skipped"] == []

    sweep(household)
    service = household.service()
    if named:
        with pytest.raises(NoteExists):
            service.create(ALICE, household.uri, NOTE, "another text")
    else:
        service.create(ALICE, household.uri, NOTE, BYTES.decode())
    assert household.vault.joinpath(NOTE).read_bytes() == BYTES


def household_temporaries(household: Household) -> set[str]:
    return {path.removeprefix("Notes/") for path in household.temporaries()}


# -- edit and append -------------------------------------------------------------------------------


@pytest.mark.parametrize("step", REPLACE)
@pytest.mark.parametrize("tool", CHANGES)
def test_a_kill_in_a_change_leaves_the_former_text_or_the_new_one(
    household: Household, tool: str, step: str
) -> None:
    job, made = CHANGES[tool]
    place = household.write(NOTE, BYTES)
    place.chmod(0o640)
    household.write("other.md", "untouched")
    kill(household, job, step)
    now = BYTES if step in BEFORE_THE_EXCHANGE else made
    left = household_temporaries(household)
    assert len(left) == (1 if step in WITH_A_TEMPORARY else 0)
    assert {path: data for path, data in household.files().items() if path not in left} == {
        NOTE: now,
        "other.md": b"untouched",
    }
    assert place.stat().st_mode & 0o777 == 0o640
    assert changes(household) == [(tool, NOTE, "begun")]
    # What is left over is never seen as a note.
    listed = household.service().list(ALICE, household.uri, recursive=True).document()
    assert ([note["path"] for note in listed["notes"]], listed["skipped"]) == ([NOTE, "other.md"], [])

    sweep(household)
    assert place.read_bytes() == now
    if now == BYTES:
        assert actors.run(household, job).said["etag"] == etag(made)
        assert place.read_bytes() == made


# -- restore ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("new_path", [None, "Elsewhere/deep/Plan.md"])
@pytest.mark.parametrize("step", RESTORE)
def test_a_kill_in_a_restore_leaves_the_note_in_the_trash_or_in_its_place(
    household: Household, step: str, new_path: str | None
) -> None:
    asked = asked_about(household)
    entry = str(retry(household, asked).trash_id)
    household.vault.joinpath("Projects").rmdir()
    kill(household, actors.restore(ALICE, entry, new_path), step)
    place = new_path or NOTE
    moved = step not in (LedgerStep.SPENT, Step.RESTORE_FOLDERS_MADE)
    assert household.files() == {place if moved else f".trash/{entry}/{NOTE}": BYTES}
    assert changes(household) == [("notes_delete", NOTE, "deleted"), ("notes_restore", new_path, "begun")]
    refuse_for_good(household, asked)

    sweep(household)
    service = household.service()
    if moved:
        assert service.trash(ALICE, household.uri).entries == ()
        with pytest.raises(NoteNotFound):
            service.restore(ALICE, household.uri, entry)
    else:
        assert service.restore(ALICE, household.uri, entry, new_path=new_path).reply.path == place
    assert household.files() == {place: BYTES}
    refuse_for_good(household, asked)


# -- any instant -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_kills_at_random_instants_keep_every_promise(household: Household, seed: int) -> None:
    """Between the steps there are instants that nobody enumerated."""
    kill_at_random_instants(household, seed=seed, rounds=12)


def kill_at_random_instants(household: Household, *, seed: int, rounds: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - instants, not secrets
    killed = 0
    for number in range(rounds):
        note = f"n{number}.md"
        data = b"%d\n" % number * 3000
        household.write(note, data)
        asked = ask(household.service(), ALICE, household.uri, note)
        if actors.run_for(
            household,
            actors.reply(ALICE, note, asked.state, accept(note)),
            seconds=chance.uniform(0.0, 0.03),
        ):
            killed += 1
        places = [path for path, held in household.files().items() if held == data]
        assert len(places) == 1, places
        in_place = places == [note]
        service = household.service()
        try:
            deletion = answer(service, ALICE, household.uri, note, asked, accept(note))
        except InvalidState:
            assert not in_place  # deleted and answered
        else:
            assert isinstance(deletion, Deletion)
            assert deletion.outcome == "deleted"
            service.answered(deletion)
        places = [path for path, held in household.files().items() if held == data]
        assert places == [places[0]]
        assert places[0].startswith(".trash/")
        trash_id = places[0].split("/")[1]
        service.restore(ALICE, household.uri, trash_id)
        with pytest.raises(InvalidState):
            answer(household.service(), ALICE, household.uri, note, asked, accept(note))
        assert household.vault.joinpath(note).read_bytes() == data
        household.vault.joinpath(note).unlink()
    assert killed > 0, "no kill ever landed"
