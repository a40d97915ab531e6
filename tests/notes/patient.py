"""Handlers for a worker that no slow machine makes end a call early."""

from __future__ import annotations

import fsnotes.notes.patterns  # noqa: F401 - all commands run here
from fsnotes.notes import finding, link_walk, scanning, stretches, surveying
from fsnotes.notes.writer import build as build

finding.CALL_SECONDS = link_walk.CALL_SECONDS = scanning.CALL_SECONDS = 60.0  # type: ignore[misc]
stretches.CALL_SECONDS = surveying.CALL_SECONDS = 60.0  # type: ignore[misc]
