"""The filter: its tables against the kernel's headers, its answers by interpretation, and in force."""

from __future__ import annotations

import errno
import fcntl
import os
import re
from functools import cache
from pathlib import Path

import pytest

from sandbox.jail.report import KINDS, WorkerKind
from sandbox.jail.seccomp import (
    ALLOW,
    ALLOWED,
    ARCHITECTURES,
    CHANGING,
    CHECKED,
    DESCRIPTOR_IOCTLS,
    ERRNO,
    FCNTL_COMMANDS,
    KILL_PROCESS,
    LOCK_BY_DESCRIPTION,
    MARKING,
    REFUSE,
    TRIP_WIRES,
    WRITING,
    X32_BIT,
    Permit,
    build,
    number_of,
    permit,
    tables,
)
from tests.require import require
from tests.sandbox.jail import bpf
from tests.sandbox.jail.launching import launch

PID = 4321
MACHINES = sorted(ARCHITECTURES)
TOP = 1 << 32
"""What a caller may put into the half of an argument that the kernel ignores."""

HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}
GENERIC_NAMES = {"newfstatat": "fstatat"}

EVERY = (CHECKED, ALLOWED, WRITING, CHANGING, MARKING, TRIP_WIRES)
MOST = permit("rw", own_tree=True, follows_links=False)
PERMITS = tuple(
    permit(kind, own_tree=own_tree, follows_links=follows_links)
    for kind in KINDS
    for own_tree in (True, False)
    for follows_links in (True, False)
)

OPENINGS = [
    ("x86_64", "open", (0x1000,)),
    ("x86_64", "openat", (3, 0x1000)),
    ("aarch64", "openat", (3, 0x1000)),
]
"""Every call that opens by flags in an argument, with what comes before them."""


@cache
def _program(machine: str, permitted: Permit) -> bytes:
    return build(permitted, pid=PID, machine=machine)


def ask(machine: str, name: str | int, *arguments: int, permitted: Permit = MOST) -> int:
    """Return the filter's answer to a call by name or number."""
    number = name if isinstance(name, int) else number_of(name, machine)
    assert number is not None
    program = _program(machine, permitted)
    return bpf.run(program, architecture=ARCHITECTURES[machine], number=number, arguments=arguments)


@pytest.mark.parametrize("machine", MACHINES)
def test_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    path = next((Path(each) for each in HEADERS[machine] if Path(each).exists()), None)
    require("kernel headers", available=path is not None, why=f"none for {machine}")
    assert path is not None
    text = path.read_text(encoding="ascii")
    found = {
        name: int(value)
        for name, value in re.findall(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)\s*$", text, re.MULTILINE)
    }
    column = MACHINES.index(machine) ^ 1  # the tables have x86_64 first
    ours = {name: pair[column] for table in EVERY for name, pair in table.items()}
    names = GENERIC_NAMES if machine == "aarch64" else {}
    # A header may be older than a call of the table; a call that it knows has its number.
    wrong = {
        name: (number, found.get(names.get(name, name)))
        for name, number in ours.items()
        if found.get(names.get(name, name)) != number
        and not (number is not None and number > max(found.values()))
    }
    assert wrong == {}


@pytest.mark.parametrize("permitted", PERMITS, ids=str)
@pytest.mark.parametrize("machine", MACHINES)
def test_every_number_gets_the_answer_of_its_table(machine: str, permitted: Permit) -> None:
    program, architecture = build(permitted, pid=PID, machine=machine), ARCHITECTURES[machine]
    wanted: dict[int | None, int] = {number_of(name, machine): ALLOW for name in tables(permitted)}
    wanted |= {number_of(name, machine): KILL_PROCESS for name in TRIP_WIRES}
    checked = {number_of(name, machine) for name in (*CHECKED, "fchmod", "renameat2")}
    for number in range(1024):
        if number in checked and number in wanted:
            continue
        answer = bpf.run(program, architecture=architecture, number=number, arguments=(TOP - 1,) * 6)
        assert (number, answer) == (number, wanted.get(number, REFUSE))


def test_each_kind_has_the_calls_that_it_is_for_and_no_others() -> None:
    for own_tree in (True, False):
        for follows_links in (True, False):
            found = {
                kind: set(tables(permit(kind, own_tree=own_tree, follows_links=follows_links)))
                for kind in KINDS
            }
            every = set(CHECKED | ALLOWED)
            assert found["ro"] == every
            assert found["index"] == every | set(WRITING)
            assert found["rw"] - set(MARKING) == every | set(WRITING | CHANGING)


