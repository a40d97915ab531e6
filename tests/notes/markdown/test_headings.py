"""Headings by CommonMark's rules, with markdown-it-py as the oracle."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from fsnotes.notes.markdown.blocks import Heading, Joined
from fsnotes.notes.markdown.walk import blocks, headings
from tests.notes.markdown.oracle import Found, block_texts, oracle_blocks, our_blocks


def _found(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.text) for heading in headings(text) if not heading.nested]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # ATX
        ("# a\n## b\n###### f\n", [(1, "a"), (2, "b"), (6, "f")]),
        ("####### g\n", []),
        ("#a\n#\ta\n#\n", [(1, "a"), (1, "")]),
        ("   # a\n    # code\n", [(1, "a")]),
        ("# a ##\n# b#\n# c \\#\n# ## #\n#  \n", [(1, "a"), (1, "b#"), (1, "c \\#"), (1, "##"), (1, "")]),
        ("\\# a\n", []),
        ("text\n# a\ntext\n", [(1, "a")]),
        ("# a\r\n## b\r### c", [(1, "a"), (2, "b"), (3, "c")]),
        ("# \u00e4\u2028b\u00a0c\x0bd\n", [(1, "\u00e4 b c d")]),
        # fences
        ("```\n# a\n```\n# b\n", [(1, "b")]),
        ("~~~\n# a\n```\n# b\n~~~\n# c\n", [(1, "c")]),
        ("````\n```\n# a\n`````\n# b\n", [(1, "b")]),
        ("```\n# a\n``` x\n# b\n", []),
        ("   ```\n# a\n   ```\n# b\n", [(1, "b")]),
        ("```\n# a\n    ```\n# b\n", []),
        ("    ```\n# a\n", [(1, "a")]),
        ("``` a`b\n# a\n", [(1, "a")]),
        ("~~~ a`b\n# a\n~~~\n", []),
        ("text\n```\n# a\n```\n", []),
        ("```\n# never closed\n", []),
        ("- ```\n  # a\n# b\n", [(1, "b")]),
        ("> ```\n> # a\n# b\n", [(1, "b")]),
        # indented code and paragraphs
        ("\n    # a\n", []),
        ("\t# a\n", []),
        ("text\n    # a\n===\n", [(1, "text # a")]),
        # HTML
        ("<!--\n# a\n\n# b\n-->\n# c\n", [(1, "c")]),
        ("<!-->\n# a\n", [(1, "a")]),
        ("<div>\n# a\n\n# b\n", [(1, "b")]),
        ("<script>\n# a\n\n# b\n</script>\n# c\n", [(1, "c")]),
        ("<PRE>\n# a\n</Pre> # b\n# c\n", [(1, "c")]),
        ("<?php\n# a\n?>\n# b\n", [(1, "b")]),
        ("<!DOCTYPE\n# a\n>\n# b\n", [(1, "b")]),
        ("<![CDATA[\n# a\n]]>\n# b\n", [(1, "b")]),
        ("<custom-tag a='b'>\n# a\n\n# b\n", [(1, "b")]),
        ("text\n<custom-tag>\n# a\n", [(1, "a")]),
        ("text\n<div>\n# a\n", []),
        ("<a b =>\n# c\n", [(1, "c")]),
        ("<https://example.org>\n# a\n", [(1, "a")]),
        # setext
        ("a\n=\n", [(1, "a")]),
        ("a\n-\n", [(2, "a")]),
        ("a\nb\n===\n", [(1, "a b")]),
        ("a\n\n===\n", []),
        ("a\n    ===\n", []),
        ("a\n= =\n", []),
        ("a\n--- -\n", []),
        ("===\n", []),
        ("---\n\n- a\n-\n", []),
        ("> a\n===\n", []),
        ("> a\n---\n", []),
        ("- a\n===\n", []),
        ("- a\n---\n", []),
        ("> a\nb\n===\n", []),
        # link reference definitions are no text
        ("[a]: /u\n===\n", []),
        ("[a]: /u\n===\n===\n", [(1, "===")]),
        ("[a]: /u\ntext\n===\n", [(1, "text")]),
        ("[a]: /u 'title'\n[b]:\n</v>\n(t\nt)\ntext\n---\n", [(2, "text")]),
        ("[a]: /u 'x\n===\n", [(1, "[a]: /u 'x")]),
        ("[a]: /u\n'x\n===\n", [(1, "'x")]),
        ("[a]: (\n===\n", [(1, "[a]: (")]),
        ("[]: /u\n===\n", [(1, "[]: /u")]),
        ("[a]\n===\n", [(1, "[a]")]),
        # containers
        ("> # a\n# b\n", [(1, "b")]),
        ("- # a\n# b\n", [(1, "b")]),
        ("1. # a\n\n   # b\n\n# c\n", [(1, "c")]),
        ("- a\n\n  # b\n", []),
        ("- a\n\n # b\n", [(1, "b")]),
        ("-\n\n  # b\n", [(1, "b")]),
        ("-\n  # b\n", []),
        ("* * *\n# a\n", [(1, "a")]),
        ("a\n2. # b\n", []),
        ("a\n1. # b\n# c\n", [(1, "c")]),
        (">" * 200 + " # a\n# b\n", [(1, "b")]),
        ("", []),
        ("\n\n", []),
        ("# \0\n", [(1, "\0")]),
    ],
)
def test_headings_at_the_top_are_those_of_commonmark(text: str, expected: list[tuple[int, str]]) -> None:
    assert _found(text) == expected


@pytest.mark.parametrize(
    "text", ["> # a\n", "> a\n> ---\n", "- # a\n", "1. a\n   ===\n", "- > - # a\n", "[^1]: # a\n", "-\t# a\n"]
)
def test_a_heading_in_a_container_is_one_and_is_nested(text: str) -> None:
    """As in Obsidian, whose outline leaves out headings in block quotes, callouts and list items."""
    found = list(headings(text))
    assert [(each.text, each.nested, text[each.text_start : each.text_end]) for each in found] == [
        ("a", True, "a")
    ]


def test_a_heading_tells_its_line_and_its_places() -> None:
    text = "\ufeff---\nx: 1\n---\r\n\n  # \u00e4 b ##\r\n text\rA\nB \n  ---\n> # q\n#\nend"

    def at(part: str) -> int:
        return text.index(part)

    assert list(headings(text)) == [
        Heading(1, "\u00e4 b", 5, at("  # "), at(" text"), at("\u00e4"), at(" ##"), nested=False),
        Heading(2, "text A B", 6, at(" text"), at("> #"), at("text"), at(" \n  ---"), nested=False),
        Heading(1, "q", 10, at("# q"), at("#\nend"), at("q\n"), at("\n#\nend"), nested=True),
        Heading(1, "", 11, at("#\nend"), at("end"), at("\nend"), at("\nend"), nested=False),
    ]


def test_a_heading_behind_definitions_begins_behind_them() -> None:
    text = "[a]: /u\n[b]: /v\n a *b*\nc\n=\n"
    (found,) = headings(text)
    assert text[found.start : found.end] == " a *b*\nc\n=\n"
    assert (found.line, found.text, text[found.text_start : found.text_end]) == (3, "a *b* c", "a *b*\nc")


def test_headings_are_found_one_by_one() -> None:
    """A title is the first heading, and a long note is not read for it."""
    text = "# a\n" + "b\n\n" * 1000
    assert next(headings(text)).text == "a"
    assert len(blocks(text).texts) == 1001


@settings(max_examples=600, deadline=None, derandomize=True)
@given(block_texts)
@example("- # a\n\n  # b\n\n# c")
@example("-\n\n  # a\n===")
@example("> a\n- b\n    # c\n---")
@example("[a]: /u\n2. # b")
@example("[a]: /u\n<a>\n# c")
@example("- [a]: /u\nb\n  # c")
def test_blocks_are_those_of_another_parser(text: str) -> None:
    """Headings, code, HTML and definitions.

    The oracle takes some lines for code that continue, indented, a paragraph in a block quote or in a list item
    wider than that; the reference implementations do not. The examples are always the same, so that none of these
    comes by chance.
    """
    quotes = re.search(r"^[ \t0-9.)*+-]*>", text, re.MULTILINE)
    assume(not (quotes and re.search(r"\S[ \t]*\n(?:    | {0,3}\t)", text)))
    assert our_blocks(text) == oracle_blocks(text)


@pytest.mark.parametrize("text", ["  10) a\n\tb\n", "> a\n    b\n", "10) a\n     - b\n"])
def test_a_paragraph_goes_on_with_indented_lines_where_the_oracle_sees_code(text: str) -> None:
    assert our_blocks(text).verbatim == []


_PLAIN_LINES = [
    "- a",
    "  - b",
    "    - c",
    "   2. d",
    "1. e",
    "- [f]: /u",
    "  - [f]",
    "# g",
    "  ## h #",
    "```",
    "  ```",
    "|i|",
    "|-|",
]


def _shown(text: str) -> tuple[Found, list[list[str]]]:
    """Return the blocks, headings not told apart by what they stand in, and the words of each text."""
    found, read = our_blocks(text), blocks(text, start=0)
    texts = [
        (text[start:end] if parts is None else Joined(text, parts).text).split()
        for start, end, parts in read.texts
    ]
    headings = [(*each[:3], True) for each in found.headings]
    return found._replace(headings=headings), texts


@settings(max_examples=600, deadline=None)
@given(block_texts | st.lists(st.sampled_from(_PLAIN_LINES) | st.just(""), max_size=10).map("\n".join))
@example("- a\n  2. d")
@example("- [f]: /u\n- [f]\n- [f]: /v\n# g")
def test_blocks_are_the_same_in_a_block_quote(text: str) -> None:
    """There, every line is taken in the general way; outside, what is frequent and plain is not."""
    # Where a tab ends depends on what stands before it.
    assume("\t" not in text)
    quoted = "".join(f"> {line}\n" for line in text.split("\n"))
    assert _shown(quoted) == _shown(text)
