"""What is sealed comes back as it was, and nothing else is ever taken for it."""

from __future__ import annotations

import base64
import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsnotes.confirm import KeyRing
from fsnotes.confirm.sealing import MAX_TOKEN, seal, unseal
from fsnotes.errors import InvalidState


def _ring(*seeds: int) -> KeyRing:
    secrets = (bytes((seed + 11 * index) % 256 for index in range(32)) for seed in seeds)
    return KeyRing.from_text(",".join(base64.b64encode(secret).decode() for secret in secrets))


RING = _ring(1)
OTHER = _ring(2)


def _raw(token: str) -> bytes:
    text = token.removeprefix("v1.")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _token(raw: bytes) -> str:
    return "v1." + base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@given(st.binary(max_size=4000))
def test_what_is_sealed_comes_back(plaintext: bytes) -> None:
    token = seal(RING, plaintext)
    assert unseal(RING, token) == plaintext
    assert token.isascii()
    assert plaintext not in token.encode() or len(plaintext) < 4


@given(st.binary(max_size=200), st.data())
def test_any_flipped_bit_is_refused(plaintext: bytes, data: st.DataObject) -> None:
    raw = bytearray(_raw(seal(RING, plaintext)))
    bit = data.draw(st.integers(0, len(raw) * 8 - 1))
    raw[bit // 8] ^= 1 << bit % 8
    with pytest.raises(InvalidState):
        unseal(RING, _token(bytes(raw)))


@given(st.binary(max_size=60), st.data())
def test_any_truncation_is_refused(plaintext: bytes, data: st.DataObject) -> None:
    token = seal(RING, plaintext)
    end = data.draw(st.integers(0, len(token) - 1))
    with pytest.raises(InvalidState):
        unseal(RING, token[:end])
    start = data.draw(st.integers(1, len(token)))
    with pytest.raises(InvalidState):
        unseal(RING, token[start:])


@given(st.binary(max_size=60), st.binary(max_size=60), st.data())
def test_any_splice_of_two_tokens_is_refused(one: bytes, two: bytes, data: st.DataObject) -> None:
    first, second = seal(RING, one), seal(RING, two)
    at = data.draw(st.integers(1, min(len(first), len(second)) - 1))
    spliced = first[:at] + second[at:]
    if spliced not in (first, second):
        with pytest.raises(InvalidState):
            unseal(RING, spliced)


@given(st.text(max_size=300))
def test_no_other_text_is_a_token(text: str) -> None:
    for token in (text, f"v1.{text}"):
        with pytest.raises(InvalidState):
            unseal(RING, token)


@given(st.binary(min_size=1, max_size=100), st.data())
def test_a_token_has_one_spelling(plaintext: bytes, data: st.DataObject) -> None:
    token = seal(RING, plaintext)
    at = data.draw(st.integers(3, len(token)))
    odd = data.draw(
        st.sampled_from(["=", " ", "\n", "\t", "+", "/", ".", "\0", "é", "\u200b", "Ａ", "-", "_", "A"])
    )
    for other in (token[:at] + odd + token[at:], token + "=", token + "\n", " " + token, token.upper()):
        if other != token:
            with pytest.raises(InvalidState):
                unseal(RING, other)


def test_spare_bits_of_the_last_character_are_refused() -> None:
    token = next(token for size in range(3) if len(_raw(token := seal(RING, b"x" * size))) % 3 == 1)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    last = alphabet.index(token[-1])
    twins = [token[:-1] + alphabet[last | spare] for spare in range(1, 16)]
    assert {_raw(twin) for twin in twins} == {_raw(token)}
    for twin in twins:
        with pytest.raises(InvalidState, match="not the only spelling"):
            unseal(RING, twin)


@pytest.mark.parametrize(
    "token", ["", None, 5, b"v1.AAAA", ["v1.AAAA"], "v1.", "v2." + "A" * 60, "V1." + "A" * 60]
)
def test_what_is_no_token_at_all_is_refused(token: object) -> None:
    with pytest.raises(InvalidState):
        unseal(RING, token)


def test_a_token_of_another_ring_is_refused() -> None:
    with pytest.raises(InvalidState, match="unknown key"):
        unseal(RING, seal(OTHER, b"x"))


def test_a_token_that_names_another_key_of_the_ring_is_refused() -> None:
    both = _ring(1, 2)
    raw = _raw(seal(OTHER, b"x"))
    with pytest.raises(InvalidState, match="not authentic"):
        unseal(both, _token(RING.sealing.id + raw[4:]))


def test_the_version_is_authenticated() -> None:
    with pytest.raises(InvalidState, match="another version"):
        unseal(RING, seal(RING, b"x").replace("v1.", "v2.", 1))


def test_an_overlong_token_is_refused_before_it_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> bytes:
        raise AssertionError("decoded")

    monkeypatch.setattr(base64, "urlsafe_b64decode", never)
    with pytest.raises(InvalidState, match="too long"):
        unseal(RING, "v1." + "A" * MAX_TOKEN)


def test_the_longest_plaintext_makes_a_token_that_is_taken() -> None:
    size = next(size for size in range(MAX_TOKEN, 0, -1) if _fits(size))
    token = seal(RING, b"x" * size)
    assert len(token) == MAX_TOKEN - 1  # base64 of one byte more would be two characters longer
    assert unseal(RING, token) == b"x" * size


def _fits(size: int) -> bool:
    try:
        seal(RING, b"x" * size)
    except ValueError:
        return False
    return True


def test_two_tokens_of_one_text_share_nothing_but_version_and_key_id() -> None:
    one, two = _raw(seal(RING, b"same")), _raw(seal(RING, b"same"))
    assert one[:4] == two[:4] == RING.sealing.id
    assert one[4:20] != two[4:20]
    assert one[20:] != two[20:]


def test_a_token_is_what_an_independent_reading_of_the_format_makes_it() -> None:
    """The format is a promise to processes of other versions: checked against the standard library's HMAC."""
    import hmac

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    raw = _raw(seal(RING, b"plain", random=lambda size: bytes(range(size))))
    key = RING.sealing
    associated = b"fsnotes confirmation state v1." + key.id
    pseudo = hmac.digest(bytes(range(16)), key.secret, "sha256")
    first = hmac.digest(pseudo, associated + b"\x01", "sha256")
    second = hmac.digest(pseudo, first + associated + b"\x02", "sha256")
    assert raw == key.id + bytes(range(16)) + AESGCM(first).encrypt(second[:12], b"plain", associated)


def test_loading_the_package_and_opening_its_files_loads_neither_cryptography_nor_sqlite(
    tmp_path: object,
) -> None:
    script = """
import json, sys
from fsnotes.confirm import Confirmations, KeyRing, Ledger
Confirmations(KeyRing.open(sys.argv[1] + "/keys.json"), Ledger.open(sys.argv[1] + "/ledger.sqlite3"),
              ttl=300, decline_memory=60)
names = ("cryptography", "sqlite3", "psutil", "mcp", "pydantic", "anyio", "sandbox.names",
         "sandbox.root", "fsnotes.notes")
print(json.dumps([name for name in names if name in sys.modules]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, check=True, timeout=30
    )
    assert json.loads(done.stdout) == []
