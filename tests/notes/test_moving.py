"""A note or a folder moves with its links: every link still means what it meant, and nothing else changes."""

from __future__ import annotations

import itertools
import os
import stat
import unicodedata
from typing import Any

import pytest

from fsnotes.errors import (
    AmbiguousNote,
    InvalidArgument,
    NoRoom,
    NotAllowed,
    NotCounted,
    NoteChanged,
    NoteExists,
    NoteNotFound,
    PathRefused,
    TooMuchToRelink,
)
from fsnotes.failures import describe
from fsnotes.notes import atlas, charts, courses, moving, surveying
from fsnotes.notes.catalogue import Catalogue
from fsnotes.notes.commands import FindLinks, LeftAlone, MoveNotes, Relinked, SurveyMove
from fsnotes.notes.courses import Course
from fsnotes.notes.etags import etag
from fsnotes.notes.handlers import handle
from fsnotes.notes.move_replies import Unseen
from fsnotes.notes.scope import Scope
from sandbox.names import ROOT, RelPath
from sandbox.policy import Links, Policy, Quota
from sandbox.root import Content, Root
from tests.notes.conftest import Vault
from tests.notes.movers import move, surveyed

P = RelPath.parse
BOM = b"\xef\xbb\xbf"


def _texts(vault: Vault) -> dict[str, object]:
    return {path: what for path, what in vault.snapshot().items() if what != "folder"}


# -- a note --------------------------------------------------------------------------------------


def test_a_note_moves_and_every_link_to_it_follows(vault: Vault) -> None:
    vault.build(
        "a/b.md: # B\n\n[[c]] [up](../c.md)\n",
        "c.md: [[b]] ![[b#x|y]] [z](a/b.md) `[[b]]`\n",
        "d/e.md: none\n",
    )
    moved = move(vault.run, "a/b", "x/y/new")
    assert vault.snapshot() == {
        "a": "folder", "d": "folder", "x": "folder", "x/y": "folder",
        "x/y/new.md": b"# B\n\n[[c]] [up](../../c.md)\n",
        "c.md": b"[[new]] ![[new#x|y]] [z](x/y/new.md) `[[b]]`\n",
        "d/e.md": b"none\n",
    }  # fmt: skip
    assert (moved.path, moved.new_path, moved.moved) == ("a/b.md", "x/y/new.md", 1)
    assert moved.former == etag(b"# B\n\n[[c]] [up](../c.md)\n")
    assert moved.etag == etag(b"# B\n\n[[c]] [up](../../c.md)\n")
    assert set(moved.relinked) == {
        Relinked("x/y/new.md", str(moved.etag), 1),
        Relinked("c.md", etag(b"[[new]] ![[new#x|y]] [z](x/y/new.md) `[[b]]`\n"), 3),
    }
    assert (moved.relinked_count, moved.rewritten, moved.left_alone, moved.not_kept) == (2, 4, (), ())


def test_a_dry_run_tells_the_same_and_changes_nothing(vault: Vault) -> None:
    vault.build("a/b.md: [x](c.md)", "a/c.md: [[b]] [[twin]]", "x/twin.md: ", "y/twin.md: ")
    before = vault.disk.snapshot()
    told = move(vault.run, "a/b", "x/b", dry_run=True)
    assert vault.disk.snapshot() == before
    assert told == move(vault.run, "a/b", "x/b")
    assert vault.disk.snapshot() != before


def test_without_updating_links_one_name_changes_and_nothing_else(vault: Vault) -> None:
    vault.build("a.md: [x](c.md)", "c.md: [[a]]")
    moved = move(vault.run, "a", "x/b", update_links=False)
    assert _texts(vault) == {"x/b.md": b"[x](c.md)", "c.md": b"[[a]]"}
    assert (moved.relinked, moved.relinked_count, moved.former) == ((), 0, moved.etag)


@pytest.mark.parametrize(
    "text", [BOM + b"[[a]]\r\n", b"---\r\nup: '[[a]]'\r\n---\r\n[[a]]", b"[[a]]\r[[a|\xc3\xa9]]\n"]
)
def test_all_other_bytes_of_a_note_whose_links_change_stay(vault: Vault, text: bytes) -> None:
    vault.build("a.md: a")
    vault.write("note.md", text)
    move(vault.run, "a", "b c")
    assert vault.disk.read("root/note.md") == text.replace(b"[[a", b"[[b c")


def test_modes_stay(vault: Vault) -> None:
    vault.build("a.md: [x](c.md)", "c.md: [[a]]")
    os.chmod(vault.disk.path("root/a.md"), 0o640)
    os.chmod(vault.disk.path("root/c.md"), 0o604)
    move(vault.run, "a", "x/b")
    modes = {
        path: stat.S_IMODE(os.stat(vault.disk.path(f"root/{path}")).st_mode) for path in ("x/b.md", "c.md")
    }
    assert modes == {"x/b.md": 0o640, "c.md": 0o604}


