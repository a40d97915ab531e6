"""Code, HTML, math, comments, tables, definitions and footnotes as blocks, beside what the oracle compares."""

from __future__ import annotations

import pytest

from fsnotes.notes.markdown.blocks import Kind
from fsnotes.notes.markdown.walk import MAX_NESTING, blocks

F, N, H, M, C = Kind.FENCED, Kind.INDENTED, Kind.HTML, Kind.MATH, Kind.COMMENT


def verbatim(text: str) -> list[tuple[Kind, str]]:
    return [(kind, text[start:end]) for kind, start, end in blocks(text).verbatim]


def titles(text: str) -> list[str]:
    return [heading.text for heading in blocks(text).headings if not heading.nested]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a\n```x\nb\n```\nc\n", [(F, "```x\nb\n```\n")]),
        ("```\r\na\r\n```\r\nb", [(F, "```\r\na\r\n```\r\n")]),
        ("  ~~~ `\n\na\n~~~~", [(F, "  ~~~ `\n\na\n~~~~")]),
        ("```\na", [(F, "```\na")]),
        ("- ```\n  a\n\n  ```\n  b", [(F, "```\n  a\n\n  ```\n")]),
        ("- ```\n  a\nb", [(F, "```\n  a\n")]),
        ("> ```\n> a\n\n> b", [(F, "```\n> a\n")]),
        ("> ```\n> a\n> ```\n> b", [(F, "```\n> a\n> ```\n")]),
        ("\n    a\n\n\tb\n\nc", [(N, "    a\n\n\tb\n")]),
        ("- a\n\n      b\n\n  c", [(N, "b\n")]),
        (">     a\n>     b\n> c", [(N, "a\n>     b\n")]),
        ("<div>\na\n\nb", [(H, "<div>\na\n")]),
        ("<!-- a\n\nb --> c\nd", [(H, "<!-- a\n\nb --> c\n")]),
        ("- <pre>\n  a\n\n  </pre>\n  b", [(H, "<pre>\n  a\n\n  </pre>\n")]),
        ("- <b>\n  a\n\n  c", [(H, "<b>\n  a\n")]),
        ("> <!--\n> a\nb", [(H, "<!--\n> a\n")]),
        ("$$\na\n\n# b\n$$\nc", [(M, "$$\na\n\n# b\n$$")]),
        ("a\n$$\nb\n=\n$$\nc", [(M, "$$\nb\n=\n$$")]),
        ("$$ a\n- b\n= c $$", [(M, "$$ a\n- b\n= c $$")]),
        ("%%\na\n\n# b\n%% c", [(C, "%%\na\n\n# b\n%%")]),
        ("%% a\n\n# b %%\n", [(C, "%% a\n\n# b %%")]),
        ("a\n%%\n\nb\n%%", [(C, "%%\n\nb\n%%")]),
        ("- $$\n  a\n  $$\n- b", [(M, "$$\n  a\n  $$")]),
        ("> %%\n> a\n> b %% c\n", [(C, "%%\n> a\n> b %%")]),
        ("> %%\n> a\n\nb %%", [(C, "%%\n> a\n")]),
        ("  $$\na\n  $$", [(M, "  $$\na\n  $$")]),
        ("    $$\na\n$$", [(N, "    $$\n")]),
    ],
)
def test_a_verbatim_block_reaches_from_its_first_line_to_its_end(
    text: str, found: list[tuple[Kind, str]]
) -> None:
    assert verbatim(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "$$ a $$",
        "$$ a\n\nb $$",
        "a\n$$ b\nc $$",
        "$$\na",
        "%% a %%",
        "%% a",
        "%%",
        "a\n%% b\n\nc %%",
        "$ a\nb $",
        "% a\n% b",
        "\\$$\na\n$$",
    ],
)
def test_math_and_comments_that_are_closed_elsewhere_or_nowhere_make_no_block(text: str) -> None:
    assert verbatim(text) == []


def test_headings_in_comments_and_math_are_none() -> None:
    """In CommonMark these are headings; in Obsidian the text is not shown, or is TeX."""
    assert titles("%%\n# a\n%%\n# b\n") == ["b"]
    assert titles("$$\na\n=\nb\n$$\n# c\n") == ["c"]
    assert titles("%%\n# a\n") == ["a"]


def test_what_follows_a_comment_on_its_line_is_text() -> None:
    text = "%%\na\n%% b\nc\n---\n"
    (heading,) = blocks(text).headings
    assert (heading.text, text[heading.start : heading.end]) == ("b c", "%% b\nc\n---\n")


