"""The way to a folder is root's alone, or it is said where it is not; and so is who cannot pass."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.approach import Approach
from tests.require import require

USER, GROUP = 1000, 2000
PASSABLE, SHARED, FOR_THE_GROUP, FOR_ALL_BUT_THE_OWNER = 0o711, 0o1777, 0o710, 0o071


@pytest.fixture
def top() -> Iterator[Path]:
    """Make a folder of root's that everybody can reach."""
    require("root", available=os.geteuid() == 0, why="folders of several users")
    with tempfile.TemporaryDirectory(prefix="fsnotes-approach-", dir="/tmp") as folder:
        os.chmod(folder, PASSABLE)
        yield Path(os.path.realpath(folder))


def _build(top: Path) -> Path:
    place = top / "a/b"
    place.mkdir(parents=True)
    for folder in (place, place.parent):
        os.chmod(folder, PASSABLE)
    return place


def _exchangeable(place: Path) -> str | None:
    with Approach(str(place)) as way:
        return way.exchangeable()


def _closed_to(place: Path, group: int = USER) -> str | None:
    with Approach(str(place)) as way:
        return way.closed_to(USER, group)


def test_every_folder_of_the_way_is_looked_at_and_the_last_one_is_held(top: Path) -> None:
    place = _build(top)
    before = len(os.listdir("/proc/self/fd"))
    with Approach(str(place)) as way:
        assert [step.path for step in way.steps] == ["/", "/tmp", str(top), f"{top}/a", str(place)]
        assert [step.status.st_ino for step in way.steps[-2:]] == [
            place.parent.stat().st_ino,
            place.stat().st_ino,
        ]
        assert os.fstat(way.fd).st_ino == place.stat().st_ino
        assert len(os.listdir("/proc/self/fd")) == before + 1
    way.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_link_on_the_way_is_followed_nowhere(top: Path) -> None:
    place = _build(top)
    (top / "link").symlink_to("a")
    (top / "a/last").symlink_to("b")
    before = len(os.listdir("/proc/self/fd"))
    for path in (top / "link/b", top / "a/last", top / "gone/b"):
        with pytest.raises(OSError):
            Approach(str(path))
    assert len(os.listdir("/proc/self/fd")) == before
    assert _exchangeable(place) is None


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o722, 0o777])
def test_a_folder_in_which_others_may_rename_is_told(top: Path, mode: int) -> None:
    place = _build(top)
    for folder in (place.parent, place):
        os.chmod(folder, mode)
        writable = bool(mode & 0o022)
        assert (_exchangeable(place) == str(folder)) is writable
        os.chmod(folder, PASSABLE)
    assert _exchangeable(place) is None


def test_a_folder_of_another_account_is_told_whatever_its_mode(top: Path) -> None:
    place = _build(top)
    for folder in (place.parent, place):
        os.chown(folder, USER, USER)
        assert _exchangeable(place) == str(folder)
        os.chown(folder, 0, 0)
    os.chown(place, 0, GROUP)
    assert _exchangeable(place) is None


def test_in_a_sticky_folder_what_is_roots_stays_but_nothing_else(top: Path) -> None:
    place = _build(top)
    os.chmod(place.parent, SHARED)
    assert _exchangeable(place) is None
    os.chown(place, USER, USER)
    assert _exchangeable(place) == str(place.parent)
    os.chown(place, 0, 0)
    os.chmod(place.parent, PASSABLE)
    os.chmod(place, SHARED)  # in the last one there may be anything
    assert _exchangeable(place) == str(place)


@pytest.mark.parametrize("mode", [0o700, 0o710, 0o766, 0o600])
def test_a_folder_that_does_not_let_a_user_pass_is_told(top: Path, mode: int) -> None:
    place = _build(top)
    for folder in (place, place.parent):
        os.chmod(folder, mode)
        assert _closed_to(place) == str(folder)
        os.chmod(folder, 0o701)
        assert _closed_to(place) is None


def test_a_group_and_an_owner_pass_by_their_own_right_and_by_no_other(top: Path) -> None:
    place = _build(top)
    os.chown(place, 0, GROUP)
    os.chmod(place, FOR_THE_GROUP)
    assert (_closed_to(place), _closed_to(place, GROUP)) == (str(place), None)
    os.chmod(place, 0o701)  # the group is in the way of its members
    assert (_closed_to(place), _closed_to(place, GROUP)) == (None, str(place))
    os.chown(place, USER, GROUP)
    os.chmod(place, FOR_ALL_BUT_THE_OWNER)
    assert _closed_to(place, GROUP) == str(place)


@pytest.mark.parametrize("mode", [0o711, 0o701, 0o710, 0o700, 0o755])
def test_the_kernel_says_the_same(top: Path, mode: int) -> None:
    """An oracle: a program of the user tries it."""
    place = _build(top)
    os.chmod(place.parent, mode)
    tried = subprocess.run(
        ["stat", f"{place}/."], user=USER, group=USER, extra_groups=[], capture_output=True, check=False
    )
    assert (_closed_to(place) is None) == (tried.returncode == 0)
