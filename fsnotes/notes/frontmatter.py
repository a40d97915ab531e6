"""Where a note's frontmatter begins and ends, and what it says.

Splitting never loses a byte. Reading is bounded (`yaml_blocks.py`); the parser is loaded only for a block that is
not plain. What the properties mean is decided elsewhere.
"""

from __future__ import annotations

import re
from typing import Any, Final

from fsnotes.errors import InvalidYaml, NotText
from fsnotes.notes.yaml_blocks import YamlFault, parse
from sandbox.records import record

BOM: Final = b"\xef\xbb\xbf"
MAX_BYTES: Final = 65_536
"""Longest block that is read."""
_OPENING: Final = re.compile(rb"---[ \t]*+(?:\r\n|\r|\n)")
_CLOSING: Final = re.compile(rb"(?<![^\r\n])(?:---|\.\.\.)[ \t]*+(?:\r\n|\r|\n|\Z)")


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

    Frontmatter opens with `---` as the very first line (a byte order mark may stand before it) and ends with
    the next line that is `---` or `...`. Without such a line there is none.
    """
    opening = _OPENING.match(data, len(BOM) if data.startswith(BOM) else 0)
    if opening is None:
        return None
    closing = _CLOSING.search(data, opening.end())
    return None if closing is None else (opening.end(), closing.start(), closing.end())


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


def read(data: bytes, *, path: str = "") -> dict[Any, Any]:
    """Return the properties of a note; an empty mapping without frontmatter or with an empty block.

    Raises InvalidYaml, with the line in the note, when the block is not one YAML mapping without duplicate keys
    or exceeds a limit, and NotText when it is not UTF-8. *path* only names the note in the error.
    """
    found = bounds(data)
    if found is None:
        return {}
    start, end, _ = found
    if end - start > MAX_BYTES:
        raise InvalidYaml(path, line=1)
    try:
        text = data[start:end].decode("utf-8")
    except UnicodeDecodeError:
        raise NotText(path) from None
    return _parsed(text, path)


def _parsed(text: str, path: str) -> dict[Any, Any]:
    # Loading the parser takes longer than reading a hundred notes, and most blocks are plain.
    import ruamel.yaml

    try:
        return parse(text, ruamel.yaml)
    except YamlFault as fault:
        # The block begins at the note's second line.
        raise InvalidYaml(path, line=_line_breaks(text[: fault.offset]) + 2) from None


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
    return value if isinstance(value, str) and value.strip() else None


# -- the common case, without a YAML parser ----------------------------------------------------


class NotPlain(Exception):
    """The block has something in it that only a YAML parser can judge."""


_KEY: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_-]{0,100}):(?: +|\Z)")
_ITEM: Final = re.compile(r"( {0,8})- +")
_WORDS: Final = re.compile(r"[A-Za-z_](?:[^:#]|:(?=[^ ])|(?<=[^ ])#)*+\Z")
_NUMBER: Final = re.compile(r"(?:0|[1-9][0-9]{0,14})\Z")
_DATE: Final = re.compile(r"[12][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])\Z")
_QUOTED: Final = re.compile(r"\"([^\"\\]*)\"\Z|'([^']*)'\Z")
_FLOW: Final = re.compile(r"\[ *(?:[A-Za-z][A-Za-z0-9_/-]*(?: *, *[A-Za-z][A-Za-z0-9_/-]*)*)? *\]\Z")
_SPECIAL_WORDS: Final = frozenset({"true", "True", "TRUE", "false", "False", "FALSE", "null", "Null", "NULL"})


def plain_title(text: str) -> str | None:
    """Return the title in a block that consists of nothing but plain lines; None when it holds no string.

    Plain lines are blank ones, comments, `key: value` with words, a quoted text, a number, a date or a list of
    words, and lists of such values one line each. Everything else raises NotPlain. What this returns is
    what the YAML parser finds: a test compares the two.
    """
    if not text.replace("\n", "").replace("\r", "").isprintable():
        raise NotPlain
    found: str | None = None
    seen: set[str] = set()
    indent: str | None = None  # of the list that is being read; "" to "        "
    list_may_follow = False
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if not line or line[0] == "#":
            indent, list_may_follow = None, False
            continue
        key = _KEY.match(line)
        if key is not None:
            name, value = key.group(1), line[key.end() :].rstrip(" ")
            if name in seen or name in _SPECIAL_WORDS:
                raise NotPlain
            seen.add(name)
            indent, list_may_follow = None, not value
            if value:
                scalar = None if _FLOW.match(value) else _plain_scalar(value)
                if name == "title":
                    found = scalar
            continue
        item = _ITEM.match(line)
        if item is None or not (list_may_follow or indent == item.group(1)):
            raise NotPlain
        _plain_scalar(line[item.end() :].rstrip(" "))
        indent, list_may_follow = item.group(1), False
    return found


def _plain_scalar(value: str) -> str | None:
    """Return *value* as YAML reads it if that is a string, None if it is something else, else raise NotPlain."""
    if _WORDS.match(value):
        return None if value in _SPECIAL_WORDS else value
    quoted = _QUOTED.match(value)
    if quoted is not None:
        return quoted.group(1) if quoted.group(1) is not None else quoted.group(2)
    if _NUMBER.match(value) or _DATE.match(value):
        return None
    raise NotPlain
