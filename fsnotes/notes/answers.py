"""Whether a reply answers its command and stays within the grant: a worker's word is not enough.

A worker that somebody took over can still lie about notes of its workspace: text, titles, sizes and etags are
its word. What it cannot do is to name, through a reply, a path outside the granted folders, to answer for
another note than the one that was meant, or to have sentences of its own choice spoken as ours. What a
workspace ignores is left out by the worker alone: it lies within the grant.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from fsnotes.notes.arguments import Change
from fsnotes.notes.bounds import DESCRIBE_NOTES, FIND_NOTES, MAX_DIFF_JSON, MAX_NOT_KEPT
from fsnotes.notes.commands import (
    AppendNote,
    Command,
    CountTags,
    Created,
    CreateNote,
    Described,
    DescribeNotes,
    Edited,
    EditNote,
    FindLinks,
    FindNotes,
    FindTargets,
    Found,
    LinksFound,
    ListTrash,
    Moved,
    MoveNotes,
    NoteText,
    ReadNote,
    Reply,
    Restored,
    RestoreNote,
    Scanned,
    ScanNotes,
    Searched,
    SearchNotes,
    SetProperties,
    Surveyed,
    SurveyMove,
    TagsCounted,
    TargetsFound,
    Trashed,
    TrashNote,
    TrashPage,
)
from fsnotes.notes.globs import composed
from fsnotes.notes.index_commands import KeepIndex, MatchPaths, SearchIndex, SearchPaths
from fsnotes.notes.link_answers import answers_links, answers_targets
from fsnotes.notes.markdown.tags import level_of
from fsnotes.notes.model import fold, is_note
from fsnotes.notes.move_replies import MOST_SURVEYED, MOST_TOLD, is_survey_position
from fsnotes.notes.places import is_reading
from fsnotes.notes.replies import IndexKept, IndexSearched, PathsMatched, PathsSearched
from fsnotes.notes.scanning import MAX_BUDGET
from fsnotes.notes.scope import Scope
from fsnotes.notes.search_answers import (
    answers_index,
    answers_keeping,
    answers_matching,
    answers_paths,
    answers_search,
)
from fsnotes.notes.shapes import BadMessage
from fsnotes.notes.trash_answers import answers_list_trash, answers_restore, answers_trash
from sandbox.errors import InvalidPath
from sandbox.names import RelPath, is_hidden

# A note's id that can be seen to be one without being taken apart: ASCII, short, not too deep, not hidden.
_PLAIN: Final = re.compile(
    r"[^./\\\0][^/\\\0]*+(?:/[^./\\\0][^/\\\0]*+){0,63}+(?<=.\.md)", re.ASCII | re.DOTALL
)
_PLAIN_LENGTH: Final = 255


def check_reply(scope: Scope, command: Command[Any], reply: Reply) -> None:
    """Raise BadMessage unless *reply* answers *command* and every id in it is within *scope*'s folders."""
    answers = _ANSWERS.get(type(command))
    if answers is not None and not answers(command, reply):
        raise BadMessage(f"a {type(reply).__name__} that does not answer its command")
    if isinstance(command, ScanNotes | SearchNotes | SearchIndex | SearchPaths) and command.folder:
        scope = _narrowed(scope, command.folder)
    if not ids_within(reply, scope):
        raise BadMessage("an id outside the scope")


# -- within the grant --------------------------------------------------------------------------


def ids_within(reply: Reply, scope: Scope) -> bool:
    """Say whether every path in *reply* lies in a folder of *scope* and is not hidden, and a note where it is one."""
    named = _NAMED.get(type(reply))
    return named is None or named(scope, reply)


def _scanned(scope: Scope, reply: Scanned) -> bool:
    return (
        _notes_within(scope, [note.path for note in reply.notes])
        and all(_within(scope, folder) for folder in reply.folders)
        and all(item.path is None or _beneath(scope, item.path) for item in reply.skipped)
        and (reply.resume is None or _beneath(scope, reply.resume))
    )


def _described(scope: Scope, reply: Described) -> bool:
    # What is left to look at was asked for by the caller.
    return _notes_within(
        scope, [*(note.path for note in reply.notes), *(item.path or "" for item in reply.skipped)]
    )


def _found(scope: Scope, reply: Found) -> bool:
    return _notes_within(scope, [match.path for match in reply.matches]) and (
        reply.resume is None or _beneath(scope, reply.resume)
    )


def _tags_counted(scope: Scope, reply: TagsCounted) -> bool:
    return reply.resume is None or _beneath(scope, reply.resume)


def _links_found(scope: Scope, reply: LinksFound) -> bool:
    return (
        _notes_within(scope, [link.source for link in reply.links])
        and all(_within(scope, target) for link in reply.links for target in link.targets)
        and (reply.resume is None or _beneath(scope, reply.resume))
    )


