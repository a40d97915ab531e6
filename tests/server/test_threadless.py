"""A host that has no thread to give: what can be answered without one is, and nothing is counted for good."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from fsnotes.access import Principal
from fsnotes.identity import MAX_WAITING
from fsnotes.server.calling import Caller
from fsnotes.server.flights import Flight
from fsnotes.server.frames import Request
from fsnotes.server.front import Front
from fsnotes.server.http.callers import Callers, Refused
from fsnotes.server.http.headers import Headers
from fsnotes.server.kernel import Kernel
from tests.server.scripted import ScriptedService
from tests.server.wire import call, envelope

ALICE = Principal("token:alice")
SECONDS = 20.0


@pytest.fixture
def exhausted(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """While this is set, no thread can be started."""
    start, none = threading.Thread.start, threading.Event()

    def start_if_there_is_one(thread: threading.Thread) -> None:
        if none.is_set():
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_if_there_is_one)
    return none


def test_what_needs_the_sdk_is_answered_once_that_is_loaded_where_the_request_is(
    tmp_path: Path, exhausted: threading.Event
) -> None:
    caller = Caller(cast("Any", ScriptedService(tmp_path)), read_only=False, max_calls=4)
    front = Front(caller, partial(Kernel, caller), read_only=False)
    # Its envelope has a member that the SDK judges.
    params = call(
        1, "notes_read", {"workspaceUri": "file:///x", "path": "a"}, meta=envelope(**{"x-other": 1})
    )["params"]

    async def ask() -> dict[str, Any]:
        return await asyncio.wait_for(front.answer(Request(1, "tools/call", params), Flight(ALICE)), SECONDS)

    async def scene() -> list[bool]:
        exhausted.set()
        without = await ask()
        exhausted.clear()
        return [each["result"]["isError"] for each in (without, await ask())]

    assert asyncio.run(scene()) == [True, False]
    front.close()


class Slow:
    """An authenticator that looks into each token."""

    challenge = "Bearer"

    def known(self, token: str) -> Principal | None:
        return None

    def identify(self, token: str) -> Principal:
        return ALICE


def test_who_could_not_be_identified_is_none_of_those_who_are_being(exhausted: threading.Event) -> None:
    callers = Callers(cast("Any", Slow()), ALICE)
    headers = Headers([(b"authorization", b"Bearer x")])

    async def status(ask: Callable[[], Any]) -> int | Principal:
        try:
            return cast("Principal", await asyncio.wait_for(ask(), SECONDS))
        except Refused as refused:
            return refused.reply.status

    async def scene() -> list[int | Principal]:
        exhausted.set()
        told = [await status(lambda: callers.principal(headers)) for _ in range(MAX_WAITING + 1)]
        exhausted.clear()
        return [*told, await status(lambda: callers.principal(headers))]

    assert asyncio.run(scene()) == [503] * (MAX_WAITING + 1) + [ALICE]
    callers.close()
