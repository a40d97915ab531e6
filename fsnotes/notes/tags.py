"""Which tags a note has, in its text and in its properties, and how often.

Tags are compared in NFC and case folded; each is shown in the spelling in which it first stands. A nested tag counts
as each of those above it too: `#a/b` is one use of `a/b` and one of `a`. Properties come first, as in the note; if
they cannot be read, they have none. What is longer than `MAX_LENGTH` characters is no tag that anybody uses, and not
counted.

Most notes have `#` in them and no tag: a look at the bytes spares these the scanner, and is never a wrong no.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from fsnotes.errors import InvalidYaml
from fsnotes.notes import frontmatter
from fsnotes.notes.markdown.inlines import inlines
from fsnotes.notes.markdown.walk import blocks
from fsnotes.notes.model import fold
from fsnotes.notes.property_reading import read_properties
from fsnotes.notes.tag_keys import MAX_LENGTH
from fsnotes.notes.texts import decoded

MAX_TAGS: Final = 2_000
"""Different tags of one note, those above them among them, as they are spelled; a note with more is not counted."""

# A number sign where the first of some tags may stand (behind white space, or a mark that a block begins with), and
# then a character of tags that is no digit. Bytes of other scripts may be anything.
_MAY_BEGIN: Final = re.compile(
    rb"#(?<![^\x09-\x0d\x1c-\x20>|:%$\x80-\xff]#)[0-9]*+[^0-9'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]"
)


class TooManyTags(Exception):
    """A note has more than MAX_TAGS different tags."""


class TagUse(NamedTuple):
    """A tag as it is shown, without its `#`, the form in which it is compared, and how often it is used."""

    name: str
    key: str
    uses: int


def tags_of(data: bytes, *, path: str) -> tuple[TagUse, ...]:
    """Return the tags of the note *path* and those above them, in the order in which they first stand.

    Raises NotText, and TooManyTags.
    """
    return counted(_names(data, path))


def has_tag(data: bytes, key: str, *, path: str) -> bool:
    """Say whether the note *path* has a tag of the compared form *key*, or one that is nested in it. Raises NotText."""
    if not may_have_tag(data, key):
        decoded(data, path=path)
        return False
    within = f"{key}/"
    found = (fold(name) for name in _names(data, path) if len(name) <= MAX_LENGTH)
    return any(each == key or each.startswith(within) for each in found)


def counted(names: Iterable[str]) -> tuple[TagUse, ...]:
    """Return how often each of these tags stands there, and each of those above them. Raises TooManyTags."""
    uses: dict[str, int] = {}
    for name in names:
        if name in uses:
            uses[name] += 1
        elif len(name) <= MAX_LENGTH:
            for each in _from_the_top(name, uses):
                uses[each] = 0
            uses[name] = 1
            if len(uses) > MAX_TAGS:
                raise TooManyTags
    # What is used below a tag is a use of it: the deepest go first.
    for name in sorted(uses, key=len, reverse=True):
        above = _above(name)
        if above is not None:
            uses[above] += uses[name]
    found: dict[str, tuple[str, int]] = {}
    for name, count in uses.items():
        key = fold(name)
        shown, before = found.get(key, (name, 0))
        found[key] = shown, before + count
    return tuple(TagUse(shown, key, count) for key, (shown, count) in found.items())


def lineage(name: str) -> Iterator[str]:
    """Yield the tags that a tag is in, from the top, and itself at last."""
    yield from _from_the_top(name, {})


def _from_the_top(name: str, known: dict[str, int]) -> list[str]:
    """Return the lineage of *name* from the first one on that is not *known*."""
    found = [name]
    above = _above(name)
    while above is not None and above not in known:
        found.append(above)
        above = _above(above)
    return found[::-1]


def _above(name: str) -> str | None:
    """Return the tag that a tag is directly in, if there is one."""
    at = name.rfind("/")
    while at > 0:
        if name[at - 1] != "/":
            return name[:at]
        at = name.rfind("/", 0, at)
    return None


def may_have_tag(data: bytes, key: str) -> bool:
    """Say whether a note with these bytes may have the tag *key*, or one that begins so: a look that costs little."""
    if not data.isascii():
        return True
    # Only an escape in a property spells a tag of ASCII text in another way.
    return (
        key.encode("utf-8", "surrogatepass") in data.lower() or b"\\" in data[: frontmatter.body_start(data)]
    )


def _names(data: bytes, path: str) -> list[str]:
    """Return the tags of a note as they are written, each as often as it stands there. Raises NotText."""
    text = decoded(data, path=path)
    block = frontmatter.bounds(data)
    names: list[str] = []
    if block is not None and _may_have_tags(data[block[0] : block[1]].lower()):
        try:
            names = [term.text for term in read_properties(data, path=path).tags()]
        except InvalidYaml:
            pass
    if _MAY_BEGIN.search(data, 0 if block is None else block[2]) is not None:
        names += [tag.name for tag in inlines(blocks(text)).tags]
    return names


def _may_have_tags(block: bytes) -> bool:
    """Say whether a block of properties may have one for tags; only an escape spells the name in another way."""
    return b"tag" in block or b"\\" in block
