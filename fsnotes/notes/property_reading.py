"""What a note's properties are, for those who show, search and link: names, values, tags, aliases, and their places.

Plain blocks are read without the YAML parser (`plain_blocks.py`), all others with it; the answers are the same.

Tags are in the properties `tags` and `tag`, aliases in `aliases` and `alias`, in any case of letters: a list, or one
text with commas, or with spaces between tags. Numbers, truth values and what is nested deeper are no tags; a number
is an alias as it is written. Obsidian read them so until its version 1.9; since then it takes only lists, and only
the names in the plural. Notes are older than that, so what it once took is still taken here.

Obsidian takes a date for a text. So a date that no calendar has, such as 2024-02-30, is just another text to it, while
here it makes the block broken at that line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from fsnotes.notes import frontmatter
from fsnotes.notes.markdown.tags import tag_of
from fsnotes.notes.plain_blocks import NotPlain, Property, Scalar, read_plain
from fsnotes.notes.texts import whole
from fsnotes.notes.yaml_layout import Layout, Span, end_of_block_scalar, layout_of
from sandbox.records import record

MAX_EXACT: Final = 2**53
"""Integers beyond it are shown as text: many readers of JSON would round them."""

_TAGS: Final = frozenset({"tags", "tag"})
_ALIASES: Final = frozenset({"aliases", "alias"})
_TAG_WORD: Final = re.compile(r"[^\s,]+")
_ALIAS_WORDS: Final = re.compile(r"[^,\s](?:[^,]*[^,\s])?")


class Term(NamedTuple):
    """A tag, without its number sign, or an alias. *span* is where it stands in the note's bytes, None if elsewhere.

    The span is that of the term itself where it is written as it is read, else that of the value it is in.
    """

    text: str
    span: tuple[int, int] | None


@record
class Properties:
    """The properties of a note in the order of its block. *text* is the block, *start* its offset in the note."""

    entries: tuple[Property, ...]
    text: str
    start: int

    def values(self) -> dict[str, Any]:
        """Return the properties as values that JSON has, by name."""
        return {entry.name: entry.value for entry in self.entries}

    def tags(self) -> tuple[Term, ...]:
        """Return the tags in order, with their repetitions."""
        return tuple(self._terms(self._tags()))

    def aliases(self) -> tuple[Term, ...]:
        """Return the other names of the note in order."""
        return tuple(self._terms(self._aliases()))

    def spans(self, places: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Yield where in the note's bytes stands what has these *places* in the text, best in ascending order."""
        at, offset, is_ascii = 0, self.start, self.text.isascii()
        for start, end in places:
            if is_ascii:
                yield self.start + start, self.start + end
                continue
            if start < at:
                at, offset = 0, self.start
            offset += len(self.text[at:start].encode())
            at = start
            yield offset, offset + len(self.text[start:end].encode())

    def _tags(self) -> Iterator[tuple[str, Scalar, int]]:
        for scalar in self._scalars(_TAGS):
            if scalar.kind not in ("str", "timestamp"):
                continue
            for start, word in _words(scalar, _TAG_WORD):
                tag = tag_of(word)
                if tag is not None:
                    yield tag, scalar, start + word.startswith("#")

    def _aliases(self) -> Iterator[tuple[str, Scalar, int]]:
        for scalar in self._scalars(_ALIASES):
            if scalar.kind not in ("null", "bool"):
                for start, words in _words(scalar, _ALIAS_WORDS):
                    yield words, scalar, start

    def _scalars(self, names: frozenset[str]) -> Iterator[Scalar]:
        for entry in self.entries:
            if entry.name.lower() in names:
                yield from (scalar for scalar in entry.scalars if scalar.level < 2)

    def _terms(self, found: Iterable[tuple[str, Scalar, int]]) -> Iterator[Term]:
        terms = list(found)
        places = [self._place(*term) for term in terms]
        spans = self.spans(place for place in places if place is not None)
        for (text, _, _), place in zip(terms, places, strict=True):
            yield Term(text, None if place is None else next(spans))

    def _place(self, text: str, scalar: Scalar, offset: int) -> tuple[int, int] | None:
        """Return where in the text of the block stands what is *text* in the scalar, *offset* characters into it."""
        if scalar.start < 0:
            return None
        source = self.text[scalar.start : scalar.end]
        if source == scalar.text:
            start = scalar.start + offset
        elif source[1:-1] == scalar.text and source[0] in "\"'":
            start = scalar.start + 1 + offset
        else:
            return scalar.start, scalar.end
        return start, start + len(text)


