"""Decides how a connection is held: how many there are, how long each may take, and what is read as a request at all.

The server's own protocol, with h11 in it, takes a head that has passed `heads`, and of the body what the application
asks for: so who is refused by the head alone costs no reading of a body. A request at a time: who sends another one
before the first is answered has this connection closed after that answer, so that nothing waits behind a request.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, cast

import h11
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol

from fsnotes.server.http.heads import END, MAX_HEAD, fault, is_stray
from fsnotes.server.http.places import Places, Standing
from fsnotes.server.http.presence import probe
from fsnotes.server.http.replies import ALWAYS, CLOSE, TEXT
from fsnotes.server.http.turns import Turns, is_absurd, next_slice

logger = logging.getLogger(__name__)

LINGER_SECONDS: Final = 2.0
"""How long is read on and thrown away after a refusal, so that the client gets to read it."""

LINGER_BYTES: Final = 16 * 1_048_576

MOST_UNREAD: Final = 65_536
"""Bytes of a body that are held before the application asks for them; the client waits with the rest. Behind a request
there may be no more: who sends on and on while it is answered has the connection ended."""

ABORT: Final = "fsnotes.abort"
"""Where the application finds, in a request's scope, what ends the connection without sending anything more."""

_COMING: Final = (h11.IDLE, h11.SEND_BODY, h11.ERROR)
"""What h11 says of a client whose request has not come whole. In any other state it reads nothing of ours."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many connections there may be, and how many seconds each may take for the head of a request, and to read."""

    connections: int
    head_seconds: float
    send_seconds: float


class _Outgoing:
    """The transport as the protocol beneath sees it: what is sent in one turn leaves at once, and ends lingering."""

    def __init__(self, transport: asyncio.Transport, owner: Connection) -> None:
        self._transport = transport
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._parts: list[bytes] = []
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False

    def write(self, data: bytes) -> None:
        if self._closing or not data:
            return
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(data)

    def flush(self) -> None:
        """Send what has been written."""
        parts, self._parts = self._parts, []
        if parts:
            self._transport.write(b"".join(parts))

    def is_closing(self) -> bool:
        return self._closing or self._transport.is_closing()

    def close(self) -> None:
        """Send what has been written, and end the connection: at once where the request has been read whole."""
        if self._closing:
            return
        self._closing = True
        self.flush()
        if self._transport.is_closing():
            return
        if self._owner.is_read:
            self._owner.places.leave(self._owner)
            self._transport.close()
            seconds = self._owner.bounds.send_seconds
        else:
            # Closed with something unread, the client would see a reset instead of the response.
            self._owner.places.wait(self._owner, Standing.ENDING)
            self._transport.write_eof()
            self._transport.resume_reading()
            seconds = LINGER_SECONDS
        self._timer = self._loop.call_later(seconds, self.abort)

    def abort(self) -> None:
        """End the connection without sending anything more."""
        self._closing = True
        self._transport.abort()

    def lost(self) -> None:
        """The connection has ended."""
        self._closing = True
        self._parts.clear()
        if self._timer is not None:
            self._timer.cancel()

    def pause_reading(self) -> None:
        if not self._closing:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if not self._closing:
            self._transport.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)


class _Flow(FlowControl):
    """How much is read, as the protocol beneath decides it: of the body of a request, not of the connection."""

    def __init__(self, transport: asyncio.Transport, owner: Connection) -> None:
        super().__init__(transport)
        self._owner = owner

    def pause_reading(self) -> None:
        self._owner.hold()

    def resume_reading(self) -> None:
        self._owner.ask()


