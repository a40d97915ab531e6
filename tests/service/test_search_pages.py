"""A search in pages: what the oracle finds, once each, within the grant, in bounded time, whatever is asked."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from fsnotes import search_pages
from fsnotes.access import Right
from fsnotes.calls import Call
from fsnotes.errors import Abandoned, InvalidArgument, NotAllowed, NoteNotFound
from fsnotes.hits import NotesFound
from fsnotes.notes import searching
from fsnotes.service import Service
from tests.notes.index import oracle
from tests.service.conftest import ALICE, BOB, Household
from tests.service.test_link_pages import examples


def pages(service: Service, uri: str, query: str, *, call: Call = ALICE, **more: Any) -> Iterator[NotesFound]:
    cursor = None
    for _ in range(2_000):
        page = service.search(call, uri, query, cursor=cursor, **more)
        assert len(json.dumps(page.document(), ensure_ascii=False, separators=(",", ":"))) < 40_000
        assert page.cursor is not None or not page.partial
        yield page
        cursor = page.cursor
        if cursor is None:
            return
    pytest.fail("the pages never end")


def paths(service: Service, uri: str, query: str, **more: Any) -> list[str]:
    return [hit.path for page in pages(service, uri, query, **more) for hit in page.hits]


def left_out(listed: list[NotesFound]) -> dict[str, int]:
    found: dict[str, int] = {}
    for page in listed:
        for item in page.skipped:
            assert item.path is None
            found[item.reason] = found.get(item.reason, 0) + item.count
    return found


@pytest.fixture
def garden(household: Household) -> Household:
    household.write("garden/plan.md", "# Plan\n\nWater the garden.\n\nBuy seeds. #work/garden\n")
    household.write("garden/pumps.md", b"---\r\ntitle: Pumps\r\nstate: done\r\n---\r\nA pump\r\n")
    household.write("z.md", "The gardener waters. #Work\n")
    return household


def test_hits_have_title_and_lines(garden: Household) -> None:
    assert garden.service().search(ALICE, garden.uri, "garden water").document() == {
        "hits": [
            {
                "path": "garden/plan.md",
                "title": "Plan",
                "lines": [
                    {"line": 3, "text": "Water the garden."},
                    {"line": 5, "text": "Buy seeds. #work/garden"},
                ],
            }
        ],
        "partial": False,
        "skipped": [],
    }


def test_the_example_of_the_page_is_true(household: Household) -> None:
    (example,) = (each for each in examples("docs/search.md") if "hits" in each)
    household.write("garden/plan.md", "# Plan\n\nWater the garden\n")
    household.write("bad.md", b"\xff")
    assert household.service().search(ALICE, household.uri, "water").document() == example


@pytest.mark.parametrize(
    ("query", "more", "expected"),
    [
        ("pump", {}, ["garden/pumps.md"]),
        ("PUMP*", {}, ["garden/pumps.md"]),
        ("prop:state=done", {}, ["garden/pumps.md"]),
        ("garden", {}, ["garden/plan.md", "garden/pumps.md"]),
        ("garden*", {"tag": "work"}, ["garden/plan.md", "z.md"]),
        ("garden*", {"tag": "#WORK/Garden"}, ["garden/plan.md"]),
        ("water*", {"folder": "garden"}, ["garden/plan.md"]),
        ("water*", {"folder": "garden/"}, ["garden/plan.md"]),
        ("water*", {"folder": "garden", "tag": "none"}, []),
        ("none", {}, []),
        ("[Ww]ater", {"regex": True}, ["garden/plan.md", "z.md"]),
        ("[Ww]ater", {"regex": True, "folder": "garden"}, ["garden/plan.md"]),
        ("[Ww]ater", {"regex": True, "tag": "work/garden"}, ["garden/plan.md"]),
        ("^A pump$", {"regex": True}, ["garden/pumps.md"]),
        ("WATER", {"regex": True}, []),
    ],
)
def test_a_query_finds_its_notes(garden: Household, query: str, more: Any, expected: list[str]) -> None:
    service = garden.service()
    for limit in (1, 200):
        assert paths(service, garden.uri, query, limit=limit, **more) == expected


NAMES = ("a", "abc", "b", "漢字設 b", "note")


def test_a_search_finds_what_the_oracle_finds(household: Household) -> None:
    service = household.service()
    places = st.builds("{}{}.md".format, oracle.folders, st.sampled_from(NAMES))

    @settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
    @given(st.data())
    def finds_the_same(data: st.DataObject) -> None:
        for place in household.vault.iterdir():
            if place.is_dir():
                shutil.rmtree(place)
            else:
                place.unlink()
        chosen = data.draw(st.lists(places, unique=True, min_size=1, max_size=5))
        notes = [data.draw(oracle.notes(path)) for path in chosen]
        for note in notes:
            household.write(note.path, note.text())
        folder = data.draw(
            st.sampled_from(["", *(note.path.rpartition("/")[0] + "/" for note in notes if "/" in note.path)])
        )
        query, limit = data.draw(oracle.queries), data.draw(st.integers(1, 4))
        expected = [note.path for note in notes if note.path.startswith(folder) and oracle.finds(query, note)]
        found = paths(service, household.uri, oracle.typed(query), folder=folder, limit=limit)
        assert found == sorted(expected, key=lambda path: path.split("/"))

    finds_the_same()


def test_own_changes_are_seen_at_once(garden: Household) -> None:
    service, uri = garden.service(), garden.uri
    service.create(ALICE, uri, "new", "zebra")
    assert paths(service, uri, "zebra") == ["new.md"]
    service.edit(ALICE, uri, "new", "horse", old_text="zebra")
    assert (paths(service, uri, "zebra"), paths(service, uri, "horse")) == ([], ["new.md"])


# -- pages ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 3, 200])
def test_pages_of_any_size_hold_each_note_once(household: Household, limit: int) -> None:
    for number in range(20):
        household.write(f"f{number % 3}/{number:02}.md", "word\n" * (number % 2))
    for number in range(5):
        household.write(f"f1/bad{number}.md", b"word \xff")
    household.write("large.md", "word" + " " * 1_048_576)
    service, uri = household.service(), household.uri
    for regex in (False, True):
        listed = list(pages(service, uri, "word", regex=regex, limit=limit))
        found = [hit.path for page in listed for hit in page.hits]
        assert len(found) == 10
        assert found == sorted(set(found), key=lambda path: path.split("/"))
        assert left_out(listed) == {"not_text": 5, "too_large": 1}


def test_pages_of_long_hits_stay_within_their_bound(household: Household) -> None:
    """They end by characters, in the middle of a stretch, and what was skipped on the way is told once."""
    name = "n" * 200
    for number in range(60):
        household.write(f"{name}{number:02}.md", f"# {'t' * 900}\n\n" + f"word {'日' * 300}\n" * 3)
        household.write(f"{name}{number:02}-bad.md", b"\xff")
    listed = list(pages(household.service(), household.uri, "word", limit=200))
    assert sum(len(page.hits) for page in listed) == 60
    assert len(listed) > 2
    assert left_out(listed) == {"not_text": 60}


@pytest.mark.parametrize("name", ["\u0001", "日", '"'])
def test_a_note_of_the_longest_path_that_there_is_fits_a_page(household: Household, name: str) -> None:
    folder = "/".join([name * (240 // len(name.encode()))] * 15)
    for last in ("a", "b"):
        household.write(f"{folder}/{last}.md", f"# {name * 2_000}\n" + ("word " + name * 300 + "\n") * 4)
    for regex in (False, True):
        listed = list(pages(household.service(), household.uri, "word", limit=1, regex=regex))
        assert [len(page.hits) for page in listed if page.hits] == [1, 1]


def test_notes_that_stay_come_once_when_others_change_between_pages(household: Household) -> None:
    for number in range(20):
        household.write(f"{number:02}.md", f"word {number}\n")
    service, seen, cursor, turned = household.service(), [], None, 0
    changed = {"01.md", "03.md", "05.md", "07.md"}
    while True:
        page = service.search(ALICE, household.uri, "word", limit=3, cursor=cursor)
        seen += [hit.path for hit in page.hits if hit.path not in changed]
        if turned == 1:
            (household.vault / "01.md").write_text("nothing")
            (household.vault / "03.md").unlink()
            (household.vault / "05.md").unlink()
            (household.vault / "07.md").write_bytes(b"\xff")
            household.write("00a.md", "word")
        turned += 1
        if (cursor := page.cursor) is None:
            break
    assert seen == [f"{number:02}.md" for number in range(20) if f"{number:02}.md" not in changed]


def test_a_page_that_takes_long_is_partial_and_the_rest_follows(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_pages, "PAGE_SECONDS", 0.0)
    for number in range(1_200):
        household.write(f"{number % 12:02}/{number:04}.md", "word" if number in (5, 1_199) else "x")
    listed = list(pages(household.service(), household.uri, "word"))
    assert [hit.path for page in listed for hit in page.hits] == ["05/0005.md", "11/1199.md"]
    assert [page.partial for page in listed] == [*([True] * (len(listed) - 1)), False]
    assert len(listed) > 2


def test_a_full_page_is_not_partial(household: Household) -> None:
    for number in range(5):
        household.write(f"{number}.md", "word")
    page = household.service().search(ALICE, household.uri, "word", limit=2)
    assert (len(page.hits), page.partial, page.cursor is not None) == (2, False, True)


def test_a_cursor_of_another_query_is_refused(household: Household) -> None:
    for number in range(5):
        household.write(f"f/{number}.md", "word #t")
    household.grant(BOB, Right.READ)
    service, uri = household.service(), household.uri
    cursor = service.search(ALICE, uri, "word", limit=1).cursor
    assert cursor is not None
    assert len(service.search(ALICE, uri, "word", cursor=cursor).hits) == 4
    listing = service.list(ALICE, uri, recursive=True, limit=1).cursor
    for call, query, more, other in (
        (ALICE, "Word", {}, cursor),
        (ALICE, "word", {"folder": "f"}, cursor),
        (ALICE, "word", {"tag": "t"}, cursor),
        (ALICE, "word", {"regex": True}, cursor),
        (BOB, "word", {}, cursor),
        (ALICE, "word", {}, listing),
        (ALICE, "word", {}, "forged"),
        (ALICE, "word", {}, ""),
    ):
        with pytest.raises(InvalidArgument) as caught:
            service.search(call, uri, query, cursor=other, **more)  # type: ignore[arg-type]
        assert caught.value.argument == "cursor"
    for more in ({"limit": 0}, {"limit": 201}, {"tag": "two words"}, {"tag": ""}):
        with pytest.raises(InvalidArgument) as caught:
            service.search(ALICE, uri, "word", **more)  # type: ignore[arg-type]
        assert caught.value.argument in more


# -- what may be seen ------------------------------------------------------------------------------


def test_a_grant_of_a_folder_finds_notes_in_it(household: Household) -> None:
    household.grant(BOB, Right.READ, folder="bob")
    for path in ("top.md", "alice/x.md", "bob-evil/x.md", "Bob/x.md", "bob/a.md", "bob/sub/b.md"):
        household.write(path, "word secret [[bob/a]]\n")
    household.write("alice/bad.md", b"\xff")
    service, uri = household.service(), household.uri
    for regex in (False, True):
        listed = list(pages(service, uri, "word", call=BOB, regex=regex))
        assert [hit.path for page in listed for hit in page.hits] == ["bob/a.md", "bob/sub/b.md"]
        assert left_out(listed) == {}
        assert paths(service, uri, "word", call=BOB, folder="bob/sub", regex=regex) == ["bob/sub/b.md"]
        assert len(paths(service, uri, "word", regex=regex)) == 6
        for folder in ("alice", "bob-evil", "Bob", "top", "..", "../x", "missing", ".trash", "bob/../alice"):
            with pytest.raises(NotAllowed):
                service.search(BOB, uri, "word", folder=folder, regex=regex)
    assert paths(service, uri, "path:alice", call=BOB) == []
    assert paths(service, uri, "path:alice/x") == ["alice/x.md"]


def test_nobody_searches_without_a_right_to_read(garden: Household) -> None:
    garden.grant(BOB, Right.WRITE, Right.DELETE)
    for regex in (False, True):
        with pytest.raises(NotAllowed):
            garden.service().search(BOB, garden.uri, "garden", regex=regex)
    garden.grant(BOB, Right.READ)
    assert len(paths(garden.service(), garden.uri, "garden", call=BOB)) == 2


def test_hidden_and_ignored_notes_and_the_trash_are_not_searched(household: Household) -> None:
    household.ignore = ("Archive/**",)
    for path in ("Archive/old.md", ".hidden/x.md", ".trash/x/a.md", "a.md", "picture.txt"):
        household.write(path, "word")
    (household.top / "outside.md").write_text("word")
    (household.vault / "link.md").symlink_to("../outside.md")
    listed = list(pages(household.service(), household.uri, "word"))
    assert ([hit.path for page in listed for hit in page.hits], left_out(listed)) == (["a.md"], {"link": 1})
    with pytest.raises(NotAllowed):
        household.service().search(ALICE, household.uri, "word", folder="Archive")


def test_a_folder_must_be_there(garden: Household) -> None:
    for folder in ("none", "garden/plan.md"):
        with pytest.raises(NoteNotFound):
            garden.service().search(ALICE, garden.uri, "word", folder=folder)


def test_a_search_ends_with_its_caller(garden: Household) -> None:
    gone = Call(ALICE.principal, abandoned=lambda: True)
    with pytest.raises(Abandoned):
        garden.service().search(gone, garden.uri, "garden")


# -- hostile queries -------------------------------------------------------------------------------

HARMLESS = [
    '"', '""', '"a', "a\0b", "'; DROP TABLE notes; --", "a NEAR b", "NEAR(a b, 2)", "a AND b", "NOT a b", "^a",
    "{title body}: a", "body:a", "- {title} : a", "a + b", "a*b", "*a*", "(a", "a)", "a:b:c", "title:", "prop:=",
    "tag:*", "title:title:a", '"a"*"b"', "\\", "%00 a", "\u202ea", "\ud800a", "a" * 1_000, "a OR", "OR a", "%s a",
]  # fmt: skip


@pytest.mark.parametrize("query", HARMLESS)
def test_a_strange_query_is_answered_or_refused_as_such(garden: Household, query: str) -> None:
    service = garden.service()
    found: list[str] = []
    with suppress(InvalidArgument):
        found = paths(service, garden.uri, query)
    assert set(found) <= {"garden/plan.md", "garden/pumps.md", "z.md"}
    assert paths(service, garden.uri, "pump") == ["garden/pumps.md"]


@pytest.mark.parametrize("regex", [False, True])
@pytest.mark.parametrize("query", ["", "x" * 10_240, '"' * 10_240, "(" * 1_001])
def test_no_query_and_one_that_is_too_long_are_refused(garden: Household, query: str, regex: bool) -> None:
    with pytest.raises(InvalidArgument) as caught:
        garden.service().search(ALICE, garden.uri, query, regex=regex)
    assert caught.value.argument == "query"


REFUSED = ["(", "[", "a{2,1}", "(?=a)", r"(a)\1", "(?<!a)b", ".{1000}", "((a{100}){100}){100}", r"\pL{100}", "\ud800",
           "*", "a**", r"\C" * 999 + "(", "(" * 1_000]  # fmt: skip
BOMBS = ["(a+)+$", "(a*)*b", "(a|a)*b", "(a|aa)+$", "(x+x+)+y", "(.*)(.*)(.*)(.*)[^a]$", "(a?){40}a{40}b", "[^b]{300}b",
         "(?s).*.*.*b", r"(\w+\s?)*$b"]  # fmt: skip


@pytest.mark.parametrize("pattern", REFUSED)
def test_a_pattern_that_is_none_or_too_costly_is_refused(garden: Household, pattern: str) -> None:
    service = garden.service()
    with pytest.raises(InvalidArgument) as caught:
        service.search(ALICE, garden.uri, pattern, regex=True)
    assert caught.value.argument == "query"
    assert paths(service, garden.uri, "seeds", regex=True) == ["garden/plan.md"]


@pytest.mark.kind("big vaults")
@pytest.mark.parametrize("pattern", BOMBS)
def test_a_pattern_made_to_take_for_ever_is_answered_in_time(household: Household, pattern: str) -> None:
    """In pieces of about a second; the bound is for a host that does much else."""
    household.write("a.md", "a" * 1_000_000)
    household.write("b.md", "seeds")
    service = household.service()
    begun = time.monotonic()
    with suppress(InvalidArgument):
        page = service.search(ALICE, household.uri, pattern, regex=True)
        assert page.cursor is None or page.partial
    assert time.monotonic() - begun < 10
    assert paths(service, household.uri, "seeds", regex=True) == ["b.md"]


def test_a_long_note_is_searched_in_parts_until_its_end(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pattern of a large program takes many calls for a note, and finds what is at its end."""
    monkeypatch.setattr(search_pages, "PAGE_SECONDS", 0.0)
    monkeypatch.setattr(searching, "CALL_SECONDS", -1.0)  # where it is not a worker that searches
    household.write("a.md", "x y\n" * 250_000 + "z" * 350)
    household.write("b.md", "nothing")
    household.write("c.md", "z" * 350)
    listed = list(pages(household.service(), household.uri, "[^a]{0,300}z{350}", regex=True))
    assert [hit.path for page in listed for hit in page.hits] == ["a.md", "c.md"]
    assert household.is_jailed or len(listed) > 100
    assert [page.partial for page in listed] == [*([True] * (len(listed) - 1)), False]