def test_a_note_that_no_link_leads_to_keeps_its_time(vault: Vault) -> None:
    vault.build("a.md: a", "c.md: [[c]] a.md")
    times = {path: os.stat(vault.disk.path(f"root/{path}")).st_mtime_ns for path in ("a.md", "c.md")}
    move(vault.run, "a", "b")
    assert os.stat(vault.disk.path("root/b.md")).st_mtime_ns == times["a.md"]
    assert os.stat(vault.disk.path("root/c.md")).st_mtime_ns == times["c.md"]


def test_there_and_back_gives_the_same_vault(vault: Vault) -> None:
    vault.build("a/b.md: [x](../c.md) [[c]]", "c.md: [[b]] [[a/b|x]] [y](a/b.md#h)", "d.md: ![[b]]")
    before = vault.snapshot()
    move(vault.run, "a/b", "a/z")
    assert vault.snapshot() != before
    move(vault.run, "a/z", "a/b")
    assert vault.snapshot() == before


def test_one_undecodable_note_blocks_no_move_and_is_told_of(vault: Vault) -> None:
    vault.build("a.md: a", "c.md: [[a]]")
    vault.write("broken.md", b"[[a]] \xff")
    moved = move(vault.run, "a", "b")
    assert _texts(vault) == {"b.md": b"a", "c.md": b"[[b]]", "broken.md": b"[[a]] \xff"}
    assert moved.left_alone == (LeftAlone("broken.md", 0, "", "the note is not UTF-8 text"),)


def test_an_undecodable_note_moves_itself(vault: Vault) -> None:
    vault.write("broken.md", b"\xff\x00")
    vault.build("c.md: [[broken]]")
    moved = move(vault.run, "broken", "x/whole")
    assert _texts(vault) == {"x/whole.md": b"\xff\x00", "c.md": b"[[whole]]"}
    assert moved.former == moved.etag == etag(b"\xff\x00")


def test_a_note_that_is_protected_from_writing_moves_and_is_not_rewritten(vault: Vault) -> None:
    vault.build("a.md: a", "b.md: [[a]]", "c.md: [[a]]", "d.md: [[b]]")
    for path in ("a.md", "b.md"):
        os.chmod(vault.disk.path(f"root/{path}"), 0o444)
    moved = move(vault.run, "a", "new")
    assert _texts(vault) == {"new.md": b"a", "b.md": b"[[a]]", "c.md": b"[[new]]", "d.md": b"[[b]]"}
    assert moved.left_alone == (LeftAlone("b.md", 0, "", "the note is protected from writing"),)


def test_ambiguous_links_are_told_of_and_not_guessed(vault: Vault) -> None:
    vault.build("a/twin.md: 1", "b/twin.md: 2", "c.md: x\n[[twin]]\n[[a/twin]]")
    moved = move(vault.run, "a/twin", "a/other")
    assert vault.disk.read("root/c.md") == b"x\n[[twin]]\n[[a/other]]"
    assert moved.left_alone == (LeftAlone("c.md", 2, "[[twin]]", "several files answer to it"),)


def test_notes_that_the_policy_keeps_out_are_not_touched(vault: Vault) -> None:
    vault.build("a.md: a", "outside.md: [[a]]")
    vault.disk.build("secret.md: [[a]]")
    os.link(vault.disk.path("secret.md"), vault.disk.path("root/hard.md"))
    os.symlink("../secret.md", vault.disk.path("root/link.md"))
    vault.build(".hidden/h.md: [[a]]", "pipe.md | fifo")
    move(vault.run, "a", "b")
    assert vault.disk.read("secret.md") == b"[[a]]"
    assert vault.disk.read("root/.hidden/h.md") == b"[[a]]"
    assert vault.disk.read("root/outside.md") == b"[[b]]"


def test_notes_that_the_policy_keeps_out_are_counted_by_reason_within_the_grant(vault: Vault) -> None:
    vault.build("g/a.md: a", "g/n.md: [[a]]", "g/hard.md: [[a]]", "g/Archive/old.md: [[a]]", "hard.md: [[a]]")
    vault.write("g/large.md", b"[[a]]" + b" " * 3_000)
    vault.write("g/sub/larger.md", b" " * 3_000)
    for path in ("g/hard.md", "hard.md"):
        os.link(vault.disk.path(f"root/{path}"), vault.disk.path(path.replace("/", "-")))
    vault.reopen(Policy(max_file_bytes=2_000))
    found = vault.run(SurveyMove("g/a", "g/b"), folders=("g",), ignore=("g/Archive/**",))
    assert sorted(found.unseen, key=str) == [Unseen("hard_link", 1), Unseen("too_large", 2)]
    assert found.notes == ("g/n.md",)
    assert vault.run(SurveyMove("g/a", "g/b"), folders=("",)).unseen != found.unseen


# -- where to ------------------------------------------------------------------------------------


