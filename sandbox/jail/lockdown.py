"""`lock_down`: the steps that turn a fresh process into a worker with one workspace, in their only order.

Each step can undo or prevent another: namespaces need what the later ones take away, the account can only be
changed before the capabilities go, being non-dumpable would keep the maps of a user namespace from being
written, Landlock needs no_new_privs, and the filter comes last since it forbids all the others. Each layer is tried
as soon as it is in force, before the next one could refuse for it, and the report says what was refused. Nothing is
inferred from versions.

What a host does not give is `unavailable` in the report, with the call that failed; whether that is enough
is not decided here. Only an answer of the host is that: where a shortage, or the end of a child, was in the way of
finding out, the layer has failed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import stat
import threading
from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from sandbox import _linux
from sandbox.errors import LockdownFailed, RootUnusable
from sandbox.jail import landlock, limits, namespaces, proving, seccomp
from sandbox.jail.landlock import Right
from sandbox.jail.limits import Account
from sandbox.jail.namespaces import Entered, Folder
from sandbox.jail.proving import Attempt, Outcome, Proofs
from sandbox.jail.rehearsing import NoAnswer, ask
from sandbox.jail.report import (
    LANDLOCK_FLOOR,
    Fact,
    Layer,
    LayerName,
    LayerState,
    Level,
    Report,
    is_shortage,
    reason,
)
from sandbox.jail.spec import INSIDE_INDEX, INSIDE_WORKSPACE, JailSpec, Plan
from sandbox.names import display
from sandbox.policy import Policy
from sandbox.resolve import LOOK_FOLDER, choose_resolver

_STANDARD: Final = (0, 1, 2)


class _Progress:
    """One layer on its way: in force or not, why not, and what has proven it."""

    def __init__(self) -> None:
        self.why: str | None = None
        self.in_force = False
        self.proofs = Proofs()
        self.facts: dict[str, Fact] = {}

    @property
    def is_possible(self) -> bool:
        """Whether nothing is known that stands in the way."""
        return self.why is None and not self.proofs.failures

    def finish(self, name: LayerName, *, wanted: bool = True) -> Layer:
        state = LayerState.ENFORCED
        if not wanted:
            state = LayerState.OFF
        elif not (self.in_force or self.proofs.failures):
            state = LayerState.UNAVAILABLE
        elif self.proofs.failures or not self.proofs.refused:
            state = LayerState.FAILED
            self.why = "; ".join(self.proofs.failures) or "nothing on this host can prove it"
        return Layer(name, state, self.why, tuple(self.proofs.refused), MappingProxyType(self.facts))


def lock_down(plan: Plan) -> Report:
    """Take everything from this process but the folders of the plan, prove it, and return the proof.

    To be called once, after every import, in a process of one thread. It returns standing in the workspace, with
    only 0, 1, 2 and the kept descriptors open. In namespaces this process splits, and the call returns in the
    inner half, as process 1. A report that `failed` must still be sent, and then nothing else be done.

    Raises LockdownFailed, for whatever the system refuses too, when there is no sense in going on; the process
    must end then.
    """
    try:
        return _lock_down(plan)
    except OSError as error:
        raise LockdownFailed(
            f"a step of the lock-down failed: {reason(error)}", passing=is_shortage(error)
        ) from error


def _lock_down(plan: Plan) -> Report:
    spec = plan.spec
    _need_one_thread()
    _check_descriptors(plan.keep)
    try:
        limits.die_with_parent(plan.parent)
    except OSError as error:
        raise LockdownFailed(f"there is no jail on this system: {reason(error)}") from error
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # an ignored one would take the halves' exit status away
    folders, account = _look_at_folders(spec)
    hidden = proving.that_work(proving.hidden_paths())
    spaces = _rehearse_namespaces(spec, folders, account)
    rehearsed: tuple[Outcome, ...] = ()
    entered: Entered | None = None
    if spec.want is Level.FULL and spaces.is_possible:
        rehearsed = _rehearse_landlock(folders, account)
        entered = _enter_namespaces(spaces, folders, account, parent=plan.parent)
    opened = tuple(_open(each, inside=spaces.in_force) for each in folders)
    try:
        os.fchdir(opened[0])
    except OSError as error:
        raise LockdownFailed(f"the workspace cannot be entered: {reason(error)}") from error
    bounds, rights = _Progress(), _Progress()
    excesses = proving.that_work(proving.excesses(spec.limits, plan.keep[0] if plan.keep else 2))
    with _refusable(bounds):
        if spec.kind == "index":
            limits.yield_to_others()
        limits.apply(spec.limits)
    uses = proving.uses_of_rights(account, own_account_only=entered is not None and entered.own_account_only)
    with _refusable(rights):
        limits.become(account)
    bounding = limits.drop_capabilities()
    if entered is None:
        limits.die_with_parent(plan.parent)
    else:
        namespaces.die_with_outer_half(entered.outer_half)
        os.close(entered.outer_half)
    limits.forbid_new_privileges()
    limits.hide_memory()
    if entered is not None:
        _prove_namespaces(spaces.proofs, entered, hidden, tuple(zip(folders, opened, strict=True)))
    guard = _try_landlock(folders, opened, rehearsed)
    for each in opened:
        os.close(each)
    if rights.in_force:
        proving.prove_account(rights.proofs, account, uses)
    rights.facts |= {"uid": account.uid, "gid": account.gid, "bounding": "empty" if bounding else "kept"}
    filtered = _try_seccomp(
        seccomp.permit(spec.kind, own_tree=entered is not None, follows_links=spec.follows_links)
    )
    if bounds.in_force:
        bounds.proofs.demand(limits.standing(spec.limits), "the kernel holds all limits")
        bounds.proofs.attempt(excesses)
        bounds.facts |= {"memory": spec.limits.memory, "open_files": spec.limits.open_files}
        bounds.facts |= {"file_size": spec.limits.file_size, "cpu_seconds": spec.limits.cpu_seconds or 0}
    return Report(
        kind=spec.kind,
        layers=(
            guard.finish("landlock"),
            filtered.finish("seccomp"),
            spaces.finish("namespaces", wanted=spec.want is Level.FULL),
            bounds.finish("limits"),
            rights.finish("capabilities"),
        ),
        cwd=display(os.getcwd()),
        root_entries=None if entered is None else entered.root_entries,
        resolver=_resolver(),
    )


@contextlib.contextmanager
def _refusable(layer: _Progress) -> Iterator[None]:
    """Run the step of a layer; what the host refuses is written down as the reason, a mere shortage as a failure."""
    try:
        yield
        layer.in_force = True
    except OSError as error:
        if is_shortage(error):
            layer.proofs.failures.append(reason(error))
        else:
            layer.why = reason(error)


def _need_one_thread() -> None:
    # SAFETY: Landlock and namespaces bind the calling thread alone, so another one would be free.
    try:
        count = len(os.listdir("/proc/self/task"))
    except OSError:
        count = threading.active_count()
    if count != 1:
        raise LockdownFailed("a worker that locks itself down has one thread")


def _check_descriptors(keep: tuple[int, ...]) -> None:
    """Close what is not kept, and keep nothing but pipes and sockets.

    A directory would lead out, a file or a device outside could be changed, and a missing standard one would be
    somebody's file.
    """
    for descriptor in (*_STANDARD, *keep):
        try:
            mode = os.fstat(descriptor).st_mode
        except OSError as error:
            raise LockdownFailed("a descriptor that a worker keeps is not open") from error
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            raise LockdownFailed("a worker keeps no file, folder or device from outside")
    try:
        found = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        found = list(range(os.sysconf("SC_OPEN_MAX")))
    for descriptor in found:
        if descriptor not in _STANDARD and descriptor not in keep:
            with contextlib.suppress(OSError):
                os.close(descriptor)


def _look_at_folders(spec: JailSpec) -> tuple[tuple[Folder, ...], Account]:
    workspace_rights, index_rights = landlock.rights_of(spec.kind)
    status, identity = _look_at(spec.workspace)
    account = limits.account_for(status.st_uid, status.st_gid)
    if spec.identity not in (None, identity):
        raise LockdownFailed("the workspace was moved or replaced")
    workspace = Folder(spec.workspace, INSIDE_WORKSPACE, identity, workspace_rights)
    if spec.index is None:
        return (workspace,), account
    status, identity = _look_at(spec.index)
    if spec.index_identity not in (None, identity):
        raise LockdownFailed("the folder of the index was moved or replaced")
    # Nobody may have given this worker what is another's, whoever the workspace belongs to by now.
    if status.st_uid != account.uid:
        raise LockdownFailed("the folder of the index belongs to another account")
    return (workspace, Folder(spec.index, INSIDE_INDEX, identity, index_rights)), account


def _look_at(path: str) -> tuple[os.stat_result, tuple[int, int]]:
    """Return what is at *path*, a folder and no link, and its identity, which is compared with every later opening."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError as error:
        raise LockdownFailed("a folder of the jail is not there") from error
    if not stat.S_ISDIR(status.st_mode):
        raise LockdownFailed("a folder of the jail is no folder")
    return status, (status.st_dev, status.st_ino)


