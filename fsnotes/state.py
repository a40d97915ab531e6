"""Decides how the state folder is laid out and who may reach it.

`private/` (0700) holds keys, ledger, tokens and audit log and is this process's alone. `ws/<id>/` holds what a worker
gets: nothing in it is ever parsed by the process that holds the keys. To whom root gives such a part is decided in
`custody.py`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from typing import Final

from fsnotes.errors import ConfigurationError
from fsnotes.notes.opening import INDEX_FOLDER
from sandbox.names import display
from sandbox.place import Place
from sandbox.records import record
from sandbox.releasing import release

_CLOSED: Final = 0o700
_PASSABLE: Final = 0o711
"""What root makes on the way to parts that may become another account's: to be passed, and not to be looked into."""

# To look at a folder and make another one in it is all that is needed; macOS has no such flag and opens it.
_LOOK: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_NOTHING: Final = (0, 0)
"""The identity of no folder."""


@record
class Part:
    """The part of the state that is for one workspace, as it was looked at: a folder, and the user it belongs to.

    *name* is what it is called in `ws/`; where that is a link, *place* is where it leads. *owner* is None for one that
    root could not look at.
    """

    name: str
    place: Place
    owner: int | None

    @property
    def is_own(self) -> bool:
        """Whether it is this process's own. Nothing in one that is not may be opened by it."""
        return self.owner == os.geteuid()

    @property
    def lock_file(self) -> str | None:
        """The file that stands in for a workspace's lock, None where that is not this process's to open."""
        return os.path.join(self.place.path, "lock") if self.is_own else None

    def check_own(self) -> Place:
        """Return its place, for this process's own use. Raises ConfigurationError where it belongs to another user."""
        if not self.is_own:
            whose = "cannot be looked at" if self.owner is None else f"belongs to uid {self.owner}"
            raise ConfigurationError(
                f"state folder {display(self.place.path)}: {whose}; without a jail nothing of another user's is used,"
                " so choose another state folder with --state-dir"
            )
        return self.place


@record
class StateFolder:
    """An opened state folder: its parts exist, belong to this user and are closed to others."""

    path: str

    @classmethod
    def open(cls, path: str) -> StateFolder:
        """Create what is missing and check what is there. Raises ConfigurationError."""
        mode = _PASSABLE if os.geteuid() == 0 else _CLOSED
        try:
            os.makedirs(path, mode=mode, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(f"state folder {display(path)}: {error.strerror}") from error
        _check(path, closed=False)
        state = cls(path)
        _make(os.path.join(path, "private"), mode=_CLOSED, closed=True)
        _make(state.parts, mode=mode, closed=False)
        return state

    @property
    def parts(self) -> str:
        """The folder of the parts that are for workspaces."""
        return os.path.join(self.path, "ws")

    @property
    def keys(self) -> str:
        """The key ring's file."""
        return os.path.join(self.path, "private", "keys.json")

    @property
    def ledger(self) -> str:
        """The one-time ledger's file."""
        return os.path.join(self.path, "private", "ledger.sqlite3")

    @property
    def tokens(self) -> str:
        """The file of the static tokens' hashes, which need not be there."""
        return os.path.join(self.path, "private", "tokens.json")

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

    def workspace(self, canonical_path: str) -> Part:
        """Return (and make) the part of the workspace at *canonical_path*: `ws/<id>`, or where that leads.

        The folder of its index is made in it too, where it is this user's own.

        Where that leads there are no links, and it is what was looked at: it is to be handed on, and not asked for
        again. Root may be told of one that is another user's, and then of nothing else of it: whatever that user has
        made of it is no reason not to start.

        Raises ConfigurationError for one that is a link to where a worker must not get, or lies there.
        """
        name = self.identify(canonical_path)
        folder = os.path.join(self.parts, name)
        try:
            _make_in(self.parts, name)
        except OSError as error:
            raise ConfigurationError(f"state folder {display(folder)}: {error.strerror}") from error
        real = os.path.realpath(folder)
        self._check_apart(real, name, canonical_path)
        try:
            opened = os.open(real, _LOOK | os.O_NOFOLLOW)
            try:
                status = os.fstat(opened)
            except BaseException:
                release(opened)
                raise
        except OSError as error:
            if os.geteuid() == 0:
                return Part(name, Place(real, _NOTHING), None)
            raise ConfigurationError(f"state folder {display(folder)}: {error.strerror}") from error
        try:
            if os.geteuid() != 0 or status.st_uid == 0:
                _judge(status, folder, closed=False)
                # In the folder that was judged. Who keeps the index says it where this cannot be.
                with contextlib.suppress(OSError):
                    os.mkdir(INDEX_FOLDER, _CLOSED, dir_fd=opened)
        finally:
            release(opened)
        return Part(name, Place(real, (status.st_dev, status.st_ino)), status.st_uid)

    def _check_apart(self, real: str, name: str, canonical_path: str) -> None:
        """Raise ConfigurationError where a link leads to a part of the state that is not its own, or to notes."""
        parts = os.path.realpath(self.parts)
        # A link may lead to another disk, but to no other part of the state.
        own = () if real == os.path.join(parts, name) else (os.path.realpath(self.path), parts)
        for closed in (*own, os.path.realpath(os.path.join(self.path, "private")), canonical_path):
            if os.path.commonpath((real, closed)) in (real, closed):
                raise ConfigurationError(
                    f"state folder {display(os.path.join(self.parts, name))}: it leads to what no worker may have"
                )


def _make_in(path: str, name: str) -> None:
    folder = os.open(path, _LOOK)
    try:
        os.mkdir(name, _CLOSED, dir_fd=folder)
    except FileExistsError:
        pass
    finally:
        release(folder)


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
    _judge(status, path, closed=closed)


def _judge(status: os.stat_result, path: str, *, closed: bool) -> None:
    if not stat.S_ISDIR(status.st_mode):
        raise ConfigurationError(f"state folder {display(path)}: not a folder")
    if status.st_uid != os.geteuid():
        raise ConfigurationError(f"state folder {display(path)}: belongs to another user")
    if status.st_mode & (0o077 if closed else 0o022):
        raise ConfigurationError(f"state folder {display(path)}: open to other users (chmod 700 closes it)")
