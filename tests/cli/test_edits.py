"""`edit` and `append`: where texts come from, what is shown, and that only what was asked for changes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.shell import Done, Shell, etag, refused

NOTE = b"\xef\xbb\xbf# Plan\r\n- call the plumber\r\n\r\n# Ideas\r\nnone"
EDITED = NOTE.replace(b"plumber", b"electrician")


@pytest.fixture
def plan(shell: Shell) -> Path:
    return shell.write("Projects/plan.md", NOTE)


def test_edit_replaces_a_text(shell: Shell, plan: Path) -> None:
    done = shell.here("edit", "Projects/plan", "--old", "plumber", "--new", "electrician")
    assert done == Done(0, "edited Projects/plan.md\n")
    assert plan.read_bytes() == EDITED
    again = shell.there("edit", "Projects/plan", "--old", "electrician", "--new", "electrician")
    assert again == Done(0, "Projects/plan.md is so already; nothing was changed\n")


def test_edit_as_json_is_what_an_assistant_gets(shell: Shell, plan: Path) -> None:
    words = ("edit", "Projects/plan.md", "--old", "plumber", "--new", "electrician", "--json")
    planned = shell.there(*words, "--dry-run", "--if-match", etag(NOTE)).document()
    assert plan.read_bytes() == NOTE
    assert planned == {
        "outcome": "would_change",
        "path": "Projects/plan.md",
        "etag": etag(EDITED),
        "size": len(EDITED),
        "matches": 1,
        "diff": (
            "@@ -1,5 +1,5 @@\n \ufeff# Plan\r\n-- call the plumber\r\n+- call the electrician\r\n \r\n # Ideas\r\n"
            " none\n\\ No newline at end of file\n"
        ),
    }
    assert shell.there(*words).document() == planned | {"outcome": "changed"}
    assert refused(shell.there(*words, "--if-match", etag(NOTE)), 5, "conflict")
    assert plan.read_bytes() == EDITED


def test_a_dry_run_shows_the_diff_in_a_pipe_too(shell: Shell, plan: Path) -> None:
    done = shell.here("edit", "Projects/plan", "--heading", "Ideas", "--new", "a pond", "--dry-run")
    assert done == Done(
        0,
        "would edit Projects/plan.md\n@@ -2,4 +2,4 @@\n - call the plumber\r\n \r\n # Ideas\r\n-none\n"
        "\\ No newline at end of file\n+a pond\n\\ No newline at end of file\n",
    )
    assert plan.read_bytes() == NOTE


def test_a_diff_on_a_terminal_cannot_move_it(shell: Shell, plan: Path) -> None:
    words = ("edit", "-w", str(shell.vault), "Projects/plan", "--old", "plumber", "--new", "\x1b[2J\u202e")
    with shell.on_terminal(*words, results_too=True) as terminal:
        done = terminal.end()
    assert (done.code, done.err) == (
        0,
        (
            "edited Projects/plan.md\n@@ -1,5 +1,5 @@\n \ufeff# Plan\\x0d\n-- call the plumber\\x0d\n"
            "+- call the \\x1b[2J\\u202e\\x0d\n \\x0d\n # Ideas\\x0d\n none\n\\ No newline at end of file\n"
        ),
    )


def test_texts_come_from_files_and_standard_input_with_every_byte(shell: Shell, plan: Path) -> None:
    old, new = shell.home / "old.txt", shell.home / "new.txt"
    old.write_bytes(b"- call the plumber\n")
    new.write_bytes(b"- 1\n- 2\n")
    assert shell.there("edit", "Projects/plan", "--old-file", str(old), "--new-file", str(new)).code == 0
    made = NOTE.replace(b"- call the plumber\r\n", b"- 1\r\n- 2\r\n")
    assert plan.read_bytes() == made
    assert shell.there("edit", "Projects/plan", "--old", "- 1\n", stdin=b"").code == 0
    assert plan.read_bytes() == made.replace(b"- 1\r\n", b"")
    assert shell.there("edit", "Projects/plan", "--old-file", "-", "--new", "3", stdin=b"- 2").code == 0
    assert (
        shell.there("edit", "Projects/plan", "--section", "Ideas", "--new-file", "-", stdin=b"x\n").code == 0
    )
    assert plan.read_bytes() == b"\xef\xbb\xbf# Plan\r\n3\r\n\r\n# Ideas\r\nx\r\n"


def test_a_text_that_cannot_be_had_is_an_invalid_argument(shell: Shell, plan: Path) -> None:
    (shell.home / "binary").write_bytes(b"caf\xe9")
    for words in (
        ("--old", "plumber", "--new-file", str(shell.home / "missing")),
        ("--old", "plumber", "--new-file", str(shell.home)),
        ("--old", "plumber", "--new-file", str(shell.home / "binary")),
        ("--old-file", "-", "--new-file", "-"),
        ("--old-file", "-"),
        ("--old", "x", "--old-file", "y", "--new", "z"),
        ("--new", "x"),
        ("--old", "", "--new", "x"),
        ("--old", "plumber", "--new", "x", "--expected", "0"),
        ("--old", "plumber", "--new", "x", "--expected", "many"),
        ("--old", "plumber", "--new", b"caf\xe9"),
    ):
        assert refused(
            shell.there("edit", "Projects/plan", *words, stdin=b"plumber"), 2, "invalid_argument"
        ), words
    assert refused(
        shell.there("edit", "Projects/plan", "--old", "plumber", stdin=b"\xff"), 2, "invalid_argument"
    )
    assert refused(shell.there("append", "Projects/plan", stdin=b""), 2, "invalid_argument")
    assert plan.read_bytes() == NOTE


@pytest.mark.parametrize(
    ("words", "code", "slug"),
    [
        (("edit", "nowhere", "--old", "x", "--new", "y"), 4, "not_found"),
        (("edit", "Projects/plan", "--old", "plumbers", "--new", "y"), 4, "not_found"),
        (("edit", "Projects/plan", "--old", "e", "--new", "y"), 5, "ambiguous"),
        (("edit", "Projects/plan", "--old", "e", "--new", "y", "--expected", "2"), 5, "ambiguous"),
        (("edit", "../secret", "--old", "e", "--new", "y"), 3, "not_allowed"),
        (
            ("edit", "Projects/plan", "--old", "plumber", "--new", "x" * 2_000, "--read-only"),
            3,
            "not_allowed",
        ),
        (("append", "Projects/plan", "x", "--heading", "Plans"), 4, "not_found"),
        (("append", "Projects/plan", "x", "--if-match", "stale"), 5, "conflict"),
        (("append", "Projects/plan", "x", "--dry-run", "--read-only"), 3, "not_allowed"),
    ],
)
def test_a_change_that_cannot_be_made_is_one_line_and_changes_nothing(
    shell: Shell, plan: Path, words: tuple[str, ...], code: int, slug: str
) -> None:
    assert refused(shell.there(*words), code, slug)
    assert plan.read_bytes() == NOTE


def test_append_adds_lines_of_its_own(shell: Shell, plan: Path) -> None:
    assert shell.here("append", "Projects/plan", "a pond") == Done(0, "added to Projects/plan.md\n")
    assert shell.there("append", "Projects/plan", "--heading", "Plan", "- milk").code == 0
    assert shell.there("append", "Projects/plan", "--position", "start", stdin=b"first\n").code == 0
    assert shell.there("append", "Projects/plan", "-", stdin=b"last").code == 0
    made = b"\xef\xbb\xbffirst\r\n# Plan\r\n- call the plumber\r\n- milk\r\n\r\n# Ideas\r\nnone\r\na pond\r\nlast\r\n"
    assert plan.read_bytes() == made
    done = shell.there("append", "Projects/plan", "x", "--dry-run")
    assert done.out.startswith("would add to Projects/plan.md\n@@ ")
    assert plan.read_bytes() == made


@pytest.mark.parametrize(
    "words",
    [
        ("append", "a", "TEXT"),
        ("append", "a", "TEXT", "--position", "end"),
        ("append", "--position", "end", "a", "TEXT"),
        ("append", "a", "--position", "end", "TEXT"),
        ("append", "--json", "a", "--position", "end", "TEXT"),
    ],
)
@pytest.mark.parametrize("text", ["word", "two words", "- an item", "--- rule"])
def test_the_text_may_stand_behind_options(shell: Shell, words: tuple[str, ...], text: str) -> None:
    shell.write("a.md", "")
    assert shell.there(*(text if word == "TEXT" else word for word in words)).code == 0
    assert shell.files() == {"a.md": f"{text}\n".encode()}


def test_words_too_many_and_unknown_options_are_no_text(shell: Shell) -> None:
    shell.write("a.md", "")
    for words in (
        ("a", "b", "c"),
        ("a", "b", "--position", "end", "c"),
        ("a", "--position", "end", "--unknown"),
    ):
        assert refused(shell.there("append", *words), 2, "invalid_argument")
    assert shell.there("append", "a", "--", "--unknown").code == 0
    assert shell.files() == {"a.md": b"--unknown\n"}


def test_what_could_not_be_kept_is_said_on_stderr(shell: Shell, plan: Path) -> None:
    plan.chmod(0o4640)
    done = shell.there("append", "Projects/plan", "x")
    assert done == Done(
        0, "added to Projects/plan.md\n", "fsnotes: not kept of Projects/plan.md: special mode bits\n"
    )
    assert os.stat(plan).st_mode & 0o7777 == 0o640


# -- properties ------------------------------------------------------------------------------------


def test_properties_are_set_and_unset(shell: Shell) -> None:
    note = b"\xef\xbb\xbf---\r\ntitle: x # why\r\nid: 01234\r\n---\r\nbody"
    place = shell.write("a.md", note)
    words = (
        "properties",
        "a",
        "--set",
        "tags=[a, b]",
        "--set",
        "sum=1+1=2",
        "--unset",
        "id",
        "--unset",
        "no",
    )
    said = "fsnotes: a.md has no property no\n"
    planned = shell.here(*words, "--dry-run")
    assert (planned.code, planned.err) == (0, said)
    assert planned.out.startswith("would edit a.md\n@@ -1,5 +1,6 @@\n \ufeff---\r\n title")
    assert place.read_bytes() == note
    assert shell.there(*words) == Done(0, "edited a.md\n", said)
    made = note.replace(b"id: 01234\r\n", b"tags: [a, b]\r\nsum: 1+1=2\r\n")
    assert place.read_bytes() == made
    again = shell.there("properties", "a", "--unset", "id", "--json", "--if-match", etag(made))
    assert (again.code, again.err) == (0, "fsnotes: a.md has no property id\n")
    assert json.loads(again.out) == {
        "outcome": "unchanged",
        "path": "a.md",
        "etag": etag(made),
        "size": len(made),
        "absent": ["id"],
        "diff": "",
    }


@pytest.mark.parametrize(
    ("words", "code", "slug"),
    [
        (("a",), 2, "invalid_argument"),
        (("a", "--set", "key"), 2, "invalid_argument"),
        (("a", "--set", "=value"), 2, "invalid_argument"),
        (("a", "--set", "k=[a"), 2, "invalid_argument"),
        (("a", "--set", "k=v", "--if-match", "stale"), 5, "conflict"),
        (("broken", "--set", "k=v"), 5, "invalid_yaml"),
        (("nowhere", "--unset", "k"), 4, "not_found"),
        (("../x", "--unset", "k"), 3, "not_allowed"),
        (("a", "--unset", "k", "--read-only"), 3, "not_allowed"),
    ],
)
def test_properties_that_cannot_be_set_are_one_line_and_change_nothing(
    shell: Shell, words: tuple[str, ...], code: int, slug: str
) -> None:
    shell.write("a.md", "---\nk: v\n---\n")
    shell.write("broken.md", "---\nk: [\n---\n")
    before = shell.files()
    assert refused(shell.there("properties", *words), code, slug)
    assert shell.files() == before
