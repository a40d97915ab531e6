"""Whose request a static token makes it, and how soon one that was revoked is refused."""

from __future__ import annotations

import hmac
import logging
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fsnotes.access import Principal
from fsnotes.errors import ConfigurationError
from fsnotes.identity import Authenticator, Unauthenticated, token_text, tokens
from fsnotes.identity.token_file import TokenFile
from fsnotes.identity.tokens import TokenAuthenticator

ROOT = Path(__file__).resolve().parents[2]
CHALLENGE = 'Bearer realm="fsnotes"'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "private" / "tokens.json"


def _later() -> float:
    """Return a time at which every change was made long ago."""
    return time.time() + 60


def _open(path: Path) -> TokenAuthenticator:
    return TokenAuthenticator(path, clock=_later)


def _refusal(ask: Callable[[str], object], token: str) -> tuple[int, str | None]:
    with pytest.raises(Unauthenticated) as caught:
        ask(token)
    error = caught.value
    assert len(error.reason.splitlines()) == 1
    told = "".join([str(error), repr(error), *map(str, error.args), *_chain(error)])
    assert token[8:40] not in told or len(token) < 40
    return error.status, error.challenge


def _chain(error: BaseException | None) -> list[str]:
    found = []
    while error is not None:
        found += [repr(error), *traceback.format_exception_only(error)]
        error = error.__context__
    return found


def _unknown() -> str:
    return token_text.make(os.urandom(32))


def test_a_token_proves_the_principal_of_its_name(path: Path) -> None:
    ci, laptop = (TokenFile(path).add(name)[1] for name in ("ci", "laptop"))
    authenticator: Authenticator = _open(path)
    for token, name in ((ci, "token:ci"), (laptop, "token:laptop")):
        assert authenticator.known(token) == authenticator.identify(token) == Principal(name)


def test_the_challenge_is_bare_and_there_is_no_metadata(path: Path) -> None:
    authenticator = _open(path)
    told = (authenticator.challenge, authenticator.metadata, authenticator.metadata_url)
    assert told == (CHALLENGE, None, None)


def test_without_a_file_everybody_is_refused_and_none_is_made(path: Path) -> None:
    authenticator = _open(path)
    for ask in (authenticator.known, authenticator.identify):
        assert _refusal(ask, _unknown()) == (401, CHALLENGE)
    assert not path.exists()


def test_what_is_wrong_is_not_told_to_who_presents_it(path: Path) -> None:
    file = TokenFile(path)
    _, token = file.add("ci")
    _, gone = file.add("gone")
    file.revoke("gone")
    authenticator = _open(path)
    for wrong in (_unknown(), gone, token[:-1], token.upper(), token + " ", "", "x" * 100_000, "é", "\x00"):
        for ask in (authenticator.known, authenticator.identify):
            assert _refusal(ask, wrong) == (401, CHALLENGE)
    assert authenticator.known(token) == Principal("token:ci")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_any_mutated_token_is_refused(path: Path, data: st.DataObject) -> None:
    file = TokenFile(path)
    if not path.exists():
        file.add("ci")
    token = file.add("prey")[1]
    authenticator = _open(path)
    changed = list(token)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(changed)))
        changed[place : place + data.draw(st.integers(0, 3))] = data.draw(
            st.text(alphabet=st.sampled_from("0123456789abcdef_fsnotesABCDEF é"), max_size=3)
        )
    mutated = "".join(changed)
    assume(mutated != token)
    assert _refusal(authenticator.identify, mutated) == (401, CHALLENGE)
    # With a right checksum too.
    body = mutated[:72]
    if body != token[:72] and len(body) == 72 and body.isascii():
        mended = body + token_text._checksum(body)
        assert _refusal(authenticator.identify, mended) == (401, CHALLENGE)
    assert authenticator.identify(token) == Principal("token:prey")
    file.revoke("prey")


def test_several_tokens_of_one_name_prove_the_same_until_each_is_revoked(path: Path) -> None:
    file = TokenFile(path)
    old, first = file.add("ci")
    _, second = file.add("ci")
    authenticator = _open(path)
    assert {authenticator.identify(token).name for token in (first, second)} == {"token:ci"}
    file.revoke(old.id)
    assert _refusal(authenticator.identify, first) == (401, CHALLENGE)
    assert authenticator.identify(second) == Principal("token:ci")


def test_what_another_process_adds_or_revokes_holds_from_the_next_request_on(path: Path) -> None:
    authenticator = _open(path)
    token = _elsewhere(path, "add('ci')[1]")
    assert authenticator.known(token) is None  # the file is another one: it has to be read
    assert authenticator.identify(token) == authenticator.known(token) == Principal("token:ci")
    _elsewhere(path, "revoke('ci')")
    assert authenticator.known(token) is None
    assert _refusal(authenticator.identify, token) == (401, CHALLENGE)
    assert _refusal(authenticator.known, token) == (401, CHALLENGE)


def _elsewhere(path: Path, act: str) -> str:
    code = f"from fsnotes.identity.token_file import TokenFile\nprint(TokenFile({str(path)!r}).{act})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


