"""`completion`: real shells are asked what comes next, and what they would then run is what the grammar takes."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fsnotes.cli.arguments import parser
from fsnotes.cli.completion import Place, places
from tests.cli.shell import FSNOTES, SECONDS, Shell, Terminal, refused

PLACES = tuple(places(parser()))
COMMANDS = [name for name, _ in PLACES[0].commands]

Ask = Callable[[str], list[str]]


def _script(shell: Shell, name: str) -> Path:
    """Write the script of a shell, and a program that it can ask for workspaces."""
    (shell.home / "bin").mkdir(exist_ok=True)
    program = shell.home / "bin/fsnotes"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(FSNOTES)} "$@"\n')
    program.chmod(0o755)
    place = shell.home / f"completion.{name}"
    place.write_text(shell.call("completion", name).out)
    return place


def _environ(shell: Shell) -> dict[str, str]:
    return shell.environ(
        PATH=f"{shell.home}/bin:{os.environ.get('PATH', '/usr/bin:/bin')}", LANG="C.UTF-8", TERM="dumb"
    )


def _bash(shell: Shell) -> Ask:
    script = _script(shell, "bash")

    def ask(line: str) -> list[str]:
        """Fill in what bash gives a completion function, and return what it was answered."""
        words = line.split(" ")
        code = (
            'set -u; source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _fsnotes;'
            " ((${#COMPREPLY[@]})) && printf '%s\\n' \"${COMPREPLY[@]}\"; true"
        )
        return _run(shell, ["bash", "--norc", "-c", code, "bash", str(script), *words])

    return ask


def _fish(shell: Shell) -> Ask:
    script = _script(shell, "fish")

    def ask(line: str) -> list[str]:
        code = f"source {shlex.quote(str(script))}; complete -C {shlex.quote(line)}"
        return [found.split("\t")[0] for found in _run(shell, ["fish", "--no-config", "-c", code])]

    return ask


ZSH = r"""
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PS1= PS2= RPS1='
zpty -w z 'autoload -Uz compinit; compinit -u -D; source '${(q)1}
zpty -w z 'bindkey "^I" complete-word; zstyle ":completion:*" menu no; comppostfuncs=(_done)'
zpty -w z '_done() { print -r -- "DO""NE" }'
zpty -w z 'compadd() { local -a all; builtin compadd -O all "$@"; print -rl -- "<<"${^all}">>"; builtin compadd "$@" }'
zpty -w z 'print -r -- "REA""DY"'
zpty -r z seen '*READY*'
zpty -w -n z "$2"$'\t'
zpty -r z seen '*DONE*'
print -r -- "$seen"
zpty -d z
"""
"""A terminal inside zsh, where a line and a TAB are typed, and all that is offered is caught."""


def _zsh(shell: Shell) -> Ask:
    script = _script(shell, "zsh")

    def ask(line: str) -> list[str]:
        out = "\n".join(_run(shell, ["zsh", "-f", "-c", ZSH, "zsh", str(script), line]))
        return [part.split(">>")[0] for part in out.split("<<")[1:] if ">>" in part]

    return ask


def _run(shell: Shell, command: list[str]) -> list[str]:
    done = subprocess.run(
        command,
        env=_environ(shell),
        cwd=shell.home,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.splitlines()


SHELLS: dict[str, Callable[[Shell], Ask]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}


@pytest.fixture(params=list(SHELLS))
def ask(request: pytest.FixtureRequest, shell: Shell) -> Ask:
    """Asks a real shell what may follow a line."""
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return SHELLS[request.param](shell)


def test_commands_are_completed_at_each_level(ask: Ask) -> None:
    assert set(ask("fsnotes ")) == set(COMMANDS)
    assert "list" in ask("fsnotes li")
    assert set(ask("fsnotes keys ")) == {"rotate", "list"}
    # Below `keys`, `list` is another command than the one that lists notes.
    assert "--recursive" not in ask("fsnotes keys list --re")
    assert "--recursive" in ask("fsnotes list --re")


def test_values_of_options_are_no_commands(ask: Ask) -> None:
    assert set(ask("fsnotes --config keys list --so")) >= {"--sort"}
    assert set(ask("fsnotes --jail off keys ro")) >= {"rotate"}


def test_choices_are_completed(ask: Ask) -> None:
    assert set(ask("fsnotes list --sort ")) == {"path", "modified", "size"}
    assert set(ask("fsnotes --jail ")) == {"off", "best-effort", "require"}
    assert set(ask("fsnotes snippet c")) >= {"codex", "cursor", "claude-code"}
    assert set(ask("fsnotes completion ")) == {"bash", "zsh", "fish"}


def test_free_words_are_left_to_the_person(ask: Ask, shell: Shell) -> None:
    """A file of the current folder would be wrong there."""
    (shell.home / "Decoy").mkdir()
    assert ask("fsnotes list --tag ") == []
    assert ask("fsnotes read ") == []


def test_folders_and_configured_workspaces_are_completed(ask: Ask, shell: Shell) -> None:
    (shell.home / "file.md").write_text("x")
    shell.configure("[[workspace]]\nname = 'mine $(touch pwned) `touch pwned`'\npath = '~/Notes'\n")
    found = [name.rstrip("/") for name in ask("fsnotes list -w ")]
    assert "Notes" in found
    assert "file.md" not in found
    assert [name for name in found if name.replace("\\", "").startswith("mine $(touch pwned)")] != []
    assert "Notes" in [name.rstrip("/") for name in ask("fsnotes serve ")]
    # The name was read and shown, and never run.
    assert not (shell.home / "pwned").exists()


def test_every_option_of_every_command_is_completed_by_bash(shell: Shell) -> None:
    ask = _bash(shell)
    for place in PLACES:
        wanted = {flag for option in place.options for flag in option.flags}
        assert set(ask(" ".join(["fsnotes", *place.words, "-"]))) == wanted


def test_every_option_of_every_command_is_completed_by_fish(shell: Shell) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    ask = _fish(shell)
    for place in PLACES:
        wanted = {flag for option in place.options for flag in option.flags if flag.startswith("--")}
        assert set(ask(" ".join(["fsnotes", *place.words, "--"]))) == wanted


def test_a_tab_in_bash_finishes_a_command_and_quotes_a_name(shell: Shell) -> None:
    """What a person does, on a terminal: the line that comes out is run."""
    script = _script(shell, "bash")
    shell.configure("[[workspace]]\nname = 'my notes'\npath = '~/Notes'\n")
    (shell.home / "bin/fsnotes").write_text(
        f'#!/bin/sh\nif [ "$1" = completion ]; then exec {shlex.join(FSNOTES)} "$@"; fi\nprintf "<%s>" "$@"\n'
    )
    with Terminal(["bash", "--norc", "-i"], _environ(shell), shell.home, results_too=True) as terminal:
        terminal.type(f"source {shlex.quote(str(script))}; echo rea''dy\n")
        terminal.expect("ready")
        terminal.type("fsnotes lis\t-w my\t --so\tpath\n")
        terminal.expect("<list><-w><my notes><--sort><path>")
        terminal.type("exit\n")


def test_a_script_needs_a_shell_that_it_is_for(shell: Shell) -> None:
    assert refused(shell.call("completion"), 2, "invalid_argument")
    assert refused(shell.call("completion", "csh"), 2, "invalid_argument")
    assert shell.call("completion", "bash").out.endswith("complete -F _fsnotes fsnotes\n")


def test_names_of_workspaces_come_one_a_line(shell: Shell) -> None:
    assert shell.call("completion", "--workspaces").out == ""
    shell.configure("[[workspace]]\nname = 'mine'\npath = '~/Notes'\n")
    assert shell.call("completion", "--workspaces").out == "mine\n"


def test_the_grammar_that_is_told_is_the_grammar_that_is_parsed() -> None:
    """Every option that is offered is taken, with a value of its kind."""
    values = {"word": "1", "file": "f", "folder": "d", "workspace": "w"}
    made = parser()
    assert len(PLACES) > 20
    for place in PLACES:
        for option in place.options:
            if (
                place.commands
                or option.flags[0] in ("-h", "--version")
                or {"--old-file", "--new-file"} & {*option.flags}
            ):
                continue
            value = [option.choices[0] if option.kind == "choice" else values.get(option.kind, "")]
            words = [
                *place.words,
                *_needed(place),
                option.flags[-1],
                *([] if option.kind == "none" else value),
            ]
            assert made.parse_args(words)


def _needed(place: Place) -> list[str]:
    """Return the words that a command cannot do without."""
    if place.words[:1] == ("token",):
        return [] if place.words[-1] == "list" else ["x"]
    counts = {
        "read": 1,
        "search": 1,
        "create": 1,
        "edit": 1,
        "append": 1,
        "properties": 1,
        "move": 2,
        "delete": 1,
    }
    if place.name == "snippet":
        return ["codex"]
    return ["x"] * counts.get(place.name, 1 if place.name == "restore" else 0)
