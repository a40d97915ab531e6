"""No pattern of the product means something else on the first releases of the oldest Python that it runs on.

Python before 3.11.5 goes on from where a group failed that is repeated possessively, not from where the group began
(gh-106052). A last alternative that fails at once puts it back.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from inspect import signature
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import fsnotes
import sandbox

WITHIN_A_STEP = (ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.ANY, ops.AT, ops.GROUPREF, ops.FAILURE)
REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)


def patterns(found: dict[str, object]) -> Iterator[re.Pattern[Any]]:
    """Yield the patterns among what a module holds, those too that it makes for the first who wants them."""
    waiting = list(found.values())
    while waiting:
        value = waiting.pop()
        if isinstance(value, re.Pattern):
            yield value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, _lru_cache_wrapper) and not signature(value).parameters:
            waiting.append(value())
        elif isinstance(value, tuple | list | frozenset | set):
            waiting += value


def nodes(parsed: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each operation of a parsed pattern, and those inside it."""
    for op, argument in parsed:
        yield op, argument
        waiting = [argument]
        while waiting:
            value = waiting.pop()
            if isinstance(value, parser.SubPattern):
                yield from nodes(value)
            elif isinstance(value, tuple | list):
                waiting += value


def goes_back(body: Any) -> bool:
    """Whether a group that fails leaves the position where it began, in every Python.

    Repeats and what looks around move it to where they are entered. So it does if one is entered at the beginning at
    most, or behind it nothing follows that can fail; and where one of several is tried, if the last of them does.
    """
    body = list(ungrouped(body))
    if len(body) == 1 and body[0][0] is ops.BRANCH:
        return goes_back(body[0][1][1][-1])
    moved = False
    for place, (op, argument) in enumerate(body):
        if op in REPEATS and argument[0] == 0 and (place > 0 or is_one(argument[2])):
            moved = moved or place > 0
        elif op in REPEATS and is_one(argument[2]) and place == 0:
            continue
        elif moved or not (op in WITHIN_A_STEP or is_nothing(op, argument)):
            return False
    return True


def ungrouped(body: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the operations of *body*, and those of its groups in their places."""
    for op, argument in body:
        if op is ops.SUBPATTERN:
            yield from ungrouped(argument[-1])
        else:
            yield op, argument


def is_one(body: Any) -> bool:
    """Whether this is one character, or what is like one."""
    return len(body) == 1 and body[0][0] in WITHIN_A_STEP


def is_nothing(op: Any, argument: Any) -> bool:
    """Whether this is `(?!)`."""
    return op is ops.ASSERT_NOT and len(argument[1]) == 0


def wrong(pattern: str, flags: int = 0) -> bool:
    """Whether *pattern* repeats a group possessively that does not go back."""
    return any(
        op is ops.POSSESSIVE_REPEAT and not (is_one(argument[2]) or goes_back(argument[2]))
        for op, argument in nodes(parser.parse(pattern, flags))
    )


def modules() -> list[str]:
    """Return the names of all modules of the product."""
    return [
        info.name
        for package in (fsnotes, sandbox)
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not info.name.endswith("__main__")
    ]


def test_a_possessive_repeat_of_a_group_goes_back_to_its_beginning_on_every_python() -> None:
    found = 0
    for name in modules():
        for pattern in patterns(vars(importlib.import_module(name))):
            found += 1
            assert not wrong(pattern.pattern, pattern.flags & ~re.UNICODE), (name, pattern.pattern)
    assert found > 50


@pytest.mark.parametrize(
    "pattern", [r"(?:a++|b[x]++c)*+", r"(?:ab++)*+", r"(?:(?:ab?)c|d(?=e))?+", r"(?:a|(?<=b)c)*+"]
)
def test_a_group_that_may_fail_behind_its_beginning_is_found(pattern: str) -> None:
    assert wrong(pattern)


@pytest.mark.parametrize(
    "pattern",
    [r"(?:a++|b[x]++c|(?!))*+", r"(?:ab++|(?!))*+", r"a++", r"(?:[^a]|\\.)*+", r"(?:ab*+)*+", r"(?:b++a)*+"],
)
def test_a_group_that_goes_back_is_left_alone(pattern: str) -> None:
    assert not wrong(pattern)


@pytest.mark.skipif(sys.version_info >= (3, 11, 5), reason="this Python goes back by itself")
def test_what_is_looked_for_here_is_what_this_python_gets_wrong() -> None:
    assert re.match(r"(?:ab++)*+ac", "abac") is None
    assert re.match(r"(?:ab++|(?!))*+ac", "abac") is not None
