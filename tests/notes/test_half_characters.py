"""YAML's escapes can write half a character. No answer has one: it could not be sent on, and is a breach."""

from __future__ import annotations

from typing import Any

import pytest

from fsnotes.notes import messages
from fsnotes.notes.commands import (
    CountTags,
    DescribeNotes,
    EditNote,
    FindLinks,
    FindNotes,
    ReadNote,
    ScanNotes,
    SearchNotes,
    SetProperties,
    SurveyMove,
)
from fsnotes.notes.titles import title_of
from sandbox.jail.channel import MAX_REPLY, decode, encode
from tests.notes.conftest import Vault

HALVES = (
    '---\ntitle: "\\ud800 half"\ntags: ["\\udfff", "b\\ud800"]\naliases: ["\\ud800"]\nup: "[[b#\\ud800|x]]"\n'
    'down: ["[[\\ud800]]", "[x](b.md#%ED%A0%80)"]\n"\\ud800": 1\n---\n'
    "# &#xD800; [[b#&#xD800;]] [y](b.md#%ED%A0%80) [z](%ED%A0%80.md) <b.md#&#55296;> #t&#xD800;\n"
)


@pytest.mark.parametrize(
    ("block", "title"),
    [
        ('title: "\\ud800 half"', "\ufffd half"),
        ('title: "\\ud83d\\ude00"', "\U0001f600"),
        ('title: !!str "\\uDFFF"\nx: &a [*a]', "a"),
        ('{title: "\\udead"}', "\ufffd"),
        ('title: "whole"', "whole"),
    ],
)
def test_a_title_has_whole_characters(block: str, title: str) -> None:
    assert title_of(f"---\n{block}\n---\n".encode(), "a.md") == title


@pytest.mark.parametrize(
    "command",
    [
        ScanNotes(recursive=True),
        DescribeNotes(("a.md", "b.md")),
        FindNotes("half"),
        CountTags(),
        FindLinks("a.md"),
        FindLinks("b.md", direction="in"),
        FindLinks("", direction="broken"),
        SearchNotes("half"),
        SearchNotes("prop:up"),
        ReadNote("a.md"),
        EditNote("a.md", "whole", "half", expected=1, dry_run=True),
        SetProperties("a.md", remove=("title",), dry_run=True),
        SurveyMove("a.md", "c.md"),
    ],
    ids=lambda command: type(command).__name__,
)
def test_no_answer_has_half_a_character(vault: Vault, command: Any) -> None:
    vault.write("a.md", HALVES.encode())
    vault.write("b.md", b"# \xef\xbf\xbd\n")
    answer = messages.encode_answer(vault.run(command))
    assert messages.decode_answer(command, decode(encode(answer, most=MAX_REPLY)[4:])) == vault.run(command)
