"""`python -m tests.benchmarks.exchanges [REQUESTS]`: the HTTP transport, jailed, beside the SDK's own with one tool.

Both answer over kept connections to one client process that drives 1, 8 and 32 of them, in turn. At the end it is
looked whether *REQUESTS* (default 100,000) leave memory behind.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psutil

from tests.benchmarks.peer import META
from tests.benchmarks.report import Report, median
from tests.benchmarks.vault import make_vault

NOTES: Final = 1_000
ROUNDS: Final = 7
CONNECTIONS: Final = (1, 8, 32)
"""Beyond 32, calls of one workspace are refused: its queue is bounded."""
REQUESTS: Final = 800
"""Of one side in one round."""
MOST_P50: Final = 1.3
LEAST_RATE: Final = 0.8
MOST_CPU: Final = 1.1
MOST_GROWTH: Final = 1.1


class Target:
    """A server on loopback, and the one request that it is asked again and again."""

    def __init__(
        self, process: subprocess.Popen[bytes], port: int, tool: str, arguments: dict[str, Any]
    ) -> None:
        self.process = process
        self.port = port
        params = {"name": tool, "arguments": arguments, "_meta": META}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        self.request = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
            f"Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode() + body

    def tree(self) -> list[psutil.Process]:
        """Return the processes of the server."""
        process = psutil.Process(self.process.pid)
        return [process, *process.children(recursive=True)]

    def cpu(self) -> float:
        """Return the seconds of processor time that they have used."""
        return sum(sum(each.cpu_times()[:2]) for each in self.tree())

    def rss(self) -> int:
        """Return the resident bytes of all of them."""
        return sum(each.memory_info().rss for each in self.tree())


async def _connection(target: Target, count: int, times: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
    for _ in range(count):
        started = time.perf_counter()
        writer.write(target.request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = int(head.lower().split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
        body = await reader.readexactly(length)
        times.append(time.perf_counter() - started)
        assert b'"isError":true' not in body, body
        assert b'"result"' in body, body
    writer.close()
    await writer.wait_closed()


def drive(target: Target, connections: int, requests: int) -> tuple[float, float]:
    """Send *requests* over so many connections; return the median of their times, and how many there were a second."""
    times: list[float] = []

    async def run() -> float:
        started = time.perf_counter()
        each = max(1, requests // connections)
        await asyncio.gather(*(_connection(target, each, times) for _ in range(connections)))
        return time.perf_counter() - started

    seconds = asyncio.run(run())
    return median(times), len(times) / seconds


def free_port() -> int:
    """Return a port that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def started(command: list[str], port: int, home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until it listens, and end it."""
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    process = subprocess.Popen([sys.executable, *command], env=environ)
    try:
        for _ in range(400):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.wait(20)


class HttpBench:
    """One vault, served over HTTP."""

    def __init__(self, top: Path, report: Report, requests: int) -> None:
        self.vault = top / "Notes"
        self.home = top / "home"
        self.home.mkdir()
        self.report = report
        self.requests = requests
        make_vault(self.vault, NOTES)
        self.config = top / "fsnotes.toml"
        # There is one principal, and what is measured is not how it is refused.
        self.config.write_text(f"[http]\nmax_calls_per_principal = {2 * max(CONNECTIONS)}\n")

    @contextmanager
    def ours(self, *options: str) -> Iterator[Target]:
        """Run our server, jailed."""
        port = free_port()
        command = [
            "-m",
            "fsnotes",
            "serve",
            str(self.vault),
            "--transport",
            "http",
            "--port",
            str(port),
            "--config",
            str(self.config),
            *options,
        ]
        with started(command, port, self.home) as process:
            while True:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.1)
            arguments = {"workspaceUri": self.vault.as_uri(), "path": "folder-000/note-00000.md"}
            target = Target(process, port, "notes_read", arguments)
            drive(target, 8, 400)
            yield target

    def run(self) -> None:
        """Measure everything."""
        port = free_port()
        with (
            self.ours() as ours,
            started(["-m", "tests.benchmarks.echo_http", str(port)], port, self.home) as process,
        ):
            echo = Target(process, port, "echo", {"text": "word"})
            drive(echo, 8, 400)
            print(
                f"\nnotes_read of 4 KB over HTTP, jailed, beside the SDK's echo, medians of {ROUNDS} rounds",
                flush=True,
            )
            for connections in CONNECTIONS:
                self._compare(ours, echo, connections)
        self._workers()
        self._growth()

    def _compare(self, ours: Target, echo: Target, connections: int) -> None:
        times: list[list[float]] = [[], []]
        rates: list[list[float]] = [[], []]
        for _ in range(ROUNDS):
            for side, target in enumerate((ours, echo)):
                p50, rate = drive(target, connections, REQUESTS)
                times[side].append(p50)
                rates[side].append(rate)
        (mine, theirs), (rate, other) = map(median, times), map(median, rates)
        plural = "connection" if connections == 1 else "connections"
        self.report.against(f"p50, {connections} {plural}", mine, "echo", theirs, most=MOST_P50)
        self.report.row(
            f"calls a second (beside echo: {other:.0f})",
            f"{rate:.0f}",
            f"x {rate / other:.2f}",
            kept=rate / other >= LEAST_RATE,
        )

    def _workers(self) -> None:
        """Compare one process and two: what they use for a call, and how many calls they answer."""
        used: list[list[float]] = [[], []]
        rates: list[list[float]] = [[], []]
        with self.ours() as one, self.ours("--workers", "2") as two:
            for _ in range(ROUNDS):
                for side, target in enumerate((one, two)):
                    before = target.cpu()
                    _, rate = drive(target, 16, 2 * REQUESTS)
                    rates[side].append(rate)
                    used[side].append((target.cpu() - before) / (2 * REQUESTS))
        mine, other = map(median, used)
        one_rate, two_rate = map(median, rates)
        # What is gained depends on how many processors are left beside the client; it must not cost much anywhere.
        self.report.row(
            f"calls a second, two processes, 16 connections (one: {one_rate:.0f})",
            f"{two_rate:.0f}",
            f"x {two_rate / one_rate:.2f}",
            kept=two_rate / one_rate >= LEAST_RATE,
        )
        self.report.against("processor time of a call, two processes", other, "one", mine, most=MOST_CPU)

    def _growth(self) -> None:
        with self.ours() as target:
            drive(target, 8, 1_000)
            first = target.rss()
            drive(target, 8, self.requests)
            last = target.rss()
        self.report.against(
            f"RSS of all processes after {self.requests} calls",
            last,
            "after 1,000",
            first,
            most=MOST_GROWTH,
            scale=1e-6,
            unit="MB",
        )


def main() -> int:
    """Measure, and return 1 when something promised was missed."""
    report = Report()
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as folder:
        HttpBench(
            Path(os.path.realpath(folder)), report, int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
        ).run()
    if report.missed:
        print(f"\nmissed: {', '.join(report.missed)}")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
