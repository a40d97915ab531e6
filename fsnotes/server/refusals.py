"""A request that is answered by a JSON-RPC error."""

from __future__ import annotations

from typing import Any


class RpcRefusal(Exception):
    """What a request is answered with instead of a result (JSON-RPC 2.0, section 5.1)."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.data = data
