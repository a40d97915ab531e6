"""The tags of a workspace in pages: the most used first, nothing twice, nothing from outside a grant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fsnotes import tag_pages
from fsnotes.access import Right
from fsnotes.errors import Abandoned, InvalidArgument, LimitReached, NotAllowed
from fsnotes.outcomes import TagsListed
from fsnotes.service import Service
from tests.service.conftest import ALICE, BOB, Household
from tests.service.test_link_pages import examples


def pages(service: Service, uri: str, **query: Any) -> Iterator[TagsListed]:
    cursor = None
    for _ in range(1_000):
        page = service.tags(ALICE, uri, cursor=cursor, **query)
        assert len(json.dumps(page.document(), ensure_ascii=False, separators=(",", ":"))) < 40_000
        yield page
        cursor = page.cursor
        if cursor is None:
            return
    pytest.fail("the pages never end")


def tags(service: Service, uri: str, **query: Any) -> list[tuple[str, int]]:
    return [(tag.tag, tag.count) for page in pages(service, uri, **query) for tag in page.tags]


def test_tags_come_by_use_and_then_by_name(household: Household) -> None:
    household.write("a.md", "---\ntags: [work/mail, Garden]\n---\n# Title\n\n#Work #b #a `#code`\n")
    household.write("b.md", "#garden/pond %%#comment%%\n\n```\n#fence\n```\n")
    household.write(
        "c.md", b"\xef\xbb\xbf---\r\ntags:\r\n- caf\xc3\xa9\r\n---\r\n#cafe\xcc\x81 #\xe6\x97\xa5\r\n"
    )
    service, uri = household.service(), household.uri
    assert service.tags(ALICE, uri).document() == {
        "tags": [
            {"tag": "café", "count": 2},
            {"tag": "Garden", "count": 2},
            {"tag": "work", "count": 2},
            {"tag": "a", "count": 1},
            {"tag": "b", "count": 1},
            {"tag": "garden/pond", "count": 1},
            {"tag": "work/mail", "count": 1},
            {"tag": "日", "count": 1},
        ],
        "skipped": [],
    }
    for limit in (1, 3, 200):
        assert tags(service, uri, limit=limit) == tags(service, uri)


def test_the_example_of_the_page_is_true(household: Household) -> None:
    (example,) = (each for each in examples("docs/links.md") if "tags" in each)
    household.write("a.md", "#Work #work #work/mail\n")
    household.write("bad.md", b"\xff")
    assert household.service().tags(ALICE, household.uri).document() == example


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("wo", ["Work", "work/mail", "workshop"]),
        ("#WORK/", ["work/mail"]),
        ("work", ["Work", "work/mail", "workshop"]),
        ("CAFE\u0301", ["caf\u00e9"]),
        ("none", []),
        ("two words", []),
        ("#", ["Work", "caf\u00e9", "work/mail", "workshop"]),
    ],
)
def test_a_prefix_is_compared_as_tags_are(household: Household, prefix: str, expected: list[str]) -> None:
    household.write("a.md", "#Work #work #work/mail #workshop #caf\u00e9\n")
    service = household.service()
    assert sorted(tag for tag, _ in tags(service, household.uri, prefix=prefix)) == sorted(expected)


def test_what_cannot_be_looked_at_is_counted_once_on_the_first_page(household: Household) -> None:
    for number in range(3):
        household.write(f"bad{number}.md", b"#x \xff")
    household.write("good.md", "#x #y #z")
    household.write("large.md", "#x" + " " * 1_048_576)
    first, second = pages(household.service(), household.uri, limit=2)
    assert (first.document()["skipped"], second.document()["skipped"]) == (
        [{"count": 3, "reason": "not_text"}, {"count": 1, "reason": "too_large"}],
        [],
    )
    assert [tag.tag for tag in (*first.tags, *second.tags)] == ["x", "y", "z"]


def test_a_thousand_tags_come_in_bounded_pages(household: Household) -> None:
    """Long ones of a script that takes room, so that pages end by characters."""
    names = [f"{'日' * 180}{number:04}" for number in range(1_000)]
    for number in range(10):
        household.write(f"{number}.md", "\n".join(f"#{name}" for name in names[number::10]))
    service = household.service()
    listed = list(pages(service, household.uri, limit=200))
    assert [tag.tag for page in listed for tag in page.tags] == names
    assert len(listed) > 5


def test_a_tag_with_a_character_that_no_path_has_is_passed_too(household: Household) -> None:
    household.write("a.md", b"#a\0b #a\0c #a")
    service = household.service()
    assert tags(service, household.uri, limit=1) == [("a", 1), ("a\0b", 1), ("a\0c", 1)]


def test_what_is_used_as_often_as_before_comes_once_when_notes_change_between_pages(
    household: Household,
) -> None:
    for number in range(20):
        household.write(f"{number:02}.md", f"#t{number:02} #both")
    service, seen, cursor, turned = household.service(), [], None, 0
    while True:
        page = service.tags(ALICE, household.uri, limit=4, cursor=cursor)
        seen += [tag.tag for tag in page.tags]
        (household.vault / f"{turned:02}.md").write_text("nothing")  # of the page before, or its last one
        household.write(f"new{turned}.md", f"#a{turned}")  # before what is seen
        turned += 1
        if (cursor := page.cursor) is None:
            break
    assert [tag for tag in seen if tag.startswith("t")] == [f"t{number:02}" for number in range(20)]
    assert seen[0] == "both"


def test_a_cursor_of_another_query_is_refused(household: Household) -> None:
    household.write("a.md", "#a #b #c #ab")
    household.grant(BOB, Right.READ)
    service, uri = household.service(), household.uri
    cursor = service.tags(ALICE, uri, limit=1).cursor
    assert cursor is not None
    assert [tag.tag for tag in service.tags(ALICE, uri, limit=2, prefix="#", cursor=cursor).tags] == [
        "ab",
        "b",
    ]
    listing = service.list(ALICE, uri, limit=1)
    for call, query, other in (
        (ALICE, {"prefix": "a"}, cursor),
        (BOB, {}, cursor),
        (ALICE, {}, "forged"),
        (ALICE, {}, ""),
        (ALICE, {}, listing.cursor or "AAAA"),
    ):
        with pytest.raises(InvalidArgument) as caught:
            service.tags(call, uri, cursor=other, **query)
        assert caught.value.argument == "cursor"
    for limit in (0, 201, -1):
        with pytest.raises(InvalidArgument) as caught:
            service.tags(ALICE, uri, limit=limit)
        assert caught.value.argument == "limit"


def test_a_grant_of_a_folder_counts_what_is_in_it_and_nothing_else(household: Household) -> None:
    household.grant(BOB, Right.READ, folder="bob")
    for path, text in (
        ("top.md", "#top #shared"),
        ("bob/a.md", "#mine #shared"),
        ("bob/in/b.md", "#shared"),
        ("bob-evil/c.md", "#evil #shared"),
        ("Bob/d.md", "#case #shared"),
    ):
        household.write(path, text)
    household.write("bad.md", b"\xff")
    service = household.service()
    assert service.tags(BOB, household.uri).document() == {
        "tags": [{"tag": "shared", "count": 2}, {"tag": "mine", "count": 1}],
        "skipped": [],
    }
    assert dict(tags(service, household.uri)) == {"shared": 5, "top": 1, "mine": 1, "evil": 1, "case": 1}


def test_nobody_counts_without_a_right_to_read(household: Household) -> None:
    household.write("a.md", "#a")
    service = household.service()
    with pytest.raises(NotAllowed):
        service.tags(BOB, household.uri)
    household.grant(BOB, Right.WRITE, Right.DELETE)
    with pytest.raises(NotAllowed):
        household.service().tags(BOB, household.uri)
    household.grant(BOB, Right.READ)
    assert [tag.tag for tag in household.service().tags(BOB, household.uri).tags] == ["a"]


def test_ignored_and_hidden_notes_are_not_counted(household: Household) -> None:
    household.ignore = ("Archive/**",)
    for path in ("Archive/a.md", ".hidden/a.md", ".a.md", "a.md.txt", "a.md"):
        household.write(path, f"#{path[0] if path[0].isalnum() else 'h'}{len(path)}")
    assert tags(household.service(), household.uri) == [("a4", 1)]


def test_a_count_ends_with_its_caller(household: Household) -> None:
    household.write("a.md", "#a")
    gone = type(ALICE)(ALICE.principal, abandoned=lambda: True)
    with pytest.raises(Abandoned):
        household.service().tags(gone, household.uri)


def test_the_bound_of_the_page_is_the_one_that_holds() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/links.md").read_text(encoding="utf-8")
    assert f"{tag_pages.MAX_TAGS:,} different tags" in page


def test_there_is_an_end_to_what_is_counted(household: Household, monkeypatch: pytest.MonkeyPatch) -> None:
    household.write("a.md", "#a #b #c")
    service = household.service()
    monkeypatch.setattr(tag_pages, "MAX_TAGS", 2)
    assert tags(service, household.uri, prefix="a") == [("a", 1)]
    with pytest.raises(LimitReached):
        service.tags(ALICE, household.uri)
    monkeypatch.setattr(tag_pages, "MAX_TAGS", 3)
    assert len(tags(service, household.uri)) == 3
    monkeypatch.setattr(tag_pages, "MAX_CALLS", 0)
    with pytest.raises(LimitReached):
        service.tags(ALICE, household.uri)
