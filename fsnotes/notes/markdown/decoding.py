"""What a Markdown link's destination means.

A path and a fragment, once backslashes, entities and percent signs are resolved, unless it begins with a scheme: then
it is a URL and left alone. A `?` is part of a path, since files have such names.
"""

from __future__ import annotations

import re
from html.entities import html5
from typing import Final

# A backslash before punctuation, or an entity: what stands for another character.
_ESCAPE: Final = re.compile(
    r"\\([!-/:-@\[-`{-~])|&(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z0-9]{1,31}));"
)
_PERCENT: Final = re.compile(r"(?:%[0-9A-Fa-f][0-9A-Fa-f])++")
# A note may be called `Re: this`; no URL has a space there.
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,31}:(?![ \t]|%20|\Z)|//")
_FRAGMENT: Final = re.compile(r"\\?(?<!&)#|(?<=&)#(?![0-9]{1,7};|[xX][0-9a-fA-F]{1,6};)")


def is_external(raw: str) -> bool:
    """Say whether a destination as written leads out of the notes: it begins with a scheme or with `//`."""
    return _SCHEME.match(unescaped(raw)) is not None


def fragment_at(raw: str) -> tuple[int, int] | None:
    """Return where the path ends in a destination as written, and where its fragment begins; None without one."""
    if "#" not in raw:
        return None
    found = _FRAGMENT.search(raw)
    return None if found is None else found.span()


def decoded(raw: str) -> str:
    """Return the path or the fragment that is written as *raw*.

    Escapes that are not UTF-8 stay as they are.
    """
    text = unescaped(raw)
    return _PERCENT.sub(_percent_decoded, text) if "%" in text else text


def unescaped(raw: str) -> str:
    """Return *raw* with backslash escapes and entities resolved."""
    return _ESCAPE.sub(_character, raw) if "\\" in raw or "&" in raw else raw


def _character(escape: re.Match[str]) -> str:
    literal, decimal, hexadecimal, name = escape.groups()
    if literal is not None:
        return literal
    if name is not None:
        return html5.get(f"{name};", escape.group())
    code = int(decimal) if decimal is not None else int(hexadecimal, 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def _percent_decoded(run: re.Match[str]) -> str:
    try:
        return bytes.fromhex(run.group().replace("%", "")).decode("utf-8")
    except UnicodeDecodeError:
        return run.group()
