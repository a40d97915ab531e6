"""Calls that are answered: results, exceptions as data, order, deadlines while waiting, and callers that go."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sandbox.errors import Abandoned, HandlerFailed, JailBusy
from sandbox.jail.channel import Channel
from sandbox.jail.report import Level
from sandbox.jail.supervisor import Jail
from sandbox.jail.turns import MAX_WAITING
from tests.sandbox.jail.conftest import Lasting, Layout, soon, until

HIDDEN = "/home/alice/hidden"


@pytest.fixture(autouse=True)
def _no_descriptor_leaks() -> None:
    """The jails of this module last; their descriptors are counted at the end."""


def count(jail: Jail) -> int:
    """Return how many calls the worker has had, this one included."""
    calls: int = jail.call("count", {}, deadline=soon(), write=False)["calls"]
    return calls


def test_call_returns_what_the_handler_returns(lasting: Lasting, layout: Layout) -> None:
    jail = lasting(layout)
    for args in ({}, {"text": "é\n\u2028", "list": [1, None, {"deep": [True, 0.5]}]}):
        assert jail.call("echo", args, deadline=soon(), write=False) == args
    assert jail.report is not None
    assert jail.report.level == (Level.NONE if layout == "unlocked" else Level(layout))


def test_large_requests_and_replies_pass(lasting: Lasting) -> None:
    jail = lasting()
    text = "ü" * (1 << 20)
    assert jail.call("echo", {"text": text}, deadline=soon(), write=False) == {"text": text}
    assert len(jail.call("fill", {"megabytes": 3}, deadline=soon(), write=False)["text"]) == 3 << 19


def test_reply_is_waited_for_awake_and_then_asleep(lasting: Lasting, monkeypatch: pytest.MonkeyPatch) -> None:
    jail = lasting()
    order: list[str] = []
    for name in ("wait_awake", "receive"):
        wait = getattr(Channel, name)

        def noted(self: Channel, *, name: str = name, wait: Callable[..., Any] = wait, **more: Any) -> Any:
            order.append(name)
            return wait(self, **more)

        monkeypatch.setattr(Channel, name, noted)
    assert jail.call("echo", {"a": 1}, deadline=soon(), write=False) == {"a": 1}
    assert order == ["wait_awake", "receive"]


@pytest.mark.parametrize(
    "value", [{1}, float("nan"), "\ud800", "x" * (17 << 20)], ids=["set", "nan", "half", "long"]
)
def test_arguments_that_are_no_json_are_the_callers_mistake(lasting: Lasting, value: object) -> None:
    jail = lasting()
    before = count(jail)
    with pytest.raises((ValueError, TypeError)):
        jail.call("echo", {"value": value}, deadline=soon(), write=False)
    assert count(jail) == before + 1


# -- exceptions of the handler -----------------------------------------------------------------


def test_exception_is_its_class_and_its_plain_fields(lasting: Lasting, layout: Layout) -> None:
    jail = lasting(layout)
    before = count(jail)
    with pytest.raises(HandlerFailed) as caught:
        jail.call("raise_odd", {"secret": HIDDEN}, deadline=soon(), write=False)
    assert caught.value.kind == "tests.sandbox.jail.handlers.Odd"
    assert caught.value.fields == {
        "path": "a.md",
        "size": 3,
        "share": 0.5,
        "done": False,
        "reason": None,
        "names": ["a", "b"],
    }
    assert HIDDEN not in str(caught.value)
    assert count(jail) == before + 2


def test_exception_of_python_itself_leaves_its_traceback_in_the_log_alone(
    lasting: Lasting, caplog: pytest.LogCaptureFixture
) -> None:
    jail = lasting()
    with pytest.raises(HandlerFailed) as caught:
        jail.call("raise_own", {"secret": HIDDEN}, deadline=soon(), write=False)
    assert (caught.value.kind, caught.value.fields) == ("builtins.KeyError", {})
    assert HIDDEN not in repr(vars(caught.value))
    until(lambda: HIDDEN in caplog.text)
    assert "Traceback" in caplog.text


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        ("not_json", "builtins.TypeError"),
        ("nan", "builtins.ValueError"),
        ("half_character", "builtins.UnicodeEncodeError"),
        ("raise_broken", "tests.sandbox.jail.handlers.Broken"),
    ],
)
def test_what_cannot_be_sent_is_an_exception_and_the_worker_lives(
    lasting: Lasting, op: str, kind: str
) -> None:
    jail = lasting()
    before = count(jail)
    with pytest.raises(HandlerFailed) as caught:
        jail.call(op, {}, deadline=soon(), write=False)
    assert (caught.value.kind, caught.value.fields.get("half")) == (kind, None)
    assert count(jail) == before + 2


def test_result_longer_than_a_reply_may_be_is_an_exception(lasting: Lasting) -> None:
    jail = lasting()
    with pytest.raises(HandlerFailed) as caught:
        jail.call("fill", {"megabytes": 5}, deadline=soon(), write=False)
    assert caught.value.kind == "builtins.ValueError"


# -- many callers ------------------------------------------------------------------------------


def test_sixteen_threads_get_each_their_own_answer(lasting: Lasting) -> None:
    jail = lasting()
    before = count(jail)

    def ask(caller: int) -> list[tuple[int, int]]:
        return [
            tuple(jail.call("echo", {"of": [caller, turn]}, deadline=soon(), write=False)["of"])
            for turn in range(100)
        ]

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, range(16)))
    assert answers == [[(caller, turn) for turn in range(100)] for caller in range(16)]
    assert count(jail) == before + 1_601


def test_deadline_passes_while_another_call_is_in_the_worker(lasting: Lasting) -> None:
    jail = lasting()
    before = count(jail)
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(jail.call, "sleep", {"seconds": 0.5}, deadline=soon(), write=False)
        until(lambda: not jail._turns._is_free)
        begun = time.monotonic()
        with pytest.raises(JailBusy) as caught:
            jail.call("append", {"path": "a", "line": "late"}, deadline=soon(0.1), write=True)
        assert 0.08 <= time.monotonic() - begun < 0.4
        assert other.result(10) == {"slept": 0.5}
    assert not caught.value.sent
    assert os.listdir(jail.spec.workspace) == []
    assert count(jail) == before + 2


def test_deadline_that_has_passed_sends_nothing_and_kills_nobody(lasting: Lasting) -> None:
    jail = lasting()
    before = count(jail)
    for late in (-1.0, 0.0, 0.001, float("nan")):
        with pytest.raises(JailBusy):
            jail.call("sleep", {"seconds": 9}, deadline=time.monotonic() + late, write=False)
    assert count(jail) == before + 1


def test_more_callers_than_may_wait_are_refused_at_once(lasting: Lasting) -> None:
    jail = lasting()
    with ThreadPoolExecutor(MAX_WAITING + 8) as pool:
        slow = pool.submit(jail.call, "sleep", {"seconds": 0.5}, deadline=soon(), write=False)
        until(lambda: not jail._turns._is_free)
        calls = [
            pool.submit(jail.call, "echo", {"n": number}, deadline=soon(), write=False)
            for number in range(MAX_WAITING + 7)
        ]
        errors = [call.exception(20) for call in calls]
    assert slow.exception() is None
    assert [type(error) for error in errors if error is not None] == [JailBusy] * 7


def test_caller_that_has_gone_before_its_turn_is_not_sent(lasting: Lasting) -> None:
    jail = lasting()
    before = count(jail)
    with pytest.raises(Abandoned):
        jail.call("count", {}, deadline=soon(), write=True, abandoned=lambda: True)
    assert count(jail) == before + 1


def test_handler_is_told_when_its_caller_goes(lasting: Lasting, layout: Layout) -> None:
    jail = lasting(layout)
    gone = threading.Event()
    threading.Timer(0.1, gone.set).start()
    args = {"seconds": 10}
    answer = jail.call("wait_until_abandoned", args, deadline=soon(), write=True, abandoned=gone.is_set)
    assert answer == {"abandoned": True}
    # The next caller is another one.
    assert jail.call("wait_until_abandoned", {"seconds": 0.1}, deadline=soon(), write=True) == {
        "abandoned": False
    }


def test_word_that_comes_too_late_is_not_taken_for_the_next_caller(lasting: Lasting) -> None:
    """The caller goes just when the answer arrives: both are on their way at once."""
    jail = lasting()
    for delay in range(20):
        moment = time.monotonic() + 0.02 + delay / 2_000
        jail.call(
            "sleep",
            {"seconds": 0.03},
            deadline=soon(),
            write=False,
            abandoned=lambda at=moment: time.monotonic() > at,
        )
        assert jail.call("echo", {"n": delay}, deadline=soon(), write=False) == {"n": delay}


def test_caller_that_is_interrupted_leaves_no_answer_for_the_next(lasting: Lasting) -> None:
    """Ctrl-C while waiting: the worker is replaced, for its answer would be taken for another's."""
    jail = lasting()
    before = jail.call("count", {}, deadline=soon(), write=False)["pid"]
    main = threading.main_thread().ident
    assert main is not None
    threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        jail.call("sleep", {"seconds": 5}, deadline=soon(), write=False)
    assert jail.call("count", {}, deadline=soon(), write=False)["pid"] != before
