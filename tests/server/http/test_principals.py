"""Two people on one server at once: no byte of the one's notes ever reaches the other."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.server.http.conftest import Served
from tests.server.wire import call

NAMES = ("alice", "bob")
ROUNDS = 25


def configured(folder: Path) -> str:
    """A folder of each, and one of both, of which each has a half."""
    lines = [f'[[workspace]]\nname = "{name}"\npath = "{folder / name}"\n' for name in (*NAMES, "shared")]
    for name in NAMES:
        for place in (folder / name, folder / "shared" / name):
            place.mkdir(parents=True, exist_ok=True)
            for number in range(5):
                (place / f"{number}.md").write_text(f"# Note {number}\n\nsecret-of-{name} #tag-{name}\n")
    for name in NAMES:
        for workspace, inside in ((name, ""), ("shared", name)):
            lines.append(
                f'[[grant]]\nprincipal = "token:{name}"\nworkspace = "{workspace}"\nfolder = "{inside}"\n'
                'allow = ["read", "write", "delete"]\n'
            )
    file = folder / "fsnotes.toml"
    file.write_text("".join(lines))
    return str(file)


def calls(folder: Path, name: str, other: str) -> list[tuple[str, dict[str, Any]]]:
    """What *name* asks, of its own folders and of the other's."""
    own, shared, foreign = ((folder / place).as_uri() for place in (name, "shared", other))
    return [
        ("notes_workspaces", {}),
        ("notes_list", {"workspaceUri": own, "recursive": True}),
        ("notes_list", {"workspaceUri": shared, "recursive": True}),
        ("notes_list", {"workspaceUri": foreign, "recursive": True}),
        ("notes_read", {"workspaceUri": own, "path": "1.md"}),
        ("notes_read", {"workspaceUri": shared, "path": f"{name}/1.md"}),
        ("notes_read", {"workspaceUri": shared, "path": f"{other}/1.md"}),
        ("notes_read", {"workspaceUri": foreign, "path": "1.md"}),
        ("notes_search", {"workspaceUri": shared, "query": "secret"}),
        ("notes_search", {"workspaceUri": foreign, "query": "secret"}),
        ("notes_tags", {"workspaceUri": shared}),
        ("notes_append", {"workspaceUri": foreign, "path": "1.md", "text": "mine"}),
        ("notes_delete", {"workspaceUri": shared, "title": "Note 3"}),
    ]


def test_no_byte_of_another_s_notes_is_received(serving: Callable[..., Served], tmp_path: Path) -> None:
    served = serving(auth="plain", config=configured(tmp_path), max_message_bytes=65_536)
    before = {file: file.read_bytes() for file in tmp_path.rglob("[0-9].md")}
    received: dict[str, bytes] = dict.fromkeys(NAMES, b"")
    failures: list[BaseException] = []

    def ask(name: str, other: str) -> None:
        try:
            with served.connect() as raw:
                for _ in range(ROUNDS):
                    for tool, arguments in calls(tmp_path, name, other):
                        answer = raw.post(call(1, tool, arguments), bearer=f"{name}-token")
                        assert answer.status == 200
                        received[name] += json.dumps(answer.fields).encode() + answer.body
        except BaseException as error:  # noqa: BLE001 - told to the test
            failures.append(error)

    pairs = [("alice", "bob"), ("bob", "alice"), ("alice", "bob"), ("bob", "alice")]
    threads = [threading.Thread(target=ask, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    for name, other in pairs[:2]:
        assert received[name].count(f"secret-of-{name}".encode()) > ROUNDS
        # Its own words of the other's folder come back in no refusal; the name is in what it asked alone.
        assert f"secret-of-{other}".encode() not in received[name]
        assert f"tag-{other}".encode() not in received[name]
        assert f"{other}/".encode() not in received[name]
    assert {file: file.read_bytes() for file in tmp_path.rglob("[0-9].md")} == before
