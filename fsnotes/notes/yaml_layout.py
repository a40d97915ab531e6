"""Where the keys and values of a YAML text stand, as ruamel.yaml's marks say it.

Offsets are characters of the text. A value ends behind its last character, however its node is marked: the nodes of
block collections and block scalars reach to whatever comes next, comments and blank lines included. What is
done with the places is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any, Final

from fsnotes.errors import InvalidYaml
from fsnotes.notes import frontmatter
from fsnotes.notes.yaml_blocks import Watch, YamlFault, as_mapping, load
from sandbox.records import record

_COLON: Final = re.compile(r"(?:[ \t\r\n]++|(?<=[ \t\r\n])#[^\r\n]*+|(?!))*+:(?=[ \t\r\n]|\Z)")
_HEADER: Final = re.compile(r"(?:[&!]\S*\s+|(?!))*+[|>]([0-9+-]*)")


@record
class Span:
    """Where a node stands, its tag and anchor included, and how it is written.

    *style* is "" for a plain scalar, else the character that begins it: quotes, `|`, `>`, `*` for an alias, `[` and
    `{` for flow collections, `-` and `:` for block ones. An empty plain scalar has no extent.
    """

    start: int
    end: int
    style: str

    @property
    def is_block(self) -> bool:
        """Whether it is a block collection."""
        return self.style in ("-", ":")

    @property
    def is_block_scalar(self) -> bool:
        """Whether it is a text whose lines stand below a header."""
        return self.style in ("|", ">")


@record
class Pair:
    """A key of the outermost mapping and its value.

    *name* is what the key's scalar says, whatever type that has; None for a key that is no scalar, or an alias.
    *key_object* and *value_object* are what the parser makes of them.
    """

    name: str | None
    key: Span
    value: Span
    key_object: Any
    value_object: Any


@record
class Layout:
    """A text that was read: its *value*, and what stands where.

    *root* is None for a text without a value. *leaves* are all scalars, aliases and nothing else, in order; *anchors*
    and *aliases* are names with their offsets; *tags* are the offsets of nodes that have one. *node* is the parser's
    outermost node, in which merge keys have been resolved, and *made* what it made of each node, by the node's id.
    """

    value: Any
    root: Span | None
    pairs: tuple[Pair, ...]
    leaves: tuple[Span, ...]
    anchors: tuple[tuple[str, int], ...]
    aliases: tuple[tuple[str, int], ...]
    tags: tuple[int, ...]
    node: Any
    made: Mapping[int, Any]


def locate(text: str, ruamel_yaml: ModuleType) -> Layout:
    """Read *text*, which holds one value or none. Raises YamlFault like `yaml_blocks.parse`."""
    value, recorder = load(text, ruamel_yaml, _Recorder)
    return recorder.layout(value)


def layout_of(text: str, *, path: str = "") -> Layout:
    """Return the layout of the text of a note's block, whose value is a mapping or None.

    Raises InvalidYaml as `frontmatter.read` does; *path* only names the note in it.
    """
    try:
        found = locate(text, frontmatter.yaml())
        as_mapping(found.value)
    except YamlFault as fault:
        raise InvalidYaml(path, line=frontmatter.line_of(text, fault.offset)) from None
    return found


class _Recorder(Watch):
    def __init__(self, text: str, parser: Any, ruamel_yaml: ModuleType) -> None:
        super().__init__(text, parser, ruamel_yaml)
        self._nodes = ruamel_yaml.nodes
        self._last_end = 0
        self._root: tuple[Any, Span] | None = None
        self._top: list[tuple[Any, Span]] = []  # keys and values of the outermost mapping in turn
        self._leaves: list[Span] = []
        self._anchors: list[tuple[str, int]] = []
        self._aliased: list[tuple[str, int]] = []
        self._tags: list[int] = []
        self._objects: dict[int, Any] = {}  # by id of a node; the nodes live as long as this does

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self._composer.parser.peek_event()
        depth = self._depth
        start: int = event.start_mark.index
        node = super().compose_node(parent, index)
        if isinstance(event, self._alias_event):
            self._aliased.append((event.anchor, start))
            span = self._leaf(start, event.end_mark.index, "*")
        else:
            if event.anchor is not None:
                self._anchors.append((event.anchor, start))
            if event.ctag is not None:
                self._tags.append(start)
            is_value = isinstance(parent, self._nodes.MappingNode) and index is not None
            empty = self._empty(parent, node, start) if is_value else None
            span = empty or self._span(node, start)
        if depth == 0:
            self._root = (node, span)
        elif depth == 1 and isinstance(parent, self._nodes.MappingNode):
            self._top.append((node, span))
        return node

    def _span(self, node: Any, start: int) -> Span:
        if isinstance(node, self._nodes.ScalarNode):
            return self._leaf(start, node.end_mark.index, node.style or "")
        if node.flow_style:
            self._last_end = node.end_mark.index
            return Span(start, self._last_end, "[" if isinstance(node, self._nodes.SequenceNode) else "{")
        # It ends where the last leaf in it ends; there is one, and be it empty.
        return Span(start, self._last_end, "-" if isinstance(node, self._nodes.SequenceNode) else ":")

    def _empty(self, parent: Any, node: Any, start: int) -> Span | None:
        """Return where an empty value in a block mapping stands, None for others. Its mark is the next token's."""
        if parent.flow_style or not isinstance(node, self._nodes.ScalarNode) or start != node.end_mark.index:
            return None
        colon = _COLON.match(self._text, self._last_end)
        place = self._last_end if colon is None else colon.end()
        return self._leaf(place, place, "")

    def _leaf(self, start: int, end: int, style: str) -> Span:
        span = Span(start, end, style)
        if span.is_block_scalar:
            span = Span(start, end_of_block_scalar(self._text, start, end), style)
        self._leaves.append(span)
        self._last_end = span.end
        return span

    def construct_object(self, node: Any, *, deep: bool = False) -> Any:
        made = super().construct_object(node, deep=deep)
        self._objects[id(node)] = made
        return made

    def layout(self, value: Any) -> Layout:
        return Layout(
            value,
            None if self._root is None else self._root[1],
            tuple(self._pairs()),
            tuple(self._leaves),
            tuple(self._anchors),
            tuple(self._aliased),
            tuple(self._tags),
            None if self._root is None else self._root[0],
            self._objects,
        )

    def _pairs(self) -> Iterator[Pair]:
        for (key, key_span), (value, value_span) in zip(self._top[::2], self._top[1::2], strict=True):
            is_named = isinstance(key, self._nodes.ScalarNode) and key_span.style != "*"
            yield Pair(
                key.value if is_named else None,
                key_span,
                value_span,
                self._objects.get(id(key)),
                self._objects.get(id(value)),
            )


def end_of_block_scalar(text: str, start: int, end: int) -> int:
    """Return where a block scalar's last line ends, of which the parser says *start* and *end*.

    Blank lines at its end belong to it if it keeps them (`|+`), and so do lines of spaces that reach into its text.
    """
    head, *lines = re.split("(\r\n|\r|\n)", text[start:end])
    header = _HEADER.match(head)
    indicators = header.group(1) if header is not None else "+"
    if "+" in indicators:
        return end if lines and lines[-1] else end - len("".join(lines[-2:]))
    depth = next((len(line) - len(line.lstrip(" ")) for line in lines[1::2] if line.strip(" ")), 0)
    if indicators.strip("-"):
        depth = 0  # it is said in relation to the key; so every space counts
    while lines and not lines[-1].strip(" ") and len(lines[-1]) <= depth:
        end -= len("".join(lines[-2:]))
        del lines[-2:]
    return end
