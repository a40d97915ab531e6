"""Frames: what is one, what is refused, and that nobody waits longer than the deadline."""

from __future__ import annotations

import contextlib
import json
import math
import os
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.jail import channel as channels
from sandbox.jail.channel import (
    ASLEEP_SECONDS,
    AWAKE_SECONDS,
    LONG_TEXT,
    MAX_DEPTH,
    MAX_REPLY,
    MAX_VALUES,
    BadFrame,
    Channel,
    ChannelClosed,
    ChannelTimeout,
    FrameFault,
    carry,
    decode,
    encode,
)

MOST = 1 << 20
SHORT = 0.05

texts = st.text(st.characters(exclude_categories=("Cs",)))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=12)


@pytest.fixture
def pair() -> Iterator[tuple[Channel, socket.socket]]:
    """A channel, and the bare other end."""
    ours, theirs = socket.socketpair()
    channel = Channel(ours, most=MOST)
    with theirs:
        yield channel, theirs
    channel.close()


def soon(seconds: float = 5) -> float:
    return time.monotonic() + seconds


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def fault_of(body: bytes) -> FrameFault:
    with pytest.raises(BadFrame) as caught:
        decode(body)
    return caught.value.fault


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(texts, values, max_size=4))
def test_what_is_encoded_is_decoded_alike_or_is_nested_too_deeply(message: dict[str, object]) -> None:
    body = encode(message, most=1 << 30)[4:]
    try:
        read = decode(body)
    except BadFrame:
        assert fault_of(body) is FrameFault.TOO_DEEP
    else:
        assert read == message


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(texts, values, max_size=4))
def test_compiled_encoder_writes_what_the_documented_one_writes(message: dict[str, object]) -> None:
    """The encoder that is used is not documented; it must not be another one in some release."""
    assert "".join(channels._pieces(message, 0)) == channels._ENCODER.encode(message)


@settings(max_examples=40, deadline=None)
@given(texts, st.dictionaries(texts, values, max_size=3))
def test_text_of_a_message_travels_as_it_is(text: str, message: dict[str, object]) -> None:
    message = {"more": 1} | message | {"text": text}
    body = encode(message, most=1 << 30)[4:]
    assert body.endswith(b"}\0" + text.encode())
    try:
        assert decode(body) == decode(bytearray(body)) == message
    except BadFrame:
        assert fault_of(body) is FrameFault.TOO_DEEP


