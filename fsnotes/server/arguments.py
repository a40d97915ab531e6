"""Decide whether a call's arguments fit the tool's `inputSchema`, and say in one line which one does not.

Understands exactly what our schemas use: an object without additional properties, and one `type` (string,
integer or boolean) on each property, with length, range and enum. A test compares it with a full validator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsnotes.errors import InvalidArgument

_KINDS = {"string": "a string", "integer": "a whole number", "boolean": "true or false"}


def fit(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return *arguments* as the tool takes them: whole numbers as int. Raises InvalidArgument."""
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    for name in arguments:
        if name not in properties:
            takes = ", ".join(properties) or "none"
            raise InvalidArgument(_shown(name), f"no such argument, this tool takes {takes}")
    for name in schema.get("required", ()):
        if name not in arguments:
            raise InvalidArgument(name, "required")
    return {name: _fit_one(name, value, properties[name]) for name, value in arguments.items()}


def _fit_one(name: str, value: Any, rule: Mapping[str, Any]) -> Any:
    kind = rule["type"]
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)  # 3.0 is a whole number in JSON Schema
    if not _is_kind(value, kind):
        raise InvalidArgument(name, f"must be {_KINDS[kind]}")
    if "enum" in rule and value not in rule["enum"]:
        raise InvalidArgument(name, f"must be one of {', '.join(rule['enum'])}")
    if kind == "string":
        if len(value) < rule.get("minLength", 0):
            raise InvalidArgument(name, "must not be empty")
        if len(value) > rule["maxLength"]:
            raise InvalidArgument(name, f"must have at most {rule['maxLength']} characters")
    if kind == "integer" and not rule["minimum"] <= value <= rule["maximum"]:
        raise InvalidArgument(name, f"must be from {rule['minimum']} to {rule['maximum']}")
    return value


def _is_kind(value: Any, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
    raise ValueError(f"no rule for {kind}")


def _shown(name: str) -> str:
    """Return a caller's own word so that it stays within one line and hides nothing."""
    return name[:64].encode("unicode_escape").decode("ascii")
