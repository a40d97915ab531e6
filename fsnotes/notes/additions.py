"""Where text is added to a note, and how: on lines of its own, with no line end too many and none too few.

What stands there stays, byte for byte. Blank lines are the caller's: the text may have some, none is added but one,
where a heading that follows would otherwise draw the text in (see `seams.draws_in`).
"""

from __future__ import annotations

from fsnotes.errors import InvalidArgument
from fsnotes.notes import frontmatter
from fsnotes.notes.arguments import Position
from fsnotes.notes.fitting import bounded, spliced
from fsnotes.notes.line_ends import LF, with_lf
from fsnotes.notes.seams import begins_line, core, draws_in, ends_blank, note_start, without_bom
from fsnotes.notes.splices import Splice
from fsnotes.notes.texts import decoded, encoded


def add(
    data: bytes,
    text: str,
    *,
    position: Position,
    path: str,
    most: int,
    section: tuple[int, int] | None = None,
) -> tuple[Splice, ...]:
    """Return the splice that adds *text* to the note *path*, or to a *section*: where its body begins and ends.

    At the end of a note that is its last byte; at its start, what follows the byte order mark and the frontmatter. At
    the end of a section it is behind the last line that is not blank, so that blank lines keep setting off what
    follows; at its start, directly under the heading. The text ends with a line end, and begins with one where the
    line before has none. *most* is how many bytes the note may have afterwards. Raises NotText, NoteTooLarge, and
    InvalidArgument for no text; text that is nothing but line ends adds so many blank lines.
    """
    decoded(data, path=path)
    added = with_lf(encoded(text, argument="text"))
    at = _place(data, position, section)
    if at <= note_start(data):
        added = without_bom(added)
    if not added:
        raise InvalidArgument("text", "it is empty")
    if not added.endswith(LF):
        added += LF
    if draws_in(data, at) and not ends_blank(added):
        added += LF
    if not begins_line(data, at):
        added = LF + added
    return bounded(data, spliced(data, [(at, at)], added), path=path, most=most)


def _place(data: bytes, position: Position, section: tuple[int, int] | None) -> int:
    if section is None:
        return len(data) if position is Position.END else frontmatter.body_start(data)
    body, end = section
    if position is Position.START:
        return body
    filled = core(data, body, end)
    return body if filled is None else filled.rest
