"""The tools, for people: the same service, shown as JSON, as columns on a terminal, or as lines with tabs."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from fsnotes.cli import columns, paging
from fsnotes.cli.columns import Column, Styled
from fsnotes.cli.confirming import answer_form
from fsnotes.cli.console import Console, shown, visible
from fsnotes.cli.interrupts import uninterrupted
from fsnotes.cli.session import Session, session
from fsnotes.cli.showing import Showing
from fsnotes.cli.texts import from_input
from fsnotes.errors import (
    AmbiguousHeading,
    AmbiguousNote,
    ConfirmationUnavailable,
    InvalidArgument,
    NoteChanged,
    NoteNotFound,
    NotText,
)
from fsnotes.outcomes import Asked, Deletion, NoteRead, NotesListed, TrashListed, timestamp

NOT_CONFIRMED: Final = 7

_SIZE: Final = Column("Size", "dim", width=columns.SIZE_WIDTH, right=True)
_NOTES: Final = (
    _SIZE,
    Column("Modified", "dim", width=columns.MOMENT_WIDTH),
    Column("Path", "cyan"),
    Column("Title"),
)
_TRASH: Final = (
    Column("Trash id", width=49),
    _SIZE,
    Column("Deleted", "dim", width=columns.MOMENT_WIDTH),
    Column("Path", "cyan"),
)


# -- list and trash --------------------------------------------------------------------------------


def list_notes(options: argparse.Namespace, console: Console) -> int:
    """List notes: one page where one is asked for, else all of them."""
    with session(options, console) as here:

        def get(cursor: str | None, limit: int) -> NotesListed:
            return here.service.list(
                here.call,
                here.uri,
                folder=options.folder,
                recursive=options.recursive,
                glob=options.glob,
                tag=options.tag,
                sort=options.sort,
                limit=limit,
                cursor=cursor,
            )

        pages = paging.pages(options, get)
        if options.json:
            paging.show_document(options, console, pages)
        else:
            _say_notes(console, pages)
    return 0


def _say_notes(console: Console, pages: Iterator[NotesListed]) -> None:
    skipped: list[dict[str, Any]] = []
    cursor, found = None, False
    showing = Showing(console, _NOTES)
    for page in pages:
        if showing.is_table:
            showing.show(_note_rows(page))
        else:
            _say_note_lines(console, page)
        skipped += page.document()["skipped"]
        cursor = page.cursor
        found = found or bool(page.notes or page.folders)
    paging.say_skipped(console, skipped)
    paging.say_rest(console, cursor, found=found, nothing="no notes here")


def _note_rows(page: NotesListed) -> list[list[str | Styled]]:
    rows: list[list[str | Styled]] = [
        ["", "", Styled(f"{folder}/", "bold blue"), ""] for folder in page.folders
    ]
    for note in page.notes:
        when = columns.moment(note.mtime_ns / 1e9)
        title = note.title if columns.differs(note.title, note.path) else ""
        rows.append([columns.size(note.size), when, note.path, title])
    return rows


def _say_note_lines(console: Console, page: NotesListed) -> None:
    for folder in page.folders:
        indent = " " * (columns.SIZE_WIDTH + columns.MOMENT_WIDTH + 4) if console.is_terminal else ""
        console.say(f"{indent}{shown(folder)}/")
    for note in page.notes:
        path, title = shown(note.path), shown(note.title)
        if console.is_terminal:
            when = columns.moment(note.mtime_ns / 1e9)
            told = f"  ({title})" if columns.differs(note.title, note.path) else ""
            console.say(f"{_measures(note.size, when)}  {path}{told}")
        else:
            console.say(f"{path}\t{title}\t{note.size}\t{timestamp(note.mtime_ns)}")


def _measures(size: int, when: str) -> str:
    return f"{columns.size(size):>{columns.SIZE_WIDTH}}  {when:<{columns.MOMENT_WIDTH}}"


def trash(options: argparse.Namespace, console: Console) -> int:
    """List what was deleted, newest first."""
    with session(options, console) as here:

        def get(cursor: str | None, limit: int) -> TrashListed:
            return here.service.trash(here.call, here.uri, limit=limit, cursor=cursor)

        pages = paging.pages(options, get)
        if options.json:
            paging.show_document(options, console, pages)
        else:
            _say_trash(console, pages)
    return 0


def _say_trash(console: Console, pages: Iterator[TrashListed]) -> None:
    cursor, found = None, False
    showing = Showing(console, _TRASH)
    for page in pages:
        if showing.is_table:
            showing.show(
                [
                    [entry.trash_id, columns.size(entry.size), _deleted(entry.deleted_at), entry.path]
                    for entry in page.entries
                ]
            )
        else:
            _say_trash_lines(console, page)
        cursor = page.cursor
        found = found or bool(page.entries)
    paging.say_rest(console, cursor, found=found, nothing="the trash is empty")


def _deleted(at: str) -> str:
    return columns.moment(datetime.fromisoformat(at).timestamp())


def _say_trash_lines(console: Console, page: TrashListed) -> None:
    for entry in page.entries:
        path = shown(entry.path)
        if console.is_terminal:
            console.say(f"{entry.trash_id}  {_measures(entry.size, _deleted(entry.deleted_at))}  {path}")
        else:
            console.say(f"{entry.trash_id}\t{path}\t{entry.size}\t{entry.deleted_at}")


# -- read and create -------------------------------------------------------------------------------


def read(options: argparse.Namespace, console: Console) -> int:
    """Print a note: all of it, however many answers that takes."""
    with session(options, console) as here:
        parts = list(_parts(options, here))
    text = "".join(part.text for part in parts)
    if options.json:
        header = {**parts[-1].header(), "startLine": parts[0].reply.first_line}
        console.show_json({**header, "text": text})
    else:
        console.show_text(text)
    return 0


def _parts(options: argparse.Namespace, here: Session) -> Iterator[NoteRead]:
    """Give the parts that are the note, or the section or range of lines that is asked for.

    Raises NoteChanged rather than giving parts of two texts.
    """

    def part(start: int | None, column: int | None) -> NoteRead:
        return here.service.read(
            here.call,
            here.uri,
            options.path,
            heading=options.heading,
            start_line=start,
            end_line=options.end_line,
            start_column=column,
        )

    found = part(options.start_line, None)
    yield found
    while found.reply.next_line is not None:
        path, etag = found.reply.path, found.reply.etag
        try:
            found = part(found.reply.next_line, found.reply.next_column)
        except (AmbiguousHeading, AmbiguousNote, InvalidArgument, NoteNotFound, NotText) as error:
            raise NoteChanged(path) from error  # the rest was there a moment ago
        if found.reply.etag != etag:
            raise NoteChanged(path)
        yield found


def create(options: argparse.Namespace, console: Console) -> int:
    """Make a note from `--content` or from standard input."""
    with session(options, console) as here:
        content = options.content
        if content is None:
            limit = here.workspace.policy.max_file_bytes
            content = from_input("content", "--content", options.path, console, limit=limit)
        with uninterrupted():
            made = here.service.create(here.call, here.uri, options.path, content)
    if options.json:
        console.show_json(made.document())
    else:
        console.say(f"created {shown(made.reply.path)}")
    return 0


# -- delete and restore ----------------------------------------------------------------------------


def delete(options: argparse.Namespace, console: Console) -> int:
    """Ask on the terminal, then move the note to the trash. There is no way to skip the question."""
    with session(options, console) as here:
        arguments = {"workspaceUri": here.uri, "title": options.title}
        outcome = here.service.delete(here.call, here.uri, options.title, arguments=arguments)
        why = ""
        if isinstance(outcome, Asked):
            outcome = _answered(options, console, here, outcome, arguments)
        elif outcome.outcome == "declined":
            memory = here.settings.decline_memory_seconds
            why = f" less than {memory:g} seconds ago, so you are not asked again"
        _say_deletion(outcome, options, console, why=why)
        here.service.answered(outcome)
    return 0 if outcome.outcome == "deleted" else NOT_CONFIRMED


def _answered(
    options: argparse.Namespace, console: Console, here: Session, asked: Asked, arguments: dict[str, str]
) -> Deletion:
    if not console.can_ask():
        here.service.refused(here.call, "notes_delete", here.uri, "confirmation_unavailable")
        raise ConfirmationUnavailable
    try:
        answer = answer_form(asked.form, console)
    except KeyboardInterrupt:
        console.complain("interrupted; nothing was deleted")
        raise
    with uninterrupted():
        outcome = here.service.delete(
            here.call,
            here.uri,
            options.title,
            arguments=arguments,
            state=asked.state,
            answers={"delete_choice": answer},
        )
    if isinstance(outcome, Asked):  # an answer was given, so this cannot be; and then nothing was done
        raise ConfirmationUnavailable
    return outcome


def _say_deletion(outcome: Deletion, options: argparse.Namespace, console: Console, *, why: str) -> None:
    if options.json:
        console.show_json(outcome.document())
    if outcome.path is None or outcome.trash_id is None:
        console.complain(f"{outcome.outcome}{why}; nothing was deleted")
    elif not options.json:
        stated = {"-w": options.workspace, "--config": options.config, "--state-dir": options.state_dir}
        flags = [part for flag, value in stated.items() if value is not None for part in (flag, value)]
        undo = shlex.join(["fsnotes", "restore", *flags, outcome.trash_id])
        console.say(f"moved {shown(outcome.path)} to the trash; undo with: {visible(undo)}")


def restore(options: argparse.Namespace, console: Console) -> int:
    """Put a deleted note back."""
    with session(options, console) as here, uninterrupted():
        back = here.service.restore(here.call, here.uri, options.trash_id, new_path=options.new_path)
    if options.json:
        console.show_json(back.document())
    else:
        console.say(f"restored {shown(back.reply.path)}")
    return 0
