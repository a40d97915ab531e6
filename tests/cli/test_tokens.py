"""`token` prints a token once, alone, and then knows its hash only."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from fsnotes.cli.console import Console, OutputFailed
from fsnotes.errors import Busy
from fsnotes.identity import Unauthenticated, token_text
from fsnotes.identity.token_file import TokenFile
from fsnotes.identity.tokens import TokenAuthenticator
from tests.cli.shell import FSNOTES, SECONDS, Shell, refused

WHEN = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
ID = r"[0-9a-f]{8}"


def token_of(shell: Shell, name: str) -> str:
    return shell.call("token", "new", name).out.strip()


def test_new_prints_the_token_alone_and_nothing_else_has_it(shell: Shell) -> None:
    done = shell.run("token", "new", "ci")
    token = done.out.removesuffix("\n")
    assert (done.code, done.err, token_text.fault(token)) == (0, "", None)
    file = shell.state / "private/tokens.json"
    assert file.stat().st_mode & 0o777 == 0o600
    held = [
        each for each in shell.home.rglob("*") if each.is_file() and token[8:72].encode() in each.read_bytes()
    ]
    assert held == []
    listed = shell.run("token", "list")
    assert re.fullmatch(rf"{ID}\tci\t{WHEN}\n", listed.out)
    assert (listed.code, listed.err) == (0, "")


def test_new_as_json_has_what_a_grant_needs(shell: Shell) -> None:
    made = shell.call("token", "new", "ci", "--json").document()
    assert list(made) == ["id", "name", "principal", "created", "token"]
    assert (made["name"], made["principal"], token_text.fault(made["token"])) == ("ci", "token:ci", None)
    listed = shell.call("token", "list", "--json").document()
    assert listed == {"tokens": [{key: made[key] for key in ("id", "name", "principal", "created")}]}


def test_list_of_none_is_empty(shell: Shell) -> None:
    assert (shell.call("token", "list").out, shell.call("token", "list", "--json").document()) == (
        "",
        {"tokens": []},
    )


def test_a_second_token_of_a_name_is_added_and_each_is_revoked_by_its_id(shell: Shell) -> None:
    first, second = (shell.call("token", "new", "ci", "--json").document() for _ in range(2))
    authenticator = TokenAuthenticator(shell.state / "private/tokens.json")
    assert {authenticator.identify(each["token"]).name for each in (first, second)} == {"token:ci"}
    done = shell.run("token", "revoke", first["id"])
    assert re.fullmatch(rf"{first['id']}\tci\t{WHEN}\n", done.out)
    assert authenticator.identify(second["token"]).name == "token:ci"
    with pytest.raises(Unauthenticated) as caught:
        authenticator.identify(first["token"])
    assert caught.value.status == 401


def test_revoke_by_name_ends_all_of_it_and_no_other(shell: Shell) -> None:
    for name in ("ci", "ci", "laptop"):
        token_of(shell, name)
    done = shell.call("token", "revoke", "ci", "--json").document()
    assert [each["name"] for each in done["tokens"]] == ["ci", "ci"]
    assert shell.call("token", "list").out.split("\t")[1] == "laptop"


def test_a_principal_means_its_name(shell: Shell) -> None:
    made = shell.call("token", "new", "token:ci", "--json").document()
    assert (made["name"], made["principal"]) == ("ci", "token:ci")
    assert shell.call("token", "revoke", "token:ci").out.split("\t")[1] == "ci"


def test_tokens_line_up_for_a_person(shell: Shell) -> None:
    for name in ("ci", "laptop"):
        token_of(shell, name)
    with shell.on_terminal("token", "list", results_too=True) as terminal:
        done = terminal.end()
    assert [re.sub(rf"{ID}|\d\d+", "*", line) for line in done.err.splitlines()] == [
        "*  ci      made *-*-* *:*",
        "*  laptop  made *-*-* *:*",
    ]


def test_a_name_that_cannot_be_one_is_refused_and_makes_nothing(shell: Shell) -> None:
    for name in ("", "a b", "deadbeef", "token:", "token:token:ci", "local:ci", "x" * 65):
        assert refused(shell.call("token", "new", name), 2, "invalid_argument")
    assert not (shell.state / "private/tokens.json").exists()


def test_what_is_not_there_cannot_be_revoked(shell: Shell) -> None:
    token_of(shell, "ci")
    before = (shell.state / "private/tokens.json").read_bytes()
    for absent in ("other", "00000000"):
        assert refused(shell.call("token", "revoke", absent), 4, "not_found")
    assert (shell.state / "private/tokens.json").read_bytes() == before


def test_a_token_in_the_place_of_its_name_is_not_repeated(shell: Shell) -> None:
    token = token_of(shell, "ci")
    for action in ("new", "revoke"):
        done = shell.call("token", action, token)
        assert (refused(done, 2, "invalid_argument"), token[8:40] in done.err) == (True, False)


def test_a_token_file_that_cannot_be_trusted_is_one_line(shell: Shell) -> None:
    token_of(shell, "ci")
    file = shell.state / "private/tokens.json"
    whole = file.read_bytes()
    for data, mode in ((whole, 0o644), (whole[:-9], 0o600), (b"\xff", 0o600)):
        file.write_bytes(data)
        file.chmod(mode)
        for words in (("list",), ("new", "ci"), ("revoke", "ci")):
            assert refused(shell.call("token", *words), 2, "invalid_argument")
        assert file.read_bytes() == data
    file.write_bytes(whole)
    assert shell.call("token", "list").code == 0


def test_the_tokens_of_a_state_folder_are_its_own(shell: Shell) -> None:
    token_of(shell, "ci")
    elsewhere = str(shell.home / "elsewhere")
    assert shell.call("token", "list", "--state-dir", elsewhere).out == ""
    assert json.loads((shell.state / "private/tokens.json").read_text())["version"] == 1


def written_to(shell: Shell, stdout: int | None, *words: str) -> tuple[int, str]:
    """Run `token` with a stdout that is no good, None for a closed one; return the exit code and stderr."""
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *FSNOTES, "token", *words]
        if stdout is None
        else [*FSNOTES, "token", *words],
        stdout=stdout,
        stderr=subprocess.PIPE,
        cwd=shell.home,
        env=shell.environ(),
        timeout=SECONDS,
        check=False,
    )
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize("words", [("new", "ci"), ("new", "ci", "--json")], ids=["text", "json"])
@pytest.mark.parametrize("kind", ["full", "unread", "closed"])
def test_a_token_that_could_not_be_printed_is_revoked_and_no_other(
    shell: Shell, kind: str, words: tuple[str, ...]
) -> None:
    token_of(shell, "ci")
    before = shell.call("token", "list").out
    if kind == "closed":
        code, complaint = written_to(shell, None, *words)
    elif kind == "full":
        with Path("/dev/full").open("wb") as full:
            code, complaint = written_to(shell, full.fileno(), *words)
    else:
        read, write = os.pipe()
        os.close(read)
        try:
            code, complaint = written_to(shell, write, *words)
        finally:
            os.close(write)
    assert (code, complaint.count("\n")) == (1, 1)
    assert complaint.startswith("fsnotes: standard output cannot be written: ")
    assert complaint.endswith("; the token was revoked again\n")
    assert shell.call("token", "list").out == before
    assert token_of(shell, "ci") != ""


def test_a_token_that_could_be_neither_printed_nor_revoked_is_named_by_its_id(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise Busy("the state folder is locked")

    def break_off(*_: object) -> None:
        raise OutputFailed("No space left on device")

    monkeypatch.setattr(TokenFile, "revoke", fail)
    monkeypatch.setattr(Console, "say", break_off)
    done = shell.call("token", "new", "ci")
    monkeypatch.undo()
    (listed,) = shell.call("token", "list", "--json").document()["tokens"]
    assert (done.code, done.out) == (1, "")
    assert f"the token {listed['id']} stays valid: fsnotes token revoke {listed['id']} ends it" in done.err
