"""Which links, tags and block ids are in the text of a note's blocks.

The rules for brackets, code spans, autolinks and raw HTML are CommonMark's. On top of them:

- A wikilink binds tighter than a link in brackets, and both count: in `[[a]](b)` and in `[x [[a]] y](b)`, `a` and
  `b` are linked to. What is in its brackets is its own: `[[a`b]]` links to a note with a backtick in its name.
- `%%` to `%%` is a comment and `$$` to `$$` math, both within one paragraph (`walk.py` knows those that are blocks).
- `$` to `$` is math on one line, if the first has no white space behind it and the second none before it and no
  digit behind it. Amounts of money are no math.
- A ` ^id` at the end of a block names the block: letters of ASCII, digits and `-`.

In comments, math, code and HTML nothing is a link or a tag. A bare URL is no link; what looks like a tag in it has
no white space before it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from operator import attrgetter
from typing import Final, NamedTuple

from fsnotes.notes.markdown import angles
from fsnotes.notes.markdown.blocks import Blocks, Joined
from fsnotes.notes.markdown.definitions import LABEL, Definition, label_key
from fsnotes.notes.markdown.destinations import PUNCTUATION, inline_destination
from fsnotes.notes.markdown.links import (
    PLAIN_LINK,
    Form,
    Link,
    Span,
    plain_link,
    read_destination,
    wikilink_at,
)
from fsnotes.notes.markdown.tables import cells
from fsnotes.notes.markdown.tags import Tag, tag_at
from sandbox.records import record

_MAX_LABEL: Final = 999
_WIKI, _INLINE = Form.WIKI, Form.INLINE
_SIGNIFICANT: Final = re.compile(r"[\[\]\\`<#$%]")
_CODE: Final = re.compile(r"`[^`]++`(?!`)")
_TICKS: Final = re.compile(r"`++")
_MATH: Final = re.compile(r"\$(?=[^ \t\n$])(?:[^$\\\n]|\\.)*+(?<![ \t])\$(?![0-9])")
_BLOCK_ID: Final = re.compile(r"\^([A-Za-z0-9-]++)[ \t\n]*+\Z")


class BlockId(NamedTuple):
    """The id that a block has, without its `^`, and where it stands, with it."""

    name: str
    start: int
    end: int


@record
class Inlines:
    """What is in the text of a note, in the order in which it begins; what stands in a link's text comes behind it."""

    links: tuple[Link, ...]
    tags: tuple[Tag, ...]
    block_ids: tuple[BlockId, ...]


def inlines(blocks: Blocks) -> Inlines:
    """Find the links, tags and block ids in a note's blocks."""
    text = blocks.text
    scanner = _Scanner()
    for definition in blocks.definitions:
        scanner.define(text, definition)
    named = "^" in text
    significant = None
    following = -1
    for start, end, parts in blocks.texts:
        if following < start:
            significant = _SIGNIFICANT.search(text, start)
            following = len(text) if significant is None else significant.start()
        if following >= end:
            if named:
                scanner.block_id(text, start, end)
        elif parts is None:
            last = scanner.scan(text, start, end, significant)
            if named:
                scanner.block_id(text, last, end)
        else:
            scanner.joined = joined = Joined(text, parts)
            inside = joined.text
            last = scanner.scan(inside, 0, len(inside), _SIGNIFICANT.search(inside))
            scanner.block_id(inside, last, len(inside))
            scanner.joined = None
    for columns, rows in blocks.tables:
        for start, end in rows:
            significant = _SIGNIFICANT.search(text, start, end)
            if significant is not None:
                scanner.row(text, start, end, columns, significant)
    return Inlines(
        tuple(sorted(scanner.links, key=lambda link: (link.start, -link.end))),
        tuple(sorted(scanner.tags, key=attrgetter("start"))),
        tuple(scanner.block_ids),
    )


