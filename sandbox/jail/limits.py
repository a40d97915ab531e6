"""What a worker keeps of its account, and how much it may use: limits, capabilities, owner, life and death.

Started by root, a worker becomes the owner of its workspace, since uid 0 without capabilities could not write
a person's files, and with them would not be jailed. A limit on processes is not used: it counts per account, so
it would hit the person's other programs; seccomp refuses to fork at all.
"""

from __future__ import annotations

import errno
import os
import pwd
import resource
import signal
from typing import Final

from sandbox import _linux
from sandbox.errors import LockdownFailed
from sandbox.jail.spec import Limits
from sandbox.records import record

CPU_GRACE_SECONDS: Final = 1
"""From the signal that can be ignored, as process 1 of a namespace does, to the one that cannot."""

HIGHEST_CAPABILITY: Final = 63
LOWEST_PRIORITY: Final = 19

NOBODYS_GROUP: Final = 65_534
"""What the kernel shows for a group that it cannot map, too: nobody is in it."""


@record
class Account:
    """Whom a worker runs as."""

    uid: int
    gid: int


def die_with_parent(parent: int) -> None:
    """Be killed when the thread that started this process ends; raise LockdownFailed if it has already.

    Changing the account, and entering a user namespace, clears this: it is set again after both.
    """
    _linux.prctl(_linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise LockdownFailed("the process that started the worker is gone")


def apply(limits: Limits) -> None:
    """Set the limits for good, soft and hard alike; a lower one that stands is kept."""
    for what, value in _values(limits).items():
        _lower(what, value, value)
    if limits.cpu_seconds is not None:
        _lower(resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + CPU_GRACE_SECONDS)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write past the limit fails with EFBIG


def standing(limits: Limits) -> bool:
    """Whether the kernel holds this process to *limits*."""
    wanted = _values(limits)
    if limits.cpu_seconds is not None:
        wanted[resource.RLIMIT_CPU] = limits.cpu_seconds + CPU_GRACE_SECONDS
    # SAFETY: "no limit" is -1 in Python, so it must not be compared by size alone.
    return all(0 <= each <= value for what, value in wanted.items() for each in resource.getrlimit(what))


def _values(limits: Limits) -> dict[int, int]:
    return {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_AS: limits.memory,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_FSIZE: limits.file_size,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }


def _lower(what: int, soft: int, hard: int) -> None:
    current = resource.getrlimit(what)[1]
    if current != resource.RLIM_INFINITY:
        soft, hard = min(soft, current), min(hard, current)
    resource.setrlimit(what, (soft, hard))


def yield_to_others() -> None:
    """Take the lowest priority, for a worker whose work is never waited for."""
    os.setpriority(os.PRIO_PROCESS, 0, LOWEST_PRIORITY)


def account_for(uid: int, gid: int) -> Account:
    """Return whom a worker runs as: root becomes the owner of its workspace (*uid*, *gid*), others stay who they are.

    `chown alice` leaves a folder of root's to root's group, which is none of Alice's: then it is the one that she has.
    """
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    return Account(uid, _group_of(uid) if uid != 0 and gid == 0 else gid)


def _group_of(uid: int) -> int:
    """Return the group of an account, never root's."""
    try:
        return pwd.getpwuid(uid).pw_gid or NOBODYS_GROUP
    except KeyError:
        return NOBODYS_GROUP


def become(account: Account) -> None:
    """Change to *account* for good, without other groups if this is root. Raises OSError where it may not."""
    is_root = os.geteuid() == 0
    same = os.getresuid() == (account.uid,) * 3 and os.getresgid() == (account.gid,) * 3
    if same and not (is_root and os.getgroups()):
        return  # also where nothing may be set any more, as in a user namespace
    if is_root:
        os.setgroups([])
    os.setresgid(account.gid, account.gid, account.gid)
    os.setresuid(account.uid, account.uid, account.uid)


def drop_capabilities() -> bool:
    """Give up every capability for good; return whether the bounding set could be emptied too.

    Without the right to do so the bounding set stays; no_new_privs makes it meaningless.
    """
    emptied = True
    for capability in range(HIGHEST_CAPABILITY + 1):
        try:
            _linux.prctl(_linux.PR_CAPBSET_DROP, capability)
        except OSError as error:
            if error.errno == errno.EINVAL:  # the kernel's last one was the one before
                break
            emptied = False
            break
    try:
        _linux.prctl(_linux.PR_CAP_AMBIENT, _linux.PR_CAP_AMBIENT_CLEAR_ALL)
    except OSError:
        pass  # before 4.3; capset empties what they could come from
    _linux.clear_capabilities()
    return emptied


def forbid_new_privileges() -> None:
    """Make set-id programs and file capabilities meaningless for this process, for good."""
    _linux.prctl(_linux.PR_SET_NO_NEW_PRIVS, 1)


def hide_memory() -> None:
    """Let no process of the same account attach to this one or read its /proc entries."""
    _linux.prctl(_linux.PR_SET_DUMPABLE, 0)


def show_memory() -> None:
    """Undo `hide_memory`, and what a change of the account did: needed to write one's own uid_map."""
    _linux.prctl(_linux.PR_SET_DUMPABLE, 1)
