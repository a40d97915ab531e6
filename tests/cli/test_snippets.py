"""`snippet`: each client's configuration is read and started as that client does it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fsnotes.cli.clients import CLIENTS, NAME
from tests.cli.shell import PYTHON, SECONDS, Done, Shell, refused
from tests.cli.test_serving import frame

NASTY = "My \"notes\" 'n' ñ 日本 🌱 $x %20 #1 `x` !"
"""A folder's name with what each format and each shell has to quote."""

Words = list[str]


def _common(text: str, key: str) -> Words:
    document = json.loads(text)
    assert list(document) == [key]
    entry = document[key].pop(NAME)
    assert document[key] == {}
    assert entry.keys() <= {"type", "command", "args", "tools"}
    return [entry["command"], *entry["args"]]


def _opencode(text: str) -> Words:
    """opencode replaces variables in the text, then reads it as JSON with comments."""
    replaced = re.sub(r"\{(env|file):[^}]*\}", "GONE", text)
    document = json.loads(replaced)
    assert document["$schema"] == "https://opencode.ai/config.json"
    (entry,) = document["mcp"]["servers"].values()
    assert entry["type"] == "local"
    command: Words = entry["command"]
    return command


def _codex(text: str) -> Words:
    (entry,) = tomllib.loads(text)["mcp_servers"].values()
    assert entry.keys() == {"command", "args"}
    return [entry["command"], *entry["args"]]


def _typed(kind: str, key: str) -> Callable[[str], Words]:
    def read(text: str) -> Words:
        assert json.loads(text)[key][NAME]["type"] == kind
        return _common(text, key)

    return read


def _copilot(text: str) -> Words:
    assert json.loads(text)["mcpServers"][NAME]["tools"] == ["*"]  # without it no tool is offered
    return _typed("local", "mcpServers")(text)


READ: dict[str, Callable[[str], Words]] = {
    "claude-code": _typed("stdio", "mcpServers"),
    "claude-desktop": lambda text: _common(text, "mcpServers"),
    "vscode": _typed("stdio", "servers"),
    "cursor": _typed("stdio", "mcpServers"),
    "codex": _codex,
    "copilot": _copilot,
    "gemini": lambda text: _common(text, "mcpServers"),
    "opencode": _opencode,
}
"""What each client makes of its configuration: the words that it starts."""

_VARIABLES = {"copilot": r"\$[{\w]", "gemini": r"\$[{\w]"}


def _folder_for(client: str) -> str:
    return NASTY.replace("$x", "") if client in _VARIABLES else NASTY


