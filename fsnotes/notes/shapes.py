"""How a record crosses a process boundary as JSON values, and back, strictly.

A record is the list of its fields' values, in order: names would take as long to write and read as the values. The
shape of a class is read off its fields and type hints once. What comes back is hostile input: exactly as many
values, exactly the types, and the bounds that a caller gives for fields by name; anything else is BadMessage. Which
classes cross, and what their values may mean together, is decided elsewhere.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar, get_args, get_origin, get_type_hints

from sandbox.records import fields, is_record

T = TypeVar("T")
V = TypeVar("V")

Check = Callable[[Any], Any]
"""Takes a JSON value and returns the value it stands for, or raises BadMessage."""

MAX_ITEMS: Final = 20_000
MAX_TEXT: Final = 16 * 1_048_576
MAX_NUMBER: Final = 2**63 - 1

_ESCAPED: Final = "escaped"


class BadMessage(Exception):
    """What came is not a message that an honest peer sends. The reason is for the log."""


class Texts(Enum):
    """Whose texts cross."""

    WORDS = "words"
    """A caller's: what they typed or sent may hold half a character, which is then refused by name."""
    UNICODE = "unicode"
    """What was read from files and their names: UTF-8, and so is what is made of it."""


class Shape(Generic[T]):
    """How one class of records is written and read.

    Fields are texts, whole numbers, finite floats, truth values, None where the hint says so, and tuples of
    texts or of other records. *bounds* are checks for fields by name, here and in what is nested. *texts* says
    whether a text may hold half a character.
    """

    def __init__(
        self,
        kind: type[T],
        bounds: Mapping[str, Check] = types.MappingProxyType({}),
        *,
        texts: Texts = Texts.WORDS,
    ) -> None:
        self._kind = kind
        hints = get_type_hints(kind)
        self._values = _values_of(tuple(fields(kind)))
        writers = [_writer(hints[name], texts) for name in fields(kind)]
        self._writers = [(place, write) for place, write in enumerate(writers) if write is not None]
        self._checks = [_reader(hints[name], bounds.get(name), bounds, texts) for name in fields(kind)]

    def write(self, value: T) -> list[Any]:
        """Return *value* as JSON values."""
        values = [*self._values(value)]
        for place, write in self._writers:
            values[place] = write(values[place])
        return values

    def read(self, message: Any) -> T:
        """Return what *message* stands for. Raises BadMessage."""
        if type(message) is not list or len(message) != len(self._checks):
            raise BadMessage(f"not the fields of {self._kind.__name__}")
        return self._kind(*[check(value) for check, value in zip(self._checks, message, strict=True)])


