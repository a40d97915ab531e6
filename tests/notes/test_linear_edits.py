"""Editing takes time in proportion to the note, whatever it holds: four times the note, about four times the time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from fsnotes.errors import AnchorCount, AnchorNotFound
from fsnotes.notes.additions import add
from fsnotes.notes.anchors import find
from fsnotes.notes.arguments import Position
from fsnotes.notes.diffs import diff
from fsnotes.notes.replacements import replace, replace_body
from fsnotes.notes.splices import Splice, apply, inverse
from fsnotes.notes.texts import Offsets
from tests.notes.proportion import hold_to_proportion

SIZE = 262_144
"""Bytes; the longer note has the size that a workspace allows."""

PLENTY = 10**8


def searched(data: bytes, anchor: str, expected: int = 1) -> None:
    with suppress(AnchorNotFound, AnchorCount):
        find(data, anchor, path="a.md", expected=expected)


def sized(unit: bytes, size: int) -> bytes:
    return unit * (size // len(unit))


def changed(data: bytes, old: str, new: str, expected: int) -> None:
    splices = replace(data, old, new, path="a.md", most=PLENTY, expected=expected)
    assert apply(apply(data, splices), inverse(data, splices)) == data
    diff(data, splices)


def body(data: bytes, new: str) -> None:
    splices = replace_body(data, new, body=4, end=len(data), path="a.md", most=PLENTY)
    apply(data, splices)
    diff(data, splices)


def extended(data: bytes, text: str, section: tuple[int, int] | None = None) -> None:
    for position in Position:
        splices = add(data, text, position=position, path="a.md", most=PLENTY, section=section)
        diff(data, splices)


CASES: dict[str, Callable[[int], Callable[[], object]]] = {
    "a": lambda size: lambda: searched(b"a" * size, "a" * 999),
    "a half as long": lambda size: lambda: searched(b"a" * size, "a" * (size // 2) + "b"),
    "a with an end that differs": lambda size: lambda: searched(b"a" * size, "a" * 5_000 + "b"),
    "a with a beginning that differs": lambda size: lambda: searched(b"a" * size, "b" + "a" * 5_000),
    "lines of a": lambda size: lambda: searched(sized(b"a\r\n", size), "a\n" * 3_000 + "b"),
    "nothing but line ends": lambda size: lambda: searched(sized(b"\r\n", size), "\n" * 3_000 + "b"),
    "CR and LF apart": lambda size: lambda: searched(sized(b"\n\r", size), "\n\n\n"),
    "many near matches": lambda size: lambda: searched(
        sized(b"- [ ] water the plants in the hall\n", size), "- [ ] water the plants in the hill"
    ),
    "many near words in one line": lambda size: lambda: searched(
        sized(b"water plants hall ", size), "water the plants in the hill " * 20
    ),
    "near words in lines that differ": lambda size: lambda: searched(
        b"".join(b"plant %d water\n" % n for n in range(size // 16)), "plant 17 is in the water"
    ),
    "an anchor as long as the note": lambda size: lambda: searched(
        sized(b"water the plants\n", size), "water the plants\n" * (size // 17) + "x"
    ),
    "accents": lambda size: lambda: searched(
        ("a" + "\u0300\u0316" * (size // 4)).encode(), "e\u0316\u0300" * 100
    ),
    "accents in the anchor": lambda size: lambda: searched(
        sized("caf\u00e9 \n".encode(), size), "e" + "\u0300\u0316" * (size // 16)
    ),
    "composed letters": lambda size: lambda: searched(sized("caf\u00e9 ".encode(), size), "cafe\u0301 \u00e9"),
    "many places": lambda size: lambda: changed(
        sized(b"x" * 250 + b"needle", size), "needle", "thread\n", size // 256
    ),
    "many places in a mixed note": lambda size: lambda: changed(
        sized(b"x" * 100 + b"\n" + b"x" * 100 + b"\r\n" + b"y" * 46 + b"needle\r", size), "needle", "a\nb",
        size // 256,
    ),
    "many places before the only line end": lambda size: lambda: changed(
        sized(b"x" * 250 + b"needle", size) + b"\r", "needle", "a\nb", size // 256
    ),
    "a body of lines": lambda size: lambda: body(b"# H\n" + sized(b"text\r\n", size), "text\n" * (size // 8)),
    "a body of blank lines": lambda size: lambda: body(b"# H\n" + sized(b" \r\n", size), "text\n"),
    "a body of one line": lambda size: lambda: body(b"# H\n" + b"x" * size, "x" * (size - 1)),
    "a paragraph at the start": lambda size: lambda: extended(sized(b"text\n", size), "t"),
    "blank lines at the end": lambda size: lambda: extended(sized(b" \r\n", size), "t", (0, size // 3 * 3)),
    "spaces": lambda size: lambda: extended(b" " * size, "t", (0, size)),
    "underlines": lambda size: lambda: extended(sized(b"- - ", size), "t", (0, size)),
    "long text": lambda size: lambda: extended(b"a\r\n", "t\n" * (size // 2)),
    "a diff of every line": lambda size: lambda: diff(
        sized(b"text\n", size), [Splice(0, size // 5 * 5, sized(b"TEXT\n", size))], most=PLENTY
    ),
    "a diff of many changes in one line": lambda size: lambda: diff(
        b"x" * size, [Splice(at, at + 1, b"y") for at in range(0, size, 64)]
    ),
    "a diff of many changes": lambda size: lambda: diff(
        sized(b"text\n", size), [Splice(at, at + 1, b"T") for at in range(0, size // 5 * 5, 40)], most=PLENTY
    ),
    "offsets": lambda size: lambda: [
        offsets.byte(offsets.character(at))
        for offsets in [Offsets("\u00e9" * (size // 2))]
        for at in range(0, size // 2 * 2, size // 128 * 2)
    ],
}  # fmt: skip


@pytest.mark.kind("big vaults")
@pytest.mark.parametrize("case", CASES)
def test_four_times_the_note_takes_about_four_times_the_time(case: str) -> None:
    hold_to_proportion(CASES[case], SIZE, patience=(3, 7, 15))
