"""What the index takes from a note: one pass over its bytes. What cannot be read as text has no contents."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from fsnotes.errors import InvalidYaml
from fsnotes.notes.catalogue import folded as folded_path
from fsnotes.notes.index.queries import MAX_VALUE
from fsnotes.notes.markdown.blocks import Heading
from fsnotes.notes.markdown.front import bounds
from fsnotes.notes.markdown.inlines import inlines
from fsnotes.notes.markdown.links import Link
from fsnotes.notes.markdown.property_links import property_links
from fsnotes.notes.markdown.walk import blocks
from fsnotes.notes.model import fold, stem
from fsnotes.notes.property_reading import Properties, read_properties
from fsnotes.notes.tags import TagUse, counted
from fsnotes.notes.texts import decoded
from fsnotes.notes.titles import title_of
from sandbox.names import MAX_NAME_BYTES


class Contents(NamedTuple):
    """What is in a note.

    *title* is empty where nothing in it names it, and it goes by its file name. *stems* are the names that its links
    lead to, see `link_stem`. *properties* are the compared forms of names and values: each name with the texts that
    it has, alone or in a list.
    """

    text: str
    title: str
    headings: tuple[Heading, ...]
    tags: tuple[TagUse, ...]
    stems: tuple[str, ...]
    properties: dict[str, tuple[str, ...]]


def contents_of(data: bytes, *, path: str, with_tags: bool = True) -> Contents:
    """Return what is in the note *path*. Raises NotText. Frontmatter that cannot be read has no properties.

    Raises TooManyTags unless they are left out.
    """
    text = decoded(data, path=path)
    try:
        properties = read_properties(data, path=path)
    except InvalidYaml:
        properties = Properties((), "", 0)
    found = blocks(text)
    inside = inlines(found)
    front = bounds(text)
    outside = () if front is None else property_links(text[front[0] : front[1]], offset=front[0])
    names = [*(term.text for term in properties.tags()), *(tag.name for tag in inside.tags)]
    return Contents(
        text,
        title_of(data, ""),
        tuple(found.headings),
        counted(names) if with_tags else (),
        tuple(sorted(_stems([*outside, *inside.links]))),
        values_of(properties),
    )


def text_of(data: bytes, *, path: str) -> Contents:
    """Return what is in a large note without a scan of it: its text, title and properties. Raises NotText."""
    text = decoded(data, path=path)
    try:
        properties = values_of(read_properties(data, path=path))
    except InvalidYaml:
        properties = {}
    return Contents(text, title_of(data, ""), (), (), (), properties)


def title_from(path: str) -> str:
    """Return the title of a note that nothing but its path names."""
    return " ".join(stem(path.rpartition("/")[2]).split())


@lru_cache(maxsize=8192)
def link_stem(target: str) -> str | None:
    """Return the name under which links to the file *target*, or to the end of its path, are found.

    It is the last component in the form in which links are compared, without the suffixes of notes: `n.md` leads to
    `n.md.md` too. None for what is no path of a file.
    """
    name = target.rpartition("/")[2]
    if not name or len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES:
        return None
    found = folded_path(name)
    while (shorter := stem(found)) != found:
        found = shorter
    return found or None


def _stems(links: Iterable[Link]) -> set[str]:
    found = {link_stem(link.target) for link in links if not link.external}
    return {each for each in found if each is not None}


def values_of(properties: Properties) -> dict[str, tuple[str, ...]]:
    """Return the compared forms of what the properties are, by those of their names."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in properties.entries:
        values = {fold(scalar.text)[:MAX_VALUE] for scalar in entry.scalars if scalar.level < 2}
        key = fold(entry.name)[:MAX_VALUE]
        found[key] = tuple(sorted({*found.get(key, ()), *values} - {""}))
    return found
