"""What can be seen of a command before anything is opened: arguments that mean nothing, or that are no text."""

from __future__ import annotations

from enum import Enum
from typing import Final

from fsnotes.errors import InvalidArgument, NoteTooLarge
from fsnotes.notes.commands import AppendNote, CreateNote, EditNote, SetProperties


class Position(Enum):
    """At which end of a note or a section text is added."""

    START = "start"
    END = "end"


Change = EditNote | AppendNote | SetProperties

_POSITIONS: Final = frozenset(position.value for position in Position)


def check_arguments(command: Change) -> None:
    """Raise InvalidArgument for what can be seen to mean nothing before anything is opened."""
    match command:
        case EditNote(old_text=None, heading=None):
            raise InvalidArgument("oldText", "it is required where no heading is given")
        case EditNote(old_text=""):
            raise InvalidArgument("oldText", "it is empty")
        case EditNote(old_text=None, expected=expected) if expected != 1:
            raise InvalidArgument("expectedMatches", "it is for oldText, which is not given")
        case SetProperties(assign=(), remove=()):
            raise InvalidArgument("set", "it is required where nothing is unset")
        case AppendNote(position=position) if position not in _POSITIONS:
            raise InvalidArgument("position", "it is neither start nor end")


def content_of(command: CreateNote, *, most: int) -> bytes:
    """Return the bytes of the note to be made. Raises InvalidArgument and NoteTooLarge. Opens nothing."""
    try:
        data = command.content.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidArgument("content", "it has a lone surrogate, which is no character") from None
    if len(data) > most:
        raise NoteTooLarge(command.path, limit=most)
    return data
