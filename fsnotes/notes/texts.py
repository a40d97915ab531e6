"""A note's bytes as text, and a caller's text as bytes: strict UTF-8 both ways, or a refusal.

A byte order mark is a character of the text like any other here; that it stays where it is, is decided where the
text is changed.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from fsnotes.errors import InvalidArgument, NotText

_STRIDE: Final = 1_024


def decoded(data: bytes, *, path: str) -> str:
    """Return the text of the note *path*. Raises NotText when its bytes are not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise NotText(path) from None


def encoded(text: str, *, argument: str) -> bytes:
    """Return the bytes of a caller's text. Raises InvalidArgument for one that holds a lone surrogate."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidArgument(argument, "it has a lone surrogate, which is no character") from None


def whole(text: str) -> str:
    """Return what an escape has written as Unicode has it: two halves are a character, and one is the sign for none."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class Offsets:
    """Where the characters of a text stand in its UTF-8 bytes, and the other way round.

    Made in one pass; each question then costs the same, wherever in the text it is asked about.
    """

    __slots__ = ("_at", "_size", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at: list[int] = []  # the byte offset of every _STRIDE-th character
        size = 0
        for start in range(0, len(text) + 1, _STRIDE):
            self._at.append(size)
            size += len(text[start : start + _STRIDE].encode())
        self._size = size

    def byte(self, character: int) -> int:
        """Return the byte offset of a character offset, the text's end included. Raises ValueError outside of it."""
        if not 0 <= character <= len(self._text):
            raise ValueError("no such character")
        block = character // _STRIDE
        return self._at[block] + len(self._text[block * _STRIDE : character].encode())

    def character(self, byte: int) -> int:
        """Return the character offset of a byte offset. Raises ValueError outside the text and inside a character."""
        if not 0 <= byte <= self._size:
            raise ValueError("no such byte")
        block = bisect_right(self._at, byte) - 1
        start = block * _STRIDE
        within = self._text[start : start + _STRIDE].encode()[: byte - self._at[block]]
        return start + len(within.decode())  # UnicodeDecodeError is a ValueError
