"""Listing the notes that have a tag: in every order, page by page, within the grant."""

from __future__ import annotations

from typing import Any

import pytest

from fsnotes.access import Right
from fsnotes.errors import InvalidArgument
from fsnotes.notes.commands import DescribeNotes
from fsnotes.service import Service
from tests.service.conftest import ALICE, BOB, Household


def listed(service: Service, uri: str, **query: Any) -> list[str]:
    found: list[str] = []
    cursor = None
    for _ in range(1_000):
        page = service.list(ALICE, uri, recursive=True, cursor=cursor, **query)
        found += [note.path for note in page.notes]
        cursor = page.cursor
        if cursor is None:
            return found
    pytest.fail("the pages never end")


@pytest.fixture
def garden(household: Household) -> Household:
    household.write("a.md", "---\ntags: [Garden]\n---\n")
    household.write("b/c.md", "#garden/Pond\r\n")
    household.write("b/d.md", "#gardener `#garden`\n")
    household.write("e.md", "no tag at all, but three lines\n\n#caf\u00e9\n")
    return household


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("garden", ["a.md", "b/c.md"]),
        ("#GARDEN/", ["a.md", "b/c.md"]),
        ("garden/pond", ["b/c.md"]),
        ("gardener", ["b/d.md"]),
        ("cafe\u0301", ["e.md"]),
        ("none", []),
    ],
)
def test_a_tag_is_compared_as_tags_are_and_includes_those_nested_in_it(
    garden: Household, tag: str, expected: list[str]
) -> None:
    assert listed(garden.service(), garden.uri, tag=tag) == expected


def test_a_tag_goes_with_folder_pattern_and_order(garden: Household) -> None:
    service, uri = garden.service(), garden.uri
    assert listed(service, uri, tag="garden", folder="b") == ["b/c.md"]
    assert listed(service, uri, tag="garden", glob="a*") == ["a.md"]
    assert listed(service, uri, tag="garden", sort="size") == ["a.md", "b/c.md"]
    assert listed(service, uri, tag="garden", sort="size", limit=1) == ["a.md", "b/c.md"]
    page = service.list(ALICE, uri, tag="garden").document()
    assert ([note["path"] for note in page["notes"]], page["folders"], page["skipped"]) == (["a.md"], [], [])


@pytest.mark.parametrize("tag", ["", "#", "/", "two words", "a,b", "##a"])
def test_what_can_be_no_tag_is_refused(garden: Household, tag: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        garden.service().list(ALICE, garden.uri, tag=tag)
    assert caught.value.argument == "tag"


def test_a_note_whose_tags_nobody_knows_is_skipped_by_name(garden: Household) -> None:
    garden.write("b/bad.md", b"#garden \xff")
    service = garden.service()
    page = service.list(ALICE, garden.uri, tag="garden", recursive=True).document()
    assert page["skipped"] == [{"path": "b/bad.md", "reason": "not_text"}]
    assert "b/bad.md" in listed(service, garden.uri)


@pytest.mark.parametrize("sort", ["path", "size", "modified"])
@pytest.mark.parametrize("limit", [1, 7, 200])
def test_pages_of_tagged_notes_hold_each_of_them_once(household: Household, sort: str, limit: int) -> None:
    for number in range(60):
        household.write(f"f{number % 7}/n{number:02}.md", "#t" if number % 3 == 0 else "# t\n")
    found = listed(household.service(), household.uri, tag="t", sort=sort, limit=limit)
    assert sorted(found) == sorted(f"f{number % 7}/n{number:02}.md" for number in range(0, 60, 3))


def test_rare_notes_among_many_are_found_on_the_first_page(household: Household) -> None:
    for number in range(1_200):
        household.write(f"f{number % 7}/n{number:04}.md", "#t" if number in (0, 1_199) else "#u\n")
    page = household.service().list(ALICE, household.uri, tag="t", recursive=True)
    assert [note.path for note in page.notes] == ["f0/n0000.md", "f2/n1199.md"]
    assert page.cursor is None


def test_a_cursor_belongs_to_its_tag_however_it_is_spelled(household: Household) -> None:
    household.write("a.md", "#T #u")
    household.write("b.md", "#t")
    service, uri = household.service(), household.uri
    cursor = service.list(ALICE, uri, tag="t", limit=1).cursor
    assert [note.path for note in service.list(ALICE, uri, tag="#T/", limit=1, cursor=cursor).notes] == [
        "b.md"
    ]
    for query in ({"tag": "u"}, {}):
        with pytest.raises(InvalidArgument):
            service.list(ALICE, uri, cursor=cursor, **query)


def test_a_grant_of_a_folder_finds_what_is_in_it_and_nothing_else(household: Household) -> None:
    household.grant(BOB, Right.READ, folder="bob")
    for path in ("top.md", "bob/a.md", "bob/in/b.md", "bob-evil/c.md", "Bob/d.md"):
        household.write(path, "#t")
    household.write("bad.md", b"\xff")
    page = household.service().list(BOB, household.uri, tag="t", recursive=True).document()
    assert ([note["path"] for note in page["notes"]], page["skipped"]) == (["bob/a.md", "bob/in/b.md"], [])


def test_notes_that_vanish_while_they_are_listed_take_no_others_along(household: Household) -> None:
    """Between the look into a folder and the look into its notes, some go: the others come, each once."""
    for number in range(30):
        household.write(f"n{number:02}.md", "#t")
    service = household.service()
    run = service._runner.run

    def vanishing(grant: Any, command: Any, **how: Any) -> Any:
        if isinstance(command, DescribeNotes):
            for number in (0, 3, 4, 20):
                (household.vault / f"n{number:02}.md").unlink(missing_ok=True)
        return run(grant, command, **how)

    service._runner.run = vanishing  # type: ignore[method-assign]
    expected = [f"n{number:02}.md" for number in range(30) if number not in (0, 3, 4, 20)]
    assert listed(service, household.uri, limit=5) == expected
    for number in (0, 3, 4, 20):
        household.write(f"n{number:02}.md", "#t")
    assert listed(service, household.uri, limit=5, tag="t") == expected
