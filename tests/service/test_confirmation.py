"""The second round: who may answer, with what, when, and what becomes of the note and of the confirmation."""

from __future__ import annotations

import base64
import os
import unicodedata
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fsnotes.access import Principal, Right, Rule
from fsnotes.calls import Call
from fsnotes.config import WorkspaceSettings
from fsnotes.confirm import Asked as AskedForm
from fsnotes.confirm import Binding, Candidate, Confirmations, KeyRing, Ledger, digest_arguments, digest_call
from fsnotes.errors import (
    DeceptiveName,
    FsnotesError,
    InvalidAnswer,
    InvalidArgument,
    InvalidState,
    NotAllowed,
    NoteChanged,
    NoteNotFound,
    TooManyMatches,
    Unavailable,
)
from fsnotes.failures import describe
from fsnotes.outcomes import Asked, Deletion
from fsnotes.service import Service
from sandbox.names import ROOT, RelPath
from tests.service import actors
from tests.service.conftest import ALICE, BOB, Household, accept, answer, ask, decline

NOTE = "Projects/Plan.md"
BYTES = b"# Plan\nwhat is confirmed\n"
KEY = base64.b64encode(bytes(range(32))).decode()


def asked_about(household: Household, title: str = NOTE) -> Asked:
    household.write(NOTE, BYTES)
    return ask(household.service(), ALICE, household.uri, title)


def say(
    household: Household, asked: Asked, reply: Any, *, service: Service | None = None
) -> Asked | Deletion:
    return answer(service or household.service(), ALICE, household.uri, NOTE, asked, reply)


def again(
    household: Household, title: str, *, call: Call = ALICE, uri: str | None = None
) -> Asked | Deletion:
    """The first round, whatever comes of it."""
    uri = uri or household.uri
    return household.service().delete(call, uri, title, arguments={"workspaceUri": uri, "title": title})


def in_trash(deletion: Asked | Deletion, note: str = NOTE, data: bytes = BYTES) -> dict[str, bytes]:
    """Return what the vault holds when *note*, all that was in it, was deleted."""
    assert isinstance(deletion, Deletion)
    assert deletion.document() == {"outcome": "deleted", "path": note, "trashId": deletion.trash_id}
    return {f".trash/{deletion.trash_id}/{note}": data}


def expect_deleted(household: Household, deletion: Asked | Deletion) -> None:
    """The vault holds nothing but the deleted note, in its entry."""
    assert household.files() == in_trash(deletion)


def works(household: Household, asked: Asked) -> None:
    """The state is still usable: it deletes the note, once."""
    expect_deleted(household, say(household, asked, accept(NOTE)))
    with pytest.raises(InvalidState):
        say(household, asked, accept(NOTE))


def refused(
    household: Household, attempt: Callable[[], object], error: type[FsnotesError] = InvalidState
) -> None:
    """The attempt fails in exactly this way, and nothing in the household moves."""
    before = household.tree()
    with pytest.raises(error) as caught:
        attempt()
    assert type(caught.value) is error or error is NotAllowed
    assert household.tree() == before


# -- round 1 ---------------------------------------------------------------------------------------


def test_the_form_names_workspace_and_candidates_and_has_exactly_the_schema(household: Household) -> None:
    for place in (household.write("a/x.md", b"# One\n"), household.write("b/x.md", b"# One\nlonger\n")):
        os.utime(place, (1_700_000_000, 1_700_000_000))
    asked = again(household, "one")
    assert isinstance(asked, Asked)
    properties = asked.form.schema["properties"]
    assert {key: value for key, value in asked.form.schema.items() if key != "properties"} == {
        "type": "object",
        "required": ["note_id", "confirm"],
    }
    assert list(properties) == ["note_id", "confirm"]
    assert (properties["note_id"]["type"], properties["note_id"]["enum"]) == ("string", ["a/x.md", "b/x.md"])
    assert (properties["confirm"]["type"], properties["confirm"].get("default", False)) == ("boolean", False)
    assert {*properties["note_id"], *properties["confirm"]} <= {
        "type",
        "enum",
        "title",
        "description",
        "default",
    }
    first, *lines = asked.form.message.splitlines()
    assert '"Notes"' in first
    for line, path, size in zip(lines, ("a/x.md", "b/x.md"), ("6 bytes", "13 bytes"), strict=True):
        assert f'"{path}"' in line
        assert size in line
        assert "2023-11-14 22:13:20 UTC" in line
    assert household.audit() == []


def test_one_candidate_is_asked_about_too(household: Household) -> None:
    asked = asked_about(household)
    assert asked.form.note_ids == (NOTE,)
    assert household.files() == {NOTE: BYTES}


@pytest.mark.parametrize("title", ["Plan", "plan", "PLAN", "projects/plan.MD", "Projects/Plan", " Plan "])
def test_a_note_is_found_by_title_or_path_whatever_the_case(household: Household, title: str) -> None:
    assert asked_about(household, title).form.note_ids == (NOTE,)


