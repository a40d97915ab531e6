"""Decide whether a call's arguments fit the tool's `inputSchema`, and say in one line which one does not.

Understands exactly what our schemas use: an object without additional properties, and one `type` on each
property: string, integer or boolean, with length, range and enum, or a list of such or of such objects. A test
compares it with a full validator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsnotes.errors import InvalidArgument

_KINDS = {
    "string": "a string",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


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
    return {name: _Argument(name).fit(value, properties[name]) for name, value in arguments.items()}


class _Argument:
    """One argument; what is wrong in it is said with the place within it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def fit(self, value: Any, rule: Mapping[str, Any], where: str = "") -> Any:
        kind = rule["type"]
        if kind == "integer" and isinstance(value, float) and value.is_integer():
            value = int(value)  # 3.0 is a whole number in JSON Schema
        if not _is_kind(value, kind):
            raise self._unfit(where, f"must be {_KINDS[kind]}")
        if "enum" in rule and value not in rule["enum"]:
            raise self._unfit(where, f"must be one of {', '.join(rule['enum'])}")
        match kind:
            case "string":
                if len(value) < rule.get("minLength", 0):
                    raise self._unfit(where, "must not be empty")
                if len(value) > rule["maxLength"]:
                    raise self._unfit(where, f"must have at most {rule['maxLength']} characters")
            case "integer":
                if not rule["minimum"] <= value <= rule["maximum"]:
                    raise self._unfit(where, f"must be from {rule['minimum']} to {rule['maximum']}")
            case "array":
                if len(value) > rule["maxItems"]:
                    raise self._unfit(where, f"must have at most {rule['maxItems']} items")
                return [
                    self.fit(item, rule["items"], f"{where}item {number}: ")
                    for number, item in enumerate(value, start=1)
                ]
            case "object":
                return self._members(value, rule, where)
        return value

    def _members(self, value: Mapping[str, Any], rule: Mapping[str, Any], where: str) -> dict[str, Any]:
        for name in value:
            if name not in rule["properties"]:
                raise self._unfit(where, f"takes {' and '.join(rule['properties'])}, and not {_shown(name)}")
        for name in rule["required"]:
            if name not in value:
                raise self._unfit(where, f"{name} is required")
        return {
            name: self.fit(each, rule["properties"][name], f"{where}{name} ") for name, each in value.items()
        }

    def _unfit(self, where: str, why: str) -> InvalidArgument:
        return InvalidArgument(self._name, where + why)


def _is_kind(value: Any, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
    raise ValueError(f"no rule for {kind}")


def _shown(name: str) -> str:
    """Return a caller's own word so that it stays within one line and hides nothing."""
    return name[:64].encode("unicode_escape").decode("ascii")
