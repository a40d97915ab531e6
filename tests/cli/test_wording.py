"""What is said of a failure on a command line: what a person can do next, in words that the command line has."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from fsnotes.cli.arguments import parser
from fsnotes.cli.completion import places
from fsnotes.cli.wording import _WORDS, for_people
from tests.cli.shell import Done, Shell

FLAGS = {flag for place in places(parser()) for option in place.options for flag in option.flags}
COMMANDS = {place.name for place in places(parser())}


def test_flags_and_commands_that_are_named_exist() -> None:
    for said in _WORDS.values():
        assert set(re.findall(r"--[\w-]+", said)) <= FLAGS
        assert set(re.findall(r"fsnotes (\w+)", said)) <= COMMANDS


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("oldText is not in it", "--old is not in it"),
        ('"oldText" is not in "notes_list"; call again', '"oldText" is not in "notes_list"; try again'),
        (r'"a \" oldText \\" oldText', r'"a \" oldText \\" --old'),
        ("theoldText oldTexts notes_lists", "theoldText oldTexts notes_lists"),
    ],
)
def test_words_of_tools_are_replaced_and_quoted_ones_are_not(line: str, told: str) -> None:
    assert for_people(line) == told


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("edit", "oldText", "--old", "none", "--new", "x"), "--old is not in"),
        (("edit", "oldText", "--old", "x", "--new", "y"), "or that number as --expected"),
        (("read", "oldText", "--start-line", "2", "--end-line", "1"), "--end-line: "),
        (("read", ".hidden"), "fsnotes list shows what is"),
        (("restore", "nonsense"), "fsnotes trash lists what can be restored"),
        (("list", "--limit", "0"), "correct it and try again"),
    ],
)
def test_a_person_is_told_what_a_person_can_do(shell: Shell, words: tuple[str, ...], says: str) -> None:
    shell.write("oldText.md", "x\nx\n")
    done = shell.there(*words)
    assert (done.code != 0, done.out, len(done.err.splitlines())) == (True, "", 1)
    assert says in done.err
    assert re.findall(r"\b(?:notes_\w+|[a-z]+[A-Z]\w*)\b", re.sub(r'"[^"]*"', "", done.err)) == []


_REFUSED: list[Callable[[Shell], Done]] = [
    lambda shell: shell.call("list"),
    lambda shell: shell.call("list", "-w", "nowhere"),
    lambda shell: shell.call("serve"),
    lambda shell: shell.call("index", "Notes", "-w", "Notes"),
    lambda shell: shell.call("completion"),
    lambda shell: shell.call("snippet", "vscode", "${x}"),
    lambda shell: shell.call("keys", "list", env={"FSNOTES_STATE_KEYS": "x"}),
    lambda shell: shell.there("links", "--orphans", "--limit", "3"),
    lambda shell: shell.there("properties", "a", "--set", "novalue"),
    lambda shell: shell.call("nonsense"),
]


@pytest.mark.parametrize("refusal", range(len(_REFUSED)))
def test_a_refusal_says_what_to_do_next(shell: Shell, refusal: int) -> None:
    """As `slug: what is wrong`, and behind a colon or a semicolon what helps."""
    (shell.home / "${x}").mkdir()
    shell.write("a.md", "x")
    done = _REFUSED[refusal](shell)
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert re.fullmatch(r"fsnotes: invalid_argument: [^:;]+.*(?:[:;?] ).+", line)
