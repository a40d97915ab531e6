"""How the index becomes equal to the notes: what is read, in which order, and what is not."""

from __future__ import annotations

import itertools
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from fsnotes.notes import stretches, tagging
from fsnotes.notes.commands import CountTags, Skipped
from fsnotes.notes.index import bounds, building, keeping
from fsnotes.notes.index.keeping import Keeper, Progress
from fsnotes.notes.scope import Scope
from sandbox.names import ROOT, RelPath
from sandbox.root import Content, Root
from tests.notes.index.shelves import BOOT, OLD, Shelf, is_whole_file


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the notes that are read, in order."""
    seen: list[str] = []
    read = Root.read

    def spy(root: Root, path: RelPath) -> Content:
        seen.append(str(path))
        return read(root, path)

    monkeypatch.setattr(Root, "read", spy)
    return seen


def taken(reads: list[str]) -> list[str]:
    found = reads[:]
    reads.clear()
    return found


def rows(shelf: Shelf, sql: str) -> list[tuple[object, ...]]:
    with shelf.reader.view() as view:
        return view.rows(sql)


def test_notes_are_read_from_the_oldest_to_the_newest(shelf: Shelf, reads: list[str]) -> None:
    for number, path in enumerate(["b.md", "a/c.md", "a.md", "z/a.md"]):
        shelf.write(path, "word", mtime=OLD + (number * 7 % 4) * 10**9)
    assert shelf.settle() == Progress("ready", 4, 0, (), complete=True, idle=False, notes=4)
    assert taken(reads) == ["b.md", "z/a.md", "a.md", "a/c.md"]
    assert [path for (path,) in rows(shelf, "SELECT path FROM docs ORDER BY id")] == [
        "b.md",
        "z/a.md",
        "a.md",
        "a/c.md",
    ]


def test_what_has_not_changed_is_not_read_again(shelf: Shelf, reads: list[str]) -> None:
    shelf.write("a.md", "word")
    shelf.write("b/c.md", "word")
    shelf.settle()
    taken(reads)
    shelf.look_again()
    shelf.shut()
    shelf.settle()
    shelf.write("b/c.md", "other")
    shelf.look_again()
    assert taken(reads) == ["b/c.md"]


def test_a_note_that_was_read_in_the_tick_it_was_written_in_is_read_again(
    shelf: Shelf, reads: list[str]
) -> None:
    """Else a second write of the same size, within that tick, would never be seen."""
    shelf.vault = shelf.vault._replace(now=lambda: OLD + 1_000_000_000)
    shelf.write("a.md", "first", mtime=OLD)
    shelf.settle()
    shelf.write("a.md", "later", mtime=OLD)
    shelf.look_again()
    assert taken(reads) == ["a.md", "a.md"]
    assert shelf.finds("later") == ["a.md"]
    shelf.shut()
    shelf.vault = shelf.vault._replace(now=lambda: OLD + 60_000_000_000)
    shelf.settle()
    taken(reads)
    shelf.look_again()
    assert taken(reads) == []


@pytest.mark.parametrize("how", ["told", "found", "restart"])
def test_a_renamed_note_and_a_renamed_folder_are_not_read_again(
    shelf: Shelf, reads: list[str], how: str
) -> None:
    shelf.write("one.md", "word one")
    for number in range(5):
        shelf.write(f"old/sub/{number}.md", f"word w{number}")
    shelf.settle()
    taken(reads)
    shelf.rename("one.md", "uno.md")
    shelf.rename("old", "new/place")
    match how:
        case "told":
            shelf.refresh("one.md", "uno.md", "old", "new/place")
            shelf.settle()
        case "found":
            shelf.look_again()
        case _:
            shelf.shut()
            shelf.settle()
    assert taken(reads) == []
    assert shelf.finds("one") == ["uno.md"]
    assert shelf.finds("path:place w3") == ["new/place/sub/3.md"]
    assert shelf.finds("path:old") == []
    assert sorted(path for (path,) in rows(shelf, "SELECT path FROM docs")) == shelf.paths()


def test_two_notes_that_changed_places_are_both_found(shelf: Shelf) -> None:
    shelf.write("a.md", "first")
    shelf.write("b.md", "second")
    shelf.settle()
    shelf.rename("a.md", "c.md")
    shelf.rename("b.md", "a.md")
    shelf.rename("c.md", "b.md")
    shelf.look_again()
    assert (shelf.finds("first"), shelf.finds("second")) == (["b.md"], ["a.md"])


def test_a_copy_is_no_rename(shelf: Shelf) -> None:
    shelf.write("a.md", "word")
    shelf.settle()
    os.link(shelf.vault_path / "a.md", shelf.vault_path / "b.md")
    shelf.look_again()
    assert shelf.finds("word") == [], "files with two names are not served"
    (shelf.vault_path / "b.md").unlink()
    shelf.write("b.md", "word")
    shelf.look_again()
    assert sorted(shelf.finds("word")) == ["a.md", "b.md"]


def test_renamed_notes_are_read_again_in_idle_time_once_they_are_many(
    shelf: Shelf, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "MOST_MOVED", 3)
    for number in range(8):
        shelf.write(f"a/{number}.md", "word")
    shelf.settle(idle=True)
    taken(reads)
    shelf.rename("a", "b")
    shelf.look_again()
    assert taken(reads) == []
    shelf.settle(idle=True)
    assert len(taken(reads)) >= 5
    assert sorted(shelf.finds("word b")) == shelf.paths()


def test_what_is_told_of_is_visible_at_once(shelf: Shelf) -> None:
    shelf.write("a.md", "first")
    shelf.settle()
    shelf.write("b.md", "second")
    shelf.write("a.md", "third")
    assert shelf.keep().refresh(["b.md", "a.md"]) == ()
    assert (shelf.finds("second"), shelf.finds("third"), shelf.finds("first")) == (["b.md"], ["a.md"], [])
    shelf.remove("b.md")
    assert shelf.keep().refresh(["b.md"]) == ()
    assert rows(shelf, "SELECT path FROM docs") == [("a.md",)]


def test_what_cannot_be_read_is_counted_and_left_out(shelf: Shelf) -> None:
    shelf.write("text.md", "word")
    shelf.write("binary.md", b"word \xff")
    shelf.write("large.md", "word " * 300_000)
    shelf.write(".hidden.md", "word")
    shelf.write("not-a-note.txt", "word")
    (shelf.vault_path / "link.md").symlink_to("text.md")
    progress = shelf.settle()
    assert progress.indexed == 1
    assert progress.left_out == (Skipped("large.md", 1, "too_large"), Skipped("link.md", 1, "link"))
    assert shelf.finds("word") == ["text.md"]
    shelf.write("binary.md", "word")
    shelf.write("text.md", b"\xff")
    shelf.write("large.md", "word")
    progress = shelf.look_again()
    assert (progress.indexed, progress.left_out) == (2, (Skipped("link.md", 1, "link"),))
    assert sorted(shelf.finds("word")) == ["binary.md", "large.md"]


def test_a_note_with_more_tags_than_it_may_have_is_found_by_its_words(shelf: Shelf) -> None:
    shelf.write("many.md", "word " + " ".join(f"#t{number}" for number in range(2_500)))
    shelf.write("few.md", "word #t1")
    shelf.settle()
    assert sorted(shelf.finds("word")) == ["few.md", "many.md"]
    assert shelf.finds("tag:t1") == ["few.md"]


def test_a_binary_note_is_not_read_again(shelf: Shelf, reads: list[str]) -> None:
    shelf.write("binary.md", b"\xff")
    shelf.settle()
    taken(reads)
    shelf.look_again()
    assert taken(reads) == []


def test_ignored_notes_are_not_indexed_and_forgotten_when_they_become_so(shelf: Shelf) -> None:
    shelf.write("a/1.md", "word")
    shelf.write("b/2.md", "word")
    shelf.settle()
    shelf.shut()
    shelf.vault = shelf.vault._replace(scope=Scope((ROOT,), ("a/**",)))
    shelf.settle()
    assert rows(shelf, "SELECT path FROM docs") == [("b/2.md",)]
    shelf.refresh("a/1.md")
    assert rows(shelf, "SELECT path FROM docs") == [("b/2.md",)]


def test_a_survey_of_a_folder_forgets_nothing_outside_of_it(shelf: Shelf) -> None:
    for path in ("a/1.md", "a/b/2.md", "ab/3.md", "4.md"):
        shelf.write(path, "word")
    shelf.settle()
    for path in ("a/1.md", "ab/3.md"):
        shelf.remove(path)
    shelf.look_again("a")
    assert sorted(path for (path,) in rows(shelf, "SELECT path FROM docs")) == ["4.md", "a/b/2.md", "ab/3.md"]
    shelf.look_again("none")
    shelf.look_again()
    assert sorted(path for (path,) in rows(shelf, "SELECT path FROM docs")) == ["4.md", "a/b/2.md"]


@pytest.mark.parametrize("pieces", [1, 2, 3])
def test_calls_are_short_and_changes_between_them_are_not_lost(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, pieces: int
) -> None:
    """Notes come, go, change and move while the index is being built; nobody tells of it until the end."""
    monkeypatch.setattr(building, "COMMIT_NOTES", 40)
    for number in range(120):
        shelf.write(f"f{number % 5}/{number}.md", f"word w{number}")
    ticks = itertools.count()
    shelf.vault = shelf.vault._replace(clock=lambda: next(ticks) * bounds.CALL_SECONDS / pieces)
    keeper = shelf.keep()
    seen: list[Progress] = []
    for call in itertools.count():
        progress = keeper.step()
        seen.append(progress)
        if progress.phase == "ready":
            break
        match call % 5:
            case 0:
                shelf.write(f"new/{call}.md", "word new")
                keeper.refresh([f"new/{call}.md"])
            case 1:
                shelf.remove(shelf.paths()[call])
            case 2:
                shelf.write(shelf.paths()[-call - 1], "word changed")
            case 3:
                shelf.rename(shelf.paths()[call], f"moved/{call}.md")
    assert len(seen) > 5
    assert {progress.phase for progress in seen} >= {"building", "ready"}
    assert [progress.complete for progress in seen] == [False] * (len(seen) - 1) + [True]
    shelf.look_again()
    assert sorted(shelf.finds("word")) == shelf.paths()
    assert sorted(path for (path,) in rows(shelf, "SELECT path FROM docs")) == shelf.paths()


def test_refreshing_is_cut_by_time_and_says_what_is_left(shelf: Shelf) -> None:
    shelf.settle()
    for number in range(4):
        shelf.write(f"{number}.md", "word")
    ticks = itertools.count()
    shelf.keep()._vault = shelf.vault._replace(clock=lambda: float(next(ticks)))
    left = shelf.keep().refresh(["0.md", "1.md", "2.md", "3.md", "none.md"])
    assert left == ("1.md", "2.md", "3.md", "none.md")
    assert shelf.finds("word") == ["0.md"]


def test_a_worn_index_is_made_anew_beside_itself_and_searches_go_on(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "LEAST_DEAD", 20)
    for number in range(40):
        shelf.write(f"{number}.md", f"word w{number}")
    shelf.settle(idle=True)
    generation = shelf.keep().generation
    for number in range(25):
        shelf.write(f"{number}.md", f"word changed c{number}")
        shelf.refresh(f"{number}.md")
    ticks = itertools.count()
    shelf.keep()._vault = shelf.vault._replace(clock=lambda: next(ticks) * bounds.CALL_SECONDS / 2)
    changed = 0
    while not shelf.keep().step().idle:
        assert sorted(shelf.finds("word")) == shelf.paths()
        if shelf.keep()._next is not None and changed < 3:
            # A change during it is in both.
            shelf.write(f"late/{changed}.md", "word late")
            shelf.rename(f"{changed}.md", f"late/renamed {changed}.md")
            shelf.refresh(f"late/{changed}.md", f"{changed}.md", f"late/renamed {changed}.md")
            changed += 1
    assert changed > 0
    assert shelf.keep().generation != generation
    assert shelf.keep()._filling.store.counts() == (40 + changed, 0, 0)
    assert sorted(shelf.finds("word")) == shelf.paths()
    assert shelf.finds("c24") == ["24.md"]
    assert [path.name for path in shelf.index_path.iterdir() if path.name.startswith("search-next")] == []
    assert is_whole_file(shelf)


def test_an_index_of_few_large_notes_that_are_saved_often_is_made_anew_before_it_grows_far(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "SPARE_BYTES", 1 << 20)
    monkeypatch.setattr(keeping, "LOOK_BYTES", 1 << 16)
    file = shelf.index_path / "search.sqlite3"
    shelf.write("small.md", "word")
    sizes, generations = [], set()
    for turn in range(30):
        shelf.write("large.md", "word " + " ".join(f"w{turn}x{number}" for number in range(20_000)))
        shelf.refresh("large.md")
        shelf.settle(idle=True)
        sizes.append(file.stat().st_size)
        generations.add(shelf.keep().generation)
    assert max(sizes) < 4 << 20, "an older text is no more than a few times there"
    assert len(generations) > 1
    assert sorted(shelf.finds("word")) == ["large.md", "small.md"]
    assert shelf.finds("w29x7") == ["large.md"]
    assert shelf.finds("w3x7") == []


def test_an_index_that_is_as_large_as_its_notes_make_it_stays_as_it_is(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "SPARE_BYTES", 0)
    monkeypatch.setattr(keeping, "LOOK_BYTES", 0)
    shelf.write("gone.md", "word")
    for number in range(5):
        shelf.write(f"{number}.md", " ".join(f"w{number}x{other}" for other in range(5_000)))
    shelf.settle(idle=True)
    generation = shelf.keep().generation
    shelf.remove("gone.md")
    shelf.refresh("gone.md")
    shelf.settle(idle=True)
    assert shelf.keep().generation == generation


def test_a_file_that_was_being_made_beside_the_index_is_removed_at_the_next_start(shelf: Shelf) -> None:
    (shelf.index_path / "search-next.sqlite3").write_text("half")
    shelf.settle()
    assert not (shelf.index_path / "search-next.sqlite3").exists()


def test_links_tags_and_headings_are_tables_that_follow_the_notes(shelf: Shelf) -> None:
    shelf.write("a.md", "# T\n\n## *U*\n\n[[x/B|b]] [c](c%20d.md#e) [[B]] #Tag/sub #tag\n")
    shelf.settle()
    assert rows(shelf, "SELECT stem FROM links") == [("b",), ("c d",)]
    assert rows(shelf, "SELECT tag, name, uses FROM tags") == [("tag", "Tag", 2), ("tag/sub", "Tag/sub", 1)]
    held = rows(shelf, "SELECT title, held FROM docs")
    assert held[0][0] == "T"
    assert json.loads(str(held[0][1]))[2] == [[1, 1, "T"], [2, 3, "*U*"]]
    shelf.write("a.md", "[[b]]")
    shelf.refresh("a.md")
    assert rows(shelf, "SELECT stem FROM links") == [("b",)]
    assert rows(shelf, "SELECT * FROM tags") == []
    shelf.remove("a.md")
    shelf.refresh("a.md")
    assert rows(shelf, "SELECT * FROM links") == rows(shelf, "SELECT * FROM docs") == []


def test_a_note_of_a_megabyte_on_one_line_and_deep_folders_are_indexed(shelf: Shelf) -> None:
    shelf.write("big.md", "lorem ipsum " * 87_000 + "needle")
    deep = "/".join(["d"] * 60) + "/deep.md"
    shelf.write(deep, "word")
    place = shelf.vault_path / "e"
    for _ in range(200):
        place = place / "e"
    os.makedirs(place)
    (place / "too-deep.md").write_text("word")
    progress = shelf.settle()
    assert progress.indexed == 2
    assert [(item.count, item.reason) for item in progress.left_out] == [(1, "too_deep")]
    (hit,) = shelf.hits("needle")
    assert (hit.path, len(hit.lines), len(hit.lines[0].text) <= 200) == ("big.md", 1, True)
    assert "needle" in hit.lines[0].text
    assert shelf.finds("word", folder="/".join(["d"] * 30)) == [deep]


def test_an_empty_vault_and_one_that_became_empty_are_ready(shelf: Shelf) -> None:
    assert shelf.settle() == Progress("ready", 0, 0, (), complete=True, idle=False, notes=0)
    shelf.write("a.md", "word")
    shelf.look_again()
    shelf.remove("a.md")
    assert shelf.look_again().indexed == 0


def test_strange_numbers_of_files_are_kept(tmp_path: Path) -> None:
    with Shelf(tmp_path) as shelf:
        shelf.write("before.md", "word", mtime=-(2**40))
        shelf.write("after.md", "word", mtime=2**62)
        shelf.settle()
        assert len(shelf.finds("word")) == 2
        assert isinstance(shelf.keep(), Keeper)
        assert shelf.boot == BOOT


def test_the_folder_of_the_index_may_have_any_name(tmp_path: Path) -> None:
    with Shelf(tmp_path / "a b?c=d#e%41é&mode=ro") as shelf:
        shelf.write("a.md", "word")
        shelf.settle()
        assert shelf.finds("word") == ["a.md"]
        assert [path.name for path in shelf.index_path.iterdir() if path.suffix == ".sqlite3"] == [
            "search.sqlite3"
        ]


def test_a_note_that_moves_to_where_a_survey_has_been_is_not_forgotten(shelf: Shelf) -> None:
    for number in range(60):
        shelf.write(f"{number:02d}.md", f"word w{number}")
    shelf.settle()
    ticks = itertools.count()
    shelf.keep()._filling.vault = shelf.vault._replace(clock=lambda: next(ticks) * bounds.CALL_SECONDS)
    shelf.keep().look_again()
    assert shelf.keep().step().phase == "surveying"
    shelf.rename("59.md", "00a.md")
    shelf.refresh("59.md", "00a.md")
    shelf.keep()._filling.vault = shelf.vault
    shelf.settle()
    assert shelf.finds("w59") == ["00a.md"]


def test_tags_are_counted_once_however_often_a_call_ends_among_known_notes(shelf: Shelf) -> None:
    for number in range(100):
        shelf.write(f"{number:03}.md", f"#all #t{number}" + (" [" if number % 9 == 0 else ""))
    shelf.settle()
    for number in range(0, 100, 7):
        shelf.write(f"{number:03}.md", f"#all #t{number} #new")
    found: Counter[str] = Counter()
    after: str | None = None
    calls = 0
    while True:
        ticks = itertools.count()
        part = tagging.count(
            shelf.root,
            Scope((ROOT,)),
            CountTags("", after),
            reader=shelf.reader,
            clock=lambda: next(ticks) * stretches.CALL_SECONDS / 15,  # noqa: B023 - called at once
        )
        calls += 1
        found.update({tag.tag: tag.count for tag in part.tags})
        after = part.resume
        if after is None:
            break
    assert found == {"all": 100, "new": 15} | {f"t{number}": 1 for number in range(100)}
    assert calls > 3


def test_half_a_character_in_a_title_is_none(shelf: Shelf) -> None:
    shelf.write("half.md", '---\ntitle: "a\\ud800b"\ntags: ["t\\ud800u"]\nk: "v\\udfff"\n---\nword')
    assert shelf.settle().indexed == 1
    assert [hit.title for hit in shelf.hits("word")] == ["a\ufffdb"]


def test_a_renamed_folder_of_notes_that_are_no_text_leaves_nothing_to_do(shelf: Shelf) -> None:
    for number in range(250):
        shelf.write(f"old/{number}.md", b"\xff")
    shelf.settle()
    os.rename(shelf.vault_path / "old", shelf.vault_path / "new")
    shelf.look_again()
    assert any(shelf.keep().step().idle for _ in range(50))
    assert rows(shelf, "SELECT count(*) FROM masked") == [(0,)]


def test_a_note_that_is_read_again_and_is_the_same_keeps_its_id(shelf: Shelf) -> None:
    for number in range(10):
        (shelf.vault_path / f"{number}.md").write_text("word")  # just now, so nobody is sure
    shelf.settle()
    before = rows(shelf, "SELECT path, id FROM docs ORDER BY path")
    for path in shelf.vault_path.iterdir():
        os.utime(path, ns=(OLD, OLD))
    shelf.look_again()
    assert rows(shelf, "SELECT path, id FROM docs ORDER BY path") == before


def test_an_index_may_be_removed_any_number_of_times(shelf: Shelf) -> None:
    for number in range(2 * keeping.MAX_RENEWALS):
        shelf.write(f"{number}.md", "word")
        assert shelf.look_again().indexed == number + 1
        shelf.file.unlink()
        assert shelf.look_again().indexed == number + 1
