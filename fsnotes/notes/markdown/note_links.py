"""All links of a note: those of its properties and those of its text."""

from __future__ import annotations

from fsnotes.notes.markdown.front import bounds
from fsnotes.notes.markdown.inlines import inlines
from fsnotes.notes.markdown.links import Link
from fsnotes.notes.markdown.property_links import property_links
from fsnotes.notes.markdown.walk import blocks


def links_of(text: str) -> tuple[Link, ...]:
    """Return the links of a note in the order in which they begin, those of its properties first."""
    front = bounds(text)
    found = () if front is None else property_links(text[front[0] : front[1]], offset=front[0])
    return (*found, *inlines(blocks(text)).links)
