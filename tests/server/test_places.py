"""Who takes which place: calls and reads have those of calls, streams their own, and neither takes the other's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast

from fsnotes.access import Principal
from fsnotes.resources import TemplatesListed
from fsnotes.server.calling import Caller
from fsnotes.server.flights import Flight
from fsnotes.server.frames import Request
from fsnotes.server.front import Front
from fsnotes.server.listening import MOST_OF_ONE
from tests.server.wire import envelope

SECONDS = 20.0
Frame = dict[str, Any]
Ask = Callable[..., Coroutine[Any, Any, Frame]]


class Stuck:
    """A service whose lists and subscriptions hang until they may go on."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.begun = threading.Semaphore(0)

    def templates(self, call: Any, cursor: str | None = None) -> TemplatesListed:
        if cursor == "stuck":
            self._wait()
        return TemplatesListed(())

    def subscribe(self, call: Any, uris: Any, **more: Any) -> Any:
        if uris:
            self._wait()
        return SimpleNamespace(uris=(), lists=False, is_over=True, close=lambda: None)

    def _wait(self) -> None:
        self.begun.release()
        assert self.go.wait(SECONDS)


def served(work: Callable[[Stuck, Ask], Coroutine[Any, Any, None]]) -> None:
    """Do *work* with a front that has two places for calls."""

    async def run() -> None:
        service = Stuck()
        caller = Caller(cast("Any", service), read_only=False, max_calls=2)
        front = Front(caller, cast("Any", None), read_only=False)

        async def ask(method: str, caller: str = "alice", **params: Any) -> Frame:
            flight = Flight(Principal(f"token:{caller}"))
            flight.tell = lambda _: True
            return await front.answer(Request(1, method, {"_meta": envelope(), **params}), flight)

        try:
            await work(service, ask)
        finally:
            service.go.set()
            front.close()

    asyncio.run(asyncio.wait_for(run(), SECONDS))


async def begun(service: Stuck, count: int) -> None:
    for _ in range(count):
        assert await asyncio.to_thread(service.begun.acquire, timeout=SECONDS)


def is_limit(answer: Frame) -> bool:
    error = answer.get("error", {"code": 0, "message": ""})
    return (error["code"], error["message"].partition(":")[0]) == (-32603, "limit")


LIST, LISTEN = "resources/templates/list", "subscriptions/listen"


def test_a_read_too_many_is_refused_and_one_that_ends_makes_room() -> None:
    async def work(service: Stuck, ask: Ask) -> None:
        stuck = [asyncio.ensure_future(ask(LIST, cursor="stuck")) for _ in range(2)]
        await begun(service, 2)
        assert is_limit(await ask(LIST))
        service.go.set()
        assert all("result" in answer for answer in await asyncio.gather(*stuck))
        assert "result" in await ask(LIST)

    served(work)


def test_who_listens_needs_no_place_of_a_call() -> None:
    async def work(service: Stuck, ask: Ask) -> None:
        stuck = [asyncio.ensure_future(ask(LIST, cursor="stuck")) for _ in range(2)]
        await begun(service, 2)
        assert "result" in await ask(LISTEN, notifications={"resourcesListChanged": True})
        service.go.set()
        await asyncio.gather(*stuck)

    served(work)


def test_streams_that_cannot_be_opened_keep_nobody_from_calling() -> None:
    """A file system that hangs takes the places of the streams that wait for it, and no more."""

    async def work(service: Stuck, ask: Ask) -> None:
        wanted = {"resourceSubscriptions": ["file:///x/a.md"]}
        stuck = [asyncio.ensure_future(ask(LISTEN, notifications=wanted)) for _ in range(MOST_OF_ONE)]
        await begun(service, MOST_OF_ONE)
        assert is_limit(await ask(LISTEN, notifications={"resourcesListChanged": True}))
        assert "result" in await ask(LISTEN, "bob", notifications={"resourcesListChanged": True})
        assert "result" in await ask(LIST)
        service.go.set()
        assert all("result" in answer for answer in await asyncio.gather(*stuck))
        assert "result" in await ask(LISTEN, notifications={"resourcesListChanged": True})

    served(work)
