"""The last word before a note is changed: what a rule for cutting got wrong is seen, whatever it was."""

from __future__ import annotations

import math

import pytest

from fsnotes.notes import frontmatter
from fsnotes.notes.property_changes import CannotCut, Changes, Cut, joined
from fsnotes.notes.property_checks import check_block, check_place, same
from fsnotes.notes.property_reasons import NOT_AS_ASKED
from fsnotes.notes.property_values import read_value
from fsnotes.notes.splices import Splice
from fsnotes.notes.yaml_layout import layout_of

_TEXT = "a: 1\nb: 'x'   # why\nc: [1, 2]\n"


def _check(result: str) -> None:
    """Judge *result* as what became of _TEXT when `a` is set to 2, `c` unset and `d` set to a list."""
    values = [read_value(text, frontmatter.yaml()) for text in ("2", "[y]")]
    check_block(_TEXT, layout_of(_TEXT), Changes({0: values[0]}, frozenset({2}), (("d", values[1]),)), result)


def test_what_was_asked_for_passes() -> None:
    _check("a: 2\nb: 'x'   # why\nd: [y]\n")
    _check("a: '2'\nb: 'x'\nd:\n- y\n".replace("'2'", "0x2"))


@pytest.mark.parametrize(
    "result",
    [
        _TEXT,
        "",
        "a: 2\nb: 'x'\n",
        "a: 2\nb: x\nd: [y]\n",
        "a: 2\nb: 'x'\nd: [y]\nc: [1, 2]\n",
        "b: 'x'\na: 2\nd: [y]\n",
        "a: 2\nd: [y]\nb: 'x'\n",
        "a: 2.0\nb: 'x'\nd: [y]\n",
        "a: 2\nb: 'y'\nd: [y]\n",
        "a: 2\nb: 'x'\nd: [y, z]\n",
        "a: 2\nb: 'x'\n'd ': [y]\n",
        "a: 2\nb: 'x'\nd: [\n",
        "- a: 2\n",
    ],
)
def test_anything_else_is_refused(result: str) -> None:
    with pytest.raises(CannotCut) as caught:
        _check(result)
    assert caught.value.why == NOT_AS_ASKED


def test_a_block_must_stay_between_its_lines() -> None:
    data = b"---\na: 1\n---\nbody"
    check_place(data, (Splice(4, 9, b"b: 2\n"),), (4, 9, 13))
    for replacement in (b"---\n2\n", b"b: 2", b"b: 22\n"):
        with pytest.raises(CannotCut):
            check_place(data, (Splice(4, 9, replacement),), (4, 9, 13))


def test_cuts_are_put_in_order_and_those_that_touch_become_one() -> None:
    cuts = [Cut(4, 6, "x"), Cut(0, 1, "y"), Cut(6, 6, "z"), Cut(2, 3, "c"), Cut(6, 6, "w")]
    assert joined("abcdefgh", cuts) == [Cut(0, 1, "y"), Cut(4, 6, "xzw")]
    with pytest.raises(CannotCut):
        joined("abcdefgh", [Cut(0, 3, ""), Cut(2, 4, "")])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, True), (1, 1.0), ("1", 1), (0.0, -0.0), ([1], [True]), ({"a": 1}, {"a": 1.0}), ({1: "a"}, {1.0: "a"}),
        ([], ()), ({1}, {True}), ([1], [1, 1]), ({"a": 1}, {"b": 1}), (None, False),
    ],
)  # fmt: skip
def test_values_that_python_takes_for_equal_are_not_the_same(left: object, right: object) -> None:
    assert not same(left, right)
    assert same(left, left)


def test_values_are_the_same_whatever_the_order_of_keys() -> None:
    assert same({"a": [1, {2}], "b": math.nan}, {"b": float("nan"), "a": [1, {2}]})
