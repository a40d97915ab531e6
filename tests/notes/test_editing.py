"""Changing notes on the disk: exactly the bytes of the change, and never over what somebody else saved."""

from __future__ import annotations

import json
import os
import struct
from typing import Any

import pytest

from fsnotes.errors import (
    AmbiguousHeading,
    AnchorCount,
    AnchorNotFound,
    Busy,
    InvalidArgument,
    NoRoom,
    NoteChanged,
    NoteNotFound,
    NoteTooLarge,
    NotText,
    PathRefused,
    ReadOnlyNote,
)
from fsnotes.notes.bounds import MAX_DIFF_JSON, MAX_NAME
from fsnotes.notes.commands import AppendNote, Assignment, Edited, EditNote, SetProperties
from fsnotes.notes.editing import names_of
from fsnotes.notes.etags import etag
from sandbox.policy import Links, Policy, Quota
from sandbox.records import replace
from tests.notes.conftest import Vault
from tests.require import require

CHANGES = [EditNote("a", "2", "two"), EditNote("a", "2", heading="H"), AppendNote("a", "2")]
NOTE = b"# H\ntwo\n"

each_change = pytest.mark.parametrize("command", CHANGES, ids=["edit", "section", "append"])


def identity(vault: Vault, path: str) -> tuple[int, int]:
    status = os.stat(vault.disk.path(f"root/{path}"))
    return status.st_ino, status.st_mtime_ns


def test_an_edit_says_all_that_became_of_the_note(vault: Vault) -> None:
    old, new = b"\xef\xbb\xbf# A\r\none two\r\ntwo\rend", b"\xef\xbb\xbf# A\r\none 2\r\n2\r\n2\rend"
    vault.write("Caf\u00e9/a.md", old)
    reply = vault.run(EditNote("Caf\u00e9/a", "2\r\n2\n2", "two\ntwo"))
    assert reply == Edited(
        path="Caf\u00e9/a.md",
        former=etag(old),
        etag=etag(new),
        size=len(new),
        diff="@@ -1,3 +1,4 @@\n \ufeff# A\r\n-one two\r\n-two\rend\n\\ No newline at end of file\n"
        "+one 2\r\n+2\r\n+2\rend\n\\ No newline at end of file\n",
        complete=True,
        places=1,
        absent=(),
        not_kept=(),
    )
    assert vault.disk.read("root/Caf\u00e9/a.md") == new


def test_what_is_not_there_is_refused_with_the_line_that_is_nearest(vault: Vault) -> None:
    vault.write("a.md", b"# A\none two\n# B\nx\n")
    with pytest.raises(AnchorNotFound) as caught:
        vault.run(EditNote("a", "y", "one too"))
    assert (caught.value.line, caught.value.nearest, caught.value.hint) == (2, "one two", "")
    with pytest.raises(AnchorNotFound) as elsewhere:
        vault.run(EditNote("a", "y", "one two", "B"))
    assert (elsewhere.value.line, elsewhere.value.hint) == (2, "elsewhere")
    assert vault.disk.read("root/a.md") == b"# A\none two\n# B\nx\n"
    assert vault.run(EditNote("a", "y", "one two", "A")).places == 1


def test_every_place_is_counted_and_none_but_the_expected_number_is_taken(vault: Vault) -> None:
    vault.write("a.md", b"x x x")
    with pytest.raises(AnchorCount) as caught:
        vault.run(EditNote("a", "y", "x", expected=2))
    assert (caught.value.count, caught.value.expected, caught.value.lines) == (3, 2, (1, 1, 1))
    assert vault.disk.read("root/a.md") == b"x x x"
    assert vault.run(EditNote("a", "y", "x", expected=3)).places == 3
    assert vault.disk.read("root/a.md") == b"y y y"


