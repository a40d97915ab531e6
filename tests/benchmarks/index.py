"""`python -m tests.benchmarks.index [NOTES]`: building, asking and updating the search index, in one process.

The floor is FTS5 with its default settings, given the same texts from memory in one transaction. The vault has a common
word in half of its notes, rare ones, and phrases. Both builds are measured in seconds of the processor. What is
promised is marked; the exit code is 1 when a mark is missed.
"""

from __future__ import annotations

import itertools
import os
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from fsnotes.notes.index import searching
from fsnotes.notes.index.answering import page
from fsnotes.notes.index.building import Vault
from fsnotes.notes.index.keeping import Keeper
from fsnotes.notes.index.matching import Matcher
from fsnotes.notes.index.queries import parse
from fsnotes.notes.index.reader import Reader
from fsnotes.notes.index.searching import Asked, candidates
from fsnotes.notes.scope import Scope
from sandbox.names import ROOT
from sandbox.root import Root
from tests.benchmarks.report import Report, median
from tests.benchmarks.vault import FOLDER_SIZE, NOTE_BYTES, WORDS

NOTES: Final = 10_000
ROUNDS: Final = 40
UPDATES: Final = 200
VOCABULARY: Final = 40_000
MOST_TIMES_FTS5: Final = 3.0
MOST_SHARE: Final = 0.9
BOOT: Final = "benchmark"


def vocabulary(chance: random.Random) -> list[str]:
    """Return words as a language has them: short ones first, which are used most."""
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    found: dict[str, None] = dict.fromkeys(WORDS)
    while len(found) < VOCABULARY:
        size = 2 + int(len(found) ** 0.22) + chance.randint(0, 3)
        found["".join(chance.choices(letters, range(26, 0, -1), k=size))] = None
    return list(found)


