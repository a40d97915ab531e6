"""A test that needs what is missing skips by name, and fails where that name is required."""

from __future__ import annotations

import pytest

from tests.require import VARIABLE, require


def test_what_is_available_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "openat2")
    require("openat2", available=True)


def test_what_is_missing_skips_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "openat2,landlock")
    with pytest.raises(pytest.skip.Exception, match="needs seccomp"):
        require("seccomp", available=False)


def test_what_is_missing_and_required_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "openat2, landlock")
    with pytest.raises(pytest.fail.Exception, match="needs landlock: old kernel"):
        require("landlock", available=False, why="old kernel")
