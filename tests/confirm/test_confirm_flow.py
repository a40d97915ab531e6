"""Two calls become one confirmed deletion, or nothing happens."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fsnotes.confirm import (
    MAX_TTL,
    AlreadyDone,
    AskAgain,
    Asked,
    Binding,
    Cancelled,
    Candidate,
    Confirmations,
    Confirmed,
    Declined,
    KeyRing,
    Ledger,
    digest_arguments,
    digest_call,
    owners,
)
from fsnotes.confirm.sealing import seal, unseal
from fsnotes.confirm.state import Claims
from fsnotes.errors import (
    Busy,
    ConfigurationError,
    DeceptiveName,
    InvalidAnswer,
    InvalidState,
    NoteNotFound,
    TooManyMatches,
    Unavailable,
)
from sandbox.records import replace

NOW = 1_800_000_000.25
ARGUMENTS = {"workspaceUri": "file:///home/me/Notes", "title": "TPS report"}
CALL = Binding(
    "local:me",
    "tools/call",
    "notes_delete",
    digest_arguments(ARGUMENTS),
    digest_call("local:me", "notes_delete", "file:///home/me/Notes", "tps report"),
)
CANDIDATES = [Candidate("a.md", "e" * 32, "A", 1, NOW), Candidate("sub/b.md", "f" * 32, "B", 2, NOW)]
ACCEPT = {"delete_choice": {"action": "accept", "content": {"note_id": "sub/b.md", "confirm": True}}}
REFUSE = {"delete_choice": {"action": "accept", "content": {"note_id": "sub/b.md", "confirm": False}}}
DECLINE = {"delete_choice": {"action": "decline"}}
CANCEL = {"delete_choice": {"action": "cancel"}}


@pytest.fixture
def ring(tmp_path: Path) -> KeyRing:
    return KeyRing.open(tmp_path / "keys.json")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = Ledger.open(tmp_path / "ledger.sqlite3")
    yield ledger
    ledger.close()


@pytest.fixture
def flow(ring: KeyRing, ledger: Ledger) -> Confirmations:
    return Confirmations(ring, ledger, ttl=300, decline_memory=60)


def _ask(flow: Confirmations, call: Binding = CALL, *, now: float = NOW) -> str:
    asked = flow.ask(call, CANDIDATES, workspace="notes", now=now)
    assert isinstance(asked, Asked)
    return asked.state


def _resume(
    flow: Confirmations, state: object, answers: object = ACCEPT, *, call: Binding = CALL, now: float = NOW
) -> Any:
    return flow.resume(call, state=state, answers=answers, now=now)


def _delete(flow: Confirmations, state: str, *, now: float = NOW) -> Confirmed:
    confirmed = _resume(flow, state, now=now)
    assert isinstance(confirmed, Confirmed)
    with flow.claim(confirmed, now=now):
        pass
    return confirmed


def _is_usable(flow: Confirmations, state: str) -> bool:
    return isinstance(_resume(flow, state), Confirmed)


# -- the good way ------------------------------------------------------------------------------------


def test_a_confirmation_names_the_note_its_etag_and_its_entry(flow: Confirmations, ledger: Ledger) -> None:
    asked = flow.ask(CALL, CANDIDATES, workspace="notes", now=NOW)
    assert isinstance(asked, Asked)
    assert asked.form.note_ids == ("a.md", "sub/b.md")
    confirmed = _resume(flow, asked.state)
    assert re.fullmatch(r"20270115T080000Z-[0-9a-f]{32}", confirmed.entry)
    assert confirmed == Confirmed(
        "sub/b.md", "f" * 32, confirmed.entry, 1_800_000_000, 1_800_000_300, ledger.id
    )


def test_the_entry_is_the_hash_of_the_nonce_in_the_state(ring: KeyRing, ledger: Ledger) -> None:
    nonce = bytes(range(32))
    flow = Confirmations(ring, ledger, ttl=300, decline_memory=60, random=lambda size: nonce[:size])
    confirmed = _resume(flow, _ask(flow))
    assert confirmed.entry == f"20270115T080000Z-{hashlib.sha256(nonce).hexdigest()[:32]}"


def test_a_confirmation_deletes_once(flow: Confirmations) -> None:
    state = _ask(flow)
    confirmed = _delete(flow, state)
    with pytest.raises(InvalidState, match=r"^spent$"):
        _resume(flow, state)
    with pytest.raises(InvalidState, match=r"^spent$"), flow.claim(confirmed, now=NOW):
        raise AssertionError("claimed")


def test_understanding_an_answer_spends_nothing(flow: Confirmations) -> None:
    state = _ask(flow)
    assert _resume(flow, state) == _resume(flow, state)
    _delete(flow, state)


def test_a_deletion_that_fails_leaves_the_state_usable(flow: Confirmations) -> None:
    state = _ask(flow)
    with pytest.raises(Busy), flow.claim(_resume(flow, state), now=NOW):
        raise Busy
    _delete(flow, state)


def test_a_state_works_in_any_process_that_shares_keys_and_ledger(
    tmp_path: Path, flow: Confirmations
) -> None:
    state = _ask(flow)
    ledger = Ledger.open(tmp_path / "ledger.sqlite3")
    other = Confirmations(KeyRing.open(tmp_path / "keys.json"), ledger, ttl=60, decline_memory=0)
    _delete(other, state)
    ledger.close()
    with pytest.raises(InvalidState, match=r"^spent$"):
        _resume(flow, state)


def test_keys_rotate_without_breaking_forms_in_flight(flow: Confirmations, ring: KeyRing) -> None:
    state = _ask(flow)
    ring.rotate(NOW)
    _delete(flow, state)
    _delete(flow, _ask(flow))


def test_two_forms_have_different_states_and_entries(flow: Confirmations) -> None:
    one, two = _ask(flow), _ask(flow)
    assert one != two
    assert _delete(flow, one).entry != _delete(flow, two).entry


# -- state that proves nothing -----------------------------------------------------------------------


@pytest.mark.parametrize("state", ["", "x", "v1.", "v1.AAAA", "v1." + "A" * 900, None, 5, {}, b"v1."])
@pytest.mark.parametrize("answers", [ACCEPT, DECLINE, CANCEL, None, "malformed"])
def test_a_forged_state_is_refused_whatever_the_answer(
    flow: Confirmations, state: object, answers: object
) -> None:
    with pytest.raises(InvalidState):
        _resume(flow, state, answers)
    assert not flow.recently_declined(CALL, now=NOW)


def test_an_unsealed_state_is_refused(flow: Confirmations, ring: KeyRing) -> None:
    plain = base64.urlsafe_b64encode(unseal(ring, _ask(flow))).rstrip(b"=").decode()
    for state in (plain, f"v1.{plain}"):
        with pytest.raises(InvalidState):
            _resume(flow, state)


def test_a_state_of_a_process_with_other_keys_is_refused(
    flow: Confirmations, tmp_path: Path, ledger: Ledger
) -> None:
    stranger = Confirmations(
        KeyRing.open(tmp_path / "other" / "keys.json"), ledger, ttl=300, decline_memory=60
    )
    with pytest.raises(InvalidState, match="unknown key"):
        _resume(flow, _ask(stranger))


def test_a_state_of_another_ledger_is_refused(flow: Confirmations, ring: KeyRing, tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "other.sqlite3")
    stranger = Confirmations(ring, ledger, ttl=300, decline_memory=60)
    state = _ask(stranger)
    with pytest.raises(InvalidState, match="of another ledger"):
        _resume(flow, state)
    assert _is_usable(stranger, state)
    ledger.close()


def _for(**arguments: str) -> Binding:
    return replace(CALL, arguments=digest_arguments(ARGUMENTS | arguments))


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(replace(CALL, principal="local:other"), id="principal"),
        pytest.param(replace(CALL, method="prompts/get"), id="method"),
        pytest.param(replace(CALL, tool="notes_move"), id="tool"),
        pytest.param(_for(title="TPS Report"), id="title"),
        pytest.param(_for(workspaceUri="file:///home/me/Notes/"), id="workspace"),
        pytest.param(_for(folder=""), id="one argument more"),
    ],
)
@pytest.mark.parametrize("answers", [ACCEPT, DECLINE, CANCEL, None])
def test_a_state_for_another_call_is_refused_and_stays_usable_for_its_own(
    flow: Confirmations, call: Binding, answers: object
) -> None:
    state = _ask(flow)
    with pytest.raises(InvalidState):
        _resume(flow, state, answers, call=call)
    assert not flow.recently_declined(CALL, now=NOW)
    assert _is_usable(flow, state)


@pytest.mark.parametrize("now", [NOW - 1, NOW + 300, NOW + 1e6, float("nan"), float("inf"), True, None])
@pytest.mark.parametrize("answers", [ACCEPT, DECLINE, CANCEL, None])
def test_an_expired_state_is_refused_and_so_is_one_at_no_time(
    flow: Confirmations, now: Any, answers: object
) -> None:
    state = _ask(flow)
    with pytest.raises(InvalidState):
        _resume(flow, state, answers, now=now)
    assert _is_usable(flow, state)


@pytest.mark.parametrize("now", [NOW + 300, float("nan"), NOW - 10])
def test_a_confirmation_that_expires_before_its_claim_deletes_nothing(
    flow: Confirmations, now: float
) -> None:
    state = _ask(flow)
    confirmed = _resume(flow, state, now=NOW + 299)
    with pytest.raises(InvalidState), flow.claim(confirmed, now=now):
        raise AssertionError("claimed")
    assert _is_usable(flow, state)


def test_a_clock_set_back_does_not_revive_a_deletion(flow: Confirmations, ledger: Ledger) -> None:
    state = _ask(flow)
    _delete(flow, state)
    # What takes a row drops those that have expired.
    ledger.spend(f"20270116T114640Z-{1:032x}", expires_at=NOW + 100_300, now=NOW + 100_000)
    with pytest.raises(InvalidState):
        _resume(flow, state, now=NOW + 1)
    # A form of the time after the jump works, and still does not bring the old one back.
    _delete(flow, _ask(flow, now=NOW - 5000), now=NOW - 5000)
    with pytest.raises(InvalidState):
        _resume(flow, state, now=NOW + 1)


def test_claims_that_were_sealed_with_a_longer_life_are_refused(flow: Confirmations, ring: KeyRing) -> None:
    claims = unseal(ring, _ask(flow))
    longer = claims.replace(
        b'"expires_at":1800000300', f'"expires_at":{1_800_000_000 + MAX_TTL + 1}'.encode()
    )
    assert longer != claims
    with pytest.raises(InvalidState):
        _resume(flow, seal(ring, longer))


# -- the branches ------------------------------------------------------------------------------------


@pytest.mark.parametrize("answers", [None, {}, {"delete_choice": None}, {"other": ACCEPT["delete_choice"]}])
def test_a_state_without_an_answer_asks_again_and_stays_usable(flow: Confirmations, answers: object) -> None:
    state = _ask(flow)
    assert _resume(flow, state, answers) == AskAgain()
    assert _is_usable(flow, state)


def test_other_answers_beside_ours_are_ignored(flow: Confirmations) -> None:
    assert isinstance(_resume(flow, _ask(flow), {**ACCEPT, "other": {"action": "decline"}}), Confirmed)


@pytest.mark.parametrize(
    "answer",
    [
        {"action": "accept"},
        {"action": "accept", "content": {"note_id": "c.md", "confirm": True}},
        {"action": "accept", "content": {"note_id": "../a.md", "confirm": True}},
        {"action": "accept", "content": {"note_id": "\ud800", "confirm": True}},
        {"action": "accept", "content": {"note_id": "c.md", "confirm": False}},
        {"action": "accept", "content": {"note_id": "a.md", "confirm": "yes"}},
        {"action": "accept", "content": {"note_id": "a.md", "confirm": True, "more": 1}},
        {"action": "yes"},
        "accept",
        [],
        False,
        0,
    ],
)
def test_a_malformed_answer_leaves_the_state_usable(flow: Confirmations, answer: object) -> None:
    state = _ask(flow)
    with pytest.raises(InvalidAnswer):
        _resume(flow, state, {"delete_choice": answer})
    assert not flow.recently_declined(CALL, now=NOW)
    _delete(flow, state)


@pytest.mark.parametrize("answers", ["delete", [ACCEPT], 5, True])
def test_answers_that_are_no_map_are_malformed(flow: Confirmations, answers: object) -> None:
    state = _ask(flow)
    with pytest.raises(InvalidAnswer):
        _resume(flow, state, answers)
    assert _is_usable(flow, state)


@pytest.mark.parametrize(
    "answers", [DECLINE, REFUSE, {"delete_choice": {**ACCEPT["delete_choice"], "action": "decline"}}]
)
def test_a_decline_is_final_and_cannot_be_turned_into_consent(flow: Confirmations, answers: object) -> None:
    state = _ask(flow)
    assert _resume(flow, state, answers) == Declined()
    for again in (ACCEPT, DECLINE, CANCEL, None):
        with pytest.raises(InvalidState, match=r"^spent$"):
            _resume(flow, state, again)


def test_after_a_decline_nobody_is_asked_again_for_a_while(flow: Confirmations) -> None:
    state = _ask(flow)
    _resume(flow, state, DECLINE, now=NOW + 10)
    assert flow.ask(CALL, CANDIDATES, workspace="notes", now=NOW + 69) == Declined()
    assert flow.recently_declined(CALL, now=NOW + 69)
    assert isinstance(flow.ask(CALL, CANDIDATES, workspace="notes", now=NOW + 71), Asked)
    other = replace(
        CALL, same_call=digest_call("token:ci", "notes_delete", "file:///home/me/Notes", "tps report")
    )
    assert isinstance(flow.ask(other, CANDIDATES, workspace="notes", now=NOW + 11), Asked)


def test_a_claim_that_races_with_a_decline_loses(flow: Confirmations) -> None:
    state = _ask(flow)
    confirmed = _resume(flow, state)
    _resume(flow, state, DECLINE)
    with pytest.raises(InvalidState, match=r"^spent$"), flow.claim(confirmed, now=NOW):
        raise AssertionError("claimed")


@pytest.mark.parametrize("content", [None, {}, ACCEPT["delete_choice"]["content"]])
def test_a_cancelled_form_can_still_be_accepted(flow: Confirmations, content: object) -> None:
    state = _ask(flow)
    cancel = {"delete_choice": {"action": "cancel", "content": content}}
    assert _resume(flow, state, cancel) == Cancelled()
    assert not flow.recently_declined(CALL, now=NOW)
    _delete(flow, state)


@pytest.mark.parametrize("answers", [ACCEPT, DECLINE, CANCEL, None, {}, "malformed"])
def test_a_spent_state_is_refused_before_its_answer_is_looked_at(
    flow: Confirmations, answers: object
) -> None:
    state = _ask(flow)
    _delete(flow, state)
    with pytest.raises(InvalidState, match=r"^spent$"):
        _resume(flow, state, answers)
    assert not flow.recently_declined(CALL, now=NOW)


# -- restoring, and a death before the answer --------------------------------------------------------


def test_restoring_spends_the_entry_for_good(flow: Confirmations) -> None:
    state = _ask(flow)
    confirmed = _resume(flow, state)
    flow.spend_restored(confirmed.entry, now=NOW + 1)
    with pytest.raises(InvalidState, match=r"^spent$"):
        _resume(flow, state, now=NOW + 1)
    flow.spend_restored(confirmed.entry, now=NOW + 2)


@pytest.mark.parametrize("entry", ["", "x", "20271315T080000Z-" + "0" * 32, "swept-20270115T080000Z"])
def test_what_is_no_entry_cannot_be_restored(flow: Confirmations, entry: str) -> None:
    with pytest.raises(NoteNotFound):
        flow.spend_restored(entry, now=NOW)


def _die(monkeypatch: pytest.MonkeyPatch, flow: Confirmations, state: str) -> Confirmed:
    """Delete as a process that has ended since."""
    with monkeypatch.context() as patch:
        pid, _, boot = owners.this_process().split(":")
        patch.setattr(owners, "this_process", lambda: f"{pid}:1:{boot}")
        return _delete(flow, state)


def test_the_first_retry_after_a_death_is_told_that_the_note_is_deleted(
    flow: Confirmations, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = _ask(flow)
    dead = _die(monkeypatch, flow, state)
    confirmed = _resume(flow, state)
    assert confirmed == dead
    with pytest.raises(AlreadyDone) as caught, flow.claim(confirmed, now=NOW):
        raise AssertionError("claimed")
    assert caught.value.entry == confirmed.entry
    assert flow.settle(confirmed.entry)
    with pytest.raises(InvalidState, match=r"^spent$"):
        _resume(flow, state)


@pytest.mark.parametrize("answers", [DECLINE, REFUSE, CANCEL, None])
def test_only_the_same_consent_is_told_so_after_a_death(
    flow: Confirmations, monkeypatch: pytest.MonkeyPatch, answers: object
) -> None:
    state = _ask(flow)
    _die(monkeypatch, flow, state)
    with pytest.raises(InvalidState, match=r"^spent$"):
        _resume(flow, state, answers)
    other = {"delete_choice": {"action": "accept", "content": {"note_id": "a.md", "confirm": True}}}
    with pytest.raises(InvalidState, match=r"^spent$"), flow.claim(_resume(flow, state, other), now=NOW):
        raise AssertionError("claimed")
    assert not flow.recently_declined(CALL, now=NOW)


def test_a_retry_whose_own_process_lives_is_a_replay(flow: Confirmations) -> None:
    state = _ask(flow)
    _delete(flow, state)
    with pytest.raises(InvalidState, match=r"^spent$"):
        _resume(flow, state)


# -- asking ------------------------------------------------------------------------------------------


def test_the_state_tells_the_client_nothing(flow: Confirmations) -> None:
    state = _ask(flow)
    text = state.removeprefix("v1.")
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    for secret in (b"local:me", b"a.md", b"notes_delete", b"1800000", b"candidates"):
        assert secret not in raw
    assert len(state) < 1000


def test_a_state_holds_what_the_contract_lists_and_no_path_or_title(
    flow: Confirmations, ring: KeyRing
) -> None:
    claims = Claims.decode(unseal(ring, _ask(flow)))
    assert (claims.principal, claims.method, claims.tool) == ("local:me", "tools/call", "notes_delete")
    assert claims.arguments == digest_arguments(ARGUMENTS)
    assert b"sub/b.md" not in claims.encode()
    assert b"TPS" not in claims.encode()


def test_no_form_is_made_of_what_a_person_could_not_judge(flow: Confirmations) -> None:
    hidden = Candidate("a\u202eb.md", "e", "", 1, NOW)
    with pytest.raises(DeceptiveName):
        flow.ask(CALL, [*CANDIDATES, hidden], workspace="notes", now=NOW)
    many = [Candidate(f"{number}.md", "e", "", 1, NOW) for number in range(26)]
    with pytest.raises(TooManyMatches):
        flow.ask(CALL, many, workspace="notes", now=NOW)


def test_twenty_five_long_candidates_make_a_token_that_comes_back(flow: Confirmations) -> None:
    many = [Candidate(f"{number:02}/" + "日" * 1300, "e" * 32, "", 1, NOW) for number in range(25)]
    call = replace(CALL, principal="https://issuer|" + "é" * 1000)
    asked = flow.ask(call, many, workspace="notes", now=NOW)
    assert isinstance(asked, Asked)
    answer = {"action": "accept", "content": {"note_id": many[24].path, "confirm": True}}
    confirmed = _resume(flow, asked.state, {"delete_choice": answer}, call=call)
    assert (confirmed.path, confirmed.etag) == (many[24].path, "e" * 32)


@pytest.mark.parametrize("ttl", [0, -1, MAX_TTL + 1, float("nan"), float("inf")])
def test_a_form_may_not_live_too_long_or_not_at_all(ring: KeyRing, ledger: Ledger, ttl: float) -> None:
    with pytest.raises(ConfigurationError):
        Confirmations(ring, ledger, ttl=ttl, decline_memory=60)
    with pytest.raises(ConfigurationError):
        Confirmations(ring, ledger, ttl=60, decline_memory=ttl if ttl != 0 and ttl < 0 else float("nan"))
    Confirmations(ring, ledger, ttl=MAX_TTL, decline_memory=0)


def test_nothing_is_asked_or_deleted_while_the_ledger_is_unavailable(
    flow: Confirmations, tmp_path: Path, ledger: Ledger
) -> None:
    state = _ask(flow)
    confirmed = _resume(flow, state)
    (tmp_path / "ledger.sqlite3").chmod(0o644)
    with pytest.raises(Unavailable):
        _ask(flow)
    with pytest.raises(Unavailable):
        _resume(flow, state)
    with pytest.raises(Unavailable), flow.claim(confirmed, now=NOW):
        raise AssertionError("claimed")
    (tmp_path / "ledger.sqlite3").chmod(0o600)
    _delete(flow, state)
