"""Run a piece of Python in a mount namespace of its own, where it may mount what it likes.

As root with unshare(1) alone, else in a user namespace. Nothing that is mounted there is seen outside.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

from tests.require import require

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TIMEOUT_SECONDS = 60


@cache
def _command() -> tuple[str, ...] | None:
    for command in (("unshare", "--mount"), ("unshare", "--user", "--map-root-user", "--mount")):
        probe = [*command, "mount", "-t", "tmpfs", "none", "/tmp"]
        try:
            done = subprocess.run(probe, capture_output=True, timeout=TIMEOUT_SECONDS, check=False)
        except OSError:
            return None
        if done.returncode == 0:
            return command
    return None


def run_in_mount_namespace(module: str, *arguments: str) -> None:
    """Run *module* with *arguments* in a new mount namespace; fail with its output unless it ends well."""
    command = _command()
    require("mounts", available=command is not None, why="no mount namespace can be made")
    assert command is not None
    done = subprocess.run(
        [*command, sys.executable, "-m", module, *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")


def mount(*arguments: str) -> None:
    """Call mount(8), inside the namespace."""
    subprocess.run(["mount", *arguments], check=True, capture_output=True)
