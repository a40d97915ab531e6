"""`docs/configuration.md` and `docs/audit.md` name all there is, and nothing else."""

from __future__ import annotations

import argparse
import json
import re
import tomllib
from typing import Any

import pytest

from fsnotes.audit import AuditLog, Event
from fsnotes.calls import local_principal
from fsnotes.cli.arguments import parser
from fsnotes.config import Choices, Settings, WorkspaceSettings, load
from fsnotes.errors import ConfigurationError
from fsnotes.http_settings import HttpSettings
from sandbox.records import fields
from tests.cli.shell import ROOT, Done, Shell

PAGE = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
EXAMPLE = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]
WHOLE = re.sub(r"^# (?=\w+ = )", "", EXAMPLE, flags=re.MULTILINE)
"""The example with the settings too that no number says the default of: they stand behind a `#`."""


def options(made: argparse.ArgumentParser) -> set[str]:
    found: set[str] = set()
    for action in made._actions:
        found |= set(action.option_strings)
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                found |= options(inner)
    return found


def test_every_flag_is_on_the_page_and_every_flag_of_the_page_exists() -> None:
    named = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)))
    assert named == options(parser()) - {"-h", "--version"} | {"--help"}


def test_every_variable_is_on_the_page() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "fsnotes").rglob("*.py"))
    assert set(re.findall(r"FSNOTES_[A-Z_]+", PAGE)) == set(re.findall(r"FSNOTES_[A-Z_]+", code))


def test_the_example_has_every_default_and_is_what_stands_without_it(shell: Shell) -> None:
    def settings(text: str) -> Settings:
        file = shell.configure(text, "try.toml")
        return load(Choices(config=str(file)), principal=local_principal(), environ={}, home=str(shell.home))

    least = '[[workspace]]\nname = "notes"\npath = "~/Notes"\n[[grant]]\nprincipal = "local:alice"\n'
    least += 'workspace = "notes"\nallow = ["read", "write", "delete"]\n'
    assert settings(EXAMPLE) == settings(least)
    assert len({*fields(Settings), *fields(WorkspaceSettings)}) == 25
    assert len(fields(HttpSettings)) == len(tomllib.loads(WHOLE)["http"])
    assert settings(WHOLE) != settings(EXAMPLE)


def _leaves(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (table, key)
        for table, value in document.items()
        for key in (value[0] if isinstance(value, list) else value)
    ]


def test_the_example_has_every_setting_that_the_code_takes() -> None:
    code = "".join(
        (ROOT / "fsnotes" / name).read_text(encoding="utf-8") for name in ("config.py", "http_settings.py")
    )
    taken = re.findall(r"""(?:\.(?:take|need|strings)\(|_choice\(table,)\s*"(\w+)\"""", code)
    assert {key for _, key in _leaves(tomllib.loads(WHOLE))} == set(taken)


@pytest.mark.parametrize("place", _leaves(tomllib.loads(WHOLE)), ids=".".join)
def test_every_setting_of_the_example_is_checked(shell: Shell, place: tuple[str, str]) -> None:
    """A value that cannot be meant is refused by the name of its key."""
    document = tomllib.loads(WHOLE)
    table = document[place[0]]
    (table[0] if isinstance(table, list) else table)[place[1]] = [1]
    lines = []
    for name, value in document.items():
        header = f"[[{name}]]" if isinstance(value, list) else f"[{name}]"
        lines.append(header)
        for key, setting in (value[0] if isinstance(value, list) else value).items():
            lines.append(f"{key} = {json.dumps(setting)}")
    file = shell.configure("\n".join(lines), "try.toml")
    with pytest.raises(ConfigurationError, match=place[1]):
        load(Choices(config=str(file)), principal=local_principal(), environ={}, home=str(shell.home))


def test_the_example_runs_as_the_page_shows(shell: Shell) -> None:
    shell.configure(EXAMPLE.replace("local:alice", local_principal().name), "fsnotes.toml")
    shell.write("Projects/plan.md")
    shell.write("ideas.md", "# Ideas\n\nA garden", modified=1_769_900_340)
    shown = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]
    assert shell.call("list", "-w", "notes", "--config", "fsnotes.toml") == Done(0, shown)


def test_the_audit_page_shows_a_line_with_all_its_fields(shell: Shell) -> None:
    page = (ROOT / "docs/audit.md").read_text(encoding="utf-8")
    example = json.loads(re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[0])
    log = AuditLog(str(shell.home / "audit.jsonl"))
    log.reserve(Event("local:alice", "notes_delete", "notes", "a.md", "none")).settle("deleted")
    (line,) = (shell.home / "audit.jsonl").read_text().splitlines()
    assert list(json.loads(line)) == list(example)
    rows = " ".join(re.findall(r"^\| (`.*?) \|", page, re.MULTILINE))
    assert set(example) <= set(re.findall(r"`(\w+)`", rows))
