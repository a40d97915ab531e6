"""A dry run refuses what the change would refuse, and tells what it would tell, as far as that can be known."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsnotes.errors import FsnotesError, InvalidArgument, TooMuchToRelink, Unavailable
from fsnotes.notes import journal
from fsnotes.notes.commands import Command, ReplyT
from fsnotes.notes.counting import until_counted
from fsnotes.notes.handlers import handle
from fsnotes.notes.scope import Scope
from fsnotes.notes.workspace import Workspace
from sandbox.names import ROOT
from sandbox.policy import Links, Policy
from sandbox.root import Root
from tests.notes.conftest import Vault
from tests.notes.movers import move
from tests.require import has_openat2, require

SOURCES = Path(__file__).resolve().parents[2]


@pytest.fixture
def commons() -> Iterator[str]:
    """A folder that another account can reach."""
    top = tempfile.mkdtemp(prefix="fsnotes-")
    os.chmod(top, 0o711)  # noqa: S103 - it has to pass it
    yield top
    shutil.rmtree(top, ignore_errors=True)


@pytest.mark.parametrize("resolver", ["openat2", "walk"])
def test_a_folder_that_may_not_be_changed_is_told_of_by_a_dry_run(commons: str, resolver: str) -> None:
    require("openat2", available=resolver != "openat2" or has_openat2())
    done = subprocess.run(
        [sys.executable, "-m", "tests.notes.rehearsals", commons, resolver],
        cwd=SOURCES,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")


def refusals(vault: Vault, path: str, new: str) -> list[FsnotesError]:
    """Return how a dry run and the move are refused; neither changes anything."""
    before, found = vault.snapshot(), []
    for dry_run in (True, False):
        with pytest.raises(FsnotesError) as caught:
            move(vault.run, path, new, dry_run=dry_run)
        found.append(caught.value)
        assert vault.snapshot() == before
    return found


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("new", ["caf\u00e9/in", "caf\u00e9/sub/in", "caf\u00e9/a/b"])
def test_no_folder_moves_into_itself_in_whatever_unicode_form_it_is_named(
    vault: Vault, form: str, new: str
) -> None:
    vault.build(unicodedata.normalize(form, "caf\u00e9/sub/n.md: x"))
    for error in refusals(vault, "caf\u00e9", new):
        assert isinstance(error, InvalidArgument)
        assert (error.argument, error.why) == ("newPath", "it lies in the folder that is moved")
    assert move(vault.run, "caf\u00e9", "caf\u00e9s/in").moved == 1


def test_a_folder_that_would_move_into_itself_by_a_link_blames_the_new_path(openat2_vault: Vault) -> None:
    vault = openat2_vault
    vault.build("a/sub/n.md: x", "link => a/sub")
    vault.reopen(Policy(links=Links.WITHIN))
    with pytest.raises(InvalidArgument) as caught:
        move(vault.run, "a", "link/b")
    assert caught.value.argument == "newPath"


def test_a_move_that_needs_a_journal_is_refused_where_there_is_no_place_for_one(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a")
    (tmp_path / "n.md").write_text("[[a]]")
    workspace = Workspace(Root.open(tmp_path))

    def run(command: Command[ReplyT]) -> ReplyT:
        return until_counted(lambda: handle(workspace, Scope((ROOT,)), command), abandoned=lambda: False)

    for dry_run in (True, False):
        with pytest.raises(Unavailable):
            move(run, "a", "b", dry_run=dry_run)
        assert move(run, "a", "b", dry_run=True, update_links=False).new_path == "b.md"
    assert (tmp_path / "n.md").read_text() == "[[a]]"
    workspace.close()


def test_more_links_than_a_journal_holds_are_too_many(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MAX_BYTES", 2_000)
    vault.build("a.md: a", "n.md: " + "[[a]] " * 200, "m.md: [[c]]", "c.md: ")
    vault.reopen()
    assert [type(error) for error in refusals(vault, "a", "b")] == [TooMuchToRelink] * 2
    assert move(vault.run, "a", "b", dry_run=True, update_links=False).relinked_count == 0
    told = move(vault.run, "c", "d", dry_run=True)
    assert told.relinked_count == 1
    assert move(vault.run, "c", "d") == told
