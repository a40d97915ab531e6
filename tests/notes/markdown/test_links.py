"""Links of every form with their exact places, by CommonMark's rules and Obsidian's."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from fsnotes.notes.markdown.inlines import inlines
from fsnotes.notes.markdown.links import Form, Link
from fsnotes.notes.markdown.walk import blocks
from tests.notes.markdown.oracle import Destination, inline_texts, oracle_links, our_links


class Shown(NamedTuple):
    """A link with what stands in its places, instead of where."""

    form: Form
    whole: str
    path: str | None
    target: str
    fragment: str | None = None
    fragment_written: str | None = None
    alias: str | None = None
    embed: bool = False
    external: bool = False


def links(text: str) -> tuple[Link, ...]:
    return inlines(blocks(text)).links


def shown(text: str) -> list[Shown]:
    def at(span: tuple[int, int] | None) -> str | None:
        return None if span is None else text[slice(*span)]

    found = links(text)
    assert all(link.raw == at(link.path) for link in found if link.path is not None)
    return [
        Shown(
            link.form,
            text[link.start : link.end],
            at(link.path),
            link.target,
            link.fragment,
            at(link.fragment_span),
            at(link.alias),
            link.embed,
            link.external,
        )
        for link in found
    ]


def targets(text: str) -> list[str]:
    return [link.target for link in links(text)]


W, N, R, D, A = Form.WIKI, Form.INLINE, Form.REFERENCE, Form.DEFINITION, Form.AUTOLINK


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[a]]", Shown(W, "[[a]]", "a", "a")),
        ("[[a/b c.md]]", Shown(W, "[[a/b c.md]]", "a/b c.md", "a/b c.md")),
        ("[[a|b c]]", Shown(W, "[[a|b c]]", "a", "a", alias="b c")),
        ("[[a|b|c]]", Shown(W, "[[a|b|c]]", "a", "a", alias="b|c")),
        ("[[a|]]", Shown(W, "[[a|]]", "a", "a", alias="")),
        ("[[a#H i]]", Shown(W, "[[a#H i]]", "a", "a", "H i", "H i")),
        ("[[a#H#I]]", Shown(W, "[[a#H#I]]", "a", "a", "H#I", "H#I")),
        ("[[a#^b-1|c]]", Shown(W, "[[a#^b-1|c]]", "a", "a", "^b-1", "^b-1", "c")),
        ("[[a#]]", Shown(W, "[[a#]]", "a", "a", "", "")),
        ("[[#H]]", Shown(W, "[[#H]]", "", "", "H", "H")),
        ("[[ a # H |b]]", Shown(W, "[[ a # H |b]]", "a", "a", "H", "H", "b")),
        ("![[a.png|100x20]]", Shown(W, "![[a.png|100x20]]", "a.png", "a.png", alias="100x20", embed=True)),
        ("[[a\\|b]]", Shown(W, "[[a\\|b]]", "a", "a", alias="b")),
        ("[[a`b]]`", Shown(W, "[[a`b]]", "a`b", "a`b")),
        ("[[a%20b]]", Shown(W, "[[a%20b]]", "a%20b", "a%20b")),
        ("[[https://x]]", Shown(W, "[[https://x]]", "https://x", "https://x")),
        (
            "[[\u65e5\u672c\U0001f600]]",
            Shown(W, "[[\u65e5\u672c\U0001f600]]", "\u65e5\u672c\U0001f600", "\u65e5\u672c\U0001f600"),
        ),
        ("[[a$b$|c]]", Shown(W, "[[a$b$|c]]", "a$b$", "a$b$", alias="c")),
        ("[b](a.md)", Shown(N, "[b](a.md)", "a.md", "a.md", alias="b")),
        ("[](a)", Shown(N, "[](a)", "a", "a", alias="")),
        ("[b]()", Shown(N, "[b]()", "", "", alias="b")),
        ("[b](<>)", Shown(N, "[b](<>)", "", "", alias="b")),
        ("[b]( a 't' )", Shown(N, "[b]( a 't' )", "a", "a", alias="b")),
        ('[b](a "t)")', Shown(N, '[b](a "t)")', "a", "a", alias="b")),
        ("[b](a (t))", Shown(N, "[b](a (t))", "a", "a", alias="b")),
        ("[b](<a (c d>)", Shown(N, "[b](<a (c d>)", "a (c d", "a (c d", alias="b")),
        ("[b](<a\\>b>)", Shown(N, "[b](<a\\>b>)", "a\\>b", "a>b", alias="b")),
        ("[b](a%20b.md)", Shown(N, "[b](a%20b.md)", "a%20b.md", "a b.md", alias="b")),
        ("[b](%e2%82%AC%ff)", Shown(N, "[b](%e2%82%AC%ff)", "%e2%82%AC%ff", "%e2%82%AC%ff", alias="b")),
        ("[b](%C3%A4%)", Shown(N, "[b](%C3%A4%)", "%C3%A4%", "\u00e4%", alias="b")),
        ("[b](a(c(d))e)", Shown(N, "[b](a(c(d))e)", "a(c(d))e", "a(c(d))e", alias="b")),
        ("[b](a\\)c)", Shown(N, "[b](a\\)c)", "a\\)c", "a)c", alias="b")),
        (
            "[b](a&amp;&#99;&#x64;&bad;)",
            Shown(N, "[b](a&amp;&#99;&#x64;&bad;)", "a&amp;&#99;&#x64;&bad;", "a&cd&bad;", alias="b"),
        ),
        (
            "[b](a&#0;&#xFFFFFF;)",
            Shown(N, "[b](a&#0;&#xFFFFFF;)", "a&#0;&#xFFFFFF;", "a\ufffd\ufffd", alias="b"),
        ),
        ("[b](a\0c)", Shown(N, "[b](a\0c)", "a\0c", "a\0c", alias="b")),
        ("[b](a?c.md)", Shown(N, "[b](a?c.md)", "a?c.md", "a?c.md", alias="b")),
        ("[b](a.md#H%20i)", Shown(N, "[b](a.md#H%20i)", "a.md", "a.md", "H i", "H%20i", "b")),
        ("[b](<a c#H i>)", Shown(N, "[b](<a c#H i>)", "a c", "a c", "H i", "H i", "b")),
        ("[b](a#^id)", Shown(N, "[b](a#^id)", "a", "a", "^id", "^id", "b")),
        ("[b](#H)", Shown(N, "[b](#H)", "", "", "H", "H", "b")),
        ("[b](a\\#c)", Shown(N, "[b](a\\#c)", "a", "a", "c", "c", "b")),
        ("[b](a%23c)", Shown(N, "[b](a%23c)", "a%23c", "a#c", alias="b")),
        ("[b](a&#35;c)", Shown(N, "[b](a&#35;c)", "a&#35;c", "a#c", alias="b")),
        ("![b|9](a.png)", Shown(N, "![b|9](a.png)", "a.png", "a.png", alias="b|9", embed=True)),
        ("[b\\]`]`](a)", Shown(N, "[b\\]`]`](a)", "a", "a", alias="b\\]`]`")),
        (
            "[b](https://x/y#z)",
            Shown(N, "[b](https://x/y#z)", "https://x/y#z", "https://x/y#z", alias="b", external=True),
        ),
        (
            "[b](mailto:x@y.z)",
            Shown(N, "[b](mailto:x@y.z)", "mailto:x@y.z", "mailto:x@y.z", alias="b", external=True),
        ),
        ("[b](//x/y)", Shown(N, "[b](//x/y)", "//x/y", "//x/y", alias="b", external=True)),
        (
            "[b](obsidian://x%20)",
            Shown(N, "[b](obsidian://x%20)", "obsidian://x%20", "obsidian://x%20", alias="b", external=True),
        ),
        ("[b](<Re: c.md>)", Shown(N, "[b](<Re: c.md>)", "Re: c.md", "Re: c.md", alias="b")),
        ("[b](c:/d.md)", Shown(N, "[b](c:/d.md)", "c:/d.md", "c:/d.md", alias="b")),
        ("<https://x/y#z>", Shown(A, "<https://x/y#z>", "https://x/y#z", "https://x/y#z", external=True)),
        ("<a@b.c>", Shown(A, "<a@b.c>", "a@b.c", "a@b.c", external=True)),
        ("[b]: a.md", Shown(D, "[b]: a.md", "a.md", "a.md")),
        (
            "[b]:\n  <a c.md#H>\n  't\nu'\n",
            Shown(D, "[b]:\n  <a c.md#H>\n  't\nu'", "a c.md", "a c.md", "H", "H"),
        ),
        ("[b]: <>", Shown(D, "[b]: <>", "", "")),
        ("  [b]: a.md 't'  \n", Shown(D, "[b]: a.md 't'", "a.md", "a.md")),
    ],
)
def test_a_link_has_its_parts_and_their_places(text: str, expected: Shown) -> None:
    assert shown(text) == [expected]
    for before, after in (
        ("x ", " y"),
        ("- ", ""),
        ("> ", ""),
        ("> - x\n>\n>   ", "\n"),
        ("a\n\n", "\r\n\r\nb"),
    ):
        if "\n" not in text and expected.form is not D:
            assert shown(before + text + after) == [expected]


def test_references_lead_where_the_first_definition_of_their_label_leads() -> None:
    text = "[t][B  c] [b C][] [b\nc] ![b c] [no][b c]\n\n[b c]: <a d.md#e> 't'\n[B\nC]: other\n"
    ref = Shown(R, "", None, "a d.md", "e")
    assert shown(text) == [
        ref._replace(whole="[t][B  c]", alias="t"),
        ref._replace(whole="[b C][]", alias="b C"),
        ref._replace(whole="[b\nc]", alias="b\nc"),
        ref._replace(whole="![b c]", alias="b c", embed=True),
        ref._replace(whole="[no][b c]", alias="no"),
        Shown(D, "[b c]: <a d.md#e> 't'", "a d.md", "a d.md", "e", "e"),
        Shown(D, "[B\nC]: other", "other", "other"),
    ]
    assert {link.label for link in links(text)} == {"b c"}


def test_a_reference_needs_its_definition() -> None:
    assert shown("[t][b] [b][] [b]\n") == []
    assert targets("[b] [[b]c] [a [b]]\n\n[b]: x\n") == ["x"] * 4
    assert shown("[b][c]\n\n[b]: x\n")[0].form is D
    assert targets("[ ] [x] [^1]\n\n[]: a\n[^1]: b\n") == []


@pytest.mark.parametrize(
    "text",
    [
        # code
        "`[[n]] [n](n)`",
        "``[[n]]` [[n]]``",
        "    [[n]]\n",
        "\t[[n]]",
        "```\n[[n]]\n```\n",
        "~~~ x\n[n](n)",
        "- ```\n  [[n]]\n  ```\n",
        "> ```\n> [[n]]\n",
        "- x\n\n      [[n]]\n",
        "`a\n[[n]]`",
        "> `a\n> [[n]]`",
        # HTML
        "<!-- [[n]] -->",
        "a <!-- [[n]]\n[n](n) --> b",
        "<div>\n[[n]]\n</div>",
        "<a href='[[n]]'>",
        'a <b c="[n](n)">',
        "<pre>\n\n[[n]]\n</pre>",
        "a <? [[n]] ?>",
        "a <!X [[n]] >",
        "a <![CDATA[ [[n]] ]]>",
        "<?\n\n[[n]]",
        # comments and math
        "%%[[n]]%%",
        "a %%\n[n](n) %% b",
        "%%\n[[n]]\n\n[[n]]\n%%",
        "%% x\n\n[[n]] %%",
        "$[[n]]$",
        "a $x [n](n)$ b",
        "$$[[n]]$$",
        "a $$x\n[[n]]$$",
        "$$\n[[n]]\n\n[[n]]\n$$",
        "> $$\n> [[n]]\n> $$",
        "- %%\n  [[n]]\n\n  [[n]] %%",
        # escapes, and what is not quite a link
        "\\[[n]]",
        "[\\[n]]",
        "\\[n](n)",
        "[n\\](n)",
        "[n](n n)",
        "[n](<n\nn>)",
        "[n] (n)",
        "[n](n",
        "[[n]",
        "[[\nn]]",
        "[[]]",
        "[[ ]]",
        "[[|n]]",
        "[[#]]",
        "[[#|n]]",
        "[n](<n>n)",
        "[n]((n)",
        "[n](n\x01)",
        "\\<n:n>",
        "<n: n>",
        "https://n.example/[n]",
        "[n]:",
        "[n]",
        "[n][n]",
        "[n]: <n",
        "[]: n",
        "a\n[n]: n",
        "[n]: n n",
        "[n]: n 'n' n",
        "(n)[n]",
        "! [n]",
        "---\nn: '[[n]]'\n---\n",
        "[n](n\\",
    ],
)
def test_this_holds_no_link(text: str) -> None:
    assert links(text) == ()
    assert targets(
        text + "\n\n[[y]]" if not re.search(r"~~~|<\?\n|<pre>|> ```|> \$\$", text) else "[[y]]"
    ) == ["y"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # what looks like code, HTML, comments or math and is none
        ("`[[y]]", ["y"]),
        ("``[[y]]`", ["y"]),
        ("\\`[[y]]`", ["y"]),
        ("text\n    [[y]]", ["y"]),
        ("- x\n\n    [[y]]", ["y"]),
        ("<!-- [[y]]", []),
        ("a <!-- [[y]]", ["y"]),
        ("a <b [[y]]", ["y"]),
        ("<a>[[y]]</a> b", ["y"]),
        ("<a>\n[[y]]", []),
        ("a <b>[[y]]</b>", ["y"]),
        ("%% [[y]]", ["y"]),
        ("% [[y]] %", ["y"]),
        ("50%[[y]]%", ["y"]),
        ("$5 [[y]] $6", ["y"]),
        ("$x [[y]] $", ["y"]),
        ("$[[y]]", ["y"]),
        ("$x\n[[y]]$", ["y"]),
        ("\\$x[[y]]$", ["y"]),
        ("$x\\$[[y]]", ["y"]),
        ("x$a$ [[y]] $b$", ["y"]),
        ("$$ [[y]]\n\n$$", ["y"]),
        ("$$\n[[y]]", ["y"]),
        ("%%\n[[y]]\n", ["y"]),
        ("a\n%% b\n\n[[y]]%%", ["y"]),
        ("$$\nx\n$$ [[y]]\n[[z]]", ["y", "z"]),
        ("%%\nx\n%% [[y]]", ["y"]),
        ("a\n$$\n[[n]]\n$$\n[[y]]", ["y"]),
        ("> %%\n> [[n]]\n\n[[y]]\n\n%%", ["y"]),
        ("`a` [[y]] `b`", ["y"]),
        # escapes
        ("\\\\[[y]]", ["y"]),
        ("\\![[y]]", ["y"]),
        ("!\\[[y]]", []),
        ("\\[[[y]]]", ["y"]),
        # links in links
        ("[[y]](z)", ["z", "y"]),
        ("![[y]](z)", ["z", "y"]),
        ("[a [[y]] b](z)", ["z", "y"]),
        ("[![y](a)](b)", ["b", "a"]),
        ("[a [b](c) d](e)", ["c"]),
        ("![a [b](c) d](e)", ["e", "c"]),
        ("[[a](b)](c)", ["b"]),
        ("[a](b(c 't')", []),
        ("[a <xx:y> b](c)", ["c", "xx:y"]),
        ("[a [b] c](d)\n\n[b]: e", ["e", "e"]),
        ("[[[y]]]", ["y"]),
        ("[[a][[y]]", ["y"]),
        ("[[y]][[z]]", ["y", "z"]),
        # where lines end
        ("> [a\n> b](c\n> 't')", ["c"]),
        ("[a](\nb\n't\nu'\n)", ["b"]),
        ("- [a\n  b](c)", ["c"]),
        ("[a\nb](c)", ["c"]),
        ("[a](b)\r\n[c](d)\r[e](f)", ["b", "d", "f"]),
        ("> [a\nb](c)", ["c"]),
        # blocks end what is open
        ("[a\n\nb](c)", []),
        ("`a\n\n[[y]] `", ["y"]),
        ("- `a\n- [[y]]`", ["y"]),
        ("# `a\n[[y]]`", ["y"]),
        ("[[y]]\n===\n", ["y"]),
        ("# [[y]] #\n", ["y"]),
        ("[a]: x\n[[y]]\n---\n", ["x", "y"]),
    ],
)
def test_these_and_no_others_are_links(text: str, found: list[str]) -> None:
    assert targets(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("|a|b|\n|-|-|\n|[[x\\|y]]|![[z.png\\|9]]|\n", ["x", "z.png"]),
        ("a|b\n-|-\n[[x]] | [y](z)", ["x", "z"]),
        ("|a|b|\n|-|-|\n|[[x|y]]|[[z]]|", []),  # the bar is the cells'; the third cell is dropped
        ("|a|b|\n|-|-|\n|`|[[y]]|\n|`|[[z]]|", ["y", "z"]),  # no code from row to row
        ("|a|b|\n|-|-|\n|[x|y](z)|", []),
        ("|a|\n|-|\n[[x]]\n\n`[[n]]`", ["x"]),
        ("[[x]]\n| [[h]] |\n|-|\n| `[[n]]` |\n", ["x", "h"]),
        ("> |a|\n> |-|\n> |[[x]]|\n", ["x"]),
        ("- |a|\n  |:-:|\n  |[[x]]|\n  |[y](z)|", ["x", "z"]),
        ("|a|\n|-|\n|[[x]]|\n- [[y]]\n", ["x", "y"]),
        ("|a|b|\n|-|\n|[x|y](z)|", ["z"]),  # no table
    ],
)
def test_links_in_tables_end_with_their_cells(text: str, found: list[str]) -> None:
    assert targets(text) == found


def test_images_in_tables_are_told_from_links() -> None:
    found = links("|a|b|c|\n|-|-|-|\n|![d](e)|\\![f](g)|![[h]] [i](j)|")
    assert [(link.target, link.embed) for link in found] == [
        ("e", True),
        ("g", False),
        ("h", True),
        ("j", False),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x[^1]\n\n[^1]: [[a]]\n", ["a"]),
        ("[^1]: [[a]]\n[^2]: https://n\n\n    [[b]]\n", ["a", "b"]),
        ("[^1]: a\n  [b](c)\n", ["c"]),
        ("[^1]:\n    [[a]]\n", ["a"]),
        ("^[a [[b]]]\n", ["b"]),
        ("[^a b]: c\n\n[^a b]", ["c", "c"]),  # not a footnote's label
    ],
)
def test_footnotes_are_text_and_no_definitions(text: str, found: list[str]) -> None:
    """In CommonMark, `[^2]: https://n` defines a reference, and what is indented under it is code."""
    assert targets(text) == found


def test_a_callout_is_a_block_quote() -> None:
    assert targets("> [!note]- [[a]]\n> - [[b]] `[[n]]`\n") == ["a", "b"]


def test_a_wikilink_binds_tighter_than_a_reference() -> None:
    """In CommonMark these are references in brackets."""
    assert [link.form for link in links("[[a]]\n\n[a]: b\n")] == [W, D]


@settings(max_examples=600, deadline=None, derandomize=True)
@given(inline_texts)
@example("[a [b] c](/x)\n\n[b]: y")
@example("`a``b` [c](d)")
@example("[a](b(c)d(")
def test_links_are_those_of_another_parser(text: str) -> None:
    """Left out: wikilinks, and comments and brackets at the end of a text, in which the oracle errs."""
    assume("[[" not in text and "--->" not in text)
    assume(not re.search(r"\]\([ \n]*(?:\n\n|\n[->]|\Z)", text))
    assert our_links(text) == oracle_links(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[a](\n\n[a]: b\n", [Destination("b")]),
        ("<!--[n](n)--->[a](b)", []),
        ("x <!--[n](n)---> [a](b)", [Destination("b")]),
        ("x <!A[n](n)> [a](b)", [Destination("b")]),
        ("[a]: b\\ \n\n[a]", [Destination("b\\")]),
        ("[a]: b 'c\n2. d'\n\n[a]", [Destination("b")]),
        ("[a]:\n+ \n\n[a]", [Destination("+")]),
        ("[a][|[b](c)|]\n\n[a]: d\n", [Destination("d"), Destination("c")]),
    ],
)
def test_links_are_found_where_the_oracle_errs(text: str, found: list[Destination]) -> None:
    """As CommonMark 0.31 says, and the reference implementations find them."""
    assert our_links(text) == found


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.lists(
        st.lists(
            st.sampled_from(["[a]", "[b](/x)", "a", "`", "\\|", "[", "](/y)", " ", "*", "<b>", "&amp;"]),
            max_size=4,
        ).map("".join),
        min_size=2,
        max_size=2,
    )
    .map("|".join)
    .map(lambda row: f"|{row}|"),
    st.lists(
        st.sampled_from(
            ["|[a]|`|", "|`|[b](/x)|[b](/n)|", "|[b](/z)|", "[a]", "|\\||[a\\|](/v)|", "- [a]", "# [a]"]
        ),
        max_size=4,
    ),
    st.sampled_from(["", "> ", "- "]),
)
def test_links_in_tables_are_those_of_another_parser(header: str, rows: list[str], prefix: str) -> None:
    assume("[[" not in header)
    indent = "  " if prefix == "- " else prefix
    text = prefix + f"\n{indent}".join([header, "|-|:-:|", *rows]) + "\n\n[a]: /ref\n"
    if prefix == "- ":
        # The oracle counts the mark of the item as a cell where that makes a table.
        assume(header.count("|") - header.count("\\|") == 3)
    assert our_links(text) == oracle_links(text, tables=True)


_PIECES = [
    "[[a]]",
    "[[b|c]]",
    "![[d#e]]",
    "[[#f]]",
    "[g](h.md)",
    "![i](<j k>)",
    "[l](m%20n#o 't')",
    "[p]()",
    "[q]: r\n",
    "[q]: <s#t>\n",
    "[q]",
    "`",
    "$",
    "%%",
    "\n",
    "\n\n",
    "\n> ",
    "\n- ",
    "\n|a|\n|-|\n|",
    "|",
    " ",
    "x",
    "\u00e4",
    "\U0001f600",
    "\0",
    "[",
    "]",
    "\\",
    "<u:v>",
    "\n    ",
    "```\n",
    "#w ",
    "^x",
    "# ",
    "\t",
]
_texts = st.lists(st.sampled_from(_PIECES), max_size=14).map("".join)


@settings(max_examples=400, deadline=None)
@given(_texts, st.integers(min_value=0, max_value=20))
def test_what_takes_a_paths_place_is_the_path(text: str, number: int) -> None:
    """A rename splices the paths of links and must reach nothing else."""
    before = [link for link in links(text) if link.path is not None]
    candidates = [link for link in before if not link.external]
    assume(candidates)
    link = candidates[number % len(candidates)]
    assert link.path is not None
    start, end = link.path
    assert link.start <= start <= end <= link.end
    changed = text[:start] + "zzz" + text[end:]
    moved = 3 - (end - start)
    assert [
        (each.form, each.embed, each.start, each.end, each.target, each.fragment)
        for each in links(changed)
        if each.path is not None
    ] == [
        (
            each.form,
            each.embed,
            each.start + (moved if each.start >= end else 0),
            each.end + (moved if each.end >= end else 0),
            "zzz" if each is link else each.target,
            each.fragment,
        )
        for each in before
    ]


_in_lines = st.lists(
    st.sampled_from(
        [each for each in _PIECES if "\n" not in each]
        + [
            "[t `c`](u)",
            "[t #v w#x](y)",
            "[t](/a/b#c)",
            "[t](//a)",
            "[t](ab:c)",
            "[t](#)",
            "[[a#b|c]]",
            "[[ a]]",
        ]
        + ["[ ]", "[x]", "`c`", "<b>", "</b>", "<b", ">", "!", "(", ")", "(x)", "\\]"]
    ),
    max_size=10,
).map("".join)


@settings(max_examples=500, deadline=None)
@given(_in_lines)
@example("\\![[a]](")
@example("\\![t](u)")
@example("[q]^x")
@example("`c```[t](u)`")
@example("`[t](u)` [t](u)``")
def test_what_is_found_as_a_whole_is_what_is_found_by_its_parts(line: str) -> None:
    """In a block quote of several lines no link is found by one search, so both ways must say the same."""
    mark = "> "
    alone = inlines(blocks(f"x\nx {line}\n\n[q]: r\n"))
    quoted = inlines(blocks(f"{mark}x\n{mark}x {line}\n\n[q]: r\n"))
    moved = 2 * len(mark)

    def at(span: tuple[int, int] | None) -> tuple[int, int] | None:
        return None if span is None else (span[0] + moved, span[1] + moved)

    assert list(quoted.links) == [
        each._replace(
            start=each.start + moved,
            end=each.end + moved,
            path=at(each.path),
            fragment_span=at(each.fragment_span),
            alias=at(each.alias),
        )
        for each in alone.links
    ]
    for found, expected in ((quoted.tags, alone.tags), (quoted.block_ids, alone.block_ids)):
        assert [(each.name, each.start, each.end) for each in found] == [
            (each.name, each.start + moved, each.end + moved) for each in expected
        ]


@settings(max_examples=300, deadline=None)
@given(_texts, st.sampled_from(["\r\n", "\r"]), st.sampled_from(["", "\ufeff", "---\nt: '[[n]]'\n---\n"]))
def test_line_ends_and_what_stands_before_change_nothing(text: str, line_end: str, prefix: str) -> None:
    assume(not text.startswith("---"))
    other = prefix + text
    other = other.replace("\n", line_end)
    starts = [0]
    for character in prefix + text:
        starts.append(starts[-1] + (len(line_end) if character == "\n" else 1))

    def moved(offset: int) -> int:
        return starts[offset + len(prefix)]

    expected = inlines(blocks(text, start=0))
    found = inlines(blocks(other))
    assert [(each.form, each.raw, each.target, each.start, each.end, each.path) for each in found.links] == [
        (
            each.form,
            each.raw,
            each.target,
            moved(each.start),
            moved(each.end),
            None if each.path is None else (moved(each.path[0]), moved(each.path[1])),
        )
        for each in expected.links
    ]
    assert [each.name for each in found.tags] == [each.name for each in expected.tags]
    assert [each.start for each in found.tags] == [moved(each.start) for each in expected.tags]
    assert [each.start for each in found.block_ids] == [moved(each.start) for each in expected.block_ids]


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=80)
    | st.text(alphabet="[]()!|#^`$%<>\\ \n\r\t-*_a\u00e91.:&;'\"\0\u2028\x85", max_size=60)
)
def test_any_text_is_scanned_and_its_places_are_in_order(text: str) -> None:
    found = inlines(blocks(text))
    for link in found.links:
        places = [span for span in (link.path, link.fragment_span, link.alias) if span is not None]
        assert all(link.start <= start <= end <= link.end for start, end in places)
    for tag in found.tags:
        assert text[tag.start : tag.end] == f"#{tag.name}"
    for named in found.block_ids:
        assert text[named.start : named.end] == f"^{named.name}"
