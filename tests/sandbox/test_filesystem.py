"""Which file system a folder lies on, as the kernel lists it."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from sandbox import filesystem
from sandbox._linux import Glance
from sandbox.filesystem import FileSystem, identify
from sandbox.root import Place, Root


def place(path: Path | str) -> Place:
    with Root.open(path) as root:
        return root.place


def test_the_file_system_is_the_one_that_the_mounts_name(tmp_path: Path) -> None:
    kinds = {each.mountpoint: each.fstype for each in psutil.disk_partitions(all=True)}
    for folder in ("/proc", "/dev", "/"):
        if folder in kinds:
            found = identify(place(folder))
            assert found is not None
            assert found.kind == kinds[folder]
    assert identify(place(tmp_path)) is not None


@pytest.mark.parametrize(
    ("line", "kind", "read_only"),
    [
        (b"36 35 98:0 /a /b rw,noatime master:1 shared:2 - ext4 /dev/sda1 rw,errors=continue", "ext4", False),
        (b"36 35 98:0 /a /b ro,noatime - ext4 /dev/sda1 rw", "ext4", True),
        (b"36 35 98:0 / /b rw - fuse.sshfs me@there:/ ro,user_id=0", "fuse.sshfs", True),
        (b"36 35 98:0 / /b rw,errors=remount-ro - nfs4 there:/ rw,vers=4.2", "nfs4", False),
    ],
)
def test_a_line_of_the_mounts_is_read(line: bytes, kind: str, *, read_only: bool) -> None:
    assert filesystem._read(line) == FileSystem(kind, read_only)


def test_another_folder_at_the_place_is_not_described(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    there = place(folder)
    folder.rename(tmp_path / "moved")
    assert identify(there) is None
    folder.mkdir()
    assert identify(there) is None


def test_without_the_number_of_a_mount_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = place(tmp_path)
    device = os.stat(tmp_path).st_dev
    monkeypatch.setattr(filesystem._linux, "glance", lambda _: Glance(0, ("device", device)))
    assert identify(there) is None