def test_an_exact_match_beats_every_title_that_contains_it(household: Household) -> None:
    household.write("1.md", b"# Meeting notes\n")
    household.write("2.md", b"# meeting\n")
    household.write("3.md", b"---\ntitle: The meeting of May\n---\n# other\n")
    household.write("meeting/4.md", b"# something else\n")
    assert ask(household.service(), ALICE, household.uri, "Meeting").form.note_ids == ("2.md",)
    assert ask(household.service(), ALICE, household.uri, "eeting").form.note_ids == (
        "1.md",
        "2.md",
        "3.md",
    )


def test_a_title_in_another_unicode_spelling_is_found(household: Household) -> None:
    household.write("a.md", "# Café\n")
    household.write(unicodedata.normalize("NFD", "Grüße.md"), "x")
    assert ask(
        household.service(), ALICE, household.uri, unicodedata.normalize("NFD", "CAFÉ")
    ).form.note_ids == ("a.md",)
    (found,) = ask(household.service(), ALICE, household.uri, "grüsse").form.note_ids
    assert unicodedata.normalize("NFC", found) == "Grüße.md"


@pytest.mark.parametrize(("count", "error"), [(0, NoteNotFound), (26, TooManyMatches)])
def test_none_and_too_many_are_told_without_asking(
    household: Household, count: int, error: type[FsnotesError]
) -> None:
    for number in range(count):
        household.write(f"{number}/same.md", "# Same\n")
    refused(household, lambda: again(household, "same"), error)
    assert describe(TooManyMatches(25)).slug == "too_many"
    assert [line["outcome"] for line in household.audit()] == [
        "note_not_found" if error is NoteNotFound else "too_many_matches"
    ]


def test_twenty_five_candidates_are_one_form_and_any_of_them_may_be_chosen(household: Household) -> None:
    for number in range(25):
        household.write(f"{number:02}/same.md", f"# Same\n{number}")
    asked = ask(household.service(), ALICE, household.uri, "same")
    assert len(asked.form.note_ids) == 25
    deletion = answer(household.service(), ALICE, household.uri, "same", asked, accept("24/same.md"))
    assert isinstance(deletion, Deletion)
    files = household.files()
    assert len(files) == 25
    assert files[f".trash/{deletion.trash_id}/24/same.md"] == b"# Same\n24"


def test_too_many_that_contain_the_title_do_not_hide_the_one_that_is_it(household: Household) -> None:
    for number in range(300):
        household.write(f"n{number:03}.md", f"# The goal {number}\n")
    household.write("z.md", "# Goal\n")
    assert ask(household.service(), ALICE, household.uri, "goal").form.note_ids == ("z.md",)


@pytest.mark.parametrize("title", ["", " ", "\t\n", "\u00a0", "\u2003 \u3000"])
def test_an_empty_title_means_no_note(household: Household, title: str) -> None:
    household.write(NOTE, BYTES)
    refused(household, lambda: again(household, title), InvalidArgument)


DECEPTIVE = {
    "bidi override": "a\u202edm.md",
    "line break": "a\nb.md",
    "escape": "a\x1b[2K.md",
    "zero width": "a\u200b.md",
    "hangul filler": "a\u3164.md",
    "tag characters": "a\U000e0061\U000e0062.md",
    "separator": "a\u2028b.md",
}


@pytest.mark.parametrize("name", DECEPTIVE.values(), ids=DECEPTIVE)
def test_a_name_that_could_deceive_is_not_offered(household: Household, name: str) -> None:
    household.write(name, b"# Same\n")
    refused(household, lambda: again(household, "same"), DeceptiveName)
    line = describe(DeceptiveName((name,))).line
    assert line.isprintable()
    assert line.startswith("not_allowed: ")
    household.write("plain.md", b"# Same\n")
    asked = ask(household.service(), ALICE, household.uri, "same")
    assert asked.form.note_ids == ("plain.md",)
    assert name not in asked.form.message
    refused(
        household,
        lambda: answer(household.service(), ALICE, household.uri, "same", asked, accept(name)),
        InvalidAnswer,
    )


UNUSUAL = {
    "emoji family": "👨\u200d👩\u200d👧.md",
    "persian joiner": "نامه\u200cها.md",
    "flag of england": "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f.md",
    "end of ayah": "آ\u06dd.md",
    "plain": "b.md",
}


@pytest.mark.parametrize("name", UNUSUAL.values(), ids=UNUSUAL)
def test_an_unusual_but_honest_name_keeps_no_other_from_being_offered(
    household: Household, name: str
) -> None:
    household.write(name, b"# Same\n")
    household.write("a.md", b"# Same\n")
    asked = ask(household.service(), ALICE, household.uri, "same")
    assert "a.md" in asked.form.note_ids
    deletion = answer(household.service(), ALICE, household.uri, "same", asked, accept("a.md"))
    assert isinstance(deletion, Deletion)
    assert deletion.outcome == "deleted"


def test_a_deceptive_title_is_shown_as_what_it_is(household: Household) -> None:
    household.write("a.md", "# Plan\u202eevil\u2028 forged line\n")
    asked = ask(household.service(), ALICE, household.uri, "a.md")
    assert len(asked.form.message.splitlines()) == 2
    assert "\u202e" not in asked.form.message


