"""Line ends: text takes those around it, and compares regardless of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsnotes.notes.line_ends import LfText, adapted, count_ends, line_numbers, surrounding, with_lf
from tests.notes.strange_notes import lf, notes, offsets

soups = st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b"a", b"\xc3\xa9"]), max_size=20).map(b"".join)


@given(soups | notes)
def test_offsets_in_the_text_with_lf_are_those_of_the_note(data: bytes) -> None:
    assert with_lf(data) == lf(data)
    text = LfText(data)
    assert text.data == lf(data)
    assert [text.offset(at) for at in range(len(text.data) + 1)] == offsets(data)


@given(soups, soups, soups)
def test_offsets_in_a_stretch_are_those_of_the_note(before: bytes, part: bytes, after: bytes) -> None:
    if before.endswith(b"\r") and (part + after).startswith(b"\n"):
        before += b"-"
    if part.endswith(b"\r") and after.startswith(b"\n"):
        part += b"-"
    text = LfText(before + part + after, len(before), len(before + part))
    assert text.data == lf(part)
    assert [text.offset(at) for at in range(len(text.data) + 1)] == [len(before) + at for at in offsets(part)]


def naive_surrounding(data: bytes, start: int, end: int) -> bytes:
    ends = [(found.start(), found.end(), found.group()) for found in re.finditer(rb"\r\n|\r|\n", data)]
    before = [group for _, stop, group in ends if stop <= start]
    after = [group for begin, _, group in ends if begin >= end]
    every = [group for _, _, group in ends]
    return [*before[-1:], *after[:1], *every[:1], b"\n"][0]


@given(soups | notes, st.data())
def test_text_takes_the_line_end_before_it_else_after_it_else_the_first(
    data: bytes, drawn: st.DataObject
) -> None:
    places = sorted(
        drawn.draw(
            st.lists(st.sampled_from(offsets(data)), max_size=8).filter(lambda found: len(found) % 2 == 0)
        )
    )
    spans = list(zip(places[::2], places[1::2], strict=True))
    assert surrounding(data, spans) == [naive_surrounding(data, *span) for span in spans]


@pytest.mark.parametrize(
    ("data", "span", "line_end"),
    [
        (b"", (0, 0), b"\n"),
        (b"no line end", (3, 5), b"\n"),
        (b"a\nb\r\nc", (3, 3), b"\n"),
        (b"a\nb\r\nc", (5, 5), b"\r\n"),
        (b"a\r\nb\nc", (0, 1), b"\r\n"),
        (b"a\r\nb", (0, 4), b"\r\n"),
        (b"a\r\rb\n", (3, 3), b"\r"),
        (b"a\r\nb\rc\n", (1, 4), b"\r"),
        (b"a\r\nb\rc\n", (1, 5), b"\n"),
    ],
)
def test_the_line_end_of_a_place_in_a_mixed_note(data: bytes, span: tuple[int, int], line_end: bytes) -> None:
    assert surrounding(data, [span]) == [line_end]


@pytest.mark.parametrize(
    ("text", "line_end", "following", "expected"),
    [
        (b"a\nb\n", b"\r\n", b"x", b"a\r\nb\r\n"),
        (b"a\nb\n", b"\r", b"x", b"a\rb\r"),
        (b"a\nb\n", b"\r", b"\r", b"a\rb\r"),
        (b"a\nb\n", b"\r", b"\n", b"a\r\nb\r\n"),
        (b"a\nb", b"\n", b"\n", b"a\nb"),
    ],
)
def test_a_line_end_never_joins_with_the_one_that_follows(
    text: bytes, line_end: bytes, following: bytes, expected: bytes
) -> None:
    made = adapted(text, line_end, following=following)
    assert made == expected
    assert count_ends(made + following) == count_ends(text) + count_ends(following)


@given(soups)
def test_lines_are_counted_as_they_are_split(data: bytes) -> None:
    places = offsets(data)
    expected = [len((data[:place] + b"x").splitlines()) for place in places]
    assert list(line_numbers(data, places)) == expected
    assert count_ends(data) == len((data + b"x").splitlines()) - 1
