"""Setting and unsetting properties of a note: which bytes of it change, and that nothing else does.

The rules, where the texts that people write leave a choice:

- Only keys of the outermost mapping are set and unset, by exact name (`property_keys.py`). A key that the block has in
  another case or Unicode form only is refused, unless that one goes: Obsidian would take both for one.
- A new key comes last. A note without a block gets one at its very start, behind a byte order mark, with the line ends
  of its first line. Where a block seems to have lost its closing line that is refused: Obsidian shows no properties
  then, and a second block above would hide for good what stands in the first one. Unsetting a
  key that is not there changes nothing and is reported.
- A block that loses its last property goes, unless a comment is left in it, or unless the body would then be read as
  frontmatter.
- A value with an anchor that something outside of it refers to is neither replaced nor removed.
- The result is read again, and must differ in nothing but what was asked for (`property_checks.py`).

Pure: bytes in, splices out. Reading and writing notes is the handlers' work.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

from fsnotes.errors import InvalidArgument, InvalidYaml
from fsnotes.notes import frontmatter, property_flow, property_keys, property_lines, property_values
from fsnotes.notes.assignments import Assignment
from fsnotes.notes.frontmatter import BOM, MAX_BYTES
from fsnotes.notes.property_changes import (
    CannotCut,
    Changes,
    Cut,
    applied,
    joined,
    line_break_before,
)
from fsnotes.notes.property_checks import check_block, check_place, check_references
from fsnotes.notes.property_reasons import (
    ITEM,
    KEY_ALIKE,
    KEY_SEVERAL,
    KEY_TWICE,
    KEYS_ALIKE,
    NOT_AS_ASKED,
    TOO_LONG,
    TOO_MANY,
    numbered,
)
from fsnotes.notes.property_values import BadValue, PropertyValue
from fsnotes.notes.splices import Splice, apply
from fsnotes.notes.texts import decoded
from fsnotes.notes.yaml_layout import Layout, layout_of
from sandbox.records import record

MAX_CHANGES: Final = 100
"""Most keys that one edit sets and unsets."""

_FIRST_BREAK: Final = re.compile(rb"\r\n|\r|\n")
_NOTHING_LEFT: Final = re.compile(r"[ \t\r\n]*+(?:\{[ \t\r\n]*+\})?[ \t\r\n]*+")

_Argument = Literal["set", "unset"]


@record
class Edit:
    """What to change in a note: *splices* in order, none of which touch. *absent* keys were not there to go."""

    splices: tuple[Splice, ...]
    absent: tuple[str, ...]


def edit(
    data: bytes, *, assign: Sequence[Assignment] = (), remove: Sequence[str] = (), path: str = ""
) -> Edit:
    """Return how the note *data* changes when the properties *assign* are set and the keys *remove* unset.

    Values that are equal to those which stand there are written as asked for all the same. *path* only names the
    note in errors. Raises InvalidArgument for `set` or `unset`, whose numbers count items from 1, InvalidYaml with the
    line in the note for a block that cannot be read, and NotText for a note that is not UTF-8.
    """
    _check_keys(assign, remove)
    values = _values(assign)
    decoded(data, path=path)  # the whole note, so that one that is not text is never rewritten
    block = frontmatter.block(data, path=path)
    if block is None and frontmatter.is_unclosed(data):
        # One more block above it would be what everybody reads then, and what stands in this one would be lost.
        raise InvalidYaml(path, line=1)
    text = block.text if block is not None else ""
    layout = layout_of(text, path=path)
    if layout.value is None and layout.root is not None:
        # A null that is written: it is a value, and no key can stand beside it.
        raise InvalidYaml(path, line=frontmatter.line_of(text, layout.root.start))
    changes, absent = _changes(layout, assign, values, remove)
    if not (changes.assigned or changes.removed or changes.added):
        return Edit((), absent)
    try:
        splices = _created(data, layout, changes) if block is None else _changed(data, block, layout, changes)
    except CannotCut as refusal:
        raise InvalidArgument("set" if assign else "unset", refusal.why) from None
    return Edit(splices, absent)


# -- what is asked for -------------------------------------------------------------------------


def _check_keys(assign: Sequence[Assignment], remove: Sequence[str]) -> None:
    if len(assign) + len(remove) > MAX_CHANGES:
        raise InvalidArgument("set" if assign else "unset", numbered(TOO_MANY, MAX_CHANGES))
    seen: set[str] = set()
    arguments: tuple[tuple[_Argument, list[str]], ...] = (
        ("set", [assignment.key for assignment in assign]),
        ("unset", list(remove)),
    )
    for argument, keys in arguments:
        for number, key in enumerate(keys, start=1):
            fault = property_keys.fault(key) or (KEY_TWICE if key in seen else None)
            if fault is not None:
                raise _item(argument, number, fault)
            seen.add(key)
    alike: set[str] = set()
    for number, assignment in enumerate(assign, start=1):
        likeness = property_keys.likeness(assignment.key)
        if likeness in alike:
            raise _item("set", number, KEYS_ALIKE)
        alike.add(likeness)


def _item(argument: _Argument, number: int, fault: str) -> InvalidArgument:
    return InvalidArgument(argument, numbered(ITEM, number) + fault)


def _values(assign: Sequence[Assignment]) -> list[PropertyValue]:
    if sum(len(assignment.value) for assignment in assign) > MAX_BYTES:
        raise InvalidArgument("set", numbered(TOO_LONG, MAX_BYTES))
    values = []
    for number, assignment in enumerate(assign, start=1):
        try:
            values.append(property_values.read_value(assignment.value, frontmatter.yaml()))
        except BadValue as fault:
            raise _item("set", number, fault.why) from None
    return values


def _changes(
    layout: Layout, assign: Sequence[Assignment], values: Sequence[PropertyValue], remove: Sequence[str]
) -> tuple[Changes, tuple[str, ...]]:
    """Match the keys with the pairs of the block. Return the changes, and the keys to remove that are not there."""
    places: dict[str, list[int]] = {}
    for index, pair in enumerate(layout.pairs):
        if pair.name is not None:
            places.setdefault(pair.name, []).append(index)
    going = frozenset(remove)
    alike = {property_keys.likeness(name) for name in places if name not in going}

    def place(argument: _Argument, number: int, key: str) -> int | None:
        found = places.get(key, ())
        if len(found) > 1:
            raise _item(argument, number, KEY_SEVERAL)
        if not found and property_keys.likeness(key) in alike:
            raise _item(argument, number, KEY_ALIKE)
        return found[0] if found else None

    assigned: dict[int, PropertyValue] = {}
    added: list[tuple[str, PropertyValue]] = []
    for number, (assignment, value) in enumerate(zip(assign, values, strict=True), start=1):
        found = place("set", number, assignment.key)
        if found is not None:
            assigned[found] = value
            continue
        fault = property_keys.fault_of_new(assignment.key)
        if fault is not None:
            raise _item("set", number, fault)
        added.append((assignment.key, value))
    removed = {key: place("unset", number, key) for number, key in enumerate(remove, start=1)}
    return (
        Changes(assigned, frozenset(index for index in removed.values() if index is not None), tuple(added)),
        tuple(key for key, index in removed.items() if index is None),
    )


# -- what changes ------------------------------------------------------------------------------


def _created(data: bytes, layout: Layout, changes: Changes) -> tuple[Splice, ...]:
    """Return the splice that puts a block before the text of a note that has none."""
    found = _FIRST_BREAK.search(data)
    end = "\n" if found is None else found.group().decode("ascii")
    text = applied("", joined("", property_lines.cuts("", layout, changes, line_break=end)))
    place = len(BOM) if data.startswith(BOM) else 0
    opening = f"---{end}".encode()
    splice = Splice(place, place, opening + text.encode() + opening)
    start = place + len(opening)
    check_place(
        data, (splice,), (start, start + len(text.encode()), start + len(text.encode()) + len(opening))
    )
    check_block("", layout, changes, text)
    return (splice,)


def _changed(data: bytes, block: frontmatter.Block, layout: Layout, changes: Changes) -> tuple[Splice, ...]:
    text = block.text
    cuts = _cuts(data[: block.start].decode(), text, layout, changes)
    check_references(layout, cuts)
    result = applied(text, cuts)
    if _NOTHING_LEFT.fullmatch(result):
        start = len(BOM) if data.startswith(BOM) else 0
        without = (Splice(start, block.body, b""),)
        if frontmatter.bounds(apply(data, without)) is None:
            return without
    splices = tuple(_in_bytes(text, cuts, block.start))
    grown = len(result.encode()) - (block.end - block.start)
    check_place(data, splices, (block.start, block.end + grown, block.body + grown))
    check_block(text, layout, changes, result)
    return splices


def _cuts(above: str, text: str, layout: Layout, changes: Changes) -> list[Cut]:
    end = line_break_before(above, len(above))
    style = ":" if layout.root is None else layout.root.style
    if style == ":":
        return joined(text, property_lines.cuts(text, layout, changes, line_break=end))
    if style == "{":
        return joined(text, property_flow.cuts(text, layout, changes, line_break=end))
    raise CannotCut(NOT_AS_ASKED)


def _in_bytes(text: str, cuts: list[Cut], base: int) -> list[Splice]:
    splices, at = [], 0
    for cut in cuts:
        start = base + len(text[at : cut.start].encode())
        base = start + len(text[cut.start : cut.end].encode())
        splices.append(Splice(start, base, cut.text.encode()))
        at = cut.end
    return splices
