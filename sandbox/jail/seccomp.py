"""seccomp: which system calls a worker may make at all.

A list of calls that is allowed; everything else fails with EPERM. Some calls that honest code never makes
kill the process (SIGSYS), so that a breach is seen and not swallowed by an `except`. Foreign call tables (x32,
32-bit) kill too. Paths are Landlock's and the namespaces' business: the filter sees numbers, not memory.

What an argument decides: memory never becomes executable, nor shared with a note; no ioctl but the three that set a
flag of the descriptor; no set-id bits; no rename that leaves a device behind; signals only to ourselves; limits can be
read but not set; no message leaves the one connected channel for another address. Descriptors cannot be sent or
received, since the calls for it are not on the list.

No other layer judges the access mode 3 of an opening, which gives a descriptor to change modes, owners, times and
attributes by: Landlock takes it for no access at all. So `open` and `openat` refuse it, and to make a file with a
set-id bit. What `openat2` is asked for lies in memory, where no filter sees it; who could reach files outside by it has
either that call or those changes, never both, and who can make an empty file with a set-id bit by it has not the one
by which a file becomes a program after it was written: an ACL (`Permit`). What a kind of worker does not do is not on
its list, whatever the other layers say.

The tables are those of x86_64 and aarch64; elsewhere there is no filter. A test compares them with the
kernel's headers. Instruction set: linux/filter.h; order of fields: `struct seccomp_data`. More than 400 lines, since
half of them are these tables.
"""

from __future__ import annotations

import errno
import struct
from typing import Final, NamedTuple

from sandbox import _linux
from sandbox.jail.report import WorkerKind
from sandbox.records import record

ALLOW: Final = 0x7FFF_0000
ERRNO: Final = 0x0005_0000
KILL_PROCESS: Final = 0x8000_0000
REFUSE: Final = ERRNO | errno.EPERM

ARCHITECTURES: Final = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
_COLUMN: Final = {"x86_64": 0, "aarch64": 1}
X32_BIT: Final = 0x4000_0000

LOAD: Final = 0x20
JUMP_EQUAL: Final = 0x15
JUMP_AT_LEAST: Final = 0x35
JUMP_ANY_BIT: Final = 0x45
RETURN: Final = 0x06

NUMBER_AT: Final = 0
ARCHITECTURE_AT: Final = 4
ARGUMENTS_AT: Final = 16

PROT_EXEC: Final = 0x4
SHARED: Final = 0x1
"""The bit of MAP_SHARED, and of MAP_SHARED_VALIDATE."""
SET_ID_BITS: Final = 0o7000
DESCRIPTOR_IOCTLS: Final = (0x5451, 0x5450, 0x5421)  # FIOCLEX, FIONCLEX, FIONBIO
FCNTL_COMMANDS: Final = (1, 2, 3, 5, 6, 1030)
"""GETFD, SETFD, GETFL, DUPFD_CLOEXEC for Python and the C library; GETLK and SETLK for SQLite, to read as well."""
LOCK_BY_DESCRIPTION: Final = 37
"""OFD_SETLK, how the index is kept by one process. It needs a descriptor that can write, so no folder is locked."""

BOTH_ACCESS_BITS: Final = (1, 2)
"""Set together they are the access mode 3, for neither reading nor writing."""
NAMELESS: Final = 0o20000000
"""The bit of O_TMPFILE on both machines; O_DIRECTORY, its other one, differs."""
MAKES: Final = 0o100
"""O_CREAT: without it the mode of an opening is nothing that anybody has written there."""
RENAME_FLAGS: Final = _linux.RENAME_NOREPLACE | _linux.RENAME_EXCHANGE

# name: (x86_64, aarch64); None where the machine has no such call.
Numbers = dict[str, tuple[int | None, int | None]]

CHECKED: Final[Numbers] = {
    "openat": (257, 56),  # first, since it is the one that is made most often
    "open": (2, None),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "ioctl": (16, 29),
    "fcntl": (72, 25),
    "tgkill": (234, 131),
    "prlimit64": (302, 261),
    "sendto": (44, 206),
    "clone3": (435, 435),
    "openat2": (437, 437),
}
"""Calls that their arguments decide, or what the worker is permitted."""

