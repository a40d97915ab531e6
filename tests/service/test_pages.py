"""Listings in pages: bounded, complete, and honest about what they leave out, whatever the names are."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from fsnotes.outcomes import NotesListed
from fsnotes.service import Service
from tests.service.conftest import ALICE, Household

CHARACTERS = 40_000
"""What a client shows a model of one answer."""


def pages(service: Service, uri: str, **query: Any) -> Iterator[NotesListed]:
    """Turn all pages, each within its bound."""
    cursor = None
    for _ in range(20_000):
        page = service.list(ALICE, uri, cursor=cursor, **query)
        text = json.dumps(page.document(), ensure_ascii=False, separators=(",", ":"))
        assert len(text) < CHARACTERS
        yield page
        cursor = page.cursor
        if cursor is None:
            return
    pytest.fail("the pages never end")


def left_out(listed: list[NotesListed]) -> dict[str, int]:
    """Count what all pages together say they leave out, by reason."""
    found: dict[str, int] = {}
    for page in listed:
        for item in page.skipped:
            found[item.reason] = found.get(item.reason, 0) + item.count
    return found


@pytest.fixture(scope="module")
def ten_thousand(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A vault of 10,000 notes, made once and only read."""
    top = tmp_path_factory.mktemp("ten-thousand") / "Notes"
    for number in range(10_000):
        folder = top / f"f{number % 50:02}"
        if number < 50:
            folder.mkdir(parents=True)
        (folder / f"Note number {number:05}.md").write_text(f"# Title {number}\n")
    return str(top)


def test_ten_thousand_notes_come_in_bounded_pages_and_all_of_them_come(
    household: Household, ten_thousand: str
) -> None:
    household.vault.rmdir()
    os.symlink(ten_thousand, household.vault)
    service, uri = household.service(), household.uri
    seen: list[str] = []
    for page in pages(service, uri, recursive=True, limit=200):
        assert 0 < len(page.notes) <= 200
        seen += [note.path for note in page.notes]
    assert len(seen) == 10_000
    assert set(seen) == {f"f{number % 50:02}/Note number {number:05}.md" for number in range(10_000)}
    assert seen == sorted(seen)
    (shown,) = service.workspaces(ALICE).document()["workspaces"]
    # Counting ends after some calls, so on a slow machine the count is told as incomplete.
    assert 0 < shown["noteCount"] <= 10_000
    assert shown["noteCountComplete"] is (shown["noteCount"] == 10_000)


@pytest.mark.parametrize("sort", ["path", "size"])
@pytest.mark.parametrize("limit", [7, 200])
def test_names_that_are_not_utf8_are_reported_once_and_break_nothing(
    household: Household, sort: str, limit: int
) -> None:
    folder = os.fsencode(household.vault)
    for number in range(60):
        with open(os.path.join(folder, b"bad-\xff-%02d.md" % number), "wb"):
            pass
    os.mkdir(os.path.join(folder, b"folder-\xfe"))
    for number in range(5):
        household.write(f"good-{number}.md")
    listed = list(pages(household.service(), household.uri, recursive=True, limit=limit, sort=sort))
    assert sorted(note.path for page in listed for note in page.notes) == [
        f"good-{number}.md" for number in range(5)
    ]
    assert left_out(listed) == {"unnameable": 61}
    for page in listed:
        json.dumps(page.document()).encode("ascii")
        for item in page.skipped:
            if item.path is not None:
                item.path.encode("utf-8")


@pytest.mark.parametrize("limit", [1, 200])
def test_counts_of_what_can_not_be_shown_get_lost_on_no_page(household: Household, limit: int) -> None:
    """A deceptive name is counted and not shown, so no item of a page stands for it."""
    for number in range(4):
        (household.vault / f"a\u202e{number}.md").symlink_to("gone.md")
    for number in range(30):
        household.write(f"n{number:02}.md")
    (household.vault / "z\u200b.md").symlink_to("gone.md")
    listed = list(pages(household.service(), household.uri, limit=limit))
    assert [note.path for page in listed for note in page.notes] == [
        f"n{number:02}.md" for number in range(30)
    ]
    assert left_out(listed) == {"link": 5}


def test_counts_of_a_folder_before_others_get_lost_on_no_page(household: Household) -> None:
    folder = os.path.join(os.fsencode(household.vault), b"a")
    os.mkdir(folder)
    for number in range(75):
        with open(os.path.join(folder, b"bad-\xff-%02d.md" % number), "wb"):
            pass
    for number in range(30):
        household.write(f"b/n{number:02}.md")
    for limit in (10, 200):
        listed = list(pages(household.service(), household.uri, recursive=True, limit=limit))
        assert left_out(listed) == {"unnameable": 75}, limit
        assert sum(len(page.notes) for page in listed) == 30


