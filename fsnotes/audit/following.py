"""Decides what is shown of a log that goes on: each line when it has its outcome, from one file to the next.

A change that has none yet is shown as `begun` when it is five seconds old, and once more when it has one. Looks at the
files again and again instead of being told: that works on every file system, and keeps nobody waiting.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from fsnotes.audit.entries import Entry, Wanted, parse
from fsnotes.audit.lines import Line, forwards, line_at
from fsnotes.audit.reading import START, Files, History, Resume, identity, resume
from fsnotes.errors import Unavailable
from sandbox.releasing import release

BEGUN_SECONDS: Final = 5.0
"""How long a line waits for its outcome, or for the rest of itself, before it is shown, or counted as broken."""

MOST_OPEN: Final = 1000
"""How many lines without an outcome are watched in one file; of more, the oldest are what they are."""

_MOST_FORMER: Final = 8
"""How many older files are watched, for lines in them that have no outcome."""


class _Open:
    """A line without an outcome: until when it is waited for, and whether it was shown as it is."""

    __slots__ = ("is_shown", "until")

    def __init__(self, until: float, *, is_shown: bool = False) -> None:
        self.until = until
        self.is_shown = is_shown


class _Tail:
    """One file that is followed, *after* what is known of it, of which the *begun* lines were shown as such."""

    def __init__(self, descriptor: int, *, after: Resume = START, begun: Iterable[int] = ()) -> None:
        self.descriptor = descriptor
        self.identity = identity(descriptor)
        self.broken = 0
        self._at = after.at
        self._is_taken = after.is_taken
        self._open = {start: _Open(0.0, is_shown=True) for start in begun}

    @property
    def is_settled(self) -> bool:
        """Whether nothing in it waits for anything."""
        return not self._open

    def take(self, now: float) -> list[Entry]:
        """Return what there is to be shown since the last time."""
        found: list[Entry] = []
        for start, line in list(self._open.items()):
            entry = parse(line_at(self.descriptor, start) or b"")
            is_due = now >= line.until and not line.is_shown
            if (entry is None and is_due) or (entry is not None and not entry.is_begun):
                found += self._give_up(start)
            elif entry is not None and is_due:
                line.is_shown = True
                found.append(entry)
        for start, _, text in self._fresh():
            if not text.strip(b" "):
                continue
            entry = parse(text)
            if entry is not None and not entry.is_begun:
                found.append(entry)
                continue
            # Without its outcome, or met while it was being overwritten.
            self._open[start] = _Open(now + BEGUN_SECONDS)
            if len(self._open) > MOST_OPEN:
                found += self._give_up(next(iter(self._open)))
        return found

    def _give_up(self, start: int) -> list[Entry]:
        """Watch a line no longer, and return it if it was not shown yet."""
        was_shown = self._open.pop(start).is_shown
        entry = parse(line_at(self.descriptor, start) or b"")
        self.broken += entry is None
        return [] if entry is None or (was_shown and entry.is_begun) else [entry]

    def _fresh(self) -> list[Line]:
        """Return the lines that have come."""
        size = os.fstat(self.descriptor).st_size
        if size < self._at:  # another program has cut it
            self._at, self._is_taken = 0, False
            self._open.clear()
        lines = list(forwards(self.descriptor, size, start=self._at))
        if not lines:
            return []
        fresh = lines[1:] if self._is_taken else lines
        after = resume(lines[-1])
        self._at, self._is_taken = after.at, after.is_taken
        return fresh


class Follower:
    """What is added to a log after its *history*, and what becomes of its lines that have no outcome. Close it.

    *begun* are the offsets of such lines in the log itself that were shown already. *broken* counts as in a history,
    and *files* names what is none of ours.
    """

    def __init__(self, path: str, history: History, wanted: Wanted, *, begun: Iterable[int] = ()) -> None:
        self.files = Files(path)
        self._wanted = wanted
        self._known = history.known
        self._former: list[_Tail] = []
        self._tail: _Tail | None = None
        self._broken = 0
        if history.current is not None:
            self._tail = _Tail(os.dup(history.current), after=history.resume, begun=begun)

    @property
    def broken(self) -> int:
        """How many lines were torn, or none of the log's."""
        return self._broken + sum(tail.broken for tail in self._tails())

    def close(self) -> None:
        """Let go of the files."""
        for tail in self._tails():
            release(tail.descriptor)
        self._former, self._tail = [], None

    def poll(self, now: float) -> list[Entry]:
        """Return what has come since the last time, *now* being seconds that only grow. Raises Unavailable."""
        try:
            found = [entry for tail in self._former for entry in tail.take(now)]
            self._let_go()
            while True:
                if self._tail is not None:
                    found += self._tail.take(now)
                    if self.files.identity() == self._tail.identity:
                        break
                    found += self._tail.take(now)  # what came before it was renamed
                if not self._advance():
                    break
        except OSError as error:
            raise Unavailable("the audit log cannot be read") from error
        return [entry for entry in found if self._wanted.has(entry)]

    def _tails(self) -> list[_Tail]:
        return [*self._former, *([] if self._tail is None else [self._tail])]

    def _let_go(self) -> None:
        """Close the older files in which nothing is waited for."""
        kept = [tail for tail in self._former if not tail.is_settled][-_MOST_FORMER:]
        for tail in self._former:
            if tail not in kept:
                self._broken += tail.broken
                release(tail.descriptor)
        self._former = kept

    def _advance(self) -> bool:
        """Go on with the next file: the older one that follows, else the log itself; False where there is none."""
        before = None if self._tail is None else self._tail.identity
        if before is not None:
            number = self.files.number_of(before)
            self._known = self._known if number is None else number
        while True:
            later = self._later()
            if later:
                self._known = later[0]
                descriptor = self.files.open(later[0])
                if descriptor is None:
                    continue  # removed meanwhile, or none of ours
            else:
                descriptor = self.files.open()
                if descriptor is None:
                    return False
                later = self._later()
                if later and self.files.identity(later[0]) != identity(descriptor):
                    release(descriptor)  # it is not the next one any more
                    continue
            if identity(descriptor) == before:
                release(descriptor)
                return False
            if self._tail is not None:
                self._former.append(self._tail)
            self._tail = _Tail(descriptor)
            return True

    def _later(self) -> list[int]:
        return [number for number in self.files.numbers() if number > self._known]
