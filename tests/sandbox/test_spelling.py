"""Finding the existing spelling of a path: NFC and NFD are one name to a person, two to the disk."""

from __future__ import annotations

import pytest

from sandbox.errors import Ambiguous, LinkRefused, Missing, NotAFolder
from sandbox.names import ROOT, RelPath
from sandbox.root import Root
from sandbox.spelling import find
from tests.disk import Tree

P = RelPath.parse
NFC = "caf\u00e9"
NFD = "cafe\u0301"


@pytest.mark.parametrize("asked", [NFC, NFD])
@pytest.mark.parametrize("stored", [NFC, NFD])
def test_either_form_finds_the_spelling_on_the_disk(disk: Tree, stored: str, asked: str) -> None:
    disk.build(f"root/{stored}/{stored}.md: text")
    with disk.open_root() as root:
        found = find(root, P(f"{asked}/{asked}.md"))
        assert found == P(f"{stored}/{stored}.md")
        assert root.read(found).data == b"text"


def test_two_files_that_differ_only_in_form_are_ambiguous_and_both_are_named(disk: Tree) -> None:
    disk.build(f"root/sub/{NFC}.md: one", f"root/sub/{NFD}.md: two")
    with disk.open_root() as root:
        for asked in (NFC, NFD):
            with pytest.raises(Ambiguous) as caught:
                find(root, P(f"sub/{asked}.md"))
            assert caught.value.names == (f"sub/{NFD}.md", f"sub/{NFC}.md")


def test_two_folders_that_differ_only_in_form_are_ambiguous(disk: Tree) -> None:
    disk.build(f"root/{NFC}/a.md: one", f"root/{NFD}/b.md: two")
    with disk.open_root() as root, pytest.raises(Ambiguous) as caught:
        find(root, P(f"{NFC}/a.md"))
    assert caught.value.names == (f"{NFD}/a.md", f"{NFC}/a.md")


def test_ascii_name_is_found_under_a_spelling_that_normalises_to_it(disk: Tree) -> None:
    disk.build("root/\u212aelvin.md: k")
    with disk.open_root() as root:
        assert find(root, P("Kelvin.md")) == P("\u212aelvin.md")


def test_case_and_width_are_not_the_same_name(disk: Tree) -> None:
    disk.build("root/Note.md: n")
    with disk.open_root() as root:
        for asked in ("note.md", "\uff2eote.md"):
            with pytest.raises(Missing) as caught:
                find(root, P(asked))
            assert caught.value.path == asked


def test_ascii_path_costs_no_listing(disk: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    disk.build("root/a/b/c.md: c")

    def refuse(*arguments: object, **more: object) -> None:
        raise AssertionError("listed")

    with disk.open_root() as root:
        monkeypatch.setattr(Root, "list", refuse)
        assert find(root, P("a/b/c.md")) == P("a/b/c.md")
        assert find(root, ROOT) == ROOT


def test_refusals_on_the_way_are_told_as_such(disk: Tree) -> None:
    disk.build("outside/a.md: s", "root/link => ../outside", "root/file.md: f")
    with disk.open_root() as root:
        with pytest.raises(LinkRefused):
            find(root, P("link/a.md"))
        with pytest.raises(NotAFolder):
            find(root, P("file.md/a.md"))
        with pytest.raises(Missing):
            find(root, P("none/a.md"))
        assert find(root, P("link")) == P("link")
