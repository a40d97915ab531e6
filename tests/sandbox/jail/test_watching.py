"""What a supervisor makes of processes that it finds, or does not find."""

from __future__ import annotations

from typing import Any

import psutil
import pytest

from sandbox.jail import watching
from sandbox.jail.endings import Ending
from sandbox.jail.watching import EXTRA_CHILD, GONE, HIDDEN, NO_INNER_HALF, find_inner


class Process:
    """A worker's process, as far as it is asked."""

    pid = 1 << 22

    def __init__(self, status: int | None) -> None:
        self.status = status

    def reap(self) -> int | None:
        return self.status

    def attend(self, _: object) -> None:
        raise AssertionError


def gone(number: int) -> object:
    raise psutil.NoSuchProcess(number)


def find(monkeypatch: pytest.MonkeyPatch, *, found: list[int], hidden: bool, status: int | None) -> Any:
    process: Any = Process(status)
    monkeypatch.setattr(watching, "children", lambda _: found)
    monkeypatch.setattr(watching, "_hides_processes", lambda: hidden)
    return find_inner(process, split=True)


def test_an_inner_half_that_nobody_can_see_is_no_fault_of_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find(monkeypatch, found=[], hidden=True, status=None) is HIDDEN
    assert HIDDEN.kind is Ending.CRASHED
    assert "hidepid" in HIDDEN.why
    # Where others' processes can be seen, there is none.
    assert find(monkeypatch, found=[], hidden=False, status=None) is NO_INNER_HALF


def test_a_worker_that_is_gone_by_then_has_broken_no_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find(monkeypatch, found=[], hidden=False, status=-9) is GONE
    monkeypatch.setattr(psutil, "Process", gone)
    assert find(monkeypatch, found=[1 << 22], hidden=False, status=-9) is GONE
    assert find(monkeypatch, found=[1 << 22], hidden=False, status=None) is NO_INNER_HALF
    assert find(monkeypatch, found=[1, 2], hidden=False, status=None) is NO_INNER_HALF


def test_a_worker_without_halves_has_no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    process: Any = Process(None)
    monkeypatch.setattr(watching, "children", lambda _: [5])
    assert find_inner(process, split=False) is EXTRA_CHILD
    monkeypatch.setattr(watching, "children", lambda _: [])
    assert find_inner(process, split=False) is None


@pytest.mark.parametrize("error", [FileNotFoundError, ProcessLookupError, PermissionError])
def test_children_that_nobody_may_see_are_none(monkeypatch: pytest.MonkeyPatch, error: type[OSError]) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr(psutil, "Process", gone)
    assert watching.children(1) == []
    assert watching._hides_processes()


def test_what_others_run_is_shown_here() -> None:
    assert not watching._hides_processes()
