"""Which YAML texts may become the value of a property, and how they are laid out below a key.

A text is one value of plain types. Refused are anchors, aliases, tags, directives and document markers, which mean
something beyond the value; comments, because a text with ` #` in it would be cut there and nobody would notice; and a
mapping on one line (`Part two: the end`), which is far more often a text that lacks its quotes. Braces say it
unmistakably: `{Part two: the end}`. What is empty is an empty value.
"""

from __future__ import annotations

import re
from enum import Enum
from types import ModuleType
from typing import Any, Final

from fsnotes.notes.property_reasons import (
    VALUE_HAS_COMMENT,
    VALUE_LOOKS_LIKE_TEXT,
    VALUE_NOT_ONE,
    VALUE_NOT_PLAIN,
    VALUE_NOT_TEXT,
)
from fsnotes.notes.yaml_blocks import YamlFault
from fsnotes.notes.yaml_layout import Layout, Span, locate
from sandbox.records import record

STEP: Final = 2
"""How much deeper than its key a value stands, where the block has no habit of its own. Obsidian's is the same."""

_MARKER: Final = re.compile(r"(?:^|\n)(?:---|\.\.\.)(?:[ \t\n]|\Z)")
_EXPLICIT: Final = re.compile(r"[|>][+-]?([1-9])")


class BadValue(Exception):
    """The text cannot be a property's value; *why* is one of REASONS."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Form(Enum):
    """How a value is written."""

    EMPTY = "nothing"
    FLOW = "behind the key; further lines only continue it"
    BLOCK_SCALAR = "a header behind the key and the text in lines below it"
    SEQUENCE = "a list of lines below the key"
    MAPPING = "keys in lines below the key"

    @property
    def is_collection(self) -> bool:
        """Whether nothing of it stands behind the key."""
        return self in (Form.SEQUENCE, Form.MAPPING)


@record
class PropertyValue:
    """A value: *head* is what stands behind the key, *lines* what stands below it, without their indentation.

    *step* is how much deeper than the key the lines must stand, None where that is free. *takes_blanks* says that blank
    lines below could become part of it. *value* is what it reads as.
    """

    form: Form
    head: str
    lines: tuple[str, ...]
    step: int | None
    takes_blanks: bool
    value: Any


def read_value(text: str, ruamel_yaml: ModuleType) -> PropertyValue:
    """Return the value that *text* is. Raises BadValue."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.endswith("\n"):
        text += "\n"  # the end of the text is the end of its last line, as it will be in the block
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise BadValue(VALUE_NOT_TEXT) from None
    if _MARKER.search(text):
        raise BadValue(VALUE_NOT_PLAIN)
    try:
        layout = locate(text, ruamel_yaml)
    except YamlFault:
        raise BadValue(VALUE_NOT_ONE) from None
    if layout.anchors or layout.aliases or layout.tags:
        raise BadValue(VALUE_NOT_PLAIN)
    if _has_comment(text, layout):
        raise BadValue(VALUE_HAS_COMMENT)
    if layout.root is None:
        return PropertyValue(Form.EMPTY, "", (), step=None, takes_blanks=False, value=None)
    return _laid_out(text, layout.root, layout)


def _has_comment(text: str, layout: Layout) -> bool:
    end = 0
    for leaf in layout.leaves:
        if "#" in text[end : leaf.start]:
            return True
        end = leaf.end
        if leaf.is_block_scalar and "#" in text[leaf.start : text.index("\n", leaf.start)]:
            return True
    return "#" in text[end:]


def _laid_out(text: str, root: Span, layout: Layout) -> PropertyValue:
    head, lines, step = "", text[root.start : root.end].split("\n"), None
    if root.is_block:
        begin = text.rfind("\n", 0, root.start) + 1
        lines = text[begin : root.end].split("\n")
        if root.style == ":" and len(lines) == 1:
            raise BadValue(VALUE_LOOKS_LIKE_TEXT)
        form, depth = Form.SEQUENCE if root.style == "-" else Form.MAPPING, _least(lines)
    elif root.is_block_scalar:
        head, *lines = lines
        explicit = _EXPLICIT.match(head)
        step = int(explicit.group(1)) if explicit is not None else None
        form, depth = Form.BLOCK_SCALAR, step or next((_depth(line) for line in lines if line.strip(" ")), 0)
    else:
        head, *lines = lines
        form, depth = Form.FLOW, _least(lines)
    return PropertyValue(
        form,
        head.rstrip(" \t"),
        tuple(line[depth:] for line in lines),
        step,
        bool(layout.leaves) and layout.leaves[-1].is_block_scalar,
        layout.value,
    )


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _least(lines: list[str]) -> int:
    return min((_depth(line) for line in lines if line.strip(" \t")), default=0)
