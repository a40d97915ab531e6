"""Frames leave in order, and whoever waits for one of them is told when that one has left."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from fsnotes.access import Principal
from fsnotes.server import ServerSettings
from fsnotes.server.front import Front
from fsnotes.server.loading import LARGE_FRAME
from fsnotes.server.stdio import _Connection
from fsnotes.server.streams import QUEUE_HIGH, FrameWriter

SMALL_PIPE = 4_096
LONG = 30.0


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, SMALL_PIPE)
    os.set_blocking(writing, False)
    os.set_blocking(reading, False)
    yield reading, writing
    for descriptor in (reading, writing):
        try:
            os.close(descriptor)
        except OSError:
            pass


def take(reading: int, most: int) -> bytes:
    try:
        return os.read(reading, most)
    except BlockingIOError:
        return b""


def test_a_frame_has_left_though_later_ones_have_not(pipe: tuple[int, int]) -> None:
    reading, writing = pipe

    async def go() -> None:
        writer = FrameWriter(writing, on_relief=lambda: None, on_broken=lambda: None)
        first = writer.send(b"a" * 6_000)
        last = writer.send(b"b" * 100_000)
        waiting = asyncio.ensure_future(writer.has_left(first))
        await asyncio.sleep(0.01)
        assert not waiting.done()  # the pipe holds less than all of it
        got = take(reading, SMALL_PIPE)
        assert await asyncio.wait_for(waiting, LONG)
        end = asyncio.ensure_future(writer.has_left(last))
        while not end.done():
            got += take(reading, SMALL_PIPE)
            await asyncio.sleep(0)
        got += take(reading, SMALL_PIPE)
        assert await end
        assert got == b"a" * 6_000 + b"b" * 100_000
        assert await asyncio.wait_for(writer.has_left(last), LONG)

    asyncio.run(go())


def test_what_cannot_be_written_any_more_has_not_left(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    broken = []

    async def go() -> None:
        writer = FrameWriter(writing, on_relief=lambda: None, on_broken=lambda: broken.append(1))
        whole = writer.send(b"a" * 1_000)
        assert await asyncio.wait_for(writer.has_left(whole), LONG)
        cut = writer.send(b"b" * 100_000)
        waiting = asyncio.ensure_future(writer.has_left(cut))
        await asyncio.sleep(0.01)
        os.close(reading)
        assert not await asyncio.wait_for(waiting, LONG)
        assert await writer.has_left(whole)
        assert not await writer.has_left(writer.send(b"c"))
        assert not writer.is_congested

    asyncio.run(go())
    assert broken == [1]


def test_relief_is_told_once_the_reader_has_caught_up(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    relieved = []

    async def go() -> None:
        writer = FrameWriter(writing, on_relief=lambda: relieved.append(1), on_broken=lambda: None)
        for _ in range(10):
            writer.send(b"a" * (QUEUE_HIGH // 8))
        assert writer.is_congested
        while not relieved:
            take(reading, 65_536)
            await asyncio.sleep(0)
        assert not writer.is_congested

    asyncio.run(asyncio.wait_for(go(), LONG))
    assert relieved == [1]


class NoKernel:
    """A front that answers nothing: what is tested is what comes before it."""

    streams = 0

    def end_streams(self) -> None:
        pass

    async def loaded(self, seconds: float) -> None:
        pass


def test_a_large_frame_is_read_where_no_thread_can_be_had_for_it() -> None:
    source, feeding = os.pipe()
    reading, sink = os.pipe()
    for descriptor in (source, sink):
        os.set_blocking(descriptor, False)

    async def go() -> int:
        connection = _Connection(
            cast(Front, NoKernel()),
            ServerSettings(),
            source,
            sink,
            principal=Principal("local:me"),
            max_calls=8,
        )
        connection._parser.shutdown()  # from here on it refuses as one does that gets no thread
        broken = b'{"a":[' + b"[]," * (LARGE_FRAME // 3 + 1) + b"]}\n"
        feeder = threading.Thread(target=lambda: (os.write(feeding, broken * 2), os.close(feeding)))
        feeder.start()
        code = await asyncio.wait_for(connection.run(), LONG)
        feeder.join(LONG)
        assert not connection.is_parsing
        return code

    os.set_blocking(feeding, True)
    assert asyncio.run(go()) == 0
    os.close(sink)
    with open(reading, "rb") as answers:
        refused = [json.loads(line) for line in answers]
    assert [answer["error"]["code"] for answer in refused] == [-32700, -32700]
    os.close(source)


def test_what_is_sent_to_a_file_while_more_is_being_written_arrives_too(tmp_path: Path) -> None:
    async def go() -> None:
        descriptor = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
        more = [b"more"]

        def send_more() -> None:
            while more:
                writer.send(more.pop())

        writer = FrameWriter(descriptor, on_relief=send_more, on_broken=lambda: None)
        large = b"a" * (QUEUE_HIGH // 2)
        writer.send(large)
        await asyncio.wait_for(writer.has_left(len(large) + 4), LONG)
        await asyncio.wait_for(writer.has_left(writer.send(b"end")), LONG)
        os.close(descriptor)
        assert (tmp_path / "out").read_bytes() == large + b"moreend"

    asyncio.run(go())
