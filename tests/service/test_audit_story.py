"""The log through the service: one line for each change and each refusal, and no change without its line."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fsnotes.access import Principal, Right
from fsnotes.calls import Call
from fsnotes.errors import (
    Abandoned,
    AnchorNotFound,
    FsnotesError,
    InvalidAnswer,
    InvalidArgument,
    InvalidState,
    InvalidYaml,
    NotAllowed,
    NoteChanged,
    NoteExists,
    NoteNotFound,
    NoteTooLarge,
    TooManyMatches,
    Unavailable,
)
from fsnotes.notes.etags import etag
from fsnotes.outcomes import Asked, Deletion
from fsnotes.service import Service
from tests.service import actors
from tests.service.conftest import ALICE, BOB, Household, accept, answer, ask, decline
from tests.service.logs import files, lines

TEXT = "the text of a note is nobody's business but its readers'"
NOTE = "Projects/Plan.md"
TIMED = "2027-01-15T08:00:00.000Z"
TRACED = Call(Principal("local:alice"), request_id="r-7", trace_id="4bf92f3577b34da6a3ce929d0e0e4736")


def line(**fields: Any) -> dict[str, Any]:
    """Return a line as the log has it."""
    return {
        "time": TIMED,
        "principal": "local:alice",
        "tool": None,
        "workspace": "Notes",
        "path": None,
        "outcome": None,
        "etagBefore": None,
        "etagAfter": None,
        "jail": "none",
        "requestId": "r-7",
        "traceId": TRACED.trace_id,
    } | fields


def log(household: Household) -> Path:
    return household.top / "state/private/audit.jsonl"


def test_each_change_has_one_line_with_all_its_fields(household: Household) -> None:
    service, uri, data = household.service(), household.uri, TEXT.encode()
    service.create(TRACED, uri, "Projects/Plan", TEXT)
    asked = ask(service, TRACED, uri, NOTE)
    deletion = answer(service, TRACED, uri, NOTE, asked, accept(NOTE))
    assert isinstance(deletion, Deletion)
    service.answered(deletion)
    service.restore(TRACED, uri, str(deletion.trash_id), new_path="Elsewhere/Plan")
    lines = [
        line(tool="notes_create", path=NOTE, outcome="created", etagAfter=etag(data)),
        line(tool="notes_delete", path=NOTE, outcome="deleted", etagBefore=etag(data)),
        line(tool="notes_restore", path="Elsewhere/Plan.md", outcome="restored", etagAfter=etag(data)),
    ]
    assert household.audit() == [each | {"jail": household.level} for each in lines]
    assert list(household.audit()[0]) == [
        "time",
        "principal",
        "tool",
        "workspace",
        "path",
        "outcome",
        "etagBefore",
        "etagAfter",
        "jail",
        "requestId",
        "traceId",
    ]
    assert log(household).stat().st_mode & 0o777 == 0o600


def test_reading_and_asking_leave_no_line(household: Household) -> None:
    household.write(NOTE, TEXT)
    service, uri = household.service(), household.uri
    service.workspaces(ALICE)
    service.list(ALICE, uri, recursive=True)
    service.read(ALICE, uri, NOTE)
    service.trash(ALICE, uri)
    asked = ask(service, ALICE, uri, NOTE)
    answer(service, ALICE, uri, NOTE, asked, None)
    answer(service, ALICE, uri, NOTE, asked, {"action": "cancel"})
    with pytest.raises(NoteNotFound):
        service.read(ALICE, uri, "missing")
    assert household.audit() == []


Refusal = tuple[type[FsnotesError], Callable[[Service, str], object], tuple[str, str | None, str]]
UNKNOWN = "20270115T080000Z-" + "0" * 32

REFUSALS: dict[str, Refusal] = {
    "list elsewhere": (
        NotAllowed,
        lambda service, uri: service.list(ALICE, uri + "x"),
        ("notes_list", None, "not_allowed"),
    ),
    "list a hidden folder": (
        NotAllowed,
        lambda service, uri: service.list(ALICE, uri, folder=".git"),
        ("notes_list", ".git", "not_allowed"),
    ),
    "read outside": (
        NotAllowed,
        lambda service, uri: service.read(ALICE, uri, "../secret.md"),
        ("notes_read", "../secret.md", "not_allowed"),
    ),
    "read without a right": (
        NotAllowed,
        lambda service, uri: service.read(BOB, uri, NOTE),
        ("notes_read", NOTE, "not_allowed"),
    ),
    "trash without a right": (
        NotAllowed,
        lambda service, uri: service.trash(BOB, uri),
        ("notes_trash", None, "not_allowed"),
    ),
    "links without a right": (
        NotAllowed,
        lambda service, uri: service.links(BOB, uri, NOTE),
        ("notes_links", NOTE, "not_allowed"),
    ),
    "search without a right": (
        NotAllowed,
        lambda service, uri: service.search(BOB, uri, "plan"),
        ("notes_search", None, "not_allowed"),
    ),
    "search outside": (
        NotAllowed,
        lambda service, uri: service.search(ALICE, uri, "plan", folder="../x"),
        ("notes_search", "../x", "not_allowed"),
    ),
    "tags without a right": (
        NotAllowed,
        lambda service, uri: service.tags(BOB, uri),
        ("notes_tags", None, "not_allowed"),
    ),
    "create over a note": (
        NoteExists,
        lambda service, uri: service.create(ALICE, uri, "Projects/Plan", TEXT),
        ("notes_create", "Projects/Plan", "note_exists"),
    ),
    "create outside": (
        NotAllowed,
        lambda service, uri: service.create(ALICE, uri, "../new.md", TEXT),
        ("notes_create", "../new.md", "not_allowed"),
    ),
    "create under a bad name": (
        InvalidArgument,
        lambda service, uri: service.create(ALICE, uri, "CON", TEXT),
        ("notes_create", "CON", "invalid_argument"),
    ),
    "create too much": (
        NoteTooLarge,
        lambda service, uri: service.create(ALICE, uri, "big", TEXT * 30_000),
        ("notes_create", "big", "note_too_large"),
    ),
    "create without a right": (
        NotAllowed,
        lambda service, uri: service.create(BOB, uri, "new", TEXT),
        ("notes_create", "new", "not_allowed"),
    ),
    "edit what is not there": (
        NoteNotFound,
        lambda service, uri: service.edit(ALICE, uri, "missing", TEXT, old_text="x"),
        ("notes_edit", "missing", "note_not_found"),
    ),
    "edit for no text": (
        InvalidArgument,
        lambda service, uri: service.edit(ALICE, uri, NOTE, TEXT),
        ("notes_edit", NOTE, "invalid_argument"),
    ),
    "edit by a stale etag": (
        NoteChanged,
        lambda service, uri: service.edit(ALICE, uri, NOTE, "x", old_text="text", if_match="x"),
        ("notes_edit", NOTE, "note_changed"),
    ),
    "edit without a right": (
        NotAllowed,
        lambda service, uri: service.edit(BOB, uri, NOTE, "x", old_text="text"),
        ("notes_edit", NOTE, "not_allowed"),
    ),
    "try to edit what is not in it": (
        AnchorNotFound,
        lambda service, uri: service.edit(ALICE, uri, NOTE, "x", old_text="y" + TEXT, dry_run=True),
        ("notes_edit", NOTE, "anchor_not_found"),
    ),
    "try without a right": (
        NotAllowed,
        lambda service, uri: service.append(BOB, uri, NOTE, TEXT, dry_run=True),
        ("notes_append", NOTE, "not_allowed"),
    ),
    "set a property in broken frontmatter": (
        InvalidYaml,
        lambda service, uri: service.properties(ALICE, uri, "broken", assign=[("k", TEXT)]),
        ("notes_properties", "broken", "invalid_yaml"),
    ),
    "set a property without a right": (
        NotAllowed,
        lambda service, uri: service.properties(BOB, uri, NOTE, assign=[("k", "v")]),
        ("notes_properties", NOTE, "not_allowed"),
    ),
    "move over a note": (
        NoteExists,
        lambda service, uri: service.move(ALICE, uri, NOTE, NOTE, dry_run=True),
        ("notes_move", NOTE, "note_exists"),
    ),
    "move without a right": (
        NotAllowed,
        lambda service, uri: service.move(BOB, uri, NOTE, "new"),
        ("notes_move", NOTE, "not_allowed"),
    ),
    "append outside": (
        NotAllowed,
        lambda service, uri: service.append(ALICE, uri, "../x", TEXT),
        ("notes_append", "../x", "not_allowed"),
    ),
    "delete nothing": (
        NoteNotFound,
        lambda service, uri: ask(service, ALICE, uri, "no such note"),
        ("notes_delete", None, "note_not_found"),
    ),
    "delete without a title": (
        InvalidArgument,
        lambda service, uri: ask(service, ALICE, uri, " "),
        ("notes_delete", None, "invalid_argument"),
    ),
    "delete too many": (
        TooManyMatches,
        lambda service, uri: ask(service, ALICE, uri, "many"),
        ("notes_delete", None, "too_many_matches"),
    ),
    "delete without a right": (
        NotAllowed,
        lambda service, uri: ask(service, BOB, uri, NOTE),
        ("notes_delete", None, "not_allowed"),
    ),
    "delete by a forged state": (
        InvalidState,
        lambda service, uri: service.delete(ALICE, uri, NOTE, arguments={}, state="v1.AAAA"),
        ("notes_delete", None, "invalid_state"),
    ),
    "restore what is not there": (
        NoteNotFound,
        lambda service, uri: service.restore(ALICE, uri, UNKNOWN),
        ("notes_restore", None, "note_not_found"),
    ),
    "restore what is no entry": (
        NoteNotFound,
        lambda service, uri: service.restore(ALICE, uri, "../../etc"),
        ("notes_restore", None, "note_not_found"),
    ),
    "restore without a right": (
        NotAllowed,
        lambda service, uri: service.restore(BOB, uri, UNKNOWN),
        ("notes_restore", None, "not_allowed"),
    ),
}


REFUSED_AS_A_CHANGE = frozenset(
    {
        "create over a note",
        "create outside",
        "create under a bad name",
        "create too much",
        "edit what is not there",
        "edit by a stale etag",
        "append outside",
        "set a property in broken frontmatter",
    }
)
"""Found out by the change itself, so its line is reserved before; without a log it is not even tried."""


@pytest.fixture
def furnished(household: Household) -> Household:
    household.write(NOTE, TEXT)
    household.write("broken.md", "---\na: [\n---\n")
    for number in range(26):
        household.write(f"many/{number}.md", "# Many\n")
    return household


@pytest.mark.parametrize("case", REFUSALS)
def test_each_refusal_has_one_line_and_changes_nothing(furnished: Household, case: str) -> None:
    error, attempt, expected = REFUSALS[case]
    service, before = furnished.service(), furnished.tree()
    with pytest.raises(error) as caught:
        attempt(service, furnished.uri)
    assert type(caught.value) is error or error is NotAllowed
    assert furnished.tree() == before
    (entry,) = furnished.audit()
    assert (entry["tool"], entry["path"], entry["outcome"]) == expected
    assert (entry["etagBefore"], entry["etagAfter"]) == (None, None)
    assert entry["principal"] in ("local:alice", "local:bob")
    assert TEXT not in log(furnished).read_text()


@pytest.mark.parametrize("case", REFUSALS)
@pytest.mark.parametrize("obstacle", ["folder", "link"])
def test_a_refusal_stays_that_refusal_when_the_log_cannot_be_written(
    furnished: Household, case: str, obstacle: str
) -> None:
    error, attempt, _ = REFUSALS[case]
    service = furnished.service()
    spoil_log(furnished, obstacle)
    before = furnished.tree()
    if case in REFUSED_AS_A_CHANGE:
        error = Unavailable
    with pytest.raises(error) as caught:
        attempt(service, furnished.uri)
    assert type(caught.value) is error or error is NotAllowed
    assert furnished.tree() == before


def spoil_log(household: Household, obstacle: str) -> None:
    """Make the log unwritable, for root too."""
    path = log(household)
    path.unlink(missing_ok=True)
    match obstacle:
        case "folder":
            path.mkdir()
        case "link":
            (household.top / "elsewhere.jsonl").write_text("")
            path.symlink_to(household.top / "elsewhere.jsonl")
        case "missing folder":
            path.symlink_to(household.top / "gone" / "audit.jsonl")


def mend_log(household: Household) -> None:
    path = log(household)
    path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


@pytest.mark.parametrize("obstacle", ["folder", "link", "missing folder"])
def test_nothing_is_changed_when_the_log_cannot_be_written(household: Household, obstacle: str) -> None:
    household.write(NOTE, TEXT)
    household.write("gone.md", "in the trash")
    service, uri = household.service(), household.uri
    gone = answer(service, ALICE, uri, "gone.md", ask(service, ALICE, uri, "gone.md"), accept("gone.md"))
    assert isinstance(gone, Deletion)
    asked = ask(service, ALICE, uri, NOTE)
    spoil_log(household, obstacle)
    before = household.tree()
    for attempt in (
        lambda: service.create(ALICE, uri, "deep/new/note", TEXT),
        lambda: service.edit(ALICE, uri, NOTE, "x", old_text="text"),
        lambda: service.append(ALICE, uri, NOTE, TEXT),
        lambda: service.properties(ALICE, uri, NOTE, assign=[("k", "v")]),
        lambda: service.move(ALICE, uri, NOTE, "deep/new/note"),
        lambda: answer(service, ALICE, uri, NOTE, asked, accept(NOTE)),
        lambda: service.restore(ALICE, uri, str(gone.trash_id)),
    ):
        with pytest.raises(Unavailable):
            attempt()
        assert household.tree() == before
    mend_log(household)
    # The confirmation was not spent, and the entry can be restored.
    assert isinstance(answer(service, ALICE, uri, NOTE, asked, accept(NOTE)), Deletion)
    service.restore(ALICE, uri, str(gone.trash_id))
    service.create(ALICE, uri, "deep/new/note", TEXT)
    assert [entry["outcome"] for entry in household.audit()] == ["deleted", "restored", "created"]


def test_reading_goes_on_when_the_log_cannot_be_written(household: Household) -> None:
    household.write(NOTE, TEXT)
    service = household.service()
    spoil_log(household, "folder")
    assert service.read(ALICE, household.uri, NOTE).text == TEXT
    assert len(service.list(ALICE, household.uri, recursive=True).notes) == 1
    assert isinstance(ask(service, ALICE, household.uri, NOTE), Asked)


def test_a_decline_counts_when_the_log_cannot_be_written(household: Household) -> None:
    household.write(NOTE, TEXT)
    service = household.service()
    asked = ask(service, ALICE, household.uri, NOTE)
    spoil_log(household, "folder")
    assert answer(service, ALICE, household.uri, NOTE, asked, decline()) == Deletion("declined")
    with pytest.raises(InvalidState):
        answer(service, ALICE, household.uri, NOTE, asked, accept(NOTE))


# -- no room -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["create", "edit", "append", "delete", "restore"])
def test_without_room_for_the_line_nothing_is_changed(household: Household, what: str) -> None:
    """The log is the largest file by far, so a limit on file sizes stops its growth and nothing else."""
    household.write(NOTE, TEXT)
    household.write("gone.md", "in the trash")
    service, uri = household.service(), household.uri
    gone = answer(service, ALICE, uri, "gone.md", ask(service, ALICE, uri, "gone.md"), accept("gone.md"))
    assert isinstance(gone, Deletion)
    service.answered(gone)
    asked = ask(service, ALICE, uri, NOTE)
    filler = b'{"outcome":"an earlier line","path":"%s"}\n' % (b"x" * 4000)
    with log(household).open("ab") as file:
        file.write(filler * 200)
    full = log(household).read_bytes()
    before = household.tree()
    jobs = {
        "create": actors.create(ALICE, "deep/new/note", TEXT),
        "edit": actors.edit(ALICE, NOTE, "text", "words"),
        "append": actors.append(ALICE, NOTE, TEXT),
        "delete": actors.reply(ALICE, NOTE, asked.state, accept(NOTE)),
        "restore": actors.restore(ALICE, str(gone.trash_id)),
    }
    ended = actors.run(household, jobs[what], file_size_limit=len(full) + 100)
    assert (ended.exit_code, ended.said) == (0, "Unavailable")
    assert household.tree() == before
    assert log(household).read_bytes() == full  # no part of a line is left
    # With room again, the same call works.
    ended = actors.run(household, jobs[what], file_size_limit=len(full) + 100_000)
    assert (ended.exit_code, isinstance(ended.said, dict)) == (0, True)
    assert [entry["outcome"] for entry in household.audit()][-1:] == [
        {
            "create": "created",
            "edit": "edited",
            "append": "appended",
            "delete": "deleted",
            "restore": "restored",
        }[what]
    ]
    assert len(household.audit()) == 202


# -- never a text, never a forged line ---------------------------------------------------------------


def test_the_log_never_holds_a_text_a_state_or_an_answer(household: Household) -> None:
    service, uri = household.service(), household.uri
    service.create(ALICE, uri, "a", f"# {TEXT}\n")
    service.append(ALICE, uri, "a", TEXT)
    service.edit(ALICE, uri, "a", "", old_text=f"\n{TEXT}")
    service.properties(ALICE, uri, "a", assign=[("k", f'"{TEXT}"')])
    service.properties(ALICE, uri, "a", remove=["k"])
    with pytest.raises(AnchorNotFound):
        service.edit(ALICE, uri, "a", "", old_text=f"x{TEXT}")
    with pytest.raises(NoteNotFound):
        service.append(ALICE, uri, "a", "x", heading=f"x{TEXT}")
    asked = ask(service, ALICE, uri, "a.md")
    for reply, error in (({"action": TEXT}, InvalidAnswer), (accept("b.md"), InvalidAnswer)):
        with pytest.raises(error):
            answer(service, ALICE, uri, "a.md", asked, reply)
    household.write("a.md", f"changed: {TEXT}")
    with pytest.raises(NoteChanged):
        answer(service, ALICE, uri, "a.md", asked, accept("a.md"))
    household.write("a.md", f"# {TEXT}\n")
    deletion = answer(service, ALICE, uri, "a.md", asked, accept("a.md"))
    assert isinstance(deletion, Deletion)
    with pytest.raises(InvalidState):
        answer(service, ALICE, uri, "a.md", asked, accept("a.md"))
    text = log(household).read_text()
    assert [entry["outcome"] for entry in household.audit()] == [
        "created",
        "appended",
        "edited",
        "properties_set",
        "properties_set",
        "anchor_not_found",
        "note_not_found",
        "invalid_answer",
        "invalid_answer",
        "note_changed",
        "deleted",
        "invalid_state",
    ]
    for secret in (TEXT, asked.state, asked.state[3:40], "note_id"):
        assert secret not in text


HOSTILE = [
    'x\n{"principal":"local:root","outcome":"deleted"}',
    "x\r\n\u2028\u2029\x85",
    "\x00\x1b[2J",
    '"},"outcome":"created"}{"',
    "\ud800 lone surrogate",
    "x" * 1_000_000,
    "\U0010ffff" * 4095,
]


@pytest.mark.parametrize("words", HOSTILE, ids=range(len(HOSTILE)))
def test_no_words_of_a_caller_forge_a_line(household: Household, words: str) -> None:
    service, uri = household.service(), household.uri
    hostile = Call(Principal("local:alice"), request_id=words, trace_id=words)
    attempts: list[Callable[[], object]] = [
        lambda: service.create(hostile, uri, words, "x"),
        lambda: service.create(hostile, words, "a", "x"),
        lambda: service.edit(hostile, uri, words, words, old_text=words, heading=words, if_match=words),
        lambda: service.properties(hostile, uri, words, assign=[(words, words)], remove=[words]),
        lambda: service.append(hostile, uri, "a", words, heading=words, dry_run=True),
        lambda: service.move(hostile, uri, words, words),
        lambda: service.read(hostile, uri + words, "a"),
        lambda: service.read(hostile, uri, "../" + words),
        lambda: service.list(hostile, words, folder=words),
        lambda: service.restore(hostile, uri, words, new_path=words),
        lambda: service.delete(hostile, uri, words, arguments={}, state=words),
    ]
    for attempt in attempts:
        with pytest.raises(FsnotesError):
            attempt()
    entries = household.audit()
    # A path that is too long is malformed, which is no refusal of anything when it is only to be read.
    assert len(entries) == len(attempts) - (len(words) > 4000)
    assert {entry["principal"] for entry in entries} == {"local:alice"}
    assert all(entry["outcome"] not in ("begun", "created", "deleted") for entry in entries)
    assert log(household).read_bytes().isascii()
    assert max(map(len, log(household).read_bytes().splitlines())) < 250_000
    assert household.files() == {}


def test_lines_of_many_callers_at_once_stay_whole(household: Household) -> None:
    household.grant(BOB, Right.WRITE)
    service, uri = household.service(), household.uri

    def work(call: Call, name: str) -> None:
        for number in range(10):
            service.create(call, uri, f"{name}/{number}", TEXT)
            with pytest.raises(NoteExists):
                service.create(call, uri, f"{name}/{number}", TEXT)

    threads = [
        threading.Thread(target=work, args=(call, name))
        for call, name in ((ALICE, "a"), (ALICE, "b"), (BOB, "c"), (BOB, "d"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    entries = household.audit()
    assert sorted(entry["outcome"] for entry in entries) == ["created"] * 40 + ["note_exists"] * 40
    assert {(entry["principal"], entry["path"][0]) for entry in entries} == {
        ("local:alice", "a"),
        ("local:alice", "b"),
        ("local:bob", "c"),
        ("local:bob", "d"),
    }


@pytest.mark.parametrize(
    "path",
    ["a" * 250 + ".md", "/".join(["b" * 200] * 15) + "/n.md", "é" * 120 + "/" + "ü" * 120 + ".md"],
    ids=["a long name", "a long path", "a long path that is not ASCII"],
)
def test_a_restored_note_is_named_however_long_its_path_is(household: Household, path: str) -> None:
    """The path is not known when the line is reserved."""
    service, uri = household.service(), household.uri
    service.create(ALICE, uri, path, TEXT)
    deletion = answer(service, ALICE, uri, path, ask(service, ALICE, uri, path), accept(path))
    assert isinstance(deletion, Deletion)
    service.restore(ALICE, uri, str(deletion.trash_id))
    assert [(entry["path"], entry["outcome"]) for entry in household.audit()] == [
        (path, "created"),
        (path, "deleted"),
        (path, "restored"),
    ]


def test_a_change_that_fails_after_it_was_announced_has_one_line_that_says_so(household: Household) -> None:
    household.write("file", "not a folder")
    service, uri = household.service(), household.uri
    with pytest.raises(FsnotesError):
        service.create(ALICE, uri, "file/new", TEXT)
    (entry,) = household.audit()
    assert entry["outcome"] not in ("begun", "created")
    assert household.files() == {"file": b"not a folder"}


def test_an_abandoned_call_changes_nothing_and_begins_nothing(household: Household) -> None:
    gone = Call(Principal("local:alice"), abandoned=lambda: True)
    with pytest.raises(Abandoned):
        household.service().create(gone, household.uri, "a", TEXT)
    assert household.files() == {}
    assert [entry["outcome"] for entry in household.audit()] == ["abandoned"]


def test_a_log_that_was_moved_away_is_begun_anew(household: Household) -> None:
    """As a log rotation does it, with a service that lives on."""
    service, uri = household.service(), household.uri
    service.create(ALICE, uri, "a", TEXT)
    os.rename(log(household), household.top / "state/private/audit.1")
    service.create(ALICE, uri, "b", TEXT)
    assert [entry["path"] for entry in household.audit()] == ["b.md"]


def test_a_log_of_many_files_has_one_line_for_each_change(household: Household) -> None:
    """Every line fills its file here, so that each change is settled in one that has been renamed before."""
    service, uri = household.service(audit_max_bytes=1), household.uri
    service.create(ALICE, uri, "a", TEXT)
    with pytest.raises(NoteExists):
        service.create(ALICE, uri, "a", TEXT)
    with pytest.raises(NotAllowed):
        service.create(BOB, uri, "b", TEXT)
    asked = ask(service, ALICE, uri, "a")
    assert isinstance(answer(service, ALICE, uri, "a", asked, accept("a.md")), Deletion)
    assert household.audit() == []
    assert [(entry["path"], entry["outcome"]) for entry in lines(log(household))] == [
        ("a.md", "created"),
        ("a", "note_exists"),
        ("b", "not_allowed"),
        ("a.md", "deleted"),
    ]
    assert len(files(log(household))) == 5


def test_a_sweep_has_one_line(household: Household) -> None:
    household.write(".~fsn-000000000000000000000000", "left by a killed write")
    product = household.product()
    assert product.sweep() == 1
    assert household.audited() == [("fsnotes", "sweep", None, "swept_1")]
    assert product.sweep() == 0
    assert len(household.audit()) == 1
