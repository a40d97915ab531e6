"""The examples of the page about properties are true."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fsnotes.errors import InvalidArgument, InvalidYaml
from fsnotes.failures import describe
from fsnotes.notes.commands import Assignment
from fsnotes.notes.frontmatter import MAX_BYTES
from fsnotes.notes.properties import MAX_CHANGES, edit
from fsnotes.notes.splices import apply

PAGE = (Path(__file__).resolve().parents[2] / "docs/properties.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^\| `(\".*\")` \| `(\{.*\})` \| `(\".*\")` \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("note", "change", "result"), EXAMPLES)
def test_an_example_of_the_page_is_true(note: str, change: str, result: str) -> None:
    data, given = json.loads(note).encode(), json.loads(change)
    assign = [Assignment(item["key"], item["value"]) for item in given.get("set", ())]
    made = edit(data, assign=assign, remove=given.get("unset", ()))
    assert apply(data, made.splices) == json.loads(result).encode()


def test_every_row_of_the_page_is_an_example() -> None:
    assert len(EXAMPLES) == len([line for line in PAGE.splitlines() if line.startswith('| `"')]) >= 5


def test_the_lines_and_bounds_of_the_page_are_those_that_are_said() -> None:
    with pytest.raises(InvalidYaml) as broken:
        edit(b"---\na: [\n---\n", remove=["a"], path="plan.md")
    with pytest.raises(InvalidArgument) as value:
        edit(b"", assign=[Assignment("a", "1"), Assignment("b", "c: d")], path="plan.md")
    for caught in (broken, value):
        assert f"| `{describe(caught.value).line}` |" in PAGE
    for bound in (MAX_BYTES, MAX_CHANGES):
        assert f"{bound:,}" in PAGE


def test_a_comment_keeps_a_block_that_is_empty() -> None:
    data = b"---\n# why\na: 1\n---\n"
    assert apply(data, edit(data, remove=["a"]).splices) == b"---\n# why\n---\n"
