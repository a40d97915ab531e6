"""Decides which connection makes room where there are as many as there may be.

Whoever has a request under way keeps the connection. Of the others, those are closed first that have been answered for
good and linger, then those that have proven nobody, then those that have; each the one that has waited longest.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol


class Standing(Enum):
    """Why a connection has no request under way: the first in this order makes room first."""

    ENDING = "it has been answered for good, and what it still sends is thrown away"
    STRANGE = "it has asked nothing yet, so it has proven nobody"
    KNOWN = "its last request proved who calls"


class Held(Protocol):
    """A connection that can be closed."""

    def make_room(self) -> None:
        """Close it."""


class Places:
    """The connections without a request under way, by how long they have been so. For the event loop alone."""

    def __init__(self) -> None:
        # A dict keeps the order, and lets go of any member at once.
        self._waiting: dict[Standing, dict[Held, None]] = {standing: {} for standing in Standing}

    def wait(self, connection: Held, standing: Standing) -> None:
        """Let *connection* wait from now on."""
        self.leave(connection)
        self._waiting[standing][connection] = None

    def leave(self, connection: Held) -> None:
        """Let *connection* wait no longer: something is asked on it, or it has ended."""
        for waiting in self._waiting.values():
            waiting.pop(connection, None)

    def make_room(self) -> bool:
        """Close a connection that waits; say no where none does."""
        for standing in Standing:
            waiting = self._waiting[standing]
            if waiting:
                connection = next(iter(waiting))
                self.leave(connection)
                connection.make_room()
                return True
        return False