def _values_of(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what takes the fields called *names* out of a record."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


class Lazily(dict[type[Any], V], Generic[V]):
    """A table by class whose entries are made when they are first needed: a process needs few, and starts sooner."""

    def __init__(self, make: Callable[[type[Any]], V]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, kind: type[Any]) -> V:
        made = self[kind] = self._make(kind)
        return made


# -- texts -------------------------------------------------------------------------------------


def write_text(text: str) -> str | dict[str, str]:
    """Return *text* as it travels: a lone surrogate is nothing that UTF-8 holds, so it goes as JSON's escape."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return {_ESCAPED: json.dumps(text)}
    return text


def read_unicode(value: Any, *, most: int = MAX_TEXT) -> str:
    """Return *value*, a text of whole characters. Raises BadMessage for anything else, or one longer than *most*."""
    if type(value) is not str:
        raise BadMessage("not a text")
    if len(value) > most:
        raise BadMessage("a text that is too long")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise BadMessage("a text with half a character") from None
    return value


def read_text(value: Any, *, most: int = MAX_TEXT) -> str:
    """Return the text that `write_text` was given. Raises BadMessage for one that is longer than *most*."""
    if type(value) is str:
        return read_unicode(value, most=most)
    if type(value) is dict and value.keys() == {_ESCAPED}:
        return _unescaped(value[_ESCAPED], most)
    raise BadMessage("not a text")


def _unescaped(escaped: Any, most: int) -> str:
    # The longest escape is that of a pair: twelve characters for one.
    if type(escaped) is not str or len(escaped) > 12 * most + 2 or not escaped.startswith('"'):
        raise BadMessage("not an escaped text")
    try:
        text = json.loads(escaped)
    except ValueError:
        raise BadMessage("not an escaped text") from None
    if type(text) is not str or len(text) > most:
        raise BadMessage("not a text within its bounds")
    return text


# -- checks ------------------------------------------------------------------------------------


def text_of(most: int) -> Check:
    """Return the check for a text of at most *most* whole characters."""
    return lambda value: read_unicode(value, most=most)


def matching(fits: Callable[[str], Any], what: str, *, most: int = 256) -> Check:
    """Return the check for a short text that *fits* says yes to."""

    def check(value: Any) -> str:
        if type(value) is str and len(value) <= most and fits(value):
            return value
        raise BadMessage(f"not {what}")

    return check


def one_of(allowed: Iterable[str]) -> Check:
    """Return the check for a text out of a closed set."""
    return matching(frozenset(allowed).__contains__, "one of the texts that there are")


def number_of(least: int, most: int) -> Check:
    """Return the check for a whole number within bounds, both included."""

    def check(value: Any) -> int:
        if type(value) is int and least <= value <= most:
            return value
        raise BadMessage("not a number within its bounds")

    return check


# -- by type hint ------------------------------------------------------------------------------


def _writer(hint: Any, texts: Texts) -> Callable[[Any], Any] | None:
    """Return how a value of *hint* is written; None for one that is a JSON value as it is."""
    plain, is_optional = _split_optional(hint)
    if plain is str and texts is Texts.WORDS:
        return _optional(write_text) if is_optional else write_text
    if get_origin(plain) is tuple:
        (item, _) = get_args(plain)
        write_all = _each(_writer(item, texts) if not is_record(item) else Shape(item, texts=texts).write)
        return _optional(write_all) if is_optional else write_all
    return None


def _each(write: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    return list if write is None else lambda values: [write(value) for value in values]


def _reader(hint: Any, bound: Check | None, bounds: Mapping[str, Check], texts: Texts) -> Check:
    plain, is_optional = _split_optional(hint)
    if get_origin(plain) is tuple:
        (item, _) = get_args(plain)
        nested = Shape(item, bounds, texts=texts).read if is_record(item) else _scalar(item, bound, texts)
        read = _tuple(nested)
    else:
        read = _scalar(plain, bound, texts)
    return _optional(read) if is_optional else read


def _scalar(kind: Any, bound: Check | None, texts: Texts) -> Check:
    check = read_unicode if kind is str and texts is Texts.UNICODE else _SCALARS.get(kind)
    if check is None:
        raise TypeError(f"{kind!r} does not cross")
    return check if bound is None else bound


def _optional(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def _tuple(check: Check) -> Check:
    def read(value: Any) -> tuple[Any, ...]:
        if type(value) is not list or len(value) > MAX_ITEMS:
            raise BadMessage("not a list within its bounds")
        return tuple([check(item) for item in value])

    return read


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise BadMessage("not a truth value")
    return value


def _float(value: Any) -> float:
    if type(value) is int and abs(value) <= MAX_NUMBER:
        return float(value)
    if type(value) is not float or not math.isfinite(value):
        raise BadMessage("not a finite number")
    return value


def _split_optional(hint: Any) -> tuple[Any, bool]:
    """Return *hint* without `| None`, and whether it had it."""
    if get_origin(hint) is not types.UnionType:
        return hint, False
    plain = [part for part in get_args(hint) if part is not types.NoneType]
    if len(plain) != 1:
        raise TypeError(f"{hint!r} does not cross")
    return plain[0], True


_SCALARS: Final[dict[Any, Check]] = {
    str: read_text,
    int: number_of(-MAX_NUMBER, MAX_NUMBER),
    float: _float,
    bool: _flag,
}
