"""The configuration: everything unknown is an error that names the key and its table."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fsnotes.access import Principal, Right, Rule
from fsnotes.config import Choices, Origin, Settings, WorkspaceSettings, load
from fsnotes.errors import ConfigurationError
from fsnotes.folders import Seen
from fsnotes.state import StateFolder
from sandbox.names import ROOT, RelPath
from sandbox.policy import HardLinks, Links, Mounts, Policy, Quota
from sandbox.records import replace

ME = Principal("local:me")


def load_text(tmp_path: Path, text: str, **more: object) -> Settings:
    file = tmp_path / "config.toml"
    file.write_text(text)
    return load(Choices(config=str(file), **more), principal=ME, environ={}, home=str(tmp_path / "home"))  # type: ignore[arg-type]


def test_home_alone_is_enough(tmp_path: Path) -> None:
    folder = tmp_path / "Notes"
    folder.mkdir()
    settings = load(Choices(folders=(str(folder),)), principal=ME, environ={}, home=str(tmp_path / "home"))
    assert replace(settings, seen=Seen()) == Settings(
        state_dir=str(tmp_path / "home/.local/state/fsnotes"),
        workspaces=(WorkspaceSettings("Notes", str(folder), str(folder), Policy(), ()),),
        rules=(Rule("local:me", "Notes", ROOT, frozenset(Right)),),
        origin=Origin(folders=frozenset({str(folder)})),
    )


def test_a_whole_file_is_understood(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    settings = load_text(
        tmp_path,
        """
        [server]
        state_dir = "state"
        log_level = "info"
        legacy = false
        max_message_bytes = 100000
        [jail]
        mode = "best-effort"
        level = "full"
        call_deadline_seconds = 5
        [confirm]
        ttl_seconds = 60
        decline_memory_seconds = 0
        [[workspace]]
        name = "notes"
        path = "vault"
        symlinks = "refuse"
        hardlinks = "allow"
        mounts = "allow"
        ignore = ["Archive/**"]
        max_note_bytes = 2000
        max_bytes = 1_000_000
        max_entries = 5000
        min_free_bytes = 0
        [[grant]]
        principal = "local:me"
        workspace = "notes"
        folder = "Shared"
        allow = ["read", "delete"]
        """,
    )
    assert replace(settings, seen=Seen()) == Settings(
        state_dir=str(tmp_path / "state"),
        workspaces=(
            WorkspaceSettings(
                "notes",
                str(tmp_path / "vault"),
                str(tmp_path / "vault"),
                Policy(Links.REFUSE, HardLinks.ALLOW, Mounts.ALLOW, max_file_bytes=2000),
                ("Archive/**",),
                Quota(max_bytes=1_000_000, max_entries=5000, min_free_bytes=0),
            ),
        ),
        rules=(Rule("local:me", "notes", RelPath.parse("Shared"), frozenset({Right.READ, Right.DELETE})),),
        jail_level="full",
        call_deadline_seconds=5.0,
        confirm_ttl_seconds=60.0,
        decline_memory_seconds=0.0,
        max_message_bytes=100_000,
        log_level="info",
        legacy=False,
        origin=Origin(config=str(tmp_path / "config.toml")),
    )


def test_what_only_this_command_was_told_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By flags or by the environment: another command would have to be told again. Flags win."""
    (tmp_path / "vault").mkdir()
    (tmp_path / "c.toml").write_text("[server]\nstate_dir = 'of the file'\n")
    monkeypatch.chdir(tmp_path)
    home, environ = str(tmp_path), {"FSNOTES_CONFIG": "~/c.toml", "FSNOTES_STATE_DIR": "~/s"}
    config, state = str(tmp_path / "c.toml"), str(tmp_path / "s")
    told = load(Choices(), principal=ME, environ=environ, home=home)
    assert told.origin == Origin(config, state)
    flags = Choices(config="c.toml", state_dir="flag", folders=("vault",))
    told = load(flags, principal=ME, environ=environ, home=home)
    assert told.origin == Origin(config, str(tmp_path / "flag"), frozenset({str(tmp_path / "vault")}))
    told = load(Choices(config="c.toml"), principal=ME, environ={}, home=home)
    assert (told.origin, told.state_dir) == (Origin(config), str(tmp_path / "of the file"))
    assert load(Choices(), principal=ME, environ={}, home=home).origin == Origin()


@pytest.mark.parametrize(
    ("text", "flag", "expected"),
    [
        ("", None, None),
        ("legacy = true", None, True),
        ("legacy = false", None, False),
        ("legacy = false", "on", True),
        ("legacy = true", "off", False),
        ("", "on", True),
    ],
)
def test_older_clients_are_as_the_flag_says_then_as_the_file_does(
    tmp_path: Path, text: str, flag: str | None, expected: bool | None
) -> None:
    assert load_text(tmp_path, f"[server]\n{text}\n", legacy=flag).legacy is expected