@pytest.mark.parametrize("text", [None, 1, ["x"], {"text": "x"}])
def test_what_is_called_text_and_is_none_travels_in_the_json(text: object) -> None:
    body = encode({"text": text}, most=MOST)[4:]
    assert json.loads(body) == decode(body) == {"text": text}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"a": 1, "text": "x" * LONG_TEXT}, {"id": 1, "ok": {"a": 1}, "text": "x" * LONG_TEXT}),
        ({"text": "x" * (LONG_TEXT - 1)}, {"id": 1, "ok": {"text": "x" * (LONG_TEXT - 1)}}),
        ({"text": [1] * LONG_TEXT}, {"id": 1, "ok": {"text": [1] * LONG_TEXT}}),
        ({"more": "x" * LONG_TEXT}, {"id": 1, "ok": {"more": "x" * LONG_TEXT}}),
        ({}, {"id": 1, "ok": {}}),
    ],
    ids=range(5),
)
def test_only_a_long_text_is_carried_beside_the_values(
    values: dict[str, object], message: dict[str, object]
) -> None:
    before = dict(values)
    assert carry({"id": 1}, "ok", values) == message
    assert values == before


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, "\ud800", {1, 2}, b"bytes", object()],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_json_is_not_sent(value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        encode({"value": value}, most=MOST)
    with pytest.raises((ValueError, TypeError)):
        encode({"text": value}, most=MOST)


def test_longer_message_than_allowed_is_not_sent_and_the_longest_is() -> None:
    exact = len(encode({"text": "x" * 100}, most=MOST)) - 4
    assert encode({"text": "x" * 100}, most=exact)
    with pytest.raises(ValueError, match="more than"):
        encode({"text": "x" * 101}, most=exact)
    assert encode({"text": "é" * 50}, most=exact)
    with pytest.raises(ValueError, match="more than"):
        encode({"text": "é" * 50 + "x"}, most=exact)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", FrameFault.NOT_JSON),
        (b"{", FrameFault.NOT_JSON),
        (b'{"a":1}x', FrameFault.NOT_JSON),
        (b'{"a":1}{"a":1}', FrameFault.NOT_JSON),
        (b' {"a":1}', FrameFault.NOT_JSON),
        (b'{"a":NaN}', FrameFault.NOT_JSON),
        (b'{"a":-Infinity}', FrameFault.NOT_JSON),
        (b'{"a":1e999}', FrameFault.NOT_JSON),
        (b'{"a":[0,-1E+999]}', FrameFault.NOT_JSON),
        (b'{"a":' + b"9" * 400 + b".0}", FrameFault.NOT_JSON),
        (b'{"a":1e999}\0text', FrameFault.NOT_JSON),
        (b'{"a":"\xff"}', FrameFault.NOT_JSON),
        (b'{"a":"\xed\xa0\x80"}', FrameFault.NOT_JSON),
        (b'{"a":"\\ud800"}', FrameFault.NOT_JSON),
        (b'{"\\uDFFF":1}', FrameFault.NOT_JSON),
        (b'{"a":"\n"}', FrameFault.NOT_JSON),
        (b'{"a":' + b"9" * 5_000 + b"}", FrameFault.NOT_JSON),
        (b"[" * MAX_VALUES, FrameFault.NOT_JSON),
        (b'{"a":' * MAX_VALUES, FrameFault.NOT_JSON),
        (b"[" * 200_000, FrameFault.TOO_MANY),
        (b"[]", FrameFault.NOT_AN_OBJECT),
        (b'"text"', FrameFault.NOT_AN_OBJECT),
        (b"null", FrameFault.NOT_AN_OBJECT),
        (b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1), FrameFault.TOO_DEEP),
        (b'{"a":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}", FrameFault.TOO_DEEP),
        (b"\0", FrameFault.NOT_JSON),
        (b"\0text", FrameFault.NOT_JSON),
        (b'{"a":{\0}}', FrameFault.NOT_JSON),
        (b'{"a":"\0"}', FrameFault.NOT_JSON),
        (b"{}\0\xff", FrameFault.NOT_JSON),
        (b"{}\0\xed\xa0\x80", FrameFault.NOT_JSON),
        (b"{}\0\xc3", FrameFault.NOT_JSON),
        (b"[]\0text", FrameFault.NOT_AN_OBJECT),
        (b'{"text":"a"}\0text', FrameFault.TWO_TEXTS),
        (b'{"text":null}\0', FrameFault.TWO_TEXTS),
        (b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1) + b"\0text", FrameFault.TOO_DEEP),
    ],
    ids=lambda value: repr(value[:20]) if isinstance(value, bytes) else None,
)
def test_body_that_is_no_strict_object_is_refused(body: bytes, fault: FrameFault) -> None:
    assert fault_of(body) is fault


FULL: dict[str, bytes] = {
    "lists": b"[]",
    "objects": b"{}",
    "objects with a member": b'{"":0}',
    "lists in lists": b"[" * (MAX_DEPTH - 3) + b"]" * (MAX_DEPTH - 3),
    "numbers": b"7",
    "fractions": b"1e1",
    "long numbers": b"1" * 4_300,
    "texts": b'""',
    "escapes": b'"\\u0041"',
    "wide texts": '"\U0001f600"'.encode(),
}


def marks(item: bytes) -> int:
    """Return how many values are counted for *item* and the comma before it."""
    return item.count(b"[") + item.count(b"{") + item.count(b",") + 1


def full(item: bytes, times: int) -> bytes:
    """Return the body of a frame that holds *item* so many times, as far as there is room."""
    room = (MAX_REPLY - 32) // (len(item) + 1)
    return b'{"id":1,"ok":{"of":[' + b",".join([item] * min(times, room)) + b"]}}"


def cost(body: bytes) -> tuple[int, float]:
    """Return the bytes and the processor seconds that it takes to decode *body*, or to refuse it."""
    tracemalloc.start()
    with contextlib.suppress(BadFrame):
        decode(body)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    begun = time.process_time()
    with contextlib.suppress(BadFrame):
        decode(body)
    return peak, time.process_time() - begun


