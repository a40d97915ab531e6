"""The page about what went wrong elsewhere names every kind, and tests that hold it."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/lessons.md").read_text(encoding="utf-8")

KINDS = [
    "line ends", "BOM", "frontmatter", "broken YAML", "mixed lists", "replacement text", "anchors", "headings",
    "append", "overwrite", "shrink and grow", "rename", "names", "links out", "delete", "big vaults",
    "stale index", "sync", "schemas", "stdout", "rights",
]  # fmt: skip

_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def _table(heading: str) -> list[list[str]]:
    found = re.search(rf"^{re.escape(heading)}\n\|[-|]+\|\n((?:\|.*\|\n)+)", PAGE, re.MULTILINE)
    assert found is not None, heading
    return [row.strip("|").strip().split(" | ") for row in found[1].splitlines()]


ROWS = {row[0]: row[1:] for row in _table("| kind | what happened elsewhere | what holds here | tests |")}


def _marked() -> Iterator[tuple[str, str, str]]:
    """Yield the kind, the file and the name of each test that is marked with a kind."""
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.kind":
                    yield ast.literal_eval(mark.args[0]), str(file.relative_to(ROOT)), node.name


MARKED = list(_marked())


def test_every_kind_has_one_row() -> None:
    assert list(ROWS) == KINDS
    assert all(len(row) == 3 and all(cell.strip() for cell in row) for row in ROWS.values())


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_names_at_least_three_tests_that_exist(kind: str) -> None:
    named = _TEST.findall(ROWS[kind][2])
    assert len(set(named)) >= 3
    for file, name in named:
        assert re.search(
            rf"^(?:async )?def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE
        ), name


def test_a_test_that_is_marked_with_a_kind_stands_in_its_row() -> None:
    listed = {(kind, *test) for kind, row in ROWS.items() for test in _TEST.findall(row[2])}
    assert set(MARKED) <= listed
    assert len(MARKED) >= 40


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_marked_test_with_at_least_three_shapes_of_its_own(kind: str) -> None:
    """Tests of one shape each do not add up to it."""
    assert max((_shapes(file, name) for marked, file, name in MARKED if marked == kind), default=0) >= 3


def _shapes(file: str, name: str) -> int:
    """Return how many values the test has for the argument that it has the most values for."""
    module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
    marks = [mark for mark in getattr(module, name).pytestmark if mark.name == "parametrize"]
    return max((len(mark.args[1]) for mark in marks), default=1)
