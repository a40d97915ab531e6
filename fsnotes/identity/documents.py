"""Decides which bytes are a JSON object: one reading of each, and no other.

Stricter than the parser: two readers that took another one of two equal names would judge two different tokens.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final


class NotAnObject(Exception):
    """The bytes are no JSON object. Says nothing about what they are."""


def parse(data: bytes) -> dict[str, Any]:
    """Return the object that *data* is; the caller bounds its size.

    Raises NotAnObject, also for a name that stands twice in one object, NaN, a number beyond a double, and what is
    nested too deep to be read.
    """
    value = None
    try:
        value = _DECODER.decode(data.decode("utf-8"))
    except (ValueError, RecursionError):
        pass
    if not isinstance(value, dict):
        # Here, and not where it failed: that error holds the bytes, which may be a credential's.
        raise NotAnObject
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name twice")
    return made


def _constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("beyond a double")
    return value


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_number)
