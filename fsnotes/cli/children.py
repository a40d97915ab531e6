"""Decides how one of several serving processes is started; where it begins is `child`.

It is the same interpreter with the same folders to import from, and runs the same command; what makes it a child is
two descriptors that only its parent can give it. There is no option and no variable for that.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Final

from fsnotes.errors import ConfigurationError

BOOTSTRAP: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from importlib import import_module;"
    " sys.exit(import_module('fsnotes.cli.child').main(sys.argv[2:]))"
)


def command(words: Sequence[str], *, listening: int, link: int, is_first: bool) -> list[str]:
    """Return the command of a child that runs the command line *words* with these two descriptors.

    Raises ConfigurationError where this program does not know its interpreter.
    """
    if not sys.executable:
        raise ConfigurationError("[http] workers: this program does not know its Python interpreter")
    # SAFETY: neither way is the current folder imported from unless this process does so, too: it may be a workspace.
    safely = "-I" if sys.flags.isolated else "-P"
    turn = "first" if is_first else "further"
    folders = json.dumps([os.path.abspath(folder) if folder else folder for folder in sys.path])
    return [
        sys.executable,
        safely,
        "-c",
        BOOTSTRAP,
        folders,
        str(listening),
        str(link),
        turn,
        *words,
    ]
