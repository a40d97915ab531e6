"""How headings make sections: each reaches to the next heading of its level or above, deeper ones included.

Only headings at the top of the document open a section, as in Obsidian: not those in block quotes, list items and
footnotes. Which section a text means is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable

from fsnotes.notes.markdown.blocks import Heading
from sandbox.records import record


@record
class Section:
    """The characters from *start* to *end*: the *heading*'s own lines, its text from *body* on, all deeper sections.

    *above* are the headings over it, from the top, each of a higher level than the next.
    """

    heading: Heading
    start: int
    body: int
    end: int
    above: tuple[Heading, ...]


def outline(headings: Iterable[Heading], end: int) -> tuple[Section, ...]:
    """Return the sections of a text that ends at *end*, in the order in which they begin."""
    opening = [heading for heading in headings if not heading.nested]
    ends = [end] * len(opening)
    paths: list[tuple[Heading, ...]] = []
    open_sections: list[int] = []
    for place, heading in enumerate(opening):
        while open_sections and opening[open_sections[-1]].level >= heading.level:
            ends[open_sections.pop()] = heading.start
        paths.append(tuple(opening[above] for above in open_sections))
        open_sections.append(place)
    return tuple(
        Section(heading, heading.start, heading.end, stop, above)
        for heading, stop, above in zip(opening, ends, paths, strict=True)
    )
