"""A jail put to the test: workers that really try to get out, and what became of each attempt.

The workers are locked down as those that serve, by the same spec, and answer with `attacker.py` instead of a handler.
What they reach for is a folder of this trial's own, outside of the workspace, and it is looked at from here as well:
an attack that says it was refused and left a trace has worked. Attacks for which the filter kills get a worker each.

Nothing is left: not in the workspace, where nothing is made, and not outside of it. A kill of this process leaves the
folder of the trial, whose name begins with `PREFIX`, and no worker.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Any, Final, Self

from sandbox.errors import HandlerFailed, WorkerFailed
from sandbox.jail import limits
from sandbox.jail.attacker import ATTACK, HANDLER, HOLD
from sandbox.jail.attacks import ATTACKS, ESCAPED
from sandbox.jail.channel import MAX_REQUEST, encode
from sandbox.jail.employed import Employed
from sandbox.jail.endings import FORBIDDEN_CALL, STOPPED, read_exit
from sandbox.jail.hiring import ENTRY, begin, employ, hear
from sandbox.jail.limits import Account
from sandbox.jail.process import REAP_SECONDS
from sandbox.jail.report import Level, Report
from sandbox.jail.spec import JailSpec
from sandbox.jail.targets import Attack, Ground, Target
from sandbox.locking import never
from sandbox.names import display
from sandbox.records import replace

PREFIX: Final = "fsnotes-doctor-"
ATTACK_SECONDS: Final = 10.0
"""How long one attack may take, on a machine that is busy with other things; each is over in a moment."""

PLACES: Final = ("/tmp", "/var/tmp", "/dev/shm", "/run")  # noqa: S108 - a folder of a random name is made there
"""Where the folder of a trial is made if the usual temporary folder does not suit."""

MOVED: Final = "moved_folder"
"""The attack that needs somebody outside to move the folder that is held."""

_MAX_SAID: Final = 60
_MAX_PLACE: Final = 60  # bytes, so that a unix socket can be bound in the folder that is made there
_FILES: Final = ("secret.txt", "append.txt", "empty.txt", "remove.txt", "mode.txt", "times.txt", "link.txt")


class Outcome(StrEnum):
    """What became of an attack."""

    REFUSED = "refused"
    KILLED = "killed"
    """The worker was ended at the call, which is how the filter refuses what honest code never does."""
    POSSIBLE = "possible"
    UNCLEAR = "unclear"
    """It ended otherwise, so nothing is proven."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One attack and its outcome; *how* is the error that refused it, or what was seen."""

    attack: Attack
    outcome: Outcome
    how: str

    def is_left(self, report: Report) -> bool:
        """Whether *report* says that this may be possible."""
        return any(sentence in report.leaves for sentence in self.attack.left)


@dataclass(frozen=True, slots=True)
class Trial:
    """The report of the worker that was attacked in its workspace, and every attack."""

    report: Report
    tried: tuple[Tried, ...]

    @property
    def broken(self) -> tuple[Tried, ...]:
        """The attacks that worked although the report says they cannot, and those that prove nothing."""
        return tuple(
            each
            for each in self.tried
            if each.outcome is Outcome.UNCLEAR
            or (each.outcome is Outcome.POSSIBLE and not each.is_left(self.report))
        )


class NoPlaceError(Exception):
    """There is no temporary folder outside of the workspace that its workers could reach without a jail."""


def no_stop() -> None:
    """Go on: the default between two attacks."""


def attack(
    spec: JailSpec,
    *,
    require: Level,
    keys: str,
    entry: str = ENTRY,
    checkpoint: Callable[[], None] = no_stop,
) -> Trial:
    """Attack the jail that *spec* describes, in its workspace and in a folder of our own.

    Every worker must reach *require*. *keys* is what the state folder keeps from workers. *checkpoint* is called
    between attacks, and may raise to end it all. The calling thread must live as long as this. Raises WorkerFailed
    when a worker does not begin, and NoPlaceError.
    """
    owner = os.stat(spec.workspace)
    account = limits.account_for(owner.st_uid, owner.st_gid)
    with World(account, beside=(spec.workspace,)) as world:
        own = replace(spec, workspace=world.workspace, index=None, identity=None, index_identity=None)
        found: dict[str, Tried] = {}
        reports = []
        for ground, each in ((Ground.WORKSPACE, spec), (Ground.OWN, own)):
            options = {**each.options, "target": world.target(each, keys).to_json()}
            armed = replace(each, handler=HANDLER, options=options)
            with _Squad(armed, world, require=require, entry=entry) as squad:
                reports.append(squad.report)
                for one in ATTACKS:
                    if one.ground is ground:
                        checkpoint()
                        found[one.name] = squad.attempt(one)
    return Trial(reports[0], tuple(found[one.name] for one in ATTACKS))


