"""What a state says, and that it speaks of one call only."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsnotes.confirm import MAX_CANDIDATES, MAX_TTL, Binding, digest_arguments, digest_call
from fsnotes.confirm.state import (
    NONCE_BYTES,
    PHASE,
    Claims,
    Offered,
    check_window,
    digest_id,
    entry_name,
    entry_time,
    verify,
)
from fsnotes.errors import InvalidState
from sandbox.records import replace

NOW = 1_800_000_000
LEDGER = "ab" * 16
CLAIMS = Claims(
    ledger=LEDGER,
    principal="local:me",
    method="tools/call",
    tool="notes_delete",
    arguments=digest_arguments({"title": "TPS report"}),
    candidates=(Offered(digest_id("a.md"), "e" * 32), Offered(digest_id("b.md"), "f" * 32)),
    issued_at=NOW,
    expires_at=NOW + 300,
    nonce=bytes(range(32)),
)
BINDING = Binding(
    "local:me", "tools/call", "notes_delete", digest_arguments({"title": "TPS report"}), digest_call("x")
)

_names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60)
_digests = st.binary(min_size=32, max_size=32)
_offered = st.builds(Offered, id=_digests, etag=st.text("abcXYZ019_-", min_size=1, max_size=40))
_claims = st.integers(0, 10**10).flatmap(
    lambda issued: st.builds(
        Claims,
        ledger=_names,
        principal=_names,
        method=_names,
        tool=_names,
        arguments=_digests,
        candidates=st.lists(_offered, min_size=1, max_size=25, unique_by=lambda item: item.id).map(tuple),
        issued_at=st.just(issued),
        expires_at=st.integers(issued + 1, issued + MAX_TTL),
        nonce=_digests,
    )
)


@given(_claims)
def test_claims_come_back_as_they_were(claims: Claims) -> None:
    assert Claims.decode(claims.encode()) == claims


@given(_claims, _claims)
def test_different_claims_have_different_bytes(one: Claims, two: Claims) -> None:
    assert (one.encode() == two.encode()) is (one == two)


@given(st.one_of(st.binary(max_size=100), st.text(max_size=100).map(str.encode)))
def test_other_bytes_are_no_claims(data: bytes) -> None:
    with pytest.raises(InvalidState):
        Claims.decode(data)


def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(CLAIMS.encode())
    return document


def _spell(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize("key", sorted(_document()))
def test_a_state_without_one_of_its_claims_is_refused(key: str) -> None:
    document = _document()
    del document[key]
    with pytest.raises(InvalidState):
        Claims.decode(_spell(document))


@pytest.mark.parametrize("key", sorted(_document()))
@pytest.mark.parametrize("value", [None, True, 1.5, -1, [], {}, "", [["zz", "e"]], ["x"], float("nan")])
def test_a_claim_of_the_wrong_type_is_refused(key: str, value: object) -> None:
    with pytest.raises(InvalidState):
        Claims.decode(_spell(_document() | {key: value}))


@pytest.mark.parametrize("text", ["zz" * 32, "AB" * 32, "ab" * 31, "ab" * 31 + "a", " " + "ab" * 32])
@pytest.mark.parametrize("key", ["arguments", "nonce"])
def test_a_digest_or_nonce_that_is_not_plain_hexadecimal_is_refused(key: str, text: str) -> None:
    with pytest.raises(InvalidState):
        Claims.decode(_spell(_document() | {key: text}))


def test_a_second_spelling_of_the_same_claims_is_refused() -> None:
    text = CLAIMS.encode()
    document = _document()
    others = [
        text + b" ",
        b"\xef\xbb\xbf" + text,
        json.dumps(document).encode(),
        json.dumps(document, separators=(",", ":")).encode("utf-16"),
        text.replace(b'"v":1', b'"v":1.0'),
        text.replace(b'"v":1', b'"v":true'),
        text.replace(b'"v":1', b'"v":2,"v":1'),
        text.replace(b'"v":1', b'"v":1,"w":1'),
        text.replace(b"local:me", b"loc\\u0061l:me"),
        text.replace(CLAIMS.nonce.hex().encode(), CLAIMS.nonce.hex().upper().encode()),
        text.replace(str(NOW).encode(), f"{NOW}.0".encode(), 1),
    ]
    for other in others:
        assert other != text
        with pytest.raises(InvalidState):
            Claims.decode(other)


@pytest.mark.parametrize(
    "changes",
    [
        {"expires_at": NOW},
        {"expires_at": NOW - 1},
        {"expires_at": NOW + MAX_TTL + 1},
        {"issued_at": -1, "expires_at": 1},
        {"issued_at": 253_402_300_799, "expires_at": 253_402_300_800},
        {"issued_at": float(NOW)},
        {"issued_at": True, "expires_at": 2},
        {"principal": ""},
        {"principal": "x" * 1025},
        {"principal": "\ud800"},
        {"arguments": b"short"},
        {"nonce": b"short"},
        {"candidates": ()},
        {"candidates": tuple(Offered(digest_id(str(n)), "e") for n in range(MAX_CANDIDATES + 1))},
        {"candidates": (Offered(digest_id("a"), "e"), Offered(digest_id("a"), "f"))},
        {"candidates": (Offered(digest_id("a"), "e e"),)},
        {"candidates": (Offered(b"", "e"),)},
    ],
)
def test_claims_that_no_state_has_cannot_be_made(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidState):
        replace(CLAIMS, **changes)


def test_a_state_has_the_longest_life_and_no_longer() -> None:
    assert replace(CLAIMS, expires_at=NOW + MAX_TTL).expires_at == NOW + MAX_TTL


# -- binding -----------------------------------------------------------------------------------------


def test_a_state_is_good_for_its_own_call() -> None:
    verify(CLAIMS, BINDING, ledger_id=LEDGER, now=NOW)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"principal": "local:other"}, "another principal's"),
        ({"method": "resources/read"}, "for another method or tool"),
        ({"tool": "notes_move"}, "for another method or tool"),
        ({"arguments": digest_arguments({"title": "tps report"})}, "for other arguments"),
    ],
)
def test_a_state_is_refused_for_any_other_call(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidState) as caught:
        verify(CLAIMS, replace(BINDING, **changes), ledger_id=LEDGER, now=NOW)
    assert caught.value.reason == reason


def test_a_state_of_another_ledger_or_phase_is_refused() -> None:
    with pytest.raises(InvalidState, match="of another ledger"):
        verify(CLAIMS, BINDING, ledger_id="cd" * 16, now=NOW)
    with pytest.raises(InvalidState, match="of another phase"):
        verify(replace(CLAIMS, phase="done"), BINDING, ledger_id=LEDGER, now=NOW)


@pytest.mark.parametrize("now", [NOW, NOW + 0.5, NOW + 299.999])
def test_a_state_is_good_from_its_issue_until_before_its_expiry(now: float) -> None:
    check_window(NOW, NOW + 300, now)


@pytest.mark.parametrize(
    "now",
    [NOW - 0.001, NOW + 300, NOW + 301, float("nan"), float("inf"), float("-inf"), True, None, str(NOW)],
)
def test_a_state_out_of_time_or_at_no_time_is_refused(now: Any) -> None:
    with pytest.raises(InvalidState):
        check_window(NOW, NOW + 300, now)


@pytest.mark.parametrize("expires_at", [NOW + MAX_TTL + 1, float("inf"), float("nan"), NOW])
def test_a_window_longer_than_any_state_has_is_refused(expires_at: float) -> None:
    with pytest.raises(InvalidState):
        check_window(NOW, expires_at, NOW)
    check_window(NOW, NOW + MAX_TTL, NOW)


# -- digests and names -------------------------------------------------------------------------------

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_arguments = st.dictionaries(st.text(), _json, max_size=4)


@given(_arguments)
def test_the_order_of_arguments_makes_no_difference(arguments: dict[str, object]) -> None:
    assert digest_arguments(dict(reversed(arguments.items()))) == digest_arguments(arguments)


@given(_arguments, _arguments)
def test_all_else_about_arguments_makes_a_difference(one: dict[str, Any], two: dict[str, Any]) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True)
    assert (digest_arguments(one) == digest_arguments(two)) is same


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 1}, {"a": "1"}),
        ({"a": None}, {}),
        ({"title": "é"}, {"title": "e\u0301"}),
        ({"workspaceUri": "file:///a", "title": "x"}, {"workspaceUri": "file:///b", "title": "x"}),
    ],
)
def test_arguments_that_only_look_alike_have_different_digests(
    one: dict[str, Any], two: dict[str, Any]
) -> None:
    assert digest_arguments(one) != digest_arguments(two)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), (1,), {1: 2}, b"x", object(), {"a": [{2: 3}]}])
def test_arguments_that_no_json_holds_have_no_digest(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        digest_arguments({"a": value})


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_calls_share_a_digest_only_when_every_part_is_the_same(one: list[str], two: list[str]) -> None:
    assert (digest_call(*one) == digest_call(*two)) is (one == two)


@given(st.integers(0, 253_402_297_000), st.binary(min_size=32, max_size=32))
def test_an_entry_is_named_from_the_time_and_the_nonce_alone(issued_at: int, nonce: bytes) -> None:
    name = entry_name(issued_at, nonce)
    assert name == entry_name(issued_at, nonce)
    assert entry_time(name) == issued_at
    written = datetime.strptime(name[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    assert written.timestamp() == issued_at


def test_an_entry_name_does_not_tell_the_nonce() -> None:
    assert CLAIMS.entry == "20270115T080000Z-630dcd2966c4336691125448bbb25b4f"
    assert CLAIMS.nonce.hex()[:8] not in CLAIMS.entry


@pytest.mark.parametrize(
    "name",
    [
        "",
        "x",
        "20271315T080000Z-" + "0" * 32,
        "20270115T086000Z-" + "0" * 32,
        "20270115T080000Z-" + "0" * 31,
        "20270115T080000Z-" + "G" * 32,
        "٢0270115T080000Z-" + "0" * 32,
        "20270115T080000Z-" + "0" * 32 + "\n",
    ],
)
def test_other_names_are_no_entries(name: str) -> None:
    assert entry_time(name) is None


def test_only_what_was_offered_has_an_etag() -> None:
    assert [CLAIMS.etag_of(name) for name in ("a.md", "b.md", "A.md", "c.md", "", "\ud800")] == [
        "e" * 32,
        "f" * 32,
        None,
        None,
        None,
        None,
    ]


def test_bounds_are_those_of_the_contract() -> None:
    """Of a form and the memory of what was spent; a state that is in flight outlives the version that made it."""
    assert (MAX_TTL, MAX_CANDIDATES, NONCE_BYTES, PHASE) == (3_600, 25, 32, "asked")


def test_claims_and_digests_have_the_form_that_other_versions_read() -> None:
    def sha256(data: bytes) -> str:
        return hashlib.sha256(data).hexdigest()

    arguments = sha256(b'fsnotes arguments\0{"title":"TPS report"}')
    assert json.loads(CLAIMS.encode()) == {
        "arguments": arguments,
        "candidates": [
            [sha256(b"fsnotes note\0a.md"), "e" * 32],
            [sha256(b"fsnotes note\0b.md"), "f" * 32],
        ],
        "expires_at": NOW + 300,
        "issued_at": NOW,
        "ledger": LEDGER,
        "method": "tools/call",
        "nonce": bytes(range(32)).hex(),
        "phase": "asked",
        "principal": "local:me",
        "tool": "notes_delete",
        "v": 1,
    }
    parts = (2).to_bytes(8, "big") + "é".encode() + (0).to_bytes(8, "big") + (1).to_bytes(8, "big") + b"b"
    assert digest_call("é", "", "b").hex() == sha256(b"fsnotes call\0" + parts)
    half = (3).to_bytes(8, "big") + b"\xed\xa0\x80"
    assert digest_call("\ud800").hex() == sha256(b"fsnotes call\0" + half)
    assert CLAIMS.entry == f"20270115T080000Z-{sha256(bytes(range(32)))[:32]}"
    assert entry_name(0, b"") == f"19700101T000000Z-{sha256(b'')[:32]}"


def test_arguments_are_digested_as_compact_json_of_ascii_in_the_order_of_their_names() -> None:
    text = b'fsnotes arguments\0{"a":null,"b":[1,"\\u00e9",{"c":true,"d":0.5}]}'
    given = {"b": [1, "é", {"d": 0.5, "c": True}], "a": None}
    assert digest_arguments(given) == hashlib.sha256(text).digest()


def test_the_last_state_is_one_that_ends_in_the_year_9999() -> None:
    last = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()) - MAX_TTL
    assert replace(CLAIMS, issued_at=last, expires_at=last + MAX_TTL).entry.startswith("99991231T225959Z-")
    with pytest.raises(InvalidState):
        replace(CLAIMS, issued_at=last + 1, expires_at=last + MAX_TTL)
    assert replace(CLAIMS, issued_at=0, expires_at=1).entry.startswith("19700101T000000Z-")
    with pytest.raises(InvalidState):
        replace(CLAIMS, issued_at=-1, expires_at=1)


def test_a_window_may_be_as_short_as_a_second_and_as_long_as_a_life() -> None:
    check_window(NOW, NOW + 1, NOW)
    check_window(NOW, NOW + MAX_TTL, NOW + MAX_TTL - 0.001)
    for expires_at in (NOW, NOW - 1, NOW + MAX_TTL + 1):
        with pytest.raises(InvalidState):
            check_window(NOW, expires_at, NOW)


@pytest.mark.parametrize("name", ["ledger", "principal", "method", "tool", "phase"])
def test_a_name_has_a_bound_and_is_never_empty(name: str) -> None:
    for length in (1, 1_024):
        assert getattr(replace(CLAIMS, **{name: "é" * length}), name) == "é" * length  # type: ignore[arg-type]
    for length in (0, 1_025):
        with pytest.raises(InvalidState):
            replace(CLAIMS, **{name: "é" * length})  # type: ignore[arg-type]


def test_names_stand_in_a_state_as_they_are() -> None:
    assert '"principal":"local:é"'.encode() in replace(CLAIMS, principal="local:é").encode()


def test_a_state_of_the_right_call_is_refused_out_of_its_time() -> None:
    for now in (NOW, NOW + 299.9):
        verify(CLAIMS, BINDING, ledger_id=LEDGER, now=now)
    for now in (NOW - 1, NOW + 300, float("nan")):
        with pytest.raises(InvalidState):
            verify(CLAIMS, BINDING, ledger_id=LEDGER, now=now)
