"""What the atlas knows is what a plain walk finds, at once and after whatever others have done."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsnotes.errors import NotCounted
from fsnotes.notes import atlas as atlases
from fsnotes.notes.atlas import STEADY_NS, Atlas
from fsnotes.notes.scope import Scope
from sandbox.names import ROOT
from sandbox.policy import Links, Policy
from sandbox.root import Root

ALL = Scope((ROOT,))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    top = tmp_path / "Notes"
    for path in ("a.md", "pic.png", "sub/b.md", "sub/deep/c.md", ".git/x.md", "sub/.hidden.md"):
        _write(top / path)
    return top


@pytest.fixture
def root(folder: Path) -> Iterator[Root]:
    with Root.open(folder) as opened:
        yield opened


def _write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")


def _known(atlas: Atlas, scope: Scope = ALL) -> set[str]:
    while True:
        try:
            return set(atlas.catalogue(scope))
        except NotCounted:
            continue


def _later(root: Root, times: int = 10) -> Atlas:
    """Return an atlas for which every folder was changed long ago."""
    return Atlas(root, now=lambda: time.time_ns() + times * STEADY_NS)


def test_notes_and_other_files_are_in_it_and_nothing_hidden(root: Root) -> None:
    assert _known(Atlas(root)) == {"a.md", "pic.png", "sub/b.md", "sub/deep/c.md"}


def test_what_is_ignored_is_not_in_it(root: Root) -> None:
    atlas = Atlas(root)
    assert _known(atlas, Scope((ROOT,), ("sub/deep/**",))) == {"a.md", "pic.png", "sub/b.md"}
    assert "sub/deep/c.md" in _known(atlas)


def test_a_grant_of_one_folder_changes_nothing_in_it(root: Root) -> None:
    assert "a.md" in _known(Atlas(root), Scope((ROOT.child("sub"),)))


def test_the_same_object_comes_back_while_nothing_changes(root: Root) -> None:
    atlas = _later(root)
    _known(atlas)
    assert atlas.catalogue(ALL) is atlas.catalogue(ALL)


def test_what_was_returned_does_not_change(folder: Path, root: Root) -> None:
    atlas = Atlas(root)
    _known(atlas)
    before = atlas.catalogue(ALL)
    _write(folder / "new.md")
    assert "new.md" in atlas.catalogue(ALL)
    assert "new.md" not in before


def test_folders_that_have_not_changed_are_not_listed_again(
    root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    atlas = _later(root)
    _known(atlas)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("listed")

    monkeypatch.setattr(Root, "list", refuse)
    assert len(set(atlas.catalogue(ALL))) == 4


def test_a_folder_that_had_just_been_changed_is_listed_again(
    folder: Path, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    atlas = Atlas(root)
    _known(atlas)
    stamps = {path: root.stamp(path) for path in (ROOT, ROOT.child("sub"), ROOT.child("sub").child("deep"))}
    # As on a file system whose clock has not ticked since.
    monkeypatch.setattr(Root, "stamp", lambda _, path: stamps[path])
    _write(folder / "sub" / "new.md")
    assert "sub/new.md" in atlas.catalogue(ALL)


def test_a_time_that_was_set_back_hides_nothing(folder: Path, root: Root) -> None:
    before = os.stat(folder / "sub")
    atlas = _later(root)
    _known(atlas)
    _write(folder / "sub" / "new.md")
    os.utime(folder / "sub", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "sub/new.md" in atlas.catalogue(ALL)


def test_links_are_no_files_unless_they_are_followed(folder: Path, root: Root) -> None:
    (folder / "link.md").symlink_to("a.md")
    (folder / "loop").symlink_to(".")
    (folder / "out.md").symlink_to("../outside.md")
    _write(folder.parent / "outside.md")
    assert not {"link.md", "out.md"} & _known(Atlas(root))
    with Root.open(folder, Policy(links=Links.WITHIN)) as following:
        found = _known(Atlas(following))
    assert "link.md" in found
    assert "out.md" not in found
    assert not any(path.startswith("loop/") for path in found)


def test_a_first_walk_ends_in_steps_and_knows_what_came_meanwhile(
    folder: Path, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atlases, "STEP_SECONDS", 0.0)
    atlas = Atlas(root, clock=iter(range(10**6)).__next__)
    with pytest.raises(NotCounted):
        atlas.catalogue(ALL)
    monkeypatch.setattr(atlases, "STEP_SECONDS", 1.5)
    with pytest.raises(NotCounted):
        atlas.catalogue(ALL)
    _write(folder / "new.md")  # the top has been looked at by now
    assert "new.md" in _known(atlas)


def test_a_folder_that_cannot_be_listed_keeps_no_other_out(folder: Path) -> None:
    for number in range(30):
        _write(folder / "full" / f"{number}.md")
    with Root.open(folder, Policy(max_entries=20)) as root:
        assert _known(Atlas(root)) == {"a.md", "pic.png", "sub/b.md", "sub/deep/c.md"}


PATHS = ["a.md", "b.png", "sub/a.md", "sub/x.md", "sub/deep/y.md", "other/z.md", ".h/a.md"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    steps=st.lists(st.tuples(st.sampled_from(["write", "drop", "swap"]), st.sampled_from(PATHS)), max_size=12)
)
def test_after_every_change_it_knows_what_a_walk_finds(tmp_path: Path, steps: list[tuple[str, str]]) -> None:
    top = tmp_path / "Random"
    shutil.rmtree(top, ignore_errors=True)
    top.mkdir()
    with Root.open(top) as root:
        atlas = Atlas(root)
        for act, name in steps:
            path = top / name
            if act == "write":
                _write(path)
            elif path.parent == top:
                path.unlink(missing_ok=True)
            elif act == "drop":
                shutil.rmtree(path.parent, ignore_errors=True)
            elif path.parent.exists():
                shutil.rmtree(top / "moved", ignore_errors=True)
                path.parent.rename(top / "moved")
            assert _known(atlas) == _walked(top)


def _walked(top: Path) -> set[str]:
    found = (path.relative_to(top) for path in top.rglob("*") if path.is_file())
    return {str(path) for path in found if not any(part.startswith(".") for part in path.parts)}