@pytest.mark.parametrize("new", ["c", "c.md", "a", "a.md", "d/e", "c.MD/x"])
def test_nothing_is_moved_over_a_note(vault: Vault, new: str) -> None:
    vault.build("a.md: [[c]]", "c.md: [[a]]", "c.MD: folder or file", "d/e.md: e")
    before = vault.disk.snapshot()
    for dry in (True, False):
        with pytest.raises(NoteExists):
            vault.run(MoveNotes("a", new, dry_run=dry))
    with pytest.raises(NoteExists):
        vault.run(SurveyMove("a", new))
    assert vault.disk.snapshot() == before


def test_nothing_is_moved_over_a_name_in_another_unicode_form(vault: Vault) -> None:
    vault.build("a.md: a", "caf\u00e9.md: e")
    with pytest.raises(NoteExists):
        move(vault.run, "a", "cafe\u0301")
    assert _texts(vault) == {"a.md": b"a", "caf\u00e9.md": b"e"}


@pytest.mark.parametrize(
    "new", ["b?", "x:y", " b", "con", "b\u200b", "b./c", ".b", "x/.b/c", "../b", "/b", "a//b", "b\\c", ""]
)
def test_the_new_name_must_be_acceptable(vault: Vault, new: str) -> None:
    vault.build("a.md: a", "c.md: [[a]]")
    before = vault.disk.snapshot()
    with pytest.raises((InvalidArgument, NotAllowed)):
        vault.run(MoveNotes("a", new))
    assert vault.disk.snapshot() == before


@pytest.mark.parametrize(
    ("path", "what"), [("gone", NoteNotFound), (".hidden/x", NotAllowed), ("c.txt", NoteNotFound)]
)
def test_what_is_no_note_is_not_moved(vault: Vault, path: str, what: type[Exception]) -> None:
    vault.build("a.md: a", ".hidden/x.md: x", "c.txt: c")
    before = vault.disk.snapshot()
    with pytest.raises(what):
        vault.run(MoveNotes(path, "b"))
    assert vault.disk.snapshot() == before


def test_a_link_is_not_moved(vault: Vault) -> None:
    vault.build("a.md: a", "link.md => a.md", "folder/x.md: x", "away => folder")
    before = vault.disk.snapshot()
    for path in ("link", "away", "away/x"):
        with pytest.raises((NotAllowed, NoteNotFound)):
            vault.run(MoveNotes(path, "b"))
    assert vault.disk.snapshot() == before


def test_case_alone_can_change(vault: Vault) -> None:
    vault.build("note.md: n", "c.md: [[note]] [[NOTE]] [x](note.md)")
    move(vault.run, "note", "Note")
    assert _texts(vault) == {"Note.md": b"n", "c.md": b"[[Note]] [[NOTE]] [x](Note.md)"}


def test_the_unicode_form_alone_can_change(vault: Vault) -> None:
    vault.build("cafe\u0301.md: n", "c.md: [[caf\u00e9]]")
    moved = move(vault.run, "caf\u00e9", "caf\u00e9")
    assert _texts(vault) == {"caf\u00e9.md": b"n", "c.md": "[[caf\u00e9]]".encode()}
    assert moved.path == "cafe\u0301.md"


def test_the_etag_must_be_the_one_that_was_named(vault: Vault) -> None:
    vault.build("a.md: a", "c.md: [[a]]")
    before = vault.disk.snapshot()
    for dry in (True, False):
        with pytest.raises(NoteChanged) as refused:
            move(vault.run, "a", "b", if_match=etag(b"other"), dry_run=dry)
        assert refused.value.etag == etag(b"a")
    assert vault.disk.snapshot() == before
    move(vault.run, "a", "b", if_match=etag(b"a"))
    assert vault.disk.exists("root/b.md")


# -- folders --------------------------------------------------------------------------------------


def test_a_folder_moves_with_all_in_it_and_links_follow(vault: Vault) -> None:
    vault.build(
        "old/a.md: [[b]] [up](../top.md) ![](pic.png)", "old/deep/b.md: [a](../a.md) [[old/a]]", "old/pic.png: png",
        "old/.obsidian/x: x", "top.md: [[old/a]] [[b]] [x](old/deep/b.md) ![[old/pic.png]]",
    )  # fmt: skip
    moved = move(vault.run, "old", "into/new")
    assert _texts(vault) == {
        "into/new/a.md": b"[[b]] [up](../../top.md) ![](pic.png)",
        "into/new/deep/b.md": b"[a](../a.md) [[into/new/a]]",
        "into/new/pic.png": b"png",
        "into/new/.obsidian/x": b"x",
        "top.md": b"[[into/new/a]] [[b]] [x](into/new/deep/b.md) ![[into/new/pic.png]]",
    }
    assert (moved.path, moved.new_path, moved.former, moved.etag, moved.moved) == (
        "old",
        "into/new",
        None,
        None,
        2,
    )
    assert {each.path for each in moved.relinked} == {"into/new/a.md", "into/new/deep/b.md", "top.md"}


def test_a_folder_goes_there_and_back(vault: Vault) -> None:
    vault.build("old/a.md: [x](../top.md) [[b]]", "old/b.md: [[old/a]]", "top.md: [[old/a]] [x](old/b.md)")
    before = vault.snapshot()
    move(vault.run, "old", "new")
    move(vault.run, "new", "old")
    assert vault.snapshot() == before


