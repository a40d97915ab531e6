"""Commands that a program runs by itself: to their end, whatever has to be done first, and stretch after stretch."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsnotes.errors import Abandoned, NotCounted, NoteNotFound, PathRefused
from fsnotes.notes import (
    CreateNote,
    FindLinks,
    FindNotes,
    ListTrash,
    ReadNote,
    ScanNotes,
    Scope,
    SearchNotes,
    Workspace,
    counting,
    run,
    run_through,
)
from sandbox import RelPath, Root


@pytest.fixture
def notes(tmp_path: Path) -> Workspace:
    for number in range(30):
        (tmp_path / f"{number:02}.md").write_text(
            f"# Note {number}\n\nwater [[{(number + 1) % 30:02}]] [[gone]]\n"
        )
    return Workspace(Root.open(tmp_path))


def test_a_reply_is_what_the_handler_gives(notes: Workspace) -> None:
    with notes:
        made = run(notes, CreateNote("a", "text"))
        read = run(notes, ReadNote("a"))
        assert (made.path, read.text, read.etag) == ("a.md", "text", made.etag)
        with pytest.raises(NoteNotFound):
            run(notes, ReadNote("b"))


def test_a_scope_holds_in_each_stretch(notes: Workspace) -> None:
    scope = Scope((RelPath.parse("in"),))
    with notes:
        run(notes, CreateNote("in/a", "water"))
        with pytest.raises(PathRefused):
            run(notes, ReadNote("00"), scope=scope)
        found = [
            note.path
            for part in run_through(notes, ScanNotes(recursive=True), scope=scope)
            for note in part.notes
        ]
        assert found == ["in/a.md"]


def test_all_stretches_together_are_all_there_is_once(notes: Workspace) -> None:
    expected = [f"{number:02}.md" for number in range(30)]
    with notes:
        scanned = list(run_through(notes, ScanNotes(budget=4)))
        searched = list(run_through(notes, SearchNotes("water", limit=4)))
        linked = list(run_through(notes, FindLinks(direction="broken", limit=4)))
        assert [note.path for part in scanned for note in part.notes] == expected
        assert [hit.path for part in searched for hit in part.hits] == expected
        assert [link.source for part in linked for link in part.links] == expected
        assert min(len(scanned), len(searched), len(linked)) >= 7
        assert [part.resume for part in (scanned[-1], searched[-1], linked[-1])] == [None] * 3


def test_a_command_that_is_done_at_once_has_one_stretch_or_none(notes: Workspace) -> None:
    with notes:
        assert [part.entries for part in run_through(notes, ListTrash())] == [()]
        assert [len(part.matches) for part in run_through(notes, FindNotes("Note 7"))] == [1]
        with pytest.raises(TypeError):
            next(run_through(notes, ReadNote("00")))


def test_what_only_counts_is_run_again_until_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def work() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise NotCounted
        return "done"

    assert (counting.until_counted(work), len(tries)) == ("done", 3)
    tries.clear()
    with pytest.raises(Abandoned):
        counting.until_counted(work, abandoned=lambda: True)
    tries.clear()
    with pytest.raises(NotCounted):
        counting.until_counted(work, is_late=lambda: True)
    tries.clear()
    monkeypatch.setattr(counting, "MAX_COUNTING", 2)
    with pytest.raises(NotCounted):
        counting.until_counted(work)
    assert len(tries) == 2
