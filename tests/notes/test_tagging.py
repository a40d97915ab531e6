"""Counting tags and finding notes by them in bounded stretches: all of them, once each, and what could not be seen."""

from __future__ import annotations

import os
from typing import Any

import pytest

from fsnotes.errors import PathRefused
from fsnotes.notes import stretches, tagging
from fsnotes.notes.commands import CountTags, Scanned, ScanNotes, Skipped, TagsCounted, by_reason
from fsnotes.notes.scope import Scope
from fsnotes.notes.tags import MAX_TAGS
from sandbox.names import ROOT
from tests.notes.conftest import Vault


def test_what_was_left_out_is_added_up_by_reason_without_paths() -> None:
    left = (Skipped("a.md", 1, "not_text"), Skipped(None, 2, "link"), Skipped(None, 3, "not_text"))
    assert by_reason(left) == (Skipped(None, 4, "not_text"), Skipped(None, 2, "link"))
    assert by_reason(by_reason(left)) == by_reason(left)
    assert by_reason(()) == ()


def counted(vault: Vault, prefix: str = "", **scope: Any) -> tuple[dict[str, int], dict[str, int], int]:
    """Return the counts of all stretches together, what was left out, and how many stretches there were."""
    found: dict[str, int] = {}
    skipped: dict[str, int] = {}
    after: str | None = None
    for calls in range(1, 1000):
        part = vault.run(CountTags(prefix, after), **scope)
        for tag in part.tags:
            found[tag.tag] = found.get(tag.tag, 0) + tag.count
        for item in part.skipped:
            skipped[item.reason] = skipped.get(item.reason, 0) + item.count
        after = part.resume
        if after is None:
            return found, skipped, calls
    raise AssertionError("the count does not end")


def test_tags_of_text_and_properties_are_added_up(vault: Vault) -> None:
    vault.write("a.md", b"---\r\ntags: [Work, x]\r\n---\r\n#work/mail\r\n```\r\n#no\r\n```\r\n")
    vault.write("b/c.md", "\ufeff---\ntag: cafe\u0301\n---\n#WORK #caf\u00e9 `#no` %%#no%%\n".encode())
    vault.write("b/d.txt", b"#no")
    vault.write(".hidden/e.md", b"#no")
    assert counted(vault) == ({"Work": 3, "work/mail": 1, "x": 1, "cafe\u0301": 2}, {}, 1)


def test_only_tags_with_the_prefix_are_told(vault: Vault) -> None:
    vault.write("a.md", "#work/mail #workshop #Caf\u00e9 #x".encode())
    assert counted(vault, "work")[0] == {"work": 1, "work/mail": 1, "workshop": 1}
    assert counted(vault, "work/")[0] == {"work/mail": 1}
    assert counted(vault, "caf\u00e9")[0] == {"Caf\u00e9": 1}
    assert counted(vault, "y")[0] == {}


def test_what_cannot_be_looked_at_is_counted(vault: Vault) -> None:
    vault.write("a.md", b"#a")
    vault.write("b.md", b"#b \xff")
    vault.write("c.md", b"#c" + b"x" * 1_048_576)
    vault.write("d.md", "".join(f"#t{number} " for number in range(MAX_TAGS + 1)).encode())
    vault.write("e.md", b"---\ntags: [broken\n---\n#e")
    vault.build("f.md => a.md", "g.md | fifo")
    os.link(vault.disk.path("root/a.md"), vault.disk.path("outside.md"))
    assert counted(vault) == (
        {"e": 1},
        {"hard_link": 1, "not_text": 1, "too_large": 1, "too_many": 1, "link": 1, "special_file": 1},
        1,
    )


def test_a_count_stays_in_the_scope(vault: Vault) -> None:
    for path in ("a/x.md", "b/x.md", "b/in/x.md", "ab/x.md", "x.md"):
        vault.write(path, f"#{path.replace('/', '-')[:-3]}".encode())
    vault.write("c/bad.md", b"\xff")
    assert counted(vault, folders=("b",)) == ({"b-x": 1, "b-in-x": 1}, {}, 1)
    assert counted(vault, folders=("a", "b"), ignore=("b/in/**",))[0] == {"a-x": 1, "b-x": 1}
    assert counted(vault, folders=("none",)) == ({}, {}, 1)


def test_stretches_add_up_to_the_whole(vault: Vault) -> None:
    vault.build(
        *(f"f{number % 7}/{number}.md: #t{number % 5} #all\n" for number in range(stretches.NOTES + 20))
    )
    found, _, calls = counted(vault)
    assert calls == 2
    assert found == {"all": 520, **{f"t{number}": 104 for number in range(5)}}


def part(vault: Vault, command: CountTags, **more: Any) -> TagsCounted:
    return tagging.count(vault.workspace.root, Scope((ROOT,)), command, **more)


