"""Root serves somebody's folder: their workers get a part of the state, and nothing else of it."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsnotes import wiring
from fsnotes.access import Principal, Right, Rule
from fsnotes.calls import Call
from fsnotes.config import Settings, WorkspaceSettings
from fsnotes.errors import ConfigurationError, Unavailable
from fsnotes.state import StateFolder
from sandbox.names import ROOT
from sandbox.policy import Policy
from tests.require import require
from tests.workers import require_jail

USER = 1000
ME = Call(Principal("local:root"), request_id="1")


@pytest.fixture
def top() -> Iterator[Path]:
    """Make a folder that everybody can reach, which those of pytest are not."""
    require("root", available=os.geteuid() == 0, why="another user's folder")
    with tempfile.TemporaryDirectory(prefix="fsnotes-parts-") as folder:
        os.chmod(folder, 0o755)
        vault = Path(os.path.realpath(folder)) / "Notes"
        vault.mkdir()
        for name, text in (("a.md", "a"), ("c.md", "[[a]]")):
            (vault / name).write_text(text)
            os.chown(vault / name, USER, USER)
        os.chown(vault, USER, USER)
        yield vault.parent


def _build(top: Path) -> wiring.Product:
    require_jail()
    vault = str(top / "Notes")
    settings = Settings(
        state_dir=str(top / "state"),
        workspaces=(WorkspaceSettings("Notes", vault, vault, Policy(), ()),),
        rules=(Rule(ME.principal.name, "Notes", ROOT, frozenset(Right)),),
        jail_mode="best-effort",
    )
    return wiring.build(settings, environ={})


def _modes(top: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for path in ("state", "state/private", "state/ws", next((top / "state/ws").iterdir()).relative_to(top)):
        status = os.stat(top / path)
        found[str(path)] = (status.st_uid, stat.S_IMODE(status.st_mode))
    return found


def test_a_move_that_rewrites_links_has_a_journal(top: Path) -> None:
    product = _build(top)
    try:
        product.service.move(ME, (top / "Notes").as_uri(), "a", "sub/b")
    finally:
        product.close()
    assert (top / "Notes/c.md").read_text() == "[[b]]"
    assert os.stat(top / "Notes/sub/b.md").st_uid == USER
    assert product.notices == () or all("journal" not in notice for notice in product.notices)
    (part,) = (top / "state/ws").iterdir()
    modes = _modes(top)
    assert modes["state"] == modes["state/ws"] == (0, 0o711)
    assert modes["state/private"] == (0, 0o700)
    assert modes[f"state/ws/{part.name}"] == (USER, 0o700)
    # Once more, as it is then.
    again = _build(top)
    again.service.move(ME, (top / "Notes").as_uri(), "sub/b", "a")
    again.close()
    assert (top / "Notes/c.md").read_text() == "[[a]]"


def test_a_state_folder_out_of_reach_is_said_and_left_as_it_is(top: Path) -> None:
    os.chmod(top, 0o700)
    product = _build(top)
    try:
        assert any("keep no journal" in notice for notice in product.notices)
        with pytest.raises(Unavailable):
            product.service.move(ME, (top / "Notes").as_uri(), "a", "b")
        assert (top / "Notes/c.md").read_text() == "[[a]]"
        product.service.move(ME, (top / "Notes").as_uri(), "c", "d")
        assert (top / "Notes/d.md").read_text() == "[[a]]"
    finally:
        product.close()
    assert {mode for _, mode in _modes(top).values()} == {0o700}


def test_a_part_of_a_third_user_is_refused(top: Path) -> None:
    state = StateFolder.open(str(top / "state"))
    part = state.workspace(str(top / "Notes"))
    os.chown(part, USER + 1, -1)
    with pytest.raises(ConfigurationError):
        state.workspace(str(top / "Notes"))
    os.chown(part, USER, -1)
    assert state.workspace(str(top / "Notes")) == part


def test_links_in_a_part_are_handed_over_as_links(top: Path) -> None:
    state = StateFolder.open(str(top / "state"))
    part = state.workspace(str(top / "Notes"))
    secret = top / "secret"
    secret.write_text("x")
    os.symlink(secret, os.path.join(part, "lock"))
    assert state.hand_over(part, USER)
    assert os.stat(secret).st_uid == 0
    assert os.lstat(os.path.join(part, "lock")).st_uid == USER
