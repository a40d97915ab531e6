"""Calls that are not answered: each way a worker can fail is another error, at once, and names no path."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from typing import Any

import psutil
import pytest

from sandbox.errors import HandlerFailed, WorkerBreach, WorkerCrashed, WorkerFailed, WorkerHung, WorkerLimit
from sandbox.jail.channel import MAX_REPLY
from sandbox.jail.supervisor import Jail
from tests.sandbox.jail.conftest import Lasting, Layout, Yard, is_gone, pids, soon, until

QUICK = 0.5
"""Seconds in which a failure must be known, on a machine that is busy with other things."""


@pytest.fixture(autouse=True)
def _no_descriptor_leaks() -> None:
    """The jails of this module last; their descriptors change under a test and are counted at the end."""


def fail(
    jail: Jail,
    op: str,
    args: dict[str, Any] | None = None,
    *,
    write: bool = True,
    seconds: float = 20,
    after: float = 0,
) -> WorkerFailed:
    """Make a call that fails, and check what holds for every failure; return the error.

    It is known at once (or *after* so many seconds), names no path, the worker is gone by then and no zombie, and
    the next call is answered by a fresh one.
    """
    jail.call("count", {}, deadline=soon(), write=False)
    before = pids(jail)
    begun = time.monotonic()
    with pytest.raises(WorkerFailed) as caught:
        jail.call(op, args or {}, deadline=soon(seconds), write=write)
    assert after <= time.monotonic() - begun < after + QUICK
    assert [pid for pid in before if not is_gone(pid)] == []
    assert re.search(r"/\w", str(caught.value) + repr(vars(caught.value))) is None
    assert caught.value.sent
    assert jail.call("count", {}, deadline=soon(), write=True)["calls"] == 1
    return caught.value


def endings(jail: Jail, number: int) -> list[str]:
    """Return how the latest workers ended."""
    return [event.ending for event in jail.events if event.ending][-number:]


# -- the worker ends ---------------------------------------------------------------------------


def test_crash_is_known_at_once(lasting: Lasting, layout: Layout) -> None:
    assert type(fail(lasting(layout), "crash")) is WorkerCrashed


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
def test_worker_that_is_killed_while_it_works_has_crashed(
    lasting: Lasting, layout: Layout, number: signal.Signals
) -> None:
    jail = lasting(layout)
    if layout == "full":
        number = signal.SIGKILL  # nothing else reaches process 1 of a namespace
    jail.call("count", {}, deadline=soon(), write=False)
    threading.Timer(0.1, os.kill, (pids(jail)[-1], number)).start()
    failure = fail(jail, "sleep", {"seconds": 30}, after=0.05)
    assert type(failure) is WorkerCrashed
    assert failure.why.endswith(f"signal {number}")


@pytest.mark.parametrize("status", [0, 70, 130])
def test_exit_is_a_crash(lasting: Lasting, layout: Layout, status: int) -> None:
    assert type(fail(lasting(layout), "exit", {"status": status})) is WorkerCrashed


def test_forbidden_call_is_a_breach(lasting: Lasting, layout: Layout) -> None:
    """A real call that the filter kills; without a filter, the signal that it would have sent."""
    jail = lasting(layout)
    failure = fail(jail, *(("crash", {"number": signal.SIGSYS}) if layout == "unlocked" else ("trip", {})))
    assert type(failure) is WorkerBreach
    assert "forbidden system call" in failure.why


def test_worker_whose_end_is_told_to_nobody_has_broken_its_rules(yard: Yard, layout: Layout) -> None:
    """It may have been killed at a forbidden call. Ignored by who started us, SIGCHLD takes the status away."""
    former = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        jail = yard.started(layout)
        failure = fail(jail, "exit", {"status": 0})
    finally:
        signal.signal(signal.SIGCHLD, former)
    assert type(failure) is WorkerBreach
    assert "SIGCHLD" in failure.why


def test_processor_limit_is_a_limit_and_no_crash(lasting: Lasting) -> None:
    assert type(fail(lasting(), "crash", {"number": signal.SIGXCPU})) is WorkerLimit


def test_memory_that_is_used_up_is_answered_and_the_worker_replaced(lasting: Lasting, layout: Layout) -> None:
    jail = lasting(layout)
    jail.call("count", {}, deadline=soon(), write=False)
    before = pids(jail)
    with pytest.raises(WorkerLimit) as caught:
        jail.call("small_bomb" if layout == "unlocked" else "bomb", {}, deadline=soon(), write=False)
    assert caught.value.sent
    assert jail.call("count", {}, deadline=soon(), write=False)["calls"] == 1
    assert set(pids(jail)).isdisjoint(before)
    assert endings(jail, 1) == ["limit"]


@pytest.mark.parametrize("op", ["spin", "sleep"])
def test_hang_ends_at_the_deadline_and_the_worker_is_gone_before_anybody_hears(
    lasting: Lasting, layout: Layout, op: str
) -> None:
    args = {"seconds": 60} if op == "sleep" else {}
    assert type(fail(lasting(layout), op, args, seconds=0.2, after=0.2)) is WorkerHung


def test_stopped_worker_hangs_and_is_killed(lasting: Lasting) -> None:
    jail = lasting()
    jail.call("count", {}, deadline=soon(), write=False)
    threading.Timer(0.1, os.kill, (pids(jail)[0], signal.SIGSTOP)).start()
    assert type(fail(jail, "sleep", {"seconds": 0.2}, seconds=0.3, after=0.3)) is WorkerHung


def test_death_while_idle_costs_no_call(lasting: Lasting, layout: Layout) -> None:
    jail = lasting(layout)
    jail.call("count", {}, deadline=soon(), write=False)
    before = pids(jail)
    os.kill(before[-1], signal.SIGKILL)
    until(lambda: all(is_gone(pid) for pid in before))
    assert jail.call("count", {}, deadline=soon(), write=True)["calls"] == 1
    assert endings(jail, 1) == ["crashed"]


def test_death_of_the_outer_half_takes_the_inner_one_along(lasting: Lasting, full: Layout) -> None:
    jail = lasting(full)
    jail.call("count", {}, deadline=soon(), write=False)
    before = pids(jail)
    assert len(before) == 2
    threading.Timer(0.1, os.kill, (before[0], signal.SIGKILL)).start()
    assert type(fail(jail, "sleep", {"seconds": 30}, after=0.05)) is WorkerCrashed


# -- the worker answers nonsense ---------------------------------------------------------------


def framed(body: str, number: int = 0) -> str:
    """Return the frame around *body*, as text of which each character is a byte; @ is the right id, > the next."""
    for mark, value in (("@", number), (">", number + 1)):
        body = body.replace(mark, str(value))
    return len(body).to_bytes(4, "big").decode("latin-1") + body


def following(jail: Jail) -> int:
    """Return the id of the call after the next one."""
    return next(jail._numbers) + 2


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("", "JSON"),
        ("hello", "JSON"),
        ('{"id":>,"ok":{}}', "another request"),
        ('{"id":@,"ok":null}', "is none"),
        ('{"id":@,"ok":{"text":1}}\0text', "is none"),
        ('{"id":@,"ok":{}}\0\xff', "JSON"),
    ],
)
def test_reply_that_is_none_is_a_breach(lasting: Lasting, body: str, why: str) -> None:
    """A few through a real worker; `test_replies.py` has them all."""
    jail = lasting()
    failure = fail(jail, "raw", {"text": framed(body, following(jail))})
    assert type(failure) is WorkerBreach
    assert why in failure.why


@pytest.mark.parametrize("length", [MAX_REPLY + 1, 0xFFFF_FFFF])
def test_reply_that_is_too_long_is_a_breach(lasting: Lasting, length: int) -> None:
    failure = fail(lasting(), "raw", {"text": length.to_bytes(4, "big").decode("latin-1")})
    assert type(failure) is WorkerBreach
    assert "longer" in failure.why


@pytest.mark.parametrize("more", [framed("{}"), "x"], ids=["a frame", "a byte"])
def test_reply_with_more_behind_it_is_a_breach(lasting: Lasting, more: str) -> None:
    jail = lasting()
    failure = fail(jail, "raw", {"text": framed('{"id":@,"ok":{}}', following(jail)) + more})
    assert type(failure) is WorkerBreach
    assert "nobody asked" in failure.why


@pytest.mark.parametrize("text", ["\0\0", "\0\x0f\0\0", "\0\x0f\0\0half"], ids=["cut", "empty", "half"])
def test_reply_that_never_ends_hangs(lasting: Lasting, text: str) -> None:
    assert type(fail(lasting(), "raw", {"text": text}, seconds=0.2, after=0.2)) is WorkerHung


def test_reply_that_comes_byte_after_byte_does_not_move_the_deadline(lasting: Lasting) -> None:
    args = {"text": "\0\x0f\0\0" + "x" * 100, "times": 10_000, "pause": 0.001}
    assert type(fail(lasting(), "raw", args, seconds=0.3, after=0.3)) is WorkerHung


def test_endless_bytes_are_not_read_without_end(lasting: Lasting) -> None:
    jail = lasting()
    before = psutil.Process().memory_info().rss
    assert type(fail(jail, "raw", {"text": "x" * 100_000, "times": 10_000})) is WorkerBreach
    assert psutil.Process().memory_info().rss - before < 32 << 20


def test_reply_that_nobody_asked_for_is_taken_for_no_call(lasting: Lasting) -> None:
    """An answer and then another one: the next call does not get it."""
    jail = lasting()
    text = framed('{"id":@,"ok":{}}', following(jail))
    args = {"text": text, "times": 2, "pause": 0.1, "seconds": 0}
    jail.call("count", {}, deadline=soon(), write=False)
    assert jail.call("raw", args, deadline=soon(), write=False) == {}
    with pytest.raises(WorkerBreach, match="another request"):
        jail.call("echo", {"its": "own"}, deadline=soon(), write=False)


def test_descriptors_that_a_worker_sends_are_dropped(lasting: Lasting) -> None:
    jail = lasting()
    number = following(jail)
    jail.call("count", {}, deadline=soon(), write=False)
    before = os.listdir("/proc/self/fd")
    assert jail.call("send_descriptors", {"number": number}, deadline=soon(), write=False) == {"sent": True}
    assert os.listdir("/proc/self/fd") == before
    jail.accuse("it still sleeps")


@pytest.mark.parametrize("seconds", [0, 60], ids=["and ends", "and lives on"])
def test_worker_that_closes_its_channel_has_crashed(lasting: Lasting, seconds: float) -> None:
    assert type(fail(lasting(), "hang_up", {"seconds": seconds})) is WorkerCrashed


# -- what is seen from outside -----------------------------------------------------------------


@pytest.mark.parametrize("op", ["thread", "fork", "spin_later"])
def test_what_nobody_asked_for_is_a_breach(
    lasting: Lasting, op: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    jail = lasting()
    monkeypatch.setattr("sandbox.jail.keeper.WATCH_SECONDS", 0.05)
    jail.accuse("it is looked at too rarely")
    jail.call(op, {}, deadline=soon(), write=False)
    before = pids(jail)[0]
    until(lambda: is_gone(before))
    assert jail.call("count", {}, deadline=soon(), write=False)["calls"] == 1
    assert endings(jail, 1) == ["breach"]
    left = [process for process in psutil.process_iter(["status"]) if _group(process.pid) == before]
    assert [process for process in left if process.info["status"] != psutil.STATUS_ZOMBIE] == []


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


@pytest.mark.parametrize("op", ["thread", "fork"])
def test_jail_refuses_a_thread_and_a_child(lasting: Lasting, locked: Layout, op: str) -> None:
    with pytest.raises(HandlerFailed):
        lasting(locked).call(op, {}, deadline=soon(), write=False)


# -- reads and changes -------------------------------------------------------------------------


def test_read_is_tried_once_more_on_a_fresh_worker(lasting: Lasting) -> None:
    jail = lasting()
    path = os.path.join(jail.spec.workspace, "read")
    assert jail.call("crash_once", {"path": path}, deadline=soon(), write=False)["calls"] == 1
    with pytest.raises(WorkerCrashed) as caught:
        jail.call("exit", {"status": 1}, deadline=soon(), write=False)
    assert caught.value.sent
    assert jail.call("count", {}, deadline=soon(), write=False)["calls"] == 1
    assert endings(jail, 3) == ["crashed"] * 3


def test_change_is_never_tried_again(lasting: Lasting) -> None:
    jail = lasting()
    path = os.path.join(jail.spec.workspace, "changed")
    assert type(fail(jail, "crash_once", {"path": path})) is WorkerCrashed
    assert os.path.exists(path)


def test_breach_is_not_tried_again(lasting: Lasting) -> None:
    jail = lasting()
    path = os.path.join(jail.spec.workspace, "breach")
    failure = fail(jail, "append", {"path": path, "line": "once", "number": signal.SIGSYS}, write=False)
    assert type(failure) is WorkerBreach
    with open(path, encoding="utf-8") as file:
        assert file.read() == "once\n"


def test_read_whose_second_try_gets_no_worker_in_time_fails_as_the_first(yard: Yard) -> None:
    jail = yard.started(sleep=lambda event, _: event.wait(30))
    with pytest.raises(WorkerCrashed):
        jail.call("exit", {"status": 1}, deadline=soon(0.5), write=False)
