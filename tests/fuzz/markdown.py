"""The scanner of Markdown: headings, sections, links, tags."""

from __future__ import annotations

import itertools
import time
from typing import Final

from fsnotes.notes.index.folding import folded
from fsnotes.notes.markdown.blocks import Blocks
from fsnotes.notes.markdown.front import body_start
from fsnotes.notes.markdown.inlines import inlines
from fsnotes.notes.markdown.lines import Lines, unified
from fsnotes.notes.markdown.links import Form
from fsnotes.notes.markdown.note_links import links_of
from fsnotes.notes.markdown.outline import outline
from fsnotes.notes.markdown.walk import blocks, headings
from fsnotes.notes.titles import title_of
from sandbox.names import display
from tests.fuzz.supply import Supply, text_of

_HEADING = "\n\n# between\n"


def markdown(data: bytes) -> None:
    """All that is found stands within the text and in order, and what follows a heading is read as it is alone."""
    text = text_of(data)
    found = blocks(text)
    _check_blocks(text, found)
    _check_inlines(text, found)
    assert list(headings(text)) == found.headings
    if "\r" in text:
        assert blocks(unified(text)).headings == found.headings
    if "\n" in text and "\r" not in text:
        other = blocks(text.replace("\n", "\r"))
        assert [each[:3] for each in other.headings] == [each[:3] for each in found.headings]
    title_of(text.encode("utf-8", "replace"), "name.md")
    half = len(text) // 2
    _check_apart(text[:half], text[half:])


def _check_blocks(text: str, found: Blocks) -> None:
    size, last, start = len(text), 0, body_start(text)
    lines = Lines(text)
    for heading in found.headings:
        assert (
            start <= last <= heading.start <= heading.text_start <= heading.text_end <= heading.end <= size
            or (last == 0 and start <= heading.start)
        )
        assert 1 <= heading.level <= 6
        assert heading.line == lines.line(heading.start)
        assert "\n" not in heading.text
        last = heading.end
    for start_, end, parts in found.texts:
        assert start <= start_ <= end <= size
        if parts is not None:
            assert parts[0][0] == start_
            assert all(a <= b <= c for (a, b), (c, _) in itertools.pairwise(parts))
    for each in found.verbatim:
        assert start <= each.start <= each.end <= size
    for table in found.tables:
        assert all(start <= a <= b <= size for a, b in table.rows)
    sections = outline(found.headings, size)
    for one, other in itertools.pairwise(sections):
        assert one.start < other.start
        assert other.end <= one.end or one.end <= other.start  # nested or apart
    assert all(each.start <= each.body <= each.end for each in sections)


def _check_inlines(text: str, found: Blocks) -> None:
    size, seen = len(text), inlines(found)
    assert list(seen.links) == sorted(seen.links, key=lambda each: each.start)
    last = 0
    paths = [(each.path, each) for each in links_of(text) if each.path is not None]
    for path, link in sorted(paths, key=lambda pair: pair[0]):
        assert link.start <= path[0] <= path[1] <= link.end <= size
        assert last <= path[0], "paths of links overlap"
        last = path[1]
        assert unified(text)[slice(*path)] == link.raw
        for span in (link.fragment_span, link.alias):
            assert span is None or link.start <= span[0] <= span[1] <= link.end
    for tag in seen.tags:
        assert text[tag.start : tag.end] == f"#{tag.name}"
    last = 0
    for block_id in seen.block_ids:
        assert last <= block_id.start < block_id.end <= size
        assert text[block_id.start : block_id.end] == f"^{block_id.name}"
        last = block_id.end


def _check_apart(first: str, second: str) -> None:
    """Where a heading at the top stands between two texts, the second one has the blocks that it has alone."""
    whole = blocks(first + _HEADING + second)
    at = len(first) + 2
    behind = at + len(_HEADING) - 2
    if not any(each.start == at and not each.nested for each in whole.headings):
        return  # the first text is not over there: in code, say
    # SAFETY: the walk has no other memory than what is open, and such a heading closes all of it.
    alone = blocks(second, start=0)
    moved = [(each.level, each.text, each.start - behind) for each in whole.headings if each.start >= behind]
    assert moved == [(each.level, each.text, each.start) for each in alone.headings]
    if whole.definitions:
        return
    there = [
        (each.form, each.start - behind, each.end - behind, each.target, each.fragment)
        for each in inlines(whole).links
        if each.start >= behind and each.form is not Form.REFERENCE
    ]
    assert there == [
        (each.form, each.start, each.end, each.target, each.fragment)
        for each in inlines(alone).links
        if each.form is not Form.REFERENCE
    ]


MOST_SECONDS: Final = 4.0
"""What takes longer for `SIZE` characters is no longer in proportion to them: that is less than 0.1 s for most texts,
and minutes for what is quadratic. Instruments of a fuzzer and busy processors are allowed for."""

SIZE: Final = 60_000


def repeated(data: bytes) -> None:
    """Whatever is repeated, reading it takes time in proportion to the text."""
    supply = Supply(data)
    prefix, unit = supply.text(6), supply.text(20)
    text = prefix + (unit or "-") * (SIZE // max(1, len(unit)))
    started = time.process_time()
    found = blocks(text)
    inlines(found)
    outline(found.headings, len(text))
    links_of(f"---\n{text}\n---\n")
    folded(text)
    display(text)
    assert time.process_time() - started < MOST_SECONDS
