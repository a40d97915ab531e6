"""The examples of the page about editing are true."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fsnotes.errors import AmbiguousHeading, AnchorCount, AnchorNotFound, NoteChanged, NoteNotFound
from fsnotes.failures import describe
from fsnotes.notes.additions import add
from fsnotes.notes.arguments import Position
from fsnotes.notes.bounds import MAX_EXPECTED
from fsnotes.notes.commands import EditNote, Scope
from fsnotes.notes.diffs import MAX_CHARACTERS, MAX_LINE, diff
from fsnotes.notes.handlers import handle
from fsnotes.notes.replacements import replace, replace_body
from fsnotes.notes.sections import stretch
from fsnotes.notes.splices import Splice, apply
from fsnotes.notes.workspace import Workspace
from fsnotes.outcomes import NoteEdited
from sandbox.names import ROOT
from sandbox.root import Root

PAGE = (Path(__file__).resolve().parents[2] / "docs/editing.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^\| `(\".*\")` \| `(\{.*\})` \| `(\".*\")` \|$", PAGE, re.MULTILINE)
RESULT = json.loads(re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0])
MOST = 10**6


def changed(data: bytes, arguments: dict[str, Any]) -> tuple[Splice, ...]:
    found = stretch(data, arguments["heading"], path="a.md") if "heading" in arguments else None
    match arguments:
        case {"text": text}:
            position = Position(arguments.get("position", "end"))
            where = None if found is None else (found.body, found.end)
            return add(data, text, position=position, path="", most=MOST, section=where)
        case {"oldText": old, "newText": new}:
            within = None if found is None else (found.start, found.end)
            expected = arguments.get("expectedMatches", 1)
            return replace(data, old, new, path="", most=MOST, expected=expected, within=within)
        case {"newText": new}:
            assert found is not None
            return replace_body(data, new, body=found.body, end=found.end, path="", most=MOST)
    raise AssertionError(arguments)


@pytest.mark.parametrize(("note", "change", "result"), EXAMPLES)
def test_an_example_of_the_page_is_true(note: str, change: str, result: str) -> None:
    data = json.loads(note).encode()
    assert apply(data, changed(data, json.loads(change))) == json.loads(result).encode()


def test_every_row_of_the_page_is_an_example() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith('| `"')]
    assert len(EXAMPLES) == len(rows) >= 15


def test_the_lines_of_the_page_are_those_that_are_said() -> None:
    lines = [
        describe(error).line
        for error in (
            AnchorNotFound("plan.md", line=4, nearest="- call the plumber"),
            AnchorCount("plan.md", count=3, expected=1, lines=(1, 7, 9)),
            NoteChanged("plan.md", etag=RESULT["etag"]),
        )
    ]
    assert [line for line in lines if f"| `{line}` |" not in PAGE] == []


def test_what_is_said_of_headings_is_what_is_said() -> None:
    data = b"# Home\n## Tasks\none\n# Work\n## Tasks\ntwo\n"
    for heading, kind in (("Tasks", AmbiguousHeading), ("Task", NoteNotFound)):
        with pytest.raises(kind) as caught:
            stretch(data, heading, path="plan.md")
        assert f"| `{describe(caught.value).line}` |" in PAGE
    for heading in ("Work/Tasks", " work/TASKS "):
        assert data[stretch(data, heading, path="plan.md").body :] == b"two\n"


def test_the_diff_and_the_bounds_of_the_page_are_true() -> None:
    data = b"# Plan\n- call the plumber\n- buy milk\n"
    text = diff(data, changed(data, {"oldText": "plumber", "newText": "plumber on Monday"})).text
    assert f"```diff\n{text}```" in PAGE
    for bound in (MAX_EXPECTED, MAX_CHARACTERS, MAX_LINE):
        assert f"{bound:,}" in PAGE


def test_the_result_of_the_page_is_what_comes_back(tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_bytes(b"# Plan\n- call the plumber\n- buy milk\n")
    workspace = Workspace(Root.open(tmp_path))
    command = EditNote("plan", "plumber on Monday", "plumber")
    reply = handle(workspace, Scope((ROOT,)), command)
    workspace.close()
    assert NoteEdited(reply, dry_run=False, shows_text=True).document() == RESULT
    outcomes = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert outcomes == {"changed", "unchanged", "would_change"}
