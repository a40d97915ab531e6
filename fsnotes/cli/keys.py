"""`keys`: the ring that seals confirmation state. Secrets are never shown."""

from __future__ import annotations

import argparse
import os
import time

from fsnotes.cli import columns
from fsnotes.cli.console import Console
from fsnotes.cli.logs import start_logging
from fsnotes.cli.settings import settings_for
from fsnotes.confirm import KeyRing
from fsnotes.errors import ConfigurationError
from fsnotes.outcomes import timestamp
from fsnotes.state import StateFolder


def _ring(options: argparse.Namespace) -> KeyRing:
    if os.environ.get("FSNOTES_STATE_KEYS"):
        raise ConfigurationError("the keys come from FSNOTES_STATE_KEYS: change them there")
    settings = settings_for(options)
    start_logging(settings.log_level, settings.log_format)
    return KeyRing.open(StateFolder.open(settings.state_dir).keys)


def rotate(options: argparse.Namespace, console: Console) -> int:
    """Put a fresh key first. Forms in flight stay answerable until they expire."""
    ring = _ring(options)
    ring.rotate(time.time())
    return _show(ring, console)


def show(options: argparse.Namespace, console: Console) -> int:
    """List the keys, the sealing one first."""
    return _show(_ring(options), console)


def _show(ring: KeyRing, console: Console) -> int:
    for place, key in enumerate(ring.keys):
        does = "seals" if place == 0 else "opens"
        if console.is_terminal:
            console.say(f"{key.id.hex()}  {does}  made {columns.moment(key.created)}")
        else:
            console.say(f"{key.id.hex()}\t{does}\t{timestamp(key.created * 1_000_000_000)}")
    return 0
