"""SIGKILL after every step of a move: whoever changes something next finds it done whole, or not at all."""

from __future__ import annotations

import errno
import itertools
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from fsnotes.errors import NotCounted, Unavailable
from fsnotes.notes import journal
from fsnotes.notes.commands import AppendNote, MoveNotes
from fsnotes.notes.journal import LEAST_FINISHED, NAME, Journal
from fsnotes.notes.workspace import Workspace
from sandbox.errors import StorageFailed
from sandbox.names import RelPath
from sandbox.policy import Policy
from sandbox.root import Content, Root
from sandbox.steps import Step
from tests.disk import Tree
from tests.notes.journal_steps import JOURNAL_STEPS
from tests.notes.killed_moves import MOVES, act, runner
from tests.notes.killing import Killer, killing
from tests.require import require

Run = Callable[[Tree, str, str, int], int]

NOTES = {
    "sub/a.md": b"# A\n\n[up](../top.md) [[c]]\n",
    "sub/c.md": b"[[sub/a]] [x](a.md)\n",
    "top.md": b"[[a]] and [x](sub/a.md)\r\n",
    "deep/er/d.md": b"![[sub/a#A]]",
    "none.md": b"nothing\n",
    "log.md": b"log\n",
}
STEPS = [
    *JOURNAL_STEPS,
    *(step.value for step in Step if step.value.partition(":")[0] in ("stage", "replace", "move")),
]
NOT_IN_MOVES = {Step.REPLACE_SYNCED, Step.REPLACE_DURABLE}


def _build(tmp_path: Path, resolver: str) -> Tree:
    disk = Tree(tmp_path, resolver)  # type: ignore[arg-type]  # one of them
    disk.build("root/", "part/")
    for path, text in NOTES.items():
        disk.build(f"root/{path}: ")
        disk.write(f"root/{path}", text)
    return disk


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer]:
    """What kills a process in a step of a move."""
    with killing() as killer:
        yield killer


@pytest.fixture
def run(killer: Killer) -> Run:
    """Return what does something in a process that kills itself when it takes a step for the n-th time."""
    return lambda disk, what, step, times: killer(disk, disk.path("part"), what, step, times)


def _texts(disk: Tree) -> dict[str, object]:
    found = disk.snapshot("root")
    return {path: text for path, text in found.items() if text != "folder" and not _is_ours(path)}


def _is_ours(path: str) -> bool:
    return os.path.basename(path).startswith(".~fsn-") or path.startswith(".trash/")


@contextmanager
def _workspace(disk: Tree) -> Iterator[Workspace]:
    with closing(Workspace(disk.open_root(), part=disk.path("part"))) as opened:
        yield opened


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    """What each move comes to when nobody is killed, with the change after it."""
    found = {}
    for what in MOVES:
        disk = _build(tmp_path_factory.mktemp(what), "walk")
        with _workspace(disk) as workspace:
            act(runner(workspace), what)
            act(runner(workspace), "append")
        found[what] = _texts(disk)
    return found


@pytest.mark.parametrize("what", MOVES)
@pytest.mark.parametrize("step", [step for step in STEPS if step not in NOT_IN_MOVES])
def test_a_killed_move_is_finished_or_undone_by_the_next_change(
    tmp_path: Path, run: Run, what: str, step: str, wanted: dict[str, dict[str, object]]
) -> None:
    disk = _build(tmp_path, "auto")
    assert run(disk, what, step, 1) == -signal.SIGKILL
    with _workspace(disk) as workspace:
        act(runner(workspace), "append")
        after = _texts(disk)
        assert after in (wanted[what], NOTES | {"log.md": b"log\nnext\n"})
        # Once the move itself had happened, it is finished.
        assert (after == wanted[what]) == (step in AFTER_THE_MOVE)
        assert not disk.exists(f"part/{NAME}")
        with workspace.root.lock(timeout=5):
            workspace.root.sweep(now=time.time() + 61)
    assert [path for path in disk.snapshot("root") if _is_ours(path) and not path.startswith(".trash/")] == []


