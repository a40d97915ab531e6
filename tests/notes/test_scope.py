"""What a grant's folders cover and what ignore patterns leave out."""

from __future__ import annotations

import time

import pytest

from fsnotes.notes.scope import Scope
from sandbox.names import ROOT, RelPath


def _scope(*folders: str, ignore: tuple[str, ...] = ()) -> Scope:
    return Scope(tuple(RelPath.parse_folder(folder) for folder in folders), ignore)


@pytest.mark.parametrize(
    ("folder", "path", "covered"),
    [
        ("", "a.md", True),
        ("", "a/b/c.md", True),
        ("Work", "Work/a.md", True),
        ("Work", "Work", True),
        ("Work", "Workshop/a.md", False),
        ("Work", "work/a.md", False),
        ("Work/Plans", "Work/a.md", False),
        ("Work/Plans", "Work", False),
        ("Caf\u00e9", "Cafe\u0301/a.md", True),
        ("Caf\u00e9", "Cafe/a.md", False),
    ],
)
def test_a_scope_covers_by_component_and_never_by_prefix(folder: str, path: str, covered: bool) -> None:
    assert _scope(folder).covers(RelPath.parse(path)) is covered


def test_a_scope_without_folders_covers_nothing() -> None:
    assert not Scope(()).covers(RelPath.parse("a.md"))
    assert not Scope(()).covers(ROOT)


@pytest.mark.parametrize(
    ("pattern", "path", "ignored"),
    [
        ("Archive/**", "Archive", True),
        ("Archive/**", "Archive/a.md", True),
        ("Archive/**", "Archive/2020/a.md", True),
        ("Archive/**", "Archive.md", False),
        ("Archive/**", "Old/Archive/a.md", False),
        ("Archive", "Archive/a.md", True),
        ("Archive/", "Archive/a.md", True),
        ("*.draft.md", "a.draft.md", True),
        ("*.draft.md", "sub/a.draft.md", False),
        ("**/*.draft.md", "a.draft.md", True),
        ("**/*.draft.md", "sub/deep/a.draft.md", True),
        ("a/*/c.md", "a/b/c.md", True),
        ("a/*/c.md", "a/b/b/c.md", False),
        ("a/**/c.md", "a/c.md", True),
        ("a/**/c.md", "a/b/b/c.md", True),
        ("[ab].md", "b.md", True),
        ("[ab].md", "c.md", False),
        ("?.md", "ab.md", False),
        ("caf\u00e9.md", "cafe\u0301.md", True),
        ("A.md", "a.md", False),
        ("", "a.md", False),
        ("**", "a.md", True),
    ],
)
def test_an_ignore_pattern_matches_a_path_or_a_folder_above_it(
    pattern: str, path: str, ignored: bool
) -> None:
    assert _scope("", ignore=(pattern,)).ignores(RelPath.parse(path)) is ignored


def test_matching_is_linear_where_backtracking_would_not_end() -> None:
    scope = _scope("", ignore=("/".join(["**", "a*a*a*a*a*b"] * 30), "/".join(["**/*"] * 60)))
    path = RelPath(("a" * 60,) * 60)
    started = time.process_time()
    for _ in range(10):
        scope.ignores(path)
    assert time.process_time() - started < 2


def test_tops_are_sorted_and_leave_out_folders_within_others() -> None:
    assert [str(top) for top in _scope("b", "a/x", "a", "ab").tops()] == ["a", "ab", "b"]