def _targets_found(scope: Scope, reply: TargetsFound) -> bool:
    return _notes_within(scope, reply.targets) and (reply.resume is None or _beneath(scope, reply.resume))


def _searched(scope: Scope, reply: Searched) -> bool:
    return _notes_within(scope, [hit.path for hit in reply.hits]) and (
        reply.resume is None or _beneath(scope, reply.resume)
    )


def _hits(scope: Scope, reply: IndexSearched | PathsSearched) -> bool:
    return _notes_within(scope, [hit.path for hit in reply.hits])


def _kept(scope: Scope, reply: IndexKept) -> bool:
    return all(item.path is None or _beneath(scope, item.path) for item in reply.skipped or ())


def _trash_page(scope: Scope, reply: TrashPage) -> bool:
    return _notes_within(scope, [entry.path for entry in reply.entries])


def _one(scope: Scope, reply: NoteText | Created | Edited | Trashed | Restored) -> bool:
    return _note_within(scope, _prefixes(scope.folders), reply.path)


def _surveyed(scope: Scope, reply: Surveyed | PathsMatched) -> bool:
    return _notes_within(scope, reply.notes)


def _moved(scope: Scope, reply: Moved) -> bool:
    told = [*(each.path for each in reply.relinked), *(each.path for each in reply.left_alone)]
    return _notes_within(scope, told) and _within(scope, reply.path) and _within(scope, reply.new_path)


_NAMED: Final[Mapping[type[Any], Callable[[Scope, Any], bool]]] = {
    Scanned: _scanned,
    Described: _described,
    Found: _found,
    TagsCounted: _tags_counted,
    LinksFound: _links_found,
    TargetsFound: _targets_found,
    Searched: _searched,
    IndexSearched: _hits,
    PathsSearched: _hits,
    PathsMatched: _surveyed,
    IndexKept: _kept,
    TrashPage: _trash_page,
    NoteText: _one,
    Created: _one,
    Edited: _one,
    Trashed: _one,
    Restored: _one,
    Surveyed: _surveyed,
    Moved: _moved,
}


def _notes_within(scope: Scope, paths: Iterable[str]) -> bool:
    prefixes = _prefixes(scope.folders)
    return all(_note_within(scope, prefixes, path) for path in paths)


def _note_within(scope: Scope, prefixes: tuple[str, ...], path: str) -> bool:
    # SAFETY: a prefix ends with its separator, so it is compared by component.
    return (
        len(path) <= _PLAIN_LENGTH
        and path.isascii()
        and path.startswith(prefixes)
        and _PLAIN.fullmatch(path) is not None
    ) or (is_note(path) and _within(scope, path))


@functools.lru_cache(maxsize=256)
def _prefixes(folders: tuple[RelPath, ...]) -> tuple[str, ...]:
    return tuple("/".join((*folder.parts, "")) for folder in folders)


def _within(scope: Scope, text: str) -> bool:
    try:
        path = RelPath.parse(text)
    except InvalidPath:
        return False
    return scope.covers(path) and not is_hidden(path)


def _beneath(scope: Scope, position: str) -> bool:
    """Say whether a position in a walk, or the escaped form of a name, is covered and not hidden."""
    parts = tuple(position.split("/"))
    return scope.covers_position(parts) and not any(part[:1] in ("", ".") or "\0" in part for part in parts)


def _narrowed(scope: Scope, folder: str) -> Scope:
    """Return the part of *scope* that a command on *folder* is about. There is none where it is not covered."""
    try:
        asked = RelPath.parse_folder(folder)
    except InvalidPath:
        asked = None
    if asked is None or not scope.covers(asked):
        raise BadMessage("something about a folder that is none of the scope")
    return Scope((asked,))


# -- an answer to the command ------------------------------------------------------------------


def _answers_scan(command: ScanNotes, reply: Scanned) -> bool:
    found = len(reply.notes) + len(reply.folders) + len(reply.skipped)
    return found <= max(1, min(command.budget, MAX_BUDGET)) and not (
        command.tag is not None and reply.folders
    )


def _answers_describe(command: DescribeNotes, reply: Described) -> bool:
    done = len(command.paths) - len(reply.rest)
    told = [*(note.path for note in reply.notes), *(item.path for item in reply.skipped)]
    return (
        len(told) <= min(done, DESCRIBE_NOTES)
        and len(set(told)) == len(told)
        and reply.rest == command.paths[done:]
        and set(told) <= set(command.paths[:done])
        and all(item.count == 1 for item in reply.skipped)
    )


def _answers_find(command: FindNotes, reply: Found) -> bool:  # noqa: ARG001 - like its siblings
    return len(reply.matches) <= FIND_NOTES