def test_a_first_call_that_brings_an_answer_and_no_state_is_a_first_call(household: Household) -> None:
    household.write(NOTE, BYTES)
    asked = household.service().delete(
        ALICE,
        household.uri,
        NOTE,
        arguments={"workspaceUri": household.uri, "title": NOTE},
        answers={"delete_choice": accept(NOTE)},
    )
    assert isinstance(asked, Asked)
    assert household.files() == {NOTE: BYTES}
    works(household, asked)


# -- round 2: a confirmation that proves nothing ---------------------------------------------------


def test_a_confirmation_deletes_once(household: Household) -> None:
    asked = asked_about(household)
    works(household, asked)
    refused(household, lambda: say(household, asked, accept(NOTE)))
    for reply in (decline(), {"action": "cancel"}, None, "malformed"):
        refused(household, partial(say, household, asked, reply))


def forgeries(token: str) -> dict[str, Any]:
    head, body = token[:3], token[3:]
    found: dict[str, Any] = {
        f"bit {bit} of character {place}": head
        + body[:place]
        + chr(ord(body[place]) ^ 1 << bit)
        + body[place + 1 :]
        for place in range(0, len(body), 37)
        for bit in (0, 2)
    }
    found |= {
        "empty": "",
        "truncated": token[:-1],
        "half": token[: len(token) // 2],
        "extended": token + "A",
        "padded": token + "=",
        "another version": "v2." + body,
        "no version": body,
        "upper case": token.upper(),
        "spaces around": f" {token} ",
        "line break": token + "\n",
        "standard alphabet": head + body.replace("-", "+").replace("_", "/") + "/",
        "twice": token + token,
        "huge": head + "A" * 1_000_000,
        "not ASCII": head + "é" * 40,
        "surrogate": "v1.\ud800",
        "NUL": "\0",
        "a number": 1,
        "bytes": token.encode(),
        "a list": [token],
        "true": True,
    }
    return found


def test_a_forged_state_proves_nothing(household: Household) -> None:
    asked = asked_about(household)
    service, before = household.service(), household.tree()
    for what, forged in forgeries(asked.state).items():
        if forged == asked.state:
            continue
        with pytest.raises(InvalidState):
            answer(service, ALICE, household.uri, NOTE, Asked(asked.form, forged), accept(NOTE))
        assert household.tree() == before, what
    works(household, asked)


def test_a_state_that_somebody_else_sealed_for_our_ledger_proves_nothing(
    household: Household, tmp_path: Path
) -> None:
    """All claims are right, the key is not ours."""
    asked_about(household)
    ledger = Ledger.open(household.top / "state/private/ledger.sqlite3")
    try:
        arguments = {"workspaceUri": household.uri, "title": NOTE}
        forged = Confirmations(KeyRing.from_text(KEY), ledger, ttl=300, decline_memory=60).ask(
            Binding(
                "local:alice", "tools/call", "notes_delete", digest_arguments(arguments), digest_call("x")
            ),
            [
                Candidate(
                    NOTE,
                    ask(household.service(), ALICE, household.uri, NOTE).form.candidates[0].etag,
                    "",
                    1,
                    0.0,
                )
            ],
            workspace="Notes",
            now=household.clock.now,
        )
    finally:
        ledger.close()
    assert isinstance(forged, AskedForm)
    refused(household, lambda: say(household, forged, accept(NOTE)))


@pytest.mark.parametrize("late", [300, 300.5, 3600, 86_400 * 365])
def test_an_expired_confirmation_deletes_nothing(household: Household, late: float) -> None:
    asked = asked_about(household)
    household.clock.now += late
    for reply in (accept(NOTE), decline(), {"action": "cancel"}, None):
        refused(household, partial(say, household, asked, reply))


def test_a_confirmation_works_until_the_last_moment(household: Household) -> None:
    asked = asked_about(household)
    household.clock.now += 299.99
    works(household, asked)


@pytest.mark.parametrize("now", [-1.0, 0.0, 1e12])
def test_a_clock_that_shows_no_time_of_ours_deletes_nothing(household: Household, now: float) -> None:
    asked = asked_about(household)
    true_time, household.clock.now = household.clock.now, now
    refused(household, lambda: say(household, asked, accept(NOTE)))
    household.clock.now = true_time
    works(household, asked)


def test_a_clock_set_back_before_the_form_deletes_nothing_and_spends_nothing(household: Household) -> None:
    asked = asked_about(household)
    issued = household.clock.now
    for earlier in (1, 3600, 86_400):
        household.clock.now = issued - earlier
        refused(household, lambda: say(household, asked, accept(NOTE)))
    household.clock.now = issued
    works(household, asked)


def test_a_clock_set_back_revives_nothing_that_was_spent_and_pruned(household: Household) -> None:
    asked = asked_about(household)
    issued = household.clock.now
    deletion = say(household, asked, accept(NOTE))
    assert isinstance(deletion, Deletion)
    household.service().restore(ALICE, household.uri, str(deletion.trash_id))
    household.clock.now = issued + 100_000
    later = ask(household.service(), ALICE, household.uri, NOTE)
    say(household, later, decline())
    for now in (issued, issued + 1, issued + 299):
        household.clock.now = now
        refused(household, lambda: say(household, asked, accept(NOTE)))
    assert household.files() == {NOTE: BYTES}


def test_a_confirmation_is_its_principals_alone(household: Household) -> None:
    household.grant(BOB, *Right)
    asked = asked_about(household)
    refused(household, lambda: answer(household.service(), BOB, household.uri, NOTE, asked, accept(NOTE)))
    refused(household, lambda: answer(household.service(), BOB, household.uri, NOTE, asked, decline()))
    assert isinstance(again(household, NOTE, call=BOB), Asked)  # nobody declined anything for Bob
    works(household, asked)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"title": NOTE},
        {"workspaceUri": None, "title": NOTE},
        {"workspaceUri": "same", "title": NOTE, "extra": 1},
        {"workspaceUri": "same", "title": NOTE.lower()},
        {"workspaceUri": "same", "title": NOTE + " "},
        {"workspaceUri": "same", "title": [NOTE]},
        {"workspaceUri": "slash", "title": NOTE},
        {"workspaceUri": "localhost", "title": NOTE},
    ],
    ids=str,
)
def test_a_confirmation_is_for_its_arguments_alone(household: Household, changed: dict[str, Any]) -> None:
    asked = asked_about(household)
    uri = household.uri
    spellings = {"same": uri, "slash": uri + "/", "localhost": uri.replace("file:///", "file://localhost/")}
    arguments = {
        key: spellings.get(value, value) if isinstance(value, str) else value
        for key, value in changed.items()
    }
    title = arguments.get("title")
    refused(
        household,
        lambda: answer(
            household.service(),
            ALICE,
            arguments.get("workspaceUri") or uri,
            title if isinstance(title, str) else NOTE,
            asked,
            accept(NOTE),
            arguments=arguments,
        ),
    )
    works(household, asked)


