"""The grammar: which words there are, and that asking for help or listing notes loads nothing heavy."""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import fsnotes
from fsnotes.cli.arguments import parser
from fsnotes.cli.commands import Command
from fsnotes.cli.examples import EXAMPLES
from tests.cli.shell import FSNOTES, ROOT, Done, Shell, refused

COMMANDS = [
    (), ("serve",), ("doctor",), ("snippet",), ("completion",), ("demo",),
    ("list",), ("read",), ("search",), ("create",), ("edit",),
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


@pytest.mark.parametrize("command", COMMANDS[1:], ids=" ".join)
def test_help_ends_with_an_example_that_is_taken(shell: Shell, command: tuple[str, ...]) -> None:
    """As a shell splits it; where one command is handed to another, what stands inside is meant."""
    *_, title, line = shell.call(*command, "--help").out.splitlines()
    assert title == "example:"
    inner = re.fullmatch(r'eval "\$\((.*)\)"', line.strip())
    program, *words = shlex.split(inner[1] if inner else line)
    assert program == "fsnotes"
    assert tuple(words[: len(command)]) == command
    options = parser().parse_args(words)
    if command not in {("keys",), ("token",)}:
        assert options.run == parser().parse_args([*command, *_least(command)]).run


def _least(command: tuple[str, ...]) -> list[str]:
    """Return what *command* cannot do without."""
    if command[0] == "token":
        return [] if command[-1] == "list" else ["x"]
    needs = {"snippet": ["codex"], "move": ["a", "b"], "create": ["a"], "restore": ["t"]}
    needs |= {name: ["a"] for name in ("read", "search", "edit", "append", "properties", "delete")}
    return needs.get(command[-1], [])


def test_every_example_is_of_a_command() -> None:
    assert set(EXAMPLES) == {" ".join(("fsnotes", *command)) for command in COMMANDS[1:]}


def _commands() -> list[Command]:
    found: list[Command] = []

    def walk(made: argparse.ArgumentParser) -> None:
        run = made.get_default("run")
        if run is not None:
            found.append(run)
        for action in made._actions:
            if isinstance(action, argparse._SubParsersAction):
                for inner in action.choices.values():
                    walk(inner)

    walk(parser())
    return found


@pytest.mark.parametrize("command", _commands(), ids=lambda command: f"{command.module}.{command.function}")
def test_what_a_command_names_is_there_when_it_is_run(command: Command) -> None:
    assert isinstance(command, Command)
    function = getattr(importlib.import_module(f"fsnotes.cli.{command.module}"), command.function)
    assert list(inspect.signature(function).parameters) == ["options", "console"]


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


HEAVY = (
    "mcp", "mcp_types", "pydantic", "anyio", "asyncio", "jsonschema", "fsnotes.server", "cryptography", "sqlite3",
    "rich", "pygments", "markdown_it", "ruamel", "re2", "psutil", "pathvalidate", "subprocess", "socket", "bz2",
)  # fmt: skip
"""What none of the commands below needs: each costs milliseconds, the first few half a second."""

SERVICE = (
    "fsnotes.notes",
    "fsnotes.config",
    "fsnotes.wiring",
    "fsnotes.service",
    "tomllib",
    "logging",
    "hashlib",
)
"""What only opening a workspace needs."""


def loaded(shell: Shell, *words: str, of: tuple[str, ...]) -> tuple[Done, list[str]]:
    """Run a command and return, with how it ended, which of these modules it has loaded."""
    code = (
        "import sys\n"
        "from fsnotes.cli import main\n"
        "code = main(sys.argv[1:])\n"
        f"of = {of!r}\n"
        "print(*[n for n in sys.modules if n.startswith(of) and (n in of or n.startswith(tuple(o + '.' for o in of)))],"
        " file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    done = shell.run(*words, command=[sys.executable, "-c", code])
    *said, names = done.err.splitlines()
    return Done(done.code, done.out, "\n".join(said)), names.split()


def test_listing_notes_loads_nothing_heavy(shell: Shell) -> None:
    shell.write("a.md", "---\ntitle: x\n---\n")
    done = loaded(shell, "list", "-w", str(shell.vault), "--jail", "off", of=(*HEAVY[:14], "bz2"))
    assert done == (Done(0, "a.md\tx\t17\t2023-11-14T22:13:20Z\n"), [])


@pytest.mark.parametrize(
    "words", [("--version",), ("--help",), ("list", "--help"), ("nonsense",), ("list", "--sort", "nonsense")]
)
def test_what_opens_no_workspace_loads_nothing_of_one(shell: Shell, words: tuple[str, ...]) -> None:
    done, names = loaded(shell, *words, of=(*HEAVY, *SERVICE))
    assert done.code == (0 if words[-1].startswith("--") else 2)
    assert names == []


@pytest.mark.parametrize("words", [("snippet", "codex"), ("completion", "bash"), ("keys", "list")])
def test_commands_of_their_own_load_no_protocol(shell: Shell, words: tuple[str, ...]) -> None:
    done, names = loaded(
        shell, *words, of=(*HEAVY[:12], "fsnotes.notes", "fsnotes.service", "fsnotes.wiring")
    )
    assert done.code == 0
    # The state folder's rules for names are those of notes.
    assert [name for name in names if words[0] != "keys" or not name.startswith("fsnotes.notes")] == []


def test_windows_is_refused_in_one_sentence_before_anything_is_loaded(shell: Shell) -> None:
    code = "import sys; sys.platform = 'win32'; import fsnotes.cli"
    assert shell.run(command=[sys.executable, "-c", code]) == Done(
        1, "", "fsnotes: Windows is not supported; run it on Linux, or in a WSL distribution\n"
    )


def test_the_package_has_the_entry_point() -> None:
    assert 'fsnotes = "fsnotes.cli:main"' in (Path(ROOT) / "pyproject.toml").read_text(encoding="utf-8")