def test_case_of_a_folder_can_change(vault: Vault) -> None:
    vault.build("old/a.md: a", "top.md: [[old/a]] [x](old/a.md)")
    move(vault.run, "old", "Old")
    assert _texts(vault) == {"Old/a.md": b"a", "top.md": b"[[Old/a]] [x](Old/a.md)"}


@pytest.mark.parametrize(
    ("twin", "new"),
    [("sub", "SUB"), ("Stra\u00dfe", "Strasse"), ("caf\u00e9/x", "CAFE\u0301/x/y"), ("q/r/s", "Q")],
)
def test_a_folder_that_gets_the_name_of_another_in_other_letters_takes_no_links_of_it(
    vault: Vault, twin: str, new: str
) -> None:
    """Which of both a link from the folder means is a matter of letters, so it is written to be sure."""
    up = "../" * (twin.count("/") + 1)
    vault.build(
        "x.md: top", "old/x.md: old", "old/deep/y.md: y", f"{twin}/n.md: [t](x.md) [u]({up}x.md) [w](x)"
    )
    if new == "Q":
        vault.build("q/r/s/m.md: [t](../r/s/n.md) [y](../../x.md)")
    links = {path: _targets(vault, path) for path in (f"{twin}/n.md",)}
    told = move(vault.run, "old", unicodedata.normalize("NFC", new))
    assert {path: _targets(vault, path) for path in links} == links
    assert told.left_alone == ()


def test_what_moves_away_from_a_folder_of_the_same_name_in_other_letters_is_followed(vault: Vault) -> None:
    vault.build("sub/pic.png: ", "Sub/n.md: ![a](pic.png) [[pic.png]]", "other/pic.png: ")
    told = move(vault.run, "sub", "z z")
    assert vault.snapshot()["Sub/n.md"] == b"![a](../z%20z/pic.png) [[pic.png]]"
    assert [(each.line, each.link) for each in told.left_alone] == [(1, "[[pic.png]]")]


def test_an_ambiguous_link_is_told_of_when_the_folder_of_a_candidate_moves(vault: Vault) -> None:
    vault.build("q/twin.md: 1", "yy/twin.md: 2", "n.md: [[twin]] [[q/twin]]", "q/one.md: ", "m.md: [[one]]")
    told = move(vault.run, "q", "long/name")
    assert vault.snapshot()["n.md"] == b"[[twin]] [[long/name/twin]]"
    assert told.left_alone == (LeftAlone("n.md", 1, "[[twin]]", "several files answer to it"),)


def _targets(vault: Vault, path: str) -> list[tuple[str, ...]]:
    return [link.targets for link in vault.run(FindLinks(path)).links]


@pytest.mark.parametrize("new", ["old/x", "old/deep/x", "old"])
def test_no_folder_moves_into_itself(vault: Vault, new: str) -> None:
    vault.build("old/deep/a.md: a")
    before = vault.disk.snapshot()
    with pytest.raises((InvalidArgument, NoteExists)):
        vault.run(MoveNotes("old", new))
    assert vault.disk.snapshot() == before


@pytest.mark.parametrize("new", ["there", "there/a", "note.md", "new.md"])
def test_no_folder_moves_over_anything_or_gets_a_notes_name(vault: Vault, new: str) -> None:
    vault.build("old/a.md: a", "there/a/", "note.md: n")
    before = vault.disk.snapshot()
    with pytest.raises((InvalidArgument, NoteExists)):
        vault.run(MoveNotes("old", new))
    assert vault.disk.snapshot() == before


def test_what_could_be_a_note_or_a_folder_is_not_guessed(vault: Vault) -> None:
    vault.build("x.md: n", "x/a.md: a")
    before = vault.disk.snapshot()
    with pytest.raises(AmbiguousNote) as refused:
        vault.run(MoveNotes("x", "y"))
    assert refused.value.paths == ("x/", "x.md")
    assert vault.disk.snapshot() == before
    move(vault.run, "x.md", "y.md")
    assert _texts(vault) == {"y.md": b"n", "x/a.md": b"a"}
    move(vault.run, "x", "z")
    assert _texts(vault) == {"y.md": b"n", "z/a.md": b"a"}


def test_a_folder_with_a_note_of_its_name_beside_it_is_moved_by_its_own_name(vault: Vault) -> None:
    """In Obsidian that is how people keep a page for a folder."""
    vault.build("Projects.md: [[a]]", "Projects/a.md: [[Projects]] [x](a.md)", "b.md: [[Projects/a]]")
    move(vault.run, "Projects/", "Work")
    assert vault.disk.read("root/b.md") == b"[[Work/a]]"
    move(vault.run, "Work/", "Projects/")
    assert vault.disk.read("root/b.md") == b"[[Projects/a]]"
    move(vault.run, "Projects.md", "Plan.md")
    assert _texts(vault) == {
        "Plan.md": b"[[a]]",
        "Projects/a.md": b"[[Plan]] [x](a.md)",
        "b.md": b"[[Projects/a]]",
    }