AFTER_THE_MOVE = {
    Step.MOVE_MOVED,
    Step.MOVE_VERIFIED,
    Step.MOVE_DURABLE,
    Step.REPLACE_LOOKED,
    Step.REPLACE_EXCHANGED,
    Step.REPLACE_VERIFIED,
    Step.REPLACE_TIDIED,
    Step.STAGE_PUT,
    Step.STAGE_DURABLE,
    "journal: about to be cleared",
    "journal: cleared",
}


@pytest.mark.parametrize("time_", [2, 3])
def test_a_move_killed_between_two_notes_is_finished(
    tmp_path: Path, run: Run, time_: int, wanted: dict[str, dict[str, object]]
) -> None:
    disk = _build(tmp_path, "auto")
    assert run(disk, "note", Step.STAGE_PUT, time_) == -signal.SIGKILL
    with _workspace(disk) as workspace:
        act(runner(workspace), "append")
    assert _texts(disk) == wanted["note"]


@pytest.mark.parametrize("step", [step for step in Step if step.value.startswith("replace")])
def test_who_is_killed_while_finishing_is_finished_by_the_next(
    tmp_path: Path, run: Run, step: Step, wanted: dict[str, dict[str, object]]
) -> None:
    disk = _build(tmp_path, "auto")
    assert run(disk, "note", Step.MOVE_DURABLE, 1) == -signal.SIGKILL
    assert run(disk, "append", step, 2) == -signal.SIGKILL
    with _workspace(disk) as workspace:
        act(runner(workspace), "append")
    after = _texts(disk)
    # Whoever was killed had not begun with a change of its own.
    assert after == wanted["note"]


def test_a_note_that_somebody_saved_after_the_kill_keeps_that_text(tmp_path: Path, run: Run) -> None:
    disk = _build(tmp_path, "auto")
    assert run(disk, "note", Step.MOVE_DURABLE, 1) == -signal.SIGKILL
    disk.save("root/top.md", b"a stranger's [[a]]")
    with _workspace(disk) as workspace:
        act(runner(workspace), "append")
    assert disk.read("root/top.md") == b"a stranger's [[a]]"
    assert disk.read("root/deep/er/d.md") == b"![[other/b#A]]"
    assert not disk.exists(f"part/{NAME}")


def test_a_moved_note_that_an_editor_replaced_after_the_kill_is_still_the_one_that_moved(
    tmp_path: Path,
    run: Run,
) -> None:
    disk = _build(tmp_path, "auto")
    assert run(disk, "note", Step.MOVE_DURABLE, 1) == -signal.SIGKILL
    disk.save("root/other/b.md", b"edited")
    with _workspace(disk) as workspace:
        act(runner(workspace), "append")
    assert disk.read("root/other/b.md") == b"edited"
    assert disk.read("root/top.md") == b"[[b]] and [x](other/b.md)\r\n"


def test_a_note_that_took_the_former_name_after_the_kill_does_not_undo_the_move(
    tmp_path: Path, run: Run, wanted: dict[str, dict[str, object]]
) -> None:
    disk = _build(tmp_path, "auto")
    assert run(disk, "note", Step.MOVE_DURABLE, 1) == -signal.SIGKILL
    disk.build("root/sub/a.md: another")
    with _workspace(disk) as workspace:
        act(runner(workspace), "append")
    assert _texts(disk) == wanted["note"] | {"sub/a.md": b"another"}


def test_a_note_that_took_the_new_name_after_the_kill_does_not_make_the_move(
    tmp_path: Path, run: Run
) -> None:
    disk = _build(tmp_path, "auto")
    assert run(disk, "note", "journal: written", 1) == -signal.SIGKILL
    disk.build("root/other/b.md: another")
    with _workspace(disk) as workspace:
        act(runner(workspace), "append")
    assert _texts(disk) == NOTES | {"log.md": b"log\nnext\n", "other/b.md": b"another"}


