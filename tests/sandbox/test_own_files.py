"""Folders and files of our own are opened if they are ours, and nothing is opened in anybody else's."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sandbox import own_files
from sandbox.errors import RootUnusable
from sandbox.own_files import open_own_file, open_own_folder
from sandbox.place import Place
from tests.require import require

OTHER = 1000


def _place(folder: Path) -> Place:
    status = folder.stat()
    return Place(str(folder), (status.st_dev, status.st_ino))


@contextmanager
def opened(folder: Path | Place) -> Iterator[int]:
    descriptor = open_own_folder(folder if isinstance(folder, Place) else str(folder))
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def need_root() -> None:
    require("root", available=os.geteuid() == 0, why="another user's files")


def test_a_folder_of_ours_is_opened_by_its_path_and_by_its_place(tmp_path: Path) -> None:
    for folder in (tmp_path, _place(tmp_path)):
        with opened(folder) as descriptor:
            assert os.fstat(descriptor).st_ino == tmp_path.stat().st_ino


def test_a_link_a_file_and_nothing_are_no_folder_of_ours(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    (tmp_path / "file").write_bytes(b"")
    for name in ("link", "file", "gone", "\0"):
        with pytest.raises(RootUnusable):
            open_own_folder(f"{tmp_path}/{name}")


def test_another_folder_at_a_place_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "part"
    folder.mkdir()
    place = _place(folder)
    folder.rename(tmp_path / "moved")
    folder.mkdir()
    with pytest.raises(RootUnusable):
        open_own_folder(place)
    folder.rmdir()
    (tmp_path / "moved").rename(folder)
    with opened(place):
        pass


def test_a_folder_of_another_account_is_refused_and_nothing_in_it_is_opened(tmp_path: Path) -> None:
    need_root()
    folder = tmp_path / "part"
    folder.mkdir()
    place = _place(folder)
    os.chown(folder, OTHER, OTHER)
    for where in (str(folder), place):
        with pytest.raises(RootUnusable):
            open_own_folder(where)
    os.chown(folder, 0, 0)
    with opened(place):
        pass


def test_a_file_of_ours_is_made_and_opened_again(tmp_path: Path) -> None:
    with opened(tmp_path) as folder:
        os.close(open_own_file("lock", os.O_RDWR | os.O_CREAT, folder=folder))
        assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600
        os.close(open_own_file("lock", os.O_RDONLY, folder=folder))
        with pytest.raises(FileNotFoundError):
            open_own_file("none", os.O_RDONLY, folder=folder)


def test_what_is_no_plain_file_is_refused_and_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "link").symlink_to("secret")
    (tmp_path / "dangling").symlink_to("made")
    before = len(os.listdir("/proc/self/fd"))
    with opened(tmp_path) as folder:
        for name in ("pipe", "folder"):
            with pytest.raises((RootUnusable, IsADirectoryError)):
                open_own_file(name, os.O_RDWR, folder=folder)
        with pytest.raises(RootUnusable):
            open_own_file("folder", os.O_RDONLY, folder=folder)
        for name in ("link", "dangling"):
            with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
                open_own_file(name, os.O_RDWR | os.O_CREAT, folder=folder)
    assert len(os.listdir("/proc/self/fd")) == before
    assert (tmp_path / "secret").read_bytes() == b"secret"
    assert not (tmp_path / "made").exists()


def test_a_file_of_another_account_is_refused(tmp_path: Path) -> None:
    need_root()
    (tmp_path / "lock").write_bytes(b"theirs")
    os.chown(tmp_path / "lock", OTHER, OTHER)
    with opened(tmp_path) as folder, pytest.raises(RootUnusable):
        open_own_file("lock", os.O_RDWR | os.O_CREAT, folder=folder)
    assert (tmp_path / "lock").read_bytes() == b"theirs"


# -- root holds what it uses ---------------------------------------------------------------------


def _is_free(folder: Path) -> bool:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def test_root_holds_the_folder_of_a_place_as_long_as_it_is_open_and_with_others_of_roots(
    tmp_path: Path,
) -> None:
    need_root()
    with opened(_place(tmp_path)), opened(_place(tmp_path)):
        assert not _is_free(tmp_path)
    assert _is_free(tmp_path)
    with opened(tmp_path):  # by its path alone: what a worker does, in a folder that was looked at before
        assert _is_free(tmp_path)


def test_a_folder_that_is_given_away_while_root_waits_for_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_root()
    folder = tmp_path / "part"
    folder.mkdir()
    place, holder = _place(folder), os.open(folder, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)

    def give_away(_: float) -> None:
        os.fchown(holder, OTHER, OTHER)
        fcntl.flock(holder, fcntl.LOCK_UN)

    monkeypatch.setattr("time.sleep", give_away)
    with pytest.raises(RootUnusable):
        open_own_folder(place)
    os.close(holder)


def test_a_folder_that_is_never_let_go_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_root()
    holder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    monkeypatch.setattr(own_files, "HOLD_SECONDS", 0.02)
    with pytest.raises(RootUnusable):
        open_own_folder(_place(tmp_path))
    os.close(holder)
    with opened(_place(tmp_path)):
        pass


def test_a_folder_that_cannot_be_locked_is_used_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who would give it away cannot lock it either."""
    need_root()

    def refuse(*_: object) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with opened(_place(tmp_path)):
        pass