@pytest.mark.parametrize("name", FULL)
def test_a_full_frame_takes_bounded_time_and_memory_whatever_it_holds(name: str) -> None:
    """Made of the smallest values, a frame of the greatest length would be 250 MiB of objects, and take seconds."""
    item = FULL[name]
    most = (MAX_VALUES - 3) // marks(item)
    assert len(decode(full(item, most))["ok"]["of"]) == min(most, (MAX_REPLY - 32) // (len(item) + 1))
    for times in (most, MAX_REPLY):
        memory, seconds = cost(full(item, times))
        assert memory < 48 << 20
        assert seconds < 1


@pytest.mark.parametrize("item", [b"[]", b"{}", b"7", b'""', b'{"a":"b"}', b"[0,1]"])
def test_as_many_values_as_allowed_are_read_and_one_more_is_not(item: bytes) -> None:
    few = (MAX_VALUES - 2) // marks(item)
    fitting = b'{"of":[' + b",".join([item] * few) + b"]}"
    assert len(decode(fitting)["of"]) == few
    assert fault_of(b'{"of":[' + b",".join([item] * (few + 2)) + b"]}") is FrameFault.TOO_MANY


@pytest.mark.parametrize("text", ['[{,"\\', '"', "\\", '\\"', ',\\\\",', "[\n{", "\u00e9,"])
def test_what_stands_in_a_text_is_no_value(text: str) -> None:
    message = {"of": [text * 100_000, "\\", [1, {"a": text * 10}]], text: text * 100_000}
    body = encode(message, most=MAX_REPLY)[4:]
    assert decode(body) == message


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":"' + b'\\"' * 2_000_000,
        b'{"a":"' + b"\\\\" * 2_000_000,
        b'{"a":[' + b'"",' * 1_300_000,
        b'{"a":[' + b'""ab' * 1_000_000,
        b'{"a":[' + b'",' * 2_000_000,
        b"[" * 4_000_000,
        b'{"a":[' + b'"[" ' * 1_000_000,
    ],
    ids=[
        "open text",
        "backslashes",
        "texts",
        "texts and more",
        "half texts",
        "brackets",
        "brackets in texts",
    ],
)
def test_a_frame_that_is_none_is_refused_in_bounded_time_and_memory(body: bytes) -> None:
    assert len(body) <= MAX_REPLY
    fault_of(body)
    memory, seconds = cost(body)
    assert memory < 48 << 20
    assert seconds < 1


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"a":"\\ud83d\\ude00"}',  # two halves that are one character
        b'{"a":"\\\\ud800"}',  # a text about an escape
        b'{"a":' * MAX_DEPTH + b"1" + b"}" * MAX_DEPTH,
        b'{"a":"' + b"[" * 100 + b'"}',
        json.dumps({"rows": [{"a": [1, 2]}] * 500}).encode(),
    ],
    ids=lambda body: repr(body[:20]),
)
def test_nearest_body_that_is_one_is_read(body: bytes) -> None:
    assert decode(body) == json.loads(body)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"\0", ""),
        (b'\0a\0\n\\ud800"', 'a\0\n\\ud800"'),
        (b"\0" + b"[" * 100, "[" * 100),
        ("\0é😀".encode(), "é😀"),
    ],
)
def test_text_behind_an_object_is_read_as_it_is(body: bytes, text: str) -> None:
    assert decode(b'{"a":1}' + body) == {"a": 1, "text": text}


@given(st.binary(max_size=200))
def test_any_bytes_are_an_object_or_a_bad_frame(body: bytes) -> None:
    try:
        assert isinstance(decode(body), dict)
    except BadFrame:
        pass


def test_length_is_judged_before_anything_is_allocated(pair: tuple[Channel, socket.socket]) -> None:
    channel, theirs = pair
    theirs.sendall((0xFFFF_FFFF).to_bytes(4, "big"))
    with pytest.raises(BadFrame) as caught:
        channel.receive(until=soon())
    assert caught.value.fault is FrameFault.TOO_LONG


