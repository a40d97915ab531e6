"""Decides whether the workers of a workspace get their part of the state where root starts them as somebody else.

They run as the owner of the workspace, so the part must be that user's, and then it is root's no more: nothing in it is
opened by root again, and only workers that run as that very user get it. Root gives away a folder of its own with
nothing in it but an empty one for the index, by descriptor, once a worker of the workspace has proven whom it runs as;
everything else stays as it is and is said.

Limits: a part that was given away is never taken back. Who is meant by the mode of a folder is decided in
`sandbox.approach`.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import stat
from typing import Final

from fsnotes.notes.journal import MARK
from fsnotes.notes.opening import INDEX_FOLDER
from fsnotes.state import Part, StateFolder
from sandbox import Root
from sandbox.approach import Approach
from sandbox.beneath import Descriptor
from sandbox.jail.limits import Account, account_for
from sandbox.jail.report import Report
from sandbox.names import display
from sandbox.place import Place
from sandbox.records import record
from sandbox.releasing import unlock

NO_PART: Final = (
    "moves that rewrite links are refused and there is no search index,"
    " since its workers get no part of the state folder"
)
"""What it means for a workspace that its part is withheld."""

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE: Final = 0o700
_NAMES: Final = (1, 2, 3)
"""How many names a folder has in which there is one other at most: file systems count its own two, or one."""

_log = logging.getLogger("fsnotes.custody")


@record
class Withheld:
    """Why the workers of a workspace get no part of the state: for the person at this machine, with its paths."""

    why: str


def account_of(root: Root) -> Account:
    """Return whom a worker of the workspace in *root* runs as, started now."""
    return account_for(*root.owner)


def entrust(state: StateFolder, part: Part, root: Root, report: Report | None) -> Place | Withheld:
    """Return the *part* of *state* that is for the workspace in *root*, for workers like the one with this *report*.

    Root gives it to the user that they run as, if it is still its own. Whatever stands against that is Withheld; then
    at most an empty folder has been given, and nobody is told where it is.
    """
    account = account_of(root)
    if part.owner is None:
        return Withheld(f"{display(part.place.path)} cannot be looked at")
    if part.owner not in (os.geteuid(), account.uid):
        return _of_another(part, account, owner=part.owner)
    if not _runs_as(report, account):
        return Withheld(f"its workers have not proven that they run as uid {account.uid}")
    if account.uid == os.geteuid():
        return part.place
    try:
        with Approach(os.path.join(os.path.realpath(state.path), "ws")) as way:
            return _entrust(way, part, account)
    except OSError as error:
        return Withheld(f"{display(part.place.path)} cannot be used: {error.strerror}")


def _runs_as(report: Report | None, account: Account) -> bool:
    if report is None or not report.has("capabilities"):
        return False
    facts = report.layer("capabilities").facts
    return (facts.get("uid"), facts.get("gid")) == (account.uid, account.gid)


def _entrust(way: Approach, part: Part, account: Account) -> Place | Withheld:
    shown = display(part.place.path)
    weak = way.exchangeable()
    if weak is not None:
        return Withheld(
            f"others than root could exchange what lies in {display(weak)}, and so the state folder;"
            " choose another one with --state-dir"
        )
    shut = way.closed_to(account.uid, account.gid)
    if shut is not None:
        return Withheld(
            f"its workers run as uid {account.uid}, whom {display(shut)} does not let pass to the state folder:"
            " chmod a+x opens the way, and --state-dir chooses another one"
        )
    if part.place.path != os.path.join(way.path, part.name):
        return Withheld(f"{shown} lies behind a link, where it is not given to uid {account.uid}")
    with Descriptor(os.open(part.name, _FOLDER, dir_fd=way.fd)) as folder:
        device = way.steps[-2].status.st_dev
        withheld = _fault(os.fstat(folder), part, device, account)
        if withheld is None and os.fstat(folder).st_uid != account.uid:
            withheld = _give(folder, part, account) or _fault(os.fstat(folder), part, device, account)
        if withheld is not None:
            return withheld
        # What a worker is told is the path, so that must be what leads here.
        there = os.stat(part.name, dir_fd=way.fd, follow_symlinks=False)
        if (there.st_dev, there.st_ino) != part.place.identity or there.st_uid != account.uid:
            return Withheld(f"{shown} was replaced meanwhile")
    return part.place


def _fault(status: os.stat_result, part: Part, device: int, account: Account) -> Withheld | None:
    """Say what keeps an opened folder from being the *part*, root's still or the account's."""
    shown = display(part.place.path)
    if (status.st_dev, status.st_ino) != part.place.identity:
        return Withheld(f"{shown} was replaced meanwhile")
    if status.st_uid not in (0, account.uid):
        return _of_another(part, account, owner=status.st_uid)
    if status.st_dev != device:
        return Withheld(f"{shown} lies on another file system than the state folder")
    if stat.S_IMODE(status.st_mode) != _MODE:
        return Withheld(f"{shown} is open to others than its owner: chmod 700 closes it")
    if status.st_nlink not in _NAMES:
        return Withheld(f"{shown} is gone, or has more folders in it than that of the index")
    return None


def _give(folder: int, part: Part, account: Account) -> Withheld | None:
    """Give an opened folder of root's to *account*, unless it has anything in it or somebody uses it."""
    shown = display(part.place.path)
    try:
        # Who uses it as root holds it (`sandbox.own_files`); nobody else can open it so far.
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return Withheld(f"{shown} is being used by a process of root's")
    try:
        # Another process may have been first, and its workers may have filled it since.
        if os.fstat(folder).st_uid != 0:
            return None
        # SAFETY: what is in a folder of root's own may be root's, under another name elsewhere too; so nothing is ever
        # given away with it. Until the folder is given nobody but root can put anything in. The mark of a move is for
        # who looks through notes meanwhile, and nobody uses this folder.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(MARK, dir_fd=folder)
        with contextlib.suppress(OSError):
            os.rmdir(INDEX_FOLDER, dir_fd=folder)
        if os.listdir(folder):
            return Withheld(
                f"{shown} has files of root's in it, which are not given to uid {account.uid}; remove it once no"
                " move in it is unfinished"
            )
        _make_for(account, INDEX_FOLDER, folder)
        os.fchown(folder, account.uid, account.gid)
    finally:
        unlock(folder)
    _log.info("%s belongs to uid %d from here on, as whom workers run", shown, account.uid)
    return None


def _make_for(account: Account, name: str, folder: int) -> None:
    """Make an empty folder in one that is root's alone, and give it away."""
    os.mkdir(name, _MODE, dir_fd=folder)
    with Descriptor(os.open(name, _FOLDER, dir_fd=folder)) as made:
        os.fchown(made, account.uid, account.gid)


def _of_another(part: Part, account: Account, *, owner: int) -> Withheld:
    return Withheld(
        f"{display(part.place.path)} belongs to uid {owner}, and its workers run as uid {account.uid}; remove it once"
        " no move in it is unfinished"
    )
