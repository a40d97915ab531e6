"""Speaks HTTP/1.1 byte by byte over a real socket: nothing is added, repaired or retried, every wait is bounded."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from tests.server.wire import VERSION, call, request

SECONDS = 20.0
BOTH = "application/json, text/event-stream"

Fields = dict[str, str | None]


@dataclass(frozen=True)
class Answer:
    """A whole response. Names of fields are in lower case."""

    status: int
    fields: list[tuple[str, str]]
    body: bytes

    def field(self, name: str) -> str | None:
        """The value of the one field *name*."""
        values = [value for key, value in self.fields if key == name]
        assert len(values) < 2, values
        return values[0] if values else None

    @property
    def message(self) -> Any:
        """The JSON body."""
        assert self.field("content-type") == "application/json", self
        return json.loads(self.body)

    @property
    def code(self) -> int | None:
        """The code of the JSON-RPC error; None for a result."""
        code = self.message.get("error", {}).get("code")
        assert code is None or isinstance(code, int)
        return code

    @property
    def events(self) -> list[Any]:
        """The messages of an event stream."""
        assert self.field("content-type") == "text/event-stream", self
        *blocks, rest = self.body.split(b"\n\n")
        assert rest == b""
        assert all(block.startswith(b"event: message\ndata: ") for block in blocks)
        return [json.loads(block.partition(b"data: ")[2]) for block in blocks]


def posted(
    body: bytes | dict[str, Any],
    fields: Fields | None = None,
    *,
    port: int,
    path: str = "/mcp",
    bearer: str | None = None,
) -> bytes:
    """A good POST of *body*. *fields* change or (None) leave out what it would carry by itself."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {
        "Host": f"127.0.0.1:{port}",
        "Content-Type": "application/json",
        "Accept": BOTH,
        "Content-Length": str(len(data)),
    }
    if isinstance(body, dict) and "method" in body:
        named |= {"MCP-Protocol-Version": VERSION, "Mcp-Method": body["method"]}
        if body["method"] == "tools/call":
            named["Mcp-Name"] = body["params"].get("name")
    if bearer is not None:
        named["Authorization"] = f"Bearer {bearer}"
    carried = {**named, **(fields or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in carried.items() if value is not None)
    return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + data


class Raw:
    """One connection. Use it as a context."""

    def __init__(self, port: int, *, window: int | None = None) -> None:
        self.port = port
        self.socket = socket.socket()
        if window is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        self.socket.settimeout(SECONDS)
        try:
            self.socket.connect(("127.0.0.1", port))
        except OSError:
            self.socket.close()
            raise
        self._held = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.socket.sendall(data)

    def get(self, path: str, *, method: str = "GET", **fields: str) -> Answer:
        """Ask for *path*."""
        named = {"Host": f"127.0.0.1:{self.port}", **fields}
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        self.send(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode())
        return self.read(bodiless=method == "HEAD")

    def post(self, body: bytes | dict[str, Any], fields: Fields | None = None, **how: Any) -> Answer:
        """Send a POST, and return what is answered."""
        self.send(posted(body, fields, port=self.port, **how))
        return self.read()

    def call(self, tool: str, arguments: Any = None, *, bearer: str | None = None, **more: Any) -> Answer:
        """Call a tool."""
        return self.post(call(1, tool, arguments, **more), bearer=bearer)

    def _fill(self) -> None:
        chunk = self.socket.recv(1 << 16)
        if not chunk:
            raise EOFError(self._held)
        self._held += chunk

    def _take(self, count: int) -> bytes:
        while len(self._held) < count:
            self._fill()
        taken, self._held = self._held[:count], self._held[count:]
        return taken

    def _line(self) -> bytes:
        while b"\r\n" not in self._held:
            self._fill()
        taken, _, self._held = self._held.partition(b"\r\n")
        return taken

    def head(self) -> tuple[int, list[tuple[str, str]]]:
        """Read the head of a response."""
        version, status, *_ = self._line().decode("ascii").split(" ")
        assert version == "HTTP/1.1"
        fields = []
        while line := self._line().decode("latin-1"):
            name, _, value = line.partition(":")
            fields.append((name.lower(), value.strip()))
        return int(status), fields

    def chunk(self) -> bytes:
        """Read one chunk of a body; empty at its end."""
        data = self._take(int(self._line(), 16))
        assert self._take(2) == b"\r\n"
        return data

    def read(self, *, bodiless: bool = False) -> Answer:
        """Read a whole response. Raises EOFError where there is none."""
        status, fields = self.head()
        body = b""
        if bodiless:
            pass
        elif ("transfer-encoding", "chunked") in fields:
            while data := self.chunk():
                body += data
        else:
            body = self._take(int(dict(fields)["content-length"]))
        return Answer(status, fields, body)

    def is_closed(self) -> bool:
        """Wait until the server ends the connection; say whether it did without another byte."""
        try:
            return not self._held and self.socket.recv(1) == b""
        except ConnectionResetError:
            return True


def ping(id_: Any = 1) -> dict[str, Any]:
    """A request that the kernel need not answer."""
    return request(id_, "server/discover")
