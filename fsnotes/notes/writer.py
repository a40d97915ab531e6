"""The handlers as a worker serves them that also makes names: what judges new names is loaded with it.

Apart from `worker.py`, since loading it takes as long as a tenth of a worker's start.
"""

from __future__ import annotations

from fsnotes.notes.worker import build as build
from sandbox.names import check_new_name

check_new_name("loads pathvalidate.md")
