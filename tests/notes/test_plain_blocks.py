"""The quick way of reading a block: what it reads is what the parser reads, with the same types and places."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fsnotes.errors import InvalidYaml
from fsnotes.notes.plain_blocks import NotPlain, Property, Scalar, plain_title, read_plain
from fsnotes.notes.property_reading import read_any

_KEYS = [
    "title", "Title", "tags", "a", "b_c", "x-1", "due date", "a  b", "a -b", "Größe", "日本", "true", "null",
    "1", "'q'", "a b ", "ß1", "_", "а", "x٣", "a.b", "²",
]  # fmt: skip
_VALUES = [
    "", "words", "two words", "two  words  ", "true", "Null", "FALSE", "nULL", "yes", "42", "-7", "007",
    "-0", "0", "1.5", "01.5", "1.", ".5", "-2.50", "1e3", "1_000", "0x1F", "0o7", ".inf", "2024-01-31",
    "2024-02-31", "2024-1-5", "0024-01-31", "2024-01-31 10:00", "2024-01-31T10:00:00",
    "2024-01-31T25:00:00", "2024-01-31T10:00:60", "2024-01-31T10:00:00Z", "999999999999999",
    "9999999999999999", "123456789012345.123456789012345", "'quoted: text'", '"double # text"', "'it''s'",
    '"esc \\n"', "''", '""', "'a' ", "'a' b", "a: b", "a #b", "a#b", "a:b", "a:", "[x, y]", "[x y, z]",
    "[ x,y ]", "[x, 1, -2, true, null]", "['a, b', \"c]\"]", "[x, 1.5]", "[]", "[ ]", "[x,]", "[x y ]",
    "[x", "[x] y", "[[x]]", "{a: b}", "*a", "&a x", "!t x", "| ", "- x", "-x", "~", "Größe",
    "\U0001f600 face", "x\u2028y", "x\ty", "'open", "@x", "%x", "=", "<<", "a\\b", "a, b", "?x", "a\u00a0b",
    "\ufeffx", "x]", "x}", "x - y", "http://a.b/c?d=e", "[[Link]]", "'[[Link]]'", "12:30", "x\x85y", "é",
    "e\u0301",
]  # fmt: skip
_PLAIN = st.one_of(
    st.tuples(st.sampled_from(_KEYS[:10]), st.sampled_from([": ", ":", ":  "]), st.sampled_from(_VALUES)).map(
        "".join
    ),
    st.tuples(st.sampled_from(["- ", "  - ", "    -  "]), st.sampled_from(_VALUES[1:])).map("".join),
)
_LINES = st.one_of(
    _PLAIN,
    st.tuples(
        st.sampled_from(_KEYS), st.sampled_from([": ", ":", ":  ", " : ", ":\t"]), st.sampled_from(_VALUES)
    ).map("".join),
    st.tuples(st.sampled_from(["- ", "  - ", " -", "-  ", "         - "]), st.sampled_from(_VALUES)).map(
        "".join
    ),
    st.sampled_from(
        ["", "# comment", " # comment", "   ", "  more words", "...x", "%TAG", "--- x", "?", "#"]
    ),
    st.text(alphabet="ab:#-'\" [],|>&*!%@`\t\u00e9", max_size=8),
)


@settings(max_examples=600, deadline=None)
@given(st.lists(_LINES, max_size=7), st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from([0, 1, 2]))
@example(["tags:", "- a", "  - b"], "\n", 0)
@example(["tags:", "", "- a"], "\n", 0)
@example(["tags:", "- a", "# comment", "- b"], "\n", 1)
@example(["true: a", "True: b"], "\n", 0)
@example(["a: 2024-02-30"], "\n", 0)
@example(["a: x", "  more"], "\n", 0)
def test_what_the_quick_way_reads_is_what_the_parser_reads(lines: list[str], end: str, ends: int) -> None:
    block = end.join(lines) + end * ends
    try:
        quick = read_plain(block)
    except NotPlain:
        return
    try:
        assert quick == read_any(block)
    except InvalidYaml as error:
        pytest.fail(f"the parser refuses at line {error.line} what the quick way reads as {quick!r}")
    assert repr(quick) == repr(read_any(block))


@pytest.mark.parametrize("value", _VALUES)
@pytest.mark.parametrize(
    "form", ["a: {}\n", "a: {} \nb: c\n", "a:\n- {}\n", "a:\n  -  {}  \n  - x", "a: [{}]", "a: [ x, {} ]\r\n"]
)
def test_each_value_is_read_alike_wherever_it_stands(form: str, value: str) -> None:
    block = form.format(value)
    try:
        quick = read_plain(block)
    except NotPlain:
        return
    slow = read_any(block)
    assert quick == slow
    assert repr(quick) == repr(slow)


@settings(max_examples=400, deadline=None)
@given(st.lists(_PLAIN, max_size=6), st.sampled_from(["\n", "\r\n"]))
def test_the_title_alone_is_the_one_among_all_properties(lines: list[str], end: str) -> None:
    block = end.join(lines)
    try:
        entries = read_plain(block)
    except NotPlain:
        with pytest.raises(NotPlain):
            plain_title(block)
        return
    values = {entry.name: entry.value for entry in entries}
    kinds = {entry.name: [scalar.kind for scalar in entry.scalars] for entry in entries}
    value = values.get("title")
    is_text = isinstance(value, str) and kinds["title"] == ["str"]
    assert plain_title(block) == (value if is_text else None)


@pytest.mark.parametrize(
    "block",
    [
        "title: A plain title\ntags: [a, b/c]\ndate: 2024-01-05\n",
        "title: \"Quoted: title\"\naliases:\n  - One\n  - 'Two: three'\ndraft: false\n",
        "title: Größe\r\nauthor: me\r\ncreated: 2024-07-21T12:37:00\r\n",
        "creation date: 2024-05-25\nrating: 4.5\nsample list:\n- Sample\n- 12\nempty:\n# comment\n\nlink: '[[Note]]'\n",
        "",
    ],
)
def test_what_people_write_most_is_plain(block: str) -> None:
    assert read_plain(block) == read_any(block)


def test_values_have_types_and_scalars_have_places() -> None:
    block = "title: 'A b'\ntags: [x, 7]\ndate: 2024-01-05\nlist:\n  - true\n"
    assert read_plain(block) == [
        Property("title", "A b", (Scalar("A b", "str", 7, 12, 0),)),
        Property("tags", ["x", 7], (Scalar("x", "str", 20, 21, 1), Scalar("7", "int", 23, 24, 1))),
        Property("date", "2024-01-05", (Scalar("2024-01-05", "timestamp", 32, 42, 0),)),
        Property("list", [True], (Scalar("true", "bool", 53, 57, 1),)),
    ]


@pytest.mark.parametrize(
    "piece", ["a: b\n", "- a\n", "a: [" + "x, " * 50 + "x]\n", "#\n", "\r", " ", "a: x ", "'", "a-"]
)
def test_the_quick_way_takes_time_in_proportion_to_the_block(piece: str) -> None:
    def cost(size: int) -> float:
        block = "list:\n" + piece * (size // len(piece))
        best = float("inf")
        for _ in range(3):
            started = time.process_time()
            try:
                read_plain(block)
            except NotPlain:
                pass
            best = min(best, time.process_time() - started)
        return best

    assert cost(64_000) < 0.05 or cost(64_000) < 8 * cost(16_000)
