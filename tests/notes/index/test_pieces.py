"""A large note is looked through piece by piece: what is found is what is found in it whole, and where it stands."""

from __future__ import annotations

import re

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from fsnotes.errors import NotText
from fsnotes.notes.index import pieces
from fsnotes.notes.index.matching import Matcher
from fsnotes.notes.index.pieces import OVERLAP, PIECE, TooLargeToKnow, look_through
from fsnotes.notes.index.queries import parse
from fsnotes.notes.index.snippets import Line
from tests.examples import examples
from tests.notes.index import oracle
from tests.notes.proportion import hold_to_proportion


def never() -> bool:
    return False


def looked(query: str, text: str, *, path: str = "folder/name.md") -> tuple[str, tuple[Line, ...]] | None:
    return look_through(Matcher(parse(query)), path, text.encode(), is_late=never)


def test_a_query_means_a_large_note_as_the_oracle_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 80)
    monkeypatch.setattr(pieces, "OVERLAP", 32)
    seen: list[str] = []

    @settings(max_examples=examples(200, long=600), deadline=None, phases=[Phase.explicit, Phase.generate])
    @given(
        oracle.queries,
        st.sampled_from(["a.md", "ab/x2.md", "漢字/bex.md"]).flatmap(oracle.notes),
        st.lists(oracle.texts, min_size=2, max_size=6),
    )
    def run(query: tuple[oracle.Side, ...], note: oracle.Note, more: list[str]) -> None:
        note = note._replace(body="\n".join([note.body, *more]))
        assume(max(map(len, re.split("[ \n]", note.text()))) < 16)
        try:
            found = looked(oracle.typed(query), note.text(), path=note.path) is not None
        except TooLargeToKnow:
            assert any(isinstance(each, oracle.Tag) for side in query for each in (*side.must, *side.never))
            seen.append("not known")
        else:
            assert found == oracle.finds(query, note)
            seen.append(str(found))

    run()
    assert {"True", "False", "not known"} <= {each for each in seen if seen.count(each) > 0.02 * len(seen)}


@pytest.mark.parametrize("before", [0, PIECE - 4, PIECE, PIECE + 1, 3 * PIECE - 9, 4_000_000])
@pytest.mark.parametrize("filling", ["word ", "line\n", "line\r\n", "漢 字\n", "x"])
def test_a_phrase_is_found_and_shown_wherever_it_stands(filling: str, before: int) -> None:
    start = (filling * (before // len(filling) + 1))[:before] + "\n"
    found = looked('"needle and thread"', f"{start}a needle,\nand thread {filling * 100}")
    assert found is not None
    assert [(line.number, line.text) for line in found[1]] == [
        (start.replace("\r\n", "\n").count("\n") + 1, "a needle,")
    ]


def test_the_piece_that_has_most_of_the_words_is_shown() -> None:
    text = "alpha\n" + "x\n" * PIECE + "beta\n" + "x\n" * PIECE + "gamma delta\n"
    found = looked("alpha beta gamma delta", text)
    assert found is not None
    assert [line.text for line in found[1]] == ["gamma delta"]


@pytest.mark.parametrize(
    ("query", "is_found"),
    [
        ("title:real", True),
        ("real", True),
        ("title:word", False),
        ("folder", True),
        ("path:folder/name.md", True),
        ("name.md", True),
        ("prop:state=done", True),
        ("prop:state=open", False),
        ("prop:none", False),
        ("word -prop:state=done", False),
        ("nowhere OR prop:state", True),
        ("word -nowhere", True),
        ("nowhere tag:home", False),
        ("tag:home nowhere", False),
        ("word OR tag:home", True),
        ("word -tag:away", True),
        ("tag:away", False),
    ],
)
def test_what_can_be_known_of_a_large_note_is(query: str, is_found: bool) -> None:
    text = "---\nstate: done\n---\n# The real one\n\n" + "word " * PIECE + "#home/garden\n"
    assert (looked(query, text) is not None) == is_found


@pytest.mark.parametrize("query", ["tag:home", "word tag:home", "word -tag:home", "nowhere OR tag:ho*"])
def test_which_tags_a_large_note_has_is_not_guessed(query: str) -> None:
    with pytest.raises(TooLargeToKnow):
        looked(query, "word " * PIECE + "#home/garden\n")
    with pytest.raises(TooLargeToKnow):
        looked(query, "word " * PIECE + "home\n")


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(NotText):
        look_through(Matcher(parse("x")), "a.md", b"x \xff", is_late=never)


def test_who_is_late_has_looked_through_one_piece_and_gives_up() -> None:
    text = "first " + "x " * PIECE + "last"
    matcher = Matcher(parse("first"))
    assert look_through(matcher, "a.md", text.encode(), is_late=lambda: True) is not None
    with pytest.raises(TooLargeToKnow):
        look_through(Matcher(parse("last")), "a.md", text.encode(), is_late=lambda: True)


def test_a_piece_is_longer_than_what_two_of_them_share() -> None:
    assert PIECE > 10 * OVERLAP


UNITS = [
    "# a heading\n",
    "a\n=\n",
    "*_",
    "[",
    "[a](",
    "word ",
    "x",
    "c++ ",
    "漢",
    "é ",
    "- a\n",
    "#t ",
    "a\n",
]


@pytest.mark.parametrize("unit", UNITS)
def test_looking_through_takes_time_in_proportion(unit: str) -> None:
    matcher = Matcher(parse('foo_bar OR "a b c" OR nowhere* OR 漢字'))

    def case(size: int) -> object:
        data = (unit * size).encode()
        return lambda: look_through(matcher, "x.md", data, is_late=never)

    hold_to_proportion(case, 60_000, patience=(1, 3, 9))  # type: ignore[arg-type]
