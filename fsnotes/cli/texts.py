"""Where the text of a change comes from: an argument, a file, or standard input; always whole, UTF-8 and bounded."""

from __future__ import annotations

from typing import Final

from fsnotes.cli.console import Console, shown
from fsnotes.errors import InvalidArgument, NoteTooLarge

STANDARD_INPUT: Final = "-"


def from_input(argument: str, option: str, path: str, console: Console, *, limit: int) -> str:
    """Return the text on standard input, every byte of it: for *argument*, which *option* would have given.

    Raises InvalidArgument when it is closed or no text, and NoteTooLarge, for the note *path*, past *limit* bytes.
    """
    data = console.hear(limit + 1)
    if data is None:
        raise InvalidArgument(argument, f"standard input is closed, and there is no {option}")
    return _text(data, argument, "standard input", path, limit=limit)


def from_file(file: str, argument: str, path: str, *, limit: int) -> str:
    """Return the text of *file*, a file of the person's own; errors as of `from_input`."""
    try:
        with open(file, "rb") as source:
            data = source.read(limit + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "no such name"
        raise InvalidArgument(argument, f"{shown(file)} cannot be read: {why}") from error
    return _text(data, argument, shown(file), path, limit=limit)


def _text(data: bytes, argument: str, where: str, path: str, *, limit: int) -> str:
    if len(data) > limit:
        raise NoteTooLarge(path, limit=limit)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidArgument(argument, f"{where} is not UTF-8 text") from None
