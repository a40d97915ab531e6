"""Which tags a note has, and how often."""

from __future__ import annotations

import pytest

from fsnotes.errors import NotText
from fsnotes.notes.tags import TagUse, counted, lineage, tags_of


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
