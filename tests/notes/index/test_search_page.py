"""The table of docs/search.md says what happens."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fsnotes.notes.index import queries
from fsnotes.notes.index.matching import Matcher, Subject
from fsnotes.notes.index.queries import parse

PAGE = (Path(__file__).resolve().parents[3] / "docs/search.md").read_text(encoding="utf-8")
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
