"""How much is said of one thing in an answer: bounds that those who make answers and those who check them both know.

Whoever checks the answers of a worker never loads what makes them.
"""

from __future__ import annotations

from typing import Final

MAX_DIFF_JSON: Final = 10_000
"""Most characters of a diff as JSON: with a path of nothing but escapes beside it, a result stays below 40,000."""

MAX_NOT_KEPT: Final = 10
"""Most names of what could not be kept; one more says how many there are besides."""

MAX_NAME: Final = 100
"""Most characters of such a name."""

DESCRIBE_NOTES: Final = 64
"""Most notes that one call describes."""

FIND_NOTES: Final = 200
"""Most notes that one call finds by their titles."""

MAX_SHOWN: Final = 200
"""Characters of a link, and of its fragment, that are shown."""

MAX_TARGETS: Final = 10
"""Most files that are named for one link."""

MAX_EXPECTED: Final = 10_000
"""Most places that one edit changes."""

MAX_KEY: Final = 256
"""Longest key, in characters. YAML's own bound for a key on one line is 1,024."""

MAX_DIFF_CHARACTERS: Final = 8_000
"""Most characters of a diff."""
