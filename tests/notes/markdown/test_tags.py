"""Tags by Obsidian's rules, and the ids of blocks."""

from __future__ import annotations

import pytest

from fsnotes.notes.markdown.inlines import inlines
from fsnotes.notes.markdown.walk import blocks


def tags(text: str) -> list[str]:
    found = inlines(blocks(text)).tags
    assert all(text[tag.start : tag.end] == f"#{tag.name}" for tag in found)
    return [tag.name for tag in found]


def ids(text: str) -> list[str]:
    found = inlines(blocks(text)).block_ids
    assert all(text[each.start : each.end] == f"^{each.name}" for each in found)
    return [each.name for each in found]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("#a", ["a"]),
        ("a #b c", ["b"]),
        ("a\t#b", ["b"]),
        ("a\u00a0#b", ["b"]),
        ("a\u3000#b", ["b"]),
        ("#a #b\n#c\r\n#d\r#e", ["a", "b", "c", "d", "e"]),
        ("#a/b/c", ["a/b/c"]),
        ("#a/", ["a"]),
        ("#a//b", ["a//b"]),
        ("#a_b-c", ["a_b-c"]),
        ("#-", ["-"]),
        ("#1a", ["1a"]),
        ("#1/2", ["1/2"]),
        ("#2024-01-01", ["2024-01-01"]),
        (
            "#caf\u00e9 #cafe\u0301 #\u65e5\u672c\u8a9e #\u0440\u0443\u0441",
            ["caf\u00e9", "cafe\u0301", "\u65e5\u672c\u8a9e", "\u0440\u0443\u0441"],
        ),
        ("#\U0001f600 #\u2764\ufe0f", ["\U0001f600", "\u2764\ufe0f"]),
        ("#a#b", ["a", "b"]),
        ("#a, #b. #c! #d: #e) #f' #g&h", ["a", "b", "c", "d", "e", "f", "g"]),
        ("#a\u2019s #b\u2014c", ["a", "b"]),
        ("#a*b*", ["a"]),
        ("- #a\n- [ ] #b\n1. #c\n> #d\n> - #e", ["a", "b", "c", "d", "e"]),
        ("# #a\n## b #c #\n#d\n===", ["a", "c", "d"]),
        ("|#a|b #c|\n|-|-|\n| #d |#e|", ["a", "c", "d", "e"]),
        ("[x #a](b) [[c #d]] #e", ["a", "e"]),
        ("%% #n %% #a", ["a"]),
        ("[^1]: #a", ["a"]),
    ],
)
def test_a_tag_begins_behind_white_space_and_ends_with_its_characters(text: str, names: list[str]) -> None:
    assert tags(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "#",
        "# a",
        "## ",
        "#1",
        "#1984",
        "#12/",
        "a#b",
        "(#a)",
        "**#a**",
        "_#a",
        ":#a",
        "\\#a",
        "#\u2019a",
        "#.a",
        "##a",
        "#!",
        "https://x/#a",
        "[x](#a)",
        "[x](b#a)",
        "[[#a]]",
        "[[ #a]]",
        "[[b| #a]]",
        "<xy:/#a>",
        "`#a`",
        "` #a`",
        "    #a",
        "```\n#a\n```",
        "<!-- #a -->",
        "<b c=' #a'>",
        "<div>\n#a\n</div>",
        "$x #a$",
        "$$ #a $$",
        "%%\n#a\n%%",
        "---\nt: #a\n---\n",
        "[x]: #a",
        "[x]: b 'c #a'",
        "&#35;a",
        "#/",
        "#//",
    ],
)
def test_this_is_no_tag(text: str) -> None:
    assert tags(text) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a ^b", ["b"]),
        ("a ^b-1  \n\nc", ["b-1"]),
        ("a\nb ^c\r\n", ["c"]),
        ("^a", ["a"]),
        ("a\n^b", ["b"]),
        ("- a ^b\n- c ^d\n  - e ^f", ["b", "d", "f"]),
        ("> a\n> b ^c\n\n^d", ["c", "d"]),
        ("# a ^b", ["b"]),
        ("[[a]] `b` ^c", ["c"]),
        ("|a|\n|-|\n|b|\n\n^c", ["c"]),
        ("$$\na\n$$\n^b", ["b"]),
    ],
)
def test_a_block_is_named_at_its_end(text: str, names: list[str]) -> None:
    assert ids(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "a^b",
        "a ^b c",
        "a ^b\nc",
        "a ^b_c",
        "a ^",
        "a ^\u00e4",
        "`a ^b`",
        "`\na ^b`",
        "    ^b",
        "%% ^b %%",
        "[[a ^b]]",
        "a ^b^",
    ],
)
def test_this_names_no_block(text: str) -> None:
    assert ids(text) == []
