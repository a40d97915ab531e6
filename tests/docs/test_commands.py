"""Every command that a page shows is one that the command line takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest

from fsnotes.cli.arguments import parser
from tests.docs.pages import DOCUMENTS, Page
from tests.docs.sessions import commands

_ASSIGNMENT = re.compile(r"[A-Z_]+=.*")
_BEFORE = ("sudo", "exec")


def shown(document: Page) -> Iterator[str]:
    """Yield what a page shows of a shell, one command or script a time."""
    for fence in document.fences("sh"):
        yield from fence.text.replace("\\\n", " ").splitlines()
    for fence in document.fences("console"):
        for command in commands(fence):
            yield command.text


def calls(script: str) -> Iterator[list[str]]:
    """Yield the words behind each `fsnotes` that a script runs: what is substituted and piped counts too."""
    words = shlex.shlex(re.sub(r'"?\$\(', " ; ", script), posix=True, punctuation_chars="();<>|&")
    words.whitespace_split = True
    call: list[str] = []
    for word in [*words, ";"]:
        if word.strip("();<>|&"):
            call.append(word)
            continue
        while call and (_ASSIGNMENT.fullmatch(call[0]) or call[0] in _BEFORE):
            call = call[1:]
        if call and call[0].split("/")[-1] == "fsnotes":
            yield call[1:]
        call = []


EVERY = [
    (document.name, call)
    for document in map(Page, DOCUMENTS)
    for script in shown(document)
    if "fsnotes" in script and "<<" not in script and "curl" not in script
    for call in calls(script.replace('")"', ")").replace(')"', ")"))
]


@pytest.mark.parametrize(
    ("where", "words"), EVERY, ids=[f"{where}: {' '.join(words)[:40]}" for where, words in EVERY]
)
def test_a_command_that_is_shown_is_taken(where: str, words: list[str]) -> None:
    if words == ["--version"]:
        return
    assert parser().parse_args(words).run


def test_pages_show_many() -> None:
    assert len(EVERY) > 80
    assert {words[0] for _, words in EVERY} >= {
        "serve",
        "list",
        "read",
        "edit",
        "delete",
        "doctor",
        "token",
        "snippet",
    }


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("fsnotes list", [["list"]]),
        ("echo x | fsnotes create 'a b'  # why", [["create", "a b"]]),
        ("fsnotes restore $(fsnotes trash | cut -f 1)", [["restore"], ["trash"]]),
        ("sudo fsnotes serve /a > b", [["serve", "/a"]]),
        ("A=b .venv/bin/fsnotes demo && fsnotes list", [["demo"], ["list"]]),
        ("codex mcp add fsnotes -- /bin/fsnotes serve", []),
    ],
)
def test_commands_are_found_where_a_shell_would_find_them(script: str, found: list[list[str]]) -> None:
    assert list(calls(script)) == found
