"""The examples of the page about links and tags are true."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fsnotes.notes.bounds import MAX_SHOWN, MAX_TARGETS
from fsnotes.notes.catalogue import Catalogue, Style, in_order
from fsnotes.notes.commands import DIRECTIONS
from fsnotes.notes.fragments import Landmarks
from fsnotes.notes.markdown.note_links import links_of
from fsnotes.notes.relinking import Reason, Relinking
from fsnotes.notes.splices import apply
from fsnotes.notes.tag_keys import MAX_LENGTH
from fsnotes.notes.tags import MAX_TAGS, tags_of

PAGE = (Path(__file__).resolve().parents[2] / "docs/links.md").read_text(encoding="utf-8")
LEADING = re.findall(r"^\| `(!?\[[^`]*)` \| ((?:`[^` ]+`|, )+|nothing) \|$", PAGE, re.MULTILINE)
MOVING = re.findall(r"^\| `+ ?(.*?) ?`+ \| `(\S+)` to `(.+)` \| `+ ?(.*?) ?`+ \|$", PAGE, re.MULTILINE)
TAGGED = re.findall(r"^\| `(\".*\")` \| `(\{.*\})` \|$", PAGE, re.MULTILINE)
LANDMARKS = re.findall(r"^\| `([^`]+)` \| ((?:not )?found) \| ((?:not )?found) \|$", PAGE, re.MULTILINE)
FILES = re.findall(r"`([^`]+)`", PAGE[PAGE.index("In a workspace with") :].partition(":\n")[0])


@pytest.mark.parametrize(("text", "expected"), LEADING)
def test_a_link_of_the_page_leads_where_it_says(text: str, expected: str) -> None:
    (link,) = links_of(text)
    found = Catalogue(FILES).resolve(link, "a/note.md").ids
    assert in_order(found, "a/note.md") == re.findall(r"`([^`]+)`", expected)


@pytest.mark.parametrize(("before", "old", "new", "after"), MOVING)
def test_a_move_of_the_page_does_what_it_says(before: str, old: str, new: str, after: str) -> None:
    files = Catalogue([old, "note.md"])
    data = before.replace("\\|", "|").encode()
    made = Relinking({old: new}, files, files.moved({old: new})).relinked(data, "note.md")
    assert apply(data, made.splices).decode() == after.replace("\\|", "|")


@pytest.mark.parametrize(("note", "expected"), TAGGED)
def test_a_note_of_the_page_has_the_tags_it_says(note: str, expected: str) -> None:
    found = tags_of(json.loads(note).encode(), path="a.md")
    assert {tag.name: tag.uses for tag in found} == json.loads(expected)


@pytest.mark.parametrize(("fragment", "wiki", "markdown"), LANDMARKS)
def test_a_fragment_of_the_page_is_found_where_it_says(fragment: str, wiki: str, markdown: str) -> None:
    (listed,) = re.findall(r"^In a note with the headings (.*), and a block `(.*)`:$", PAGE, re.MULTILINE)
    note = "\n\n".join([*re.findall(r"`(#[^`]+)`", listed[0]), f"text {listed[1]}"])
    landmarks = Landmarks(note)
    assert landmarks.has(fragment, Style.WIKI) is (wiki == "found")
    assert landmarks.has(fragment, Style.MARKDOWN) is (markdown == "found")


def test_every_row_of_the_page_is_an_example() -> None:
    assert (len(FILES), len(LEADING), len(LANDMARKS), len(MOVING), len(TAGGED)) == (6, 13, 6, 5, 2)


def test_the_reasons_and_the_bound_of_the_page_are_those_that_are_given() -> None:
    assert [reason for reason in Reason if f"| `{reason.value}` |" not in PAGE] == []
    assert f"{MAX_LENGTH} characters" in PAGE
    assert f"{MAX_TAGS} different tags" in PAGE
    assert f"cut to {MAX_SHOWN} characters" in PAGE
    assert f"at most {MAX_TARGETS} are named" in PAGE
    assert [each for each in DIRECTIONS if f"| `{each}` | a note" not in PAGE] == []
