"""A move after a killed one, or beside another: it plans on the notes as that one leaves them, in whichever process."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

import pytest

from fsnotes import moves
from fsnotes.errors import FsnotesError, MovePending, MoveStuck, NoteChanged, SurveyOutdated
from fsnotes.failures import describe
from fsnotes.notes.commands import (
    AppendNote,
    CreateNote,
    EditNote,
    FindLinks,
    MoveNotes,
    RestoreNote,
    SurveyMove,
    TrashNote,
)
from fsnotes.notes.etags import etag
from fsnotes.notes.journal import NAME, Journal
from fsnotes.notes.workspace import Workspace
from sandbox.errors import StorageFailed
from sandbox.names import ROOT, RelPath
from sandbox.root import Root
from sandbox.steps import Step
from tests.disk import Tree
from tests.notes.conftest import Vault
from tests.notes.killed_moves import MOVES, runner
from tests.notes.killing import killing
from tests.notes.movers import move
from tests.notes.test_move_kills import NOTES

Kill = Callable[..., None]
Run = Callable[[Any], Any]

STEPS = (
    "journal: written",
    Step.MOVE_MOVED,
    Step.MOVE_DURABLE,
    Step.STAGE_PUT,
    "journal: about to be cleared",
)
"""After each of them the disk is in another state, and the journal is there."""

NEXT = {
    "note": {
        "the same": ("sub/a", "other/b"),
        "back": ("other/b", "sub/a"),
        "on": ("other/b", "far/away/z"),
        "elsewhere": ("sub/a", "other/c"),
        "a linking note": ("top", "far/top"),
        "another note": ("none", "any"),
        "the folder it came from": ("sub", "far/sub"),
        "the folder it went to": ("other", "sub/other"),
    },
    "folder": {
        "the same": ("sub", "other/new"),
        "back": ("other/new", "sub"),
        "on": ("other/new/a", "z"),
        "a linking note": ("deep/er/d", "d"),
        "the folder above": ("other", "far"),
    },
    "respelled": {
        "the same": ("sub/a", "sub/A"),
        "back": ("sub/A", "sub/a"),
        "on": ("sub/A", "other/z"),
        "the folder above": ("sub", "far"),
    },
}
"""What is moved next, by what was being moved."""

CASES = [(what, name) for what, follow in NEXT.items() for name in follow]


@pytest.fixture(scope="module")
def kill() -> Iterator[Kill]:
    """Let a process make a move in a workspace and be killed in a step."""
    with killing() as run:

        def killed(disk: Tree, part: str, what: str, step: str) -> None:
            assert run(disk, part, what, step, 1) == -signal.SIGKILL

        yield killed


def _fill(disk: Tree) -> None:
    for path, text in NOTES.items():
        disk.build(f"root/{path}: ")
        disk.write(f"root/{path}", text)


def _texts(disk: Tree) -> dict[str, object]:
    found = disk.snapshot("root")
    return {
        path: text
        for path, text in found.items()
        if text != "folder"
        and not os.path.basename(path).startswith(".~fsn-")
        and not path.startswith(".trash/")
    }


def _outcome(run: Run, path: str, new: str) -> str:
    try:
        move(run, path, new)
    except FsnotesError as error:
        return type(error).__name__
    return "moved"


@pytest.fixture(scope="module")
def wanted(
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[tuple[str, str, bool], tuple[str, dict[str, object]]]:
    """What comes of each second move where the first one was made, or was not, and nobody is killed."""
    found = {}
    for (what, name), made in itertools.product(CASES, (False, True)):
        disk = Tree(tmp_path_factory.mktemp("wanted"), "walk")
        disk.build("root/", "part/")
        _fill(disk)
        with closing(Workspace(disk.open_root(), part=disk.path("part"))) as workspace:
            if made:
                move(runner(workspace), *MOVES[what])
            outcome = _outcome(runner(workspace), *NEXT[what][name])
        found[what, name, made] = outcome, _texts(disk)
    return found


@pytest.mark.turns("step", "name")
@pytest.mark.parametrize(
    ("step", "knows"),
    [*((step, "a process of before the kill") for step in STEPS), (Step.MOVE_DURABLE, "a later process")],
)
@pytest.mark.parametrize(("what", "name"), CASES)
def test_a_move_after_a_killed_one_is_that_of_who_waited_for_it(
    vault: Vault, kill: Kill, what: str, name: str, step: str, knows: str, wanted: dict[Any, Any]
) -> None:
    _fill(vault.disk)
    path, new = NEXT[what][name]
    if knows.startswith("a process"):
        with suppress(FsnotesError):  # what is moved may not be there yet
            vault.run(SurveyMove(path, new))
    kill(vault.disk, vault.part, what, step)
    outcome = _outcome(vault.run, path, new)
    made = step != "journal: written"
    assert (outcome, _texts(vault.disk)) == wanted[what, name, made]
    assert not vault.disk.exists(f"state/part/{NAME}")


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("step", STEPS)
def test_a_dry_run_while_a_move_waits_to_be_finished_says_so_and_changes_nothing(
    vault: Vault, kill: Kill, step: str, links: bool
) -> None:
    _fill(vault.disk)
    kill(vault.disk, vault.part, "note", step)
    before = vault.disk.snapshot()
    with pytest.raises(MovePending) as refused:
        move(vault.run, "top", "far/top", dry_run=True, update_links=links)
    assert describe(refused.value).line.startswith("busy: a move that was interrupted")
    assert vault.disk.snapshot() == before
    vault.run(AppendNote("log.md", "next"))
    told = move(vault.run, "top", "far/top", dry_run=True, update_links=links)
    assert told == move(vault.run, "top", "far/top", update_links=links)


@pytest.mark.parametrize("step", STEPS)
def test_a_survey_of_before_a_killed_move_is_none_for_the_next(vault: Vault, kill: Kill, step: str) -> None:
    _fill(vault.disk)
    found = vault.run(SurveyMove("top", "far/top"))
    kill(vault.disk, vault.part, "note", step)
    before = _texts(vault.disk)
    command = MoveNotes("top", "far/top", found.notes, last_move=found.last_move)
    with pytest.raises(SurveyOutdated):
        vault.run(command)
    after = _texts(vault.disk)
    assert (after == before) == (step in ("journal: written", "journal: about to be cleared"))
    with pytest.raises(SurveyOutdated):
        vault.run(command)
    assert _texts(vault.disk) == after
    move(vault.run, "top", "far/top")


def test_a_survey_of_before_a_move_there_and_back_is_none_for_the_next(vault: Vault) -> None:
    _fill(vault.disk)
    found = vault.run(SurveyMove("sub/a", "z"))
    move(vault.run, "sub/a", "other/b")
    move(vault.run, "other/b", "sub/a")
    given = {"known": found.known, "last_move": found.last_move}
    with pytest.raises(SurveyOutdated):
        vault.run(MoveNotes("sub/a", "z", found.notes, **given))
    with pytest.raises(SurveyOutdated):
        vault.run(MoveNotes("sub/a", "z", found.notes, dry_run=True, **given))
    # What needs no link rewritten needs no survey either.
    vault.run(MoveNotes("sub/a", "z", update_links=False, last_move=found.last_move))


@pytest.mark.parametrize("step", [Step.MOVE_MOVED, Step.MOVE_DURABLE, Step.STAGE_PUT, Step.STAGE_DURABLE])
@pytest.mark.parametrize("resolver", ["openat2", "walk"])
def test_who_looks_while_another_process_moves_does_not_move_by_what_was_seen(
    tmp_path: Any, resolver: Any, step: Step
) -> None:
    disk = Tree(tmp_path, resolver)
    disk.build("root/", "part/")
    _fill(disk)
    seen: list[Any] = []
    with closing(Workspace(disk.open_root(), part=disk.path("part"))) as other:
        theirs = runner(other)

        def observe(taken: Any) -> None:
            if taken == step and not seen:
                with pytest.raises(MovePending):
                    theirs(SurveyMove("other/b", "d"))
                with pytest.raises(MovePending):
                    move(theirs, "other/b", "d", dry_run=True)
                seen.append(_outcome(theirs, "other/b", "d"))

        with closing(Workspace(disk.open_root("root", observe=observe), part=disk.path("part"))) as workspace:
            move(runner(workspace), "sub/a", "other/b")
        assert seen == ["Busy"]
        move(theirs, "other/b", "d")
        assert theirs(FindLinks("", "broken")).links == ()
    assert disk.read("root/top.md") == b"[[d]] and [x](d.md)\r\n"


def test_files_that_never_cease_to_come_are_no_reason_to_move_by_what_was_seen_before_another_move(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last survey is taken whatever files have come, but not if links were rewritten."""
    _fill(vault.disk)
    monkeypatch.setattr(moves, "SURVEYS", 1)

    def run(command: Any) -> Any:
        if isinstance(command, MoveNotes) and command.path == "top":
            move(vault.run, "sub/a", "other/b")
        return vault.run(command)

    assert _outcome(run, "top", "far/top") == "Busy"
    assert vault.disk.read("root/top.md") == b"[[b]] and [x](other/b.md)\r\n"


