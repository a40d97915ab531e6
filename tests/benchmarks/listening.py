"""`python -m tests.benchmarks.listening [NOTES]`: completing a path, and hearing of a change, as a client does.

Through the server, with the jail on, in a vault of 100,000 notes whose index is there. A change is made by this
process, so by another program, and counts from when the file is closed or renamed until the notification is read.
What is promised is marked; the exit code is 1 when a mark is missed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.index import percentile
from tests.benchmarks.peer import Peer
from tests.benchmarks.report import Report, median
from tests.benchmarks.vault import FOLDER_SIZE, WORDS

NOTES: Final = 100_000
ROUNDS: Final = 60
CHANGES: Final = 40
PAUSE: Final = 0.6
"""Seconds between two changes: after one was told there is a pause, which is not what is measured."""

MOST_TO_COMPLETE: Final = 0.005
MOST_TO_HEAR: Final = 0.15

NOWHERE: Final = "zzqx"


def typed(ids: list[str]) -> dict[str, str]:
    """Return what may be typed, by what it is."""
    folder, name = ids[len(ids) // 3].rsplit("/", 1)
    word, number = name.removesuffix(".md").split("-")
    return {
        "nothing": "",
        "the beginning of many folders": folder[:3],
        "one folder": folder,
        "the beginning of many names": word,
        "the middle of a name": number,
        "some letters of a few": f"{word[0]}{word[-1]}{number}",
        "what is nowhere": NOWHERE,
    }


def make(folder: Path, notes: int) -> list[str]:
    """Fill *folder* with short notes, a hundred in each folder; return their ids."""
    made: list[str] = []
    for number in range(notes):
        group, word = number // FOLDER_SIZE, WORDS[number % len(WORDS)]
        place = f"{WORDS[group % len(WORDS)]}/{WORDS[group // len(WORDS) % len(WORDS)]}-{group}"
        if number % FOLDER_SIZE == 0:
            (folder / place).mkdir(parents=True)
        made.append(f"{place}/{word}-{number:05d}.md")
        (folder / made[-1]).write_text(f"# {word} {number}\n\ntext\n")
    return made


class ListeningBench:
    """One vault, and a client of the server on it."""

    def __init__(self, top: Path, notes: int, report: Report) -> None:
        self.vault = top / "Notes"
        self.vault.mkdir()
        self.home = top / "home"
        self.home.mkdir()
        self.report = report
        self.ids = make(self.vault, notes)
        self.uri = self.vault.as_uri()

    def run(self) -> None:
        """Measure everything."""
        print(f"\n{len(self.ids)} notes, through the server, with the jail on", flush=True)
        environ = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        }
        build = [sys.executable, "-m", "fsnotes", "index", str(self.vault)]
        subprocess.run(build, env=environ, check=True, stdout=subprocess.DEVNULL)
        with Peer(["-m", "fsnotes", "serve", str(self.vault)], home=self.home) as peer:
            while self.state(peer) != "ready":
                time.sleep(0.1)
            self.complete(peer)
            self.hear(peer)
            self.complete_after_a_change(peer)

    def state(self, peer: Peer) -> str:
        """Return how the index is."""
        shown = peer.call("notes_workspaces", {})["structuredContent"]["workspaces"][0]
        return str(shown["index"])

    def completed(self, peer: Peer, value: str) -> tuple[float, dict[str, Any]]:
        """Complete *value*; return how long that took, and what came."""
        asked = {
            "ref": {"type": "ref/resource", "uri": f"{self.uri}/{{+path}}"},
            "argument": {"name": "path", "value": value},
        }
        begin = time.perf_counter()
        answer = peer.request("completion/complete", asked)
        return time.perf_counter() - begin, answer["completion"]

    def complete(self, peer: Peer) -> None:
        """Measure completing each of what may be typed, in turn."""
        first, found = self.completed(peer, NOWHERE)
        self.report.row("completing for the first time", f"{first * 1e3:.1f} ms")
        while found["hasMore"]:  # it gave up after half a second; the next one goes on
            _, found = self.completed(peer, NOWHERE)
        kinds = typed(self.ids)
        times: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(ROUNDS):
            for kind, value in kinds.items():
                took, found = self.completed(peer, value)
                if bool(found["values"]) == (value == NOWHERE):
                    raise RuntimeError(f"{kind}: {json.dumps(found)[:200]}")
                times[kind].append(took)
        for kind, took_each in times.items():
            self.report.row(f"completing {kind}", f"{median(took_each) * 1e3:.2f} ms")
        every = [each for took_each in times.values() for each in took_each]
        half, late = median(every), percentile(every, 0.99)
        self.report.row("completing, p99", f"{late * 1e3:.2f} ms")
        self.report.row("completing, p50", f"{half * 1e3:.2f} ms", kept=half <= MOST_TO_COMPLETE)

    def hear(self, peer: Peer) -> None:
        """Measure how long it takes from a change until it is read of."""
        paths = self.ids[:: max(1, len(self.ids) // 50)][:50]
        uris = [f"{self.uri}/{path}" for path in paths]
        begin = time.perf_counter()
        peer.send("subscriptions/listen", {"notifications": {"resourceSubscriptions": uris}})
        acknowledged = peer.receive()["params"]["notifications"]["resourceSubscriptions"]
        self.report.row(
            "beginning to listen", f"{(time.perf_counter() - begin) * 1e3:.0f} ms", kept=acknowledged == uris
        )
        times: list[float] = []
        for number in range(CHANGES):
            time.sleep(PAUSE)
            which = number % len(paths)
            place = self.vault / paths[which]
            if number % 2:  # as editors save, in turn: in place, and by a rename
                temporary = place.with_name(f".{number}")
                temporary.write_text(f"changed {number}")
                begin = time.perf_counter()
                temporary.rename(place)
            else:
                place.write_text(f"changed {number}")
                begin = time.perf_counter()
            told = peer.receive()
            times.append(time.perf_counter() - begin)
            if told["params"].get("uri") != uris[which]:
                raise RuntimeError(json.dumps(told)[:500])
        half, late = median(times), percentile(times, 0.99)
        self.report.row("a change until it is told, p99", f"{late * 1e3:.0f} ms")
        self.report.row("a change until it is told, p50", f"{half * 1e3:.0f} ms", kept=half <= MOST_TO_HEAR)
        peer.send("ping", {})  # not known, and so an answer that ends what may be on its way
        while "method" in peer.receive():
            pass

    def complete_after_a_change(self, peer: Peer) -> None:
        """Measure the first completion after each change: what was known of the index is read anew."""
        times: list[float] = []
        for number in range(5):
            (self.vault / self.ids[-1 - number]).write_text("changed")
            time.sleep(1.5)
            times.append(self.completed(peer, "garden")[0])
        self.report.row("completing once after a change", f"{median(times) * 1e3:.1f} ms")


def main() -> int:
    """Measure; return 1 where a mark is missed."""
    notes = int(sys.argv[1]) if sys.argv[1:] else NOTES
    report = Report()
    with tempfile.TemporaryDirectory(prefix="fsnotes-listening-") as base:
        ListeningBench(Path(base), notes, report).run()
    for what in report.missed:
        print(f"missed: {what}", file=sys.stderr)
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
