"""A search where an index is kept: best first, and never less than is there, whatever the index knows by then."""

from __future__ import annotations

import base64
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psutil
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from fsnotes import wiring
from fsnotes.access import Right
from fsnotes.calls import Call
from fsnotes.errors import InvalidArgument
from fsnotes.hits import NotesFound
from fsnotes.service import Service
from sandbox.errors import WatchUnavailable
from sandbox.policy import Links, Policy
from sandbox.records import replace
from tests.examples import examples
from tests.notes.index import oracle
from tests.service.conftest import ALICE, BOB, Household

SECONDS = 30.0


@contextmanager
def kept(household: Household, *, settles: bool = True, **more: Any) -> Iterator[Service]:
    """Give a service whose index is kept."""
    product = household.product(**more)
    product.keep_indexes()
    try:
        if settles:
            settle(product)
        yield product.service
    finally:
        product.close()


def settle(product: wiring.Product) -> None:
    """Wait until the index knows all notes."""
    end = time.monotonic() + SECONDS
    while not is_settled(product):
        assert time.monotonic() < end
        time.sleep(0.005)


def is_settled(product: wiring.Product) -> bool:
    (upkeep,) = product._upkeeps
    standing = upkeep.standing()
    return standing.settled and not standing.paths


def pages(
    service: Service, household: Household, query: str, *, call: Any = ALICE, **more: Any
) -> list[NotesFound]:
    listed: list[NotesFound] = []
    cursor = None
    for _ in range(2000):
        page = service.search(call, household.uri, query, cursor=cursor, **more)
        listed.append(page)
        cursor = page.cursor
        if cursor is None:
            return listed
    raise AssertionError("the search does not end")


def paths_from_one_index(service: Service, household: Household, query: str) -> list[str]:
    """The same where the index may be made anew between two pages: then it is begun again, as the answer says."""
    for _ in range(3):
        with suppress(InvalidArgument):
            return paths(service, household, query)
    return paths(service, household, query)


def paths(service: Service, household: Household, query: str, **more: Any) -> list[str]:
    found = [hit.path for page in pages(service, household, query, **more) for hit in page.hits]
    assert len(set(found)) == len(found)
    return found


