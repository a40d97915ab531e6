"""Sections: each reaches to the next heading of its level or above."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fsnotes.notes.markdown.outline import Section, outline
from fsnotes.notes.markdown.walk import headings


def sections(text: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return each section's text, what stands under its heading, and the headings above it."""
    return [
        (
            text[section.start : section.end],
            text[section.body : section.end],
            tuple(heading.text for heading in section.above),
        )
        for section in outline(headings(text), len(text))
    ]


def test_deeper_sections_belong_to_the_one_above() -> None:
    text = "x\n# a\n1\n### b\n2\n## c\n3\r\n\r\nd\n=\n> # q\n- # r\n## e"
    assert sections(text) == [
        ("# a\n1\n### b\n2\n## c\n3\r\n\r\n", "1\n### b\n2\n## c\n3\r\n\r\n", ()),
        ("### b\n2\n", "2\n", ("a",)),
        ("## c\n3\r\n\r\n", "3\r\n\r\n", ("a",)),
        ("d\n=\n> # q\n- # r\n## e", "> # q\n- # r\n## e", ()),
        ("## e", "", ("d",)),
    ]


def test_a_text_without_headings_has_no_sections() -> None:
    assert sections("") == []
    assert sections("> # a\n\ntext") == []


@settings(deadline=None)
@given(st.lists(st.integers(min_value=1, max_value=6), max_size=12))
def test_sections_hold_each_other_or_nothing_in_common(levels: list[int]) -> None:
    text = "".join(f"{'#' * level} h{place}\ntext\n" for place, level in enumerate(levels))
    found = outline(headings(text), len(text))
    assert [section.heading.level for section in found] == levels

    def rule(place: int) -> Section:
        heading = found[place].heading
        end = next(
            (later.heading.start for later in found[place + 1 :] if later.heading.level <= heading.level),
            len(text),
        )
        above = tuple(
            earlier.heading
            for number, earlier in enumerate(found[:place])
            if all(between.heading.level > earlier.heading.level for between in found[number + 1 : place + 1])
        )
        return Section(heading, heading.start, heading.end, end, above)

    assert list(found) == [rule(place) for place in range(len(found))]
