"""Moving through the service: what is told and logged, by whom, with whom, and under which grants."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import shutil
import stat
import threading
from collections.abc import Callable
from typing import Any

import pytest

from fsnotes import moves
from fsnotes.access import Grant, Right
from fsnotes.errors import (
    FsnotesError,
    InvalidArgument,
    NotAllowed,
    NotCounted,
    NoteChanged,
    NoteExists,
    OutcomeUnknown,
    PathRefused,
    TooManyLinks,
    TooMuchToRelink,
    Unavailable,
)
from fsnotes.failures import describe
from fsnotes.notes import counting, journal, move_plans, moving
from fsnotes.notes.commands import Command, MoveNotes, SurveyMove
from fsnotes.notes.etags import etag
from fsnotes.notes.move_work import work_of
from fsnotes.outcomes import BEYOND, MAX_MOVED, Deletion
from fsnotes.runners import Runner
from sandbox import staging
from sandbox.beneath import Beneath
from sandbox.errors import StorageFailed
from sandbox.names import RelPath
from sandbox.root import Change, Root
from sandbox.steps import Step
from tests.disk import Interruption
from tests.service.conftest import ALICE, BOB, Household, accept, ask

A, C = b"# A\r\n[up](../c.md)\r\n", b"[[a]] ![[a#h]]\n"


def _furnish(household: Household) -> None:
    household.write("p/a.md", A)
    household.write("c.md", C)
    household.write("log.md", "log\n")


def test_a_move_is_told_whole(household: Household) -> None:
    _furnish(household)
    household.write("x/twin.md", "")
    household.write("p/twin.md", "")
    household.write("t.md", "one\n[[twin]]\n")
    service, uri = household.service(), household.uri
    planned = service.move(ALICE, uri, "p/a", "q/deep/b", dry_run=True).document()
    moved, changed = A.replace(b"../c", b"../../c"), C.replace(b"[[a", b"[[b")
    assert planned == {
        "outcome": "would_move",
        "path": "p/a.md",
        "newPath": "q/deep/b.md",
        "etag": etag(moved),
        "updated": [
            {"path": "q/deep/b.md", "etag": etag(moved), "links": 1},
            {"path": "c.md", "etag": etag(changed), "links": 2},
        ],
        "leftAlone": [],
    }
    assert household.files()["c.md"] == C
    assert service.move(ALICE, uri, "p/a", "q/deep/b").document() == planned | {"outcome": "moved"}
    files = household.files()
    assert (files["q/deep/b.md"], files["c.md"]) == (moved, changed)
    assert service.move(ALICE, uri, "p/twin", "p/other").document()["leftAlone"] == [
        {"path": "t.md", "line": 2, "link": "[[twin]]", "reason": "several files answer to it"}
    ]


def test_a_folder_that_moves_is_told_by_its_notes(household: Household) -> None:
    _furnish(household)
    told = household.service().move(ALICE, household.uri, "p", "q").document()
    assert (told["outcome"], told["path"], told["newPath"], told["notes"]) == ("moved", "p", "q", 1)
    assert "etag" not in told
    assert household.files().keys() == {"q/a.md", "c.md", "log.md"}


def test_a_move_leaves_one_line_and_a_dry_run_none(household: Household) -> None:
    _furnish(household)
    service, uri = household.service(), household.uri
    service.move(ALICE, uri, "p/a", "b", dry_run=True)
    assert household.audit() == []
    service.move(ALICE, uri, "p/a", "b")
    (line,) = household.audit()
    assert (line["tool"], line["path"], line["newPath"], line["outcome"]) == (
        "notes_move",
        "p/a.md",
        "b.md",
        "moved",
    )
    assert (line["etagBefore"], line["etagAfter"]) == (etag(A), etag(A.replace(b"../c", b"c")))
    with pytest.raises(NoteExists):
        service.move(ALICE, uri, "b", "c")
    assert [each["outcome"] for each in household.audit()] == ["moved", "note_exists"]


def test_long_paths_fit_in_the_line_of_a_move(household: Household) -> None:
    folder = "/".join(["ü" * 100] * 8)
    household.write(f"{folder}/{'é' * 60}.md", "x")
    household.service().move(ALICE, household.uri, f"{folder}/{'é' * 60}", f"{folder}/{'à' * 60}")
    (line,) = household.audit()
    assert line["path"].endswith("é.md")
    assert line["newPath"].endswith("à.md")


def test_only_who_may_write_moves(household: Household) -> None:
    _furnish(household)
    household.grant(BOB, Right.READ)
    service, before = household.service(), household.files()
    for dry in (True, False):
        with pytest.raises(NotAllowed):
            service.move(BOB, household.uri, "p/a", "b", dry_run=dry)
    assert household.files() == before
    assert [line["outcome"] for line in household.audit()] == ["not_allowed"] * 2


@pytest.mark.parametrize(("path", "new"), [("p/a", "b"), ("c", "p/c"), ("p", "q")])
def test_a_grant_of_one_folder_moves_nothing_in_or_out(household: Household, path: str, new: str) -> None:
    _furnish(household)
    household.grant(BOB, *Right, folder="p")
    before = household.files()
    with pytest.raises(NotAllowed):
        household.service().move(BOB, household.uri, path, new)
    assert household.files() == before


def test_links_beyond_the_grant_are_counted_and_not_named(household: Household) -> None:
    _furnish(household)
    household.write("p/x.md", "[[a]]")
    household.grant(BOB, *Right, folder="p")
    told = household.service().move(BOB, household.uri, "p/a", "p/sub/b").document()
    assert household.files()["p/x.md"] == b"[[b]]"
    assert household.files()["c.md"] == C
    assert told["leftAlone"] == [{"reason": BEYOND, "count": 3}]
    assert "c.md" not in json.dumps(told)


def test_notes_that_were_not_looked_into_are_counted(household: Household) -> None:
    _furnish(household)
    household.write("large.md", "[[a]]" + " " * 1_048_576)
    household.write("hard.md", "[[a]]")
    os.link(household.vault / "hard.md", household.vault.parent / "hard.md")
    wanted = [
        {"reason": "not looked into: hard link", "count": 1},
        {"reason": "not looked into: too large", "count": 1},
    ]
    for dry_run in (True, False):
        told = household.service().move(ALICE, household.uri, "p/a", "p/b", dry_run=dry_run).document()
        assert sorted(told["leftAlone"], key=str) == sorted(wanted, key=str)
    told = household.service().move(ALICE, household.uri, "p/b", "p/c", update_links=False).document()
    assert told["leftAlone"] == []


def test_who_may_not_read_is_told_of_no_other_note(household: Household) -> None:
    _furnish(household)
    household.write("x/a.md", "")
    household.grant(BOB, Right.WRITE)
    told = household.service().move(BOB, household.uri, "p/a", "b").document()
    assert told["updated"] == []
    assert told["leftAlone"] == []
    assert (told["updatedMore"], told["leftAloneMore"]) == (1, 2)
    assert "c.md" not in json.dumps(told)


def test_who_may_read_one_folder_is_told_of_that_one(household: Household) -> None:
    household.write("a.md", "a")
    household.write("mine/m.md", "[[a]]")
    household.write("yours/y.md", "[[a]]")
    household.grant(BOB, Right.WRITE)
    household.grant(BOB, Right.READ, folder="mine")
    told = household.service().move(BOB, household.uri, "a", "b").document()
    assert [note["path"] for note in told["updated"]] == ["mine/m.md"]
    assert told["updatedMore"] == 1
    assert household.files()["yours/y.md"] == b"[[b]]"


@pytest.mark.parametrize("dry", [False, True])
@pytest.mark.parametrize(
    ("path", "new"),
    [
        ("private/s", "mine/s"),
        ("private/s.md", "mine/deep/er/s.md"),
        ("private/f", "mine/f"),
        ("private", "mine/private"),
        ("private/f", "free/in"),  # free/in/out may be read
        ("mine", "mine/s"),  # mine.md, beside the folder that may be read
    ],
)
def test_a_move_is_no_way_to_read_what_may_not_be_read(
    household: Household, path: str, new: str, dry: bool
) -> None:
    _furnish(household)
    for name in ("private/s.md", "private/f/out/x.md", "mine.md"):
        household.write(name, "SECRET")
    household.grant(BOB, Right.WRITE)
    for folder in ("mine", "free/in/out"):
        household.grant(BOB, Right.READ, folder=folder)
    before = household.files()
    with pytest.raises(NotAllowed):
        household.service().move(BOB, household.uri, path, new, dry_run=dry)
    assert household.files() == before
    assert [line["outcome"] for line in household.audit()] == ["not_allowed"]


@pytest.mark.parametrize(
    ("path", "new"),
    [
        ("private/s", "private/t"),
        ("private/f", "elsewhere/f"),
        ("mine/m", "mine/sub/n"),
        ("mine/sub", "other/sub"),
        ("mine/m", "private/m"),
    ],
)
def test_who_may_not_read_all_moves_whatever_that_makes_not_readable(
    household: Household, path: str, new: str
) -> None:
    for name in ("private/s.md", "private/f/x.md", "mine/m.md", "mine/sub/n1.md"):
        household.write(name, "text")
    household.grant(BOB, Right.WRITE)
    for folder in ("mine", "other"):
        household.grant(BOB, Right.READ, folder=folder)
    household.service().move(BOB, household.uri, path, new)
    assert not (household.vault / path).exists()
    assert not (household.vault / f"{path}.md").exists()


def test_a_restore_is_no_way_to_read_what_may_not_be_read(household: Household) -> None:
    household.write("private/s.md", "SECRET")
    service, uri = household.service(), household.uri
    asked = ask(service, ALICE, uri, "private/s.md")
    arguments = {"workspaceUri": uri, "title": "private/s.md"}
    gone = service.delete(
        ALICE, uri, "private/s.md", arguments=arguments, state=asked.state,
        answers={"delete_choice": accept("private/s.md")},
    )  # fmt: skip
    assert isinstance(gone, Deletion)
    assert gone.trash_id is not None
    household.grant(BOB, Right.WRITE)
    household.grant(BOB, Right.READ, folder="mine")
    before = household.files()
    theirs = household.service()
    with pytest.raises(NotAllowed):
        theirs.restore(BOB, uri, gone.trash_id, new_path="mine/s")
    assert household.files() == before
    assert theirs.restore(BOB, uri, gone.trash_id, new_path="private/t").reply.path == "private/t.md"


def test_more_than_an_answer_holds_is_counted(household: Household) -> None:
    household.write("a.md", "a")
    for number in range(250):
        household.write(f"n/{'long name ' * 5}{number}.md", "[[a]]")
    moved = household.service().move(ALICE, household.uri, "a", "b")
    told = moved.document()
    assert len(told["updated"]) + told["updatedMore"] == 250
    assert len(json.dumps(told)) < 40_000
    assert all(text == b"[[b]]" for path, text in household.files().items() if path.startswith("n/"))


def test_what_is_left_to_the_user_is_told_however_many_notes_are_rewritten(household: Household) -> None:
    for folder in ("x", "y"):
        household.write(f"{folder}/twin.md", "")
    household.write("z.md", "[[twin]]")
    for number in range(MAX_MOVED + 10):
        household.write(f"n/{number}.md", "[[x/twin]]")
    told = household.service().move(ALICE, household.uri, "x/twin", "x/other").document()
    assert [(link["path"], link["link"]) for link in told["leftAlone"]] == [("z.md", "[[twin]]")]
    assert "leftAloneMore" not in told
    assert len(told["updated"]) == MAX_MOVED - 1
    assert told["updatedMore"] == 11


def test_more_notes_than_one_move_may_rewrite_are_refused(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moves, "MAX_NOTES", 2)
    household.write("a.md", "a")
    for number in range(3):
        household.write(f"{number}.md", "[[a]]")
    before = household.files()
    with pytest.raises(TooManyLinks) as refused:
        household.service().move(ALICE, household.uri, "a", "b")
    assert describe(refused.value).line.startswith("too_many: more than 2 notes have links")
    assert household.files() == before
    household.service().move(ALICE, household.uri, "a", "b", update_links=False)
    assert "b.md" in household.files()


@pytest.mark.parametrize("dry", [True, False])
def test_more_text_with_links_than_one_move_may_rewrite_is_refused(
    household: Household, monkeypatch: pytest.MonkeyPatch, dry: bool
) -> None:
    household.write("a.md", "a")
    for number in range(3):
        household.write(f"{number}.md", "[[a]] " * 100)
    before = household.files()
    with monkeypatch.context() as patched:
        patched.setattr(moves, "MAX_WORK", 2 * work_of(b"[[a]] " * 100, 100))
        with pytest.raises(TooMuchToRelink) as refused:
            household.service().move(ALICE, household.uri, "a", "b", dry_run=dry)
        assert describe(refused.value).line.startswith("too_many: the links that this move would rewrite")
        assert household.files() == before
        household.service().move(ALICE, household.uri, "a", "b", update_links=False, dry_run=True)
    household.service().move(ALICE, household.uri, "a", "b")
    assert household.files()["2.md"] == b"[[b]] " * 100


def test_a_stale_etag_moves_nothing(household: Household) -> None:
    _furnish(household)
    before = household.files()
    with pytest.raises(NoteChanged) as refused:
        household.service().move(ALICE, household.uri, "p/a", "b", if_match=etag(b"other"))
    assert refused.value.etag == etag(A)
    assert household.files() == before


def test_a_form_that_was_shown_before_the_move_deletes_nothing(household: Household) -> None:
    _furnish(household)
    service, uri = household.service(), household.uri
    asked = ask(service, ALICE, uri, "p/a.md")
    service.move(ALICE, uri, "p/a", "b")
    with pytest.raises(NoteChanged):
        service.delete(
            ALICE,
            uri,
            "p/a.md",
            arguments={"workspaceUri": uri, "title": "p/a.md"},
            state=asked.state,
            answers={"delete_choice": accept("p/a.md")},
        )
    assert "b.md" in household.files()


# -- others at the same time -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "step", [Step.STAGE_WRITTEN, Step.STAGE_SYNCED, Step.MOVE_FOLDERS_MADE, Step.MOVE_DURABLE, Step.STAGE_PUT]
)
def test_what_a_stranger_saves_meanwhile_is_kept_and_its_links_follow(inline: Household, step: Step) -> None:
    _furnish(inline)
    inline.write("d.md", "[[a]]")
    stranger = "a stranger's [[a]]"

    def save() -> None:
        for name in ("c.md", "d.md"):
            aside = inline.vault / f"{name}.aside"
            link = stranger if (inline.vault / "p/a.md").exists() else "no link"
            aside.write_text(link)
            os.replace(aside, inline.vault / name)

    late = Interruption(step, save)
    inline.service(observe=late).move(ALICE, inline.uri, "p/a", "p/b")
    assert late.happened
    files = inline.files()
    assert "p/b.md" in files
    for name in ("c.md", "d.md"):
        assert files[name] in (b"a stranger's [[b]]", b"no link"), files
    assert inline.temporaries() == []


def test_of_a_moved_note_that_is_gone_by_then_the_etag_of_what_was_moved_is_told(inline: Household) -> None:
    _furnish(inline)
    late = Interruption(Step.MOVE_DURABLE, lambda: os.remove(inline.vault / "b.md"))
    told = inline.service(observe=late).move(ALICE, inline.uri, "p/a", "b").document()
    assert late.happened
    assert told["etag"] == etag(A)
    assert inline.files().keys() == {"c.md", "log.md"}


@pytest.mark.parametrize("forever", [False, True])
def test_notes_that_are_saved_at_every_attempt_keep_no_note_from_being_moved(
    inline: Household, monkeypatch: pytest.MonkeyPatch, forever: bool
) -> None:
    """Each attempt finds another one of them changed since it was computed; their links follow all the same."""
    _furnish(inline)
    names = [f"busy{number}.md" for number in range(3)]
    for name in names:
        inline.write(name, "[[a]] 0")
    saves = itertools.count(1)
    real = move_plans.Text.change

    def change(self: move_plans.Text, root: Root) -> Change:
        if str(self.before) in names and (forever or next(saves) < 4):
            number = next(saves)
            inline.write(str(self.before), f"[[a]] {number}")
        return real(self, root)

    monkeypatch.setattr(move_plans.Text, "change", change)
    told = inline.service().move(ALICE, inline.uri, "p/a", "p/b").document()
    files = inline.files()
    assert "p/b.md" in files
    for name in names:
        assert files[name].startswith(b"[[b]] "), files
        assert files[name] != b"[[b]] 0" or not forever
    assert sorted(note["path"] for note in told["updated"]) == [*names, "c.md"]
    assert told.get("leftAlone", []) == []
    assert inline.temporaries() == []


def keep_saving(inline: Household, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Have notes be saved whenever a move is about to write their texts beside them."""
    real, saves = move_plans.Text.change, itertools.count(1)

    def change(self: move_plans.Text, root: Root) -> Change:
        if str(self.before) in names:
            inline.write(str(self.before), f"[[a]] {next(saves)}")
        return real(self, root)

    monkeypatch.setattr(move_plans.Text, "change", change)


