"""What happens when the ground moves: the workspace's folder, the ledger's disk, a crowd of calls."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from enum import StrEnum

import pytest

from fsnotes.confirm import LedgerStep
from fsnotes.errors import Busy, InvalidState, LimitReached, NotAllowed, Unavailable
from fsnotes.outcomes import Deletion
from fsnotes.runners import MAX_PENDING
from tests.service.conftest import ALICE, Household, accept, answer, ask


def outcomes(household: Household) -> list[str]:
    lines = (household.top / "state/private/audit.jsonl").read_text().splitlines()
    return [json.loads(line)["outcome"] for line in lines]


def replaced(household: Household) -> None:
    household.vault.rename(household.top / "Moved")
    household.vault.mkdir()
    household.write("other.md", "other")


def removed(household: Household) -> None:
    shutil.rmtree(household.vault)


def linked(household: Household) -> None:
    household.vault.rename(household.top / "Moved")
    (household.top / "Elsewhere").mkdir()
    household.vault.symlink_to("Elsewhere")


@pytest.mark.parametrize("change", [replaced, removed, linked])
def test_a_workspace_whose_folder_is_no_longer_at_its_path_is_not_served(
    household: Household, change: Callable[[Household], None]
) -> None:
    household.write("a.md", "text")
    service, uri = household.service(), household.uri
    asked = ask(service, ALICE, uri, "a.md")
    change(household)
    before = {str(place): place.stat().st_mtime_ns for place in household.top.rglob("*.md")}
    for refused in (
        lambda: service.read(ALICE, uri, "a.md"),
        lambda: service.list(ALICE, uri),
        lambda: service.create(ALICE, uri, "new", "x"),
        lambda: service.edit(ALICE, uri, "a", "x", old_text="text"),
        lambda: service.append(ALICE, uri, "a", "x", dry_run=True),
        lambda: service.properties(ALICE, uri, "a", assign=[("k", "v")]),
        lambda: answer(service, ALICE, uri, "a.md", asked, accept("a.md")),
        lambda: service.trash(ALICE, uri),
    ):
        with pytest.raises(Unavailable):
            refused()
    assert {str(place): place.stat().st_mtime_ns for place in household.top.rglob("*.md")} == before


def test_a_workspace_whose_folder_came_back_is_served_again(household: Household) -> None:
    household.write("a.md", "text")
    service = household.service()
    household.vault.rename(household.top / "Moved")
    with pytest.raises(Unavailable):
        service.read(ALICE, household.uri, "a.md")
    (household.top / "Moved").rename(household.vault)
    assert service.read(ALICE, household.uri, "a.md").text == "text"


def test_a_deletion_whose_commit_fails_is_answered_as_what_it_is(household: Household) -> None:
    """A backup that reads the ledger keeps it from committing: the note is in the trash, and nobody denies it."""
    household.write("a.md", "text")
    readers: list[sqlite3.Connection] = []

    def observe(step: StrEnum) -> None:
        if step == LedgerStep.CLAIMED:
            readers.append(
                sqlite3.connect(household.top / "state/private/ledger.sqlite3", isolation_level=None)
            )
            readers[0].execute("BEGIN")
            readers[0].execute("SELECT * FROM spent").fetchall()

    service = household.service(observe=observe)
    asked = ask(service, ALICE, household.uri, "a.md")
    deleted = answer(service, ALICE, household.uri, "a.md", asked, accept("a.md"))
    readers[0].close()
    assert isinstance(deleted, Deletion)
    assert (deleted.outcome, outcomes(household)) == ("deleted", ["deleted"])
    assert household.files() == {f".trash/{deleted.trash_id}/a.md": b"text"}
    again = answer(household.service(), ALICE, household.uri, "a.md", asked, accept("a.md"))
    assert again == deleted
    with pytest.raises(InvalidState):
        answer(household.service(), ALICE, household.uri, "a.md", asked, accept("a.md"))
    household.service().restore(ALICE, household.uri, str(deleted.trash_id))
    with pytest.raises(InvalidState):
        answer(household.service(), ALICE, household.uri, "a.md", asked, accept("a.md"))
    assert household.files() == {"a.md": b"text"}


def test_a_call_above_the_bound_of_a_workspace_is_told_of_the_bound(inline: Household) -> None:
    household = inline
    household.write("a.md", "text")
    product = household.product()
    service, uri = product.service, household.uri
    pending = product._runner._runner._served["Notes"].pending
    directory = os.open(household.vault, os.O_RDONLY)
    fcntl.flock(directory, fcntl.LOCK_EX)
    busy: list[str] = []

    def create(number: int) -> None:
        with pytest.raises(Busy):
            service.create(ALICE, uri, f"new-{number}", "x")
        busy.append("busy")

    threads = [threading.Thread(target=create, args=(number,)) for number in range(MAX_PENDING)]
    try:
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 30
        refused = False
        while not refused and time.monotonic() < deadline:
            if pending._counts[True] >= MAX_PENDING:
                with pytest.raises(LimitReached):
                    service.create(ALICE, uri, "one-more", "x")
                refused = True
                # Whoever only looks waits for none of them.
                assert service.read(ALICE, uri, "a.md").text == "text"
        for thread in threads:
            thread.join(timeout=30)
    finally:
        os.close(directory)
    assert (refused, len(busy)) == (True, MAX_PENDING)
    assert service.read(ALICE, uri, "a.md").text == "text"
    assert household.files() == {"a.md": b"text"}


def test_a_refusal_does_not_fill_the_disk_with_the_words_of_the_refused(household: Household) -> None:
    service = household.service()
    with pytest.raises(NotAllowed):
        service.read(ALICE, "file:///" + "é" * 4000, "é" * 4000)
    assert (household.top / "state/private/audit.jsonl").stat().st_size < 6000
