"""The table of docs/search.md says what happens."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fsnotes.errors import InvalidArgument
from fsnotes.notes.index import bounds, queries, regexes, searching
from fsnotes.notes.index.matching import Matcher, Subject
from fsnotes.notes.index.queries import parse

PAGE = (Path(__file__).resolve().parents[3] / "docs/search.md").read_text(encoding="utf-8")
LINE = f"{bounds.MAX_CHARACTERS} characters"
NOTES = {
    path: json.loads(text)
    for path, text in re.findall(r'^\| `(\S+\.md)` \| `(".*")` \|$', PAGE, re.MULTILINE)
}
ROWS = re.findall(
    r"^\| `([^`]+)` \| ((?:`[^`]+`(?:, )?)*) ?\|$", PAGE.partition("| query | finds |")[2], re.MULTILINE
)


def test_the_table_is_read() -> None:
    assert len(NOTES) == 4
    assert len(ROWS) == 21


@pytest.mark.parametrize(("query", "finds"), ROWS)
def test_a_query_finds_what_the_page_says(query: str, finds: str) -> None:
    matcher = Matcher(parse(query))
    found = sorted(path for path, text in NOTES.items() if matcher.matches(Subject(path, text.encode())))
    assert found == re.findall(r"`([^`]+)`", finds)


def test_the_page_names_the_bounds() -> None:
    assert (
        f"{queries.MAX_LENGTH:,} characters, {queries.MAX_TERMS} terms, {queries.MAX_WORDS} words"
        in " ".join(PAGE.split())
    )
    assert f"{queries.MAX_BEGINNINGS} prefixes" in PAGE
    assert f"{queries.MAX_VALUE} characters are compared" in PAGE
    text = " ".join(PAGE.split())
    weights = searching.schema.WEIGHTS
    assert [int(weight) for weight in weights] == [1, 10, 5, 4, 2, 0]
    assert "weighs 10 in the title, 5 in a heading, 4 in a tag, 2 in the path and 1 in the text" in text
    assert f"Up to {searching.FULL_RANKING:,} matches are all ranked" in text
    assert f"among the newest {searching.MOST_RANKED:,} of them" in text
    assert (
        f"up to three lines with their numbers, those with most of the words, and each cut to {LINE}" in text
    )
    assert bounds.MAX_LINES == 3
    assert bounds.WHOLE_BYTES == 1 << 20
    assert "larger than 1 MiB where these must be known" in text
    assert f"or that take longer than {bounds.LOOK_SECONDS:.0f} seconds (`too_large`)" in text
    assert f"A title is cut to {bounds.MAX_TITLE} characters too" in text
    assert f"take more than {bounds.MAX_WRITTEN} characters of JSON" in text
    assert f"has more than {regexes.MAX_PATTERN:,} characters" in text


def test_the_patterns_of_the_page_are_some_and_the_first_is_quick() -> None:
    (block,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    patterns = block.split()
    assert block.split("  ")[0] == r"^status: \w+"
    for pattern in (r"^status: \w+", *patterns[2:]):
        assert regexes.Pattern(pattern)
    assert regexes.Pattern(r"^status: \w+").begins == "status"
    with pytest.raises(InvalidArgument):
        regexes.Pattern(".{1000}")
