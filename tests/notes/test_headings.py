"""Headings by CommonMark's rules, with markdown-it-py as the oracle, and linear whatever the text."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fsnotes.notes.headings import Heading, headings


def _found(text: str | bytes) -> list[tuple[int, str]]:
    data = text.encode() if isinstance(text, str) else text
    return [(heading.level, heading.text) for heading in headings(data)]


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
        (b"# \xff\n", [(1, "\ufffd")]),
    ],
)
def test_headings_are_those_of_commonmark(text: str | bytes, expected: list[tuple[int, str]]) -> None:
    assert _found(text) == expected


def test_a_heading_tells_its_line_and_its_bytes() -> None:
    data = b"---\nx: 1\n---\r\n\n# \xc3\xa4 #\r\ntext\rA\nB\n  ---\nend"
    start = data.index(b"\n\n#") + 1
    assert list(headings(data, start=start)) == [
        Heading(1, "\u00e4", 5, data.index(b"# "), data.index(b"text")),
        Heading(2, "text A B", 6, data.index(b"text"), data.index(b"end")),
    ]


_ORACLE = MarkdownIt("commonmark")
_PIECES = [
    "# ", "## ", "#", "a", "b c", "- ", "-", "--", "---", "1. ", "2. ", "1.", "> ", ">", "    ", "  ", " ", "\t", "```",
    "~~~", "````", "``` x", "<div>", "<!--", "-->", "<a>", "</a>", "<pre>", "</pre>", "===", "=", "* ",
    "***", "+ ", "_",
    "\\", "<?", "?>", "# x #", "<!A", "\u00e4",
]  # fmt: skip


def _oracle(text: str) -> list[tuple[int, int, str]]:
    try:
        tokens = _ORACLE.parse(text)
    except IndexError:
        # The oracle has its own troubles with HTML at the end of a text.
        reject()
    return [
        (int(token.tag[1]), (token.map or [0])[0] + 1, " ".join(tokens[place + 1].content.split()))
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0
    ]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.lists(st.sampled_from(_PIECES), max_size=6).map("".join), max_size=10).map("\n".join))
@example("- # a\n\n  # b\n\n# c")
@example("-\n\n  # a\n===")
@example("> a\n- b\n    # c\n---")
def test_headings_are_those_of_another_parser(text: str) -> None:
    """Link reference definitions are left out: the oracle ends a paragraph behind one, CommonMark does not."""
    assert [(heading.level, heading.line, heading.text) for heading in headings(text.encode())] == _oracle(
        text
    )


_UNITS = [
    "-", "- ", "* ", "1. ", ">", "> ", "`", "```", "~~~", "#", "# ", "=", "<", "<!--", "</a", "<a ", "[",
    "[a]:", "[a]: /u\n",
    "[a]: /u '",
    "(", "\\", "\t", " ", "-\n", "- \n", " \n", ">\n", "```\n", "<div>\n", "<!--\n", "a\n===\n", "[a\n===\n",
    "[a]: x\n===\n", "1.\n", "- -\n", " -\n", "\r", "***\n", "[a]: (", "[a]: <", "[\\", "<a a=", "<pre>\n",
]  # fmt: skip


def _slowest(prefix: str, size: int) -> float:
    slowest = 0.0
    for unit in _UNITS:
        for document in (
            prefix + unit * (size // len(unit)),
            (prefix + unit + "\n") * (size // (len(prefix + unit) + 1)),
            prefix * 120 + "\n" + (unit + "\n") * (size // (len(unit) + 1)),
        ):
            started = time.process_time()
            for _ in headings(document.encode()):
                pass
            slowest = max(slowest, time.process_time() - started)
    return slowest


@pytest.mark.parametrize("prefix", ["", "- "])
def test_no_repeated_delimiter_takes_more_than_linear_time(prefix: str) -> None:
    """Linear is a tenth of a second at worst."""
    assert _slowest(prefix, 16_000) < 1.5


@pytest.mark.slow
@pytest.mark.parametrize("prefix", ["", "[a]: ", "- > "])
def test_no_repeated_delimiter_takes_more_than_linear_time_in_a_large_note(prefix: str) -> None:
    """Linear is less than a second; what is quadratic takes minutes."""
    assert _slowest(prefix, 100_000) < 5
