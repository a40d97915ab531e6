"""What a caller of some folders sees of the files of a workspace: those in them, whatever changes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsnotes.errors import NotCounted
from fsnotes.notes.atlas import Atlas
from fsnotes.notes.catalogue import Catalogue, Style
from fsnotes.notes.scope import Scope
from fsnotes.notes.views import MAX_VIEWS, Views
from sandbox.names import ROOT, RelPath
from sandbox.root import Root

PATHS = ("top.md", "a/x.md", "a/in/y.md", "a/pic.png", "b/x.md", "ab/x.md", "cafe\u0301/z.md")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path in PATHS:
        _write(tmp_path / path)
    return tmp_path


@pytest.fixture
def views(folder: Path) -> Iterator[Views]:
    with Root.open(folder) as root:
        yield Views(Atlas(root, now=lambda: time.time_ns() + 10**12))


def _write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")


def _scope(*folders: str) -> Scope:
    return Scope(tuple(RelPath.parse_folder(each) for each in folders))


def _seen(views: Views, *folders: str, anew: bool = True) -> Catalogue:
    while True:
        try:
            return views.of(_scope(*folders), anew=anew)
        except NotCounted:
            continue


def test_who_has_everything_sees_everything(views: Views) -> None:
    assert set(_seen(views, "")) == set(PATHS)
    assert _seen(views, "") is _seen(views, "")


def test_a_folder_is_seen_with_what_is_in_it_and_nothing_else(views: Views) -> None:
    assert set(_seen(views, "a")) == {"a/x.md", "a/in/y.md", "a/pic.png"}
    assert set(_seen(views, "a/in", "b")) == {"a/in/y.md", "b/x.md"}
    assert set(_seen(views, "caf\u00e9")) == {"cafe\u0301/z.md"}
    assert set(_seen(views, "none")) == set()


def test_links_are_resolved_as_if_there_were_nothing_else(views: Views) -> None:
    assert _seen(views, "").find("x", "a/in/y.md", Style.WIKI).ids == ("a/x.md", "b/x.md", "ab/x.md")
    assert _seen(views, "a").find("x", "a/in/y.md", Style.WIKI).ids == ("a/x.md",)
    assert _seen(views, "a").find("top", "a/in/y.md", Style.WIKI).ids == ()


def test_a_view_follows_what_changes(folder: Path, views: Views) -> None:
    before = _seen(views, "a")
    _write(folder / "a/new.md")
    _write(folder / "b/new.md")
    (folder / "a/x.md").unlink()
    assert set(_seen(views, "a")) == {"a/new.md", "a/in/y.md", "a/pic.png"}
    assert set(before) == {"a/x.md", "a/in/y.md", "a/pic.png"}
    assert "b/new.md" in _seen(views, "")


def test_what_is_known_is_taken_as_it_is_unless_it_is_asked_for_anew(folder: Path, views: Views) -> None:
    known = _seen(views, "a")
    _write(folder / "a/new.md")
    assert _seen(views, "a", anew=False) is known
    assert "b/x.md" in _seen(views, "b", anew=False)
    assert "a/new.md" in _seen(views, "a")


def test_nothing_is_known_at_first_however_it_is_asked_for(views: Views) -> None:
    assert set(_seen(views, "b", anew=False)) == {"b/x.md"}


def test_the_views_that_are_kept_are_few(views: Views) -> None:
    first = _seen(views, "a")
    for number in range(MAX_VIEWS - 1):
        _seen(views, f"none{number}")
    assert _seen(views, "a") is first
    for number in range(MAX_VIEWS):
        _seen(views, f"none{number}")
    assert _seen(views, "a") is not first
    assert len(views._views) == MAX_VIEWS


def test_an_ignored_file_is_in_no_view(folder: Path) -> None:
    with Root.open(folder) as root:
        views = Views(Atlas(root))
        for folders in (ROOT, RelPath(("a",))):
            scope = Scope((folders,), ("a/in/**",))
            while True:
                try:
                    found = set(views.of(scope, anew=True))
                    break
                except NotCounted:
                    continue
            assert "a/in/y.md" not in found
            assert "a/x.md" in found
