"""A folder for harnesses that need files; it goes when the process ends."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path


@cache
def scratch(name: str) -> Path:
    """Return the folder of this *name*, which is made empty the first time."""
    folder = Path(tempfile.mkdtemp(prefix="fsnotes-fuzz-")) / name
    folder.mkdir()
    atexit.register(shutil.rmtree, folder.parent, ignore_errors=True)
    return folder
