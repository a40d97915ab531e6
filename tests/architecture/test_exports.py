"""What the libraries export: each name from where it is at home, and loaded by nobody who does not use it."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import fsnotes.notes
import sandbox
import sandbox.jail
from tests.architecture.test_layers import ROOT

LIBRARIES = [sandbox, sandbox.jail, fsnotes.notes]
"""Their names are loaded when they are first used."""


def _written(module: ModuleType) -> dict[str, str]:
    """Return the names that a module imports for who reads or checks it, with the modules that they come from."""
    assert module.__file__ is not None
    tree = ast.parse((ROOT / module.__file__).read_text(encoding="utf-8"))
    return {
        alias.asname or alias.name: str(node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module not in {"__future__", "typing"}
        for alias in node.names
    }


@pytest.mark.parametrize("module", LIBRARIES, ids=lambda module: module.__name__)
def test_an_export_is_what_its_home_has_as_a_type_checker_sees_it(module: ModuleType) -> None:
    written = _written(module)
    assert sorted(written) == sorted(module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)
    for name, home in written.items():
        # What is loaded late is not seen by the walk over imports: so it must be of the library's own.
        assert home.startswith(f"{module.__name__}.")
        assert getattr(module, name) is getattr(importlib.import_module(home), name)


@pytest.mark.parametrize("module", LIBRARIES, ids=lambda module: module.__name__)
def test_no_export_has_the_name_of_a_module(module: ModuleType) -> None:
    """Python would put the module in its place as soon as somebody loads it."""
    assert set(module.__all__).isdisjoint(each.name for each in pkgutil.iter_modules(module.__path__))
    assert set(module.__all__) <= set(dir(module))


@pytest.mark.parametrize("module", LIBRARIES, ids=lambda module: module.__name__)
def test_other_names_are_not_there(module: ModuleType) -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.parametrize("module", LIBRARIES, ids=lambda module: module.__name__)
def test_loading_the_library_loads_nothing_of_it(module: ModuleType) -> None:
    name = module.__name__
    code = f"import sys, {name}\nprint(*[each for each in sys.modules if each.startswith('{name}.')])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")
