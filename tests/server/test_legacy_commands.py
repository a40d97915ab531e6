"""The command that a person is told to run: what it names, and what every shell makes of it when it is pasted."""

from __future__ import annotations

import os
import random
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fsnotes import wiring
from fsnotes.access import Principal, Workspace
from fsnotes.calls import local_principal
from fsnotes.cli.arguments import parser
from fsnotes.config import Choices, load
from fsnotes.server.legacy import Commands
from fsnotes.server.legacy.commands import quoted
from sandbox.uris import FileUri
from tests.cli.shell import FSNOTES, Shell, Terminal
from tests.server.older import call, open_with
from tests.server.wire import Wire

LOCAL = local_principal()
HOSTILE = [
    "it's",
    '"; touch pwned; "',
    "$(touch pwned)",
    "`touch pwned`",
    "'; touch pwned; '",
    "\\'; touch pwned #",
    "\\",
    "ends in \\",
    "-w",
    "--",
    "-",
    "--help",
    "=ls",
    "~",
    "~root",
    "!!",
    "!touch",
    "a && touch pwned",
    "> pwned",
    "#x",
    "*",
    "{a,b}",
    "$HOME",
    "%self",
    "a  b",
    " x ",
    "ünïcödé",
    "日記 📓",
]
SHELLS = ["sh", "dash", "bash", "zsh", "fish"]


