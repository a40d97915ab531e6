"""Decides how each client's configuration names a server that it starts: the file, the keys, the format, the command.

Every entry says where that is written and when it was read. What is started, and for which folders, is decided in
`snippets`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, Literal

from sandbox.records import record

NAME: Final = "fsnotes"
"""What a client calls the server; letters alone, because some build the names of tools from it."""


@record
class Start:
    """How a program is started: its absolute path and its arguments."""

    command: str
    args: tuple[str, ...]


@record
class Client:
    """One client: what a person pastes, and where to.

    *expands* finds what the client would replace by something else in a command or an argument, although it was meant
    as it is written; no client has a way to say so. *add* makes the words of the client's own command.
    """

    title: str
    place: str
    table: tuple[str, ...]
    entry: Callable[[Start], dict[str, Any]]
    source: str
    form: Literal["json", "toml"] = "json"
    top: tuple[tuple[str, str], ...] = ()
    expands: re.Pattern[str] | None = None
    add: Callable[[Start], list[str]] | None = None

    def document(self, start: Start) -> dict[str, Any]:
        """Return the whole configuration that has this one server."""
        inner: dict[str, Any] = {NAME: self.entry(start)}
        for key in reversed(self.table):
            inner = {key: inner}
        return {**dict(self.top), **inner}

    def text(self, start: Start) -> str:
        """Return that as the text of a configuration file, in ASCII: no encoding and no terminal can harm it."""
        if self.form == "toml":
            return _toml(self.table, self.entry(start))
        text = json.dumps(self.document(start), indent=2, ensure_ascii=True)
        return _OPENCODE.sub(r"\\u007b", text)

    def replaced(self, start: Start) -> str | None:
        """Return the first word that the client would not leave as it is, None where there is none."""
        if self.expands is None:
            return None
        return next((word for word in (start.command, *start.args) if self.expands.search(word)), None)


_OPENCODE: Final = re.compile(r"\{(?=env:|file:)")
"""opencode replaces `{env:NAME}` and `{file:PATH}` in the text of the file, before it is read as JSON."""

_BRACED: Final = re.compile(r"\$\{")
_BRACED_OR_BARE: Final = re.compile(r"\$[{\w]")


def _plain(start: Start) -> dict[str, Any]:
    return {"command": start.command, "args": list(start.args)}


def _stdio(start: Start) -> dict[str, Any]:
    return {"type": "stdio", **_plain(start)}


def _compact(document: dict[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=True)


def _toml(table: tuple[str, ...], entry: dict[str, Any]) -> str:
    header = ".".join((*table, NAME))
    lines = [f"{key} = {_toml_value(value)}" for key, value in entry.items()]
    return "\n".join([f"[{header}]", *lines])


def _toml_value(value: str | list[str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_toml_value(item) for item in value)}]"
    return '"' + "".join(_toml_letter(letter) for letter in value) + '"'


def _toml_letter(letter: str) -> str:
    # Basic strings, TOML 1.0: `"`, `\\` and control characters are escaped; the rest is, so that all is ASCII.
    number = ord(letter)
    if letter in '"\\':
        return "\\" + letter
    if 0x20 <= number < 0x7F:
        return letter
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


CLIENTS: Final[dict[str, Client]] = {
    "claude-code": Client(
        title="Claude Code",
        place=".mcp.json of a project, or ~/.claude.json for all of yours",
        table=("mcpServers",),
        entry=_stdio,
        expands=_BRACED,
        add=lambda start: ["claude", "mcp", "add", "--scope", "user", NAME, "--", start.command, *start.args],
        source="code.claude.com/docs/en/mcp, read 2026-12-01",
    ),
    "claude-desktop": Client(
        title="Claude Desktop",
        place="claude_desktop_config.json (Settings, Developer, Edit Config)",
        table=("mcpServers",),
        entry=_plain,
        source="modelcontextprotocol.io/docs/develop/connect-local-servers, read 2026-12-01",
    ),
    "vscode": Client(
        title="VS Code",
        place=".vscode/mcp.json of a workspace, or what MCP: Open User Configuration opens",
        table=("servers",),
        entry=_stdio,
        expands=_BRACED,
        add=lambda start: ["code", "--add-mcp", _compact({"name": NAME, **_plain(start)})],
        source="code.visualstudio.com/docs/agents/reference/mcp-configuration, read 2026-12-01",
    ),
    "cursor": Client(
        title="Cursor",
        place="~/.cursor/mcp.json, or .cursor/mcp.json of a project",
        table=("mcpServers",),
        entry=_stdio,
        expands=_BRACED,
        source="cursor.com/docs/mcp, read 2026-12-01",
    ),
    "codex": Client(
        title="Codex",
        place="~/.codex/config.toml, or .codex/config.toml of a trusted project",
        table=("mcp_servers",),
        entry=_plain,
        form="toml",
        add=lambda start: ["codex", "mcp", "add", NAME, "--", start.command, *start.args],
        source="developers.openai.com/codex/mcp, read 2026-12-01",
    ),
    "copilot": Client(
        title="GitHub Copilot CLI",
        place="~/.copilot/mcp-config.json, or .mcp.json of a project",
        table=("mcpServers",),
        entry=lambda start: {"type": "local", **_plain(start), "tools": ["*"]},
        expands=_BRACED_OR_BARE,
        add=lambda start: ["copilot", "mcp", "add", NAME, "--", start.command, *start.args],
        source="docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers, read 2026-12-01",
    ),
    "gemini": Client(
        title="Gemini CLI",
        place="~/.gemini/settings.json, or .gemini/settings.json of a project",
        table=("mcpServers",),
        entry=_plain,
        expands=_BRACED_OR_BARE,
        add=lambda start: ["gemini", "mcp", "add", "-s", "user", NAME, start.command, "--", *start.args],
        source="geminicli.com/docs/tools/mcp-server, read 2026-12-01",
    ),
    "opencode": Client(
        title="opencode 2",
        place="~/.config/opencode/opencode.json, or opencode.json of a project",
        table=("mcp", "servers"),
        entry=lambda start: {"type": "local", "command": [start.command, *start.args]},
        top=(("$schema", "https://opencode.ai/config.json"),),
        add=lambda start: ["opencode", "mcp", "add", NAME, "--global", "--", start.command, *start.args],
        source="opencode.ai/docs/mcp-servers, read 2026-12-01",
    ),
}
"""The clients by the name that a person types, in the order of the contract's section 2."""
