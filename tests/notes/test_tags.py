"""Which tags a note has, and how often."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsnotes.errors import InvalidYaml, NotText
from fsnotes.notes.markdown.inlines import inlines
from fsnotes.notes.markdown.walk import blocks
from fsnotes.notes.property_reading import read_properties
from fsnotes.notes.tag_keys import MAX_LENGTH, key_of, prefix_of
from fsnotes.notes.tags import (
    MAX_TAGS,
    TagUse,
    TooManyTags,
    counted,
    has_tag,
    lineage,
    tags_of,
)
from tests.notes.strange_notes import notes


def tags(text: str) -> list[tuple[str, int]]:
    return [(tag.name, tag.uses) for tag in tags_of(text.encode(), path="a.md")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("no tags # here", []),
        ("#a #b #a", [("a", 2), ("b", 1)]),
        ("#Work #work #WORK", [("Work", 3)]),
        ("#cafe\u0301 #caf\u00e9 #CAF\u00c9", [("cafe\u0301", 3)]),
        ("#a/b/c", [("a", 1), ("a/b", 1), ("a/b/c", 1)]),
        ("#a/b #a #A/c", [("a", 3), ("a/b", 1), ("A/c", 1)]),
        ("#a//b #/a #a/", [("a", 2), ("a//b", 1), ("/a", 1)]),
        ("---\ntags: [x, a/b]\n---\n#X `#n`\n\n    #n\n", [("x", 2), ("a", 1), ("a/b", 1)]),
        ("\ufeff---\r\ntags:\r\n- '#x'\r\n---\r\n#y\r\n", [("x", 1), ("y", 1)]),
        ("---\ntags: x, y z\n---\n", [("x", 1), ("y", 1), ("z", 1)]),
        ("---\ntags: [x\n---\n#y", [("y", 1)]),
        ("---\ntags: [1, 2024, '12']\n---\n#1", []),
        ("#2024/a #2024", [("2024", 1), ("2024/a", 1)]),
        ('---\n"t\\u0061gs": ["\\x61"]\n---\n', [("a", 1)]),
        (
            "---\nTAG: a\n...\n>#b\n\n[^1]:#c\n\n|#d|#e|\n|-|-|",
            [("a", 1), ("b", 1), ("c", 1), ("d", 1), ("e", 1)],
        ),
        ("---\ncolour: '#fff'\n---\n# Title\n\n[x](y#z) C# #1 ##\n", []),
        (
            "#\u65e5\u672c/\u6771\u4eac \u3000#\U0001f600",
            [("\u65e5\u672c", 1), ("\u65e5\u672c/\u6771\u4eac", 1), ("\U0001f600", 1)],
        ),
    ],
)
def test_tags_of_text_and_properties_are_counted_with_those_above_them(
    text: str, expected: list[tuple[str, int]]
) -> None:
    assert tags(text) == expected


def test_a_note_that_is_not_text_has_no_tags() -> None:
    with pytest.raises(NotText):
        tags_of(b"#a \xff", path="a.md")


def test_tags_are_compared_in_one_form() -> None:
    assert counted(["Stra\u00dfe", "STRASSE"]) == (TagUse("Stra\u00dfe", "strasse", 2),)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", ["a"]),
        ("a/b", ["a", "a/b"]),
        ("a//b", ["a", "a//b"]),
        ("/a/b", ["/a", "/a/b"]),
        ("//a", ["//a"]),
    ],
)
def test_a_nested_tag_is_in_those_above_it(name: str, expected: list[str]) -> None:
    assert list(lineage(name)) == expected


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("#Work", "work"),
        ("Work/Mail/", "work/mail"),
        ("cafe\u0301", "caf\u00e9"),
        ("2024", "2024"),
        ("", None),
        ("#", None),
        ("/", None),
        ("##a", None),
        ("a b", None),
        ("a,b", None),
    ],
)
def test_a_tag_is_asked_for_as_it_is_written(text: str, key: str | None) -> None:
    assert key_of(text) == key


@pytest.mark.parametrize(
    ("text", "prefix"),
    [("", ""), ("#", ""), ("#Wo", "wo"), ("wo/", "wo/"), ("E\u0301", "\u00e9"), ("##", "#")],
)
def test_a_prefix_is_compared_as_tags_are(text: str, prefix: str) -> None:
    assert prefix_of(text) == prefix


@pytest.mark.parametrize(
    ("note", "key", "expected"),
    [
        (b"#work", "work", True),
        (b"#Work/mail", "work", True),
        (b"#Work/mail", "work/mail", True),
        (b"#workshop", "work", False),
        (b"#work", "work/mail", False),
        (b"`#work` work", "work", False),
        (b"---\ntags: WORK/x\n---\n", "work", True),
        (b'---\ntags: ["\\x77ork"]\n---\n', "work", True),
        (b"#2024/a", "2024", True),
        (b"#STRASSE", "strasse", True),
        ("#Stra\u00dfe/x".encode(), "strasse", True),
        ("\ufeff#cafe\u0301\r\n".encode(), "caf\u00e9", True),
        (b"#work", "\ud800", False),
    ],
)
def test_a_note_has_a_tag_with_those_nested_in_it(note: bytes, key: str, expected: bool) -> None:
    assert has_tag(note, key, path="a.md") is expected


def test_whether_a_note_that_is_not_text_has_a_tag_is_not_known() -> None:
    for note in (b"#work \xff", b"\xff"):
        with pytest.raises(NotText):
            has_tag(note, "work", path="a.md")


_PIECES = st.sampled_from(
    ["#", "#", "#a", "a", "/", "1", " ", "\n", "> ", ">", "- ", "|", "\n|-|-|\n", "[^1]:", "[a]: b", "`", "[[", "]]",
     "(", "%%", "$$", "<!-- ", "-->", "\u00e9", "\u2014", "\u3000", "\x85", "\x1c", "\x0b", "\r", "\t", "\x00", "\\"]
)  # fmt: skip
_SOUP = st.lists(_PIECES, max_size=25).map(lambda pieces: "".join(pieces).encode())


@settings(max_examples=500, deadline=None)
@given(
    _SOUP
    | notes
    | st.tuples(_SOUP, _SOUP).map(lambda parts: b"---\ntags: " + parts[0] + b"\n---\n" + parts[1])
)
def test_the_look_at_the_bytes_misses_no_tag(note: bytes) -> None:
    text = note.decode()
    names = [tag.name for tag in inlines(blocks(text)).tags]
    try:
        names = [term.text for term in read_properties(note).tags()] + names
    except InvalidYaml:
        pass
    found = tags_of(note, path="a.md")
    assert found == counted(names)
    assert all(has_tag(note, tag.key, path="a.md") for tag in found)
    keys = {tag.key for tag in found}
    assert [
        key for key in ("a", "1", "a/a", "\u00e9") if has_tag(note, key, path="a.md") != (key in keys)
    ] == []


def test_a_note_with_more_tags_than_anybody_uses_is_not_counted() -> None:
    assert len(counted(f"a/{number}" for number in range(MAX_TAGS - 1))) == MAX_TAGS
    with pytest.raises(TooManyTags):
        counted(f"a/{number}" for number in range(MAX_TAGS))


def test_a_tag_is_counted_up_to_its_longest() -> None:
    tag = "a/" * (MAX_LENGTH // 2 - 1) + "bc"
    assert {use.uses for use in counted([tag] * 3)} == {3}
    assert counted([tag + "d"]) == ()