class Connection(H11Protocol):
    """One connection, from the first byte to the last."""

    bounds: Bounds
    places: Places
    turns: Turns

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, or refuse it where there are too many."""
        self._head = bytearray()
        self._looked_at = 0
        self._unread = bytearray()
        self._left: int | None = 0
        self._framing = self._size = 0
        self._is_wanted = False
        self._deadline: asyncio.TimerHandle | None = None
        self._slow: asyncio.TimerHandle | None = None
        self._thrown_away = 0
        self._outgoing = _Outgoing(cast("asyncio.Transport", transport), self)
        if (accepted := transport.get_extra_info("socket")) is not None:
            probe(accepted, patience=self.bounds.send_seconds)
        is_full = len(self.connections) >= self.bounds.connections
        super().connection_made(cast("asyncio.Transport", self._outgoing))
        self.flow = _Flow(cast("asyncio.Transport", self._outgoing), self)
        if is_full and not self.places.make_room():
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, b"retry-after: 1\r\n")
        else:
            self.places.wait(self, Standing.STRANGE)
            self._deadline = self.loop.call_later(self.bounds.head_seconds, self._head_is_late)

    def make_room(self) -> None:
        """End the connection in favour of another one: nothing is under way on it."""
        if self._outgoing.is_closing() or self._head:
            self._outgoing.abort()
        else:
            self._outgoing.close()

    def abort(self) -> None:
        """End the connection, whatever is under way on it."""
        self._outgoing.abort()

    @property
    def is_read(self) -> bool:
        """Say whether nothing that the client has sent, or will send, of its request is unread."""
        if self.conn.their_state is h11.IDLE:
            return not self._head
        return self.conn.their_state not in _COMING and not self._is_more_there()

    def _is_more_there(self) -> bool:
        return bool(self._unread or self.conn.trailing_data[0])

    def data_received(self, data: bytes) -> None:
        """Take what has come: the head of a request once it is whole and sound, and what follows it as it is wanted."""
        if self._outgoing.is_closing():
            self._thrown_away += len(data)
            if self._thrown_away > LINGER_BYTES:
                self._outgoing.abort()
            return
        if self.conn.their_state is not h11.IDLE:
            self._unread += data
            self._go_on()
            return
        self._unset_keepalive_if_required()
        self._head += data
        end = self._end_of_head()
        if end is not None:
            head, self._unread = bytes(self._head[:end]), self._head[end:]
            self._head, self._looked_at = bytearray(), 0
            self._begin(head)

    def _end_of_head(self) -> int | None:
        """Return where the head ends that has come whole and sound. What is not sound is refused; None for the rest."""
        # What has been looked at is not looked at again, but for the end that may have begun in it.
        seen = max(0, self._looked_at - len(END) + 1)
        self._looked_at = len(self._head)
        found = self._head.find(END, seen)
        end = len(self._head) if found < 0 else found + len(END)
        if end > MAX_HEAD:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif found < 0:
            if is_stray(self._head, seen):
                self._refuse(HTTPStatus.BAD_REQUEST)
            elif self._deadline is None:
                self._deadline = self.loop.call_later(self.bounds.head_seconds, self._head_is_late)
        elif (why := fault(bytes(self._head[:end]))) is not None:
            logger.info("no request: %s", why)
            self._refuse(HTTPStatus.BAD_REQUEST)
        else:
            self._unset_deadline()
            return end
        return None

    def _begin(self, head: bytes) -> None:
        """Have the request with this *head* answered. What follows the head waits until it is wanted."""
        self.places.leave(self)
        self._is_wanted = False
        super().data_received(head)
        if self._outgoing.is_closing():
            return  # h11 found something else
        cast("dict[str, Any]", self.scope)[ABORT] = self._outgoing.abort
        fields = dict(self.headers)  # of what is read here, `heads` lets no field be there twice
        self._left = None if b"transfer-encoding" in fields else int(fields.get(b"content-length", b"0"))
        self._framing = self._size = 0
        if b"upgrade" in fields:
            self._end_after_this()  # no other protocol is spoken, and nothing is taken for one
        self._go_on()

    def hold(self) -> None:
        """Pass no more of the body on: what was passed on is still to be taken."""
        self._is_wanted = False

    def ask(self) -> None:
        """Pass on more of the body."""
        self._is_wanted = True
        if not self._outgoing.is_closing():
            self._go_on()

    def _go_on(self) -> None:
        """Take what is wanted of the unread, and read no more than can be held."""
        if self._is_wanted and self._unread and self.conn.their_state in _COMING:
            if self._left is None:
                self.turns.add(self)
            else:
                part = bytes(self._unread[: self._left])
                del self._unread[: len(part)]
                self._left -= len(part)
                self._pass_on(part)
        if self._outgoing.is_closing():
            return
        if self.conn.their_state not in _COMING:
            self._look_behind()
        elif len(self._unread) > MOST_UNREAD:
            self._outgoing.pause_reading()
        else:
            self._outgoing.resume_reading()

    def _look_behind(self) -> None:
        """Read on behind a request that is being answered: only so it is seen that the client has gone."""
        if len(self._unread) + len(self.conn.trailing_data[0]) > MOST_UNREAD:
            logger.info("a connection ended: too much came before the answer")
            self._outgoing.abort()
            return
        if self._is_more_there():
            self._end_after_this()
        self._outgoing.resume_reading()

    def _pass_on(self, part: bytes) -> None:
        super().data_received(part)
        if self.conn.their_state not in _COMING and self._is_more_there():
            self._end_after_this()

    def take_slice(self) -> None:
        """Take apart the next chunks, in the connection's turn. More of them than anybody needs are refused."""
        if self._outgoing.is_closing() or self.conn.their_state is not h11.SEND_BODY or not self._is_wanted:
            return
        part = next_slice(self._unread)
        held = len(self.cycle.body)
        self._pass_on(part)
        if self._outgoing.is_closing():
            return
        taken = len(self.cycle.body) - held
        self._size += taken
        self._framing += len(part) - taken
        if is_absurd(self._framing, self._size):
            self.send_400_response("too many chunks")
        else:
            self._go_on()

    def on_response_complete(self) -> None:
        """Wait for the next request, where there may be one."""
        super().on_response_complete()
        if not self._outgoing.is_closing():
            self.places.wait(self, Standing.KNOWN)

    def _end_after_this(self) -> None:
        if self.cycle is not None and not self.cycle.response_started:
            self.headers.append(CLOSE)  # as if the client had asked for it: then it is told, too
        elif self.cycle is not None:
            self.cycle.keep_alive = False

    def _head_is_late(self) -> None:
        self._deadline = None
        if self._head:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self._outgoing.close()  # nobody has asked anything

    def _unset_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  # the name that is called
        """Refuse what h11 cannot read, unless the answer has begun: then it ends where it is."""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
            if cycle.response_started:
                self._outgoing.close()
                return
        self._refuse(HTTPStatus.BAD_REQUEST)

    def _refuse(self, status: HTTPStatus, more: bytes = b"") -> None:
        """Answer what is no request with *status*, and end the connection."""
        self._unset_deadline()
        body = status.phrase.encode("ascii") + b"\n"
        fields = (*ALWAYS, CLOSE, (b"content-type", TEXT), (b"content-length", b"%d" % len(body)))
        lines = b"".join(name + b": " + value + b"\r\n" for name, value in fields)
        first = b"HTTP/1.1 %d %s\r\n" % (status, status.phrase.encode("ascii"))
        self._outgoing.write(first + lines + more + b"\r\n" + body)
        self._outgoing.close()

    def pause_writing(self) -> None:
        """Wait for the client to read, but not for ever."""
        super().pause_writing()
        self._slow = self.loop.call_later(self.bounds.send_seconds, self._outgoing.abort)

    def resume_writing(self) -> None:
        """Go on: the client has read."""
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of everything."""
        self._outgoing.lost()
        self.places.leave(self)
        self._unread.clear()
        self._unset_deadline()
        self._unset_keepalive_if_required()
        if self._slow is not None:
            self._slow.cancel()
        super().connection_lost(exc)


def connections_within(bounds: Bounds) -> type[Connection]:
    """Return the protocol of connections that keep within *bounds*."""
    return type("BoundConnection", (Connection,), {"bounds": bounds, "places": Places(), "turns": Turns()})
