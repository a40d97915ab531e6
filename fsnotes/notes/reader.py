"""The handlers as a worker serves them that only looks: what reads patterns, and the index, is loaded with it.

Apart from `worker.py`, since loading RE2 takes as long as a tenth of a worker's start, and no change searches.
"""

from __future__ import annotations

import fsnotes.notes.asking
import fsnotes.notes.combed
import fsnotes.notes.known_paths  # noqa: F401 - these are loaded when the first command needs them
from fsnotes.notes.worker import build as build
