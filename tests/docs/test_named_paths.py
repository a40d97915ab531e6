"""Every path that has a name of its own is on a page: what is made in a home, in a workspace, or served over HTTP."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fsnotes.cli.clients import CLIENTS
from fsnotes.config import Choices
from fsnotes.http_settings import RESERVED, HttpSettings
from fsnotes.identity.challenges import WELL_KNOWN
from fsnotes.notes import journal
from fsnotes.notes.index import files
from fsnotes.state import StateFolder
from sandbox.jail import trial
from sandbox.names import OWN_PREFIX, TRASH_FOLDER
from tests.cli.shell import Shell
from tests.docs.pages import page

CONFIGURATION = page("docs/configuration.md")
STATE = {
    name for cell, _ in CONFIGURATION.table("path", "what it is") for name in re.findall(r"`([^`]+)`", cell)
}
"""What the page says that a state folder holds."""

_STATE = StateFolder("")

NAMED = [
    (".config/fsnotes/config.toml", "docs/configuration.md"),
    (".local/state/fsnotes", "docs/configuration.md"),
    (_STATE.keys.lstrip("/"), "docs/configuration.md"),
    (_STATE.ledger.lstrip("/"), "docs/configuration.md"),
    (_STATE.tokens.lstrip("/"), "docs/configuration.md"),
    (_STATE.audit.lstrip("/"), "docs/configuration.md"),
    (f"{_STATE.quarantine.lstrip('/')}/", "docs/configuration.md"),
    (f"{_STATE.parts.lstrip('/')}/<id>/", "docs/configuration.md"),
    (f"index/{files.CURRENT}", "docs/configuration.md"),
    (journal.NAME, "docs/links.md"),
    (journal.MARK, "docs/links.md"),
    (f"{TRASH_FOLDER}/", "docs/configuration.md"),
    (OWN_PREFIX, "docs/doctor.md"),
    (trial.PREFIX, "docs/doctor.md"),
    (HttpSettings().path, "docs/http.md"),
    *((path, "docs/http.md") for path in RESERVED[:2]),
    (WELL_KNOWN, "docs/authentication.md"),
]
"""Paths as the code has them, and the page that tells of each."""


@pytest.mark.parametrize(("path", "where"), NAMED, ids=[f"{path} in {where}" for path, where in NAMED])
def test_a_path_that_the_code_names_is_on_its_page(path: str, where: str) -> None:
    assert path in page(where).text


def test_all_that_commands_make_is_on_the_page(tmp_path: Path) -> None:
    """In the home folder the state alone, and in that only what its table names."""
    shell = Shell(tmp_path / "home")
    shell.vault.mkdir(parents=True)
    shell.write("plan.md", "# Plan\n\n[[ideas]]\n")
    shell.write("ideas.md", "# Ideas\n")
    before = {path for path in shell.home.rglob("*") if path.is_file()}
    assert shell.there("move", "ideas", "more/ideas").code == 0
    assert shell.there("delete", "Plan").code == 7
    assert shell.there("index").code == 0
    assert shell.call("token", "new", "ci").code == 0
    assert shell.call("keys", "list").code == 0
    made = {path for path in shell.home.rglob("*") if path.is_file()} - before
    in_state = {str(path.relative_to(shell.state)) for path in made if path.is_relative_to(shell.state)}
    assert {path.relative_to(shell.vault) for path in made if not path.is_relative_to(shell.state)} == {
        (shell.vault / "more/ideas.md").relative_to(shell.vault)
    }
    documented = [re.sub(r"<id>/$", "", name) for name in STATE]
    assert [name for name in sorted(in_state) if not name.startswith(tuple(documented))] == []
    assert {name.split("/")[0] for name in in_state} == {"private", "ws"}
    whole = {name for name in STATE if name.startswith("private/") and not name.endswith("/")}
    assert whole - in_state == {"private/audit-000001.jsonl"}


def test_every_file_of_a_client_is_on_the_page_of_clients() -> None:
    text = page("docs/clients.md").text
    assert [client.place for client in CLIENTS.values() if client.place not in text] == []


def test_what_is_told_of_where_files_are_is_what_is_looked_for() -> None:
    """One row for each kind, with its flag and its variable."""
    rows = {row[0]: row[1:] for row in CONFIGURATION.table("what", "flag", "variable", "file", "default")}
    assert list(rows) == ["configuration", "state", "deleted notes"]
    flags = {row[0].strip("`-").replace("-", "_") for row in rows.values()} - {""}
    assert flags <= set(Choices.__slots__)
