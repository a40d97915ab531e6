"""A call that a limit refuses leaves its line in the audit log, and a flood of such calls leaves few."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, cast

import pytest

from fsnotes.access import Principal
from fsnotes.calls import Call
from fsnotes.errors import LimitReached
from fsnotes.notes.commands import Created
from fsnotes.outcomes import NoteCreated
from fsnotes.server.calling import MOST_UNLOGGED, Asked, Caller
from fsnotes.server.envelope import Envelope, open_envelope
from fsnotes.server.flights import Flight
from fsnotes.server.ration import LINE_SECONDS, MOST_REMEMBERED, Ration
from fsnotes.server.refusals import RpcRefusal
from fsnotes.server.threads import Threads
from fsnotes.server.tool import Echo
from tests.server.wire import call

ALICE, BOB = Principal("token:alice"), Principal("token:bob")
SECONDS = 20.0


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_each_principal_has_a_line_a_second_for_each_tool() -> None:
    clock = Clock()
    ration = Ration(clock=clock)
    asked = [(ALICE, "a"), (ALICE, "a"), (ALICE, "b"), (BOB, "a"), (BOB, "a")]
    assert [ration.take(*each) for each in asked] == [True, False, True, True, False]
    clock.now += LINE_SECONDS / 2
    assert [ration.take(*each) for each in asked] == [False] * 5
    clock.now += LINE_SECONDS / 2
    assert [ration.take(*each) for each in asked] == [True, False, True, True, False]


def test_many_principals_together_have_a_bound_and_nothing_is_remembered_for_good() -> None:
    clock = Clock()
    ration = Ration(clock=clock)
    taken = [ration.take(Principal(f"token:{number}"), "a") for number in range(MOST_REMEMBERED + 9)]
    assert (taken.count(True), ration.take(ALICE, "a")) == (MOST_REMEMBERED, False)
    clock.now += LINE_SECONDS
    assert ration.take(ALICE, "a")
    assert len(ration._taken) == 1


class Stuck:
    """A service whose audit log does not answer until it is let go; notes can be made meanwhile."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.lines: list[str] = []

    def refused(self, call: Call, tool: str, workspace_uri: str, outcome: str) -> None:
        self.go.wait(SECONDS)
        self.lines.append(f"{call.principal.name} {tool} {workspace_uri} {outcome}")

    def create(self, call: Call, workspace_uri: str, path: str, content: str) -> NoteCreated:
        return NoteCreated(Created(path, "e" * 32, len(content)))


def envelope() -> Envelope:
    frame = call(1, "notes_create")
    opened = open_envelope(frame["method"], frame["params"])
    assert isinstance(opened, Envelope)
    return opened


def run(
    caller: Caller, principal: Principal, *, refusal: LimitReached | None, tool: str = "notes_create"
) -> Any:
    flight = Flight(principal)
    flight.refusal = refusal
    arguments = {"workspaceUri": "file:///w", "path": "a"}
    more = {"content": "x"} if tool == "notes_create" else {}
    return caller.call(tool, {**arguments, **more}, Asked(1, envelope(), Echo(), flight))


def test_a_log_that_does_not_answer_holds_neither_the_loop_nor_the_places_of_calls() -> None:
    service = Stuck()
    caller = Caller(cast("Any", service), read_only=False, max_calls=2)
    refusal = LimitReached("calls per second")

    async def scene() -> None:
        waiting = [
            asyncio.ensure_future(run(caller, Principal(f"token:{number}"), refusal=refusal))
            for number in range(MOST_UNLOGGED + 5)
        ]
        for _ in range(3):
            made = await asyncio.wait_for(run(caller, ALICE, refusal=None), SECONDS)
            assert made["isError"] is False
        # Who has no line to wait for is answered at once: those beyond the bound, and whoever only looks.
        looked = await asyncio.wait_for(run(caller, BOB, refusal=refusal, tool="notes_read"), SECONDS)
        done = await asyncio.wait_for(asyncio.gather(*waiting[MOST_UNLOGGED:]), SECONDS)
        assert [each["isError"] for each in (looked, *done)] == [True] * 6
        assert service.lines == []
        assert caller.running == MOST_UNLOGGED
        service.go.set()
        answers = await asyncio.wait_for(asyncio.gather(*waiting), SECONDS)
        assert {each["content"][0]["text"].split(":")[0] for each in answers} == {"limit"}

    asyncio.run(scene())
    caller.close()
    assert sorted(service.lines) == sorted(
        f"token:{number} notes_create file:///w limit" for number in range(MOST_UNLOGGED)
    )


def test_a_call_for_which_there_is_no_place_has_a_line_too() -> None:
    service = Stuck()
    service.go.set()
    begun, go = threading.Event(), threading.Event()

    def create(call: Call, workspace_uri: str, path: str, content: str) -> NoteCreated:
        begun.set()
        go.wait(SECONDS)
        return Stuck.create(service, call, workspace_uri, path, content)

    service.create = create  # type: ignore[method-assign]
    caller = Caller(cast("Any", service), read_only=False, max_calls=1)

    async def scene() -> None:
        first = asyncio.ensure_future(run(caller, ALICE, refusal=None))
        assert await asyncio.to_thread(begun.wait, SECONDS)
        refused = await asyncio.wait_for(run(caller, BOB, refusal=None), SECONDS)
        assert refused["content"][0]["text"].startswith("limit: ")
        go.set()
        assert (await first)["isError"] is False
        assert (await run(caller, BOB, refusal=None))["isError"] is False

    asyncio.run(scene())
    caller.close()
    assert service.lines == ["token:bob notes_create file:///w limit"]


@pytest.mark.parametrize("way", ["call", "stray state", "outside"])
def test_where_the_host_has_no_thread_for_a_call_its_refusal_has_a_line_all_the_same(
    monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    service = Stuck()
    service.go.set()
    caller = Caller(cast("Any", service), read_only=False, max_calls=2)
    start, exhausted = threading.Thread.start, threading.Event()

    def start_if_there_is_one(thread: threading.Thread) -> None:
        if exhausted.is_set():
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_if_there_is_one)
    arguments = {"workspaceUri": "file:///w", "path": "a", "content": "x"}
    stray = Asked(1, envelope(), Echo("state"), Flight(BOB))

    async def scene() -> None:
        assert (await run(caller, ALICE, refusal=None))["isError"] is False
        exhausted.set()
        # The threads that are there end after a while, and none comes in their place.
        caller._threads.close()
        caller._threads = Threads(2, name="t-none")
        if way == "call":
            refused = await asyncio.wait_for(run(caller, BOB, refusal=None), SECONDS)
            assert refused["content"][0]["text"].startswith("limit: too many threads of this host")
            looked = run(caller, BOB, refusal=None, tool="notes_read")
            assert (await asyncio.wait_for(looked, SECONDS))["isError"] is True
        elif way == "stray state":
            with pytest.raises(RpcRefusal) as told:
                await asyncio.wait_for(caller.call("notes_create", arguments, stray), SECONDS)
            assert told.value.code == -32602
        else:
            await asyncio.wait_for(caller.refuse("notes_create", arguments, stray, "too_late"), SECONDS)
        exhausted.clear()
        assert (await run(caller, BOB, refusal=None))["isError"] is False

    asyncio.run(scene())
    caller.close()
    outcome = {"call": "limit", "stray state": "invalid_state", "outside": "too_late"}[way]
    assert service.lines == [f"token:bob notes_create file:///w {outcome}"]