def test_a_move_that_somebody_took_back_after_the_kill_is_left_at_that(tmp_path: Path, run: Run) -> None:
    disk = _build(tmp_path, "auto")
    assert run(disk, "note", Step.MOVE_DURABLE, 1) == -signal.SIGKILL
    os.rename(disk.path("root/other/b.md"), disk.path("root/sub/a.md"))
    with _workspace(disk) as workspace:
        act(runner(workspace), "append")
    assert _texts(disk) == NOTES | {"log.md": b"log\nnext\n"}
    assert not disk.exists(f"part/{NAME}")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_a_note_that_may_not_be_written_after_the_kill_keeps_nobody_from_changing_others(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    disk = _build(tmp_path, "auto")
    assert run(disk, "note", Step.MOVE_DURABLE, 1) == -signal.SIGKILL
    real = Root.replace

    def replace(self: Root, path: RelPath, data: bytes, **more: Any) -> Any:
        if str(path) == "top.md":
            raise StorageFailed(number, "x")
        return real(self, path, data, **more)

    monkeypatch.setattr(Root, "replace", replace)
    with _workspace(disk) as workspace:
        act(runner(workspace), "append")
    assert disk.read("root/top.md") == NOTES["top.md"]
    assert disk.read("root/deep/er/d.md") == b"![[other/b#A]]"
    assert disk.read("root/log.md") == b"log\nnext\n"
    assert not disk.exists(f"part/{NAME}")


def test_a_disk_that_is_full_after_the_kill_leaves_the_journal(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, wanted: dict[str, dict[str, object]]
) -> None:
    disk = _build(tmp_path, "auto")
    assert run(disk, "note", Step.MOVE_DURABLE, 1) == -signal.SIGKILL

    def replace(self: Root, path: RelPath, data: bytes, **more: Any) -> Any:
        raise StorageFailed(errno.ENOSPC, "x")

    with monkeypatch.context() as patched:
        patched.setattr(Root, "replace", replace)
        with _workspace(disk) as workspace, pytest.raises(Unavailable):
            act(runner(workspace), "append")
    assert disk.exists(f"part/{NAME}")
    with _workspace(disk) as workspace:
        act(runner(workspace), "append")
    assert _texts(disk) == wanted["note"]


def test_what_takes_long_to_finish_is_finished_in_several_calls(tmp_path: Path, run: Run) -> None:
    disk = _build(tmp_path, "auto")
    count = 3 * LEAST_FINISHED
    for number in range(count):
        disk.build(f"root/many/{number}.md: [[sub/a]]")
    assert run(disk, "note", Step.MOVE_DURABLE, 1) == -signal.SIGKILL

    def left() -> int:
        return sum(disk.read(f"root/many/{number}.md") == b"[[sub/a]]" for number in range(count))

    seen = [left()]
    with (
        disk.open_root() as root,
        closing(Journal(disk.path("part"), clock=map(float, itertools.count()).__next__)) as journal,
    ):
        while True:
            try:
                assert journal.finish(root)
                break
            except NotCounted:
                seen.append(left())
                assert disk.exists(f"part/{NAME}")
    assert seen[0] == count
    assert len(seen) == 4
    assert seen == sorted(seen, reverse=True)
    assert left() == 0
    assert not disk.exists(f"part/{NAME}")


@pytest.mark.parametrize("limit", [2, 3])
def test_a_move_among_more_names_than_a_folder_may_have_is_finished_all_the_same(
    tmp_path: Path, run: Run, limit: int, wanted: dict[str, dict[str, object]]
) -> None:
    disk = _build(tmp_path, "auto")
    assert run(disk, "note", Step.MOVE_DURABLE, 1) == -signal.SIGKILL
    for number in range(3):
        disk.build(f"root/other/{number}.txt: x", f"root/sub/{number}.txt: x")
    with (
        disk.open_root("root", Policy(max_entries=limit)) as root,
        closing(Journal(disk.path("part"))) as journal,
    ):
        assert journal.finish(root)
    assert disk.read("root/top.md") == wanted["note"]["top.md"]


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b'{"version": 2}', b"\xff", b"[" * 100_000])
def test_a_journal_that_cannot_be_read_is_neither_guessed_nor_thrown_away(
    tmp_path: Path, text: bytes
) -> None:
    disk = _build(tmp_path, "auto")
    disk.write(f"part/{NAME}", text)
    before = disk.snapshot()
    with _workspace(disk) as workspace:
        for command in (AppendNote("log.md", "next"), MoveNotes("top", "bottom")):
            with pytest.raises(Unavailable):
                runner(workspace)(command)
    assert disk.snapshot() == before


