"""The worker's side of a call: take a request, run the handler, send its answer as data.

A request is `{"id", "op", "args"}`. It is answered once, with the same id, by `{"id", "ok": result}`,
`{"id", "error": {"class", "fields"}}` when the handler raised, or `{"id", "limit": "memory"}` when the memory
was used up, after which the supervisor replaces this process. No traceback and no message of an exception ever
leaves through the channel. A long `text` of arguments or of a result travels beside them (`carry`).

What the operations mean is the handler's business.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from sandbox.jail.channel import MAX_REPLY, BadFrame, Channel, ChannelClosed, carry, decode, encode

Handler = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Runs an operation with its arguments and returns a result, both of JSON's types. It may raise anything."""

MAX_FIELDS: Final = 32
MAX_ITEMS: Final = 256
MAX_CHARACTERS: Final = 8_192
"""How much of an exception is sent: fields, entries of a list, and characters of a text. The rest is left out."""


class Post:
    """Where this process serves; a handler may ask here whether anybody still waits for its answer."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def serve(self, handler: Handler) -> None:
        """Answer requests, one at a time, until the supervisor closes the channel or sends nonsense."""
        try:
            while True:
                body = self._channel.receive(until=None)
                if body:  # an empty frame that came too late is about a call that has been answered
                    self._channel.send(answer(handler, decode(body)), until=None)
        except (ChannelClosed, BadFrame):
            return

    def is_abandoned(self) -> bool:
        """Whether the caller of the request at hand has gone, as the supervisor says by an empty frame."""
        # Until a request is answered, an empty frame is all that a supervisor sends.
        return self._channel.is_readable()


def answer(handler: Handler, request: dict[str, Any]) -> bytes:
    """Return the frame that answers *request*."""
    number = request["id"]
    try:
        args = request["args"]
        if "text" in request:
            args["text"] = request["text"]
        return encode(carry({"id": number}, "ok", handler(request["op"], args)), most=MAX_REPLY)
    except MemoryError:
        pass  # the frames of the failed call, and what they hold, are let go before anything else is done
    except Exception as error:  # noqa: BLE001 - whatever a handler raises is an answer
        # One of Python's own is a mistake in the handler; the supervisor logs what is written to stderr.
        if type(error).__module__.partition(".")[0] in sys.stdlib_module_names:
            show(error)
        return refusal(number, error)
    return encode({"id": number, "limit": "memory"}, most=MAX_REPLY)


def show(error: Exception) -> None:
    """Write the traceback of *error* to stderr, as the interpreter does: `traceback` takes longer to load than JSON."""
    sys.__excepthook__(type(error), error, error.__traceback__)


def refusal(number: object, error: Exception) -> bytes:
    """Return the frame that answers request *number* with the class of *error* and its plain fields.

    Fields are attributes that are scalars, or flat lists of them; others, and all of them when they are too
    much together, are left out.
    """
    kind = type(error)
    name = f"{kind.__module__}.{kind.__qualname__}"
    fields = [(field, value) for field, value in vars(error).items() if _is_plain(value)]
    try:
        shown = {"class": name, "fields": dict(fields[:MAX_FIELDS])}
        return encode({"id": number, "error": shown}, most=MAX_REPLY)
    except ValueError:  # half a character, an infinity, or too long
        return encode({"id": number, "error": {"class": name, "fields": {}}}, most=MAX_REPLY)


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple | list):
        return len(value) <= MAX_ITEMS and all(_is_scalar(item) for item in value)
    return _is_scalar(value)


def _is_scalar(value: object) -> bool:
    return len(value) <= MAX_CHARACTERS if isinstance(value, str) else isinstance(value, int | float | None)
