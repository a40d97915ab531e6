"""Which workspace a command is for, and where configuration and state are found."""

from __future__ import annotations

import os
import pwd
import sys
from pathlib import Path

import pytest

from fsnotes.calls import local_principal
from fsnotes.state import StateFolder
from tests.cli.shell import Done, Shell, refused

ME = local_principal().name


def workspaces(shell: Shell, *names: str, allow: str = "'read', 'write', 'delete'") -> str:
    """Make a folder with one note for each name, and return the configuration that grants them."""
    text = ""
    for name in names:
        folder = shell.home / name
        folder.mkdir(exist_ok=True)
        (folder / f"in {name}.md").write_text(name)
        text += f"[[workspace]]\nname = '{name}'\npath = '~/{name}'\n"
        text += f"[[grant]]\nprincipal = '{ME}'\nworkspace = '{name}'\nallow = [{allow}]\n"
    return text


def listed(done: Done) -> list[str]:
    assert (done.code, done.err) == (0, ""), done
    return [line.split("\t")[0] for line in done.out.splitlines()]


def test_the_only_workspace_is_the_default_wherever_one_is(shell: Shell, tmp_path: Path) -> None:
    shell.configure(workspaces(shell, "desk"))
    assert listed(shell.run("list", cwd=tmp_path)) == ["in desk.md"]


def test_the_workspace_that_holds_the_current_folder_is_the_default(shell: Shell) -> None:
    shell.configure(workspaces(shell, "desk", "desk2", "home"))
    inner = shell.home / "desk2/a/b"
    inner.mkdir(parents=True)
    (shell.home / "link").symlink_to("desk2/a")
    for place, note in (
        ("desk", "desk"),
        ("desk2", "desk2"),
        ("desk2/a/b", "desk2"),
        ("link/b", "desk2"),
    ):
        assert f"in {note}.md" in listed(shell.call("list", cwd=shell.home / place))


def test_several_workspaces_and_none_here_is_a_question(shell: Shell) -> None:
    shell.configure(workspaces(shell, "desk", "home"))
    (shell.home / "deskside").mkdir()
    for place in ("", "deskside"):
        assert shell.call("list", cwd=shell.home / place) == Done(
            2, "", "fsnotes: invalid_argument: which workspace? -w takes one of desk, home, or a folder\n"
        )


def test_no_workspace_at_all_says_what_to_do(shell: Shell) -> None:
    said = "fsnotes: invalid_argument: no workspace: name a folder with -w DIR, or configure one\n"
    assert shell.run("list", cwd=shell.vault) == Done(2, "", said)


def test_a_current_folder_that_was_removed_is_no_crash(shell: Shell) -> None:
    code = (
        "import os, sys\n"
        "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')\n"
        "from fsnotes.cli import main\n"
        "sys.exit(main(['list', *sys.argv[1:]]))\n"
    )
    command = [sys.executable, "-c", code]
    assert refused(shell.run(command=command), 2, "invalid_argument")
    assert shell.run("-w", str(shell.vault), command=command) == Done(0)


def test_w_takes_a_name_or_a_folder(shell: Shell) -> None:
    shell.configure(workspaces(shell, "desk", "home"))
    shell.write("in Notes.md")
    for wanted in ("desk", str(shell.home / "desk"), "./desk", "~/desk", f"{shell.home}/desk/"):
        assert listed(shell.call("list", "-w", wanted)) == ["in desk.md"]
    for wanted in ("Notes", str(shell.vault), "~/Notes", "home/../Notes"):
        assert listed(shell.call("list", "--workspace", wanted)) == ["in Notes.md"]


def test_a_name_goes_before_a_folder_of_the_same_name(shell: Shell) -> None:
    text = workspaces(shell, "desk").replace("name = 'desk'", "name = 'Notes'")
    shell.configure(text.replace("workspace = 'desk'", "workspace = 'Notes'"))
    shell.write("in Notes.md")
    assert listed(shell.call("list", "-w", "Notes")) == ["in desk.md"]
    assert listed(shell.call("list", "-w", "./Notes")) == ["in Notes.md"]


def test_a_name_has_what_is_granted_and_a_folder_that_is_named_everything(shell: Shell) -> None:
    shell.configure(workspaces(shell, "desk", allow="'read'"))
    assert refused(shell.call("create", "-w", "desk", "new", stdin=b"x"), 3, "not_allowed")
    assert shell.call("create", "-w", "~/desk", "new", stdin=b"x") == Done(0, "created new.md\n")


@pytest.mark.parametrize("wanted", ["", "nothing", "/nowhere", "Notes/a.md", "wor", "a\x1b[31m"])
def test_w_that_names_nothing_is_refused(shell: Shell, wanted: str) -> None:
    shell.configure(workspaces(shell, "desk"))
    shell.write("a.md")
    done = shell.call("list", "-w", wanted)
    assert (refused(done, 2, "invalid_argument"), "\x1b" in done.err) == (True, False)


def test_a_folder_inside_a_configured_workspace_is_no_workspace_of_its_own(shell: Shell) -> None:
    """It would have a lock and a trash of its own."""
    shell.configure(workspaces(shell, "desk", "home"))
    (shell.home / "desk/Projects").mkdir()
    assert shell.call("list", "-w", "~/desk/Projects") == Done(
        2,
        "",
        "fsnotes: invalid_argument: -w ~/desk/Projects: a folder of workspace 'desk'; use -w desk and paths that"
        " begin there\n",
    )


