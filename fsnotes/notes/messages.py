"""How commands and replies cross a process boundary: JSON values both ways, read strictly.

A reply comes from a process that parses what anybody wrote, so it is hostile input: exact keys and types, and
bounds on every text, number and list. Its texts are whole characters, since they are sent on; a command's may not be,
since callers are refused by what a handler says. Whether a reply answers its command, and stays within the scope, is
judged in `answers.py`; how refusals cross, in `refusals.py`.
"""

from __future__ import annotations

import functools
import json
import re
from typing import Any, Final, cast, get_args

from fsnotes.notes.bounds import MAX_DIFF_CHARACTERS, MAX_EXPECTED, MAX_KEY, MAX_NAME, MAX_SHOWN
from fsnotes.notes.commands import (
    MAX_POSITION,
    MAX_TITLE,
    SKIP_REASONS,
    AppendNote,
    Command,
    CountTags,
    CreateNote,
    DescribeNotes,
    EditNote,
    FindLinks,
    FindNotes,
    FindReceipt,
    FindTargets,
    ListTrash,
    MoveNotes,
    NoteText,
    ReadNote,
    Reply,
    ReplyT,
    RestoreNote,
    ScanNotes,
    SearchNotes,
    SetProperties,
    SurveyMove,
    SweepTemporaries,
    TrashNote,
)
from fsnotes.notes.etags import is_etag
from fsnotes.notes.index.bounds import MAX_CHARACTERS
from fsnotes.notes.index_commands import KeepIndex, MatchPaths, SearchIndex, SearchPaths
from fsnotes.notes.move_replies import LEFT_REASONS, MAX_LINK, is_catalogue_digest, is_move_mark
from fsnotes.notes.replies import MAX_MARK, PHASES, is_generation
from fsnotes.notes.scope import Scope
from fsnotes.notes.shapes import (
    MAX_NUMBER,
    BadMessage,
    Check,
    Lazily,
    Shape,
    Texts,
    matching,
    number_of,
    one_of,
    text_of,
)
from fsnotes.notes.tag_keys import MAX_LENGTH
from sandbox.errors import SandboxError
from sandbox.names import MAX_PATH_BYTES, RelPath, is_entry_name
from sandbox.records import fields

__all__ = [
    "BadMessage",
    "decode_answer",
    "decode_command",
    "decode_reply",
    "encode_answer",
    "encode_command",
    "encode_reply",
]

COMMANDS: Final[tuple[type[Command[Any]], ...]] = (
    ScanNotes,
    DescribeNotes,
    FindNotes,
    CountTags,
    FindLinks,
    FindTargets,
    SearchNotes,
    ReadNote,
    CreateNote,
    EditNote,
    AppendNote,
    SetProperties,
    SurveyMove,
    MoveNotes,
    TrashNote,
    FindReceipt,
    ListTrash,
    RestoreNote,
    SweepTemporaries,
    KeepIndex,
    SearchIndex,
    SearchPaths,
    MatchPaths,
)
"""Every command that crosses; a test compares this with what there is."""

_MAX_COUNT: Final = 2**31

MAX_DIFF: Final = MAX_DIFF_CHARACTERS + 1_000
"""Longest diff: with the last header, and the marks of what is left out."""

MAX_MOMENT: Final = 2**63 * 1_000_000_000
"""Farthest time of a file from 1970, in nanoseconds: a kernel holds its seconds in 64 bits (statx(2))."""

_size: Final = number_of(0, MAX_NUMBER)
_count: Final = number_of(0, _MAX_COUNT)
_line: Final = number_of(1, _MAX_COUNT)
_etag: Final = matching(is_etag, "an etag")
_entry: Final = matching(is_entry_name, "the name of a trash entry")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)

_BOUNDS: Final[dict[str, Check]] = {
    "absent": text_of(MAX_KEY),
    "behind": _size,
    "count": _count,
    "deleted_at": matching(_TIME.fullmatch, "a time"),
    "diff": text_of(MAX_DIFF),
    "done": _count,
    "entry": _entry,
    "etag": _etag,
    "excerpt": text_of(MAX_CHARACTERS),
    "first_line": _line,
    "former": _etag,
    "fragment": text_of(MAX_SHOWN),
    "generation": matching(is_generation, "the generation of an index"),
    "indexed": _count,
    "known": matching(is_catalogue_digest, "a digest"),
    "last_line": _line,
    "last_move": matching(is_move_mark, "the mark of a move"),
    "left_count": _count,
    "line": _count,
    "link": text_of(MAX_LINK + 1),
    "more": _count,
    "mark": text_of(MAX_MARK),
    "moved": _count,
    "mtime_ns": number_of(-MAX_MOMENT, MAX_MOMENT),
    "new_path": text_of(MAX_PATH_BYTES),
    "next_column": _line,
    "next_line": _line,
    "not_kept": text_of(MAX_NAME),
    "notes": text_of(MAX_PATH_BYTES),
    "outside": _count,
    "number": _count,
    "phase": one_of(PHASES),
    "places": number_of(1, MAX_EXPECTED),
    "reason": one_of(SKIP_REASONS),
    "remaining": _count,
    "relinked_count": _count,
    "rewritten": _count,
    "resume": text_of(MAX_POSITION),
    "size": _size,
    "tag": text_of(MAX_LENGTH),
    "title": text_of(MAX_TITLE),
    "source": text_of(MAX_PATH_BYTES),
    "targets": text_of(MAX_PATH_BYTES),
    "total_lines": _line,
    "upto": _size,
    "why": one_of(LEFT_REASONS),
    "trash_id": _entry,
    "within": _count,
    "work": _size,
    "written": text_of(MAX_SHOWN),
    # What is skipped may have a name that is no path: it is shown escaped, which makes it longer.
    "path": text_of(MAX_POSITION),
    "folders": text_of(MAX_PATH_BYTES),
    "rest": text_of(MAX_PATH_BYTES),
}
"""What a field of a reply may hold, by its name."""


