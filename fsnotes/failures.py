"""One table: what each failure is called, what a person or a client reads, and how a program sees it.

Texts are made from an exception's typed fields only: never a host path, a note's text or an exception's own
message. An exception that no row covers is a crash: a fixed text, and its details go to the log.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any, Final

from fsnotes import errors
from sandbox.names import display
from sandbox.records import record

INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

MAX_ECHO: Final = 200
"""How much of a caller's own words is echoed, in characters."""


@record
class RpcError:
    """A JSON-RPC error: for failures that are not the result of a tool."""

    code: int
    message: str
    data: Any = None


@record
class Failure:
    """A failure as the outside sees it. *line* is `slug: what, why, what to do next`."""

    slug: str
    line: str
    exit_code: int
    rpc: RpcError | None = None


def echo(text: str) -> str:
    """Quote a caller's or a note's words so that they are seen as such: one line, cut, nothing hidden."""
    shown = display(text[: MAX_ECHO + 1])
    if len(shown) > MAX_ECHO:
        shown = shown[:MAX_ECHO] + "…"
    return '"' + shown.replace('"', '\\"') + '"'


def _list(paths: tuple[str, ...], most: int = 10) -> str:
    shown = ", ".join(echo(path) for path in paths[:most])
    return shown + (f" and {len(paths) - most} more" if len(paths) > most else "")


def _ambiguous(error: errors.AmbiguousNote) -> str:
    if len({unicodedata.normalize("NFC", path) for path in error.paths}) == len(error.paths):
        return f"{echo(error.name)} could be {_list(error.paths)}; name one of them exactly"
    # No spelling that is sent tells them apart; the person sees them twice.
    codes = ", ".join(
        f'"{display(path).encode("ascii", "backslashreplace").decode()}"' for path in error.paths
    )
    return f"{echo(error.name)} is there under names that look alike, in codes {codes}; rename one of them"


def _ambiguous_heading(error: errors.AmbiguousHeading) -> str:
    if not error.paths:
        return f"{echo(error.name)} could be several; name it with the headings above it"
    places = ", ".join(
        f"{echo(path)} in line {line}" for path, line in zip(error.paths, error.lines, strict=False)
    )
    names = ["/" + unicodedata.normalize("NFC", path).casefold() for path in error.paths]
    if all(sum(other.endswith(name) for other in names) == 1 for name in names):
        return f"{echo(error.name)} could be {places}; name one of them exactly"
    # Two are the same to the top, or one is at the top and the other beneath something: both have one name.
    return (
        f"{echo(error.name)} could be {places}; name one exactly where no other is called so, else change its text"
        " by oldText alone"
    )


def _not_found(error: errors.NoteNotFound) -> str:
    hints = {
        "note": "list or search for it",
        "folder": "list the folder above it",
        "heading": "read the note to see its headings",
        "trash entry": "notes_trash lists what can be restored",
    }
    near = f"; there are {_list(error.candidates)}" if error.candidates else ""
    return f"there is no {error.what} {echo(error.name)}{near}; {hints.get(error.what, 'check the name')}"


def _changed(error: errors.NoteChanged) -> str:
    current = f"; its etag is {error.etag}" if error.etag else ""
    return f"{echo(error.path)} changed, moved or vanished since you saw it{current}; nothing was done, read it again"


def _yaml(error: errors.InvalidYaml) -> str:
    return f"the frontmatter of {echo(error.path)} is broken at line {error.line}; nothing was changed, mend it first"


def _no_room(error: errors.NoRoom) -> str:
    if error.bound == "min_free_bytes":
        return (
            f"{error.limit} bytes must stay free on the workspace's disk ({error.bound}), and this would leave less;"
            f" nothing was done, its owner can make room there or set {error.bound}"
        )
    what = "bytes" if error.bound == "max_bytes" else "files and folders"
    return (
        f"this workspace may hold {error.limit} {what} with its trash ({error.bound}), and this would be more;"
        " nothing was done, its owner can empty .trash or raise the limit"
    )


def _anchor_not_found(error: errors.AnchorNotFound) -> str:
    near = f"the nearest line is {error.line}: {echo(error.nearest)}" if error.line else "no line is near it"
    why = {
        "elsewhere": f"it stands outside of that section, in line {error.line}",
        "final line end": f"the text ends before its last line end, in line {error.line}: leave that out",
        "unreadable": "its lines are not shown to you, since you may not read it",
        "Unicode form": f"the note has it in another Unicode form: copy it from line {error.line}",
    }.get(error.hint, near)
    return f"oldText is not in {echo(error.path)}; {why}; nothing was changed, take the text exactly as it is read"


