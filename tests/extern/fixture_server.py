"""A server process of the conformance suite's tools: behind the product's transport, front, kernel and confirmation.

Run with a folder for its state as the argument; it prints the port that it was given. What is the product's stays as
it is; what it offers is exchanged: the tools, the prompts, and what is done for the methods of resources.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from fsnotes import wiring
from fsnotes.calls import local_principal
from fsnotes.config import Choices, load
from fsnotes.http_settings import HttpSettings
from fsnotes.server import ServerSettings, elicitation, front, kernel, loading
from fsnotes.server.calling import Asked, Caller
from fsnotes.server.frames import Params
from fsnotes.server.http import bind, serve_http
from fsnotes.server.method import Method
from fsnotes.server.results import Result
from fsnotes.server.tool import Tool
from tests.extern import everything
from tests.extern.everything import Turn
from tests.extern.rounds import Rounds


class FixtureCaller(Caller):
    """Runs the suite's tools as the product's are run; what they return may be in the shape of the wire."""

    def __init__(self, *what: Any, offered: list[Tool], **how: Any) -> None:
        super().__init__(*what, **how)
        self._tools = {tool.name: tool for tool in offered}

    def _perform(self, tool: Tool, given: dict[str, Any], asked: Asked) -> Result:
        capabilities = asked.envelope.capabilities
        turn = Turn(self._call_of(asked), asked.echo.state, asked.echo.answers or {}, capabilities)
        run: Any = tool.run
        outcome = run(turn)
        return outcome if isinstance(outcome, dict) else elicitation.ask(outcome, capabilities)

    async def ask(self, method: Method, params: Params, asked: Asked) -> Result:
        if method.name == "prompts/get" and params["name"] == everything.ASKING_PROMPT:
            return everything.ask_for_prompt(asked.envelope.capabilities, asked.echo.answers or {})
        return await super().ask(method, params, asked)


def main() -> int:
    """Serve until the end."""
    folder = Path(sys.argv[1])
    notes = folder / "Notes"
    notes.mkdir()
    private = folder / "private"
    private.mkdir(mode=0o700)
    offered = everything.tools(Rounds(private))
    settings = load(
        Choices(folders=(str(notes),), state_dir=str(folder / "state"), jail="off"),
        principal=local_principal(),
        environ={},
        home=str(folder),
    )
    product = wiring.build(settings)
    real = front.methods(read_only=False)
    methods = {name: Method(name, method.is_plain, everything.RUNS[name]) for name, method in real.items()}

    def tool_list(*, read_only: bool) -> dict[str, Any]:
        listed = [tool.descriptor() for tool in offered]
        return {"tools": listed, "cacheScope": "public", "ttlMs": 1000, "resultType": "complete"}

    exchanged: Mapping[str, Any] = {
        "methods": mock.Mock(return_value=methods),
        "prompt_list": everything.prompt_list,
        "tool_list": tool_list,
    }
    listening = bind(HttpSettings(port=0), authenticated=False)
    port = listening.getsockname()[1]
    http = HttpSettings(port=port, allowed_origins=(f"http://127.0.0.1:{port}",))
    print(port, flush=True)
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(loading, "Caller", partial(FixtureCaller, offered=offered)))
        for module, name in itertools.product((front, kernel), exchanged):
            if hasattr(module, name):
                stack.enter_context(mock.patch.object(module, name, exchanged[name]))
        code = serve_http(product, ServerSettings(), http, listening=listening, authenticator=None)
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
