"""`docs/cli.md` and `docs/clients.md` show what the command line takes and prints, and all of it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from fsnotes.cli.clients import CLIENTS, Start
from fsnotes.cli.examples import EXAMPLES
from fsnotes.cli.shells import SHELLS

ROOT = Path(__file__).resolve().parents[2]
CLI = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs/clients.md").read_text(encoding="utf-8")
START = Start("/home/alice/.local/bin/fsnotes", ("serve", "/home/alice/Notes"))


def test_the_examples_of_the_page_are_those_of_help() -> None:
    (block,) = re.findall(r"^```sh\n(.*?)^```$", CLI, re.MULTILINE | re.DOTALL)
    assert sorted(block.splitlines()) == sorted(set(EXAMPLES.values()))


def test_every_shell_has_its_line() -> None:
    assert re.findall(r"^\| (\w+) \| `.*fsnotes completion (\w+)", CLI, re.MULTILINE) == [
        (shell, shell) for shell in SHELLS
    ]


@pytest.mark.parametrize("name", CLIENTS)
def test_the_page_shows_what_is_printed_for_each_client(name: str) -> None:
    client = CLIENTS[name]
    section = PAGE.split(f"### {client.title}: `fsnotes snippet {name}`\n")[1].split("\n##")[0]
    assert f"\nFor {client.place}.\n" in section
    blocks = re.findall(r"^```\w+\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    expected = [client.text(START)]
    if client.add is not None:
        expected.append(shlex.join(client.add(START)))
    assert [block.rstrip("\n") for block in blocks] == expected


def test_the_page_has_no_other_clients() -> None:
    assert re.findall(r"^### .*`fsnotes snippet ([\w-]+)`$", PAGE, re.MULTILINE) == list(CLIENTS)


def test_every_source_has_a_page_and_the_day_it_was_read() -> None:
    for client in CLIENTS.values():
        assert re.fullmatch(r"[\w.-]+\.\w+/\S+, read \d{4}-\d\d-\d\d", client.source)
