"""The grammar: which words there are, and that asking for help or listing notes loads nothing heavy."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

import fsnotes
from fsnotes.cli.arguments import parser
from tests.cli.shell import FSNOTES, ROOT, Done, Shell, refused

COMMANDS = [
    (), ("serve",), ("doctor",), ("demo",), ("list",), ("read",), ("search",), ("create",), ("edit",),
    ("append",), ("properties",), ("move",), ("links",), ("tags",), ("delete",), ("trash",), ("restore",),
    ("index",), ("keys",),
    ("keys", "rotate"), ("keys", "list"), ("audit",),
    ("token",), ("token", "new"), ("token", "list"), ("token", "revoke"),
]  # fmt: skip
SHARED = {
    "config": None, "state_dir": None, "jail": None, "jail_level": None, "read_only": False, "legacy": None,
    "log_level": None, "log_format": None,
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_works_for_every_command(shell: Shell, command: tuple[str, ...]) -> None:
    done = shell.call(*command, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"usage: {' '.join(('fsnotes', *command))} ")


def test_every_command_is_tried_above() -> None:
    def names(made: argparse.ArgumentParser, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
        found = [before]
        for action in made._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, inner in action.choices.items():
                    found += names(inner, (*before, name))
        return found

    assert names(parser()) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_option_says_what_it_does(command: tuple[str, ...]) -> None:
    made = parser()
    for name in command:
        (choices,) = (
            action.choices for action in made._actions if isinstance(action, argparse._SubParsersAction)
        )
        made = choices[name]
    assert [action.dest for action in made._actions if action.option_strings and not action.help] == []


def test_version(shell: Shell) -> None:
    assert shell.run("--version") == Done(0, f"fsnotes {fsnotes.__version__}\n")


def test_shared_options_stand_before_or_after_the_command() -> None:
    def shared(*words: str) -> dict[str, object]:
        options = vars(parser().parse_args(words))
        return {name: options[name] for name in SHARED}

    assert shared("list") == SHARED
    for words in (("--config", "c", "list", "--jail", "off"), ("list", "--config", "c", "--jail", "off")):
        assert shared(*words) == {**SHARED, "config": "c", "jail": "off"}
    assert shared("--config", "a", "list", "--config", "b") == {**SHARED, "config": "b"}
    assert shared("--read-only", "serve", "x") == {**SHARED, "read_only": True}


@pytest.mark.parametrize(
    "words", [("list", "--rec"), ("list", "--stat", "x"), ("--vers",), ("serve", "--read")]
)
def test_options_are_not_guessed_from_their_beginning(shell: Shell, words: tuple[str, ...]) -> None:
    assert refused(shell.call(*words), 2, "invalid_argument")


def test_home_alone_is_enough(shell: Shell) -> None:
    """Not even where this checkout is: the package is found as a client finds it, or beside us."""
    shell.write("a.md", "text")
    done = subprocess.run(
        [*FSNOTES, "read", "a", "-w", str(shell.vault)],
        capture_output=True,
        cwd=ROOT,
        env={"HOME": str(shell.home)},
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"text", b"")


def test_listing_notes_never_loads_the_protocol(shell: Shell) -> None:
    shell.write("a.md", "---\ntitle: x\n---\n")
    code = (
        "import sys\n"
        "from fsnotes.cli import main\n"
        "code = main(sys.argv[1:])\n"
        "heavy = ('mcp', 'mcp_types', 'pydantic', 'anyio', 'asyncio', 'jsonschema', 'fsnotes.server', 'cryptography',"
        " 'sqlite3')\n"
        "print([name for name in sys.modules if name in heavy or name.startswith('mcp.')])\n"
        "sys.exit(code)\n"
    )
    done = shell.run("list", "-w", str(shell.vault), command=[sys.executable, "-c", code])
    assert done == Done(0, "a.md\tx\t17\t2023-11-14T22:13:20Z\n[]\n")


def test_windows_is_refused_in_one_sentence_before_anything_is_loaded(shell: Shell) -> None:
    code = "import sys; sys.platform = 'win32'; import fsnotes.cli"
    assert shell.run(command=[sys.executable, "-c", code]) == Done(
        1, "", "fsnotes: Windows is not supported; run it on Linux, or in a WSL distribution\n"
    )


def test_the_package_has_the_entry_point() -> None:
    assert 'fsnotes = "fsnotes.cli:main"' in (Path(ROOT) / "pyproject.toml").read_text(encoding="utf-8")
