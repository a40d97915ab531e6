"""Runs the command line: `python -m fsnotes` is the same as `fsnotes`."""

from __future__ import annotations

import sys

from fsnotes.cli import main

sys.exit(main())