class _Scanner:
    """What has been found, and what is known of the text that is being looked through."""

    __slots__ = ("_defined", "_missing", "_runs", "block_ids", "joined", "links", "tags")

    def __init__(self) -> None:
        self.links: list[Link] = []
        self.tags: list[Tag] = []
        self.block_ids: list[BlockId] = []
        self.joined: Joined | None = None
        """Where the text stands in the note, if it is not simply a stretch of it."""
        self._defined: dict[str, Link] = {}
        # What the rest of the text does not contain, so that nobody looks for it again.
        self._missing: set[str] = set()
        # Where the runs of backticks in the text begin, by their length; None before anybody asked.
        self._runs: dict[int, list[int]] | None = None

    def define(self, text: str, definition: Definition) -> None:
        """Add a link reference definition; of several with one label the first counts."""
        span = (definition.destination_start, definition.destination_end)
        raw = text[slice(*span)]
        whole = (definition.start, definition.end)
        link = _to_destination(Form.DEFINITION, raw, span[0], whole, None, definition.label)
        self.links.append(link)
        self._defined.setdefault(definition.label, link)

    def row(self, text: str, start: int, end: int, columns: int, found: re.Match[str] | None) -> None:
        """Look through the cells of a table's row, in which *found* is the first character that means something."""
        if text.find("\\|", start, end) >= 0:
            for first, last in cells(text, start, end)[:columns]:
                inside = _SIGNIFICANT.search(text, first, last)
                if inside is not None:
                    self.scan(text, first, last, inside)
            return
        # A bar begins the next cell, but for one that the row begins with.
        most = columns + (text[start] == "|" or text[start:end].lstrip(" \t").startswith("|"))
        begin, bars = start, 0
        while found is not None:
            at = found.start()
            bars += text.count("|", begin, at)
            if bars >= most:
                return
            first, last = text.rfind("|", begin, at), text.find("|", at, end)
            self.scan(text, start if first < 0 else first + 1, end if last < 0 else last, found)
            if last < 0:
                return
            begin = last
            found = _SIGNIFICANT.search(text, begin, end)

    def scan(self, text: str, start: int, end: int, found: re.Match[str] | None) -> int:
        """Look through the text of one block, in which *found* is the first character that means something.

        Return where the last thing that was found ends.
        """
        search, code, link_at = _SIGNIFICANT.search, _CODE.match, PLAIN_LINK.match
        joined, links = self.joined, self.links
        self._missing.clear()
        self._runs = None
        openers: list[int] = []  # where brackets opened: twice the offset, plus one for that of an image
        dead = 0  # how many openers, from the bottom, can begin no link, since one stands behind them
        bracket = escaped = tag_end = -1
        last = position = start
        while found is not None:
            at = found.start()
            mark = text[at]
            position = at + 1
            if mark == "`":
                simple = code(text, at, end)
                position = self._code_end(text, at, end) if simple is None else simple.end()
            elif mark == "[":
                bracket = at
                image = at > start and text[at - 1] == "!" and at != escaped
                position = 0
                if text.startswith("[", at + 1, end):
                    position = self._wikilink(text, at, end, embed=image)
                elif joined is None:
                    plain = link_at(text, at, end)
                    if plain is not None:
                        links.append(plain_link(plain, embed=image))
                        position = plain.end()
                        dead = dead if image else len(openers)
                        last = position
                        found = search(text, position, end)
                        continue
                if not position:
                    openers.append(2 * at + image)
                    position = at + 1
                elif text.startswith("(", position, end):
                    written = inline_destination(text, position, end)
                    if written is not None:
                        self._inline(text, (at, position), written, embed=image)
                        position = written[2]
                        dead = dead if image else len(openers)
            elif mark == "]":
                if openers:
                    opener = openers.pop()
                    image = opener & 1 == 1
                    if image or len(openers) >= dead:
                        opener >>= 1
                        position = self._bracket(text, opener, at, end, embed=image, whole=bracket <= opener)
                        if position and not image:
                            dead = len(openers)
                    dead = min(dead, len(openers))
                    position = position or at + 1
            elif mark == "\\":
                if position < end and text[position] in PUNCTUATION:
                    position = escaped = at + 2
            elif mark == "#":
                if at in (start, tag_end) or text[at - 1].isspace():
                    tag_end = self._tag(text, at, end)
                    position = max(position, tag_end)
            elif mark == "<":
                position = self._angle_end(text, at, end)
            elif mark == "$":
                position = self._math_end(text, at, end)
            elif text.startswith("%", position, end):
                position = self._closed(text, "%%", at + 2, end)
            if position > at + 1:
                last = position
            found = search(text, position, end)
        return last

    def block_id(self, text: str, start: int, end: int) -> None:
        """Take the id at the end of a block, of which everything before *start* is something else."""
        mark = text.rfind("^", start, end)
        if mark < 0 or not (mark == start or text[mark - 1] in " \t\n"):
            return
        found = _BLOCK_ID.match(text, mark, end)
        if found is not None:
            self.block_ids.append(BlockId(found.group(1), *self._place(mark, found.end(1))))

    # -- links and tags --

    def _place(self, start: int, end: int) -> Span:
        """Return where something stands in the note."""
        if self.joined is None:
            return start, end
        first = self.joined.at(start)
        return first, self.joined.end(end) if end > start else first

    def _wikilink(self, text: str, start: int, end: int, *, embed: bool) -> int:
        """Take the wikilink whose brackets open at *start*; return where it ends, 0 where there is none."""
        reading = wikilink_at(text, start, end)
        if reading is None:
            return 0
        path, fragment, alias, end = reading
        raw = text[path[0] : path[1]]
        written = None if fragment is None else text[fragment[0] : fragment[1]]
        whole = (start - embed, end)
        if self.joined is not None:
            whole, path = self._place(*whole), self._place(*path)
            fragment = None if fragment is None else self._place(*fragment)
            alias = None if alias is None else self._place(*alias)
        self.links.append(Link(_WIKI, *whole, path, raw, raw, written, fragment, alias, None, "", embed))
        return end

    def _bracket(self, text: str, opener: int, at: int, end: int, *, embed: bool, whole: bool) -> int:
        """Take the link whose text stands between the brackets at *opener* and *at*, if it is one.

        *whole*: no other bracket opens in it, so that it may be a label too. Returns where the link ends, 0 where it is
        none.
        """
        inside = (opener, at + 1)
        if text.startswith("(", at + 1, end):
            written = inline_destination(text, at + 1, end)
            if written is not None:
                self._inline(text, inside, written, embed=embed)
                return written[2]
        if not self._defined:
            return 0
        label = LABEL.match(text, at + 1, end)
        key = stop = None
        if label is not None and label.group(1):
            key, stop = label_key(label.group(1)), label.end()
        elif whole and at - opener <= _MAX_LABEL + 1:
            key, stop = label_key(text[opener + 1 : at]), at + 1 if label is None else label.end()
        definition = None if key is None else self._defined.get(key)
        if definition is None or stop is None:
            return 0
        self.links.append(
            Link(
                Form.REFERENCE,
                *self._place(opener - embed, stop),
                None,
                definition.raw,
                definition.target,
                definition.fragment,
                None,
                self._place(opener + 1, at),
                key,
                embed=embed,
                external=definition.external,
            )
        )
        return stop

    def _inline(self, text: str, inside: Span, written: tuple[int, int, int], *, embed: bool) -> None:
        """Add a link with the text between the brackets that *inside* covers and the destination as *written*."""
        first, last, end = written
        raw = text[first:last]
        whole, alias = (inside[0] - embed, end), (inside[0] + 1, inside[1] - 1)
        if self.joined is not None:
            whole, alias = self._place(*whole), self._place(*alias)
            first, _ = self._place(first, last)
        self.links.append(_to_destination(_INLINE, raw, first, whole, alias, embed=embed))

    def _tag(self, text: str, at: int, end: int) -> int:
        """Take the tag that begins at *at*; return where it ends, -1 where there is none."""
        tag = tag_at(text, at, end)
        if tag is None:
            return -1
        self.tags.append(tag if self.joined is None else Tag(tag.name, *self._place(tag.start, tag.end)))
        return tag.end

    # -- what is skipped; each returns where to go on --

    def _code_end(self, text: str, at: int, end: int) -> int:
        opening = _TICKS.match(text, at, end)
        start = at + 1 if opening is None else opening.end()
        length = start - at
        following = text.find("`", start, end)
        if following < 0:
            return start
        if self._runs is None:
            closing = _TICKS.match(text, following, end)
            if closing is not None and closing.end() - following == length:
                return closing.end()
            self._runs = {}
            for run in _TICKS.finditer(text, following, end):
                self._runs.setdefault(run.end() - run.start(), []).append(run.start())
        starts = self._runs.get(length, [])
        place = bisect_left(starts, start)
        return starts[place] + length if place < len(starts) else start

    def _angle_end(self, text: str, at: int, end: int) -> int:
        if text.startswith(("!", "?"), at + 1, end):
            for opening, closing, behind in angles.SPANS:
                if opening.match(text, at, end):
                    found = self._closed(text, closing, at + behind, end)
                    return at + 1 if found == at + behind else found
            return at + 1
        url = angles.ABSOLUTE_URI.match(text, at, end) or angles.EMAIL.match(text, at, end)
        if url is not None:
            inside = url.group(1)
            self.links.append(
                Link(
                    Form.AUTOLINK,
                    *self._place(*url.span()),
                    self._place(*url.span(1)),
                    inside,
                    inside,
                    external=True,
                )
            )
            return url.end()
        tag = angles.TAG.match(text, at, end)
        return at + 1 if tag is None else tag.end()

    def _math_end(self, text: str, at: int, end: int) -> int:
        if text.startswith("$", at + 1, end):
            return self._closed(text, "$$", at + 2, end)
        math = _MATH.match(text, at, end)
        return at + 1 if math is None else math.end()

    def _closed(self, text: str, mark: str, start: int, end: int) -> int:
        """Return the offset behind the next *mark*, *start* where there is none."""
        if mark in self._missing:
            return start
        found = text.find(mark, start, end)
        if found < 0:
            self._missing.add(mark)
            return start
        return found + len(mark)


def _to_destination(
    form: Form,
    raw: str,
    offset: int,
    whole: Span,
    alias: Span | None,
    label: str | None = None,
    *,
    embed: bool = False,
) -> Link:
    """Return the link to the destination that is written as *raw* at *offset*."""
    (start, end), target, fragment, fragment_span, external = read_destination(raw)
    if fragment_span is not None:
        fragment_span = offset + fragment_span[0], offset + fragment_span[1]
    path = offset + start, offset + end
    raw = raw[start:end]
    return Link(form, *whole, path, raw, target, fragment, fragment_span, alias, label, "", embed, external)
