"""Summaries of notes, and which notes answer to a title."""

from __future__ import annotations

import os

import pytest

from fsnotes.errors import InvalidArgument
from fsnotes.notes import finding
from fsnotes.notes.bounds import DESCRIBE_NOTES, FIND_NOTES
from fsnotes.notes.commands import DescribeNotes, FindNotes, Match, NoteSummary
from fsnotes.notes.etags import etag
from fsnotes.notes.finding import READ_BYTES
from fsnotes.notes.scope import Scope
from sandbox.names import ROOT
from tests.notes.conftest import Vault


def _find(vault: Vault, title: str, *, folders: tuple[str, ...] = ("",)) -> list[tuple[str, bool]]:
    found: list[Match] = []
    after: str | None = None
    for _ in range(1000):
        part = vault.run(FindNotes(title, after), folders=folders)
        found += part.matches
        after = part.resume
        if after is None:
            return [(match.path, match.exact) for match in found]
    raise AssertionError("the search does not end")


def test_a_summary_tells_title_size_time_and_etag(vault: Vault) -> None:
    vault.write("sub/a.md", b"# Title\n")
    status = os.stat(vault.disk.path("root/sub/a.md"))
    summary = NoteSummary("sub/a.md", "Title", 8, status.st_mtime_ns, etag(b"# Title\n"))
    described = vault.run(DescribeNotes(("sub/a.md",)))
    assert (described.notes, described.rest) == ((summary,), ())


def test_notes_that_vanished_or_are_refused_are_left_out_and_the_order_stays(vault: Vault) -> None:
    vault.disk.build("secret.md: secret")
    vault.build("b.md: x", "a.md: x", "l.md => a.md", ".h.md: x", "t.txt: x", "in/x.md: x", "f.md | fifo")
    vault.write("bad.md", b"\xff")
    paths = (
        "b.md",
        "none.md",
        "l.md",
        ".h.md",
        "../secret.md",
        "t.txt",
        "bad.md",
        "f.md",
        "a//b",
        "a.md",
        "in/x.md",
    )
    described = vault.run(DescribeNotes(paths), ignore=("in/**",))
    assert [(note.path, note.title) for note in described.notes] == [
        ("b.md", "b"),
        ("bad.md", "bad"),
        ("a.md", "a"),
    ]


def test_a_call_describes_a_bounded_number_of_notes_and_names_the_rest(vault: Vault) -> None:
    paths = tuple(f"{number:03}.md" for number in range(DESCRIBE_NOTES + 30))
    vault.build(*(f"{path}: x" for path in paths))
    described: list[str] = []
    rest = paths
    for _ in range(len(paths)):
        part = vault.run(DescribeNotes(rest))
        assert 1 <= len(part.notes) <= DESCRIBE_NOTES
        described += [note.path for note in part.notes]
        rest = part.rest
        if not rest:
            break
    assert tuple(described) == paths


def test_a_call_reads_a_bounded_number_of_bytes(vault: Vault) -> None:
    for name in ("a", "b", "c", "d"):
        vault.write(f"{name}.md", b"x" * (READ_BYTES // 2))
    slow_clock = lambda: 0.0  # noqa: E731 - time stands still, so that only the bytes count
    root, scope = vault.workspace.root, Scope((ROOT,))
    part = finding.describe(root, scope, DescribeNotes(("a.md", "b.md", "c.md", "d.md")), clock=slow_clock)
    assert ([note.path for note in part.notes], part.rest) == (["a.md", "b.md"], ("c.md", "d.md"))
    assert finding.find(root, scope, FindNotes("x"), clock=slow_clock).resume == "b.md"


def test_a_call_ends_once_it_has_taken_long_and_yet_gets_on(vault: Vault) -> None:
    """However slow each call is, as in a folder that takes long to list, a chain of them comes to its end."""
    vault.build("a.md: x", "b.md: x", *(f"c{number:02}.md: x" for number in range(20)))
    ticks = iter(range(0, 100_000, 100))
    root, scope = vault.workspace.root, Scope((ROOT,))
    part = finding.describe(root, scope, DescribeNotes(("a.md", "b.md")), clock=lambda: float(next(ticks)))
    assert ([note.path for note in part.notes], part.rest) == (["a.md"], ("b.md",))
    found = finding.find(root, scope, FindNotes("x"), clock=lambda: float(next(ticks)))
    assert found.resume == f"c{finding.LEAST_ENTRIES - 3:02}.md"


def test_a_search_looks_into_a_bounded_number_of_notes(vault: Vault) -> None:
    vault.build(*(f"{number:03}.md: x" for number in range(FIND_NOTES + 5)))
    root, scope = vault.workspace.root, Scope((ROOT,))
    assert finding.find(root, scope, FindNotes("zzz"), clock=lambda: 0.0).resume == f"{FIND_NOTES - 1:03}.md"
    assert _find(vault, f"{FIND_NOTES + 1:03}") == [(f"{FIND_NOTES + 1:03}.md", True)]


def test_notes_are_found_by_title_exact_or_containing(vault: Vault) -> None:
    vault.build(
        "a.md: # Caf\u00e9 Plan\n",
        "b.md: ---\ntitle: caf\u00e9  plan\n---\n",
        "c.md: # The CAFE\u0301 PLAN of May\n",
        "d.md: no",
    )
    vault.build("Caf\u00e9 plan.md: # Other\n", "x/caf\u00e9 plan.md: text\n")
    assert _find(vault, " CAFE\u0301 plan ") == [
        ("Caf\u00e9 plan.md", True),
        ("a.md", True),
        ("b.md", True),
        ("c.md", False),
        ("x/caf\u00e9 plan.md", True),
    ]


@pytest.mark.parametrize("asked", ["Sub/A.md", "sub/a", "SUB/A.MARKDOWN", "sub/a.markdown"])
def test_notes_are_found_by_their_path(vault: Vault, asked: str) -> None:
    vault.build("sub/a.markdown: # x\n", "sub/a b.md: # y\n")
    expected = [] if asked.endswith(".md") else [("sub/a.markdown", True)]
    assert _find(vault, asked) == expected


def test_a_search_stays_in_the_scope(vault: Vault) -> None:
    vault.build("a/x.md: # T\n", "b/x.md: # T\n", ".c/x.md: # T\n", "t.md: x")
    assert _find(vault, "t", folders=("b",)) == [("b/x.md", True)]


def test_a_title_without_words_is_refused(vault: Vault) -> None:
    for title in ("", "  \t\n"):
        with pytest.raises(InvalidArgument) as caught:
            vault.run(FindNotes(title))
        assert caught.value.argument == "title"