WORKSPACE = '[[workspace]]\nname = "n"\npath = "vault"\n'


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[serve]\n", "serve"),
        ("[server]\nstatedir = 'x'\n", "statedir"),
        ("[server]\nlegacy = 'on'\n", "legacy"),
        ("[server]\nlog_level = 'loud'\n", "log_level"),
        ("[server]\nmax_message_bytes = 1\n", "max_message_bytes"),
        ("[server]\nmax_message_bytes = true\n", "max_message_bytes"),
        ("[jail]\nmode = 'on'\n", "mode"),
        ("[jail]\ncall_deadline_seconds = 'x'\n", "call_deadline_seconds"),
        ("[confirm]\nttl_seconds = 0\n", "ttl_seconds"),
        ("[confirm]\nttl_seconds = 100000\n", "ttl_seconds"),
        ("[confirm]\nttl_seconds = nan\n", "ttl_seconds"),
        ("[http]\nport = -1\n", "http"),
        ("[http]\nworkers = 65\n", "workers"),
        ("[https]\nport = 1\n", "https"),
        ("workspace = 'x'\n", "workspace"),
        (WORKSPACE + "symlinks = 'follow'\n", "symlinks"),
        (WORKSPACE + "color = 'red'\n", "color"),
        (WORKSPACE + "max_bytes = 0\n", "max_bytes"),
        (WORKSPACE + "max_bytes = '1 GB'\n", "max_bytes"),
        (WORKSPACE + "max_bytes = 1.5\n", "max_bytes"),
        (WORKSPACE + "max_entries = 0\n", "max_entries"),
        (WORKSPACE + "max_entries = 10000001\n", "max_entries"),
        (WORKSPACE + "max_entries = true\n", "max_entries"),
        (WORKSPACE + "min_free_bytes = -1\n", "min_free_bytes"),
        (WORKSPACE + "ignore = [1]\n", "ignore"),
        (WORKSPACE + WORKSPACE, "twice"),
        ("[[workspace]]\nname = 'n'\npath = 'missing'\n", "missing"),
        ("[[workspace]]\nname = ''\npath = 'vault'\n", "name"),
        (WORKSPACE + "[[grant]]\nprincipal = 'a'\nworkspace = 'm'\nallow = []\n", "m"),
        (WORKSPACE + "[[grant]]\nprincipal = 'a'\nworkspace = 'n'\n", "allow"),
        (WORKSPACE + "[[grant]]\nprincipal = 'a'\nworkspace = 'n'\nallow = ['all']\n", "allow"),
        (WORKSPACE + "[[grant]]\nprincipal = 'a'\nworkspace = 'n'\nallow = []\nfolder = '../x'\n", "folder"),
        (
            WORKSPACE
            + "symlinks = 'within'\n[[grant]]\nprincipal = 'a'\nworkspace = 'n'\nfolder = 'f'\nallow = ['read']\n",
            "exclude each other",
        ),
        ("not toml", "config.toml"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "vault").mkdir()
    with pytest.raises(ConfigurationError, match=named):
        load_text(tmp_path, text)


@pytest.mark.parametrize(
    "number",
    ["9" * 5_000, "0x" + "f" * 5_000, f"[{2**63}]", f"{{a = {-(2**63) - 1}}}"],
    ids=lambda text: text[:8],
)
def test_an_integer_that_toml_has_no_room_for_is_refused(tmp_path: Path, number: str) -> None:
    """Python cannot always read such a number, nor write it into an error."""
    with pytest.raises(ConfigurationError, match=r"config\.toml: an integer of more than 64 bits"):
        load_text(tmp_path, f"[jail]\ncall_deadline_seconds = {number}\n")
    for nearest in (2**63 - 1, -(2**63)):
        with pytest.raises(ConfigurationError, match=f"{nearest} does not fit"):
            load_text(tmp_path, f"[jail]\ncall_deadline_seconds = {nearest}\n")


def test_an_error_repeats_no_more_of_a_value_than_finds_it_again(tmp_path: Path) -> None:
    for text in (
        f"[jail]\nmode = '{'x' * 5_000}'\n",
        f"[server]\n{'x' * 5_000} = 1\n",
        f"{'x' * 5_000} = 1\n",
    ):
        with pytest.raises(ConfigurationError) as refused:
            load_text(tmp_path, text)
        assert "xxx" in str(refused.value)
        assert len(str(refused.value)) < 400


