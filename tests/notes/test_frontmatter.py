"""Frontmatter: splitting never loses a byte, reading is bounded, the quick way agrees with the parser."""

from __future__ import annotations

import time

import pytest
import ruamel.yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fsnotes.errors import InvalidYaml, NotText
from fsnotes.notes import frontmatter
from fsnotes.notes.frontmatter import NotPlain, Split, plain_title, split
from fsnotes.notes.markdown import front
from fsnotes.notes.yaml_blocks import YamlFault, parse

_PIECES = [
    b"\xef\xbb\xbf", b"---", b"...", b"--- ", b"---x", b"\n", b"\r\n", b"\r", b"a: b", b"\t", b" ",
    b"\xff", b"# h", b"----"
]  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=14).map(b"".join) | st.binary(max_size=60))
@example(b"\xef\xbb\xbf---\r\na: b\r\n---\r\nbody")
@example(b"---\n---")
def test_the_parts_joined_are_the_note(data: bytes) -> None:
    parts = split(data)
    assert parts.joined() == data
    assert parts.present == (frontmatter.bounds(data) is not None)
    assert len(data) - len(parts.body) == frontmatter.body_start(data)


@settings(deadline=None)
@given(st.lists(st.sampled_from([*_PIECES, "\u00e9\u2028\x85".encode()]), max_size=14).map(b"".join))
def test_frontmatter_of_bytes_is_that_of_their_text(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    found, expected = frontmatter.bounds(text.encode()), front.bounds(text)
    assert found == (None if expected is None else tuple(len(text[:place].encode()) for place in expected))
    assert frontmatter.body_start(text.encode()) == len(text[: front.body_start(text)].encode())


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (b"---\na: b\n---\nx\n", Split(b"", b"---\n", b"a: b\n", b"---\n", b"x\n")),
        (b"---\na: b\n...\nx", Split(b"", b"---\n", b"a: b\n", b"...\n", b"x")),
        (b"\xef\xbb\xbf---\r\na\r\n---\r\n", Split(b"\xef\xbb\xbf", b"---\r\n", b"a\r\n", b"---\r\n", b"")),
        (b"---\ra\r---\rx", Split(b"", b"---\r", b"a\r", b"---\r", b"x")),
        (b"---\n---\n", Split(b"", b"---\n", b"", b"---\n", b"")),
        (b"---\na\n---", Split(b"", b"---\n", b"a\n", b"---", b"")),
        (b"--- \t\na\n---  \nx", Split(b"", b"--- \t\n", b"a\n", b"---  \n", b"x")),
        (b"---\nno end\n", Split(b"", b"", b"", b"", b"---\nno end\n")),
        (b"\n---\na\n---\n", Split(b"", b"", b"", b"", b"\n---\na\n---\n")),
        (b" ---\na\n---\n", Split(b"", b"", b"", b"", b" ---\na\n---\n")),
        (b"----\na\n---\n", Split(b"", b"", b"", b"", b"----\na\n---\n")),
        (b"---\na\n ---\n----\n--- x\n", Split(b"", b"", b"", b"", b"---\na\n ---\n----\n--- x\n")),
        (b"---", Split(b"", b"", b"", b"", b"---")),
        (b"\xef\xbb\xbftext", Split(b"\xef\xbb\xbf", b"", b"", b"", b"text")),
        (b"", Split(b"", b"", b"", b"", b"")),
    ],
)
def test_a_block_stands_at_the_very_start_between_two_lines_of_its_own(data: bytes, parts: Split) -> None:
    assert split(data) == parts


def test_properties_are_read_as_yaml_1_2() -> None:
    data = b"---\ntitle: yes\ncount: 01234\nversion: 1.10\ntags: [a, 2]\n---\nbody\n"
    assert frontmatter.read(data) == {"title": "yes", "count": 1234, "version": 1.1, "tags": ["a", 2]}
    assert frontmatter.read(b"no block") == {}
    assert frontmatter.read(b"---\n# nothing\n---\n") == {}


@pytest.mark.parametrize(
    ("block", "line"),
    [
        (b"a: b: c", 2),
        (b"ok: 1\nbad: [", 4),
        (b"ok: 1\r\nbad: [\r\n", 5),
        (b"a: 1\nb: 2\na: 3", 4),
        (b"- a", 2),
        (b"words", 2),
        (b"a: !!python/object:os.system x", 2),
        (b"a: 2024-13-45", 2),
        (b"ok: 1\nlist:\n  - 2024-13-45", 4),
        (b"a: \x01", 2),
        (b"# first\n%YAML 1.1", 3),
        (b"a: &a [*a]", 2),
        (b"a: *unknown", 2),
        (b"a: !!omap [a: 1, a: 2]", 2),
        (b"a: 1\n--- b: 2", 3),
        (b"? [a]\n: b\n? {a: b}\n: c", 4),
    ],
)
def test_what_is_not_one_mapping_is_broken_at_a_line(block: bytes, line: int) -> None:
    with pytest.raises(InvalidYaml) as caught:
        frontmatter.read(b"---\n" + block + b"\n---\n", path="a.md")
    assert (caught.value.path, caught.value.line) == ("a.md", line)