# -- configuration and state -----------------------------------------------------------------------


def test_the_configuration_is_found_by_flag_then_variable_then_in_the_home(shell: Shell) -> None:
    text = workspaces(shell, "by-flag", "by-variable", "by-default").split("[[workspace]]\n")[1:]
    flag = shell.configure("[[workspace]]\n" + text[0], "flag.toml")
    variable = shell.configure("[[workspace]]\n" + text[1], "variable.toml")
    environ = {"FSNOTES_CONFIG": str(variable)}
    assert refused(shell.call("list"), 2, "invalid_argument")
    assert listed(shell.run("list", env=environ)) == ["in by-variable.md"]
    shell.configure("[[workspace]]\n" + text[2])
    assert listed(shell.run("list")) == ["in by-default.md"]
    assert listed(shell.call("list", env=environ)) == ["in by-variable.md"]
    assert listed(shell.run("list", "--config", str(flag), env=environ)) == ["in by-flag.md"]
    assert listed(shell.call("--config", "~/flag.toml", "list", env=environ)) == ["in by-flag.md"]
    assert listed(shell.call("list", env={"FSNOTES_CONFIG": ""})) == ["in by-default.md"]


def test_a_configuration_that_is_named_must_be_there_and_readable(shell: Shell) -> None:
    missing = str(shell.home / "no.toml")
    assert refused(shell.there("list", "--config", missing), 2, "invalid_argument")
    assert refused(shell.there("list", env={"FSNOTES_CONFIG": missing}), 2, "invalid_argument")
    assert refused(shell.there("list", "--config", str(shell.home)), 2, "invalid_argument")
    broken = shell.configure("[server\x1b]\n", "broken.toml")
    done = shell.there("list", "--config", str(broken))
    assert (refused(done, 2, "invalid_argument"), "\x1b" in done.err) == (True, False)


def made(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_the_state_is_found_by_flag_then_variable_then_file_then_in_the_home(shell: Shell) -> None:
    room = f"private/quarantine/{StateFolder.identify(os.path.realpath(shell.vault))}.free"
    expected = ["private/audit.jsonl", room]

    def create(name: str, *arguments: str, **env: str) -> None:
        words = ("create", "-w", str(shell.vault), name, *arguments)  # with workers: they have a mark there
        assert shell.call(*words, stdin=b"x", env=env) == Done(0, f"created {name}.md\n")

    create("a")
    assert made(shell.state) == expected
    shell.configure("[server]\nstate_dir = 'relative'\n")
    create("b")
    assert made(shell.home / ".config/fsnotes/relative") == expected
    create("c", FSNOTES_STATE_DIR=str(shell.home / "variable"))
    assert made(shell.home / "variable") == expected
    create("d", "--state-dir", "~/flag", FSNOTES_STATE_DIR=str(shell.home / "variable"))
    assert made(shell.home / "flag") == expected
    lines = [
        (folder / expected[0]).read_text().count("\n") for folder in (shell.state, shell.home / "variable")
    ]
    assert lines == [1, 1]


def test_nothing_is_left_in_the_vault_but_the_notes(shell: Shell) -> None:
    assert shell.there("create", "a", stdin=b"x").code == 0
    assert sorted(path.name for path in shell.vault.iterdir()) == ["a.md"]


@pytest.mark.parametrize("state", ["Notes", "Notes/state", ".", "link"])
def test_state_and_vault_must_lie_apart(shell: Shell, state: str) -> None:
    (shell.home / "link").symlink_to("Notes")
    before = sorted(shell.home.rglob("*"))
    assert refused(shell.there("list", "--state-dir", str(shell.home / state)), 2, "invalid_argument")
    assert sorted(shell.home.rglob("*")) == before


def test_a_state_folder_that_others_can_write_is_refused(shell: Shell) -> None:
    state = shell.home / "state"
    state.mkdir(mode=0o700)
    state.chmod(0o777)
    assert refused(shell.there("list", "--state-dir", str(state)), 2, "invalid_argument")
    state.chmod(0o700)
    assert shell.there("list", "--state-dir", str(state)) == Done(0)
    (state / "private").chmod(0o755)
    assert refused(shell.there("list", "--state-dir", str(state)), 2, "invalid_argument")


@pytest.mark.parametrize("home", ["", "relative"])
def test_a_home_that_is_none_is_asked_of_the_user_database(
    shell: Shell, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = pwd.getpwuid(os.getuid())
    monkeypatch.setattr(pwd, "getpwuid", lambda _: _Entry(entry.pw_name, str(shell.home)))
    shell.configure(workspaces(shell, "desk"))
    assert listed(shell.call("list", env={"HOME": home})) == ["in desk.md"]
    assert sorted(path.name for path in (shell.state / "ws").iterdir()) != []


class _Entry:
    def __init__(self, name: str, home: str) -> None:
        self.pw_name = name
        self.pw_dir = home


def test_without_any_home_nothing_is_made_where_one_happens_to_be(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    before = sorted(shell.home.rglob("*"))
    assert shell.there("list", env={"HOME": ""}) == Done(
        2, "", "fsnotes: invalid_argument: there is no home folder: set HOME to one\n"
    )
    assert sorted(shell.home.rglob("*")) == before
    assert shell.there("list") == Done(0)
