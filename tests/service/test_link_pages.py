"""Links in pages, in every direction: bounded, complete, within the grant, whatever the notes are like."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fsnotes import link_pages
from fsnotes.access import Right
from fsnotes.calls import Call
from fsnotes.errors import Abandoned, InvalidArgument, NotAllowed, NoteNotFound, NotText
from fsnotes.outcomes import LinksListed
from fsnotes.service import Service
from tests.service.conftest import ALICE, BOB, Household


def examples(page: str) -> list[dict[str, Any]]:
    text = (Path(__file__).resolve().parents[2] / page).read_text(encoding="utf-8")
    return [
        json.loads(found) for found in re.findall(r"^```json\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ]


def pages(
    service: Service, uri: str, path: str = "", *, call: Call = ALICE, **query: Any
) -> Iterator[LinksListed]:
    cursor = None
    for _ in range(2_000):
        page = service.links(call, uri, path, cursor=cursor, **query)
        assert len(json.dumps(page.document(), ensure_ascii=False, separators=(",", ":"))) < 40_000
        yield page
        cursor = page.cursor
        if cursor is None:
            return
    pytest.fail("the pages never end")


def links(service: Service, uri: str, path: str = "", **query: Any) -> list[tuple[str, int, str, list[str]]]:
    return [
        (link["source"], link["line"], link["link"], link["targets"])
        for page in pages(service, uri, path, **query)
        for link in page.document()["links"]
    ]


def left_out(listed: list[LinksListed]) -> dict[str, int]:
    found: dict[str, int] = {}
    for page in listed:
        for item in page.skipped:
            assert item.path is None
            found[item.reason] = found.get(item.reason, 0) + item.count
    return found


@pytest.fixture
def linked(household: Household) -> Household:
    household.write(
        "plan.md", "# Plan\n\n[[garden/pond#Fish|the fish]] ![[pond.png]] [[garden/pond#Frogs]] [[gone]]\n"
    )
    household.write("garden/pond.md", b"# Pond\r\n\r\n## Fish\r\n\r\n[back](../plan.md) [[twin]]\r\n")
    household.write("garden/pond.png", b"\x89PNG")
    household.write("a/twin.md", "x")
    household.write("b/twin.md", '---\nup: "[[garden/pond]]"\n---\n```\n[[plan]]\n```\n')
    return household


def test_the_links_of_a_note_say_what_they_lead_to(linked: Household) -> None:
    assert linked.service().links(ALICE, linked.uri, "plan").document() == {
        "links": [
            {
                "source": "plan.md",
                "line": 3,
                "link": "[[garden/pond#Fish|the fish]]",
                "targets": ["garden/pond.md"],
                "fragment": "Fish",
                "fragmentFound": True,
            },
            {"source": "plan.md", "line": 3, "link": "![[pond.png]]", "targets": ["garden/pond.png"]},
            {
                "source": "plan.md",
                "line": 3,
                "link": "[[garden/pond#Frogs]]",
                "targets": ["garden/pond.md"],
                "fragment": "Frogs",
                "fragmentFound": False,
            },
            {"source": "plan.md", "line": 3, "link": "[[gone]]", "targets": []},
        ],
        "skipped": [],
    }


def test_the_example_of_the_page_is_true(household: Household) -> None:
    (example,) = (each for each in examples("docs/links.md") if "links" in each)
    household.write("plan.md", "# Plan\n\n[[pond#Fish|the fish]]\n\n\n\n![[gone.png]]\n")
    household.write("garden/pond.md", "# Fish\n")
    assert household.service().links(ALICE, household.uri, "plan").document() == example


def test_each_direction_shows_its_links(linked: Household) -> None:
    service, uri = linked.service(), linked.uri
    assert links(service, uri, "garden/pond.md", direction="in") == [
        ("b/twin.md", 2, "[[garden/pond]]", ["garden/pond.md"]),
        ("plan.md", 3, "[[garden/pond#Fish|the fish]]", ["garden/pond.md"]),
        ("plan.md", 3, "[[garden/pond#Frogs]]", ["garden/pond.md"]),
    ]
    assert links(service, uri, "plan", direction="in") == [
        ("garden/pond.md", 5, "[back](../plan.md)", ["plan.md"])
    ]
    broken = [("plan.md", 3, "[[gone]]", [])]
    ambiguous = [("garden/pond.md", 5, "[[twin]]", ["a/twin.md", "b/twin.md"])]
    for path in ("", "plan", "plan.md"):
        assert links(service, uri, path, direction="broken") == broken
    assert links(service, uri, "garden", direction="broken") == []
    for path in ("", "garden", "garden/", "garden/pond"):
        assert links(service, uri, path, direction="ambiguous") == ambiguous
    assert links(service, uri, "a", direction="ambiguous") == []


def test_own_changes_are_seen_at_once(linked: Household) -> None:
    service, uri = linked.service(), linked.uri
    assert len(links(service, uri, "plan", direction="broken")) == 1
    service.create(ALICE, uri, "sub/gone", "[[plan]]")
    assert links(service, uri, "plan", direction="broken") == []
    assert links(service, uri, "sub/gone", direction="in") == [("plan.md", 3, "[[gone]]", ["sub/gone.md"])]
    service.edit(ALICE, uri, "plan", "x", old_text="[[gone]]")
    assert links(service, uri, "sub/gone", direction="in") == []
    (linked.vault / "a/twin.md").unlink()
    assert links(service, uri, "", direction="ambiguous") == []


@pytest.mark.parametrize("limit", [1, 3, 200])
def test_pages_of_any_size_hold_each_link_once(household: Household, limit: int) -> None:
    for number in range(20):
        household.write(
            f"f{number % 3}/{number:02}.md", f"[[b]] [[none {number}]] [web](https://x)\n" * (number % 4)
        )
    household.write("b.md", "x")
    for number in range(5):
        household.write(f"f1/bad{number}.md", b"[[none]] \xff")
    service, uri = household.service(), household.uri
    for path, direction in (("", "broken"), ("b", "in")):
        listed = list(pages(service, uri, path, direction=direction, limit=limit))
        found = [(link.source, link.number) for page in listed for link in page.links]
        assert len(found) == sum(number % 4 for number in range(20))
        assert found == sorted(set(found), key=lambda place: (place[0].split("/"), place[1]))
        assert left_out(listed) == {"not_text": 5}


def test_pages_of_long_links_stay_within_their_bound(household: Household) -> None:
    """They end by characters, in the middle of a stretch, and what was skipped on the way is told once."""
    name = "n" * 200
    for number in range(60):
        household.write(f"{name}{number:02}.md", f"[[{'x' * 300}]]\n" * 3 + f"[x]({name}{number:02}.md)\n")
        household.write(f"{name}{number:02}-bad.md", b"\xff")
    service, uri = household.service(), household.uri
    listed = list(pages(service, uri, direction="broken", limit=200))
    assert sum(len(page.links) for page in listed) == 180
    assert len(listed) > 2
    assert left_out(listed) == {"not_text": 60}


@pytest.mark.parametrize("name", ["\u0001", "\u65e5", '"'])
def test_links_between_the_longest_paths_that_there_are_fit_a_page(household: Household, name: str) -> None:
    folder = "/".join([name * (240 // len(name.encode()))] * 15)
    household.write(f"{folder}/source.md", "[[target]] [[target]]\n")
    household.write(f"{folder}/target.md", "x")
    service, uri = household.service(), household.uri
    for path, direction in ((f"{folder}/source", "out"), (f"{folder}/target", "in")):
        listed = list(pages(service, uri, path, direction=direction, limit=1))
        assert [link.targets for page in listed for link in page.links] == [(f"{folder}/target.md",)] * 2


def test_a_target_that_is_too_long_to_be_named_is_counted(household: Household) -> None:
    folder = "/".join(["\u0001" * 240] * 15)
    household.write(f"{folder}/target.md", "x")
    household.write("a.md", "[[target]] [[none]]")
    shown = household.service().links(ALICE, household.uri, "a").document()["links"]
    assert [(link["targets"], link.get("targetsMore")) for link in shown] == [([], 1), ([], None)]


def test_notes_that_stay_have_their_links_once_when_others_change_between_pages(household: Household) -> None:
    for number in range(20):
        household.write(f"{number:02}.md", f"[[none {number}]]\n\n[[none]]\n")
    service, seen, cursor, turned = household.service(), [], None, 0
    changed = {f"{number:02}.md" for number in (1, 3, 5, 7)}
    while True:
        page = service.links(ALICE, household.uri, "", direction="broken", limit=3, cursor=cursor)
        seen += [(link.source, link.line) for link in page.links if link.source not in changed]
        if turned == 1:
            (household.vault / "01.md").write_text("nothing")
            (household.vault / "03.md").unlink()
            household.write("05.md", "[[new]]\n" * 5)
            (household.vault / "07.md").write_bytes(b"\xff")
            household.write("00a.md", "[[before]]")
        turned += 1
        if (cursor := page.cursor) is None:
            break
    expected = [(f"{number:02}.md", line) for number in range(20) for line in (1, 3)]
    assert seen == [place for place in expected if place[0] not in changed]


def test_a_cursor_of_another_query_is_refused(household: Household) -> None:
    household.write("a.md", "[[x]] [[y]] [[b]]")
    household.write("b.md", "[[x]]")
    household.grant(BOB, Right.READ)
    service, uri = household.service(), household.uri
    cursor = service.links(ALICE, uri, "", direction="broken", limit=1).cursor
    assert cursor is not None
    assert len(service.links(ALICE, uri, "", direction="broken", cursor=cursor).links) == 2
    for call, path, direction, other in (
        (ALICE, "", "ambiguous", cursor),
        (ALICE, "a", "broken", cursor),
        (ALICE, "a", "out", cursor),
        (BOB, "", "broken", cursor),
        (ALICE, "", "broken", "forged"),
        (ALICE, "", "broken", ""),
    ):
        with pytest.raises(InvalidArgument) as caught:
            service.links(call, uri, path, direction=direction, cursor=other)
        assert caught.value.argument == "cursor"
    for query in ({"limit": 0}, {"limit": 201}, {"direction": "sideways"}, {"direction": ""}):
        with pytest.raises(InvalidArgument) as caught:
            service.links(ALICE, uri, "a", **query)  # type: ignore[arg-type]
        assert caught.value.argument in query


def test_a_note_or_folder_must_be_there_and_have_a_name(linked: Household) -> None:
    service, uri = linked.service(), linked.uri
    for direction in ("out", "in"):
        with pytest.raises(InvalidArgument) as caught:
            service.links(ALICE, uri, "", direction=direction)
        assert caught.value.argument == "path"
        for path in ("none", "garden"):
            with pytest.raises(NoteNotFound):
                service.links(ALICE, uri, path, direction=direction)
    for direction in ("broken", "ambiguous"):
        with pytest.raises(NoteNotFound):
            service.links(ALICE, uri, "none", direction=direction)
    linked.write("bad.md", b"\xff")
    with pytest.raises(NotText):
        service.links(ALICE, uri, "bad")
    assert links(service, uri, "bad", direction="in") == []


OUTSIDE = (
    "top",
    "top.md",
    "alice/x",
    "alice",
    "bob-evil",
    "bob-evil/x",
    "Bob/x",
    "../x",
    "missing",
    ".trash",
)


def test_a_grant_of_a_folder_sees_links_in_it_and_targets_in_it(household: Household) -> None:
    household.grant(BOB, Right.READ, folder="bob")
    household.write("top.md", "[[bob/a]] [[none]]")
    household.write("alice/x.md", "[[a]]")
    household.write("bob-evil/x.md", "[[bob/a]] [[none]]")
    household.write("Bob/x.md", "[[bob/a]]")
    household.write("bob/a.md", "# A\n\n[[x]] [[top]] [up](../top.md) [[b#A]] [[twin]]\n")
    household.write("bob/b.md", "[[a]]\n")
    household.write("bob/twin.md", "x")
    household.write("alice/twin.md", "x")
    service, uri = household.service(), household.uri
    assert links(service, uri, "bob/a", call=BOB) == [
        ("bob/a.md", 3, "[[x]]", []),
        ("bob/a.md", 3, "[[top]]", []),
        ("bob/a.md", 3, "[up](../top.md)", []),
        ("bob/a.md", 3, "[[b#A]]", ["bob/b.md"]),
        ("bob/a.md", 3, "[[twin]]", ["bob/twin.md"]),
    ]
    assert [link[0] for link in links(service, uri, "bob/a", call=BOB, direction="in")] == ["bob/b.md"]
    assert [link[2] for link in links(service, uri, call=BOB, direction="broken")] == [
        "[[x]]",
        "[[top]]",
        "[up](../top.md)",
    ]
    assert links(service, uri, "bob", call=BOB, direction="ambiguous") == []
    assert len(links(service, uri, direction="ambiguous")) == 2
    assert len(links(service, uri, "bob/a", direction="in")) == 5
    for path in OUTSIDE:
        for direction in ("out", "in", "broken", "ambiguous"):
            with pytest.raises(NotAllowed):
                service.links(BOB, uri, path, direction=direction)


def test_what_appears_outside_a_grant_changes_no_answer_in_it(household: Household) -> None:
    household.grant(BOB, Right.READ, folder="bob")
    household.write("bob/a.md", "[[n]] [[none]] [x](../n.md)")
    household.write("bob/n.md", "x")
    service, uri = household.service(), household.uri
    before = [
        links(service, uri, path, call=BOB, direction=way)
        for path, way in (("bob/a", "out"), ("bob/n", "in"))
    ]
    for path in ("n.md", "none.md", "bobby/n.md", "bob.md"):
        household.write(path, "[[bob/n]]")
    after = [
        links(service, uri, path, call=BOB, direction=way)
        for path, way in (("bob/a", "out"), ("bob/n", "in"))
    ]
    assert after == before
    assert links(service, uri, "bob/a") != before[0]


def test_nobody_sees_links_without_a_right_to_read(linked: Household) -> None:
    linked.grant(BOB, Right.WRITE, Right.DELETE)
    service = linked.service()
    for path, direction in (("plan", "out"), ("plan", "in"), ("", "broken"), ("", "ambiguous")):
        with pytest.raises(NotAllowed):
            service.links(BOB, linked.uri, path, direction=direction)
    linked.grant(BOB, Right.READ)
    assert len(links(linked.service(), linked.uri, "plan", call=BOB)) == 4


def test_ignored_and_hidden_files_have_no_links_and_are_none(household: Household) -> None:
    household.ignore = ("Archive/**",)
    for path in ("Archive/old.md", ".hidden/x.md", "a.md"):
        household.write(path, "[[old]] [[x]] [y](.hidden/x.md) [[none]]")
    service, uri = household.service(), household.uri
    assert [link[0] for link in links(service, uri, direction="broken")] == ["a.md"] * 4


def test_a_search_for_links_ends_with_its_caller(linked: Household) -> None:
    gone = Call(ALICE.principal, abandoned=lambda: True)
    with pytest.raises(Abandoned):
        linked.service().links(gone, linked.uri, "", direction="broken")


def test_a_page_may_be_empty_and_still_have_a_successor(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_pages, "PAGE_CALLS", 1)
    for number in range(1_200):
        household.write(f"{number % 12:02}/{number:04}.md", "[[none]]" if number == 1_199 else "x")
    listed = list(pages(household.service(), household.uri, direction="broken"))
    assert [len(page.links) for page in listed] == [*([0] * (len(listed) - 1)), 1]
    assert len(listed) > 1


def test_a_page_that_takes_long_is_answered_as_it_is_and_the_rest_follows(household: Household) -> None:
    for number in range(1_200):
        household.write(f"{number % 12:02}/{number:04}.md", "[[none]]" if number == 1_199 else "x")
    service = household.service()
    slow, quick = itertools.count(0, 2), itertools.repeat(0)
    listed = list(pages(service, household.uri, direction="broken", clock=lambda: float(next(slow))))
    assert len(listed) > 1
    assert [len(page.links) for page in listed] == [*([0] * (len(listed) - 1)), 1]
    (page,) = pages(service, household.uri, direction="broken", clock=lambda: float(next(quick)))
    assert len(page.links) == 1


def test_orphans_are_the_notes_that_no_other_note_links_to(linked: Household) -> None:
    linked.write("lonely.md", "[[lonely]] [[plan]]")
    linked.write("garden/weed.md", "`[[garden/weed]]`")
    linked.write("bad.md", b"[[lonely]] \xff")
    service, uri = linked.service(), linked.uri
    assert service.orphans(ALICE, uri).document() == {
        "orphans": ["bad.md", "garden/weed.md", "lonely.md"],
        "skipped": [{"count": 1, "reason": "not_text"}],
    }
    assert service.orphans(ALICE, uri, "garden").paths == ("garden/weed.md",)
    with pytest.raises(NoteNotFound):
        service.orphans(ALICE, uri, "none")


def test_orphans_are_those_of_the_grant_and_need_a_right_to_read(linked: Household) -> None:
    linked.write("garden/weed.md", "")
    linked.write("outside.md", "[[weed]]")
    linked.grant(BOB, Right.WRITE)
    with pytest.raises(NotAllowed):
        linked.service().orphans(BOB, linked.uri)
    linked.grant(BOB, Right.READ, folder="garden")
    service, uri = linked.service(), linked.uri
    assert service.orphans(ALICE, uri, "garden").paths == ()
    assert service.orphans(BOB, uri).paths == ("garden/pond.md", "garden/weed.md")
    with pytest.raises(NotAllowed):
        service.orphans(BOB, uri, "a")


def test_a_broken_note_an_unreadable_one_and_strange_names_stop_nothing(household: Household) -> None:
    household.write("a.md", "[[b]]")
    household.write("b.md", "---\nup: [broken\n---\n[[a]] [[gone]]\n")
    household.write("bad.md", b"[[b]] \xff")
    household.write("caf\u0065\u0301.md", "\ufeff[[B]] [[caf\u00e9]]\r\n")
    household.write("C# notes?.md", "[x](<b.md>) [y](C%23%20notes%3F.md)")
    household.write("large.md", "[[b]]" + " " * 1_048_576)
    (household.vault / "link.md").symlink_to("a.md")
    service, uri = household.service(), household.uri
    assert [link[0] for link in links(service, uri, "b", direction="in")] == [
        "C# notes?.md",
        "a.md",
        "cafe\u0301.md",
    ]
    assert links(service, uri, "C# notes?") == [
        ("C# notes?.md", 1, "[x](<b.md>)", ["b.md"]),
        ("C# notes?.md", 1, "[y](C%23%20notes%3F.md)", ["C# notes?.md"]),
    ]
    assert links(service, uri, "caf\u00e9")[1][3] == ["cafe\u0301.md"]
    listed = list(pages(service, uri, direction="broken"))
    assert [link.written for page in listed for link in page.links] == ["[[gone]]"]
    assert left_out(listed) == {"not_text": 1, "too_large": 1, "link": 1}
