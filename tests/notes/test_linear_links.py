"""Resolving and rewriting links takes time in proportion to the notes and to their number, whatever they are called."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from fsnotes.notes.catalogue import Catalogue, Style
from fsnotes.notes.fragments import Landmarks
from fsnotes.notes.mentions import Mentions
from fsnotes.notes.relinking import Relinking
from fsnotes.notes.tags import TooManyTags, tags_of
from tests.notes.proportion import hold_to_proportion

SIZE = 500


def resolved(ids: list[str], targets: list[str], style: Style = Style.WIKI) -> Callable[[], object]:
    def work() -> None:
        catalogue = Catalogue(ids)
        for target in targets:
            catalogue.find(target, "a/b/s.md", style)

    return work


def moved(ids: list[str], moves: dict[str, str], text: str) -> Callable[[], object]:
    def work() -> None:
        before = Catalogue(ids)
        relinking = Relinking(moves, before, before.moved(moves))
        relinking.relinked(text.encode(), "s.md")

    return work


def tagged(text: str) -> Callable[[], object]:
    def work() -> None:
        with contextlib.suppress(TooManyTags):
            tags_of(text.encode(), path="a.md")

    return work


CASES: dict[str, Callable[[int], Callable[[], object]]] = {
    "many names": lambda n: resolved([f"f{i}/n{i}.md" for i in range(n)], [f"n{i}" for i in range(n)]),
    "one name": lambda n: resolved([f"f{i}/n.md" for i in range(n)], ["n", "N", "n.md"] * n),
    "one name, ends of paths": lambda n: resolved(
        [f"{i}/f/n.md" for i in range(n)], ["f/n", "F/n", "1/f/n", "g/n", f"{n - 1}/f/n.md"] * n
    ),
    "one name in two spellings": lambda n: resolved(
        [f"{i}/{name}.md" for i in range(n) for name in ("n\u00e4", "na\u0308", "N\u00c4")],
        ["n\u00e4", "na\u0308", "NA\u0308"] * n,
    ),
    "one path in many cases": lambda n: resolved(
        [
            "".join(c.upper() if i >> k & 1 else c for k, c in enumerate("abcdefghijkl")) + ".md"
            for i in range(n)
        ],
        ["abcdefghijkl", "ABCDEFGHIJKL", "/abcdefghIJKL"] * n,
    ),
    "dot segments": lambda n: resolved(
        ["a.md"], ["../" * n + "a", "./" * n + "a", "a/../" * n + "a"], Style.MARKDOWN
    ),
    "slashes": lambda n: resolved(["a.md"], ["/" * (100 * n), "a/" * (100 * n), "a/" * (100 * n) + "a.md"]),
    "links to the moved note": lambda n: moved(
        ["a.md", "s.md"], {"a.md": "b.md"}, "[[a]] \u00e4 [x](a.md) " * n
    ),
    "links in a list in a quote": lambda n: moved(
        ["a.md"], {"a.md": "b.md"}, "> - [[a]] \u00e4\n>   [x](a.md)\n" * n
    ),
    "ambiguous links": lambda n: moved(
        [f"{i}/a.md" for i in range(n)], {"0/a.md": "0/b.md"}, "[[a]] [x](a.md)\n" * n
    ),
    "ambiguous links in a moved note": lambda n: moved(
        [*(f"{i}/a.md" for i in range(n)), "s.md"], {"s.md": "t/s.md"}, "[[a]] [x](a.md)\n" * n
    ),
    "a moved folder": lambda n: moved(
        [f"f/{i}/a.md" for i in range(n)],
        {f"f/{i}/a.md": f"g/{i}/a.md" for i in range(n)},
        "".join(f"[[f/{i}/a]] " for i in range(n)),
    ),
    "a definition with many references": lambda n: moved(
        ["a.md"], {"a.md": "b.md"}, "[x] " * n + "\n\n[x]: a.md\n"
    ),
    "broken links in a moved note": lambda n: moved(["s.md"], {"s.md": "t/s.md"}, "[x](none.md)\n" * n),
    "links out": lambda n: moved(["s.md"], {"s.md": "t/s.md"}, "[x](https://none.md) " * n),
    "openings that are none": lambda n: lambda: Mentions(["x"]).may_be_in(b"[[ ](" * (20 * n)),
    "openings on lines": lambda n: lambda: Mentions(["x"]).may_be_in(b"]:\n" * (20 * n)),
    "escapes": lambda n: lambda: Mentions(["x"]).may_be_in(b"[[\\\\''&amp;%41&#" * (20 * n)),
    "accents": lambda n: lambda: Mentions(["x"]).may_be_in(("[[" + "\u0301\u0316" * (20 * n)).encode()),
    "accents in escapes": lambda n: lambda: Mentions(["x"]).may_be_in(b"[[&#769;%CC%96\\u0301" * (20 * n)),
    "accents in links": lambda n: moved(
        ["s.md"], {"s.md": "t/s.md"}, "[[a" + "\u0301\u0316" * (20 * n) + "]]"
    ),
    "headings of one text": lambda n: lambda: Landmarks("## a\n### b\n" * n).has("c#b", Style.MARKDOWN),
    "headings of many texts": lambda n: (
        lambda: Landmarks("".join(f"{'#' * (1 + i % 6)} a {i}\n" for i in range(n))).has(
            "a 0#a 1", Style.WIKI
        )
    ),
    "accents in a heading": lambda n: (
        lambda: Landmarks("# a" + "\u0301\u0316" * (20 * n)).has(
            "a" + "\u0316\u0301" * (20 * n), Style.MARKDOWN
        )
    ),
    "blocks with names": lambda n: (
        lambda: Landmarks("".join(f"a ^{i}\n\n" for i in range(n))).has("^1", Style.WIKI)
    ),
    "accents in tags": lambda n: tagged("#a" + "\u0301\u0316" * (20 * n)),
    "deep tags": lambda n: tagged("#" + "a/" * (20 * n)),
    "tags": lambda n: tagged("#a/b/c #d\n" * n),
    "a deep tag many times": lambda n: tagged(f"#{'a/' * 99}a\n" * n),
    "deep tags that are different": lambda n: tagged("".join(f"#{'a/' * 97}{i}\n" for i in range(n))),
    "different tags": lambda n: tagged("".join(f"#a{i}/b\n" for i in range(n))),
}


@pytest.mark.parametrize("case", CASES)
def test_four_times_as_much_takes_about_four_times_the_time(case: str) -> None:
    hold_to_proportion(CASES[case], SIZE, patience=(2, 5, 9))
