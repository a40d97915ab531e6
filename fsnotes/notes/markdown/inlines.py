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
from collections.abc import Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from fsnotes.notes.markdown.angles import AUTOLINK
from fsnotes.notes.markdown.blocks import Blocks, Joined
from fsnotes.notes.markdown.definitions import LABEL, Definition, label_key
from fsnotes.notes.markdown.destinations import inline_destination
from fsnotes.notes.markdown.frequent import BRACKETS, FREQUENT, SIGNIFICANT, plain_link
from fsnotes.notes.markdown.links import Form, Link, Span, WikiReading, read_destination, wikilink_at
from fsnotes.notes.markdown.spans import Spans
from fsnotes.notes.markdown.tables import cells
from fsnotes.notes.markdown.tags import Tag, tag_at
from sandbox.records import record

_MAX_LABEL: Final = 999
_WIKI, _INLINE = Form.WIKI, Form.INLINE
_BLOCK_ID: Final = re.compile(r"\^([A-Za-z0-9-]++)[ \t\n]*+\Z")

Found = re.Match[str] | None
"""What FREQUENT or SIGNIFICANT find."""


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
    # What is found first from a text on, if need be in one of the next.
    found, at, after = None, -1, len(text)
    for start, end, parts in blocks.texts:
        if at < start:
            found = FREQUENT.search(text, start)
            at = after if found is None else found.start()
        if at >= end:
            if named:
                scanner.block_id(text, start, end)
        elif parts is not None:
            scanner.joined_text(text, parts)
        else:
            found, last = scanner.text(text, start, end, found)
            at = after if found is None else found.start()
            if named:
                scanner.block_id(text, last, end)
    found, at = None, -1
    for columns, rows in blocks.tables:
        for start, end in rows:
            if at < start:
                found = FREQUENT.search(text, start)
                at = after if found is None else found.start()
            if at < end:
                found = scanner.row(text, start, end, columns, found)
                at = after if found is None else found.start()
    return Inlines(
        tuple(sorted(scanner.links, key=attrgetter("start"))),
        tuple(sorted(scanner.tags, key=attrgetter("start"))),
        tuple(scanner.block_ids),
    )


