"""The page on the audit log names what can stand in a line, and nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from fsnotes.server.front import fixed_results
from fsnotes.server.listening import LISTEN
from fsnotes.server.methods import methods
from fsnotes.server.tools import TOOLS

ROOT = Path(__file__).resolve().parents[2]


def _literals(function: str, place: int) -> Iterator[str]:
    """The texts that the product gives *function* as its argument `tool`, which is the one at *place*."""
    for file in sorted((ROOT / "fsnotes").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            named = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
            given = [
                *node.args[place : place + 1],
                *(each.value for each in node.keywords if each.arg == "tool"),
            ]
            if named == function:
                yield from (each.value for each in given if isinstance(each, ast.Constant))


def test_the_names_in_the_field_tool_are_those_of_the_code() -> None:
    """Each tool and each method can be refused a state that it never asked for; the rest is what nobody called for."""
    page = (ROOT / "docs/audit.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| `tool` \| (.*) \|$", page, re.MULTILINE)
    listed = re.findall(r"`([\w/]+)`", row)
    assert len(listed) == len(set(listed))
    called = {
        *(tool.name for tool in TOOLS),
        *methods(read_only=False),
        *fixed_results(read_only=False),
        LISTEN,
    }
    own = set(_literals("Event", 1))
    assert own == {"sweep", "quarantine", "doctor"}
    assert set(_literals("_story", 1)) <= called
    assert set(listed) == called | own
