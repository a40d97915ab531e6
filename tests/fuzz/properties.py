"""Frontmatter: reading it, and setting and unsetting properties in it."""

from __future__ import annotations

import contextlib
from typing import Any

from fsnotes.errors import InvalidArgument, InvalidYaml, NotText
from fsnotes.notes import frontmatter
from fsnotes.notes.markdown import front
from fsnotes.notes.properties import Assignment, edit
from fsnotes.notes.property_checks import same
from fsnotes.notes.property_reading import read_properties
from fsnotes.notes.splices import apply, inverse
from tests.fuzz.supply import Supply

_BOM = b"\xef\xbb\xbf"


def properties(data: bytes) -> None:
    """What was asked for happens and nothing else, or the note is refused; and everything can be undone."""
    supply = Supply(data)
    value = supply.text(24)
    note = supply.rest() if supply.flag() else b"---\n" + supply.rest() + b"\n---\nbody\n"
    _check_split(note)
    for assign, remove in (
        ([Assignment("a", value)], []),
        ([Assignment("new", value), Assignment("b", "1")], ["a"]),
        ([], ["a", "c"]),
    ):
        try:
            found = edit(note, assign=assign, remove=remove)
        except (InvalidArgument, InvalidYaml, NotText):
            continue
        after = apply(note, found.splices)
        assert apply(after, inverse(note, found.splices)) == note
        _check_frame(note, after)
        was, now = frontmatter.read(note), frontmatter.read(after)
        # What is merged into a block is no property of its own, and not there to be unset.
        gone = [key for key in remove if key not in found.absent]
        expected = {key: each for key, each in was.items() if not _is(key, gone)}
        kept = {key: each for key, each in expected.items() if not _is(key, [item.key for item in assign])}
        assert same({key: now[key] for key in kept}, kept)
        assert len(now) == len(kept) + len(assign)
        assert all(item.key in now for item in assign)
        assert not any(key in now for key in gone)


def _is(key: object, names: list[str]) -> bool:
    return isinstance(key, str) and key in names


def _check_split(note: bytes) -> None:
    parts = frontmatter.split(note)
    assert parts.joined() == note
    assert frontmatter.body_start(note) == len(note) - len(parts.body)
    with contextlib.suppress(UnicodeDecodeError):
        text = note.decode()
        assert len(text[: front.body_start(text)].encode()) == frontmatter.body_start(note)
    read: dict[Any, Any] | None = None
    with contextlib.suppress(InvalidYaml, NotText):
        read = frontmatter.read(note)
        assert not parts.present or isinstance(read, dict)
    with contextlib.suppress(InvalidYaml, NotText):
        read_properties(note)
    title = frontmatter.title(note)
    if title is not None:
        title.encode()
        assert read is None or isinstance(read["title"], str)


def _check_frame(before: bytes, after: bytes) -> None:
    was, now = frontmatter.split(before), frontmatter.split(after)
    assert was.bom == now.bom
    if was.present and now.present:
        assert (now.opening, now.closing, now.body) == (was.opening, was.closing, was.body)
        return
    # The block came or went; what was around it is all there is, or all that follows it.
    outer, inner = (before, after) if was.present else (after, before)
    assert outer.removeprefix(_BOM).endswith(inner.removeprefix(_BOM))