def test_a_block_that_is_not_utf_8_is_not_text() -> None:
    with pytest.raises(NotText):
        frontmatter.read(b"---\na: \xff\n---\n")


_BOMB = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (98 + i, 98 + i, b",".join([b"*%c" % (97 + i)] * 9)) for i in range(9)
)
_MERGES = b"m0: &m0 {x: 1}\n" + b"".join(
    b"m%d: &m%d\n  <<: [*m%d, *m%d]\n" % (i, i, i - 1, i - 1) for i in range(1, 20)
)


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(_BOMB, id="aliases of aliases"),
        pytest.param(_MERGES, id="merges of merges"),
        pytest.param(b"a: " + b"[" * 30_000, id="open brackets"),
        pytest.param(b"a: " + b"{a: " * 15_000, id="open braces"),
        pytest.param(b"\n".join(b" " * i + b"a:" for i in range(300)), id="deep mapping"),
        pytest.param(b"- " * 30_000, id="deep list"),
        pytest.param(b"".join(b"k%d: %d\n" % (i, i) for i in range(5_000)), id="many keys"),
        pytest.param(b"a: &a x\nb: [" + b"*a, " * 65 + b"]", id="many aliases"),
        pytest.param(b"a: b\n" * 20_000, id="more bytes than a block may have"),
        pytest.param(b"a: " + b"9" * 60_000, id="a number without end"),
    ],
)
def test_what_would_grow_out_of_bounds_is_refused_cheaply(block: bytes) -> None:
    started = time.process_time()
    with pytest.raises(InvalidYaml):
        frontmatter.read(b"---\n" + block + b"\n---\n")
    assert time.process_time() - started < 2


def test_the_nearest_block_within_the_bounds_is_read() -> None:
    assert frontmatter.read(b"---\na: &a x\nb: [" + b"*a, " * 60 + b"]\n---\n")["b"] == ["x"] * 60
    deep = b"a: " + b"[" * 31 + b"]" * 31
    assert list(frontmatter.read(b"---\n" + deep + b"\n---\n")) == ["a"]
    assert len(frontmatter.read(b"---\n" + b"".join(b"k%d: 1\n" % i for i in range(900)) + b"---\n")) == 900


# -- the quick way -----------------------------------------------------------------------------

_VALUES = [
    "", "words", "two words", "true", "Null", "42", "007", "1.5", "2024-01-31", "2024-02-31", "2024-01-31 10:00",
    "'quoted: text'", '"double # text"', "'it''s'", '"esc \\n"', "a: b", "a #b", "a#b", "a:b", "a:",
    "[x, y]", "[x, 1]", "[]",
    "[x", "{a: b}", "*a", "&a x", "!t x", "| ", "- x", "-x", "~", "yes", "Größe", "\U0001f600 face",
    "x\u2028y", "x\ty", "x  ",
    "'open", "@x", "%x", "=", "<<", ".inf", "0x1F", "1_000", "a\\b", "a, b", "?x", "a\u00a0b", "\ufeffx",
]  # fmt: skip
_LINES = st.one_of(
    st.tuples(
        st.sampled_from(["title", "Title", "tags", "a", "b_c", "true", "null", "x-1", "a b", "'title'", "1"]),
        st.sampled_from([": ", ":", ":  ", " : "]),
        st.sampled_from(_VALUES),
    ).map("".join),
    st.tuples(st.sampled_from(["- ", "  - ", " -", "-  "]), st.sampled_from(_VALUES)).map("".join),
    st.sampled_from(["", "# comment", " # comment", "   ", "  more words", "...x", "%TAG", "--- x", "?"]),
    st.text(alphabet="ab:#-'\" [],|>&*!%@`\t\u00e9", max_size=8),
)


@settings(deadline=None)
@given(st.lists(_LINES, max_size=6), st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from([0, 1]))
@example(["title: a", "title: b"], "\n", 0)
@example(["tags:", "- a", "  - b"], "\n", 0)
@example(["tags:", "- a", "- b", "title: x"], "\r\n", 0)
@example(["true: a", "True: b"], "\n", 0)
def test_the_quick_way_finds_what_the_parser_finds(lines: list[str], end: str, ends: int) -> None:
    block = end.join(lines) + end * ends
    try:
        quick = plain_title(block)
    except NotPlain:
        return
    try:
        value = parse(block, ruamel.yaml).get("title")
    except YamlFault as fault:
        pytest.fail(f"the parser refuses at {fault.offset} what the quick way reads as {quick!r}")
    assert quick == (value if isinstance(value, str) else None)


@pytest.mark.parametrize(
    "block",
    [
        "title: A plain title\ntags: [a, b]\ndate: 2024-01-05\n",
        "title: \"Quoted: title\"\naliases:\n  - One\n  - 'Two: three'\ndraft: false\n",
        "title: Größe\r\nauthor: me\r\n",
    ],
)
def test_what_people_write_most_takes_the_quick_way(block: str) -> None:
    assert plain_title(block) == parse(block, ruamel.yaml)["title"]
