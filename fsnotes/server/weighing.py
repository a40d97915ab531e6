"""Decides how much a request may say beside the arguments of its tool.

Whatever is not plain is judged by the SDK's models, on the event loop, and what they make of each value takes a
hundred times as long as reading it. Arguments are bounded by the frame alone: they hold notes, and nobody's models
look into them.
"""

from __future__ import annotations

from typing import Any, Final

from fsnotes.server.frames import Params

MOST_VALUES: Final = 1_000
"""Values, members and items of all levels together; an honest envelope has a dozen."""

MOST_TEXT: Final = 1_048_576
"""Characters of all texts and names together; as many as 256 long URIs have that are listened to. They cost little."""

_MANY: Final = (dict, list)

_ECHO: Final = frozenset({"inputResponses", "requestState"})
"""What answers a form: judged by us alone, and never by those models."""


def is_overweight(method: str, params: Params) -> bool:
    """Say whether there is more in *params* than anybody needs to say, without looking at more than that."""
    if len(params) > MOST_VALUES:
        return True
    is_call = method == "tools/call"
    values, text = len(params), 0
    unseen: list[Any] = []
    for name, value in params.items():
        text += len(name)
        if name not in _ECHO and not (is_call and name == "arguments" and isinstance(value, dict)):
            unseen.append(value)
    # It grows while it is gone through, by no more values than there may be, and as many names.
    for value in unseen:
        if isinstance(value, str):
            text += len(value)
        elif isinstance(value, _MANY):
            values += len(value)
            if values > MOST_VALUES:
                return True  # before they are looked at
            unseen.extend(value)
            if isinstance(value, dict):
                unseen.extend(value.values())
    return text > MOST_TEXT
