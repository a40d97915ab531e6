"""Which section a heading means."""

from __future__ import annotations

import pytest

from fsnotes.errors import AmbiguousNote, NoteNotFound
from fsnotes.notes.sections import MAX_CANDIDATES, section

NOTE = b"""---
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


def _text(heading: str) -> bytes:
    found = section(NOTE, heading)
    lines = NOTE.splitlines(keepends=True)
    assert b"".join(lines[found.first_line - 1 : found.last_line]) == NOTE[found.start : found.end]
    assert found.start < found.body <= found.end
    return NOTE[found.start : found.end]


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("One", b"# One\na\n## Tasks\nb\n### Deep\nc\n"),
        ("  oNe ", b"# One\na\n## Tasks\nb\n### Deep\nc\n"),
        ("Deep", b"### Deep\nc\n"),
        ("Two/Tasks", b"## Tasks\ne\n"),
        ("two/tasks", b"## Tasks\ne\n"),
        ("One/Tasks/Deep", b"### Deep\nc\n"),
        ("And / or", b"## And / or\nf\n"),
        ("Two/And / or", b"## And / or\nf\n"),
    ],
)
def test_a_section_reaches_to_the_next_heading_of_its_level_or_above(heading: str, text: bytes) -> None:
    assert _text(heading) == text


def test_twins_are_ambiguous_and_named_by_their_paths() -> None:
    with pytest.raises(AmbiguousNote) as caught:
        section(NOTE, "Tasks")
    assert caught.value.paths == ("one/tasks", "two/tasks")


def test_twins_to_the_top_are_told_apart_by_their_lines() -> None:
    with pytest.raises(AmbiguousNote) as caught:
        section(b"# A\n# A\n", "A")
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
        section(b"".join(b"# h%d\n" % i for i in range(50)), "x")
    assert caught.value.candidates == tuple(f"h{i}" for i in range(MAX_CANDIDATES))


def test_frontmatter_and_code_hold_no_headings() -> None:
    data = b"---\n# A\n---\n```\n# A\n```\n# A\nend"
    found = section(data, "a")
    assert data[found.start : found.end] == b"# A\nend"
    assert (found.first_line, found.last_line) == (7, 8)


@pytest.mark.parametrize("data", [b"# A", b"# A\n", b"x\n\n# A\r\n", b"# A\r"])
def test_the_last_section_ends_with_the_note(data: bytes) -> None:
    found = section(data, "A")
    assert (found.end, found.last_line) == (len(data), len(data.splitlines()))