def test_a_confirmation_is_for_its_title_alone(household: Household) -> None:
    """Another title that means the same note is another question."""
    asked = asked_about(household)
    refused(household, lambda: answer(household.service(), ALICE, household.uri, "Plan", asked, accept(NOTE)))
    works(household, asked)


def test_a_confirmation_is_for_its_workspace_alone(household: Household) -> None:
    """Same path, same bytes, same principal with all rights, in the workspace beside it."""
    other = household.top / "Other"
    (other / "Projects").mkdir(parents=True)
    (other / NOTE).write_bytes(BYTES)
    household.others.append(WorkspaceSettings("Other", str(other), str(other)))
    household.grant(ALICE, *Right, workspace="Other")
    asked = asked_about(household)
    refused(household, lambda: answer(household.service(), ALICE, other.as_uri(), NOTE, asked, accept(NOTE)))
    works(household, asked)
    assert (other / NOTE).read_bytes() == BYTES


# -- other processes -------------------------------------------------------------------------------


def test_another_process_that_shares_keys_and_ledger_can_finish(household: Household) -> None:
    asked = asked_about(household)
    ended = actors.run(household, actors.reply(ALICE, NOTE, asked.state, accept(NOTE)))
    assert (ended.exit_code, ended.said["outcome"]) == (0, "deleted")
    assert household.files() == {f".trash/{ended.said['trashId']}/{NOTE}": BYTES}
    refused(household, lambda: say(household, asked, accept(NOTE)))


def test_a_process_with_keys_and_ledger_of_its_own_takes_no_foreign_confirmation(
    household: Household,
) -> None:
    asked = asked_about(household)
    stranger = household.service(state="other-state")
    for reply in (accept(NOTE), decline(), {"action": "cancel"}, None):
        refused(household, partial(say, household, asked, reply, service=stranger))
    works(household, asked)


def test_shared_keys_without_the_ledger_are_not_enough(household: Household) -> None:
    """Else each ledger would let the confirmation work once."""
    household.write(NOTE, BYTES)
    environ = {"FSNOTES_STATE_KEYS": KEY}
    here, there = household.service(environ=environ), household.service(environ=environ, state="other-state")
    asked = ask(here, ALICE, household.uri, NOTE)
    refused(household, lambda: say(household, asked, accept(NOTE), service=there))
    expect_deleted(household, say(household, asked, accept(NOTE), service=here))


@pytest.mark.parametrize("lost", ["ledger.sqlite3", "keys.json"])
def test_a_lost_ledger_or_key_file_revives_nothing(household: Household, lost: str) -> None:
    asked = asked_about(household)
    service = household.service()
    deletion = say(household, asked, accept(NOTE), service=service)
    assert isinstance(deletion, Deletion)
    service.restore(ALICE, household.uri, str(deletion.trash_id))
    pending = ask(service, ALICE, household.uri, NOTE)
    (household.top / "state/private" / lost).unlink()
    for each in (household.service(), household.service()):
        for state in (asked, pending):
            refused(household, partial(say, household, state, accept(NOTE), service=each))
    fresh = ask(household.service(), ALICE, household.uri, NOTE)
    works(household, fresh)


