"""What a note is called, and which file names are notes."""

from __future__ import annotations

import pytest

from fsnotes.notes.etags import etag
from fsnotes.notes.model import fold, is_note, placeholder_of, stem
from fsnotes.notes.titles import MAX_SEARCHED, MAX_TITLE, title_of


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (b"---\ntitle: From the block\n---\n# Heading\n", "From the block"),
        (b"\xef\xbb\xbf---\r\ntitle: With a BOM\r\n---\r\n", "With a BOM"),
        (b"\xef\xbb\xbf# Heading after a BOM\n", "Heading after a BOM"),
        (b"---\ntitle: 'It: quoted'\n---\n", "It: quoted"),
        (b"---\ntitle: >\n  folded\n  text\n---\n", "folded text"),
        (b"---\ntitle: 42\n---\n# Heading\n", "Heading"),
        (b"---\ntitle: true\n---\n# Heading\n", "Heading"),
        (b"---\ntitle: ''\n---\n# Heading\n", "Heading"),
        (b"---\ntitle: [a]\n---\n# Heading\n", "Heading"),
        (b"---\ntitle: a: b: [\n---\n# Heading\n", "Heading"),
        (b"---\ntitle: one\ntitle: two\n---\n# Heading\n", "Heading"),
        (b"---\n- title: x\n---\n# Heading\n", "Heading"),
        (b"---\nauthor: me\n---\n\n## Second level\n\n# First *level* #\n", "First *level*"),
        (b"---\ntitle: never closed\n\n# Heading\n", "Heading"),
        (b"Heading\n=======\n", "Heading"),
        (b"```\n# code\n```\n\n# Heading\n", "Heading"),
        (b"> # quoted\n\n- # item\n\ntext\n", "file"),
        (b"    # indented code\n", "file"),
        (b"<!--\n# comment\n-->\n", "file"),
        (b"#\n\n# \n\n# Third\n", "Third"),
        (b"#hashtag\n", "file"),
        (b"", "file"),
        (b"# not \xff UTF-8\n", "file"),
        ("---\ntitle: '\u3164\u2800\u200b'\n---\n# Heading\n".encode(), "Heading"),
        ("# \u3164\n\n# \u2800 \u2800\n\n# A \u3164 filler\n".encode(), "A \u3164 filler"),
        ("# \u00a0\n# \u2060\n".encode(), "file"),
        (b"# two   spaces\tand a tab\n", "two spaces and a tab"),
    ],
)
def test_the_title_is_that_of_the_block_else_the_first_heading_else_the_file_name(
    text: bytes, title: str
) -> None:
    assert title_of(text, "file.md") == title


def test_a_title_is_cut_at_its_bound() -> None:
    assert title_of(b"# " + b"x" * 5000, "file.md") == "x" * MAX_TITLE


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("a.md", True),
        ("A.MD", True),
        ("a.markdown", True),
        ("a.MarkDown", True),
        (".md", False),
        (".markdown", False),
        (".a.md", False),
        ("a.txt", False),
        ("amd", False),
        ("a.md.icloud", False),
        ("\u0130.md", True),
    ],
)
def test_a_note_has_a_suffix_in_any_case_and_is_not_hidden(name: str, note: bool) -> None:
    assert is_note(name) is note


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.md", "a"), ("a.b.MARKDOWN", "a.b"), ("\u0130.Md", "\u0130"), ("a.txt", "a.txt")],
)
def test_the_stem_is_the_name_without_a_suffix(name: str, expected: str) -> None:
    assert stem(name) == expected


@pytest.mark.parametrize(
    ("name", "original"),
    [
        (".a.md.icloud", "a.md"),
        (".a.txt.icloud", None),
        ("a.md.icloud", None),
        (".icloud", None),
        ("..md.icloud", None),
    ],
)
def test_a_placeholder_names_the_note_it_stands_for(name: str, original: str | None) -> None:
    assert placeholder_of(name) == original


@pytest.mark.parametrize(
    ("left", "right"),
    [("Caf\u00e9", "CAFE\u0301"), ("Stra\u00dfe", "STRASSE"), ("a  b\t c ", "A b C"), ("\u212b", "\u00e5")],
)
def test_titles_are_compared_without_regard_to_case_and_spelling(left: str, right: str) -> None:
    assert fold(left) == fold(right)


def test_an_etag_is_made_of_the_bytes_alone() -> None:
    assert etag(b"") == "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NM"
    assert etag(b"a") == etag(b"a") != etag(b"a\n")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_the_search_for_a_heading_ends_at_the_end_of_a_line(end: bytes) -> None:
    """No title is half of a heading, and nothing becomes one because it was cut."""
    filler = (b"p" + end) * (MAX_SEARCHED // (1 + len(end)) - 6)
    for heading in ("# Heading long title é", "===foo"):
        data = filler + end + heading.encode() + end
        shown = title_of(b"x" * (MAX_SEARCHED - len(filler) - 8) + end + data, "name.md")
        assert shown in ("name", "Heading long title é")
    assert title_of(end * 10 + b"# In reach" + end + filler, "name.md") == "In reach"
