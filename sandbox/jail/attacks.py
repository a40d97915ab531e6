"""Ways out of a jail: what each attack does, what it would reach, and what a report must say if it works.

Each attack returns when it worked and raises an OSError, or MemoryError, when it was refused; anything else is a
mistake in the attack and proves nothing. An attack names the sentences of a report's `leaves` that allow it. All it
reaches for was made by `trial.py` for that: files of nobody are read, and in the workspace of people, where only
those attacks run that need no file in it, nothing is changed.

A refusal may also be the host's own. That each attack works where there is no jail is shown by
`tests/sandbox/jail/test_trial.py`. How they are run is not decided here.
"""

from __future__ import annotations

import errno
import fcntl
import importlib.machinery
import importlib.util
import mmap
import os
import socket
from typing import Any, Final

from sandbox import _linux
from sandbox.beneath import Descriptor
from sandbox.jail import seccomp
from sandbox.jail.report import (
    CHANGE_NOTES,
    EMPTY_OUTSIDE,
    FILL_DISK,
    HOLD_LOCK,
    KEEP_RIGHTS,
    MARK_OUTSIDE,
    MEET_OTHERS,
    OPEN_OUTSIDE,
    SEE_OUTSIDE,
    USE_KERNEL,
    USE_OUTSIDE,
    USE_UP,
)
from sandbox.jail.targets import Attack, Attacker, Ground

ESCAPED: Final = 42
"""The exit status of a worker that got away and cannot answer any more."""

SMALL_FILES: Final = 32
"""How many files stand for a full disk."""

_SECONDS: Final = 2.0
_PTRACE_SEIZE: Final = 0x4206
_FAULTS_OF_USER_MODE: Final = 1
_KEYCTL_GET_KEYRING: Final = 0
_PROCESS_KEYRING: Final = -2
_SET_ID: Final = 0o4755
_NO_ACCESS: Final = os.O_WRONLY | os.O_RDWR
_FROM_HERE: Final = -100  # AT_FDCWD
_WHITEOUT: Final = 4


# -- files outside -------------------------------------------------------------------------------------


def _read(path: str, *, folder: int | None = None) -> None:
    with Descriptor(os.open(path, os.O_RDONLY, dir_fd=folder)) as file:
        os.read(file, 1)


def _write(path: str, flags: int) -> None:
    with Descriptor(os.open(path, os.O_WRONLY | flags, 0o600)) as file:
        os.write(file, b"x")


def _here() -> int:
    return os.open(".", os.O_RDONLY | os.O_DIRECTORY)


def _read_from_held(a: Attacker) -> None:
    _read(f"{a.target.above}/secret.txt", folder=_here())


def _list_above(_: Attacker) -> None:
    # In a tree of its own `..` of the workspace is that tree's top, which holds nothing else.
    found = os.listdir("..")
    if set(found) <= {"ws", "index"}:
        raise FileNotFoundError(errno.ENOENT, "nothing of the host is there")


def _rename_out(a: Attacker) -> None:
    os.rename("taken.md", a.at("taken.md"), src_dir_fd=_here(), dst_dir_fd=_here())


def _link_in(a: Attacker) -> None:
    os.link(a.at("link.txt"), "got.md", src_dir_fd=_here(), dst_dir_fd=_here())


def _open_keys(a: Attacker) -> None:
    os.close(os.open(a.target.keys, os.O_RDONLY))  # and nothing of them is read


def _remove(a: Attacker) -> None:
    os.unlink(a.at("remove.txt"))


def _look_outside(a: Attacker) -> None:
    os.close(os.open(a.at("secret.txt"), _linux.O_PATH))


def _run_late_code(a: Attacker) -> None:
    """Load code past the refuser of late imports, as code that has taken over would."""
    loader = importlib.machinery.SourceFileLoader("fsnotes_late", a.at("late.py"))
    spec = importlib.util.spec_from_loader("fsnotes_late", loader)
    if spec is not None:
        loader.exec_module(importlib.util.module_from_spec(spec))


