"""The steps of every change, in order, and the observer that is told when one is done.

A test stops a change (or kills its process) after each of these; so a step that is not listed here cannot
be tested, and one that is listed without a case fails the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

Observer = Callable[[StrEnum], None]


class Step(StrEnum):
    """One step that has just been done."""

    CREATE_FOLDERS_MADE = "create: folders made"
    CREATE_TEMPORARY = "create: temporary made"
    CREATE_WRITTEN = "create: written"
    CREATE_SYNCED = "create: synced"
    CREATE_NAMED = "create: named"
    CREATE_DURABLE = "create: durable"

    REPLACE_TEMPORARY = "replace: temporary made"
    REPLACE_WRITTEN = "replace: written"
    REPLACE_LIKENED = "replace: owner, attributes and mode copied"
    REPLACE_SYNCED = "replace: synced"
    REPLACE_LOOKED = "replace: looked once more"
    REPLACE_EXCHANGED = "replace: exchanged"
    REPLACE_VERIFIED = "replace: verified"
    REPLACE_TIDIED = "replace: former text removed"
    REPLACE_DURABLE = "replace: durable"

    STAGE_WRITTEN = "stage: all written"
    STAGE_SYNCED = "stage: all synced"
    STAGE_PUT = "stage: one put"
    STAGE_DURABLE = "stage: durable"

    MOVE_FOLDERS_MADE = "move: folders made"
    MOVE_MOVED = "move: moved"
    MOVE_VERIFIED = "move: verified"
    MOVE_DURABLE = "move: durable"

    TRASH_ENTRY_MADE = "trash: entry made"
    TRASH_MOVED = "trash: moved"
    TRASH_VERIFIED = "trash: verified"
    TRASH_DURABLE = "trash: durable"

    RESTORE_FOLDERS_MADE = "restore: folders made"
    RESTORE_MOVED = "restore: moved"
    RESTORE_VERIFIED = "restore: verified"
    RESTORE_DURABLE = "restore: durable"
    RESTORE_TIDIED = "restore: entry tidied"


def ignore(step: StrEnum) -> None:
    """Observe nothing: the default."""