def _reply_of(kind: type[Command[Any]]) -> type[Any]:
    """Return the class of the reply that a class of commands names as its own."""
    base = next(base for base in kind.__orig_bases__ if getattr(base, "__origin__", None) is Command)  # type: ignore[attr-defined]
    (reply,) = get_args(base)
    return cast(type[Any], reply)


_BY_NAME: Final = {kind.__name__: kind for kind in COMMANDS}

_COMMAND_SHAPES: Final[Lazily[Shape[Any]]] = Lazily(Shape)
_REPLY_SHAPES: Final[Lazily[Shape[Any]]] = Lazily(lambda kind: Shape(kind, _BOUNDS, texts=Texts.UNICODE))
_REPLIES: Final[Lazily[type[Any]]] = Lazily(_reply_of)

_TEXTS: Final = {
    kind: tuple(fields(kind)).index(name)
    for kind, name in (
        (CreateNote, "content"),
        (EditNote, "new_text"),
        (AppendNote, "text"),
        (NoteText, "text"),
    )
}
"""At which place among its fields a class has a note's text. It travels beside them, as the jail's channel likes it."""


def encode_command(scope: Scope, command: Command[Any]) -> dict[str, Any]:
    """Return *command* within *scope* as JSON values."""
    kind = type(command)
    message = {"scope": _scope_text(scope), "command": kind.__name__}
    return _with_values(message, "fields", kind, _COMMAND_SHAPES[kind].write(command))


def decode_command(message: dict[str, Any]) -> tuple[Scope, Command[Any]]:
    """Return what `encode_command` was given. Raises BadMessage."""
    name, scope = message.get("command"), message.get("scope")
    kind = _BY_NAME.get(name) if type(name) is str else None
    if kind is None:
        raise BadMessage("no such command")
    if type(scope) is not str:
        raise BadMessage("not a scope")
    return _scope(scope), _COMMAND_SHAPES[kind].read(_values(message, "fields", kind, beside=2))


def encode_reply(reply: Reply) -> list[Any]:
    """Return *reply* as JSON values."""
    return _REPLY_SHAPES[type(reply)].write(reply)


def decode_reply(command: Command[ReplyT], message: Any) -> ReplyT:
    """Return the reply to *command* that *message* stands for. Raises BadMessage.

    That each field is what it may be says nothing yet of the whole: see `answers.check_reply`.
    """
    # SAFETY: the shape is that of the reply which the command's class names.
    return cast(ReplyT, _REPLY_SHAPES[_REPLIES[type(command)]].read(message))


def encode_answer(reply: Reply) -> dict[str, Any]:
    """Return *reply* as the answer of a worker, with a note's text beside the other values."""
    return _with_values({}, "reply", type(reply), encode_reply(reply))


def decode_answer(command: Command[ReplyT], answer: dict[str, Any]) -> ReplyT:
    """Return the reply to *command* in the *answer* of a worker. Raises BadMessage."""
    return decode_reply(command, _values(answer, "reply", _REPLIES[type(command)], beside=0))


def _with_values(message: dict[str, Any], name: str, kind: type[Any], values: list[Any]) -> dict[str, Any]:
    """Return *message* with the *values* of a *kind* as *name*, and a note's text beside them."""
    place = _TEXTS.get(kind)
    # A text that UTF-8 cannot hold is an object by now, and stays.
    if place is not None and type(values[place]) is str:
        message["text"], values[place] = values[place], None
    message[name] = values
    return message


def _values(message: dict[str, Any], name: str, kind: type[Any], *, beside: int) -> Any:
    """Return the values of a *kind* in *message*, which has *beside* other entries. Raises BadMessage."""
    values = message.get(name)
    if len(message) == beside + 1:
        return values
    place = _TEXTS.get(kind)
    if (
        len(message) == beside + 2
        and "text" in message
        and place is not None
        and type(values) is list
        and len(values) > place
        and values[place] is None
    ):
        return [*values[:place], message["text"], *values[place + 1 :]]
    raise BadMessage("more than there should be")


# -- scopes: the same few, over and over, so each goes as one text --------------------------------


@functools.lru_cache(maxsize=256)
def _scope_text(scope: Scope) -> str:
    return json.dumps([[str(folder) for folder in scope.folders], scope.ignore])


@functools.lru_cache(maxsize=256)
def _scope(text: str) -> Scope:
    try:
        folders, ignore = json.loads(text)
        if not all(type(each) is str for each in (*folders, *ignore)):
            raise BadMessage("not a scope")
        return Scope(tuple(RelPath.parse_folder(folder) for folder in folders), tuple(ignore))
    except (ValueError, TypeError, SandboxError) as error:
        raise BadMessage("not a scope") from error