def _fill_disk(_: Attacker) -> None:
    for number in range(SMALL_FILES):
        os.close(os.open(f"small-{number}.md", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _make_big_file(a: Attacker) -> None:
    with Descriptor(os.open("big.md", os.O_WRONLY | os.O_CREAT, 0o600)) as file:
        os.ftruncate(file, a.target.file_size + 1)


def _mark(mode: int) -> None:
    with Descriptor(os.open("mine.md", os.O_RDONLY)) as note:
        os.fchmod(note, mode)


def _make_set_id() -> None:
    os.close(os.open("program.md", os.O_WRONLY | os.O_CREAT | os.O_EXCL, _SET_ID))


def _lock(_: Attacker) -> None:
    with Descriptor(_here()) as workspace:
        fcntl.flock(workspace, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _leave_device(_: Attacker) -> None:
    _linux.renameat2(_FROM_HERE, b"left.md", _FROM_HERE, b"moved.md", flags=_WHITEOUT)


def _without_access(path: str) -> Descriptor:
    """Open a file neither to read nor to write, of which Landlock takes no notice, in the ways that there are."""
    try:
        return Descriptor(os.open(path, _NO_ACCESS))
    except OSError:
        return Descriptor(_linux.openat2(_FROM_HERE, path.encode(), flags=_NO_ACCESS, resolve=0))


def _open_without_access(path: str) -> None:
    with _without_access(path):
        pass


def _mode_without_access(a: Attacker) -> None:
    with _without_access(a.at("mode.txt")) as file:
        os.fchmod(file, 0o604)


def _times_without_access(a: Attacker) -> None:
    with _without_access(a.at("times.txt")) as file:
        os.utime(file, (2, 2))


def _attributes_without_access(a: Attacker) -> None:
    with _without_access(a.at("secret.txt")) as file:
        os.listxattr(file)


# -- channels ------------------------------------------------------------------------------------------


def _connect(family: int, kind: int, address: Any) -> None:
    with socket.socket(family, kind) as made:
        made.settimeout(_SECONDS)
        made.connect(address)
        made.send(b"x")


def _tcp(a: Attacker) -> None:
    _connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", a.target.tcp))


def _udp(a: Attacker) -> None:
    _connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", a.target.udp))


def _door(a: Attacker) -> None:
    _connect(socket.AF_UNIX, socket.SOCK_STREAM, a.at("door"))


def _abstract(a: Attacker) -> None:
    _connect(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{a.target.abstract}")


# -- processes and the kernel --------------------------------------------------------------------------


def _call(name: str, *arguments: int) -> int:
    if not _linux.MACHINE:
        raise OSError(errno.ENOSYS, name)
    number = seccomp.number_of(name, _linux.MACHINE)
    if number is None:
        raise OSError(errno.ENOSYS, name)
    return _linux.raw_call(number, *arguments)


def _signal_parent(a: Attacker) -> None:
    if a.target.parent == os.getpid():  # the first process of a container, and we the first of a namespace
        raise ProcessLookupError(errno.ESRCH, "there is nobody but us")
    os.kill(a.target.parent, 0)


def _fork(_: Attacker) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _map_executable(_: Attacker) -> None:
    mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC).close()


def _use_memory(a: Attacker) -> None:
    mmap.mmap(-1, a.target.memory, mmap.MAP_PRIVATE).close()


def _use_descriptors(a: Attacker) -> None:
    copies: list[int] = []
    try:
        for _ in range(a.target.open_files):
            copies.append(os.dup(2))  # noqa: PERF401 - a comprehension would lose them on failure
    finally:
        for copy in copies:
            os.close(copy)


def _execute(_: Attacker) -> None:
    os.execv("/bin/sh", ["sh", "-c", f"exit {ESCAPED}"])  # noqa: S606 - that is the attack


def _trace_parent(a: Attacker) -> None:
    _call("ptrace", _PTRACE_SEIZE, a.target.parent, 0, 0)
    os._exit(ESCAPED)  # which lets go of it at once


def _become_another(_: Attacker) -> None:
    other = os.getuid() + 1
    os.setresuid(other, other, other)


def _mount(a: Attacker) -> None:
    place = a.at("empty").encode()
    _linux.mount(b"none", place, kind=b"tmpfs", flags=0, data=None)
    _linux.unmount_detached(place)


# -- the list ------------------------------------------------------------------------------------------

_OUT: Final = (USE_OUTSIDE,)
_MARKED: Final = (USE_OUTSIDE, MARK_OUTSIDE)
_OWN: Final = Ground.OWN

ATTACKS: Final = (
    Attack("read_by_path", "read a file outside by its path", lambda a: _read(a.at("secret.txt")), _OUT),
    Attack("read_above", "read it by way of ..", lambda a: _read(f"{a.target.above}/secret.txt"), _OUT),
    Attack("read_from_held", "read it from the held folder of the workspace", _read_from_held, _OUT),
    Attack("list_above", "list the folder above", _list_above, _OUT),
    Attack("read_keys", "open the keys of the state folder", _open_keys, _OUT),
    Attack(
        "read_environment",
        "read the environment of the process that started it, in /proc",
        lambda a: _read(f"/proc/{a.target.parent}/environ"),
        _OUT,
    ),
    Attack("run_late_code", "load Python code from outside", _run_late_code, _OUT),
    Attack(
        "append",
        "write into a file outside",
        lambda a: _write(a.at("append.txt"), os.O_APPEND),
        _OUT,
        "append.txt",
    ),
    Attack("create", "make a file outside", lambda a: _write(a.at("made.txt"), os.O_CREAT), _OUT, "made.txt"),
    Attack(
        "empty",
        "empty a file outside",
        lambda a: os.truncate(a.at("empty.txt"), 0),
        (USE_OUTSIDE, EMPTY_OUTSIDE),
        "empty.txt",
    ),
    Attack("remove", "remove a file outside", _remove, _OUT, "remove.txt"),
    Attack("stat", "see that a file outside is there", lambda a: os.stat(a.at("secret.txt")), (SEE_OUTSIDE,)),
    Attack("look", "see how long it is, without opening it", _look_outside, (SEE_OUTSIDE,)),
    Attack(
        "mode",
        "change the mode of a file outside",
        lambda a: os.chmod(a.at("mode.txt"), 0o640),
        _MARKED,
        "mode.txt",
    ),
    Attack(
        "times",
        "change the times of a file outside",
        lambda a: os.utime(a.at("times.txt"), (1, 1)),
        _MARKED,
        "times.txt",
    ),
    Attack(
        "open_without_access",
        "open a file outside neither to read nor to write",
        lambda a: _open_without_access(a.at("secret.txt")),
        (USE_OUTSIDE, OPEN_OUTSIDE),
    ),
    Attack(
        "keys_without_access",
        "open the keys so",
        lambda a: _open_without_access(a.target.keys),
        (USE_OUTSIDE, OPEN_OUTSIDE),
    ),
    Attack("mode_without_access", "change a mode so", _mode_without_access, _MARKED, "mode.txt"),
    Attack("times_without_access", "change times so", _times_without_access, _MARKED, "times.txt"),
    Attack("attributes_without_access", "see attributes so", _attributes_without_access, _MARKED),
    Attack("tcp", "connect by TCP", _tcp, (MEET_OTHERS,), "tcp"),
    Attack("udp", "send by UDP", _udp, (MEET_OTHERS,), "udp"),
    Attack("unix", "connect to a unix socket", _door, (MEET_OTHERS,), "door"),
    Attack("abstract", "connect to an abstract unix socket", _abstract, (MEET_OTHERS,), "abstract"),
    Attack("signal", "signal the process that started it", _signal_parent, (MEET_OTHERS,)),
    Attack("fork", "start a process", _fork, (USE_KERNEL,)),
    Attack("map_executable", "make memory executable", _map_executable, (USE_KERNEL,)),
    Attack("memory", "take more memory than allowed", _use_memory, (USE_UP,)),
    Attack("descriptors", "take more descriptors than allowed", _use_descriptors, (USE_UP,)),
    # With files of its own:
    Attack(
        "follow_link",
        "follow a link of the workspace that leads out",
        lambda _: _read("link"),
        _OUT,
        ground=_OWN,
    ),
    Attack(
        "moved_folder",
        "read from a held folder that was moved out",
        lambda a: _read("../secret.txt", folder=a.held),
        _OUT,
        ground=_OWN,
    ),
    Attack("link_in", "give a file outside a name inside", _link_in, _OUT, "link.txt", _OWN),
    Attack("rename_out", "move a note out", _rename_out, _OUT, "taken.md", _OWN),
    Attack("big_file", "make a file longer than allowed", _make_big_file, (USE_UP,), ground=_OWN),
    Attack("set_id", "make a note a set-id program", lambda _: _mark(_SET_ID), (USE_KERNEL,), ground=_OWN),
    Attack("new_set_id", "make a new set-id program", lambda _: _make_set_id(), (USE_KERNEL,), ground=_OWN),
    Attack("leave_device", "leave a device in a note's place", _leave_device, (USE_KERNEL,), ground=_OWN),
    Attack(
        "change_note",
        "change a note",
        lambda _: _write("mine.md", os.O_APPEND),
        (CHANGE_NOTES, USE_OUTSIDE),
        ground=_OWN,
    ),
    Attack(
        "mark_note",
        "change the mode of a note",
        lambda _: _mark(0o640),
        (CHANGE_NOTES, *_MARKED),
        ground=_OWN,
    ),
    Attack("lock", "lock the workspace against others", _lock, (HOLD_LOCK,), ground=_OWN),
    Attack("fill_disk", "fill the disk with small files", _fill_disk, (FILL_DISK,), ground=_OWN),
    # Each by a worker of its own:
    Attack("execute", "start a program", _execute, (USE_KERNEL,), is_trip_wire=True),
    Attack("ptrace", "trace the process that started it", _trace_parent, (MEET_OTHERS,), is_trip_wire=True),
    Attack("setuid", "become another account", _become_another, (KEEP_RIGHTS,), is_trip_wire=True),
    Attack("mount", "mount a file system", _mount, (KEEP_RIGHTS,), is_trip_wire=True),
    Attack(
        "unshare",
        "enter a user namespace",
        lambda _: _linux.unshare(_linux.CLONE_NEWUSER),
        (USE_KERNEL,),
        is_trip_wire=True,
    ),
    Attack(
        "keyring",
        "use the kernel's keyrings",
        lambda _: _call("keyctl", _KEYCTL_GET_KEYRING, _PROCESS_KEYRING, 1),
        (USE_KERNEL,),
        is_trip_wire=True,
    ),
    Attack(
        "userfaultfd",
        "handle page faults",
        lambda _: os.close(_call("userfaultfd", _FAULTS_OF_USER_MODE | os.O_CLOEXEC)),
        (USE_KERNEL,),
        is_trip_wire=True,
    ),
)
"""Every attack, in the order in which they are shown."""
