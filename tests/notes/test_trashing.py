"""The trash: only the confirmed bytes go, the entry is the receipt, and what is back is what went."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

import pytest

from fsnotes.errors import (
    Abandoned,
    Busy,
    InvalidArgument,
    NoteChanged,
    NoteExists,
    NoteNotFound,
    PathRefused,
    Unavailable,
)
from fsnotes.notes.commands import (
    FindReceipt,
    ListTrash,
    Restored,
    RestoreNote,
    ScanNotes,
    SweepTemporaries,
    Trashed,
    TrashEntry,
    TrashNote,
)
from fsnotes.notes.etags import etag
from fsnotes.notes.handlers import handle
from fsnotes.notes.scope import Scope
from sandbox.names import ROOT
from sandbox.policy import Links, Policy
from tests.notes.conftest import Vault

ENTRY = "20260131T235958Z-" + "a" * 32
LATER = "20260201T000000Z-" + "b" * 32
DATA = b"# confirmed\r\n"
ETAG = etag(DATA)


def test_a_confirmed_note_moves_to_its_entry_and_the_folder_stays(vault: Vault) -> None:
    vault.write("sub/a.md", DATA)
    assert vault.run(TrashNote("sub/a.md", ETAG, ENTRY)) == Trashed("sub/a.md", ENTRY)
    assert vault.disk.read(f"root/.trash/{ENTRY}/sub/a.md") == DATA
    assert os.listdir(vault.disk.path("root/sub")) == []
    assert vault.run(FindReceipt("sub/a.md", ETAG, ENTRY)).found


def test_a_note_in_its_entry_is_deleted_once_and_what_took_its_name_stays(vault: Vault) -> None:
    vault.write("a.md", DATA)
    vault.run(TrashNote("a.md", ETAG, ENTRY))
    vault.write("a.md", DATA)
    assert vault.run(TrashNote("a.md", ETAG, ENTRY)) == Trashed("a.md", ENTRY)
    assert vault.disk.read("root/a.md") == DATA


def test_a_note_that_is_not_utf_8_can_be_deleted(vault: Vault) -> None:
    vault.write("a.md", b"\xff")
    vault.run(TrashNote("a.md", etag(b"\xff"), ENTRY))
    assert not vault.disk.exists("root/a.md")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda path: os.truncate(path, 5), id="changed"),
        pytest.param(lambda path: os.rename(path, path + ".old"), id="moved"),
        pytest.param(os.remove, id="gone"),
        pytest.param(lambda path: shutil.rmtree(os.path.dirname(path)), id="gone with its folder"),
        pytest.param(
            lambda path: (os.rename(path, path + ".old"), os.symlink("a.md.old", path)), id="a link"
        ),
        pytest.param(lambda path: os.link(path, path + ".twin"), id="a hard link"),
        pytest.param(lambda path: (os.remove(path), os.mkfifo(path)), id="a FIFO"),
        pytest.param(lambda path: (os.remove(path), os.mkdir(path)), id="a folder"),
        pytest.param(
            lambda path: (
                os.rename(os.path.dirname(path), path[:-9] + "old"),
                os.symlink("old", os.path.dirname(path)),
            ),
            id="behind a link",
        ),
    ],
)
def test_a_note_that_is_not_what_was_confirmed_stays_as_it_is(
    vault: Vault, change: Callable[[str], object]
) -> None:
    vault.write("sub/a.md", DATA)
    change(vault.disk.path("root/sub/a.md"))
    before = {name: what for name, what in vault.snapshot().items() if not name.startswith(".trash")}
    with pytest.raises(NoteChanged) as caught:
        vault.run(TrashNote("sub/a.md", ETAG, ENTRY))
    assert caught.value.path == "sub/a.md"
    after = vault.snapshot()
    assert {name: what for name, what in after.items() if not name.startswith(".trash")} == before
    assert not [name for name, what in after.items() if name.startswith(".trash") and what != "folder"]
    assert not vault.run(FindReceipt("sub/a.md", ETAG, ENTRY)).found


def test_the_same_bytes_under_a_fresh_inode_are_the_same_note(vault: Vault) -> None:
    vault.write("a.md", DATA)
    vault.disk.save("root/a.md", DATA)
    vault.run(TrashNote("a.md", ETAG, ENTRY))
    assert not vault.disk.exists("root/a.md")


def test_an_entry_with_another_text_is_no_receipt_and_is_kept(vault: Vault) -> None:
    vault.write("a.md", DATA)
    vault.write(f".trash/{ENTRY}/a.md", b"a stranger's")
    assert not vault.run(FindReceipt("a.md", ETAG, ENTRY)).found
    with pytest.raises(NoteChanged):
        vault.run(TrashNote("a.md", ETAG, ENTRY))
    assert vault.disk.read("root/a.md") == DATA
    assert vault.disk.read(f"root/.trash/{ENTRY}/a.md") == b"a stranger's"


def test_an_empty_entry_is_no_receipt_and_is_used_again(vault: Vault) -> None:
    vault.write("sub/a.md", DATA)
    vault.build(f".trash/{ENTRY}/sub/")
    assert not vault.run(FindReceipt("sub/a.md", ETAG, ENTRY)).found
    vault.run(TrashNote("sub/a.md", ETAG, ENTRY))
    assert vault.run(FindReceipt("sub/a.md", ETAG, ENTRY)).found


@pytest.mark.parametrize("entry", ["", "x", "../../outside", ENTRY + "/..", ENTRY.upper(), ENTRY[:-1]])
def test_an_entry_has_the_name_that_a_confirmation_gives_it(vault: Vault, entry: str) -> None:
    vault.write("a.md", DATA)
    for command in (TrashNote("a.md", ETAG, entry), FindReceipt("a.md", ETAG, entry), RestoreNote(entry)):
        with pytest.raises(InvalidArgument):
            vault.run(command)
    assert vault.snapshot() == {"a.md": DATA}


@pytest.mark.parametrize("trash", [".trash: a file", ".trash => ../outside"])
def test_a_trash_that_is_no_plain_folder_is_unavailable(vault: Vault, trash: str) -> None:
    vault.disk.build("outside/")
    vault.write("a.md", DATA)
    vault.build(trash)
    for command in (
        TrashNote("a.md", ETAG, ENTRY),
        FindReceipt("a.md", ETAG, ENTRY),
        ListTrash(),
        RestoreNote(ENTRY),
    ):
        with pytest.raises(Unavailable):
            vault.run(command)
    assert vault.disk.read("root/a.md") == DATA
    assert vault.disk.snapshot("outside") == {}


def test_a_note_outside_the_scope_hidden_or_ignored_is_not_allowed(vault: Vault) -> None:
    vault.build("b/a.md: x", ".h/a.md: x", "Archive/a.md: x")
    before = vault.snapshot()
    for path in ("b/a.md", ".h/a.md", "Archive/a.md", "../a.md"):
        for command in (TrashNote(path, etag(b"x"), ENTRY), FindReceipt(path, etag(b"x"), ENTRY)):
            with pytest.raises(PathRefused):
                vault.run(command, folders=("Archive", ".h", "c"), ignore=("Archive/**",))
    assert vault.snapshot() == before


def test_a_locked_workspace_is_busy_and_an_abandoned_change_does_not_begin(vault: Vault) -> None:
    vault.write("a.md", DATA)
    with vault.disk.open_root("root") as other, other.lock(timeout=1), pytest.raises(Busy):
        vault.run(TrashNote("a.md", ETAG, ENTRY, lock_timeout=0.02))
    with pytest.raises(Abandoned):
        handle(vault.workspace, Scope((ROOT,)), TrashNote("a.md", ETAG, ENTRY), abandoned=lambda: True)
    assert vault.snapshot() == {"a.md": DATA}


# -- listing and restoring ---------------------------------------------------------------------


def test_the_trash_lists_the_notes_of_the_scope_newest_first(vault: Vault) -> None:
    vault.write("a.md", DATA)
    vault.write("sub/b.md", b"b")
    vault.run(TrashNote("a.md", ETAG, ENTRY))
    vault.run(TrashNote("sub/b.md", etag(b"b"), LATER))
    first = TrashEntry(LATER, "sub/b.md", "2026-02-01T00:00:00Z", 1)
    second = TrashEntry(ENTRY, "a.md", "2026-01-31T23:59:58Z", len(DATA))
    assert vault.run(ListTrash()).entries == (first, second)
    page = vault.run(ListTrash(limit=1))
    assert (page.entries, page.resume) == ((first,), LATER)
    rest = vault.run(ListTrash(after=page.resume, limit=1))
    assert (rest.entries, rest.resume) == ((second,), None)
    assert vault.run(ListTrash(), folders=("sub",)).entries == (first,)
    assert vault.run(ListTrash(), ignore=("sub/**",)).entries == (second,)
    with pytest.raises(InvalidArgument):
        vault.run(ListTrash(after="../x"))


def test_foreign_things_in_the_trash_are_not_ours(vault: Vault) -> None:
    never = "20269931T235958Z-" + "c" * 32
    two = "20260131T235958Z-" + "d" * 32
    vault.build(
        ".trash/loose.md: x", ".trash/folder/a.md: x", f".trash/{never}/a.md: x", f".trash/{two}/a.md: x",
        f".trash/{two}/b.md: x",
        f".trash/{ENTRY}/photo.png: x", f".trash/{LATER} => ../x",
    )  # fmt: skip
    assert vault.run(ListTrash()).entries == ()
    for entry in (two, ENTRY, LATER):
        with pytest.raises(NoteNotFound) as caught:
            vault.run(RestoreNote(entry))
        assert (caught.value.what, caught.value.name) == ("trash entry", entry)
    assert vault.run(ScanNotes(recursive=True)).notes == ()


def test_a_workspace_without_trash_has_an_empty_one(vault: Vault) -> None:
    assert vault.run(ListTrash()).entries == ()
    with pytest.raises(NoteNotFound):
        vault.run(RestoreNote(ENTRY))


def test_a_restored_note_is_back_byte_by_byte_and_its_entry_is_gone(vault: Vault) -> None:
    vault.write("sub/deep/a.md", DATA)
    vault.run(TrashNote("sub/deep/a.md", ETAG, ENTRY))
    shutil.rmtree(vault.disk.path("root/sub"))
    assert vault.run(RestoreNote(ENTRY)) == Restored("sub/deep/a.md", ETAG)
    assert vault.snapshot() == {
        "sub": "folder",
        "sub/deep": "folder",
        "sub/deep/a.md": DATA,
        ".trash": "folder",
    }
    with pytest.raises(NoteNotFound):
        vault.run(RestoreNote(ENTRY))


def test_restoring_never_overwrites_and_a_new_path_helps(vault: Vault) -> None:
    vault.write("Cafe\u0301/a.md", DATA)
    vault.run(TrashNote("Cafe\u0301/a.md", ETAG, ENTRY))
    vault.write("Cafe\u0301/a.md", b"other")
    with pytest.raises(NoteExists):
        vault.run(RestoreNote(ENTRY))
    assert vault.run(RestoreNote(ENTRY, "Caf\u00e9/new/b")) == Restored("Cafe\u0301/new/b.md", ETAG)
    assert vault.disk.read("root/Cafe\u0301/a.md") == b"other"
    assert vault.disk.read("root/Cafe\u0301/new/b.md") == DATA


def test_a_note_goes_back_into_a_folder_that_is_spelled_otherwise_by_now(vault: Vault) -> None:
    vault.write("Cafe\u0301/CON.md", DATA)
    vault.run(TrashNote("Cafe\u0301/CON.md", ETAG, ENTRY))
    os.rename(vault.disk.path("root/Cafe\u0301"), vault.disk.path("root/Caf\u00e9"))
    assert vault.run(RestoreNote(ENTRY)) == Restored("Caf\u00e9/CON.md", ETAG)


@pytest.mark.parametrize(
    ("new_path", "error"),
    [
        (".hidden", PathRefused), ("../out", PathRefused), ("Archive/a", PathRefused), ("b/a", PathRefused),
        (".trash/a", PathRefused),
        ("in/CON", InvalidArgument), ("in/a:b", InvalidArgument), ("in//a", InvalidArgument), ("in/taken", NoteExists),
        ("in/taken.md/x", NoteExists), ("in/l/x", PathRefused),
    ],
)  # fmt: skip
def test_a_new_path_follows_the_rules_for_new_notes(
    vault: Vault, new_path: str, error: type[Exception]
) -> None:
    vault.disk.build("outside/")
    vault.write("in/a.md", DATA)
    vault.build("in/taken.md: x", "in/l => ../../outside")
    vault.run(TrashNote("in/a.md", ETAG, ENTRY))
    before = vault.snapshot()
    with pytest.raises(error) as caught:
        vault.run(RestoreNote(ENTRY, new_path), folders=("in", "Archive"), ignore=("Archive/**",))
    assert not isinstance(caught.value, InvalidArgument) or caught.value.argument == "newPath"
    assert vault.snapshot() == before


def test_what_was_deleted_outside_the_scope_is_not_found(vault: Vault) -> None:
    vault.write("a/a.md", DATA)
    vault.run(TrashNote("a/a.md", ETAG, ENTRY))
    with pytest.raises(NoteNotFound):
        vault.run(RestoreNote(ENTRY, "b/a"), folders=("b",))
    assert vault.run(ListTrash(), folders=("b",)).entries == ()


def test_old_temporaries_are_swept_to_the_trash(vault: Vault) -> None:
    vault.build("sub/.~fsn-00: half", "a.md: x")
    assert vault.run(SweepTemporaries(now=4e9)).moved == 1
    assert vault.disk.read("root/a.md") == b"x"
    assert not vault.disk.exists("root/sub/.~fsn-00")
    assert vault.run(SweepTemporaries(now=4e9)).moved == 0


def test_a_link_that_may_be_read_is_not_deleted_and_that_is_what_is_said(openat2_vault: Vault) -> None:
    vault = openat2_vault
    vault.build("a.md: text", "l.md => a.md")
    vault.reopen(Policy(Links.WITHIN))
    with pytest.raises(PathRefused):
        vault.run(TrashNote("l.md", etag(b"text"), ENTRY))
    assert vault.run(TrashNote("a.md", etag(b"text"), ENTRY)) == Trashed("a.md", ENTRY)
