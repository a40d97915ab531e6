"""Which wikilinks are in a note's frontmatter: those in the text values of its properties.

YAML reads `[[a]]` without quotation marks as a list in a list, so only what is quoted, stands in a block of text or
comes behind other words is a link. Keys and comments hold none. The block is read far enough to tell these apart,
with one look at every character, and no further than to what is no YAML or has a key behind a `?`.
"""

from __future__ import annotations

import re
from typing import Final

from fsnotes.notes.markdown.lines import unified
from fsnotes.notes.markdown.links import Form, Link, Span, WikiReading, wikilink_at

_SPACES: Final = re.compile(r" *+")
_GAP: Final = re.compile(r"[ \t]*+")
_KEY_END: Final = re.compile(r"[ \t]*+:(?=[ \t\n]|\Z)")
_QUOTED: Final = {
    '"': re.compile(r"\"(?:[^\"\\]|\\.)*+\"", re.DOTALL),
    "'": re.compile(r"'(?:[^']|'')*+'"),
}
_COMMENT: Final = re.compile(r"#[^\n]*+")
_DASH: Final = re.compile(r"-(?=[ \t\n]|\Z)")
_BLOCK_TEXT: Final = re.compile(r"[|>](?:[-+]([1-9])?|([1-9])[-+]?)?[ \t]*+(?:(?<=[ \t])#[^\n]*+)?(?=\n|\Z)")
_NODE_MARK: Final = re.compile(r"[&*!][^ \t\n,\[\]{}]*+")
# A text without quotation marks ends at its line's end, before a comment, and before what makes it a key.
_PLAIN: Final = re.compile(
    r"(?:[^ \t\n:]++|:(?![ \t\n]|\Z)|[ \t]++(?![#\n: \t]|\Z|:(?:[ \t\n]|\Z))|[ \t]++:(?![ \t\n]|\Z)|(?!))++"
)
_FLOW: Final = re.compile(r"[^\"'\[\]{}#]++|(?<![ \t\n,\[{])[\"'#]|(?<=[,\[{])#")
_ESCAPE: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)


def property_links(block: str, *, offset: int = 0) -> tuple[Link, ...]:
    """Find the wikilinks in the YAML text *block*. Their places are in the note, where it stands at *offset*."""
    if "[[" not in block:
        return ()
    reader = _Reader(unified(block), offset)
    reader.read()
    return tuple(reader.links)


