"""What a reply of a worker may look like. It is hostile input: one shape of three, the right id, plain fields.

Whether what a result holds is what its caller may see is decided far above.
"""

from __future__ import annotations

from typing import Any, Final

from sandbox.jail.channel import BadFrame, FrameFault, decode
from sandbox.records import record

MAX_KIND: Final = 200
"""Characters of the name of an exception's class."""


@record
class Raised:
    """The handler raised: the class of the exception and its plain fields."""

    kind: str
    fields: dict[str, object]


class OutOfMemory:
    """The handler ran out of memory; the worker lives, and should be replaced."""


OUT_OF_MEMORY: Final = OutOfMemory()


def read_reply(body: bytes | bytearray, *, number: int) -> dict[str, Any] | Raised | OutOfMemory:
    """Return what the reply to request *number* says. Raises BadFrame."""
    reply = decode(body)
    answered = reply.get("id")
    if type(answered) is not int or answered != number:
        raise BadFrame(FrameFault.WRONG_ID)
    result = reply.get("ok")
    if type(result) is dict:
        if len(reply) == 2:
            return result
        text = reply.get("text")
        if len(reply) == 3 and type(text) is str and "text" not in result:
            result["text"] = text
            return result
    elif len(reply) == 2:
        if reply.get("limit") == "memory":
            return OUT_OF_MEMORY
        error = reply.get("error")
        if type(error) is dict and error.keys() == {"class", "fields"}:
            kind, fields = error["class"], error["fields"]
            if type(kind) is str and len(kind) <= MAX_KIND and type(fields) is dict:
                return Raised(kind, fields)
    raise BadFrame(FrameFault.WRONG_SHAPE)
