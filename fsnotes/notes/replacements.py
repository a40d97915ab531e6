"""What is replaced in a note: some text wherever it stands, or what stands under a heading.

The new text is literal: `$&` and backslashes mean themselves. Its line ends become those around it, and a byte order
mark stays where it is. Where sections are, is told by the caller.
"""

from __future__ import annotations

from fsnotes.errors import NoteTooLarge
from fsnotes.notes.anchors import Anchors, find
from fsnotes.notes.fitting import bounded, fitted, shared, spliced
from fsnotes.notes.line_ends import LF, with_lf
from fsnotes.notes.seams import begins_line, core, draws_in, ends_blank, note_start, without_bom
from fsnotes.notes.splices import Splice
from fsnotes.notes.texts import decoded, encoded


def replace(
    data: bytes,
    old: str,
    new: str,
    *,
    path: str,
    most: int,
    expected: int = 1,
    within: tuple[int, int] | None = None,
) -> tuple[Splice, ...]:
    """Return the splices that put *new* wherever *old* stands in the note *path*, or *within* some whole lines of it.

    All of its places or none: *expected* says how many there must be. A final line end of *new* is as literal as the
    rest of it. What both texts begin or end with is left alone, so equal texts change nothing. *most* is how many
    bytes the note may have afterwards. Raises NotText, NoteTooLarge, and what `anchors.find` raises.
    """
    decoded(data, path=path)
    text = with_lf(encoded(new, argument="newText"))
    found = find(data, old, path=path, expected=expected, within=within)
    if text == found.anchor:
        return ()
    # SAFETY: looked at before anything is made, since a long text for many places is longer than memory.
    if len(data) + len(found.starts) * (len(text) - len(found.anchor)) > 2 * most:
        raise NoteTooLarge(path, limit=most)
    return bounded(data, _replacements(data, found, text), path=path, most=most)


def _replacements(data: bytes, found: Anchors, text: bytes) -> tuple[Splice, ...]:
    head, tail = shared(found.anchor, text)
    spans = found.spans(head=head, tail=tail)
    middle = text[head : len(text) - tail]
    begin = note_start(data)
    first, end = found.spans()[0]
    if first > begin:
        return spliced(data, spans, middle)
    # The first place is where the note begins: the mark there is nobody's to give or to take.
    return fitted(data, begin, max(begin, end), without_bom(text)) + spliced(data, spans[1:], middle)


def replace_body(data: bytes, new: str, *, body: int, end: int, path: str, most: int) -> tuple[Splice, ...]:
    """Return the splice that puts *new* under a heading of the note *path*.

    The section's text is what stands between *body*, where the line under the heading begins, and *end*, where the
    next heading begins or the note ends. Blank lines under the heading and above what follows stay as they are,
    but on a side where *new* has blank lines of its own. No text at all leaves the blank lines above what follows,
    and nothing else. *new* ends with a line end wherever something follows or its last line had one, and stands apart
    from a heading that would draw it in (see `seams.draws_in`). Raises NotText, InvalidArgument and NoteTooLarge.
    """
    decoded(data, path=path)
    text = with_lf(encoded(new, argument="newText"))
    start, stop, text = _body(data, text, body, end)
    if text and start == body and not begins_line(data, body):
        text = LF + text
    return bounded(data, fitted(data, start, stop, text), path=path, most=most)


def _body(data: bytes, text: bytes, body: int, end: int) -> tuple[int, int, bytes]:
    """Return from where to where the text under a heading is replaced, and by what."""
    own = core(data, body, end)
    if not text:
        return body, body if own is None else own.rest, text
    asked = core(text, 0, len(text))
    first, rest = _between(data, body, end) if own is None else (own.start, own.rest)
    start = body if asked is None or asked.start else first
    stop = end if asked is None or asked.rest < len(text) else rest
    if begins_line(data, stop) and not text.endswith(LF):
        text += LF
    if draws_in(data, stop) and not ends_blank(text):
        text += LF
    return start, stop, text


def _between(data: bytes, body: int, end: int) -> tuple[int, int]:
    """Return from where to where text goes that stands among nothing but blank lines.

    The last of them goes on to set off what follows. Where nothing follows, one without a line end gives way.
    """
    lines = data[body:end].splitlines(keepends=True)
    last = end - len(lines[-1]) if lines else end
    if end < len(data):
        return last, last
    return (end, end) if begins_line(data, end) else (last, end)
