"""Seams: what is blank, where lines begin, and which headings would draw text in, with markdown-it-py as the oracle."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fsnotes.notes.seams import begins_line, core, draws_in, ends_blank, without_bom
from tests.notes.strange_notes import BOM, LINE_ENDS, notes

blank_or_not = st.lists(
    st.tuples(
        st.sampled_from([b"", b" ", b"\t ", b"x", b" x ", b"\x0c", b"\xc2\xa0"]), st.sampled_from(LINE_ENDS)
    ),
    max_size=8,
)


@given(blank_or_not, st.sampled_from([b"", b" ", b"x"]))
def test_the_core_is_all_but_the_blank_lines_around_it(
    pieces: list[tuple[bytes, bytes]], last: bytes
) -> None:
    lines = [line + end for line, end in pieces] + ([last] if last else [])
    data = b"".join(lines)
    lines = data.splitlines(keepends=True)  # a CR and a LF that met are one line end
    filled = [number for number, line in enumerate(lines) if line.strip(b" \t\r\n")]
    found = core(b"above\n" + data + b"below", 6, 6 + len(data))
    if not filled:
        assert found is None
        return
    assert found is not None
    assert found.start == 6 + len(b"".join(lines[: filled[0]]))
    assert found.rest == 6 + len(b"".join(lines[: filled[-1] + 1]))
    assert (b"above\n" + data)[: found.end] == (b"above\n" + data)[: found.rest].rstrip(b"\r\n")


@pytest.mark.parametrize(
    ("data", "at", "expected"),
    [
        (b"", 0, True),
        (BOM, 3, True),
        (BOM + b"x", 3, True),
        (b"x", 0, True),
        (b"x", 1, False),
        (b"x\n", 2, True),
        (b"x\r", 2, True),
        (b"x\r\n", 3, True),
        (b"x\x0b", 2, False),
        ("x\u2028".encode(), 4, False),
    ],
)
def test_a_line_begins_at_the_start_and_behind_a_line_end(data: bytes, at: int, *, expected: bool) -> None:
    assert begins_line(data, at) == expected


def test_a_mark_is_taken_from_the_beginning_once() -> None:
    assert without_bom(BOM + b"a" + BOM) == b"a" + BOM
    assert without_bom(b"a" + BOM) == b"a" + BOM


@pytest.mark.parametrize(
    ("text", "expected"), [(b"", True), (b"\n", True), (b"a", False), (b"a\n", False), (b"a\n \t\n", True)]
)
def test_a_text_ends_blank_when_its_last_line_is(text: bytes, *, expected: bool) -> None:
    assert ends_blank(text) == expected


_MARKDOWN = MarkdownIt("commonmark")


def headings(data: bytes) -> list[tuple[int, str, str]]:
    tokens = _MARKDOWN.parse(data.decode())
    return [
        (token.map[0], token.tag, tokens[number + 1].content)
        for number, token in enumerate(tokens)
        if token.type == "heading_open" and token.map is not None and token.level == 0
    ]


# Without lists that a paragraph keeps from beginning, since that changes what all their lines are.
_FOLLOWING = [
    "text", "Setext", "===", "---", " --", "-", "=", "- - -", "    code", "\tcode", "- item", "-", "* ", "1. one",
    "01. one", "1.", "> quote", "```", "``` a`b", "~~~", "# h", "#tag", "***", "___", "<div>", "<!--", "[a]: /u", "",
    " ", "   ===", "--- x", "=== =", "+ x", "1) x", "####### x", "| a | b |", "***x",
]  # fmt: skip


@settings(deadline=None, max_examples=400)
@given(st.lists(st.sampled_from(_FOLLOWING), max_size=5), st.sampled_from(LINE_ENDS))
@example(["    code", "---"], b"\n")
@example(["2. two", "---"], b"\n")
def test_text_is_drawn_into_no_heading_where_it_is_not_said(following: list[str], end: bytes) -> None:
    """Sound: where the answer is no, the headings are the same but for a line's shift."""
    data = b"".join(line.encode() + end for line in following)
    if not draws_in(data, 0):
        shifted = [(line - 1, tag, text) for line, tag, text in headings(b"text" + end + data)]
        assert shifted == headings(data)


@pytest.mark.parametrize("end", LINE_ENDS)
@pytest.mark.parametrize(
    ("following", "expected"),
    [
        ("Setext|===", True),
        ("Setext|---|text", True),
        ("two|lines|===", True),
        ("---", True),
        ("===", True),
        ("    code|---", True),
        ("2. two|===", True),
        ("#tag|===", True),
        ("", False),
        ("# h", False),
        ("# h|---", False),
        ("text", False),
        ("text||---", False),
        ("- item|---", False),
        ("1. item|---", False),
        ("> quote|---", False),
        ("```|---|```", False),
        ("***", False),
        ("- - -", False),
        ("    code", False),
        ("|---", False),
    ],
)
def test_an_underlined_heading_draws_text_in_and_nothing_else_does(
    following: str, end: bytes, *, expected: bool
) -> None:
    data = b"above" + end + following.encode().replace(b"|", end)
    at = 5 + len(end)
    assert draws_in(data, at) == expected
    before, after = headings(data[at:]), headings(b"text" + end + data[at:])
    assert ([(line - 1, tag, text) for line, tag, text in after] != before) == expected


def test_no_more_than_a_thousand_lines_are_looked_at() -> None:
    assert draws_in(b"text\n" * 999 + b"===\n", 0)
    assert not draws_in(b"text\n" * 1_000 + b"===\n", 0)


@given(notes)
def test_nothing_is_drawn_in_at_the_end(data: bytes) -> None:
    assert not draws_in(data, len(data))
