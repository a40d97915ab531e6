"""Says which changes of a module its tests notice: `python -m tests.mutation MODULE TEST ...`, all of them files.

Each change is made in a process of its own, which loads the changed module under its name and runs the tests until one
fails. A change with which they take several times as long as without is noticed, too. The status is 1 where fewer than
*--least* of a hundred were noticed.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.machinery
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import hypothesis
import pytest

from tests.mutation.mutants import Mutant, mutants

LEAST_SECONDS = 20.0
"""No run of the tests is given up before."""

SLOWER = 5
"""A run that takes so many times as long as without a change is given up."""

PASSED, FAILED = 0, 1

_LOADED = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
_OPTIONS = ("-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-W", _LOADED)


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from another tree than the one in its file."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self._name = name
        self._path = path
        self._tree = tree

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find the module of that name alone."""
        if fullname != self._name:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=str(self._path))
        spec.has_location = True
        if self._path.name == "__init__.py":
            spec.submodule_search_locations = [str(self._path.parent)]
        return spec

    def exec_module(self, module: ModuleType) -> None:
        """Run the tree as the module's code."""
        exec(compile(self._tree, str(self._path), "exec"), module.__dict__)  # noqa: S102 - ours


def run(path: Path, tree: ast.Module, tests: Sequence[str], *, seconds: float) -> int | None:
    """Return with which status the tests end where the module at *path* is *tree*; None where they do not in time."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        sys.meta_path.insert(0, _Changed(name, path, tree))
        status = FAILED
        try:
            status = int(pytest.main([*_OPTIONS, *tests]))
        finally:
            os._exit(status)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            _end(child)
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    _end(child)
    os.waitpid(child, 0)
    return None


def _end(group: int) -> None:
    """End what is left of a run, which has a process group of its own."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass  # nothing is


def main() -> int:
    """Try all changes of one module and say which were not noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("module", type=Path)
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--lines", type=int, nargs="*", help="try only changes in these lines")
    parser.add_argument("--least", type=float, default=95.0)
    chosen = parser.parse_args()
    assert hypothesis.__version__  # loaded here, once for all
    source = chosen.module.read_text(encoding="utf-8")
    begun = time.monotonic()
    if (status := run(chosen.module, ast.parse(source), chosen.tests, seconds=600.0)) != PASSED:
        print(f"the tests do not pass without a change: {status}")
        return 2
    seconds = max(LEAST_SECONDS, SLOWER * (time.monotonic() - begun))
    survivors: list[Mutant] = []
    total = 0
    for mutant in mutants(source):
        if chosen.lines and mutant.line not in chosen.lines:
            continue
        total += 1
        if run(chosen.module, mutant.tree, chosen.tests, seconds=seconds) == PASSED:
            survivors.append(mutant)
            print(f"{chosen.module}:{mutant.line}: {mutant.change}", flush=True)
    noticed = total - len(survivors)
    print(f"{chosen.module}: {noticed} of {total} noticed, {100 * noticed / max(1, total):.1f} %")
    return 0 if 100 * noticed >= chosen.least * total else 1


if __name__ == "__main__":
    sys.exit(main())
