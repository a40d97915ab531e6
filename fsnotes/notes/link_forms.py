"""How the path of a link is written: in the user's own style, for another file or seen from another folder.

The shortest name stays one as long as it is unique, and else becomes the whole path, as Obsidian does it. The end
of a path keeps its number of components, what comes from the top or from the note's folder keeps coming from there,
and the suffix is left out where it was. Only where such a path leads elsewhere, a longer one is taken.

What a wikilink cannot hold is not written: Obsidian has no escapes for `[`, `]`, `|`, `#` and `^`. In a Markdown
link such characters become percent escapes, and so does white space unless the destination stands in angle brackets
without any such escape; and so does what could begin or end math, code, a comment or a wikilink, unless the user
wrote it as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from fsnotes.notes.catalogue import Catalogue, Manner, Resolution, Style, composed, folder_of, style_of
from fsnotes.notes.markdown.decoding import is_external
from fsnotes.notes.markdown.links import Form, Link
from fsnotes.notes.model import stem

MAX_PAIRS: Final = 8
"""Deepest nesting of parentheses that is written as it is; other readers of Markdown allow at least that."""

_FROM_FOLDER: Final = frozenset({Manner.DOTTED, Manner.FOLDER})
_NOT_IN_WIKILINKS: Final = re.compile(
    r"[\[\]|#^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|\\\Z|\A\s|\s\Z"
)
# What would end a text without quotation marks in YAML, or its line.
_NOT_PLAIN: Final = re.compile(r": |:\Z| #")
_ESCAPED: Final = re.compile(r"%[0-9A-Fa-f]{2}")
_ESCAPED_LETTER: Final = re.compile(r"%[89A-Fa-f][0-9A-Fa-f]")
_IN_ANGLES: Final = re.compile(r"[\x00-\x1f\x7f<>#|\\?]|%(?=[0-9A-Fa-f]{2})|&(?=[#A-Za-z])")
_BARE: Final = re.compile(r"[\x00-\x20\x7f<>#|\\?]|%(?=[0-9A-Fa-f]{2})|&(?=[#A-Za-z])")
# What could begin or end something in the text around a destination: math, code, a comment, a wikilink.
_MARKS: Final = re.compile(r"[$`]|%(?=%)|(?<=%)%|\[(?=\[)|(?<=\[)\[|\](?=\])|(?<=\])\]")
_IN_ANGLES_NO_MARKS: Final = re.compile(f"{_IN_ANGLES.pattern}|{_MARKS.pattern}")
_BARE_NO_MARKS: Final = re.compile(f"{_BARE.pattern}|{_MARKS.pattern}")
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]")
_PARENTHESES: Final = re.compile(r"[()]")


def holds(was: Resolution, now: Resolution, target: str) -> bool:
    """Say whether a link still leads to the file *target*, and as surely as it did.

    What was spelled exactly must be, and what a plain Markdown reader found from the note's folder must be there. A
    name that no other file had in another spelling must not get such a twin: it would be unique to us alone.
    """
    return (
        now.id == target
        and (now.exact or not was.exact)
        and not (now.twins and not was.twins and now.manner is Manner.END)
        and (now.manner in _FROM_FOLDER or was.manner is not Manner.FOLDER)
    )


def path_for(link: Link, was: Resolution, target: str, *, source: str, catalogue: Catalogue) -> str | None:
    """Return the path, as it is meant, for a link in the note *source* that shall lead to the file *target*.

    *link* is what the user wrote, and *was* what it led to then. None if no path that leads there can be written.
    """
    style = style_of(link.form)
    for path in _paths(link, was, target, source):
        found = catalogue.find(path, source, style)
        # A name that others have in other spellings is not unique to everybody.
        unique = found.id == target and found.exact and not (found.twins and found.manner is Manner.END)
        if unique and written(path, link, "") is not None:
            return path
    return None


def _paths(link: Link, was: Resolution, target: str, source: str) -> Iterator[str]:
    """Yield the paths that may do, that in the user's style first."""
    # In NFC, unless the user wrote the file's own form; that too where it is needed.
    own = all(part.isascii() or part in (was.id or "") for part in link.target.split("/"))
    spellings = dict.fromkeys((target, composed(target)) if own else (composed(target), target))
    for spelled in spellings:
        names = (spelled,) if was.suffixed else (stem(spelled), spelled)
        for name in names:
            if name.rpartition("/")[2]:
                yield from _from_its_place(link, was, name, source)
        for name in names:
            yield from (name, f"/{name}")


def _from_its_place(link: Link, was: Resolution, path: str, source: str) -> Iterator[str]:
    if was.manner in _FROM_FOLDER:
        way = _way(folder_of(source), path)
        dotted = way if way.startswith("../") else f"./{way}"
        kept = style_of(link.form) is Style.WIKI or link.target.startswith("./")
        if was.manner is Manner.FOLDER or not kept:
            yield way
        yield dotted
    elif was.manner is Manner.ROOTED:
        yield f"/{path}"
    else:
        size = link.target.count("/") + 1
        if was.manner is Manner.END or size == 1:
            yield "/".join(path.split("/")[-size:])


def _way(folder: str, path: str) -> str:
    """Return *path* as seen from *folder*."""
    here, there = folder.split("/") if folder else [], path.split("/")
    shared = 0
    while shared < min(len(here), len(there) - 1) and here[shared] == there[shared]:
        shared += 1
    return "/".join([".."] * (len(here) - shared) + there[shared:])


def written(path: str, link: Link, before: str) -> str | None:
    """Return *path* as it is written in *link*, whose path *before* stands behind; None where it cannot be."""
    if link.form in (Form.WIKI, Form.PROPERTY):
        return _in_wikilink(path, link)
    return _in_angles(path, link.raw) if before == "<" else _bare(path, link.raw)


def _in_wikilink(path: str, link: Link) -> str | None:
    if _NOT_IN_WIKILINKS.search(path):
        return None
    if link.form is Form.PROPERTY:
        if link.quote == '"':
            return path.replace("\\", "\\\\").replace('"', '\\"')
        if link.quote == "'":
            return path.replace("'", "''")
        if _NOT_PLAIN.search(path):
            return None
    return path


def _in_angles(path: str, raw: str) -> str:
    if _ESCAPED.search(raw):
        return _bare(path, raw)
    return _outside((_IN_ANGLES if _MARKS.search(raw) else _IN_ANGLES_NO_MARKS).sub(_percent, path))


def _bare(path: str, raw: str) -> str:
    text = (_BARE if _MARKS.search(raw) else _BARE_NO_MARKS).sub(_percent, path)
    if _ESCAPED_LETTER.search(raw):
        text = _NOT_ASCII.sub(_percent, text)
    if not _paired(text):
        text = _PARENTHESES.sub(_percent, text)
    return _outside(text)


def _outside(text: str) -> str:
    """Return a destination that no one takes for a URL."""
    return text.replace(":", "%3A", 1) if is_external(text) else text


def _paired(text: str) -> bool:
    if _PARENTHESES.search(text) is None:
        return True
    depth = deepest = 0
    for mark in _PARENTHESES.findall(text):
        depth += 1 if mark == "(" else -1
        deepest = max(deepest, depth)
        if depth < 0:
            return False
    return depth == 0 and deepest <= MAX_PAIRS


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found.group().encode())