def _answers_count(command: CountTags, reply: TagsCounted) -> bool:
    """Say whether each is a tag that was asked for, told once, and of what was left out nothing but counts."""
    keys = {fold(each.tag) for each in reply.tags}
    return (
        len(keys) == len(reply.tags)
        and all(key.startswith(command.prefix) for key in keys)
        and all(level_of(each.tag) == each.tag and each.count for each in reply.tags)
        and all(item.path is None for item in reply.skipped)
    )


def _answers_read(command: ReadNote, reply: NoteText) -> bool:
    return (
        is_reading(reply.path, command.path)
        and len(reply.text) <= max(1, command.limit)
        and reply.first_line <= reply.last_line <= reply.total_lines
    )


def _answers_create(command: CreateNote, reply: Created) -> bool:
    return is_reading(reply.path, command.path)


def _answers_edit(command: EditNote, reply: Edited) -> bool:
    places = None if command.old_text is None else command.expected
    return (reply.places, reply.absent) == (places, ()) and _answers_change(command, reply)


def _answers_append(command: AppendNote, reply: Edited) -> bool:
    return (reply.places, reply.absent) == (None, ()) and _answers_change(command, reply)


def _answers_properties(command: SetProperties, reply: Edited) -> bool:
    told = set(reply.absent)
    return (
        reply.places is None
        and len(told) == len(reply.absent)
        and told <= set(command.remove)
        and _answers_change(command, reply)
    )


def _answers_change(command: Change, reply: Edited) -> bool:
    """Say whether the note is the one that was meant, by its etag too, and nothing is told of what was not done."""
    is_same = reply.etag == reply.former
    return (
        is_reading(reply.path, command.path)
        and command.if_match in (None, reply.former)
        and (not reply.diff and reply.complete if is_same else bool(reply.diff))
        and len(json.dumps(reply.diff, ensure_ascii=False)) <= MAX_DIFF_JSON
        and len(reply.not_kept) <= (0 if is_same or command.dry_run else MAX_NOT_KEPT + 1)
    )


def _answers_survey(command: SurveyMove, reply: Surveyed) -> bool:
    """Say whether the notes are a few different ones, and the survey goes on, if it does, behind where it was."""
    return (
        len(set(reply.notes)) == len(reply.notes) <= MOST_SURVEYED
        and (reply.resume is None or is_survey_position(reply.resume))
        and (reply.resume is None or command.after is None or reply.resume > command.after)
    )


def _answers_move(command: MoveNotes, reply: Moved) -> bool:
    """Say whether what is told of is what was meant, and no more of it than there can be."""
    told = [each.path for each in reply.relinked]
    return (
        _is_meant(command, reply)
        and command.if_match in (None, reply.former)
        and (command.update_links or not (reply.relinked_count or reply.left_count))
        and len(set(told)) == len(told) <= min(MOST_TOLD, reply.relinked_count)
        and reply.relinked_count <= min(reply.rewritten, len(command.notes) + 1)
        and len(reply.left_alone) <= min(MOST_TOLD, reply.left_count)
        and len(reply.not_kept) <= (0 if command.dry_run else MAX_NOT_KEPT + 1)
    )


def _is_meant(command: MoveNotes, reply: Moved) -> bool:
    """Say whether the paths are those of the command: of a note, which has etags, or of a folder."""
    is_folder = reply.former is None
    fits = _is_spelled if is_folder else is_reading
    # So ends what means a folder and nothing else.
    path, new_path = (
        each.removesuffix("/") if is_folder else each for each in (command.path, command.new_path)
    )
    return (
        (reply.etag is None) == is_folder
        and fits(reply.path, path)
        and fits(reply.new_path, new_path)
        and (is_folder or (is_note(reply.path) and is_note(reply.new_path) and reply.moved == 1))
    )


def _is_spelled(path: str, asked: str) -> bool:
    """Say whether both are one path but for Unicode's forms."""
    spelled, wanted = composed((path, asked))
    return spelled == wanted


_ANSWERS: Final[Mapping[type[Any], Callable[[Any, Any], bool]]] = {
    ScanNotes: _answers_scan,
    DescribeNotes: _answers_describe,
    FindNotes: _answers_find,
    CountTags: _answers_count,
    FindTargets: answers_targets,
    FindLinks: answers_links,
    SearchNotes: answers_search,
    SearchIndex: answers_index,
    SearchPaths: answers_paths,
    MatchPaths: answers_matching,
    KeepIndex: answers_keeping,
    ReadNote: _answers_read,
    CreateNote: _answers_create,
    EditNote: _answers_edit,
    AppendNote: _answers_append,
    SetProperties: _answers_properties,
    SurveyMove: _answers_survey,
    MoveNotes: _answers_move,
    TrashNote: answers_trash,
    ListTrash: answers_list_trash,
    RestoreNote: answers_restore,
}
