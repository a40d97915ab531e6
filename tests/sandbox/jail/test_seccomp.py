"""The filter: its tables against the kernel's headers, its answers by interpretation, and in force."""

from __future__ import annotations

import errno
import re
from functools import cache
from pathlib import Path

import pytest

from sandbox.jail.seccomp import (
    ALLOW,
    ALLOWED,
    ARCHITECTURES,
    CHECKED,
    DESCRIPTOR_IOCTLS,
    ERRNO,
    FCNTL_COMMANDS,
    KILL_PROCESS,
    REFUSE,
    TRIP_WIRES,
    X32_BIT,
    build,
    number_of,
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


@cache
def _program(machine: str) -> bytes:
    return build(pid=PID, machine=machine)


def ask(machine: str, name: str | int, *arguments: int) -> int:
    """Return the filter's answer to a call by name or number."""
    number = name if isinstance(name, int) else number_of(name, machine)
    assert number is not None
    return bpf.run(_program(machine), architecture=ARCHITECTURES[machine], number=number, arguments=arguments)


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
    ours = {name: pair[column] for table in (CHECKED, ALLOWED, TRIP_WIRES) for name, pair in table.items()}
    names = GENERIC_NAMES if machine == "aarch64" else {}
    # A header may be older than a call of the table; a call that it knows has its number.
    wrong = {
        name: (number, found.get(names.get(name, name)))
        for name, number in ours.items()
        if found.get(names.get(name, name)) != number
        and not (number is not None and number > max(found.values()))
    }
    assert wrong == {}


@pytest.mark.parametrize("machine", MACHINES)
def test_every_number_gets_the_answer_of_its_table(machine: str) -> None:
    program, architecture = build(pid=PID, machine=machine), ARCHITECTURES[machine]
    wanted: dict[int | None, int] = {}
    for table, answer in ((ALLOWED, ALLOW), (TRIP_WIRES, KILL_PROCESS)):
        wanted |= {number_of(name, machine): answer for name in table}
    checked = {number_of(name, machine) for name in CHECKED}
    assert not checked & wanted.keys() - {None}
    for number in range(1024):
        if number in checked:
            continue
        answer = bpf.run(program, architecture=architecture, number=number, arguments=(TOP - 1,) * 6)
        assert (number, answer) == (number, wanted.get(number, REFUSE))


def test_no_call_stands_in_two_tables() -> None:
    names = [*CHECKED, *ALLOWED, *TRIP_WIRES]
    assert len(names) == len(set(names))
    for machine in MACHINES:
        numbers = [number_of(name, machine) for name in names if number_of(name, machine) is not None]
        assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_in_another_machines_table_kill(machine: str) -> None:
    program = build(pid=PID, machine=machine)
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


@pytest.mark.parametrize("machine", MACHINES)
def test_only_ioctls_of_the_descriptor_itself_are_made(machine: str) -> None:
    for request in DESCRIPTOR_IOCTLS:
        assert ask(machine, "ioctl", 3, request) == ALLOW
        assert ask(machine, "ioctl", 3, request | TOP) == ALLOW  # the kernel takes an int
    for request in (0x5412, 0x5401, 0x4008_6602, 0, *(each + 2 for each in DESCRIPTOR_IOCTLS)):
        assert ask(machine, "ioctl", 3, request) == ERRNO | errno.ENOTTY


@pytest.mark.parametrize("machine", MACHINES)
def test_only_plain_fcntl_commands_are_made(machine: str) -> None:
    for command in range(2048):
        answer = ask(machine, "fcntl", 3, command) if command < 64 or command > 1000 else REFUSE
        assert (command, answer) == (command, ALLOW if command in FCNTL_COMMANDS else REFUSE)


@pytest.mark.parametrize("machine", MACHINES)
def test_set_id_bits_are_not_set(machine: str) -> None:
    for mode in (0, 0o600, 0o644, 0o777):
        assert ask(machine, "fchmod", 3, mode) == ALLOW
    for mode in (0o4755, 0o2755, 0o1777, 0o7000):
        assert ask(machine, "fchmod", 3, mode) == REFUSE


@pytest.mark.parametrize("machine", MACHINES)
def test_times_are_set_through_a_descriptor_only(machine: str) -> None:
    assert ask(machine, "utimensat", 3, 0, 0x1000, 0) == ALLOW
    for path in (1, 0x7FFF_0000_0000, TOP):
        assert ask(machine, "utimensat", 3, path, 0x1000, 0) == REFUSE


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
            build(pid=PID, machine=machine)
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
