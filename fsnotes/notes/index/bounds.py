"""How much one call does (a worker that is asked for long work is asked again and again), and how much it shows."""

from __future__ import annotations

from typing import Final

CALL_SECONDS: Final = 0.04
"""A call begins no further piece once it has taken this long."""
CALL_BYTES: Final = 1 << 20
"""A call reads no further note once it has read this much; one note may be as large by itself."""
WHOLE_BYTES: Final = 1 << 20
"""A note of no more bytes is looked into whole, a larger one piece by piece (`pieces.py`)."""
LOOK_SECONDS: Final = 4.0
"""A call gives up looking through a large note once that has taken so long."""
MAX_LINES: Final = 3
"""Most lines of a note that show why it was found."""
MAX_CHARACTERS: Final = 200
"""Most characters of such a line."""
MAX_TITLE: Final = 200
"""Most characters of a title that is shown with such lines."""
MAX_WRITTEN: Final = 400
"""Most characters of a line or title as JSON has it, where a quotation mark takes two and a control character six."""
