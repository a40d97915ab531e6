"""Decides how the state folder is laid out and who may reach it.

`private/` (0700) holds keys, ledger and audit log and is this process's alone. `ws/<id>/` holds what a worker
gets: nothing in it is ever parsed by the process that holds the keys.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass

from fsnotes.errors import ConfigurationError
from sandbox.names import display


@dataclass(frozen=True, slots=True)
class StateFolder:
    """An opened state folder: its parts exist, belong to this user and are closed to others."""

    path: str

    @classmethod
    def open(cls, path: str) -> StateFolder:
        """Create what is missing and check what is there. Raises ConfigurationError."""
        try:
            os.makedirs(path, mode=0o700, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(f"state folder {display(path)}: {error.strerror}") from error
        _check(path, closed=False)
        state = cls(path)
        for part, closed in (("private", True), ("ws", False)):
            _make(os.path.join(path, part), mode=0o700, closed=closed)
        return state

    @property
    def keys(self) -> str:
        """The key ring's file."""
        return os.path.join(self.path, "private", "keys.json")

    @property
    def ledger(self) -> str:
        """The one-time ledger's file."""
        return os.path.join(self.path, "private", "ledger.sqlite3")

    @property
    def audit(self) -> str:
        """The audit log's file."""
        return os.path.join(self.path, "private", "audit.jsonl")

    @property
    def quarantine(self) -> str:
        """The folder of the marks of closed workspaces, which need not be there."""
        return os.path.join(self.path, "private", "quarantine")

    @staticmethod
    def identify(canonical_path: str) -> str:
        """Return the id of the workspace at *canonical_path*: what is kept of it has this name."""
        return hashlib.sha256(canonical_path.encode("utf-8")).hexdigest()[:32]

    def workspace(self, canonical_path: str) -> str:
        """Return (and make) the part of the workspace at *canonical_path*: `ws/<id>`, or where that leads.

        What is returned has no links, and is what was looked at: it is to be handed on, and not asked for again.
        Raises ConfigurationError for one that is a link to where a worker must not get, or lies there.
        """
        folder = os.path.join(self.path, "ws", self.identify(canonical_path))
        _make(folder, mode=0o700, closed=False)
        real, parts = os.path.realpath(folder), os.path.realpath(os.path.join(self.path, "ws"))
        # A link may lead to another disk, but to no other part of the state.
        is_own = real == os.path.join(parts, self.identify(canonical_path))
        own = () if is_own else (os.path.realpath(self.path), parts)
        for closed in (*own, os.path.realpath(os.path.join(self.path, "private")), canonical_path):
            if os.path.commonpath((real, closed)) in (real, closed):
                raise ConfigurationError(
                    f"state folder {display(folder)}: it leads to what no worker may have"
                )
        _check(real, closed=False)  # of what is handed on, not of what led there a moment ago
        return real


def _make(path: str, *, mode: int, closed: bool) -> None:
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        pass
    except OSError as error:
        raise ConfigurationError(f"state folder {display(path)}: {error.strerror}") from error
    _check(path, closed=closed)


def _check(path: str, *, closed: bool) -> None:
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode) and not closed:
            status = os.stat(path)
    except OSError as error:
        raise ConfigurationError(f"state folder {display(path)}: {error.strerror}") from error
    if not stat.S_ISDIR(status.st_mode):
        raise ConfigurationError(f"state folder {display(path)}: not a folder")
    if status.st_uid != os.geteuid():
        raise ConfigurationError(f"state folder {display(path)}: belongs to another user")
    if status.st_mode & (0o077 if closed else 0o022):
        raise ConfigurationError(f"state folder {display(path)}: open to other users (chmod 700 closes it)")
