"""A server whose service does what the path of a note says: to make calls wait, fail and crash on demand.

`notes_read` of `wait/PATH` makes the file PATH.begun and waits for PATH.go (`report and wait/PATH` reports progress
before), that of `report/N` reports progress N times, and that of `report late/PATH` once PATH.go is there, long after
its answer. `notes_create` of PATH with the content `wait` waits as well; answering a deletion makes the file that is
its state. Started with a third argument, it serves older clients too, whose forms are open for so many
seconds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from fsnotes.access import Principal
from fsnotes.calls import Call
from fsnotes.config import Settings
from fsnotes.errors import NotAllowed
from fsnotes.notes.commands import Created, NoteText
from fsnotes.outcomes import Deletion, NoteCreated, NoteRead
from fsnotes.server import ServerSettings, serve_stdio
from fsnotes.server.progress import LEAST_SECONDS

BOUND = 30.0


def _write_astray(way: str) -> None:
    """Write a line to what the rest of the process takes for its standard output."""
    line = "this must not reach the client\n"
    match way:
        case "print":
            print(line, end="", flush=True)
        case "descriptor":
            os.write(1, line.encode())
        case "former":
            assert sys.__stdout__ is not None
            sys.__stdout__.write(line)
            sys.__stdout__.flush()
        case _:
            subprocess.run(["echo", line[:-1]], check=True)


class ScriptedService:
    """Behaves as the path says."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def name_of(self, call: Any, workspace_uri: str) -> str | None:
        """No workspace has a name."""
        return None

    def read(self, call: Call, workspace_uri: str, path: str, **part: Any) -> NoteRead:
        kind, _, name = path.partition("/")
        match kind:
            case "wait" | "report and wait":
                if kind != "wait":
                    call.report(0, 10, "of it")
                self._wait(name)
                if call.abandoned():
                    (self._folder / f"{name}.abandoned").touch()
                (self._folder / f"{name}.done").touch()
            case "crash":
                raise RuntimeError(f"secret {self._folder}")
            case "exit":
                raise SystemExit(3)
            case "interrupt":
                raise KeyboardInterrupt
            case "recursion":
                return self.read(call, workspace_uri, path)
            case "forbidden":
                raise NotAllowed
            case "print":
                _write_astray(name)
                name = str(len(sys.stdin.read())) + str(len(os.read(0, 10)))
            case "surrogate":
                name = os.fsdecode(b"caf\xe9.md")
            case "long":
                name = "x" * int(name)
            case "report":
                for done in range(int(name)):
                    call.report(done, 10, "of it")
                    call.report(done, 10, "of it again")
                    time.sleep(LEAST_SECONDS + 0.02)
            case "report late":
                late = threading.Thread(target=self._report_late, args=(call, name))
                late.start()
            case "call":
                name = f"{call.principal.name} {call.request_id} {call.trace_id}"
        text = name
        return NoteRead(NoteText(path, "e" * 32, len(text), text, 1, 1, 1, None, None))

    def _report_late(self, call: Call, name: str) -> None:
        self._wait(name)
        call.report(1, 2, "too late")
        (self._folder / f"{name}.done").touch()

    def _wait(self, name: str) -> None:
        (self._folder / f"{name}.begun").touch()
        end = time.monotonic() + BOUND
        while not (self._folder / f"{name}.go").exists() and time.monotonic() < end:
            time.sleep(0.002)

    def create(self, call: Call, workspace_uri: str, path: str, content: str) -> NoteCreated:
        if content == "wait":
            self._wait(path)
        (self._folder / path).write_text(content)
        return NoteCreated(Created(path, "e" * 32, len(content)))

    def delete(self, call: Call, workspace_uri: str, title: str, **more: Any) -> Any:
        if more["state"] is None:
            form = SimpleNamespace(
                message="Which?", schema={"properties": {}, "required": [], "type": "object"}
            )
            return SimpleNamespace(form=form, state="sealed")
        return Deletion("deleted", repr(more["answers"]), more["state"])

    def refused(self, call: Call, tool: str, workspace_uri: str, outcome: str) -> None:
        """Log nothing."""

    def answered(self, deletion: Deletion) -> None:
        path = Path(str(deletion.trash_id))
        if path.is_absolute():  # where the test wants it, and nowhere else
            path.touch()


def main() -> int:
    """Serve until the end."""
    product = SimpleNamespace(
        service=ScriptedService(Path(sys.argv[1])),
        principal=Principal("local:scripted"),
        settings=Settings(state_dir="/", confirm_ttl_seconds=float(sys.argv[3]) if sys.argv[3:] else 300.0),
        workspaces=(),
    )
    settings = ServerSettings(max_message_bytes=65_536, max_calls=int(sys.argv[2]), legacy=sys.argv[3:] != [])
    return serve_stdio(cast("Any", product), settings)


if __name__ == "__main__":
    sys.exit(main())