ALLOWED: Final[Numbers] = {
    # the channel, and files that are open
    "read": (0, 63),
    "write": (1, 64),
    "pread64": (17, 67),
    "readv": (19, 65),
    "writev": (20, 66),
    "recvfrom": (45, 207),
    "shutdown": (48, 210),
    "close": (3, 57),
    "close_range": (436, 436),
    "lseek": (8, 62),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "poll": (7, None),
    "ppoll": (271, 73),
    "select": (23, None),
    "pselect6": (270, 72),
    # the tree, as far as Landlock and the namespaces let it be reached
    "stat": (4, None),
    "lstat": (6, None),
    "fstat": (5, 80),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "fstatfs": (138, 44),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "getdents64": (217, 61),
    "getcwd": (79, 17),
    # memory, time, signals to handle, and what the process is
    "munmap": (11, 215),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "brk": (12, 214),
    "futex": (202, 98),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "nanosleep": (35, 101),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "getrandom": (318, 278),
    "sched_yield": (24, 124),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "restart_syscall": (219, 128),
    "getpid": (39, 172),
    "gettid": (186, 178),
    "getppid": (110, 173),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getrusage": (98, 165),
    "sysinfo": (99, 179),
    "exit": (60, 93),
    "exit_group": (231, 94),
}
"""What every worker may do."""

WRITING: Final[Numbers] = {
    "pwrite64": (18, 68),
    "ftruncate": (77, 46),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "unlink": (87, None),  # SQLite's way of removing a journal
    "unlinkat": (263, 35),
    "renameat": (264, 38),
}
"""What a worker may do besides that has files to write: notes, or an index."""

CHANGING: Final[Numbers] = {
    "flock": (73, 32),
    "mkdirat": (258, 34),
    "linkat": (265, 37),
    "renameat2": (316, 276),
}
"""What a worker may do besides that changes notes. The lock is that of the workspace, and so of all who change."""

MARKING: Final[Numbers] = {
    "fchmod": (91, 52),
    "fchown": (93, 55),
    "fgetxattr": (193, 10),
    "flistxattr": (196, 13),
    "fsetxattr": (190, 7),
    "fremovexattr": (199, 16),
}
"""What a worker may do besides that keeps modes, owners and attributes of what it rewrites. Times are nobody's."""

PROMOTING: Final = ("fsetxattr",)
"""Those of `MARKING` by which a file that was made with a set-id bit, and written, becomes one that can be run."""

TRIP_WIRES: Final[Numbers] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "execve": (59, 221),
    "execveat": (322, 281),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "quotactl": (179, 60),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "setuid": (105, 146),
    "setgid": (106, 144),
    "setreuid": (113, 145),
    "setregid": (114, 143),
    "setresuid": (117, 147),
    "setresgid": (119, 149),
    "setfsuid": (122, 151),
    "setfsgid": (123, 152),
    "setgroups": (116, 159),
    "capset": (126, 91),
    "personality": (135, 92),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
}


Instruction = NamedTuple(  # noqa: UP014 - a class has its hints as texts, and reading the first takes a millisecond
    "Instruction", [("code", int), ("if_true", int), ("if_false", int), ("constant", int)]
)
"""One step of a filter: operation, how far to jump if it holds or not, and its constant."""


@record
class Permit:
    """What decides the filter of a worker: its kind, and which of two calls it has that do not go together."""

    kind: WorkerKind
    resolves: bool
    """Whether it has `openat2`."""
    marks: bool
    """Whether it has the calls of `MARKING`."""


def permit(kind: WorkerKind, *, own_tree: bool, follows_links: bool) -> Permit:
    """Return what a worker may do that has a tree of its own, or stands in the host's.

    One that changes notes walks, so that the filter sees what it makes, unless links are to be followed, which only
    `openat2` can do. In the host's tree that one must not reach what lies outside by a descriptor without access, and
    give that another mode: then it keeps no modes. In its own it keeps all but attributes, ACLs among them.
    """
    resolves = follows_links or (own_tree and kind != "rw")
    return Permit(kind, resolves=resolves, marks=kind == "rw" and (own_tree or not follows_links))


def number_of(name: str, machine: str) -> int | None:
    """Return the number of a call of the tables on *machine*; None where it has none."""
    for table in (CHECKED, ALLOWED, WRITING, CHANGING, MARKING, TRIP_WIRES):
        if name in table:
            return table[name][_COLUMN[machine]]
    raise KeyError(name)


def tables(permitted: Permit) -> Numbers:
    """Return the calls that a worker may make without regard to their arguments, or with it."""
    found = CHECKED | ALLOWED
    if permitted.kind != "ro":
        found |= WRITING
    if permitted.kind == "rw":
        found |= CHANGING
    if not permitted.marks:
        return found
    marking = {name: numbers for name, numbers in MARKING.items() if name not in PROMOTING}
    return found | (marking if permitted.resolves else MARKING)