def try_host(import_paths: tuple[str, ...], *, entry: str = ENTRY) -> Report:
    """Return the report of a worker in a folder of our own: the most that this host gives. Raises as `attack`."""
    with World(Account(os.geteuid(), os.getegid()), beside=()) as world:
        spec = JailSpec(world.workspace, "rw", HANDLER, import_paths=import_paths)
        return prove(replace(spec, options={"target": world.target(spec, "/").to_json()}), entry=entry)


def prove(spec: JailSpec, *, entry: str = ENTRY) -> Report:
    """Start a worker that is asked nothing, and return its report, failed layers included. Raises WorkerFailed."""
    with _hired(spec, entry) as worker:
        return hear(worker, spec)


# -- workers -------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _hired(spec: JailSpec, entry: str) -> Iterator[Employed]:
    worker = employ(spec, entry=entry)
    try:
        yield worker
    finally:
        worker.end(STOPPED)
        worker.process.wait_until_gone(REAP_SECONDS)
        worker.close()


class _Squad:
    """Workers of one spec, one after the other: an attack meets a living one."""

    def __init__(self, spec: JailSpec, world: World, *, require: Level, entry: str) -> None:
        self._spec = spec
        self._world = world
        self._require = require
        self._entry = entry
        self._held = contextlib.ExitStack()
        self._worker = self._start(self._held)

    def _start(self, held: contextlib.ExitStack) -> Employed:
        worker = held.enter_context(_hired(self._spec, self._entry))
        try:
            self.report = begin(worker, self._spec, require=self._require)
        except BaseException:
            held.close()
            raise
        return worker

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    def attempt(self, one: Attack) -> Tried:
        """Make one attack; a worker that did not survive the one before it is replaced."""
        if one.is_trip_wire:
            with contextlib.ExitStack() as held:
                return self._judge(self._start(held), one)
        if self._worker.ended is not None:
            self._held.close()
            self._worker = self._start(self._held)
        return self._judge(self._worker, one)

    def _judge(self, worker: Employed, one: Attack) -> Tried:
        before = self._world.trace(one)
        outcome, how = self._outcome(worker, one)
        if outcome is not Outcome.POSSIBLE and self._world.trace(one) != before:
            return Tried(one, Outcome.POSSIBLE, "seen from outside")
        return Tried(one, outcome, how)

    def _outcome(self, worker: Employed, one: Attack) -> tuple[Outcome, str]:
        try:
            if one.name == MOVED:
                self._ask(worker, HOLD, {})
                self._world.move_out()
            answer = self._ask(worker, ATTACK, {"name": one.name})
        except HandlerFailed as failure:
            return Outcome.UNCLEAR, display(failure.kind[:_MAX_SAID])
        except WorkerFailed as failure:
            return _end(worker, failure)
        how = answer.get("refused", 0)
        if how is None:
            return Outcome.POSSIBLE, "it worked"
        if type(how) is not str:
            return Outcome.UNCLEAR, "an answer that is none"
        return Outcome.REFUSED, display(how[:_MAX_SAID])

    @staticmethod
    def _ask(worker: Employed, operation: str, args: dict[str, Any]) -> dict[str, Any]:
        worker.calls += 1
        number = worker.calls
        frame = encode({"id": number, "op": operation, "args": args}, most=MAX_REQUEST)
        return worker.ask(frame, number=number, until=time.monotonic() + ATTACK_SECONDS, abandoned=never)


def _end(worker: Employed, failure: WorkerFailed) -> tuple[Outcome, str]:
    """Say what the end of a worker means that did not answer."""
    status = worker.process.wait_until_gone(REAP_SECONDS)
    if status == ESCAPED:
        return Outcome.POSSIBLE, "it worked"
    if status is not None and read_exit(status) == FORBIDDEN_CALL:
        return Outcome.KILLED, "SIGSYS"
    return Outcome.UNCLEAR, failure.why


# -- what there is to reach ----------------------------------------------------------------------------


