"""How the links of a note change when notes are moved, so that every one still means what it meant.

Only the paths of links are written, and only of those that would lead elsewhere otherwise; aliases, fragments and
all other bytes stay. How a path is written is decided in `link_forms.py`. A Markdown link from the note's folder that
would only be found from the top afterwards is written too: readers other than Obsidian would lose it.

Left alone, and reported with a reason, is what nobody can know or write: a link that answered to several files of
which one is moved, or which one more joins; one that its form cannot hold (a wikilink has no escapes); one whose new
path would make something else of the text around it, as a `$` can; a relative link in a moved note to something that
is not in the catalogue; and every link in a note that is not UTF-8. Links to files outside of what a
grant covers, or in notes outside of it, are counted and not shown. A link from a moved note's folder to where the
grant does not cover is counted whether anything is there or not, so that nobody finds out by moving notes.

Which notes are moved where, and that nothing stands there, is decided elsewhere; so are reading and writing.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final

from fsnotes.notes.catalogue import Catalogue, Resolution, Style, folder_of, seen_from, style_of
from fsnotes.notes.link_forms import holds, path_for, written
from fsnotes.notes.markdown.lines import Lines
from fsnotes.notes.markdown.links import Form, Link
from fsnotes.notes.markdown.note_links import links_of
from fsnotes.notes.mentions import Mentions
from fsnotes.notes.move_replies import MAX_LINK
from fsnotes.notes.splices import Splice, apply
from fsnotes.notes.texts import Offsets
from sandbox.records import record


class Reason(Enum):
    """Why a link is left alone."""

    AMBIGUOUS = "several files answer to it"
    UNWRITABLE = "such a link cannot hold the new path"
    MISREAD = "with the new path, the text around it would be read as something else"
    UNKNOWN = "it leads to nothing that is known, from another folder than before"
    NOT_TEXT = "the note is not UTF-8 text"


MOST_READ: Final = 1_048_576
"""Of a note whose links cannot all be rewritten no further tries are read once they have so many bytes together."""

LEAST_TRIES: Final = 8
"""So many tries are read whatever their size."""


@record
class LeftAlone:
    """A link that stays as it is: its *line*, from 1, and its *text* on one line, cut. Line 0 is the whole note."""

    line: int
    text: str
    reason: Reason


@record
class Relinked:
    """The change of one note's links: *updated* of them, one for each splice. *outside* are those beyond a grant."""

    splices: tuple[Splice, ...] = ()
    updated: int = 0
    left_alone: tuple[LeftAlone, ...] = ()
    outside: int = 0


_Changes = Mapping[int, tuple[str, str]]
"""What links get, by their places: the path as it is meant, and as it is written."""

# What may mean something in the text around a path; most of it does not.
_ODD: Final = re.compile(r"[^\w\-./% ]|%(?![0-9A-F]{2})")


class Relinking:
    """One move of some files, as *moves* from ids to ids and the catalogues *before* and *after* it.

    *within* says which ids a grant covers; all of them, if it is not given.
    """

    __slots__ = ("_after", "_before", "_judged", "_mentions", "_moves", "_within")

    def __init__(
        self,
        moves: Mapping[str, str],
        before: Catalogue,
        after: Catalogue,
        *,
        within: Callable[[str], bool] | None = None,
    ) -> None:
        self._moves = moves
        self._before = before
        self._after = after
        self._within = within
        self._mentions = Mentions.of_files(moves)
        # By the identity of candidates, which the catalogues keep: whether the move concerns them, and some are hidden.
        self._judged: dict[tuple[int, int], tuple[object, bool, bool]] = {}

    def relinked(self, data: bytes, path: str) -> Relinked:
        """Return how the note *path*, by the name before the move, with these bytes changes."""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return self._not_text(data, path)
        new_path = self._moves.get(path, path)
        own = self._covers(path) and self._covers(new_path)
        relocated = folder_of(path) != folder_of(new_path)
        links = links_of(text)
        changes: dict[int, tuple[str, str]] = {}
        left: list[tuple[Link, Reason]] = []
        outside = 0
        for place, link in enumerate(links):
            if link.path is None or link.external or not link.target:
                continue
            was = self._before.resolve(link, path)
            if relocated and not any(map(self._covers, was.ids)) and _from_folder(link):
                there = seen_from(folder_of(path), link.target)
                if there != seen_from(folder_of(new_path), link.target):
                    if own and (self._within is None or (there is not None and self._within(there))):
                        left.append((link, Reason.UNKNOWN))
                    else:
                        outside += 1
                continue
            target = was.id
            if target is None:
                reason, hidden = self._unresolved(link, was, new_path)
                outside += hidden or (reason is not None and not own)
                if reason is not None and own and not hidden:
                    left.append((link, reason))
                continue
            target = self._moves.get(target, target)
            if holds(was, self._after.resolve(link, new_path), target):
                continue
            if not (own and self._covers(target)):
                outside += 1
                continue
            meant = path_for(link, was, target, source=new_path, catalogue=self._after)
            raw = None if meant is None else written(meant, link, text[link.path[0] - 1])
            if meant is None or raw is None:
                left.append((link, Reason.UNWRITABLE))
            else:
                changes[place] = meant, raw
        read = _as_read(data, text, links, changes)
        if len(read) < len(changes):
            left += [(links[place], Reason.MISREAD) for place in changes if place not in read]
            left.sort(key=lambda each: each[0].start)
        splices = _splices(text, links, read)
        return Relinked(splices, len(splices), _shown(text, left), outside)

    def _covers(self, path: str) -> bool:
        return self._within is None or self._within(path)

    def _not_text(self, data: bytes, path: str) -> Relinked:
        if path not in self._moves and not self._mentions.may_be_in(data):
            return Relinked()
        if not self._covers(path):
            return Relinked(outside=1)
        return Relinked(left_alone=(LeftAlone(0, "", Reason.NOT_TEXT),))

    def _unresolved(self, link: Link, was: Resolution, new_path: str) -> tuple[Reason | None, bool]:
        """Return why a link to no one file is reported, if the move concerns it, and whether to hide it."""
        if not was.ids:
            return None, False
        concerned, hidden = self._judge(was.ids, self._after.resolve(link, new_path).ids)
        return (Reason.AMBIGUOUS, hidden) if concerned else (None, False)

    def _judge(self, was: tuple[str, ...], now: tuple[str, ...]) -> tuple[bool, bool]:
        """Say whether the move concerns a link with these candidates, and whether any is beyond the grant."""
        key = id(was), id(now)
        known = self._judged.get(key)
        if known is None:
            concerned = was != now or any(each in self._moves for each in was)
            hidden = not all(self._covers(each) for each in itertools.chain(was, now))
            known = self._judged[key] = (was, now), concerned, hidden
        return known[1:]