def test_who_reaches_the_host_by_openat2_changes_no_modes_and_who_sets_attributes_has_no_openat2() -> None:
    """What openat2 is asked for is in memory: an access mode that Landlock does not judge, a set-id bit."""
    found = {
        (kind, own_tree, follows_links): permit(kind, own_tree=own_tree, follows_links=follows_links)
        for kind in KINDS
        for own_tree in (True, False)
        for follows_links in (True, False)
    }
    for (kind, own_tree, follows_links), permitted in found.items():
        assert permitted.resolves is (follows_links or (own_tree and kind != "rw"))
        assert permitted.marks is (kind == "rw" and (own_tree or not follows_links))
        for machine in MACHINES:
            answer = ask(machine, "openat2", 3, permitted=permitted)
            assert answer == (ALLOW if permitted.resolves else ERRNO | errno.ENOSYS)
            for name in MARKING:
                kept = permitted.marks and not (name == "fsetxattr" and permitted.resolves)
                assert ask(machine, name, permitted=permitted) == (ALLOW if kept else REFUSE)


def test_no_call_stands_in_two_tables() -> None:
    names = [name for table in EVERY for name in table]
    assert len(names) == len(set(names))
    for machine in MACHINES:
        numbers = [number_of(name, machine) for name in names if number_of(name, machine) is not None]
        assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize("permitted", PERMITS, ids=str)
@pytest.mark.parametrize(("machine", "name", "before"), OPENINGS)
def test_a_file_is_opened_to_read_or_to_write_or_as_a_path(
    machine: str, name: str, before: tuple[int, ...], permitted: Permit
) -> None:
    for flags in (0, 1, 2):
        for more in (0, os.O_CREAT | os.O_EXCL, os.O_PATH, os.O_DIRECTORY, os.O_NOFOLLOW | os.O_CLOEXEC):
            assert ask(machine, name, *before, flags | more, permitted=permitted) == ALLOW
            assert ask(machine, name, *before, flags | more | TOP, permitted=permitted) == ALLOW  # an int
            assert ask(machine, name, *before, 3 | more, permitted=permitted) == REFUSE
            assert ask(machine, name, *before, 3 | more | TOP, permitted=permitted) == REFUSE


@pytest.mark.parametrize(("machine", "name", "before"), OPENINGS)
def test_no_file_is_made_without_a_name(machine: str, name: str, before: tuple[int, ...]) -> None:
    for access in range(4):
        for folder in (
            0o200000,
            0o40000,
            0,
        ):  # O_DIRECTORY of x86_64 and of aarch64; without it it is an error
            assert ask(machine, name, *before, access | 0o20000000 | folder) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
def test_a_rename_overwrites_exchanges_or_does_neither_and_leaves_no_device(machine: str) -> None:
    for flags in (0, 1, 2, 3, 1 | TOP):
        assert ask(machine, "renameat2", 3, 0x1000, 4, 0x2000, flags) == ALLOW
    for flags in (4, 5, 8, 1 << 31, TOP - 1, 4 | TOP):
        assert ask(machine, "renameat2", 3, 0x1000, 4, 0x2000, flags) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_in_another_machines_table_kill(machine: str) -> None:
    program = build(MOST, pid=PID, machine=machine)
    for architecture in (*ARCHITECTURES.values(), 0x4000_0003, 0x4000_0028, 0):  # i386, arm
        if architecture != ARCHITECTURES[machine]:
            assert bpf.run(program, architecture=architecture, number=0) == KILL_PROCESS
    if machine == "x86_64":
        for number in (X32_BIT, X32_BIT | 1, X32_BIT | 512, TOP - 1):
            assert ask(machine, number) == KILL_PROCESS


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ["mmap", "mprotect"])
def test_memory_never_becomes_executable(machine: str, name: str) -> None:
    for protection in range(4):
        assert ask(machine, name, 0, 4096, protection) == ALLOW
    for protection in (4, 5, 7, 4 | 1 << 24, 4 | TOP):
        assert ask(machine, name, 0, 4096, protection) == REFUSE


@pytest.mark.parametrize("permitted", PERMITS, ids=str)
@pytest.mark.parametrize("machine", MACHINES)
def test_memory_is_shared_with_no_note_that_may_be_written(machine: str, permitted: Permit) -> None:
    """What is written so takes no set-id bit away."""
    for protection in (1, 2, 3):
        for flags in (0x02, 0x22, 0x802, 0x02 | TOP):  # private; anonymous; without a check of the file
            assert ask(machine, "mmap", 0, 4096, protection, flags, permitted=permitted) == ALLOW
        for flags in (0x01, 0x03, 0x21, 0x8001, 0x01 | TOP):  # shared; validated; anonymous
            answer = ask(machine, "mmap", 0, 4096, protection, flags, permitted=permitted)
            assert answer == (REFUSE if permitted.kind == "rw" else ALLOW)
        for flags in (0x01, 0x02):
            assert ask(machine, "mmap", 0, 4096, protection | 4, flags, permitted=permitted) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
