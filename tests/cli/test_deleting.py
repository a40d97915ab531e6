"""`delete` asks a person on a terminal, and does nothing without one; `restore` undoes it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from fsnotes.cli.confirming import answer_form
from fsnotes.cli.console import Console
from fsnotes.confirm import Candidate
from fsnotes.confirm.forms import build_form
from tests.cli.shell import FSNOTES, SECONDS, Done, Shell, Terminal, refused

WHICH = "Which one? 1 to 2, empty to cancel: "
SURE = '"Notes"? It moves to the trash and can be restored.\n'


def sure(path: str) -> str:
    return f"Move {path} to the trash? yes or no: "


def deleting(shell: Shell, title: str, *more: str) -> Terminal:
    return shell.on_terminal("delete", "-w", str(shell.vault), *more, title)


def audit(shell: Shell) -> list[tuple[str, str | None, str]]:
    lines = (shell.state / "private/audit.jsonl").read_text().splitlines()
    return [(line["tool"], line["path"], line["outcome"]) for line in map(json.loads, lines)]


def test_yes_moves_the_note_to_the_trash_and_says_how_to_undo_it(shell: Shell) -> None:
    shell.write("garden.md", "# My garden\n")
    with deleting(shell, "my GARDEN") as terminal:
        terminal.answer(sure("garden.md"), "yes\n")
        done = terminal.end()
    said, _, undo = done.out.rstrip("\n").partition("; undo with: ")
    assert (done.code, said) == (0, "moved garden.md to the trash")
    assert done.err == (
        'Delete this note from the workspace "Notes"? It moves to the trash and can be restored.\n'
        '1. "garden.md", titled "My garden", 12 bytes, modified 2023-11-14 22:13:20 UTC\n' + sure("garden.md")
    )
    command, _, rest = undo.partition(" ")
    entry = rest.split()[-1]
    assert (command, rest) == ("fsnotes", f"restore -w {shell.vault} {entry}")
    assert shell.files() == {f".trash/{entry}/garden.md": b"# My garden\n"}
    assert audit(shell) == [("notes_delete", "garden.md", "deleted")]

    assert shell.run(*rest.split()) == Done(0, "restored garden.md\n")
    assert shell.files() == {"garden.md": b"# My garden\n"}
    assert refused(shell.call(*rest.split()), 4, "not_found")


def test_the_right_one_of_several_goes(shell: Shell) -> None:
    for path in ("a/plan.md", "b/plan.md"):
        shell.write(path, f"{path}\n")
    with deleting(shell, "plan", "--json") as terminal:
        terminal.answer(WHICH, "2\n")
        terminal.answer(sure("b/plan.md"), "YES\n")
        done = terminal.end()
    document = json.loads(done.out)
    assert (done.code, document) == (
        0,
        {"outcome": "deleted", "path": "b/plan.md", "trashId": document["trashId"]},
    )
    assert done.err == (
        '2 notes in the workspace "Notes" match. Choose the one to delete, and confirm. It moves to the trash and'
        " can be restored.\n"
        '1. "a/plan.md", titled "plan", 10 bytes, modified 2023-11-14 22:13:20 UTC\n'
        '2. "b/plan.md", titled "plan", 10 bytes, modified 2023-11-14 22:13:20 UTC\n'
        f"{WHICH}{sure('b/plan.md')}"
    )
    assert shell.files() == {
        "a/plan.md": b"a/plan.md\n",
        f".trash/{document['trashId']}/b/plan.md": b"b/plan.md\n",
    }


CANCEL, DECLINE = {"action": "cancel"}, {"action": "decline"}


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        ([None], CANCEL), ([""], CANCEL), (["0"], CANCEL), (["3"], CANCEL), (["01"], CANCEL), (["1."], CANCEL),
        (["-1"], CANCEL), (["\uff11"], CANCEL), (["a/plan.md"], CANCEL), (["yes"], CANCEL), (["1 yes"], CANCEL),
        (["1", None], CANCEL), (["1", ""], CANCEL), (["1", "y"], CANCEL), (["1", "1"], CANCEL),
        (["1", "yes please"], CANCEL), (["1", "\uff59es"], CANCEL), (["2", "true"], CANCEL),
        (["1", "no"], DECLINE), (["2", "NO"], DECLINE), (["1", "n"], DECLINE),
        (["1", "yes"], {"action": "accept", "content": {"note_id": "a/plan.md", "confirm": True}}),
        (["2", "Yes"], {"action": "accept", "content": {"note_id": "b/plan.md", "confirm": True}}),
    ],
    ids=repr,
)  # fmt: skip
def test_only_a_number_of_the_list_and_yes_are_consent(lines: list[str | None], answer: object) -> None:
    class Scripted(Console):
        def ask(self, question: str) -> str | None:
            return lines.pop(0)

    candidates = [Candidate(f"{folder}/plan.md", "e", "plan", 1, 0.0) for folder in "ab"]
    assert answer_form(build_form("Notes", candidates), Scripted()) == answer
    assert lines == []


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (["\n"], "cancelled"),
        (["\x04"], "cancelled"),
        (["3\n"], "that is none of the numbers\nfsnotes: cancelled"),
        (["1\n", "yes\x04\x04"], "cancelled"),
        (["1\n", "y\n"], "that is neither yes nor no\nfsnotes: cancelled"),
        (["1\n", "no\n"], "declined"),
    ],
    ids=repr,
)
def test_anything_but_a_number_and_yes_leaves_the_notes_alone(
    shell: Shell, keys: list[str], said: str
) -> None:
    before = dict.fromkeys(("a/plan.md", "b/plan.md"), b"x\n")
    for path in before:
        shell.write(path)
    with deleting(shell, "plan") as terminal:
        for question, typed in zip((WHICH, sure("a/plan.md")), keys, strict=False):
            terminal.answer(question, typed)
        done = terminal.end()
    assert (done.code, done.out) == (7, "")
    assert done.err.endswith(f"fsnotes: {said}; nothing was deleted\n")
    assert shell.files() == before


def test_what_is_typed_ahead_answers_nothing(shell: Shell) -> None:
    """As when lines are pasted: the second must not confirm what the first asks."""
    shell.write("a/plan.md")
    shell.write("b/plan.md")
    with deleting(shell, "plan") as terminal:
        terminal.type("1\nyes\nyes\n")
        terminal.answer(WHICH, "2\nyes\nyes\n")
        terminal.answer(sure("b/plan.md"), "no\n")
        assert terminal.end().code == 7
    assert list(shell.files()) == ["a/plan.md", "b/plan.md"]


def test_a_decline_is_remembered_for_the_same_call_only(shell: Shell) -> None:
    shell.write("a.md")
    shell.write("b.md")
    with deleting(shell, "a") as terminal:
        terminal.answer(sure("a.md"), "no\n")
        assert terminal.end().code == 7
    again = "fsnotes: declined less than 60 seconds ago, so you are not asked again; nothing was deleted\n"
    with deleting(shell, "A") as terminal:
        assert terminal.end() == Done(7, "", again)
    assert shell.there("delete", "a", "--json") == Done(7, '{\n  "outcome": "declined"\n}\n', again)
    with deleting(shell, "b") as terminal:
        terminal.answer(sure("b.md"), "yes\n")
        assert terminal.end().code == 0
    assert [path for path in shell.files() if not path.startswith(".trash/")] == ["a.md"]
    assert audit(shell) == [("notes_delete", None, "declined"), ("notes_delete", "b.md", "deleted")]


def test_a_cancelled_question_can_be_asked_again_at_once(shell: Shell) -> None:
    shell.write("a.md")
    for keys, code in (("\n", 7), ("yes\n", 0)):
        with deleting(shell, "a") as terminal:
            terminal.answer(sure("a.md"), keys)
            assert terminal.end().code == code


@pytest.mark.parametrize("question", [WHICH, sure("a/plan.md")])
def test_ctrl_c_ends_with_130_and_nothing_is_deleted(shell: Shell, question: str) -> None:
    before = dict.fromkeys(("a/plan.md", "b/plan.md"), b"x\n")
    for path in before:
        shell.write(path)
    with deleting(shell, "plan") as terminal:
        if question != WHICH:
            terminal.answer(WHICH, "1\n")
        terminal.answer(question, "\x03")
        done = terminal.end()
    assert (done.code, done.out) == (130, "")
    assert done.err.endswith(f"{question}\nfsnotes: interrupted; nothing was deleted\n")
    assert shell.files() == before


def test_a_note_that_changes_while_the_person_thinks_is_not_deleted(shell: Shell) -> None:
    note = shell.write("a.md", "seen")
    with deleting(shell, "a") as terminal:
        terminal.expect(sure("a.md"))
        note.write_text("changed")
        terminal.type("yes\n")
        done = terminal.end()
    assert (done.code, done.out) == (5, "")
    assert done.err.splitlines()[-1].partition(sure("a.md"))[2].startswith("fsnotes: conflict: ")
    assert shell.files() == {"a.md": b"changed"}


def test_a_state_folder_that_is_lost_while_the_person_thinks_makes_the_answer_worthless(shell: Shell) -> None:
    shell.write("a.md")
    with deleting(shell, "a") as terminal:
        terminal.expect(sure("a.md"))
        for path in (shell.state / "private").iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        terminal.type("yes\n")
        done = terminal.end()
    assert (done.code, done.out) == (7, "")
    assert "fsnotes: conflict: " in done.err
    assert shell.files() == {"a.md": b"x\n"}


def _streams(shell: Shell, *, stdin: int, stderr: int) -> Done:
    done = subprocess.run(
        [*FSNOTES, "delete", "a", "-w", str(shell.vault)],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=shell.environ(),
        timeout=SECONDS,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode())


def test_without_a_terminal_nothing_is_asked_and_nothing_is_done(shell: Shell) -> None:
    shell.write("a.md")
    assert refused(shell.here("delete", "a", stdin=b"1\nyes\n"), 7, "not_allowed")
    assert refused(shell.there("delete", "a", "--json", stdin=b"yes\n"), 7, "not_allowed")
    ours, theirs = os.openpty()
    try:
        os.write(ours, b"yes\n")
        assert _streams(shell, stdin=theirs, stderr=subprocess.DEVNULL) == Done(7)
        assert _streams(shell, stdin=subprocess.DEVNULL, stderr=theirs) == Done(7)
    finally:
        os.close(ours)
        os.close(theirs)
    assert shell.files() == {"a.md": b"x\n"}


@pytest.mark.parametrize("flag", ["--yes", "-y", "--force", "-f", "--no-confirm"])
def test_no_flag_skips_the_question(shell: Shell, flag: str) -> None:
    shell.write("a.md")
    assert refused(shell.there("delete", flag, "a"), 2, "invalid_argument")
    assert shell.files() == {"a.md": b"x\n"}


def test_titles_that_look_like_options_and_titles_without_a_note(shell: Shell) -> None:
    shell.write("-x.md")
    with deleting(shell, "-x", "--") as terminal:
        terminal.answer(sure("-x.md"), "\n")
        assert terminal.end().code == 7
    assert refused(shell.there("delete", "nothing"), 4, "not_found")
    assert refused(shell.there("delete", " "), 2, "invalid_argument")


def test_more_notes_than_a_form_may_offer_are_not_asked_about(shell: Shell) -> None:
    for number in range(26):
        shell.write(f"{number}/same.md")
    assert refused(shell.there("delete", "same"), 6, "too_many")


def test_a_name_that_could_deceive_the_person_is_not_offered(shell: Shell) -> None:
    name = "a\u202edm.md"
    shell.write(name)
    done = shell.there("delete", "dm")
    assert (refused(done, 3, "not_allowed"), "\u202e" in done.err) == (True, False)
    assert list(shell.files()) == [name]


@pytest.mark.parametrize("again", [False, True])
def test_ctrl_c_between_the_halves_of_a_deletion_comes_too_late(shell: Shell, again: bool) -> None:
    """The command interrupts itself right after the file was moved. A second time, it does not wait."""
    shell.write("a.md")
    code = (
        "import os, signal, sys\n"
        "from fsnotes.cli import main\n"
        "from sandbox.root import Root\n"
        "trash = Root.trash\n"
        "def interrupted(*arguments, **named):\n"
        "    trash(*arguments, **named)\n"
        f"    for _ in range({1 + again}):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "Root.trash = interrupted\n"
        f"sys.exit(main(['delete', 'a', '--jail', 'off', '-w', {str(shell.vault)!r}]))\n"
    )
    with Terminal([*FSNOTES[:-2], "-c", code], shell.environ(), shell.home, results_too=False) as terminal:
        terminal.answer(sure("a.md"), "yes\n")
        done = terminal.end()
    (path,) = shell.files()
    entry = path.split("/")[1]
    assert path == f".trash/{entry}/a.md"
    if again:
        assert (done.code, done.out) == (130, "")
    else:
        assert (done.code, done.out[:27]) == (0, "moved a.md to the trash; un")
        assert audit(shell) == [("notes_delete", "a.md", "deleted")]


# -- restore ---------------------------------------------------------------------------------------


def in_trash(shell: Shell, path: str, data: str = "gone") -> str:
    entry = f"20260102T030405Z-{len(shell.files()):032x}"
    shell.write(f".trash/{entry}/{path}", data)
    return entry


def test_restore_puts_the_note_back_where_it_was(shell: Shell) -> None:
    entry = in_trash(shell, "Projects/plan.md")
    done = shell.here("restore", entry, "--json")
    assert done.document() == {"path": "Projects/plan.md", "etag": done.document()["etag"]}
    assert shell.files() == {"Projects/plan.md": b"gone"}


def test_restore_to_another_place(shell: Shell) -> None:
    entry = in_trash(shell, "plan.md")
    shell.write("plan.md", "another")
    assert shell.here("restore", entry, "--to", "Old/plan 1") == Done(0, "restored Old/plan 1.md\n")
    assert shell.files() == {"Old/plan 1.md": b"gone", "plan.md": b"another"}


def test_restore_never_overwrites(shell: Shell) -> None:
    entry = in_trash(shell, "plan.md")
    shell.write("plan.md", "another")
    before = shell.files()
    assert refused(shell.here("restore", entry), 5, "exists")
    assert refused(shell.there("restore", entry, "--to", "plan.md"), 5, "exists")
    assert shell.files() == before


@pytest.mark.parametrize(
    "entry", ["", "x", "../x", f"20260102T030405Z-{9:032x}", "20260102T030405Z-" + "A" * 32]
)
def test_restore_of_what_is_not_in_the_trash_is_not_found(shell: Shell, entry: str) -> None:
    in_trash(shell, "plan.md")
    assert refused(shell.there("restore", entry), 4, "not_found")


def test_restore_refuses_a_place_outside(shell: Shell) -> None:
    entry = in_trash(shell, "plan.md")
    before = shell.files()
    for target in ("../plan.md", "/tmp/plan.md", ".obsidian/plan.md"):
        assert refused(shell.there("restore", entry, "--to", target), 3, "not_allowed")
    assert shell.files() == before


def test_a_hung_up_terminal_confirms_nothing(shell: Shell, tmp_path: Path) -> None:
    shell.write("a.md")
    with deleting(shell, "a") as terminal:
        terminal.answer(sure("a.md"), "yes")
        terminal.process.send_signal(signal.SIGHUP)
        assert terminal.end().code == -signal.SIGHUP
    assert shell.files() == {"a.md": b"x\n"}
