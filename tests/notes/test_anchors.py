"""Anchors: found literally but for line ends, as often as expected, or refused with what there is."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fsnotes.errors import AnchorCount, AnchorNotFound, InvalidArgument
from fsnotes.failures import describe
from fsnotes.notes.anchors import MAX_LINES, find
from fsnotes.notes.bounds import MAX_EXPECTED
from sandbox.names import is_deceptive
from tests.notes.strange_notes import BOM, lf, notes, offsets

PATH = "a.md"


def spans(
    data: bytes, anchor: str, expected: int = 1, within: tuple[int, int] | None = None
) -> list[tuple[int, int]]:
    return find(data, anchor, path=PATH, expected=expected, within=within).spans()


def naive(data: bytes, anchor: bytes) -> list[tuple[int, int]]:
    """Every place, the slow way: in the text with LF, byte by byte."""
    text, wanted, at = lf(data), lf(anchor), offsets(data)
    found = []
    place = 0
    while place + len(wanted) <= len(text):
        if text[place : place + len(wanted)] == wanted:
            found.append((at[place], at[place + len(wanted)]))
            place += len(wanted)
        else:
            place += 1
    return found


@st.composite
def cases(draw: st.DrawFn) -> tuple[bytes, str]:
    """A note, and a piece of it (or nearly) with line ends of any kind."""
    data = draw(notes)
    text = lf(data).decode()
    start = draw(st.integers(0, len(text)))
    piece = text[start : start + draw(st.integers(1, 12))] or "text"
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return data, piece.replace("\n", end) + draw(st.sampled_from(["", "", "", end, "x"]))


@settings(deadline=None)
@given(cases())
@example((b"a\r\nb\r\rc\n", "\n"))
@example((b"aaaa", "aa"))
@example((b"\r\n\r\n\r\n", "\r\r"))
def test_places_and_their_number_are_those_of_a_naive_search(case: tuple[bytes, str]) -> None:
    data, anchor = case
    expected = naive(data, anchor.encode())
    if expected:
        assert spans(data, anchor, len(expected)) == expected
    for wrong in {1, len(expected) + 1} - {len(expected)}:
        if expected:
            with pytest.raises(AnchorCount) as counted:
                find(data, anchor, path=PATH, expected=wrong)
            lines = [len((data[:start] + b"x").splitlines()) for start, _ in expected]
            assert vars(counted.value) == {
                "path": PATH, "count": len(expected), "expected": wrong, "lines": tuple(lines[:MAX_LINES])
            }  # fmt: skip
        else:
            with pytest.raises(AnchorNotFound):
                find(data, anchor, path=PATH, expected=wrong)


@settings(deadline=None)
@given(cases(), st.data())
def test_within_some_lines_places_are_those_of_a_search_in_them_alone(
    case: tuple[bytes, str], drawn: st.DataObject
) -> None:
    data, anchor = case
    lines = data.splitlines(keepends=True)
    first = drawn.draw(st.integers(0, len(lines)))
    last = drawn.draw(st.integers(first, len(lines)))
    start, end = len(b"".join(lines[:first])), len(b"".join(lines[:last]))
    expected = [(start + one, start + other) for one, other in naive(data[start:end], anchor.encode())]
    if expected:
        assert spans(data, anchor, len(expected), (start, end)) == expected
        with pytest.raises(AnchorCount) as counted:
            find(data, anchor, path=PATH, expected=len(expected) + 1, within=(start, end))
        numbers = [len((data[:place] + b"x").splitlines()) for place, _ in expected]
        assert counted.value.lines == tuple(numbers[:MAX_LINES])
    else:
        with pytest.raises(AnchorNotFound) as missed:
            find(data, anchor, path=PATH, within=(start, end))
        everywhere = naive(data, anchor.encode())
        assert (missed.value.hint == "elsewhere") == bool(everywhere)
        if everywhere:
            assert missed.value.line == len((data[: everywhere[0][0]] + b"x").splitlines())


@given(cases())
def test_a_place_never_parts_a_line_end_or_a_character(case: tuple[bytes, str]) -> None:
    data, anchor = case
    for start, end in naive(data, anchor.encode()):
        for place in (start, end):
            assert data[place - 1 : place + 1] != b"\r\n" or place == 0
            data[:place].decode()


@pytest.mark.parametrize(
    ("data", "anchor", "span"),
    [
        (b"a\r\nb\r\n", "a\nb", (0, 4)),
        (b"a\nb\n", "a\r\nb", (0, 3)),
        (b"a\rb\r", "a\nb\n", (0, 4)),
        (b"a\r\nb", "\nb", (1, 4)),
        (b"x\r\n\r\ny", "\n\n", (1, 5)),
        (b"a\r\nb\nc\rd", "b\nc\nd", (3, 8)),
        (BOM + b"a", "a", (3, 4)),
        (BOM + b"a", "\ufeffa", (0, 4)),
        ("日本語".encode(), "本", (3, 6)),
        (b"a.b*c", ".b*", (1, 4)),
        (b"a\x00b", "\x00", (1, 2)),
    ],
)
def test_an_anchor_is_literal_but_for_its_line_ends(data: bytes, anchor: str, span: tuple[int, int]) -> None:
    assert spans(data, anchor) == [span]


@pytest.mark.parametrize("anchor", ["", "\ud800"])
def test_an_anchor_that_is_empty_or_no_unicode_is_an_invalid_argument(anchor: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        find(b"note", anchor, path=PATH)
    assert caught.value.argument == "oldText"


@pytest.mark.parametrize("expected", [0, -1, MAX_EXPECTED + 1])
def test_a_number_that_cannot_be_expected_is_an_invalid_argument(expected: int) -> None:
    with pytest.raises(InvalidArgument) as caught:
        find(b"note", "note", path=PATH, expected=expected)
    assert caught.value.argument == "expectedMatches"
    assert spans(b"a" * MAX_EXPECTED, "a", MAX_EXPECTED)[-1] == (MAX_EXPECTED - 1, MAX_EXPECTED)


# -- refusals --------------------------------------------------------------------------------------


def missed(data: bytes, anchor: str, within: tuple[int, int] | None = None) -> AnchorNotFound:
    with pytest.raises(AnchorNotFound) as caught:
        find(data, anchor, path=PATH, within=within)
    return caught.value


NOTE = b"# Plan\r\n\r\n- buy milk and bread\r\n- call the plumber\r\n\r\nThe end of it"


@pytest.mark.parametrize(
    ("anchor", "line", "nearest"),
    [
        ("- buy milk and butter", 3, "- buy milk and bread"),
        ("- Call The Plumber", 4, "- call the plumber"),
        ("- buy milk and bread\n- call a plumber", 4, "- call the plumber"),
        ("# Plan\n- buy milk and bread", 1, "# Plan"),
        ("  The end  of it", 6, "The end of it"),
        ("plumbre", 4, "- call the plumber"),
    ],
)
def test_a_miss_names_the_nearest_line(anchor: str, line: int, nearest: str) -> None:
    error = missed(NOTE, anchor)
    assert (error.hint, error.line, error.nearest) == ("", line, nearest)


@pytest.mark.parametrize(
    ("data", "anchor", "line"),
    [
        (b"water\nmilk", "water!", 1),
        (b"milk milk milk milk\nmilk and tea", "milk and rum", 2),
        (b"milk and tea\nmilk milk milk milk", "milk and rum", 1),
        (b"tea and rum\ntea and rum", "tea and rum.", 1),
    ],
)
def test_a_word_counts_once_in_a_line_from_its_first_letter_on(data: bytes, anchor: str, line: int) -> None:
    assert missed(data, anchor).line == line


def test_a_miss_with_nothing_near_names_no_line() -> None:
    for data, anchor in (
        (NOTE, "quite unlike"),
        (b"", "x"),
        (NOTE, "\n\n\n"),
        (b"\n\n", "text"),
        (NOTE, "?!"),
        ("na\u00efve\n\u65e5\u672c".encode(), "\u00fc\u00f6"),  # neither has the other in any Unicode form
    ):
        error = missed(data, anchor)
        assert (error.hint, error.line, error.nearest) == ("", 0, "")


@pytest.mark.parametrize(
    ("data", "anchor", "line"),
    [
        (b"one\ntwo", "two\n", 2),
        (b"one\r\ntwo", "one\ntwo\n", 1),
        (b"one\rtwo", "o\r\n", 2),
        (b"one\n", "one\n\n", 1),
    ],
)
def test_a_line_end_that_the_note_does_not_end_with_is_said(data: bytes, anchor: str, line: int) -> None:
    error = missed(data, anchor)
    assert (error.hint, error.line) == ("final line end", line)
    assert len(spans(data, anchor.rstrip("\r\n"), data.count(anchor.rstrip("\r\n").encode()) or 1)) >= 1
    assert len(spans(data + b"\n", anchor)) == 1


@pytest.mark.parametrize(
    "text",
    ["caf\u00e9", "\uac00\ub098", "\u30c6\u30b9\u30c8\u3067\u3059\u304c", "A\u030a\u0327\u0323", "\u1e69"],
)
def test_another_unicode_form_is_said_and_does_not_match(text: str) -> None:
    composed, taken_apart = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
    for there, asked in ((composed, taken_apart), (taken_apart, composed)):
        data = f"first\r\nsecond {there} third\r\n".encode()
        error = missed(data, f"{asked} third")
        assert (error.hint, error.line) == ("Unicode form", 2)
        assert error.nearest == f"second {there} third"
        assert len(spans(data, f"{there} third")) == 1


def test_lines_of_a_section_are_counted_in_the_note() -> None:
    start = NOTE.index(b"- call")
    error = missed(NOTE, "call a plumber", (start, len(NOTE)))
    assert (error.line, error.nearest) == (4, "- call the plumber")
    assert missed(NOTE, "The end of it\n", (start, len(NOTE))).line == 6


def test_text_that_stands_outside_the_section_is_said() -> None:
    error = missed(NOTE, "the plumber", (0, 10))
    assert (error.hint, error.line) == ("elsewhere", 4)
    assert len(spans(NOTE, "Plan", 1, (0, 10))) == 1


def test_the_lines_of_a_wrong_number_are_few() -> None:
    with pytest.raises(AnchorCount) as caught:
        find(b"x\n" * 5000, "x", path=PATH)
    assert (caught.value.count, caught.value.lines) == (5000, tuple(range(1, MAX_LINES + 1)))


# -- what is said of them --------------------------------------------------------------------------


def test_refusals_have_their_slugs_and_say_what_there_is() -> None:
    failure = describe(missed(NOTE, "- call a plumber"))
    assert (failure.slug, failure.exit_code) == ("not_found", 4)
    assert failure.line == (
        'not_found: oldText is not in "a.md"; the nearest line is 4: "- call the plumber"; nothing was changed, take'
        " the text exactly as it is read"
    )
    for error, words in (
        (missed(NOTE, "quite unlike"), "no line is near it"),
        (missed(NOTE, "Plan", (10, 30)), "it stands outside of that section, in line 1"),
        (missed(NOTE, "of it\n"), "the text ends before its last line end, in line 6: leave that out"),
        (
            missed("e\u0301".encode(), "\u00e9"),
            "the note has it in another Unicode form: copy it from line 1",
        ),
    ):
        assert words in describe(error).line
    with pytest.raises(AnchorCount) as caught:
        find(b"x x\nx", "x", path=PATH)
    failure = describe(caught.value)
    assert (failure.slug, failure.exit_code) == ("ambiguous", 5)
    assert failure.line == (
        'ambiguous: oldText is in "a.md" 3 times (lines 1, 2) and was expected once; nothing was changed, give more of'
        " the text around it or that number as expectedMatches"
    )
    with pytest.raises(AnchorCount) as caught:
        find(b"x\n" * 30, "x", path=PATH, expected=2)
    assert "19, 20 and 10 more) and was expected 2 times" in describe(caught.value).line
    with pytest.raises(AnchorCount) as caught:
        find(b"x", "x", path=PATH, expected=2)
    assert '"a.md" once (line 1) and' in describe(caught.value).line


@pytest.mark.parametrize(
    "line",
    ["x" * 1000 + " needle", "\u202ereversed needle\x07", '"; say: needle', "a\\nb needle", "\u200bneedle"],
)
def test_what_is_quoted_of_a_note_is_one_short_line_and_shows_itself(line: str) -> None:
    error = missed(f"above\n{line}\n".encode(), "needle,")
    said = describe(error).line
    assert error.line == 2
    assert "needle" in said
    assert not is_deceptive(said)
    assert said.isprintable()
    assert len(said) < 400
    assert '"; say' not in said.replace('\\"', "_")


def test_of_a_long_line_the_part_that_is_near_is_quoted() -> None:
    data = ("word " * 5000 + "the needle in the haystack " + "word " * 5000).encode()
    error = missed(data, "the needle in a haystack")
    assert error.line == 1
    assert "the needle in the haystack" in error.nearest
    assert len(error.nearest) == 201
    assert "\u2026" in describe(error).line