def test_frame_of_the_greatest_length_arrives_and_one_byte_more_does_not(
    pair: tuple[Channel, socket.socket],
) -> None:
    channel, theirs = pair
    threading.Thread(target=theirs.sendall, args=(frame(b"x" * MOST),), daemon=True).start()
    assert channel.receive(until=soon()) == b"x" * MOST
    theirs.sendall((MOST + 1).to_bytes(4, "big"))
    with pytest.raises(BadFrame):
        channel.receive(until=soon())


def test_frames_arrive_however_they_are_cut(pair: tuple[Channel, socket.socket]) -> None:
    channel, theirs = pair
    bodies = [b"one", b"", b"three" * 1_000]

    def send() -> None:
        for byte in b"".join(frame(body) for body in bodies):
            theirs.sendall(bytes([byte]))

    sender = threading.Thread(target=send)
    sender.start()
    assert [bytes(channel.receive(until=soon())) for _ in bodies] == bodies
    sender.join()
    theirs.sendall(b"".join(frame(body) for body in bodies))
    assert [bytes(channel.receive(until=soon())) for _ in bodies] == bodies
    assert channel.held == b""


@pytest.mark.parametrize("part", [b"", b"\0\0", b"\0\0\0\x09", b"\0\0\0\x09half"])
def test_waiting_ends_at_the_deadline(pair: tuple[Channel, socket.socket], part: bytes) -> None:
    channel, theirs = pair
    theirs.sendall(part)
    begun = time.monotonic()
    with pytest.raises(ChannelTimeout):
        channel.receive(until=soon(SHORT))
    assert SHORT <= time.monotonic() - begun < SHORT + 1


def test_peer_that_sends_byte_after_byte_does_not_move_the_deadline(
    pair: tuple[Channel, socket.socket],
) -> None:
    channel, theirs = pair
    stop = threading.Event()

    def trickle() -> None:
        theirs.sendall((MOST).to_bytes(4, "big"))
        while not stop.wait(0.001):
            theirs.sendall(b"x")

    sender = threading.Thread(target=trickle)
    sender.start()
    begun = time.monotonic()
    with pytest.raises(ChannelTimeout):
        channel.receive(until=soon(SHORT))
    assert time.monotonic() - begun < SHORT + 1
    stop.set()
    sender.join()


def test_sending_to_a_peer_that_does_not_read_ends_at_the_deadline(
    pair: tuple[Channel, socket.socket],
) -> None:
    channel, _ = pair
    with pytest.raises(ChannelTimeout):
        channel.send(b"x" * (8 << 20), until=soon(SHORT))


def test_deadline_that_has_passed_waits_for_nothing(pair: tuple[Channel, socket.socket]) -> None:
    channel, theirs = pair
    with pytest.raises(ChannelTimeout):
        channel.receive(until=time.monotonic() - 1)
    theirs.sendall(frame(b"later"))
    assert channel.receive(until=soon()) == b"later"


def test_peer_that_is_gone_is_noticed_in_every_position(pair: tuple[Channel, socket.socket]) -> None:
    channel, theirs = pair
    theirs.sendall(b"\0\0\0\x09half")
    theirs.close()
    with pytest.raises(ChannelClosed):
        channel.receive(until=soon())
    with pytest.raises(ChannelClosed):
        channel.send(b"x", until=soon())
    assert channel.is_readable()


def test_whoever_waits_is_asked_and_can_be_told_apart(pair: tuple[Channel, socket.socket]) -> None:
    channel, theirs = pair
    asked: list[float] = []

    def tick() -> None:
        asked.append(time.monotonic())
        if len(asked) == 3:
            theirs.sendall(frame(b"done"))

    assert channel.receive(until=soon(), tick=tick) == b"done"
    assert len(asked) == 3
    assert not channel.is_readable()
    theirs.sendall(channels.EMPTY_FRAME)
    assert channel.is_readable()
    assert channel.receive(until=soon()) == b""


# -- waiting awake -----------------------------------------------------------------------------


class Processor:
    """A clock, and what happens each time somebody lets others have the processor: *taken* seconds, and *then*."""

    def __init__(self, *, taken: float, then: Callable[[], object] = int) -> None:
        self.now = 1000.0
        self.yielded = 0
        self.taken = taken
        self.then = then

    def monotonic(self) -> float:
        return self.now

    def sched_yield(self) -> None:
        self.yielded += 1
        self.now += self.taken
        self.then()


