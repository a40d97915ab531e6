"""`docs/tutorial.md` is a session on a terminal, and an assistant's with the server that its snippet starts."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.docs.pages import page
from tests.docs.sessions import Command, Session, commands, same
from tests.server.wire import Wire, call

PAGE = page("docs/tutorial.md")
DECLINED = {"delete_choice": {"action": "decline"}}


@pytest.mark.timeout(300)  # some twenty processes, one after the other, which a busy machine is slow to start
def test_every_command_shows_what_the_page_shows(tmp_path: Path) -> None:
    """And between the snippet and the audit log, an assistant does what the page tells of it."""
    home = tmp_path.resolve() / "alice"
    session = Session(home)
    done = 0
    for fence in PAGE.fences("console"):
        for command in commands(fence):
            if command.text.startswith("fsnotes audit"):
                assistant(home, session)
            shown, seen = same(command.shown, session.run(command))
            assert seen == shown, f"{PAGE.name}:{command.line}"
            done += 1
    assert done == PAGE.text.count("\n$ ") > 18


def assistant(home: Path, session: Session) -> None:
    """Do with the server what the page says, as the snippet starts it."""
    printed = session.run(Command("fsnotes snippet claude-code 2>/dev/null", 0, ""))
    (server,) = json.loads(printed)["mcpServers"].values()
    asked, declined = (json.loads(fence.text) for fence in PAGE.fences("json"))
    asked["workspaceUri"] = (home / "Notes").as_uri()
    (form,) = PAGE.fences("text")
    start = [server["command"].replace("/home/alice", str(home)), *server["args"]]
    assert shlex.join(start) == f"{session.program} serve"
    with Wire(start, home=home) as wire:
        searched = wire.ask(call(1, "notes_search", {"workspaceUri": asked["workspaceUri"], "query": "soil"}))
        (hit,) = searched["result"]["structuredContent"]["hits"]
        read = {"workspaceUri": asked["workspaceUri"], "path": hit["path"]}
        assert "- dig" in wire.ask(call(2, "notes_read", read))["result"]["content"][1]["text"]
        result = wire.ask(call(3, "notes_delete", asked))["result"]
        message = result["inputRequests"]["delete_choice"]["params"]["message"]
        shown, seen = same(form.text, message)
        assert seen == shown
        again = call(4, "notes_delete", asked, inputResponses=DECLINED, requestState=result["requestState"])
        assert wire.ask(again)["result"]["structuredContent"] == declined
    assert (home / "Notes/Projects/Good ideas.md").exists()
