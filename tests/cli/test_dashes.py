"""Notes that are named like options: a name is never one, wherever it comes from."""

from __future__ import annotations

import pytest

from tests.cli.shell import Shell

NAMES = ["-rf.md", "--json.md", "--", "-", "--config=x.md"]


@pytest.mark.parametrize("name", NAMES)
def test_a_note_that_is_named_like_an_option_is_a_note_behind_two_dashes(shell: Shell, name: str) -> None:
    path = name if name.endswith(".md") else f"{name}.md"
    assert shell.there("create", "--content", "one\n", "--", name).code == 0
    assert shell.files() == {path: b"one\n"}
    assert shell.there("read", "--", name).out == "one\n"
    assert shell.there("edit", "--old", "one", "--new", "two", "--", name).code == 0
    assert shell.there("move", "--", name, f"-moved{path}").code == 0
    assert shell.files() == {f"-moved{path}": b"two\n"}


@pytest.mark.parametrize("name", ["-rf.md", "--json.md"])
def test_without_them_it_is_an_unknown_option_and_nothing_is_done(shell: Shell, name: str) -> None:
    shell.write(name)
    before = shell.files()
    for words in (["read", name], ["delete", name], ["move", name, "x"], ["create", name]):
        done = shell.there(*words)
        assert (done.code, done.out) == (2, ""), words
    assert shell.files() == before