@pytest.mark.parametrize(
    ("path", "new_path", "error"),
    [
        ("a/", "b", NoteNotFound),
        ("a.md/", "b", NoteNotFound),
        ("none/", "b", NoteNotFound),
        ("a", "b/", InvalidArgument),
        ("x", "y.md/", InvalidArgument),
        ("x//", "y", InvalidArgument),
        ("x/", "y//", InvalidArgument),
        ("/", "y", InvalidArgument),
    ],
)
def test_what_ends_as_a_folder_is_no_note(
    vault: Vault, path: str, new_path: str, error: type[Exception]
) -> None:
    vault.build("a.md: a", "x/n.md: n")
    before = vault.disk.snapshot()
    with pytest.raises(error):
        move(vault.run, path, new_path)
    assert vault.disk.snapshot() == before


@pytest.mark.parametrize("length", [252, 253, 255])
def test_a_folder_whose_name_leaves_no_room_for_a_suffix_is_moved_all_the_same(
    vault: Vault, length: int
) -> None:
    name = "x" * length
    vault.write("old/a.md", b"a")
    move(vault.run, "old", name)
    assert vault.disk.read(f"root/{name}/a.md") == b"a"
    move(vault.run, name, "new")
    move(vault.run, "new/", f"{name}/")
    move(vault.run, f"{name}/", "last")
    assert vault.disk.read("root/last/a.md") == b"a"


def test_links_to_a_name_that_begins_with_an_accent_are_found(vault: Vault) -> None:
    """The accent melts into what stands before it where the text is compared."""
    name = "\u0338n.md"
    vault.write(name, b"x")
    vault.write("t.md", f"[x](<{name}>) [[{name[:-3]}]]".encode())
    move(vault.run, name, "m.md")
    assert vault.disk.read("root/t.md") == b"[x](<m.md>) [[m]]"


def test_a_move_to_a_name_in_another_case_than_another_note_keeps_links_clear(vault: Vault) -> None:
    vault.build("a/n.md: x", "z.md: x", "t.md: [[n]]")
    move(vault.run, "z", "b/N")
    assert vault.disk.read("root/t.md") == b"[[a/n]]"


def test_an_etag_is_for_notes(vault: Vault) -> None:
    vault.build("old/a.md: a")
    with pytest.raises(InvalidArgument):
        vault.run(MoveNotes("old", "new", if_match=etag(b"a")))


def test_a_folder_of_paths_that_would_be_too_deep_stays(vault: Vault) -> None:
    vault.build("old/" + "d/" * 40 + "a.md: a")
    with pytest.raises(InvalidArgument):
        vault.run(MoveNotes("old", "n/" * 40 + "new"))
    assert vault.disk.exists("root/old/" + "d/" * 40 + "a.md")
    assert not vault.disk.exists("root/n")


# -- what is granted and what is ignored -----------------------------------------------------------


def test_links_outside_of_the_grant_are_counted_and_stay(vault: Vault) -> None:
    vault.build("mine/a.md: [x](b.md) [y](../other/o.md)", "mine/b.md: [[a]]", "other/o.md: [[a]] [[mine/a]]")

    def run(command: Any) -> Any:
        return vault.run(command, folders=("mine",))

    notes, outside = surveyed(run, "mine/a", "mine/sub/z")
    assert set(notes) == {"mine/a.md", "mine/b.md"}
    assert outside == 3
    moved = move(run, "mine/a", "mine/sub/z")
    assert _texts(vault) == {
        "mine/sub/z.md": b"[x](../b.md) [y](../other/o.md)",
        "mine/b.md": b"[[z]]",
        "other/o.md": b"[[a]] [[mine/a]]",
    }
    assert {each.path for each in moved.relinked} == {"mine/sub/z.md", "mine/b.md"}


@pytest.mark.parametrize(
    ("path", "new"), [("mine/a", "a"), ("other/o", "mine/o"), ("mine", "mine2"), ("other", "mine/o")]
)
def test_both_ends_must_be_granted(vault: Vault, path: str, new: str) -> None:
    vault.build("mine/a.md: a", "other/o.md: o")
    before = vault.disk.snapshot()
    for command in (SurveyMove(path, new), MoveNotes(path, new), MoveNotes(path, new, dry_run=True)):
        with pytest.raises(PathRefused):
            vault.run(command, folders=("mine",))
    assert vault.disk.snapshot() == before


def test_a_note_beyond_the_grant_is_not_rewritten_whoever_names_it(vault: Vault) -> None:
    vault.build("mine/a.md: a", "other/o.md: [[a]]")
    with pytest.raises(PathRefused):
        vault.run(MoveNotes("mine/a", "mine/b", ("other/o.md",)), folders=("mine",))
    assert _texts(vault) == {"mine/a.md": b"a", "other/o.md": b"[[a]]"}


