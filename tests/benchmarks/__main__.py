"""`python -m tests.benchmarks`: the server beside the SDK's own, beside plain system calls, and jailed, in one run.

Measurements of both sides alternate, so that a noisy minute hits both; medians and ratios are printed. What is
promised in ratios is marked; the exit code is 1 when a mark is missed.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.benchmarks.moves import MoveBench
from tests.benchmarks.peer import Peer
from tests.benchmarks.report import Report, alternate, median
from tests.benchmarks.vault import make_vault, note
from tests.benchmarks.workers import WorkerBench

SECTIONS = ["server", "workers", "moves"]
ECHO = str(Path(__file__).with_name("echo_server.py"))


def saved(path: Path, data: bytes) -> float:
    """Save *data* at *path* as an editor does that loses nothing; return how long that took."""
    begin = time.perf_counter()
    temporary = path.with_name("temporary")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    os.write(fd, data)
    os.fsync(fd)
    os.close(fd)
    os.rename(temporary, path)
    fd = os.open(path.parent, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
    return time.perf_counter() - begin


class Bench:
    def __init__(self, top: Path, notes: int, report: Report, rounds: int) -> None:
        self.vault = top / f"vault-{notes}"
        make_vault(self.vault, notes)
        self.home = top / "home"
        self.home.mkdir(exist_ok=True)
        self.serve = ["-m", "fsnotes", "serve", str(self.vault), "--jail", "off"]
        self.uri = self.vault.as_uri()
        self.notes = notes
        self.report = report
        self.rounds = rounds

    def run(self) -> None:
        print(f"\n{self.notes} notes of 4 KB, medians of {self.rounds} alternating rounds", flush=True)
        self.start()
        with Peer(self.serve, home=self.home) as ours, Peer([ECHO], home=self.home) as echo:
            for peer in (ours, echo):
                peer.request("tools/list", {})
            self.reads(ours, echo)
            self.lists(ours)
            self.creates(ours)
            self.edits(ours)
            self.deletes(ours)
            ratio = ours.rss() / echo.rss()
            self.report.row(
                f"RSS after that (beside SDK echo: {echo.rss() / 1e6:.1f} MB)",
                f"{ours.rss() / 1e6:.1f} MB",
                f"x {ratio:.2f}",
                kept=ratio <= 1.2,
            )

    def start(self) -> None:
        def first_list(arguments: list[str]) -> float:
            with Peer(arguments, home=self.home) as peer:
                peer.request("tools/list", {})
                return time.perf_counter() - peer.started

        ours, echo = alternate(self.rounds, lambda: first_list(self.serve), lambda: first_list([ECHO]))
        self.report.against(
            "start to first tools/list", ours, "SDK echo", echo, most=1.1, scale=1e3, unit="ms"
        )

    def _read_arguments(self, count: int) -> list[dict[str, Any]]:
        return [
            {"workspaceUri": self.uri, "path": f"folder-{n // 100:03d}/note-{n:05d}.md"}
            for n in (7919 * k % self.notes for k in range(count))
        ]

    def reads(self, ours: Peer, echo: Peer) -> None:
        wanted = self._read_arguments(300)
        small = [{"text": "hello"}] * 300
        large = [{"text": note(7)}] * 300
        paths = [str(self.vault / item["path"]) for item in wanted]

        def plain() -> float:
            begin = time.perf_counter()
            for path in paths:
                fd = os.open(path, os.O_RDONLY)
                os.read(fd, 1 << 20)
                os.close(fd)
            return (time.perf_counter() - begin) / len(paths)

        for in_flight, most in ((1, 0.8), (16, 0.5)):
            read, one, four, bare = alternate(
                self.rounds,
                lambda: ours.rate("notes_read", wanted, in_flight=in_flight),  # noqa: B023 - called at once
                lambda: echo.rate("echo", small, in_flight=in_flight),  # noqa: B023
                lambda: echo.rate("echo", large, in_flight=in_flight),  # noqa: B023
                plain,
            )
            name = f"notes_read 4 KB, {in_flight} in flight"
            self.report.against(name, read, "SDK echo of a word", one, most=most)
            self.report.against(name, read, "SDK echo of 4 KB", four)
            self.report.against(name, read, "plain open+read", bare)

    def lists(self, ours: Peer) -> None:
        def ours_once() -> float:
            begin = time.perf_counter()
            result = ours.call("notes_list", {"workspaceUri": self.uri, "folder": "folder-003"})
            assert len(result["structuredContent"]["notes"]) == 100
            return time.perf_counter() - begin

        def plain() -> float:
            begin = time.perf_counter()
            folder = str(self.vault / "folder-003")
            for entry in sorted(os.listdir(folder)):
                fd = os.open(os.path.join(folder, entry), os.O_RDONLY)
                os.fstat(fd)
                os.read(fd, 1 << 20)
                os.close(fd)
            return time.perf_counter() - begin

        listed, bare = alternate(self.rounds * 3, ours_once, plain)
        self.report.against(
            "notes_list of 100 notes", listed, "listdir, open, stat, read", bare, scale=1e3, unit="ms"
        )

    def creates(self, ours: Peer) -> None:
        count = iter(range(10**9))
        text = note(1)
        folder = self.vault / "made"
        folder.mkdir()

        def ours_once() -> float:
            begin = time.perf_counter()
            path = f"made/ours-{next(count)}.md"
            ours.call("notes_create", {"workspaceUri": self.uri, "path": path, "content": text})
            return time.perf_counter() - begin

        made, bare = alternate(
            self.rounds * 5, ours_once, lambda: saved(folder / f"plain-{next(count)}.md", text.encode())
        )
        self.report.against(
            "notes_create 4 KB, durable", made, "write, fsync, rename, fsync", bare, scale=1e3, unit="ms"
        )

    def edits(self, ours: Peer) -> None:
        """Change a note of 4 KB again and again; the plain side saves a text of the same size over another one."""
        text = note(1)
        folder = self.vault / "edited"
        folder.mkdir()
        (folder / "ours.md").write_text(text, encoding="utf-8")
        words = itertools.cycle(("first words\n", "other words\n"))
        target = {"workspaceUri": self.uri, "path": "edited/ours.md"}
        ours.call("notes_append", target | {"text": "first words"})

        def edited() -> float:
            old, new = next(words), "first words\n"
            new = "other words\n" if old == new else new
            begin = time.perf_counter()
            result = ours.call("notes_edit", target | {"oldText": old, "newText": new})
            took = time.perf_counter() - begin
            assert result["structuredContent"]["outcome"] == "changed"
            return took

        def added() -> float:
            (folder / "ours.md").write_text(text + "first words\n", encoding="utf-8")
            begin = time.perf_counter()
            result = ours.call("notes_append", target | {"text": "one line more"})
            took = time.perf_counter() - begin
            assert result["structuredContent"]["outcome"] == "changed"
            return took

        for tool, once in (("notes_edit", edited), ("notes_append", added)):
            took, bare = alternate(self.rounds * 5, once, lambda: saved(folder / "plain.md", text.encode()))
            self.report.against(
                f"{tool} 4 KB, durable",
                took,
                "write, fsync, rename, fsync",
                bare,
                most=2.0,
                scale=1e3,
                unit="ms",
            )

    def deletes(self, ours: Peer) -> None:
        first: list[float] = []
        second: list[float] = []
        for number in range(self.rounds * 2):
            path = f"made/ours-{number * 2}.md"
            arguments = {"workspaceUri": self.uri, "title": path}
            begin = time.perf_counter()
            asked = ours.call("notes_delete", arguments)
            middle = time.perf_counter()
            answer = {"action": "accept", "content": {"note_id": path, "confirm": True}}
            done = ours.call(
                "notes_delete",
                arguments,
                inputResponses={"delete_choice": answer},
                requestState=asked["requestState"],
            )
            assert done["structuredContent"]["outcome"] == "deleted"
            first.append(middle - begin)
            second.append(time.perf_counter() - middle)
        self.report.row(
            "notes_delete, first round (finds the title in all notes)", f"{median(first) * 1e3:.2f} ms"
        )
        self.report.row(
            "notes_delete, second round (claim, move, verify, commit)", f"{median(second) * 1e3:.2f} ms"
        )


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--notes", type=int, nargs="+", default=[1000, 10_000])
    options.add_argument("--sections", nargs="+", choices=SECTIONS, default=SECTIONS)
    chosen = options.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory(prefix="fsnotes-bench-") as top:
        if "server" in chosen.sections:
            for notes in chosen.notes:
                Bench(Path(top), notes, report, chosen.rounds).run()
        if "workers" in chosen.sections:
            WorkerBench(Path(top), report, chosen.rounds).run()
        if "moves" in chosen.sections:
            MoveBench(Path(os.path.realpath(top)), report, chosen.rounds).run()
    if report.missed:
        print("\nmissed: " + "; ".join(report.missed))
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
