"""Setting and unsetting properties by example: the habits of people's files, and what is refused.

A test that is marked with a kind holds it; `docs/lessons.md` lists them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from fsnotes.errors import FsnotesError, InvalidArgument, InvalidYaml, NotText
from fsnotes.notes import frontmatter
from fsnotes.notes.bounds import MAX_KEY
from fsnotes.notes.frontmatter import MAX_BYTES
from fsnotes.notes.properties import MAX_CHANGES, Assignment, edit
from fsnotes.notes.property_reasons import (
    IN_BRACES,
    KEY_ALIKE,
    KEY_IS_MERGE,
    KEY_SPACED,
    KEYS_ALIKE,
    NOT_AS_ASKED,
    REASONS,
    REFERRED_TO,
    VALUE_HAS_COMMENT,
    VALUE_LOOKS_LIKE_TEXT,
    VALUE_NOT_ONE,
)
from fsnotes.notes.splices import apply


def _set(data: bytes, *pairs: tuple[str, str], unset: Sequence[str] = ()) -> bytes:
    assign = [Assignment(key, value) for key, value in pairs]
    return apply(data, edit(data, assign=assign, remove=unset, path="a.md").splices)


def _refusal(data: bytes, *pairs: tuple[str, str], unset: Sequence[str] = ()) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as caught:
        _set(data, *pairs, unset=unset)
    return caught.value


# -- where a new key goes ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"---\na: 1\n---\n"),
        (b"body", b"---\na: 1\n---\nbody"),
        (b"# Heading\r\nbody\n", b"---\r\na: 1\r\n---\r\n# Heading\r\nbody\n"),
        (b"\rbody", b"---\ra: 1\r---\r\rbody"),
        (b"---\nno end\n", b"---\na: 1\n---\n---\nno end\n"),
        (b"---", b"---\na: 1\n---\n---"),
        (b"...\n---\n", b"---\na: 1\n---\n...\n---\n"),
        (b"--- \n---\t\nbody", b"--- \na: 1\n---\t\nbody"),
        (b"---\n\n---\n", b"---\na: 1\n\n---\n"),
        (b"---\n# only comments\n\n---\n", b"---\n# only comments\na: 1\n\n---\n"),
    ],
)
def test_a_note_without_properties_gets_a_block(before: bytes, after: bytes) -> None:
    assert _set(before, ("a", "1")) == after
    assert frontmatter.read(after) == {"a": 1}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"---\nb: 2\n---\n", b"---\nb: 2\na: 1\n---\n"),
        (b"---\nb: 2\n\n\n---\n", b"---\nb: 2\na: 1\n\n\n---\n"),
        (b"---\nb: 2\n# end\n\n---\n", b"---\nb: 2\n# end\na: 1\n\n---\n"),
        (b"---\nb:\n  - c\n  # - d\n---\n", b"---\nb:\n  - c\n  # - d\na: 1\n---\n"),
        (b"---\n  b: 2\n---\n", b"---\n  b: 2\n  a: 1\n---\n"),
        (b"---\nb: |+\n  text\n\n---\n", b"---\nb: |+\n  text\n\na: 1\n---\n"),
        (b"---\nb: |\n  text\n   \n---\n", b"---\nb: |\n  text\n   \na: 1\n---\n"),
        (b"---\nb: |2\n   text\n   \n---\n", b"---\nb: |2\n   text\n   \na: 1\n---\n"),
        (b"---\nb:\n---", b"---\nb:\na: 1\n---"),
        (b"---\n{b: 2}\n---\n", b"---\n{b: 2, a: 1}\n---\n"),
        (b'---\n{\n  "b": 2\n}\n---\n', b'---\n{\n  "b": 2,\n  "a": 1\n}\n---\n'),
        (b"---\n? b\n: 2\n---\n", b"---\n? b\n: 2\na: 1\n---\n"),
    ],
)
def test_a_new_key_comes_last(before: bytes, after: bytes) -> None:
    assert _set(before, ("a", "1")) == after
    assert _set(after, unset=["a"]) == before


@pytest.mark.parametrize(
    ("before", "pairs", "unset", "after"),
    [
        ("{a: 1,}", [("b", "2")], ["a"], "{b: 2}"),
        ("{a: 1,} # c", [], ["a"], "{} # c"),
        ("{a, c: 1}", [("a", "x")], [], "{a: x, c: 1}"),
        ("{a:, c: 1}", [("c", "")], [], "{a:, c: null}"),
        ("{a: 1}", [("b", ""), ("c", "[x,\n y]")], [], "{a: 1, b: null, c: [x,\n    y]}"),
        ('{"a": 1, b: 2}', [("c", "3")], [], '{"a": 1, b: 2, c: 3}'),
        ('{"a": 1, "b": 2}', [("c", "3")], ["a"], '{"b": 2, "c": 3}'),
        ("{a: 1, b: 2, c: 3}", [("b", "x"), ("d", "4")], ["c", "a"], "{b: x, d: 4}"),
        ("{\n  a: 1,\n  b: 2\n}", [("c", "3")], ["b"], "{\n  a: 1,\n  c: 3\n}"),
    ],
)
def test_a_block_in_braces_is_changed_between_its_commas(
    before: str, pairs: list[tuple[str, str]], unset: list[str], after: str
) -> None:
    assert _set(f"---\n{before}\n---\n".encode(), *pairs, unset=unset).decode() == f"---\n{after}\n---\n"


def test_new_keys_keep_their_order_and_are_quoted_where_they_must_be() -> None:
    assert _set(b"", ("z", "1"), ("7", "x"), ("a b", ""), ("c: d", "[e]")) == (
        b'---\nz: 1\n"7": x\na b:\n"c: d": [e]\n---\n'
    )


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        (b"---\nb: 1\n---\n", "- x\n- y", b"---\nb: 1\na:\n  - x\n  - y\n---\n"),
        (b"---\nb:\n- 1\n---\n", "  - x\n  - y\n", b"---\nb:\n- 1\na:\n- x\n- y\n---\n"),
        (b"---\nb:\n    - 1\n---\n", "- x", b"---\nb:\n    - 1\na:\n    - x\n---\n"),
        (b"---\nb: 1\n---\n", "x: 1\ny:\n  - 2", b"---\nb: 1\na:\n  x: 1\n  y:\n    - 2\n---\n"),
        (b"---\nb: 1\n---\n", "|\ntext\n\n  more", b"---\nb: 1\na: |\n  text\n\n    more\n---\n"),
        (b"---\nb: 1\n---\n", ">2-\n   text", b"---\nb: 1\na: >2-\n   text\n---\n"),
        (
            b"---\n b: 1\n---\n",
            "|4\n    text\n     more",
            b"---\n b: 1\n a: |4\n     text\n      more\n---\n",
        ),
        (b"---\nb:\n- 1\nc:\n    - 2\n---\n", "- x", b"---\nb:\n- 1\nc:\n    - 2\na:\n- x\n---\n"),
        (b"---\nb: 1\n\n---\n", "|+\n text\n\n", b"---\nb: 1\n\na: |+\n  text\n\n---\n"),
        (b"---\nb: 1\n---\n", "[x,\n y]", b"---\nb: 1\na: [x,\n  y]\n---\n"),
        (b"---\nb: 1\n---\n", "'two\n\nlines'", b"---\nb: 1\na: 'two\n\n  lines'\n---\n"),
        (b"---\nb: 1\n---\n", "", b"---\nb: 1\na:\n---\n"),
        (b"---\nb: 1\n---\n", "$& \\1 $$", b"---\nb: 1\na: $& \\1 $$\n---\n"),
    ],
)
def test_a_value_of_several_lines_is_indented_below_its_key(before: bytes, value: str, after: bytes) -> None:
    assert _set(before, ("a", value)) == after
    assert _set(after, unset=["a"]) == before


# -- what stays --------------------------------------------------------------------------------


@pytest.mark.kind("BOM")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"\xef\xbb\xbf---\na: 1\n---\nx", b"\xef\xbb\xbf---\na: 2\n---\nx"),
        (b"\xef\xbb\xbf---\r\nb: 1\r\n---\r\nx", b"\xef\xbb\xbf---\r\nb: 1\r\na: 2\r\n---\r\nx"),
        (b"\xef\xbb\xbfbody", b"\xef\xbb\xbf---\na: 2\n---\nbody"),
        (b"\xef\xbb\xbf", b"\xef\xbb\xbf---\na: 2\n---\n"),
        (b"\xef\xbb\xbf---\nno end", b"\xef\xbb\xbf---\na: 2\n---\n---\nno end"),
    ],
)
def test_a_byte_order_mark_stays_the_first_and_the_only_one(before: bytes, after: bytes) -> None:
    assert _set(before, ("a", "2")) == after
    assert after.count(b"\xef\xbb\xbf") == 1
    assert frontmatter.read(after)["a"] == 2


def test_a_block_leaves_its_byte_order_mark_behind() -> None:
    assert _set(b"\xef\xbb\xbf---\na: 1\n---\nbody", unset=["a"]) == b"\xef\xbb\xbfbody"


@pytest.mark.kind("line ends")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"---\r\nb: 1\r\n---\r\nx\n", b"---\r\nb: 1\r\na:\r\n  - x\r\n  - y\r\n---\r\nx\n"),
        (b"---\rb: 1\r---\rx\n", b"---\rb: 1\ra:\r  - x\r  - y\r---\rx\n"),
        (b"---\nb: 1\r\nc: 2\n---\r\n", b"---\nb: 1\r\nc: 2\na:\n  - x\n  - y\n---\r\n"),
        (b"---\nc: 2\nb: 1\r\n---\n", b"---\nc: 2\nb: 1\r\na:\r\n  - x\r\n  - y\r\n---\n"),
        (b"---\r\n---\n", b"---\r\na:\r\n  - x\r\n  - y\r\n---\n"),
        (b"---\na: 1\r\nb: 2\n---\n", b"---\na:\r\n  - x\r\n  - y\r\nb: 2\n---\n"),
        (b"x\r\ny\n", b"---\r\na:\r\n  - x\r\n  - y\r\n---\r\nx\r\ny\n"),
    ],
)
def test_inserted_lines_end_like_the_line_above_them(before: bytes, after: bytes) -> None:
    for value in ("- x\n- y", "- x\r\n- y\r\n", "- x\r- y"):
        assert _set(before, ("a", value)) == after


@pytest.mark.kind("line ends")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"---\r\na: 1\rb: 2\nc: 3\r\n---\n", b"---\r\na: x\rb: 2\nc: 3\r\n---\n"),
        (b"---\na:\r\n  - 1\n  - 2\r\nb: 2\r---\n", b"---\na: x\r\nb: 2\r---\n"),
        (b"---\na: |\r\n  1\n  2\rb: 2\n---\n", b"---\na: x\r\nb: 2\n---\n"),
        (b"---\na: '1\r\n  2' # c\rb: 2\n---\n", b"---\na: x # c\rb: 2\n---\n"),
    ],
)
def test_the_line_ends_around_an_edit_stay(before: bytes, after: bytes) -> None:
    assert _set(before, ("a", "x")) == after


_OTHERS = """\
zip: 01234
version: 1.10
octal: 0o17
hex: 0x1F
big: 1_000
answer: yes
none: ~
when: 2024-01-05
at: 2024-01-05T10:00:00
time: 12:30
quoted: "a \\u00e9"   # why
single: 'it''s'
list: [b,   'a', 1.10]
map: {z: 1,  y: [2]}
lines:
- 1
-   two
text: |
   keep
     this
