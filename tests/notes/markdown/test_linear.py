"""Scanning takes time in proportion to the text, whatever the text is."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from fsnotes.notes.markdown.containers import MAX_NESTING
from fsnotes.notes.markdown.inlines import inlines
from fsnotes.notes.markdown.outline import outline
from fsnotes.notes.markdown.walk import blocks

UNITS = [
    # containers and what interrupts them
    "-",
    "- ",
    "* ",
    "1. ",
    "2. ",
    ">",
    "> ",
    ">\t",
    "-\n",
    "- \n",
    ">\n",
    "1.\n",
    "- -\n",
    " -\n",
    "- a\n  ",
    "- a\n",
    "  - a\n",
    "- [a\n",
    "[^1]:",
    "[^1]: ",
    "[^",
    "\t",
    " ",
    " \n",
    "\r",
    "\r\n",
    "a\n\n",
    "    a\n",
    "\ta\n",
    # leaf blocks
    "#",
    "# ",
    "# a\n",
    "=",
    "_",
    "***\n",
    "* * *\n",
    "a\n===\n",
    "[a\n===\n",
    "[a]: x\n===\n",
    "```",
    "~~~",
    "```\n",
    "~~~ `\n",
    "<div>\n",
    "<!--\n",
    "<pre>\n",
    "$$\n",
    "$$ a\n",
    "%%\n",
    "%% a\n",
    "|a\n",
    "|\n|-|\n",
    "a|b\n-|-\n",
    # definitions
    "[a]:",
    "[a]: /u\n",
    "[a]: /u '",
    "[a]: (",
    "[a]: <",
    "[a]: '\n",
    "[a]: /u\n2. ",
    "[a]: /u\n<b>\n",
    "[\n2.\n",
    # brackets
    "[",
    "]",
    "[]",
    "![",
    "!",
    "[[",
    "]]",
    "[[a]]",
    "[[a",
    "![[a]]",
    "[a](",
    "[a](b",
    "[a](<",
    '[a](b "',
    "[a](b '",
    "[a](b (",
    "[a](\\",
    "[a](b)",
    "[a](#",
    "[a#",
    "[`",
    "[`a` ",
    "[ ]",
    "[a][b]",
    "[a][",
    "][",
    "[a [b](c)",
    "(",
    "((",
    ")",
    "\\",
    "\\[",
    "[\\",
    # other inlines
    "`",
    "``",
    "` `` ",
    "<",
    "<!--",
    "-->",
    "</a",
    "<a ",
    "<a b='",
    '<a b="',
    "<a b=c ",
    "<a a=",
    "<?",
    "<!A",
    "<![CDATA[",
    "<a@b",
    "<ab:",
    "$",
    "$$",
    "$a",
    "$a$",
    "$\\$",
    "%%",
    "%% ",
    "%",
    "^",
    "^a ",
    "#a",
    "#a#",
    " #",
    "|",
    "|a",
    "|-",
    "\\|",
    "&amp;",
    "\0",
    "\u00e4",
]
PREFIXES = ["", "- > ", "[a]: /u\n\n", "|a|\n|-|\n", '[a]: /u "', "`", "[[", "> "]


GROWTH = 16
"""How many times as long the long text is. What is quadratic takes that much squared, so a small quadratic part is seen
in a long text that is shorter than one that is only four times as long would have to be."""


def texts(prefix: str, unit: str, size: int) -> Iterator[str]:
    yield prefix + unit * (size // len(unit))
    yield (prefix + unit + "\n") * (size // (len(prefix + unit) + 1))
    if prefix:  # without one, it is the text before
        # As deep for the short text as for the long one, and as deep as can be: what is deeper is read in another way.
        yield prefix * MAX_NESTING + "\n" + (unit + "\n") * (size // (len(unit) + 1))


def seconds(text: str, times: int) -> float:
    best = 600.0
    for _ in range(times):
        started = time.process_time()
        found = blocks(text)
        inlines(found)
        outline(found.headings, len(text))
        best = min(best, time.process_time() - started)
    return best


def superlinear(prefix: str, size: int, growth: int) -> list[str]:
    """Return the texts that take more than twice *growth* times as long when they are *growth* times as long."""
    found = []
    for unit in UNITS:
        for small, large in zip(texts(prefix, unit, size), texts(prefix, unit, growth * size), strict=True):
            # What takes no time tells nothing, and a busy machine is asked again.
            if any(
                seconds(large, times) < max(0.002, 2 * growth * seconds(small, times)) for times in (1, 3, 9)
            ):
                continue
            found.append(f"{small[:20]!r}")
    return found


@pytest.mark.parametrize("prefix", PREFIXES[:3])
def test_four_times_the_text_takes_no_more_than_about_four_times_as_long(prefix: str) -> None:
    assert superlinear(prefix, 1_000, 4) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_sixteen_times_the_text_takes_no_more_than_about_sixteen_times_as_long(prefix: str) -> None:
    assert superlinear(prefix, 2_000, GROWTH) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_repeated_delimiter_takes_long_in_a_note_of_half_a_megabyte() -> None:
    """Less than two seconds with a definition that makes each bracket a link; what is quadratic takes a minute."""
    slow = [
        f"{unit!r}"
        for unit in UNITS
        for text in ("[a]: /u\n\n" + unit * (500_000 // len(unit)),)
        if seconds(text, 1) > 10
    ]
    assert slow == []
