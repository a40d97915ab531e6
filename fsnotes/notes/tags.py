"""Which tags a note has, in its text and in its properties, and how often.

Tags are compared in NFC and case folded; each is shown in the spelling in which it first stands. A nested tag counts
as each of those above it too: `#a/b` is one use of `a/b` and one of `a`. Properties come first, as in the note; if
they cannot be read, they have none. What is longer than `MAX_LENGTH` characters is no tag that anybody uses, and not
counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from fsnotes.errors import InvalidYaml
from fsnotes.notes.markdown.inlines import inlines
from fsnotes.notes.markdown.walk import blocks
from fsnotes.notes.model import fold
from fsnotes.notes.property_reading import read_properties
from fsnotes.notes.texts import decoded

MAX_LENGTH: Final = 200


class TagUse(NamedTuple):
    """A tag as it is shown, without its `#`, the form in which it is compared, and how often it is used."""

    name: str
    key: str
    uses: int


def tags_of(data: bytes, *, path: str) -> tuple[TagUse, ...]:
    """Return the tags of the note *path* and those above them, in the order in which they first stand.

    Raises NotText.
    """
    text = decoded(data, path=path)
    try:
        names = [term.text for term in read_properties(data, path=path).tags()]
    except InvalidYaml:
        names = []
    if "#" in text:
        names += [tag.name for tag in inlines(blocks(text)).tags]
    return counted(names)


def counted(names: Iterable[str]) -> tuple[TagUse, ...]:
    """Return how often each of these tags stands there, and each of those above them."""
    found: dict[str, tuple[str, int]] = {}
    for name in names:
        for each in lineage(name) if len(name) <= MAX_LENGTH else ():
            key = fold(each)
            shown, uses = found.get(key, (each, 0))
            found[key] = shown, uses + 1
    return tuple(TagUse(shown, key, uses) for key, (shown, uses) in found.items())


def lineage(name: str) -> Iterator[str]:
    """Yield the tags that a tag is in, from the top, and itself at last."""
    at = name.find("/")
    while at >= 0:
        if at and name[at - 1] != "/":
            yield name[:at]
        at = name.find("/", at + 1)
    yield name
