"""How the refusals of a workspace cross a process boundary: which there are, and what they may say.

They come from a process that is not believed. So the classes are a closed set, and so are the sentences: what
is shown to a client as our own words is chosen from a table here, never written by the worker. Callers' and
notes' words are fields of their own, which are always shown as such. Half a character is only in a caller's own words:
`refusal_checks` compares what is repeated of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, get_type_hints

from fsnotes import errors
from fsnotes.notes.etags import is_etag
from fsnotes.notes.property_reasons import REASONS
from fsnotes.notes.shapes import (
    MAX_NUMBER,
    BadMessage,
    Lazily,
    matching,
    number_of,
    one_of,
    read_text,
    read_unicode,
    text_of,
    write_text,
)

MAX_ECHO: Final = 4_096
"""Characters of a caller's words that a refusal repeats."""

MAX_NAMES: Final = 100
"""Most paths, headings or line numbers that a refusal offers."""

MAX_NEAREST: Final = 201
"""Characters of a note's line that a refusal quotes: one more than is shown, so that a cut can be seen."""

REFUSALS: Final[tuple[type[errors.FsnotesError], ...]] = (
    errors.Abandoned,
    errors.AmbiguousHeading,
    errors.AmbiguousNote,
    errors.AnchorCount,
    errors.AnchorNotFound,
    errors.Busy,
    errors.IndexUnusable,
    errors.InvalidArgument,
    errors.InvalidYaml,
    errors.MovePending,
    errors.MoveStuck,
    errors.NoRoom,
    errors.NotAllowed,
    errors.NotCounted,
    errors.NotText,
    errors.NoteChanged,
    errors.NoteExists,
    errors.NoteNotFound,
    errors.NoteTooLarge,
    errors.OutcomeUnknown,
    errors.PathRefused,
    errors.ReadOnlyNote,
    errors.SurveyOutdated,
    errors.TooMuchToRelink,
    errors.Unavailable,
)
"""Every refusal that a handler has."""

ARGUMENTS: Final = frozenset(
    {
        "content",
        "cursor",
        "expectedMatches",
        "folder",
        "heading",
        "ifMatch",
        "newPath",
        "newText",
        "oldText",
        "path",
        "position",
        "query",
        "set",
        "startColumn",
        "startLine",
        "endLine",
        "text",
        "title",
        "trashId",
        "unset",
    }
)
"""The arguments that a refusal can be about."""

BOUNDS: Final = frozenset({"max_bytes", "max_entries", "min_free_bytes"})
"""The settings that a workspace may have no room for a change by."""

FOUND: Final = frozenset({"note", "folder", "heading", "note or folder", "trash entry"})
"""What may not have been found."""

HINTS: Final = frozenset({"", "elsewhere", "final line end", "Unicode form"})
"""Why a text to replace may not have been found."""

_NAMES: Final = frozenset(
    {
        "a NUL character",
        "a folder cannot be moved into itself",
        "a component longer than # bytes",
        "an empty component (two slashes in a row, or one at the end)",
        "deeper than # components",
        "empty",
        "it begins or ends with a space",
        "it begins with a dot",
        "it cannot be used on every system",
        "it ends with a dot",
        "it has a control, bidi or invisible character",
        "it is not in Unicode's composed form (NFC)",
        "longer than # bytes",
        "not Unicode text",
        "not the name of a trash entry",
        "reserved for fsnotes itself",
        "reserved for the server itself",
        "the root itself is no file",
    }
)
_NEW_NAME: Final = "not a name for a new note or folder: "
_UNSAID: Final = "it cannot be used"

SENTENCES: Final = (
    _NAMES
    | REASONS
    | {_NEW_NAME + name for name in _NAMES}
    | {
        _UNSAID,
        "it has a lone surrogate, which is no character",
        "it is before line #",
        "it is empty",
        "it is neither start nor end",
        "it is not between # and #",
        "it is for oldText, which is not given",
        "it is not the full name of a note",
        "it is not the name of a trash entry",
        "it is required where no heading is given",
        "it is required where nothing is unset",
        "it has a note's suffix, and what is moved is a folder",
        "it holds too much to look for what is ignored",
        "it is for a note, and this is a folder",
        "it lies in the folder that is moved",
        "it ends as that of a folder, and what is moved is a note",
        "line # has # characters",
        "an empty pattern",
        "it only says what not to find; name a word that must be there as well",
        "longer than # characters",
        "more than # prefixes and single characters",
        "more than # terms",
        "more than # words",
        "no word, tag or property to look for in it",
        "not a pattern of RE#, which has neither look-around nor back-references",
        "too large a pattern",
        "links can only be rewritten where there is a place for a journal",
        "something in it would be ignored there that is not now, or the other way round",
        "the journal of a move that was interrupted cannot be read",
        "a move that was interrupted cannot be finished, since what became of it cannot be seen",
        "it is in use, perhaps as a mount",
        "nothing can be moved to another file system",
        "the disk is full",
        "the disk quota is used up",
        "the file system failed",
        "the file system failed after the change",
        "the file system failed after the move",
        "another file had the name and lies where it was moved to",
        "another text had the note's name and lies in the trash",
        "the file system gives no permission",
        "the file system is read-only",
        "the note lies on another file system than the workspace's trash",
        "the file system takes no path this long",
        "the workspace cannot be used",
        "the workspace's .trash is not a plain folder",
        "the workspace's folder cannot be used",
        "not one of this query",
        "the search index cannot be written",
        "the folder of the search index cannot be used",
        "the search index cannot be read",
        "the search index holds what was never written",
        "the search index is damaged",
        "the search index is damaged again and again",
        "the search index is kept here and nothing else is done",
        "the search index is none that can be trusted",
        "the search index was made anew",
        "the search index was removed",
        "there is no search index",
        "another file took the place of the search index",
        "too long",
    }
)
"""Why something was refused, with `#` for numbers. A reason that is not here becomes a general one."""

