"""Mutants are what they are said to be, and a test that looks at nothing notices none."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutation.mutants import mutants

ROOT = Path(__file__).resolve().parents[2]

SOURCE = '''
"""What it decides."""
LIMIT: "Final[int]" = 3

def fits(size: int, *, most: int = LIMIT) -> bool:
    """Say whether it does."""
    if not size < most + 1:
        raise ValueError("too large")
    return size >= 0 and size in (1, 2)
'''


def test_each_mutant_differs_in_one_thing_and_is_named_by_its_line() -> None:
    found = [(mutant.line, mutant.change) for mutant in mutants(SOURCE)]
    assert found == [
        (3, "3 becomes 4"),
        (7, "Not goes"),
        (7, "Lt becomes LtE"),
        (7, "Add becomes Sub"),
        (7, "1 becomes 2"),
        (8, "nothing is raised"),
        (9, "None is returned"),
        (9, "And becomes Or"),
        (9, "GtE becomes Gt"),
        (9, "0 becomes 1"),
        (9, "In becomes NotIn"),
        (9, "1 becomes 2"),
        (9, "2 becomes 3"),
    ]
    texts = {ast.unparse(mutant.tree) for mutant in mutants(SOURCE)}
    assert len(texts) == len(found)
    assert ast.unparse(ast.parse(SOURCE)) not in texts
    assert all("too large" in text for text in texts if "raise" in text)


@pytest.mark.slow
@pytest.mark.parametrize(("looks", "noticed", "status"), [(True, 4, 0), (False, 0, 1)])
def test_what_is_noticed_is_counted(tmp_path: Path, looks: bool, noticed: int, status: int) -> None:
    (tmp_path / "limit.py").write_text("def is_large(size):\n    return size > 3\n\n\nKIND = 'a'\n")
    asserted = "not is_large(3) and is_large(4) and KIND == 'a'" if looks else "is_large"
    (tmp_path / "test_limit.py").write_text(
        f"from limit import KIND, is_large\n\n\ndef test_it():\n    assert {asserted}\n"
    )
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    command = [sys.executable, "-m", "tests.mutation", "limit.py", "test_limit.py"]
    run = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert run.stdout.splitlines()[-1] == f"limit.py: {noticed} of 4 noticed, {100 * noticed / 4:.1f} %"
    assert run.returncode == status
