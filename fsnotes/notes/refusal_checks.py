"""Whether a refusal speaks of its command, and of no path beyond the grant: a worker's word is not enough."""

from __future__ import annotations

from typing import Any, Final

from fsnotes import errors
from fsnotes.notes.commands import AppendNote, Command, EditNote, MoveNotes, ReadNote, SearchNotes, SurveyMove
from fsnotes.notes.index_commands import KeepIndex, MatchPaths, SearchIndex
from fsnotes.notes.refusals import MAX_ECHO
from fsnotes.notes.scope import Scope
from fsnotes.notes.shapes import BadMessage
from sandbox.errors import InvalidPath
from sandbox.names import ROOT, TRASH_FOLDER, RelPath, is_hidden
from sandbox.records import fields

_TRASH: Final = RelPath((TRASH_FOLDER,))

_IN_THE_INDEX: Final = (KeepIndex, MatchPaths, SearchIndex, SearchNotes)

_BY_HEADING: Final = (ReadNote, EditNote, AppendNote)


def check_refusal(scope: Scope, command: Command[Any], error: errors.FsnotesError) -> None:
    """Raise BadMessage unless *error* speaks of what *command* said, or of paths that *scope* lets be named."""
    if not _speaks_of(scope, command, error):
        raise BadMessage(f"a {type(error).__name__} about something else")


def _speaks_of(scope: Scope, command: Command[Any], error: errors.FsnotesError) -> bool:
    words = _words(command)
    match error:
        case errors.NoteNotFound():
            # Headings are the note's own text, and shown as such.
            return _known(scope, words, error.name) and (error.what == "heading" or not error.candidates)
        case errors.AmbiguousHeading():
            return isinstance(command, _BY_HEADING) and error.name == _cut(command.heading)
        case errors.AmbiguousNote():
            return _known(scope, words, error.name) and all(_near(scope, path) for path in error.paths)
        case (
            errors.NoteExists()
            | errors.NoteChanged()
            | errors.NoteTooLarge()
            | errors.NotText()
            | errors.InvalidYaml()
            | errors.AnchorNotFound()
            | errors.AnchorCount()
            | errors.ReadOnlyNote()
        ):
            return _known(scope, words, error.path)
        case errors.NoRoom():
            return command.changes
        case errors.OutcomeUnknown():
            return command.changes
        case errors.SurveyOutdated():
            return isinstance(command, MoveNotes)
        case errors.MovePending():
            return isinstance(command, SurveyMove) or (isinstance(command, MoveNotes) and command.dry_run)
        case errors.TooMuchToRelink():
            return isinstance(command, (SurveyMove, MoveNotes))
        case errors.MoveStuck():
            return isinstance(command, MoveNotes)
        case errors.IndexUnusable():
            return isinstance(command, _IN_THE_INDEX) and getattr(command, "generation", "") is not None
        case errors.NotCounted():
            return command.changes or command.counts
        case _:
            return True


def _words(command: Command[Any]) -> frozenset[str | None]:
    """Return the texts of *command*, as far as a refusal repeats them."""
    values = (getattr(command, name) for name in fields(type(command)))
    return frozenset(_cut(value) for value in values if isinstance(value, str))


def _cut(text: str | None) -> str | None:
    return None if text is None else text[:MAX_ECHO]


def _known(scope: Scope, words: frozenset[str | None], text: str) -> bool:
    return text in words or _near(scope, text)


def _near(scope: Scope, text: str) -> bool:
    """Say whether *text* is a path of the scope, one that leads to a folder of it, or the trash."""
    try:
        path = RelPath.parse_folder(text)
    except InvalidPath:
        return False
    return path in (ROOT, _TRASH) or scope.leads_to(path) or (scope.covers(path) and not is_hidden(path))
