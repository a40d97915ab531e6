"""Whether a folder may be changed, asked beforehand: of one that may, and of what is none."""

from __future__ import annotations

import pytest

from sandbox.errors import LinkRefused, Missing, NotAFolder
from sandbox.names import ROOT, RelPath
from tests.disk import Tree

P = RelPath.parse


def test_a_folder_that_may_be_changed_is_found_so_and_nothing_changes(disk: Tree) -> None:
    """One that may not is tested where another account asks: `tests/notes/test_rehearsing.py`, and on mounts."""
    disk.build("root/sub/a.md: a")
    before = disk.snapshot()
    with disk.open_root() as root:
        root.check_folder(ROOT)
        root.check_folder(P("sub"))
        root.check_movable_folder(P("sub"))
    assert disk.snapshot() == before


@pytest.mark.parametrize(
    ("path", "refusal"),
    [("gone", Missing), ("a.md", NotAFolder), ("a.md/b", NotAFolder), ("link", LinkRefused)],
)
def test_what_is_no_folder_beneath_the_root_is_not_asked_about(
    disk: Tree, path: str, refusal: type[Exception]
) -> None:
    disk.build("root/a.md: a", "outside/", "root/link => ../outside")
    with disk.open_root() as root, pytest.raises(refusal):
        root.check_folder(P(path))
