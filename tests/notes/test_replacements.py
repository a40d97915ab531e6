"""Replacing text: only its bytes change, it is literal, and what is replaced under a heading glues to nothing."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from fsnotes.errors import AnchorCount, AnchorNotFound, InvalidArgument, NoteTooLarge, NotText
from fsnotes.notes.anchors import find
from fsnotes.notes.replacements import replace, replace_body
from fsnotes.notes.sections import stretch
from fsnotes.notes.splices import Splice, apply, inverse
from tests.notes.outlining import headings
from tests.notes.strange_notes import BOM, LINE_ENDS, lf, notes, texts

PATH = "a.md"
PLENTY = 10**6


def replaced(
    data: bytes,
    old: str,
    new: str,
    expected: int = 1,
    within: tuple[int, int] | None = None,
    most: int = PLENTY,
) -> bytes:
    splices = replace(data, old, new, path=PATH, most=most, expected=expected, within=within)
    result = apply(data, splices)
    assert apply(result, inverse(data, splices)) == data
    return result


@st.composite
def cases(draw: st.DrawFn) -> tuple[bytes, str, str]:
    """A note, a piece of it with line ends of any kind, and a text that may have something in common with it."""
    data = draw(notes)
    text = lf(data).decode()
    assume(text)
    start = draw(st.integers(0, len(text) - 1))
    old = text[start : start + draw(st.integers(1, 25))]
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    new = draw(
        texts
        | st.just("")
        | st.just(old)
        | texts.map(lambda more: old + more)
        | texts.map(lambda more: more + old)
    )
    return data, old.replace("\n", end), new


def joins(data: bytes, splices: tuple[Splice, ...]) -> bool:
    """Whether taking text away leaves a CR before a LF: what were the ends of two lines is one then."""
    kept: list[int] = []
    position = 0
    for splice in (*splices, Splice(len(data), len(data), b"")):
        kept += range(position, splice.start)
        kept += [-1] * len(splice.replacement)
        position = splice.end
    return any(
        one + 1 < other and data[one : one + 1] + data[other : other + 1] == b"\r\n"
        for one, other in pairwise(kept)
        if one >= 0
    )


@settings(deadline=None)
@given(cases())
@example((b"x\rold\nmore", "old", "new\n"))
@example((b"a\r\nb\nc", "a\nb\nc", "a\nB\nc"))
@example((b"\xef\xbb\xbfa", "\ufeffa", "b"))
@example((b"a", "a", "\ufeffa"))
@example((b"\xef\xbb\xbf", "\ufeff", "\n\ufeff"))
def test_only_what_differs_changes_and_it_is_literal(case: tuple[bytes, str, str]) -> None:
    data, old, new = case
    count = lf(data).count(lf(old.encode()))
    splices = replace(data, old, new, path=PATH, most=PLENTY, expected=count)
    result = apply(data, splices)
    assert apply(result, inverse(data, splices)) == data
    # Outside of the anchors nothing is touched.
    spans = find(data, old, path=PATH, expected=count).spans()
    assert all(any(start <= each.start and each.end <= end for start, end in spans) for each in splices)
    # The text is the one that a plain replacement in a text with LF gives; a mark stays where it is.
    mark, text = BOM if data.startswith(BOM) else b"", lf(data)
    wanted, asked = lf(old.encode()), lf(new.encode())
    place = text.find(wanted)
    expected = text.replace(wanted, asked)
    if place <= len(mark):
        rest = text[place + len(wanted) :].replace(wanted, asked)
        expected = mark + asked.removeprefix(BOM) + rest
    if not joins(data, splices):
        assert lf(result) == expected
    # A note of one kind stays one.
    kinds = set(re.findall(rb"\r\n|\r|\n", data))
    if len(kinds) == 1:
        assert set(re.findall(rb"\r\n|\r|\n", result)) <= kinds


@settings(deadline=None)
@given(cases())
def test_what_both_texts_share_keeps_its_line_ends(case: tuple[bytes, str, str]) -> None:
    """The caller's spelling of line ends says nothing: texts that are equal but for them change nothing."""
    data, old, _ = case
    count = lf(data).count(lf(old.encode()))
    for end in ("\n", "\r\n", "\r"):
        assert (
            replace(data, old, re.sub("\r\n|\r|\n", end, old), path=PATH, most=PLENTY, expected=count) == ()
        )


