"""`python -m tests.benchmarks.watching`: what it takes to watch a large tree, and how soon a change is told.

Beside it is what the same tree takes to be listed alone. Names only: the files are empty.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from sandbox.names import RelPath
from sandbox.root import Root
from sandbox.watcher import Watcher

WAIT: Final = 120.0
BRANCHES: Final = 15
WRITER: Final = """
import os, sys
for number in range(int(sys.argv[2])):
    fd = os.open(f"{sys.argv[1]}/{number % 7}.md", os.O_WRONLY | os.O_CREAT)
    os.write(fd, b"x")
    os.close(fd)
"""


def make_tree(top: Path, folders: int, names: int) -> None:
    """Make nested *folders*, and *names* empty files in them, as many in each."""
    made = [top]
    for number in range(1, folders):
        parent = made[(number - 1) // BRANCHES]
        made.append(parent / f"folder-{number:05d}")
        made[-1].mkdir()
    for number in range(names):
        os.close(os.open(made[number % folders] / f"note-{number:06d}.md", os.O_WRONLY | os.O_CREAT, 0o644))


def resident() -> float:
    """Return this process's resident memory in MB."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def milliseconds(begin: float) -> float:
    """Return the time since *begin*."""
    return (time.perf_counter() - begin) * 1e3


def start(root: Root, top: Path) -> Watcher:
    """Watch the tree, and say what that took."""
    for _ in range(2):
        begin = time.perf_counter()
        listed = sum(len(folders) + len(files) for _, folders, files in os.walk(top))
        listing = milliseconds(begin)
    before, spent, begin = resident(), time.process_time(), time.perf_counter()
    watcher = root.watch()
    first = milliseconds(begin)
    assert watcher.settle(WAIT)
    ready, spent = milliseconds(begin), time.process_time() - spent
    print(f"  {listed} names, {watcher.status().folders} folders watched: returns after {first:.1f} ms,")
    print(f"  watched as a whole after {ready:.0f} ms, {spent * 1e3:.0f} ms of them at work", end=" ")
    print(f"(os.walk alone {listing:.0f} ms)", end=", ")
    print(f"{resident() - before:.1f} MB more memory; {watcher.status()}")
    return watcher


def delays(watcher: Watcher, top: Path, rounds: int) -> None:
    """Print how long it takes from a write by ourselves until it is marked, and until `settle` returns."""
    marked, settled = [], []
    paths = sorted(top.rglob("note-*.md"))[::100][:200]
    for number in range(rounds):
        path = paths[number % len(paths)]
        watcher.take()
        fd = os.open(path, os.O_WRONLY)
        seen = watcher.generation
        begin = time.perf_counter()
        os.write(fd, b"x")
        while watcher.generation == seen:
            time.sleep(0)
        marked.append(milliseconds(begin) * 1e3)
        os.close(fd)
        assert watcher.look().covers(RelPath.parse(str(path.relative_to(top))))
        begin = time.perf_counter()
        assert watcher.settle(WAIT)
        settled.append(milliseconds(begin) * 1e3)
    for what, times in (("a write until it is marked", marked), ("settle", settled)):
        times.sort()
        print(
            f"  {what}: median {statistics.median(times):.0f} us,"
            f" p99 {times[int(rounds * 0.99)]:.0f} us, most {times[-1]:.0f} us"
        )


def storm(watcher: Watcher, top: Path, writes: int) -> None:
    """Print what another process that writes as fast as it can does to us."""
    watcher.take()
    before, begin = time.process_time(), time.perf_counter()
    subprocess.run([sys.executable, "-c", WRITER, str(top), str(writes)], check=True)
    assert watcher.settle(WAIT)
    took = milliseconds(begin)
    print(
        f"  {writes} writes elsewhere in {took:.0f} ms: {time.process_time() - before:.2f} s of our processor time,",
        end=" ",
    )
    print(f"{watcher.status().overflows} overflows, {len(watcher.look().files)} files marked")


def main() -> None:
    """Measure on a tree of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folders", type=int, default=2_685)
    parser.add_argument("--names", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=2_000)
    parser.add_argument("--writes", type=int, default=30_000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fsnotes-watch-") as base:
        top = Path(base)
        make_tree(top, chosen.folders, chosen.names)
        with Root.open(top) as root:
            watcher = start(root, top)
            delays(watcher, top, chosen.rounds)
            storm(watcher, top, chosen.writes)
            os.rename(top / "folder-00001", top / "moved")
            begin = time.perf_counter()
            assert watcher.settle(WAIT)
            print(f"  a folder with a fifteenth of it moved: known again after {milliseconds(begin):.1f} ms")
            begin = time.perf_counter()
            watcher.close()
            print(f"  closed after {milliseconds(begin):.1f} ms")


if __name__ == "__main__":
    main()
