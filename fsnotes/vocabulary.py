"""The words and bounds that a caller may choose from, apart from what obeys them: a grammar needs nothing else."""

from __future__ import annotations

from typing import Final

MAX_LIMIT: Final = 200
"""Most items of one page."""

MOST_LINES: Final = 100_000
"""Most lines of the audit log that are shown at once."""

SORTS: Final = ("path", "modified", "size")
"""How a listing may be ordered: by path, newest first, largest first."""

DIRECTIONS: Final = ("out", "in", "broken", "ambiguous")
"""Which links may be asked for: out of a note, in to it, those to nothing, those to several files."""