def test_a_copy_of_the_ledger_from_before_the_deletion_revives_nothing(household: Household) -> None:
    asked = asked_about(household)
    ledger = household.top / "state/private/ledger.sqlite3"
    copy = ledger.read_bytes()
    deletion = say(household, asked, accept(NOTE))
    assert isinstance(deletion, Deletion)
    household.service().restore(ALICE, household.uri, str(deletion.trash_id))
    ledger.rename(ledger.with_suffix(".aside"))
    ledger.write_bytes(copy)
    ledger.chmod(0o600)
    refused(household, lambda: say(household, asked, accept(NOTE)))


# -- answers ---------------------------------------------------------------------------------------

MALFORMED: dict[str, Any] = {
    "a text": "accept",
    "a number": 1,
    "true": True,
    "a list": [accept(NOTE)],
    "empty": {},
    "no action": {"content": {"note_id": NOTE, "confirm": True}},
    "another action": {"action": "ACCEPT", "content": {"note_id": NOTE, "confirm": True}},
    "action of the wrong type": {"action": ["accept"], "content": {"note_id": NOTE, "confirm": True}},
    "no content": {"action": "accept"},
    "null content": {"action": "accept", "content": None},
    "content of the wrong type": {"action": "accept", "content": [NOTE, True]},
    "empty content": {"action": "accept", "content": {}},
    "no note_id": {"action": "accept", "content": {"confirm": True}},
    "no confirm": {"action": "accept", "content": {"note_id": NOTE}},
    "extra field": {"action": "accept", "content": {"note_id": NOTE, "confirm": True, "all": True}},
    "confirm as text": {"action": "accept", "content": {"note_id": NOTE, "confirm": "true"}},
    "confirm as number": {"action": "accept", "content": {"note_id": NOTE, "confirm": 1}},
    "confirm as null": {"action": "accept", "content": {"note_id": NOTE, "confirm": None}},
    "confirm as list": {"action": "accept", "content": {"note_id": NOTE, "confirm": [True]}},
    "note_id as list": {"action": "accept", "content": {"note_id": [NOTE], "confirm": True}},
    "note_id as null": {"action": "accept", "content": {"note_id": None, "confirm": True}},
    "note_id as number": {"action": "accept", "content": {"note_id": 0, "confirm": True}},
    "note_id of another note": accept("other.md"),
    "note_id in other case": accept(NOTE.lower()),
    "note_id without suffix": accept("Projects/Plan"),
    "note_id with a dot segment": accept("Projects/../Projects/Plan.md"),
    "note_id outside": accept("../secret.md"),
    "note_id absolute": accept("/etc/passwd"),
    "note_id empty": accept(""),
    "note_id with a surrogate": accept("\ud800.md"),
    "note_id of another note, not confirmed": {
        "action": "accept",
        "content": {"note_id": "other.md", "confirm": False},
    },
}


def test_a_malformed_answer_does_nothing_and_leaves_the_state_usable(household: Household) -> None:
    household.write("other.md", BYTES)
    asked = asked_about(household)
    service = household.service()
    for reply in MALFORMED.values():
        refused(household, partial(say, household, asked, reply, service=service), InvalidAnswer)
    (household.vault / "other.md").unlink()
    works(household, asked)


@pytest.mark.parametrize("answers", ["text", [], 1, True, [{"delete_choice": accept(NOTE)}]], ids=str)
def test_answers_that_are_no_map_do_nothing(household: Household, answers: Any) -> None:
    asked = asked_about(household)
    refused(
        household,
        lambda: household.service().delete(
            ALICE,
            household.uri,
            NOTE,
            arguments={"workspaceUri": household.uri, "title": NOTE},
            state=asked.state,
            answers=answers,
        ),
        InvalidAnswer,
    )
    works(household, asked)


@pytest.mark.parametrize(
    "answers",
    [None, {}, {"delete_choice": None}, {"other": accept(NOTE)}, {"delete_choice": None, "other": decline()}],
    ids=str,
)
def test_no_answer_is_asked_again_and_the_first_form_still_works(household: Household, answers: Any) -> None:
    asked = asked_about(household)
    second = household.service().delete(
        ALICE,
        household.uri,
        NOTE,
        arguments={"workspaceUri": household.uri, "title": NOTE},
        state=asked.state,
        answers=answers,
    )
    assert isinstance(second, Asked)
    assert second.state != asked.state
    assert household.files() == {NOTE: BYTES}
    works(household, asked)
    refused(household, lambda: say(household, second, accept(NOTE)), NoteChanged)


def test_other_answers_beside_ours_are_ignored(household: Household) -> None:
    asked = asked_about(household)
    deletion = household.service().delete(
        ALICE,
        household.uri,
        NOTE,
        arguments={"workspaceUri": household.uri, "title": NOTE},
        state=asked.state,
        answers={"delete_choice": accept(NOTE), "other": decline(), "": None},
    )
    expect_deleted(household, deletion)


NO = {
    "decline": decline(),
    "decline with content": {"action": "decline", "content": {"note_id": NOTE, "confirm": True}},
    "decline with odd content": {"action": "decline", "content": "yes"},
    "not confirmed": {"action": "accept", "content": {"note_id": NOTE, "confirm": False}},
}