def _from_folder(link: Link) -> bool:
    """Say whether a link is one from the note's folder by its form."""
    if link.target.startswith(("./", "../")):
        return True
    return style_of(link.form) is Style.MARKDOWN and not link.target.startswith("/")


def _splices(text: str, links: tuple[Link, ...], changes: _Changes) -> tuple[Splice, ...]:
    if not changes:
        return ()
    byte = (lambda at: at) if text.isascii() else Offsets(text).byte
    found = []
    for place, (_, raw) in changes.items():
        span = links[place].path
        if span is not None:
            found.append(Splice(byte(span[0]), byte(span[1]), raw.encode()))
    return tuple(sorted(found, key=lambda splice: splice.start))


def _as_read(data: bytes, text: str, links: tuple[Link, ...], changes: _Changes) -> _Changes:
    """Return those of *changes* after which the note has the same links, with the paths that were meant.

    Nearly always that is all of them. Else those that look harmless are tried together, and then halves of what is
    left, as often as the bounds allow.
    """
    if not changes or _reads_as_meant(apply(data, _splices(text, links, changes)), links, changes):
        return changes
    tries = max(LEAST_TRIES, MOST_READ // len(data))
    kept: dict[int, tuple[str, str]] = {}
    odd = [place for place, (_, raw) in changes.items() if _ODD.search(raw)]
    plain = [place for place in changes if place not in frozenset(odd)]
    waiting = [odd, plain]
    while waiting:
        group = waiting.pop()
        if not group:
            continue
        if not tries:
            break
        tries -= 1
        tried = kept | {place: changes[place] for place in group}
        if _reads_as_meant(apply(data, _splices(text, links, tried)), links, tried):
            kept = tried
        elif len(group) > 1:
            half = len(group) // 2
            waiting += [group[half:], group[:half]]
    return kept


def _reads_as_meant(data: bytes, links: tuple[Link, ...], changes: _Changes) -> bool:
    """Say whether a note whose links were changed has the same links, with the paths that were meant."""
    wanted = [
        (link.form, changes[place][0] if place in changes else link.target, link.fragment, link.external)
        for place, link in enumerate(links)
        if link.form is not Form.REFERENCE
    ]
    found = [
        (link.form, link.target, link.fragment, link.external)
        for link in links_of(data.decode("utf-8"))
        if link.form is not Form.REFERENCE
    ]
    return found == wanted


def _shown(text: str, left: list[tuple[Link, Reason]]) -> tuple[LeftAlone, ...]:
    if not left:
        return ()
    lines = Lines(text)
    return tuple(
        LeftAlone(lines.line(link.start), _cut(text[link.start : link.end]), reason) for link, reason in left
    )


def _cut(text: str) -> str:
    text = " ".join(text[: 4 * MAX_LINK].split())
    return text if len(text) <= MAX_LINK else text[:MAX_LINK] + "…"
