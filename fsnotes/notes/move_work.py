"""Decides how much work a move may be: what its links take to rewrite is estimated before it is begun.

A move holds everybody else up, and its worker has a deadline. What a note costs is mostly a matter of the links in
it, which nobody knows before it is scanned; brackets are counted instead, since there are two to most links and none
without. Notes that are dense with links cost a hundred times what others of their size do.

Limits: it is an estimate, too high for notes with many brackets and few links, and its unit is a microsecond of one
machine. Who gives a move time gives it more.
"""

from __future__ import annotations

from typing import Final

MAX_WORK: Final = 20_000_000
"""Most of all notes of a move, in microseconds: half a million links."""

MAX_NOTE_WORK: Final = 10_000_000
"""Most of one note before its links are known: a call that looks at it must end before its deadline."""

_BYTES: Final = 16
"""So many of a note's bytes are read and searched in a microsecond."""

_BRACKET: Final = 8
_LINK: Final = 20


def work_of(data: bytes, links: int = 0) -> int:
    """Return the microseconds that rewriting a note takes, of which *links* are rewritten or reported; never 0."""
    return 1 + len(data) // _BYTES + _BRACKET * data.count(b"[") + _LINK * links
