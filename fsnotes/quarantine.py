"""Decides which workspaces are closed because their workers broke their rules too often, and until when.

Each has a mark, a file in the private part of the state folder, so a quarantine holds for every process that shares
it and survives all of them, until somebody lifts it. What cannot be read as a mark counts as one. What a breach is,
and how many are too many, is decided in `sandbox.jail`.

Workers can fill the disk that the state folder is on, so room for the mark is taken beforehand, and the mark is written
into it. Where a file system takes new room even to write over what is there (btrfs, ZFS), that may not be enough.
"""

from __future__ import annotations

import json
import logging
import os
import stat
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from fsnotes.audit import AuditLog, Event
from fsnotes.confirm import private
from fsnotes.errors import Busy, ConfigurationError, Unavailable
from fsnotes.state import StateFolder
from sandbox.names import display
from sandbox.records import record, replace

DAMAGED: Final = "its mark cannot be read"

_MAX_TEXT: Final = 4200
_END_OF_TIME: Final = 1e11
_BLOCK: Final = 4096
_LONGEST_WHY: Final = "x" * 1000
_FIELDS: Final = {"workspace", "path", "since", "why"}

_log = logging.getLogger("fsnotes.quarantine")


@record
class Mark:
    """One quarantine: of which workspace and folder, since when (seconds of the clock), and why.

    Of one that cannot be read only *why* is known.
    """

    why: str
    workspace: str | None = None
    path: str | None = None
    since: float | None = None

    @property
    def moment(self) -> str | None:
        """The time since when, in UTC; None where that is not known."""
        return None if self.since is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.since))

    def __str__(self) -> str:
        return f"since {self.moment or 'an unknown time'}: {self.why}"


class Marks:
    """The marks of one state folder, found by the canonical paths of the workspaces."""

    def __init__(self, state: StateFolder) -> None:
        self._folder = state.quarantine
        self._name = state.identify

    def find(self, path: str) -> Mark | None:
        """Return the mark of the workspace at *path*, None when there is none."""
        return self._read(self._name(path) + ".json")

    def is_standing(self, path: str) -> bool:
        """Whether there is a mark, whatever it says. What cannot be found out is taken for one."""
        try:
            if stat.S_ISDIR(os.lstat(self._folder).st_mode):
                os.lstat(os.path.join(self._folder, self._name(path) + ".json"))
        except FileNotFoundError:
            return False
        except OSError:
            pass
        return True

    def named(self, workspace: str) -> tuple[Mark, ...]:
        """Return the readable marks of workspaces that were called so when they were closed."""
        return tuple(
            mark
            for name, mark in self._all()
            if mark.workspace == workspace and name == self._name(mark.path or "") + ".json"
        )

    def has_damaged(self) -> bool:
        """Whether there is a mark that cannot be read, so that nobody can say whose it is."""
        return any(mark.path is None for _, mark in self._all())

    def _all(self) -> tuple[tuple[str, Mark], ...]:
        try:
            files = sorted(name for name in os.listdir(self._folder) if name.endswith(".json"))
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise ConfigurationError(f"{display(self._folder)} cannot be read: {error.strerror}") from error
        marks = [(name, self._read(name)) for name in files]
        return tuple((name, mark) for name, mark in marks if mark is not None)

    def reserve(self, path: str, *, workspace: str) -> None:
        """Take the room for a mark of *workspace* at *path*, unless it has been. Raises ConfigurationError, Busy."""
        size = _room(Mark(_LONGEST_WHY, workspace, path, _END_OF_TIME))
        if self._has_room(path, size):
            return
        with private.opened(self._folder) as folder, private.exclusive(folder):
            private.reserve(folder, self._spare(path), size)

    def _has_room(self, path: str, size: int) -> bool:
        """Whether room is kept, as far as can be seen without opening anything: asked every second."""
        spare = os.path.join(self._folder, self._spare(path))
        try:
            status = os.lstat(spare)
            private.check_file(status, spare)
        except (OSError, ConfigurationError):
            return False
        return status.st_size >= size

    def put(self, mark: Mark, path: str) -> None:
        """Write the mark of the workspace at *path*, unless there is one. Raises ConfigurationError, Busy."""
        data, name = _encode(replace(mark, path=path)), self._name(path) + ".json"
        with private.opened(self._folder) as folder, private.exclusive(folder):
            if self.is_standing(path):
                return
            try:
                private.write_reserved(folder, self._spare(path), name, data)
            except ConfigurationError:
                private.write(folder, name, data)

    def remove(self, path: str) -> None:
        """Remove the mark of the workspace at *path*; its room stays taken. Raises ConfigurationError, Busy."""
        name = self._name(path) + ".json"
        with private.opened(self._folder) as folder, private.exclusive(folder):
            try:
                is_room = private.has_room(folder, name, 1)
            except ConfigurationError:
                is_room = False  # it is none of ours
            try:
                if is_room:
                    private.publish(folder, name, self._spare(path))
                else:
                    private.discard(folder, name)
                    os.fsync(folder)
            except OSError as error:
                raise ConfigurationError(
                    f"a mark in {display(self._folder)} cannot be removed: {error.strerror}"
                ) from error

    def _spare(self, path: str) -> str:
        # As long as the mark's own name, so that a folder that has room for one has it for the other.
        return self._name(path) + ".free"

    def _read(self, name: str) -> Mark | None:
        if not os.path.lexists(self._folder):
            return None
        try:
            with private.opened(self._folder) as folder:
                found = private.read(folder, name)
        except ConfigurationError as error:
            _log.warning("a mark of a quarantine cannot be read: %s", error)
            return Mark(DAMAGED)
        return None if found is None else _parse(found[0])


