"""A client that somebody else wrote, in a process of its own, and what it is told to do: one act after the other."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.cli.shell import ROOT
from tests.extern.packages import Packages

SECONDS: Final = 30.0
PYTHON: Final = "python_2.py"
SCRIPTS: Final[Mapping[str, str]] = {
    "python 2": PYTHON,
    "typescript 1": "typescript_1.mjs",
    "typescript 2": "typescript_2.mjs",
}

FORMS: Final[Mapping[str, Any]] = {"form": {}}
URLS: Final[Mapping[str, Any]] = {"url": {}}


class Refused(Exception):
    """What was asked for came to an error, in the client or at the server."""

    def __init__(self, code: Any, message: str, data: Any) -> None:
        super().__init__(code, message, data)
        self.code, self.message, self.data = code, message, data


class Peer:
    """One client. Use it as a context: neither it nor a server that it started outlives the test."""

    def __init__(self, sdk: str, packages: Packages | None) -> None:
        script = SCRIPTS[sdk]
        if script == PYTHON:
            command = [sys.executable, str(Path(__file__).with_name(script))]
        else:
            assert packages is not None
            command = packages.driver(script)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        self._came: queue.Queue[str] = queue.Queue()
        self._log = ""
        self.capabilities: Mapping[str, Any] = {}
        self._readers = [
            threading.Thread(target=reader, daemon=True) for reader in (self._read, self._read_log)
        ]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._came.put(line)
        self._came.put("")

    def _read_log(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._log += line

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(SECONDS)
        finally:
            self._process.kill()
            for reader in self._readers:
                reader.join(SECONDS)
            for stream in (self._process.stdout, self._process.stderr):
                assert stream is not None
                stream.close()

    def act(self, act: str, **given: Any) -> Any:
        """Do one act, and return what came of it. Raises Refused."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"act": act, **given}) + "\n")
        self._process.stdin.flush()
        line = self._came.get(timeout=SECONDS)
        assert line, self._log
        came = json.loads(line)
        if "failed" in came:
            raise Refused(**came["failed"])
        return came["ok"]

    # -- what a user of the client does -----------------------------------------------------------------

    def connect(self, era: str, server: Mapping[str, Any], *, elicitation: Any = FORMS) -> Any:
        """Open a connection to *server*: the words that start it, or its URL."""
        return self.act("connect", era=era, elicitation=elicitation, **server)

    def call(self, tool: str, arguments: Mapping[str, Any], *answers: Any) -> tuple[Any, Sequence[Any]]:
        """Call a tool; return its result, and the forms that a person answered with *answers* meanwhile."""
        came = self.act("call", name=tool, arguments=arguments, answers=answers)
        return came["result"], came["forms"]

    def document(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool that must succeed without a form; return its structure, of which its text is the JSON."""
        result, forms = self.call(tool, arguments)
        assert not result.get("isError"), result
        assert forms == []
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        return result["structuredContent"]
