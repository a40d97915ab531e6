"""Whom a worker becomes: the owner of its workspace where root starts it, and never somebody of root's group."""

from __future__ import annotations

import os
import pwd
from types import SimpleNamespace

import pytest

from sandbox.jail.limits import NOBODYS_GROUP, Account, account_for


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.jail.limits.os.geteuid", lambda: 0)


def known_as(monkeypatch: pytest.MonkeyPatch, gid: int | None) -> None:
    def look(uid: int) -> SimpleNamespace:
        if gid is None:
            raise KeyError(uid)
        return SimpleNamespace(pw_gid=gid)

    monkeypatch.setattr(pwd, "getpwuid", look)


@pytest.mark.parametrize(("uid", "gid"), [(0, 0), (0, 5), (1000, 1000), (1000, 7)])
def test_root_becomes_the_owner(root: None, uid: int, gid: int) -> None:
    assert account_for(uid, gid) == Account(uid, gid)


@pytest.mark.parametrize(("primary", "expected"), [(1234, 1234), (0, NOBODYS_GROUP), (None, NOBODYS_GROUP)])
def test_a_folder_of_somebody_that_was_left_to_roots_group_is_served_in_a_group_of_his_own(
    root: None, monkeypatch: pytest.MonkeyPatch, primary: int | None, expected: int
) -> None:
    known_as(monkeypatch, primary)
    assert account_for(1000, 0) == Account(1000, expected)


def test_everybody_else_stays_who_he_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.jail.limits.os.geteuid", lambda: 1000)
    monkeypatch.setattr("sandbox.jail.limits.os.getegid", lambda: 1001)
    assert account_for(2000, 0) == account_for(0, 0) == Account(1000, 1001)
    assert os.geteuid() == 1000