@pytest.mark.parametrize("no", NO.values(), ids=NO)
def test_a_declined_confirmation_can_not_be_accepted(household: Household, no: Any) -> None:
    asked = asked_about(household)
    said = say(household, asked, no)
    assert said == Deletion("declined")
    assert said.document() == {"outcome": "declined"}
    for reply in (accept(NOTE), no, {"action": "cancel"}, None):
        refused(household, partial(say, household, asked, reply))
    assert household.files() == {NOTE: BYTES}
    assert [line["outcome"] for line in household.audit()] == ["declined", *["invalid_state"] * 4]


@pytest.mark.parametrize(
    "content", [{}, {"content": {"note_id": NOTE, "confirm": True}}, {"content": 1}], ids=str
)
def test_a_cancelled_form_can_still_be_accepted(household: Household, content: dict[str, Any]) -> None:
    asked = asked_about(household)
    for _ in range(3):
        said = say(household, asked, {"action": "cancel"} | content)
        assert said == Deletion("cancelled")
        assert said.document() == {"outcome": "cancelled"}
    assert household.files() == {NOTE: BYTES}
    assert isinstance(again(household, NOTE), Asked)  # a cancel is no decline
    works(household, asked)


# -- the memory of a decline -----------------------------------------------------------------------


@pytest.mark.parametrize("no", NO.values(), ids=NO)
def test_the_same_call_is_declined_without_a_form_for_a_minute(household: Household, no: Any) -> None:
    asked = asked_about(household)
    say(household, asked, no)
    for _ in range(4):
        assert again(household, NOTE) == Deletion("declined")
        household.clock.now += 14.9
    household.clock.now += 0.5
    fresh = again(household, NOTE)
    assert isinstance(fresh, Asked)
    works(household, fresh)


def spelled(household: Household) -> dict[str, tuple[str, str]]:
    uri = household.uri
    return {
        "trailing slash": (uri + "/", "Größe  Plan"),
        "localhost": (uri.replace("file:///", "file://localhost/"), "Größe  Plan"),
        "scheme in capitals": (uri.replace("file:", "FILE:"), "Größe  Plan"),
        "escaped letter": (uri.replace("Notes", "%4eotes"), "Größe  Plan"),
        "lower case": (uri, "größe  plan"),
        "upper case": (uri, "GRÖSSE  PLAN"),
        "decomposed": (uri, unicodedata.normalize("NFD", "Größe  Plan")),
        "decomposed upper case": (uri, unicodedata.normalize("NFD", "GRÖSSE  PLAN")),
        "one space": (uri, "Größe Plan"),
        "spaces around": (uri, "  Größe  Plan\t"),
        "other white space": (uri, "Größe\u00a0\nPlan"),
    }


@pytest.mark.parametrize(
    "spelling",
    [
        "trailing slash",
        "localhost",
        "scheme in capitals",
        "escaped letter",
        "lower case",
        "upper case",
        "decomposed",
        "decomposed upper case",
        "one space",
        "spaces around",
        "other white space",
    ],
)
def test_another_spelling_does_not_get_round_a_decline(household: Household, spelling: str) -> None:
    household.write("a.md", "# Größe  Plan\n")
    title = "Größe  Plan"
    asked = ask(household.service(), ALICE, household.uri, title)
    answer(household.service(), ALICE, household.uri, title, asked, decline())
    uri, other_title = spelled(household)[spelling]
    assert again(household, other_title, uri=uri) == Deletion("declined")
    household.clock.now += 61
    found = again(household, other_title, uri=uri)
    assert isinstance(found, Asked)
    assert found.form.note_ids == ("a.md",)  # it is the same question indeed


def test_a_decline_is_remembered_by_every_process_for_its_principal_and_its_call_alone(
    household: Household,
) -> None:
    household.grant(BOB, *Right)
    household.write("other.md", "# Other\n")
    asked = asked_about(household)
    say(household, asked, decline())
    assert actors.run(household, actors.ask(ALICE, NOTE)).said == {"outcome": "declined"}
    assert isinstance(again(household, NOTE, call=BOB), Asked)
    assert isinstance(again(household, "other"), Asked)


def test_a_restart_forgets_no_decline_and_a_clock_set_back_makes_none_last(household: Household) -> None:
    asked = asked_about(household)
    say(household, asked, decline())
    household.clock.now -= 100_000
    assert isinstance(again(household, NOTE), Asked)


def test_no_memory_is_no_memory(household: Household) -> None:
    household.write(NOTE, BYTES)
    service = household.service(decline_memory_seconds=0.0)
    asked = ask(service, ALICE, household.uri, NOTE)
    say(household, asked, decline(), service=service)
    assert isinstance(ask(service, ALICE, household.uri, NOTE), Asked)


# -- the note between the rounds -------------------------------------------------------------------

Meddle = Callable[[Household, Path], object]


def _same_size(household: Household, note: Path) -> None:
    status = note.stat()
    note.write_bytes(BYTES.replace(b"confirmed", b"different"))
    os.utime(note, ns=(status.st_atime_ns, status.st_mtime_ns))


def _into_trash(household: Household, note: Path) -> None:
    (household.vault / ".trash").mkdir(mode=0o700)
    note.rename(household.vault / ".trash/Plan.md")


def _folder_deleted(household: Household, note: Path) -> None:
    note.unlink()
    note.parent.rmdir()


