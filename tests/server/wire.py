"""Drives a real server process over real pipes: raw bytes in, whole frames out, every wait bounded."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
VERSION = "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
FORMS: Mapping[str, Any] = {"elicitation": {"form": {}}}
SECONDS = 20.0

Frame = dict[str, Any]


def envelope(capabilities: Any = FORMS, version: Any = VERSION, **more: Any) -> Frame:
    """The `_meta` of a request."""
    return {VERSION_KEY: version, CAPABILITIES_KEY: capabilities, **more}


def request(id_: Any, method: str, params: Mapping[str, Any] | None = None, *, meta: Any = None) -> Frame:
    """A request, with a good envelope unless another *meta* is given."""
    meta = envelope() if meta is None else meta
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": {**(params or {}), "_meta": meta}}


def call(id_: Any, tool: str, arguments: Any = None, *, meta: Any = None, **more: Any) -> Frame:
    """A `tools/call`; *more* are members beside name and arguments."""
    params = {"name": tool, "arguments": {} if arguments is None else arguments, **more}
    return request(id_, "tools/call", params, meta=meta)


def error(id_: Any, code: int, message: str, data: Any = None) -> Frame:
    """The answer to a refused request; *id_* None where there is none."""
    body: Frame = {"code": code, "message": message}
    if data is not None:
        body["data"] = data
    return {"jsonrpc": "2.0", **({} if id_ is None else {"id": id_}), "error": body}


def failed(id_: Any, line: str, server: Mapping[str, Any]) -> Frame:
    """The answer to a call of a tool that failed with *line*."""
    result = {
        "content": [{"type": "text", "text": line}],
        "isError": True,
        "resultType": "complete",
        "_meta": {SERVER_KEY: dict(server)},
    }
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def accept(note_id: Any, *, confirm: Any = True) -> Frame:
    """The answers of a person who sent the form off."""
    return {"delete_choice": {"action": "accept", "content": {"note_id": note_id, "confirm": confirm}}}


class Wire:
    """A server process and its three streams. Use it as a context: the process never outlives the test."""

    def __init__(self, command: Sequence[str], *, home: Path, stdin: int = subprocess.PIPE) -> None:
        environ = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
        }
        self.process = subprocess.Popen(
            list(command), stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, env=environ
        )
        self._frames: queue.Queue[bytes] = queue.Queue()
        self.stderr = b""
        self._readers = [
            threading.Thread(target=reader, daemon=True) for reader in (self._read_frames, self._read_log)
        ]
        self._next_id = 1000
        self._reading = False

    @classmethod
    def serve(cls, *folders: Path, state: Path, options: Sequence[str] = ()) -> Wire:
        """Run `fsnotes serve` on *folders*."""
        return cls(
            [
                sys.executable,
                "-m",
                "fsnotes",
                "serve",
                *map(str, folders),
                "--state-dir",
                str(state),
                *options,
            ],
            home=state.parent,
        )

    def __enter__(self) -> Self:
        self.read()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait(SECONDS)
        if self._reading:
            for reader in self._readers:
                reader.join(SECONDS)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def read(self) -> None:
        """Begin to read what the server writes."""
        if not self._reading:
            self._reading = True
            for reader in self._readers:
                reader.start()

    def _read_frames(self) -> None:
        assert self.process.stdout is not None
        held = b""
        while chunk := os.read(self.process.stdout.fileno(), 1 << 20):
            *lines, held = (held + chunk).split(b"\n")
            for line in lines:
                self._frames.put(line)
        self._frames.put(held)  # b"" is the end; anything else was cut off

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        while chunk := os.read(self.process.stderr.fileno(), 1 << 16):
            self.stderr += chunk

    def log(self) -> bytes:
        """Return all that was written to stderr, once the server has ended."""
        self._readers[1].join(SECONDS)
        return self.stderr

    # -- sending -----------------------------------------------------------------------------------

    def send_raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        assert self.process.stdin is not None
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view) or 0 :]

    def send(self, *frames: Frame) -> None:
        """Send frames, a line each."""
        self.send_raw(b"".join(json.dumps(frame).encode() + b"\n" for frame in frames))

    def end_input(self) -> None:
        """Close the server's stdin."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    # -- receiving ---------------------------------------------------------------------------------

    def receive_raw(self, seconds: float = SECONDS) -> bytes:
        """Return the next line; b"" at the end of the output. Raises queue.Empty after *seconds*."""
        return self._frames.get(timeout=seconds)

    def receive(self, seconds: float = SECONDS) -> Frame:
        """Return the next frame."""
        line = self.receive_raw(seconds)
        assert line, f"the server ended: {self.stderr.decode(errors='replace')}"
        assert line.isascii()
        frame = json.loads(line)
        assert isinstance(frame, dict)
        return frame

    def receive_all(self, count: int) -> dict[Any, Frame]:
        """Return the next *count* frames by their ids, which may come in any order."""
        frames = [self.receive() for _ in range(count)]
        found = {frame.get("id"): frame for frame in frames}
        assert len(found) == count
        return found

    def ask(self, frame: Frame) -> Frame:
        """Send one frame and return the next one that comes."""
        self.send(frame)
        return self.receive()

    def ask_raw(self, data: bytes) -> Frame:
        """Send bytes and return the next frame that comes."""
        self.send_raw(data)
        return self.receive()

    def call(self, tool: str, arguments: Any = None, *, meta: Any = None, **more: Any) -> Frame:
        """Call a tool under a fresh id, and return the whole answer."""
        self._next_id += 1
        return self.ask(call(self._next_id, tool, arguments, meta=meta, **more))

    def result(self, tool: str, arguments: Any = None, *, meta: Any = None, **more: Any) -> Frame:
        """Call a tool, and return the result's members without the server's signature."""
        answer = self.call(tool, arguments, meta=meta, **more)
        assert "result" in answer, answer
        result: Frame = answer["result"]
        assert result.pop("_meta").keys() == {SERVER_KEY}
        return result

    def refusal(self, tool: str, arguments: Any = None, *, meta: Any = None, **more: Any) -> Frame:
        """Call a tool, and return the JSON-RPC error that it is answered with."""
        answer = self.call(tool, arguments, meta=meta, **more)
        assert "error" in answer, answer
        refused: Frame = answer["error"]
        return refused

    def assert_silent(self) -> None:
        """Assert that nothing is on its way: the very next frame answers a request sent now."""
        self._next_id += 1
        answer = self.ask(request(self._next_id, "no/such/method"))
        assert answer == error(self._next_id, -32601, "Method not found")

    # -- the end -----------------------------------------------------------------------------------

    def signal(self, number: signal.Signals) -> None:
        """Send the server a signal."""
        self.process.send_signal(number)

    def wait(self, seconds: float = SECONDS) -> int:
        """Return the exit code."""
        return self.process.wait(seconds)

    def timed_wait(self) -> tuple[int, float]:
        """Return the exit code, and the seconds it took from now."""
        start = time.monotonic()
        return self.wait(), time.monotonic() - start
