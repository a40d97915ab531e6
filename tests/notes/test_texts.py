"""Notes as text: strict UTF-8 or a refusal, and offsets in characters and bytes that agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsnotes.errors import InvalidArgument, NotText
from fsnotes.notes.texts import Offsets, decoded, encoded


@pytest.mark.parametrize(
    "data",
    [
        b"\xff",
        b"caf\xe9",
        b"\xc0\xaf",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"ok\n\xe2\x82",
        "utf-16".encode("utf-16"),
    ],
)
def test_bytes_that_are_not_utf_8_are_not_text(data: bytes) -> None:
    with pytest.raises(NotText) as caught:
        decoded(data, path="a.md")
    assert caught.value.path == "a.md"


@pytest.mark.parametrize("text", ["", "\ufeffcaf\u00e9\r\n", "\x00", "\ufffe\U0010ffff"])
def test_every_text_crosses_both_ways(text: str) -> None:
    assert decoded(encoded(text, argument="newText"), path="a.md") == text


def test_a_lone_surrogate_is_an_invalid_argument() -> None:
    with pytest.raises(InvalidArgument) as caught:
        encoded("a\ud800", argument="oldText")
    assert caught.value.argument == "oldText"


@given(st.text(st.sampled_from("a\u00e9\u20ac\U0001f600\n"), max_size=60), st.integers(0, 40))
def test_offsets_agree_with_encoding_each_beginning(text: str, repeat: int) -> None:
    text *= repeat  # longer than one stride
    offsets = Offsets(text)
    for character in {*range(0, len(text) + 1, 97), len(text)}:
        byte = len(text[:character].encode())
        assert offsets.byte(character) == byte
        assert offsets.character(byte) == character


def test_an_offset_outside_the_text_or_inside_a_character_is_refused() -> None:
    offsets = Offsets("a\u20ac")
    for byte in (-1, 2, 3, 5):
        with pytest.raises(ValueError):
            offsets.character(byte)
    for character in (-1, 3):
        with pytest.raises(ValueError):
            offsets.byte(character)
    assert (offsets.character(1), offsets.character(4), offsets.byte(2)) == (1, 2, 4)
