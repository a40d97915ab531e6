"""Plays the product in a temporary folder: a real server process, real frames, real files.

Each step says what was asked and what came of it; a step that goes otherwise than promised ends the demo with
a failure.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from types import FrameType
from typing import Any, Final

import fsnotes
from fsnotes.cli.console import Console
from fsnotes.errors import Unavailable
from sandbox.uris import FileUri

_NOTES: Final = {
    "Welcome.md": "# Welcome\n\nThese are real files. Open them with any editor.\n",
    "Projects/TPS report.md": "---\ntitle: TPS report\n---\nDraft for Monday.\n",
    "Projects/TPS report (old).md": "# TPS report\n\nLast year's.\n",
}
_OUTSIDE: Final = "not a note of yours\n"
_META: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    "io.modelcontextprotocol/clientInfo": {"name": "fsnotes-demo", "version": "1"},
}


class _Peer:
    """A client of one server process, over its pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._last_id = 0

    def call(self, tool: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Call a tool and return the result."""
        self._last_id += 1
        params = {"name": tool, "arguments": arguments, "_meta": _META, **more}
        frame = {"jsonrpc": "2.0", "id": self._last_id, "method": "tools/call", "params": params}
        if self._process.stdin is None or self._process.stdout is None:
            raise Unavailable("the server has no pipes")
        try:
            self._process.stdin.write(json.dumps(frame).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            # Not to be taken for the reader of the demo's own output.
            raise Unavailable("the server ended early") from None
        line = self._process.stdout.readline()
        if not line:
            raise Unavailable("the server ended early")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            return {"error": answer["error"]}
        result: dict[str, Any] = answer["result"]
        return result


@contextlib.contextmanager
def _served(folder: str, state: str) -> Iterator[_Peer]:
    # -P: modules come from where this one came from, never from the folder in which the demo is started.
    command = [sys.executable, "-P", "-m", "fsnotes", "serve", folder, "--state-dir", state]
    command += ["--jail", "off", "--log-level", "error"]
    place = os.path.dirname(os.path.dirname(os.path.abspath(fsnotes.__file__)))
    environ = {name: value for name, value in os.environ.items() if not name.startswith("FSNOTES_")}
    environ["FSNOTES_CONFIG"] = os.devnull
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, [place, environ.get("PYTHONPATH")]))
    with subprocess.Popen(  # noqa: S603 - our own interpreter and module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ
    ) as process:
        try:
            yield _Peer(process)
        finally:
            if process.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()


def play(console: Console) -> int:
    """Play all steps; return 0 when each went as promised."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup sets it
            signal.signal(number, _leave)
    with tempfile.TemporaryDirectory(prefix="fsnotes-demo-") as top:
        folder = os.path.join(top, "Notes")
        for path, text in {**_NOTES, "../secret.md": _OUTSIDE}.items():
            place = os.path.join(folder, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w", encoding="utf-8") as file:
                file.write(text)
        os.symlink("../secret.md", os.path.join(folder, "shortcut.md"))
        with _served(folder, os.path.join(top, "state")) as peer:
            kept = _Play(console, peer, folder).run()
    console.say()
    console.say("The demo's folder is gone again." if kept else "Something did not go as promised.")
    return 0 if kept else 1


def _leave(signum: int, frame: FrameType | None) -> None:
    # Ends the blocks in which the folder and the server are held, so that neither is left behind.
    sys.exit(128 + signum)


class _Play:
    def __init__(self, console: Console, peer: _Peer, folder: str) -> None:
        self._console = console
        self._peer = peer
        self._folder = folder
        self._uri = str(FileUri.from_path(os.path.realpath(folder)))
        self._failed = False

    def run(self) -> bool:
        say = self._console.say
        say(f"A sample workspace: {self._folder}")
        say()
        self._list()
        self._search()
        self._escape()
        state = self._form()
        self._decline(state)
        self._delete()
        return not self._failed

    def _call(self, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        return self._peer.call(tool, {"workspaceUri": self._uri, **(arguments or {})}, **more)

    def _expect(self, promise: str, kept: bool) -> None:  # noqa: FBT001 - reads as a sentence at each call
        self._console.say(f"   {'ok' if kept else 'NOT SO'}: {promise}")
        self._failed = self._failed or not kept

    def _exists(self, path: str) -> bool:
        return os.path.exists(os.path.join(self._folder, path))

    def _list(self) -> None:
        self._console.say("1. An assistant lists the notes.")
        listed = self._call("notes_list", {"recursive": True})["structuredContent"]
        for note in listed["notes"]:
            self._console.say(f"   {note['path']}  ({note['title']})")
        self._expect("three notes, by path and title", len(listed["notes"]) == 3)
        self._expect(
            "the link that points out of the folder is named as skipped, not followed",
            listed["skipped"] == [{"path": "shortcut.md", "reason": "link"}],
        )

    def _search(self) -> None:
        self._console.say('2. It searches for "monday".')
        found = self._call("notes_search", {"query": "monday"})["structuredContent"]["hits"]
        for hit in found:
            for line in hit["lines"]:
                self._console.say(f"   {hit['path']}, line {line['line']}: {line['text']}")
        self._expect(
            "the one note that has the word, with its line",
            [(hit["path"], hit["lines"]) for hit in found]
            == [("Projects/TPS report.md", [{"line": 4, "text": "Draft for Monday."}])],
        )

    def _escape(self) -> None:
        self._console.say("3. It tries to leave the folder.")
        for path in ("../secret.md", "shortcut.md"):
            result = self._call("notes_read", {"path": path})
            refused = result.get("isError") is True and _OUTSIDE.strip() not in json.dumps(result)
            self._console.say(f"   {path}: {result['content'][0]['text'] if 'content' in result else result}")
            self._expect("refused", refused)
        result = self._peer.call("notes_list", {"workspaceUri": self._uri + "-evil"})
        self._expect(
            "a folder whose name merely begins like yours is refused too", result.get("isError") is True
        )

    def _form(self) -> str:
        self._console.say('4. It asks to delete "TPS report". Two notes have that title, so you are asked.')
        asked = self._call("notes_delete", {"title": "TPS report"})
        form = asked.get("inputRequests", {}).get("delete_choice", {}).get("params", {})
        for line in str(form.get("message", "")).splitlines():
            self._console.say(f"   | {line}")
        self._expect("nothing is deleted without your answer", asked.get("resultType") == "input_required")
        return str(asked.get("requestState"))

    def _decline(self, state: str) -> None:
        self._console.say("5. You decline.")
        declined = self._call(
            "notes_delete",
            {"title": "TPS report"},
            inputResponses={"delete_choice": {"action": "decline"}},
            requestState=state,
        )
        self._expect(
            "the assistant is told so, and both notes are still there",
            declined.get("structuredContent") == {"outcome": "declined"}
            and all(self._exists(path) for path in _NOTES),
        )
        replay = self._accept("TPS report", "Projects/TPS report.md", state)
        self._expect("the declined question cannot be answered a second time", "error" in replay)

    def _delete(self) -> None:
        self._console.say("6. You ask for the old one to go, and confirm.")
        title = "Projects/TPS report (old).md"
        asked = self._call("notes_delete", {"title": title})
        state = str(asked.get("requestState"))
        deleted = self._accept(title, title, state)
        outcome = deleted.get("structuredContent", {})
        trash_id = str(outcome.get("trashId"))
        self._console.say(f"   {json.dumps(outcome)}")
        self._expect(
            "it is in the trash, in your own folder",
            not self._exists(title) and self._exists(f".trash/{trash_id}/{title}"),
        )
        self._expect("the same confirmation does nothing again", "error" in self._accept(title, title, state))
        self._call("notes_restore", {"trashId": trash_id})
        self._expect("notes_restore brings it back, byte for byte", self._read(title) == _NOTES[title])

    def _accept(self, title: str, path: str, state: str) -> dict[str, Any]:
        answer = {"action": "accept", "content": {"note_id": path, "confirm": True}}
        return self._call(
            "notes_delete", {"title": title}, inputResponses={"delete_choice": answer}, requestState=state
        )

    def _read(self, path: str) -> str | None:
        try:
            with open(os.path.join(self._folder, path), encoding="utf-8", newline="") as file:
                return file.read()
        except OSError:
            return None
