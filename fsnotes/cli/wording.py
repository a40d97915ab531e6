"""Decides how a failure, whose line names the arguments of a tool, is told to a person at a command line.

The words of the caller and of notes, which stand in quotes there, are left as they are.
"""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = {
    "notes_list": "fsnotes list",
    "notes_trash": "fsnotes trash",
    "notes_workspaces": "the configuration",
    "updateLinks false": "--keep-links",
    "oldText": "--old",
    "newText": "--new",
    "expectedMatches": "--expected",
    "ifMatch": "--if-match",
    "startLine": "--start-line",
    "endLine": "--end-line",
    "newPath": "the new path",
    "trashId": "the trash id",
    "call again": "try again",
}
"""What a tool calls it, and what a person does."""

# A quoted text as `failures.echo` makes it, or a word of ours.
_PARTS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|' + "|".join(rf"\b{word}\b" for word in _WORDS))


def for_people(line: str) -> str:
    """Return *line* with the names of flags and commands in place of those of arguments and tools."""
    return _PARTS.sub(lambda found: _WORDS.get(found[0], found[0]), line)
