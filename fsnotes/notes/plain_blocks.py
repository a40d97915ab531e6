"""Reading a block of properties that is plain, without a YAML parser: one pattern a line.

Plain lines are comments, empty ones, `key: value` and, below a key without a value, `- value`. A value is words, a
quoted text without escapes, a number, a date with or without a time, true, false, null, or a list of such things
in brackets. Everything else is NotPlain and the parser's business. What is read here is what the parser reads: a
test compares the two.

Every note is read so, so what is made here in numbers are named tuples: they are made three times as fast.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from fsnotes.notes.yaml_blocks import MAX_VALUES


class NotPlain(Exception):
    """The block has something in it that only a YAML parser can judge."""


class Scalar(NamedTuple):
    """A scalar in a property's value: what it says before it has a type, the type's name, and where it stands.

    *kind* is what YAML calls the type: `str`, `int`, `float`, `bool`, `null`, `timestamp`, ... *start* and *end* are
    characters of the block, quotes included; -1 where it stands elsewhere and is there through an alias. *level* is 0
    for the value itself, 1 for an item of the value's list and 2 for what is deeper or in a mapping.
    """

    text: str
    kind: str
    start: int
    end: int
    level: int


class Property(NamedTuple):
    """A property: its key as text, its value as JSON has it, and the scalars in it that are not empty.

    Dates and times are text as they are written, and so are numbers that JSON has not, or not reliably.
    """

    name: str
    value: Any
    scalars: tuple[Scalar, ...]


_WORD: Final = r"[^\W\d]"
_SCALAR: Final = rf"""
    (?P<str>{_WORD}(?:[^:\#\r\n]|:(?=[^ \r\n])|(?<=[^ ])\#|(?!))*+)
    |"(?P<double>[^"\\\r\n]*+)"|'(?P<single>[^'\r\n]*+)'
    |(?P<timestamp>[12][0-9]{{3}}-[01][0-9]-[0-3][0-9](?:T[0-2][0-9]:[0-5][0-9]:[0-5][0-9])?+)
    |(?P<float>-?(?:0|[1-9][0-9]{{0,14}}+)\.[0-9]{{1,15}}+)
    |(?P<int>-?(?:0|[1-9][0-9]{{0,14}}+))
"""
_ITEM: Final = rf"""
    (?:{_WORD}(?:[\w/-]|[ ](?=[\w/-])|(?!))*+|"[^"\\\r\n]*+"|'[^'\r\n]*+'|-?(?:0|[1-9][0-9]{{0,14}}+))
"""
_LINE: Final = re.compile(
    rf"""
    (?:(?P<key>{_WORD}(?:[\w-]|[ ](?=[\w-])|(?!)){{0,100}}+):(?=[ \r\n]|\Z)|(?P<indent>[ ]{{0,8}}+)-(?=[ ]))
    [ ]*+
    (?:(?:{_SCALAR}|(?P<list>\[[ ]*+(?:{_ITEM}[ ]*+(?:,[ ]*+{_ITEM}[ ]*+|(?!))*+|(?!))?+\]))[ ]*+|(?!))?+
    (?:\r\n|\r|\n|\Z)
    |(?P<nothing>(?:\#[^\r\n]*+)?(?:\r\n|\r|\n|\Z))
    """,
    re.VERBOSE,
)
_KEY, _INDENT = _LINE.groupindex["key"], _LINE.groupindex["indent"]
_ITEMS: Final = re.compile(_ITEM, re.VERBOSE)
_CONSTANTS: Final[dict[str, tuple[str, Any]]] = {
    **dict.fromkeys(("true", "True", "TRUE"), ("bool", True)),
    **dict.fromkeys(("false", "False", "FALSE"), ("bool", False)),
    **dict.fromkeys(("null", "Null", "NULL"), ("null", None)),
}


def read_plain(text: str) -> list[Property]:
    """Return the properties in a block that consists of nothing but plain lines. Raises NotPlain."""
    found: list[Property] = []
    listed: list[Any] = []
    scalars: list[Scalar] = []
    for line, kind in _lines(text):
        key = line[_KEY]
        if key is None:
            scalars.append(_scalar(line, kind, 1))
            listed.append(_value(scalars[-1]))
            continue
        if listed:
            found[-1] = Property(found[-1].name, listed, tuple(scalars))
            listed, scalars = [], []
        if kind == "key":
            found.append(Property(key, None, ()))
        elif kind == "list":
            items = tuple(_items(line["list"], line.start("list")))
            found.append(Property(key, [_value(item) for item in items], items))
        else:
            scalar = _scalar(line, kind, 0)
            found.append(Property(key, _value(scalar), (scalar,)))
    if listed:
        found[-1] = Property(found[-1].name, listed, tuple(scalars))
    if 1 + sum(2 + len(entry.scalars) for entry in found) > MAX_VALUES:
        raise NotPlain
    return found


def plain_title(text: str) -> str | None:
    """Return what `read_plain` finds as the property `title` if it is a string, sooner. Raises NotPlain."""
    found = None
    for line, kind in _lines(text):
        if line[_KEY] == "title" and kind in ("str", "double", "single"):
            scalar = _scalar(line, kind, 0)
            found = scalar.text if scalar.kind == "str" else None
    return found


def _lines(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield the lines with a key or an item, each with what its value is: a group of _LINE."""
    if not text.replace("\n", "").replace("\r", "").isprintable():
        raise NotPlain
    keys: set[str] = set()
    indent: str | None = None  # of the list that is being read
    list_may_follow = False
    place, end = 0, len(text)
    while place < end:
        line = _LINE.match(text, place)
        if line is None:
            raise NotPlain
        place, kind = line.end(), line.lastgroup or ""
        if kind == "nothing":
            continue
        key = line[_KEY]
        if key is not None:
            if key in keys or key in _CONSTANTS:
                raise NotPlain
            keys.add(key)
            indent, list_may_follow = None, kind == "key"
        else:
            if kind in ("indent", "list") or not (list_may_follow or line[_INDENT] == indent):
                raise NotPlain
            indent, list_may_follow = line[_INDENT], False
        if kind == "timestamp":
            _check_timestamp(line[kind])
        yield line, kind


def _check_timestamp(text: str) -> None:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise NotPlain from None


def _scalar(line: re.Match[str], kind: str, level: int) -> Scalar:
    start, end = line.span(kind)
    if kind in ("double", "single"):
        return Scalar(line[kind], "str", start - 1, end + 1, level)
    text = line[kind]
    if kind == "str":
        text = text.rstrip(" ")
        if text in _CONSTANTS:
            kind = _CONSTANTS[text][0]
    return Scalar(text, kind, start, start + len(text), level)


def _items(text: str, start: int) -> Iterator[Scalar]:
    for item in _ITEMS.finditer(text):
        source = item.group()
        begin, end = start + item.start(), start + item.end()
        if source[0] in "\"'":
            yield Scalar(source[1:-1], "str", begin, end, 1)
        elif source[0] in "-0123456789":
            yield Scalar(source, "int", begin, end, 1)
        else:
            yield Scalar(source, _CONSTANTS.get(source, ("str",))[0], begin, end, 1)


def _value(scalar: Scalar) -> Any:
    match scalar.kind:
        case "int":
            return int(scalar.text)
        case "float":
            return float(scalar.text)
        case "bool" | "null":
            return _CONSTANTS[scalar.text][1]
        case _:
            return scalar.text