def _encode(mark: Mark) -> bytes:
    fields = {"workspace": mark.workspace, "path": mark.path, "since": mark.since, "why": mark.why}
    return json.dumps(fields).encode("ascii") + b"\n"


def _room(mark: Mark) -> int:
    """Return how much of the disk *mark* takes, in whole blocks."""
    return -(-len(_encode(mark)) // _BLOCK) * _BLOCK


def _parse(data: bytes) -> Mark:
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        return Mark(DAMAGED)
    if type(fields) is not dict or fields.keys() != _FIELDS:
        return Mark(DAMAGED)
    why, workspace, path, since = (fields[name] for name in ("why", "workspace", "path", "since"))
    if not all(map(_is_text, (why, workspace, path))):
        return Mark(DAMAGED)
    if type(since) not in (int, float) or not 0 <= since < _END_OF_TIME:  # a NaN compares false
        return Mark(DAMAGED)
    return Mark(why, workspace, path, float(since))


def _is_text(value: object) -> bool:
    """Say whether it is a text that a mark of ours can have: whole characters, as there are in each path served."""
    try:
        return type(value) is str and len(value) <= _MAX_TEXT and value.encode() is not None
    except UnicodeEncodeError:
        return False


def lift(state: StateFolder, path: str, *, workspace: str, principal: str, audit: AuditLog) -> Mark | None:
    """Lift the quarantine of the workspace at *path*, called *workspace*; return what it was, None when there is none.

    Servers notice it within moments. Raises Unavailable when the audit log has no room for it, ConfigurationError
    and Busy when the mark cannot be removed: then the quarantine stands.
    """
    marks = Marks(state)
    if not marks.is_standing(path):
        return None
    mark = marks.find(path)
    event = Event(
        principal, "doctor", workspace=workspace, path=None, jail="none", outcome="quarantine_lifted"
    )
    audit.refuse(event)
    marks.remove(path)
    return mark


class Quarantine:
    """The quarantines of the workspaces that one process serves, as it last looked. Thread-safe.

    *paths* are the canonical paths of the workspaces by their names.
    """

    def __init__(
        self,
        state: StateFolder,
        paths: Mapping[str, str],
        audit: AuditLog,
        *,
        clock: Callable[[], float],
    ) -> None:
        self._marks = Marks(state)
        self._paths = dict(paths)
        self._audit = audit
        self._clock = clock
        self._mutex = threading.Lock()
        self._standing = {name for name, path in self._paths.items() if self._marks.is_standing(path)}
        self._unwritten: dict[str, Mark] = {}
        self._without_room: dict[str, bool] = {}
        """Workspaces for which room is to be taken, and whether it was said that there is none."""

    def stands(self, name: str) -> bool:
        """Whether the workspace *name* is closed."""
        return name in self._standing

    def mark(self, name: str) -> Mark | None:
        """Return what is known about the quarantine of *name*; None when it is open."""
        return self._marks.find(self._paths[name]) or self._unwritten.get(name)

    def reserve(self) -> None:
        """Take the room for the marks of all workspaces; where there is none, say so, and try again at each `look`."""
        with self._mutex:
            self._without_room = dict.fromkeys(self._paths, False)
            self._take_room()

    def _take_room(self) -> None:
        for name, is_said in list(self._without_room.items()):
            if name in self._standing:
                continue  # it has what it needs, or takes it first
            try:
                self._marks.reserve(self._paths[name], workspace=name)
            except (ConfigurationError, Busy) as error:
                self._without_room[name] = True
                if not is_said:
                    _log.warning(
                        "workspace %r: no room can be kept for closing it: %s; if its workers break their rules while"
                        " there is none, it is closed in this process alone",
                        name,
                        error,
                    )
            else:
                self._without_room[name] = False
                if is_said:
                    _log.warning("workspace %r: room is kept for closing it", name)

    def impose(self, workspace: str, why: str, *, jail: str) -> None:
        """Close *workspace*, which was served at the level *jail*.

        Never fails: a mark that cannot be written holds in this process, and is tried again at each `look`.
        """
        mark = Mark(why, workspace, self._paths[workspace], self._clock())
        with self._mutex:
            self._standing.add(workspace)
            self._unwritten[workspace] = mark
            error = self._write(workspace)
        if error is None:
            _log.error("workspace %r is closed: %s; fsnotes doctor --clear opens it", workspace, why)
        else:
            _log.error(
                "workspace %r is closed in this process alone, and not after a restart, since that cannot be written"
                " down: %s; it is tried again until it can: %s",
                workspace,
                error,
                why,
            )
        event = Event("fsnotes", "quarantine", workspace, path=None, jail=jail, outcome="quarantined")
        try:
            self._audit.refuse(event)
        except Unavailable:
            _log.error("the audit log cannot be written: a quarantine is missing from it")

    def look(self) -> tuple[str, ...]:
        """See what other processes have closed or lifted meanwhile; return the names of what was lifted."""
        lifted = []
        with self._mutex:
            for name, path in self._paths.items():
                if name in self._unwritten:
                    if self._write(name) is None:
                        _log.error("the quarantine of workspace %r is written down", name)
                elif self._marks.is_standing(path):
                    self._standing.add(name)
                elif name in self._standing:
                    self._standing.discard(name)
                    lifted.append(name)
            self._take_room()
        for name in lifted:
            _log.warning("workspace %r is open again", name)
        return tuple(lifted)

    def _write(self, name: str) -> Exception | None:
        """Write the mark of *name* that is not written yet; return why that cannot be done. For who holds the mutex."""
        try:
            self._marks.put(self._unwritten[name], self._paths[name])
        except (ConfigurationError, Busy) as error:
            return error
        del self._unwritten[name]
        return None
