"""Which section of a note a text means: that of a heading, with `Parent/Child` to tell twins apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fsnotes.errors import AmbiguousHeading, NoteNotFound
from fsnotes.notes.markdown.outline import Section, outline
from fsnotes.notes.markdown.walk import headings
from fsnotes.notes.model import fold
from fsnotes.notes.texts import Offsets, decoded
from sandbox.records import record

MAX_CANDIDATES: Final = 10
MAX_COMPARED: Final = 2_048
"""Characters of a heading that are compared; a caller's own text is shorter."""
MAX_SHOWN: Final = 120
"""Most characters of a heading in an error."""


def section(text: str, heading: str) -> Section:
    """Return the section that *heading* means: a heading's text, or the end of its path `Grandparent/Parent/Text`.

    Texts are compared in NFC, case folded, white space as one. Raises NoteNotFound with some of the headings that
    there are, and AmbiguousHeading when several answer.
    """
    sections = outline(headings(text), len(text))
    wanted = fold(heading)
    found = [each for each in sections if _answers(each, wanted)]
    if not found:
        raise NoteNotFound("heading", heading, candidates=_nearest(sections, wanted))
    if len(found) > 1:
        some = found[:MAX_CANDIDATES]
        raise AmbiguousHeading(
            heading,
            paths=tuple(_shown("/".join(each.text for each in (*twin.above, twin.heading))) for twin in some),
            lines=tuple(twin.heading.line for twin in some),
        )
    return found[0]


@record
class Stretch:
    """The bytes of a section: its heading's own lines from *start*, its text from *body* on, up to *end*."""

    start: int
    body: int
    end: int


def stretch(data: bytes, heading: str, *, path: str) -> Stretch:
    """Return where in the bytes of the note *path* the section is that *heading* means.

    Raises NotText, and what `section` raises.
    """
    text = decoded(data, path=path)
    found = section(text, heading)
    if len(text) == len(data):
        return Stretch(found.start, found.body, found.end)
    byte = Offsets(text).byte
    return Stretch(byte(found.start), byte(found.body), byte(found.end))


def _folded(text: str) -> str:
    """Return the folded form of a heading's beginning: putting long runs of accents in order takes quadratic time."""
    return fold(text[:MAX_COMPARED])


def _path(section: Section) -> tuple[str, ...]:
    """Return the folded texts of the headings above a section, and its own."""
    return (*(_folded(heading.text) for heading in section.above), _folded(section.heading.text))


def _answers(section: Section, wanted: str) -> bool:
    own = _folded(section.heading.text)
    if not wanted.endswith(own):
        return False
    names = _path(section)
    return any("/".join(names[place:]) == wanted for place in range(len(names)))


def _nearest(sections: Sequence[Section], wanted: str) -> tuple[str, ...]:
    """Return a few headings to choose from: those that share text with *wanted* first, then from the top."""
    texts = [section.heading.text for section in sections if section.heading.text]
    alike = [text for text in texts if wanted in _folded(text) or _folded(text) in wanted]
    return tuple(dict.fromkeys(_shown(text) for text in (*alike, *texts)))[:MAX_CANDIDATES]


def _shown(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"
