"""What a change looks like: a unified diff, made from the splices themselves and bounded in size.

Its lines are git's: they end with LF, and a CR is a character of the line, so a change of line ends alone is seen
and a complete diff can be applied. In a note whose lines end with CR alone they are therefore not those that are
counted elsewhere. There are no file names in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from fsnotes.notes.bounds import MAX_DIFF_CHARACTERS
from fsnotes.notes.fitting import CONTINUES, shared
from fsnotes.notes.hunks import LF, Block, above, below, blocks, hunks, lines_of
from fsnotes.notes.splices import Splice
from sandbox.records import record

MAX_CHARACTERS: Final = MAX_DIFF_CHARACTERS
MAX_LINE: Final = 1_000
"""Most characters of a diff, and of one line in it."""

_LEAD: Final = 60  # bytes that are shown before the change, in a line that is too long to be shown
_UNFINISHED: Final = "\\ No newline at end of file"


@record
class Diff:
    """A unified diff: hunks, each line ended by LF; empty where nothing changed.

    One that is not *complete* cannot be applied: where lines or whole changes are missing, a line that begins with
    a backslash says how many, and a line that is shown in part has `…` where it is cut.
    """

    text: str
    complete: bool


def diff(
    data: bytes, splices: Sequence[Splice], *, most: int = MAX_CHARACTERS, most_of_a_line: int = MAX_LINE
) -> Diff:
    """Return what *splices* do to the note *data*, which is UTF-8 text before and after.

    At most *most* characters, but for the last header and the marks of what is left out.
    """
    page = _Page(most, most_of_a_line)
    line, position, shift = 1, 0, 0
    missing = len(splices)
    for hunk in hunks(data, blocks(data, splices)):
        if page.full:
            page.mark(missing, "more change")
            break
        missing -= sum(block.splices for block in hunk)
        line += data.count(LF, position, hunk[0].start)
        position = hunk[0].start
        shift += page.show(data, hunk, line, shift)
    return Diff("".join(page.lines), page.complete)


class _Page:
    __slots__ = ("_most_of_a_line", "_room", "complete", "full", "lines")

    def __init__(self, most: int, most_of_a_line: int) -> None:
        self._room = most
        self._most_of_a_line = most_of_a_line
        self.lines: list[str] = []
        self.complete = True
        self.full = False

    def show(self, data: bytes, hunk: list[Block], line: int, shift: int) -> int:
        """Show a hunk whose first block is at *line*, after *shift* more lines came than went; return its own."""
        before, behind = above(data, hunk[0].start), below(data, hunk[-1].end)
        between = [lines_of(data[one.end : other.start]) for one, other in pairwise(hunk)]
        same = len(before) + len(behind) + sum(map(len, between))
        gone = same + sum(len(block.old) for block in hunk)
        come = same + sum(len(block.new) for block in hunk)
        first = line - len(before)
        self.lines.append(f"@@ -{_range(first, gone)} +{_range(first + shift, come)} @@\n")
        self._room -= len(self.lines[-1])
        missing = self._take(" ", before, self._room)
        for block, after in zip(hunk, [*between, behind], strict=True):
            if self.full:
                missing += len(block.old) + len(block.new) + len(after)
                continue
            differ = shared(block.old[0], block.new[0])[0] if block.old and block.new else 0
            # Of a change too long to be shown, the beginning of both sides.
            rest = self._room - sum(len(raw) + 1 for raw in block.new)
            missing += self._take("-", block.old, max(rest, self._room // 2), lead=differ)
            if block.new:
                self.mark(missing, "line")
                missing = self._take("+", block.new, self._room, lead=differ)
            missing += self._take(" ", after, 0 if self.full else self._room)
        self.mark(missing, "line")
        return come - gone

    def mark(self, missing: int, what: str) -> None:
        """Say how much is left out, if anything is."""
        if missing:
            self.lines.append(f"\\ {missing} {what}{'s' if missing > 1 else ''} left out\n")
            self.complete = False

    def _take(self, sign: str, lines: list[bytes], room: int, *, lead: int = 0) -> int:
        """Show as many of *lines* as fit in *room* and return how many do not.

        Of a first one that is too long, the part around byte *lead* is shown.
        """
        for number, raw in enumerate(lines):
            text, is_whole = self._shown(sign, raw, lead if number == 0 else 0)
            if len(text) > room:
                self.full = True
                return len(lines) - number
            self.lines.append(text)
            self.complete &= is_whole
            self._room -= len(text)
            room -= len(text)
        return 0

    def _shown(self, sign: str, raw: bytes, lead: int) -> tuple[str, bool]:
        """Return a line of the diff, and whether all of it is there."""
        most = self._most_of_a_line
        line = raw.removesuffix(LF)
        ended = "\n" if len(line) < len(raw) else f"\n{_UNFINISHED}\n"
        if len(line) <= 4 * most and len(text := line.decode("utf-8")) <= most:
            return f"{sign}{text}{ended}", True
        start = max(0, lead - _LEAD)
        while line[start] in CONTINUES:
            start += 1
        # What is cut off at the end may leave parts of a character.
        text = line[start : start + 4 * most].decode("utf-8", "ignore")[:most]
        before = "…" if start else ""
        behind = "…" if start + len(text.encode()) < len(line) else ""
        return f"{sign}{before}{text}{behind}{ended}", False


def _range(first: int, count: int) -> str:
    """Return a range as hunks have it: of no lines, the number of the line before."""
    if count == 1:
        return str(first)
    return f"{first if count else first - 1},{count}"
