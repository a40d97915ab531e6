"""A search in bounded stretches: all notes that are meant, once each, and what could not be looked at."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fsnotes.errors import InvalidArgument, NotText, PathRefused
from fsnotes.hits import hit
from fsnotes.notes import searching, stretches
from fsnotes.notes.commands import Hit, HitLine, Searched, SearchNotes, Skipped
from fsnotes.notes.index import pieces
from fsnotes.notes.index.bounds import LOOK_SECONDS, MAX_CHARACTERS, MAX_TITLE
from fsnotes.notes.scope import Scope
from fsnotes.notes.tags import MAX_TAGS, TooManyTags
from fsnotes.pages import PAGE_CHARACTERS
from sandbox.names import ROOT, shows
from sandbox.policy import Policy
from tests.notes.conftest import Vault


def sought(
    vault: Vault, query: str, folder: str = "", *, tag: str | None = None, regex: bool = False, limit: int = 20,
    **scope: Any,
) -> tuple[list[str], dict[str, int], int]:  # fmt: skip
    """Return the paths of all stretches together, what was left out, and how many stretches there were."""
    found: list[str] = []
    skipped: dict[str, int] = {}
    after: str | None = None
    within: int | None = None
    for calls in range(1, 2000):
        part = vault.run(SearchNotes(query, folder, tag, regex, after, within, limit), **scope)
        assert len(part.hits) <= limit
        found += [hit.path for hit in part.hits]
        for item in part.skipped:
            skipped[item.reason] = skipped.get(item.reason, 0) + item.count
        after, within = part.resume, part.within
        if after is None:
            return found, skipped, calls
    raise AssertionError("the search does not end")


def part(vault: Vault, command: SearchNotes, **more: Any) -> Searched:
    return searching.search(vault.workspace.root, Scope((ROOT,)), command, **more)


def ticks(step: float) -> Iterator[float]:
    return (number * step for number in itertools.count())


def test_a_hit_has_the_title_and_the_lines_that_show_it(vault: Vault) -> None:
    vault.write("a.md", b"\xef\xbb\xbf# The\r\n\r\nword, and\r\nanother word\r\n")
    vault.write("word.md", b"nothing")
    assert vault.run(SearchNotes("word")).hits == (
        Hit("a.md", "The", (HitLine(3, "word, and"), HitLine(4, "another word"))),
        Hit("word.md", "word", ()),
    )
    assert vault.run(SearchNotes("^word|other", regex=True)).hits == (
        Hit("a.md", "The", (HitLine(3, "word, and"), HitLine(4, "another word"))),
    )


@pytest.mark.parametrize("regex", [False, True])
@pytest.mark.parametrize("filling", ["\x01", '"', "\\", "\t\x1b", "日", "a "])
@pytest.mark.parametrize("length", [90, 2_000])
def test_a_hit_is_far_smaller_than_a_page_whatever_stands_in_its_note(
    vault: Vault, regex: bool, filling: str, length: int
) -> None:
    fill = (filling * length)[:length]
    lines = [f"# {fill}{fill}", f"word {fill}{fill}", f"{fill} word {fill}", f"{fill}{fill} word"]
    vault.write("a.md", "\n".join(lines).encode())
    (found,) = vault.run(SearchNotes("word", regex=regex)).hits
    assert len(json.dumps(hit(found), ensure_ascii=False)) < PAGE_CHARACTERS / 14
    assert found.title.startswith(filling.split()[0] if shows(filling) else "a")
    assert [line.line for line in found.lines] == [2, 3, 4]
    for line in found.lines:
        assert "word" in line.excerpt
        assert line.excerpt in lines[line.line - 1]


@pytest.mark.parametrize("regex", [False, True])
def test_a_hit_shows_titles_and_lines_of_usual_length_whole(vault: Vault, regex: bool) -> None:
    title, line = "t" * MAX_TITLE, "word " + "日" * (MAX_CHARACTERS - 5)
    vault.write("a.md", f"# {title}\n{line}".encode())
    found = Hit("a.md", title, (HitLine(2, line),))
    assert vault.run(SearchNotes("word", regex=regex)).hits == (found,)


@pytest.mark.parametrize("regex", [False, True])
def test_what_cannot_be_looked_at_is_counted(vault: Vault, regex: bool) -> None:
    vault.write("a.md", b"word")
    vault.write("b.md", b"word \xff")
    vault.write("c.md", b"word" + b"x" * 1_048_576)
    vault.write("e.md", b"---\ntags: [broken\n---\nword")
    vault.build("f.md => a.md", "g.md | fifo")
    os.link(vault.disk.path("root/a.md"), vault.disk.path("outside.md"))
    found, skipped, _ = sought(vault, "word", regex=regex)
    assert found == ["e.md"]
    assert skipped == {"hard_link": 1, "not_text": 1, "too_large": 1, "link": 1, "special_file": 1}


def test_a_note_with_too_many_tags_is_counted_where_they_have_to_be_known(vault: Vault) -> None:
    vault.write("a.md", "".join(f"#t{number} " for number in range(MAX_TAGS + 1)).encode() + b"word")
    assert sought(vault, "word")[:2] == (["a.md"], {})
    assert sought(vault, "tag:t1")[:2] == ([], {"too_many": 1})


@pytest.mark.parametrize("regex", [False, True])
def test_a_search_stays_in_the_scope_and_the_folder(vault: Vault, regex: bool) -> None:
    for path in ("a/x.md", "b/x.md", "b/in/x.md", "ab/x.md", "x.md"):
        vault.write(path, b"word #t")
    assert sought(vault, "word", regex=regex, folders=("b",))[0] == ["b/in/x.md", "b/x.md"]
    assert sought(vault, "word", "b/in", regex=regex, folders=("b",))[0] == ["b/in/x.md"]
    assert sought(vault, "word", regex=regex, folders=("a", "b"), ignore=("b/in/**",))[0] == [
        "a/x.md",
        "b/x.md",
    ]
    assert sought(vault, "word", regex=regex, folders=("none",))[0] == []
    for folder in ("a", "ab", "", "b/../a"):
        if folder:
            with pytest.raises(PathRefused):
                vault.run(SearchNotes("word", folder, regex=regex), folders=("b",))


def test_a_forged_position_within_a_note_reads_none_outside(vault: Vault) -> None:
    for path in ("a/x.md", "b/x.md", "b/in/x.md", "b/.hidden.md"):
        vault.write(path, b"word")
    Path(vault.disk.path("outside.md")).write_bytes(b"word")
    for after in ("a/x.md", "../outside.md", "b/.hidden.md", "b/in", "", "/", "b\0"):
        command = SearchNotes("word", "b", None, True, after, 0)  # noqa: FBT003
        assert {hit.path for hit in vault.run(command, folders=("b",)).hits} <= {"b/in/x.md", "b/x.md"}
    command = SearchNotes("word", "b/in", None, True, "b/x.md", 0)  # noqa: FBT003
    assert vault.run(command, folders=("b",)).hits == ()


def test_stretches_add_up_to_the_whole(vault: Vault) -> None:
    vault.build(
        *(f"f{number % 7}/{number}.md: word {number % 5}\n" for number in range(stretches.NOTES + 20))
    )
    for regex in (False, True):
        found, _, calls = sought(vault, "word", regex=regex, limit=7)
        assert calls > 70
        assert len(found) == len(set(found)) == 520


def test_a_call_reads_a_bounded_number_of_bytes(vault: Vault) -> None:
    for name in ("a", "b", "c", "d"):
        vault.write(f"{name}.md", b"word\n" + b"x" * (stretches.READ_BYTES // 2))
    found = part(vault, SearchNotes("word", regex=True), clock=lambda: 0.0)
    assert ([hit.path for hit in found.hits], found.resume, found.within) == (["a.md", "b.md"], "b.md", None)


@pytest.mark.parametrize("regex", [False, True])
def test_a_call_ends_once_it_has_taken_long_and_yet_gets_on(vault: Vault, regex: bool) -> None:
    vault.build(*(f"{number:02}.md: word" for number in range(40)))
    clock = ticks(100.0)
    found = part(vault, SearchNotes("word", regex=regex), clock=lambda: next(clock))
    assert ([hit.path for hit in found.hits], found.resume) == (["00.md"], "00.md")


def test_a_long_note_is_looked_through_piece_by_piece(vault: Vault) -> None:
    vault.write("a.md", b"x y\n" * 60_000 + b"z" * 350)
    vault.write("b.md", b"z" * 350)
    pattern, clock = "[^a]{0,300}z{350}", ticks(100.0)
    command, hits, offsets = SearchNotes(pattern, regex=True), [], []
    while True:
        found = part(vault, command, clock=lambda: next(clock))
        hits += [hit.path for hit in found.hits]
        if found.resume is None:
            break
        if found.within is not None:
            assert found.resume == "a.md"
            offsets.append(found.within)
        command = SearchNotes(pattern, "", None, True, found.resume, found.within)  # noqa: FBT003
    assert hits == ["a.md", "b.md"]
    assert len(offsets) > 3
    assert offsets == sorted(set(offsets))


def test_a_note_that_goes_or_changes_while_it_is_looked_through_stops_nothing(vault: Vault) -> None:
    vault.write("a.md", b"x y\n" * 60_000)
    vault.write("b.md", b"z" * 350)
    command = SearchNotes("[^a]{0,300}z{350}", "", None, True, "a.md", 200_000)  # noqa: FBT003
    vault.write("a.md", b"short " + b"z" * 350)
    assert [hit.path for hit in vault.run(command).hits] == ["b.md"]
    vault.write("a.md", b"\xff")
    assert [hit.path for hit in vault.run(command).hits] == ["b.md"]
    os.unlink(vault.disk.path("root/a.md"))
    assert [hit.path for hit in vault.run(command).hits] == ["b.md"]


@pytest.mark.parametrize("limit", [1, 2])
def test_a_search_that_goes_on_within_a_note_finds_no_more_than_asked_for(vault: Vault, limit: int) -> None:
    for name in "abc":
        vault.write(f"{name}.md", b"some text and a word")
    found = vault.run(SearchNotes("word", "", None, True, "a.md", 10, limit))  # noqa: FBT003
    assert [hit.path for hit in found.hits] == ["a.md", "b.md"][:limit]
    assert (found.resume, found.within) == (["a.md", "b.md"][limit - 1], None)


@pytest.mark.parametrize(("error", "reason"), [(TooManyTags(), "too_many"), (NotText("a.md"), "not_text")])
@pytest.mark.parametrize("within", [None, 10])
def test_a_note_that_cannot_be_looked_into_is_counted_where_a_search_goes_on_in_it_too(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str, within: int | None
) -> None:
    for name in "ab":
        vault.write(f"{name}.md", b"some text and a word #t")
    real = pieces.has_tag

    def has_tag(data: bytes, key: str, *, path: str) -> bool:
        if path == "a.md":
            raise error
        return real(data, key, path=path)

    monkeypatch.setattr(pieces, "has_tag", has_tag)
    after = None if within is None else "a.md"
    found = vault.run(SearchNotes("word", "", "t", True, after, within))  # noqa: FBT003
    assert [hit.path for hit in found.hits] == ["b.md"]
    assert found.skipped == (Skipped(None, 1, reason),)


LARGE = b"---\nstate: done\n---\n# Title\n" + b"line of it\n" * 120_000 + b"\nneedle #home/garden\n"


@pytest.mark.parametrize(
    ("query", "tag", "regex", "found", "skipped"),
    [
        ("needle", None, False, ["a.md", "b.md"], {}),
        ("needle prop:state=done", None, False, ["a.md"], {}),
        ("nowhere", None, False, [], {}),
        ("needle tag:home", None, False, ["b.md"], {"too_large": 1}),
        ("nowhere tag:home", None, False, [], {}),
        ("needle -tag:away", None, False, ["a.md", "b.md"], {}),
        ("needle", "home", False, ["b.md"], {"too_large": 1}),
        ("nowhere", "home", False, [], {}),
        ("needle", "away", False, [], {}),
        ("^needle", None, True, ["a.md", "b.md"], {}),
        ("^needle", "home", True, ["b.md"], {"too_large": 1}),
        ("^nowhere", "home", True, [], {}),
        ("^needle", "away", True, [], {}),
    ],
)
def test_a_large_note_is_searched_but_for_its_tags_and_what_is_not_known_is_counted(
    vault: Vault, query: str, tag: str | None, regex: bool, found: list[str], skipped: dict[str, int]
) -> None:
    vault.reopen(Policy(max_file_bytes=2 << 20))
    vault.write("a.md", LARGE)
    vault.write("b.md", b"needle #home/garden")
    assert sought(vault, query, tag=tag, regex=regex)[:2] == (found, skipped)


def test_a_large_note_shows_its_title_and_lines(vault: Vault) -> None:
    vault.reopen(Policy(max_file_bytes=2 << 20))
    vault.write("a.md", LARGE)
    line = HitLine(LARGE.count(b"\n"), "needle #home/garden")
    assert vault.run(SearchNotes("needle")).hits == (Hit("a.md", "Title", (line,)),)


def test_a_large_note_that_takes_long_is_given_up_and_counted_and_others_follow(vault: Vault) -> None:
    vault.reopen(Policy(max_file_bytes=2 << 20))
    vault.write("a.md", LARGE)
    vault.write("b.md", b"needle")
    clock = ticks(LOOK_SECONDS / 3)
    first = part(vault, SearchNotes("needle"), clock=lambda: next(clock))
    assert (first.hits, first.skipped, first.resume) == ((), (Skipped(None, 1, "too_large"),), "a.md")
    assert [each.path for each in part(vault, SearchNotes("needle", after="a.md")).hits] == ["b.md"]


@pytest.mark.parametrize(
    ("query", "regex"), [("", False), ("-x", False), ("", True), ("(", True), (".{1000}", True)]
)
def test_what_is_no_query_is_refused(vault: Vault, query: str, regex: bool) -> None:
    with pytest.raises(InvalidArgument) as caught:
        vault.run(SearchNotes(query, regex=regex))
    assert caught.value.argument == "query"