def test_only_ioctls_of_the_descriptor_itself_are_made(machine: str) -> None:
    for request in DESCRIPTOR_IOCTLS:
        assert ask(machine, "ioctl", 3, request) == ALLOW
        assert ask(machine, "ioctl", 3, request | TOP) == ALLOW  # the kernel takes an int
    for request in (0x5412, 0x5401, 0x4008_6602, 0, *(each + 2 for each in DESCRIPTOR_IOCTLS)):
        assert ask(machine, "ioctl", 3, request) == ERRNO | errno.ENOTTY


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("machine", MACHINES)
def test_only_the_fcntl_commands_that_are_needed_are_made(machine: str, kind: WorkerKind) -> None:
    permitted = permit(kind, own_tree=True, follows_links=False)
    needed = {*FCNTL_COMMANDS, LOCK_BY_DESCRIPTION} if kind == "index" else {*FCNTL_COMMANDS}
    for command in (*range(64), *range(1000, 1100)):
        answer = ask(machine, "fcntl", 3, command, permitted=permitted)
        assert (command, answer) == (command, ALLOW if command in needed else REFUSE)
    assert fcntl.F_OFD_SETLK == LOCK_BY_DESCRIPTION
    assert sorted(FCNTL_COMMANDS) == sorted(
        (fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL, fcntl.F_GETLK, fcntl.F_SETLK, fcntl.F_DUPFD_CLOEXEC)
    )


@pytest.mark.parametrize("machine", MACHINES)
def test_set_id_bits_are_not_set(machine: str) -> None:
    for mode in (0, 0o600, 0o644, 0o777):
        assert ask(machine, "fchmod", 3, mode) == ALLOW
    for mode in (0o4755, 0o2755, 0o1777, 0o7000):
        assert ask(machine, "fchmod", 3, mode) == REFUSE


@pytest.mark.parametrize("permitted", PERMITS, ids=str)
@pytest.mark.parametrize(("machine", "name", "before"), OPENINGS)
def test_no_file_is_made_with_a_set_id_bit(
    machine: str, name: str, before: tuple[int, ...], permitted: Permit
) -> None:
    for flags in (os.O_WRONLY | os.O_CREAT, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | TOP):
        for mode in (0, 0o600, 0o666, 0o777):
            assert ask(machine, name, *before, flags, mode, permitted=permitted) == ALLOW
            assert ask(machine, name, *before, flags, mode | TOP, permitted=permitted) == ALLOW
        for mode in (0o4755, 0o2705, 0o1600, 0o7000, 0o4000 | TOP):
            assert ask(machine, name, *before, flags, mode, permitted=permitted) == REFUSE
    # Where nothing is made, nobody has said a mode.
    assert ask(machine, name, *before, os.O_RDONLY, 0o7777, permitted=permitted) == ALLOW


@pytest.mark.parametrize("permitted", PERMITS, ids=str)
def test_times_are_not_set(permitted: Permit) -> None:
    for machine, number in (("x86_64", 280), ("aarch64", 88)):  # utimensat
        assert ask(machine, number, 3, 0, 0x1000, 0, permitted=permitted) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
def test_signals_reach_ourselves_only(machine: str) -> None:
    assert ask(machine, "tgkill", PID, PID, 6) == ALLOW
    for process in (PID + 1, 1, 0, TOP - 1):
        assert ask(machine, "tgkill", process, PID, 6) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
def test_limits_are_read_but_not_set(machine: str) -> None:
    assert ask(machine, "prlimit64", 0, 7, 0, 0x1000) == ALLOW
    for process, value in ((0, 0x1000), (0, TOP), (1, 0), (PID, 0), (TOP - 1, 0)):
        assert ask(machine, "prlimit64", process, 7, value, 0x1000) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
def test_messages_have_no_other_address(machine: str) -> None:
    assert ask(machine, "sendto", 3, 0x1000, 10, 0x4000, 0, 0) == ALLOW
    for address in (0x1000, TOP):
        assert ask(machine, "sendto", 3, 0x1000, 10, 0x4000, address, 16) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
def test_clone3_is_unknown_so_that_the_c_library_falls_back(machine: str) -> None:
    assert ask(machine, "clone3") == ERRNO | errno.ENOSYS


def test_other_machines_have_no_filter() -> None:
    for machine in ("riscv64", "i686", ""):
        with pytest.raises(OSError) as caught:
            build(MOST, pid=PID, machine=machine)
        assert caught.value.errno == errno.ENOSYS


def test_a_32_bit_call_kills_even_where_the_memory_was_executable_before() -> None:
    """The memory rule keeps such code from appearing; this is what would happen to it if it were there."""
    from tests.sandbox.jail.cases import MACHINE

    require("x86_64", available=MACHINE == "x86_64")
    case = "tests.sandbox.jail.cases:call_32_bit_under_the_filter"
    control = "tests.sandbox.jail.cases:call_32_bit"
    outcomes = launch([case, control], identity="user", level=None)
    require("32-bit calls", available=outcomes[control].worked, why="the kernel has none")
    assert outcomes[case].killed, outcomes[case].said
