"""Whether the process that wrote a row still lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from fsnotes.confirm import owners

_NAME = "from fsnotes.confirm import owners; print(owners.this_process(), flush=True); input()"


def _child() -> tuple[subprocess.Popen[str], str]:
    child = subprocess.Popen(
        [sys.executable, "-c", _NAME], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    return child, child.stdout.readline().strip()


def test_this_process_is_alive() -> None:
    assert owners.this_process() == owners.this_process()
    assert owners.is_alive(owners.this_process())


def test_another_process_is_alive_until_it_is_killed_and_dead_before_it_is_reaped() -> None:
    child, name = _child()
    with child:
        assert owners.is_alive(name)
        child.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not owners.is_alive(name)
    assert not owners.is_alive(name)


def test_a_process_that_got_the_id_of_a_dead_one_is_not_taken_for_it() -> None:
    pid, started, boot = owners.this_process().split(":")
    assert not owners.is_alive(f"{pid}:{int(started) - 1}:{boot}")
    assert not owners.is_alive(f"{pid}:{int(started) + 1}:{boot}")


def test_a_process_of_another_boot_is_dead() -> None:
    pid, started, _ = owners.this_process().split(":")
    assert not owners.is_alive(f"{pid}:{started}:00000000-0000-0000-0000-000000000000")


@pytest.mark.parametrize("owner", ["", "x", "1:2", "1:2:3:4", "-1:2:3", "\n", "1:2:zz"])
def test_a_name_that_cannot_be_read_counts_as_alive(owner: str) -> None:
    assert owners.is_alive(owner)


def test_without_proc_the_id_alone_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owners, "_started", lambda _: "?")
    monkeypatch.setattr(owners, "_boot", lambda: "?")
    assert owners.this_process() == f"{os.getpid()}:?:?"
    assert owners.is_alive(f"{os.getpid()}:?:?")
    assert owners.is_alive("1:?:?")
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait(30)
    assert not owners.is_alive(f"{child.pid}:?:?")
    assert not owners.is_alive("0:?:?")
