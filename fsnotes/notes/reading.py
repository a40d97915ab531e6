"""What reading a note returns: its text or a part of it, exactly as in the file, cut to a limit."""

from __future__ import annotations

from fsnotes.errors import InvalidArgument
from fsnotes.notes.commands import NoteText, ReadNote
from fsnotes.notes.etags import etag
from fsnotes.notes.lines import count_lines, cut, split_lines
from fsnotes.notes.markdown.lines import Lines
from fsnotes.notes.places import open_note
from fsnotes.notes.scope import Scope
from fsnotes.notes.sections import section
from fsnotes.notes.texts import decoded
from sandbox.root import Root


def read(root: Root, scope: Scope, command: ReadNote) -> NoteText:
    """Read a note, a section or a range of lines.

    Lines are those of the whole note, with a heading too, and must then begin in its section. An end behind the
    last line means the last line. Raises NotText, InvalidArgument for a start that is not in the note or
    section, and what `section` raises.
    """
    path, content = open_note(root, scope, command.path)
    data = content.data
    text = decoded(data, path=str(path))
    total = count_lines(data)
    whole = (command.heading, command.start_line, command.end_line, command.start_column) == (None,) * 4
    if whole and len(text) <= command.limit:
        return NoteText(str(path), etag(data), len(data), text, 1, total, total, None, None)
    first, last = _range(command, text, total)
    part = cut(
        split_lines(data),
        first=first,
        last=last,
        column=1 if command.start_column is None else command.start_column,
        limit=command.limit,
    )
    return NoteText(
        str(path),
        etag(data),
        len(data),
        part.text,
        part.first_line,
        part.last_line,
        total,
        part.next_line,
        part.next_column,
    )


def _range(command: ReadNote, text: str, total: int) -> tuple[int, int]:
    first, last = 1, total
    if command.heading is not None:
        found = section(text, command.heading)
        first = found.heading.line
        last = first + len(Lines(text[found.start : found.end])) - 1
    start = first if command.start_line is None else command.start_line
    if not first <= start <= last:
        raise InvalidArgument("startLine", f"it is not between {first} and {last}")
    if command.end_line is not None:
        if command.end_line < start:
            raise InvalidArgument("endLine", f"it is before line {start}")
        last = min(last, command.end_line)
    return start, last
