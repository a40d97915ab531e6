"""The official Python SDK, driven by lines of JSON as the others are, see `driving.mjs`: in either era.

It declares forms and URLs together or neither; that a client shows URLs alone is the one thing that it is made to say.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import mcp.client.client
import mcp_types as types
from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

SILENT = open(os.devnull, "w")  # noqa: SIM115  # for what servers log, to the end
MODES = {"modern": "2026-07-28", "auto": "auto", "legacy": "legacy"}


def dumped(model: Any) -> Any:
    """Return a result as it is on the wire."""
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


class UrlSession(ClientSession):
    """Says that it shows no forms."""

    def _build_capabilities(self, version: str) -> types.ClientCapabilities:
        declared = super()._build_capabilities(version)
        return declared.model_copy(
            update={"elicitation": types.ElicitationCapability(url=types.UrlElicitationCapability())}
        )


class Acts:
    """One client, and the person behind it."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._client: Any = None
        self._subscription: Any = None
        self._listening = AsyncExitStack()
        self._forms: list[Any] = []
        self._answers: list[Any] = []
        self._heard: asyncio.Queue[Any] = asyncio.Queue()

    async def _answer(self, _: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self._forms.append(dumped(params))
        return types.ElicitResult.model_validate(self._answers.pop(0))

    async def _tell(self, message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification | types.ResourceListChangedNotification):
            await self._heard.put(dumped(message))

    async def connect(self, *, era: str, elicitation: Any, url: str | None = None, **server: Any) -> Any:
        kind = UrlSession if elicitation == {"url": {}} else ClientSession
        mcp.client.client.ClientSession = kind  # type: ignore[misc]
        where: Any = url
        if url is None:
            where = stdio_client(StdioServerParameters(**server), errlog=SILENT)
        callback: Any = None if elicitation is None else self._answer
        made = Client(where, mode=MODES[era], elicitation_callback=callback, message_handler=self._tell)
        self._client = await self._stack.enter_async_context(made)
        capabilities = self._client.server_capabilities
        return {
            "version": self._client.protocol_version,
            "server": None if self._client.server_info is None else dumped(self._client.server_info),
            "capabilities": None if capabilities is None else dumped(capabilities),
            "instructions": self._client.instructions,
        }

    async def tools(self) -> Any:
        return dumped(await self._client.list_tools())

    async def call(self, *, name: str, arguments: Any, answers: Any = ()) -> Any:
        self._forms, self._answers = [], list(answers)
        result = await self._client.call_tool(name, arguments)
        return {"result": dumped(result), "forms": self._forms}

    async def resources(self) -> Any:
        return dumped(await self._client.list_resources())

    async def templates(self) -> Any:
        return dumped(await self._client.list_resource_templates())

    async def read(self, *, uri: str) -> Any:
        return dumped(await self._client.read_resource(uri))

    async def complete(self, *, uri: str, value: str) -> Any:
        ref = types.ResourceTemplateReference(type="ref/resource", uri=uri)
        return dumped(await self._client.complete(ref, {"name": "path", "value": value}))

    async def prompts(self) -> Any:
        return dumped(await self._client.list_prompts())

    async def prompt(self, *, name: str, arguments: Any) -> Any:
        return dumped(await self._client.get_prompt(name, arguments))

    async def listen(self, *, uris: list[str]) -> Any:
        listening = self._client.listen(resource_subscriptions=uris, resources_list_changed=True)
        self._subscription = await self._listening.enter_async_context(listening)
        return dumped(self._subscription.honored)

    async def subscribe(self, *, uri: str) -> None:
        await self._client.subscribe_resource(uri)

    async def hear(self) -> Any:
        if self._subscription is None:
            return await self._heard.get()
        event = await anext(self._subscription)
        if hasattr(event, "uri"):
            return {"method": "notifications/resources/updated", "params": {"uri": event.uri}}
        return {"method": "notifications/resources/list_changed"}

    async def unlisten(self) -> str:
        await self._listening.aclose()
        return "local"

    async def ping(self) -> None:
        await self._client.send_ping()

    async def close(self) -> None:
        await self._stack.aclose()


async def main() -> None:
    """Do what the lines of stdin say, to their end."""
    loop = asyncio.get_running_loop()
    acts = Acts()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        given = json.loads(line)
        act: Callable[..., Any] = getattr(acts, given.pop("act"))
        came: dict[str, Any]
        try:
            came = {"ok": await act(**given)}
        except MCPError as error:
            came = {"failed": {"code": error.code, "message": error.message, "data": error.data}}
        except Exception as error:  # noqa: BLE001  # whatever it is, the test is told
            came = {"failed": {"code": None, "message": repr(error), "data": None}}
        print(json.dumps(came), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
