"""Which harnesses there are: for each thing that parses hostile bytes, a function from bytes to None.

A harness raises AssertionError, or whatever the product should not have raised, where an input shows a fault; it
returns for everything that is answered or refused as it should be. It keeps nothing from one input to the next that
could change what it finds. `test_fuzzing.py` gives all of them the corpus and random changes of it; `__main__.py` lets
libFuzzer look for inputs that reach more of the code.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

Harness = Callable[[bytes], None]

CORPUS = Path(__file__).parent / "corpus"
"""A folder for each harness, with a few inputs in it, each a small file."""

ROOMS: dict[str, tuple[str, ...]] = {
    "wire": ("frames", "ways"),
    "requests": ("heads", "fields", "bodies"),
    "names": ("uris", "names", "globs", "cursors"),
    "credentials": ("states", "answers", "jwts", "issuers", "tokens"),
    "replies": ("replies", "refusals", "channels"),
    "properties": ("properties",),
    "markdown": ("markdown", "repeated"),
    "edits": ("splices", "links"),
    "search": ("queries", "matching", "regexes"),
    "files": ("config", "audit", "mounts", "journals", "quarantines"),
    "index": ("index",),
}
"""The modules of this folder, and the harnesses in each."""

NAMES = tuple(name for names in ROOMS.values() for name in names)


def load(name: str) -> Harness:
    """Return the harness *name*, and load what it tests; see `NAMES`."""
    (room,) = (room for room, names in ROOMS.items() if name in names)
    found: Harness = getattr(import_module(f"tests.fuzz.{room}"), name)
    return found


def corpus(name: str) -> list[bytes]:
    """Return the inputs that are kept for a harness, in the order of their names."""
    return [file.read_bytes() for file in sorted((CORPUS / name).iterdir())]