def test_a_process_that_is_killed_before_it_leaves_a_mark_has_moved_nothing(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(vault.disk)
    assert vault.workspace.journal is not None

    def full(*_: object, **__: object) -> None:
        raise StorageFailed(28, "x")

    with monkeypatch.context() as patched:
        patched.setattr(vault.workspace.journal._mark, "write", full)
        assert _outcome(vault.run, "sub/a", "other/b") == "Unavailable"
    assert _texts(vault.disk) == NOTES
    assert not vault.disk.exists(f"state/part/{NAME}")


# -- what cannot be seen ---------------------------------------------------------------------------


def _shut(monkeypatch: pytest.MonkeyPatch, *folders: str, names: bool = True) -> None:
    """Let nobody list *folders*, nor look up names in them unless *names* is false."""
    listing, stat, stamp = Root.list, Root.stat, Root.stamp

    def check(path: RelPath) -> None:
        if str(path) in folders:
            raise StorageFailed(13, str(path))

    def shut_list(self: Root, path: RelPath = ROOT, **more: Any) -> Any:
        check(path)
        return listing(self, path, **more)

    def shut_stat(self: Root, path: RelPath) -> Any:
        check(path.parent)
        return stat(self, path)

    def shut_stamp(self: Root, path: RelPath) -> Any:
        check(path.parent)
        return stamp(self, path)

    monkeypatch.setattr(Root, "list", shut_list)
    if names:
        monkeypatch.setattr(Root, "stat", shut_stat)
        monkeypatch.setattr(Root, "stamp", shut_stamp)


def test_a_killed_move_into_a_folder_that_cannot_be_seen_keeps_nobody_from_changing_notes(
    vault: Vault, kill: Kill, monkeypatch: pytest.MonkeyPatch, wanted: dict[Any, Any]
) -> None:
    _fill(vault.disk)
    kill(vault.disk, vault.part, "note", Step.MOVE_DURABLE)
    with monkeypatch.context() as patched:
        _shut(patched, "other")
        vault.run(AppendNote("log.md", "next"))
        vault.run(CreateNote("new", "text"))
        vault.run(EditNote("none", "something", "nothing"))
        assert vault.disk.exists(f"state/part/{NAME}")
        before = vault.disk.snapshot()
        for links in (True, False):
            with pytest.raises(MoveStuck) as refused:
                move(vault.run, "none", "any", update_links=links)
        assert describe(refused.value).line.startswith(
            "unavailable: a move that was interrupted cannot be finished"
        )
        assert vault.disk.snapshot() == before
    vault.run(AppendNote("log.md", "next"))
    assert not vault.disk.exists(f"state/part/{NAME}")
    after = _texts(vault.disk)
    assert after["top.md"] == b"[[b]] and [x](other/b.md)\r\n"
    assert after["log.md"] == b"log\nnext\nnext\n"


@pytest.mark.parametrize("folders", [("sub",), ("other",), ("sub", "other")])
def test_folders_that_cannot_be_listed_are_no_reason_to_leave_a_move_unfinished(
    vault: Vault, kill: Kill, monkeypatch: pytest.MonkeyPatch, folders: tuple[str, ...]
) -> None:
    _fill(vault.disk)
    kill(vault.disk, vault.part, "note", Step.MOVE_DURABLE)
    with monkeypatch.context() as patched:
        _shut(patched, *folders, names=False)
        vault.run(AppendNote("log.md", "next"))
    assert not vault.disk.exists(f"state/part/{NAME}")
    assert vault.disk.read("root/top.md") == b"[[b]] and [x](other/b.md)\r\n"


@pytest.mark.parametrize(("step", "shut"), [("journal: written", "other"), (Step.MOVE_DURABLE, "sub")])
def test_one_end_of_a_move_is_enough_to_see_what_became_of_it(
    vault: Vault, kill: Kill, monkeypatch: pytest.MonkeyPatch, step: str, shut: str
) -> None:
    _fill(vault.disk)
    kill(vault.disk, vault.part, "note", step)
    with monkeypatch.context() as patched:
        _shut(patched, shut)
        vault.run(AppendNote("log.md", "next"))
    assert not vault.disk.exists(f"state/part/{NAME}")
    made = step == Step.MOVE_DURABLE
    assert vault.disk.read("root/top.md") == (b"[[b]] and [x](other/b.md)\r\n" if made else NOTES["top.md"])


# -- what is deleted -------------------------------------------------------------------------------

ENTRY = "20260728T101112Z-" + "0" * 32


@pytest.mark.turns("step", "target", "note", "between")
@pytest.mark.parametrize("between", ["nothing", "another change"])
@pytest.mark.parametrize("note", ["the moved one", "a linking one"])
@pytest.mark.parametrize("target", ["other/b", "x/y/b"])
@pytest.mark.parametrize("step", STEPS)
def test_a_note_that_is_deleted_after_a_killed_move_comes_back_as_the_move_leaves_it(
    vault: Vault, kill: Kill, tmp_path: Any, step: str, target: str, note: str, between: str
) -> None:
    """With the second target the links of the moved note change too."""
    _fill(vault.disk)
    kill(vault.disk, vault.part, f"sub/a -> {target}", step)
    made = step != "journal: written"
    path = "top.md" if note == "a linking one" else f"{target}.md" if made else "sub/a.md"
    shown = vault.disk.read(f"root/{path}")
    with suppress(NoteChanged):  # where the deletion has finished the note, which the person is shown then
        vault.run(TrashNote(path, etag(shown), ENTRY))
    if vault.disk.exists(f"root/{path}"):
        assert vault.disk.read(f"root/{path}") != shown
        vault.run(TrashNote(path, etag(vault.disk.read(f"root/{path}")), ENTRY))
    assert not vault.disk.exists(f"root/{path}")
    if between != "nothing":
        vault.run(EditNote("log", "log", "log"))
    vault.run(RestoreNote(ENTRY))
    unharmed = Tree(tmp_path / "unharmed", "walk")
    unharmed.build("root/", "part/")
    _fill(unharmed)
    if made:
        with closing(Workspace(unharmed.open_root(), part=unharmed.path("part"))) as workspace:
            move(runner(workspace), "sub/a", target)
    assert _texts(vault.disk) == _texts(unharmed)
    assert not vault.disk.exists(f"state/part/{NAME}")


def test_a_deletion_does_not_wait_for_a_journal_to_be_finished(vault: Vault, kill: Kill) -> None:
    _fill(vault.disk)
    kill(vault.disk, vault.part, "note", Step.MOVE_DURABLE)
    vault.run(TrashNote("none.md", etag(NOTES["none.md"]), ENTRY))
    assert vault.disk.exists(f"state/part/{NAME}")
    assert vault.disk.read("root/top.md") == NOTES["top.md"]


@pytest.mark.parametrize("where", ["replace", "look"])
def test_whatever_keeps_a_note_from_being_finished_does_not_keep_it_from_being_deleted(
    vault: Vault, kill: Kill, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    _fill(vault.disk)
    kill(vault.disk, vault.part, "note", Step.MOVE_DURABLE)

    def full(*_: object, **__: object) -> None:
        raise StorageFailed(28, "x")

    with monkeypatch.context() as patched:
        if where == "replace":
            patched.setattr(Root, where, full)
        else:
            _shut(patched, "sub", "other")
        vault.run(TrashNote("top.md", etag(NOTES["top.md"]), ENTRY))
    assert vault.disk.read(f"root/.trash/{ENTRY}/top.md") == NOTES["top.md"]
    vault.run(AppendNote("log.md", "next"))
    assert vault.disk.read("root/deep/er/d.md") == b"![[other/b#A]]"


@pytest.mark.parametrize("most", [3, 4])
def test_a_moved_note_whose_journal_could_not_be_kept_up_is_found_in_the_trash(
    vault: Vault, kill: Kill, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Among the latest entries, of which so many are looked at."""
    _fill(vault.disk)
    kill(vault.disk, vault.part, "note", Step.MOVE_DURABLE)
    assert vault.workspace.journal is not None

    def full(*_: object, **__: object) -> None:
        raise StorageFailed(28, "x")

    with monkeypatch.context() as patched:
        patched.setattr(vault.workspace.journal._slot, "write", full)
        vault.run(TrashNote("other/b.md", etag(vault.disk.read("root/other/b.md")), ENTRY))
    for number in range(1, 4):
        vault.disk.build(f"root/.trash/20270728T101112Z-{number:032x}/n.md: x")
    looked: list[str] = []
    real = Root.trashed

    def trashed(self: Root, entry: str) -> Any:
        looked.append(entry)
        return real(self, entry)

    monkeypatch.setattr(Root, "trashed", trashed)
    monkeypatch.setattr("fsnotes.notes.journal.MOST_TRASHED", most)
    with vault.workspace.root.lock(timeout=5), closing(Journal(vault.part)) as journal:
        assert journal.finish(vault.workspace.root) == (most == 4)
    assert len(looked) == most


def test_what_became_of_a_move_is_not_remembered_where_it_cannot_be_seen(
    vault: Vault, kill: Kill, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(vault.disk)
    kill(vault.disk, vault.part, "note", "journal: written")
    vault.disk.build("root/other/b.md: a stranger's")
    with monkeypatch.context() as patched:
        _shut(patched, "sub")
        vault.run(TrashNote("other/b.md", etag(b"a stranger's"), ENTRY))
    vault.run(AppendNote("log.md", "next"))
    assert _texts(vault.disk) == NOTES | {"log.md": b"log\nnext\n"}
