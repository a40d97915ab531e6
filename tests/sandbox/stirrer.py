"""A process that changes a tree in every way that other programs do, as it is told (`test_watcher_property.py`).

Each line of its input is a list of steps, `[what, one, other]` with paths relative to the folder of its argument; what
cannot be done is skipped. It answers each line with one of its own.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from collections.abc import Callable, Sequence

from sandbox import _linux

HERE = -100  # AT_FDCWD


def _write(one: str, other: str) -> None:
    with open(one, "wb") as file:
        file.write(other.encode())


def _append(one: str, other: str) -> None:
    with open(one, "ab") as file:
        file.write(other.encode())
        file.flush()
        file.write(b"+")


def _save(one: str, other: str) -> None:
    aside = one + "~"
    _write(aside, other)
    os.replace(aside, one)


def _exchange(one: str, other: str) -> None:
    _linux.renameat2(HERE, os.fsencode(one), HERE, os.fsencode(other), flags=_linux.RENAME_EXCHANGE)


def _copy(one: str, other: str) -> None:
    if not (os.path.realpath(other) + "/").startswith(os.path.realpath(one) + "/"):
        shutil.copytree(one, other, symlinks=True)


def _deep(one: str, other: str) -> None:
    os.makedirs(one + "/" + other)
    _write(f"{one}/{other}/x.md", "deep")


STEPS: dict[str, Callable[[str, str], object]] = {
    "write": _write,
    "append": _append,
    "save": _save,
    "remove": lambda one, _: os.unlink(one),
    "folder": lambda one, _: os.mkdir(one),
    "deep": _deep,
    "remove tree": lambda one, _: shutil.rmtree(one),
    "rename": os.rename,
    "exchange": _exchange,
    "copy": _copy,
    "link": lambda one, other: os.symlink(other, one),
    "touch": lambda one, _: os.utime(one, (1, 1)),
    "truncate": lambda one, _: os.truncate(one, 1),
    "raw name": lambda one, _: _write(one + "/\udcff.md", "raw"),
}

FOLDERS = ("root", "root/a", "root/b", "root/a/b", "root/b/a", "root/a/b/c", "root/.h", "out", "out/a")
PLACES = (*FOLDERS[1:], *(f"{folder}/{name}" for folder in FOLDERS for name in ("x.md", "y.md", "a", "c")))


def do(steps: Sequence[Sequence[str]]) -> int:
    """Do the steps, and return how many could be done."""
    done = 0
    for what, one, other in steps:
        try:
            STEPS[what](one, other)
        except OSError:
            continue
        done += 1
    return done


def choose(seed: int, count: int) -> list[list[str]]:
    """Choose *count* steps by chance."""
    chance = random.Random(seed)  # noqa: S311 - the same steps for the same seed
    weights = [1 if what == "remove tree" else 3 for what in STEPS]
    return [
        [
            what,
            chance.choice(PLACES),
            str(number) if what in ("write", "append", "save") else chance.choice(PLACES),
        ]
        for number, what in enumerate(chance.choices(list(STEPS), weights, k=count))
    ]


def main() -> None:
    """Stir until the input ends."""
    os.chdir(sys.argv[1])
    for line in sys.stdin:
        told = json.loads(line)
        os.chdir(os.path.join(sys.argv[1], told["in"]))
        steps = told["steps"] if "steps" in told else choose(told["seed"], told["count"])
        print(do(steps), flush=True)


if __name__ == "__main__":
    main()
