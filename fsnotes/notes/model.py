"""What a note is, by its name, and how names are compared.

Leaves to `sandbox` what kind of object stands at a path and whether it may be opened.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from sandbox.errors import InvalidPath
from sandbox.names import RelPath

SUFFIXES: Final = (".md", ".markdown")
"""The suffixes of notes, compared without regard to case. The first one is added where none is given."""

_PLACEHOLDER_SUFFIX: Final = ".icloud"


def is_note(name: str) -> bool:
    """Say whether a file of this name is a note: a note's suffix, something before it, and not hidden."""
    # As a rule it is written as it is compared.
    return (name.endswith(SUFFIXES) or name.lower().endswith(SUFFIXES)) and not name.startswith(".")


def stem(name: str) -> str:
    """Return *name* without a note's suffix."""
    lowered = name.lower()
    for suffix in SUFFIXES:
        # `lower` can change the length of a text, but not that of its last, ASCII characters.
        if lowered.endswith(suffix):
            return name[: -len(suffix)]
    return name


def with_suffix(path: RelPath, suffix: str) -> RelPath:
    """Return *path* with *suffix* added to its last component. Raises what `RelPath` raises."""
    return path.parent.child(path.name + suffix)


def readings(path: RelPath) -> tuple[RelPath, ...]:
    """Return the paths that a note id may mean: itself, or with each suffix where it has none.

    Raises InvalidPath when no suffix leaves a path that can exist.
    """
    if is_note(path.name):
        return (path,)
    found: list[RelPath] = []
    fault: InvalidPath | None = None
    for suffix in SUFFIXES:
        try:
            found.append(with_suffix(path, suffix))
        except InvalidPath as error:
            fault = error  # too long with this suffix: then no file has that name
    if fault is not None and not found:
        raise fault
    return tuple(found)


def placeholder_of(name: str) -> str | None:
    """Return the name of the note that a cloud drive's placeholder (`.NAME.md.icloud`) stands for, if it is one."""
    if not (name.startswith(".") and name.endswith(_PLACEHOLDER_SUFFIX)):
        return None
    original = name[1 : -len(_PLACEHOLDER_SUFFIX)]
    return original if is_note(original) else None


def fold(text: str) -> str:
    """Return the form in which titles, headings and paths are compared: NFC, case folded, white space as one."""
    if text.isascii():
        return " ".join(text.lower().split())
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return " ".join(folded.split())
