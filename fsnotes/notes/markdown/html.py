"""What opens and what ends the seven kinds of HTML blocks (CommonMark 4.6)."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_BLOCK_NAMES: Final = (
    r"address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div"
    r"|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li"
    r"|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td"
    r"|tfoot|th|thead|title|tr|track|ul"
)
# White space may hold a line end: a block's tag is matched within its line.
OPEN_TAG: Final = (
    r"<[A-Za-z][A-Za-z0-9-]*+"
    r"(?:[ \t\n]++[A-Za-z_:][A-Za-z0-9_.:-]*+"
    r"(?:[ \t\n]*+=[ \t\n]*+(?:[^ \t\n\"'=<>`]++|'[^']*+'|\"[^\"]*+\")|(?!))?+)*+"
    r"[ \t\n]*+/?>"
)
CLOSING_TAG: Final = r"</[A-Za-z][A-Za-z0-9-]*+[ \t\n]*+>"

BLANK: Final = re.compile(r"(?!)")
"""The end of a block that only a blank line ends: matches nothing."""


class HtmlBlock(NamedTuple):
    """What opens a kind of HTML block, what ends it, and whether it may interrupt a paragraph."""

    opening: re.Pattern[str]
    end: re.Pattern[str]
    interrupts: bool


_VERBATIM: Final = HtmlBlock(
    re.compile(r"<(?:script|pre|style|textarea)(?=[ \t>]|\Z)", re.IGNORECASE),
    re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE),
    interrupts=True,
)
_COMMENT: Final = HtmlBlock(re.compile(r"<!--"), re.compile(r"-->"), interrupts=True)
_INSTRUCTION: Final = HtmlBlock(re.compile(r"<\?"), re.compile(r"\?>"), interrupts=True)
_DECLARATION: Final = HtmlBlock(re.compile(r"<![A-Za-z]"), re.compile(r">"), interrupts=True)
_CDATA: Final = HtmlBlock(re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>"), interrupts=True)
_KNOWN_TAG: Final = HtmlBlock(
    re.compile(r"</?(?:" + _BLOCK_NAMES + r")(?=[ \t]|/?>|\Z)", re.IGNORECASE), BLANK, interrupts=True
)
_ANY_TAG: Final = HtmlBlock(
    re.compile(r"(?:" + OPEN_TAG + r"|" + CLOSING_TAG + r")[ \t]*+\Z"), BLANK, interrupts=False
)
_BY_SECOND_CHARACTER: Final = {"!": (_COMMENT, _DECLARATION, _CDATA), "?": (_INSTRUCTION,)}
_TAGS: Final = (_VERBATIM, _KNOWN_TAG, _ANY_TAG)


def block_at(text: str, start: int, end: int) -> HtmlBlock | None:
    """Return the kind of block that the line from `<` at *start* to *end* opens, if it opens one."""
    for kind in _BY_SECOND_CHARACTER.get(text[start + 1 : start + 2], _TAGS):
        if kind.opening.match(text, start, end):
            return kind
    return None