def _open(folder: Folder, *, inside: bool) -> int:
    path = folder.inside if inside else folder.path
    try:
        descriptor = os.open(path, LOOK_FOLDER | os.O_NOFOLLOW | os.O_CLOEXEC)
        status = os.fstat(descriptor)
    except OSError as error:
        raise LockdownFailed("a folder of the jail cannot be opened") from error
    if (status.st_dev, status.st_ino) != folder.identity:
        raise LockdownFailed("a folder of the jail was moved or replaced")
    return descriptor


def _rehearse_namespaces(spec: JailSpec, folders: tuple[Folder, ...], account: Account) -> _Progress:
    layer = _Progress()
    if spec.want is Level.FULL:
        try:
            layer.why = namespaces.obstacle(folders, account)
        except NoAnswer as error:
            layer.proofs.failures.append(str(error))
    return layer


def _enter_namespaces(
    layer: _Progress, folders: tuple[Folder, ...], account: Account, *, parent: int
) -> Entered:
    try:
        entered = namespaces.enter(folders, account, parent=parent)
    except OSError as error:
        # There is no way back from half of it.
        raise LockdownFailed(f"namespaces: {reason(error)}", passing=is_shortage(error)) from error
    layer.in_force = True
    layer.facts["user_namespace"] = entered.own_account_only
    return entered