def test_a_section_is_found_by_its_heading_for_each_kind_of_change(vault: Vault) -> None:
    vault.write("a.md", b"# A\nx\n## T\nx\n# B\nx\n## T\nx\n")
    assert vault.run(EditNote("a", "1", "x", "A/T")).places == 1
    assert vault.run(EditNote("a", "2", heading="B/T")).places is None
    assert vault.run(AppendNote("a", "3", "A", "start")).places is None
    assert vault.run(AppendNote("a", "4", "A")).places is None
    assert vault.disk.read("root/a.md") == b"# A\n3\nx\n## T\n1\n4\n# B\nx\n## T\n2\n"
    for command in (EditNote("a", "y", "x", "T"), AppendNote("a", "y", "T")):
        with pytest.raises(AmbiguousHeading) as twins:
            vault.run(command)
        assert twins.value.paths == ("A/T", "B/T")
    with pytest.raises(NoteNotFound) as missing:
        vault.run(AppendNote("a", "y", "C"))
    assert (missing.value.what, missing.value.candidates) == ("heading", ("A", "T", "B"))


@pytest.mark.parametrize(
    ("note", "position", "made"),
    [
        (b"", "end", b"x\n"),
        (b"one", "end", b"one\nx\n"),
        (b"\xef\xbb\xbf---\r\na: b\r\n---\r\n", "start", b"\xef\xbb\xbf---\r\na: b\r\n---\r\nx\r\n"),
        (b"---\na: b\n---", "start", b"---\na: b\n---\nx\n"),
        (b"\xef\xbb\xbf", "start", b"\xef\xbb\xbfx\n"),
    ],
)
def test_text_is_added_on_a_line_of_its_own(vault: Vault, note: bytes, position: str, made: bytes) -> None:
    vault.write("a.md", note)
    reply = vault.run(AppendNote("a", "x", position=position))
    assert vault.disk.read("root/a.md") == made
    assert (reply.former, reply.etag, reply.size) == (etag(note), etag(made), len(made))


@each_change
def test_a_stale_etag_never_writes_and_is_answered_with_the_current_one(vault: Vault, command: Any) -> None:
    vault.write("a.md", NOTE)
    before = identity(vault, "a.md")
    for stale in (etag(b"another text"), "nonsense", etag(NOTE).lower()):
        for dry_run in (True, False):
            with pytest.raises(NoteChanged) as caught:
                vault.run(replace(command, if_match=stale, dry_run=dry_run))
            assert (caught.value.path, caught.value.etag) == ("a.md", etag(NOTE))
    assert (identity(vault, "a.md"), vault.disk.read("root/a.md")) == (before, NOTE)
    reply = vault.run(replace(command, if_match=etag(NOTE)))
    assert (reply.former, reply.etag) == (etag(NOTE), etag(vault.disk.read("root/a.md")))
    assert reply.etag != reply.former


def test_what_is_there_already_is_not_written(vault: Vault) -> None:
    vault.write("a.md", b"# H\r\ntwo\r\n")
    before = identity(vault, "a.md")
    for command in (
        EditNote("a", "two", "two"),
        EditNote("a", "two\n", "two\r\n"),
        EditNote("a", "two", heading="H"),
    ):
        reply = vault.run(command)
        assert (reply.former, reply.diff, reply.complete) == (reply.etag, "", True)
    assert identity(vault, "a.md") == before


@each_change
def test_a_dry_run_answers_as_the_change_does_and_writes_nothing(vault: Vault, command: Any) -> None:
    vault.write("a.md", NOTE)
    before = vault.snapshot(), identity(vault, "a.md")
    with vault.disk.open_root("root") as other, other.lock(timeout=1):
        planned = vault.run(replace(command, dry_run=True))
        with pytest.raises(Busy):
            vault.run(replace(command, lock_timeout=0.02))
    assert (vault.snapshot(), identity(vault, "a.md")) == before
    assert vault.run(command) == planned
    assert vault.disk.read("root/a.md") != NOTE


