"""Decides which notes are resources for a principal, under which URIs, and what reading one gives.

A note's URI is that of its workspace with the note's id behind it. It is named by it exactly: an id without its suffix
is none. Whether a URI lies in a granted workspace is decided in `access`, what stands at a path, in `fsnotes.notes`.
Source: the specification's page on resources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from fsnotes.access import Access, Grant, Principal, Right, Workspace
from fsnotes.errors import Busy, NotAllowed, ResourceTooLarge, Unavailable
from fsnotes.listings import PAGE_SCANS, SCAN_BUDGET, describe_notes
from fsnotes.notes.commands import NoteSummary, NoteText, ReadNote, ScanNotes
from fsnotes.notes.model import is_note
from fsnotes.notes.scope import Scope
from fsnotes.outcomes import timestamp
from fsnotes.pages import Page, Query, foreign_cursor
from fsnotes.runners import Runner
from sandbox.errors import InvalidPath
from sandbox.names import RelPath
from sandbox.records import record
from sandbox.uris import FileUri

MIME_TYPE: Final = "text/markdown"
"""RFC 7763."""

PAGE_NOTES: Final = 100
"""Most notes on a page."""

MAX_BYTES: Final = 1_048_576
"""Largest note that is read as a resource: whole, in one message. Escaped, that is at most six times as much."""

PART_CHARACTERS: Final = 500_000
"""How much of a note one bounded call reads."""

MOST_PARTS: Final = MAX_BYTES // PART_CHARACTERS + 1
READINGS: Final = 3
"""How often a note is read from its beginning that changes meanwhile."""


def uri_of(workspace: Workspace, path: str) -> str:
    """Return the URI of the note *path*: canonical, everything escaped but unreserved characters and slashes."""
    base = workspace.uris[0]
    return str(FileUri(base.parts + tuple(path.split("/"))))


def template_of(workspace: Workspace) -> str:
    """Return the URI template of the notes of *workspace* (RFC 6570, reserved expansion)."""
    uri = workspace.uri
    return f"{uri}{'' if uri.endswith('/') else '/'}{{+path}}"


Ignored = Mapping[str, tuple[str, ...]]
"""The globs that each workspace ignores, by its name."""


@record
class Named:
    """A note that a principal may read, if it is there: by the grant for it, and its path."""

    grant: Grant
    path: RelPath


def named_by(access: Access, ignored: Ignored, principal: Principal, uri: str) -> Named:
    """Return which note *uri* names. Opens nothing.

    Where workspaces lie within each other, the innermost counts whose grant covers the note and that does not ignore
    it: the one that lists it. Raises NotAllowed, for what is no URI of a note too.
    """
    for grant, parts in access.beneath(principal, uri, Right.READ):
        try:
            path = RelPath(parts)
        except InvalidPath:
            continue
        if is_note(path.name) and Scope(grant.folders, ignored[grant.workspace.name]).admits(path):
            return Named(grant, path)
    raise NotAllowed("no such resource")


# -- lists -------------------------------------------------------------------------------------------


@record
class ResourcesListed:
    """One page of the notes that a principal may read, by workspace and path."""

    resources: tuple[tuple[Workspace, NoteSummary], ...]
    cursor: str | None

    def document(self) -> dict[str, Any]:
        """Return the JSON shape."""
        shape: dict[str, Any] = {"resources": [_shown(*each) for each in self.resources]}
        return shape if self.cursor is None else {"nextCursor": self.cursor, **shape}


def _shown(workspace: Workspace, note: NoteSummary) -> dict[str, Any]:
    return {
        "annotations": {"lastModified": timestamp(note.mtime_ns)},
        "mimeType": MIME_TYPE,
        "name": note.path,
        "size": note.size,
        "title": note.title,
        "uri": uri_of(workspace, note.path),
    }


def list_resources(
    runner: Runner,
    grants: tuple[Grant, ...],
    principal: Principal,
    *,
    cursor: str | None,
    abandoned: Callable[[], bool],
) -> ResourcesListed:
    """Return one page of the notes within *grants*, in their order. Raises InvalidArgument for a foreign cursor.

    A workspace that cannot be used at the moment is passed over, so that it does not hide the others.
    """
    pages = Query("resources", principal.name)
    lister = _Lister(runner, abandoned)
    names = [grant.workspace.name for grant in grants]
    match pages.position(cursor):
        case None:
            first, after = 0, None
        case (name, *rest) if name in names and len(rest) <= 1:
            first, after = names.index(name), rest[0] if rest else None
        case _:
            raise foreign_cursor()
    for grant in grants[first:]:
        try:
            position = lister.fill(grant, after)
        except Unavailable:
            position = None
        if position is not None:
            return ResourcesListed(tuple(lister.found), pages.cursor((grant.workspace.name, *position)))
        after = None
    return ResourcesListed(tuple(lister.found), None)


class _Lister:
    """Fills one page by a bounded number of calls."""

    def __init__(self, runner: Runner, abandoned: Callable[[], bool]) -> None:
        self._runner = runner
        self._abandoned = abandoned
        self._page = Page(PAGE_NOTES)
        self._calls = PAGE_SCANS
        self.found: list[tuple[Workspace, NoteSummary]] = []

    def fill(self, grant: Grant, after: str | None) -> tuple[str, ...] | None:
        """Take notes of *grant* behind *after*; return where the next page goes on, None if none are left."""
        while True:
            if not (self._page.left and self._calls):
                return () if after is None else (after,)
            self._calls -= 1
            # Most entries of most folders are notes, so more than this would be looked at in vain.
            command = ScanNotes("", True, after, min(SCAN_BUDGET, 2 * self._page.left + 100))  # noqa: FBT003 - a record
            scanned = self._runner.run(grant, command, abandoned=self._abandoned)
            fitting = [note.path for note in scanned.notes[: self._page.left]]
            known = describe_notes(self._runner, grant, tuple(fitting), abandoned=self._abandoned)
            for path in fitting:
                note = known.get(path)
                if isinstance(note, NoteSummary) and not self._take(grant.workspace, note):
                    return () if after is None else (after,)
                after = path
            if len(fitting) == len(scanned.notes):
                after = scanned.resume
                if after is None:
                    return None

    def _take(self, workspace: Workspace, note: NoteSummary) -> bool:
        if not self._page.admits(_shown(workspace, note)):
            return False
        self.found.append((workspace, note))
        return True


@record
class TemplatesListed:
    """A template for each workspace that a principal may read in."""

    workspaces: tuple[Workspace, ...]

    def document(self) -> dict[str, Any]:
        """Return the JSON shape."""
        return {"resourceTemplates": [_template(each) for each in self.workspaces]}


def _template(workspace: Workspace) -> dict[str, Any]:
    return {
        "description": "A note by its path in the workspace, with its suffix.",
        "mimeType": MIME_TYPE,
        "name": workspace.name,
        "uriTemplate": template_of(workspace),
    }


def workspaces_of(grants: Iterable[Grant]) -> tuple[Workspace, ...]:
    """Return the workspaces of *grants*."""
    return tuple(grant.workspace for grant in grants)


# -- reading -----------------------------------------------------------------------------------------


@record
class ResourceRead:
    """A whole note, under the URI that was asked for."""

    uri: str
    text: str

    def document(self) -> dict[str, Any]:
        """Return the JSON shape."""
        return {"contents": [{"mimeType": MIME_TYPE, "text": self.text, "uri": self.uri}]}


def read_resource(runner: Runner, named: Named, uri: str, *, abandoned: Callable[[], bool]) -> ResourceRead:
    """Return the text of the note, exactly as in its file.

    Raises NotText, ResourceTooLarge for more than MAX_BYTES, and Busy for a note that changes again and again while it
    is read in parts.
    """
    for _ in range(READINGS):
        texts = _read(runner, named, abandoned)
        if texts is not None:
            return ResourceRead(uri, "".join(texts))
    raise Busy


def _read(runner: Runner, named: Named, abandoned: Callable[[], bool]) -> list[str] | None:
    """Return the parts of the note; None if they are not of one text."""
    path = str(named.path)

    def part(line: int | None, column: int | None) -> NoteText:
        command = ReadNote(path, start_line=line, start_column=column, limit=PART_CHARACTERS)
        return runner.run(named.grant, command, abandoned=abandoned)

    first = reply = part(None, None)
    if first.size > MAX_BYTES:
        raise ResourceTooLarge(first.path, limit=MAX_BYTES)
    texts = [first.text]
    while reply.next_line is not None:
        if len(texts) > MOST_PARTS:
            return None
        reply = part(reply.next_line, reply.next_column)
        if (reply.etag, reply.path) != (first.etag, first.path):
            return None
        texts.append(reply.text)
    return texts