def test_what_is_ignored_stays_ignored(vault: Vault) -> None:
    vault.build("work/secret/s.md: [[a]]", "work/a.md: a", "b.md: [[a]]")
    before = vault.disk.snapshot()
    for path, new in (("work", "play"), ("b", "work/secret/b"), ("work/secret/s", "s")):
        with pytest.raises((InvalidArgument, NotAllowed)):
            vault.run(MoveNotes(path, new), ignore=("work/secret/**",))
    assert vault.disk.snapshot() == before
    move(lambda command: vault.run(command, ignore=("**/secret/**",)), "work", "play")
    assert _texts(vault) == {"play/secret/s.md": b"[[a]]", "play/a.md": b"a", "b.md": b"[[a]]"}


def test_a_move_reads_the_moved_note_once_and_tells_files_from_others_once(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.build("p/a.md: [x](../c.md)", "c.md: [[a]]")
    notes, _ = surveyed(vault.run, "p/a", "b")
    read: list[str] = []
    digests: list[Catalogue] = []
    real, digest = Root.read, Catalogue.digest

    def reading(root: Root, path: RelPath) -> Content:
        read.append(str(path))
        return real(root, path)

    def digesting(catalogue: Catalogue) -> str:
        digests.append(catalogue)
        return digest(catalogue)

    monkeypatch.setattr(Root, "read", reading)
    monkeypatch.setattr(Catalogue, "digest", digesting)
    known = digest(vault.workspace.atlas.catalogue(Scope((ROOT,))))
    planned = vault.run(MoveNotes("p/a", "b", tuple(notes), dry_run=True, known=known))
    assert planned.rewritten == 2
    assert sorted(read) == ["c.md", "p/a.md"]
    assert len(digests) == 1


# -- surveys --------------------------------------------------------------------------------------


def test_a_survey_in_many_calls_finds_what_one_call_finds(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.build("a.md: a", *(f"f{number % 7}/n{number}.md: [[a]]" for number in range(60)), "g/none.md: x")
    everything, _ = surveyed(vault.run, "a", "b")
    assert len(everything) == 60
    monkeypatch.setattr(surveying, "CALL_SECONDS", -1.0)
    calls = 0

    def run(command: Any) -> Any:
        nonlocal calls
        calls += 1
        return vault.run(command)

    found, _ = surveyed(run, "a", "b")
    assert calls >= 60
    assert sorted(found) == sorted(everything)


def test_a_survey_goes_on_whatever_comes_and_goes_meanwhile(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.build("a.md: a", *(f"f{number % 7}/n{number}.md: [[a]]" for number in range(60)))
    monkeypatch.setattr(surveying, "CALL_SECONDS", -1.0)
    calls = 0

    def run(command: Any) -> Any:
        nonlocal calls
        calls += 1
        vault.build(f"g{calls}/new.md: x")
        return vault.run(command)

    found, _ = surveyed(run, "a", "b")
    assert set(found) == {f"f{number % 7}/n{number}.md" for number in range(60)}


def _interleaved(vault: Vault, moves: list[tuple[str, str]]) -> list[set[str]]:
    """Survey several moves at once, a call of each in turn; return what each finds."""
    found: list[set[str]] = [set() for _ in moves]
    after: dict[int, str | None] = dict.fromkeys(range(len(moves)))
    while after:
        for number, (path, new_path) in enumerate(moves):
            if number in after:
                part = vault.run(SurveyMove(path, new_path, after[number]))
                found[number] |= set(part.notes)
                after[number] = part.resume
                if part.resume is None:
                    del after[number]
    return found


def _made_charts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list in which every chart that is made from now on is written down."""
    made: list[str] = []

    class Counted(charts.Chart):
        def __init__(self, scope: Scope, course: Course, catalogue: Catalogue) -> None:
            made.append(str(course.source))
            super().__init__(scope, course, catalogue)

    monkeypatch.setattr(charts, "Chart", Counted)
    return made


def test_surveys_at_the_same_time_do_the_work_of_each_once(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcd":
        vault.build(f"{name}.md: x", *(f"f{number % 7}/{name}{number}.md: [[{name}]]" for number in range(5)))
    monkeypatch.setattr(surveying, "CALL_SECONDS", -1.0)
    made = _made_charts(monkeypatch)
    found = _interleaved(vault, [(name, f"new {name}") for name in "abcd"])
    assert found == [{f"f{number % 7}/{name}{number}.md" for number in range(5)} for name in "abcd"]
    assert sorted(made) == ["a.md", "b.md", "c.md", "d.md"]


def test_more_surveys_than_are_kept_find_the_same(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    names = "abcdefghij"
    vault.build(*(f"{name}.md: x" for name in names), *(f"to {name}.md: [[{name}]]" for name in names))
    monkeypatch.setattr(surveying, "CALL_SECONDS", -1.0)
    made = _made_charts(monkeypatch)
    assert _interleaved(vault, [(name, f"new {name}") for name in names]) == [
        {f"to {name}.md"} for name in names
    ]
    assert len(made) > len(names)


def test_so_many_charts_are_kept_and_no_more(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    scope, catalogue = Scope((ROOT,)), Catalogue([f"{number}.md" for number in range(10)])
    moves = [Course(P(f"{number}.md"), P(f"new {number}.md"), 0, is_folder=False) for number in range(10)]

    def kept(known: charts.Charts) -> list[int]:
        return [number for number, each in enumerate(moves) if known.last(scope, each) is not None]

    known = vault.workspace.charts
    for each in moves:
        known.get(scope, each, catalogue)
    assert kept(known) == list(range(10 - charts.MOST_CHARTS, 10))
    known.last(scope, moves[-charts.MOST_CHARTS])
    known.get(scope, moves[0], catalogue)
    assert kept(known) == [0, 10 - charts.MOST_CHARTS, *range(12 - charts.MOST_CHARTS, 10)]
    monkeypatch.setattr(charts, "MOST_NOTES", 25)
    known.get(scope, moves[1], catalogue)
    assert len(kept(known)) == 2
    monkeypatch.setattr(charts, "MOST_NOTES", 5)
    known.get(scope, moves[2], catalogue)
    assert kept(known) == [2]


def test_the_position_in_a_survey_tells_no_name(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    vault.build("mine/a.md: a", "other/secret.md: [[a]]", "other/secret2.md: [[a]]")
    monkeypatch.setattr(surveying, "CALL_SECONDS", -1.0)
    found = vault.run(SurveyMove("mine/a", "mine/b"), folders=("mine",))
    assert found.resume is not None
    assert set(found.resume) <= set("0123456789abcdef")
    with pytest.raises(InvalidArgument):
        vault.run(SurveyMove("mine/a", "mine/b", "other/secret.md"))


# -- room -----------------------------------------------------------------------------------------


def test_a_move_needs_room_for_what_links_grow_by_and_nothing_else(vault: Vault) -> None:
    vault.build("a.md: a", "c.md: [[a]]")
    vault.reopen(quota=Quota(max_bytes=10))
    before = vault.disk.snapshot()
    with pytest.raises(NoRoom):
        move(vault.run, "a", "a much longer name")
    assert vault.disk.snapshot() == before
    move(vault.run, "a", "b")
    assert _texts(vault) == {"b.md": b"a", "c.md": b"[[b]]"}


def test_a_note_that_would_grow_too_large_is_told_of_and_stays(vault: Vault) -> None:
    vault.reopen(Policy(max_file_bytes=10))
    vault.build("a.md: a", "c.md: [[a]]12345", "d.md: [[a]]")
    moved = move(vault.run, "a", "bbb")
    assert _texts(vault) == {"bbb.md": b"a", "c.md": b"[[a]]12345", "d.md": b"[[bbb]]"}
    assert moved.left_alone == (LeftAlone("c.md", 0, "", "the note would be too large"),)


def test_links_that_are_followed_lead_to_moved_notes_too(vault: Vault) -> None:
    if vault.disk.resolver == "walk":
        pytest.skip("links are followed by openat2 alone")
    vault.reopen(Policy(links=Links.WITHIN))
    vault.build("a.md: a", "c.md: [[a]] [[link]]", "link.md => a.md")
    move(vault.run, "a", "b")
    assert vault.disk.read("root/c.md") == b"[[b]] [[link]]"


# -- how much a move may be ------------------------------------------------------------------------


def test_a_note_that_may_hold_more_links_than_can_be_looked_at_is_refused_at_once(vault: Vault) -> None:
    vault.reopen(Policy(max_file_bytes=2 * 1024 * 1024))
    vault.build("t.md: t", "u.md: u", "p/n.md: n")
    vault.write("big.md", b"[[t]] " + b"[" * 1_300_000)
    before = vault.snapshot()
    for dry in (True, False):
        with pytest.raises(TooMuchToRelink) as refused:
            move(vault.run, "t", "x", dry_run=dry)
        assert describe(refused.value).line.startswith("too_many: ")
    with pytest.raises(TooMuchToRelink):
        move(vault.run, "big", "x")  # its own links may have to change
    assert vault.snapshot() == before
    move(vault.run, "u", "v")  # of which it does not speak
    move(vault.run, "t", "x", update_links=False)
    move(vault.run, "big", "y", update_links=False)
    assert _texts(vault).keys() == {"x.md", "v.md", "p/n.md", "y.md"}


def test_who_is_not_to_see_such_a_note_is_told_of_one_link_beyond_the_grant(vault: Vault) -> None:
    vault.reopen(Policy(max_file_bytes=2 * 1024 * 1024))
    vault.build("mine/t.md: t")
    vault.write("big.md", b"[[t]] " + b"[" * 1_300_000)
    assert surveyed(lambda command: vault.run(command, folders=("mine",)), "mine/t", "mine/x") == ([], 1)


@pytest.mark.parametrize("dry", [True, False])
@pytest.mark.parametrize("bound", ["MAX_WORK", "MAX_REWRITINGS"])
def test_more_links_than_one_move_may_rewrite_are_refused_before_anything_is_done(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, bound: str, dry: bool
) -> None:
    vault.build("t.md: t", *(f"n{number}.md: [[t]] [[t]]" for number in range(9)))
    found = vault.run(SurveyMove("t", "uu"))
    used = (
        found.work if bound == "MAX_WORK" else 9 * len('["n1.md","","",[[2,3,"uu"],[8,9,"uu"]]],') + 18 * 32
    )
    before = vault.disk.snapshot()
    with monkeypatch.context() as patched:
        patched.setattr(moving, bound, used // 2)
        with pytest.raises(TooMuchToRelink):
            vault.run(MoveNotes("t", "uu", found.notes, dry_run=dry))
        assert vault.disk.snapshot() == before
        vault.run(MoveNotes("t", "uu", found.notes[:3], dry_run=True))
    monkeypatch.setattr(moving, bound, used + 1_000)
    vault.run(MoveNotes("t", "uu", found.notes))
    assert vault.disk.read("root/n8.md") == b"[[uu]] [[uu]]"


def test_a_journal_that_takes_no_more_is_no_reason_to_begin(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.build("t.md: t", "n.md: [[t]]")
    found = vault.run(SurveyMove("t", "u"))
    before = _texts(vault)
    assert vault.workspace.journal is not None
    monkeypatch.setattr(vault.workspace.journal._slot, "_most", 20)
    with pytest.raises(TooMuchToRelink):
        vault.run(MoveNotes("t", "u", found.notes))
    assert _texts(vault) == before


def test_what_a_survey_says_of_the_work_grows_with_text_and_links(vault: Vault) -> None:
    few = "[[t]] " * 5
    vault.write("a/n.md", few.encode())
    vault.build("t.md: t", "none.md: none")

    def work() -> int:
        return vault.run(SurveyMove("t", "u")).work

    first = work()
    assert first > 0
    vault.write("a/n.md", few.encode() + b"text " * 2_000)
    longer = work()
    vault.write("a/n.md", few.encode() * 2_000)
    assert first < longer < work()
    vault.write("b/n.md", few.encode() * 2_000)
    assert work() > 2 * longer
    os.remove(vault.disk.path("root/a/n.md"))
    os.remove(vault.disk.path("root/b/n.md"))
    assert work() == 0


def test_a_survey_alone_takes_no_lock(vault: Vault) -> None:
    vault.build("a.md: a", "c.md: [[a]]")
    with vault.disk.open_root() as other, other.lock(timeout=5):
        assert surveyed(vault.run, "a", "b") == (["c.md"], 0)
        assert (
            handle(vault.workspace, Scope((ROOT,)), MoveNotes("a", "b", ("c.md",), dry_run=True)).rewritten
            == 1
        )


def test_a_survey_of_a_folder_looks_for_what_is_ignored_once(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call of it would take as long as that takes, and look at one note."""
    vault.build(*(f"old/f{number}/n.md: [[old/f{number}/n]]" for number in range(30)), "x/secret/s.md: s")
    monkeypatch.setattr(surveying, "CALL_SECONDS", -1.0)
    looks = 0
    real = courses._check_ignored

    def check(*given: Any) -> None:
        nonlocal looks
        looks += 1
        real(*given)

    monkeypatch.setattr(courses, "_check_ignored", check)
    found, _ = surveyed(lambda command: vault.run(command, ignore=("x/secret/**",)), "old", "new")
    assert len(found) == 30
    assert looks == 1


@pytest.mark.parametrize(
    "command", [SurveyMove("old", "new"), MoveNotes("old", "new", dry_run=True), MoveNotes("old", "new")]
)
def test_what_is_ignored_is_looked_for_once_the_files_are_known(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, command: Any
) -> None:
    vault.build(*(f"old/f{number}/n.md: text" for number in range(30)), "x/secret/s.md: s")
    monkeypatch.setattr(atlas, "STEP_SECONDS", 5.0)
    monkeypatch.setattr(vault.workspace.atlas, "_clock", map(float, itertools.count()).__next__)
    counted = looks = 0
    real = courses._check_ignored

    def check(*given: Any) -> None:
        nonlocal looks
        looks += 1
        real(*given)

    monkeypatch.setattr(courses, "_check_ignored", check)
    scope = Scope((ROOT,), ("x/secret/**",))
    while True:
        try:
            vault.once(scope, command)
            break
        except NotCounted:
            counted += 1
    assert counted > 5
    assert looks == 1


def test_a_folder_that_holds_too_much_to_look_for_what_is_ignored_stays(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.build("old/a/n.md: n", "old/b/m.md: m")
    monkeypatch.setattr(courses, "MAX_ENTRIES", 3)
    with pytest.raises(InvalidArgument):
        vault.run(MoveNotes("old", "new"), ignore=("x/**",))
    vault.run(MoveNotes("old", "new"))
    assert _texts(vault) == {"new/a/n.md": b"n", "new/b/m.md": b"m"}
