"""`keys` shows ids and ages, never a secret; a form in flight survives a rotation."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from tests.cli.shell import Done, Shell, refused

WHEN = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


def secrets(shell: Shell) -> list[str]:
    ring: dict[str, Any] = json.loads((shell.state / "private/keys.json").read_text())
    return [key["secret"] for key in ring["keys"]]


def shows_a_secret(shell: Shell, done: Done) -> bool:
    said = done.out + done.err
    forms = [(text, base64.b64decode(text).hex()) for text in secrets(shell)]
    return any(form.rstrip("=") in said for pair in forms for form in pair)


def test_list_shows_each_key_by_id_use_and_age(shell: Shell) -> None:
    done = shell.run("keys", "list")
    assert re.fullmatch(rf"[0-9a-f]{{8}}\tseals\t{WHEN}\n", done.out)
    assert (done.code, done.err, shows_a_secret(shell, done)) == (0, "", False)
    assert shell.call("keys", "list") == done
    assert (shell.state / "private/keys.json").stat().st_mode & 0o777 == 0o600


def test_rotate_puts_a_fresh_key_first_and_keeps_the_one_that_forms_need(shell: Shell) -> None:
    (before,) = shell.call("keys", "list").out.splitlines()
    done = shell.run("keys", "rotate")
    fresh, kept = done.out.splitlines()
    assert kept == before.replace("seals", "opens")
    assert re.fullmatch(rf"[0-9a-f]{{8}}\tseals\t{WHEN}", fresh)
    assert (done.code, done.err, shows_a_secret(shell, done), len(secrets(shell))) == (0, "", False, 2)


def test_keys_line_up_for_a_person(shell: Shell) -> None:
    with shell.on_terminal("keys", "rotate", results_too=True) as terminal:
        done = terminal.end()
    lines = done.err.splitlines()
    assert [re.sub(r"[0-9a-f]{8}|\d\d+", "*", line) for line in lines] == [
        "*  seals  made *-*-* *:*",
        "*  opens  made *-*-* *:*",
    ]
    assert (done.code, shows_a_secret(shell, done)) == (0, False)


def test_a_form_in_flight_survives_a_rotation_by_another_process(shell: Shell) -> None:
    shell.write("a.md")
    with shell.on_terminal("delete", "a", "-w", str(shell.vault)) as terminal:
        terminal.expect("yes or no: ")
        assert shell.call("keys", "rotate").code == 0
        terminal.type("yes\n")
        assert terminal.end().code == 0


def test_keys_from_the_environment_are_changed_there(shell: Shell) -> None:
    text = base64.b64encode(bytes(range(32))).decode()
    for action in ("list", "rotate"):
        done = shell.call("keys", action, env={"FSNOTES_STATE_KEYS": text})
        assert (refused(done, 2, "invalid_argument"), text in done.err) == (True, False)
    assert not shell.state.exists()


def test_keys_from_the_environment_that_are_none_are_not_repeated(shell: Shell) -> None:
    shell.write("a.md")
    done = shell.there("delete", "a", env={"FSNOTES_STATE_KEYS": "c2VjcmV0"})
    assert (done.code in (1, 2), done.out, "c2VjcmV0" in done.err, "secret" in done.err) == (
        True,
        "",
        False,
        False,
    )
    assert shell.files() == {"a.md": b"x\n"}


def test_a_key_file_that_others_can_read_is_refused(shell: Shell) -> None:
    assert shell.call("keys", "list").code == 0
    (shell.state / "private/keys.json").chmod(0o644)
    assert refused(shell.call("keys", "list"), 2, "invalid_argument")