def test_a_call_reads_a_bounded_number_of_bytes(vault: Vault) -> None:
    for name in ("a", "b", "c", "d"):
        vault.write(f"{name}.md", f"#{name}\n".encode() + b"x" * (stretches.READ_BYTES // 2))
    found = part(vault, CountTags(), clock=lambda: 0.0)
    assert ([tag.tag for tag in found.tags], found.resume) == (["a", "b"], "b.md")


def test_a_call_ends_once_it_has_taken_long_and_yet_gets_on(vault: Vault) -> None:
    vault.build(*(f"{number:02}.md: #t" for number in range(40)))
    ticks = iter(range(0, 100_000, 100))
    found = part(vault, CountTags(), clock=lambda: float(next(ticks)))
    assert (found.tags[0].count, found.resume) == (stretches.LEAST_ENTRIES, "15.md")


def test_a_call_tells_of_a_bounded_number_of_tags(vault: Vault) -> None:
    """Long tags of many levels: a few bytes of a note become many in the reply."""
    deep = "/".join("abcdefghij" * 9)
    for number in range(40):
        vault.write(f"{number:02}.md", "".join(f"#{number}x{place}/{deep} " for place in range(20)).encode())
    found, _, calls = counted(vault)
    assert calls > 5
    assert len(found) == 40 * 20 * 91


@pytest.mark.parametrize("note", [b"", b"#", b"---\n---\n", b"\xef\xbb\xbf"])
def test_a_note_without_tags_adds_nothing(vault: Vault, note: bytes) -> None:
    vault.write("a.md", note)
    assert counted(vault) == ({}, {}, 1)


# -- notes with a tag ------------------------------------------------------------------------------


def with_tag(vault: Vault, tag: str, folder: str = "", *, budget: int = 2_000, **scope: Any) -> Scanned:
    found: list[Any] = []
    skipped: list[Skipped] = []
    after: str | None = None
    for _ in range(1000):
        part = vault.run(ScanNotes(folder, True, after, budget, tag), **scope)  # noqa: FBT003
        assert len(part.notes) + len(part.skipped) <= budget
        found += part.notes
        skipped += part.skipped
        after = part.resume
        if after is None:
            return Scanned(tuple(found), (), tuple(skipped), None)
    raise AssertionError("the walk does not end")


def paths(scanned: Scanned) -> list[str]:
    return [note.path for note in scanned.notes]


def test_notes_are_found_by_a_tag_and_by_what_is_nested_in_it(vault: Vault) -> None:
    vault.write("a.md", b"---\r\ntags: [Work]\r\n---\r\n")
    vault.write("b/c.md", "\ufeff#work/Caf\u00e9\r\n".encode())
    vault.write("d.md", b"#workshop `#work` %%#work%%\n\n```\n#work\n```\n")
    vault.write("e.txt", b"#work")
    assert paths(with_tag(vault, "work")) == ["a.md", "b/c.md"]
    assert paths(with_tag(vault, "work/caf\u00e9")) == ["b/c.md"]
    assert paths(with_tag(vault, "none")) == []
    assert paths(with_tag(vault, "work", "b")) == ["b/c.md"]
    assert paths(vault.run(ScanNotes("", tag="work"))) == ["a.md"]
    status = os.stat(vault.disk.path("root/b/c.md"))
    (note,) = with_tag(vault, "work", "b").notes
    assert (note.size, note.mtime_ns) == (status.st_size, status.st_mtime_ns)


def test_what_cannot_be_looked_into_is_skipped_by_name(vault: Vault) -> None:
    vault.write("bad.md", b"#work \xff")
    vault.write("c\u202e.md", b"\xff")
    vault.write("large.md", b"#work" + b"x" * 1_048_576)
    vault.write("other.md", b"nothing")
    vault.build("link.md => other.md", "sub/")
    scanned = with_tag(vault, "work")
    assert (scanned.notes, scanned.folders, scanned.skipped) == (
        (),
        (),
        (
            Skipped("bad.md", 1, "not_text"),
            Skipped(None, 1, "not_text"),
            Skipped("large.md", 1, "too_large"),
            Skipped("link.md", 1, "link"),
        ),
    )


@pytest.mark.parametrize("budget", [1, 2, 5])
def test_stretches_of_any_size_find_the_same_notes(vault: Vault, budget: int) -> None:
    vault.build(
        *(f"f{number % 3}/{number}.md: {'#x' if number % 2 else '#y'}" for number in range(12)), "f => f1"
    )
    assert with_tag(vault, "x", budget=budget) == with_tag(vault, "x")
    assert len(with_tag(vault, "x").notes) == 6


def test_notes_are_found_in_the_scope_alone(vault: Vault) -> None:
    vault.build("a/x.md: #t", "b/x.md: #t", "ab/x.md: #t", "x.md: #t", "b/in/x.md: #t")
    assert paths(with_tag(vault, "t", folders=("b",), ignore=("b/in/**",))) == ["b/x.md"]
    with pytest.raises(PathRefused):
        vault.run(ScanNotes("a", tag="t"), folders=("b",))


def test_a_search_by_a_tag_ends_once_it_has_taken_long(vault: Vault) -> None:
    vault.build(*(f"{number:02}.md: #t" for number in range(40)))
    ticks = iter(range(0, 100_000, 100))
    root, scope = vault.workspace.root, Scope((ROOT,))
    found = tagging.scan(root, scope, ScanNotes(), "t", clock=lambda: float(next(ticks)))
    assert (len(found.notes), found.resume) == (stretches.LEAST_ENTRIES, "15.md")
