"""Each exit code of the command line, by one case that a person meets."""

from __future__ import annotations

import pytest

from fsnotes.service import Service
from tests.cli.hosts import fsnotes_on
from tests.cli.shell import Done, Shell, refused
from tests.workers import require_jail


def test_0_done(shell: Shell) -> None:
    shell.write("a.md", "text")
    assert shell.here("read", "a") == Done(0, "text")


def test_1_unexpected_when_something_that_is_needed_is_broken(shell: Shell) -> None:
    shell.write("a.md")
    entry = f"20260102T030405Z-{1:032x}"
    shell.write(f".trash/{entry}/b.md")
    (shell.state / "private").mkdir(mode=0o700, parents=True)
    (shell.state / "private/audit.jsonl").mkdir()
    for done in (shell.there("restore", entry), shell.there("create", "c", stdin=b"x")):
        assert (done.code, done.out) == (1, "")
        assert done.err.splitlines()[-1].startswith("fsnotes: unavailable: the audit log cannot be written; ")
    assert sorted(shell.files()) == [f".trash/{entry}/b.md", "a.md"]


def test_1_unexpected_for_a_crash_which_only_the_debug_level_shows(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*arguments: object, **named: object) -> None:
        raise ZeroDivisionError("/secret/path")

    monkeypatch.setattr(Service, "list", crash)
    assert shell.there("list") == Done(
        1,
        "",
        "fsnotes: unavailable: something went wrong here; read before you try again (--log-level debug shows"
        " where)\n",
    )
    with pytest.raises(ZeroDivisionError):
        shell.there("list", "--log-level", "debug")


def test_2_bad_arguments_and_bad_configuration(shell: Shell) -> None:
    assert refused(shell.here("list", "--colour"), 2, "invalid_argument")
    assert refused(shell.there("list", "--sort", "name"), 2, "invalid_argument")
    assert refused(shell.call(), 2, "invalid_argument")
    assert refused(shell.call("lists"), 2, "invalid_argument")
    assert refused(shell.call("keys"), 2, "invalid_argument")
    assert refused(shell.there("list", "--legacy", "maybe"), 2, "invalid_argument")
    shell.configure("[serve]\n")
    assert refused(shell.there("list"), 2, "invalid_argument")


def test_3_not_allowed(shell: Shell) -> None:
    (shell.home / "secret.md").write_text("secret")
    (shell.vault / "link.md").symlink_to("../secret.md")
    for path in ("../secret.md", "link.md", "/etc/passwd", ".obsidian/x.md", "./a.md", "a\\b"):
        assert refused(shell.there("read", path), 3, "not_allowed")
    assert refused(shell.there("create", "../new", stdin=b"x"), 3, "not_allowed")
    assert refused(shell.there("list", "../"), 3, "not_allowed")


def test_3_not_allowed_without_a_grant_and_where_only_reading_is_asked_for(shell: Shell) -> None:
    shell.write("a.md", "text")
    assert refused(shell.there("create", "b", "--read-only", stdin=b"x"), 3, "not_allowed")
    assert refused(shell.there("delete", "a", "--read-only"), 3, "not_allowed")
    assert shell.there("read", "a", "--read-only") == Done(0, "text")
    shell.configure(f"[[workspace]]\nname = 'n'\npath = '{shell.vault}'\n")
    assert refused(shell.call("read", "a"), 3, "not_allowed")
    assert shell.files() == {"a.md": b"text"}


def test_4_not_found(shell: Shell) -> None:
    assert refused(shell.there("read", "nothing"), 4, "not_found")
    assert refused(shell.there("list", "nothing"), 4, "not_found")


def test_5_conflict(shell: Shell) -> None:
    shell.write("a.md")
    assert refused(shell.there("create", "a", stdin=b"x"), 5, "exists")
    shell.write("b.md")
    shell.write("b.markdown")
    assert refused(shell.there("read", "b"), 5, "ambiguous")


def test_6_limit(shell: Shell) -> None:
    shell.write("a.md", "x" * 1_048_577)
    assert refused(shell.there("read", "a"), 6, "too_large")
    shell.configure(f"[[workspace]]\nname = 'n'\npath = '{shell.vault}'\nmax_bytes = 1_048_578\n")
    assert shell.there("create", "b", stdin=b"x").code == 0
    assert refused(shell.there("create", "c", stdin=b"x"), 6, "limit")
    assert sorted(shell.files()) == ["a.md", "b.md"]


def test_7_not_confirmed(shell: Shell) -> None:
    shell.write("a.md")
    assert refused(shell.there("delete", "a"), 7, "not_allowed")


def test_8_jail(shell: Shell) -> None:
    require_jail()
    for words in (("list",), ("create", "a")):
        done = shell.run(
            *words, "-w", str(shell.vault), "--jail", "require", stdin=b"x", command=fsnotes_on("nothing")
        )
        assert refused(done, 8, "unavailable")
    assert shell.files() == {}


def test_130_interrupted(shell: Shell) -> None:
    with shell.on_terminal("create", "a", "-w", str(shell.vault)) as terminal:
        terminal.answer("Ctrl-D", "half\n\x03")
        assert terminal.end().code == 130
    assert shell.files() == {}
