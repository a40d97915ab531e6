"""Serving HTTP to those who prove who they are: each sees what is granted to them, and nothing else."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Shell
from tests.cli.test_serving_http import served
from tests.identity.issuing import Signer, claims, serving
from tests.server.http.raw import Answer, Raw

BARE = 'Bearer realm="fsnotes"'
MARKS = {"ann": "MARK-ann-7f3a", "bob": "MARK-bob-51c2"}


@pytest.fixture
def folders(shell: Shell) -> dict[str, Path]:
    """A folder for each of two people, with a note that only its owner may see."""
    made = {}
    for name, mark in MARKS.items():
        made[name] = shell.home / name
        made[name].mkdir()
        (made[name] / "mine.md").write_text(f"# {mark}\n\n{mark} text\n")
    return made


def configured(shell: Shell, folders: dict[str, Path], principals: dict[str, str], http: str) -> None:
    text = f"[http]\n{http}\n"
    for name, folder in folders.items():
        text += f'[[workspace]]\nname = "{name}"\npath = "{folder}"\n'
        text += f'[[grant]]\nprincipal = "{principals[name]}"\nworkspace = "{name}"\nallow = ["read"]\n'
    shell.configure(text)


def ask(port: int, tool: str, arguments: dict[str, Any] | None = None, *, bearer: str | None) -> Answer:
    """Call a tool over a connection of its own: a refusal ends one."""
    with Raw(port) as raw:
        return raw.call(tool, arguments, bearer=bearer)


def get(port: int, path: str) -> Answer:
    with Raw(port) as raw:
        return raw.get(path)


def seen_by(port: int, bearer: str | None, folder: Path) -> tuple[list[str], Answer]:
    """The names of the workspaces that somebody is shown, and what a read of the note in *folder* gives."""
    shown = ask(port, "notes_workspaces", bearer=bearer).message["result"]["structuredContent"]["workspaces"]
    read = ask(port, "notes_read", {"workspaceUri": folder.as_uri(), "path": "mine"}, bearer=bearer)
    return [each["name"] for each in shown], read


def check_apart(port: int, bearers: dict[str, str], folders: dict[str, Path]) -> None:
    for name, other in (("ann", "bob"), ("bob", "ann")):
        names, own = seen_by(port, bearers[name], folders[name])
        assert names == [name]
        assert MARKS[name].encode() in own.body
        _, foreign = seen_by(port, bearers[name], folders[other])
        assert MARKS[other].encode() not in foreign.body
        assert foreign.message["result"]["content"][0]["text"].startswith("not_allowed: ")


def test_people_with_tokens_see_what_is_granted_to_them_until_the_token_is_revoked(
    shell: Shell, folders: dict[str, Path]
) -> None:
    bearers = {name: shell.call("token", "new", name).out.strip() for name in folders}
    configured(shell, folders, {name: f"token:{name}" for name in folders}, 'auth = "token"')
    with served(shell, folder=None) as (_, port):
        check_apart(port, bearers, folders)
        for bearer in (None, "wrong", bearers["ann"][:-1], bearers["ann"] + "0"):
            refused = ask(port, "notes_workspaces", bearer=bearer)
            assert (refused.status, refused.field("www-authenticate")) == (401, BARE)
        assert get(port, "/.well-known/oauth-protected-resource").status == 404
        assert shell.call("token", "revoke", "ann").code == 0
        assert ask(port, "notes_workspaces", bearer=bearers["ann"]).status == 401
        assert seen_by(port, bearers["bob"], folders["bob"])[0] == ["bob"]
        again = shell.call("token", "new", "ann").out.strip()
        assert seen_by(port, again, folders["ann"])[0] == ["ann"]
    whole = b"".join(path.read_bytes() for path in (shell.home / ".local").rglob("*") if path.is_file())
    assert all(bearer.encode() not in whole for bearer in (*bearers.values(), again))


def test_people_with_jwts_see_what_is_granted_to_them(shell: Shell, folders: dict[str, Path]) -> None:
    signer = Signer("ES256", "one")
    with serving() as issuer:
        issuer.publish(signer.jwk())
        endpoint = "https://notes.example.org/mcp"
        http = (
            f'auth = "jwt"\nissuer = "{issuer.url}"\naudience = "{endpoint}"\njwks_url = "{issuer.url}/keys"'
        )
        configured(shell, folders, {name: f"{issuer.url}|{name}" for name in folders}, http)
        now = time.time()

        def token(name: str, **changes: Any) -> str:
            asked = {"sub": name, "aud": endpoint, "exp": now + 300, "iat": now - 5, **changes}
            return signer.token(claims(issuer.url, **asked))

        with served(shell, folder=None) as (_, port):
            check_apart(port, {name: token(name) for name in folders}, folders)
            for wrong in (
                token("ann", aud="https://other.example/mcp"),
                token("ann", exp=now - 300),
                token("ann", iss="https://other.example"),
                Signer("ES256", "one").token(claims(issuer.url, sub="ann", aud=endpoint, exp=now + 300)),
                "none",
            ):
                refused = ask(port, "notes_workspaces", bearer=wrong)
                challenge = refused.field("www-authenticate")
                assert refused.status == 401
                assert challenge is not None
                assert 'error="invalid_token"' in challenge
                assert 'resource_metadata="https://notes.example.org/.well-known/' in challenge
            stranger = ask(port, "notes_workspaces", bearer=token("carol")).message["result"]
            assert stranger["structuredContent"]["workspaces"] == []
            metadata = json.loads(get(port, "/.well-known/oauth-protected-resource/mcp").body)
            assert metadata["resource"] == endpoint
            assert metadata["authorization_servers"] == [issuer.url]


@pytest.mark.parametrize("place", ["/team/mcp", "/team/%C3%A9", "", "/", "/mcp"])
def test_the_metadata_is_where_the_challenge_says_also_where_a_proxy_maps_the_endpoint(
    shell: Shell, folders: dict[str, Path], place: str
) -> None:
    endpoint = f"https://notes.example.org{place}"
    http = f'auth = "jwt"\nissuer = "https://as.example"\naudience = "{endpoint}"'
    configured(shell, folders, {name: f"https://as.example|{name}" for name in folders}, http)
    well_known = "/.well-known/oauth-protected-resource"
    with served(shell, folder=None) as (_, port):
        challenge = ask(port, "notes_workspaces", bearer=None).field("www-authenticate")
        assert challenge is not None
        (named,) = re.findall(r'resource_metadata="https://notes\.example\.org([^"]*)"', challenge)
        for path in (named, well_known, f"{well_known}/mcp"):
            answer = get(port, path)
            assert (answer.status, json.loads(answer.body)["resource"]) == (200, endpoint)
        for path in (f"{named}/other", f"{well_known}/team", "/team/mcp"):
            assert get(port, path).status == 404


def test_a_token_without_a_scope_that_is_asked_for_is_not_enough(
    shell: Shell, folders: dict[str, Path]
) -> None:
    signer = Signer("ES256", "one")
    with serving() as issuer:
        issuer.publish(signer.jwk())
        endpoint = "https://notes.example.org/mcp"
        http = (
            f'auth = "jwt"\nissuer = "{issuer.url}"\naudience = "{endpoint}"\njwks_url = "{issuer.url}/keys"'
        )
        scopes = 'scopes = ["notes", "more"]'
        configured(shell, folders, {name: f"{issuer.url}|{name}" for name in folders}, f"{http}\n{scopes}")

        def token(scope: str) -> str:
            asked = {
                "sub": "ann",
                "aud": endpoint,
                "exp": time.time() + 300,
                "iat": time.time() - 5,
                "scope": scope,
            }
            return signer.token(claims(issuer.url, **asked))

        with served(shell, folder=None) as (_, port):
            assert seen_by(port, token("more other notes"), folders["ann"])[0] == ["ann"]
            for scope in ("", "notes", "notes.more", "note more"):
                refused = ask(port, "notes_workspaces", bearer=token(scope))
                challenge = refused.field("www-authenticate") or ""
                assert refused.status == 403
                assert 'error="insufficient_scope"' in challenge
                assert 'scope="notes more"' in challenge
            metadata = json.loads(get(port, "/.well-known/oauth-protected-resource").body)
            assert metadata["scopes_supported"] == ["notes", "more"]


def test_a_token_file_or_folder_that_others_can_read_lets_nobody_in(
    shell: Shell, folders: dict[str, Path]
) -> None:
    bearer = shell.call("token", "new", "ann").out.strip()
    configured(shell, folders, {name: f"token:{name}" for name in folders}, 'auth = "token"')
    file = shell.home / ".local/state/fsnotes/private/tokens.json"
    with served(shell, folder=None) as (_, port):
        assert seen_by(port, bearer, folders["ann"])[0] == ["ann"]
        for place, good, bad in ((file, 0o600, 0o644), (file.parent, 0o700, 0o755)):
            place.chmod(bad)
            assert ask(port, "notes_workspaces", bearer=bearer).status == 503
            place.chmod(good)
            assert seen_by(port, bearer, folders["ann"])[0] == ["ann"]