def _link_inside(household: Household, note: Path) -> None:
    note.rename(household.vault / "inside.md")
    note.symlink_to("../inside.md")


def _folder_for_a_link(household: Household, note: Path) -> None:
    note.parent.rename(household.top / "Aside")
    note.parent.symlink_to("../Aside")


def _folder_for_a_file(household: Household, note: Path) -> None:
    note.parent.rename(household.top / "Aside")
    note.parent.write_bytes(BYTES)


def swapped(make: Callable[[Path], object]) -> Meddle:
    """Move the note out of the vault and *make* something else in its place."""

    def meddle(household: Household, note: Path) -> None:
        note.rename(household.top / "aside.md")
        make(note)

    return meddle


MEDDLING: dict[str, Meddle] = {
    "one byte more": lambda _, note: note.write_bytes(BYTES + b"x"),
    "one byte less": lambda _, note: os.truncate(note, len(BYTES) - 1),
    "emptied": lambda _, note: os.truncate(note, 0),
    "same size and time": _same_size,
    "saved anew with another text": swapped(lambda note: note.write_bytes(b"# Plan\nanother\n")),
    "grown beyond the limit": lambda _, note: os.truncate(note, 2_000_000),
    "moved": lambda _, note: note.rename(note.with_name("Moved.md")),
    "moved to other case": lambda _, note: note.rename(note.with_name("plan.md")),
    "moved into the trash": _into_trash,
    "folder renamed": lambda household, note: note.parent.rename(household.vault / "Archive"),
    "deleted": lambda _, note: note.unlink(),
    "folder deleted": _folder_deleted,
    "link to its own bytes": swapped(lambda note: note.symlink_to("../../aside.md")),
    "link inside": _link_inside,
    "dangling link": swapped(lambda note: note.symlink_to("gone.md")),
    "link loop": swapped(lambda note: note.symlink_to("Plan.md")),
    "fifo": swapped(os.mkfifo),
    "folder": swapped(os.mkdir),
    "hard link": lambda household, note: os.link(note, household.top / "second-name.md"),
    "folder swapped for a link": _folder_for_a_link,
    "folder swapped for a file": _folder_for_a_file,
}


@pytest.mark.kind("delete")
@pytest.mark.parametrize("meddling", MEDDLING)
def test_a_note_that_is_not_what_was_shown_stays_and_the_confirmation_too(
    household: Household, meddling: str
) -> None:
    asked = asked_about(household)
    MEDDLING[meddling](household, household.vault / NOTE)
    refused(household, lambda: say(household, asked, accept(NOTE)), NoteChanged)
    assert household.audited() == [("local:alice", "notes_delete", NOTE, "note_changed")]

    # What was shown comes back: the confirmation was not spent.
    for leftover in (household.vault / NOTE, household.vault / "Projects"):
        if leftover.is_symlink() or leftover.is_file() or leftover.is_fifo():
            leftover.unlink()
    if (household.vault / NOTE).is_dir():
        (household.vault / NOTE).rmdir()
    household.write(NOTE, BYTES)
    deletion = say(household, asked, accept(NOTE))
    assert household.files().items() >= in_trash(deletion).items()
    assert not (household.vault / NOTE).exists()


SAME: dict[str, Meddle] = {
    "untouched": lambda *_: None,
    "touched": lambda _, note: os.utime(note, (1, 1)),
    "other mode": lambda _, note: note.chmod(0o640),
    "saved anew with the same bytes": swapped(lambda note: note.write_bytes(BYTES)),
    "written over with the same bytes": lambda _, note: note.write_bytes(BYTES),
    "moved away and back": lambda _, note: note.rename(note.with_name("x.md")).rename(note),
}


@pytest.mark.parametrize("meddling", SAME)
def test_the_same_bytes_are_what_was_shown_whoever_saved_them(household: Household, meddling: str) -> None:
    asked = asked_about(household)
    SAME[meddling](household, household.vault / NOTE)
    expect_deleted(household, say(household, asked, accept(NOTE)))


def test_another_candidate_may_be_chosen_when_one_has_changed(household: Household) -> None:
    household.write("a.md", "# Same\n")
    household.write("b.md", "# Same\n")
    asked = ask(household.service(), ALICE, household.uri, "same")
    household.write("a.md", "# Same\nchanged")
    service = household.service()
    refused(
        household,
        lambda: answer(service, ALICE, household.uri, "same", asked, accept("a.md")),
        NoteChanged,
    )
    deletion = answer(service, ALICE, household.uri, "same", asked, accept("b.md"))
    assert isinstance(deletion, Deletion)
    assert household.files() == {
        "a.md": b"# Same\nchanged",
        f".trash/{deletion.trash_id}/b.md": b"# Same\n",
    }
    refused(household, lambda: answer(service, ALICE, household.uri, "same", asked, accept("b.md")))


