"""The official Python client in its older era, against the real server over stdio."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import ElicitRequestFormParams, ElicitResult

from tests.server.conftest import Vault
from tests.server.test_client import client, run, text
from tests.server.wire import ROOT


def test_the_client_lists_reads_creates_edits_searches_and_deletes(vault: Vault) -> None:
    vault.write("a.md", "# A\n\ntext\n")
    asked: list[ElicitRequestFormParams] = []

    async def person(_: Any, params: ElicitRequestFormParams) -> ElicitResult:
        asked.append(params)
        return ElicitResult(action="accept", content={"note_id": "new/b.md", "confirm": True})

    async def story() -> None:
        async with client(vault, mode="legacy", elicitation_callback=person) as mcp:
            assert mcp.protocol_version == "2025-11-25"
            tools = await mcp.list_tools()
            assert [tool.name for tool in tools.tools][:2] == ["notes_workspaces", "notes_list"]
            listed = await mcp.call_tool("notes_list", vault.args())
            assert listed.structured_content is not None
            assert listed.structured_content == json.loads(text(listed))
            assert [note["path"] for note in listed.structured_content["notes"]] == ["a.md"]
            read = await mcp.call_tool("notes_read", vault.args(path="a"))
            assert (read.structured_content, text(read, 1)) == (None, "# A\n\ntext\n")
            await mcp.call_tool("notes_create", vault.args(path="new/b", content="# B\n\nrare\n"))
            edited = await mcp.call_tool(
                "notes_edit", vault.args(path="new/b", oldText="rare", newText="rarest")
            )
            assert edited.is_error is False
            found = await mcp.call_tool("notes_search", vault.args(query="rarest"))
            assert found.structured_content is not None
            assert [hit["path"] for hit in found.structured_content["hits"]] == ["new/b.md"]
            missing = await mcp.call_tool("notes_read", vault.args(path="nowhere"))
            assert (missing.is_error, text(missing)[:11]) == (True, "not_found: ")
            deleted = await mcp.call_tool("notes_delete", vault.args(title="B"))
            assert deleted.structured_content is not None
            assert deleted.structured_content["outcome"] == "deleted"

    run(story())
    assert [params.requested_schema["properties"]["note_id"]["enum"] for params in asked] == [["new/b.md"]]
    assert [path for path in vault.files() if not path.startswith(".trash/")] == ["a.md"]


@pytest.mark.parametrize("actions", [["cancel", "decline"], []])
def test_a_person_who_does_not_accept_or_cannot_be_asked_keeps_the_note(vault: Vault, actions: Any) -> None:
    """With the session itself, and no form where nobody is there to show it."""
    vault.write("a.md", "# A\n")
    coming = iter(actions)

    async def person(_: Any, __: Any) -> ElicitResult:
        return ElicitResult(action=next(coming))

    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "fsnotes", "serve", str(vault.folder), "--state-dir", str(vault.state), "--jail", "off"],
        env={"HOME": str(vault.folder.parent), "PYTHONPATH": str(ROOT)},
    )

    async def story() -> None:
        async with (
            stdio_client(server) as (reading, writing),
            ClientSession(reading, writing, elicitation_callback=person if actions else None) as session,
        ):
            opened = await session.initialize()
            assert opened.protocol_version == "2025-11-25"
            for said in ("cancelled", "declined"):
                result = await session.call_tool("notes_delete", vault.args(title="A"))
                if actions:
                    assert (result.is_error, result.structured_content) == (False, {"outcome": said})
                else:
                    assert (result.is_error, text(result)[:13]) == (True, "not_allowed: ")
                    assert text(result).endswith(" -- A")

    run(story())
    assert vault.files() == {"a.md": "# A\n"}