@pytest.mark.parametrize(
    ("data", "old", "new", "result"),
    [
        (b"a\r\nb\nc\r", "a\nb\nc", "a\nb2\nc", b"a\r\nb2\nc\r"),
        (b"a\nb\r\nc", "b", "b\nx", b"a\nb\nx\r\nc"),
        (b"a\r\nb\nc\n", "b\n", "b\nx\n", b"a\r\nb\nx\nc\n"),
        (b"a\r\n", "a", "a\nb", b"a\r\nb\r\n"),
        (b"a", "a", "a\r\nb", b"a\nb"),
        (b"a\r\nb", "a\r\nb", "x\ny", b"x\r\ny"),
        (b"one\ntwo\nthree\n", "two\n", "", b"one\nthree\n"),
        (b"one\ntwo", "two", "two\n", b"one\ntwo\n"),
        (b"one\ntwo\n", "two\n", "two", b"one\ntwo"),
        (b"x\rold\nmore", "old", "new\n", b"x\rnew\r\n\nmore"),
        ("caf\u00e8".encode(), "\u00e8", "\u00e9", "caf\u00e9".encode()),
    ],
)
def test_inserted_text_takes_the_line_end_before_it(data: bytes, old: str, new: str, result: bytes) -> None:
    assert replaced(data, old, new) == result


def test_a_splice_is_no_larger_than_the_change_and_parts_no_character() -> None:
    data = "a caf\u00e8 b\r\n".encode()
    for letter in "\u00e9\u0169\u0168":  # the same first byte, the same last byte, neither
        (splice,) = replace(data, "a caf\u00e8 b\n", f"a caf{letter} b\n", path=PATH, most=PLENTY)
        assert (data[splice.start : splice.end], splice.replacement) == ("\u00e8".encode(), letter.encode())


def test_all_places_change_or_none() -> None:
    data = b"x 1\r\nx 2\nx 3"
    assert replaced(data, "x", "y\n", 3) == b"y\r\n 1\r\ny\r\n 2\ny\n 3"
    with pytest.raises(AnchorCount):
        replaced(data, "x", "y", 2)
    with pytest.raises(AnchorNotFound):
        replaced(data, "z", "y", 3)


def test_within_a_section_only_what_stands_there_changes() -> None:
    data = b"# A\nx\n# B\nx\n"
    found = stretch(data, "B", path="a.md")
    assert replaced(data, "x", "y", 1, (found.start, found.end)) == b"# A\nx\n# B\ny\n"
    with pytest.raises(AnchorNotFound):
        replaced(data, "# A", "y", 1, (found.start, found.end))


@pytest.mark.parametrize("new", ["", "\ufeff", "\ufeffb", "b"])
@pytest.mark.parametrize("old", ["a", "\ufeffa", "\ufeffa\nc"])
def test_the_mark_of_a_note_is_nobodys_to_give_or_to_take(old: str, new: str) -> None:
    marked = BOM + b"a\nc"
    result = replaced(marked, old, new)
    assert result.startswith(BOM)
    assert not result.startswith(BOM + BOM)
    text = b"a\nc".replace(old.lstrip("\ufeff").encode(), new.lstrip("\ufeff").encode(), 1)
    assert result == BOM + text
    if old[0] != "\ufeff":
        assert replaced(b"a\nc", old, new) == result.removeprefix(BOM)


def test_a_mark_that_is_replaced_stays_and_the_text_follows_it() -> None:
    assert replaced(BOM + b"a", "\ufeff", "b") == BOM + b"ba"
    assert replaced(BOM + b"a", "\ufeff", "") == BOM + b"a"


def test_a_zero_width_space_elsewhere_is_text() -> None:
    assert replaced(b"ab", "b", "\ufeffb") == "a\ufeffb".encode()
    assert replaced("a\ufeffb".encode(), "\ufeff", "") == b"ab"