def test_the_rows_of_a_table_are_no_paragraph() -> None:
    """In CommonMark, the first is a heading."""
    assert titles("| a |\n|---|\n===\n") == []
    assert titles("| a |\n|---|\n| b |\n\nc\n===\n") == ["c"]
    assert titles("| a |\n---\n") == ["| a |"]
    assert titles("a\n-:\n===\n") == ["a -:"]
    (table,) = blocks("x\na|b\n-|-\n1|2|3\nc\n> d").tables
    assert (table.columns, table.rows) == (2, [(2, 5), (10, 15), (16, 17)])


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("|a|\n|-|\n|b|\n# c", 2),
        ("|a|\n|-|\n    b", 1),
        ("|a|\n|-|\n- b", 1),
        ("|a|\n|-|\n<div>", 1),
        ("|a|\n|-|\n```\n|b|", 1),
        ("> |a|\n> |-|\nb", 1),
        ("- |a|\n  |-|\n  b\n\n  c", 2),
        ("|a|\n|-|\n***", 1),
        ("|a|\n|-|-|", 0),
        ("a\n|-|", 0),
        ("|a|\n\n|-|", 0),
        ("|\n|-|", 0),
        ("|a|b|\n|-||", 0),
        ("|a|b|\n|-|:", 0),
        (" |\n-:", 0),
        ("||\n|-|", 1),
        ("|a\\||b|\n|-|-|", 1),
    ],
)
def test_a_table_ends_where_something_else_begins(text: str, rows: int) -> None:
    assert sum(len(table.rows) for table in blocks(text).tables) == rows


def test_a_footnote_holds_blocks() -> None:
    """In CommonMark the last is indented code, and a heading in a footnote would be text."""
    assert verbatim("[^1]: a\n\n        b\n") == [(N, "b\n")]
    assert verbatim("[^1]: a\n\n    b\n") == []
    found = blocks("[^a-1]: # b\n\nc\n[^2]:\n    # d\n# e\n").headings
    assert [(each.text, each.nested) for each in found] == [("b", True), ("d", True), ("e", False)]


def _defined(text: str) -> list[tuple[str, str, str]]:
    return [
        (each.label, text[each.start : each.end], text[each.destination_start : each.destination_end])
        for each in blocks(text).definitions
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[A  \u00c4]: /u", [("a \u00e4", "[A  \u00c4]: /u", "/u")]),
        ("[a]:\n<b c>\n(t\nu)", [("a", "[a]:\n<b c>\n(t\nu)", "b c")]),
        ("> [a]:\n> /u\n> 't'\n> b", [("a", "[a]:\n> /u\n> 't'", "/u")]),
        ("> [a\n> b]: /u\n> [c]: /v\nd", [("a b", "[a\n> b]: /u", "/u"), ("c", "[c]: /v", "/v")]),
        ("- [a]: /u\n  [b]: /v", [("a", "[a]: /u", "/u"), ("b", "[b]: /v", "/v")]),
        ("[a]: /u\n't' b", [("a", "[a]: /u", "/u")]),
        (
            "[a]: /u\r\n[b]: /v\r[c]: /w",
            [("a", "[a]: /u", "/u"), ("b", "[b]: /v", "/v"), ("c", "[c]: /w", "/w")],
        ),
        ("[a]: /u 'b\n2. c'", [("a", "[a]: /u 'b\n2. c'", "/u")]),
        ("a\n[b]: /u", []),
        ("[" + "a" * 1000 + "]: /u", []),
    ],
)
def test_definitions_have_their_places(text: str, found: list[tuple[str, str, str]]) -> None:
    assert _defined(text) == found


def test_a_line_behind_a_finished_definition_begins_something_new() -> None:
    """As the oracle has it. The reference implementations let it continue a paragraph that is empty in the end."""
    assert verbatim("[a]: /u\n    b\n") == [(N, "    b\n")]
    assert verbatim("[a]: /u\n<b>\n") == [(H, "<b>\n")]
    assert titles("- [a]: /u\nb\n  # c\n") == ["c"]
    # Where the line could still be the title, the paragraph goes on.
    assert verbatim("[a]: /u\n    'b\n") == []
    assert _defined("[a]: /u\n    'b\n    c'\n")[0][1] == "[a]: /u\n    'b\n    c'"


def test_containers_nest_to_a_bound() -> None:
    """CommonMark has none."""
    text = "> " * (MAX_NESTING - 1) + "- # a\n" + "> " * MAX_NESTING + "- # b\n"
    assert [(each.text, each.nested) for each in blocks(text).headings] == [("a", True)]
    deep = [f"{'  ' * level}- {level}\n" for level in range(MAX_NESTING + 1)]
    texts = [start for start, _, _ in blocks("".join(deep)).texts]
    assert texts == [sum(map(len, deep[: level + 1])) - len(f"{level}\n") for level in range(MAX_NESTING)]


def test_an_indented_item_behind_a_block_quote_is_not_in_it() -> None:
    (heading,) = blocks("> - a\n  - b\n\n    # c\n").headings
    assert (heading.text, heading.nested) == ("c", True)


def test_tabs_are_columns_before_a_block_and_characters_in_it() -> None:
    text = ">\t# a\tb\n-\t\tc\n\n\t# d\n1.\te\n\n\t- f\tg\n"
    assert [text[each.start : each.end] for each in blocks(text).headings] == ["# a\tb\n", "# d\n"]
    assert [text[start:end] for start, end, _ in blocks(text).texts] == ["a\tb", "d", "e\n", "f\tg\n"]
    assert verbatim(text) == [(N, "c\n")]