class Writer:
    """Writes notes of 4 KB: prose with the frequencies of a language, headings, lists, links, some tags.

    Half of the notes have `zebra`, once or more often, some in a heading; each has a rare word of its own.
    """

    def __init__(self) -> None:
        self._chance = random.Random(7)  # noqa: S311 - reproducible text, no secret
        self._words = vocabulary(self._chance)
        self._weights = list(itertools.accumulate(1 / (place + 3) for place in range(VOCABULARY)))

    def note(self, number: int) -> str:
        """Return the text of note *number*."""
        chance = self._chance
        words = chance.choices(self._words, cum_weights=self._weights, k=NOTE_BYTES // 7)
        words += [f"rare{number}", *(["zebra"] * chance.choice([1, 1, 1, 2, 3, 8]) if number % 2 else [])]
        chance.shuffle(words)
        lines = ["---", "tags: [garden, plan]", "---"] if number % 5 == 0 else []
        lines += [f"# {' '.join(words[:4])}", ""]
        at = 4
        while at < len(words):
            line = " ".join(words[at : at + chance.randint(6, 30)])
            at += line.count(" ") + 1
            match chance.randrange(10):
                case 0:
                    lines += ["", f"## {line[:40]}", ""]
                case 1 | 2:
                    lines.append(
                        f"- {line} [[{self._words[chance.randrange(2000)]} {chance.randrange(1000)}]]"
                    )
                case _:
                    lines.append(line)
        return "\n".join(lines) + "\n"


def make(folder: Path, notes: int) -> list[str]:
    """Fill a folder with a vault, and return its texts."""
    writer = Writer()
    texts = []
    for number in range(notes):
        place = folder / f"folder-{number // FOLDER_SIZE:03d}"
        if number % FOLDER_SIZE == 0:
            place.mkdir(parents=True)
        texts.append(writer.note(number))
        file = place / f"note-{number:05d}.md"
        file.write_bytes(texts[-1].encode())
        os.utime(file, (1_600_000_000 + number, 1_600_000_000 + number))
    return texts


def plain_fts5(file: Path, texts: list[str]) -> float:
    """Return how long FTS5 takes for the texts alone."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("CREATE VIRTUAL TABLE notes USING fts5(body, content='', tokenize='ascii')")
        started = time.process_time()
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO notes (rowid, body) VALUES (?, ?)", enumerate(texts, start=1))
        connection.execute("COMMIT")
        return time.process_time() - started


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def timed(call: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    found = []
    for _ in range(rounds):
        started = time.perf_counter()
        call()
        found.append(time.perf_counter() - started)
    return found


def build(keeper: Keeper, reader: Reader, report: Report) -> float:
    """Build the index call by call, with a reader beside it; return the seconds of the processor that it took."""
    calls: list[float] = []
    reads: list[float] = []
    asked = Asked(Matcher(parse("rare77")), Scope((ROOT,)))

    def read() -> None:
        with reader.view() as view:
            candidates(view, asked, after=None, most=20)

    begun, reading = time.process_time(), 0.0
    while True:
        started = time.perf_counter()
        progress = keeper.step()
        calls.append(time.perf_counter() - started)
        if progress.phase == "ready":
            break
        before = time.process_time()
        reads += timed(read, 1)
        reading += time.process_time() - before
    total = time.process_time() - begun - reading
    report.row("a call of the build, p50 / p99 / most", f"{show(calls)} ms")
    report.row("a read between two calls, p50 / p99 / most", f"{show(reads)} ms")
    started = time.perf_counter()
    while not keeper.step().idle:
        pass
    report.row("merging afterwards", f"{time.perf_counter() - started:.2f} s")
    return total


def show(values: list[float]) -> str:
    return " / ".join(
        f"{value * 1e3:.2f}" for value in (median(values), percentile(values, 0.99), max(values))
    )


QUERIES: Final = {
    "rare word": "rare77",
    "phrase": "",  # three words of a note
    "no match": "nothinglikethis",
    "code word": "note-00077",
    "prefix": "rare77*",
    "word in half of all notes": "zebra",
    "word in every note": "note",
    "two common words": "zebra garden",
    "a tag": "tag:plan",
    "a folder's common word": "zebra path:folder",
}


def ask(reader: Reader, root: Root, texts: list[str], report: Report) -> None:
    """Measure pages of twenty hits, and what of them is the index alone."""
    for what, query in QUERIES.items():
        query = query or f'"{" ".join(texts[77].split()[40:43])}"'
        asked = Asked(Matcher(parse(query)), Scope((ROOT,)))

        def index(asked: Asked = asked) -> object:
            with reader.view() as view:
                return candidates(view, asked, after=None, most=20)

        def whole(asked: Asked = asked) -> object:
            return page(reader, root, asked, limit=20, clock=time.monotonic)

        report.row(f"{what}: index, p50 / p99 / most", f"{show(timed(index))} ms")
        report.row(f"{what}: with reading and lines", f"{show(timed(whole))} ms")


def share_of_the_best(reader: Reader, report: Report) -> None:
    """Compare the first twenty of words that are too common to be all ranked with the true first twenty."""
    shares = []
    for word in ("zebra", *WORDS[2:12]):
        asked = Asked(Matcher(parse(word)), Scope((ROOT,)))
        firsts = []
        for most in (searching.FULL_RANKING, 1 << 40):
            searching.FULL_RANKING = most  # type: ignore[misc]
            with reader.view() as view:
                firsts.append({each.path for each in candidates(view, asked, after=None, most=20).candidates})
        searching.FULL_RANKING = 5_000  # type: ignore[misc]
        shares.append(len(firsts[0] & firsts[1]) / max(1, len(firsts[1])))
    report.row("of the true first twenty of common words", f"{sum(shares) / len(shares):.0%}")


def update(folder: Path, keeper: Keeper, reader: Reader, report: Report) -> None:
    """Change single notes, and look for what has changed."""
    asked = Asked(Matcher(parse("changedword")), Scope((ROOT,)))
    writes: list[float] = []
    reads: list[float] = []
    for number in range(UPDATES):
        path = f"folder-000/note-{number % FOLDER_SIZE:05d}.md"
        with open(folder / path, "a") as file:
            file.write(f"changedword {number}\n")
        started = time.perf_counter()
        keeper.refresh([path])
        middle = time.perf_counter()
        with reader.view() as view:
            candidates(view, asked, after=None, most=20)
        reads.append(time.perf_counter() - middle)
        writes.append(middle - started)
        keeper.step()
    report.row("update of one note, p50 / p99 / most", f"{show(writes)} ms")
    report.row("the first read after it, p50 / p99 / most", f"{show(reads)} ms")


def main() -> int:
    """Measure, print, and say whether everything that is promised is kept."""
    notes = int(sys.argv[1]) if len(sys.argv) > 1 else NOTES
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        (top / "index").mkdir()
        texts = make(top / "vault", notes)
        size = sum(len(text) for text in texts)
        floor = plain_fts5(top / "floor.sqlite3", texts)
        report.row(f"{notes} notes, {size / 1e6:.1f} MB: plain FTS5", f"{floor:.2f} s")
        with Root.open(str(top / "vault")) as root, closing(Reader(str(top / "index"), boot=BOOT)) as reader:
            vault = Vault(root, Scope((ROOT,)))
            keeper = Keeper(str(top / "index"), vault, boot=BOOT)
            seconds = build(keeper, reader, report)
            again = plain_fts5(top / "again.sqlite3", texts)
            ratio = seconds / min(floor, again)
            report.row(
                f"build ({notes / seconds:.0f} notes/s; plain FTS5 again: {again:.2f} s)",
                f"{seconds:.2f} s",
                f"x {ratio:.2f}",
                kept=ratio <= MOST_TIMES_FTS5,
            )
            share = (top / "index" / "search.sqlite3").stat().st_size / size
            report.row("file against the texts", f"{share:.2f}", kept=share <= MOST_SHARE)
            ask(reader, root, texts, report)
            share_of_the_best(reader, report)
            update(top / "vault", keeper, reader, report)
            keeper.close()
            started = time.perf_counter()
            keeper = Keeper(str(top / "index"), vault, boot=BOOT)
            while keeper.step().phase != "ready":
                pass
            survey = time.perf_counter() - started
            report.row("opening and comparing everything", f"{survey:.2f} s")
            keeper.close()
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
