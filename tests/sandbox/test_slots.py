"""A slot holds one text or none, whatever is in its place, and never a part of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.errors import LinkRefused, RootUnusable, StorageFailed, TooLarge
from sandbox.place import Place
from sandbox.slots import Slot


@pytest.fixture
def slot(tmp_path: Path) -> Iterator[Slot]:
    made = Slot(str(tmp_path), "move.json", most=100)
    yield made
    made.close()


def test_what_was_written_is_read_until_it_is_cleared(slot: Slot) -> None:
    assert slot.is_empty
    assert slot.read() is None
    slot.write(b"one")
    slot.write(b"two")
    assert not slot.is_empty
    assert slot.read() == b"two"
    slot.clear()
    slot.clear()
    assert slot.is_empty
    assert slot.read() is None


def test_nothing_but_the_one_file_is_left(slot: Slot, tmp_path: Path) -> None:
    slot.write(b"one")
    assert os.listdir(tmp_path) == ["move.json"]
    assert (tmp_path / "move.json").stat().st_mode & 0o777 == 0o600
    slot.clear()
    assert os.listdir(tmp_path) == []


def test_what_is_too_long_is_not_written_and_not_read(slot: Slot, tmp_path: Path) -> None:
    slot.write(b"x" * 100)
    with pytest.raises(TooLarge):
        slot.write(b"x" * 101)
    assert slot.read() == b"x" * 100
    (tmp_path / "move.json").write_bytes(b"x" * 101)
    with pytest.raises(TooLarge):
        slot.read()


def test_a_full_disk_leaves_the_former_text(
    slot: Slot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slot.write(b"former")

    def full(*_: object) -> int:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("os.write", full)
    with pytest.raises(StorageFailed):
        slot.write(b"later")
    assert slot.read() == b"former"
    assert os.listdir(tmp_path) == ["move.json"]


def test_a_link_in_its_place_is_not_followed(slot: Slot, tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"outside")
    (tmp_path / "move.json").symlink_to("outside")
    with pytest.raises(LinkRefused):
        slot.read()
    slot.write(b"ours")
    assert slot.read() == b"ours"
    assert (tmp_path / "outside").read_bytes() == b"outside"


def test_a_pipe_in_its_place_keeps_nobody_waiting(slot: Slot, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "move.json")
    with pytest.raises(RootUnusable):
        slot.read()


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(RootUnusable):
        Slot(str(tmp_path / "gone"), "move.json", most=1)


def test_a_place_that_is_another_folder_by_now_holds_no_slot(tmp_path: Path) -> None:
    folder = tmp_path / "part"
    folder.mkdir()
    status = folder.stat()
    place = Place(str(folder), (status.st_dev, status.st_ino))
    kept = Slot(place, "move.json", most=100)
    kept.write(b"one")
    folder.rename(tmp_path / "moved")
    folder.mkdir()
    with pytest.raises(RootUnusable):
        Slot(place, "move.json", most=100)
    # One that is open stays with the folder that it was opened in.
    kept.write(b"two")
    assert (os.listdir(folder), (tmp_path / "moved/move.json").read_bytes()) == ([], b"two")
    kept.close()
