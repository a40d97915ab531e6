"""A server process for tests: a real or a scripted product behind the real front, with callers that tests know.

Run with one JSON object as its argument; it prints the port that it was given.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from fsnotes import wiring
from fsnotes.access import Principal
from fsnotes.calls import local_principal
from fsnotes.config import Choices, Settings, load
from fsnotes.http_settings import HttpSettings
from fsnotes.identity import Authenticator, Unauthenticated
from fsnotes.server import ServerSettings
from fsnotes.server.http import bind, serve_http
from tests.server.scripted import ScriptedService

METADATA_URL = "https://notes.example.org/.well-known/oauth-protected-resource/mcp"
CHALLENGE = f'Bearer resource_metadata="{METADATA_URL}"'
METADATA = {
    "resource": "https://notes.example.org/mcp",
    "authorization_servers": ["https://login.example.org"],
}


class Callers:
    """Knows whoever bears `<name>-token` at once, and whoever bears `<name>-slow` after a look in a thread."""

    challenge = CHALLENGE

    def __init__(self, folder: Path, *, issued: bool) -> None:
        self._folder = folder
        self.metadata: dict[str, Any] | None = METADATA if issued else None
        self.metadata_url = METADATA_URL if issued else None

    def known(self, token: str) -> Principal | None:
        name, _, kind = token.rpartition("-")
        if (self._folder / "revoked").exists():
            raise Unauthenticated(401, CHALLENGE, "revoked")
        if kind == "token":
            return Principal(f"token:{name}")
        if kind == "banned":
            raise Unauthenticated(403, f'{CHALLENGE}, error="insufficient_scope"', "banned")
        return None

    def identify(self, token: str) -> Principal:
        name, _, kind = token.rpartition("-")
        if kind == "stuck":
            (self._folder / f"{name}.begun").touch()
            while not (self._folder / f"{name}.go").exists():
                time.sleep(0.005)
            return Principal(f"token:{name}")
        if kind == "slow":
            return Principal(f"token:{name}")
        if kind == "down":
            raise Unauthenticated(503, None, "the issuer is not there")
        if kind == "crash":
            raise RuntimeError(f"about {token}")
        raise Unauthenticated(401, f'{CHALLENGE}, error="invalid_token"', "unknown")


def main() -> int:
    """Serve until the end."""
    how = json.loads(sys.argv[1])
    folder = Path(how["folder"])
    http = HttpSettings(**{"port": 0, **how.get("http", {})})
    if how.get("config"):
        settings = load(
            Choices(config=how["config"], state_dir=str(folder / "state"), jail="off"),
            principal=local_principal(),
            environ={},
            home=str(folder),
        )
        product: Any = wiring.build(settings)
        product.keep_indexes()
    else:
        product = SimpleNamespace(
            service=ScriptedService(folder),
            principal=Principal("local:scripted"),
            settings=Settings(state_dir="/"),
            workspaces=(),
        )
    callers = Callers(folder, issued=how["auth"] == "issued") if how.get("auth") else None
    listening = bind(http, authenticated=callers is not None)
    if how.get("send_buffer"):
        # What is accepted has it as well: so little is sent to a client that does not read.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, how["send_buffer"])
    print(listening.getsockname()[1], flush=True)
    code = serve_http(
        product,
        ServerSettings(
            max_message_bytes=how.get("max_message_bytes", 65_536), legacy=how.get("legacy", False)
        ),
        http,
        listening=listening,
        authenticator=cast("Authenticator | None", callers),
    )
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
