"""Frames between a supervisor and its worker: what one may look like, and how long anybody waits for it.

A frame is four bytes of length, big endian, and that many bytes of UTF-8 JSON holding one object. Its `text` may
stand behind the JSON as it is, after a NUL byte, which JSON never holds: escaping and scanning a long text takes
longer than reading it from the disk.

Both sides use the same class; each gives the most that it accepts, which is compared before anything is allocated.
What comes from a worker is hostile input: its size, nesting and numbers are bounded, and descriptors sent along are
dropped, since only `recv` is ever called.

An empty frame (a length of zero) carries no object. Only a supervisor sends one: whoever waits for the reply has
gone. What a request or a reply must hold is not decided here.
"""

from __future__ import annotations

import json
import math
import os
import re
import socket
import struct
import time
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, Final

MAX_REQUEST: Final = 16 * 1024 * 1024
"""Bytes of a request: the text of the largest note, and room to spare."""

MAX_REPLY: Final = 4 * 1024 * 1024
"""Bytes of a reply. Handlers cut their results by bytes."""

MAX_VALUES: Final = 100_000
"""Values in a frame, counted by the commas and brackets that stand before them.

Bytes alone bound little: 4 MiB of the smallest values become 250 MiB of objects, and take seconds in which no other
thread runs. With both bounds it is 32 MiB at the most, and less than half a second. An honest handler stays well below:
what `fsnotes.notes` answers has at most 60,000.
"""

MAX_DEPTH: Final = 16
"""How deep objects and lists may be nested within each other."""

LONG_TEXT: Final = 512
"""Characters from which on `carry` takes a text out of the JSON: a short one is quicker in it."""

EMPTY_FRAME: Final = bytes(4)

TICK_SECONDS: Final = 0.025
"""How often somebody who waits is asked whether they still do."""

AWAKE_SECONDS: Final = 0.000_25
"""How long a reply is waited for awake: about what a small call takes."""

ASLEEP_SECONDS: Final = 1.0
"""How long nobody stays awake after another program has had the processor meanwhile."""

_TEXT: Final = "text"
_MARK: Final = b"\0"
_PREFIX: Final = struct.Struct(">I")
_NO_SIGNAL: Final = getattr(socket, "MSG_NOSIGNAL", 0)
_AT_ONCE: Final = getattr(socket, "MSG_DONTWAIT", 0)
_CHUNK: Final = 65_536
_TIMEVAL: Final = struct.Struct("@ll")

# An honest sender escapes control characters only, so this is rare: text about JSON, or half a character.
_SURROGATE_ESCAPE: Final = re.compile(rb"\\u[dD][89a-fA-F]")

_BARE_STRING: Final = re.compile(rb'"[^"]*+"?')
_UNMARKED: Final = bytes(set(range(256)) - set(b',[{"'))


class FrameFault(StrEnum):
    """What is wrong with a frame."""

    TOO_LONG = "a frame longer than allowed"
    NOT_JSON = "a frame that is not strict JSON"
    NOT_AN_OBJECT = "a frame that holds no object"
    TOO_MANY = "a frame of too many values"
    TOO_DEEP = "a frame nested too deeply"
    TWO_TEXTS = "a frame with two texts for one place"
    UNASKED = "bytes that nobody asked for"
    WRONG_ID = "a reply to another request"
    WRONG_SHAPE = "a reply that is none"


class BadFrame(Exception):
    """The peer sent something that is no acceptable frame. The channel cannot be used any more."""

    def __init__(self, fault: FrameFault) -> None:
        super().__init__(fault.value)
        self.fault = fault


class ChannelClosed(Exception):
    """The peer has closed its end, or died."""


class ChannelTimeout(Exception):
    """Nothing came, or nothing could be sent, before the deadline."""


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(literal: str) -> float:
    """Return what a number with a fraction or an exponent stands for. Replies hold none, so it costs them nothing."""
    value = float(literal)
    if not math.isfinite(
        value
    ):  # JSON knows no bound, and Python makes an infinity of what lies beyond its own
        raise ValueError("a number that is too large")
    return value


_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
)
_DECODER: Final[Any] = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse_constant)
_scan: Final[Callable[[str, int], tuple[Any, int]]] = _DECODER.scan_once


