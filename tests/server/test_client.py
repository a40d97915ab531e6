"""The official Python client, speaking 2026-07-28 to the real server over stdio."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import (
    ElicitRequestFormParams,
    ElicitResult,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)

from tests.server.conftest import Vault
from tests.server.wire import ROOT, VERSION

SECONDS = 60


def client(vault: Vault, *, mode: Any = VERSION, **callbacks: Any) -> Client:
    home = vault.folder.parent
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "fsnotes", "serve", str(vault.folder), "--state-dir", str(vault.state)],
        env={"HOME": str(home), "PYTHONPATH": str(ROOT)},
    )
    return Client(server, mode=mode, **callbacks)


def run(story: Any) -> None:
    asyncio.run(asyncio.wait_for(story, SECONDS))


def text(result: Any, block: int = 0) -> str:
    content = result.content[block]
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.parametrize("mode", [VERSION, "auto"])
def test_the_client_lists_reads_creates_and_deletes(vault: Vault, mode: str) -> None:
    vault.write("a.md", "# A\n\ntext\n")
    asked: list[ElicitRequestFormParams] = []

    async def person(_: Any, params: ElicitRequestFormParams) -> ElicitResult:
        asked.append(params)
        return ElicitResult(action="accept", content={"note_id": "new/b.md", "confirm": True})

    async def story() -> None:
        async with client(vault, mode=mode, elicitation_callback=person) as mcp:
            tools = await mcp.list_tools()
            assert [tool.name for tool in tools.tools][:2] == ["notes_workspaces", "notes_list"]
            shown = await mcp.call_tool("notes_workspaces", {})
            assert shown.structured_content is not None
            assert shown.structured_content == json.loads(text(shown))
            assert [workspace["uri"] for workspace in shown.structured_content["workspaces"]] == [vault.uri]
            listed = await mcp.call_tool("notes_list", vault.args())
            assert listed.structured_content is not None
            assert [note["path"] for note in listed.structured_content["notes"]] == ["a.md"]
            read = await mcp.call_tool("notes_read", vault.args(path="a"))
            assert (read.structured_content, text(read, 1)) == (None, "# A\n\ntext\n")
            created = await mcp.call_tool("notes_create", vault.args(path="new/b", content="# B\n"))
            assert created.structured_content is not None
            assert created.structured_content["path"] == "new/b.md"
            deleted = await mcp.call_tool("notes_delete", vault.args(title="B"))
            assert deleted.structured_content is not None
            assert deleted.structured_content["outcome"] == "deleted"

    run(story())
    assert [params.requested_schema["properties"]["note_id"]["enum"] for params in asked] == [["new/b.md"]]
    assert [path for path in vault.files() if not path.startswith(".trash/")] == ["a.md"]


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_person_who_does_not_accept_keeps_the_note(vault: Vault, action: Any) -> None:
    vault.write("a.md", "# A\n")

    async def person(_: Any, __: Any) -> ElicitResult:
        return ElicitResult(action=action)

    async def story() -> None:
        async with client(vault, elicitation_callback=person) as mcp:
            kept = await mcp.call_tool("notes_delete", vault.args(title="A"))
            assert kept.is_error is False
            assert kept.structured_content == {
                "outcome": {"decline": "declined", "cancel": "cancelled"}[action]
            }

    run(story())
    assert vault.files() == {"a.md": "# A\n"}


def test_a_client_that_cannot_ask_deletes_nothing(vault: Vault) -> None:
    vault.write("a.md", "# A\n")

    async def story() -> None:
        async with client(vault) as mcp:
            with pytest.raises(MCPError) as caught:
                await mcp.call_tool("notes_delete", vault.args(title="A"))
            assert caught.value.code == -32021

    run(story())
    assert vault.files() == {"a.md": "# A\n"}


def test_an_error_of_a_tool_reaches_the_model(vault: Vault, tmp_path: Path) -> None:
    async def story() -> None:
        async with client(vault) as mcp:
            result = await mcp.call_tool("notes_read", vault.args(path="nowhere"))
            assert result.is_error is True
            assert text(result).startswith("not_found: ")
            assert str(tmp_path) not in text(result)

    run(story())


def test_the_client_finds_reads_completes_and_hears_of_notes(vault: Vault) -> None:
    vault.write("sub/a b.md", "# A\r\n")
    uri = f"{vault.uri}/sub/a%20b.md"

    async def story() -> None:
        async with client(vault) as mcp:
            assert [each.uri for each in (await mcp.list_resources()).resources] == [uri]
            (template,) = (await mcp.list_resource_templates()).resource_templates
            (content,) = (await mcp.read_resource(uri)).contents
            assert isinstance(content, TextResourceContents)
            assert (content.uri, content.mime_type, content.text) == (uri, "text/markdown", "# A\r\n")
            ref = ResourceTemplateReference(type="ref/resource", uri=template.uri_template)
            done = await mcp.complete(ref, {"name": "path", "value": "a b"})
            assert [template.uri_template.replace("{+path}", value) for value in done.completion.values] == [
                uri
            ]
            with pytest.raises(MCPError, match="Resource not found"):
                await mcp.read_resource("file:///etc/passwd.md")
            prompts = (await mcp.list_prompts()).prompts
            assert prompts[0].name == "daily_note"
            got = await mcp.get_prompt("find_related", {"workspaceUri": vault.uri, "path": "sub/a b.md"})
            assert vault.uri in got.model_dump_json()
            async with mcp.listen(resource_subscriptions=[uri, "file:///etc/passwd.md"]) as heard:
                assert heard.honored.resource_subscriptions == [uri]
                vault.write("sub/a b.md", "changed")
                async for event in heard:
                    assert event == ResourceUpdated(uri=uri)
                    break
            (content,) = (await mcp.read_resource(uri)).contents
            assert isinstance(content, TextResourceContents)
            assert content.text == "changed"

    run(story())
