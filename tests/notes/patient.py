"""Handlers for a worker that no slow machine makes end a call early."""

from __future__ import annotations

from fsnotes.notes import finding, scanning, stretches
from fsnotes.notes.writer import build as build

finding.CALL_SECONDS = scanning.CALL_SECONDS = stretches.CALL_SECONDS = 60.0  # type: ignore[misc]
