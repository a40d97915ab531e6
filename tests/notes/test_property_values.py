"""Which texts may become a property's value, and how they are laid out below a key."""

from __future__ import annotations

from typing import Any

import pytest
import ruamel.yaml

from fsnotes.notes.bounds import MAX_KEY
from fsnotes.notes.property_keys import fault, fault_of_new, written
from fsnotes.notes.property_reasons import (
    VALUE_HAS_COMMENT,
    VALUE_LOOKS_LIKE_TEXT,
    VALUE_NOT_ONE,
    VALUE_NOT_PLAIN,
    VALUE_NOT_TEXT,
)
from fsnotes.notes.property_values import BadValue, Form, read_value
from tests.notes.blocks import load


@pytest.mark.parametrize(
    ("text", "form", "head", "lines", "value"),
    [
        ("words", Form.FLOW, "words", (), "words"),
        ("  words  \n", Form.FLOW, "words", (), "words"),
        ("01234", Form.FLOW, "01234", (), 1234),
        ("'01234'", Form.FLOW, "'01234'", (), "01234"),
        ("a#b", Form.FLOW, "a#b", (), "a#b"),
        ('"a # b"', Form.FLOW, '"a # b"', (), "a # b"),
        ("", Form.EMPTY, "", (), None),
        (" \r\n", Form.EMPTY, "", (), None),
        ("[a,\n   b,\n  c]", Form.FLOW, "[a,", (" b,", "c]"), ["a", "b", "c"]),
        ("plain\r\ngoes on", Form.FLOW, "plain", ("goes on",), "plain goes on"),
        ("- a\n- b", Form.SEQUENCE, "", ("- a", "- b"), ["a", "b"]),
        ("- a", Form.SEQUENCE, "", ("- a",), ["a"]),
        ("  - a\n  - b\n\n", Form.SEQUENCE, "", ("- a", "- b"), ["a", "b"]),
        ("a: 1\nb:\n  c: 2", Form.MAPPING, "", ("a: 1", "b:", "  c: 2"), {"a": 1, "b": {"c": 2}}),
        ("{Part two: the end}", Form.FLOW, "{Part two: the end}", (), {"Part two": "the end"}),
        ("|\n  a\n    b", Form.BLOCK_SCALAR, "|", ("a", "  b"), "a\n  b\n"),
        ("|\na\n\nb\n", Form.BLOCK_SCALAR, "|", ("a", "", "b"), "a\n\nb\n"),
        ("|+ \n a\n\n", Form.BLOCK_SCALAR, "|+", ("a", ""), "a\n\n"),
        (">-\n a\n b\n", Form.BLOCK_SCALAR, ">-", ("a", "b"), "a b"),
        ("|2\n   a\n", Form.BLOCK_SCALAR, "|2", (" a",), " a\n"),
        ("|\n  # no comment\n", Form.BLOCK_SCALAR, "|", ("# no comment",), "# no comment\n"),
    ],
)
def test_a_value_is_laid_out(text: str, form: Form, head: str, lines: tuple[str, ...], value: Any) -> None:
    read = read_value(text, ruamel.yaml)
    assert (read.form, read.head, read.lines, read.value) == (form, head, lines, value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("words # comment", VALUE_HAS_COMMENT),
        ("# comment", VALUE_HAS_COMMENT),
        ("- a # comment\n- b", VALUE_HAS_COMMENT),
        ("- a\n# comment\n- b", VALUE_HAS_COMMENT),
        ("| # comment\n  a", VALUE_HAS_COMMENT),
        ("[a, # comment\n b]", VALUE_HAS_COMMENT),
        ("a: 1\nb: 2 # comment", VALUE_HAS_COMMENT),
        ("words\n# comment", VALUE_HAS_COMMENT),
        ("&a words", VALUE_NOT_PLAIN),
        ("[&a x, *a]", VALUE_NOT_PLAIN),
        ("!!str 3", VALUE_NOT_PLAIN),
        ("!!str", VALUE_NOT_PLAIN),
        ("! words", VALUE_NOT_PLAIN),
        ("--- words", VALUE_NOT_PLAIN),
        ("words\n---\nmore", VALUE_NOT_PLAIN),
        ("'words\n---\nmore'", VALUE_NOT_PLAIN),
        ("|\nwords\n---\nmore", VALUE_NOT_PLAIN),
        ("words\r...\rmore", VALUE_NOT_PLAIN),
        ("%YAML 1.1\n--- 012", VALUE_NOT_PLAIN),
        ("%YAML 1.1", VALUE_NOT_ONE),
        ("*a", VALUE_NOT_ONE),
        ("!t words", VALUE_NOT_ONE),
        ("words\nother: key", VALUE_NOT_ONE),
        ("words: other: key", VALUE_NOT_ONE),
        ("'open", VALUE_NOT_ONE),
        ("[open", VALUE_NOT_ONE),
        ("- a\nb: c", VALUE_NOT_ONE),
        ("a: 1\na: 2", VALUE_NOT_ONE),
        ("2024-02-30", VALUE_NOT_ONE),
        ("a\x00b", VALUE_NOT_ONE),
        ("[" * 40 + "]" * 40, VALUE_NOT_ONE),
        ("[" + "a, " * 2_100 + "]", VALUE_NOT_ONE),
        ("9" * 5_000, VALUE_NOT_ONE),
        ("Part two: the end", VALUE_LOOKS_LIKE_TEXT),
        ("Note:", VALUE_LOOKS_LIKE_TEXT),
        ("\ud800", VALUE_NOT_TEXT),
    ],
)
def test_what_is_more_or_less_than_one_value_is_refused(text: str, why: str) -> None:
    with pytest.raises(BadValue) as caught:
        read_value(text, ruamel.yaml)
    assert caught.value.why == why


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("title", "title"),
        ("due date", "due date"),
        ("Größe", "Größe"),
        ("a.b/c-d", "a.b/c-d"),
        ("7", '"7"'),
        ("true", '"true"'),
        ("Yes", '"Yes"'),
        ("null", '"null"'),
        ("a: b", '"a: b"'),
        ("a #b", '"a #b"'),
        ("-", '"-"'),
        ("[x]", '"[x]"'),
        ('say "hi"\\', '"say \\"hi\\"\\\\"'),
        ("\U0001f600", '"\U0001f600"'),
        ("2024-01-05", '"2024-01-05"'),
    ],
)
def test_a_new_key_is_written_so_that_it_is_read_as_text(key: str, text: str) -> None:
    assert written(key) == text
    assert load(f"{text}: x") == {key: "x"}
    assert load(f"{{{written(key, always_quoted=True)}: x}}") == {key: "x"}


@pytest.mark.parametrize(
    "key", ["", "x" * (MAX_KEY + 1), "a\nb", "a\x00", "a\u2028b", "\ud800", "<<", "a\tb"]
)
def test_what_no_property_is_called_is_no_key(key: str) -> None:
    assert fault(key) is not None


@pytest.mark.parametrize("key", ["x" * MAX_KEY, "<", "a b", " a", "#", "\u00a0"])
def test_the_nearest_keys_are_keys(key: str) -> None:
    assert fault(key) is None


def test_a_new_key_does_not_begin_or_end_with_a_space() -> None:
    assert [fault_of_new(key) is None for key in ("a", " a", "a ", "a b", "\u00a0a")] == [
        True,
        False,
        False,
        True,
        False,
    ]
