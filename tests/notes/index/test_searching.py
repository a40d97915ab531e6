"""What the index finds is what a naive scan finds, in an order that holds still."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsnotes.errors import IndexUnusable, InvalidArgument
from fsnotes.notes.index import searching
from fsnotes.notes.index.answering import look_through, page
from fsnotes.notes.index.known import Known
from fsnotes.notes.index.reader import Standing
from fsnotes.notes.index.searching import Position
from tests.examples import examples
from tests.notes.index import oracle
from tests.notes.index.shelves import Shelf


@pytest.fixture(scope="module")
def library() -> Iterator[Shelf]:
    """One vault for many random ones: each empties it first."""
    with tempfile.TemporaryDirectory() as folder, Shelf(Path(folder)) as made:
        yield made


PATHS = ["a.md", "abc.md", "a/b.md", "a/漢字設 b.md", "ab/x2/note.md", "b/c.md", "漢字/ss.md", "x.md"]


@settings(
    max_examples=examples(20, long=40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.data())
def test_the_index_finds_what_a_naive_scan_finds(library: Shelf, data: st.DataObject) -> None:
    """Before and after random changes, told of or not, and after a restart."""
    library.empty()
    notes: dict[str, oracle.Note] = {}

    def write(path: str) -> None:
        notes[path] = data.draw(oracle.notes(path))
        library.write(path, notes[path].text())

    def compare(count: int) -> None:
        for _ in range(count):
            query = data.draw(oracle.queries)
            expected = sorted(path for path, note in notes.items() if oracle.finds(query, note))
            assert sorted(library.finds(oracle.typed(query))) == expected

    for path in data.draw(st.sets(st.sampled_from(PATHS), min_size=2)):
        write(path)
    library.settle()
    compare(4)
    for _ in range(data.draw(st.integers(1, 4))):
        touched: list[str] = []
        for _ in range(data.draw(st.integers(1, 3))):
            path = data.draw(st.sampled_from(PATHS))
            other = data.draw(st.sampled_from(PATHS))
            if path not in notes or (other != path and other not in notes and data.draw(st.booleans())):
                if path in notes:
                    library.rename(path, other)
                    notes[other] = notes.pop(path)._replace(path=other)
                    touched += [path, other]
                else:
                    write(path)
                    touched.append(path)
            elif data.draw(st.booleans()):
                library.remove(path)
                del notes[path]
                touched.append(path)
            else:
                write(path)
                touched.append(path)
        match data.draw(st.sampled_from(["told", "found", "restart", "idle"])):
            case "told":
                library.refresh(*touched)
            case "found":
                library.look_again()
            case "restart":
                library.shut()
                library.settle()
            case _:
                library.refresh(*touched)
                library.settle(idle=True)
        compare(3)


def test_titles_weigh_most_then_headings_then_tags_then_the_path_then_the_text(shelf: Shelf) -> None:
    filling = "lorem ipsum dolor sit amet " * 20
    shelf.write("body.md", f"# Other\n\nneedle {filling}")
    shelf.write("path/needle.md", f"# Other\n\n{filling}")
    shelf.write("tag.md", f"# Other\n\n#needle {filling}")
    shelf.write("heading.md", f"# Other\n\n## needle\n\n{filling}")
    shelf.write("title.md", f"# needle\n\n{filling}")
    for number in range(20):
        shelf.write(f"other-{number}.md", f"# Other\n\n{filling}")
    shelf.settle()
    assert shelf.finds("needle") == ["title.md", "heading.md", "tag.md", "path/needle.md", "body.md"]


def test_of_equal_notes_the_newer_comes_first(shelf: Shelf) -> None:
    for number in range(5):
        shelf.write(f"{number}.md", "same words")
    shelf.settle()
    assert shelf.finds("words") == ["4.md", "3.md", "2.md", "1.md", "0.md"]
    shelf.write("2.md", "same words")
    shelf.refresh("2.md")
    assert shelf.finds("words") == ["4.md", "3.md", "2.md", "1.md", "0.md"], "its bytes are the same"
    shelf.write("1.md", "words same")
    shelf.refresh("1.md")
    assert shelf.finds("words")[0] == "1.md"


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("few", [5_000, 3])
def test_pages_give_every_hit_once_and_in_the_same_order(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, limit: int, few: int
) -> None:
    """However common a word is: *few* is up to how many matches are all ranked."""
    monkeypatch.setattr(searching, "FULL_RANKING", few)
    monkeypatch.setattr(searching, "_BATCH", 4)
    for number in range(30):
        title = "# common\n" if number % 4 == 0 else ""
        shelf.write(f"{number}.md", f"{title}\ncommon {'word ' * (number % 5)}")
    shelf.settle()
    for number in (3, 8, 20):
        shelf.rename(f"{number}.md", f"moved/{number}.md")
        shelf.refresh(f"{number}.md", f"moved/{number}.md")
    found = shelf.finds("common", limit=limit)
    assert found == shelf.finds("common")
    assert sorted(found) == shelf.paths()
    if few == 3:
        titled = {path for path in found if int(Path(path).stem) % 4 == 0 and not path.startswith("moved/")}
        assert set(found[: len(titled)]) == titled
        assert found[len(titled) :] == sorted(found[len(titled) :], key=lambda path: -int(Path(path).stem))


def test_a_page_that_took_long_ends_early_and_the_next_goes_on(shelf: Shelf) -> None:
    for number in range(10):
        shelf.write(f"{number}.md", "word")
    shelf.settle()
    asked = shelf.asked("word")
    ticks = itertools.count()
    first = page(shelf.reader, shelf.root, asked, limit=50, clock=lambda: float(next(ticks)))
    assert len(first.hits) == 1
    rest = page(shelf.reader, shelf.root, asked, limit=50, clock=lambda: 0.0, after=first.after)
    assert (len(rest.hits), rest.after) == (9, None)


def test_a_page_whose_candidates_are_not_what_they_seem_may_be_empty_and_not_the_last(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsnotes.notes.index.answering._MORE_TO_SPARE", 2)
    shelf.write("hit.md", "foo_bar")
    for number in range(10):
        shelf.write(f"{number}.md", "foo bar")
    shelf.settle()
    first = page(shelf.reader, shelf.root, shelf.asked("foo_bar"), limit=1, clock=lambda: 0.0)
    assert (first.hits, first.after is None) == ((), False)
    assert shelf.finds("foo_bar", limit=1) == ["hit.md"]


def test_notes_outside_the_scope_the_folder_or_the_tag_are_not_told_of(shelf: Shelf) -> None:
    for path in ("a/x.md", "a/b/x.md", "ab/x.md", "b/x.md", "x.md", "e\u0301/x.md"):
        shelf.write(path, "word #t/u" if path.startswith("a") else "word")
    shelf.settle()
    assert sorted(shelf.finds("word", folder="a")) == ["a/b/x.md", "a/x.md"]
    assert sorted(shelf.finds("word", folders=("a", "b"))) == ["a/b/x.md", "a/x.md", "b/x.md"]
    assert shelf.finds("word", folders=("a", "b"), folder="b") == ["b/x.md"]
    assert shelf.finds("word", folders=("a",), folder="b") == []
    assert shelf.finds("word", folders=()) == []
    assert sorted(shelf.finds("word", tag="#T")) == ["a/b/x.md", "a/x.md", "ab/x.md"]
    assert shelf.finds("word", tag="t/u", folder="ab") == ["ab/x.md"]
    assert shelf.finds("word", tag="u") == []
    assert shelf.finds("word", folder="\u00e9") == ["e\u0301/x.md"]


@pytest.mark.parametrize("early", [True, False])
def test_a_word_that_many_headings_have_is_ranked_by_titles_wherever_those_stand(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, early: bool
) -> None:
    monkeypatch.setattr(searching, "FULL_RANKING", 3)
    monkeypatch.setattr(searching, "MOST_RANKED", 4)
    for number in range(30):
        is_headed = (number < 12) is early
        shelf.write(f"{number:02}.md", "# common\n" if is_headed else f"common {'word ' * number}")
    shelf.settle()
    found = shelf.finds("common")
    assert sorted(found) == shelf.paths(), "each is found, and once"
    assert int(found[0][:2]) in (range(12) if early else range(12, 30))


def test_a_match_that_is_alone_is_not_ranked_and_is_still_found(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.write("one.md", "alone here")
    shelf.write("two.md", "another note")
    shelf.settle()
    monkeypatch.setattr(searching, "_RANKS", "no statement")
    assert shelf.finds("alone") == ["one.md"]
    assert shelf.finds('"alone here"', limit=1) == ["one.md"]
    assert shelf.finds("nowhere") == []


def test_a_renamed_match_is_found_once_beside_one_that_is_not(shelf: Shelf) -> None:
    shelf.write("alone.md", "text")
    shelf.settle()
    shelf.rename("alone.md", "other.md")
    shelf.refresh("alone.md", "other.md")
    assert shelf.finds("alone") == [], "the words of its old name do not count"
    assert shelf.finds("text") == ["other.md"]
    shelf.write("new.md", "text")
    shelf.refresh("new.md")
    assert sorted(shelf.finds("text")) == ["new.md", "other.md"]
    shelf.remove("new.md")
    shelf.refresh("new.md")
    assert shelf.finds("text") == ["other.md"]


def test_renamed_notes_are_found_by_what_they_are_called_now(shelf: Shelf) -> None:
    shelf.write("old/first.md", "word #tag")
    shelf.write("old/second.md", "# Own\n\nword")
    shelf.settle()
    for name in ("first", "second"):
        shelf.rename(f"old/{name}.md", f"new/{name}2.md")
        shelf.refresh(f"new/{name}2.md", f"old/{name}.md")
    assert sorted(shelf.finds("word new")) == ["new/first2.md", "new/second2.md"]
    assert shelf.finds("word first2") == ["new/first2.md"]
    assert shelf.finds("title:first2 tag:tag") == ["new/first2.md"]
    assert shelf.finds("title:own") == ["new/second2.md"]
    assert shelf.finds("word", tag="tag") == ["new/first2.md"]
    assert sorted(shelf.finds("word", folder="new")) == ["new/first2.md", "new/second2.md"]
    for query in ("old", "title:first", "path:old", "word -new", "first"):
        assert shelf.finds(query) == []
    assert shelf.finds("word", folder="old") == []
    assert sorted(shelf.finds("word -old -path:first")) == ["new/first2.md", "new/second2.md"]


def test_what_changed_since_it_was_indexed_is_found_out_by_reading(shelf: Shelf) -> None:
    shelf.write("gone.md", "word")
    shelf.write("changed.md", "word")
    shelf.write("same.md", "word")
    shelf.settle()
    shelf.remove("gone.md")
    shelf.write("changed.md", "other")
    assert shelf.finds("word") == ["same.md"]


def test_paths_that_are_left_out_take_no_place_on_a_page(shelf: Shelf) -> None:
    for number in range(6):
        shelf.write(f"{number}.md", "word")
    shelf.settle()
    assert shelf.finds("word", limit=2, without=("5.md", "4.md", "1.md")) == ["3.md", "2.md", "0.md"]


def test_notes_can_be_looked_through_without_an_index(shelf: Shelf) -> None:
    shelf.write("a/1.md", "word #t")
    shelf.write("a/2.md", "other")
    shelf.write("b/3.md", "word #t")
    shelf.write("a/4.md", b"\xff word")
    paths = ["a/1.md", "a/2.md", "b/3.md", "a/4.md", "a/none.md", "../x.md"]
    looked = look_through(shelf.root, shelf.asked("word", folder="a", tag="t"), paths, clock=lambda: 0.0)
    assert [hit.path for hit in looked.hits] == ["a/1.md"]
    assert (looked.left, looked.left_out) == ((), ("not_text",))
    ticks = itertools.count()
    looked = look_through(shelf.root, shelf.asked("word"), paths, clock=lambda: float(next(ticks)))
    assert (len(looked.hits), looked.left) == (1, tuple(paths[1:]))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0:1",
        "0:1:a.",
        "-1:1:a",
        "0:1:1.1",
        "2:1:1",
        f"0:{2**62 + 1}:1",
        "0:x:a",
        "0:1:A",
        "0:1:" + ".".join("a" * 201),
        "0:1:a ",
    ],
)
def test_a_position_that_nobody_wrote_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        Position.parse(text)


@given(st.lists(st.integers(0, 2**60), max_size=100, unique=True), st.integers(0, 100), st.integers(0, 2**62))
def test_a_position_is_read_as_it_was_written(best: list[int], done: int, below: int) -> None:
    position = Position(tuple(best), min(done, len(best)), below)
    assert Position.parse(str(position)) == position


@pytest.mark.parametrize("best", [100, 4])
def test_notes_that_stay_come_once_however_many_others_come_and_go_between_pages(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, best: int
) -> None:
    """What others say changes how well a note fits, so the order must not be made anew for each page."""
    monkeypatch.setattr(searching, "_BEST", f"{{}} ORDER BY rank, id DESC LIMIT {best}")
    monkeypatch.setattr(searching, "MOST_BEST", best)
    for number in range(30):
        shelf.write(f"{number}.md", "word " * (1 + number % 3) + "other " * (number % 4))
    for number in range(10):
        shelf.write(f"goes{number}.md", "word")
    shelf.settle()
    found: list[str] = []
    after: Position | None = None
    upto = 41
    for round_ in range(100):
        part = page(
            shelf.reader,
            shelf.root,
            shelf.asked("word"),
            limit=3,
            clock=lambda: 0.0,
            after=after,
            known=Known(upto),
        )
        found += [hit.path for hit in part.hits]
        if part.after is None:
            break
        after = Position.parse(str(part.after))
        for number in range(5):
            shelf.write(f"new{round_}-{number}.md", "word " * (1 + number))
        if round_ < 10:
            shelf.remove(f"goes{round_}.md")
        shelf.refresh(f"goes{round_}.md", *(f"new{round_}-{number}.md" for number in range(5)))
    stayed = [path for path in found if not path.startswith("goes")]
    assert sorted(stayed) == sorted(f"{number}.md" for number in range(30))


def test_without_an_index_or_a_whole_one_a_search_is_told_so(shelf: Shelf) -> None:
    with pytest.raises(IndexUnusable):
        shelf.finds("word")
    generation = shelf.keep().generation
    empty = page(shelf.reader, shelf.root, shelf.asked("word"), limit=1, clock=lambda: 0.0)
    assert (empty.hits, empty.standing) == ((), Standing(generation, complete=False))
    shelf.write("a.md", "word")
    shelf.write("b.md", b"\xff")
    shelf.settle()
    whole = page(shelf.reader, shelf.root, shelf.asked("word"), limit=1, clock=lambda: 0.0)
    assert (len(whole.hits), whole.standing) == (1, Standing(generation, complete=True))
    assert shelf.keep().progress().indexed == 1