def _prove_namespaces(
    proofs: Proofs,
    entered: Entered,
    hidden: tuple[Attempt, ...],
    folders: tuple[tuple[Folder, int], ...],
) -> None:
    proofs.demand(entered.proof != (), *entered.proof)
    proofs.demand(os.getpid() == 1, "process 1")
    visible = tuple(sorted(folder.inside.lstrip("/") for folder, _ in folders))
    proofs.demand(entered.root_entries == visible, f"only {', '.join(visible)} at /")
    proofs.attempt(hidden)
    root = os.open("/", LOOK_FOLDER | os.O_CLOEXEC)
    try:
        restricted = os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC
        flags = [os.fstatvfs(each).f_flag for each in (root, *(opened for _, opened in folders))]
        proofs.demand(
            all(each & restricted == restricted for each in flags), "no programs, devices or set-id bits"
        )
        kept = [(_called(folder), opened) for folder, opened in folders if not folder.writable]
        proofs.attempt(proving.new_files_on_mounts((("root", root), *kept)))
    finally:
        os.close(root)


def _called(folder: Folder) -> str:
    return "workspace" if folder.inside == INSIDE_WORKSPACE else "folder of the index"


def _rehearse_landlock(folders: tuple[Folder, ...], account: Account) -> tuple[Outcome, ...]:
    """Return what Landlock does, in a child, where the folders are not mounted yet, about new files in them.

    Behind a read-only mount nobody could tell which of the two refuses.
    """
    if all(folder.writable for folder in folders):
        return ()

    def try_it() -> str:
        try:
            # First: the way there may be closed to the account, and the mounts spare the worker that way.
            opened = tuple(_open(each, inside=False) for each in folders)
            limits.become(account)
            limits.drop_capabilities()
            limits.forbid_new_privileges()
            attempts = proving.new_files(_kept(folders, opened))
            landlock.restrict(_rules(folders, opened))
        except OSError as error:
            if is_shortage(error):
                raise
            return ""  # the worker itself finds out that there is none, and reports it
        outcomes = (each.refused() for each in attempts)
        return "\n".join(f"{each[0]:d}{each[1]}" for each in outcomes if each is not None)

    try:
        said = ask(try_it)
    except NoAnswer as error:
        return ((False, str(error)),)
    return tuple((each[0] == "1", each[1:]) for each in said.splitlines())


def _rules(folders: tuple[Folder, ...], opened: tuple[int, ...]) -> tuple[tuple[int, Right], ...]:
    return tuple((number, folder.rights) for folder, number in zip(folders, opened, strict=True))


def _kept(folders: tuple[Folder, ...], opened: tuple[int, ...]) -> tuple[tuple[str, int], ...]:
    """Return what a worker may only look at, with its descriptor."""
    return tuple(
        (_called(folder), number)
        for folder, number in zip(folders, opened, strict=True)
        if not folder.writable
    )


def _try_landlock(
    folders: tuple[Folder, ...], opened: tuple[int, ...], rehearsed: tuple[Outcome, ...]
) -> _Progress:
    layer = _Progress()
    files = proving.that_work(proving.outside_files())
    network = proving.that_work(proving.network())
    strangers = proving.that_work(proving.strangers())
    made = proving.new_files(_kept(folders, opened))
    with _refusable(layer):
        done = landlock.restrict(_rules(folders, opened))
        layer.facts |= {"abi": done.abi, "rights": hex(done.files), "net": done.net, "scope": done.scope}
        layer.proofs.attempt(files)
        if done.net:
            layer.proofs.attempt(network)
        if done.scope:
            layer.proofs.attempt(strangers)
        layer.proofs.attempt(made)
        for outcome in rehearsed:
            layer.proofs.demand(*outcome)
        if done.abi < LANDLOCK_FLOOR:
            layer.why = (
                f"ABI {done.abi} is too old to count: it does not keep files outside from being emptied"
            )
    return layer


def _try_seccomp(permitted: seccomp.Permit) -> _Progress:
    layer = _Progress()
    calls = proving.that_work(proving.calls(permitted))
    with _refusable(layer):
        program = seccomp.build(permitted, pid=os.getpid(), machine=_linux.MACHINE)
        seccomp.install(program)
        layer.facts |= {"machine": _linux.MACHINE, "filter": hashlib.sha256(program).hexdigest()}
        layer.proofs.attempt((*calls, proving.fork()))
    return layer


def _resolver() -> str:
    try:
        here = os.open(".", LOOK_FOLDER | os.O_CLOEXEC)
    except OSError as error:
        raise LockdownFailed("the workspace cannot be opened by the worker's account") from error
    try:
        return choose_resolver(here, Policy()).name
    except RootUnusable as error:
        raise LockdownFailed("the workspace cannot be used as a root") from error
    finally:
        os.close(here)
