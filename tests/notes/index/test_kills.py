"""A keeper that is killed, or whose disk is full, leaves an index that the next one trusts or makes anew."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fsnotes.errors import Busy, IndexUnusable
from fsnotes.notes.index.keeping import Keeper
from tests.mounts import run_in_mount_namespace
from tests.notes.index.shelves import Shelf, is_whole_file

REPOSITORY = Path(__file__).resolve().parents[3]
NOTES = 300


def fill(shelf: Shelf) -> None:
    for number in range(NOTES):
        shelf.write(
            f"f{number % 7}/{number}.md",
            f"# Note {number}\n\nword w{number} {'text ' * 50} [[{number + 1}]] #t",
        )


@contextmanager
def running(shelf: Shelf, what: str, amount: int) -> Iterator[subprocess.Popen[str]]:
    """A keeper in another process, which is killed at the end if it is there by then."""
    command = [
        sys.executable,
        "-m",
        "tests.notes.index.killed",
        str(shelf.vault_path.parent),
        what,
        str(amount),
    ]
    environ = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen(command, cwd=REPOSITORY, env=environ, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def first_line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def is_whole(shelf: Shelf) -> None:
    """What the index says after the next keeper is done is right, and nothing in it is broken."""
    progress = shelf.settle()
    assert (progress.indexed, progress.remaining) == (len(shelf.paths()), 0)
    assert sorted(shelf.finds("word")) == shelf.paths()
    assert shelf.finds("w17 -w18") == ["f3/17.md"]
    assert is_whole_file(shelf)


@pytest.mark.parametrize("calls", [1, 3, 9, 15])
def test_a_build_that_is_killed_goes_on_where_it_had_committed(shelf: Shelf, calls: int) -> None:
    fill(shelf)
    with running(shelf, "calls", calls) as child:
        assert first_line(child).startswith("ready")
        with pytest.raises(Busy):
            Keeper(str(shelf.index_path), shelf.vault, boot=shelf.boot)
        if calls > 10:
            # A reader sees what was committed, while the next transaction is open.
            assert 0 < len(shelf.finds("word")) < NOTES
    before = shelf.keep().progress().indexed
    assert (before > 0) == (calls > 10)
    is_whole(shelf)


def test_an_update_that_is_killed_is_made_again(shelf: Shelf) -> None:
    fill(shelf)
    shelf.settle()
    shelf.shut()
    for number in range(0, NOTES, 2):
        shelf.write(f"f{number % 7}/{number}.md", f"word w{number} changed")
    shelf.remove("f1/1.md")
    shelf.rename("f3/3.md", "f3/renamed.md")
    with running(shelf, "calls", 16) as child:
        assert first_line(child).startswith("ready")
    is_whole(shelf)
    assert len(shelf.finds("changed")) == NOTES // 2
    assert shelf.finds("w3") == ["f3/renamed.md"]
    assert shelf.finds("w1") == []


@pytest.mark.parametrize("size", [20_000, 60_000, 80_000, 100_000, 120_000])
def test_a_kill_in_the_middle_of_a_commit_loses_that_commit_and_no_more(shelf: Shelf, size: int) -> None:
    fill(shelf)
    with running(shelf, "bytes", size) as child:
        assert child.wait(60) == -signal.SIGXFSZ
    try:
        found = shelf.finds("word")
    except IndexUnusable:
        found = []  # its journal has to be played back first, which a reader may not do
    assert set(found) <= set(shelf.paths())
    is_whole(shelf)


def test_readers_go_on_once_the_next_keeper_has_opened_what_a_killed_one_left(shelf: Shelf) -> None:
    fill(shelf)
    with running(shelf, "bytes", 90_000) as child:
        child.wait(60)
    assert (shelf.index_path / "search.sqlite3-journal").stat().st_size > 0
    with pytest.raises(IndexUnusable):
        shelf.finds("word")
    shelf.keep()
    assert 0 < len(shelf.finds("word")) < NOTES


def test_a_write_that_fails_is_told_of_and_made_up_for(shelf: Shelf) -> None:
    fill(shelf)
    with running(shelf, "refusal", 90_000) as child:
        assert first_line(child).startswith("refused")
        assert first_line(child) == "done"
        assert child.wait(60) == 0
    is_whole(shelf)


def test_a_full_disk_stops_the_build_and_not_the_searches() -> None:
    run_in_mount_namespace("tests.notes.index.mounted")