def test_a_note_that_is_not_text_or_would_be_too_large_is_refused() -> None:
    with pytest.raises(NotText):
        replaced(b"a\xff", "a", "b")
    with pytest.raises(NoteTooLarge) as caught:
        replaced(b"a\na", "a", "bb", 2, most=4)
    assert (caught.value.path, caught.value.limit) == (PATH, 4)
    assert replaced(b"a\na", "a", "bb", 2, most=5) == b"bb\nbb"
    assert replaced(b"a\r\n", "a", "\n", most=4) == b"\r\n\r\n"
    with pytest.raises(NoteTooLarge):
        replaced(b"a\r\n", "a", "\n", most=3)


def test_a_long_text_for_many_places_is_refused_before_it_is_made() -> None:
    with pytest.raises(NoteTooLarge):
        replaced(b"a" * 10_000, "a", "b" * 10_000_000, 10_000)


@pytest.mark.parametrize(
    ("old", "new", "argument"), [("", "x", "oldText"), ("a", "\ud800", "newText"), ("\ud800", "", "oldText")]
)
def test_text_that_cannot_be_meant_is_refused(old: str, new: str, argument: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        replaced(b"a", old, new)
    assert caught.value.argument == argument


# -- under a heading -------------------------------------------------------------------------------


def body_replaced(data: bytes, heading: str, new: str, most: int = PLENTY) -> bytes:
    found = stretch(data, heading, path="a.md")
    splices = replace_body(data, new, body=found.body, end=found.end, path=PATH, most=most)
    result = apply(data, splices)
    assert apply(result, inverse(data, splices)) == data
    return result


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("note", "new", "result"),
    [
        # with and without blank lines beside the headings; they stay
        ("# H|old|# N|", "new", "# H|new|# N|"),
        ("# H||old||# N|", "new", "# H||new||# N|"),
        ("# H|||old| |# N|", "new", "# H|||new| |# N|"),
        ("# H||old|more||# N|", "new|lines", "# H||new|lines||# N|"),
        # a final line end is asked for or not: where something follows it is there once
        ("# H|old|# N|", "new|", "# H|new|# N|"),
        ("# H||old||# N|", "new|", "# H||new||# N|"),
        # blank lines of the text take the place of those there
        ("# H|old|# N|", "|new||", "# H||new||# N|"),
        ("# H||old||# N|", "|new||", "# H||new||# N|"),
        ("# H||old||# N|", "||new", "# H|||new||# N|"),
        ("# H||old||# N|", "new|||", "# H||new|||# N|"),
        ("# H||old||# N|", "new|| ", "# H||new|| |# N|"),
        # an empty section
        ("# H|# N|", "new", "# H|new|# N|"),
        ("# H||# N|", "new", "# H|new||# N|"),
        ("# H|||# N|", "new", "# H||new||# N|"),
        ("# H|", "new", "# H|new|"),
        ("# H||", "new", "# H||new|"),
        ("# H", "new", "# H|new"),
        ("# H", "new|", "# H|new|"),
        ("# H|  ", "new", "# H|new"),
        ("# H||  ", "new|", "# H||new|"),
        ("# H|old|  ", "new|", "# H|new|  "),
        # the end of the note
        ("# H|old", "new", "# H|new"),
        ("# H|old", "new|", "# H|new|"),
        ("# H|old|", "new", "# H|new|"),
        ("# H||old||", "new", "# H||new||"),
        # nothing, and nothing but blank lines
        ("# H|old|# N|", "", "# H|# N|"),
        ("# H||old||# N|", "", "# H||# N|"),
        ("# H|||# N|", "", "# H|||# N|"),
        ("# H|old", "", "# H|"),
        ("# H", "", "# H"),
        ("# H||old||# N|", "|", "# H||# N|"),
        ("# H|old|# N|", "|", "# H||# N|"),
        ("# H|old|# N|", " ", "# H| |# N|"),
        # deeper sections belong to it
        ("# H|old|## D|deep|# N|", "new", "# H|new|# N|"),
        # headings that are underlined
        ("H|===|old|# N|", "new", "H|===|new|# N|"),
        ("# H|old||Next|===|", "new", "# H|new||Next|===|"),
        ("# H|Next|===|", "new", "# H|new||Next|===|"),
        ("# H|Next|===|", "new||", "# H|new||Next|===|"),
        ("# H|```|old|```|Next|===|", "new|", "# H|new||Next|===|"),
        ("# H|```|old|```|Next|===|", "", "# H|Next|===|"),
        # a fence that holds what looks like a heading
        ("# H|```|# no heading|```|# N|", "new", "# H|new|# N|"),
        ("# H|````|```|# no heading|```|````||# N|", "new", "# H|new||# N|"),
        ("# H||    # no heading||# N|", "new", "# H||new||# N|"),
        # the same text
        ("# H||old||# N|", "old|", "# H||old||# N|"),
        ("# H|  indented|# N|", "    new", "# H|    new|# N|"),
    ],
)
def test_what_stands_under_a_heading_is_replaced(note: str, new: str, result: str, end: str) -> None:
    def spelled(text: str) -> bytes:
        return text.replace("|", end).encode()

    for mark in (b"", BOM):
        for block in ("", "---|a: b|---|"):
            before = mark + spelled(block)
            for asked in ("\n", "\r\n", "\r"):
                made = body_replaced(before + spelled(note), "H", new.replace("|", asked))
                if "|" in block + note:
                    assert made == before + spelled(result)
                else:  # nothing in the note tells of another
                    assert made == before + result.replace("|", "\n").encode()