class World:
    """A folder outside of any workspace, with a small workspace of its own in it, and sockets that listen.

    All of it belongs to *account*, as whom workers run, so that nothing but a jail keeps them out; and nothing of it
    lies beneath a folder of *beside*. Made when the block is entered, and removed at its end.
    """

    def __init__(self, account: Account, *, beside: tuple[str, ...]) -> None:
        self._account = account
        self._top = os.path.join(_place(account, beside), PREFIX + secrets.token_hex(8))
        self._outside = os.path.join(self._top, "outside")
        self.workspace = os.path.join(self._top, "ws")
        self._abstract = os.path.basename(self._top)
        self._sockets: dict[str, socket.socket] = {}
        self._folders: list[int] = []

    def __enter__(self) -> Self:
        try:
            self._furnish()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def target(self, spec: JailSpec, keys: str) -> Target:
        """Return it as a worker of *spec* sees it that is not jailed."""
        return Target(
            outside=self._outside,
            above=os.path.relpath(self._outside, spec.workspace),
            keys=keys,
            parent=os.getpid(),
            tcp=self._sockets["tcp"].getsockname()[1],
            udp=self._sockets["udp"].getsockname()[1],
            abstract=self._abstract,
            memory=spec.limits.memory,
            open_files=spec.limits.open_files,
            file_size=spec.limits.file_size,
        )

    def trace(self, one: Attack) -> object:
        """Return what an attack would have changed, or whether it has reached somebody."""
        if one.trace is None:
            return None
        if one.trace in self._sockets:
            return select.select([self._sockets[one.trace]], [], [], 0)[0] != []
        path = os.path.join(self._outside, one.trace)
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            return None
        return (status.st_mode, status.st_nlink, status.st_size, status.st_mtime_ns)

    def move_out(self) -> None:
        """Move the folder that a worker holds out of its workspace."""
        # SAFETY: by descriptors from before the folders were given away. As root, a path through what belongs to
        # another account by now could be led anywhere.
        workspace, outside = self._folders
        os.rename("sub", "sub", src_dir_fd=workspace, dst_dir_fd=outside)

    def _furnish(self) -> None:
        os.mkdir(self._top, 0o700)
        for folder in (self.workspace, f"{self.workspace}/sub", self._outside, f"{self._outside}/empty"):
            os.mkdir(folder, 0o700)
        files = {f"{self._outside}/{name}": b"a canary\n" for name in _FILES}
        files[f"{self._outside}/late.py"] = b"REACHED = True\n"
        files |= {f"{self.workspace}/{name}": b"a note\n" for name in ("mine.md", "taken.md", "left.md")}
        for path, data in files.items():
            with open(path, "xb") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(data)
        os.symlink("../outside/secret.txt", f"{self.workspace}/link")
        self._listen()
        for folder in (self.workspace, self._outside):
            self._folders.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC))
        if os.geteuid() == 0:
            # The uppermost folder last: nobody else can go in before, so nothing is exchanged for a link meanwhile.
            for folder, folders, names in os.walk(self._top, topdown=False):
                for name in (*folders, *names):
                    os.lchown(os.path.join(folder, name), self._account.uid, self._account.gid)
            os.lchown(self._top, self._account.uid, self._account.gid)

    def _listen(self) -> None:
        loopback = ("127.0.0.1", 0)
        for name, family, kind, address in (
            ("tcp", socket.AF_INET, socket.SOCK_STREAM, loopback),
            ("udp", socket.AF_INET, socket.SOCK_DGRAM, loopback),
            ("door", socket.AF_UNIX, socket.SOCK_STREAM, f"{self._outside}/door"),
            ("abstract", socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self._abstract}"),
        ):
            made = self._sockets[name] = socket.socket(family, kind)
            made.bind(address)
            if kind == socket.SOCK_STREAM:
                made.listen()

    def _remove(self) -> None:
        for made in self._sockets.values():
            made.close()
        while self._folders:
            os.close(self._folders.pop())
        shutil.rmtree(self._top, ignore_errors=True)


def _place(account: Account, beside: tuple[str, ...]) -> str:
    """Return a folder for temporaries that *account* can go into, and that is not beneath one of *beside*."""
    usual = []
    with contextlib.suppress(FileNotFoundError):
        usual.append(tempfile.gettempdir())
    for place in (*usual, *PLACES):
        real = os.path.realpath(place)
        apart = all(os.path.commonpath((real, folder)) != folder for folder in beside)
        short = len(os.fsencode(real)) <= _MAX_PLACE
        if apart and short and os.access(real, os.W_OK | os.X_OK) and _lets_in(account, real):
            return real
    raise NoPlaceError(
        "there is no temporary folder, of a short path and outside of the workspace, that its workers can go into"
    )


def _lets_in(account: Account, place: str) -> bool:
    if account.uid == os.geteuid():
        return True
    while True:
        status = os.stat(place)
        bit = stat.S_IXUSR if status.st_uid == account.uid else stat.S_IXOTH
        if not status.st_mode & bit:
            return False
        if place == "/":
            return True
        place = os.path.dirname(place)