@each_change
@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    "asked",
    [
        "../secret",
        "/etc/passwd",
        ".git/a",
        "a/../b",
        "a\\b",
        "Archive/old",
        ".trash/x",
        "link",
        "pipe",
        "twice",
    ],
)
def test_what_is_no_note_of_the_workspace_is_refused_and_untouched(
    vault: Vault, command: Any, asked: str, dry_run: bool
) -> None:
    vault.disk.build("secret.md: two")
    vault.build("Archive/old.md: two", ".git/a.md: two", "link.md => ../secret.md", "pipe.md | fifo")
    vault.build("one.md: two", "twice.md == root/one.md")
    before = vault.disk.snapshot()
    with pytest.raises(PathRefused):
        vault.run(replace(command, path=asked, dry_run=dry_run), ignore=("Archive/**",))
    assert vault.disk.snapshot() == before


@each_change
def test_only_the_granted_folder_is_replace(vault: Vault, command: Any) -> None:
    vault.write("a.md", NOTE)
    vault.write("Work/a.md", NOTE)
    for asked in ("a", "Work", "Workshop/a"):
        with pytest.raises(PathRefused):
            vault.run(replace(command, path=asked), folders=("Work",))
    with pytest.raises(NoteNotFound):
        vault.run(replace(command, path="Work/b"), folders=("Work",))
    assert vault.run(replace(command, path="Work/a"), folders=("Work",)).path == "Work/a.md"
    assert vault.disk.read("root/a.md") == NOTE


@each_change
def test_a_link_that_may_be_read_is_not_written_through(openat2_vault: Vault, command: Any) -> None:
    vault = openat2_vault
    vault.reopen(Policy(links=Links.WITHIN))
    vault.write("b.md", NOTE)
    vault.build("a.md => b.md")
    before = vault.snapshot()
    with pytest.raises(PathRefused):
        vault.run(command)
    assert vault.snapshot() == before
    assert vault.run(replace(command, path="b")).path == "b.md"


@each_change
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_note_that_is_no_text_is_never_rewritten(vault: Vault, command: Any, dry_run: bool) -> None:
    data = b"# H\ntwo \xff\n"
    vault.write("a.md", data)
    with pytest.raises(NotText):
        vault.run(replace(command, dry_run=dry_run))
    assert vault.disk.read("root/a.md") == data