def test_a_kill_before_the_links_of_such_a_note_are_rewritten_leaves_it_to_the_next_change(
    inline: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    _furnish(inline)
    inline.write("busy.md", "[[a]] 0")
    keep_saving(inline, monkeypatch, "busy.md")

    class Killed(BaseException):
        """Stands for a kill."""

    def die(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(moving, "_again", die)
    with pytest.raises(Killed):
        inline.service().move(ALICE, inline.uri, "p/a", "p/z")
    assert inline.files()["busy.md"].startswith(b"[[a]] ")
    inline.service().append(ALICE, inline.uri, "log", "next")
    assert inline.files()["busy.md"].startswith(b"[[z]] ")
    assert inline.files()["c.md"] == C.replace(b"[[a", b"[[z")


def test_what_such_a_note_loses_is_told_too(inline: Household, monkeypatch: pytest.MonkeyPatch) -> None:
    _furnish(inline)
    inline.write("busy.md", "[[a]] 0")
    os.chmod(inline.vault / "busy.md", 0o2644)
    keep_saving(inline, monkeypatch, "busy.md")
    told = inline.service().move(ALICE, inline.uri, "p/a", "p/z").document()
    assert told["notKept"] == ["special mode bits"]
    assert stat.S_IMODE(os.stat(inline.vault / "busy.md").st_mode) == 0o644


def test_a_moved_note_that_is_saved_at_every_attempt_is_what_the_refusal_names(
    inline: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    _furnish(inline)
    real = move_plans.Text.change
    saves = itertools.count(1)

    def change(self: move_plans.Text, root: Root) -> Change:
        if str(self.before) == "p/a.md":
            inline.write("p/a.md", f"{A.decode()} {next(saves)}")
        return real(self, root)

    monkeypatch.setattr(move_plans.Text, "change", change)
    with pytest.raises(NoteChanged) as caught:
        inline.service().move(ALICE, inline.uri, "p/a", "b")
    assert caught.value.path == "p/a.md"
    assert inline.files().keys() == {"p/a.md", "c.md", "log.md"}
    assert inline.files()["c.md"] == C
    assert inline.temporaries() == []


@pytest.mark.parametrize("text", ["[[n]] [l](x/n.md)\nsaved", "saved without a link", None])
def test_what_is_left_alone_in_a_note_is_told_once_however_often_it_is_computed(
    inline: Household, text: str | None
) -> None:
    inline.write("x/n.md", "")
    inline.write("y/n.md", "")
    inline.write("t.md", "[[n]] [l](x/n.md)\n")

    def save() -> None:
        if text is None:
            os.remove(inline.vault / "t.md")
        else:
            inline.write("t.md", text)

    late = Interruption(Step.STAGE_SYNCED, save)
    told = inline.service(observe=late).move(ALICE, inline.uri, "x/n", "a/m").document()
    assert late.happened
    left = [(each["path"], each["line"]) for each in told.get("leftAlone", [])]
    assert left == ([("t.md", 1)] if text is not None and "[[" in text else [])


def test_a_note_that_is_saved_in_the_instant_of_its_move_is_moved_with_that_text(inline: Household) -> None:
    _furnish(inline)

    def save() -> None:
        aside = inline.vault / "aside"
        aside.write_bytes(b"later [up](../c.md)")
        os.replace(aside, inline.vault / "p/a.md")

    late = Interruption(Step.MOVE_FOLDERS_MADE, save)
    inline.service(observe=late).move(ALICE, inline.uri, "p/a", "b")
    assert inline.files() == {
        "b.md": b"later [up](c.md)",
        "c.md": C.replace(b"[[a", b"[[b"),
        "log.md": b"log\n",
    }


@pytest.mark.parametrize("step", [Step.MOVE_MOVED, Step.MOVE_DURABLE])
@pytest.mark.parametrize("text", [b"no link", b"[up](../c.md) and more", b"\xff [up](../c.md)"])
def test_the_etag_that_is_told_is_that_of_the_text_that_stands_there(
    inline: Household, step: Step, text: bytes
) -> None:
    _furnish(inline)

    def save() -> None:
        aside = inline.vault / "aside"
        aside.write_bytes(text)
        os.replace(aside, inline.vault / "b.md")

    late = Interruption(step, save)
    told = inline.service(observe=late).move(ALICE, inline.uri, "p/a", "b")
    assert late.happened
    stands = inline.files()["b.md"]
    assert stands == (text if b"no" in text or b"\xff" in text else b"[up](c.md) and more")
    assert told.document()["etag"] == etag(stands)
    (line,) = inline.audit()
    assert line["etagAfter"] == etag(stands)


def test_a_name_that_is_taken_meanwhile_is_not_moved_over(inline: Household) -> None:
    _furnish(inline)
    late = Interruption(Step.STAGE_SYNCED, lambda: inline.write("b.md", "mine"))
    with pytest.raises(NoteExists):
        inline.service(observe=late).move(ALICE, inline.uri, "p/a", "b")
    assert inline.files() == {"p/a.md": A, "c.md": C, "b.md": b"mine", "log.md": b"log\n"}
    assert inline.temporaries() == []
    assert list(inline.top.rglob("move.json")) == []


def test_of_two_moves_of_one_note_one_wins_and_links_lead_there(household: Household) -> None:
    _furnish(household)
    services = [household.service(), household.service()]
    outcomes: list[str] = []

    def act(number: int) -> None:
        try:
            services[number].move(ALICE, household.uri, "p/a", f"won-{number}")
            outcomes.append(f"won-{number}")
        except FsnotesError as error:
            outcomes.append(type(error).__name__)

    threads = [threading.Thread(target=act, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winner = next(outcome for outcome in outcomes if outcome.startswith("won"))
    assert sorted(outcomes)[0] in ("NoteNotFound", "NoteChanged", "Busy")
    assert household.files()["c.md"] == C.replace(b"[[a", f"[[{winner}".encode())
    assert f"{winner}.md" in household.files()


class _Between:
    """A runner that lets something happen each time a move has been surveyed."""

    def __init__(self, runner: Runner, act: Callable[[], object]) -> None:
        self._runner, self._act = runner, act
        self.surveys = 0

    def run(self, grant: Grant, command: Command[Any], **more: Any) -> Any:
        if isinstance(command, SurveyMove) and command.after is None:
            self.surveys += 1
        if isinstance(command, MoveNotes):
            self._act()
        return self._runner.run(grant, command, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runner, name)


def test_two_moves_at_the_same_time_keep_the_links_between_what_they_move(household: Household) -> None:
    household.write("a.md", "[b](b.md) [[b]]")
    household.write("b.md", "[a](a.md) [[a]]")
    other, service = household.service(), household.service()
    acts = iter([lambda: other.move(ALICE, household.uri, "a", "x/c")])
    between = _Between(service._runner, lambda: next(acts, lambda: None)())
    service._runner = between
    told = service.move(ALICE, household.uri, "b", "y/d").document()
    assert household.files() == {"x/c.md": b"[b](../y/d.md) [[d]]", "y/d.md": b"[a](../x/c.md) [[c]]"}
    assert [note["path"] for note in told["updated"]] == ["y/d.md", "x/c.md"]
    assert between.surveys == 2


def test_files_that_never_cease_to_come_do_not_keep_a_move_from_being_made(household: Household) -> None:
    _furnish(household)
    service, numbers = household.service(), itertools.count()
    between = _Between(service._runner, lambda: household.write(f"new/{next(numbers)}.md", "[[a]]"))
    service._runner = between
    service.move(ALICE, household.uri, "p/a", "b")
    assert between.surveys == moves.SURVEYS
    assert household.files()["c.md"] == C.replace(b"[[a", b"[[b")


@pytest.mark.parametrize("where", ["sandbox.staging.os.fsync", "sandbox.slots.os.write"])
def test_a_disk_that_fails_before_the_move_changes_nothing(
    inline: Household, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    _furnish(inline)
    service, before = inline.service(), inline.tree()

    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patched:
        patched.setattr(where, full)
        with pytest.raises(Unavailable):
            service.move(ALICE, inline.uri, "p/a", "b")
    assert inline.tree() == before
    assert list(inline.top.rglob("move.json*")) == []
    service.move(ALICE, inline.uri, "p/a", "b")
    assert inline.files()["c.md"] == C.replace(b"[[a", b"[[b")


@pytest.mark.parametrize("where", ["sandbox.moving.settle_folder", "sandbox.staging.sync_folder"])
def test_a_disk_that_fails_after_the_move_is_no_refusal_and_the_move_is_finished(
    inline: Household, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    _furnish(inline)
    service = inline.service()

    def broken(*_: object) -> None:
        raise StorageFailed(errno.EIO, "x")

    with monkeypatch.context() as patched:
        patched.setattr(where, broken)
        with pytest.raises(OutcomeUnknown):
            service.move(ALICE, inline.uri, "p/a", "b")
    assert [line["outcome"] for line in inline.audit()] == ["outcome_unknown"]
    service.append(ALICE, inline.uri, "log", "more")
    files = inline.files()
    assert files["b.md"] == A.replace(b"../c", b"c")
    assert files["c.md"] == C.replace(b"[[a", b"[[b")
    assert inline.temporaries() == []
    assert list(inline.top.rglob("move.json")) == []


def test_a_sweep_finishes_a_move_however_many_steps_that_takes(
    inline: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    _furnish(inline)
    for number in range(5):
        inline.write(f"n/{number}.md", "[[a]]")
    product = inline.product()

    def broken(*_: object) -> None:
        raise StorageFailed(errno.EIO, "x")

    monkeypatch.setattr(journal, "LEAST_FINISHED", 1)
    monkeypatch.setattr(journal, "FINISH_SECONDS", -1.0)
    with monkeypatch.context() as patched:
        patched.setattr("sandbox.moving.settle_folder", broken)
        with pytest.raises(OutcomeUnknown):
            product.service.move(ALICE, inline.uri, "p/a", "b")
    assert len(list(inline.top.rglob("move.json"))) == 1
    assert product.sweep() == 0
    assert list(inline.top.rglob("move.json")) == []
    assert {inline.files()[f"n/{number}.md"] for number in range(5)} == {b"[[b]]"}


def test_a_call_that_only_finished_an_interrupted_move_says_so(
    inline: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    _furnish(inline)
    for number in range(5):
        inline.write(f"n/{number}.md", "[[a]]")
    service = inline.service()

    def broken(*_: object) -> None:
        raise StorageFailed(errno.EIO, "x")

    monkeypatch.setattr(journal, "LEAST_FINISHED", 1)
    monkeypatch.setattr(journal, "FINISH_SECONDS", -1.0)
    with monkeypatch.context() as patched:
        patched.setattr("sandbox.moving.settle_folder", broken)
        with pytest.raises(OutcomeUnknown):
            service.move(ALICE, inline.uri, "p/a", "b")
    before = inline.files()
    with monkeypatch.context() as patched:
        patched.setattr(counting, "MAX_COUNTING", 1)
        with pytest.raises(NotCounted) as refused:
            service.append(ALICE, inline.uri, "log", "more")
    assert inline.files() != before
    assert inline.files()["log.md"] == b"log\n"
    line = describe(refused.value).line
    assert "a move that was interrupted" in line
    assert "nothing was done" not in line
    service.append(ALICE, inline.uri, "log", "more")
    assert inline.files()["log.md"] == b"log\nmore\n"


def test_a_folder_whose_move_was_not_made_durable_is_no_refusal_either(
    inline: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    inline.write("p/none.md", "no link")
    service = inline.service()

    def broken(*_: object) -> None:
        raise StorageFailed(errno.EIO, "x")

    with monkeypatch.context() as patched:
        patched.setattr("sandbox.moving.settle_folder", broken)
        with pytest.raises(OutcomeUnknown):
            service.move(ALICE, inline.uri, "p", "q")
    assert inline.files() == {"q/none.md": b"no link"}


@pytest.mark.parametrize(("path", "new"), [("p", "q"), ("p", "q/deep"), ("p/a", "b"), ("p/a", "q/b")])
@pytest.mark.parametrize("failure", [StorageFailed(errno.EIO, "x"), RuntimeError("x")])
@pytest.mark.parametrize(
    "step",
    [
        Step.STAGE_SYNCED,
        Step.MOVE_FOLDERS_MADE,
        Step.MOVE_MOVED,
        Step.MOVE_VERIFIED,
        Step.MOVE_DURABLE,
        Step.REPLACE_LOOKED,
        Step.STAGE_PUT,
    ],
)
def test_whatever_fails_in_a_move_no_text_is_left_beside_a_note(
    inline: Household, path: str, new: str, failure: Exception, step: Step
) -> None:
    _furnish(inline)
    inline.write("p/sub/s.md", "[[p/a]] [up](../../c.md)")
    inline.write("d.md", "[x](p/a.md)")

    def fail() -> None:
        raise failure

    late = Interruption(step, fail)
    with contextlib.suppress(FsnotesError, RuntimeError):
        inline.service(observe=late).move(ALICE, inline.uri, path, new)
    assert late.happened
    assert inline.temporaries() == []
    inline.service().append(ALICE, inline.uri, "log", "more")
    assert list(inline.top.rglob("move.json")) == []
    is_there = (inline.vault / "p/a.md").exists()
    assert (inline.files()["d.md"] == b"[x](p/a.md)") == is_there


def test_a_text_whose_note_went_away_does_not_wait_any_more(inline: Household) -> None:
    _furnish(inline)
    late = Interruption(Step.MOVE_DURABLE, lambda: shutil.rmtree(inline.vault / "q"))
    inline.service(observe=late).move(ALICE, inline.uri, "p/a", "q/b")
    assert late.happened
    assert inline.temporaries() == []
    assert inline.files() == {"c.md": C.replace(b"[[a", b"[[b"), "log.md": b"log\n"}


def test_a_note_that_may_not_be_written_is_told_of_and_blocks_no_move(
    inline: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    _furnish(inline)
    inline.write("shared/s.md", "[[a]]")
    real = staging.write_beside

    def write(tree: Beneath, folder: int, path: RelPath, *rest: Any, **more: Any) -> Any:
        if path.parent.name == "shared":
            raise StorageFailed(errno.EACCES, "x")
        return real(tree, folder, path, *rest, **more)

    monkeypatch.setattr(staging, "write_beside", write)
    told = inline.service().move(ALICE, inline.uri, "p/a", "p/b").document()
    assert told["leftAlone"] == [{"path": "shared/s.md", "reason": "the note could not be written"}]
    assert [note["path"] for note in told["updated"]] == ["c.md"]
    assert inline.files()["shared/s.md"] == b"[[a]]"
    assert inline.files()["c.md"] == C.replace(b"[[a", b"[[b")
    assert list(inline.top.rglob("move.json")) == []


@pytest.mark.parametrize("step", [Step.REPLACE_TEMPORARY, Step.STAGE_SYNCED, Step.MOVE_DURABLE])
def test_a_note_that_is_removed_meanwhile_stays_away_and_blocks_no_move(
    inline: Household, step: Step
) -> None:
    _furnish(inline)
    for name in ("d", "e"):
        inline.write(f"sub/{name}.md", "[[a]]")
    late = Interruption(step, lambda: shutil.rmtree(inline.vault / "sub"))
    inline.service(observe=late).move(ALICE, inline.uri, "p/a", "b")
    assert inline.files() == {
        "b.md": A.replace(b"../c", b"c"),
        "c.md": C.replace(b"[[a", b"[[b"),
        "log.md": b"log\n",
    }
    assert list(inline.top.rglob("move.json")) == []


def test_a_workspace_keeps_moving_after_a_refusal(household: Household) -> None:
    _furnish(household)
    service, uri = household.service(), household.uri
    for new in ("c", "p/a", "bad?", ".hidden"):
        with pytest.raises(FsnotesError):
            service.move(ALICE, uri, "p/a", new)
    service.move(ALICE, uri, "p/a", "b")
    service.append(ALICE, uri, "log", "more")
    assert household.files()["b.md"] == A.replace(b"../c", b"c")


@pytest.mark.parametrize("path", ["./x", "x//y", "/x", "../x", "x/../y", ""])
@pytest.mark.parametrize("caller", ["owner", "writer"])
def test_what_is_no_path_is_refused_as_that_and_not_for_a_right(
    household: Household, path: str, caller: str
) -> None:
    household.write("x.md", "text")
    household.grant(BOB, Right.WRITE)
    household.grant(BOB, Right.READ, folder="mine")
    before = household.files()
    with pytest.raises((InvalidArgument, PathRefused)):
        household.service().move(ALICE if caller == "owner" else BOB, household.uri, path, "mine/y")
    assert household.files() == before


@pytest.mark.parametrize(
    ("path", "new"), [("private/f/", "mine/f"), ("private/f", "mine/f/"), ("private/f/", "mine/f/")]
)
def test_a_folder_that_is_named_as_one_is_moved_to_where_it_can_be_read_by_nobody_who_may_not_read_it(
    household: Household, path: str, new: str
) -> None:
    household.write("private/f/x.md", "SECRET")
    household.grant(BOB, Right.WRITE)
    household.grant(BOB, Right.READ, folder="mine")
    before = household.files()
    with pytest.raises(NotAllowed):
        household.service().move(BOB, household.uri, path, new)
    assert household.files() == before
    household.service().move(BOB, household.uri, path, new.replace("mine", "elsewhere"))
    assert household.files()["elsewhere/f/x.md"] == b"SECRET"


LONG_NAMES = {
    "that grow when their case is folded": "\u0149" * 100,
    "that grow to three characters": "\u0390" * 50,
    "that grow and are composed": "\u1fb7" * 60,
    "without room for a suffix": "a" * 253,
    "as long as they can be": "a" * 255,
}


@pytest.mark.parametrize("name", LONG_NAMES.values(), ids=LONG_NAMES)
@pytest.mark.parametrize("folder", ["Mine", "mine", "M\u0130ne"])
@pytest.mark.parametrize("path", ["private/f", "private/f/", "private/f/x"])
def test_no_name_is_a_way_to_read_what_may_not_be_read(
    household: Household, path: str, folder: str, name: str
) -> None:
    household.write("private/f/x.md", "SECRET")
    household.write(f"{folder}/m.md", "text")
    household.grant(BOB, Right.WRITE)
    household.grant(BOB, Right.READ, folder=folder)
    before = household.files()
    service = household.service()
    for new in (
        f"{folder}/{name}",
        f"{folder}/sub/{name}",
        *([f"{folder}/{name}/"] if path != "private/f/x" else []),
    ):
        with pytest.raises((NotAllowed, InvalidArgument)):
            service.move(BOB, household.uri, path, new)
    assert household.files() == before