def _anchor_count(error: errors.AnchorCount) -> str:
    return (
        f"oldText is in {echo(error.path)} {_times(error.count)} ({_lines(error.lines, error.count)}) and was expected"
        f" {_times(error.expected)}; nothing was changed, give more of the text around it or that number as"
        " expectedMatches"
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _lines(lines: tuple[int, ...], count: int) -> str:
    shown = ", ".join(map(str, dict.fromkeys(lines)))
    more = count - len(lines)
    return f"line{'s' if count > 1 else ''} {shown}" + (f" and {more} more" if more > 0 else "")


_Row = tuple[str, int, Callable[[Any], str]]

_TABLE: Final[dict[type[errors.FsnotesError], _Row]] = {
    errors.ConfigurationError: ("invalid_argument", 2, lambda e: str(e)),
    errors.JailRequired: ("unavailable", 8, lambda e: str(e)),
    errors.InvalidArgument: (
        "invalid_argument",
        2,
        lambda e: f"{e.argument}: {e.why}; correct it and call again",
    ),
    errors.NotAllowed: (
        "not_allowed",
        3,
        lambda _: (
            "no such workspace for you, or the operation is not granted in it; notes_workspaces lists what is"
        ),
    ),
    errors.PathRefused: (
        "not_allowed",
        3,
        lambda _: (
            "this path is not served: it leads out of your folders, is hidden or ignored, or is a link or"
            " another object that the workspace refuses; notes_list shows what is"
        ),
    ),
    errors.ReadOnlyNote: (
        "not_allowed",
        3,
        lambda e: (
            f"{echo(e.path)} is write-protected; nothing was done, its owner can give its file a right to write"
        ),
    ),
    errors.DeceptiveName: (
        "not_allowed",
        3,
        lambda e: f"{_list(e.paths)} has a name that could deceive the person who is asked; rename it first",
    ),
    errors.NoteNotFound: ("not_found", 4, _not_found),
    errors.AnchorNotFound: ("not_found", 4, _anchor_not_found),
    errors.NoteExists: (
        "exists",
        5,
        lambda e: f"{echo(e.path)} is taken and was not overwritten; choose another path",
    ),
    errors.NoteChanged: ("conflict", 5, _changed),
    errors.AmbiguousNote: (
        "ambiguous",
        5,
        _ambiguous,
    ),
    errors.AmbiguousHeading: ("ambiguous", 5, _ambiguous_heading),
    errors.AnchorCount: ("ambiguous", 5, _anchor_count),
    errors.TooManyMatches: (
        "too_many",
        6,
        lambda e: f"more than {e.limit} notes match; give a narrower title or the note's path",
    ),
    errors.NoteTooLarge: (
        "too_large",
        6,
        lambda e: f"{echo(e.path)} is larger than the {e.limit} bytes that this workspace allows; split it",
    ),
    errors.ResourceTooLarge: (
        "too_large",
        6,
        lambda e: (
            f"{echo(e.path)} is larger than the {e.limit} bytes that a resource may have; notes_read reads parts"
        ),
    ),
    errors.NotText: (
        "not_text",
        6,
        lambda e: (
            f"{echo(e.path)} is not UTF-8 text; it can be moved and deleted but not read or changed as text"
        ),
    ),
    errors.InvalidYaml: ("invalid_yaml", 5, _yaml),
    errors.TooManyLinks: (
        "too_many",
        6,
        lambda e: (
            f"more than {e.limit} notes have links that this move would rewrite; nothing was done, move it in parts or"
            " with updateLinks false"
        ),
    ),
    errors.TooMuchToRelink: (
        "too_many",
        6,
        lambda _: (
            "the links that this move would rewrite are more, or in more text, than one move may rewrite; nothing was"
            " done, move it in parts or with updateLinks false"
        ),
    ),
    errors.LimitReached: ("limit", 6, lambda e: f"too many {e.what}; wait for some to end and call again"),
    errors.NoRoom: ("limit", 6, _no_room),
    errors.NotCounted: (
        "busy",
        6,
        lambda _: (
            "what this workspace holds is still being counted, or a move that was interrupted is being finished;"
            " what you asked for was not done, call again"
        ),
    ),
    errors.NotItsTurn: (
        "busy",
        6,
        lambda _: (
            "other calls in this workspace were before this one, or its worker was being started; nothing was done,"
            " call again"
        ),
    ),
    errors.MovePending: (
        "busy",
        6,
        lambda _: (
            "a move that was interrupted, or is being made, is not finished; nothing was done, call again, and if it"
            " stays so make the move or any other change, which finishes it first"
        ),
    ),
    errors.Busy: (
        "busy",
        6,
        lambda _: "somebody else is changing this workspace; nothing was done, call again",
    ),
    errors.Abandoned: ("busy", 6, lambda _: "the call was cancelled; nothing was done"),
    errors.Unavailable: (
        "unavailable",
        1,
        lambda e: f"{e.why}; nothing was done, ask the operator to look at it",
    ),
    errors.OutcomeUnknown: ("unavailable", 1, lambda e: f"{e.why}; outcome unknown: read before retrying"),
    errors.ConfirmationUnavailable: (
        "not_allowed",
        7,
        lambda e: (
            "a person must confirm this and cannot be asked here; nothing was done, run it in a terminal"
            + (f": {e.command}" if e.command else "")
        ),
    ),
    errors.ConfirmationDeclined: ("not_allowed", 7, lambda _: "not confirmed; nothing was done"),
    errors.InvalidState: (
        "conflict",
        7,
        lambda _: "the confirmation is no longer valid; nothing was done, ask again",
    ),
    errors.InvalidAnswer: (
        "invalid_argument",
        7,
        lambda _: "the answer does not fit the form; nothing was done",
    ),
}

_RPC: Final[dict[type[errors.FsnotesError], RpcError]] = {
    errors.InvalidState: RpcError(INVALID_PARAMS, "Invalid or expired requestState"),
    errors.InvalidAnswer: RpcError(INVALID_PARAMS, "Invalid inputResponses"),
}

CRASH: Final = Failure(
    "unavailable",
    "unavailable: something went wrong here; read before you try again",
    1,
    RpcError(INTERNAL_ERROR, "Internal error"),
)


def describe(error: BaseException) -> Failure:
    """Return how *error* looks from outside, by the nearest class in the table; CRASH when there is none."""
    for kind in type(error).__mro__:
        row = _TABLE.get(kind)
        if row is not None:
            slug, exit_code, text = row
            line = f"{slug}: {text(error)}"
            return Failure(slug, " ".join(line.splitlines()), exit_code, _RPC.get(kind))
    return CRASH


def slugs() -> frozenset[str]:
    """Return every slug that a failure can have."""
    return frozenset(slug for slug, _, _ in _TABLE.values())