def left_out(listed: list[NotesFound]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for page in listed:
        for item in page.skipped:
            counts[item.reason] = counts.get(item.reason, 0) + item.count
    return counts


def index_files(household: Household) -> list[str]:
    return [str(path) for path in household.top.glob("state/ws/*/index/search.sqlite3")]


# -- order -----------------------------------------------------------------------------------------


def test_the_best_comes_first_and_of_equal_ones_the_newest(household: Household) -> None:
    for number, (path, text) in enumerate(
        {
            "a.md": "# Other\n\nsome zebra here and many more words that say nothing of it",
            "b.md": "# Other\n\nsome zebra here and many more words that say nothing of it",
            "headed.md": "# Other\n\n## About a zebra\n\nnothing",
            "zebra.md": "# Zebra\n\nnothing",
            "none.md": "# Other\n\nnothing",
        }.items()
    ):
        place = household.write(path, text)
        os.utime(place, ns=(number * 10**9, number * 10**9))
    with kept(household) as service:
        assert paths(service, household, "zebra") == ["zebra.md", "headed.md", "b.md", "a.md"]
        assert paths(service, household, "zebra", limit=1) == ["zebra.md", "headed.md", "b.md", "a.md"]
    assert paths(household.service(state="another"), household, "zebra") == [
        "a.md",
        "b.md",
        "headed.md",
        "zebra.md",
    ]


# -- changes ---------------------------------------------------------------------------------------


def test_own_changes_are_seen_by_the_next_call(household: Household) -> None:
    household.write("old.md", "a zebra\n")
    with kept(household) as service:
        service.create(ALICE, household.uri, "new", "zebra\n")
        assert sorted(paths(service, household, "zebra")) == ["new.md", "old.md"]
        service.edit(ALICE, household.uri, "new", "horse", old_text="zebra")
        assert (paths(service, household, "zebra"), paths(service, household, "horse")) == (
            ["old.md"],
            ["new.md"],
        )
        service.move(ALICE, household.uri, "old", "sub/young")
        assert paths(service, household, "zebra") == ["sub/young.md"]
        assert paths(service, household, "path:young") == ["sub/young.md"]
        service.move(ALICE, household.uri, "sub", "moved")
        assert paths(service, household, "zebra") == ["moved/young.md"]
        service.append(ALICE, household.uri, "new", "a zebra too")
        assert sorted(paths(service, household, "zebra")) == ["moved/young.md", "new.md"]


OWN: dict[str, tuple[Callable[[Service, str], object], list[str]]] = {
    "a new note": (lambda service, uri: service.create(ALICE, uri, "new", "zebra\n"), ["new.md", "old.md"]),
    "an edit": (lambda service, uri: service.edit(ALICE, uri, "old", "horse", old_text="zebra"), []),
    "an addition": (lambda service, uri: service.append(ALICE, uri, "no", "a zebra"), ["no.md", "old.md"]),
    "a property": (
        lambda service, uri: service.properties(ALICE, uri, "no", assign=[("tags", "[zebra]")]),
        ["no.md", "old.md"],
    ),
    "a move": (lambda service, uri: service.move(ALICE, uri, "old", "sub/young"), ["sub/young.md"]),
    "a change of case": (lambda service, uri: service.move(ALICE, uri, "old", "Old"), ["Old.md"]),
}


@pytest.mark.kind("stale index")
@pytest.mark.parametrize("settles", [True, False])
@pytest.mark.parametrize("change", OWN)
def test_an_own_change_of_any_kind_is_seen_by_the_next_call(
    household: Household, change: str, settles: bool
) -> None:
    """Whether the index knows all notes by then or none."""
    household.write("old.md", "a zebra\n")
    household.write("no.md", "nothing\n")
    make, expected = OWN[change]
    with kept(household, settles=settles) as service:
        make(service, household.uri)
        assert sorted(paths(service, household, "zebra")) == expected


def test_changes_of_others_are_seen_by_the_next_call(household: Household) -> None:
    for number in range(5):
        household.write(f"f/{number}.md", f"zebra {number}\n")
    with kept(household) as service:
        household.write("late.md", "zebra")
        assert len(paths(service, household, "zebra")) == 6
        os.rename(household.vault / "late.md", household.vault / "later.md")
        assert "later.md" in paths(service, household, "zebra")
        assert paths(service, household, "path:late") == []
        os.rename(household.vault / "f", household.vault / "g")
        assert sorted(paths(service, household, "zebra 3")) == ["g/3.md"]
        household.write("g/3.md", "horse\n")
        assert paths(service, household, "zebra 3") == []
        shutil.rmtree(household.vault / "g")
        assert paths(service, household, "zebra") == ["later.md"]


def test_more_changes_than_a_search_looks_into_itself_are_all_seen(household: Household) -> None:
    with kept(household) as service:
        for number in range(300):
            household.write(f"{number}.md", "zebra")
        assert len(paths(service, household, "zebra", limit=200)) == 300


def test_a_search_finds_what_the_oracle_finds_before_during_and_after_changes(household: Household) -> None:
    names = ("a", "abc", "b", "漢字設 b", "note")
    places = st.builds("{}{}.md".format, oracle.folders, st.sampled_from(names))
    product = household.product()
    product.keep_indexes()
    service = product.service

    @settings(
        max_examples=examples(15, long=25),
        deadline=None,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
    )
    @given(st.data())
    def finds_the_same(data: st.DataObject) -> None:
        for place in household.vault.iterdir():
            if place.is_dir():
                shutil.rmtree(place)
            else:
                place.unlink()
        notes: dict[str, oracle.Note] = {}
        for _ in range(data.draw(st.integers(1, 3))):
            for path in data.draw(st.lists(places, unique=True, min_size=1, max_size=4)):
                if path in notes and data.draw(st.booleans()):
                    (household.vault / path).unlink()
                    del notes[path]
                else:
                    notes[path] = data.draw(oracle.notes(path))
                    household.write(path, notes[path].text())
            if data.draw(st.booleans()):
                settle(product)
            folder = data.draw(
                st.sampled_from(["", *(path.rpartition("/")[0] + "/" for path in notes if "/" in path)])
            )
            query, limit = data.draw(oracle.queries), data.draw(st.integers(1, 4))
            expected = [
                note.path
                for note in notes.values()
                if note.path.startswith(folder) and oracle.finds(query, note)
            ]
            found = paths(service, household, oracle.typed(query), folder=folder, limit=limit)
            assert sorted(found) == sorted(expected)

    finds_the_same()


def test_tags_and_links_are_those_of_the_notes_whatever_the_index_knows(household: Household) -> None:
    def listed(service: Service, **query: Any) -> list[str]:
        return [
            note.path for note in service.list(ALICE, household.uri, recursive=True, limit=200, **query).notes
        ]

    def counted(service: Service) -> dict[str, int]:
        return {tag.tag.casefold(): tag.count for tag in service.tags(ALICE, household.uri, limit=200).tags}

    def linked(service: Service, path: str) -> list[str]:
        return [link.source for link in service.links(ALICE, household.uri, path, direction="in").links]

    household.write("target.md", "text")
    household.write("a.md", "#tag/deep [[target]]")
    household.write("b.md", "no tag, [link](target.md)")
    household.write("many.md", "[[target]] " + " ".join(f"#t{number}" for number in range(2_500)))
    household.write("bad.md", b"#tag [[target]] \xff")
    plain = household.service(state="another")
    with kept(household) as service:
        for _ in range(2):
            for one in (service, plain):
                assert listed(one, tag="tag") == [
                    path for path in ("a.md", "c.md") if (household.vault / path).exists()
                ]
                assert listed(one, tag="t7") == ["many.md"]
            assert counted(service) == counted(plain) != {}
            assert service.tags(ALICE, household.uri).skipped == plain.tags(ALICE, household.uri).skipped
            assert linked(service, "target") == linked(plain, "target")
            assert len(linked(service, "target")) == 3
            household.write("c.md", "---\ntags: [Tag]\n---\n")
            household.write("b.md", "no link")
            household.write("d.md", "![[Target#x]]")
        os.rename(household.vault / "target.md", household.vault / "other.md")
        assert linked(service, "other") == []
        household.write("d.md", "[[other]]")
        assert linked(service, "other") == ["d.md"]


# -- pages -----------------------------------------------------------------------------------------


def fill(household: Household) -> None:
    for number in range(20):
        household.write(f"f{number % 3}/{number:02}.md", "word\n" * (number % 2))
    for number in range(5):
        household.write(f"f1/bad{number}.md", b"word \xff")
    household.write("large.md", "word" + " " * 1_048_576)
    (household.vault / "f2" / "link.md").symlink_to("00.md")


@pytest.mark.parametrize("settles", [True, False], ids=["settled", "being built"])
@pytest.mark.parametrize("limit", [1, 3, 200])
def test_pages_of_any_size_hold_each_note_once(household: Household, limit: int, settles: bool) -> None:
    fill(household)
    with kept(household, settles=settles) as service:
        for regex in (False, True):
            listed = pages(service, household, "word", regex=regex, limit=limit)
            found = [hit.path for page in listed for hit in page.hits]
            assert sorted(found) == [
                f"f{number % 3}/{number:02}.md"
                for number in sorted(range(1, 20, 2), key=lambda n: (n % 3, n))
            ]
            assert left_out(listed) == {"not_text": 5, "too_large": 1, "link": 1}
            assert all(len(page.hits) <= limit for page in listed)


def test_what_is_counted_as_skipped_lies_in_the_folder(household: Household) -> None:
    fill(household)
    household.grant(BOB, Right.READ, folder="f2")
    with kept(household) as service:
        assert left_out(pages(service, household, "word", folder="f1")) == {"not_text": 5}
        assert left_out(pages(service, household, "word", folder="f0")) == {}
        assert left_out(pages(service, household, "word", call=BOB)) == {"link": 1}
        found = paths(service, household, "word", call=BOB)
        assert found
        assert all(path.startswith("f2/") for path in found)


def test_how_far_the_index_is_is_told_to_those_who_see_all(household: Household) -> None:
    household.write("f/a.md", "word")
    household.write("b.md", "word")
    household.grant(BOB, Right.READ, folder="f")
    product = household.product()
    (upkeep,) = product._upkeeps
    upkeep.progress = lambda: wiring.Progress("building", 1, 1)  # type: ignore[method-assign]
    seen = product.service.search(ALICE, household.uri, "word").document()
    assert seen["index"] == {"indexed": 1, "remaining": 1}
    assert "index" not in product.service.search(BOB, household.uri, "word").document()
    assert product.service.workspaces(ALICE).document()["workspaces"][0]["index"] == "building"


@pytest.mark.parametrize("phase", ["surveying", "building", "ready"])
def test_how_far_the_index_is_is_reported_to_those_who_see_all_while_it_is_built(
    household: Household, phase: str
) -> None:
    household.write("f/a.md", "word")
    household.write("b.md", "word")
    household.grant(BOB, Right.READ, folder="f")
    product = household.product()
    (upkeep,) = product._upkeeps
    upkeep.progress = lambda: wiring.Progress(phase, 1, 3)  # type: ignore[method-assign]
    told: list[tuple[int, int, str]] = []

    def search(caller: Call) -> None:
        asking = replace(caller, report=lambda *report: told.append(report))
        product.service.search(asking, household.uri, "word")

    search(BOB)
    assert told == []
    search(ALICE)
    assert set(told) == ({(1, 4, "notes in the search index")} if phase != "ready" else set())


def test_a_cursor_of_an_index_that_was_made_anew_is_refused(household: Household) -> None:
    for number in range(5):
        household.write(f"{number}.md", "word")
    with kept(household) as service:
        cursor = service.search(ALICE, household.uri, "word", limit=2).cursor
        assert service.search(ALICE, household.uri, "word", limit=2, cursor=cursor).cursor is not None
    for path in index_files(household):
        os.unlink(path)
    with kept(household) as service:
        with pytest.raises(InvalidArgument, match="cursor"):
            service.search(ALICE, household.uri, "word", limit=2, cursor=cursor)
        assert len(paths(service, household, "word", limit=2)) == 5


def test_ignored_and_hidden_notes_are_not_found(household: Household) -> None:
    household.ignore = ("Archive/**",)
    for path in ("Archive/a.md", ".hidden/b.md", ".trash/x/c.md", "d.md", "e.txt"):
        household.write(path, "word")
    with kept(household) as service:
        assert paths(service, household, "word") == ["d.md"]
        assert paths(service, household, "word", regex=True) == ["d.md"]
        household.write("Archive/f.md", "word")
        household.write(".hidden/g.md", "word")
        assert paths(service, household, "word") == ["d.md"]


# -- what happens to the index -----------------------------------------------------------------------


def test_a_start_finds_what_changed_while_nobody_watched(household: Household) -> None:
    for number in range(5):
        household.write(f"{number}.md", "word")
    with kept(household):
        pass
    household.write("0.md", "nothing")
    household.write("new.md", "word")
    os.unlink(household.vault / "1.md")
    os.rename(household.vault / "2.md", household.vault / "two.md")
    expected = ["3.md", "4.md", "new.md", "two.md"]
    # Whoever does not keep the index takes what it knows and looks for the rest.
    assert sorted(paths(household.service(), household, "word")) == expected
    with kept(household, settles=False) as service:
        assert sorted(paths(service, household, "word", limit=1)) == expected
    with kept(household) as service:
        assert sorted(paths(service, household, "word")) == expected


@pytest.mark.kind("stale index")
@pytest.mark.parametrize("harm", ["removed", "emptied", "garbled", "a folder"])
def test_an_index_that_is_harmed_while_it_is_used_is_made_anew(household: Household, harm: str) -> None:
    for number in range(30):
        household.write(f"{number}.md", f"word {number}")
    product = household.product()
    product.keep_indexes()
    settle(product)
    assert len(paths(product.service, household, "word")) == 30
    (path,) = index_files(household)
    match harm:
        case "removed":
            os.unlink(path)
        case "emptied":
            os.truncate(path, 0)
        case "garbled":
            with open(path, "r+b") as file:
                file.seek(0)
                file.write(os.urandom(65_536))
        case _:
            os.unlink(path)
            os.mkdir(path)
    assert len(paths(product.service, household, "word")) == 30
    household.write("new.md", "word")
    assert len(paths(product.service, household, "word")) == 31
    if harm != "a folder":  # nobody but us makes files there
        settle(product)
        assert len(paths(product.service, household, "word")) == 31


def test_an_index_that_is_removed_is_made_again_though_no_note_changes(household: Household) -> None:
    for number in range(30):
        household.write(f"{number}.md", f"word {number}")
    product = household.product()
    product.keep_indexes()
    settle(product)
    (path,) = index_files(household)
    os.unlink(path)
    assert len(paths(product.service, household, "word")) == 30
    end = time.monotonic() + SECONDS
    while index_files(household) == []:
        assert time.monotonic() < end
        time.sleep(0.005)
    settle(product)
    assert len(paths(product.service, household, "word")) == 30


def test_an_index_of_other_notes_in_its_place_is_not_trusted_while_a_server_runs(
    household: Household,
) -> None:
    household.write("other.md", "something else")
    with kept(household):
        pass
    (path,) = index_files(household)
    shutil.copy(path, household.top / "foreign.sqlite3")
    os.unlink(path)
    os.unlink(household.vault / "other.md")
    for number in range(30):
        household.write(f"{number}.md", f"word {number}")
    product = household.product()
    product.keep_indexes()
    settle(product)
    shutil.copy(household.top / "foreign.sqlite3", household.top / "copy")
    os.rename(household.top / "copy", path)
    for _ in range(3):
        assert len(paths_from_one_index(product.service, household, "word")) == 30
    household.write("new.md", "word")
    settle(product)
    assert len(paths_from_one_index(product.service, household, "word")) == 31


def test_what_is_written_under_another_name_of_a_note_is_found_once_it_is_one_again(
    household: Household,
) -> None:
    household.write("a.md", "word")
    household.write("c.md", "word")
    with kept(household) as service:
        os.link(household.vault / "a.md", household.vault / "b.md")
        # One that comes and goes between two turns of the upkeep is not seen.
        (upkeep,) = household._products[-1]._upkeeps
        end = time.monotonic() + SECONDS
        while not upkeep._has_links:
            assert time.monotonic() < end
            time.sleep(0.005)
        assert paths(service, household, "word") == ["c.md"]
        with open(household.vault / "b.md", "a") as other:
            other.write(" newword")
        os.unlink(household.vault / "b.md")
        assert paths(service, household, "newword") == ["a.md"]
        assert sorted(paths(service, household, "word")) == ["a.md", "c.md"]


def test_what_is_left_out_is_counted_as_it_is_by_now(household: Household) -> None:
    household.policy = Policy(max_file_bytes=1_000)
    household.write("a.md", "word")
    with kept(household) as service:
        assert left_out(pages(service, household, "word")) == {}
        household.write("large.md", "word " * 300)
        os.symlink("a.md", household.vault / "l.md")
        os.mkfifo(household.vault / "f.md")
        settled_pages(service, household)
        assert left_out(pages(service, household, "word")) == {"too_large": 1, "link": 1, "special_file": 1}
        household.write("large.md", "word")
        os.unlink(household.vault / "l.md")
        os.unlink(household.vault / "f.md")
        settled_pages(service, household)
        assert left_out(pages(service, household, "word")) == {}
        assert sorted(paths(service, household, "word")) == ["a.md", "large.md"]


def settled_pages(service: Service, household: Household) -> None:
    """Wait until what changed has been taken in."""
    product = household._products[-1]
    assert product.service is service
    settle(product)


def test_a_second_server_is_right_too_and_takes_over(household: Household) -> None:
    for number in range(5):
        household.write(f"{number}.md", "word")
    first, second = household.product(), household.product()
    first.keep_indexes()
    settle(first)
    second.keep_indexes()
    assert len(paths(second.service, household, "word")) == 5
    second.service.create(ALICE, household.uri, "new", "word")
    assert len(paths(first.service, household, "word")) == len(paths(second.service, household, "word")) == 6
    household.write("other.md", "word")
    assert len(paths(first.service, household, "word")) == len(paths(second.service, household, "word")) == 7
    first.close()
    settle(second)
    household.write("last.md", "word")
    assert len(paths(second.service, household, "word")) == 8


def test_where_nothing_can_be_watched_a_search_is_right_all_the_same(household: Household) -> None:
    household.write("a.md", "word")
    product = household.product()
    (upkeep,) = product._upkeeps

    def refuse() -> Any:
        raise WatchUnavailable("for this test")

    upkeep._watch = refuse
    product.keep_indexes()
    assert paths(product.service, household, "word") == ["a.md"]
    household.write("b.md", "word")
    assert sorted(paths(product.service, household, "word")) == ["a.md", "b.md"]


def test_the_worker_of_an_index_may_be_killed_at_any_moment(jailed: Household) -> None:
    for number in range(200):
        jailed.write(f"{number}.md", f"word {number}\n" * 50)
    product = jailed.product()
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    product.keep_indexes()
    for seconds in (0.05, 0.1, 0.2, 0.0):
        time.sleep(seconds)
        for child in psutil.Process().children(recursive=True):
            if child.pid not in before:
                try:
                    os.kill(child.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        assert len(paths(product.service, jailed, "word", limit=200)) == 200
    settle(product)
    jailed.write("new.md", "word")
    assert len(paths(product.service, jailed, "word", limit=200)) == 201


def test_a_large_note_is_found_by_its_text_and_counted_where_its_tags_must_be_known(
    household: Household,
) -> None:
    household.policy = Policy(max_file_bytes=4 << 20)
    household.write("large.md", "# Large\n\n#tag zebra\n" + "filling " * 200_000 + "\nthe end of it\n")
    household.write("small.md", "#tag zebra\n")
    with kept(household) as service:
        for _ in range(2):
            assert sorted(paths(service, household, "zebra")) == ["large.md", "small.md"]
            assert paths(service, household, '"end of it"') == ["large.md"]
            assert paths(service, household, "zebra", tag="tag") == ["small.md"]
            household.write(
                "large.md", "# Large\n\n#tag zebra\n" + "Filling " * 200_000 + "\nthe end of it\n"
            )
        listed = pages(service, household, "zebra", tag="tag")
        assert [hit.path for page in listed for hit in page.hits] == ["small.md"]


def test_a_forged_cursor_is_refused_and_accuses_nobody(household: Household) -> None:
    for number in range(8):
        household.write(f"{number}.md", "word")
    with kept(household) as service:
        cursor = service.search(ALICE, household.uri, "word", limit=2).cursor
        assert cursor is not None
        parts = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).split(b"\0")
        mark = parts[2].split(b":")
        for forged in (b"1.1.1.1", b".".join(b"%012d" % number for number in range(190)), b"zzz"):
            for done in (b"0", b"150", mark[0]):
                changed = [*parts[:2], b":".join((done, mark[1], forged)), *parts[3:]]
                text = base64.urlsafe_b64encode(b"\0".join(changed)).decode().rstrip("=")
                for _ in range(3):
                    try:
                        found = service.search(ALICE, household.uri, "word", limit=5, cursor=text)
                    except InvalidArgument:
                        continue
                    assert len({hit.path for hit in found.hits}) == len(found.hits)
        half = [*parts[:-1], b'["\\ud800"]']
        text = base64.urlsafe_b64encode(b"\0".join(half)).decode().rstrip("=")
        with pytest.raises(InvalidArgument):
            service.search(ALICE, household.uri, "word", cursor=text)
        assert len(paths(service, household, "word")) == 8


def test_notes_that_stay_come_once_though_they_are_looked_at_again_between_pages(
    household: Household,
) -> None:
    for number in range(60):
        household.write(f"f/{number}.md", "word")
    product = household.product()
    product.keep_indexes()
    settle(product)
    found: list[str] = []
    cursor = None
    while True:
        page = product.service.search(ALICE, household.uri, "word", limit=7, cursor=cursor)
        found += [hit.path for hit in page.hits]
        cursor = page.cursor
        if cursor is None:
            break
        (household.vault / "f").chmod(0o750 if len(found) % 2 else 0o755)
        settle(product)
    assert len(found) == len(set(found)) == 60


def test_links_and_hard_links_are_followed_by_every_search(household: Household) -> None:
    if household.resolver == "walk":
        pytest.skip("links are followed by openat2 alone")
    household.policy = Policy(links=Links.WITHIN)
    household.write("real/note.md", "apple")
    (household.vault / "link.md").symlink_to("real/note.md")
    with kept(household, settles=False) as service:
        assert sorted(paths(service, household, "apple")) == ["link.md", "real/note.md"]
        household.write("real/note.md", "banana")
        assert sorted(paths(service, household, "banana")) == ["link.md", "real/note.md"]


def test_a_note_that_loses_its_second_name_is_found(household: Household) -> None:
    household.write("a.md", "word")
    os.link(household.vault / "a.md", household.vault / "b.md")
    with kept(household, settles=False) as service:
        end = time.monotonic() + SECONDS
        while not service.search(ALICE, household.uri, "word").skipped and time.monotonic() < end:
            time.sleep(0.01)
        assert paths(service, household, "word") == []
        os.unlink(household.vault / "b.md")
        assert paths(service, household, "word") == ["a.md"]


def test_a_settled_index_says_how_many_notes_there_are_without_a_look_at_them(household: Household) -> None:
    for number in range(5):
        household.write(f"folder/{number}.md", "text")
    household.write("binary.md", b"\xff\xfe\x00")
    household.write("ignored.txt", "no note")
    (scanned,) = household.service().workspaces(ALICE).document()["workspaces"]
    with kept(household) as service:
        commands: list[str] = []
        ran = service._runner.run

        def run(grant: Any, command: Any, **more: Any) -> Any:
            commands.append(type(command).__name__)
            return ran(grant, command, **more)

        service._runner.run = run  # type: ignore[method-assign]
        (shown,) = service.workspaces(ALICE).document()["workspaces"]
        assert (shown["noteCount"], shown["noteCountComplete"]) == (6, True)
        assert (scanned["noteCount"], scanned["noteCountComplete"]) == (6, True)
        assert commands == []
        household.write("one more.md", "text")
        (shown,) = service.workspaces(ALICE).document()["workspaces"]
        assert (shown["noteCount"], shown["noteCountComplete"]) == (7, True)


def test_who_sees_a_part_of_a_workspace_is_told_of_the_notes_in_it(household: Household) -> None:
    for number in range(5):
        household.write(f"folder/{number}.md", "text")
    household.write("beside.md", "text")
    household.grant(BOB, Right.READ, folder="folder")
    with kept(household) as service:
        (shown,) = service.workspaces(BOB).document()["workspaces"]
        assert (shown["noteCount"], shown["noteCountComplete"]) == (5, True)
