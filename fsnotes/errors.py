"""What fsnotes refuses: the exception family of the product. Imports nothing of it.

Fields are typed and few: the sentence a person or a client reads is made from them in `failures.py`.
"""

from __future__ import annotations


class FsnotesError(Exception):
    """Anything that fsnotes refuses or cannot do."""


class ConfigurationError(FsnotesError):
    """The command line, the configuration file or the state folder cannot be used as they are."""


class JailRequired(ConfigurationError):
    """A jail is required and cannot be put around the workspace, so it is not served."""


class InvalidArgument(FsnotesError):
    """An argument has the right type and a value that cannot be meant."""

    def __init__(self, argument: str, why: str) -> None:
        super().__init__(f"{argument}: {why}")
        self.argument = argument
        self.why = why


class NotAllowed(FsnotesError):
    """The principal may not do this here, or there is no such workspace: one answer for both."""


class PathRefused(NotAllowed):
    """The path is none that is served: it leads out, is hidden or ignored, not granted, or no plain file.

    One answer for all of these, whether anything stands there or not. The message is for the log.
    """


class ReadOnlyNote(NotAllowed):
    """The note's file may be written by nobody, so its text is not changed either."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class NoteNotFound(FsnotesError):
    """There is no such note, folder, heading or trash entry."""

    def __init__(self, what: str, name: str, *, candidates: tuple[str, ...] = ()) -> None:
        super().__init__(f"no {what} {name!r}")
        self.what = what
        self.name = name
        self.candidates = candidates


class NoteExists(FsnotesError):
    """The path is taken; nothing was overwritten."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class NoteChanged(FsnotesError):
    """The note is no longer what the caller saw; nothing was done."""

    def __init__(self, path: str, *, etag: str | None = None) -> None:
        super().__init__(path)
        self.path = path
        self.etag = etag


class AmbiguousNote(FsnotesError):
    """Several notes answer to the name."""

    def __init__(self, name: str, *, paths: tuple[str, ...]) -> None:
        super().__init__(name)
        self.name = name
        self.paths = paths


class AmbiguousHeading(FsnotesError):
    """Several headings of a note answer to the text: *paths* are their names from the top, in the lines *lines*."""

    def __init__(self, name: str, *, paths: tuple[str, ...] = (), lines: tuple[int, ...] = ()) -> None:
        super().__init__(name)
        self.name = name
        self.paths = paths
        self.lines = lines


class DeceptiveName(FsnotesError):
    """The only notes that match have names that could deceive the person who is asked."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        super().__init__(f"{len(paths)} deceptive names")
        self.paths = paths


class TooManyMatches(FsnotesError):
    """More notes match than a form may offer."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"more than {limit}")
        self.limit = limit


class TooManyLinks(FsnotesError):
    """More notes than one move may rewrite have links to what is to be moved; nothing was done."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"more than {limit}")
        self.limit = limit


class TooMuchToRelink(FsnotesError):
    """The links that a move would rewrite are more, or in more text, than one move may rewrite; nothing was done."""


class AnchorNotFound(FsnotesError):
    """The text to replace does not stand in the note, or in the section that was named; nothing was changed.

    *hint* says why it may have been missed: `elsewhere` (outside the section), `final line end` (the text ends with
    one that the note does not have), `Unicode form` (composed or not), or nothing. *line* is the line to look at,
    and *nearest* what stands there, cut; 0 and empty when no line is near. `unreadable` stands for all of that where
    the caller may not read the note.
    """

    def __init__(self, path: str, *, hint: str = "", line: int = 0, nearest: str = "") -> None:
        super().__init__(path)
        self.path = path
        self.hint = hint
        self.line = line
        self.nearest = nearest


class AnchorCount(FsnotesError):
    """The text to replace stands in the note another number of times than expected; nothing was changed.

    *lines* are those in which the first of them begin.
    """

    def __init__(self, path: str, *, count: int, expected: int, lines: tuple[int, ...]) -> None:
        super().__init__(f"{path}: {count}, not {expected}")
        self.path = path
        self.count = count
        self.expected = expected
        self.lines = lines


class NoteTooLarge(FsnotesError):
    """The note or the text is larger than the workspace allows."""

    def __init__(self, path: str, *, limit: int) -> None:
        super().__init__(path)
        self.path = path
        self.limit = limit


class ResourceTooLarge(NoteTooLarge):
    """The note is larger than one that is read as a whole."""


class NotText(FsnotesError):
    """The note's bytes are not UTF-8, so it cannot be shown or edited as text."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class InvalidYaml(FsnotesError):
    """The note's frontmatter is not YAML that can be read within the limits. *line* counts in the note."""

    def __init__(self, path: str, *, line: int) -> None:
        super().__init__(f"{path}: line {line}")
        self.path = path
        self.line = line


class LimitReached(FsnotesError):
    """A bound that protects everybody was reached."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class Abandoned(FsnotesError):
    """The caller gave up before the change began; nothing was done and nobody waits for an answer."""


class Busy(FsnotesError):
    """Somebody else is at it; the same call may succeed in a moment."""


class NotItsTurn(Busy):
    """Other calls were before this one, or the workspace's worker was being started, for too long; nothing was done."""


class NotCounted(Busy):
    """Something has to be done first that takes several calls, and this one has done a part of it and nothing else.

    What the workspace holds is counted or looked through, or a move that was interrupted is finished.
    """


class SurveyOutdated(Busy):
    """Files have come, gone or moved since the notes were looked through for a move; nothing was done."""


class MovePending(Busy):
    """A move is not finished, by a kill or since it is being made: what follows from it cannot be told yet.

    Whoever changes something finishes it first.
    """


class NoRoom(FsnotesError):
    """The change would make the workspace larger, or its disk fuller, than its owner allows; nothing was done.

    *bound* is the setting that says so (`max_bytes`, `max_entries` or `min_free_bytes`), *limit* what it comes to.
    """

    def __init__(self, bound: str, limit: int) -> None:
        super().__init__(f"{bound} {limit}")
        self.bound = bound
        self.limit = limit


class Unavailable(FsnotesError):
    """Something this call needs is missing or broken; nothing was done."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class MoveStuck(Unavailable):
    """A move that was interrupted can neither be finished nor forgotten: whether it had happened cannot be seen."""


class IndexUnusable(Unavailable):
    """The search index is missing, damaged, or just being written or replaced: a search has to do without it."""


class OutcomeUnknown(FsnotesError):
    """A change was begun and nobody can say what became of it: it may have been made, whole, or not at all."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class InvalidState(FsnotesError):
    """The echoed state proves nothing. The reason is for the log only."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class InvalidAnswer(FsnotesError):
    """The answer to the form does not have the form's shape. The state stays usable."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ConfirmationUnavailable(FsnotesError):
    """A person must be asked, and there is no way to ask. *command* is what they can run instead, if it is known."""

    def __init__(self, command: str | None = None) -> None:
        super().__init__(command)
        self.command = command


class ConfirmationDeclined(FsnotesError):
    """The person was asked and did not confirm."""
