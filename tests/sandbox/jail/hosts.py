"""Hosts that lack something, imitated by a real seccomp filter that answers as they do.

The filter stays in front of whatever the process tries later. It decides by the call, and for some by one
argument; it never changes a probe of the product. An older Landlock version is answered by another process that
the kernel asks (SECCOMP_RET_USER_NOTIF), since a filter alone can only make a call fail.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import select
import struct

ALLOW, ERRNO, NOTIFY, KILL = 0x7FFF_0000, 0x0005_0000, 0x7FC0_0000, 0x8000_0000
_LIBC = ctypes.CDLL(None, use_errno=True)
_MACHINE = os.uname().machine
_SECCOMP = {"x86_64": 317, "aarch64": 277}.get(_MACHINE, 0)
_UNSHARE = {"x86_64": 272, "aarch64": 97}.get(_MACHINE, 0)
_MOUNT = {"x86_64": 165, "aarch64": 40}.get(_MACHINE, 0)
_CAPSET = {"x86_64": 126, "aarch64": 91}.get(_MACHINE, 0)
_KEYCTL = {"x86_64": 250, "aarch64": 219}.get(_MACHINE, 0)
_PIVOT = {"x86_64": 155, "aarch64": 41}.get(_MACHINE, 0)
_PRLIMIT = {"x86_64": 302, "aarch64": 261}.get(_MACHINE, 0)
_SETATTR = 442
_OPENAT2 = 437
_LANDLOCK = (444, 445, 446)

HOSTS: dict[str, dict[int, int]] = {
    "no Landlock in the kernel": dict.fromkeys(_LANDLOCK, errno.ENOSYS),
    "Landlock not active": dict.fromkeys(_LANDLOCK, errno.EOPNOTSUPP),
    "no namespaces": {_UNSHARE: errno.EPERM},
    "container": dict.fromkeys((_UNSHARE, _MOUNT, _PIVOT, _KEYCTL, _SETATTR), errno.EPERM),
    "namespaces without mounts": {_MOUNT: errno.EACCES},
    "no mount_setattr": {_SETATTR: errno.ENOSYS},
    "no openat2": {_OPENAT2: errno.ENOSYS},
    "nothing": {**dict.fromkeys(_LANDLOCK, errno.ENOSYS), _UNSHARE: errno.EPERM, _SECCOMP: errno.EINVAL},
    "no seccomp": {_SECCOMP: errno.EINVAL},
    # Calls that claim to have worked, and did nothing.
    "Landlock that does nothing": {_LANDLOCK[2]: 0},
    "seccomp that does nothing": {_SECCOMP: 0},
    "capset that does nothing": {_CAPSET: 0},
    "limits that do nothing": {_PRLIMIT: 0},
    "unshare that does nothing": {_UNSHARE: 0},
    "mount_setattr that does nothing": {_SETATTR: 0},
    # What ends a process, or is short for a moment, and says nothing about the host.
    "death at the mounts": {_PIVOT: KILL},
    "no memory for namespaces": {_UNSHARE: errno.ENOMEM},
    "no descriptor for Landlock": {_LANDLOCK[0]: errno.ENFILE},
    "no memory for the filter": {_SECCOMP: errno.ENOMEM},
    "no Landlock, no seccomp": {**dict.fromkeys(_LANDLOCK, errno.ENOSYS), _SECCOMP: errno.EINVAL},
    "no Landlock, no namespaces": {**dict.fromkeys(_LANDLOCK, errno.ENOSYS), _UNSHARE: errno.EPERM},
}


def imitate(name: str) -> None:
    """Turn this process into one on the host *name*: one of `HOSTS`, or `Landlock N`."""
    if name in HOSTS:
        steps = [_step(0x20, 0, 0, 0)]
        for number, answer in HOSTS[name].items():
            steps += [_step(0x15, 0, 1, number), _step(6, 0, 0, answer if answer == KILL else ERRNO | answer)]
        _install([*steps, _step(6, 0, 0, ALLOW)], flags=0)
        return
    _answer_version(int(name.removeprefix("Landlock ")))


def _answer_version(version: int) -> None:
    """Have a child answer landlock_create_ruleset(…, LANDLOCK_CREATE_RULESET_VERSION) with *version*."""
    steps = [
        _step(0x20, 0, 0, 0),
        _step(0x15, 0, 3, _LANDLOCK[0]),
        _step(0x20, 0, 0, 16 + 8 * 2),
        _step(0x15, 0, 1, 1),
        _step(6, 0, 0, NOTIFY),
        _step(6, 0, 0, ALLOW),
    ]
    listener = _install(steps, flags=1 << 3)
    asker = os.getpid()
    if os.fork() != 0:
        os.close(listener)
        return
    # It is under the filter itself, so the kernel never tells it that nobody is left to ask; and the death of
    # a process that Landlock forbids to signal strangers does not signal it either.
    try:
        for descriptor in range(3, 64):
            if descriptor != listener:
                try:
                    os.close(descriptor)
                except OSError:
                    pass
        while os.getppid() == asker:
            if not select.select([listener], [], [], 0.02)[0]:
                continue
            asked = bytearray(80)
            fcntl.ioctl(listener, 0xC0502100, asked)
            (which,) = struct.unpack_from("Q", asked)
            fcntl.ioctl(listener, 0xC0182101, struct.pack("QqiI", which, version, 0, 0))
    finally:
        os._exit(0)


def _step(code: int, if_true: int, if_false: int, constant: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, constant)


def _install(steps: list[bytes], *, flags: int) -> int:
    program = ctypes.create_string_buffer(b"".join(steps))
    description = struct.pack("H6xQ", len(steps), ctypes.addressof(program))
    if _LIBC.prctl(38, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")
    listener: int = _LIBC.syscall(
        ctypes.c_long(_SECCOMP), ctypes.c_long(1), ctypes.c_long(flags), description
    )
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return listener
