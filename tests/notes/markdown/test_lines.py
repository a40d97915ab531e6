"""Lines and frontmatter, counted in characters as elsewhere in bytes."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fsnotes.notes import frontmatter
from fsnotes.notes.lines import split_lines
from fsnotes.notes.markdown import front
from fsnotes.notes.markdown.lines import Lines, unified

_TEXTS = st.text(alphabet="ab\n\r\u00e9\u2028\x0b\x85\x0c\U0001f600\ufeff\0 ", max_size=40)


@settings(deadline=None)
@given(_TEXTS)
@example("")
@example("\r\n")
@example("a\n\r\n\rb")
def test_lines_are_those_that_are_counted_elsewhere(text: str) -> None:
    lines = Lines(text)
    pieces = [piece.decode() for piece in split_lines(text.encode())]
    assert len(lines) == len(pieces)
    offset = 0
    for number, piece in enumerate(pieces, start=1):
        assert lines.start(number) == offset
        for place in range(offset, offset + len(piece)):
            assert lines.line(place) == number
        offset += len(piece)
    assert lines.line(len(text)) == len(pieces)


@pytest.mark.parametrize("line", [0, 3, -1])
def test_a_line_that_is_not_there_has_no_start(line: int) -> None:
    with pytest.raises(IndexError):
        Lines("a\nb").start(line)


@settings(deadline=None)
@given(_TEXTS)
def test_unified_text_has_every_character_where_it_was(text: str) -> None:
    found = unified(text)
    assert len(found) == len(text)
    assert "\r" not in found
    assert all(new == old or old == "\r" for new, old in zip(found, text, strict=True))
    assert found.count("\n") == text.replace("\r\n", "\n").replace("\r", "\n").count("\n")


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["\ufeff", "---", "...", "--- ", "---x", "\n", "\r\n", "\r", "a: b", "\t", " ", "\u00e9", "----"]
        ),
        max_size=14,
    ).map("".join)
)
@example("\ufeff---\r\na: b\r\n---\r\nbody")
@example("---\n---")
def test_frontmatter_is_where_it_is_in_the_bytes(text: str) -> None:
    data = text.encode()
    found = front.bounds(text)
    expected = frontmatter.bounds(data)
    assert (found is None) == (expected is None)
    if found is not None:
        assert tuple(len(text[:offset].encode()) for offset in found) == expected
    assert len(text[: front.body_start(text)].encode()) == frontmatter.body_start(data)