@pytest.mark.parametrize("command", [*CHANGES, SetProperties("a", (Assignment("k", "v"),))])
@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("mode", [0o444, 0o400, 0o555])
def test_a_note_that_is_write_protected_is_not_changed(
    vault: Vault, command: Any, dry_run: bool, mode: int
) -> None:
    """Editors do not save it, but exchanging names would; also not where the process may do everything."""
    vault.write("a.md", NOTE)
    vault.disk.chmod("root/a.md", mode)
    before = identity(vault, "a.md")
    with pytest.raises(ReadOnlyNote) as caught:
        vault.run(replace(command, dry_run=dry_run))
    assert caught.value.path == "a.md"
    assert (vault.disk.read("root/a.md"), identity(vault, "a.md")) == (NOTE, before)
    vault.disk.chmod("root/a.md", mode | 0o200)
    assert vault.run(replace(command, dry_run=dry_run)).path == "a.md"
    assert os.stat(vault.disk.path("root/a.md")).st_mode & 0o777 == mode | 0o200


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_note_does_not_grow_beyond_its_limit(vault: Vault, dry_run: bool) -> None:
    vault.reopen(Policy(max_file_bytes=12))
    vault.write("a.md", NOTE)
    vault.write("big.md", b"x" * 13)
    for command in (
        EditNote("a", "x" * 8, "two"),
        EditNote("a", "x" * 8, heading="H"),
        AppendNote("a", "long"),
    ):
        with pytest.raises(NoteTooLarge) as caught:
            vault.run(replace(command, dry_run=dry_run))
        assert (caught.value.path, caught.value.limit) == ("a.md", 12)
    with pytest.raises(NoteTooLarge):
        vault.run(EditNote("big", "", "x", expected=13, dry_run=dry_run))
    assert (vault.disk.read("root/a.md"), vault.disk.read("root/big.md")) == (NOTE, b"x" * 13)
    assert vault.run(AppendNote("a", "\u20ac", dry_run=dry_run)).size == 12


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("command", "argument"),
    [
        (EditNote("a", "x"), "oldText"),
        (EditNote("a", "x", ""), "oldText"),
        (EditNote("a", "x", "", "H"), "oldText"),
        (EditNote("a", "x", "\ud800"), "oldText"),
        (EditNote("a", "\ud800", "two"), "newText"),
        (EditNote("a", "\ud800", heading="H"), "newText"),
        (EditNote("a", "x", "two", expected=0), "expectedMatches"),
        (EditNote("a", "x", heading="H", expected=2), "expectedMatches"),
        (EditNote("a", "x", "two", expected=10_001), "expectedMatches"),
        (AppendNote("a", ""), "text"),
        (AppendNote("a", "\ud800"), "text"),
        (AppendNote("a", "x", position="middle"), "position"),
    ],
)
def test_an_argument_that_means_nothing_is_named(
    vault: Vault, command: Any, argument: str, dry_run: bool
) -> None:
    vault.write("a.md", NOTE)
    with pytest.raises(InvalidArgument) as caught:
        vault.run(replace(command, dry_run=dry_run))
    assert caught.value.argument == argument
    assert vault.disk.read("root/a.md") == NOTE


def test_a_change_is_bounded_by_what_the_workspace_may_hold(vault: Vault) -> None:
    vault.reopen(quota=Quota(max_bytes=20))
    vault.write("a.md", NOTE)
    vault.write("b.md", b"12345678")
    for command in (EditNote("a", "123456789", "two"), AppendNote("a", "1234")):
        with pytest.raises(NoRoom) as caught:
            vault.run(command)
        assert caught.value.bound == "max_bytes"
        assert vault.run(replace(command, dry_run=True)).size > 12
    assert vault.disk.read("root/a.md") == NOTE
    assert vault.run(AppendNote("a", "123")).size == 12
    vault.write("c.md", b"x" * 100)
    assert vault.run(EditNote("a", "", "two\n")).size == 8  # it shrinks, which is always allowed


def test_a_change_leaves_the_disk_its_floor(vault: Vault) -> None:
    vault.reopen(quota=Quota(min_free_bytes=1 << 50))
    vault.write("a.md", NOTE)
    for command in CHANGES:
        with pytest.raises(NoRoom):
            vault.run(command)
    assert vault.disk.read("root/a.md") == NOTE
    assert vault.run(EditNote("a", "two", "two")).diff == ""


def test_what_could_not_be_kept_is_named(vault: Vault) -> None:
    vault.write("a.md", NOTE)
    vault.disk.chmod("root/a.md", 0o4640)
    assert vault.run(EditNote("a", "2", "two", dry_run=True)).not_kept == ()
    assert vault.run(EditNote("a", "2", "two")).not_kept == ("special mode bits",)
    assert os.stat(vault.disk.path("root/a.md")).st_mode & 0o7777 == 0o640


ACCESS = "system.posix_acl_access"
ACL = struct.pack("<I" + "HHi" * 5, 2, *(1, 6, -1), *(2, 6, 12345), *(4, 4, -1), *(16, 6, -1), *(32, 0, -1))
"""Reading and writing for one more account."""