def test_a_file_that_has_just_changed_is_read_for_each_request_until_a_change_would_show(path: Path) -> None:
    """Two changes within one step of the file system's clock can leave the same inode, size and times."""
    _, token = TokenFile(path).add("ci")
    now = changed = path.stat().st_ctime_ns / 1e9
    authenticator = TokenAuthenticator(path, clock=lambda: now)
    for after in (-5.0, 0.0, 0.9):
        now = changed + after
        assert authenticator.identify(token) == Principal("token:ci")
        assert authenticator.known(token) is None
    now = changed + 1.1
    assert authenticator.identify(token) == authenticator.known(token) == Principal("token:ci")


def test_a_folder_that_is_opened_to_others_refuses_everybody_until_it_is_closed(path: Path) -> None:
    _, token = TokenFile(path).add("ci")
    authenticator = _open(path)
    assert authenticator.known(token) == Principal("token:ci")
    (path.parent / "another").touch()  # what else changes there changes nothing
    assert authenticator.known(token) == Principal("token:ci")
    for mode in (0o750, 0o701):
        path.parent.chmod(mode)
        for _ in range(2):
            assert authenticator.known(token) is None
            assert _refusal(authenticator.identify, token) == (503, None)
        path.parent.chmod(0o700)
        assert authenticator.identify(token) == authenticator.known(token) == Principal("token:ci")


def test_a_change_that_leaves_the_same_version_is_seen_while_it_can_be_made(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, token = TokenFile(path).add("ci")
    changed = path.stat().st_ctime_ns / 1e9
    authenticator = TokenAuthenticator(path, clock=lambda: changed + 0.5)
    assert authenticator.identify(token) == Principal("token:ci")
    version = TokenFile(path).version()
    TokenFile(path).revoke("ci")
    monkeypatch.setattr(TokenFile, "version", lambda _: version)
    assert _refusal(authenticator.identify, token) == (401, CHALLENGE)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.chmod(0o644),
        lambda path: path.write_bytes(path.read_bytes()[:-20]),
        lambda path: path.write_bytes(b""),
        lambda path: (path.rename(path.with_name("real")), path.symlink_to("real")),
    ],
    ids=["mode", "truncated", "empty", "link"],
)
def test_a_file_that_is_spoiled_while_it_is_served_refuses_everybody_until_it_is_mended(
    path: Path, spoil: Callable[[Path], object]
) -> None:
    _, token = TokenFile(path).add("ci")
    whole = path.read_bytes()
    authenticator = _open(path)
    assert authenticator.known(token) == Principal("token:ci")
    spoil(path)
    for _ in range(2):
        assert authenticator.known(token) is None
        assert _refusal(authenticator.identify, token) == (503, None)
    with pytest.raises(ConfigurationError):
        _open(path)
    path.unlink()
    path.write_bytes(whole)
    path.chmod(0o600)
    assert authenticator.identify(token) == Principal("token:ci")


def test_a_file_that_is_removed_ends_all_tokens(path: Path) -> None:
    _, token = TokenFile(path).add("ci")
    authenticator = _open(path)
    path.unlink()
    assert _refusal(authenticator.identify, token) == (401, CHALLENGE)


def test_each_hash_is_compared_in_constant_time_whichever_is_presented(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = TokenFile(path)
    texts = [file.add(f"n{number}")[1] for number in range(5)]
    stored = [token_text.digest(text) for text in texts]
    authenticator = _open(path)
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return hmac.compare_digest(one, other)

    monkeypatch.setattr(tokens, "hmac", type("Recorder", (), {"compare_digest": staticmethod(compare)}))
    for text in texts:
        compared.clear()
        authenticator.known(text)
        assert compared == [(each, token_text.digest(text)) for each in stored]
    compared.clear()
    wrong = _unknown()
    assert _refusal(authenticator.known, wrong) == (401, CHALLENGE)
    assert compared == [(each, token_text.digest(wrong)) for each in stored]


def test_ten_thousand_bad_tokens_read_nothing_and_change_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = TokenFile(path)
    token = [file.add(f"n{number}") for number in range(16)][7][1]
    authenticator = _open(path)
    before = (path.read_bytes(), file.version(), os.listdir(path.parent))
    bad = [_unknown() if number % 2 else token[:-1] + "x" for number in range(10_000)]
    reads: list[Any] = []
    read = TokenFile.read
    monkeypatch.setattr(TokenFile, "read", lambda self: reads.append(1) or read(self))
    began = time.perf_counter()
    for wrong in bad:
        with pytest.raises(Unauthenticated):
            authenticator.known(wrong)
    took = time.perf_counter() - began
    assert (reads, path.read_bytes(), file.version(), os.listdir(path.parent)) == ([], *before)
    assert authenticator.known(token) == Principal("token:n7")
    assert took < 10  # 1 ms each: some twenty times what it takes


def test_a_token_is_in_no_log_record_and_in_no_file(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    _, token = TokenFile(path).add("canary")
    authenticator = _open(path)
    authenticator.identify(token)
    path.chmod(0o644)
    assert _refusal(authenticator.identify, token) == (503, None)
    TokenFile(path)
    path.chmod(0o600)
    TokenFile(path).revoke("canary")
    assert _refusal(authenticator.identify, token) == (401, CHALLENGE)
    secret = token[8:72]
    assert [record for record in caplog.records if secret in repr(record.__dict__)] == []
    assert [file for file in path.parent.iterdir() if secret.encode() in file.read_bytes()] == []