def on(monkeypatch: pytest.MonkeyPatch, processor: Processor) -> Processor:
    """Let channels run on *processor*."""
    monkeypatch.setattr(channels, "time", processor)
    monkeypatch.setattr(channels, "os", processor)
    return processor


def test_reply_that_comes_while_its_caller_is_awake_is_received_without_a_wait(
    pair: tuple[Channel, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, theirs = pair
    here = on(monkeypatch, Processor(taken=0.000_1, then=lambda: theirs.sendall(frame(b"soon"))))
    channel.wait_awake()
    assert here.yielded == 1
    theirs.close()
    # A wait would find the end of the stream, or nothing.
    assert channel.receive(until=here.now + 5) == b"soon"


def test_nothing_is_waited_for_awake_longer_than_a_moment(
    pair: tuple[Channel, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, theirs = pair
    here = on(monkeypatch, Processor(taken=AWAKE_SECONDS / 4))
    begun = here.now
    channel.wait_awake()
    assert AWAKE_SECONDS <= here.now - begun < 2 * AWAKE_SECONDS
    assert channel.held == b""
    theirs.sendall(frame(b"later"))
    assert channel.receive(until=here.now + 5) == b"later"


@pytest.mark.parametrize("comes", [True, False])
def test_nobody_stays_awake_for_a_while_after_another_program_kept_the_processor(
    pair: tuple[Channel, socket.socket], monkeypatch: pytest.MonkeyPatch, comes: bool
) -> None:
    channel, theirs = pair
    here = on(monkeypatch, Processor(taken=0.003))
    if comes:
        here.then = lambda: theirs.sendall(frame(b"late"))
    channel.wait_awake()
    if comes:
        assert channel.receive(until=here.now + 5) == b"late"
    channel.wait_awake()
    here.now += ASLEEP_SECONDS - 0.1
    channel.wait_awake()
    assert here.yielded == 1
    here.now += 0.2
    channel.wait_awake()
    assert here.yielded == 2


def test_peer_that_kept_the_processor_for_a_moment_only_is_waited_for_awake_again(
    pair: tuple[Channel, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, theirs = pair
    here = on(monkeypatch, Processor(taken=0.000_2, then=lambda: theirs.sendall(frame(b"soon"))))
    for number in (1, 2, 3):
        channel.wait_awake()
        assert channel.receive(until=here.now + 5) == b"soon"
        assert here.yielded == number


@pytest.mark.parametrize("part", [b"\0", b"\0\0\0\x09half"])
def test_frame_that_is_cut_while_its_caller_is_awake_is_waited_for_to_the_deadline(
    pair: tuple[Channel, socket.socket], part: bytes
) -> None:
    channel, theirs = pair
    theirs.sendall(part)
    channel.wait_awake()
    assert channel.held == part
    with pytest.raises(ChannelTimeout):
        channel.receive(until=soon(SHORT))


def test_what_was_not_asked_for_is_seen_behind_a_reply_that_came_while_awake(
    pair: tuple[Channel, socket.socket],
) -> None:
    channel, theirs = pair
    theirs.sendall(frame(b"asked") + b"more")
    channel.wait_awake()
    assert channel.receive(until=soon()) == b"asked"
    assert channel.held == b"more"


def test_peer_that_is_gone_is_noticed_awake(pair: tuple[Channel, socket.socket]) -> None:
    channel, theirs = pair
    theirs.close()
    with pytest.raises(ChannelClosed):
        channel.wait_awake()


def test_descriptors_that_are_sent_along_are_dropped(pair: tuple[Channel, socket.socket]) -> None:
    channel, theirs = pair
    before = os.listdir("/proc/self/fd")
    socket.send_fds(theirs, [frame(b"with")], [theirs.fileno()] * 16)
    assert channel.receive(until=soon()) == b"with"
    socket.send_fds(theirs, [frame(b"awake")], [theirs.fileno()] * 16)
    channel.wait_awake()
    assert channel.receive(until=soon()) == b"awake"
    assert os.listdir("/proc/self/fd") == before