def build(permitted: Permit, *, pid: int, machine: str) -> bytes:
    """Return the filter for the process *pid* on *machine* as the kernel takes it.

    Raises OSError (ENOSYS) for a machine without a table.
    """
    if machine not in ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no table of calls for {machine or 'this machine'}")
    steps = [
        _load(ARCHITECTURE_AT),
        Instruction(JUMP_EQUAL, 1, 0, ARCHITECTURES[machine]),
        _return(KILL_PROCESS),
        _load(NUMBER_AT),
    ]
    if machine == "x86_64":
        steps += [Instruction(JUMP_AT_LEAST, 0, 1, X32_BIT), _return(KILL_PROCESS)]
    checks = _checks(permitted, pid)
    for name in tables(permitted):
        steps += _when(number_of(name, machine), checks.get(name, [_return(ALLOW)]))
    for name in TRIP_WIRES:
        steps += _when(number_of(name, machine), [_return(KILL_PROCESS)])
    steps.append(_return(REFUSE))
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def install(program: bytes) -> None:
    """Put this process under *program* for good; needs no_new_privs. Raises OSError with the call's name."""
    _linux.install_filter(program)


def _checks(permitted: Permit, pid: int) -> dict[str, list[Instruction]]:
    """What decides each checked call. A body ends in a return on every way through it."""
    no_exec = _without(2, PROT_EXEC)
    locks = (LOCK_BY_DESCRIPTION,) if permitted.kind == "index" else ()
    return {
        "openat": _opening(2),
        "open": _opening(1),
        # What is written to a note through shared memory takes no set-id bit away.
        "mmap": [*no_exec[:-1], *_without(3, SHARED)] if permitted.kind == "rw" else no_exec,
        "mprotect": no_exec,
        "ioctl": _one_of(1, DESCRIPTOR_IOCTLS, otherwise=ERRNO | errno.ENOTTY),
        "fcntl": _one_of(1, (*FCNTL_COMMANDS, *locks), otherwise=REFUSE),
        "fchmod": _without(1, SET_ID_BITS),
        # RENAME_WHITEOUT would leave a device in the former place.
        "renameat2": _without(4, ~RENAME_FLAGS & 0xFFFF_FFFF),
        "tgkill": _one_of(0, (pid,), otherwise=REFUSE),
        # The process is checked as well: reading another's limits needs no right to it.
        "prlimit64": [
            _load_argument(0),
            Instruction(JUMP_EQUAL, 1, 0, 0),
            _return(REFUSE),
            *_zero_pointer(2),
        ],
        "sendto": _zero_pointer(4),
        # The C library falls back to clone, which is refused; EPERM here would be an error of its own.
        "clone3": [_return(ERRNO | errno.ENOSYS)],
        # As a kernel without it, so that a root is walked.
        "openat2": [_return(ALLOW if permitted.resolves else ERRNO | errno.ENOSYS)],
    }


def _load(offset: int) -> Instruction:
    return Instruction(LOAD, 0, 0, offset)


def _load_argument(index: int, *, half: int = 0) -> Instruction:
    # Both machines are little-endian: the low half of an argument comes first. Where the kernel takes an
    # int, it drops the high half too.
    return _load(ARGUMENTS_AT + 8 * index + 4 * half)


def _return(answer: int) -> Instruction:
    return Instruction(RETURN, 0, 0, answer)


def _when(number: int | None, body: list[Instruction]) -> list[Instruction]:
    if number is None:
        return []
    return [Instruction(JUMP_EQUAL, 0, len(body), number), *body]


def _one_of(argument: int, values: tuple[int, ...], *, otherwise: int) -> list[Instruction]:
    steps = [_load_argument(argument)]
    for value in values:
        steps += [Instruction(JUMP_EQUAL, 0, 1, value), _return(ALLOW)]
    return [*steps, _return(otherwise)]


def _without(argument: int, bits: int) -> list[Instruction]:
    return [_load_argument(argument), Instruction(JUMP_ANY_BIT, 0, 1, bits), _return(REFUSE), _return(ALLOW)]


def _opening(argument: int) -> list[Instruction]:
    """Refuse flags of an opening that name no access, or a file without a name; and a mode with a set-id bit."""
    one, other = BOTH_ACCESS_BITS
    return [
        _load_argument(argument),
        Instruction(JUMP_ANY_BIT, 0, 1, NAMELESS),
        _return(REFUSE),
        Instruction(JUMP_ANY_BIT, 0, 2, one),
        Instruction(JUMP_ANY_BIT, 0, 1, other),
        _return(REFUSE),
        Instruction(JUMP_ANY_BIT, 0, 3, MAKES),
        _load_argument(argument + 1),
        Instruction(JUMP_ANY_BIT, 0, 1, SET_ID_BITS),
        _return(REFUSE),
        _return(ALLOW),
    ]


def _zero_pointer(argument: int) -> list[Instruction]:
    steps = []
    for half in (0, 1):
        steps += [_load_argument(argument, half=half), Instruction(JUMP_EQUAL, 1, 0, 0), _return(REFUSE)]
    return [*steps, _return(ALLOW)]
