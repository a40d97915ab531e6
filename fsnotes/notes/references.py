"""Which lines at the start of a paragraph are link reference definitions, by CommonMark's rules."""

from __future__ import annotations

import re
from typing import Final

_LABEL: Final = re.compile(rb"\[((?:[^\[\]\\]|\\.){1,999}+)\]:", re.DOTALL)
_GAP: Final = re.compile(rb"[ \t]*+(?:\n[ \t]*+)?")
_POINTED: Final = re.compile(rb"<(?:[^<>\\\n]|\\[^\n])*+>")
_BARE: Final = re.compile(rb"(?!<)(?:[^\x00-\x20\x7f\\()]|\\[!-/:-@\[-`{-~]|\\|[()])++")
_TITLE: Final = re.compile(
    rb"\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\)",
    re.DOTALL,
)
_LINE_END: Final = re.compile(rb"[ \t]*+(?:\n|\Z)")
_MAX_PARENTHESES: Final = 32


def definitions_end(text: bytes) -> int:
    """Return where the definitions at the start of a paragraph end; 0 when it begins with something else.

    *text* is the paragraph with its lines joined by LF and without their indentation.
    """
    position = 0
    while position < len(text):
        end = _definition_end(text, position)
        if end is None:
            break
        position = end
    return position


def _definition_end(text: bytes, position: int) -> int | None:
    label = _LABEL.match(text, position)
    if label is None or not label.group(1).strip():
        return None
    start = _end(_GAP.match(text, label.end()))
    destination = _POINTED.match(text, start) or _BARE.match(text, start)
    if destination is None or not _is_balanced(destination.group()):
        return None
    # The title is optional, and so is the line that it stands on when that turns out to hold something else.
    alone = _LINE_END.match(text, destination.end())
    gap = _end(_GAP.match(text, destination.end()))
    if gap > destination.end():
        title = _TITLE.match(text, gap)
        end = _LINE_END.match(text, title.end()) if title is not None else None
        if end is not None:
            return end.end()
    return None if alone is None else alone.end()


def _end(match: re.Match[bytes] | None) -> int:
    # The pattern matches the empty text, so there is always a match.
    return match.end() if match is not None else 0


def _is_balanced(destination: bytes) -> bool:
    if destination.startswith(b"<"):
        return True
    depth = 0
    escaped = False
    for byte in destination:
        if escaped:
            escaped = False
        elif byte == 0x5C:
            escaped = True
        elif byte == 0x28:
            depth += 1
            if depth > _MAX_PARENTHESES:
                return False
        elif byte == 0x29:
            depth -= 1
            if depth < 0:
                return False
    return depth == 0
