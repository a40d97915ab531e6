"""Decides how a configuration file is read: as strict TOML, and each key of a table once, by its kind, none unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from fsnotes.errors import ConfigurationError

MOST_SHOWN: Final = 200
"""Characters of a key or value that an error repeats."""


def shown(value: object) -> str:
    """Return a key or value as an error repeats it: on one line, and no more of it than finds it again."""
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


_LARGE: Final = "an integer of more than 64 bits"


def parse_toml(data: bytes, where: str) -> dict[str, Any]:
    """Return the document that *data* is, with integers of 64 bits at most (TOML 1.0, "Integer").

    Raises ConfigurationError, which names *where* it stands.
    """
    import tomllib  # most commands have no file to read

    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationError(f"{where}: {error}") from error
    except ValueError as error:
        # The parser leaves integers to Python, which gives up at some thousand digits.
        raise ConfigurationError(f"{where}: {_LARGE}") from error
    waiting: list[Any] = [document]
    for value in waiting:
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            # Python has room for it, and cannot always write it into an error.
            raise ConfigurationError(f"{where}: {_LARGE}")
    return document


def one_of(value: Any, allowed: Iterable[str], where: str) -> str:
    """Return *value* if it is one of *allowed*. Raises ConfigurationError, which names *where* it stands."""
    if value not in tuple(allowed):
        raise ConfigurationError(f"{where}: one of {', '.join(allowed)}, not {shown(value)}")
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
            raise ConfigurationError(f"[{self.name}] {key}: {shown(value)} does not fit")
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
            raise ConfigurationError(f"[{self.name}] has no setting {shown(key)}")
