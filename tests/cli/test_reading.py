"""`read`: every byte into a pipe, nothing dangerous onto a terminal."""

from __future__ import annotations

import os
import subprocess
import time
from typing import Any

import pytest

from fsnotes.service import READ_CHARACTERS, Service
from tests.cli.shell import FSNOTES, SECONDS, Done, Shell, etag, refused

LONG = "".join(f"line {number} of this note, äöü\r\n" for number in range(4000))
BYTES = {
    "empty": b"",
    "no final newline": b"# a\nb",
    "only line ends": b"\r\n\n\r\r\n",
    "crlf and mixed ends": b"a\r\nb\nc\rd\r\n\x0ce\x85\xc2\x85".replace(b"\x85", b"", 1),
    "byte order mark": b"\xef\xbb\xbf---\r\ntitle: x\r\n---\r\nb\r\n",
    "controls and NUL": b"a\x00\x1b[31m\x7f\xe2\x80\xae\n",
    "many answers": LONG.encode(),
    "one long line": ("ä" * 90_000 + "\r\nz").encode(),
    "a line end at the cut": b"a" * (READ_CHARACTERS - 1) + b"\r\n" + b"b" * READ_CHARACTERS,
}


@pytest.mark.parametrize("data", BYTES.values(), ids=BYTES.keys())
def test_read_gives_every_byte_into_a_pipe(shell: Shell, data: bytes) -> None:
    shell.write("Projects/note.md", data)
    how = shell.here if len(data) > READ_CHARACTERS or not data else shell.there
    assert how("read", "Projects/note") == Done(0, os.fsdecode(data))


def test_read_as_json_has_the_whole_text_and_where_it_is_from(shell: Shell) -> None:
    shell.write("note.md", LONG)
    assert shell.here("read", "note.md", "--json").document() == {
        "path": "note.md",
        "etag": etag(LONG.encode()),
        "startLine": 1,
        "endLine": 4000,
        "totalLines": 4000,
        "text": LONG,
    }


def test_read_takes_lines(shell: Shell) -> None:
    shell.write("note.md", "1\n2\r\n3\n4")
    assert shell.there("read", "note", "--start-line", "2", "--end-line", "3") == Done(0, "2\r\n3\n")
    assert shell.there("read", "note", "--start-line", "4") == Done(0, "4")
    assert refused(shell.there("read", "note", "--start-line", "5"), 2, "invalid_argument")
    assert refused(shell.there("read", "note", "--start-line", "0"), 2, "invalid_argument")


def test_read_takes_a_section_however_many_answers_it_needs(shell: Shell) -> None:
    section = f"## Log\r\n{LONG}### deeper\n{'x' * 50_000}\n"
    shell.write("note.md", f"# Top\n{section}## After\nz\n")
    assert shell.here("read", "note", "--section", "Log") == Done(0, section)
    document = shell.here("read", "note", "--heading", "log", "--json").document()
    assert document == {
        "path": "note.md",
        "etag": document["etag"],
        "startLine": 2,
        "endLine": 4004,
        "totalLines": 4006,
        "text": section,
    }
    assert refused(shell.there("read", "note", "--section", "Lgo"), 4, "not_found")


def test_read_shows_control_characters_on_a_terminal(shell: Shell) -> None:
    shell.write("note.md", b"\xef\xbb\xbfa\x1b[31mb\x07\tc\xe2\x80\xaed\xc2\x9b\r\nend")
    with shell.on_terminal("read", "note", "-w", str(shell.vault), results_too=True) as terminal:
        assert terminal.end() == Done(0, "", "\ufeffa\\x1b[31mb\\x07\tc\\u202ed\\x9b\nend\n")


def test_read_of_a_note_that_is_no_text_is_refused(shell: Shell) -> None:
    shell.write("note.md", b"caf\xe9\n")
    assert refused(shell.here("read", "note"), 6, "not_text")
    assert refused(shell.there("read", "note", "--json"), 6, "not_text")


@pytest.mark.parametrize("changed", [LONG.swapcase().encode(), b"short", b"\xff" * 90_000, None])
def test_read_of_a_note_that_changes_in_between_is_a_conflict_and_never_a_mixture(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, changed: bytes | None
) -> None:
    """The note is replaced, or removed, between the first answer and the second."""
    note = shell.write("note.md", LONG)
    read = Service.read

    def then_changed(*arguments: Any, **named: Any) -> Any:
        part = read(*arguments, **named)
        note.unlink(missing_ok=True) if changed is None else note.write_bytes(changed)
        return part

    monkeypatch.setattr(Service, "read", then_changed)
    assert refused(shell.there("read", "note"), 5, "conflict")


def test_a_reader_that_has_enough_ends_the_command_in_silence(shell: Shell) -> None:
    """As `| head -c 1`: the pipe is closed while most of the text is still to come."""
    shell.write("note.md", LONG * 5)
    with subprocess.Popen(
        [*FSNOTES, "read", "note", "-w", str(shell.vault)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=shell.environ(),
        cwd=shell.home,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1) == b"l"
        process.stdout.close()
        assert (process.stderr.read(), process.wait(timeout=SECONDS)) == (b"", 0)


def test_a_reader_that_is_gone_from_the_start_ends_the_command_in_silence(shell: Shell) -> None:
    shell.write("a.md")
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        done = subprocess.run(
            [*FSNOTES, "list", "-w", str(shell.vault)],
            stdout=theirs,
            stderr=subprocess.PIPE,
            env=shell.environ(),
            timeout=SECONDS,
            check=False,
        )
    finally:
        os.close(theirs)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_fifo_with_the_name_of_a_note_is_refused_at_once(shell: Shell) -> None:
    os.mkfifo(shell.vault / "note.md")
    started = time.monotonic()
    assert refused(shell.here("read", "note"), 3, "not_allowed")
    assert time.monotonic() - started < 5
