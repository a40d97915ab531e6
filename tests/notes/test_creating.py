"""Making notes: acceptable names, exact bytes, never over anything."""

from __future__ import annotations

import pytest

from fsnotes.errors import AmbiguousNote, Busy, InvalidArgument, NoteExists, NoteTooLarge, PathRefused
from fsnotes.notes.commands import Created, CreateNote, ReadNote
from fsnotes.notes.etags import etag
from sandbox.policy import Policy
from tests.notes.conftest import Vault


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ("a", "a.md"),
        ("a.md", "a.md"),
        ("a.markdown", "a.markdown"),
        ("a.MD", "a.MD"),
        ("v1.2", "v1.2.md"),
        ("a.txt", "a.txt.md"),
        ("new/folders/a", "new/folders/a.md"),
        ("Gr\u00f6\u00dfe \u65e5\u672c", "Gr\u00f6\u00dfe \u65e5\u672c.md"),
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469\u200d\U0001f4bb.md"),
        ("100% #1", "100% #1.md"),
    ],
)
def test_a_note_is_made_with_its_folders_and_a_suffix(vault: Vault, asked: str, path: str) -> None:
    content = "\ufeff# Caf\u00e9\r\nmixed\rends\n\x00"
    data = content.encode()
    assert vault.run(CreateNote(asked, content)) == Created(path, etag(data), len(data))
    assert vault.disk.read(f"root/{path}") == data
    assert vault.run(ReadNote(asked)).text == content


def test_an_empty_note_can_be_made(vault: Vault) -> None:
    assert vault.run(CreateNote("a", "")).size == 0


@pytest.mark.kind("overwrite")
@pytest.mark.parametrize(
    ("asked", "taken"),
    [("a", "a.md"), ("Caf\u00e9", "Cafe\u0301.md"), ("dir", "dir.md"), ("l", "l.md"), ("f", "f.md")],
)
def test_what_exists_is_never_overwritten(vault: Vault, asked: str, taken: str) -> None:
    vault.disk.build("secret.md: secret")
    vault.build("a.md: kept", "Cafe\u0301.md: kept", "dir.md/", "l.md => nowhere", "f.md | fifo")
    before = vault.snapshot()
    with pytest.raises(NoteExists) as caught:
        vault.run(CreateNote(asked, "new"))
    assert caught.value.path == taken
    assert vault.snapshot() == before


def test_a_sibling_with_the_other_suffix_is_another_note(vault: Vault) -> None:
    vault.build("a.md: kept")
    assert vault.run(CreateNote("a.markdown", "new")).path == "a.markdown"


def test_existing_folders_keep_their_spelling_and_may_have_any_name(vault: Vault) -> None:
    vault.build("Cafe\u0301/x.md: x", "CON/x.md: x", "a| b?/x.md: x", "\u202e/x.md: x")
    assert vault.run(CreateNote("Caf\u00e9/new", "n")).path == "Cafe\u0301/new.md"
    assert vault.run(CreateNote("CON/new", "n")).path == "CON/new.md"
    assert vault.run(CreateNote("a| b?/deeper/new", "n")).path == "a| b?/deeper/new.md"
    assert vault.run(CreateNote("\u202e/new", "n")).path == "\u202e/new.md"


def test_a_folder_with_a_twin_is_ambiguous(vault: Vault) -> None:
    vault.build("Cafe\u0301/x.md: x", "Caf\u00e9/x.md: x")
    with pytest.raises(AmbiguousNote):
        vault.run(CreateNote("Caf\u00e9/new", "n"))


@pytest.mark.parametrize(
    "asked",
    [
        "CON", "con.md", "new/LPT1/a", "a:b", "a?", "a*b/x", 'a"b', "a<b", "a|b", " a", "a /b", "a./b",
        "cafe\u0301", "a\u202eb",
        "a\u200bb", "a\nb", "a\x07b", "a\u2028b", "x" * 253, "a\ud800",
    ],
)  # fmt: skip
def test_a_new_name_that_is_not_portable_is_an_invalid_argument(vault: Vault, asked: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        vault.run(CreateNote(asked, "x"))
    assert caught.value.argument == "path"
    assert vault.snapshot() == {}


@pytest.mark.parametrize(
    "asked", [".a", ".git/a", "a/.b/c", ".trash/a", ".~fsn-x", "../a", "/a", "a\\b", "a/../b", "Archive/x"]
)
def test_a_hidden_ignored_or_escaping_path_is_not_allowed(vault: Vault, asked: str) -> None:
    with pytest.raises(PathRefused):
        vault.run(CreateNote(asked, "x"), ignore=("Archive/**",))
    assert vault.snapshot() == {}


def test_a_path_outside_the_granted_folder_is_not_allowed(vault: Vault) -> None:
    vault.build("Work/x.md: x")
    for asked in ("a", "Workshop/a", "Work"):
        with pytest.raises(PathRefused):
            vault.run(CreateNote(asked, "x"), folders=("Work",))
    assert vault.run(CreateNote("Work/a", "x"), folders=("Work",)).path == "Work/a.md"


def test_nothing_is_made_through_a_link_or_beneath_a_note(vault: Vault) -> None:
    vault.disk.build("outside/")
    vault.build("l => ../outside", "a.md: x")
    for asked in ("l/new", "l/deep/new"):
        with pytest.raises(PathRefused):
            vault.run(CreateNote(asked, "x"))
    for asked in ("a.md/new", "a.md/deep/new"):
        with pytest.raises(NoteExists) as caught:
            vault.run(CreateNote(asked, "x"))
        assert caught.value.path == "a.md"
    assert vault.disk.snapshot("outside") == {}


def test_text_that_is_too_large_or_no_unicode_is_refused(vault: Vault) -> None:
    vault.reopen(Policy(max_file_bytes=4))
    with pytest.raises(NoteTooLarge) as caught:
        vault.run(CreateNote("a", "\u00e9\u00e9x"))
    assert caught.value.limit == 4
    with pytest.raises(InvalidArgument) as invalid:
        vault.run(CreateNote("a", "\ud800"))
    assert invalid.value.argument == "content"
    assert vault.snapshot() == {}
    assert vault.run(CreateNote("a", "\u00e9\u00e9")).size == 4


def test_a_workspace_that_is_locked_is_busy_and_nothing_is_made(vault: Vault) -> None:
    with vault.disk.open_root("root") as other, other.lock(timeout=1), pytest.raises(Busy):
        vault.run(CreateNote("a", "x", lock_timeout=0.02))
    assert vault.snapshot() == {}
