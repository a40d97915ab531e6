"""A request that is answered by a JSON-RPC error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsnotes.failures import Failure


class RpcRefusal(Exception):
    """What a request is answered with instead of a result (JSON-RPC 2.0, section 5.1).

    *failure* is the same for where it is the result of a tool, if it can be.
    """

    def __init__(self, code: int, message: str, data: Any = None, *, failure: Failure | None = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.data = data
        self.failure = failure
