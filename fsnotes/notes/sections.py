"""Which part of a note a heading means: its line and everything down to the next heading of its level or above."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fsnotes.errors import AmbiguousNote, NoteNotFound
from fsnotes.notes import frontmatter
from fsnotes.notes.headings import Heading, headings
from fsnotes.notes.model import fold
from sandbox.records import record

MAX_CANDIDATES: Final = 10
MAX_SHOWN: Final = 120
"""Most characters of a heading in an error."""


@record
class Section:
    """The bytes from *start* to *end*, and the lines (from 1, both included) that they are.

    The heading's own line belongs to it, and so do all deeper sections. *body* is where its text begins.
    """

    heading: Heading
    start: int
    body: int
    end: int
    first_line: int
    last_line: int


@record
class _Node:
    heading: Heading
    names: tuple[str, ...]  # the folded texts of the headings above it, and its own

    def answers_to(self, wanted: str) -> bool:
        """Say whether *wanted* is the heading's text, or the end of its path `Grandparent/Parent/Text`."""
        return any("/".join(self.names[place:]) == wanted for place in range(len(self.names)))


def section(data: bytes, heading: str) -> Section:
    """Return the section that *heading* means: a heading's text, or `Parent/Child` to tell twins apart.

    Texts are compared in NFC, case folded, white space as one. Raises NoteNotFound with some of the headings that
    there are, and AmbiguousNote when several answer.
    """
    nodes = _outline(data)
    wanted = fold(heading)
    places = [place for place, node in enumerate(nodes) if node.answers_to(wanted)]
    if not places:
        raise NoteNotFound("heading", heading, candidates=_nearest(nodes, wanted))
    if len(places) > 1:
        raise AmbiguousNote(heading, paths=_told_apart([nodes[place] for place in places]))
    found = nodes[places[0]].heading
    following = next(
        (node.heading for node in nodes[places[0] + 1 :] if node.heading.level <= found.level), None
    )
    end = len(data) if following is None else following.start
    last_line = len(data.splitlines()) if following is None else following.line - 1
    return Section(found, found.start, found.end, end, found.line, last_line)


def _outline(data: bytes) -> list[_Node]:
    nodes: list[_Node] = []
    above: list[tuple[int, str]] = []
    for heading in headings(data, start=frontmatter.body_start(data)):
        while above and above[-1][0] >= heading.level:
            above.pop()
        above.append((heading.level, fold(heading.text)))
        nodes.append(_Node(heading, tuple(name for _, name in above)))
    return nodes


def _nearest(nodes: Sequence[_Node], wanted: str) -> tuple[str, ...]:
    """Return a few headings to choose from: those that share text with *wanted* first, then from the top."""
    alike = [
        node for node in nodes if wanted in node.names[-1] or (node.names[-1] and node.names[-1] in wanted)
    ]
    shown = dict.fromkeys(_shown(node.heading.text) for node in (*alike, *nodes) if node.heading.text)
    return tuple(shown)[:MAX_CANDIDATES]


def _told_apart(nodes: Sequence[_Node]) -> tuple[str, ...]:
    """Return the names by which twins can be asked for; lines where their names are the same to the top."""
    paths = ["/".join(node.names) for node in nodes]
    return tuple(
        _shown(path) if paths.count(path) == 1 else f"{_shown(path)} (line {node.heading.line})"
        for path, node in zip(paths[:MAX_CANDIDATES], nodes, strict=False)
    )


def _shown(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"
