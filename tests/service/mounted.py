"""Cases that need mounts; run in a process and a mount namespace of their own (`test_escapes.py`)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from fsnotes.access import Right
from fsnotes.errors import FsnotesError, NotAllowed, NoteChanged, NoteNotFound, Unavailable
from fsnotes.outcomes import Deletion
from fsnotes.wiring import ResolverChoice
from sandbox.policy import Mounts, Policy
from tests.mounts import mount
from tests.service.conftest import ALICE, Household, accept, answer, ask

TEXT = "# Mounted\nfrom elsewhere\n"


def _elsewhere(household: Household) -> Path:
    place = household.top / "Elsewhere"
    place.mkdir()
    (place / "a.md").write_text(TEXT)
    household.write("mine.md", "# Mine\n")
    return place


def _refuse(household: Household, path: str) -> None:
    """Everything about *path* is refused, and nothing changes on either side."""
    service, uri, before = household.service(), household.uri, household.tree()
    with pytest.raises(NotAllowed):
        service.read(ALICE, uri, path)
    with pytest.raises(FsnotesError):
        service.create(ALICE, uri, path, "x")
    with pytest.raises(NoteNotFound):
        ask(service, ALICE, uri, "mounted")
    assert [note.path for note in service.list(ALICE, uri, recursive=True).notes] == ["mine.md"]
    assert household.tree() == before


def bind_mount_of_a_folder(household: Household) -> None:
    elsewhere = _elsewhere(household)
    (household.vault / "mnt").mkdir()
    mount("--bind", str(elsewhere), str(household.vault / "mnt"))
    _refuse(household, "mnt/a.md")
    service, uri = household.service(), household.uri
    for path in ("mnt/new", "mnt/sub/new"):
        with pytest.raises(NotAllowed):
            service.create(ALICE, uri, path, "x")
    with pytest.raises(NotAllowed):
        service.list(ALICE, uri, folder="mnt")
    listed = service.list(ALICE, uri, recursive=True).document()
    assert [item["reason"] for item in listed["skipped"]] == ["mount"]
    assert (elsewhere / "a.md").read_text() == TEXT
    assert sorted(place.name for place in elsewhere.iterdir()) == ["a.md"]


def bind_mount_of_a_file(household: Household) -> None:
    elsewhere = _elsewhere(household)
    household.write("a.md", "covered")
    mount("--bind", str(elsewhere / "a.md"), str(household.vault / "a.md"))
    _refuse(household, "a.md")
    assert (elsewhere / "a.md").read_text() == TEXT


def another_file_system(household: Household) -> None:
    _elsewhere(household)
    (household.vault / "mnt").mkdir()
    mount("-t", "tmpfs", "none", str(household.vault / "mnt"))
    household.write("mnt/a.md", TEXT)
    _refuse(household, "mnt/a.md")


def mount_over_a_confirmed_note(household: Household) -> None:
    """What is mounted over it between the rounds has the same bytes, and is not what was shown."""
    elsewhere = _elsewhere(household)
    household.write("a.md", TEXT)
    asked = ask(household.service(), ALICE, household.uri, "a.md")
    mount("--bind", str(elsewhere / "a.md"), str(household.vault / "a.md"))
    before = household.tree()
    with pytest.raises(NoteChanged):
        answer(household.service(), ALICE, household.uri, "a.md", asked, accept("a.md"))
    assert household.tree() == before


def trash_that_is_a_mount(household: Household) -> None:
    """A note would leave the file system, so it stays."""
    elsewhere = _elsewhere(household)
    (household.vault / ".trash").mkdir(mode=0o700)
    asked = ask(household.service(), ALICE, household.uri, "mine.md")
    mount("--bind", str(elsewhere), str(household.vault / ".trash"))
    before = household.tree()
    service = household.service()
    with pytest.raises(Unavailable):
        answer(service, ALICE, household.uri, "mine.md", asked, accept("mine.md"))
    with pytest.raises(Unavailable):
        service.trash(ALICE, household.uri)
    assert household.tree() == before


def allowed_mount(household: Household) -> None:
    elsewhere = _elsewhere(household)
    (household.vault / "mnt").mkdir()
    mount("--bind", str(elsewhere), str(household.vault / "mnt"))
    household.policy = Policy(mounts=Mounts.ALLOW)
    service, uri = household.service(), household.uri
    assert service.read(ALICE, uri, "mnt/a").text == TEXT
    assert service.create(ALICE, uri, "mnt/new", "x").reply.path == "mnt/new.md"
    asked = ask(service, ALICE, uri, "mine.md")
    assert isinstance(answer(service, ALICE, uri, "mine.md", asked, accept("mine.md")), Deletion)
    # The trash is on the vault's own file system: a note of another one does not get there in one step.
    asked = ask(service, ALICE, uri, "mnt/a.md")
    with pytest.raises(FsnotesError):
        answer(service, ALICE, uri, "mnt/a.md", asked, accept("mnt/a.md"))
    assert (elsewhere / "a.md").read_text() == TEXT


def full_disk(household: Household) -> None:
    """On a full disk the old bytes stand, nothing of ours is left, and what needs no room still works."""
    mount("-t", "tmpfs", "-o", "size=256k", "none", str(household.vault))
    household.write("mine.md", "# Mine\n")
    service, uri = household.service(), household.uri
    before = household.tree()
    with pytest.raises(Unavailable):
        service.create(ALICE, uri, "deep/new/big", "x" * 400_000)
    assert household.tree() == before
    asked = ask(service, ALICE, uri, "mine.md")
    deletion = answer(service, ALICE, uri, "mine.md", asked, accept("mine.md"))
    assert isinstance(deletion, Deletion)
    service.restore(ALICE, uri, str(deletion.trash_id))
    assert household.files() == {"mine.md": b"# Mine\n"}


def read_only_file_system(household: Household) -> None:
    mount("-t", "tmpfs", "none", str(household.vault))
    household.write("mine.md", "# Mine\n")
    mount("-o", "remount,bind,ro", str(household.vault))
    service, uri, before = household.service(), household.uri, household.tree()
    asked = ask(service, ALICE, uri, "mine.md")
    with pytest.raises(Unavailable):
        answer(service, ALICE, uri, "mine.md", asked, accept("mine.md"))
    with pytest.raises(Unavailable):
        service.create(ALICE, uri, "new", "x")
    assert household.tree() == before
    assert service.read(ALICE, uri, "mine").text == "# Mine\n"
    mount("-o", "remount,bind,rw", str(household.vault))
    assert isinstance(answer(service, ALICE, uri, "mine.md", asked, accept("mine.md")), Deletion)


CASES: tuple[Callable[[Household], None], ...] = (
    bind_mount_of_a_folder,
    bind_mount_of_a_file,
    another_file_system,
    mount_over_a_confirmed_note,
    trash_that_is_a_mount,
    allowed_mount,
    full_disk,
    read_only_file_system,
)

if __name__ == "__main__":
    _, top, chosen = sys.argv
    for case in CASES:
        print(f"case: {case.__name__}", file=sys.stderr, flush=True)
        made = Household(Path(top) / case.__name__, cast(ResolverChoice, chosen))
        made.vault.mkdir(parents=True)
        made.grant(ALICE, *Right)
        case(made)
        made.close()
