"""Which section a heading means."""

from __future__ import annotations

import pytest

from fsnotes.errors import AmbiguousNote, NoteNotFound
from fsnotes.notes.sections import MAX_CANDIDATES, section

NOTE = """---
title: x
---
intro
# One
a
## Tasks
b
### Deep
c
# Two
d
## Tasks
e
## And / or
f
# One/Tasks
"""


def _text(heading: str) -> str:
    found = section(NOTE, heading)
    assert found.start < found.body <= found.end
    return NOTE[found.start : found.end]


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("One", "# One\na\n## Tasks\nb\n### Deep\nc\n"),
        ("  oNe ", "# One\na\n## Tasks\nb\n### Deep\nc\n"),
        ("Deep", "### Deep\nc\n"),
        ("Two/Tasks", "## Tasks\ne\n"),
        ("two/tasks", "## Tasks\ne\n"),
        ("One/Tasks/Deep", "### Deep\nc\n"),
        ("And / or", "## And / or\nf\n"),
        ("Two/And / or", "## And / or\nf\n"),
    ],
)
def test_a_section_reaches_to_the_next_heading_of_its_level_or_above(heading: str, text: str) -> None:
    assert _text(heading) == text


def test_twins_are_ambiguous_and_named_by_their_paths() -> None:
    with pytest.raises(AmbiguousNote) as caught:
        section(NOTE, "Tasks")
    assert caught.value.paths == ("one/tasks", "two/tasks")


def test_twins_to_the_top_are_told_apart_by_their_lines() -> None:
    with pytest.raises(AmbiguousNote) as caught:
        section("# A\n# A\n", "A")
    assert caught.value.paths == ("a (line 1)", "a (line 2)")


def test_a_text_with_a_slash_and_a_path_are_two_answers() -> None:
    with pytest.raises(AmbiguousNote) as caught:
        section(NOTE, "One/Tasks")
    assert caught.value.paths == ("one/tasks (line 7)", "one/tasks (line 17)")


def test_a_missing_heading_is_refused_with_a_few_that_there_are() -> None:
    with pytest.raises(NoteNotFound) as caught:
        section(NOTE, "Task")
    assert (caught.value.what, caught.value.name) == ("heading", "Task")
    assert caught.value.candidates == ("Tasks", "One/Tasks", "One", "Deep", "Two", "And / or")
    with pytest.raises(NoteNotFound) as caught:
        section("".join(f"# h{i}\n" for i in range(50)), "x")
    assert caught.value.candidates == tuple(f"h{i}" for i in range(MAX_CANDIDATES))


def test_frontmatter_and_code_hold_no_headings() -> None:
    text = "\ufeff---\n# A\n---\n```\n# A\n```\n# A\nend"
    found = section(text, "a")
    assert text[found.start : found.end] == "# A\nend"
    assert found.heading.line == 7


def test_headings_in_block_quotes_and_list_items_open_no_section() -> None:
    text = "# A\n> # B\n- # C\n\ntext\n"
    assert text[section(text, "A").body :] == "> # B\n- # C\n\ntext\n"
    for nested in ("B", "C", "A/B"):
        with pytest.raises(NoteNotFound):
            section(text, nested)


@pytest.mark.parametrize("text", ["# A", "# A\n", "x\n\n# A\r\n", "# A\r"])
def test_the_last_section_ends_with_the_note(text: str) -> None:
    assert section(text, "A").end == len(text)


def test_ten_thousand_twins_are_told_apart() -> None:
    with pytest.raises(AmbiguousNote) as caught:
        section("# Top\n" + "## Twin\n" * 10_000, "twin")
    assert caught.value.paths == tuple(f"top/twin (line {line})" for line in range(2, 2 + MAX_CANDIDATES))


def test_a_heading_of_nothing_but_accents_takes_no_longer_than_its_length() -> None:
    """Twice: to be found behind it, and to be offered where nothing is found. Unbounded, it takes minutes."""
    hostile = "# a" + "\u0301\u0316" * 100_000 + "\n\n"
    found = section(hostile * 2 + "# There\ntext\n", "there")
    assert found.heading.text == "There"
    with pytest.raises(NoteNotFound):
        section(hostile, "missing")
