"""Changes of notes: what is replaced and added, and links that are rewritten when notes are moved."""

from __future__ import annotations

import contextlib
import itertools

from fsnotes.errors import FsnotesError
from fsnotes.notes.additions import Position, add
from fsnotes.notes.catalogue import Catalogue
from fsnotes.notes.markdown.links import Form
from fsnotes.notes.markdown.note_links import links_of
from fsnotes.notes.relinking import Relinking
from fsnotes.notes.replacements import replace, replace_body
from fsnotes.notes.sections import stretch
from fsnotes.notes.splices import Splice, apply, inverse, resulting_size
from tests.fuzz.supply import Supply

_MOST = 4_000


def splices(data: bytes) -> None:
    """An edit changes what it names and no other byte, stays in its bounds, and can be undone."""
    supply = Supply(data)
    old, new, position = supply.text(8), supply.text(20), supply.pick((Position.END, Position.START))
    expected, heading = 1 + supply.below(3), supply.text(6)
    note = supply.rest()
    section = None
    with contextlib.suppress(FsnotesError):
        section = stretch(note, heading, path="n.md")
        assert 0 <= section.start <= section.body <= section.end <= len(note)
    with contextlib.suppress(FsnotesError):
        within = None if section is None else (section.start, section.end)
        made = replace(note, old, new, path="n.md", most=_MOST, expected=expected, within=within)
        after = _checked(note, made, within)
        if made:
            assert len(made) <= expected
        if (
            within is None
            and "\r" not in old + new + note.decode()
            and "\ufeff" not in old + new + note.decode()
        ):
            assert after.decode() == note.decode().replace(old, new)
    body = None if section is None else (section.body, section.end)
    with contextlib.suppress(FsnotesError):
        made = add(note, new, position=position, path="n.md", most=_MOST, section=body)
        after = _checked(note, made, body)
        assert all(each.start == each.end for each in made), "something was taken away"
        assert len(after) > len(note)
    if body is not None:
        with contextlib.suppress(FsnotesError):
            made = replace_body(note, new, body=body[0], end=body[1], path="n.md", most=_MOST)
            _checked(note, made, body)


def _checked(note: bytes, made: tuple[Splice, ...], within: tuple[int, int] | None) -> bytes:
    after = apply(note, made)
    after.decode()
    assert apply(after, inverse(note, made)) == note
    assert len(after) == resulting_size(note, made)
    assert len(after) <= max(_MOST, len(note))
    assert all(one.end <= other.start for one, other in itertools.pairwise(made))
    if within is not None:
        assert after[: within[0]] == note[: within[0]]
        assert after.endswith(note[within[1] :])
    assert after.startswith(b"\xef\xbb\xbf") == note.startswith(b"\xef\xbb\xbf")
    return after


_FILES = (
    "n.md",
    "a/n.md",
    "a/b.md",
    "b.md",
    "a/p.png",
    "it's.md",
    "c d.md",
    "é.md",
    "x$y.md",
    "a/[t].md",
    "1.2.md",
)
_PLACES = (
    "z.md",
    "a/z.md",
    "q/n.md",
    "z z.md",
    "ü.md",
    "z'.md",
    "[z].md",
    "z$.md",
    "z`.md",
    "50%41.md",
    "a/b/c.md",
)


def links(data: bytes) -> None:
    """When notes are moved, a note keeps its links, which lead to the same notes, and nothing else of it changes."""
    supply = Supply(data)
    moves = {supply.pick(_FILES): supply.pick(_PLACES) for _ in range(1 + supply.below(3))}
    if len(set(moves.values())) < len(moves):
        return
    note = supply.rest()
    before = Catalogue(_FILES)
    after = before.moved(moves)
    path = supply.pick(("n.md", "a/b.md"))
    result = Relinking(moves, before, after).relinked(note, path)
    changed = apply(note, result.splices)
    assert apply(changed, inverse(note, result.splices)) == note
    assert len(result.splices) == result.updated
    if not result.splices:
        return
    was, now = links_of(note.decode()), links_of(changed.decode())
    assert len(was) == len(now)
    new_path, rewritten = moves.get(path, path), 0
    for old, new in zip(was, now, strict=True):
        assert (old.form, old.fragment, old.embed, old.quote, old.external) == (
            new.form, new.fragment, new.embed, new.quote, new.external,
        )  # fmt: skip
        if old.raw != new.raw and old.form is not Form.REFERENCE:
            rewritten += 1
            led, leads = before.resolve(old, path).id, after.resolve(new, new_path).id
            assert led is not None
            assert leads == moves.get(led, led)
    assert rewritten == result.updated
