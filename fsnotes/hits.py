"""What a search returns, and the one JSON shape of it: see `outcomes.py`."""

from __future__ import annotations

from fsnotes.freshness import Progress
from fsnotes.notes.commands import Hit, Skipped
from fsnotes.outcomes import Document, skipped
from sandbox.records import record


def hit(found: Hit) -> Document:
    """Return a note as a search shows it."""
    lines = [{"line": each.line, "text": each.excerpt} for each in found.lines]
    return {"path": found.path, "title": found.title, "lines": lines}


@record
class NotesFound:
    """One page of what a search found. *partial* says that it ends where it does since it took long.

    *progress* is that of the index, where somebody keeps it.
    """

    hits: tuple[Hit, ...]
    partial: bool
    skipped: tuple[Skipped, ...]
    cursor: str | None
    progress: Progress | None = None

    def document(self) -> Document:
        """Return the JSON shape."""
        shape: Document = {
            "hits": [hit(found) for found in self.hits],
            "partial": self.partial,
            "skipped": [skipped(item) for item in self.skipped],
        }
        if self.cursor is not None:
            shape["nextCursor"] = self.cursor
        if self.progress is not None and not self.progress.is_ready:
            shape["index"] = {"indexed": self.progress.indexed, "remaining": self.progress.remaining}
        return shape
