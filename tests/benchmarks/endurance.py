"""`python -m tests.benchmarks.endurance [--notes N] [--minutes M]`: a mixed load for an hour, and what it leaves.

The server is the command, over HTTP, with the jail on; several principals read, search, change, delete and restore, and
another program saves notes beside them. Memory, descriptors, and the sizes of what is kept in the state folder are
looked at all along; at the end the last minutes are compared with the first ones after the warm-up. The exit code is 1
when something grew, or became slower, by more than a tenth.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from tests.benchmarks.exchanges import free_port, started
from tests.benchmarks.index import percentile
from tests.benchmarks.mixed_load import Client, Measured
from tests.benchmarks.report import Report, median
from tests.benchmarks.vault import make_vault
from tests.server.http.raw import Raw

MOST_GROWTH: Final = 1.10
MORE_DESCRIPTORS: Final = 8
FEW_CALLS: Final = 50
"""Of a kind of which there were fewer in a window, nothing is said."""
LEAST_MILLISECONDS: Final = 0.5
"""A difference below this is none: it is that of the clock and of who else runs."""
TTL_SECONDS: Final = 30
MEMORY_SECONDS: Final = 3_600
"""How long a ledger remembers what was restored, since it does not know how long the form could have been answered."""
LEDGER_BYTES: Final = 65_536
ROW_BYTES: Final = 512
AUDIT_BYTES: Final = 1_048_576
AUDIT_FILES: Final = 2

PRINCIPALS: Final = (
    ("reader", "", ("read",)),
    ("writer", "", ("read", "write", "delete")),
    ("helper", "", ("read", "write", "delete")),
    ("guest", "folder-000", ("read",)),
)
"""Names, folders and rights."""


@dataclass(frozen=True)
class Sample:
    """What the server used at one moment: bytes, and numbers."""

    seconds: float
    processes: int
    rss: int
    pss: int
    descriptors: int
    threads: int
    index: int
    ledger: int
    audit: int
    calls: int


class Endurance:
    """One vault and one server, under load."""

    def __init__(self, top: Path, *, notes: int, minutes: float, rate: float, report: Report) -> None:
        self.vault = top / "Notes"
        self.home = top / "home"
        self.home.mkdir()
        self.notes = notes
        self.seconds = minutes * 60
        self.rate = rate
        self.report = report
        self.samples: list[Sample] = []
        self.times: list[tuple[float, dict[str, list[float]]]] = []
        self.config = top / "fsnotes.toml"
        grants = "".join(
            f'[[grant]]\nprincipal = "token:{name}"\nworkspace = "notes"\nfolder = "{folder}"\n'
            f"allow = {json.dumps(rights)}\n"
            for name, folder, rights in PRINCIPALS
        )
        self.config.write_text(
            f'[[workspace]]\nname = "notes"\npath = "{self.vault}"\n{grants}'
            f"[confirm]\nttl_seconds = {TTL_SECONDS}\n"
            f"[audit]\nmax_bytes = {AUDIT_BYTES}\nkeep = {AUDIT_FILES}\n"
            '[http]\nauth = "token"\ncalls_per_second = 1000.0\n'
        )

    @property
    def state(self) -> Path:
        """Where the server keeps what it keeps."""
        return self.home / ".local/state/fsnotes"

    @property
    def warm_up(self) -> float:
        """Seconds until what is compared begins: confirmations have expired by then, and everything was done once."""
        return min(300.0, max(2.0 * TTL_SECONDS, self.seconds / 12), self.seconds / 3)

    @property
    def window(self) -> float:
        """Seconds that are compared, at the beginning and at the end."""
        return min(300.0, (self.seconds - self.warm_up) / 3)

    def run(self) -> None:
        """Make everything, load it, and judge."""
        print(
            f"{self.notes} notes, {self.seconds / 60:.0f} minutes, {self.rate:.0f} calls a second", flush=True
        )
        begun = time.perf_counter()
        make_vault(self.vault, self.notes)
        print(f"  the vault is made ({time.perf_counter() - begun:.0f} s)", flush=True)
        tokens = {name: self._command("token", "new", name).strip() for name, _, _ in PRINCIPALS}
        begun = time.perf_counter()
        self._command("index", str(self.vault))
        print(f"  the index is built ({time.perf_counter() - begun:.0f} s)", flush=True)
        port = free_port()
        words = ("serve", "--transport", "http", "--port", str(port), "--config", str(self.config))
        with started(["-m", "fsnotes", *words, "--jail", "require"], port, self.home) as process:
            self._await(port, tokens["writer"])
            self._load(process, port, tokens)
        self._judge()

    def _command(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "fsnotes", *words, "--config", str(self.config)],
            env={
                "HOME": str(self.home),
                "PATH": os.environ["PATH"],
                "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            },
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def _await(self, port: int, bearer: str) -> None:
        """Wait until the server is ready and its index is."""
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        while True:
            with Raw(port) as raw:
                shown = raw.call("notes_workspaces", bearer=bearer).message["result"]["structuredContent"]
            (workspace,) = shown["workspaces"]
            if workspace["index"] == "ready":
                print(f"  served at level {workspace['jail']}, {workspace['noteCount']} notes", flush=True)
                return
            time.sleep(0.2)

    # -- the load ----------------------------------------------------------------------------------

    def _load(self, process: subprocess.Popen[bytes], port: int, tokens: dict[str, str]) -> None:
        stop, measured = threading.Event(), Measured()
        names = [name for name, folder, _ in PRINCIPALS if not folder] * 2
        clients = [
            Client(
                number,
                tokens[name],
                port=port,
                vault=self.vault,
                notes=self.notes,
                changes=name != "reader",
                rate=self.rate / len(names),
                measured=measured,
                stop=stop,
            )
            for number, name in enumerate(names)
        ]
        threads = [threading.Thread(target=each.run, daemon=True) for each in clients]
        begun = time.monotonic()
        for thread in threads:
            thread.start()
        period = max(5.0, self.seconds / 60)
        tree = psutil.Process(process.pid)
        print(
            "\n  seconds processes   RSS MB   PSS MB  descr. threads  index MB ledger kB audit kB   calls"
            "  read p50/p99 ms"
        )
        calls = 0
        while (passed := time.monotonic() - begun) < self.seconds and not measured.failures:
            time.sleep(min(period, self.seconds - passed))
            now = time.monotonic() - begun
            times = measured.take()
            calls += sum(map(len, times.values()))
            self.times.append((now, times))
            self.samples.append(self._sample(tree, now, calls))
            self._show(self.samples[-1], times.get("read", []))
            self._guest(port, tokens["guest"])
        stop.set()
        for thread in threads:
            thread.join(30)
        print(f"  {calls} calls, {measured.busy} told to come again", flush=True)
        self.report.row(
            "calls that failed",
            str(len(measured.failures)),
            kept=not measured.failures and process.poll() is None,
        )
        for failure in measured.failures[:5]:
            print(f"    {failure}", flush=True)

    def _guest(self, port: int, bearer: str) -> None:
        """See that one who may read a folder still sees that and nothing else."""
        with Raw(port) as raw:
            listed = raw.call(
                "notes_list",
                {"workspaceUri": self.vault.as_uri(), "recursive": True, "limit": 200},
                bearer=bearer,
            ).message["result"]["structuredContent"]
        strange = [note["path"] for note in listed["notes"] if not note["path"].startswith("folder-000/")]
        if strange or not listed["notes"]:
            raise RuntimeError(f"a guest sees {strange[:3]}")

    def _sample(self, server: psutil.Process, now: float, calls: int) -> Sample:
        tree = [server, *server.children(recursive=True)]
        rss = pss = descriptors = threads = 0
        for each in tree:
            try:
                memory = each.memory_full_info()
                rss, pss = rss + memory.rss, pss + memory.pss
                descriptors, threads = descriptors + each.num_fds(), threads + each.num_threads()
            except psutil.NoSuchProcess:
                continue  # a worker that was replaced at this moment
        private = self.state / "private"
        return Sample(
            now,
            len(tree),
            rss,
            pss,
            descriptors,
            threads,
            _size(self.state / "ws", "*/index/*"),
            _size(private, "ledger*"),
            _size(private, "audit*.jsonl"),
            calls,
        )

    @staticmethod
    def _show(one: Sample, reads: list[float]) -> None:
        p50, p99 = (median(reads) * 1e3, percentile(reads, 0.99) * 1e3) if reads else (0.0, 0.0)
        print(
            f"  {one.seconds:7.0f} {one.processes:9d} {one.rss / 1e6:8.1f} {one.pss / 1e6:8.1f} {one.descriptors:7d}"
            f" {one.threads:7d} {one.index / 1e6:9.1f} {one.ledger / 1e3:9.0f} {one.audit / 1e3:8.0f} {one.calls:7d}"
            f"  {p50:.2f} / {p99:.1f}",
            flush=True,
        )

    # -- the judgement -----------------------------------------------------------------------------

    def _judge(self) -> None:
        end = self.samples[-1].seconds
        first = (self.warm_up, self.warm_up + self.window)
        last = (end - self.window, end + 1)
        print(
            f"\n  {self.window:.0f} s after {self.warm_up:.0f} s of warm-up, beside the last {self.window:.0f} s"
        )
        for what, unit, scale, of in _SIZES:
            before, after = (
                median([of(each) for each in self.samples if begin <= each.seconds < until])
                for begin, until in (first, last)
            )
            self.report.row(
                what,
                f"{after / scale:.1f} {unit}",
                f"was {before / scale:.1f}",
                kept=after <= before * MOST_GROWTH or (not unit and after <= before + MORE_DESCRIPTORS),
            )
        self.report.row(
            "audit log: files of it, at the most as configured",
            f"{self.samples[-1].audit / 1e6:.1f} MB",
            kept=self.samples[-1].audit <= (AUDIT_FILES + 1) * (AUDIT_BYTES + 65_536),
        )
        ledger, rows = self.samples[-1].ledger, self._rows(end)
        self.report.row(
            f"ledger, for {rows} confirmations that it has to remember",
            f"{ledger / 1e3:.1f} kB",
            kept=ledger <= LEDGER_BYTES + ROW_BYTES * rows,
        )
        then, now = self._within(*first), self._within(*last)
        for kind in sorted(then.keys() & now.keys()):
            if min(len(then[kind]), len(now[kind])) < FEW_CALLS:
                continue
            before, after = median(then[kind]) * 1e3, median(now[kind]) * 1e3
            self.report.row(
                f"{kind}, p50 (p99 {percentile(now[kind], 0.99) * 1e3:.1f} ms, was"
                f" {percentile(then[kind], 0.99) * 1e3:.1f} ms)",
                f"{after:.2f} ms",
                f"was {before:.2f}",
                kept=after <= before * MOST_GROWTH or after - before <= LEAST_MILLISECONDS,
            )

    def _rows(self, end: float) -> int:
        """Return how many rows the ledger needs: of restored notes for an hour, of others until the form expires."""
        restored = self._within(end - MEMORY_SECONDS, end + 1).get("restore", [])
        deleted = self._within(end - 2 * TTL_SECONDS, end + 1).get("delete", [])
        return len(restored) + len(deleted)

    def _within(self, begin: float, until: float) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        for seconds, times in self.times:
            if begin <= seconds < until:
                for kind, values in times.items():
                    found.setdefault(kind, []).extend(values)
        return found

    def written(self) -> dict[str, Any]:
        """Return all samples."""
        return {
            "notes": self.notes,
            "seconds": self.seconds,
            "samples": [asdict(each) for each in self.samples],
        }


_SIZES: Final[tuple[tuple[str, str, float, Callable[[Sample], float]], ...]] = (
    ("RSS of all processes", "MB", 1e6, lambda each: each.rss),
    ("PSS of all processes", "MB", 1e6, lambda each: each.pss),
    ("descriptors of all processes", "", 1, lambda each: each.descriptors),
    ("threads of all processes", "", 1, lambda each: each.threads),
    ("processes", "", 1, lambda each: each.processes),
    ("index", "MB", 1e6, lambda each: each.index),
)


def _size(folder: Path, pattern: str) -> int:
    total = 0
    for place in folder.glob(pattern):
        try:
            total += place.stat().st_size
        except FileNotFoundError:
            continue  # rotated, or checkpointed, at this moment
    return total


def main() -> int:
    """Run, and return 1 when something promised was missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.endurance")
    parser.add_argument("--notes", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=40.0, help="calls a second, of all clients together")
    parser.add_argument("--out", help="a file for all samples, as JSON")
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as folder:
        endurance = Endurance(
            Path(os.path.realpath(folder)),
            notes=options.notes,
            minutes=options.minutes,
            rate=options.rate,
            report=report,
        )
        endurance.run()
        if options.out:
            Path(options.out).write_text(json.dumps(endurance.written()))
    if report.missed:
        print(f"\nmissed: {', '.join(report.missed)}")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
