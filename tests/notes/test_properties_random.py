"""Setting and unsetting properties at random: what was asked for happens, and nothing else, or nothing at all.

What is compared is read by a parser without any of our care, and found in lines that are split here.
"""

from __future__ import annotations

import math
import re
import time
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from fsnotes.errors import InvalidArgument, InvalidYaml, NotText
from fsnotes.notes import frontmatter
from fsnotes.notes.properties import Assignment, Edit, edit
from fsnotes.notes.property_checks import same
from fsnotes.notes.property_reasons import REASONS
from fsnotes.notes.splices import apply
from tests.examples import examples
from tests.notes.blocks import KEYS, NEW_KEYS, VALUES, Note, load, name_of, notes, notes_in_braces, parser

_NAMES = st.sampled_from([*map(name_of, KEYS), *NEW_KEYS])
_ASSIGN = st.lists(
    st.builds(Assignment, _NAMES, st.sampled_from(VALUES)), max_size=3, unique_by=lambda item: item.key
)
_REMOVE = st.lists(_NAMES, max_size=2, unique=True)
_WITHOUT = st.sampled_from(
    [b"", b"body", b"# H\r\n\r\nx\n", b"\r", b"\n\n", b"---\nno end", b"\xef\xbb\xbf# x\n", b"a\rb"]
)


def _edit(data: bytes, assign: list[Assignment], remove: list[str]) -> Edit | None:
    """What is to be done; None for a refusal, which has one of the reasons that are known."""
    refusals: list[InvalidArgument] = []
    try:
        return edit(data, assign=assign, remove=remove)
    except InvalidArgument as refusal:
        refusals.append(refusal)
    _check_reasons(refusals)
    return None


def _check_reasons(refusals: list[InvalidArgument]) -> None:
    assert {re.sub("[0-9]+", "#", refusal.why) for refusal in refusals} <= REASONS


def _values(data: bytes) -> dict[str, Any]:
    """The properties by the text of their keys."""
    block = frontmatter.split(data).block.decode()
    node = parser().compose(block)
    if node is None:
        return {}
    return dict(zip([key.value for key, _ in node.value], load(block).values(), strict=True))


def _lines(data: bytes) -> dict[str, bytes]:
    """The lines of each property up to the next one, without the last line end, blank lines and comments.

    A carriage return may come to stand before the line feed of a blank line, when what was between them goes.
    """
    block = frontmatter.split(data).block
    node = parser().compose(block.decode())
    lines = block.splitlines(keepends=True)
    starts = [(key.value, key.start_mark.line) for key, _ in node.value] if node is not None else []
    found = {}
    ends = [line for _, line in starts[1:]] + [len(lines)]
    for (name, start), end in zip(starts, ends, strict=False):
        while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith(b"#")):
            end -= 1
        found[name] = b"".join(lines[start:end]).rstrip(b"\r\n")
    return found


def _comments(data: bytes) -> list[bytes]:
    """The comments that stand between properties, at the depth of their keys."""
    lines = frontmatter.split(data).block.splitlines()
    return [line for line in lines if line.strip() in (b"# comment", b"#")]


def _check_frame(before: bytes, after: bytes) -> None:
    was, now = frontmatter.split(before), frontmatter.split(after)
    if was.present and now.present:
        assert (now.bom, now.opening, now.closing, now.body) == (was.bom, was.opening, was.closing, was.body)
    else:
        # The block came or went; what was around it is all there is, or all that follows it.
        outer, inner = (before, after) if was.present else (after, before)
        assert outer.endswith(inner.removeprefix(b"\xef\xbb\xbf"))
        assert outer.startswith(b"\xef\xbb\xbf") == inner.startswith(b"\xef\xbb\xbf")


def _check_splices(before: bytes, found: Edit) -> None:
    end = -1
    for splice in found.splices:
        assert end < splice.start <= splice.end <= len(before)
        assert before[splice.start : splice.end] != splice.replacement
        end = splice.end


