"""Whether what a link names behind its `#` stands in the note that it leads to.

Headings are compared as Obsidian does: by their text as it is written, folded, with punctuation as white space; with
`#` between them a path is meant, each deeper than the one before. A `^` names a block. A Markdown link may have the
anchor of a heading instead, as GitHub makes them: small letters, no punctuation, `-` for spaces, numbered where there
are several.

Limits: an anchor is made of the heading as it is written, so one with markup in it may be missed, and one that HTML
makes is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from fsnotes.notes.catalogue import Style
from fsnotes.notes.markdown.inlines import inlines
from fsnotes.notes.markdown.outline import outline
from fsnotes.notes.markdown.walk import blocks
from fsnotes.notes.model import fold

MAX_COMPARED: Final = 2_048
"""Characters of a heading and of a fragment that are compared."""

_PUNCTUATION: Final = re.compile(r"[!\"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\]")
_NOT_IN_ANCHORS: Final = re.compile(r"[^\w\- ]")


class Landmarks:
    """The headings and blocks of a note that links may lead to."""

    __slots__ = ("_above", "_anchors", "_block_ids")

    def __init__(self, text: str) -> None:
        found = blocks(text)
        # What stands above a heading, from the top, by its own text.
        self._above: dict[str, list[tuple[str, ...]]] = {}
        for section in outline(found.headings, len(text)):
            own, *above = (_compared(each.text) for each in (section.heading, *section.above))
            self._above.setdefault(own, []).append(tuple(above))
        self._anchors = frozenset(_anchors(heading.text[:MAX_COMPARED] for heading in found.headings))
        self._block_ids = (
            frozenset(each.name.lower() for each in inlines(found).block_ids) if "^" in text else frozenset()
        )

    def has(self, fragment: str, style: Style) -> bool:
        """Say whether *fragment*, which is not empty, stands for one of them in a link of this *style*."""
        if fragment.startswith("^"):
            return fragment[1:].lower() in self._block_ids
        if style is Style.MARKDOWN and fragment.lower() in self._anchors:
            return True
        # A heading may have a `#` in it too.
        if _compared(fragment) in self._above:
            return True
        path = [each for each in map(_compared, fragment[:MAX_COMPARED].split("#")) if each]
        return bool(path) and any(_leads(path[:-1], above) for above in self._above.get(path[-1], ()))


def _leads(wanted: Iterable[str], above: Iterable[str]) -> bool:
    """Say whether all headings that are *wanted* are among those *above*, in this order."""
    rest = iter(above)
    return all(each in rest for each in wanted)


def _compared(text: str) -> str:
    return fold(_PUNCTUATION.sub(" ", text[:MAX_COMPARED]))


def _anchors(texts: Iterable[str]) -> Iterator[str]:
    counts: dict[str, int] = {}
    for text in texts:
        anchor = _NOT_IN_ANCHORS.sub("", text.strip().lower()).replace(" ", "-")
        count = counts.get(anchor, 0)
        counts[anchor] = count + 1
        yield f"{anchor}-{count}" if count else anchor
