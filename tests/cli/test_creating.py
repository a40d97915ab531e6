"""`create`: the bytes of standard input, never over anything."""

from __future__ import annotations

import os
import subprocess

import pytest

from fsnotes.calls import local_principal
from tests.cli.shell import FSNOTES, SECONDS, Done, Shell, etag, refused

TEXTS = [b"", b"\r\na\rb\n", b"\xef\xbb\xbfx", b"no end", "日本 \u202e\x00\x1b".encode()]


@pytest.mark.parametrize("data", TEXTS)
def test_create_writes_every_byte_of_standard_input(shell: Shell, data: bytes) -> None:
    assert shell.here("create", "Projects/new", stdin=data) == Done(0, "created Projects/new.md\n")
    assert shell.files() == {"Projects/new.md": data}


def test_create_as_json(shell: Shell) -> None:
    done = shell.here("create", "new.markdown", "--content", "ä\n", "--json", stdin=b"not this")
    assert done.document() == {"path": "new.markdown", "etag": etag("ä\n".encode()), "size": 3}
    assert shell.files() == {"new.markdown": "ä\n".encode()}


def test_create_never_overwrites(shell: Shell) -> None:
    shell.write("new.md", "old")
    assert refused(shell.here("create", "new", stdin=b"text"), 5, "exists")
    assert shell.files() == {"new.md": b"old"}


def test_create_refuses_standard_input_that_is_no_text(shell: Shell) -> None:
    assert refused(shell.here("create", "new", stdin=b"caf\xe9"), 2, "invalid_argument")
    assert refused(shell.there("create", "new", "--content", b"caf\xe9"), 2, "invalid_argument")
    assert refused(shell.there("create", b"caf\xe9", stdin=b"x"), 2, "invalid_argument")
    assert shell.files() == {}


def test_create_takes_as_much_as_a_note_may_have_and_not_a_byte_more(shell: Shell) -> None:
    shell.configure(
        f"[[workspace]]\nname = 'n'\npath = '{shell.vault}'\nmax_note_bytes = 1000\n"
        f"[[grant]]\nprincipal = '{local_principal().name}'\nworkspace = 'n'\nallow = ['write']\n"
    )
    where = ("-w", str(shell.vault))
    assert refused(shell.call("create", "new", *where, stdin=b"x" * 1001), 6, "too_large")
    assert refused(shell.call("create", "new", *where, "--content", "x" * 1001), 6, "too_large")
    assert shell.files() == {}
    assert shell.call("create", "new", *where, stdin=b"x" * 1000) == Done(0, "created new.md\n")


def test_create_does_not_swallow_an_endless_input(shell: Shell) -> None:
    with open("/dev/zero", "rb") as endless:
        done = subprocess.run(
            [*FSNOTES, "create", "new", "-w", str(shell.vault)],
            stdin=endless,
            capture_output=True,
            env=shell.environ(),
            timeout=SECONDS,
            check=False,
        )
    assert refused(Done(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr)), 6, "too_large")


def test_create_tells_a_person_how_to_end_the_text(shell: Shell) -> None:
    with shell.on_terminal("create", "new", "-w", str(shell.vault)) as terminal:
        terminal.answer("Ctrl-D", "typed\n\x04")
        assert terminal.end() == Done(
            0, "created new.md\n", "fsnotes: type the text; Ctrl-D on a line of its own ends it\n"
        )
    assert shell.files() == {"new.md": b"typed\n"}


@pytest.mark.parametrize(
    "path", ["a\x1b[31m", "b\u202e", "con", " x", "e\u0301", "a:b", ".hidden", "P/.obsidian/x"]
)
def test_create_gives_no_name_that_is_hostile_or_not_portable(shell: Shell, path: str) -> None:
    done = shell.there("create", path, stdin=b"x")
    assert (done.code in (2, 3), done.out, len(done.err.splitlines())) == (True, "", 1)
    assert [character for character in done.err if not character.isprintable() and character != "\n"] == []
    assert shell.files() == {}
