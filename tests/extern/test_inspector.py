"""The command line of the official Inspector, and its strict check of whether schemas are portable."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import FSNOTES, SECONDS, Shell
from tests.extern import unportable
from tests.extern.packages import Packages
from tests.extern.serving import at_home, over_http

pytestmark = [pytest.mark.extern, pytest.mark.timeout(180)]

NOT_PORTABLE = 6
"""How it ends where a schema is not."""


def list_tools(packages: Packages, shell: Shell, *server: str) -> subprocess.CompletedProcess[str]:
    command = packages.program("@modelcontextprotocol/inspector", "clients/launcher/build/index.js")
    options = ["--cli", "--method", "tools/list", "--strict", "--format", "json", *server]
    return subprocess.run(
        [*command, *options],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=shell.environ(),
        cwd=shell.home,
        check=False,
    )


def listed(done: subprocess.CompletedProcess[str]) -> list[Any]:
    """Return the tools of a list that is portable, with nothing said against it."""
    assert (done.returncode, done.stderr) == (0, "")
    tools: list[Any] = json.loads(done.stdout)["result"]["tools"]
    return tools


def test_the_inspector_finds_every_tool_and_every_schema_portable(packages: Packages, tmp_path: Path) -> None:
    shell = at_home(tmp_path)
    serve = [*FSNOTES, "serve", str(shell.vault)]
    found = [
        listed(list_tools(packages, shell, "--protocol-era", era, "--transport", "stdio", "--", *serve))
        for era in ("legacy", "auto", "modern")
    ]
    with over_http(shell) as url:
        found.append(listed(list_tools(packages, shell, "--protocol-era", "modern", "--server-url", url)))
    names = [tool["name"] for tool in found[0]]
    assert (names[:2], len(names)) == (["notes_workspaces", "notes_list"], 14)
    assert all(tools == found[0] for tools in found)


def test_the_inspector_would_say_which_schema_is_not_portable(packages: Packages, tmp_path: Path) -> None:
    shell = at_home(tmp_path)
    command = (sys.executable, str(Path(unportable.__file__)))
    done = list_tools(packages, shell, "--transport", "stdio", "--", *command)
    assert done.returncode == NOT_PORTABLE
    assert 'tool "odd_tool"' in done.stderr
