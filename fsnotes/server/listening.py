"""Answers `subscriptions/listen`: acknowledges what is heard, tells what changes, and ends with the one answer.

What a caller may hear of is left to the service. A stream is told at once, then again after a pause, whatever changes
meanwhile; one whose reader is behind is told later, and nobody else is. Source: the specification's page on
subscriptions.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from fsnotes.errors import LimitReached
from fsnotes.server.calling import MOST_STREAMS
from fsnotes.server.frames import Params, RequestId
from fsnotes.server.method import refused
from fsnotes.server.plain import has_plain_meta

if TYPE_CHECKING:
    from fsnotes.server.calling import Asked, Caller
    from fsnotes.server.flights import Flight
    from fsnotes.subscriptions import Subscription

LISTEN: Final = "subscriptions/listen"
ID_KEY: Final = "io.modelcontextprotocol/subscriptionId"

MOST_OF_ONE: Final = 16
"""Streams of one principal."""

MOST_URIS: Final = 256
"""Notes of one stream; what is asked for beyond them is not acknowledged."""

PAUSE_SECONDS: Final = 0.5
"""How long nothing is told after something was: each note twice a second at most."""

VOUCH_SECONDS: Final = 20.0
"""How often it is asked whether the credentials still prove the caller, though nothing has changed."""

ROOM_SECONDS: Final = 0.1
"""How often it is seen whether a reader that is behind has caught up."""

_FILTER: Final = frozenset(
    {"toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions"}
)


def is_plain_listen(params: Params) -> bool:
    """Say so of a `subscriptions/listen` in the form that the specification fixes."""
    asked = params.get("notifications")
    if not (params.keys() == {"_meta", "notifications"} and isinstance(asked, dict)):
        return False
    uris = asked.get("resourceSubscriptions", [])
    flags = [value for name, value in asked.items() if name != "resourceSubscriptions"]
    return (
        asked.keys() <= _FILTER
        and all(type(flag) is bool for flag in flags)
        and isinstance(uris, list)
        and all(type(uri) is str for uri in uris)
        and has_plain_meta(params)
    )


class Listening:
    """The streams of one server. For its event loop alone."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._counts: Counter[str] = Counter()
        self._streams: set[_Stream] = set()
        self._is_over = False

    @property
    def count(self) -> int:
        """How many streams there are, those too that are being opened."""
        return self._counts.total()

    def end(self) -> None:
        """End all streams, each with its answer, and every one that is opened from now on."""
        self._is_over = True
        for stream in self._streams:
            stream.end()

    async def listen(self, params: Params, asked: Asked) -> dict[str, Any]:
        """Return the answer, once the stream has come to its end. Raises RpcRefusal and CrashError."""
        name = asked.flight.principal.name
        if self._counts[name] >= MOST_OF_ONE or self._counts.total() >= MOST_STREAMS:
            raise refused(LimitReached("subscriptions"), {})
        self._counts[name] += 1
        stream = _Stream(asked.flight, asked.request_id)
        self._streams.add(stream)
        if self._is_over:
            stream.end()
        try:
            wanted = params["notifications"]
            uris = list(dict.fromkeys(wanted.get("resourceSubscriptions") or ()))[:MOST_URIS]
            lists = wanted.get("resourcesListChanged") is True
            subscription = await self._caller.subscribe(uris, asked, lists=lists, wake=stream.wake)
            try:
                await stream.run(subscription)
            finally:
                subscription.close()
        finally:
            self._streams.discard(stream)
            self._counts[name] -= 1
            if not self._counts[name]:
                del self._counts[name]
        return {"_meta": {ID_KEY: asked.request_id}, "resultType": "complete"}


class _Stream:
    """One stream, from its acknowledgement to its end."""

    def __init__(self, flight: Flight, request_id: RequestId) -> None:
        self._flight = flight
        self._id = request_id
        self._loop = asyncio.get_running_loop()
        self._bell = asyncio.Event()
        self._over = asyncio.Event()
        flight.on_abandon = self.end
        if flight.abandoned:  # before there was anything to end
            self.end()

    def end(self) -> None:
        """Tell nothing more."""
        self._over.set()
        self._bell.set()

    def wake(self) -> None:
        """Say that there is something to take; for any thread."""
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(self._bell.set)

    async def run(self, subscription: Subscription) -> None:
        """Acknowledge what is heard, and tell what changes until the end."""
        await self._tell("subscriptions/acknowledged", notifications=_honored(subscription))
        while not (subscription.is_over or self._over.is_set()):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._bell.wait(), VOUCH_SECONDS)
            self._bell.clear()
            if self._over.is_set() or not await self._is_vouched_for():
                return
            told = subscription.take()
            for uri in told.uris:
                await self._tell("resources/updated", uri=uri)
            if told.is_list_changed:
                await self._tell("resources/list_changed")
            if told:
                await self._rest(PAUSE_SECONDS)

    async def _tell(self, name: str, **params: Any) -> None:
        """Send a notification once there is room for it; none after the end."""
        tell = self._flight.tell
        message = {
            "jsonrpc": "2.0",
            "method": f"notifications/{name}",
            "params": {"_meta": {ID_KEY: self._id}, **params},
        }
        while tell is not None and not tell(message) and not self._over.is_set():
            await self._rest(ROOM_SECONDS)
            if not await self._is_vouched_for():
                self.end()

    async def _rest(self, seconds: float) -> None:
        """Wait so long, or until the end."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), seconds)

    async def _is_vouched_for(self) -> bool:
        vouch = self._flight.vouch
        return vouch is None or await vouch()


def _honored(subscription: Subscription) -> dict[str, Any]:
    """Return what is told of, in the shape in which it was asked for; what is not is left out."""
    honored: dict[str, Any] = {}
    if subscription.lists:
        honored["resourcesListChanged"] = True
    if subscription.uris:
        honored["resourceSubscriptions"] = list(subscription.uris)
    return honored
