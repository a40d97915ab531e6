"""The unit of `docs/operations.md`: systemd takes it, and under its restrictions the jail is as strong as it asks for.

What a process can do to itself is done here as systemd does it: the filter of system calls, expanded by systemd
itself, no new privileges, no executable memory, the families of sockets. Mounts and accounts are left out.
"""

from __future__ import annotations

import glob
import json
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import ROOT, SECONDS, Shell
from tests.require import require

pytestmark = [pytest.mark.slow, pytest.mark.extern]

PAGE = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
ANALYZE = shutil.which("systemd-analyze")
# What any program needs, which systemd always allows.
ALWAYS = ("execve", "exit", "exit_group", "rt_sigreturn", "clock_gettime", "gettimeofday", "nanosleep")


def unit() -> dict[str, list[str]]:
    """The settings of the unit, each with its values in order."""
    text, _ = re.findall(r"^```ini\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, is_setting, value = line.partition("=")
        if is_setting:
            found.setdefault(name, []).append(value)
    return found


def numbers() -> dict[str, int]:
    headers = glob.glob("/usr/include/**/asm*/unistd*.h", recursive=True)
    found: dict[str, int] = {}
    for header in headers:
        if "x86_64" in header and not header.endswith("unistd_64.h"):
            continue
        text = Path(header).read_text(errors="replace")
        found |= {name: int(number) for name, number in re.findall(r"#define __NR_(\w+)\s+(\d+)", text)}
    return found


def expanded(names: list[str]) -> set[str]:
    """The calls that *names* are, groups of systemd and single ones."""
    found: set[str] = set()
    waiting, seen = list(names), set(names)
    while waiting:
        name = waiting.pop()
        if not name.startswith("@"):
            found.add(name)
            continue
        done = subprocess.run(
            [str(ANALYZE), "syscall-filter", name], capture_output=True, text=True, check=True
        )
        members = {line.strip() for line in done.stdout.splitlines()[1:]} - {""}
        fresh = {member for member in members if not member.startswith("#")} - seen
        seen |= fresh
        waiting += fresh
    return found


def filtered() -> list[str]:
    return " ".join(unit()["SystemCallFilter"]).split()


def diagnose(
    shell: Shell, *, without: tuple[str, ...] = (), missing: tuple[str, ...] = (), level: str = "full"
) -> tuple[int, dict[str, Any]]:
    """Run doctor under the restrictions, less the calls *without*; return its exit code and what it found."""
    require("systemd", available=ANALYZE is not None)
    known = numbers()
    require("kernel headers", available="openat2" in known)
    names = (expanded(filtered()) | set(ALWAYS)) - set(without)
    families = [int(socket.AddressFamily[name]) for name in unit()["RestrictAddressFamilies"][0].split()]
    restrictions = {
        "calls": sorted(known[name] for name in names if name in known),
        "families": families,
        "missing": [known[name] for name in missing],
        "execute": False,
    }
    command = (sys.executable, "-m", "fsnotes", "doctor", "Notes", "--json", "--jail", "require")
    done = shell.run(
        *command[1:],
        "--jail-level",
        level,
        command=(sys.executable, "-m", "tests.cli.confined", json.dumps(restrictions), sys.executable),
    )
    return done.code, json.loads(done.out)


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    require("systemd", available=ANALYZE is not None)
    text, _ = re.findall(r"^```ini\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    program = tmp_path / "fsnotes"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    file = tmp_path / "fsnotes.service"
    file.write_text(text.replace("/opt/fsnotes/bin/fsnotes", str(program)).replace("User=notes\n", ""))
    done = subprocess.run(
        [str(ANALYZE), "verify", "--man=no", str(file)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    own = [line for line in done.stderr.splitlines() if "fsnotes" in line]
    assert (done.returncode, own) == (0, [])


def test_under_the_restrictions_of_the_unit_the_jail_is_full(shell: Shell) -> None:
    shell.write("a.md")
    code, found = diagnose(shell)
    (workspace,) = found["workspaces"]
    assert (code, workspace["level"], found["ok"]) == (0, "full", True)


@pytest.mark.parametrize(
    ("without", "missing", "level", "code"),
    [
        (("landlock_create_ruleset", "seccomp"), (), "partial", 8),
        (("mount",), (), "contained", 8),
        (("unshare",), (), "contained", 8),
        ((), ("openat2",), "full", 0),
    ],
    ids=["no list of its own", "no @mount", "RestrictNamespaces", "RestrictSUIDSGID"],
)
def test_what_collides_with_the_jail_lowers_its_level_as_the_page_says(
    shell: Shell, without: tuple[str, ...], missing: tuple[str, ...], level: str, code: int
) -> None:
    shell.write("a.md")
    ended, found = diagnose(shell, without=without, missing=missing)
    (workspace,) = found["workspaces"]
    assert (ended, workspace["level"]) == (code, level)