def test_links_within_a_workspace_are_followed_where_the_whole_of_it_is_granted(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    text = WORKSPACE + "symlinks = 'within'\n[[grant]]\nprincipal = 'a'\nworkspace = 'n'\nallow = ['read']\n"
    (workspace,) = load_text(tmp_path, text).workspaces
    assert workspace.policy == Policy(Links.WITHIN)


def test_a_missing_named_file_is_an_error_and_a_missing_default_one_is_not(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        load(Choices(config=str(tmp_path / "no.toml")), principal=ME, environ={}, home=str(tmp_path))
    assert load(Choices(), principal=ME, environ={}, home=str(tmp_path)).workspaces == ()


def test_the_environment_names_configuration_and_state_and_the_flag_wins(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "a.toml").write_text('[server]\nlog_level = "info"\n')
    environ = {"FSNOTES_CONFIG": str(tmp_path / "a.toml"), "FSNOTES_STATE_DIR": str(tmp_path / "s")}
    settings = load(Choices(), principal=ME, environ=environ, home=str(tmp_path))
    assert (settings.log_level, settings.state_dir) == ("info", str(tmp_path / "s"))
    flagged = load(
        Choices(state_dir=str(tmp_path / "t"), log_level="error"),
        principal=ME,
        environ=environ,
        home=str(tmp_path),
    )
    assert (flagged.log_level, flagged.state_dir) == ("error", str(tmp_path / "t"))


def test_read_only_takes_every_other_right_away(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    text = WORKSPACE + "[[grant]]\nprincipal = 'a'\nworkspace = 'n'\nallow = ['read', 'write', 'delete']\n"
    settings = load_text(tmp_path, text, read_only=True)
    assert [rule.allow for rule in settings.rules] == [frozenset({Right.READ})]


def test_a_folder_given_twice_or_through_a_link_is_one_workspace(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "link").symlink_to("vault")
    settings = load(
        Choices(folders=(str(tmp_path / "link"), str(tmp_path / "vault"))),
        principal=ME,
        environ={},
        home=str(tmp_path / "home"),
    )
    assert [(w.name, w.path, w.spelling) for w in settings.workspaces] == [
        ("vault", str(tmp_path / "vault"), str(tmp_path / "link"))
    ]


def test_two_folders_of_one_name_get_two_names(tmp_path: Path) -> None:
    for place in ("a/Notes", "b/Notes"):
        (tmp_path / place).mkdir(parents=True)
    folders = (str(tmp_path / "a/Notes"), str(tmp_path / "b/Notes"))
    settings = load(Choices(folders=folders), principal=ME, environ={}, home=str(tmp_path / "home"))
    assert [workspace.name for workspace in settings.workspaces] == ["Notes", "Notes-2"]


@pytest.mark.parametrize("state", ["vault/state", "vault", "."])
def test_state_and_workspaces_do_not_contain_each_other(tmp_path: Path, state: str) -> None:
    (tmp_path / "vault").mkdir()
    with pytest.raises(ConfigurationError, match="state folder"):
        load(
            Choices(folders=(str(tmp_path / "vault"),), state_dir=str(tmp_path / state)),
            principal=ME,
            environ={},
            home=str(tmp_path / "home"),
        )


def test_a_workspace_inside_another_one_is_refused_and_a_neighbour_with_its_prefix_is_not(
    tmp_path: Path,
) -> None:
    for place in ("vault/inner", "vault-evil"):
        (tmp_path / place).mkdir(parents=True)
    home = str(tmp_path / "home")
    folders = (str(tmp_path / "vault"), str(tmp_path / "vault/inner"))
    with pytest.raises(ConfigurationError, match="lies in workspace"):
        load(Choices(folders=folders), principal=ME, environ={}, home=home)
    folders = (str(tmp_path / "vault"), str(tmp_path / "vault-evil"))
    assert len(load(Choices(folders=folders), principal=ME, environ={}, home=home).workspaces) == 2


def test_a_home_relative_path_in_the_environment_is_expanded_though_no_shell_has_seen_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "c.toml").write_text('[server]\nlog_level = "info"\n')
    environ = {"FSNOTES_CONFIG": "~/c.toml", "FSNOTES_STATE_DIR": "~/state"}
    settings = load(Choices(), principal=ME, environ=environ, home=str(tmp_path))
    assert (settings.log_level, settings.state_dir) == ("info", str(tmp_path / "state"))


@pytest.mark.parametrize(
    "target", ["private", "vault", "vault/folder", "state", "state/ws", "state/ws/other", "state/ws/other/in"]
)
def test_what_a_worker_gets_of_the_state_is_never_a_link_to_what_it_must_not_have(
    tmp_path: Path, target: str
) -> None:
    (tmp_path / "vault/folder").mkdir(parents=True)
    state = StateFolder.open(str(tmp_path / "state"))
    (tmp_path / "state/ws/other/in").mkdir(parents=True)
    vault = str(tmp_path / "vault")
    place = tmp_path / "state/ws" / state.identify(vault)
    place.symlink_to(tmp_path / {"private": "state/private"}.get(target, target))
    with pytest.raises(ConfigurationError):
        state.workspace(vault)
    place.unlink()
    (tmp_path / "elsewhere").mkdir()
    place.symlink_to(tmp_path / "elsewhere")
    assert state.workspace(vault).place.path == os.path.realpath(tmp_path / "elsewhere")
    place.unlink()
    assert state.workspace(vault).place.path == os.path.realpath(place)
