"""What the index takes from a note, and what is written of it."""

from __future__ import annotations

import json

import pytest

from fsnotes.notes.etags import etag
from fsnotes.notes.index import marks
from fsnotes.notes.index.contents import contents_of, link_stem
from fsnotes.notes.index.rows import MAX_HEADINGS, Stat, row_of
from fsnotes.notes.titles import title_of

STAT = Stat(1, 2, 3)


@pytest.mark.parametrize(
    ("target", "stem"),
    [
        ("b", "b"),
        ("a/B.md", "b"),
        ("b.markdown", "b"),
        ("Pic.PNG", "pic.png"),
        ("v1.2", "v1.2"),
        ("n.md.md", "n"),
        ("x.markdown.MD", "x"),
        (".md", None),
        ("e\u0301", "\u00e9"),
        ("a/", None),
        ("", None),
        ("x" * 300, None),
    ],
)
def test_a_link_is_found_under_the_name_it_leads_to(target: str, stem: str | None) -> None:
    assert link_stem(target) == stem


def test_contents_are_what_a_note_has() -> None:
    text = '---\ntitle: "My  note"\ntags: [A/b]\nn: [1, Two, {x: y}]\nup: "[[Top]]"\n---\n# H\n'
    found = contents_of(text.encode(), path="p.md")
    assert (found.title, [tag.key for tag in found.tags]) == ("My note", ["a", "a/b"])
    assert [(each.level, each.line, each.text) for each in found.headings] == [(1, 7, "H")]
    assert found.stems == ("top",)
    assert found.properties == {
        "title": ("my note",),
        "tags": ("a/b",),
        "n": ("1", "two"),
        "up": ("[[top]]",),
    }


@pytest.mark.parametrize(
    "text", ["", "x", "# H", "---\ntitle: T\n---\n# H", "---\ntitle: [\n---\n## x", "> # q"]
)
def test_a_title_is_that_of_a_listing(text: str) -> None:
    found = contents_of(text.encode(), path="a/my  name.md").title
    assert (found or "my name") == title_of(text.encode(), "my  name.md")


def test_frontmatter_that_cannot_be_read_has_no_properties_and_its_words_are_found() -> None:
    row = row_of("a.md", b"---\nstate: [done\n---\ntext", STAT, sure=True)
    assert row.words is not None
    assert row.words[0].split()[1:3] == ["state:", "[done"]
    assert row.words[5] == ""


def test_words_are_written_by_column() -> None:
    data = b"---\nn: 1\n---\n# Own C++\n\n## Two\n\nbody #t/u\n"
    row = row_of("Folder/sub/Name.md", data, STAT, sure=False)
    cpp = "c" + chr(0xF002B) * 2
    assert row.words is not None
    body, title, heads, tags, path, marked = row.words
    assert body.endswith(f"body #t/u\n\n{cpp}")
    assert (title, path) == (f"own c++\n{cpp}", "folder/sub/name")
    assert heads.split() == ["own", "c++", marks.SEPARATOR, "two", marks.SEPARATOR, cpp]
    assert tags.split() == ["t", marks.SEPARATOR, "t/u"]
    assert set(marked.split()) == {
        marks.of_tag("t"), marks.of_tag("t/u"), marks.of_property("n", None), marks.of_property("n", "1"),
        marks.of_folder("Folder"), marks.of_folder("Folder/sub"),
    }  # fmt: skip
    assert (row.etag, row.stat, row.sure, row.title) == (etag(data), STAT, False, "Own C++")


def test_marks_differ_where_what_they_mark_does() -> None:
    made = [
        marks.of_tag("a"), marks.of_tag("a/b"), marks.of_tag("a b"), marks.of_property("a", None),
        marks.of_property("a", "b"), marks.of_property("a=b", None), marks.of_property("", "ab"),
        marks.of_folder("a"), marks.of_folder("A"), marks.of_folder("a/b"),
    ]  # fmt: skip
    assert len(set(made)) == len(made)
    assert marks.of_folder("e\u0301") == marks.of_folder("\u00e9")


def test_bytes_that_are_no_text_have_a_reason_and_no_words() -> None:
    row = row_of("a.md", b"\xff", STAT, sure=True)
    assert (row.words, row.reason, row.stems, row.tags) == (None, "not_text", (), ())


def test_of_very_many_headings_some_are_kept_and_all_are_searched() -> None:
    row = row_of("a.md", b"# h\n" * (MAX_HEADINGS + 5), STAT, sure=True)
    assert len(json.loads(row.held)[2]) == MAX_HEADINGS
    assert row.words is not None
    assert row.words[2].split().count("h") == MAX_HEADINGS + 5