def _started(words: Words, home: Path, cwd: Path | str = "/") -> list[dict[str, Any]]:
    """Start a server as a client does, ask what a client asks first, and return the answers."""
    done = subprocess.run(
        words,
        input=frame(1, "server/discover") + frame(2, "tools/list"),
        capture_output=True,
        cwd=cwd,
        env={"HOME": str(home)},
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return sorted((json.loads(line) for line in done.stdout.splitlines()), key=lambda answer: answer["id"])


def _is_served(answers: list[dict[str, Any]]) -> bool:
    discovered, listed = answers
    names = [tool["name"] for tool in listed["result"]["tools"]]
    return discovered["result"]["supportedVersions"] == ["2026-07-28"] and "notes_read" in names


def test_every_client_of_the_contract_has_a_snippet() -> None:
    assert list(CLIENTS) == list(READ)


@pytest.mark.parametrize("client", READ)
def test_what_is_pasted_starts_a_server_with_home_alone(shell: Shell, client: str) -> None:
    folder = shell.home / _folder_for(client)
    folder.mkdir()
    done = shell.call("snippet", client, str(folder))
    assert done.code == 0
    words = READ[client](done.out)
    assert words[-2:] == ["serve", str(folder)]
    assert os.path.isabs(words[0])
    assert _is_served(_started(words, shell.home))


@pytest.mark.parametrize("client", READ)
def test_the_command_of_a_client_has_the_same_words(shell: Shell, client: str) -> None:
    folder = shell.home / _folder_for(client)
    folder.mkdir()
    done = shell.call("snippet", client, str(folder), "--read-only")
    words = READ[client](done.out)
    shown = [line for line in done.err.splitlines() if not line.startswith("fsnotes: ")]
    if CLIENTS[client].add is None:
        assert shown == []
        return
    typed = shlex.split(shown[0])
    if client == "vscode":
        entry = json.loads(typed[-1])
        assert (entry["name"], [entry["command"], *entry["args"]]) == (NAME, words)
    else:
        assert [word for word in typed[typed.index(NAME) + 1 :] if word not in ("--", "--global")] == words


@pytest.mark.parametrize("client", READ)
def test_output_is_ascii_whatever_the_folder_is_called(shell: Shell, client: str) -> None:
    folder = shell.home / "tab\there \x1b[31m \x9b \u202e é 🌱\n"
    folder.mkdir()
    done = shell.call("snippet", client, str(folder))
    assert READ[client](done.out)[-1] == str(folder)
    assert done.out.isascii()
    assert [letter for letter in done.out + done.err if not letter.isprintable() and letter != "\n"] == []
    # Where the shell would need such letters as they are, a command could not be copied from a terminal.
    shown = [line for line in done.err.splitlines() if not line.startswith("fsnotes: ")]
    assert len(shown) == (client == "vscode")


def test_the_entry_point_is_what_is_started_where_it_was_run(shell: Shell) -> None:
    script = Path(sys.executable).with_name("fsnotes")
    if not script.exists():
        pytest.skip("fsnotes is not installed with its script")
    done = shell.run("snippet", "codex", str(shell.vault), command=[str(script)])
    assert _codex(done.out) == [str(script), "serve", str(shell.vault)]
    relative = subprocess.run(
        [f"./{script.name}", "snippet", "codex", str(shell.vault)],
        cwd=script.parent, env={"HOME": str(shell.home)}, capture_output=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert relative.stdout.decode() == done.out


def test_a_folder_full_of_modules_is_not_where_a_client_gets_ours_from(shell: Shell) -> None:
    words = _codex(shell.call("snippet", "codex", str(shell.vault)).out)
    project = shell.home / "project"
    (project / "fsnotes").mkdir(parents=True)
    for name in ("fsnotes/__init__.py", "fsnotes/__main__.py", "json.py", "argparse.py"):
        (project / name).write_text("open('/dev/stderr', 'w').write('taken over'); raise SystemExit(66)")
    assert _is_served(_started(words, shell.home, project))
    # Without the option that keeps it out, the same words do run what lies there.
    words.remove("-P")
    with pytest.raises(AssertionError, match="taken over"):
        _started(words, shell.home, project)


def test_relative_folders_and_links_are_made_absolute(shell: Shell) -> None:
    (shell.home / "deep/er").mkdir(parents=True)
    (shell.home / "link").symlink_to("deep/er")

    def folders(*words: str) -> list[str]:
        return _codex(shell.call("snippet", "codex", *words).out)[5:]

    assert folders("Notes", "./deep//er") == [str(shell.vault), str(shell.home / "deep/er")]
    assert folders("~/Notes/../link") == [str(shell.home / "link")]
    assert folders("link/..") == [str(shell.home / "deep")]  # not the home folder, which the text would give


def test_shared_options_are_part_of_what_is_started(shell: Shell) -> None:
    shell.configure("[confirm]\nttl_seconds = 9\n", "c.toml")
    done = shell.call(
        "snippet", "codex", "--config", "c.toml", "--jail", "off", "Notes", "--state-dir=~/s", "--read-only"
    )
    serve = _codex(done.out)
    assert serve[serve.index("serve") :] == [
        "serve", "--config", str(shell.home / "c.toml"), "--state-dir", str(shell.home / "s"), "--jail", "off",
        "--read-only", str(shell.vault),
    ]  # fmt: skip
    assert _is_served(_started(serve, shell.home))
    assert (shell.home / "s").is_dir()


def test_what_the_environment_says_here_is_said_to_the_server_too(shell: Shell) -> None:
    """A client passes none of it on."""
    config = shell.configure("[[workspace]]\nname = 'mine'\npath = '~/Notes'\n", "c.toml")
    env = {"FSNOTES_CONFIG": str(config), "FSNOTES_STATE_DIR": str(shell.home / "s")}
    done = shell.call("snippet", "codex", env=env)
    assert _codex(done.out)[5:] == ["--config", str(config), "--state-dir", str(shell.home / "s")]
    assert "serves what is configured: mine" in done.err


def test_configured_folders_are_not_named_again_because_that_would_grant_them_in_full(shell: Shell) -> None:
    shell.configure("[[workspace]]\nname = 'mine'\npath = '~/Notes'\n")
    done = shell.call("snippet", "codex")
    words = _codex(done.out)
    assert words[words.index("serve") :] == ["serve"]
    assert _is_served(_started(words, shell.home))


def test_without_any_folder_there_is_a_place_for_one_and_a_word_about_it(shell: Shell) -> None:
    done = shell.call("snippet", "cursor")
    assert READ["cursor"](done.out)[-1] == str(shell.home / "Notes")
    assert done.err.splitlines()[0] == (
        f"fsnotes: no folder is named: put yours in place of {shell.home}/Notes, or name it behind the client"
    )


@pytest.mark.parametrize("client", [name for name in READ if CLIENTS[name].expands is not None])
def test_a_path_that_the_client_would_change_is_refused(shell: Shell, client: str) -> None:
    folder = shell.home / "a ${HOME} b"
    folder.mkdir()
    done = shell.call("snippet", client, str(folder))
    assert refused(done, 2, "invalid_argument")
    assert "configure the folder as a workspace" in done.err
    harmless = shell.home / "a {HOME} b $ 100"
    harmless.mkdir()
    assert READ[client](shell.call("snippet", client, str(harmless)).out)[-1] == str(harmless)


def test_a_path_that_opencode_would_change_is_written_so_that_it_does_not(shell: Shell) -> None:
    folder = shell.home / "a {env:HOME} {file:x} ${HOME}"
    folder.mkdir()
    assert _opencode(shell.call("snippet", "opencode", str(folder)).out)[-1] == str(folder)


def test_backslashes_are_written_so_that_each_format_gives_them_back(shell: Shell) -> None:
    """In the state folder's path, say; a folder of notes with one is refused, as no URI can name it."""
    for client, read in READ.items():
        done = shell.call("snippet", client, "--state-dir", "~/b\\s \\u0041 \\\\", "Notes")
        assert str(shell.home / "b\\s \\u0041 \\\\") in read(done.out)
    (shell.home / "back\\slash").mkdir()
    done = shell.call("snippet", "codex", "back\\slash")
    assert refused(done, 2, "invalid_argument")
    assert "no URI can name it" in done.err


def test_json_has_the_words_and_where_they_go(shell: Shell) -> None:
    done = shell.call("snippet", "codex", "Notes", "--json")
    document = done.document()
    assert list(document) == ["client", "place", "format", "text", "command", "args", "add", "source"]
    assert [document["command"], *document["args"]] == _codex(document["text"])
    assert document["format"] == "toml"


@pytest.mark.parametrize("words", [("nobody",), (), ("codex", "nowhere")])
def test_an_unknown_client_and_a_missing_folder_are_refused(shell: Shell, words: tuple[str, ...]) -> None:
    assert refused(shell.call("snippet", *words), 2, "invalid_argument")


def test_a_program_that_needs_this_environment_is_not_passed_off_as_one_that_starts(shell: Shell) -> None:
    """Python's own search path is in the environment here, and gone at the client's."""
    bare = shell.home / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True, timeout=SECONDS)
    path = os.pathsep.join(
        [str(Path(__file__).parents[2]), *(entry for entry in sys.path if "site-packages" in entry)]
    )
    done = shell.run(
        "snippet",
        "codex",
        "Notes",
        env={"PYTHONPATH": path},
        command=[str(bare / "bin/python"), "-m", "fsnotes"],
    )
    assert done.code == 0
    assert "does not start without your environment" in done.err
    if subprocess.run([*PYTHON[:1], "-P", "-c", "import fsnotes"], cwd="/", env={}, check=False).returncode:
        pytest.skip("fsnotes is not installed")
    assert shell.run("snippet", "codex", "Notes") == Done(0, *_both(shell))


@pytest.mark.parametrize(("place", "warned"), [(".cache/uv/archive/bin", True), ("cache/bin", False)])
def test_a_program_in_a_cache_is_named_with_a_warning(shell: Shell, place: str, *, warned: bool) -> None:
    """As `uvx fsnotes snippet` would have it."""
    script = shell.home / place / "fsnotes"
    script.parent.mkdir(parents=True)
    script.write_text("import sys\nfrom fsnotes.cli import main\nsys.exit(main())\n")
    script.chmod(0o755)
    done = shell.run("snippet", "codex", "Notes", command=[sys.executable, str(script)])
    assert _codex(done.out)[0] == str(script)
    assert ("in a cache" in done.err) is warned


def _both(shell: Shell) -> tuple[str, str]:
    done = shell.call("snippet", "codex", "Notes")
    return done.out, done.err
