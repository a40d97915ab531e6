"""What the pages on HTTP show is what works: their configuration, their commands, their request."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fsnotes.calls import local_principal
from tests.cli.shell import FSNOTES, ROOT, SECONDS, Shell, serving
from tests.cli.test_serving_http import HTTP, LISTENING, served
from tests.server.http.raw import Raw

FENCES = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEW = "TOKEN=$(fsnotes token new ci)"
SERVE = "fsnotes serve --transport http"
DOUBT = re.compile(rb"fsnotes: WARNING \S+: (.*)\n")


def blocks(page: str) -> tuple[str, str]:
    """The first configuration on a page, and its request by curl. The two other commands must be on it, too."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    fences = FENCES.findall(text)
    configuration = next(body for kind, body in fences if kind == "toml")
    (request,) = [body for kind, body in fences if kind == "sh" and "curl" in body]
    assert NEW in text
    assert SERVE in " ".join(text.split())
    return configuration, request


@pytest.mark.parametrize("page", ["authentication.md", "http.md"])
def test_what_a_page_shows_serves_those_who_have_a_token_and_nobody_else(shell: Shell, page: str) -> None:
    if shutil.which("curl") is None:
        pytest.skip("no curl")
    configuration, request = blocks(page)
    shell.write("a.md", "# A\n")
    shell.configure(configuration)
    programs = shell.home / "bin"
    programs.mkdir()
    command = " ".join(f"'{word}'" for word in FSNOTES)
    (programs / "fsnotes").write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    (programs / "fsnotes").chmod(0o755)

    def run(script: str) -> str:
        done = subprocess.run(
            ["sh", "-eu", "-c", script],
            capture_output=True,
            text=True,
            cwd=shell.home,
            env=shell.environ(PATH=f"{programs}:/usr/local/bin:/usr/bin:/bin"),
            timeout=SECONDS,
            check=True,
        )
        return done.stdout

    token = run(f'{NEW}\necho "$TOKEN"').strip()
    assert "127.0.0.1:8931/mcp" in request
    with served(shell, folder=None) as (_, port):  # on another port: that of the page may be taken
        asked = request.replace("127.0.0.1:8931", f"127.0.0.1:{port}")
        (shown,) = json.loads(run(f"TOKEN={token}\n{asked}"))["result"]["structuredContent"]["workspaces"]
        assert (shown["name"], shown["rights"]) == ("notes", ["read"])
        for nobody in ("", token[:-1]):
            assert run(f"TOKEN={nobody}\n{asked}") == "Credentials are needed\n"


@contextmanager
def started(shell: Shell) -> Iterator[tuple[list[str], int]]:
    """Serve what is configured; give the lines that are logged before, without the one that names the port."""
    with serving(shell, *HTTP, "--port", "0", "--log-level", "info", "--jail", "off") as process:
        assert process.stderr is not None
        lines: list[str] = []
        while (match := LISTENING.search(line := process.stderr.readline())) is None:
            doubt = DOUBT.fullmatch(line)
            assert doubt is not None, line
            lines.append(doubt[1].decode())
        yield lines, int(match[1])


def configured(shell: Shell, http: str, principal: str) -> None:
    shell.vault.mkdir(exist_ok=True)
    shell.configure(
        f'[http]\n{http}\n[[workspace]]\nname = "notes"\npath = "{shell.vault}"\n'
        f'[[grant]]\nprincipal = "{principal}"\nworkspace = "notes"\nallow = ["read"]\n'
    )


def test_tokens_that_nobody_is_asked_for_are_one_line_until_they_are_revoked(shell: Shell) -> None:
    configured(shell, "", local_principal().name)
    assert shell.call("token", "new", "ci").code == 0
    with started(shell) as (lines, port), Raw(port) as raw:
        assert [line.split(":")[0] for line in lines] == ["there are tokens, and nobody is asked for one"]
        assert raw.call("notes_workspaces").status == 200
    assert shell.call("token", "revoke", "ci").code == 0
    with started(shell) as (lines, _):
        assert lines == []


JWT = 'auth = "jwt"\nissuer = "https://as.example"\naudience = "https://notes.example/mcp"'


@pytest.mark.parametrize(
    ("http", "principal", "named"),
    [
        ('auth = "token"', "token:ci", None),
        ('auth = "token"', "https://as.example|5", "token:NAME"),
        ('auth = "token"', "local:ann", "token:NAME"),
        (JWT, "https://as.example|5", None),
        (JWT, "https://as.example/|5", "https://as.example|SUBJECT"),
        (JWT, "token:ci", "https://as.example|SUBJECT"),
    ],
)
def test_grants_that_nobody_can_use_who_calls_are_one_line(
    shell: Shell, http: str, principal: str, named: str | None
) -> None:
    configured(shell, http, principal)
    said = f"no [[grant]] is for a principal {named}, so nobody who calls over HTTP has access"
    with started(shell) as (lines, _):
        assert lines == ([] if named is None else [said])
