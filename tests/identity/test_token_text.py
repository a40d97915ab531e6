"""What a static token looks like: one spelling of each, and nothing that is near it passes."""

from __future__ import annotations

import hashlib
import re
import zlib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fsnotes.identity import token_text

TOKEN = token_text.make(bytes(range(32)))
ANY = st.text() | st.text(alphabet="fsnote_0123456789abcdefABCDEF", max_size=90)


@given(st.binary(min_size=32, max_size=32))
def test_a_token_is_the_prefix_the_secret_and_a_checksum_of_both(secret: bytes) -> None:
    text = token_text.make(secret)
    body, checksum = text[:-8], text[-8:]
    assert (body, int(checksum, 16)) == ("fsnotes_" + secret.hex(), zlib.crc32(body.encode()))
    # What a bearer token may consist of: RFC 6750, section 2.1.
    assert re.fullmatch(r"[A-Za-z0-9\-._~+/]+=*", text)
    assert (len(text), token_text.fault(text)) == (80, None)
    assert token_text.digest(text) == hashlib.sha256(text.encode()).digest()


@given(st.integers(0, 79), ANY)
def test_any_change_of_one_place_is_told_without_knowing_a_token(place: int, instead: str) -> None:
    changed = TOKEN[:place] + instead + TOKEN[place + 1 :]
    assume(changed != TOKEN)
    assert token_text.fault(changed) is not None


@given(ANY)
def test_no_text_that_is_made_up_is_a_token(text: str) -> None:
    assert token_text.fault(text) == "a token of another kind"


def test_a_typo_is_told_from_a_token_of_another_kind() -> None:
    assert token_text.fault(TOKEN[:-1] + "0123456789abcdef"[int(TOKEN[-1], 16) - 1]) == "a mistyped token"
    for other in (TOKEN.upper(), TOKEN + "\n", " " + TOKEN, TOKEN[:-1], TOKEN + "0", "", "ghp_x"):
        assert token_text.fault(other) == "a token of another kind"


@pytest.mark.parametrize("secret", [b"", bytes(31), bytes(33), "x" * 32, bytearray(32)])
def test_a_secret_of_another_size_or_type_makes_no_token(secret: bytes) -> None:
    with pytest.raises(ValueError):
        token_text.make(secret)
