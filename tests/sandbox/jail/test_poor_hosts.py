"""Hosts whose kernel tells less about other processes: everything still holds, if a little later."""

from __future__ import annotations

import builtins
import os
import signal
from typing import Any

import psutil
import pytest

from sandbox.errors import WorkerCrashed, WorkerHung
from sandbox.jail import watching
from tests.sandbox.jail.conftest import Layout, Yard, is_gone, pids, soon, until


def test_without_process_handles_every_end_is_noticed(
    yard: Yard, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("os.pidfd_open")
    jail = yard.started(layout)
    with pytest.raises(WorkerCrashed):
        jail.call("exit", {"status": 1}, deadline=soon(), write=True)
    jail.call("count", {}, deadline=soon(), write=True)
    with pytest.raises(WorkerHung):
        jail.call("spin", {}, deadline=soon(0.3), write=True)
    jail.call("count", {}, deadline=soon(), write=True)
    before = pids(jail)
    os.kill(before[-1], signal.SIGKILL)
    until(lambda: all(is_gone(pid) for pid in before))
    assert jail.call("count", {}, deadline=soon(), write=True)["calls"] == 1


def test_without_a_list_of_children_they_are_looked_for(
    yard: Yard, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = builtins.open

    def opened(path: Any, *args: Any, **kwargs: Any) -> Any:
        if str(path).endswith("/children"):
            raise FileNotFoundError(path)
        return usual(path, *args, **kwargs)

    monkeypatch.setattr("builtins.open", opened)
    jail = yard.started(layout)
    assert len(pids(jail)) == (2 if layout == "full" else 1)
    child = psutil.Popen(["sleep", "30"])
    try:
        assert child.pid in watching.children(os.getpid())
    finally:
        child.kill()
        child.wait()
    assert watching.children(pids(jail)[-1]) == []
    assert watching.children(2**22 - 1) == []
