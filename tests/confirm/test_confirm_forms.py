"""What a person is shown, and what counts as an answer."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsnotes.confirm import MAX_CANDIDATES, Candidate
from fsnotes.confirm.forms import MAX_MESSAGE, Choice, Refusal, build_form, parse_answer
from fsnotes.errors import DeceptiveName, InvalidAnswer, TooManyMatches
from sandbox.records import replace

A = Candidate("Reports/a.md", "e" * 32, "TPS report", 1234, 1_700_000_000.9)
B = Candidate("b.md", "f" * 32, "", 1, 0.0)


def test_the_form_names_workspace_and_candidates_in_plain_text() -> None:
    assert build_form("notes", [A, B]).message == (
        '2 notes in the workspace "notes" match. Choose the one to delete, and confirm.'
        " It moves to the trash and can be restored.\n"
        '1. "Reports/a.md", titled "TPS report", 1,234 bytes, modified 2023-11-14 22:13:20 UTC\n'
        '2. "b.md", 1 byte, modified 1970-01-01 00:00:00 UTC'
    )


def test_a_single_candidate_still_asks() -> None:
    form = build_form("notes", [A])
    assert form.message == (
        'Delete this note from the workspace "notes"? It moves to the trash and can be restored.\n'
        '1. "Reports/a.md", titled "TPS report", 1,234 bytes, modified 2023-11-14 22:13:20 UTC'
    )
    assert form.note_ids == ("Reports/a.md",)
    assert form.candidates == (A,)


def _without_texts(schema: Any) -> Any:
    """Drop what a schema may say beside its exact shape: titles, descriptions, the default of `confirm`."""
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_texts(value) for key, value in schema.items() if key not in ("title", "description")
    }


def test_the_schema_is_exactly_the_flat_one_of_the_contract() -> None:
    schema = build_form("notes", [A, B]).schema
    assert schema["properties"]["confirm"].pop("default") is False
    assert _without_texts(schema) == {
        "type": "object",
        "properties": {
            "note_id": {"type": "string", "enum": ["Reports/a.md", "b.md"]},
            "confirm": {"type": "boolean"},
        },
        "required": ["note_id", "confirm"],
    }


def test_the_form_asks_for_no_secret() -> None:
    text = str(build_form("notes", [A]).schema).casefold()
    assert [word for word in ("password", "token", "key'", "secret", "card") if word in text] == []


@given(st.text(max_size=300), st.text(min_size=1, max_size=100), st.floats(), st.integers(0, 2**63))
def test_no_text_of_a_note_or_workspace_breaks_its_line_or_hides(
    title: str, workspace: str, modified: float, size: int
) -> None:
    message = build_form(workspace, [Candidate("a.md", "e", title, size, modified)]).message
    assert message.count("\n") == 1
    rest = message.replace("\n", "", 1).replace("\u200c", "").replace("\u200d", "")
    assert [character for character in rest if unicodedata.category(character) in HIDDEN] == []
    assert len(message) < 600


HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def test_a_title_cannot_pose_as_the_end_of_its_quotation() -> None:
    title = 'x", 1 byte\n2. "other.md\u202e\u2028\\'
    message = build_form("notes", [Candidate("a.md", "e", title, 5, 0.0)]).message
    _, line = message.splitlines()
    assert line == (
        '1. "a.md", titled "x\\", 1 byte\\u000a2. \\"other.md\\u202e\\u2028\\\\", 5 bytes,'
        " modified 1970-01-01 00:00:00 UTC"
    )


@pytest.mark.parametrize("modified", [float("nan"), float("inf"), 1e20, -1e20])
def test_an_impossible_time_is_called_unknown(modified: float) -> None:
    message = build_form("notes", [Candidate("a.md", "e", "", 5, modified)]).message
    assert message.endswith('"a.md", 5 bytes, modified at an unknown time')


def test_the_message_stays_bounded_and_the_schema_keeps_whole_paths() -> None:
    paths = [f"{number:02}/" + "/".join(['"' * 120] * 33)[:3990] + ".md" for number in range(MAX_CANDIDATES)]
    candidates = [Candidate(path, "e", "\u202e" * 1000, 2**62, 0.0) for path in paths]
    form = build_form("w" * 5000, candidates)
    assert len(form.message) <= MAX_MESSAGE
    assert form.schema["properties"]["note_id"]["enum"] == paths
    assert len(set(form.message.splitlines())) == MAX_CANDIDATES + 1


@pytest.mark.parametrize(
    "character", ["\n", "\0", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028", "\ud800", "\x9b"]
)
def test_a_path_that_could_deceive_is_not_offered(character: str) -> None:
    path = f"a{character}b.md"
    with pytest.raises(DeceptiveName) as caught:
        build_form("notes", [A, Candidate(path, "e", "", 1, 0.0)])
    assert caught.value.paths == (path,)


@pytest.mark.parametrize(
    "path", ["naïve.md", "日本語/メモ.md", "👩\u200d🚀.md", "می\u200cخواهم.md", "a b.md", "עברית.md"]
)
def test_a_path_in_any_writing_is_offered_as_it_is(path: str) -> None:
    form = build_form("notes", [Candidate(path, "e", "", 1, 0.0)])
    assert form.note_ids == (path,)
    assert f'1. "{path}", 1 byte' in form.message


def test_more_candidates_than_a_form_offers_are_refused() -> None:
    many = [Candidate(f"{number}.md", "e", "", 1, 0.0) for number in range(MAX_CANDIDATES + 1)]
    assert len(build_form("notes", many[:-1]).note_ids) == MAX_CANDIDATES
    with pytest.raises(TooManyMatches) as caught:
        build_form("notes", many)
    assert caught.value.limit == MAX_CANDIDATES
    for wrong in ([], [A, A]):
        with pytest.raises(ValueError, match="candidate"):
            build_form("notes", wrong)


# -- answers -----------------------------------------------------------------------------------------


def _parse(answer: object) -> Choice | Refusal:
    return parse_answer(answer, is_offered=lambda note_id: note_id in ("a.md", "b.md"))


@pytest.mark.parametrize("confirm", [True, False])
@pytest.mark.parametrize("note_id", ["a.md", "b.md"])
def test_an_accepted_form_says_which_note_and_whether(note_id: str, *, confirm: bool) -> None:
    answer = {"action": "accept", "content": {"note_id": note_id, "confirm": confirm}}
    assert _parse(answer) == Choice(note_id, confirm)
    assert _parse({**answer, "_meta": {}}) == Choice(note_id, confirm)


@pytest.mark.parametrize("content", [{}, None, "x", [], {"note_id": "a.md", "confirm": True}, {"other": 1}])
def test_decline_and_cancel_mean_the_same_whatever_their_content(content: object) -> None:
    for action, expected in (("decline", Refusal.DECLINE), ("cancel", Refusal.CANCEL)):
        assert _parse({"action": action, "content": content}) is expected
        assert _parse({"action": action}) is expected


_GOOD = {"note_id": "a.md", "confirm": True}


@pytest.mark.parametrize(
    "answer",
    [
        "accept",
        ["accept"],
        True,
        5,
        {},
        {"content": _GOOD},
        {"action": None, "content": _GOOD},
        {"action": True, "content": _GOOD},
        {"action": "ACCEPT", "content": _GOOD},
        {"action": "accept ", "content": _GOOD},
        {"action": "submit", "content": _GOOD},
        {"action": ["accept"], "content": _GOOD},
        {"action": "accept"},
        {"action": "accept", "content": None},
        {"action": "accept", "content": {}},
        {"action": "accept", "content": [_GOOD]},
        {"action": "accept", "content": "a.md"},
        {"action": "accept", "content": {"note_id": "a.md"}},
        {"action": "accept", "content": {"confirm": True}},
        {"action": "accept", "content": {**_GOOD, "extra": 1}},
        {"action": "accept", "content": {**_GOOD, "note_id": "c.md"}},
        {"action": "accept", "content": {**_GOOD, "note_id": "A.md"}},
        {"action": "accept", "content": {**_GOOD, "note_id": ""}},
        {"action": "accept", "content": {**_GOOD, "note_id": None}},
        {"action": "accept", "content": {**_GOOD, "note_id": ["a.md"]}},
        {"action": "accept", "content": {**_GOOD, "note_id": 0}},
        {"action": "accept", "content": {**_GOOD, "confirm": "true"}},
        {"action": "accept", "content": {**_GOOD, "confirm": "yes"}},
        {"action": "accept", "content": {**_GOOD, "confirm": 1}},
        {"action": "accept", "content": {**_GOOD, "confirm": 1.0}},
        {"action": "accept", "content": {**_GOOD, "confirm": None}},
        {"action": "accept", "content": {**_GOOD, "confirm": [True]}},
    ],
)
def test_anything_else_is_malformed_and_never_consent(answer: object) -> None:
    with pytest.raises(InvalidAnswer):
        _parse(answer)


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["accept", "a.md", "confirm"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["action", "content", "note_id", "confirm"]) | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(_json)
def test_only_an_exact_confirmation_is_consent(answer: object) -> None:
    try:
        parsed = _parse(answer)
    except InvalidAnswer:
        return
    if parsed in (Choice("a.md", confirm=True), Choice("b.md", confirm=True)):
        assert isinstance(answer, dict)
        assert answer["action"] == "accept"
        assert answer["content"] == {"note_id": parsed.note_id, "confirm": True}


def test_what_is_long_is_cut_where_it_is_said_to_be() -> None:
    assert MAX_MESSAGE == 20_000

    def first(candidate: Candidate, workspace: str = "n") -> tuple[str, str]:
        question, line = build_form(workspace, [candidate]).message.split("\n")
        return question, line

    def shown(**changes: str) -> str:
        return first(replace(A, **changes))[1]  # type: ignore[arg-type]

    whole, more = "t" * 80, "t" * 81
    assert f'titled "{whole}", ' in shown(title=whole)
    assert f'titled "{whole}…", ' in shown(title=more)
    assert f'titled "{"t" * 79}…", ' in shown(title="t" * 79 + '"')  # an escape is whole or not there
    assert f'the workspace "{whole}"? ' in first(A, whole)[0]
    assert f'the workspace "{whole}…"? ' in first(A, more)[0]
    assert shown(path="p" * 238).startswith(f'1. "{"p" * 238}", ')
    assert shown(path="p" * 239).startswith(f'1. "{"p" * 117} … {"p" * 117}", ')


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\u202e", "\x7f", "\x00", "\ud800", "\U000e0041"])
def test_no_character_that_does_not_show_is_offered_or_left_in_a_title(character: str) -> None:
    with pytest.raises(DeceptiveName):
        build_form("n", [replace(A, path=f"a{character}b.md")])
    message = build_form("n", [replace(A, title=f"a{character}b")]).message
    assert character not in message
    assert f'titled "a\\{"U" if ord(character) > 0xFFFF else "u"}' in message


def test_a_path_of_quotation_marks_is_shown_whole() -> None:
    assert '1. "\\"\\\\\\"", ' in build_form("n", [replace(A, path='"\\"')]).message


def test_a_form_that_is_not_sent_off_is_declined_or_cancelled() -> None:
    assert [each.value for each in Refusal] == ["decline", "cancel"]
