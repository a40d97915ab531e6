"""`docs/authentication.md` says the numbers, names and answers that are true."""

from __future__ import annotations

import json
import re
from pathlib import Path

from fsnotes.identity import (
    authenticator,
    challenges,
    claims,
    fetching,
    keyring,
    keys,
    token_file,
    token_text,
)
from fsnotes.identity.jwts import JwtAuthenticator
from fsnotes.identity.tokens import CHALLENGE

PAGE = " ".join((Path(__file__).resolve().parents[2] / "docs/authentication.md").read_text("utf-8").split())


def test_every_bound_is_the_one_that_holds() -> None:
    for sentence in (
        f"Up to {token_file.MAX_TOKENS} tokens",
        f"at most {authenticator.MAX_TOKEN:,} characters",
        f"at most {claims.LEEWAY_SECONDS:.0f} seconds in the future",
        f"1 to {claims.MAX_SUBJECT} printable characters",
        f"{keys.MIN_RSA_BITS:,} to {keys.MAX_RSA_BYTES * 8:,} bits",
        f"when they are {keyring.EARLY_SECONDS / 60:.0f} minutes old",
        f"once in {keyring.RETRY_SECONDS:.0f} seconds",
        f"waits at most {keyring.WAIT_SECONDS:.0f} seconds, {authenticator.MAX_WAITING} at a time",
        f"ends within {keyring.FRESH_SECONDS / 60:.0f} minutes",
        f"at most {keyring.FETCH_SECONDS:.0f} seconds, {fetching.MAX_BYTES:,} bytes",
    ):
        assert sentence in PAGE
    assert (keyring.KEPT_SECONDS, "serve for an hour" in PAGE) == (3600, True)


def test_every_algorithm_is_named_and_no_other() -> None:
    named = [f"{kind}{bits}" for kind in ("RS", "PS", "ES") for bits in (256, 384, 512)]
    assert "RS, PS or ES with 256, 384 or 512 bits, or EdDSA with Ed25519" in PAGE
    assert set(keys.ALGORITHMS) == {*named, "EdDSA"}


def test_the_form_for_scanners_finds_a_token_and_nothing_shorter() -> None:
    (form,) = re.findall(r"`(fsnotes_\S+\})`", PAGE)
    token = token_text.make(bytes(32))
    assert (re.fullmatch(form, token) is None, re.fullmatch(form, token[:-1]) is None) == (False, True)


def test_the_answers_are_those_that_are_given() -> None:
    made = JwtAuthenticator("https://as.example", "https://notes.example/mcp")
    (example,) = re.findall(r"```json (\{.*?\}) ```", PAGE)
    assert (json.loads(example), str(made.metadata_url) in PAGE) == (made.metadata, True)
    assert f"WWW-Authenticate: {CHALLENGE} ```" in PAGE
    assert made.challenge == challenges.bearer(resource_metadata=str(made.metadata_url))
    assert '`Bearer realm="fsnotes", resource_metadata="..."`' in PAGE
