"""`python -m tests.benchmarks.links`: what renaming a note costs among 10,000, reading and writing apart, on one core.

What is promised is marked; the exit code is 1 when a mark is missed.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterable
from typing import Final

from fsnotes.notes.catalogue import Catalogue
from fsnotes.notes.mentions import Mentions
from fsnotes.notes.relinking import Relinking
from tests.benchmarks.vault import WORDS

NOTES: Final = 10_000
SIZE: Final = 4_096
BACKLINKS: Final = 50
ROUNDS: Final = 5
MARK: Final = 0.35
"""Seconds for everything but the disk; a whole move may take 0.5."""


def vault(*, plain: bool) -> tuple[list[str], list[bytes]]:
    """Return ids and texts with eleven links in each note; *plain* ones have neither escapes nor letters but ASCII."""
    chance = random.Random(1)  # noqa: S311 - reproducible text, no secret
    escape, accent = ("", "") if plain else ("%20a", " caf\u00e9")
    ids = [f"{chance.choice(WORDS)}/{chance.choice(WORDS)} {number}.md" for number in range(NOTES)]
    notes = []
    for _ in ids:
        lines: list[str] = []
        for place in range(11):
            words = " ".join(chance.choice(WORDS) for _ in range(55))
            name = chance.choice(ids).rpartition("/")[2].removesuffix(".md")
            url = f"[web](https://example.org/{chance.choice(WORDS)}{escape})"
            link = f"[[{name}]]" if place % 3 else url
            lines.append(f"## {words} {link}{accent}")
        notes.append("\n".join(lines).encode()[:SIZE] + b"\n")
    for number in chance.sample(range(NOTES), BACKLINKS):
        notes[number] += f"see [[{ids[7].rpartition('/')[2].removesuffix('.md')}|it]]\n".encode()
    return ids, notes


def seconds(call: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        call()
        best = min(best, time.process_time() - started)
    return best


def measure(*, plain: bool) -> bool:
    """Print the figures of one vault; say whether the mark was kept."""
    ids, notes = vault(plain=plain)
    moves = {ids[7]: "elsewhere/renamed.md"}
    before = Catalogue(ids)
    after = before.moved(moves)
    mentions = Mentions.of_files(moves)
    candidates = [number for number, data in enumerate(notes) if mentions.may_be_in(data)]

    def rewrite(numbers: Iterable[int]) -> int:
        relinking = Relinking(moves, before, after)
        return sum(relinking.relinked(notes[number], ids[number]).updated for number in numbers)

    listed = seconds(lambda: Catalogue(ids).moved(moves))
    sifted = seconds(lambda: [mentions.may_be_in(data) for data in notes])
    written = seconds(lambda: rewrite(candidates))
    total = listed + sifted + written
    kept = total <= MARK and rewrite(candidates) == rewrite(range(NOTES)) >= BACKLINKS
    print(
        f"{'plain' if plain else 'escapes and accents'}, {sum(map(len, notes)) / 1e6:.0f} MB: "
        f"catalogues {listed:.3f} s, names looked for {sifted:.3f} s, "
        f"{len(candidates)} notes rewritten {written:.3f} s, "
        f"together {total:.3f} s (mark {MARK} s: {'kept' if kept else 'MISSED'})"
    )
    return kept


def main() -> int:
    """Print the figures; return 1 when a mark is missed."""
    kept = [measure(plain=plain) for plain in (True, False)]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
