"""What every module owes its reader, and what no module of the product may contain."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAX_LINES = 400
MODULES = sorted(path for package in ("sandbox", "fsnotes") for path in (ROOT / package).rglob("*.py"))

_VAGUE = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
_FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "breakpoint", "input"}
_MAY_ASK = "fsnotes/cli/"  # a person in a terminal
_BARE_SUPPRESSION = re.compile(r"#\s*(?:noqa|type:\s*ignore|pragma:[^#]*)\s*$")
_SUPPRESSION = re.compile(r"#\s*(?:noqa|type:\s*ignore|pragma:)")


def faults(name: str, source: str) -> list[str]:
    """What is wrong with a module, one line each."""
    tree = ast.parse(source)
    found = [*_size(tree, source), *_docstrings(tree), *_calls(name, tree), *_suppressions(source)]
    if Path(name).stem in _VAGUE:
        found.append("a module's name says what it decides")
    return [f"{name}: {fault}" for fault in found]


def _size(tree: ast.Module, source: str) -> list[str]:
    lines = len(source.splitlines())
    excused = f"{MAX_LINES} lines" in (ast.get_docstring(tree) or "")
    return [f"{lines} lines, and its docstring does not say why"] if lines > MAX_LINES and not excused else []


def _docstrings(tree: ast.Module) -> list[str]:
    found = [] if ast.get_docstring(tree) else ["no docstring"]

    def walk(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.If):
                walk([*node.body, *node.orelse], prefix)
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            if node.name.startswith("_"):
                continue
            inherited = any(
                isinstance(mark, ast.Name) and mark.id in {"override", "overload"}
                for mark in node.decorator_list
            ) or any(
                isinstance(mark, ast.Attribute) and mark.attr == "setter" for mark in node.decorator_list
            )
            if not ast.get_docstring(node) and not inherited:
                found.append(f"line {node.lineno}: {prefix}{node.name} has no docstring")
            if isinstance(node, ast.ClassDef):
                walk(node.body, f"{prefix}{node.name}.")

    walk(tree.body, "")
    return found


def _calls(name: str, tree: ast.Module) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            found.append(f"line {node.lineno}: assert is gone under -O")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            asks = node.func.id == "input" and name.startswith(_MAY_ASK)
            if node.func.id in _FORBIDDEN_CALLS and not asks:
                found.append(f"line {node.lineno}: {node.func.id}()")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            called = f"{getattr(node.func.value, 'id', '')}.{node.func.attr}"
            if called in {
                "os.system",
                "os.popen",
                "pickle.loads",
                "pickle.load",
                "marshal.loads",
                "yaml.load",
            }:
                found.append(f"line {node.lineno}: {called}()")
        if (
            isinstance(node, ast.keyword)
            and node.arg == "shell"
            and getattr(node.value, "value", 1) is not False
        ):
            found.append(f"line {node.value.lineno}: shell")
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [getattr(node, "module", "") or "", *(alias.name for alias in node.names)]
            found += [
                f"line {node.lineno}: pickle" for word in names if word.split(".")[0] in {"pickle", "dill"}
            ]
    return found


def _suppressions(source: str) -> list[str]:
    return [
        f"line {number}: a suppression without its code"
        for number, line in enumerate(source.splitlines(), start=1)
        if _SUPPRESSION.search(line) and _BARE_SUPPRESSION.search(line)
    ]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_keeps_the_house_rules(path: Path) -> None:
    assert faults(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "x = 1",
        '"""Doc."""\ndef f(): ...',
        '"""Doc."""\nclass C: ...',
        '"""Doc."""\nclass C:\n    """C."""\n    def f(self): ...',
        '"""Doc."""\nif True:\n    def f(): ...',
        '"""Doc."""\nassert True',
        '"""Doc."""\ndef _f():\n    assert True',
        '"""Doc."""\nimport pickle',
        '"""Doc."""\nfrom pickle import loads',
        '"""Doc."""\neval("1")',
        '"""Doc."""\nexec("1")',
        '"""Doc."""\nimport os\nos.system("x")',
        '"""Doc."""\nimport subprocess\nsubprocess.run("x", shell=True)',
        '"""Doc."""\nimport subprocess\nS = True\nsubprocess.run("x", shell=S)',
        '"""Doc."""\nx = 1  # noqa',
        '"""Doc."""\nx = 1  # type: ignore',
        '"""Doc."""\n' + "x = 1\n" * MAX_LINES,
    ],
)
def test_checker_sees_what_is_forbidden(source: str) -> None:
    assert len(faults("sandbox/root.py", source)) >= 1


@pytest.mark.parametrize(
    "source",
    [
        '"""Doc."""',
        '"""Doc."""\ndef _f(): ...\nclass _C:\n    def f(self): ...',
        '"""Doc."""\nclass C:\n    """C."""\n    def __len__(self): ...\n    def f(self):\n        """F."""',
        '"""Doc."""\nimport subprocess\nsubprocess.run(["x"], shell=False)',
        '"""Doc."""\nx = 1  # noqa: E501 - a table reads better in one line',
        '"""Doc: more than 400 lines because it is one table."""\n' + "x = 1\n" * MAX_LINES,
    ],
)
def test_checker_lets_the_nearest_allowed_thing_pass(source: str) -> None:
    assert faults("sandbox/root.py", source) == []


def test_vague_module_names_are_refused() -> None:
    assert faults("sandbox/utils.py", '"""Doc."""') != []
