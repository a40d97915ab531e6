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

MOST_TEXT: Final = 65_536
"""Characters of all texts and names together."""

_ECHO: Final = frozenset({"inputResponses", "requestState"})
"""What answers a form: judged by us alone, and never by those models."""


def is_overweight(method: str, params: Params) -> bool:
    """Say whether there is more in *params* than anybody needs to say, without looking at more than that."""
    rest = {name: value for name, value in params.items() if name not in _ECHO}
    if method == "tools/call" and isinstance(rest.get("arguments"), dict):
        del rest["arguments"]
    return _is_more(rest)


def _is_more(whole: dict[str, Any]) -> bool:
    values, text = 0, 0
    unseen: list[Any] = [whole]
    while unseen:
        value = unseen.pop()
        if isinstance(value, str):
            text += len(value)
        elif isinstance(value, dict | list):
            values += len(value)
            if values > MOST_VALUES:
                return True  # before they are looked at
            if isinstance(value, dict):
                text += sum(map(len, value))
                unseen.extend(value.values())
            else:
                unseen.extend(value)
        if text > MOST_TEXT:
            return True
    return False