@settings(max_examples=examples(80, long=200), deadline=None)
@given(notes() | _WITHOUT.map(lambda data: Note(data, ())), _ASSIGN, _REMOVE)
def test_what_was_asked_for_happens_and_nothing_else(
    note: Note, assign: list[Assignment], remove: list[str]
) -> None:
    assigned = {item.key: item.value for item in assign}
    remove = [key for key in remove if key not in assigned]
    before = note.data
    found = _edit(before, assign, remove)
    assume(found is not None)  # refusing too often fails, too
    after = apply(before, found.splices)
    _check_splices(before, found)
    _check_frame(before, after)
    expected = {name: value for name, value in _values(before).items() if name not in remove}
    expected |= {key: load(value) for key, value in assigned.items()}
    assert list(_values(after)) == list(expected)
    assert same(_values(after), expected)
    kept = {
        name: lines for name, lines in _lines(before).items() if name not in assigned and name not in remove
    }
    assert {name: lines for name, lines in _lines(after).items() if name in kept} == kept
    assert set(found.absent) == set(remove) - _values(before).keys()
    if frontmatter.split(after).present:
        assert _comments(after) == _comments(before)


@settings(max_examples=120, deadline=None)
@given(notes_in_braces(), _ASSIGN, _REMOVE)
def test_in_braces_what_was_asked_for_happens_and_nothing_else(
    note: Note, assign: list[Assignment], remove: list[str]
) -> None:
    assign = [
        Assignment(*pair)
        for pair in zip((*note.names[:1], "new", "7"), (item.value for item in assign), strict=False)
    ]
    assigned = {item.key: item.value for item in assign}
    remove = [*remove, *note.names[1:3]]
    found = _edit(note.data, assign, remove)
    if found is None:
        return
    after = apply(note.data, found.splices)
    _check_splices(note.data, found)
    _check_frame(note.data, after)
    expected = {name: value for name, value in _values(note.data).items() if name not in remove}
    expected |= {key: load(value) for key, value in assigned.items()}
    assert same(_values(after), expected)


@settings(max_examples=120, deadline=None)
@given(notes() | notes_in_braces() | _WITHOUT.map(lambda data: Note(data, ())), _ASSIGN, st.randoms())
def test_setting_new_keys_and_unsetting_them_gives_the_same_bytes(
    note: Note, assign: list[Assignment], random: Any
) -> None:
    new = [Assignment(f"new {number}", item.value) for number, item in enumerate(assign)]
    is_empty = frontmatter.split(note.data).present and not note.names
    found = _edit(note.data, new, [])
    if found is None or is_empty:
        return
    after = apply(note.data, found.splices)
    keys = [item.key for item in new]
    random.shuffle(keys)
    back = edit(after, remove=keys)
    assert apply(after, back.splices) == note.data
    assert back.absent == ()


@settings(max_examples=80, deadline=None)
@given(notes(), st.sampled_from(VALUES), st.data())
def test_unsetting_and_setting_again_keeps_the_others(note: Note, value: str, data: st.DataObject) -> None:
    assume(len(note.names) > 1)
    name = data.draw(st.sampled_from(note.names))
    gone = _edit(note.data, [], [name])
    if gone is None:
        return
    without = apply(note.data, gone.splices)
    again = _edit(without, [Assignment(name, value)], [])
    if again is None:
        return
    after = apply(without, again.splices)
    others = {other: lines for other, lines in _lines(note.data).items() if other != name}
    assert {other: lines for other, lines in _lines(after).items() if other != name} == others
    assert same(_values(after), {**_values(without), name: load(value)})