class _Scanner(Spans):
    """What has been found, and what is known of the text that is being looked through."""

    __slots__ = ("_closing", "_defined", "block_ids", "joined", "links", "tags")

    def __init__(self) -> None:
        super().__init__()
        self.links: list[Link] = []
        self.tags: list[Tag] = []
        self.block_ids: list[BlockId] = []
        self.joined: Joined | None = None
        """Where the text stands in the note, if it is not simply a stretch of it."""
        self._defined: dict[str, Link] = {}
        # Where the last closing parenthesis of the text is; None before anybody asked.
        self._closing: int | None = None

    def define(self, text: str, definition: Definition) -> None:
        """Add a link reference definition; of several with one label the first counts."""
        span = (definition.destination_start, definition.destination_end)
        raw = text[slice(*span)]
        whole = (definition.start, definition.end)
        link = _to_destination(Form.DEFINITION, raw, span[0], whole, None, definition.label)
        self.links.append(link)
        self._defined.setdefault(definition.label, link)

    def row(self, text: str, start: int, end: int, columns: int, found: Found) -> Found:
        """Look through the cells of a table's row, in which *found* is first; return what follows the last of them.

        It may be anything before the row's end, if that is not looked through.
        """
        if text.find("\\|", start, end) >= 0:
            for first, last in cells(text, start, end)[:columns]:
                self.scan(text, first, last, FREQUENT.search(text, first, last), first)
            return FREQUENT.search(text, end)
        # A bar begins the next cell, but for one that the row begins with.
        most = columns + (text[start] == "|" or text[start:end].lstrip(" \t").startswith("|"))
        begin, bars = start, 0
        while found is not None:
            at, position = found.span()
            if at >= end:
                break
            bars += text.count("|", begin, at)
            if bars >= most:
                break
            begin = text.find("|", at, end)
            if begin < 0:
                begin = end
            group = found.lastindex
            if group is not None and group != BRACKETS and position <= begin and text[at - 1] != "!":
                self.links.append(plain_link(found, embed=False))
                found = FREQUENT.search(text, position)
            else:
                found, _ = self.text(text, text.rfind("|", start, at) + 1 or start, begin, found)
        return found

    def joined_text(self, text: str, parts: Sequence[Span]) -> None:
        """Look through the text of a block that consists of several stretches."""
        self.joined = joined = Joined(text, parts)
        inside = joined.text
        last = self.scan(inside, 0, len(inside), SIGNIFICANT.search(inside), 0)
        self.block_id(inside, last, len(inside))
        self.joined = None

    def text(self, text: str, start: int, end: int, found: Found) -> tuple[Found, int]:
        """Look through the text of one block, in which *found* is first. It may be longer than the text.

        Return what is first behind it, and where the last thing in it ends.
        """
        last = start
        while found is not None:
            at, position = found.span()
            if at >= end:
                break
            if position == at + 1 or position > end:
                # Nothing plain. It may have to do with anything behind it.
                found = found if position <= end else FREQUENT.search(text, at, end)
                last = self.scan(text, start, end, found, last)
                return FREQUENT.search(text, end), last
            group = found.lastindex
            if group is None:
                last = position
            else:
                embed = at > last and text[at - 1] == "!"
                if group != BRACKETS:
                    self.links.append(plain_link(found, embed=embed))
                    last = position
                elif self._defined:
                    self._bracket(text, at, position - 1, end, embed=embed, whole=True)
            found = FREQUENT.search(text, position)
        return found, last

    def scan(self, text: str, start: int, end: int, found: Found, last: int) -> int:
        """Look through the text of one block from *found* on; what came before it ended at *last* and is plain.

        Return where the last thing that was found ends.
        """
        search = (FREQUENT if self.joined is None else SIGNIFICANT).search
        links = self.links
        self.forget()
        self._closing = None
        openers: list[int] = []  # where brackets opened: twice the offset, plus one for that of an image
        dead = 0  # how many openers, from the bottom, can begin no link, since one stands behind them
        bracket = tag_end = -1
        escaped = last  # of what is plain, only an escape may end with a `!`
        while found is not None:
            at, position = found.span()
            mark = text[at]
            if mark == "[":
                bracket = at
                image = at > start and text[at - 1] == "!" and at != escaped
                group = found.lastindex
                if group == BRACKETS:
                    if self._bracket(text, at, position - 1, end, embed=image, whole=True) and not image:
                        dead = len(openers)
                    found = search(text, position, end)
                    continue
                if group is not None:
                    links.append(plain := plain_link(found, embed=image))
                    if plain.form is _INLINE and not image:
                        dead = len(openers)
                elif text.startswith("[", position, end) and (wiki := wikilink_at(text, at, end)) is not None:
                    position = self._wikilink(text, at, wiki, embed=image)
                    written = self._written(text, position, end)
                    if written is not None:
                        # It begins where the wikilink in its brackets does, and reaches further.
                        links.insert(-1, self._inline(text, (at, position), written, embed=image))
                        position = written[2]
                        dead = dead if image else len(openers)
                else:
                    openers.append(2 * at + image)
            elif mark == "`":
                if position == at + 1:
                    position = self.code_end(text, at, end)
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
                if position > at + 1:
                    escaped = position
            elif mark == "#":
                if at in (start, tag_end) or text[at - 1].isspace():
                    tag_end = self._tag(text, at, end)
                    position = max(position, tag_end)
            elif mark == "<":
                if position == at + 1:
                    position = self._angle_end(text, at, end)
            elif mark == "$":
                position = self.math_end(text, at, end)
            elif text.startswith("%", position, end):
                position = self.closed(text, "%%", at + 2, end)
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

    def _wikilink(self, text: str, start: int, reading: WikiReading, *, embed: bool) -> int:
        """Take the wikilink whose brackets open at *start*; return where it ends."""
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
        written = self._written(text, at + 1, end)
        if written is not None:
            self.links.append(self._inline(text, inside, written, embed=embed))
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

    def _written(self, text: str, start: int, end: int) -> tuple[int, int, int] | None:
        """Return what stands in parentheses at *start*, and where it ends, if it is a destination."""
        if not text.startswith("(", start, end):
            return None
        if self._closing is None:
            self._closing = text.rfind(")", start, end)
        return inline_destination(text, start, end) if start < self._closing else None

    def _inline(self, text: str, inside: Span, written: tuple[int, int, int], *, embed: bool) -> Link:
        """Return the link with the text between the brackets that *inside* covers and the destination as *written*."""
        first, last, end = written
        raw = text[first:last]
        whole, alias = (inside[0] - embed, end), (inside[0] + 1, inside[1] - 1)
        if self.joined is not None:
            whole, alias = self._place(*whole), self._place(*alias)
            first, _ = self._place(first, last)
        return _to_destination(_INLINE, raw, first, whole, alias, embed=embed)

    def _tag(self, text: str, at: int, end: int) -> int:
        """Take the tag that begins at *at*; return where it ends, -1 where there is none."""
        tag = tag_at(text, at, end)
        if tag is None:
            return -1
        self.tags.append(tag if self.joined is None else Tag(tag.name, *self._place(tag.start, tag.end)))
        return tag.end

    def _angle_end(self, text: str, at: int, end: int) -> int:
        """Take the autolink that begins at *at*, if it is one; return where it or the raw HTML ends, or go past it."""
        url = AUTOLINK.match(text, at, end)
        if url is None:
            return self.html_end(text, at, end)
        inside = url.group(1)
        whole, path = self._place(*url.span()), self._place(*url.span(1))
        self.links.append(Link(Form.AUTOLINK, *whole, path, inside, inside, external=True))
        return url.end()


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
