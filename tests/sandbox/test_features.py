"""What a weaker file system is told to be."""

from __future__ import annotations

import os

import pytest

from sandbox.features import Features
from sandbox.records import replace
from tests.disk import Tree

STRONG = Features(
    rename_flags=True,
    folder_sync=True,
    lock="directory",
    normalises=False,
    folds_case=False,
    sees_bind_mounts=True,
)


def test_an_ordinary_file_system_has_no_weakness_and_nothing_is_left_of_the_trial(disk: Tree) -> None:
    disk.build("root/a.md: a")
    before = disk.snapshot()
    with disk.open_root() as root:
        assert root.features().weaknesses == ()
    assert disk.snapshot() == before


@pytest.mark.parametrize(
    ("weaker", "word"),
    [
        (replace(STRONG, rename_flags=False), "exchanged"),
        (replace(STRONG, folder_sync=False), "synced"),
        (replace(STRONG, lock="file"), "locked"),
        (replace(STRONG, sees_bind_mounts=False), "bind mounts"),
    ],
)
def test_each_weakness_is_one_sentence(weaker: Features, word: str) -> None:
    (said,) = weaker.weaknesses
    assert word in said
    assert STRONG.weaknesses == ()


def test_what_needs_files_of_our_own_can_be_skipped(disk: Tree) -> None:
    """Then not even the folder's own time tells of the trial."""
    disk.build("root/a.md: a")
    before = os.stat(disk.path("root")).st_mtime_ns
    with disk.open_root() as root:
        features = root.features(names="skip")
        assert (features.rename_flags, features.normalises, features.folds_case) == (None, None, None)
        assert (features.lock, features.folder_sync, features.weaknesses) == ("directory", True, ())
        assert os.stat(disk.path("root")).st_mtime_ns == before
        root.features()
        assert os.stat(disk.path("root")).st_mtime_ns != before
