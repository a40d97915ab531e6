"""How one call looks into the notes of a workspace, one after the other in path order, for as long as a call may take.

A call is bounded by entries, by notes, by bytes and by time, as a search for titles is (`finding.py`), and by what it
has to say. The next call goes on where it ended.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Container, Generator, Iterator, Sequence
from typing import Final

from fsnotes.notes.commands import Skipped, by_reason
from fsnotes.notes.scope import Scope
from fsnotes.notes.walking import (
    Finding,
    Known,
    Passed,
    Position,
    Seen,
    left_out,
    position_text,
    reason_of,
    walk,
)
from sandbox.errors import Missing, NotAFolder, SandboxError
from sandbox.root import Root

ENTRIES: Final = 2_000
"""A call examines no more entries than this."""

MANY_ENTRIES: Final = 20_000
"""The same where most of them are only passed by."""

NOTES: Final = 500
"""A call looks into no more notes than this."""

READ_BYTES: Final = 1_048_576
"""A call begins no further note once it has read this much."""

CALL_SECONDS: Final = 0.05
"""A call begins no further note once it has taken this long."""

LEAST_ENTRIES: Final = 16
"""A call examines this many entries whatever time it takes, so that a chain of calls comes to its end."""

TOLD_CHARACTERS: Final = 131_072
"""A call begins no further note once it has found so much text to tell of: a reply has a bound in bytes."""

Clock = Callable[[], float]

Wanted = Callable[[Sequence[Seen]], Container[str]]
"""Says, of some notes, at which paths those are that have to be looked into."""

_BATCH: Final = 256
"""Of how many entries it is asked together which are wanted."""


class Stretch:
    """The part of the walk through *folder* that one call makes, behind *after*. To be gone through once.

    *resume* is the position from which the next call goes on, None once the walk is over.
    """

    __slots__ = (
        "_clock", "_entries", "_seen", "_shelves", "_size", "_skipped", "_steps", "_told", "resume",
    )  # fmt: skip

    def __init__(
        self,
        root: Root,
        scope: Scope,
        folder: str = "",
        *,
        recursive: bool = True,
        after: str | None,
        entries: int = ENTRIES,
        wanted: Wanted | None = None,
        known: Known | None = None,
        passed: Callable[[str], None] = lambda _: None,
        clock: Clock = time.monotonic,
    ) -> None:
        """Begin it. With *wanted*, the others are passed by, and *passed* hears of each; of those *known* nobody hears.

        Raises what `walk` raises.
        """
        self.resume: str | None = None
        self._clock = clock
        self._steps = walk(root, scope, folder, recursive=recursive, after=after, known=known)
        self._entries = max(1, min(entries, ENTRIES if wanted is None else MANY_ENTRIES))
        if wanted is not None:
            self._steps = _chosen(self._steps, wanted, passed)
        self._shelves = root.shelves()
        self._seen = self._size = self._told = 0
        self._skipped: list[Skipped] = []

    def notes(self) -> Generator[tuple[Seen, bytes], None, None]:
        """Yield each note with its bytes; those that vanished are left out, and what cannot be read is `skipped`.

        Close it: a folder is open meanwhile.
        """
        try:
            yield from self._notes()
        finally:
            self._shelves.close()

    def skip(self, note: Seen, reason: str) -> None:
        """Leave out a note that was looked into."""
        self._skipped.append(left_out(note.path.parts, reason))

    def tell(self, characters: int) -> None:
        """Take into account that the reply has so many *characters* more."""
        self._told += characters

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What was left out, in order."""
        return tuple(self._skipped)

    @property
    def counted(self) -> tuple[Skipped, ...]:
        """What was left out, one count for each reason and no names: a listing has them."""
        return by_reason(self._skipped)

    def _notes(self) -> Generator[tuple[Seen, bytes], None, None]:
        end = math.inf
        for examined, (position, finding) in enumerate(self._steps, start=1):
            match finding:
                case Seen():
                    data = self._look(finding)
                    if data is not None:
                        yield finding, data
                case Skipped(path):
                    self._skipped.append(finding)
                    self._told += len(path or "")
            if examined == 1:
                # From here on: what it took to list the folder is no reason to look at less of it.
                end = self._clock() + CALL_SECONDS
            if self._is_over(examined) or (examined >= LEAST_ENTRIES and not self._clock() < end):
                self.resume = position_text(position)
                return

    def _look(self, note: Seen) -> bytes | None:
        self._seen += 1
        try:
            data = self._shelves.read(str(note.path))
        except (Missing, NotAFolder):
            return None
        except SandboxError as error:
            self.skip(note, reason_of(error))
            return None
        self._size += len(data)
        return data

    def _is_over(self, examined: int) -> bool:
        return (
            examined >= self._entries
            or self._seen >= NOTES
            or self._size >= READ_BYTES
            or self._told >= TOLD_CHARACTERS
        )


def _batch(steps: Iterator[tuple[Position, Finding]]) -> list[tuple[Position, Finding]]:
    """Return the next steps: so many, or fewer where one of them stands for many notes."""
    batch: list[tuple[Position, Finding]] = []
    for step in itertools.islice(steps, _BATCH):
        batch.append(step)
        if isinstance(step[1], Passed):
            break
    return batch


def _chosen(
    steps: Iterator[tuple[Position, Finding]], wanted: Wanted, passed: Callable[[str], None]
) -> Iterator[tuple[Position, Finding]]:
    """Yield all *steps*, with nothing found where a note is not wanted: it is told of as it is passed by."""
    while batch := _batch(steps):
        chosen = wanted([finding for _, finding in batch if isinstance(finding, Seen)])
        for position, finding in batch:
            if isinstance(finding, Seen) and (path := str(finding.path)) not in chosen:
                passed(path)
                yield position, None
            else:
                yield position, finding