def installed(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


@pytest.mark.parametrize("name", SHELLS)
def test_every_shell_reads_a_word_back_as_it_was(name: str, tmp_path: Path) -> None:
    path = installed(name)
    chosen = random.Random(7)  # noqa: S311 - the same words each time
    alphabet = "'\"\\$`!;&|<>()[]{}*?~#=%^-+:,. \u00e4\u65e5nx"
    words = [*HOSTILE, *("".join(chosen.choices(alphabet, k=chosen.randint(1, 12))) for _ in range(600))]
    show = f"{shlex.quote(sys.executable)} -c 'import sys; print(ascii(sys.argv[1:]))'"
    command = f"{show} -- {' '.join(map(quoted, words))}"
    done = subprocess.run(
        [path, "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == ascii(["--", *words]) + "\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "hidden",
    ["\n", "\r", "\t", "\x1b", "\x00", "\x7f", "\x9b", "\u2028", "\u202e", "\u200b",
     "\u3164", "\uffa0", "\u115f", "\u2800", "\u00a0", "\u3000", "\u034f", "\ufe0f", "\U000e0041", "\ue000"],
)  # fmt: skip
def test_what_does_not_show_is_in_no_command(hidden: str) -> None:
    commands = Commands(
        load(Choices(folders=("/tmp",)), principal=LOCAL, environ={}, home="/"), [NOTES], LOCAL
    )
    assert commands.delete("file:///tmp", f"a{hidden}touch pwned", caller=LOCAL) is None
    shown = commands.delete("file:///tmp", "a touch pwned", caller=LOCAL)
    assert shown == "fsnotes delete -w /tmp -- 'a touch pwned'"


@pytest.mark.parametrize(
    "title",
    [
        "\u2764\ufe0f",
        "\u65e5\u672c",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u2801\u2800\u2803",
    ],
)
def test_what_shows_though_not_by_itself_is_in_a_command(title: str) -> None:
    """The selector of an emoji, a joiner between letters, and an empty cell within braille."""
    commands = Commands(
        load(Choices(folders=("/tmp",)), principal=LOCAL, environ={}, home="/"), [NOTES], LOCAL
    )
    assert commands.delete("file:///tmp", title, caller=LOCAL) == f"fsnotes delete -w /tmp -- '{title}'"


NOTES = Workspace("tmp", (FileUri.parse("file:///tmp"),))


def test_a_workspace_that_is_not_served_is_in_no_command() -> None:
    commands = Commands(
        load(Choices(folders=("/tmp",)), principal=LOCAL, environ={}, home="/"), [NOTES], LOCAL
    )
    for uri in ("file:///tmp/x", "file:///", "tmp", "", "http://x/tmp"):
        assert commands.delete(uri, "a", caller=LOCAL) is None
        assert commands.delete(uri, "a", caller=Principal("token:ci")) is None
    assert commands.delete("file://localhost/tmp/", "a", caller=LOCAL) is not None


def configured(shell: Shell, name: str, path: str) -> Path:
    return shell.configure(
        f"[[workspace]]\nname = {name!r}\npath = '~/Notes'\n[[grant]]\nprincipal = {local_principal().name!r}\n"
        f"workspace = {name!r}\nallow = ['read', 'write', 'delete']\n",
        path,
    )


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    made = Shell(tmp_path / "home")
    made.vault.mkdir(parents=True)
    return made


@pytest.mark.parametrize("name", ["notes", "my notes", "-w", "it's"])
@pytest.mark.parametrize("told", ["nothing", "flags", "environment", "folder"])
def test_the_command_means_the_same_workspace_configuration_and_state(
    shell: Shell, name: str, told: str
) -> None:
    """Read by a shell and then by our own grammar, it leads to the settings that the server has."""
    where = ".config/fsnotes/config.toml" if told in ("nothing", "folder") else "else where/it's.toml"
    file, state = configured(shell, name, where), str(shell.home / "the state")
    flags, environ = told == "flags", {"FSNOTES_CONFIG": str(file), "FSNOTES_STATE_DIR": state}
    settings = load(
        Choices(
            config=str(file) if flags else None,
            state_dir=state if flags else None,
            folders=(str(shell.vault),) if told == "folder" else (),
        ),
        principal=local_principal(),
        environ=environ if told == "environment" else {},
        home=str(shell.home),
    )
    product = wiring.build(settings)
    try:
        command = Commands(settings, product.workspaces, LOCAL).delete(
            shell.vault.as_uri(), "-x", caller=LOCAL
        )
    finally:
        product.close()
    assert command is not None
    program, *words = shlex.split(command)
    options = parser().parse_args(words)
    assert (program, words[0], options.title) == ("fsnotes", "delete", "-x")
    assert options.workspace == (str(shell.vault) if told == "folder" else name)
    again = load(
        Choices(config=options.config, state_dir=options.state_dir),
        principal=local_principal(),
        environ={},
        home=str(shell.home),
    )
    assert (again.workspaces, again.state_dir) == (settings.workspaces, settings.state_dir)
    assert ("--config" in command, "--state-dir" in command) == (told in ("flags", "environment"),) * 2


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("sh", 'it\'s $(touch pwned) `touch pwned` "x"'),
        pytest.param("bash", "--help", marks=pytest.mark.slow),
        pytest.param("zsh", "\\'; touch pwned #", marks=pytest.mark.slow),
        ("fish", "\\'; touch pwned #"),
    ],
)
def test_a_person_pastes_it_and_the_note_is_deleted(shell: Shell, name: str, title: str) -> None:
    """Each step for real: the server's refusal, a shell, the command line, and a person at a terminal."""
    path = installed(name)
    shell.vault.rename(shell.home / "My Notes")
    vault = shell.home / "My Notes"
    note = vault / "n.md"
    note.write_text(f"---\ntitle: {yaml(title)}\n---\ntext\n")
    with Wire.serve(vault, state=shell.home / "state", options=("--jail", "off")) as wire:
        open_with(wire, capabilities={})
        answer = wire.ask(call(1, "notes_delete", {"workspaceUri": vault.as_uri(), "title": title}))
    told = answer["result"]["content"][0]["text"]
    command = told.partition("run it in a terminal: ")[2]
    assert command.startswith("fsnotes delete -w ")
    assert note.exists()
    programs = shell.home / "bin"
    programs.mkdir()
    program = programs / "fsnotes"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(FSNOTES)} "$@"\n')
    program.chmod(0o755)
    environ = shell.environ(PATH=f"{programs}:{os.environ['PATH']}")
    with Terminal([path, "-c", command], environ, shell.home, results_too=True) as terminal:
        terminal.answer("to the trash? yes or no: ", "yes\n")
        done = terminal.end()
    assert (done.code, note.exists()) == (0, False)
    assert [each.name for each in vault.rglob("*.md")] == ["n.md"]
    assert list(shell.home.rglob("pwned")) == []


def yaml(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
