"""How a harness makes what it needs out of the bytes that it is given: every input is a good one, none is refused.

The same bytes give the same values. What is asked for when no bytes are left is the first of what there is to choose
from, so that short inputs are simple cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Supply:
    """The bytes of one input, taken from the front."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, most: int) -> bytes:
        """Take up to *most* bytes as they are."""
        taken = self._data[self._at : self._at + most]
        self._at += len(taken)
        return taken

    def rest(self) -> bytes:
        """Take all that is left."""
        return self.take(len(self._data))

    def below(self, bound: int) -> int:
        """Return a number from 0 to *bound*, that excluded, of two bytes if one is too few."""
        size = 1 if bound <= 256 else 2
        return int.from_bytes(self.take(size), "big") % bound

    def flag(self) -> bool:
        """Return a truth value."""
        return self.below(2) == 1

    def pick(self, choices: Sequence[T]) -> T:
        """Return one of *choices*."""
        return choices[self.below(len(choices))]

    def some(self, choices: Sequence[T], *, most: int) -> list[T]:
        """Return up to *most* of *choices*, in any order and as often as it comes."""
        return [self.pick(choices) for _ in range(self.below(most + 1))]

    def text(self, most: int, *, errors: str = "surrogatepass") -> str:
        """Return a text of up to *most* bytes; halves of characters too, unless *errors* is `replace`."""
        data = self.take(self.below(most + 1))
        try:
            return data.decode("utf-8", errors)
        except UnicodeDecodeError:
            return data.decode("latin-1")

    def json(self, words: Sequence[str], *, depth: int = 3) -> Any:
        """Return a value of JSON, whose texts are often one of *words*."""
        kind = self.below(10)
        if kind >= 8 and depth == 0:
            kind = 0
        match kind:
            case 0 | 1 | 2:
                return self.pick(words)
            case 3:
                return self.text(12)
            case 4:
                return self.pick((None, True, False))
            case 5:
                return self.below(256) - 1
            case 6:
                return self.pick((-1, 2**31, 2**53, 2**63, -(2**64), 10**30))
            case 7:
                return self.pick((0.5, -0.0, 1e308, 1.0))
            case 8:
                return [self.json(words, depth=depth - 1) for _ in range(self.below(4))]
            case _:
                return {
                    self.pick(words) if self.flag() else self.text(6): self.json(words, depth=depth - 1)
                    for _ in range(self.below(4))
                }


def text_of(data: bytes) -> str:
    """Return all of *data* as a text: as UTF-8, with halves of characters, or else each byte as a character."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("latin-1")