@settings(deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(notes, st.data())
def test_headings_around_stay_and_so_does_every_byte_outside(data: bytes, drawn: st.DataObject) -> None:
    there = headings(data)
    assume(there)
    place = drawn.draw(st.integers(0, len(there) - 1))
    following = next((each for each in there[place + 1 :] if each.level <= there[place].level), None)
    body, end = there[place].end, len(data) if following is None else following.start
    new = drawn.draw(texts | st.sampled_from(["", "\n", "plain", "plain\n", "\n\nplain\n\n"]))
    splices = replace_body(data, new, body=body, end=end, path=PATH, most=PLENTY)
    result = apply(data, splices)
    assert apply(result, inverse(data, splices)) == data
    assert len(splices) <= 1
    assert result.startswith(data[:body])
    assert result.endswith(data[end:])
    # Every line of the text is there, and begins and ends as a line.
    filled = [line for line in lf(new.encode()).split(b"\n") if line.strip(b" \t")]
    made = [
        line for line in lf(result[body : len(result) - len(data) + end]).split(b"\n") if line.strip(b" \t")
    ]
    if filled:
        assert made == filled
    if following is not None:
        assert result[: len(result) - len(data) + end].endswith((b"\n", b"\r"))
    if new.strip("\n") == "plain":
        # Text that is a paragraph whatever stands around it takes and makes no heading.
        outside = [(each.level, each.text) for each in there if not body <= each.start < end]
        found = [(each.level, each.text) for each in headings(result)]
        assert found == outside


@settings(deadline=None)
@given(notes, texts)
def test_replacing_a_body_twice_by_the_same_text_changes_nothing_more(data: bytes, new: str) -> None:
    data = data if headings(data) else b"# H\n" + data.removeprefix(BOM)
    there = headings(data)
    once = apply(data, replace_body(data, new, body=there[0].end, end=len(data), path=PATH, most=PLENTY))
    end = len(once)
    assert replace_body(once, new, body=there[0].end, end=end, path=PATH, most=PLENTY) == ()


def test_the_body_of_a_note_that_is_not_text_or_would_be_too_large_is_left_alone() -> None:
    with pytest.raises(NotText):
        body_replaced(b"# H\n\xff\n", "H", "x")
    with pytest.raises(InvalidArgument) as invalid:
        body_replaced(b"# H\n", "H", "\ud800")
    assert invalid.value.argument == "newText"
    for new in ("xx", "x" * 100):
        with pytest.raises(NoteTooLarge):
            body_replaced(b"# H\nx\n", "H", new, most=6)
    assert body_replaced(b"# H\nxx\n", "H", "y", most=6) == b"# H\ny\n"


@pytest.mark.parametrize("end", LINE_ENDS)
def test_lines_of_a_body_that_stay_keep_their_line_ends(end: bytes) -> None:
    data = b"# H" + end + b"one\r\ntwo\nthree\r# N" + end
    assert body_replaced(data, "H", "one\n2\nthree") == b"# H" + end + b"one\r\n2\nthree\r# N" + end
