"""The documents say what the code does: slugs, commands, files, configuration examples."""

from __future__ import annotations

import importlib
import json
import os
import re
import tomllib
from pathlib import Path

import pytest

from tests.sandbox.jail.descriptors import ATTEMPTS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

DEMO = "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/fsnotes demo"
TESTS = "python3 -m venv .venv && .venv/bin/pip install -q '.[test]' && .venv/bin/pytest"

SLUGS = [
    "invalid_argument", "not_allowed", "not_found", "exists", "conflict", "ambiguous", "too_many",
    "too_large", "not_text", "invalid_yaml", "limit", "busy", "unavailable",
]  # fmt: skip

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
_CODE = re.compile(r"`([^`\n]+)`")
_FILE = re.compile(r"(?:fsnotes|sandbox|tests|docs|\.ci)/[\w./-]+")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _fences(language: str) -> list[tuple[str, str]]:
    return [
        (f"{_name(path)}#{number}", found[2])
        for path in DOCUMENTS
        for number, found in enumerate(_FENCE.finditer(_read(path)), start=1)
        if found[1] == language
    ]


def test_every_slug_has_one_line_in_the_errors_page_and_no_other_has() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \|$", _read(ROOT / "docs/errors.md"), re.MULTILINE)
    assert [slug for slug, _, _ in rows] == SLUGS
    assert all(meaning.endswith(".") and action.endswith(".") for _, meaning, action in rows)


def test_every_slug_that_the_code_uses_is_in_the_errors_page() -> None:
    if not (ROOT / "fsnotes/failures.py").exists():
        pytest.skip("fsnotes.failures is not there yet")
    failures = importlib.import_module("fsnotes.failures")
    used = {row[0] for row in failures._TABLE.values()}
    assert used - set(SLUGS) == set()
    assert set(SLUGS) - used == set()


def test_readme_has_the_two_commands_each_alone_in_a_block() -> None:
    blocks = [
        text.strip() for language, text in _FENCE.findall(_read(ROOT / "README.md")) if language == "sh"
    ]
    assert [block for block in blocks if block in {DEMO, TESTS}] == [DEMO, TESTS]


def test_ci_runs_the_command_of_the_readme() -> None:
    script = ROOT / ".ci/run"
    assert [line for line in _read(script).splitlines() if line.strip() == TESTS] != []
    assert os.access(script, os.X_OK)


@pytest.mark.parametrize("path", DOCUMENTS, ids=_name)
def test_every_file_that_a_document_names_exists(path: Path) -> None:
    text = _read(path)
    prose = _FENCE.sub("", text)
    links = [target for target in _LINK.findall(_CODE.sub("", prose)) if "://" not in target]
    missing = [target for target in links if not (path.parent / target).exists()]
    named = [code for code in _CODE.findall(prose) if _FILE.fullmatch(code)]
    missing += [name for name in named if not (ROOT / name).exists()]
    assert missing == []


def test_configuration_examples_are_accepted(tmp_path: Path) -> None:
    examples = _fences("toml")
    assert [where for where, _ in examples if where.startswith("README.md")] != []
    for where, text in examples:
        assert tomllib.loads(text), where
    if not (ROOT / "fsnotes/config.py").exists():
        pytest.skip("fsnotes.config is not there yet")
    config = importlib.import_module("fsnotes.config")
    access = importlib.import_module("fsnotes.access")
    (tmp_path / "Notes").mkdir()
    for number, (where, text) in enumerate(examples):
        file = tmp_path / f"{number}.toml"
        file.write_text(text, encoding="utf-8")
        settings = config.load(
            config.Choices(config=str(file)),
            principal=access.Principal("local:alice"),
            environ={},
            home=str(tmp_path),
        )
        assert settings.workspaces != (), where


def test_json_examples_parse() -> None:
    for where, text in _fences("json"):
        assert isinstance(json.loads(text), dict), where


@pytest.mark.parametrize("path", DOCUMENTS, ids=_name)
def test_lines_are_short_enough_to_read_a_change_of_them(path: Path) -> None:
    """But for rows of tables, and for what a program says on one line: terminals are not ours to fold."""
    text = re.sub(r"^```(?:console|json)\n.*?^```$", "", _read(path), flags=re.MULTILINE | re.DOTALL)
    long = [line for line in text.splitlines() if len(line) > 120]
    assert [line for line in long if " " in line and not line.startswith("|")] == []


_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
_ATTEMPTS = re.compile(r"attempts: ((?:`\w+`(?:, )?)+)")


def _tests_in(file: str) -> set[str]:
    return set(re.findall(r"^(?:async )?def (test_\w+)", _read(ROOT / file), re.MULTILINE))


@pytest.mark.parametrize("path", DOCUMENTS, ids=_name)
def test_every_test_that_a_document_names_exists(path: Path) -> None:
    named = _TEST.findall(_read(path))
    assert [f"{file}::{name}" for file, name in named if name not in _tests_in(file)] == []


def test_every_threat_has_a_layer_and_a_test_or_an_attempt_that_exists() -> None:
    text = _read(ROOT / "docs/security.md")
    listed = re.findall(
        r"^\| (?:threat|kind) \| layer \| test \|\n\|[-|]+\|\n((?:\|.*\|\n)+)", text, re.MULTILINE
    )
    rows = [row.strip("|").split(" | ") for table in listed for row in table.splitlines()]
    assert len(listed) == 5
    assert len(rows) > 47
    assert len(ATTEMPTS) > 60
    for threat, layer, proof in rows:
        tried = [name for names in _ATTEMPTS.findall(proof) for name in re.findall(r"\w+", names)]
        assert threat.strip(), proof
        assert layer.strip(), threat
        assert _TEST.findall(proof) or tried, threat
        assert set(tried) <= ATTEMPTS.keys(), threat
