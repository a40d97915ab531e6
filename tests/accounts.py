"""What an account needs that is not the one of the tests: an interpreter and packages that it can reach."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

from tests.mounts import REPOSITORY


def reachable(folder: Path) -> bool:
    """Say whether every account may go through all that is above *folder*."""
    return all(path.stat().st_mode & 0o001 for path in folder.parents)


def interpreter() -> tuple[str, dict[str, str]] | None:
    """Return an interpreter of this version that any account may run, and what it needs to find our packages."""
    ours = os.path.realpath(sys.executable)
    system = os.path.realpath("/usr/bin/python3")
    version = f"python{sysconfig.get_python_version()}"
    packages = os.pathsep.join([REPOSITORY, *(path for path in sys.path if path.endswith("site-packages"))])
    for each in (ours, system):
        if os.path.exists(each) and reachable(Path(each)) and (each == ours or version in each):
            return each, {"PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1"}
    return None