def _make_pieces() -> Callable[[Any, int], Iterable[str]]:
    """Return the compiled encoder, made once for all messages.

    `JSONEncoder.encode` makes it anew each time, which takes longer than a small message does. It is not
    documented; where it is not as known, `encode` is used.
    """
    example = {"text": "\u00e9\n\u0001", "list": [1, 0.5, True, None]}
    try:
        compiled: Any = json.encoder
        options = (_ENCODER.sort_keys, _ENCODER.skipkeys, _ENCODER.allow_nan)
        quote = compiled.encode_basestring
        made: Callable[[Any, int], Iterable[str]] = compiled.c_make_encoder(
            None, _ENCODER.default, quote, None, ":", ",", *options
        )
        if "".join(made(example, 0)) == _ENCODER.encode(example):
            return made
    except (AttributeError, TypeError):
        pass
    return lambda message, _: (_ENCODER.encode(message),)


_pieces: Final = _make_pieces()


def encode(message: dict[str, Any], *, most: int) -> bytes:
    """Return *message* as a frame.

    Raises ValueError when it is longer than *most*, or holds a lone surrogate, NaN or an infinity; TypeError or
    RecursionError when it is not made of JSON's types.
    """
    text = message.get(_TEXT)
    if type(text) is str:
        rest = {name: value for name, value in message.items() if name != _TEXT}
        body = "".join(_pieces(rest, 0)).encode() + _MARK + text.encode()
    else:
        body = "".join(_pieces(message, 0)).encode()
    if len(body) > most:
        raise ValueError(f"a message of more than {most} bytes")
    return _PREFIX.pack(len(body)) + body


