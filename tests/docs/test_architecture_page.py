"""`docs/architecture.md` shows the house as it is: rooms by the table that holds them, decisions, places."""

from __future__ import annotations

import re

from tests.architecture.test_layers import ROOMS, modules
from tests.docs import rooms_table
from tests.docs.pages import ROOT, page

PAGE = page("docs/architecture.md")
README = page("README.md")


def test_the_table_of_rooms_is_the_one_that_holds_imports() -> None:
    """If this fails: `python -m tests.docs.rooms_table`, and look at the change."""
    assert rooms_table.table() in PAGE.text
    assert len(PAGE.table(*rooms_table.HEAD)) == len(ROOMS.keys() & modules().keys()) > 50


def test_every_module_has_a_room_in_the_table() -> None:
    rooms = {row[0].strip("`") for row in PAGE.table(*rooms_table.HEAD)}
    top = {name for name in modules() if name.count(".") == 1 and name.startswith("fsnotes.")}
    assert top - rooms == set()


def test_every_decision_is_listed_by_its_number_and_title() -> None:
    titles = {}
    for path in sorted((ROOT / "docs/decisions").glob("*.md")):
        found = re.match(r"# (\d+)\. (.+)\n", path.read_text(encoding="utf-8"))
        assert found is not None, path
        titles[found[1]] = f"[{found[2]}](decisions/{path.name})"
    assert dict(PAGE.table("number", "what was decided")) == titles


def test_every_step_of_a_request_names_modules() -> None:
    steps = PAGE.table("step", "where", "what is decided")
    assert len(steps) > 9
    for step, where, _ in steps:
        assert re.findall(r"`((?:fsnotes|sandbox)/[\w/]+\.py)`", where), step


def test_the_short_table_names_what_is_there() -> None:
    """That each file exists is looked at for all pages; here, that each question has a place."""
    rows = README.table("question", "place")
    assert len(rows) > 15
    for question, place in rows:
        assert question.endswith("?")
        assert re.search(r"`(?:fsnotes|sandbox|tests)/[\w/.]+`", place), question
