"""Decides how one table of a configuration file is read: each key once, by its kind, and none that is unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fsnotes.errors import ConfigurationError


def one_of(value: Any, allowed: Iterable[str], where: str) -> str:
    """Return *value* if it is one of *allowed*. Raises ConfigurationError, which names *where* it stands."""
    if value not in tuple(allowed):
        raise ConfigurationError(f"{where}: one of {', '.join(allowed)}, not {value!r}")
    return str(value)


def positive(bound: float) -> Callable[[Any], bool]:
    """Return the check of a number above 0 and up to *bound*."""
    return lambda value: 0 < value <= bound


class Table:
    """One TOML table, whose keys are taken one by one; `end` refuses what is left."""

    def __init__(self, value: Any, name: str) -> None:
        if not isinstance(value, dict):
            raise ConfigurationError(f"[{name}] must be a table")
        self._left: dict[str, Any] = dict(value)
        self.name = name

    def take(
        self, key: str, kind: type, default: Any = None, *, check: Callable[[Any], bool] | None = None
    ) -> Any:
        """Take the value of *key*, or *default* where it is not set. Raises ConfigurationError unless it fits."""
        if key not in self._left:
            return default
        value = self._left.pop(key)
        fits = isinstance(value, (int, float)) if kind is float else isinstance(value, kind)
        if (
            not fits
            or (isinstance(value, bool) and kind is not bool)
            or (check is not None and not check(value))
        ):
            raise ConfigurationError(f"[{self.name}] {key}: {value!r} does not fit")
        return value

    def need(self, key: str, kind: type) -> Any:
        """Take the value of *key*, which must be set."""
        if key not in self._left:
            raise ConfigurationError(f"[{self.name}] {key} is missing")
        return self.take(key, kind)

    def strings(self, key: str) -> tuple[str, ...] | None:
        """Take the list of strings of *key*; None where it is not set."""
        value = self.take(key, list)
        if value is None:
            return None
        if not all(isinstance(item, str) for item in value):
            raise ConfigurationError(f"[{self.name}] {key}: a list of strings is expected")
        return tuple(value)

    def end(self) -> None:
        """Refuse the first key that nobody has taken."""
        for key in self._left:
            raise ConfigurationError(f"[{self.name}] has no setting {key!r}")