_NUMBER: Final = re.compile(r"[0-9]{1,19}")


def encode_error(error: errors.FsnotesError) -> dict[str, Any]:
    """Return *error* as JSON values. One that no handler has is a mistake: TypeError."""
    name = type(error).__name__
    if _BY_NAME.get(name) is not type(error):
        raise TypeError(f"{name} does not cross")
    takes = _FIELDS[type(error)]
    return {
        "error": name,
        "fields": {name: write(getattr(error, name)) for name, (write, _) in takes.items()},
    }


def decode_error(message: Any) -> errors.FsnotesError:
    """Return the refusal that *message* stands for. Raises BadMessage."""
    if type(message) is not dict or message.keys() != {"error", "fields"}:
        raise BadMessage("not a refusal")
    kind = _BY_NAME.get(message["error"]) if type(message["error"]) is str else None
    fields = message["fields"]
    if kind is None or type(fields) is not dict or fields.keys() != _FIELDS[kind].keys():
        raise BadMessage("no such refusal")
    return kind(**{name: read(fields[name]) for name, (_, read) in _FIELDS[kind].items()})


# -- fields ------------------------------------------------------------------------------------

_Crossing = tuple[Callable[[Any], Any], Callable[[Any], Any]]
"""How a field is written, and how it is read."""


def _write_sentence(text: str) -> str:
    return text if _is_ours(text) else _UNSAID


def _is_ours(text: str) -> bool:
    return "#" not in text and _NUMBER.sub("#", text) in SENTENCES


def _write_words(text: str) -> Any:
    return write_text(text[:MAX_ECHO])


def _read_words(value: Any) -> str:
    return read_text(value, most=MAX_ECHO)


def _write_names(names: tuple[str, ...]) -> list[str]:
    return [name[:MAX_ECHO] for name in names[:MAX_NAMES]]


def _read_names(value: Any) -> tuple[str, ...]:
    if type(value) is not list or len(value) > MAX_NAMES:
        raise BadMessage("not a few names")
    return tuple(read_unicode(item, most=MAX_ECHO) for item in value)


def _write_lines(lines: tuple[int, ...]) -> list[int]:
    return list(lines[:MAX_NAMES])


def _read_lines(value: Any) -> tuple[int, ...]:
    if type(value) is not list or len(value) > MAX_NAMES:
        raise BadMessage("not a few lines")
    return tuple(_read_number(item) for item in value)


def _write_nearest(text: str) -> str:
    return text[:MAX_NEAREST]


def _as_it_is(value: Any) -> Any:
    return value


def _or_none(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


_read_number: Final = number_of(0, MAX_NUMBER)

_BY_FIELD: Final[dict[str, _Crossing]] = {
    "argument": (_as_it_is, one_of(ARGUMENTS)),
    "bound": (_as_it_is, one_of(BOUNDS)),
    "etag": (_as_it_is, _or_none(matching(is_etag, "an etag"))),
    "hint": (_as_it_is, one_of(HINTS)),
    "nearest": (_write_nearest, text_of(MAX_NEAREST)),
    "what": (_as_it_is, one_of(FOUND)),
    "why": (_write_sentence, matching(_is_ours, "a sentence of ours")),
}
_BY_HINT: Final[dict[Any, _Crossing]] = {
    str: (_write_words, _read_words),
    int: (_as_it_is, _read_number),
    tuple[int, ...]: (_write_lines, _read_lines),
    tuple[str, ...]: (_write_names, _read_names),
}


_BY_NAME: Final = {kind.__name__: kind for kind in REFUSALS}


def _takes(kind: type[errors.FsnotesError]) -> dict[str, _Crossing]:
    """Return what the constructor of *kind* takes: each is also an attribute."""
    if kind.__init__ is Exception.__init__:
        return {}
    hints = get_type_hints(kind.__init__)
    return {name: _BY_FIELD.get(name) or _BY_HINT[hint] for name, hint in hints.items() if name != "return"}


_FIELDS: Final[Lazily[dict[str, _Crossing]]] = Lazily(_takes)