@pytest.mark.parametrize(
    "line", ["part/move.json => ../outside", "part/move.json => gone", "part/move.json/"]
)
def test_what_is_no_journal_is_not_followed_and_not_thrown_away(tmp_path: Path, line: str) -> None:
    disk = _build(tmp_path, "auto")
    disk.build("outside: {}", line)
    before = disk.snapshot()
    with _workspace(disk) as workspace, pytest.raises(Unavailable):
        runner(workspace)(AppendNote("log.md", "next"))
    assert disk.snapshot() == before


def test_a_journal_of_another_account_is_not_believed(tmp_path: Path, run: Run) -> None:
    require("root", available=os.geteuid() == 0, why="another user's file")
    disk = _build(tmp_path, "auto")
    assert run(disk, "note", Step.MOVE_DURABLE, 1) == -signal.SIGKILL
    os.chown(disk.path(f"part/{NAME}"), 1000, 1000)
    before = disk.snapshot()
    with _workspace(disk) as workspace, pytest.raises(Unavailable):
        act(runner(workspace), "append")
    assert disk.snapshot() == before
    os.chown(disk.path(f"part/{NAME}"), 0, 0)
    with _workspace(disk) as workspace:
        act(runner(workspace), "append")
    assert not disk.exists(f"part/{NAME}")


@pytest.mark.parametrize("path", ["../outside.md", "/etc/passwd", "sub/../../outside.md", "sub\\x.md"])
def test_a_journal_leads_nowhere_outside(tmp_path: Path, run: Run, path: str) -> None:
    disk = _build(tmp_path, "auto")
    disk.build("outside.md: [[a]]")
    assert run(disk, "note", Step.MOVE_DURABLE, 1) == -signal.SIGKILL
    journal = disk.read(f"part/{NAME}")
    assert b'"top.md"' in journal
    disk.write(f"part/{NAME}", journal.replace(b'"top.md"', f'"{path}"'.replace("\\", "\\\\").encode()))
    with _workspace(disk) as workspace, pytest.raises(Unavailable):
        act(runner(workspace), "append")
    assert disk.read("outside.md") == b"[[a]]"


def test_without_a_place_for_a_journal_only_what_needs_none_is_moved(tmp_path: Path) -> None:
    disk = _build(tmp_path, "auto")
    before = disk.snapshot()
    with closing(Workspace(disk.open_root())) as workspace:
        with pytest.raises(Unavailable):
            act(runner(workspace), "note")
        assert disk.snapshot() == before
        runner(workspace)(MoveNotes("none", "any"))
        runner(workspace)(MoveNotes("sub/a", "x", update_links=False))
    assert disk.read("root/any.md") == b"nothing\n"
    assert disk.read("root/x.md") == NOTES["sub/a.md"]


def test_finishing_in_many_calls_looks_at_each_note_once(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, wanted: dict[str, dict[str, object]]
) -> None:
    disk = _build(tmp_path, "auto")
    assert run(disk, "note", Step.MOVE_DURABLE, 1) == -signal.SIGKILL
    monkeypatch.setattr(journal, "LEAST_FINISHED", 1)
    monkeypatch.setattr(journal, "FINISH_SECONDS", -1.0)
    looked: list[str] = []
    real = journal._rewrite

    def rewrite(root: Root, rewriting: journal.Rewriting) -> None:
        looked.append(str(rewriting.path))
        real(root, rewriting)

    monkeypatch.setattr(journal, "_rewrite", rewrite)
    with _workspace(disk) as workspace:
        act(runner(workspace), "append")
    assert len(set(looked)) == len(looked) > 2
    assert _texts(disk) == wanted["note"]


def test_a_note_that_cannot_be_read_keeps_no_change_waiting(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = _build(tmp_path, "auto")
    assert run(disk, "note", Step.MOVE_DURABLE, 1) == -signal.SIGKILL
    real = Root.read

    def read(root: Root, path: RelPath) -> Content:
        if str(path) == "top.md":
            raise StorageFailed(5, "top.md")
        return real(root, path)

    monkeypatch.setattr(Root, "read", read)
    with _workspace(disk) as workspace:
        act(runner(workspace), "append")
    assert disk.read("root/top.md") == NOTES["top.md"]
    assert disk.read("root/deep/er/d.md") == b"![[other/b#A]]"
    assert not disk.exists(f"part/{NAME}")
