"""Counting tags in bounded stretches: all of them, once each, and what could not be looked at is counted too."""

from __future__ import annotations

import os
from typing import Any

import pytest

from fsnotes.notes import stretches, tagging
from fsnotes.notes.commands import CountTags, TagsCounted
from fsnotes.notes.scope import Scope
from fsnotes.notes.tags import MAX_TAGS
from sandbox.names import ROOT
from tests.notes.conftest import Vault


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