def marked(vault: Vault) -> None:
    """Make notes that differ in mode, attributes and ACL."""
    for path in ("a.md", "private.md", "shared.md", "acl.md"):
        vault.write(path, NOTE)
        os.setxattr(vault.disk.path(f"root/{path}"), "user.colour", b"blue")
    vault.disk.chmod("root/a.md", 0o644)
    vault.disk.chmod("root/private.md", 0o600)
    vault.disk.chmod("root/shared.md", 0o660)
    try:
        os.setxattr(vault.disk.path("root/acl.md"), ACCESS, ACL)
    except OSError as error:
        require("ACLs", available=False, why=str(error))


def marks(vault: Vault) -> dict[str, tuple[str, list[str]]]:
    found = {}
    for path in ("a.md", "private.md", "shared.md", "acl.md"):
        place = vault.disk.path(f"root/{path}")
        found[path] = (oct(os.stat(place).st_mode & 0o7777), sorted(os.listxattr(place)))
    return found


def test_a_changed_note_keeps_mode_acl_and_attributes(vault: Vault) -> None:
    marked(vault)
    before = marks(vault)
    acl = os.getxattr(vault.disk.path("root/acl.md"), ACCESS)
    assert {mode for mode, _ in before.values()} == {"0o644", "0o600", "0o660"}
    for path in before:
        assert vault.run(EditNote(path, "2", "two")).not_kept == ()
    assert marks(vault) == before
    assert os.getxattr(vault.disk.path("root/acl.md"), ACCESS) == acl
    assert os.getxattr(vault.disk.path("root/a.md"), "user.colour") == b"blue"


def test_where_links_are_followed_what_a_jail_lets_nobody_keep_is_named_and_nobody_gains(
    vault: Vault,
) -> None:
    """Following links needs openat2. Who has that may set no attributes, and beneath the tree of the host no mode."""
    if vault.disk.resolver == "walk":
        pytest.skip("links are followed by openat2 alone")
    vault.reopen(Policy(links=Links.WITHIN))
    marked(vault)
    before = marks(vault)
    lost = {path: vault.run(EditNote(path, "2", "two")).not_kept for path in before}
    if not vault.is_jailed:
        assert (lost, marks(vault)) == (dict.fromkeys(before, ()), before)
        return
    if not vault.is_contained:
        colour = ("user.colour",)
        assert lost == {
            "a.md": colour,
            "private.md": colour,
            "shared.md": colour,
            "acl.md": ("system.posix_acl_access", *colour, "mode"),
        }
        assert marks(vault) == {
            "a.md": ("0o644", []),
            "private.md": ("0o600", []),
            "shared.md": ("0o660", []),
            "acl.md": ("0o600", []),
        }
        return
    assert lost == {
        "a.md": ("extended attributes",),
        "private.md": ("extended attributes",),
        "shared.md": ("extended attributes", "mode"),
        "acl.md": ("extended attributes", "mode"),
    }
    assert marks(vault) == {
        "a.md": ("0o644", []),
        "private.md": ("0o600", []),
        "shared.md": ("0o600", []),
        "acl.md": ("0o600", []),
    }


def test_names_that_could_not_be_kept_are_shown_in_bounds() -> None:
    shown = names_of(("owner", "user.\udcff\n", "x" * 300, *("y",) * 40))
    assert (shown[:3], len(shown), shown[-1]) == (("owner", "user.\\xff\\u000a", "x" * 100), 11, "33 more")
    assert max(map(len, shown)) <= MAX_NAME
    assert names_of(()) == ()


@pytest.mark.parametrize(
    "text", ["\0" * 9_000, '"\\\t' * 3_000, "x\n" * 9_000, "\x01\n" * 9_000, "\u0600" * 9_000]
)
def test_a_diff_takes_no_more_room_as_json_than_it_may(vault: Vault, text: str) -> None:
    vault.write("a.md", f"one\n{text}\nend\n".encode())
    reply = vault.run(EditNote("a", text.replace(text[0], "z"), text))
    assert len(json.dumps(reply.diff, ensure_ascii=False)) <= MAX_DIFF_JSON
    assert not reply.complete
    assert reply.diff.startswith("@@ ")