def carry(message: dict[str, Any], name: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return *message* with *values* as *name*; a long `text` of theirs is the message's own instead."""
    text = values.get(_TEXT)
    if type(text) is not str or len(text) < LONG_TEXT:
        return {**message, name: values}
    rest = {each: value for each, value in values.items() if each != _TEXT}
    return {**message, name: rest, _TEXT: text}


def decode(body: bytes | bytearray) -> dict[str, Any]:
    """Return the object that the body of a frame holds; its numbers are finite. Raises BadFrame."""
    behind: str | None = None
    try:
        mark = body.find(_MARK)
        if mark >= 0:
            behind = str(memoryview(body)[mark + 1 :], "utf-8")
            body = body[:mark]
        brackets = body.count(b"{") + body.count(b"[")
        if brackets + body.count(b",") > MAX_VALUES and not _has_few_values(body):
            raise BadFrame(FrameFault.TOO_MANY)
        text = body.decode()
        value, end = _scan(text, 0)
        if end != len(text):
            raise BadFrame(FrameFault.NOT_JSON)
        if b"\\u" in body and _SURROGATE_ESCAPE.search(body):
            _ENCODER.encode(value).encode()
    except (ValueError, RecursionError, StopIteration):
        raise BadFrame(FrameFault.NOT_JSON) from None
    if type(value) is not dict:
        raise BadFrame(FrameFault.NOT_AN_OBJECT)
    if brackets > MAX_DEPTH:
        _check_depth(value)
    if behind is not None:
        if _TEXT in value:
            raise BadFrame(FrameFault.TWO_TEXTS)
        value[_TEXT] = behind
    return value


def _has_few_values(body: bytes | bytearray) -> bool:
    """Say whether JSON has no more than MAX_VALUES, whatever its texts hold. What is no JSON has some number."""
    # SAFETY: in JSON a backslash stands in a string alone, and in pairs there; without these, every quote that is left
    # begins or ends one. Whatever follows the place at which it stops to be JSON is never made a value of.
    marks = body.replace(rb"\\", b"").replace(rb"\"", b"").translate(None, _UNMARKED)
    # Two texts for each comma or bracket: so many are cut out, and no more.
    return marks.count(b'"') <= 4 * (MAX_VALUES + 1) and len(_BARE_STRING.sub(b"", marks)) <= MAX_VALUES


def _check_depth(value: dict[str, Any]) -> None:
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        inner: list[Any] = []
        for container in level:
            items: Iterable[Any] = container.values() if type(container) is dict else container
            inner += [item for item in items if type(item) is dict or type(item) is list]
        if not inner:
            return
        level = inner
    raise BadFrame(FrameFault.TOO_DEEP)


class Channel:
    """One end of the connection. For one thread at a time.

    Takes over *connection*. *most* is how long a frame from the peer may be. Every wait ends at a given instant
    of `time.monotonic()`, or never when that is None: a worker has no other waits, and makes no call for them.
    """

    def __init__(self, connection: socket.socket, *, most: int) -> None:
        connection.settimeout(None)
        self._connection = connection
        self._send = connection.send
        self._recv = connection.recv
        self._most = most
        self._tick = math.inf
        self._asleep_until = -math.inf
        self.held = b""
        """What has come and was not received yet: the beginning of the next frame."""

    def close(self) -> None:
        """Close this end; the peer sees the end of the stream."""
        self._connection.close()

    def send(self, frame: bytes, *, until: float | None) -> None:
        """Send all of *frame*. Raises ChannelClosed or ChannelTimeout: then the peer never sees it whole."""
        if until is not None and self._tick > TICK_SECONDS:
            self._set_tick(TICK_SECONDS)
        rest: bytes | memoryview = frame
        while True:
            try:
                done = self._send(rest, _NO_SIGNAL)
            except BlockingIOError:
                done = 0
            except OSError as error:
                raise ChannelClosed from error
            if done == len(rest):
                return
            rest = memoryview(rest)[done:]
            self._check_time(until)

    def wait_awake(self) -> None:
        """Wait a moment for the next bytes without sleeping, AWAKE_SECONDS at most. What comes is for `receive`.

        A processor that went to sleep takes about as long to wake as a small call takes. While nothing is there,
        whoever waits for this processor goes first: it may be the peer. A program that keeps it is better slept
        through, since a sleeper that is woken goes before it; then this does nothing for ASLEEP_SECONDS.

        Raises ChannelClosed.
        """
        now = time.monotonic()
        end = now + AWAKE_SECONDS
        if now < self._asleep_until:
            return
        while not self.held and now < end:
            try:
                self.held = self._recv(_CHUNK, _AT_ONCE)
            except BlockingIOError:
                os.sched_yield()
            except OSError as error:
                raise ChannelClosed from error
            else:
                if not self.held:
                    raise ChannelClosed
            now = time.monotonic()
        if now > end + AWAKE_SECONDS:
            self._asleep_until = now + ASLEEP_SECONDS

    def receive(self, *, until: float | None, tick: Callable[[], None] | None = None) -> bytes | bytearray:
        """Return the body of the next frame; empty for an empty frame. *tick* is called while nothing comes.

        Raises BadFrame, ChannelClosed or ChannelTimeout.
        """
        if until is not None:
            left = until - time.monotonic()
            if left < TICK_SECONDS or self._tick != TICK_SECONDS:
                self._set_tick(min(left, TICK_SECONDS))
        data = self.held
        while len(data) < _PREFIX.size:
            try:
                more = self._recv(_CHUNK)
            except BlockingIOError:
                self._check_time(until, tick)
                continue
            except OSError as error:
                raise ChannelClosed from error
            if not more:
                raise ChannelClosed
            data = data + more if data else more
        (length,) = _PREFIX.unpack_from(data)
        if length > self._most:
            raise BadFrame(FrameFault.TOO_LONG)
        end = _PREFIX.size + length
        self.held = data[end:]
        if len(data) >= end:
            return data[_PREFIX.size : end]
        body = bytearray(length)
        body[: len(data) - _PREFIX.size] = data[_PREFIX.size :]
        self._fill(memoryview(body)[len(data) - _PREFIX.size :], until, tick)
        return body

    def is_readable(self) -> bool:
        """Whether bytes, or the end of the stream, are there to be read. Does not wait."""
        if self.held:
            return True
        try:
            self._connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            pass  # the end, of another kind
        return True

    def _fill(self, view: memoryview, until: float | None, tick: Callable[[], None] | None) -> None:
        while view:
            try:
                got = self._connection.recv_into(view)
            except BlockingIOError:
                self._check_time(until, tick)
            except OSError as error:
                raise ChannelClosed from error
            else:
                if not got:
                    raise ChannelClosed
                view = view[got:]
                # A peer that sends byte after byte must not keep anybody past the deadline.
                self._check_time(until)

    def _check_time(self, until: float | None, tick: Callable[[], None] | None = None) -> None:
        if tick is not None:
            tick()
        if until is not None:
            left = until - time.monotonic()
            if not left > 0:
                raise ChannelTimeout
            self._set_tick(min(TICK_SECONDS, left))

    def _set_tick(self, seconds: float) -> None:
        if seconds == self._tick:
            return
        # The kernel ends each wait after a tick: one system call for each message, and one turn of the
        # interpreter's lock, where a timeout of Python's own would take two of each.
        self._tick = seconds
        # At least a microsecond: none at all would be for ever.
        whole = max(1, int(seconds * 1_000_000))
        limit = _TIMEVAL.pack(*divmod(whole, 1_000_000))
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self._connection.setsockopt(socket.SOL_SOCKET, option, limit)
