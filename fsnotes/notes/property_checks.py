"""Whether a change of a block does what was asked for and nothing else: the last word before a note is changed.

The result is read again and compared: properties, types, order, and the source text of all that was not to change. So a
rule for cutting that fits badly costs a refusal, never a property.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fsnotes.errors import InvalidYaml
from fsnotes.notes import frontmatter
from fsnotes.notes.frontmatter import MAX_BYTES
from fsnotes.notes.property_changes import CannotCut, Changes, Cut
from fsnotes.notes.property_reasons import NOT_AS_ASKED, REFERRED_TO, TOO_LONG, numbered
from fsnotes.notes.splices import Splice, apply
from fsnotes.notes.yaml_layout import Layout, layout_of


def check_references(layout: Layout, cuts: Sequence[Cut]) -> None:
    """Raise CannotCut if an anchor would go that something refers to which stays."""

    def goes(offset: int) -> bool:
        return any(cut.start <= offset < cut.end for cut in cuts)

    for name, alias in layout.aliases:
        anchor = max(offset for other, offset in layout.anchors if other == name and offset < alias)
        if goes(anchor) and not goes(alias):
            raise CannotCut(REFERRED_TO)


def check_place(data: bytes, splices: Sequence[Splice], expected: tuple[int, int, int]) -> None:
    """Check that the note with *splices* has its block and its body where they are expected."""
    if frontmatter.bounds(apply(data, splices)) != expected:
        raise CannotCut(NOT_AS_ASKED)


def check_block(text: str, layout: Layout, changes: Changes, result: str) -> None:
    """Check that *result* holds what *text* holds, with *changes* and nothing else."""
    if len(result.encode()) > MAX_BYTES:
        raise CannotCut(numbered(TOO_LONG, MAX_BYTES))
    try:
        found = layout_of(result)
    except InvalidYaml:
        raise CannotCut(NOT_AS_ASKED) from None
    expected = dict(layout.value or {})
    sources: list[str | None] = []
    for index, pair in enumerate(layout.pairs):
        if index in changes.removed:
            del expected[pair.key_object]
        elif index in changes.assigned:
            expected[pair.key_object] = changes.assigned[index].value
            sources.append(None)
        else:
            sources.append(text[pair.key.start : pair.value.end])
    for key, value in changes.added:
        expected[key] = value.value
        sources.append(None)
    kept = len(sources) == len(found.pairs) and all(
        source in (None, result[pair.key.start : pair.value.end])
        for source, pair in zip(sources, found.pairs, strict=True)
    )
    if not kept or not same(expected, found.value or {}):
        raise CannotCut(NOT_AS_ASKED)


def same(left: Any, right: Any) -> bool:
    """Return whether two values are equal and of the same types, whatever the order of keys."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        keys = {key: key for key in right}
        return left.keys() == right.keys() and all(
            same(key, keys[key]) and same(value, right[key]) for key, value in left.items()
        )
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, set | frozenset):
        return same(dict.fromkeys(left), dict.fromkeys(right))
    if isinstance(left, float):
        return repr(left) == repr(right)
    return bool(left == right)
