"""The lock: one writer among threads and processes, with a deadline, freed when its holder dies."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sandbox.errors import Abandoned, LockTimeout, RootUnusable
from sandbox.names import RelPath
from tests.disk import Tree
from tests.mounts import REPOSITORY
from tests.require import require

HOLDER = """
import sys, time
from sandbox import Root
path, resolver, lock_file = sys.argv[1], sys.argv[2], sys.argv[3] or None
root = Root.open(path, resolver=resolver, lock_file=lock_file)
with root.lock(timeout=30):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def other_holder(disk: Tree, lock_file: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds the lock until its input ends."""
    command = [sys.executable, "-c", HOLDER, disk.path("root"), disk.resolver, lock_file]
    holder = subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        ready, _, _ = select.select([holder.stdout], [], [], 30)
        assert ready
        assert holder.stdout.readline() == b"held\n"
        yield holder
    finally:
        holder.kill()
        holder.wait()
        holder.stdin.close()
        holder.stdout.close()


@pytest.fixture
def no_directory_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that refuses flock on a directory, as NFS does."""
    real = fcntl.flock

    def flock(fd: int, operation: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        real(fd, operation)

    monkeypatch.setattr(fcntl, "flock", flock)


def test_lock_of_another_process_ends_the_wait_at_the_deadline(disk: Tree) -> None:
    with disk.open_root() as root, other_holder(disk):
        start = time.monotonic()
        with pytest.raises(LockTimeout), root.lock(timeout=0.1):
            pass
        assert 0.1 <= time.monotonic() - start < 1.0
        with pytest.raises(LockTimeout), root.lock(timeout=0):
            pass


def test_lock_is_taken_as_soon_as_the_other_process_lets_go(disk: Tree) -> None:
    with disk.open_root() as root, other_holder(disk) as holder:
        assert holder.stdin is not None
        holder.stdin.close()
        with root.lock(timeout=30):
            assert holder.wait(timeout=30) == 0


def test_lock_dies_with_its_holder(disk: Tree) -> None:
    with disk.open_root() as root, other_holder(disk) as holder:
        holder.kill()
        with root.lock(timeout=30):
            pass


def test_lock_keeps_threads_apart_and_each_gets_its_turn(disk: Tree) -> None:
    inside = 0
    most = 0
    turns: list[int] = []

    def work(number: int) -> None:
        nonlocal inside, most
        with root.lock(timeout=30):
            inside += 1
            most = max(most, inside)
            time.sleep(0.002)
            turns.append(number)
            inside -= 1

    with disk.open_root() as root:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
    assert most == 1
    assert sorted(turns) == list(range(16))


def test_two_roots_of_one_process_exclude_each_other(disk: Tree) -> None:
    """Each has a mutex of its own; the kernel's lock belongs to each opening and keeps them apart."""
    with disk.open_root() as one, disk.open_root() as other:
        with one.lock(timeout=1), pytest.raises(LockTimeout), other.lock(timeout=0.02):
            pass
        with other.lock(timeout=1):
            pass


def test_lock_is_not_reentrant(disk: Tree) -> None:
    with disk.open_root() as root, root.lock(timeout=1), pytest.raises(LockTimeout), root.lock(timeout=0.02):
        pass


def test_wait_is_abandoned_when_the_caller_has_gone(disk: Tree) -> None:
    with disk.open_root() as root, other_holder(disk):
        asked = 0

        def gone() -> bool:
            nonlocal asked
            asked += 1
            return asked >= 3

        start = time.monotonic()
        with pytest.raises(Abandoned), root.lock(timeout=30, abandoned=gone):
            pass
        assert time.monotonic() - start < 5


def test_caller_that_went_before_the_lock_was_free_changes_nothing(disk: Tree) -> None:
    """Also when the lock is free at once: the question is asked after it is taken, before the block."""
    entered = False
    with disk.open_root() as root:
        with pytest.raises(Abandoned), root.lock(timeout=30, abandoned=lambda: True):
            entered = True
        with root.lock(timeout=1):
            pass
    assert not entered


def test_caller_that_goes_after_the_lock_was_taken_finishes(disk: Tree) -> None:
    gone = False
    with disk.open_root() as root, root.lock(timeout=30, abandoned=lambda: gone):
        gone = True
        root.create(RelPath.parse("a.md"), b"a")
    assert disk.snapshot("root") == {"a.md": b"a"}


def test_failure_in_the_block_frees_the_lock(disk: Tree) -> None:
    with disk.open_root() as root:
        with pytest.raises(ZeroDivisionError), root.lock(timeout=1):
            raise ZeroDivisionError
        with root.lock(timeout=0):
            pass


def test_lock_leaves_nothing_in_the_folder(disk: Tree) -> None:
    with disk.open_root() as root, root.lock(timeout=1):
        assert os.listdir(disk.path("root")) == []


def test_child_that_shares_the_description_does_not_keep_the_lock(disk: Tree) -> None:
    """A fork without exec inherits the descriptor; releasing is explicit, not left to the last close."""
    with disk.open_root() as root:
        with root.lock(timeout=1):
            copies = [os.dup(int(name)) for name in os.listdir("/proc/self/fd") if _is_root(disk, name)]
        try:
            assert copies != []
            with root.lock(timeout=0):
                pass
        finally:
            for copy in copies:
                os.close(copy)


def _is_root(disk: Tree, name: str) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{name}") == os.path.realpath(disk.path("root"))
    except OSError:
        return False


@pytest.mark.usefixtures("no_directory_locks")
def test_lock_file_stands_in_where_directories_cannot_be_locked(disk: Tree) -> None:
    lock_file = disk.path("state.lock")
    with disk.open_root(lock_file=lock_file) as one, disk.open_root(lock_file=lock_file) as other:
        assert one.features().lock == "file"
        with one.lock(timeout=1), pytest.raises(LockTimeout), other.lock(timeout=0.02):
            pass
        with other.lock(timeout=1):
            pass
    assert disk.snapshot() == {"root": "folder", "state.lock": b""}


@pytest.mark.usefixtures("no_directory_locks")
def test_without_a_lock_file_such_a_root_is_unusable_for_changes(disk: Tree) -> None:
    with disk.open_root() as root:
        with pytest.raises(RootUnusable), root.lock(timeout=1):
            pass
        disk.build("elsewhere/", "link.lock => elsewhere/target")
    with (
        disk.open_root(lock_file=disk.path("link.lock")) as root,
        pytest.raises(RootUnusable),
        root.lock(timeout=1),
    ):
        pass
    assert not disk.exists("elsewhere/target")


@pytest.mark.usefixtures("no_directory_locks")
def test_lock_file_that_was_replaced_while_waiting_is_not_trusted(
    disk: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock_file = disk.path("state.lock")
    flock = fcntl.flock
    taken: list[int] = []

    def replace_then_lock(fd: int, operation: int) -> None:
        if operation & fcntl.LOCK_EX and not os.path.isdir(f"/proc/self/fd/{fd}") and not taken:
            disk.save("state.lock", b"")
        flock(fd, operation)
        if operation & fcntl.LOCK_EX:
            taken.append(os.fstat(fd).st_ino)

    monkeypatch.setattr(fcntl, "flock", replace_then_lock)
    with disk.open_root(lock_file=lock_file) as root, root.lock(timeout=1):
        assert taken[-1] == os.stat(lock_file).st_ino
        assert taken[0] != taken[-1]


@pytest.mark.usefixtures("no_directory_locks")
def test_lock_file_in_another_folder_than_was_meant_is_not_made(disk: Tree) -> None:
    disk.build("part/", "other/")
    status = os.stat(disk.path("part"))
    identity = (status.st_dev, status.st_ino)
    with disk.open_root(lock_file=disk.path("part/lock"), lock_folder=identity) as root:
        with root.lock(timeout=1):
            assert disk.exists("part/lock")
        os.rename(disk.path("part"), disk.path("moved"))
        os.rename(disk.path("other"), disk.path("part"))
        with pytest.raises(RootUnusable), root.lock(timeout=1):
            pass
        os.rmdir(disk.path("part"))
        os.symlink("moved", disk.path("part"))
        with pytest.raises(RootUnusable), root.lock(timeout=1):
            pass
    assert os.listdir(disk.path("moved")) == ["lock"]


@pytest.mark.usefixtures("no_directory_locks")
@pytest.mark.parametrize("line", ["part/lock => ../secret", "part/lock => made", "part/lock/"])
def test_what_is_no_lock_file_is_neither_followed_nor_waited_for(disk: Tree, line: str) -> None:
    disk.build("secret: secret", "part/", line)
    before = disk.snapshot()
    with (
        disk.open_root(lock_file=disk.path("part/lock")) as root,
        pytest.raises(RootUnusable),
        root.lock(timeout=1),
    ):
        pass
    assert disk.snapshot() == {**before, "root": "folder"}


@pytest.mark.usefixtures("no_directory_locks")
def test_a_pipe_in_the_place_of_the_lock_file_keeps_nobody_waiting(disk: Tree) -> None:
    disk.build("part/")
    os.mkfifo(disk.path("part/lock"))
    with (
        disk.open_root(lock_file=disk.path("part/lock")) as root,
        pytest.raises(RootUnusable),
        root.lock(timeout=1),
    ):
        pass


@pytest.mark.usefixtures("no_directory_locks")
def test_neither_a_lock_file_nor_a_folder_of_another_account_is_opened(disk: Tree) -> None:
    require("root", available=os.geteuid() == 0, why="another user's folder")
    disk.build("part/")
    os.chown(disk.path("part"), 1000, 1000)
    with disk.open_root(lock_file=disk.path("part/lock")) as root:
        with pytest.raises(RootUnusable), root.lock(timeout=1):
            pass
        assert os.listdir(disk.path("part")) == []
        os.chown(disk.path("part"), 0, 0)
        with root.lock(timeout=1):
            pass
        os.chown(disk.path("part/lock"), 1000, 1000)
        with pytest.raises(RootUnusable), root.lock(timeout=1):
            pass
