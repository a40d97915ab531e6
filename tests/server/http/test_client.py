"""The official Python client, speaking 2026-07-28 to a real server over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.inbound import decode_header_value, encode_header_value
from mcp_types import ElicitRequestFormParams, ElicitResult

from fsnotes.calls import local_principal
from fsnotes.server.http.headers import decode_value
from tests.server.http.conftest import Served
from tests.server.wire import VERSION

SECONDS = 60


@pytest.mark.parametrize("mode", [VERSION, "auto"])
def test_the_client_lists_creates_reads_and_deletes(
    serving: Callable[..., Served], tmp_path: Path, mode: Any
) -> None:
    notes = tmp_path / "Notes"
    notes.mkdir()
    (notes / "a.md").write_text("# A\n")
    file = tmp_path / "fsnotes.toml"
    file.write_text(
        f'[[workspace]]\nname = "n"\npath = "{notes}"\n[[grant]]\nprincipal = "{local_principal().name}"\n'
        'workspace = "n"\nallow = ["read", "write", "delete"]\n'
    )
    served = serving(config=str(file))
    asked: list[ElicitRequestFormParams] = []

    async def person(_: Any, params: ElicitRequestFormParams) -> ElicitResult:
        asked.append(params)
        return ElicitResult(action="accept", content={"note_id": "b.md", "confirm": True})

    async def story() -> list[Any]:
        url = f"http://127.0.0.1:{served.port}/mcp"
        async with Client(url, mode=mode, elicitation_callback=person) as mcp:
            tools = await mcp.list_tools()
            assert [tool.name for tool in tools.tools][:2] == ["notes_workspaces", "notes_list"]
            where = {"workspaceUri": notes.as_uri()}
            await mcp.call_tool("notes_create", {**where, "path": "b", "content": "# B\n"})
            read = await mcp.call_tool("notes_read", {**where, "path": "b"})
            deleted = await mcp.call_tool("notes_delete", {**where, "title": "B"})
            listed = await mcp.call_tool("notes_list", where)
            return [read, deleted, listed]

    read, deleted, listed = asyncio.run(asyncio.wait_for(story(), SECONDS))
    assert read.content[1].text == "# B\n"
    assert deleted.structured_content["outcome"] == "deleted"
    assert [note["path"] for note in listed.structured_content["notes"]] == ["a.md"]
    assert len(asked) == 1


@pytest.mark.parametrize(
    "text", ["notes_read", "", "a b", "\u00e9", " padded ", "a\nb", "=?base64?x?=", "\U0001f600", "a\tb", "~"]
)
def test_what_the_sdk_encodes_is_decoded_as_it_was(text: str) -> None:
    assert decode_value(encode_header_value(text).encode("ascii")) == text


@pytest.mark.parametrize(
    "value",
    ["=?base64?YQ==?=", "=?base64?YR==?=", "=?base64?YQ?=", "=?base64?Y Q==?=", "=?base64?_w==?=", "=?base64?/w==?=",
     "=?base64??=", "=?BASE64?YQ==?=", "=?base64?YQ==", "x=?base64?YQ==?="],
)  # fmt: skip
def test_an_encoded_value_is_judged_as_the_sdk_judges_it(value: str) -> None:
    assert decode_value(value.encode("ascii")) == decode_header_value(value)
