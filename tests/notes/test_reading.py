"""Reading notes: exact text, ranges, pages, sections, ids."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fsnotes.errors import AmbiguousNote, InvalidArgument, NoteNotFound, NoteTooLarge, NotText, PathRefused
from fsnotes.notes.commands import NoteText, ReadNote
from fsnotes.notes.etags import etag
from fsnotes.notes.lines import Part, count_lines, cut, split_lines
from fsnotes.notes.markdown import walk
from sandbox.policy import Policy
from tests.notes.conftest import Vault

_TEXTS = st.text(alphabet="ab\n\r\u00e9\u2028\x0b\x85\U0001f600\ufeff ", max_size=40)


@settings(deadline=None)
@given(_TEXTS)
def test_lines_joined_are_the_note_and_counting_them_agrees(text: str) -> None:
    data = text.encode()
    assert b"".join(split_lines(data)) == data
    assert count_lines(data) == len(split_lines(data))


@settings(deadline=None)
@given(_TEXTS, st.integers(min_value=1, max_value=9), st.data())
@example("a\r\nb\r\n\r\n", 2, None)
@example("\r\n", 1, None)
def test_all_pages_of_a_range_joined_are_its_text(text: str, limit: int, data: st.DataObject | None) -> None:
    lines = split_lines(text.encode())
    first, last, column = 1, len(lines), 1
    if data is not None:
        first = data.draw(st.integers(1, len(lines)))
        last = data.draw(st.integers(first, len(lines)))
        column = data.draw(st.integers(1, max(1, len(lines[first - 1].decode()))))
    expected = b"".join(lines[first - 1 : last]).decode()[column - 1 :]
    pages: list[str] = []
    line: int | None = first
    while line is not None:
        part = cut(lines, first=line, last=last, column=column, limit=limit)
        assert 0 < len(part.text) <= limit or not expected
        assert part.first_line == line <= part.last_line <= last
        pages.append(part.text)
        line, column = part.next_line, part.next_column or 1
    assert "".join(pages) == expected


def test_a_page_ends_with_a_whole_line_where_it_can() -> None:
    lines = split_lines(b"one\ntwo\r\nthree, which is long\n")
    assert cut(lines, first=1, last=3, column=1, limit=9) == Part("one\ntwo\r\n", 1, 2, 3, None)
    assert cut(lines, first=1, last=3, column=1, limit=8) == Part("one\n", 1, 1, 2, None)
    assert cut(lines, first=3, last=3, column=1, limit=5) == Part("three", 3, 3, 3, 6)
    assert cut(lines, first=2, last=2, column=1, limit=4) == Part("two", 2, 2, 2, 4)


def test_a_note_is_read_exactly_as_it_is_in_the_file(vault: Vault) -> None:
    data = b"\xef\xbb\xbf---\r\ntitle: x\r\n---\r\n# Caf\xc3\xa9\rmixed\n\x00end"
    vault.write("sub/a.md", data)
    assert vault.run(ReadNote("sub/a.md")) == NoteText(
        "sub/a.md", etag(data), len(data), data.decode(), 1, 6, 6, None, None
    )


def test_an_empty_note_has_one_empty_line(vault: Vault) -> None:
    vault.write("a.md", b"")
    whole = NoteText("a.md", etag(b""), 0, "", 1, 1, 1, None, None)
    assert vault.run(ReadNote("a.md")) == whole
    assert vault.run(ReadNote("a.md", start_line=1, end_line=1, start_column=1)) == whole


@pytest.mark.parametrize(
    ("command", "text", "lines"),
    [
        (ReadNote("a.md", start_line=2), "two\n# three\nfour", (2, 4)),
        (ReadNote("a.md", end_line=2), "one\ntwo\n", (1, 2)),
        (ReadNote("a.md", start_line=2, end_line=3), "two\n# three\n", (2, 3)),
        (ReadNote("a.md", start_line=4, end_line=99), "four", (4, 4)),
        (ReadNote("a.md", start_line=4, start_column=3), "ur", (4, 4)),
        (ReadNote("a.md", start_column=3, end_line=1), "e\n", (1, 1)),
        (ReadNote("a.md", heading="three"), "# three\nfour", (3, 4)),
        (ReadNote("a.md", heading="three", start_line=4), "four", (4, 4)),
    ],
)
def test_a_part_is_named_by_lines_and_columns_of_the_whole_note(
    vault: Vault, command: ReadNote, text: str, lines: tuple[int, int]
) -> None:
    vault.write("a.md", b"one\ntwo\n# three\nfour")
    found = vault.run(command)
    assert (found.text, (found.first_line, found.last_line)) == (text, lines)
    assert (found.total_lines, found.next_line, found.next_column) == (4, None, None)


@pytest.mark.parametrize(
    ("command", "argument"),
    [
        (ReadNote("a.md", start_line=0), "startLine"),
        (ReadNote("a.md", start_line=5), "startLine"),
        (ReadNote("a.md", start_line=-1), "startLine"),
        (ReadNote("a.md", start_line=3, end_line=2), "endLine"),
        (ReadNote("a.md", end_line=0), "endLine"),
        (ReadNote("a.md", start_column=0), "startColumn"),
        (ReadNote("a.md", start_column=5), "startColumn"),
        (ReadNote("a.md", heading="three", start_line=2), "startLine"),
    ],
)
def test_a_start_outside_the_note_is_refused_with_the_argument_named(
    vault: Vault, command: ReadNote, argument: str
) -> None:
    vault.write("a.md", b"one\ntwo\n# three\nfour")
    with pytest.raises(InvalidArgument) as caught:
        vault.run(command)
    assert caught.value.argument == argument


def test_a_long_note_is_read_page_by_page(vault: Vault) -> None:
    text = "".join(f"line {i}\n" for i in range(100)) + "x" * 500
    vault.write("a.md", text.encode())
    pages: list[str] = []
    line: int | None = None
    column: int | None = None
    for _ in range(100):
        page = vault.run(ReadNote("a.md", start_line=line, start_column=column, limit=80))
        pages.append(page.text)
        line, column = page.next_line, page.next_column
        if line is None:
            break
    assert "".join(pages) == text
    assert all(len(page) <= 80 for page in pages)


def test_reading_a_whole_note_looks_for_no_headings(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    vault.write("a.md", b"# one\n")
    monkeypatch.delattr(walk._Walk, "headings")
    assert vault.run(ReadNote("a.md")).text == "# one\n"


# -- ids ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "file"),
    [
        ("a", "a.md"),
        ("a.md", "a.md"),
        ("a", "a.markdown"),
        ("a.markdown", "a.markdown"),
        ("A.MD", "A.MD"),
        ("v1.2", "v1.2.md"),
        ("Caf\u00e9", "Cafe\u0301.md"),
        ("Cafe\u0301/x", "Caf\u00e9/x.md"),
        ("a b#%20?.md", "a b#%20?.md"),
        ("\U0001f600", "\U0001f600.md"),
        ("\u202eevil", "\u202eevil.md"),
    ],
)
def test_a_note_is_found_by_its_path_with_or_without_suffix_in_any_spelling(
    vault: Vault, asked: str, file: str
) -> None:
    vault.write(file, b"x")
    assert vault.run(ReadNote(asked)).path == file


def test_both_suffixes_are_ambiguous_and_each_can_be_named(vault: Vault) -> None:
    vault.build("a.md: 1", "a.markdown: 2")
    with pytest.raises(AmbiguousNote) as caught:
        vault.run(ReadNote("a"))
    assert caught.value.paths == ("a.md", "a.markdown")
    assert vault.run(ReadNote("a.markdown")).text == "2"


def test_two_spellings_of_one_name_are_ambiguous_naming_both(vault: Vault) -> None:
    vault.build("Caf\u00e9.md: 1", "Cafe\u0301.md: 2")
    for asked in ("Caf\u00e9", "Cafe\u0301.md"):
        with pytest.raises(AmbiguousNote) as caught:
            vault.run(ReadNote(asked))
        assert set(caught.value.paths) == {"Caf\u00e9.md", "Cafe\u0301.md"}


@pytest.mark.parametrize(
    "asked",
    ["/a.md", "../a.md", "./a.md", "sub/../a.md", "a\\b.md", "..", "/etc/passwd", "sub/..", "\\\\host\\a"],
)
def test_a_path_that_asks_for_something_outside_is_not_allowed(vault: Vault, asked: str) -> None:
    vault.build("a.md: x", "sub/b.md: y")
    with pytest.raises(PathRefused):
        vault.run(ReadNote(asked))


@pytest.mark.parametrize("asked", ["", "a//b.md", "sub/", "a\0b.md", "\ud800.md", "x" * 300])
def test_a_path_that_is_none_is_an_invalid_argument(vault: Vault, asked: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        vault.run(ReadNote(asked))
    assert caught.value.argument == "path"


@pytest.mark.parametrize(
    "asked", [".obsidian/a.md", ".a.md", "sub/.git/a", ".trash/x/a.md", "Archive/a", "Archive/none"]
)
def test_a_hidden_or_ignored_path_is_not_allowed_existing_or_not(vault: Vault, asked: str) -> None:
    vault.build(".obsidian/a.md: x", "Archive/a.md: x")
    with pytest.raises(PathRefused):
        vault.run(ReadNote(asked), ignore=("Archive/**",))


def test_a_path_outside_the_granted_folder_is_not_allowed_existing_or_not(vault: Vault) -> None:
    vault.build("Work/a.md: in", "Workshop/a.md: out", "b.md: out")
    assert vault.run(ReadNote("Work/a"), folders=("Work",)).text == "in"
    for asked in ("Workshop/a", "b", "none", "Work.md"):
        with pytest.raises(PathRefused):
            vault.run(ReadNote(asked), folders=("Work",))


def test_what_is_not_there_is_not_found(vault: Vault) -> None:
    vault.build("a.md: x", "sub/", "b.txt: x")
    for asked in ("none", "a.md/b", "sub", "b.txt", "A.md"):
        with pytest.raises(NoteNotFound) as caught:
            vault.run(ReadNote(asked))
        assert (caught.value.what, caught.value.candidates) == ("note", ())


def test_links_and_special_files_are_not_allowed_and_never_opened(vault: Vault) -> None:
    vault.disk.build("secret.md: secret")
    vault.build("x.md: x", "link.md => ../secret.md", "within.md => x.md", "folder => ..", "pipe.md | fifo")
    vault.build("dir.md/")
    for asked in ("link", "within", "folder/secret", "pipe", "dir.md"):
        with pytest.raises(PathRefused):
            vault.run(ReadNote(asked))


def test_a_hard_link_is_not_allowed(vault: Vault) -> None:
    vault.disk.build("secret.md: secret", "root/hard.md == secret.md")
    with pytest.raises(PathRefused):
        vault.run(ReadNote("hard"))


def test_bytes_that_are_not_text_and_notes_that_are_too_large_say_so(vault: Vault) -> None:
    vault.reopen(Policy(max_file_bytes=10))
    vault.write("a.md", b"caf\xe9")
    vault.write("b.md", b"x" * 11)
    vault.write("c.md", b"x" * 10)
    with pytest.raises(NotText):
        vault.run(ReadNote("a"))
    with pytest.raises(NoteTooLarge) as caught:
        vault.run(ReadNote("b"))
    assert (caught.value.path, caught.value.limit) == ("b.md", 10)
    assert vault.run(ReadNote("c")).size == 10
