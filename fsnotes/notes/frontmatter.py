"""Where a note's frontmatter begins and ends, and what it says.

Splitting never loses a byte. Reading is bounded (`yaml_blocks.py`); the parser is loaded only for a block that is
not plain. What the properties mean is decided elsewhere.
"""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any, Final

from fsnotes.errors import InvalidYaml
from fsnotes.notes.markdown import front
from fsnotes.notes.plain_blocks import NotPlain, plain_title
from fsnotes.notes.texts import decoded, whole
from fsnotes.notes.yaml_blocks import YamlFault, parse
from sandbox.records import record

BOM: Final = front.BOM.encode()
MAX_BYTES: Final = 65_536
"""Longest block that is read."""
_OPENING: Final = re.compile(front.OPENING.encode())
_CLOSING: Final = re.compile(front.CLOSING.encode())
_FIRST_KEY: Final = re.compile(
    rb"""
    (?:\#[^\r\n]*+(?:\r\n|\r|\n)|(?!))*+
    (?:"[^"\r\n]{1,200}+"|'[^'\r\n]{1,200}+'|[\w\x80-\xff][\w\x80-\xff./-]*+(?:[ ][\w\x80-\xff./-]++|(?!)){0,2}+)
    [ \t]*+:(?:[ \t\r\n]|\Z)
    """,
    re.VERBOSE,
)


@record
class Split:
    """A note cut into *bom*, *opening* line, *block*, *closing* line and *body*; joined they are the note.

    A note without frontmatter has an empty *opening*, *block* and *closing*.
    """

    bom: bytes
    opening: bytes
    block: bytes
    closing: bytes
    body: bytes

    @property
    def present(self) -> bool:
        """Whether the note has frontmatter, an empty block included."""
        return bool(self.opening)

    def joined(self) -> bytes:
        """Return the note's bytes."""
        return b"".join((self.bom, self.opening, self.block, self.closing, self.body))


def bounds(data: bytes) -> tuple[int, int, int] | None:
    """Return where the block begins, where it ends and where the body begins; None without frontmatter.

    The rules are those of `markdown/front.py`, for bytes: of a note that is not UTF-8 as well.
    """
    opening = _OPENING.match(data, len(BOM) if data.startswith(BOM) else 0)
    if opening is None:
        return None
    closing = _CLOSING.search(data, opening.end())
    return None if closing is None else (opening.end(), closing.start(), closing.end())


def is_unclosed(data: bytes) -> bool:
    """Say whether a note without frontmatter begins like one whose closing line was lost: with a property.

    The first line is `---` and the next one, comments aside, has a key of a few words and a colon. A thematic break
    with a blank line, a heading or other text below is nothing of that kind.
    """
    opening = _OPENING.match(data, len(BOM) if data.startswith(BOM) else 0)
    return opening is not None and _FIRST_KEY.match(data, opening.end()) is not None and bounds(data) is None


def split(data: bytes) -> Split:
    """Cut a note into its parts."""
    bom = BOM if data.startswith(BOM) else b""
    found = bounds(data)
    if found is None:
        return Split(bom, b"", b"", b"", data[len(bom) :])
    start, end, body = found
    return Split(bom, data[len(bom) : start], data[start:end], data[end:body], data[body:])


def body_start(data: bytes) -> int:
    """Return the offset of the first byte after the frontmatter and the byte order mark."""
    found = bounds(data)
    if found is not None:
        return found[2]
    return len(BOM) if data.startswith(BOM) else 0


@record
class Block:
    """A note's frontmatter: its *text*, the offsets of its *start* and *end*, and where the *body* begins."""

    text: str
    start: int
    end: int
    body: int


def block(data: bytes, *, path: str = "") -> Block | None:
    """Return the note's block; None without frontmatter.

    Raises InvalidYaml when it is longer than MAX_BYTES and NotText when it is not UTF-8. *path* only names the note
    in errors, as in all of this module.
    """
    found = bounds(data)
    if found is None:
        return None
    start, end, body = found
    if end - start > MAX_BYTES:
        raise InvalidYaml(path, line=1)
    return Block(decoded(data[start:end], path=path), start, end, body)


def read(data: bytes, *, path: str = "") -> dict[Any, Any]:
    """Return the properties of a note; an empty mapping without frontmatter or with an empty block.

    Raises InvalidYaml, with the line in the note, when the block is not one YAML mapping without duplicate keys
    or exceeds a limit, and NotText when it is not UTF-8.
    """
    found = block(data, path=path)
    return {} if found is None else _parsed(found.text, path)


def yaml() -> ModuleType:
    """Return the parser's package, which is loaded when it is first needed."""
    # Loading the parser takes longer than reading a hundred notes, and most blocks are plain.
    import ruamel.yaml

    return ruamel.yaml


def _parsed(text: str, path: str) -> dict[Any, Any]:
    try:
        return parse(text, yaml())
    except YamlFault as fault:
        raise InvalidYaml(path, line=line_of(text, fault.offset)) from None


def line_of(text: str, offset: int) -> int:
    """Return the line of the note, counted from 1, in which a character of its block's text stands."""
    # The block begins at the note's second line.
    return _line_breaks(text[:offset]) + 2


def _line_breaks(text: str) -> int:
    return text.replace("\r\n", "\n").replace("\r", "\n").count("\n")


def title(data: bytes) -> str | None:
    """Return the property `title` when it is a string with something in it.

    A block that cannot be read has no title.
    """
    found = bounds(data)
    if found is None or found[1] - found[0] > MAX_BYTES or b"title" not in data[found[0] : found[1]]:
        # Only an escape can spell the key differently, and nobody writes a key with one.
        return None
    try:
        text = data[found[0] : found[1]].decode("utf-8")
        try:
            value: object = plain_title(text)
        except NotPlain:
            value = _parsed(text, "").get("title")
    except (UnicodeDecodeError, InvalidYaml):
        return None
    return whole(value) if isinstance(value, str) and value.strip() else None