class _Reader:
    """The place in a block of YAML."""

    __slots__ = ("_at", "_offset", "_open", "_text", "links")

    def __init__(self, text: str, offset: int) -> None:
        self._text = text
        self._offset = offset
        self._at = 0
        # The column of a key or a dash whose value has not come yet.
        self._open: int | None = None
        self.links: list[Link] = []

    def read(self) -> None:
        """Read on to the end, or to what is no YAML that notes have."""
        while self._at < len(self._text):
            start = self._at
            self._at = _end(_SPACES, self._text, start)
            if not self._line(start, self._at - start):
                return
            self._at = self._line_end(self._at) + 1

    def _line(self, start: int, column: int) -> bool:
        """Read the line that begins at *start*, and what belongs to its last value; say whether to read on.

        *column* becomes that of the innermost key or dash, which is what the lines of its value are indented from.
        """
        text = self._text
        column = column if self._open is None else min(column, self._open)
        named = False
        begin = -1  # of what may be a key, its marks included
        while True:
            self._at = _end(_GAP, text, self._at)
            first = text[self._at : self._at + 1]
            if first in ("", "\n") or (
                first == "#" and text[self._at - 1 : self._at] in ("", " ", "\t", "\n")
            ):
                self._at = self._line_end(self._at)
                self._open = column if named else self._open
                return True
            dash = _DASH.match(text, self._at)
            if dash is not None:
                column, named = self._at - start, True
                self._at = dash.end()
                continue
            at = self._at
            begin = at if begin < 0 else begin
            mark = _NODE_MARK.match(text, at)
            if mark is not None:
                self._at = mark.end()
                continue
            if first == "?" and text[at + 1 : at + 2] in ("", " ", "\t", "\n"):
                return False
            if first in "|>" and (header := _BLOCK_TEXT.match(text, at)) is not None:
                self._block_text(column, int(header[1] or header[2] or 0))
                break
            if first in _QUOTED:
                quoted = _QUOTED[first].match(text, at)
                if quoted is None:
                    return False
                self._at = quoted.end()
            elif first in "[{":
                if not self._flow():
                    return False
            elif not _KEY_END.match(text, at):
                self._at = max(_end(_PLAIN, text, at), at + 1)
            key = _KEY_END.match(text, self._at)
            if key is None:
                self._value(at, first, column)
                break
            column, named, begin = begin - start, True, -1
            self._at = key.end()
        self._open = None
        return True

    def _value(self, begin: int, first: str, column: int) -> None:
        """Take the value that was read from *begin* on, and the further lines of one without quotation marks."""
        if first in _QUOTED:
            self._collect(begin + 1, self._at - 1, first)
        elif first not in "[{":
            self._collect(begin, self._at, "")
            self._at = _end(_GAP, self._text, self._at)
            if self._text[self._at : self._at + 1] in ("", "\n"):
                self._continued(column)
                return
        self._at = self._line_end(self._at)

    def _flow(self) -> bool:
        """Read a list or mapping in brackets; say whether it ends."""
        text = self._text
        depth = 0
        while self._at < len(text):
            first = text[self._at]
            skipped = _FLOW.match(text, self._at)
            if skipped is not None:
                self._at = skipped.end()
            elif first in _QUOTED:
                quoted = _QUOTED[first].match(text, self._at)
                if quoted is None:
                    return False
                self._at = quoted.end()
                if not _KEY_END.match(text, self._at):
                    self._collect(quoted.start() + 1, quoted.end() - 1, first)
            elif first == "#":
                self._at = _end(_COMMENT, text, self._at)
            else:
                self._at += 1
                depth += 1 if first in "[{" else -1
                if not depth:
                    return True
        return False

    def _block_text(self, column: int, told: int) -> None:
        """Read the lines of a `|` or `>`, which are indented more than *column*: by so much as is *told*, if it is."""
        text = self._text
        indentation, blank = (column + told if told else 0), 0
        self._at = self._line_end(self._at)
        while self._at + 1 < len(text):
            start = self._at + 1
            end = self._line_end(start)
            first = _end(_SPACES, text, start)
            if first == end:
                blank = max(blank, first - start)
            else:
                indentation = indentation or max(blank, first - start)
                if first - start <= column or first - start < indentation:
                    return
                self._collect(first, end, "")
            self._at = end

    def _continued(self, column: int) -> None:
        """Read the further lines of a text without quotation marks, which are indented more than *column*."""
        text = self._text
        while self._at + 1 < len(text):
            start = self._at + 1
            end = self._line_end(start)
            first = _end(_GAP, text, start)
            if first < end:
                indented = _end(_SPACES, text, start) - start
                plain = _end(_PLAIN, text, first)
                if indented <= column or text[first] == "#" or _KEY_END.match(text, plain):
                    return
                self._collect(first, plain, "")
                if _end(_GAP, text, plain) < end:
                    # A comment ends it.
                    self._at = end
                    return
            self._at = end

    def _collect(self, start: int, end: int, quote: str) -> None:
        """Take the links in the text from *start* to *end*."""
        text = self._text
        position = text.find("[[", start, end)
        while position >= 0:
            reading = wikilink_at(text, position, end)
            following = position + 1
            if reading is not None:
                following = reading[3]
                embed = position > start and text[position - 1] == "!"
                self._add((position - embed, following), reading, quote, embed=embed)
            position = text.find("[[", following, end)

    def _add(self, whole: Span, reading: WikiReading, quote: str, *, embed: bool) -> None:
        path, fragment, alias, _ = reading
        raw = self._text[slice(*path)]
        self.links.append(
            Link(
                Form.PROPERTY,
                *self._place(whole),
                self._place(path),
                raw,
                _unquoted(raw, quote),
                None if fragment is None else _unquoted(self._text[slice(*fragment)], quote),
                None if fragment is None else self._place(fragment),
                None if alias is None else self._place(alias),
                None,
                quote,
                embed=embed,
            )
        )

    def _place(self, span: Span) -> Span:
        return span[0] + self._offset, span[1] + self._offset

    def _line_end(self, position: int) -> int:
        end = self._text.find("\n", position)
        return len(self._text) if end < 0 else end


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Return where *pattern* ends at *start*, which is *start* where it does not match."""
    found = pattern.match(text, start)
    return start if found is None else found.end()


def _unquoted(raw: str, quote: str) -> str:
    if quote == "'":
        return raw.replace("''", "'")
    return unescaped(raw) if quote else raw


def unescaped(raw: str) -> str:
    """Return what is written as *raw* between double quotation marks of YAML."""
    return _ESCAPE.sub(_character, raw) if "\\" in raw else raw


def _character(escape: re.Match[str]) -> str:
    code = escape.group(1) or escape.group(2) or escape.group(3)
    if code is None:
        return escape.group(4)
    value = int(code, 16)
    return chr(value) if value < 0x110000 and not 0xD800 <= value < 0xE000 else escape.group()
