"""Setting properties of notes on the disk: what is written, what is told, and what is refused and left alone."""

from __future__ import annotations

import os
from typing import Any

import pytest

from fsnotes.errors import (
    Busy,
    InvalidArgument,
    InvalidYaml,
    NoRoom,
    NoteChanged,
    NoteNotFound,
    NoteTooLarge,
    NotText,
    PathRefused,
)
from fsnotes.notes.commands import Assignment, Edited, SetProperties
from fsnotes.notes.etags import etag
from sandbox.policy import Policy, Quota
from sandbox.records import replace
from tests.notes.conftest import Vault

NOTE = b"\xef\xbb\xbf---\r\ntitle: 'x'  # why\r\nid: 01234\r\ntags: [a, 1]\r\n---\r\n# H\r\nbody"
MADE = b"\xef\xbb\xbf---\r\ntitle: 'x'  # why\r\ntags: [a, 1, b]\r\nstatus: done\r\n---\r\n# H\r\nbody"


def setting(path: str = "a", **more: Any) -> SetProperties:
    given = {
        "assign": (Assignment("tags", "[a, 1, b]"), Assignment("status", "done")),
        "remove": ("id", "no"),
    }
    return SetProperties(path, **(given | more))


def test_properties_are_set_and_unset_and_every_other_byte_stays(vault: Vault) -> None:
    vault.write("a.md", NOTE)
    reply = vault.run(setting())
    assert vault.disk.read("root/a.md") == MADE
    assert reply == Edited(
        path="a.md",
        former=etag(NOTE),
        etag=etag(MADE),
        size=len(MADE),
        diff=reply.diff,
        complete=True,
        places=None,
        absent=("no",),
        not_kept=(),
    )
    assert reply.diff.startswith("@@ -1,7 +1,7 @@\n \ufeff---\r\n title: 'x'  # why\r\n-id: 01234\r\n")


def test_a_note_without_a_block_gets_one_and_one_that_becomes_empty_goes(vault: Vault) -> None:
    vault.write("a.md", b"# H\r\n")
    vault.run(SetProperties("a", (Assignment("k", "v"),)))
    assert vault.disk.read("root/a.md") == b"---\r\nk: v\r\n---\r\n# H\r\n"
    vault.run(SetProperties("a", (), ("k",)))
    assert vault.disk.read("root/a.md") == b"# H\r\n"


def test_what_is_so_already_is_not_written(vault: Vault) -> None:
    vault.write("a.md", NOTE)
    before = os.stat(vault.disk.path("root/a.md"))
    for command in (
        SetProperties("a", (), ("no", "neither")),
        SetProperties("a", (Assignment("tags", "[a, 1]"),), ("no", "neither")),
    ):
        reply = vault.run(command)
        assert (reply.etag, reply.diff, reply.absent) == (etag(NOTE), "", ("no", "neither"))
    after = os.stat(vault.disk.path("root/a.md"))
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_dry_run_tells_the_same_and_writes_nothing(vault: Vault) -> None:
    vault.write("a.md", NOTE)
    with vault.disk.open_root("root") as other, other.lock(timeout=1):
        planned = vault.run(setting(dry_run=True))
        with pytest.raises(Busy):
            vault.run(setting(lock_timeout=0.02))
    assert vault.disk.read("root/a.md") == NOTE
    assert vault.run(setting()) == planned


def test_a_stale_etag_never_writes(vault: Vault) -> None:
    vault.write("a.md", NOTE)
    with pytest.raises(NoteChanged) as caught:
        vault.run(setting(if_match=etag(MADE)))
    assert caught.value.etag == etag(NOTE)
    assert vault.disk.read("root/a.md") == NOTE
    assert vault.run(setting(if_match=etag(NOTE))).etag == etag(MADE)


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("block", "line"),
    [
        (b"a: [", 3),
        (b"a: 1\na: 2", 3),
        (b"- a", 2),
        (b"a: 1\nb: \x01", 3),
        (b"a: &x [b, b]\nc: &y [*x, *x]\nd: *z", 4),
    ],
)
def test_a_block_that_cannot_be_read_is_refused_with_its_line(
    vault: Vault, block: bytes, line: int, dry_run: bool
) -> None:
    note = b"---\n" + block + b"\n---\nbody\n"
    vault.write("a.md", note)
    with pytest.raises(InvalidYaml) as caught:
        vault.run(setting(dry_run=dry_run))
    assert (caught.value.path, caught.value.line) == ("a.md", line)
    assert vault.disk.read("root/a.md") == note


@pytest.mark.parametrize(
    ("command", "argument", "why"),
    [
        (SetProperties("a"), "set", "it is required where nothing is unset"),
        (SetProperties("a", (Assignment("k", "a: b"),)), "set", None),
        (SetProperties("a", (Assignment("k", "x # y"),)), "set", None),
        (SetProperties("a", (Assignment("k", "\ud800"),)), "set", None),
        (
            SetProperties("a", (Assignment("Title", "x"),)),
            "set",
            "item 1: the block has its key in another case or Unicode form",
        ),
        (SetProperties("a", (), ("title", "title")), "unset", "item 2: its key was named before"),
        (SetProperties("a", (), ("k",) * 101), "unset", "more than 100 keys at once"),
    ],
)
def test_an_argument_that_means_nothing_is_named(
    vault: Vault, command: SetProperties, argument: str, why: str | None
) -> None:
    vault.write("a.md", NOTE)
    for each in (command, replace(command, dry_run=True)):
        with pytest.raises(InvalidArgument) as caught:
            vault.run(each)
        assert caught.value.argument == argument
        assert why in (None, caught.value.why)
        assert caught.value.why != "it cannot be used"
    assert vault.disk.read("root/a.md") == NOTE


def test_what_is_no_note_of_the_workspace_is_refused(vault: Vault) -> None:
    vault.disk.build("secret.md: x")
    vault.build(".git/a.md: x", "Archive/a.md: x", "link.md => ../secret.md", "Work/a.md: x")
    vault.write("binary.md", b"\xff")
    before = vault.disk.snapshot()
    for asked in ("../secret", ".git/a", "Archive/a", "link", "/etc/passwd"):
        with pytest.raises(PathRefused):
            vault.run(setting(asked), ignore=("Archive/**",))
    with pytest.raises(PathRefused):
        vault.run(setting("binary"), folders=("Work",))
    with pytest.raises(NotText):
        vault.run(setting("binary"))
    with pytest.raises(NoteNotFound):
        vault.run(setting("nowhere"))
    assert vault.disk.snapshot() == before
    assert vault.run(setting("Work/a"), folders=("Work",)).path == "Work/a.md"


def test_a_note_does_not_grow_beyond_its_limits(vault: Vault) -> None:
    vault.reopen(Policy(max_file_bytes=len(NOTE)))
    vault.write("a.md", NOTE)
    with pytest.raises(NoteTooLarge):
        vault.run(setting(dry_run=True))
    vault.reopen(quota=Quota(max_bytes=len(NOTE)))
    with pytest.raises(NoRoom):
        vault.run(setting(remove=()))
    assert vault.disk.read("root/a.md") == NOTE
    assert vault.run(SetProperties("a", (), ("id",))).size < len(NOTE)
