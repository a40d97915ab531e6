"""How a note or a folder is moved: all computed, checked and written beside the files first, then done under one lock.

The order is what makes it safe. New texts of notes whose links change are written and synced beside them; what is
about to happen goes into the journal; the move is one rename, which never overwrites; then the texts take their
places. Up to the rename a failure leaves everything as it was, and after it everything that is left to do stands in
the journal. A note that another program saves meanwhile is computed anew from what was saved.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from fsnotes.errors import (
    InvalidArgument,
    NotCounted,
    NoteChanged,
    OutcomeUnknown,
    SurveyOutdated,
    TooMuchToRelink,
    Unavailable,
)
from fsnotes.notes.charts import Chart
from fsnotes.notes.commands import LeftAlone, Moved, MoveNotes, Relinked
from fsnotes.notes.courses import Course, course
from fsnotes.notes.editing import names_of
from fsnotes.notes.etags import etag
from fsnotes.notes.journal import MAX_REWRITINGS, Entry, Journal, fits, has_happened, size_of
from fsnotes.notes.model import is_note
from fsnotes.notes.move_plans import Plan, Text, without
from fsnotes.notes.move_replies import MOST_TOLD
from fsnotes.notes.move_work import MAX_WORK, work_of
from fsnotes.notes.places import check_admitted, may_change
from fsnotes.notes.rehearsing import check_course, rehearsed
from fsnotes.notes.room import Growth
from fsnotes.notes.scope import Scope
from fsnotes.notes.splices import apply
from fsnotes.notes.workspace import Interrupted, Workspace
from sandbox.errors import (
    IdentityChanged,
    InvalidPath,
    Missing,
    NotAFolder,
    ObjectRefused,
    SandboxError,
    TooLarge,
)
from sandbox.names import RelPath
from sandbox.root import Content, Root, Staged

ATTEMPTS: Final = 3
"""How often a move is computed anew while other programs keep saving the notes that it changes."""

_AFTER: Final = "the file system failed after the move"
_UNREADABLE: Final = "the note cannot be read"
_PROTECTED: Final = "the note is protected from writing"
_TOO_LARGE: Final = "the note would be too large"
_CHANGING: Final = "another program keeps saving the note"
_UNWRITTEN: Final = "the note could not be written"

_CHANGED: Final = (IdentityChanged, Missing, NotAFolder, ObjectRefused)
"""What is raised before anything has moved if another program changes, removes or exchanges one of the notes."""


def move(workspace: Workspace, scope: Scope, command: MoveNotes, *, abandoned: Callable[[], bool]) -> Moved:
    """Move a note or a folder; durable when this returns. A dry run changes nothing.

    Raises NoteNotFound, AmbiguousNote, NoteExists, NoteChanged (with the current etag where another one was named),
    NoteTooLarge, TooMuchToRelink, NoRoom, InvalidArgument, NotAllowed, Busy (NotCounted and SurveyOutdated too,
    MovePending for a dry run), Unavailable, and OutcomeUnknown where the file system failed after the move: what is
    left to do stands in the journal then.
    """
    if command.dry_run:
        workspace.atlas.catalogue(scope)
        _check_last_move(command, workspace.last_move())
        plan = _rehearsed(workspace, _plan(workspace, scope, command))
        _check_last_move(command, workspace.last_move())
        return _reply(workspace.root, plan, texts=plan.texts, left=plan.left)
    workspace.atlas.catalogue(scope)
    workspace.room.prepare()
    with workspace.changing(
        timeout=command.lock_timeout, abandoned=abandoned, interrupted=Interrupted.FINISH
    ):
        if workspace.journal is not None:
            _check_last_move(command, workspace.journal.last_move())
        busy: set[str] = set()
        for attempt in range(2 * ATTEMPTS):
            plan = _plan(workspace, scope, command, busy if attempt >= ATTEMPTS else ())
            try:
                plan, staged = _moved(workspace, plan)
            except _CHANGED as error:
                changed = next((text for text in plan.texts if str(text.before) == error.path), None)
                if changed is not None and changed.before != plan.course.source:
                    busy.add(error.path)
                continue
            except InvalidPath as error:  # into itself, by a link that is followed
                raise InvalidArgument("newPath", error.reason) from error
            return _relinked(workspace, plan, staged)
        raise NoteChanged(str(plan.course.source if changed is None else changed.before))


# -- what is to be done ------------------------------------------------------------------------


def _check_last_move(command: MoveNotes, mark: str) -> None:
    """Raise SurveyOutdated if notes may have other links than when they were looked through."""
    if command.update_links and command.last_move != mark:
        raise SurveyOutdated


def _plan(workspace: Workspace, scope: Scope, command: MoveNotes, busy: Collection[str] = ()) -> Plan:
    """Return what is to be done; the texts of *busy* notes come late."""
    root = workspace.root
    made = course(root, scope, command.path, command.new_path)
    catalogue = workspace.atlas.catalogue(scope)
    chart = Chart(scope, made, catalogue) if command.update_links else None
    if command.known not in (None, catalogue.digest() if chart is None else chart.known):
        raise SurveyOutdated
    content, stamp, notes = None, None, 1
    if made.is_folder:
        if command.if_match is not None:
            raise InvalidArgument("ifMatch", "it is for a note, and this is a folder")
        stamp = root.stamp(made.source)
        notes = sum(map(is_note, made.moves(catalogue) if chart is None else chart.moves))
    else:
        content = root.read(made.source)
        if command.if_match not in (None, etag(content.data)):
            raise NoteChanged(str(made.source), etag=etag(content.data))
    texts: list[Text] = []
    left: list[LeftAlone] = []
    work = size = 0
    if chart is not None:
        # A note that is moved is always among them: it may have been saved since the survey.
        own = None if content is None else str(made.source)
        for name in dict.fromkeys((*([] if own is None else [own]), *command.notes)):
            path = RelPath.parse(name)
            check_admitted(scope, path)
            held = content if name == own else _read(root, path, made.path(path), left)
            if held is None:
                continue
            # The longest part is looking for the links, so what is too much is refused before.
            work += work_of(held.data)
            if work > MAX_WORK:
                raise TooMuchToRelink
            text = _made(root, chart, path, made.path(path), held, left)
            if text is not None:
                texts.append(text[0])
                work += work_of(b"", len(text[0].splices))
                size += size_of(text[0].rewriting)
                if size > MAX_REWRITINGS or work > MAX_WORK:
                    raise TooMuchToRelink
    late = tuple(text for text in texts if str(text.before) in busy)
    waiting = tuple(text for text in texts if str(text.before) not in busy)
    return Plan(made, content, stamp, notes, waiting, tuple(left), late)


def _read(root: Root, before: RelPath, after: RelPath, left: list[LeftAlone]) -> Content | None:
    """Return what a note holds, None where it is gone or cannot be read; that is told of in *left*."""
    try:
        return root.read(before)
    except (Missing, NotAFolder):
        return None
    except SandboxError:
        left.append(LeftAlone(str(after), 0, "", _UNREADABLE))
        return None


def _made(
    root: Root, chart: Chart, before: RelPath, after: RelPath, content: Content, left: list[LeftAlone]
) -> tuple[Text, bytes] | None:
    """Return the text that a note gets, None where it stays as it is; tell in *left* of what is not rewritten."""
    found = chart.relinking.relinked(content.data, str(before))
    left += [LeftAlone(str(after), each.line, each.text, each.reason.value) for each in found.left_alone]
    if not found.splices:
        return None
    data = apply(content.data, found.splices)
    if not may_change(content.identity):
        left.append(LeftAlone(str(after), 0, "", _PROTECTED))
    elif len(data) > root.policy.max_file_bytes:
        left.append(LeftAlone(str(after), 0, "", _TOO_LARGE))
    else:
        made = Text(
            chart, before, after, content.identity, etag(content.data), etag(data), len(data), found.splices
        )
        return made, data
    return None


# -- how it is done ----------------------------------------------------------------------------


def _moved(workspace: Workspace, plan: Plan) -> tuple[Plan, tuple[Staged, ...]]:
    """Write the texts beside their notes and the journal, and move. When it fails, all is as it was.

    Return the plan without the texts that there is no permission to write, and what waits of the others. Raises
    one of _CHANGED where somebody has changed one of the notes since the plan, and OutcomeUnknown where only making
    the move durable has failed.
    """
    root, journal, made = workspace.root, workspace.journal, plan.course
    _check_has_journal(workspace, plan)
    written = sum(text.size for text in plan.texts)
    grown = written - sum(text.identity.size for text in plan.texts)
    growth = Growth(grown, made.missing, written=written if plan.texts else None)
    with workspace.room.taking(made.target, growth):
        waiting = root.stage(text.change(root) for text in plan.texts)
        staged = tuple(each for each in waiting if each is not None)
        try:
            with _none_left(root, made, staged):
                plan = without(plan, waiting, why=_UNWRITTEN)
                if journal is not None and plan.rewrites:
                    _write_down(journal, plan.entry)
                if plan.stamp is not None:
                    root.move_folder(made.source, made.target, expect=plan.stamp)
                elif plan.content is not None:
                    root.move(made.source, made.target, expect=plan.content.identity)
        except (SandboxError, TooMuchToRelink) as error:
            try:
                happened = has_happened(root, plan.entry)
            except SandboxError:
                raise OutcomeUnknown(_AFTER) from error  # and the journal stays for who can look
            if happened:
                if journal is not None:
                    with contextlib.suppress(SandboxError, NotCounted, Unavailable):
                        journal.finish(root)  # or whoever changes something next
                raise OutcomeUnknown(_AFTER) from error
            if journal is not None:
                journal.clear()
            raise
    return plan, staged


@contextlib.contextmanager
def _none_left(root: Root, made: Course, staged: tuple[Staged, ...]) -> Iterator[None]:
    """Leave none of the texts that wait beside notes when the block fails, whether their folders have moved or not."""
    try:
        yield
    except BaseException:
        root.drop(staged, moved=made.path)
        raise


def _check_has_journal(workspace: Workspace, plan: Plan) -> None:
    if plan.rewrites and workspace.journal is None:
        raise Unavailable("links can only be rewritten where there is a place for a journal")


def _rehearsed(workspace: Workspace, plan: Plan) -> Plan:
    """Return what would become of the plan, and raise what `_moved` would, as far as it is known without writing."""
    _check_has_journal(workspace, plan)
    plan = without(
        plan,
        tuple(rehearsed(workspace.root, (text.before for text in plan.texts))),
        why=_UNWRITTEN,
    )
    if plan.texts and not fits(plan.entry):
        raise TooMuchToRelink
    check_course(workspace.root, plan.course)
    return plan


def _write_down(journal: Journal, entry: Entry) -> None:
    try:
        journal.write(entry)
    except TooLarge as error:
        raise TooMuchToRelink from error


def _relinked(workspace: Workspace, plan: Plan, staged: tuple[Staged, ...]) -> Moved:
    """Put the texts in their places, now that the move has happened."""
    root, made = workspace.root, plan.course
    left = list(plan.left)
    texts: list[Text] = []
    not_kept = [name for each in staged for name in each.not_kept]
    with _none_left(root, made, staged):
        for text, waiting in zip(plan.texts, staged, strict=True):
            try:
                root.put(waiting, aside=made.path(text.before.parent), path=text.after)
            except IdentityChanged:
                again = _again(root, text, left, not_kept)
                if again is not None:
                    texts.append(again)
            except SandboxError:
                left.append(LeftAlone(str(text.after), 0, "", _UNWRITTEN))
                root.drop((waiting,), moved=made.path)  # it still waits where its folder could not be opened
            else:
                texts.append(text)
    texts += [again for text in plan.late if (again := _again(root, text, left, not_kept)) is not None]
    if workspace.journal is not None and plan.rewrites:
        try:
            root.sync({text.after.parent for text in texts})
            workspace.journal.clear()
        except SandboxError as error:
            raise OutcomeUnknown(_AFTER) from error  # the journal is still there
    return _reply(root, plan, texts=texts, left=left, not_kept=tuple(dict.fromkeys(not_kept)))


def _again(root: Root, text: Text, left: list[LeftAlone], not_kept: list[str]) -> Text | None:
    """Rewrite the links of a note that somebody has saved since its text was made, or may have.

    What is told of it in *left* is told anew, and what of it could not be kept is added to *not_kept*.
    """
    left[:] = [each for each in left if each.path != str(text.after)]
    for _ in range(ATTEMPTS):
        found: list[LeftAlone] = []
        try:
            content = root.read(text.after)
            made = _made(root, text.chart, text.before, text.after, content, found)
            if made is not None:
                not_kept += root.replace(text.after, made[1], expect=content.identity).not_kept
        except IdentityChanged:
            continue
        except (Missing, NotAFolder):
            return None  # removed meanwhile
        except SandboxError:
            left.append(LeftAlone(str(text.after), 0, "", _UNWRITTEN))
            return None
        left += found
        return None if made is None else made[0]
    left.append(LeftAlone(str(text.after), 0, "", _CHANGING))
    return None


def _reply(
    root: Root,
    plan: Plan,
    *,
    texts: Sequence[Text],
    left: Sequence[LeftAlone],
    not_kept: Sequence[str] = (),
) -> Moved:
    """Return what the caller is told: which *texts* there are, or would be, and what is *left* alone."""
    return Moved(
        path=str(plan.course.source),
        new_path=str(plan.course.target),
        former=None if plan.content is None else etag(plan.content.data),
        etag=None if plan.content is None else _etag(root, plan, plan.content, texts),
        moved=plan.notes,
        relinked=tuple(Relinked(str(text.after), text.etag, len(text.splices)) for text in texts[:MOST_TOLD]),
        relinked_count=len(texts),
        rewritten=sum(len(text.splices) for text in texts),
        left_alone=tuple(left[:MOST_TOLD]),
        left_count=len(left),
        not_kept=names_of(not_kept),
    )


def _etag(root: Root, plan: Plan, content: Content, texts: Sequence[Text]) -> str:
    """Return the etag of the moved note: of its text if it is one of *texts*, else of what stands there instead."""
    source = plan.course.source
    for text in texts:
        if text.before == source:
            return text.etag
    if any(text.before == source for text in plan.texts):
        try:
            return etag(root.read(plan.course.target).data)  # somebody has saved it meanwhile
        except SandboxError:
            pass  # it is gone by now, or cannot be read
    return etag(content.data)
