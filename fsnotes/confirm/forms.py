"""Decides what a person is shown before a deletion, and what counts as an answer.

Nothing is ever consent by omission: an answer that is not exactly one of the known shapes is refused, and a
refusal leaves everything as it was. Whose answer it is and what it was given to are left to `flow`.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final

from fsnotes.confirm.state import MAX_CANDIDATES
from fsnotes.errors import DeceptiveName, InvalidAnswer, TooManyMatches
from sandbox.records import record

MAX_MESSAGE: Final = 20_000
"""No message is longer, in characters; each of its parts is cut."""

_MAX_SHOWN_PATH: Final = 240
_MAX_SHOWN_TITLE: Final = 80
_MAX_SHOWN_WORKSPACE: Final = 80
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS: Final = "\u200c\u200d"
"""Fine where the caller has judged the name: between letters or emoji they are part of the writing."""


@record
class Candidate:
    """A note that may be meant. *modified* is in seconds since the epoch."""

    path: str
    etag: str
    title: str
    size: int
    modified: float


@record
class Form:
    """What is sent to the person: a plain text, and the flat schema of the answer."""

    message: str
    schema: dict[str, Any]
    candidates: tuple[Candidate, ...]

    @property
    def note_ids(self) -> tuple[str, ...]:
        """The ids that may be chosen, in the order of the form."""
        return tuple(candidate.path for candidate in self.candidates)


@record
class Choice:
    """The form was sent off. Only *confirm* is consent."""

    note_id: str
    confirm: bool


class Refusal(Enum):
    """The form was not sent off."""

    DECLINE = "decline"
    CANCEL = "cancel"


def build_form(workspace: str, candidates: Sequence[Candidate]) -> Form:
    """Return the form that asks which of *candidates* is to be deleted, and whether.

    Raises TooManyMatches for more than MAX_CANDIDATES, and DeceptiveName when a path has characters that do
    not show: what a person cannot see they cannot confirm.
    """
    if not candidates:
        raise ValueError("no candidates")
    if len(candidates) > MAX_CANDIDATES:
        raise TooManyMatches(MAX_CANDIDATES)
    paths = [candidate.path for candidate in candidates]
    if len(set(paths)) != len(paths):
        raise ValueError("a candidate twice")
    deceptive = tuple(path for path in paths if not path or any(map(_is_hidden, path)))
    if deceptive:
        raise DeceptiveName(deceptive)
    lines = [f"{number}. {_describe(candidate)}" for number, candidate in enumerate(candidates, start=1)]
    message = "\n".join([_question(workspace, len(candidates)), *lines])
    return Form(message, _schema(paths), tuple(candidates))


def parse_answer(answer: object, *, is_offered: Callable[[str], bool]) -> Choice | Refusal:
    """Return what *answer* to the form says. Raises InvalidAnswer for anything but the known shapes.

    `accept` needs a content of exactly a note id that was offered and a boolean; the content of `decline` and
    `cancel` is not looked at.
    """
    if not isinstance(answer, Mapping):
        raise InvalidAnswer("not an object")
    match answer.get("action"):
        case "decline":
            return Refusal.DECLINE
        case "cancel":
            return Refusal.CANCEL
        case "accept":
            return _choice(answer.get("content"), is_offered)
        case _:
            raise InvalidAnswer("an unknown action")


def _choice(content: object, is_offered: Callable[[str], bool]) -> Choice:
    if not isinstance(content, Mapping) or set(content) != {"note_id", "confirm"}:
        raise InvalidAnswer("not exactly the fields of the form")
    note_id, confirm = content["note_id"], content["confirm"]
    if type(note_id) is not str or not is_offered(note_id):
        raise InvalidAnswer("a note that the form did not offer")
    # "yes", "true" and 1 are no booleans, and no consent.
    if type(confirm) is not bool:
        raise InvalidAnswer("confirm is not a boolean")
    return Choice(note_id, confirm)


def _schema(paths: list[str]) -> dict[str, Any]:
    return {
        "properties": {
            "note_id": {
                "type": "string",
                "title": "Note",
                "description": "The note to delete",
                "enum": paths,
            },
            "confirm": {
                "type": "boolean",
                "title": "Delete it",
                "description": "Move this note to the trash",
                "default": False,
            },
        },
        "required": ["note_id", "confirm"],
        "type": "object",
    }


def _question(workspace: str, count: int) -> str:
    shown = _quote(workspace, _MAX_SHOWN_WORKSPACE)
    if count == 1:
        return f"Delete this note from the workspace {shown}? It moves to the trash and can be restored."
    return (
        f"{count} notes in the workspace {shown} match. Choose the one to delete, and confirm."
        " It moves to the trash and can be restored."
    )


def _describe(candidate: Candidate) -> str:
    parts = [_quote_path(candidate.path)]
    if candidate.title:
        parts.append(f"titled {_quote(candidate.title, _MAX_SHOWN_TITLE)}")
    parts.append(f"{candidate.size:,} byte{'' if candidate.size == 1 else 's'}")
    parts.append(f"modified {_moment(candidate.modified)}")
    return ", ".join(parts)


def _moment(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "at an unknown time"
    try:
        moment = datetime.fromtimestamp(math.floor(seconds), UTC)
    except (OverflowError, ValueError, OSError):
        return "at an unknown time"
    return f"{moment.replace(tzinfo=None).isoformat(sep=' ')} UTC"


def _quote_path(path: str) -> str:
    """Quote a path; a very long one shows both of its ends, the schema has the whole."""
    whole = _quote(path, len(path) * 2 + 2)
    if len(whole) <= _MAX_SHOWN_PATH:
        return whole
    half = _MAX_SHOWN_PATH // 2 - 2
    return f"{whole[:half]} … {whole[-half:]}"


def _quote(text: str, most: int) -> str:
    """Quote *text* as data: on one line, everything visible, at most about *most* characters."""
    shown = ""
    for character in text:
        piece = _visible(character)
        if len(shown) + len(piece) > most:
            return f'"{shown}…"'
        shown += piece
    return f'"{shown}"'


def _visible(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if not _is_hidden(character):
        return character
    number = ord(character)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def _is_hidden(character: str) -> bool:
    return character not in _JOINERS and unicodedata.category(character) in _HIDDEN
