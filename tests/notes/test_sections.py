"""Which section a heading means."""

from __future__ import annotations

import pytest

from fsnotes.errors import AmbiguousHeading, NoteNotFound
from fsnotes.failures import describe
from fsnotes.notes.sections import MAX_CANDIDATES, section

UNNAMEABLE = "name one exactly where no other is called so, else change its text by oldText alone"

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
    with pytest.raises(AmbiguousHeading) as caught:
        section(NOTE, "Tasks")
    assert caught.value.paths == ("One/Tasks", "Two/Tasks")
    assert caught.value.lines == (7, 13)
    assert [_text(path) for path in caught.value.paths[1:]] == ["## Tasks\ne\n"]


@pytest.mark.parametrize(
    ("text", "heading", "paths", "advice"),
    [
        ("# A\n## B\n# C\n## b\n", "B", ("A/B", "C/b"), "name one of them exactly"),
        ("# A\n# a\n", "A", ("A", "a"), UNNAMEABLE),
        ("# A\n## B\n### a\n", "A", ("A", "A/B/a"), UNNAMEABLE),
        ("# Caf\u00e9\n# Cafe\u0301\n", "Caf\u00e9", ("Caf\u00e9", "Cafe\u0301"), UNNAMEABLE),
    ],
)
def test_who_asks_for_twins_is_told_what_tells_them_apart(
    text: str, heading: str, paths: tuple[str, ...], advice: str
) -> None:
    with pytest.raises(AmbiguousHeading) as caught:
        section(text, heading)
    assert caught.value.paths == paths
    line = describe(caught.value).line
    assert line.endswith(f"; {advice}")
    assert all(f'"{path}" in line ' in line for path in paths)
    if advice != UNNAMEABLE:
        assert [section(text, path).heading.line for path in paths] == list(caught.value.lines)


def test_a_text_with_a_slash_and_a_path_are_two_answers() -> None:
    with pytest.raises(AmbiguousHeading) as caught:
        section(NOTE, "One/Tasks")
    assert (caught.value.paths, caught.value.lines) == (("One/Tasks", "One/Tasks"), (7, 17))


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
    with pytest.raises(AmbiguousHeading) as caught:
        section("# Top\n" + "## Twin\n" * 10_000, "twin")
    assert caught.value.paths == ("Top/Twin",) * MAX_CANDIDATES
    assert caught.value.lines == tuple(range(2, 2 + MAX_CANDIDATES))


def test_a_heading_of_nothing_but_accents_takes_no_longer_than_its_length() -> None:
    """Twice: to be found behind it, and to be offered where nothing is found. Unbounded, it takes minutes."""
    hostile = "# a" + "\u0301\u0316" * 100_000 + "\n\n"
    found = section(hostile * 2 + "# There\ntext\n", "there")
    assert found.heading.text == "There"
    with pytest.raises(NoteNotFound):
        section(hostile, "missing")
