"""`fsnotes completion`: what may be typed where, read off the grammar itself, and the names of the workspaces.

How a shell is told so is decided in `shells`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from fsnotes.cli.console import Console
from fsnotes.cli.settings import settings_for
from fsnotes.errors import ConfigurationError

Kind = Literal["none", "word", "choice", "file", "folder", "workspace"]
"""What a value is: not there, any word, one of some words, a file, a folder, a workspace or a folder."""

_KINDS: Final[dict[str, Kind]] = {"FILE": "file", "DIR": "folder"}


@dataclass(frozen=True, slots=True)
class Option:
    """One option with all its spellings."""

    flags: tuple[str, ...]
    help: str
    kind: Kind
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """One command, as its words behind the program's name: none for the program itself."""

    words: tuple[str, ...]
    options: tuple[Option, ...]
    commands: tuple[tuple[str, str], ...]
    choices: tuple[str, ...]
    folders: bool

    @property
    def name(self) -> str:
        """Return the words in one."""
        return " ".join(self.words)


def completion(options: argparse.Namespace, console: Console) -> int:
    """Print the script of a shell, or the names that the scripts ask for."""
    if options.workspaces:
        return _say_workspaces(options, console)
    if options.shell is None:
        raise ConfigurationError("which shell? bash, zsh or fish")
    from fsnotes.cli.arguments import parser
    from fsnotes.cli.shells import SHELLS

    console.say(SHELLS[options.shell](tuple(places(parser()))))
    return 0


def _say_workspaces(options: argparse.Namespace, console: Console) -> int:
    for workspace in settings_for(options).workspaces:
        console.say(workspace.name)
    return 0


def places(made: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[Place]:
    """Yield the place of *made*, which *words* lead to, and those of all its commands."""
    options: list[Option] = []
    commands: list[tuple[str, str]] = []
    choices: tuple[str, ...] = ()
    inner: list[tuple[str, argparse.ArgumentParser]] = []
    folders = False
    for action in made._actions:  # noqa: SLF001 - the library shows its grammar to nobody else
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001 - as above
            inner = list(action.choices.items())
            commands = [(name, helps.get(name, "")) for name, _ in inner]
        elif action.option_strings:
            words_of = tuple(str(choice) for choice in action.choices or ())
            options.append(Option(tuple(action.option_strings), action.help or "", _kind(action), words_of))
        elif action.choices:
            choices = tuple(str(choice) for choice in action.choices)
        else:
            folders = folders or action.metavar == "DIR"
    yield Place(words, tuple(options), tuple(commands), choices, folders)
    for name, command in inner:
        yield from places(command, (*words, name))


def _kind(action: argparse.Action) -> Kind:
    if action.nargs == 0:
        return "none"
    if action.choices:
        return "choice"
    if action.dest == "workspace":
        return "workspace"
    return _KINDS.get(action.metavar if isinstance(action.metavar, str) else "", "word")