TRASH: dict[str, Callable[[Household, Path], object]] = {
    "link to a folder outside": lambda household, trash: (
        (household.top / "outside").mkdir(),
        trash.symlink_to("../outside"),
    ),
    "link to a folder inside": lambda household, trash: (
        (household.vault / "inside").mkdir(),
        trash.symlink_to("inside"),
    ),
    "dangling link": lambda _, trash: trash.symlink_to("gone"),
    "loop": lambda _, trash: trash.symlink_to(".trash"),
    "file": lambda _, trash: trash.write_bytes(b"mine"),
    "fifo": lambda _, trash: os.mkfifo(trash),
}


@pytest.mark.parametrize("what", TRASH)
def test_a_trash_that_is_no_plain_folder_is_unavailable_and_nothing_moves(
    household: Household, what: str
) -> None:
    asked = asked_about(household)
    trash = household.vault / ".trash"
    TRASH[what](household, trash)
    refused(household, lambda: say(household, asked, accept(NOTE)), Unavailable)
    refused(household, lambda: household.service().trash(ALICE, household.uri), Unavailable)
    refused(
        household,
        lambda: household.service().restore(ALICE, household.uri, "20270115T080000Z-" + "0" * 32),
        Unavailable,
    )
    trash.unlink()
    works(household, asked)


def test_an_entry_that_is_a_link_is_unavailable_and_nothing_moves(inline: Household) -> None:
    """The entry's name is not known before, but a killed deletion leaves one, and somebody may meddle with it."""
    household = inline
    asked = asked_about(household)
    actors.run(
        household, actors.reply(ALICE, NOTE, asked.state, accept(NOTE)), kill_after="trash: entry made"
    )
    (entry,) = (household.vault / ".trash").iterdir()
    (entry / "Projects").rmdir()
    entry.rmdir()
    (household.top / "outside").mkdir()
    entry.symlink_to("../../outside")
    refused(household, lambda: say(household, asked, accept(NOTE)), Unavailable)
    entry.unlink()
    works(household, asked)


# -- rights between the rounds ---------------------------------------------------------------------

WITHDRAWN: dict[str, list[Rule]] = {
    "everything": [],
    "the right to delete": [Rule("local:alice", "Notes", ROOT, frozenset({Right.READ, Right.WRITE}))],
    "this folder": [Rule("local:alice", "Notes", RelPath.parse("Elsewhere"), frozenset(Right))],
    "all but a prefix twin": [Rule("local:alice", "Notes", RelPath.parse("Project"), frozenset(Right))],
    "given to somebody else": [Rule("local:bob", "Notes", ROOT, frozenset(Right))],
}


@pytest.mark.parametrize("withdrawn", WITHDRAWN)
def test_a_withdrawn_right_is_not_replaced_by_a_confirmation(household: Household, withdrawn: str) -> None:
    asked = asked_about(household)
    granted, household.rules = household.rules, WITHDRAWN[withdrawn]
    refused(household, lambda: say(household, asked, accept(NOTE)), NotAllowed)
    assert [line["outcome"] for line in household.audit()] == ["not_allowed"]
    household.rules = granted
    works(household, asked)


def test_a_right_that_is_withdrawn_between_the_answer_and_the_claim_stops_the_deletion(
    household: Household,
) -> None:
    """Authorized when the call began, and no more when the claim is made: asked again inside the transaction."""
    asked = asked_about(household)

    def withdraw(step: str) -> None:
        if step == "ledger: the claim is written, not committed":
            service._access._rules = ()

    service = household.service(observe=withdraw)
    granted = service._access._rules
    refused(household, lambda: say(household, asked, accept(NOTE), service=service), NotAllowed)
    service._access._rules = granted
    works(household, asked)


def test_a_workspace_that_is_not_served_any_more_is_not_allowed_and_spends_nothing(
    household: Household,
) -> None:
    asked = asked_about(household)
    (household.top / "Other").mkdir()
    household.others.append(
        WorkspaceSettings("Other", str(household.top / "Other"), str(household.top / "Other"))
    )
    household.served = False
    refused(household, lambda: say(household, asked, accept(NOTE)), NotAllowed)
    household.served = True
    works(household, asked)


def test_another_folder_in_the_place_of_the_workspace_has_nothing_to_delete(household: Household) -> None:
    asked = asked_about(household)
    renamed = household.vault.rename(household.top / "Renamed")
    household.vault.mkdir()
    refused(household, lambda: say(household, asked, accept(NOTE)), NoteChanged)
    household.vault.rmdir()
    renamed.rename(household.vault)
    works(household, asked)


def test_no_right_means_no_form_and_no_hint(household: Household) -> None:
    household.write(NOTE, BYTES)
    household.grant(BOB, Right.READ, Right.WRITE)
    nobody = Call(Principal("local:nobody"))
    answers = set()
    for call in (BOB, nobody):
        for title in (NOTE, "no such note", "../secret"):
            with pytest.raises(NotAllowed) as caught:
                again(household, title, call=call)
            answers.add(describe(caught.value).line)
    assert len(answers) == 1
    assert household.files() == {NOTE: BYTES}


def test_a_note_that_the_workspace_ignores_since_the_form_is_not_deleted(household: Household) -> None:
    asked = asked_about(household)
    household.ignore = ("Projects/**",)
    refused(household, lambda: say(household, asked, accept(NOTE)), NotAllowed)
    household.ignore = ()
    works(household, asked)
