"""What is said of the kernel is what it answers."""

from __future__ import annotations

import errno
import os

import pytest

from sandbox import _linux, kernel
from tests.require import has_openat2


def test_the_kernel_is_described_as_it_answers() -> None:
    seen = kernel.look()
    about = os.uname()
    assert (seen.system, seen.release, seen.machine) == (about.sysname, about.release, about.machine)
    assert (seen.openat2 is None) is has_openat2()
    assert seen.mount_ids


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM])
def test_what_is_missing_is_named(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> int:
        raise OSError(number, "no")

    monkeypatch.setattr(_linux, "openat2", missing)
    monkeypatch.setattr(_linux, "landlock_abi", missing)
    seen = kernel.look()
    assert (seen.openat2, seen.landlock) == (f"openat2: {errno.errorcode[number]}", None)


def test_an_openat2_that_leaves_the_folder_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(folder: int, path: bytes, *, flags: int, resolve: int) -> int:
        return os.open(path, flags, dir_fd=folder)

    monkeypatch.setattr(_linux, "openat2", careless)
    assert kernel.look().openat2 == "openat2 does not keep beneath the folder"