_SOUP = [
    b"---", b"...", b"\n", b"\r\n", b"\r", b"a: ", b"b:\n", b"- ", b"  ", b"\t", b"#", b"'", b'"', b"[",
    b"]", b"{", b"}", b",", b": ", b"| ", b">\n", b"&a", b"*a ", b"!!str ", b"? ", b"<<: ", b"%", b"\xff",
    b"\xef\xbb\xbf", b"\xc3\xa9", b"\xe2\x80\xa8", b"\x00", b"x",
]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.sampled_from(_SOUP), max_size=14).map(lambda parts: b"---\n" + b"".join(parts) + b"\n---\n")
    | st.lists(st.sampled_from(_SOUP), max_size=14).map(b"".join)
    | st.binary(max_size=40),
    st.sampled_from(VALUES)
    | st.lists(st.sampled_from(_SOUP), max_size=6).map(
        lambda parts: b"".join(parts).decode("utf-8", "replace")
    ),
)
@example(b"---\n&a\n? b\n: *a\n---\n", "x")
@example(b"---\n? [a]\n: b\n---\n", "x")
@example(b"---\n: b\n---\n", "x")
@example(b"---\n!!map\na: 1\n---\n", "x")
@example(b"---\n--- # c\na: 1\n---\n", "x")
@example(b"---\na: 1\n... # c\n---\n", "x")
@example(b"---\n!!omap\n- a: 1\n---\n", "x")
def test_whatever_a_note_and_a_value_hold_only_known_errors_come_and_readable_notes_stay_so(
    data: bytes, value: str
) -> None:
    refusals: list[InvalidArgument] = []
    for assign, remove in (
        ([Assignment("a", value)], []),
        ([Assignment("new", value)], ["a"]),
        ([], ["a", "b"]),
    ):
        try:
            found = edit(data, assign=assign, remove=remove)
        except InvalidArgument as refusal:
            refusals.append(refusal)
        except (InvalidYaml, NotText):
            pass
        else:
            after = apply(data, found.splices)
            _check_frame(data, after)
            frontmatter.read(after)
    _check_reasons(refusals)


# -- hostile blocks ----------------------------------------------------------------------------

_HOSTILE = [
    ("", "a"), ("", "\n"), ("", "\r"), ("", "# c\n"), ("a:\n", "  # c\n"), ("a: |\n  x\n", "\n"),
    ("a: |\n", "  x\n"), ("a: '", "x\n "), ('a: "', "\\u00e9"), ("a: [", "x, "), ("{a: ", "[],"),
    ("a: ", "[" ), ("a: ", "{a: "), ("", "? "), ("", "- "), ("a: ", "&a "), ("", "!t "), ("a: ", "x "),
    ("a: >+\n ", " \n x\n"), ("a: ", "#"), ("", "\u2028"), ("a: x\n", "   \n"), ("{", "a: 1,\n"),
]  # fmt: skip


def _cost(prefix: str, piece: str, size: int) -> float:
    data = b"---\n" + (prefix + piece * (size // len(piece.encode()))).encode() + b"\n---\nbody\n"
    best = math.inf
    for _ in range(2):
        started = time.process_time()
        try:
            edit(data, assign=[Assignment("a", "- x\n- y"), Assignment("new", "x")], remove=["b"])
        except (InvalidArgument, InvalidYaml):
            pass
        best = min(best, time.process_time() - started)
    return best


@pytest.mark.parametrize(("prefix", "piece"), _HOSTILE)
def test_a_block_of_four_times_the_size_takes_about_four_times_as_long(prefix: str, piece: str) -> None:
    large = _cost(prefix, piece, 60_000)
    assert large < 2
    assert large < 0.05 or large < 8 * _cost(prefix, piece, 15_000)


def test_the_largest_blocks_with_the_most_changes_take_no_more_than_a_moment() -> None:
    block = "".join(f"k{number}:\n  - {number}\n" for number in range(640))
    data = f"---\n{block}---\n".encode()
    assign = [Assignment(f"k{number}", "- x\n- y") for number in range(40)]
    assign += [Assignment(f"new{number}", "x: 1\ny: 2") for number in range(10)]
    started = time.process_time()
    found = edit(data, assign=assign, remove=[f"k{number}" for number in range(100, 150)])
    assert time.process_time() - started < 2
    assert len(frontmatter.read(apply(data, found.splices))) == 600


@pytest.mark.parametrize(
    "value",
    ["[" * 20_000, "- " * 20_000, "x\n" * 20_000, "'" + "x\n" * 20_000 + "'", "#" * 40_000, "a: " * 9_000],
)
def test_a_hostile_value_takes_no_more_than_a_moment(value: str) -> None:
    started = time.process_time()
    with pytest.raises(InvalidArgument):
        edit(b"---\na: 1\n---\n", assign=[Assignment("b", value), Assignment("c", "x: y")])
    assert time.process_time() - started < 2