def read_properties(data: bytes, *, path: str = "") -> Properties:
    """Return the properties of a note; none without frontmatter.

    Raises InvalidYaml and NotText as `frontmatter.read` does; *path* only names the note in them.
    """
    block = frontmatter.block(data, path=path)
    if block is None:
        return Properties((), "", 0)
    try:
        entries = read_plain(block.text)
    except NotPlain:
        entries = read_any(block.text, path=path)
    return Properties(tuple(entries), block.text, block.start)


def read_any(text: str, *, path: str = "") -> list[Property]:
    """Return the properties in a block, read with the YAML parser. Raises InvalidYaml."""
    layout = layout_of(text, path=path)
    if layout.value is None:
        return []
    reader = _Reader(text, layout)
    # A key that is written in the block wins over one that is merged into it, and stands at the earlier of the places.
    found = {entry.name: entry for entry in reader.properties()}
    return list(found.values())


class _Reader:
    def __init__(self, text: str, layout: Layout) -> None:
        self._text = text
        self._layout = layout
        self._places = {pair.key.start: pair.value for pair in layout.pairs}

    def properties(self) -> Iterator[Property]:
        for key, value in self._layout.node.value:
            # A key that is merged, or stands for another one, has no place of its own, and so has its value.
            place = self._places.get(key.start_mark.index)
            yield Property(self._key(key), self._plain(value), tuple(self._scalars(value, 0, place, set())))

    def _scalars(self, node: Any, level: int, place: Span | None, seen: set[int]) -> Iterator[Scalar]:
        """Yield the scalars in *node*, of which *seen* are the nodes that were met where they stand."""
        if node.id == "sequence":
            for item in node.value:
                yield from self._scalars(item, min(level + 1, 2), place, seen)
        elif node.id == "mapping":
            for _, value in node.value:
                yield from self._scalars(value, 2, place, seen)
        else:
            start, end = node.start_mark.index, node.end_mark.index
            if start == end:
                return
            if node.style in ("|", ">"):
                end = end_of_block_scalar(self._text, start, end)
            if place is None or not place.start <= start < place.end or id(node) in seen:
                start = end = -1
            seen.add(id(node))
            yield Scalar(whole(node.value), _kind(node), start, end, level)

    def _key(self, node: Any) -> str:
        if node.id == "scalar":
            return whole(node.value)
        return self._text[node.start_mark.index : node.end_mark.index]

    def _plain(self, node: Any) -> Any:
        if node.id == "sequence":
            return [self._plain(item) for item in node.value]
        if node.id == "mapping":
            if _kind(node) == "set":
                return [self._key(key) for key, _ in node.value]
            return {self._key(key): self._plain(value) for key, value in node.value}
        made = self._layout.made.get(id(node))
        match made:
            case None | bool():
                return made
            case int() if abs(made) <= MAX_EXACT:
                return made
            case float() if math.isfinite(made):
                return made
            case _:
                return whole(node.value)


def _kind(node: Any) -> str:
    return str(node.tag).rpartition(":")[2]


def _words(scalar: Scalar, words: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Yield what *scalar* names, with its place in the text: *words* if it is a text alone, itself if it is an item."""
    if scalar.level == 0 and scalar.kind == "str":
        for word in words.finditer(scalar.text):
            yield word.start(), word.group()
    elif scalar.text.strip():
        text = scalar.text.lstrip()
        yield len(scalar.text) - len(text), text.rstrip()