folded: >-
  and
  that
empty:
"odd: key": x
42: number
anchor: &here [1]
alias: *here
Größe: \U0001f600
"""


@pytest.mark.kind("frontmatter")
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("closing", ["---", "...", "---  "])
def test_the_other_properties_stay_as_they_are_written(end: str, closing: str) -> None:
    others = _OTHERS.replace("\n", end)
    before = f"---{end}title: Old{end}{others}{closing}{end}body".encode()
    after = f"---{end}title: New{end}{others}{closing}{end}body".encode()
    assert _set(before, ("title", "New")) == after
    without = f"---{end}{others}{closing}{end}body".encode()
    assert _set(before, unset=["title"]) == without
    assert _set(without, ("title", "Old")) == f"---{end}{others}title: Old{end}{closing}{end}body".encode()


@pytest.mark.kind("frontmatter")
@pytest.mark.parametrize(
    ("before", "pairs", "unset", "after"),
    [
        ("# top\na: 1 # why\n# end\n", [("a", "2")], [], "# top\na: 2 # why\n# end\n"),
        ("a:   # why\nb: 1\n", [("a", "2")], [], "a: 2   # why\nb: 1\n"),
        ("a: 1  # why\n", [("a", "")], [], "a:  # why\n"),
        ("a: 1  # why\n", [("a", "- x")], [], "a:  # why\n  - x\n"),
        ("a: 1 # why\n", [("a", "|\n text")], [], "a: | # why\n  text\n"),
        ("a: | # why\n  text\nb: 1\n", [("a", "2")], [], "a: 2 # why\nb: 1\n"),
        (
            "a: # why\n  # below\n  - x # one\n  # - y\nb: 1\n",
            [("a", "2")],
            [],
            "a: 2 # why\n  # below\n  # - y\nb: 1\n",
        ),
        ("a: # why\n  - x # one\n  # - y\nb: 1\n", [("a", "- z")], [], "a: # why\n  - z\n  # - y\nb: 1\n"),
        ("# a's\na: 1 # why\n\n# b's\nb: 2\n", [], ["a"], "# a's\n\n# b's\nb: 2\n"),
        ("b: 2\na:\n  - x\n  # - y\n# end\n", [], ["a"], "b: 2\n# end\n"),
        ("b: |\n  text\na:\n  # - y\nc: 1\n", [], ["a"], "b: |\n  text\nc: 1\n"),
        ("a: 1\n# a: 2\n", [], ["a"], "# a: 2\n"),
        ("a: # why\n  x # there\n", [("a", "y")], [], "a: # why\n  y # there\n"),
        ("a:\n  x # there\n", [("a", "- y")], [], "a:\n   # there\n  - y\n"),
        ("{a: 1, # why\n b: 2}\n", [("a", "3")], [], "{a: 3, # why\n b: 2}\n"),
    ],
)
def test_comments_stay(before: str, pairs: list[tuple[str, str]], unset: list[str], after: str) -> None:
    assert _set(f"---\n{before}---\n".encode(), *pairs, unset=unset).decode() == f"---\n{after}---\n"


@pytest.mark.kind("frontmatter")
@pytest.mark.parametrize(
    "old",
    [
        " 1", " words", " 'a'", ' "a\\nb"', " [a, b]", " {x: 1}", "", " !!str 3", " &x 1", " *z",
        "\n  - a\n  - b", "\n- a\n-\n  - b", "\n  x: 1\n  y:\n    z: 2", "\n    - - a\n      - b\n    - c",
        " |\n  a\n\n  b", " >+\n  a\n", " |2-\n   a", " words\n  go on", " 'a\n\n  b'", " [a,\n  b]",
        " !!seq\n  - a", " &x\n  - a", " !!map\n  x: 1", " !!str |\n  a",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("new", "text"),
    [
        ("2", " 2\n"),
        ("", "\n"),
        ("- x\n- y", "\n{i}- x\n{i}- y\n"),
        ("x: 1\ny: 2", "\n{i}x: 1\n{i}y: 2\n"),
        ("|\n  x\n  y", " |\n  x\n  y\n"),
        ("[x,\n  y]", " [x,\n  y]\n"),
    ],
)  # fmt: skip
def test_a_value_is_replaced_however_it_was_written(old: str, new: str, text: str) -> None:
    before = f"---\nz: &z 0\na:{old}\nb: 1 # c\n---\n".encode()
    # A list takes the indentation of the list whose place it takes.
    was = next(
        (depth for depth in ("\n- ", "\n    - ") if old.startswith(depth) and new.startswith("-")), "\n  - "
    )
    indent = was[1:-2]
    assert _set(before, ("a", new)).decode() == f"---\nz: &z 0\na:{text.format(i=indent)}b: 1 # c\n---\n"


@pytest.mark.parametrize(
    ("old", "new", "after"),
    [
        ("\n  later", "x", "\n  x"),
        ("\n  later # c", "|\n  x", "\n  | # c\n  x"),
        ("\n  later", "- x", "\n  - x"),
        ("\n  later", "", ""),
        ("\n\n  - a", "x", " x\n"),
        ("\n\n  - a", "- x", "\n\n  - x"),
        ("\n\n  - a", "|\n  x", " |\n  x"),
        ("\n# c\n- a", "x", " x\n# c"),
        ("   ", "x", " x   "),
        (" \n", "x", " x \n"),
    ],
)
def test_a_value_on_another_line_than_its_key_is_replaced_where_it_is(old: str, new: str, after: str) -> None:
    assert _set(f"---\na:{old}\nb: 1\n---\n".encode(), ("a", new)).decode() == f"---\na:{after}\nb: 1\n---\n"


def test_a_list_stands_as_deep_as_the_one_that_it_replaces() -> None:
    before = b"---\na:\n- 1\nb:\n    - 2\nc:\n  d: 3\n---\n"
    assert _set(before, ("b", "- x"), ("c", "- y")) == b"---\na:\n- 1\nb:\n    - x\nc:\n- y\n---\n"
    assert _set(before, ("a", "x: 1\ny: 2")) == b"---\na:\n  x: 1\n  y: 2\nb:\n    - 2\nc:\n  d: 3\n---\n"


@pytest.mark.parametrize(
    ("old", "new", "after"),
    [
        ("? a\n: 1", "2", "? a\n: 2"),
        ("? a\n: 1", "- x", "? a\n:\n  - x"),
        ("? a # c\n: |\n  1", "2", "? a # c\n: 2"),
        ("? a\n: 1", "", "? a\n:"),
    ],
)
def test_a_value_of_an_explicit_key_is_replaced(old: str, new: str, after: str) -> None:
    assert _set(f"---\n{old}\nb: 1\n---\n".encode(), ("a", new)).decode() == f"---\n{after}\nb: 1\n---\n"


@pytest.mark.kind("frontmatter")
@pytest.mark.parametrize(
    ("before", "unset", "after"),
    [
        (b"---\na: 1\nb: 2\nc: 3\n---\n", ["b"], b"---\na: 1\nc: 3\n---\n"),
        (b"---\na:\n  - 1\n\n  - 2\nb: 2\n---\n", ["a"], b"---\nb: 2\n---\n"),
        (b"---\na: |\n  x\n\n\nb: 2\n---\n", ["a"], b"---\n\n\nb: 2\n---\n"),
        (b"---\na: |+\n  x\n\nb: 2\n---\n", ["a"], b"---\nb: 2\n---\n"),
        (b"---\nb: 2\n? a\n: x\n---\n", ["a"], b"---\nb: 2\n---\n"),
        (b"---\n'a': x\nb: 2\n---\n", ["a"], b"---\nb: 2\n---\n"),
        (b"---\n1: x\nb: 2\n---\n", ["1"], b"---\nb: 2\n---\n"),
        (b"---\na: &x 1\nb: *x\nc: 2\n---\n", ["b"], b"---\na: &x 1\nc: 2\n---\n"),
        (b"---\na: &x 1\nb: *x\nc: 2\n---\n", ["b", "a"], b"---\nc: 2\n---\n"),
        (b"---\n{a: 1, b: 2, c: 3}\n---\n", ["a"], b"---\n{b: 2, c: 3}\n---\n"),
        (b"---\n{a: 1, b: 2, c: 3}\n---\n", ["c", "b"], b"---\n{a: 1}\n---\n"),
        (b"---\n{a: 1, b: 2 , c: 3,}\n---\n", ["b"], b"---\n{a: 1 , c: 3,}\n---\n"),
        (b"---\na: 1\n\nb: 2\n---\n", ["b"], b"---\na: 1\n\n---\n"),
    ],
)
def test_a_property_goes_with_its_lines_and_no_others(before: bytes, unset: list[str], after: bytes) -> None:
    assert _set(before, unset=unset) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"---\na: 1\n---\nbody", b"body"),
        (b"---\na: 1\n---", b""),
        (b"---\n\na: 1\n   \n---\n\nbody", b"\nbody"),
        (b"---\r\n{a: 1}\r\n...\r\nbody", b"body"),
        (b"---\na: 1\n# left\n---\nbody", b"---\n# left\n---\nbody"),
        (b"---\n# left\na: 1\n---\nbody", b"---\n# left\n---\nbody"),
        (b"---\n{a: 1} # left\n---\nbody", b"---\n{} # left\n---\nbody"),
        (b"---\na: 1\n---\n---\nx: y\n---\nbody", b"---\n---\n---\nx: y\n---\nbody"),
        (b"---\na: 1\n---\n---\nno end", b"---\nno end"),
    ],
)
def test_a_block_that_becomes_empty_goes_unless_something_is_left_or_the_body_would_become_one(
    before: bytes, after: bytes
) -> None:
    assert _set(before, unset=["a"]) == after


@pytest.mark.parametrize(
    "before", [b"", b"body\n", b"\xef\xbb\xbfbody", b"---\nno end", b"\r\nx\n", b"\rx", b"---\nb: 1\n---\n"]
)
def test_setting_and_unsetting_everything_gives_the_same_bytes(before: bytes) -> None:
    after = _set(before, ("x", "1"), ("y", "- a\n- b"), ("z", ""))
    assert _set(after, unset=["z", "x", "y"]) == before


def test_unsetting_what_is_not_there_changes_nothing_and_is_told() -> None:
    for data in (b"", b"body", b"---\nb: 1\n---\n", b"---\n---\n", b"---\n\n---\n"):
        found = edit(data, remove=["a", "c"])
        assert (found.splices, found.absent) == ((), ("a", "c"))
    data = b"---\nb: 1\nc: 2\n---\n"
    found = edit(data, remove=["a", "b"])
    assert (apply(data, found.splices), found.absent) == (b"---\nc: 2\n---\n", ("a",))


def test_setting_what_is_there_already_changes_nothing() -> None:
    data = b"---\na: [x,  y]\nb: |\n  text\nc:\n  - 1\n---\n"
    assert edit(data, assign=[Assignment("a", "[x,  y]")]).splices == ()
    assert edit(data, assign=[Assignment("b", "|\n  text\n")]).splices == ()
    assert edit(data, assign=[Assignment("c", "- 1")]).splices == ()
    assert edit(data).splices == ()


def test_several_changes_are_made_at_once() -> None:
    before = b"---\na: 1\nb: 2\nc: 3\nd: 4\n---\nbody"
    assert _set(before, ("new", "n"), ("d", "D"), ("b", "- B"), unset=["c", "a"]) == (
        b"---\nb:\n  - B\nd: D\nnew: n\n---\nbody"
    )


@pytest.mark.kind("mixed lists")
@pytest.mark.parametrize(
    ("tags", "new", "expected"),
    [
        ("[a, 1984, 1.10, {x: y}, true, null]", "[a, 1984, 1.10, {x: y}, true, null, b]", None),
        ("\n  - a\n  - 1984\n  - x: y", "- a\n- 1984\n- x: y\n- [b]", None),
        ("a, 1984", "[a, 1984]", None),
    ],
)
def test_a_list_of_all_kinds_keeps_its_entries(tags: str, new: str, expected: None) -> None:
    """An entry goes only when the caller leaves it out of the list that takes the place."""
    separator = "" if tags.startswith("\n") else " "
    before = f"---\ntags:{separator}{tags}\ntitle: x\n---\n".encode()
    untouched = _set(before, ("title", "y"))
    assert untouched == before.replace(b"title: x", b"title: y")
    wanted = frontmatter.read(f"---\ntags:{chr(10) if new[0] == '-' else ' '}{new}\n---\n".encode())["tags"]
    found = frontmatter.read(_set(before, ("tags", new)))["tags"]
    assert (found, [type(entry) for entry in found]) == (wanted, [type(entry) for entry in wanted])


# -- what is refused ---------------------------------------------------------------------------


@pytest.mark.kind("broken YAML")
@pytest.mark.parametrize(
    "text",
    [
        "---\n\ntitle: not a property, since a blank line stands above\n",
        "---\nA line of text, and one more: here\n",
        "---\n# Plan\n\ntext: more\n",
        "---\nhttp://example.org\n",
        "---\n12:30 lunch\n",
        "---\n- item: one\n",
        "---\n[[link]]: so\n",
        "---\n",
        "---",
        "----\ntitle: x\n",
        "text\n---\ntitle: x\n",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_note_that_begins_with_a_thematic_break_gets_a_block_above_it(text: str, end: str) -> None:
    data = text.replace("\n", end).encode()
    splices = edit(data, assign=[Assignment("a", "1")]).splices
    first = end.encode() if end.encode() in data else b"\n"
    assert apply(data, splices) == b"---\na: 1\n---\n".replace(b"\n", first) + data


@pytest.mark.kind("broken YAML")
@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"---\nok: 1\nbad: [\n---\nbody", 4),
        (b"---\r\nok: 1\r\nbad: x: y\r\n---\r\n", 3),
        (b"---\na: 1\nb: 2\na: 3\n---\n", 4),
        (b"---\n- a\n- b\n---\n", 2),
        (b"---\nwords\n---\n", 2),
        (b"---\n# null\n~\n---\n", 3),
        (b"---\na: &a [x]\nb: " + b"[" + b"*a, " * 65 + b"]\n---\n", 3),
        (b"---\na: &a [*a]\n---\n", 2),
        (b"---\na: *b\n---\n", 2),
        (b"---\nx: 1\na: 2024-13-45\n---\n", 3),
        (b"---\nx: 1\na: !!python/object:os.system x\n---\n", 3),
        (b"---\na: 1\n--- b: 2\n---\n", 3),
        (b"---\nx: 1\t# a tab, which the parser takes for no space\n---\n", 2),
        (b"---\n" + b"a: b\n" * 20_000 + b"---\n", 1),
        # Without its closing line.
        (b"---\ntitle: Plan\nid: 01234\n\n# Plan\n", 1),
        (b'\xef\xbb\xbf---  \r\n# why\r\n"a b":\r\n  - c\r\n', 1),
        (b"---\r'it': 1", 1),
        ("---\nZuletzt ge\u00e4ndert am: 2026\n".encode(), 1),
        (b"---\na:", 1),
    ],
)
def test_a_block_that_cannot_be_read_is_refused_with_its_line(data: bytes, line: int) -> None:
    for assign, remove in (([Assignment("new", "1")], []), ([], ["a"]), ([], ["not there"])):
        with pytest.raises(InvalidYaml) as caught:
            edit(data, assign=assign, remove=remove, path="a.md")
        assert (caught.value.path, caught.value.line) == ("a.md", line)


@pytest.mark.parametrize(
    "data", [b"---\na: \xff\n---\n", b"---\na: 1\n---\n\xe9", b"\xff\xfe-\x00", b"body \xc3"]
)
def test_a_note_that_is_not_utf_8_is_never_changed(data: bytes) -> None:
    with pytest.raises(NotText) as caught:
        _set(data, ("a", "1"))
    assert caught.value.path == "a.md"


@pytest.mark.parametrize(
    ("block", "pairs", "unset", "argument", "why"),
    [
        ("a: &x 1\nb: *x", [("a", "2")], [], "set", REFERRED_TO),
        ("a: {c: &x 1}\nb: [*x]", [], ["a"], "unset", REFERRED_TO),
        ("1: a\n'1': b", [("1", "x")], [], "set", "item 1: several keys of the block are spelled like its key"),
        ("Tags: a", [("ok", "1"), ("tags", "x")], [], "set", f"item 2: {KEY_ALIKE}"),
        ("Tags: a", [("tags", "x")], ["ok"], "set", f"item 1: {KEY_ALIKE}"),
        ("Tags: a", [], ["TAGS"], "unset", f"item 1: {KEY_ALIKE}"),
        ("Gr\u00f6\u00dfe: a", [("Gro\u0308\u00dfe", "x")], [], "set", f"item 1: {KEY_ALIKE}"),
        ("Gro\u0308\u00dfe: a", [("GR\u00d6SSE", "x")], [], "set", f"item 1: {KEY_ALIKE}"),
        ("a: 1", [("b", "x"), ("c", "x"), ("B", "y")], [], "set", f"item 3: {KEYS_ALIKE}"),
        ("A: 1", [("\u00e9", "x"), ("e\u0301", "y")], ["A"], "set", f"item 2: {KEYS_ALIKE}"),
        ("a: 1", [("a", "2"), ("a", "3")], [], "set", "item 2: its key was named before"),
        ("a: 1", [("a", "2")], ["b", "a"], "unset", "item 2: its key was named before"),
        ("a: 1", [("<<", "{b: 1}")], [], "set", f"item 1: {KEY_IS_MERGE}"),
        ("a: 1", [("", "x")], [], "set", "item 1: its key is empty"),
        ("a: 1", [("b ", "x")], [], "set", f"item 1: {KEY_SPACED}"),
        ("a: 1", [("b", "x"), ("c", "x #c")], [], "set", f"item 2: {VALUE_HAS_COMMENT}"),
        ("a: 1", [("b", "x\ny: z")], [], "set", f"item 1: {VALUE_NOT_ONE}"),
        ("{a: 1}", [("b", "- x")], [], "set", IN_BRACES),
        ("{a: 1}", [("a", "x, c: 2")], [], "set", f"item 1: {VALUE_LOOKS_LIKE_TEXT}"),
        ("{a: 1}", [("a", "x, y")], [], "set", NOT_AS_ASKED),
        ("{a: 1, # c\n b: 2}", [], ["a"], "unset", NOT_AS_ASKED),
        ("base: &b {x: 1}\n<<: *b\nx: 2", [], ["x"], "unset", NOT_AS_ASKED),
        ("a: |\n  text\nb: 1\n  # stray", [], ["b"], "unset", NOT_AS_ASKED),
        ("a: 1", [("b", "x" * (MAX_BYTES - 8))], [], "set", f"the block would be longer than {MAX_BYTES} bytes"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_or_made_is_refused_with_its_reason(
    block: str, pairs: list[tuple[str, str]], unset: list[str], argument: str, why: str
) -> None:
    refusal = _refusal(f"---\n{block}\n---\n".encode(), *pairs, unset=unset)
    assert (refusal.argument, refusal.why) == (argument, why)


def test_every_reason_is_one_of_the_table() -> None:
    """A worker may say nothing else; numbers stand for themselves."""
    marks = test_what_cannot_be_meant_or_made_is_refused_with_its_reason.pytestmark  # type: ignore[attr-defined]
    reasons = {re.sub("[0-9]+", "#", case[4]) for case in marks[0].args[1]}
    assert reasons <= REASONS
    many = [Assignment(str(number), "x") for number in range(MAX_CHANGES + 1)]
    with pytest.raises(InvalidArgument) as caught:
        edit(b"", assign=many)
    assert re.sub("[0-9]+", "#", caught.value.why) in REASONS
    refusal = _refusal(b"", ("k" * (MAX_KEY + 1), "x"))
    assert re.sub("[0-9]+", "#", refusal.why) in REASONS


def test_the_nearest_things_to_what_is_refused_are_allowed() -> None:
    assert _set(b"---\na: &x 1\nb: *x\n---\n", ("b", "2")) == b"---\na: &x 1\nb: 2\n---\n"
    assert _set(b"---\na: &x 1\nb: 2\n---\n", ("a", "2")) == b"---\na: 2\nb: 2\n---\n"
    assert _set(b"---\n1: a\n2: b\n---\n", ("1", "x")) == b"---\n1: x\n2: b\n---\n"
    assert _set(b"---\nTags: a\ntags: b\n---\n", ("tags", "x")) == b"---\nTags: a\ntags: x\n---\n"
    assert _set(b"---\nTags: a\nb: 1\n---\n", ("tags", "x"), unset=["Tags"]) == b"---\nb: 1\ntags: x\n---\n"
    assert _set(b"---\nTags: a\n---\n", ("tags", "x"), unset=["Tags"]) == b"---\ntags: x\n---\n"
    assert _set(b"", ("\u00e9", "x"), ("e", "y")) == "---\n\u00e9: x\ne: y\n---\n".encode()
    assert _set(b"---\na: 1\n---\n", ("b", "x#c"), ("c", "'x #c'")) == b"---\na: 1\nb: x#c\nc: 'x #c'\n---\n"
    assert _set(b"---\n{a: 1}\n---\n", ("b", "[x]")) == b"---\n{a: 1, b: [x]}\n---\n"
    assert (
        _set(b"---\nbase: &b {x: 1}\n<<: *b\ny: 2\n---\n", unset=["y"])
        == b"---\nbase: &b {x: 1}\n<<: *b\n---\n"
    )
    room = MAX_BYTES - len("a: 1\nb: \n")
    assert len(_set(b"---\na: 1\n---\n", ("b", "x" * room))) == MAX_BYTES + 8
    assert (
        len(frontmatter.read(_set(b"", *((f"k{number}", "x") for number in range(MAX_CHANGES)))))
        == MAX_CHANGES
    )


def test_an_error_says_nothing_of_the_note() -> None:
    word = "confidential"
    for data, pairs in (
        (f"---\n{word}: [\n---\n", [("a", "1")]),
        (f"---\n{word}: &x 1\nb: *x\n---\n", [(word, "2")]),
        (f"---\n{word.upper()}: 1\n---\n", [(word, "2")]),
    ):
        with pytest.raises(FsnotesError) as caught:
            _set(data.encode(), *pairs)
        assert word not in str(caught.value).lower()
