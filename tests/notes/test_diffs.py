"""Diffs: a complete one reproduces the new text, by a small patch of our own, by git and by patch; all are bounded."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fsnotes.notes.diffs import MAX_CHARACTERS, MAX_LINE, Diff, diff
from fsnotes.notes.splices import Splice, apply
from tests.notes.strange_notes import notes

_HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n")
UNFINISHED = "\\ No newline at end of file\n"


def patched(data: bytes, text: str) -> bytes:
    """Apply a unified diff, strictly: every line must stand where it is said to stand, and the counts be right."""
    old = [line + b"\n" for line in data.split(b"\n")]
    old[-1] = old[-1][:-1]
    lines = re.findall(r"[^\n]*\n", text)
    assert "".join(lines) == text
    made: list[bytes] = []
    taken = 0
    while lines:
        header = _HEADER.fullmatch(lines.pop(0))
        assert header is not None
        first, gone, start, come = (int(group or 1) for group in header.groups())
        gone, come = (
            (1 if header[2] is None else int(header[2])),
            (1 if header[4] is None else int(header[4])),
        )
        first -= 1 if gone else 0
        assert first >= taken
        made += old[taken:first]
        taken = first
        assert len(made) == start - (1 if come else 0)
        seen = [0, 0]
        while lines and not lines[0].startswith("@@"):
            raw = lines.pop(0)
            line = raw[1:].encode()
            if lines and lines[0] == UNFINISHED:
                lines.pop(0)
                line = line[:-1]
            assert raw[0] in " -+"
            if raw[0] in " -":
                assert old[taken] == line
                taken += 1
                seen[0] += 1
            if raw[0] in " +":
                made.append(line)
                seen[1] += 1
        assert seen == [gone, come]
    return b"".join(made + old[taken:])


@st.composite
def edits(draw: st.DrawFn) -> tuple[bytes, list[Splice]]:
    data = draw(
        notes
        | st.lists(st.sampled_from(["a", "b", "", "c" * 3]), max_size=40).map(
            lambda found: "\n".join(found).encode()
        )
    )
    text = data.decode()
    places = sorted(
        draw(st.lists(st.integers(0, len(text)), max_size=8).filter(lambda found: len(found) % 2 == 0))
    )
    at = [len(text[:place].encode()) for place in places]
    put = st.sampled_from(
        ["", "x", "x\n", "\nx", "\n", "x\ny\n", "\r\n", "\r", "é", "a", "b\n", "\\ x\n", "@@ -1 +1 @@\n"]
    )
    return data, [
        Splice(start, end, draw(put).encode()) for start, end in zip(at[::2], at[1::2], strict=True)
    ]


@settings(deadline=None, max_examples=300)
@given(edits())
@example((b"", [Splice(0, 0, b"x\n")]))
@example((b"a\nb\n", [Splice(1, 2, b"")]))
@example((b"a", [Splice(1, 1, b"\n")]))
@example((b"a\n", [Splice(1, 2, b"")]))
@example((b"a", [Splice(1, 1, b"x"), Splice(1, 1, b"\ny\n")]))
@example((b"a\n", [Splice(2, 2, b"x"), Splice(2, 2, b"\ny\n")]))
@example((b"x\n", [Splice(0, 2, b"")]))
def test_a_complete_diff_reproduces_the_new_text(edit: tuple[bytes, list[Splice]]) -> None:
    data, splices = edit
    result = apply(data, splices)
    made = diff(data, splices, most=10**6, most_of_a_line=10**6)
    assert made.complete
    assert patched(data, made.text) == result
    assert (made.text == "") == (result == data)


@settings(deadline=None, max_examples=200)
@given(edits())
def test_a_diff_shows_three_lines_around_each_change(edit: tuple[bytes, list[Splice]]) -> None:
    data, splices = edit
    text = diff(data, splices, most=10**6, most_of_a_line=10**6).text
    for hunk in re.split(r"(?m)^@@.*\n", text)[1:]:
        signs = "".join(line[0] for line in re.findall(r"[^\n]*\n", hunk) if not line.startswith("\\"))
        assert re.fullmatch(r" {0,3}[-+]+(?: {0,6}[-+]+)* {0,3}", signs)


def run_git(folder: Path, header: str, text: str) -> None:
    # Not the repository that these tests may run in, nor what a hook of it says.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(
        ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"],
        cwd=folder, input=(header + text).encode(), check=True, capture_output=True, timeout=60,
        env={**environment, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
    )  # fmt: skip


def run_patch(folder: Path, header: str, text: str) -> None:
    subprocess.run(
        ["patch", "--binary", "--fuzz=0", "--posix", "-p1", "note.md"],
        cwd=folder, input=(header + text).encode(), check=True, capture_output=True, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize(("program", "run"), [("git", run_git), ("patch", run_patch)])
@pytest.mark.parametrize(
    ("data", "splices"),
    [
        (b"one\ntwo\nthree\n", [Splice(4, 7, b"2")]),
        (b"one\r\ntwo\r\nthree\r\n", [Splice(5, 8, b"2\r\n2b")]),
        (b"one\rtwo\rthree", [Splice(4, 7, b"2")]),
        (b"one\r\ntwo\nthree", [Splice(3, 5, b"\n")]),
        (b"one", [Splice(3, 3, b"\ntwo\n")]),
        (b"one\n", [Splice(3, 4, b"")]),
        (b"one\ntwo", [Splice(0, 4, b"")]),
        (b"one\ntwo", [Splice(0, 0, b"zero\n")]),
        (b"\xef\xbb\xbfcaf\xc3\xa9\n", [Splice(3, 3, b"- ")]),
        (b"".join(b"%d\n" % n for n in range(60)), [Splice(0, 1, b"x"), Splice(40, 43, b""), Splice(90, 93, b"y\n")]),
        (b"".join(b"%d\n" % n for n in range(20)), [Splice(0, 2, b""), Splice(14, 14, b"z\n"), Splice(50, 50, b"end")]),
    ],
)  # fmt: skip
def test_programs_that_apply_diffs_apply_ours(
    tmp_path: Path,
    data: bytes,
    splices: list[Splice],
    program: str,
    run: Callable[[Path, str, str], None],
) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    note = tmp_path / "note.md"
    note.write_bytes(data)
    run(tmp_path, "--- a/note.md\n+++ b/note.md\n", diff(data, splices).text)
    assert note.read_bytes() == apply(data, splices)


@pytest.mark.parametrize(
    ("data", "splices", "text"),
    [
        (b"a\nb\nc\n", [], ""),
        (b"a\nb\nc\n", [Splice(2, 3, b"b")], ""),
        (b"a\nb\nc\n", [Splice(2, 3, b"B")], "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"),
        (b"a\r\nb\r\n", [Splice(1, 3, b"\n")], "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n"),
        (b"a\r\nb\r\n", [Splice(6, 6, b"c\r\n")], "@@ -1,2 +1,3 @@\n a\r\n b\r\n+c\r\n"),
        (b"a\rb", [Splice(2, 3, b"c")], f"@@ -1 +1 @@\n-a\rb\n{UNFINISHED}+a\rc\n{UNFINISHED}"),
        (b"", [Splice(0, 0, b"a\nb\n")], "@@ -0,0 +1,2 @@\n+a\n+b\n"),
        (b"a\n", [Splice(0, 2, b"")], "@@ -1 +0,0 @@\n-a\n"),
        (b"a", [Splice(1, 1, b"\nb\n")], f"@@ -1 +1,2 @@\n-a\n{UNFINISHED}+a\n+b\n"),
        (b"1\n2\n3\n4\n5\n6", [Splice(8, 9, b"x")], "@@ -2,5 +2,5 @@\n 2\n 3\n 4\n-5\n+x\n 6\n" + UNFINISHED),
        (b"1\n2\n3\n4\n5", [Splice(8, 9, b"x")], f"@@ -2,4 +2,4 @@\n 2\n 3\n 4\n-5\n{UNFINISHED}+x\n{UNFINISHED}"),
    ],
)  # fmt: skip
def test_how_a_diff_looks(data: bytes, splices: list[Splice], text: str) -> None:
    assert diff(data, splices) == Diff(text, complete=True)


@pytest.mark.parametrize(("apart", "hunks"), [(6, 1), (7, 2)])
def test_changes_whose_context_touches_are_one_hunk(apart: int, hunks: int) -> None:
    data = b"a\n" + b"same\n" * apart + b"b\n"
    text = diff(data, [Splice(0, 1, b"x"), Splice(len(data) - 2, len(data) - 1, b"y")]).text
    assert text.count("@@ -") == hunks
    assert patched(data, text) == b"x\n" + b"same\n" * apart + b"y\n"


# -- bounds ----------------------------------------------------------------------------------------


def signs(text: str) -> str:
    return "".join(line[0] for line in text.splitlines())


def left_out(text: str, what: str = "line") -> int:
    return sum(int(found) for found in re.findall(rf"(?m)^\\ (\d+) {what}s? left out$", text))


def count(text: str) -> int:
    return sum(each[0] in " -+" for each in re.findall(r"[^\n]+\n", text))


def test_of_a_change_that_is_too_long_both_sides_are_shown_and_the_rest_is_counted() -> None:
    data = b"".join(b"old %d\n" % n for n in range(1000))
    new = b"".join(b"new %d\n" % n for n in range(1000))
    made = diff(data, [Splice(0, len(data), new)], most=400)
    assert not made.complete
    assert re.fullmatch(r"@-{10,}\\\+{10,}\\", signs(made.text))
    assert count(made.text) + left_out(made.text) == 2000
    assert len(made.text) <= 400 + 2 * len("\\ 1000 lines left out\n")


def test_of_many_changes_the_first_are_shown_and_the_rest_is_counted() -> None:
    data = b"".join(b"line %d\n" % n for n in range(20_000))
    starts = [data.index(b"line %d\n" % n) for n in range(0, 20_000, 20)]
    splices = [Splice(at, at + 4, b"row") for at in starts]
    made = diff(data, splices)
    assert not made.complete
    assert len(made.text) <= MAX_CHARACTERS + 100
    shown = made.text.count("@@ -")
    assert shown > 10
    assert left_out(made.text, "more change") == len(splices) - shown
    assert diff(data, splices, most=10**7).complete


def test_a_diff_that_just_fits_is_complete_and_one_character_less_is_not_enough() -> None:
    data = b"a\nb\nc\n"
    splices = [Splice(2, 3, b"B")]
    whole = diff(data, splices)
    assert diff(data, splices, most=len(whole.text)) == whole
    made = diff(data, splices, most=len(whole.text) - 1)
    assert made == Diff(whole.text.removesuffix(" c\n") + "\\ 1 line left out\n", complete=False)


@pytest.mark.parametrize(("gone", "come"), [(50, 1), (1, 50), (50, 0), (0, 50)])
def test_a_change_with_one_long_side_is_shown_in_full_where_both_sides_fit(gone: int, come: int) -> None:
    data, new = b"gone\n" * gone, b"come\n" * come
    splices = [Splice(0, len(data), new)]
    whole = diff(data, splices)
    assert whole.complete
    assert diff(data, splices, most=len(whole.text)) == whole


@pytest.mark.parametrize("letter", ["x", "é", "日", "\U0001f600"])
@pytest.mark.parametrize("at", [0, 5_000, 200_000])
def test_of_a_huge_line_the_part_that_changes_is_shown(letter: str, at: int) -> None:
    text = letter * 200_000
    data = f"above\n{text}\nbelow\n".encode()
    place = 6 + at * len(letter.encode())
    made = diff(data, [Splice(place, place, b"HERE")])
    assert not made.complete
    _, above, gone, come, below = made.text.splitlines()
    assert (above, below) == (" above", " below")
    assert "HERE" in come
    assert gone.startswith("-…" if at else "-" + letter)
    assert gone.endswith("…" if at < 200_000 else letter)
    for line in (gone, come):
        assert len(line) <= MAX_LINE + 3
        assert line[1:].replace("…", "").replace("HERE", "").strip(letter) == ""


def test_a_long_line_around_a_change_is_cut_behind() -> None:
    data = b"w" * 5_000 + b"\na\n"
    made = diff(data, [Splice(5_001, 5_002, b"b")])
    assert made.text.splitlines()[1] == " " + "w" * MAX_LINE + "…"
    assert not made.complete
    assert diff(data, [Splice(5_001, 5_002, b"b")], most_of_a_line=5_000).complete


@given(edits(), st.integers(0, 200), st.integers(1, 30))
def test_every_diff_is_bounded_and_says_that_something_is_missing(
    edit: tuple[bytes, list[Splice]], most: int, line: int
) -> None:
    data, splices = edit
    made = diff(data, splices, most=most, most_of_a_line=line)
    whole = diff(data, splices, most=10**6, most_of_a_line=10**6)
    assert made.complete == (made.text == whole.text)
    assert len(made.text) <= most + 200
    if not left_out(made.text, "more change"):
        assert count(made.text) + left_out(made.text) == count(whole.text)
