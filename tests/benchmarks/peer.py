"""Drives a server over its pipes with raw frames, and measures it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import psutil

META: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
}


class Peer:
    """One server process and the pipes to it."""

    def __init__(self, arguments: list[str], *, home: Path) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("BENCH_STDERR") else subprocess.DEVNULL,
            env={
                "HOME": str(home),
                "PATH": os.environ["PATH"],
                "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            },
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin, self.process.stdout
        self._id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._in.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)
        self._out.close()

    def send(self, method: str, params: dict[str, Any]) -> None:
        """Send a request without waiting."""
        self._id += 1
        frame = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": {**params, "_meta": META}}
        self._in.write(json.dumps(frame).encode() + b"\n")
        self._in.flush()

    def receive(self) -> dict[str, Any]:
        """Wait for the next answer."""
        answer: dict[str, Any] = json.loads(self._out.readline())
        return answer

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return its result."""
        self.send(method, params)
        answer = self.receive()
        if "result" not in answer or answer["result"].get("isError"):
            raise RuntimeError(json.dumps(answer)[:500])
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, tool: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Call a tool."""
        return self.request("tools/call", {"name": tool, "arguments": arguments, **more})

    def rate(self, tool: str, arguments: list[dict[str, Any]], *, in_flight: int) -> float:
        """Call a tool for each of *arguments*, *in_flight* at a time; return seconds a call."""
        begin = time.perf_counter()
        sent = received = 0
        while received < len(arguments):
            while sent < len(arguments) and sent - received < in_flight:
                self.send("tools/call", {"name": tool, "arguments": arguments[sent]})
                sent += 1
            answer = self.receive()
            if "result" not in answer:
                raise RuntimeError(json.dumps(answer)[:500])
            received += 1
        return (time.perf_counter() - begin) / len(arguments)

    def rss(self) -> int:
        """Return the resident memory of the process, in bytes."""
        return int(psutil.Process(self.process.pid).memory_info().rss)
