"""A worker that has been started and asked to begin: one conversation at a time with one process.

It turns what happens on the channel into an end of the process, so that a caller learns at once and exactly why
there is no answer. When and whether another worker follows is the supervisor's to decide.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from sandbox.errors import HandlerFailed
from sandbox.jail.channel import (
    EMPTY_FRAME,
    MAX_REPLY,
    BadFrame,
    Channel,
    ChannelClosed,
    ChannelTimeout,
    FrameFault,
)
from sandbox.jail.endings import (
    CLOSED,
    HUNG,
    INTERRUPTED,
    MEMORY_LIMIT,
    UNKILLABLE,
    Ended,
    Ending,
    read_exit,
)
from sandbox.jail.process import REAP_SECONDS, WorkerProcess
from sandbox.jail.replies import Raised, read_reply
from sandbox.locking import never
from sandbox.mounts import Mount

EXIT_SECONDS: Final = 0.25
"""How long a worker whose channel is closed may take to be gone by itself, so that its status can speak."""


class Employed:
    """One worker and the channel to it. `ask` is for one caller at a time, the rest for any thread."""

    def __init__(self, process: WorkerProcess) -> None:
        self.process = process
        self.calls = 0
        """How many calls it has been given; its caller counts."""
        self.ended: Ended | None = None
        """How this worker ended or is about to; None while it may serve. Set by `settle`."""
        self.retirement: Ended | None = None
        """Set when it should be replaced as soon as nobody talks to it."""
        self.mounts: frozenset[Mount] | None = None
        """What is mounted around its folders as it sees them; None where it sees what there is, or nobody knows."""
        self.is_unwatched = False
        """Whether it sees mounts of its own, and nobody knew them when it began."""
        self._mutex = threading.Lock()
        self._talking = threading.Lock()
        self._channel = Channel(process.connection, most=MAX_REPLY)
        # Of the request at hand:
        self._sent = False
        self._until = 0.0
        self._abandoned: Callable[[], bool] = never

    def settle(self, ended: Ended) -> Ended:
        """Say how it ends, unless that has been said already; return what holds."""
        with self._mutex:
            if self.ended is None:
                self.ended = ended
            return self.ended

    def end(self, ended: Ended) -> None:
        """Kill it, and say why."""
        self.settle(ended)
        self.process.kill()

    def close(self) -> None:
        """Let go of channel and pipe, once the process is gone."""
        # SAFETY: who still waits for a reply sees the end of the stream at once. The descriptor must outlast
        # that wait: its number could be another file's while somebody polls it.
        with self._talking:
            self._channel.close()
        self.process.close()

    def ask(
        self, frame: bytes, *, number: int, until: float, abandoned: Callable[[], bool]
    ) -> dict[str, Any]:
        """Send request *number* and return its result.

        Raises HandlerFailed when the handler raised, and WorkerFailed, at once, when there is no answer: then
        the worker is gone, and `ended` set. A caller that is interrupted ends the worker too, since its answer
        would be taken for another's.
        """
        try:
            with self._talking:
                self._sent = False
                self._until = until
                self._abandoned = abandoned
                self._channel.send(frame, until=until)
                self._sent = True
                self._channel.wait_awake()
                body = self._channel.receive(until=until, tick=self._tick)
                if self._channel.held:
                    raise BadFrame(FrameFault.UNASKED)
            reply = read_reply(body, number=number)
        except ChannelTimeout:
            ended: Ended | None = HUNG
        except BadFrame as refused:
            ended = Ended(Ending.BREACH, f"the worker sent {refused.fault.value}")
        except ChannelClosed:
            ended = None
        except BaseException:
            self.end(INTERRUPTED)
            raise
        else:
            if type(reply) is dict:
                return reply
            if isinstance(reply, Raised):
                raise HandlerFailed(reply.kind, reply.fields)
            # A failure, though it says so itself: one that says so each time would be started again without a pause.
            self.settle(MEMORY_LIMIT)
            raise MEMORY_LIMIT.failure(sent=True)
        raise self._conclude(ended).failure(sent=self._sent)

    def _tick(self) -> None:
        """Tell the worker, once, when the caller has gone."""
        if self._abandoned():
            self._abandoned = never
            self._channel.send(EMPTY_FRAME, until=self._until)

    def _conclude(self, ended: Ended | None) -> Ended:
        """See to it that the process is gone, and return how it ended."""
        if ended is None:
            status = self.process.wait_until_gone(EXIT_SECONDS)
            if status is not None:
                return self.settle(read_exit(status))
            ended = CLOSED
        self.end(ended)
        if self.process.wait_until_gone(REAP_SECONDS) is None:
            return UNKILLABLE
        return self.settle(ended)