@pytest.mark.parametrize("limit", [1, 2, 51])
def test_pages_end_and_tell_a_name_of_the_last_character_once(household: Household, limit: int) -> None:
    household.write("q/\U0010ffff.md")
    for number in range(3):
        household.write(f"z{number}.md")
    for number in range(60):
        with open(os.path.join(os.fsencode(household.vault), b"q", b"bad-\xff-%02d.md" % number), "wb"):
            pass
    listed = list(pages(household.service(), household.uri, recursive=True, limit=limit))
    assert [note.path for page in listed for note in page.notes] == [
        "q/\U0010ffff.md", *(f"z{number}.md" for number in range(3)),
    ]  # fmt: skip
    assert left_out(listed) == {"unnameable": 60}


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_link_or_a_full_folder_loses_no_placeholder_of_its_name(household: Household, limit: int) -> None:
    os.symlink("nowhere", household.vault / "a.md")
    household.write("b.md/n.md")
    for name in ("a.md", "b.md", "c.md"):
        household.write(f".{name}.icloud")
    for number in range(51):
        with open(os.path.join(os.fsencode(household.vault), b"b.md", b"bad-\xff-%02d.md" % number), "wb"):
            pass
    listed = list(pages(household.service(), household.uri, recursive=True, limit=limit))
    assert left_out(listed) == {"link": 1, "unnameable": 51, "not_downloaded": 3}
    assert [note.path for page in listed for note in page.notes] == ["b.md/n.md"]


def deep(household: Household, name: str, depth: int) -> str:
    """Make a note beneath *depth* folders of this *name*, which is longer than a path of the OS may be."""
    path = "/".join([name] * depth)
    here = os.open(household.vault, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    for number in range(3):
        os.close(os.open(f"n{number}.md", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)
    return path


@pytest.mark.parametrize("sort", ["path", "size"])
@pytest.mark.parametrize(
    ("name", "depth"),
    [("a" * 250, 15), ("é" * 120, 15), ("\u0001" * 200, 18), ("\U0001f600" * 60, 15), ('"\\'[0] * 200, 18)],
    ids=["ASCII", "accents", "control characters", "emoji", "quotes"],
)
def test_long_paths_have_cursors_that_come_back(
    household: Household, name: str, depth: int, sort: str
) -> None:
    path = deep(household, name, depth)
    listed = list(pages(household.service(), household.uri, recursive=True, limit=1, sort=sort))
    assert [note.path for page in listed for note in page.notes] == [
        f"{path}/n{number}.md" for number in range(3)
    ]


@pytest.mark.parametrize("limit", [1, 2])
def test_what_is_left_out_at_the_longest_path_has_cursors_that_come_back(
    household: Household, limit: int
) -> None:
    path = deep(household, "a" * 250, 15)
    here = os.open(household.vault, os.O_RDONLY | os.O_DIRECTORY)
    for step in path.split("/"):
        below = os.open(step, os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    os.mkdir("b" * 250, dir_fd=here)
    names = [
        ("b" * 250).encode() + b"/" + name
        for name in (b"c" * 252 + b".md", b"." + b"p" * 244 + b".md.icloud")
    ]
    for name in (*names, ("b" * 250).encode() + b"/" + b"\xff" * 250, b"\xff" * 250 + b".md"):
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)
    listed = list(pages(household.service(), household.uri, recursive=True, limit=limit))
    assert sum(len(page.notes) for page in listed) == 3
    assert left_out(listed) == {"too_deep": 1, "not_downloaded": 1, "unnameable": 2}


def test_pages_of_long_titles_stay_within_their_bound(household: Household) -> None:
    for number in range(300):
        household.write(f"{'p' * 200}{number:03}.md", f"# {'t' * 900}{number}\n")
    listed = list(pages(household.service(), household.uri, limit=200))
    assert sum(len(page.notes) for page in listed) == 300
    assert all(page.notes for page in listed)


def test_a_vault_that_changes_between_the_pages_shows_what_stays_once(household: Household) -> None:
    for number in range(60):
        household.write(f"n{number:02}.md")
    service, seen, cursor, turned = household.service(), [], None, 0
    while True:
        page = service.list(ALICE, household.uri, limit=10, cursor=cursor)
        seen += [note.path for note in page.notes]
        (household.vault / f"n{turned * 10 + 9:02}.md").unlink()  # where the cursor stands
        household.write(f"n00{turned}.md")  # before it
        turned += 1
        if (cursor := page.cursor) is None:
            break
    assert seen == [f"n{number:02}.md" for number in range(60)]


@pytest.mark.parametrize("sort", ["path", "modified", "size"])
def test_folders_notes_and_what_was_skipped_come_once_each(household: Household, sort: str) -> None:
    for number in range(25):
        household.write(f"n{number:02}.md")
        household.write(f"f{number:02}/inner.md")
        (household.vault / f"l{number:02}.md").symlink_to("n00.md")
    listed = list(pages(household.service(), household.uri, limit=8, sort=sort))
    assert sorted(note.path for page in listed for note in page.notes) == [f"n{n:02}.md" for n in range(25)]
    assert left_out(listed)["link"] == 25
    folders = [folder for page in listed for folder in page.folders]
    assert len(set(folders)) == len(folders)
    if sort == "path":
        assert folders == [f"f{number:02}" for number in range(25)]
    else:
        # On the first page as far as it has room; the rest is counted.
        assert len(folders) + left_out(listed).get("too_many", 0) == 25


@pytest.mark.parametrize("sort", ["path", "modified", "size"])
def test_folders_with_long_names_leave_no_note_without_a_page(household: Household, sort: str) -> None:
    """They fill the first page, by characters, before any note has its place on it."""
    for number in range(150):
        (household.vault / f"{'f' * 230}{number:03}").mkdir()
    for number in range(5):
        household.write(f"n{number}.md")
    listed = list(pages(household.service(), household.uri, limit=200, sort=sort))
    assert sorted(note.path for page in listed for note in page.notes) == [f"n{n}.md" for n in range(5)]
    assert len(listed[0].folders) > 100
