"""Brings the clients and checks that others wrote, as they are pinned, from npm's registry into a folder of their own.

What comes is held to the hashes in `package-lock.json`, which names no registry: npm's own setting says which one.
Nothing that comes with a package is run on the way in. `FSNOTES_EXTERN` names a folder to keep them in between runs.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
MADE: Final = ("package.json", "package-lock.json")
KEPT: Final = "FSNOTES_EXTERN"

SECONDS: Final = (60.0, 90.0)
"""How long it may take, the first time and the second: where it is slow, most of it is there by then."""

CPUS: Final = {"x86_64": "x64", "aarch64": "arm64"}

COMMAND: Final = (
    "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Packages:
    """What is installed in *folder*."""

    folder: Path

    @property
    def node(self) -> str:
        """The Node that is pinned: the machine's own is there to install it, whatever its version."""
        cpu = CPUS[platform.machine()]
        return str(self.folder / "node_modules" / f"node-linux-{cpu}" / "bin" / "node")

    def program(self, package: str, path: str) -> list[str]:
        """Return the words that run a script of *package*."""
        return [self.node, str(self.folder / "node_modules" / package / path)]

    def driver(self, name: str) -> list[str]:
        """Return the words that run a driver of ours. It lies beside the packages, where Node looks for them."""
        return [self.node, str(self.folder / name)]


def is_there() -> bool:
    """Say whether there is npm."""
    return shutil.which("npm") is not None


def install(folder: Path) -> Packages:
    """Install everything in *folder*, with one more try. Raises CalledProcessError and TimeoutExpired."""
    folder.mkdir(parents=True, exist_ok=True)
    packages = Packages(folder)
    for driver in HERE.glob("*.mjs"):
        shutil.copy(driver, folder)
    if _is_installed(folder):
        return packages
    for name in MADE:
        shutil.copy(HERE / name, folder)
    for seconds in SECONDS:
        try:
            subprocess.run(
                COMMAND,
                cwd=folder,
                timeout=seconds,
                check=True,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            if seconds == SECONDS[-1]:
                raise
            time.sleep(1)
        else:
            break
    shutil.copy(HERE / MADE[1], folder / "node_modules" / ".of")
    return packages


def _is_installed(folder: Path) -> bool:
    try:
        return (folder / "node_modules" / ".of").read_bytes() == (HERE / MADE[1]).read_bytes()
    except FileNotFoundError:
        return False


def remove(folder: Path) -> None:
    """Remove what was installed: it is large."""
    shutil.rmtree(folder / "node_modules", ignore_errors=True)


def kept() -> Path | None:
    """Return the folder that is to be kept, if there is one."""
    named = os.environ.get(KEPT)
    return None if not named else Path(named)
