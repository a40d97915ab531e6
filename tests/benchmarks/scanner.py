"""`python -m tests.benchmarks.scanner`: how fast the Markdown scanner is, on one core.

What is promised is marked; the exit code is 1 when a mark is missed.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final

from fsnotes.notes.markdown.inlines import inlines
from fsnotes.notes.markdown.walk import blocks, headings
from tests.benchmarks.vault import WORDS, note
from tests.notes.markdown.test_linear import UNITS

ROUNDS: Final = 7


def words(chance: random.Random, least: int, most: int) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(chance.randint(least, most)))


def prose(number: int) -> str:
    """Return a note of long paragraphs, every other one with a link."""
    chance = random.Random(number)  # noqa: S311 - reproducible text, no secret
    return "\n\n".join(
        f"{words(chance, 40, 120)}{f' [[Note {place}]]' if place % 2 else ''}." for place in range(10)
    )


def dense(number: int) -> str:
    """Return a note of short paragraphs with a link in each, code, lists and tables."""
    chance = random.Random(number)  # noqa: S311 - reproducible text, no secret
    parts = [f"# Note {number}"]
    while sum(map(len, parts)) < 8_000:
        link = chance.choice(["[[Note 7|seven]]", "[seven](note-7.md)", "[seven](https://example.org/7)"])
        parts += [
            f"## {words(chance, 2, 5)}",
            "\n".join((words(chance, 8, 12), f"{words(chance, 3, 8)} {link} `{words(chance, 1, 2)}`")),
            "```\n" + "\n".join(words(chance, 3, 8) for _ in range(chance.randint(3, 12))) + "\n```",
            "\n".join(f"- {words(chance, 4, 10)} *{words(chance, 1, 2)}*" for _ in range(4)),
            "| a | b |\n|---|---|\n" + "\n".join(f"| {words(chance, 2, 4)} | {link} |" for _ in range(3)),
        ]
    return "\n\n".join(parts)


def rate(notes: Sequence[bytes], scan: Callable[[str], object]) -> float:
    """Return the megabytes that are scanned in a second, decoding included; the best of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        for data in notes:
            scan(data.decode())
        best = min(best, time.process_time() - started)
    return sum(map(len, notes)) / best / 1e6


def slowest(size: int) -> tuple[float, str]:
    """Return what a repeated delimiter takes at most, and which one it is."""
    found = (0.0, "")
    for unit in UNITS:
        text = unit * (size // len(unit))
        best = float("inf")
        for _ in range(3):
            started = time.process_time()
            inlines(blocks(text))
            best = min(best, time.process_time() - started)
        found = max(found, (best, repr(unit)))
    return found


def main() -> int:
    """Measure, print, and say whether everything that is promised is kept."""
    missed = False
    for name, make, least in (
        ("notes of 4 KB", note, 40.0),
        ("dense notes", dense, 25.0),
        ("prose", prose, 40.0),
    ):
        notes = [make(number).encode() for number in range(200)]
        whole = rate(notes, lambda text: inlines(blocks(text)))
        missed |= whole < least
        print(
            f"  {name:<16} everything {whole:6.1f} MB/s (promised {least:.0f})"
            f"   headings {rate(notes, lambda text: list(headings(text))):6.1f} MB/s"
        )
    seconds, unit = slowest(200_000)
    missed |= seconds > 0.25
    print(f"  200 KB of one delimiter: at most {seconds:.3f} s (promised 0.250), with {unit}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
